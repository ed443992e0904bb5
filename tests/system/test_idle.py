#!/usr/bin/env python3
"""An idle daemon does nothing: no timer, no child, no query, no growing log.

What it woke up for it counts itself, by cause (overseer_loop_callbacks_total). Requests of others are
io and what follows at once, and how many of these depends on the load of the machine; everything else
it would do by itself.
"""

import subprocess
import unittest

from harness import FAST, SANITIZED, SiteCase, plan, task

# Nothing is left to be done after the start, and each call of the store is logged.
QUIET = "[store]\ntrace = true\nverify_at_start = false\n" + FAST
# Questions of ours between two counts cost a few each; a source that is never satisfied has thousands.
ASKED_MAX = 200


class IdleCase(SiteCase):
    def children(self, pid):
        """Children that live, and time spent in those that ended: any subprocess shows in one of them."""
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            alive = f.read().split()
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return alive, fields[8], fields[10], fields[13], fields[14]

    def causes(self, site):
        prefix = "overseer_loop_callbacks_total{cause=\""
        return {name[len(prefix):-2]: n for name, n in site.metrics().items() if name.startswith(prefix)}

    def by_itself(self, site):
        """What it did without being asked, and what is left of it."""
        causes = self.causes(site)
        self.assertEqual(set(causes), {"io", "timer", "signal", "exit", "file", "deferred"})
        return {**causes, "io": 0, "deferred": 0}, self.children(site.daemon.pid), self.store_calls(site)

    def settle(self, site):
        """Until what follows a start or a run is over: a walk through the folders, for one."""
        for _ in range(60):
            before = self.by_itself(site)
            subprocess.run(["sleep", "1"], check=True)
            if self.by_itself(site) == before:
                return
        self.fail(f"it does not come to rest: {self.by_itself(site)}")

    def store_calls(self, site):
        return [line for line in site.daemon_log().split("\n") if " store: " in line]

    def check_idle(self, site):
        self.settle(site)
        seq, before, asked = site.seq(), self.by_itself(site), self.causes(site)
        subprocess.run(["sleep", "3"], check=True)  # an outside clock; nothing is waited for
        self.assertEqual(self.by_itself(site), before, "it woke up by itself")
        for cause in ("io", "deferred"):
            self.assertLess(self.causes(site)[cause] - asked[cause], ASKED_MAX, cause)
        self.assertEqual(site.seq(), seq)


class Idle(IdleCase):
    def test_with_nothing_to_do(self):
        site = self.site(QUIET)
        site.up()
        self.check_idle(site)

    def test_it_is_counted(self):
        """The counts are no constants: each cause that a test can make shows."""
        site = self.site(FAST, "exit 0\n")
        site.up()
        before = self.causes(site)
        site.call("goal.create", title="Test", plan=plan(task("T1")))
        site.wait_type("run.ended")
        after = self.causes(site)
        for cause in ("io", "timer", "exit"):
            self.assertGreater(after[cause], before[cause], cause)

    def test_with_many_idle_nodes(self):
        """Blocked nodes of many goals, finished goals, goals without a plan: none of them ticks."""
        site = self.site(QUIET, "exit 0\n")
        site.up()
        writer = site.connect()
        self.addCleanup(writer.close)
        goals = 100 if SANITIZED else 300
        for number in range(goals):
            writer.call("goal.create", title=f"{number}", plan=plan(
                *(task(f"T{i}", suggestedAgent="nobody") for i in range(5))))
            writer.call("goal.create", title=f"{number}, without a plan")
        while len(site.call("work.list", status="blocked")["nodes"]) < goals * 5:
            writer.call("tick.now")
        # There is no session, so nobody is told by a desktop of which nobody spoke.
        self.assertEqual(site.call("notice.list", all=True)["notices"], [])
        self.check_idle(site)
        if not SANITIZED:
            self.assertLess(site.metrics()["overseer_resident_bytes"], 64 * 1024 * 1024)

    def test_with_a_run_under_way(self):
        """An agent that says nothing costs nothing."""
        site = self.site(QUIET, 'echo here > "$HOME/g.here"; read x < "$HOME/g.go"; echo x > x\n')
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        gate.wait()
        site.wait_type("run.started")
        self.check_idle(site)
        gate.go()
        site.wait_goal(goal)

    def test_with_subscribers(self):
        """Followers that hear nothing cost nothing."""
        site = self.site(QUIET)
        site.up()
        for _ in range(20):
            follower = site.connect()
            self.addCleanup(follower.close)
            follower.call("events.follow")
        self.check_idle(site)


if __name__ == "__main__":
    unittest.main(verbosity=2)
