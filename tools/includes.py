"""Which folder of src/ includes which: read once, for tools/check-layers.py and tools/rooms."""

import re
from collections import namedtuple
from pathlib import Path

# Headers that belong to no folder.
COMMON = {"version.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
USES = re.compile(r"^Uses:[ \t]*(.*)$", re.M)

# One line `#include "target"` of the file `path` (from src).
Include = namedtuple("Include", "path line target")


def sources(src):
    """Every C file below src, from there."""
    return sorted(p.relative_to(src) for p in src.rglob("*.[ch]") if p.is_file())


def room_of(name):
    """The folder of a file that is named from src."""
    return str(Path(name).parent)


def includes(src):
    for path in sources(src):
        text = (src / path).read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            found = INCLUDE.match(line)
            if found:
                yield Include(str(path), number, found.group(1))


def edges(src):
    """{(room, other room): [Include]} of what crosses folders."""
    found = {}
    for x in includes(src):
        pair = room_of(x.path), room_of(x.target)
        if x.target not in COMMON and "/" in x.target and pair[0] != pair[1]:
            found.setdefault(pair, []).append(x)
    return found


def names_in_uses(readme):
    """The rooms in the line `Uses:` of a README's text, or None without such a line."""
    found = USES.search(readme)
    if not found:
        return None
    return [name.strip().strip("`.") for name in found.group(1).split(",") if name.strip(" `.") not in ("", "nothing")]
