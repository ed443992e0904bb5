#!/usr/bin/env python3
"""The table of failures: workers, their agents and worktrees."""

import os
import signal
import unittest

from row import WORKERS, RowCase, plan, row, task

# Each node's agent says who it is and whose child, and stands at its gate, if there is one, until it is let go on; `do.NODE`
# is what goes wrong with it. Then its work is one file.
AGENT = r"""
echo "$OVERSEER_NODE" >> "$HOME/runs"
[ ! -e "$HOME/$OVERSEER_NODE.here" ] || { echo "$$ $PPID" > "$HOME/$OVERSEER_NODE.here"; read x < "$HOME/$OVERSEER_NODE.go"; }
[ ! -e "$HOME/do.$OVERSEER_NODE" ] || . "$HOME/do.$OVERSEER_NODE"
echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"
git add -A && { git diff --cached --quiet || git commit -qm "$OVERSEER_NODE"; }
"""
HASTY = """idle_after = "1s"
mute_after = "2s"
max_retries = 0"""


class Workers(RowCase):
    def worker_site(self, supervisor=""):
        return self.site(WORKERS.format(supervisor=supervisor), AGENT)

    def goal(self, site, *nodes):
        return site.call("goal.create", title="Test", plan=plan(*map(task, nodes)))["goal"]

    def others_go_on(self, site):
        """A task that has nothing to do with it is done as ever."""
        site.wait_goal(self.goal(site, f"T{site.seq()}"))

    @row("5")
    def test_5_an_agent_crashes_once(self):
        site = self.worker_site()
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

    @row("6")
    def test_6_an_agent_crashes_again_and_again(self):
        site = self.worker_site()
        site.write("../do.T1", "kill -SEGV $$\n")
        site.up()
        self.goal(site, "T1")
        self.injected(site.wait_type("run.started"))
        asked = self.asked(site, "failed")
        self.recovered(asked)
        shown = site.cli("inbox", "show", str(asked["data"]["escalation"]))
        self.assertIn("failed 2 times (run): the agent was ended by signal 11. How shall it go on?", shown)
        self.assertRegex(shown, r"overseer inbox answer 1 retry\|done\|cancel\|TEXT")
        self.others_go_on(site)
        self.assertEqual(site.node("T1")["status"], "blocked")
        self.mended(site, "T1")

    @row("7")
    def test_7_an_agent_hangs(self):
        """One that waits for ever is ended and begun again; one that turns in circles is put before a person."""
        site = self.worker_site(HASTY)
        site.write("../do.T1", '[ -e "$HOME/hung" ] || { : > "$HOME/hung"; exec sleep 1000; }\n')
        site.write("../do.T2", "while :; do :; done\n")
        site.up()
        self.injected()
        hung = self.goal(site, "T1")
        self.goal(site, "T2")
        self.recovered(site.wait_goal(hung))
        asked = self.asked(site, "mute")
        shown = site.cli("inbox", "show", str(asked["data"]["escalation"]))
        self.assertRegex(shown, "It is left alone; if it hangs: overseer run stop R_.* --reason TEXT")
        site.cli("run", "stop", asked["run"], "--reason", "it turns in circles")
        site.wait_type("run.ended", node="T2")
        self.mended(site, "T2")

    @row("8")
    def test_8_a_worker_in_error(self):
        site = self.worker_site()
        gate = site.gate("T1")
        site.up()
        self.goal(site, "T1")
        for _ in range(3):
            _, shim = gate.wait().split()
            self.injected()
            os.kill(int(shim), signal.SIGKILL)
        asked = self.asked(site, "process_gone")
        self.recovered(asked)
        shown = site.cli("inbox", "show", str(asked["data"]["escalation"]))
        self.assertIn("worker pool-1 was repaired 2 times (process_gone) and does not get on", shown)
        self.assertIn("overseer worker reset pool-1", shown)
        self.others_go_on(site)
        self.assertEqual(self.workers(site), {"pool-1": "error", "pool-2": "idle"})
        site.cli("worker", "reset", "pool-1")
        self.assertEqual(self.workers(site), {"pool-1": "idle", "pool-2": "idle"})
        gate.go()
        self.mended(site, "T1")

    @row("11")
    def test_11_a_worktree_is_damaged(self):
        site = self.worker_site()
        gate = site.gate("T1")
        site.up()
        goal = self.goal(site, "T1")
        gate.wait()
        tree = os.path.join(site.dir, "worktrees/pool-1")
        admin = site.git("-C", tree, "rev-parse", "--absolute-git-dir").strip()
        site.write(os.path.join(tree, "begun.txt"), "begun\n")
        self.injected()
        for name in ("index", "HEAD"):
            site.write(os.path.join(admin, name), "garbage\n")
        site.write(os.path.join(tree, ".git"), "garbage\n")
        # Patrol may see it first and stop the run, or the agent's own git does; then it is made anew.
        gate.go(5)
        self.recovered(site.wait_goal(goal))
        self.assertEqual(self.subjects(site), ["Task T1"])
        self.assertEqual(site.git("show", "main:begun.txt"), "begun\n")
        self.assertEqual(self.inbox(site), [])
        self.assertEqual(self.workers(site)["pool-1"], "idle")


if __name__ == "__main__":
    unittest.main(verbosity=2)
