"""The table tests/tiers.toml: which test runs in which tier, in which build."""

import fnmatch
import json
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "tests" / "tiers.toml"
# Each tier, and whose parts it runs.
TIERS = {"quick": ("quick",), "check": ("quick", "check"), "full": ("full",)}
MEMBERS = {"build": str, "tests": list, "except": list, "full": bool, "wrapper": str, "beside": bool}


class Part:
    """Some tests of one build, run in one way."""

    def __init__(self, build, tests, leave_out=(), full=False, wrapper="", beside=False):
        self.build, self.full, self.wrapper, self.beside = Path(build), full, wrapper, beside
        self.rules = [(list(tests), list(leave_out))]

    def has(self, test):
        return any(named(test, tests) and not named(test, leave_out) for tests, leave_out in self.rules)

    def chosen(self):
        """Of the tests of its build, as SUITE/TEST."""
        return [test for test in tests_of(self.build) if self.has(test)]

    def stale(self, build=None):
        """Names that no test of the build has."""
        known = tests_of(build or self.build)
        names = [name for rule in self.rules for part in rule for name in part]
        return [name for name in names if not any(named(test, [name]) for test in known)]

    def merge(self, other):
        """Whether the other part can be run with this one in one go; then it becomes part of this one."""
        if (self.build, self.full, self.wrapper, self.beside) != (other.build, other.full, other.wrapper, other.beside):
            return False
        self.rules += other.rules
        return True


def named(test, names):
    """Whether one of the names is that of the test (SUITE/TEST) or of its suite."""
    return any(fnmatch.fnmatchcase(test if "/" in name else test.split("/")[0], name) for name in names)


def tests_of(build):
    """The tests of a configured build, as SUITE/TEST."""
    found = json.loads((Path(build) / "meson-info" / "intro-tests.json").read_text())
    return [f"{t['suite'][0].split(':')[-1]}/{t['name']}" for t in found]


def programs_of(build, tests):
    """[(suite, name of the program)] of these tests."""
    found = json.loads((Path(build) / "meson-info" / "intro-tests.json").read_text())
    names = {test.split("/", 1)[1]: test.split("/")[0] for test in tests}
    return [(names[t["name"]], Path(t["cmd"][0]).name) for t in found if t["name"] in names]


def read(path=TABLE):
    """{tier: [Part]}"""
    table = tomllib.loads(Path(path).read_text())
    unknown = set(table) - set(TIERS)
    if unknown:
        raise ValueError(f"{path}: there is no tier {', '.join(sorted(unknown))}")
    return {tier: [part(path, tier, row) for row in table.get(tier, [])] for tier in TIERS}


def part(path, tier, row):
    for name, value in row.items():
        if name not in MEMBERS or not isinstance(value, MEMBERS[name]):
            raise ValueError(f"{path}: [[{tier}]] does not take {name} = {value!r}")
    for name in ("build", "tests"):
        if name not in row:
            raise ValueError(f"{path}: a part of [[{tier}]] lacks {name}")
    return Part(row["build"], row["tests"], row.get("except", []), row.get("full", False), row.get("wrapper", ""),
                row.get("beside", False))


def parts_of(tier, path=TABLE):
    """The parts of a tier; those that can be run in one go are one."""
    table, found = read(path), []
    for each in TIERS[tier]:
        for new in table[each]:
            if not any(old.merge(new) for old in found):
                found.append(new)
    return found


def homeless(build, plain=False, path=TABLE):
    """Tests of a build that run in no tier. Those of the plain build must run there, not only in others."""
    parts = [p for found in read(path).values() for p in found
             if not plain or p.build.name == "build" and not p.wrapper]
    return [test for test in tests_of(build) if not any(p.has(test) for p in parts)]
