#!/usr/bin/env python3
"""The table of hostile worktrees and repositories: each case lives in a real daemon, then three questions are asked.

usage: test_fence.py [--sandbox none|bwrap|fence] [--user] [--jobs N] [CASE ...]

ran       did anything that the agent planted run outside of its run?
changed   did anything change outside of the run's own branch and rescue refs?
lost      is work of the agent's gone?

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
import table  # noqa: E402, F401
from room import CASES  # noqa: E402
from site_of_cases import CaseSite, harness  # noqa: E402

sys.path.insert(0, os.path.join(HERE, "..", "system"))
import namespaces  # noqa: E402

NOBODY = 65534


def become_ordinary():
    """As root: the same again as somebody who is not."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


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
            self.results[case.name] = (found, notes, time.monotonic() - began)
            if self.options.verbose:
                questions = " ".join(sorted({question for question, _ in found})) or "ok"
                print(f"{case.name}: {questions} {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
        self.leave()

    def one(self, case):
        if case.alone:
            self.leave()
        if not self.site:
            self.site = CaseSite(self.options.sandbox, harness.FULL)
        found, notes = self.site.live(case)
        if found or case.alone:
            self.leave()
        return found, notes

    def leave(self):
        if self.site:
            self.site.close()
        self.site = None


def run(cases, options):
    """{name: ([(question, what)], notes, seconds)}"""
    results, todo = {}, queue.SimpleQueue()
    for case in cases:
        todo.put(case)
    lanes = [Lane(todo, options, results) for _ in range(options.jobs)]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()
    return {case.name: results[case.name] for case in cases}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sandbox", default="none")
    parser.add_argument("--user", action="store_true")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    if options.list:
        for case in CASES.values():
            print(f"{case.name:40} {case.text}")
        return 0
    if options.sandbox != "none" and namespaces.no_sandbox():
        print(f"# skipped: {namespaces.no_sandbox()}")
        return 77
    if options.user:
        become_ordinary()
    cases = [case for case in CASES.values() if not options.cases or case.name in options.cases]
    cases = [case for case in cases if not (case.root and os.geteuid() != 0) and not (case.full and not harness.FULL and not options.cases)]
    results = run(cases, options)
    print(f"1..{len(results)}")
    for number, (name, (found, notes, took)) in enumerate(results.items(), 1):
        questions = sorted({question for question, _ in found})
        print(f"{'not ok' if found else 'ok'} {number} - {name} ({CASES[name].text}){' FAILS: ' + ' '.join(questions) if found else ''} [{took:.1f} s]")
        for question, what in found:
            print(f"#   {question}: {what}")
        if found or options.cases:
            for note in notes:
                print(f"#   - {note}")
    failed = sum(1 for found, _, _ in results.values() if found)
    print(f"# {len(results)} cases, {failed} fail; sandbox {options.sandbox}, uid {os.geteuid()}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
