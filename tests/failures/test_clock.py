#!/usr/bin/env python3
"""A clock that jumps by a year, forwards and backwards, under a daemon at work."""

import json
import os
import signal
import struct
import time
import unittest

from guarded import GuardedCase

from harness import BUILD, SANITIZED, plan, task

DAY_MS = 24 * 3600 * 1000
YEAR_MS = 365 * 24 * 3600 * 1000
AGENT = r"""
[ "$OVERSEER_NODE$OVERSEER_ATTEMPT" = T31 ] && exit 1
echo "$OVERSEER_NODE" > "$HOME/g.here"
read x < "$HOME/g.go"
echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "work of $OVERSEER_NODE"
"""
WAITS = '[retry]\ndelays = ["10s", "10s", "10s"]\n'


@unittest.skipIf(SANITIZED, "what is preloaded comes before the sanitizers' own library")
class Clock(GuardedCase):
    def moved_site(self, config, agent):
        """A site whose programs see the clock that self.jump moves."""
        site = self.site(config, agent)
        self.clock = os.path.join(site.root, "clock")
        with open(self.clock, "wb") as f:
            f.write(struct.pack("=qq", 0, 0))
        site.env.update(LD_PRELOAD=os.path.join(BUILD, "tests/failures/libmoved_clock.so"), OV_CLOCK_FILE=self.clock)
        return site

    def set_clock(self, to_ms):
        """The clock is that far from the right time now."""
        with open(self.clock, "r+b") as f:
            f.write(struct.pack("=q", to_ms))

    def sleep(self, slept_ms):
        """The machine has slept for that long by now, all in all."""
        with open(self.clock, "r+b") as f:
            f.seek(8)
            f.write(struct.pack("=q", slept_ms))

    def jump(self, site, to_ms):
        """As set_clock, and the daemon has seen it."""
        after = site.seq()
        self.set_clock(to_ms)
        site.call("config.show")  # so that it looks around, if it sleeps
        return site.wait_type("clock.moved", after=after)["data"]["by_ms"]

    def told(self, site):
        """What was made of runs, beyond their being done."""
        wrong = ("escalation.opened", "goal.budget", "episode.opened", "outage.suspected", "assignment.activity")
        return [e["type"] for e in site.events() if e["type"] in wrong]

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
        # A wait that a clock set back would make a year long is as long as it was.
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

    def live_site(self, config=""):
        """A site with a run under way whose goal may take ten minutes."""
        site = self.moved_site(config, AGENT)
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")), budget={"wall_ms": 600000})["goal"]
        gate.wait()
        site.wait_type("run.started")
        return site, gate, goal

    def test_judged_first(self):
        """The first thing that is done by the new time: a tick. The budget of the run is not spent by it."""
        for days in (3, -3):
            with self.subTest(days=days):
                site, gate, goal = self.live_site()
                after = site.seq()
                self.set_clock(days * DAY_MS)
                site.call("tick.now")
                moved = site.wait_type("clock.moved", after=after)
                self.assertEqual(moved["seq"], after + 1)
                self.assertAlmostEqual(moved["data"]["by_ms"], days * DAY_MS, delta=1000)
                gate.go()
                site.wait_goal(goal)
                self.assertEqual(self.told(site), [])
                self.assertEqual(site.down(), 0)

    def test_between_daemons(self):
        """Set while no daemon was up: the next one finds out, and says so, before it judges anything."""
        site, gate, goal = self.live_site()
        site.kill()
        self.set_clock(3 * DAY_MS)
        self.sleep(DAY_MS)
        site.up()
        site.call("tick.now")
        kinds = [e["type"] for e in site.events()]
        self.assertLess(kinds.index("clock.moved"), len(kinds) - 1 - kinds[::-1].index("daemon.started"))
        self.assertLess(kinds.index("machine.slept"), len(kinds) - 1 - kinds[::-1].index("daemon.started"))
        gate.go()
        site.wait_goal(goal)
        self.assertEqual(self.told(site), [])
        self.assertEqual(site.down(), 0)

    def test_sleep(self):
        """A night with the lid closed is no time of the run's, and it is not silent for it."""
        site, gate, goal = self.live_site()
        after = site.seq()
        self.sleep(DAY_MS)
        site.call("tick.now")
        slept = site.wait_type("machine.slept", after=after)
        self.assertEqual(slept["seq"], after + 1)
        self.assertAlmostEqual(slept["data"]["for_ms"], DAY_MS, delta=1000)
        gate.go()
        site.wait_goal(goal)
        self.assertEqual(self.told(site), [])
        spent = [e["data"]["amounts"].get("wall_ms", 0) for e in site.events() if e["type"] == "goal.spent"]
        self.assertEqual([x < 600000 for x in spent], [True], spent)
        self.assertNotIn("clock.moved", [e["type"] for e in site.events()])
        self.assertIn("slept", site.cli("explain", "daemon"))
        self.assertEqual(site.down(), 0)

    def beats(self, site):
        return json.loads(site.read(".overseer/heartbeat"))["loop"]

    def test_watchdog(self):
        """Its deadlines are of a clock that is never set: nobody is ended too early, nor waited for a year."""
        site = self.moved_site("", None)
        self.add_watch(site, "exec sleep 1000\n", heartbeat_timeout="3s", remediation_timeout="2s", grace="1s")
        watch = self.watch(site, OVERSEER_WATCH=os.path.join(BUILD, "tests/failures/moved_watch"))
        watch.wait_act("healthy")
        daemon = self.daemon(site)
        for to in (YEAR_MS, -YEAR_MS, 0):
            self.jump(site, to)
            loop = self.beats(site)
            self.until(lambda: self.beats(site) > loop + 2, watch.said)
        self.assertEqual((self.daemon(site), self.failures(watch)), (daemon, []))
        os.kill(daemon["pid"], signal.SIGKILL)
        watch.wait_act("remediating")
        began = time.monotonic()
        self.set_clock(YEAR_MS)
        self.until(lambda: self.remedies(site), watch.said)
        self.set_clock(-YEAR_MS)
        self.assertIn("took too long", watch.wait_act("remediated")["text"])
        self.assertGreater(time.monotonic() - began, 1)
        watch.wait_act("healthy", 2)
        acts = watch.acts()
        self.assertEqual([act["n"] for act in acts], list(range(1, len(acts) + 1)))
        self.assertGreater(max(acts, key=lambda act: act["time"])["time"], acts[-1]["time"], "the clock did not jump for it")


if __name__ == "__main__":
    unittest.main(verbosity=2)
