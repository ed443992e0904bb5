#!/usr/bin/env python3
"""Many real agents at once under one daemon, on however few cores: nothing is lost."""

import unittest

import real
from real import QUICK, harness

# How many of each work at the same time; all of them wait for one another.
FLEET = {"claude": 24, "codex": 24, "gemini": 6, "opencode": 1} if harness.SOAK else {
    "codex": 16, "claude": 6, "gemini": 1, "opencode": 1}


class Fleet(real.RealCase):
    def test_many_at_once(self):
        total = sum(FLEET.values())
        kinds = [real.AGENTS[name] for name in FLEET]
        site = self.site(*kinds, config=f"[workers]\nmax = {total}\n" + QUICK)
        nodes = [(f"{name}{n}", real.AGENTS[name]) for name, many in FLEET.items() for n in range(many)]
        goals = [self.goal(site, self.task(node, [
            {"gate": "all", **kind.shell(f"echo {node} > {node}.txt")}, {"text": f"{node} is done."}],
            suggestedAgent=kind.name)) for node, kind in nodes]
        self.model.wait(lambda r: not r["side"], timeout=240, count=total)
        self.assertEqual(len(site.runs()), total)
        # Everyone waits for the model's first word, and the daemon dies.
        site.kill()
        site.up()
        self.model.open("all")
        self.wait_goals(site, goals)
        self.assertEqual([site.git("show", f"main:{node}.txt").strip() for node, _ in nodes], [node for node, _ in nodes])
        runs = site.runs()
        self.assertEqual({(r["verdict"], r["trouble"], r["attempt"], r["tool_calls"]) for r in runs},
                         {("ok", "none", 1, 1)})
        self.assertEqual(len(runs), total)
        self.assertEqual(len({r["session"] for r in runs}), total)
        self.assertEqual({(r["tokens_input"], r["tokens_output"]) for r in runs}, {(200, 40)})
        self.assertEqual(site.live_pids(), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
