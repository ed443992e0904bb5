#!/usr/bin/env python3
"""Reports and rescue refs of simulated histories, compared with an oracle that knows only the raw log and what the model
of git really holds: test_reports.py SIM A..B [--seconds CPU]"""

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
