#!/usr/bin/env python3
"""The agent of the table: executes the case that its worktree is named after, in its run.

The second task in the same worktree is an ordinary one, unless the case says otherwise. What the case declares goes to
the run's output as one line of JSON.
"""

import json
import os
import signal
import sys
import traceback

import table  # noqa: F401
from room import CASES, Room

SITE = os.environ["FENCE_SITE"]


def main():
    prompt = sys.stdin.read()
    worktree = os.getcwd()
    case = CASES.get(os.path.basename(worktree))
    if "What was done before you" in prompt or case is None and "first" not in prompt:
        return 1  # another session is asked to go on: there is nothing to add
    if case is None:
        with open(f"{os.path.basename(worktree)}.txt", "w", encoding="utf-8") as f:
            f.write("made\n")
        return 0
    room = Room(case.name, SITE, worktree, "second " if "fence second" in prompt else "")
    failed = ""
    try:
        if "fence second" in prompt:
            if case.then:
                case.then(room)
            else:
                room.put(f"{case.name}/second.txt", "second\n")
        else:
            case.prepare(room)
    except Exception:  # the judge shows it
        failed = traceback.format_exc()
    report = {"works": room.works, "excused": room.excused, "could_not": room.could_not, "failed": failed}
    print("FENCE " + json.dumps(report), flush=True)
    if case.stays and "fence second" not in prompt:
        signal.pause()
    return 1 if case.fails and "fence second" not in prompt else 0


if __name__ == "__main__":
    sys.exit(main())
