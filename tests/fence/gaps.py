"""What is known not to hold, by level: this list may only become shorter.

A case that is listed has to fail in just the way that is written here. One that no longer fails must be taken from
the list, and from docs/security.md ("What `none` does not hold").
"""

AS_THE_USER = "the user's checkout is moved by git with the user's configuration, which an agent without a sandbox can write"
OBJECTS = "git takes the objects of alternates for the repository's own, and an agent without a sandbox can name some"
FREE = "without a sandbox the programs that git runs have the user's rights while git runs"

# level: {case: (the questions that it fails, why)}
GAPS = {
    "none": {
        "attributes-in-info": ("ran", AS_THE_USER),
        "repository-config-programs": ("ran", AS_THE_USER),
        "repository-config-include": ("ran", AS_THE_USER),
        "users-config-programs": ("ran", AS_THE_USER),
        "attributes-filter-in-the-tree": ("ran", FREE),
        "driver-that-stays": ("changed ran", FREE),
        "filter-at-a-socket": ("ran", FREE),
        "filter-that-changes-modes": ("changed", FREE),
        "filter-that-kills": ("works", FREE),
        "filter-that-reads-the-token": ("works", FREE),
        "filter-that-writes-outside": ("changed", FREE),
        "alternate-that-goes-away": ("changed stuck", OBJECTS),
        "alternate-outside": ("changed", OBJECTS),
    },
}


def of(level, case):
    """(questions, why) of a known gap, or None."""
    return GAPS.get(level, {}).get(case)
