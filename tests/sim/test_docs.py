#!/usr/bin/env python3
"""docs/simulation.md names every invariant with its sentence, as the program does. usage: test_docs.py SIM DOCUMENT"""

import subprocess
import sys


def main():
    listed = subprocess.run([sys.argv[1], "--invariants"], capture_output=True, text=True, check=True).stdout
    with open(sys.argv[2], encoding="utf-8") as f:
        document = f.read()
    missing = [line for line in listed.splitlines()
               if "| `{}` | {} |".format(*line.split(maxsplit=1)) not in document]
    for line in missing:
        print("docs/simulation.md does not say:", line)
    return 1 if missing or not listed else 0


sys.exit(main())
