#!/usr/bin/env python3
"""The table of hostile worktrees and repositories: each case lives in a real daemon, then three questions are asked.

usage: test_fence.py [--sandbox none|bwrap|fence] [--user] [--short] [--one-in N] [--small] [--jobs N] [CASE ...]

ran       did anything that the agent planted run outside of its run?
changed   did anything change outside of the run's own branch and rescue refs?
lost      is work of the agent's gone?

A case that is known to fail (gaps.py) is shown as a gap; one that no longer fails as it is written there is a failure.
Further words in a result: "refused" (it had to be refused with a reason), "works" (what is allowed no longer works), "stuck"
(the worker cannot even be removed), "prepare" (the case itself went wrong).
"""

import argparse
import os
import queue
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import gaps  # noqa: E402
import table  # noqa: E402, F401
from room import CASES  # noqa: E402
from site_of_cases import CaseSite, harness  # noqa: E402

sys.path.insert(0, os.path.join(HERE, "..", "system"))
import namespaces  # noqa: E402

NOBODY = 65534


def become_ordinary():
    """From root to somebody who is not."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    os.environ["HOME"] = "/nonexistent"


def reason_to_skip(options):
    if options.sandbox != "none" and namespaces.no_sandbox():
        return namespaces.no_sandbox()
    if options.user and os.geteuid() != 0:
        return "this is an ordinary user already"
    if options.user:
        become_ordinary()
    if not os.access(harness.DAEMON, os.X_OK):
        return "others may not use this build"
    with open(os.path.join(HERE, "../../docs/configuration.md"), encoding="utf-8") as f:
        levels = [line for line in f if line.startswith("| `sandbox` |")]
    return "" if any(f"`{options.sandbox}`" in line for line in levels) else f"there is no sandbox {options.sandbox}"


class Lane(threading.Thread):
    """Lives cases one after another in a site, and takes a new one where a case may have left something behind."""

    def __init__(self, todo, options, results):
        super().__init__()
        self.todo, self.options, self.results, self.site = todo, options, results, None

    def run(self):
        while True:
            try:
                case = self.todo.get_nowait()
            except queue.Empty:
                break
            began = time.monotonic()
            try:
                found, notes = self.one(case)
            except Exception as e:  # it is a finding of the case, and the next one gets a new site
                found, notes = [("stuck", f"{type(e).__name__}: {e}")], []
                self.leave()
            self.results.add(case, found, notes, time.monotonic() - began)
        self.leave()

    def one(self, case):
        if case.alone:
            self.leave()
        if not self.site:
            self.site = CaseSite(self.options.sandbox, harness.FULL and not self.options.small)
        found, notes = self.site.live(case)
        if found or case.alone:
            self.leave()
        return found, notes

    def leave(self):
        if self.site:
            self.site.close()
        self.site = None


class Results:
    """Prints each case as a test, once it has lived."""

    def __init__(self, number, level, verbose):
        self.lock, self.level, self.verbose = threading.Lock(), level, verbose
        self.done, self.failed, self.gaps = 0, 0, 0
        print(f"1..{number}", flush=True)

    def add(self, case, found, notes, took):
        questions = " ".join(sorted({question for question, _ in found}))
        gap = gaps.of(self.level, case.name)
        known = gap is not None and questions == gap[0]
        failed = bool(found) if gap is None else not known
        with self.lock:
            self.done += 1
            self.failed += 1 if failed else 0
            self.gaps += 1 if known else 0
            end = f" FAILS: {questions}" if found else ""
            print(f"{'not ok' if failed else 'ok'} {self.done} - {case.name} ({case.text}){end} [{took:.1f} s]")
            lines = [f"a known gap: {gap[1]}"] if known else [f"{question}: {what}" for question, what in found]
            lines += [f"gaps.py says that it fails: {gap[0]}"] if gap and not known else []
            lines += [f"- {note}" for note in notes] if failed or self.verbose else []
            for line in lines:
                print("#   " + line.replace("\n", "\n#   "))
            sys.stdout.flush()


def chosen(options):
    if options.short:
        return table.SHORT
    one_in = harness.sized(options.one_in, options.one_in, 1)
    others = [name for name in CASES if name not in table.SHORT]
    return [*table.SHORT, *others[harness.turn() % one_in::one_in]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sandbox", default="none")
    parser.add_argument("--user", action="store_true")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--one-in", type=int, default=1, metavar="N",
                        help="beside the short table one in N of the others, other ones with each commit; all in make soak")
    parser.add_argument("--small", action="store_true", help="small sizes, also where the full ones are asked for")
    parser.add_argument("--jobs", type=int, default=min(12, 4 * (os.cpu_count() or 1)))
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    if options.list:
        for case in CASES.values():
            print(f"{case.name:40} {case.text}")
        return 0
    why = reason_to_skip(options)
    if why:
        print(f"# skipped: {why}")
        return 77
    unknown = (set(options.cases) | {name for level in gaps.GAPS.values() for name in level}) - set(CASES)
    if unknown:
        parser.error(f"there is no case {', '.join(sorted(unknown))}")
    cases = [CASES[name] for name in options.cases or chosen(options)]
    cases = [case for case in cases if not (case.root and os.geteuid() != 0)]
    began = time.monotonic()
    results, todo = Results(len(cases), options.sandbox, options.verbose or options.cases), queue.SimpleQueue()
    for case in cases:
        todo.put(case)
    lanes = [Lane(todo, options, results) for _ in range(min(options.jobs, len(cases)))]
    for lane in lanes:
        lane.start()
    try:
        for lane in lanes:
            lane.join()
    except KeyboardInterrupt:
        while not todo.empty():  # those that live come to their end, and their sites with them
            todo.get()
        raise
    took = time.monotonic() - began
    counts = f"{results.done} cases in {took:.0f} s, {results.failed} fail, {results.gaps} known gaps"
    print(f"# {counts}; sandbox {options.sandbox}, uid {os.geteuid()}")
    return 1 if results.failed or results.done < len(cases) else 0


if __name__ == "__main__":
    sys.exit(main())
