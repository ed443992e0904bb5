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
import concurrent.futures
import os
import sys
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


def alone(case, options):
    site = CaseSite(options.sandbox, [case.name], harness.FULL)
    try:
        found, notes = site.live(case)
        return found + site.at_the_end(), notes
    finally:
        site.close()


def attributed(results, name, found, beside):
    """Files in the change that are named after another case are that case's."""
    for question, what in found:
        owner = name
        if question == "changed" and name not in what:
            named = [other for other in results if f"/{other}" in what]
            owner = max(named, key=len) if named else name
            if not named and len(beside) > 1:
                what += " (seen after this case; beside it: " + ", ".join(sorted(beside - {name})) + ")"
        results[owner][0].append((question, what))


def run(cases, options):
    """{name: ([(question, what)], notes, seconds)}"""
    results = {case.name: ([], [], [0.0]) for case in cases}
    shared = [case for case in cases if not case.alone]
    site = CaseSite(options.sandbox, [case.name for case in shared], harness.FULL) if shared else None
    living = set()

    def one(case):
        began = time.monotonic()
        beside = set(living) | {case.name}
        if not case.alone:
            living.add(case.name)
        try:
            found, notes = alone(case, options) if case.alone else site.live(case)
            beside |= living
        except Exception as e:  # the case goes on being judged by what can be seen
            found, notes = [("stuck", f"{type(e).__name__}: {e}")], []
        finally:
            living.discard(case.name)
        attributed(results, case.name, found, beside if not case.alone else {case.name})
        results[case.name][1].extend(notes)
        results[case.name][2][0] = time.monotonic() - began
        if options.verbose:
            print(f"{case.name}: {' '.join(sorted({question for question, _ in found})) or 'ok'} {results[case.name][2][0]:.1f} s", file=sys.stderr, flush=True)
    try:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(one, sorted(cases, key=lambda c: not c.alone)))
        if site:
            rest = {}
            for question, what in site.at_the_end():
                owners = [name for name in results if name in what]
                if owners:
                    results[max(owners, key=len)][0].append((question, what))
                else:
                    rest.setdefault("", []).append((question, what))
            if rest:
                results["(nobody's)"] = (rest[""], [], [0.0])
    finally:
        if site:
            site.close()
    return results


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
        text = CASES[name].text if name in CASES else ""
        print(f"{'not ok' if found else 'ok'} {number} - {name} ({text}){' FAILS: ' + ' '.join(questions) if found else ''} [{took[0]:.1f} s]")
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
