#!/usr/bin/env python3
"""An idle daemon does nothing: no wake-up, no child, no growing log."""

import os
import subprocess
import unittest

from harness import FAST, SANITIZED, SiteCase, plan, task


class Idle(SiteCase):
    def children(self, pid):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            return f.read().split()

    def ticks(self, pid):
        """User and system time of the process, in clock ticks."""
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    def switches(self, pid):
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            return sum(int(line.split()[1]) for line in f if "ctxt_switches" in line)

    def check_idle(self, site):
        seq = site.seq()
        # What one question costs when nothing lies between it and the last; the end of a connection
        # is noticed by an iteration of its own, which may fall on either side.
        counts = [site.metrics()["overseer_loop_iterations_total"] for _ in range(10)]
        cost = max(b - a for a, b in zip(counts, counts[1:]))
        asleep = self.switches(site.daemon.pid)
        subprocess.run(["sleep", "2"], check=True)  # an outside clock; nothing is waited for
        self.assertLessEqual(self.switches(site.daemon.pid) - asleep, 4, "it woke up in between")
        after = site.metrics()["overseer_loop_iterations_total"]
        self.assertLessEqual(after - counts[-1], cost + 3)
        self.assertEqual(self.children(site.daemon.pid), [])
        self.assertEqual(site.seq(), seq)

    def test_with_nothing_to_do(self):
        site = self.site(FAST)
        site.up()
        self.check_idle(site)

    def test_with_many_idle_nodes(self):
        """Blocked nodes of many goals, finished goals, goals without a plan: none of them ticks."""
        site = self.site(FAST, "exit 0\n")
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
        site = self.site(FAST, 'echo here > "$HOME/g.here"; read x < "$HOME/g.go"; echo x > x\n')
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        gate.wait()
        site.wait_type("run.started")
        before = site.metrics()["overseer_loop_iterations_total"]
        used = self.ticks(site.daemon.pid)
        subprocess.run(["sleep", "2"], check=True)
        after = site.metrics()["overseer_loop_iterations_total"]
        self.assertLess(after - before, 20)
        self.assertLessEqual(self.ticks(site.daemon.pid) - used, os.sysconf("SC_CLK_TCK") // 4)
        gate.go()
        site.wait_goal(goal)

    def test_with_subscribers(self):
        """Followers that hear nothing cost nothing."""
        site = self.site(FAST)
        site.up()
        for _ in range(20):
            follower = site.connect()
            self.addCleanup(follower.close)
            follower.call("events.follow")
        self.check_idle(site)


if __name__ == "__main__":
    unittest.main(verbosity=2)
