#!/usr/bin/env python3
"""Reports and rescue refs of simulated histories, compared with an oracle that knows only the raw log and what the model
of git really holds: test_reports.py SIM A..B [--seconds CPU]. With a box of CPU time the last seeds may be left out."""

import json
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "oracle"))
import compare  # noqa: E402
import subprocess  # noqa: E402

SHOWN = 12
STEP = 20  # seeds at a time, so that the box of time is kept


def event(line):
    body = line["body"]
    return {"seq": line["seq"], "at": line["at"], "type": line["type"], "actor": body.get("actor", ""), "data": body.get("data") or {},
            **{k: body.get(k, "") for k in ("goal", "node", "assignment", "run")}}


class Seed:
    def __init__(self, number):
        self.number, self.events, self.docs, self.rescued = number, [], [], []

    def check(self):
        out = []
        for d in self.docs:
            if "doc" not in d:
                out.append(f"report.{d['report']}: {d.get('error')}")
            elif d["report"] == "goal":
                out += compare.goal(self.events, d["params"]["goal"], d["doc"])
            elif d["report"] == "detectors":
                out += compare.detectors(self.events, d["params"].get("goal"), d["doc"])
            else:
                out += compare.period(self.events, compare.ms(d["params"]["since"]), d["doc"])
        return out + compare.rescued(self.events, self.rescued)


def scalars(v, at=()):
    """The path to everything in a document that is no list or object."""
    if isinstance(v, dict):
        for k, x in v.items():
            yield from scalars(x, at + (k,))
    elif isinstance(v, list):
        for k, x in enumerate(v):
            yield from scalars(x, at + (k,))
    else:
        yield at


# What is shown for people only: names, words, and what is not a fact of the log.
FREE = {"name", "reason", "message", "subject", "urgency", "escalation", "iteration", "error", "failure_class", "ref", "closed_at",
        "agent", "completion_source", "coverage_format", "coverage_centi", "tests_format", "tests_passed", "tests_failed",
        "duration_ms", "tree"}
APART = {"usage", "next", "hints", "at", "since", "period_ms", "budget_microusd", "goal_id"}


def falsified(doc, path):
    """A copy with one thing in it changed."""
    copy = json.loads(json.dumps(doc))
    x = copy
    for k in path[:-1]:
        x = x[k]
    v = x[path[-1]]
    x[path[-1]] = not v if isinstance(v, bool) else v + 1 if isinstance(v, int) else "1999-01-01T00:00:00.000Z"
    return copy


def sees_lies(seed):
    """Would it be seen if one figure of a report were wrong? Those for which not, in one report of each kind."""
    out = []
    for d in {d["report"]: d for d in seed.docs if "doc" in d}.values():
        for path in scalars(d["doc"]):
            if path[0] in APART or path[-1] in FREE or d["doc"] is None:
                continue
            value = d["doc"]
            for k in path:
                value = value[k]
            if value is None or value == "":
                continue
            lie = Seed(seed.number)
            lie.events, lie.docs = seed.events, [dict(d, doc=falsified(d["doc"], path))]
            if not lie.check():
                out.append(f"{d['report']}: {'.'.join(map(str, path))} can be wrong without being seen")
    return out


def seeds(path):
    seed = None
    with open(path, encoding="utf-8") as f:
        for text in f:
            line = json.loads(text)
            if "seed" in line:
                if seed:
                    yield seed
                seed = Seed(line["seed"]["number"])
            elif "event" in line:
                seed.events.append(event(line["event"]))
            elif "report" in line:
                seed.docs.append(line)
            else:
                seed.rescued.append(line["rescued"])
    if seed:
        yield seed


def main(sim, first, last, box):
    n = failed = docs = refs = events = 0
    spent = 0.0
    for at in range(first, last + 1, STEP):
        if box and os.times().children_user + time.process_time() > box:
            break
        with tempfile.NamedTemporaryFile() as f:
            ran = subprocess.run([sim, "--seeds", f"{at}..{min(at + STEP - 1, last)}", "--no-shrink", "--all", "--reports", f.name],
                                 stdout=subprocess.PIPE, text=True)
            if ran.returncode:
                print(ran.stdout)
                return ran.returncode
            begin = time.process_time()
            for seed in seeds(f.name):
                wrong = seed.check()
                if not n and not wrong:
                    wrong = sees_lies(seed)
                n, failed, docs, refs, events = (n + 1, failed + bool(wrong), docs + len(seed.docs), refs + len(seed.rescued),
                                                 events + len(seed.events))
                for text in wrong[:SHOWN]:
                    print(f"seed {seed.number}: {text[:600]}")
                if len(wrong) > SHOWN:
                    print(f"seed {seed.number}: and {len(wrong) - SHOWN} more")
            spent += time.process_time() - begin
    print(f"{n} seeds, {events} events, {docs} reports, {refs} rescue refs; {failed} seeds with differences; "
          f"{spent:.1f} s for comparing, {os.times().children_user + os.times().children_system:.1f} s for simulating")
    return 1 if failed or not n else 0


if __name__ == "__main__":
    seconds = float(sys.argv[sys.argv.index("--seconds") + 1]) if "--seconds" in sys.argv else 0
    a, b = sys.argv[2].split("..")
    sys.exit(main(sys.argv[1], int(a), int(b), seconds))
