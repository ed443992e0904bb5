"""Labelled histories through the real `overseer detect`: what is found in each, and how well that fits.

A file of corpus/ is a history with `about`, `truth` (the kinds of trouble that a person sees in it, none
for a healthy one), `expect` (kind: level, what must come out) and perhaps a `preset`. Some of truth is known to be missed;
that counts against recall. Of a healthy history also every beginning is looked at, as a daemon would: nothing may
ever hold it up.
"""

import glob
import json
import os
import subprocess
import sys
import unittest

CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")
OVERSEER = os.path.join(os.environ["OV_BUILD"], "src/cli/overseer")
KINDS = ("stuck", "oscillation", "deviation", "scope_creep", "resource_burn", "regression")
LEVELS = ("none", "log", "warn", "redirect", "pause", "abort")
STATUSES = {"none": "healthy", "log": "healthy", "pause": "paused", "abort": "aborted"}
LEAST = 60


def load():
    cases = {}
    for path in sorted(glob.glob(os.path.join(CORPUS, "*.json"))):
        with open(path, encoding="utf-8") as file:
            cases[os.path.basename(path)[:-5]] = json.load(file)
    return cases


def detect(history, preset, lines=False):
    """(exit status, what was answered)"""
    text = "\n".join(map(json.dumps, history)) if lines else json.dumps({"history": history})
    done = subprocess.run([OVERSEER, "detect", "-", "--json", "--preset", preset], input=text.encode(),
                          capture_output=True, timeout=60, check=False)
    if done.returncode not in (0, 1):
        raise AssertionError("exit status %d: %s" % (done.returncode, done.stderr.decode()))
    return done.returncode, json.loads(done.stdout)


def answers(result):
    return {x["type"]: x["level"] for x in result["interventions"]}


def worst(levels):
    return max(levels, key=LEVELS.index, default="none")


class Corpus(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cases = load()

    def test_there_are_enough(self):
        self.assertGreaterEqual(len(self.cases), LEAST)
        for name, case in self.cases.items():
            self.assertEqual(name.startswith("healthy-"), not case["truth"], name)
            self.assertLessEqual(set(case) - {"preset"}, {"about", "truth", "expect", "history"}, name)
            self.assertLessEqual(set(case["truth"]) | set(case["expect"]), set(KINDS), name)

    def test_each_is_judged_as_labelled(self):
        score = {kind: [0, 0, 0] for kind in KINDS}  # right, wrong, missed
        for name, case in self.cases.items():
            status, result = detect(case["history"], case.get("preset", "default"))
            got = answers(result)
            with self.subTest(name, about=case["about"]):
                self.assertEqual(got, case["expect"])
                level = worst(got.values())
                self.assertEqual(status, 0 if LEVELS.index(level) <= 1 else 1)
                if level in STATUSES:
                    self.assertEqual(result["status"], STATUSES[level])
            found = {kind for kind, level in got.items() if level != "log"}
            for kind in KINDS:
                score[kind][0] += kind in found and kind in case["truth"]
                score[kind][1] += kind in found and kind not in case["truth"]
                score[kind][2] += kind not in found and kind in case["truth"]
        self.tell(score)

    def tell(self, score):
        total = [sum(column) for column in zip(*score.values())]
        for kind, (right, wrong, missed) in list(score.items()) + [("all", total)]:
            print("%-14s precision %.3f  recall %.3f  (%d right, %d wrong, %d missed)" % (
                kind, right / max(right + wrong, 1), right / max(right + missed, 1), right, wrong, missed), file=sys.stderr)
        right, wrong, missed = total
        self.assertGreaterEqual(right / (right + wrong), 0.98)
        self.assertGreaterEqual(right / (right + missed), 0.95)

    def test_nothing_holds_up_a_healthy_loop(self):
        for name, case in self.cases.items():
            if case["truth"]:
                continue
            preset = case.get("preset", "default")
            for n in range(max(1, len(case["history"]) - 12), len(case["history"])):
                level = worst(answers(detect(case["history"][:n], preset)[1]).values())
                self.assertIn(level, ("none", "log", "warn"), "%s after %d" % (name, n))

    def test_lines_say_the_same(self):
        for name in ("regression-both", "stuck-four", "healthy-long-history"):
            case = self.cases[name]
            self.assertEqual(detect(case["history"], "default", lines=True), detect(case["history"], "default"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
