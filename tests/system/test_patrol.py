#!/usr/bin/env python3
"""Whatever is not as the state says is found, repaired within a cap, and told."""

import os
import shutil
import signal
import unittest

from harness import FAST, SiteCase, plan, task

AGENT = r"""
echo "$PPID" > "$HOME/$OVERSEER_NODE.here"; read x < "$HOME/$OVERSEER_NODE.go"
echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "$OVERSEER_NODE"
"""


class Patrol(SiteCase):
    def setUp(self):
        self.s = self.site(FAST + '[workers]\nmax = 1\n[patrol]\nrestarts = 1\n[supervisor]\ntick_every = "1s"\n', AGENT)

    def found(self, finding, after=0):
        return self.s.wait_type("patrol.found", after=after, finding=finding)

    def begin(self, node):
        gate = self.s.gate(node)
        goal = self.s.call("goal.create", title=node, plan=plan(task(node)))["goal"]
        return gate, goal

    def worktree(self, name="pool-1"):
        return os.path.join(self.s.dir, "worktrees", name)

    def questions(self):
        return [x["question"] for x in self.s.call("inbox.list")["inbox"]]

    def test_whole_round(self):
        s = self.s
        s.up()
        # Under a busy worker: its run is stopped, the worktree made again, the task done.
        gate, goal = self.begin("T1")
        gate.wait()
        shutil.rmtree(self.worktree())
        self.assertEqual(self.found("no_worktree")["data"]["detail"], f"the worktree {self.worktree()} is gone")
        gate.wait()
        gate.go()
        s.wait_goal(goal)
        self.assertEqual(s.git("show", "main:T1.txt"), "T1\n")
        self.assertEqual(s.call("worker.list")["workers"][0]["status"], "idle")

        # While nothing runs nobody looks: a start does.
        before = s.seq()
        s.down()
        shutil.rmtree(self.worktree())
        s.git("worktree", "add", "-q", "-b", "mine", self.worktree("mine"))
        s.write(".overseer/worktrees/mine/precious.txt", "precious\n")
        os.mkdir(self.worktree("empty"))
        for suffix, text in (("lock", ""), ("rc", "0\n"), ("out", "Do what nobody knows\n")):
            s.write(f".overseer/pool/X_01ARZ3NDEKTSV4RRFFQ69G5FAV.{suffix}", text)
        s.up()
        self.found("no_worktree", before)
        told = s.wait_event(lambda e: e["type"] == "patrol.found" and "rescue/mine/stray" in e["data"]["detail"])
        self.assertEqual(told["data"]["repair"], "none")
        self.assertEqual(s.git("show", "refs/overseer/rescue/mine/stray:precious.txt"), "precious\n")
        self.assertTrue(os.path.exists(os.path.join(self.worktree("mine"), "precious.txt")))
        self.found("orphaned_claim", before)
        questions = "\n".join(self.questions())
        for words in ("Do what nobody knows", "worktrees/empty is no worker's", "worktrees/mine belongs to no worker"):
            self.assertIn(words, questions)
        asked = len(self.questions())

        # An idle worker's is made again by the next task; a rebase that nobody finishes is kept by it.
        gate, goal = self.begin("T2")
        gate.wait()
        gate.go()
        s.wait_goal(goal)
        before = s.seq()
        s.down()
        admin = s.git("-C", self.worktree(), "rev-parse", "--absolute-git-dir").strip()
        os.mkdir(os.path.join(admin, "rebase-merge"))
        s.up()
        found = self.found("stale_rebase", before)["data"]
        self.assertEqual((found["detail"], found["repair"]),
                         (f"a rebase in {self.worktree()} is unfinished, and no run is active there",
                          "its commits are kept when the worktree is next used"))
        self.assertEqual(len(self.questions()), asked, "nobody is asked twice")

        # Runs that are lost are begun again, so often; then the worker is in error.
        shutil.rmtree(os.path.join(admin, "rebase-merge"))
        gate, goal = self.begin("T3")
        for count in (1, 2):
            shim = int(gate.wait())
            os.kill(shim, signal.SIGKILL)
            lost = s.wait_type("patrol.found", finding="process_gone", count=count)
            self.assertEqual(lost["data"]["repair"], "none" if count == 2 else "its run is begun again")
        s.wait_type("worker.status", to="error")
        self.assertIn("was repaired 1 time (process_gone)", "\n".join(self.questions()))
        self.assertEqual(s.node(f"{goal}/T3")["status"], "blocked")
        self.assertIn("process_gone", s.cli("status"))
        # Reset, and on.
        s.cli("worker", "reset", "pool-1")
        s.cli("work", "unblock", "T3", "--reason", "again")
        gate.wait()
        gate.go()
        s.wait_goal(goal)


# Its work is uncommitted when it takes away what connects its worktree with the repository.
LOSER = r"""
echo "run" >> "$HOME/runs"
echo "work of a run" > work.txt
case "$OVERSEER_NODE" in
link) rm -f .git ;;
stays) rm -f .git; trap 'exit 0' TERM INT; echo x > "$HOME/stays.here"; while :; do sleep 0.05; done ;;
folder) cd /; rm -rf "$OVERSEER_WORKTREE" ;;
esac
exit 0
"""


class Lost(SiteCase):
    def begin(self, node):
        self.s = self.site(FAST + '[workers]\nmax = 1\n[patrol]\nrestarts = 1\n[supervisor]\ntick_every = "1s"\n', LOSER)
        self.s.up()
        return self.s, self.s.call("goal.create", title=node, plan=plan(task(node)))["goal"]

    def spent(self):
        return len(self.s.home("runs").splitlines())

    def test_link(self):
        """It ended well: its work is harvested, and the link is there again. Nothing is begun anew."""
        s, goal = self.begin("link")
        s.wait_goal(goal)
        self.assertEqual(s.git("show", "main:work.txt"), "work of a run\n")
        self.assertEqual(self.spent(), 1)
        self.assertEqual(s.git("-C", os.path.join(s.dir, "worktrees/pool-1"), "rev-parse", "--show-toplevel").strip(),
                         os.path.join(s.dir, "worktrees/pool-1"))

    def test_link_under_a_run(self):
        """It is stopped, and ends well by that: its work is kept each time, and runs are not spent without end."""
        s, goal = self.begin("stays")
        found = s.wait_type("patrol.found", finding="no_worktree")["data"]
        self.assertEqual(found["detail"], f"the .git file of the worktree {s.dir}/worktrees/pool-1 is gone or names another git folder")
        s.wait_type("worker.status", to="error")
        self.assertEqual(s.node(f"{goal}/stays")["status"], "blocked")
        self.assertEqual(self.spent(), 2)
        self.assertEqual(len([e for e in s.events() if e["type"] == "run.harvested"]), 2)
        branch = s.node(f"{goal}/stays")["handover"]
        self.assertEqual(s.git("show", f"{branch}:work.txt"), "work of a run\n")

    def test_folder(self):
        s, goal = self.begin("folder")
        s.wait_type("worker.status", to="error")
        self.assertEqual(self.spent(), 2)
        self.assertEqual(s.node(f"{goal}/folder")["status"], "blocked")


if __name__ == "__main__":
    unittest.main()
