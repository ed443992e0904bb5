#!/usr/bin/env python3
"""The table of failures: workers, their agents, terminals and worktrees."""

import os
import signal
import unittest

from row import FAST, RowCase, plan, row, task

# Says who it is and whose child, and stands at the gate of its node until it is let go on; then its work is one file.
AGENT = r"""
echo "$$ $PPID" > "$HOME/$OVERSEER_NODE.here"; read x < "$HOME/$OVERSEER_NODE.go"
echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "$OVERSEER_NODE"
"""
CONFIG = FAST + """
[workers]
max = 2
[patrol]
restarts = 2
"""


class Workers(RowCase):
    def goal(self, site, *nodes):
        return site.call("goal.create", title="Test", plan=plan(*map(task, nodes)))["goal"]

    @row("5")
    def test_5_an_agent_crashes_once(self):
        site = self.site(CONFIG, AGENT)
        gate = site.gate("T1")
        site.up()
        goal = self.goal(site, "T1")
        agent, _ = gate.wait().split()
        self.injected()
        os.kill(int(agent), signal.SIGSEGV)
        ended = site.wait_type("run.ended")
        self.assertEqual(ended["data"]["signal"], signal.SIGSEGV)
        _, shim = gate.wait().split()
        self.recovered(site.wait_type("run.started", after=ended["seq"]))
        # The same for one that takes everything with it, so that nobody saw how it ended: patrol finds that.
        os.kill(int(shim), signal.SIGKILL)
        found = site.wait_type("patrol.found", finding="process_gone")
        self.assertEqual(found["data"]["repair"], "its run is begun again")
        gate.wait()
        gate.go()
        site.wait_goal(goal)
        self.assertEqual(self.subjects(site), ["Task T1"])
        self.assertEqual(self.inbox(site), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
