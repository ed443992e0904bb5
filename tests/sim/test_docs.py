#!/usr/bin/env python3
"""docs/simulation.md has the table of invariants as the program tells it.

usage: test_docs.py SIM DOCUMENT [--write]
"""

import subprocess
import sys

HEAD = "| name | what holds |\n|---|---|\n"


def main():
    program, path = sys.argv[1:3]
    listed = subprocess.run([program, "--invariants"], capture_output=True, text=True, check=True).stdout
    table = HEAD + "".join("| `{}` | {} |\n".format(*line.split(maxsplit=1)) for line in listed.splitlines())
    with open(path, encoding="utf-8") as f:
        document = f.read()
    before, rest = document.split(HEAD, 1)
    after = rest[rest.index("\n\n") + 1:]
    fresh = before + table + after
    if "--write" in sys.argv:
        with open(path, "w", encoding="utf-8") as f:
            f.write(fresh)
    elif fresh != document:
        print("docs/simulation.md is not up to date: tests/sim/test_docs.py BUILD/tests/sim/sim docs/simulation.md --write")
        return 1
    return 0


sys.exit(main())
