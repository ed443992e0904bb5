#!/usr/bin/env python3
"""A clock that jumps by a year, forwards and backwards, under a daemon at work."""

import os
import struct
import unittest

from row import RowCase

from harness import BUILD, SANITIZED, plan, task

YEAR_MS = 365 * 24 * 3600 * 1000
AGENT = r"""
[ "$OVERSEER_NODE$OVERSEER_ATTEMPT" = T31 ] && exit 1
echo "$OVERSEER_NODE" > "$HOME/g.here"
read x < "$HOME/g.go"
echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "work of $OVERSEER_NODE"
"""
WAITS = '[retry]\ndelays = ["1h", "1h", "1h"]\n'


class Clock(RowCase):
    def moved_site(self, config, agent):
        """A site whose programs see the clock that self.jump moves."""
        site = self.site(config, agent)
        self.clock = os.path.join(site.root, "clock")
        with open(self.clock, "wb") as f:
            f.write(struct.pack("=q", 0))
        site.env.update(LD_PRELOAD=os.path.join(BUILD, "tests/failures/libmoved_clock.so"), OV_CLOCK_FILE=self.clock)
        return site

    def jump(self, site, to_ms):
        """The clock is that far from the right time now, and the daemon has seen it."""
        after = site.seq()
        with open(self.clock, "r+b") as f:
            f.write(struct.pack("=q", to_ms))
        site.call("config.show")  # so that it looks around, if it sleeps
        return site.wait_type("clock.moved", after=after)["data"]["by_ms"]

    def told(self, site):
        """What was made of runs, beyond their being done."""
        wrong = ("escalation.opened", "goal.budget", "episode.opened", "outage.suspected", "assignment.activity")
        return [e["type"] for e in site.events() if e["type"] in wrong]

    @unittest.skipIf(SANITIZED, "what is preloaded comes before the sanitizers' own library")
    def test_runs_and_waits(self):
        site = self.moved_site(WAITS, AGENT)
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1"), task("T2", ["T1"])))["goal"]
        gate.wait()
        site.wait_type("run.started")
        # Under a run: neither overdue, nor silent, nor out of budget.
        for to in (YEAR_MS, 0, -YEAR_MS, 0, YEAR_MS):
            self.assertAlmostEqual(abs(self.jump(site, to)), YEAR_MS, delta=1000)
            site.call("tick.now")
        gate.go()
        gate.wait()
        site.wait_type("run.started", node="T2")
        self.jump(site, 0)
        gate.go()
        site.wait_goal(goal)
        self.assertEqual(self.told(site), [])
        spent = [e["data"]["amounts"].get("wall_ms", 0) for e in site.events() if e["type"] == "goal.spent"]
        self.assertEqual([x < 600000 for x in spent], [True, True], spent)
        # A wait that a clock set back would make a year long is over instead.
        goal = site.call("goal.create", title="Wait", plan=plan(task("T3")))["goal"]
        site.wait_type("node.failed", node="T3")
        self.jump(site, -YEAR_MS)
        gate.wait()
        gate.go()
        site.wait_goal(goal)
        site.kill()
        site.up()
        self.assertEqual(sorted(self.subjects(site)), ["Task T1", "Task T2", "Task T3"])
        self.assertEqual(site.down(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
