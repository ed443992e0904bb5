#!/usr/bin/env python3
"""The table of failures: agents in terminals of tmux."""

import json
import os
import subprocess
import unittest

from row import PATIENCE, SYSTEM, WORKERS, RowCase, plan, row, task

TERMINAL = """
[defaults]
agent = "typed"
[agents.typed]
runtime = "tmux"
format = "claude"
command = %s
env_pass = ["HOME", "PATH", "LC_ALL", "ASAN_OPTIONS", "UBSAN_OPTIONS"]
""" % json.dumps([os.path.join(SYSTEM, "typed.py")])


class Terminals(RowCase):
    def terminal_site(self):
        site = self.site(WORKERS.format(supervisor="") + TERMINAL)
        site.env["TMUX_TMPDIR"] = site.root
        self.addCleanup(self.kill_sessions, site)
        return site

    def kill_sessions(self, site):
        """As somebody does who thinks that nobody needs them: the whole server of the site."""
        folder = os.path.join(site.root, f"tmux-{os.getuid()}")
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            subprocess.run(["tmux", "-S", os.path.join(folder, name), "kill-server"], env=site.env, timeout=PATIENCE,
                           capture_output=True, check=False)

    def typed_goal(self, site, node):
        lines = f"Do as the lines say.\n!wait {node}\n!echo {node} > {node}.txt"
        return site.call("goal.create", title="Test", plan=plan(task(node, objective=lines)))["goal"]

    @row("9")
    def test_9_a_session_is_killed_once(self):
        site = self.terminal_site()
        gate = site.gate("T1")
        site.up()
        goal = self.typed_goal(site, "T1")
        gate.wait()
        self.injected()
        self.kill_sessions(site)
        ended = site.wait_type("run.ended")
        self.assertIn("its terminal was closed", ended["data"]["message"])
        gate.wait()
        self.recovered(site.wait_type("run.started", after=ended["seq"]))
        gate.go()
        site.wait_goal(goal)
        self.assertEqual(self.subjects(site), ["Task T1"])
        self.assertEqual(self.inbox(site), [])

    @row("10")
    def test_10_sessions_are_killed_again_and_again(self):
        site = self.terminal_site()
        gate = site.gate("T1")
        site.up()
        self.typed_goal(site, "T1")
        for _ in range(4):  # twice, and as often with another session
            gate.wait()
            self.injected()
            self.kill_sessions(site)
        asked = self.asked(site, "failed")
        self.recovered(asked)
        shown = site.cli("inbox", "show", str(asked["data"]["escalation"]))
        self.assertIn("its terminal was closed", shown)
        self.assertIn("overseer inbox answer 1 retry", shown)
        gate.go()
        self.mended(site, "T1")


if __name__ == "__main__":
    unittest.main(verbosity=2)
