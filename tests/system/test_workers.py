#!/usr/bin/env python3
"""Workers of all kinds, as people handle them: tasks, words, and their end; nothing is ever lost."""

import os
import re
import shlex
import subprocess
import unittest

from harness import CLI, FAST, PATIENCE, RpcError, SiteCase, plan, task, wait_gone

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
# Commits one file, leaves one uncommitted, and stands at the gate "g" until it is let go on.
AT_GATE = r"""
echo made > "made-$OVERSEER_NODE.txt"; git add -A; git commit -qm "work of $OVERSEER_NODE"
echo left > "left-$OVERSEER_NODE.txt"
for i in 1 2 3 4 5; do echo "line $i"; done
echo "$(basename "$PWD") $$" > "$HOME/g.here"
read x < "$HOME/g.go"
"""


class Workers(SiteCase):
    def workers(self, site):
        return {w["name"]: w for w in site.call("worker.list")["workers"]}

    def cli_error(self, site, *args):
        done = subprocess.run([CLI, *args], cwd=site.repo, env=site.env, capture_output=True, text=True, timeout=PATIENCE)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        return done.stderr

    def cli_out(self, site, code, *args):
        done = subprocess.run([CLI, *args], cwd=site.repo, env=site.env, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def kept(self, site, worker):
        """The files of all rescue refs of a worker."""
        refs = site.git("for-each-ref", "--format=%(refname)", f"refs/overseer/rescue/{worker}").split()
        return {name for ref in refs for name in site.git("ls-tree", "-r", "--name-only", ref).split("\n")}

    def test_a_worker_of_ones_own(self):
        """add, list, start, message, reset, start again, nuke; its work is found again each time."""
        site = self.site(FAST, AT_GATE)
        gate = site.gate("g")
        site.up()
        self.assertIn("No workers yet", site.cli("worker", "list"))
        self.assertIn("goals leave it alone", site.cli("worker", "add", "mine", "--excluded-from-pool"))
        self.assertIn("mine", site.cli("worker", "list"))
        said = site.cli("worker", "start", "mine", "--task", "Write a file\nand nothing else")
        self.assertIn("Worker mine begins with", said)
        worker, pid = gate.wait().split()
        self.assertEqual(worker, "mine")
        w = self.workers(site)["mine"]
        self.assertEqual((w["status"], w["kind"], w["excluded"], w["task"]), ("working", "manual", True, "Write a file"))
        self.assertIn("Write a file", site.cli("worker", "list"))
        node = w["node"]
        # A busy one takes no further task; words wait for its next run, since it reads none.
        self.assertIn("is working, so it cannot be asked to start", self.cli_error(site, "worker", "start", "mine", "--task", "x"))
        self.assertIn("with its next run", site.cli("worker", "message", "mine", "use", "tabs"))
        self.assertEqual(site.cli("worker", "peek", "mine", "--lines", "2"), "line 4\nline 5\n")
        self.assertIn("overseer run log", self.cli_error(site, "worker", "attach", "mine"))
        self.assertIn("working", site.cli("status"))
        # Reset: the run is ended, its task waits for the person, what it made is kept, the worktree is clean.
        self.assertIn("mine was reset", site.cli("worker", "reset", "mine"))
        wait_gone(int(pid))
        self.assertEqual(self.workers(site)["mine"]["status"], "idle")
        shown = site.node(node)
        self.assertEqual((shown["status"], shown["block"]), ("blocked", "person"))
        tree = os.path.join(site.dir, "worktrees/mine")
        self.assertEqual(sorted(os.listdir(tree)), [".git", "README"])
        self.assertIn("mine", site.cli("rescue", "list"))
        kept = self.kept(site, "mine")
        self.assertTrue(any(n.startswith("left-") for n in kept), kept)
        self.assertTrue(any(n.startswith("made-") for n in kept), kept)
        # It goes on where it was when the person says so, in the same worker, and is told the words.
        after = site.seq()
        site.cli("work", "unblock", node, "--reason", "go on")
        gate.wait()
        self.assertTrue(any(n.startswith("made-") for n in os.listdir(tree)))
        run = site.wait_type("run.created", after=after)["run"]
        self.assertIn("use tabs", site.read(f".overseer/runs/{run}/instruction"))
        gate.go()
        site.wait_type("node.status", after=after, to="done")
        # Nuked, it is gone with its worktree.
        self.assertIn("mine was removed", site.cli("worker", "nuke", "--all"))
        self.assertEqual(self.workers(site), {})
        self.assertFalse(os.path.exists(tree))
        self.assertNotIn("worktrees/mine", site.git("worktree", "list"))

    def test_where_the_work_is(self):
        """What a person finds of a worker's work, and may do in its worktree (docs/workers.md)."""
        site = self.site(FAST, AT_GATE)
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        gate.wait()
        tree, base = os.path.join(site.dir, "worktrees/pool-1"), site.git("rev-parse", "main")
        # Private until harvest: git lists no such worktree, and its branch is where it began.
        self.assertEqual(len(site.git("worktree", "list").splitlines()), 1)
        shown = site.cli("work", "show", "T1")
        branch = re.search(r"overseer/pool-1/\S+", shown)[0]
        self.assertEqual(site.git("rev-parse", branch), base)
        self.assertIn("work of T1", site.git("-C", tree, "log", "--format=%s", "main.."))
        # A person commits there, and makes a branch.
        site.write(os.path.join(tree, "mine.txt"), "mine\n")
        site.git("-C", tree, "add", "mine.txt")
        site.git("-C", tree, "commit", "-qm", "by a person")
        site.git("-C", tree, "branch", "idea")
        self.assertNotIn("idea", site.git("branch", "--list"))
        site.git("fetch", "-q", os.path.relpath(tree, site.repo), "idea:copied")
        self.assertEqual(site.git("show", "copied:mine.txt"), "mine\n")
        far = os.path.join(site.root, "far")
        site.git("init", "-q", "--bare", far)
        site.git("remote", "add", "origin", far)
        site.git("-C", tree, "push", "-q", "origin", "idea")
        self.assertEqual(site.git("-C", far, "show", "idea:mine.txt"), "mine\n")
        site.git("-C", tree, "fetch", "-q", "origin")
        self.assertIn("origin/idea", site.git("-C", tree, "branch", "--remotes"))
        gate.go()
        site.wait_goal(goal)
        self.assertEqual(site.git("show", "main:mine.txt") + site.git("show", "main:left-T1.txt"), "mine\nleft\n")
        # In an idle worktree: kept before the next task.
        site.write(os.path.join(tree, "idle.txt"), "idle\n")
        goal = site.call("goal.create", title="Next", plan=plan(task("T2")))["goal"]
        gate.wait()
        self.assertFalse(os.path.exists(os.path.join(tree, "idle.txt")))
        self.assertIn("idle.txt", self.kept(site, "pool-1"))
        gate.go()
        site.wait_goal(goal)

    def test_ordinary_goals_leave_it_alone(self):
        """An excluded worker gets no task of a goal, one that is not does; both beside the pool."""
        site = self.site("workers.max = 1\n" + FAST, AT_GATE)
        gate = site.gate("g")
        site.up()
        site.cli("worker", "add", "mine", "--excluded-from-pool")
        site.cli("worker", "add", "yours")
        goal = site.call("goal.create", title="Test", plan=plan(task("T1"), task("T2"), task("T3")))["goal"]
        self.assertEqual({gate.wait().split()[0], gate.wait().split()[0]}, {"pool-1", "yours"})
        self.assertEqual(self.workers(site)["mine"]["status"], "idle")
        # One of the pool is reset while it works: its task is done anew, once, from what it had made.
        site.cli("worker", "reset", "pool-1")
        gate.go(3)
        site.wait_goal(goal)
        subjects = site.git("log", "--format=%s", "main").split("\n")
        for node in ("T1", "T2", "T3"):
            self.assertEqual(subjects.count(f"Task {node}"), 1)
        self.assertEqual(set(self.workers(site)), {"mine", "yours", "pool-1"})

    def test_review(self):
        """review, reject, rebase with and without a conflict, accept, pick: each as a person sees it."""
        site = self.site(FAST + '[accept]\nreview = "always"\n', r"""
prompt=$(cat); echo "$prompt" > "$HOME/prompt.$OVERSEER_ATTEMPT"
case "$prompt" in *onflict*) git reset -q --hard main; echo solved > shared.txt; git add -A; git commit -qm solved; exit ;; esac
echo "attempt $OVERSEER_ATTEMPT" > work.txt; echo mine > shared.txt; git add -A; git commit -qm work
""")
        site.up()
        site.cli("worker", "add", "mine")
        site.cli("worker", "start", "mine", "--task", "Make work.txt")
        seen = site.wait_type("worker.status", to="needs_review")["seq"]
        shown = site.cli("worker", "review", "mine")
        self.assertIn("+attempt 1", shown)
        self.assertIn("work.txt", shown)
        self.assertEqual(self.workers(site)["mine"]["status"], "reviewing")
        # Rejected: the agent is told, and the next attempt waits for review again.
        site.cli("worker", "reject", "mine", "--reason", "make it attempt two")
        seen = site.wait_type("worker.status", after=seen + 1, to="needs_review")["seq"]
        self.assertIn("make it attempt two", site.home("prompt.2"))
        moves = [e["data"]["to"] for e in site.events() if e["type"] == "worker.status"]
        self.assertEqual(moves, ["working", "needs_review", "reviewing", "rejected", "working", "needs_review"])
        self.assertEqual(site.git("log", "--format=%s", "main").strip(), "start", "nothing goes past review")
        # Rebased: onto what the user committed meanwhile.
        site.write("user.txt", "user\n")
        site.git("add", "-A")
        site.git("commit", "-qm", "by the user")
        self.assertEqual(site.cli("worker", "rebase", "mine"), "Rebased.\n")
        branch = self.workers(site)["mine"]["branch"]
        self.assertEqual(site.git("rev-parse", branch + "~1"), site.git("rev-parse", "main"))
        self.assertEqual(self.workers(site)["mine"]["status"], "needs_review")
        # Picked: what is there is on main now, and the worker goes on as if nothing was.
        self.assertIn("Picked as commit", site.cli("worker", "pick", "mine", "--reason", "needed today"))
        self.assertEqual(site.git("show", "main:work.txt"), "attempt 2\n")
        intended = [e for e in site.events() if e["type"] == "effect.intended" and e["data"].get("purpose") == "pick"]
        self.assertEqual([(e["data"]["reason"], e["actor"].startswith("human:")) for e in intended], [("needed today", True)])
        self.assertEqual(self.workers(site)["mine"]["status"], "needs_review")
        # A conflict: refused by pick, resolved by the agent after rebase, then accepted.
        site.write("shared.txt", "theirs\n")
        site.git("commit", "-qam", "by the user, again")
        self.assertIn("It conflicts; nothing was changed on the target branch:\n  shared.txt",
                      self.cli_out(site, 1, "worker", "pick", "mine", "--reason", "x"))
        self.assertEqual(site.git("log", "-1", "--format=%s", "main").strip(), "by the user, again")
        seen = site.seq()
        self.assertIn("It conflicts", self.cli_out(site, 1, "worker", "rebase", "mine"))
        site.wait_type("worker.status", after=seen, to="needs_review")
        self.assertIn("shared.txt", site.home("prompt.3"))
        self.assertIn("Make work.txt", site.home("prompt.3"))
        self.assertIn("goes to main when its turn comes", site.cli("worker", "accept", "mine", "--reason", "fine"))
        site.wait_type("node.status", after=seen, to="done")
        self.assertEqual(site.read("shared.txt"), "solved\n")
        self.assertEqual(self.workers(site)["mine"]["status"], "idle")

    def test_the_lines_of_the_documentation(self):
        """Every `overseer` line of docs/workers.md, in order."""
        with open(os.path.join(ROOT, "docs/workers.md"), encoding="utf-8") as f:
            lines = re.findall(r"^    overseer (.+)$", f.read(), re.M)
        self.assertGreaterEqual(len(lines), 12)
        site = self.site(FAST + '[accept]\nreview = "always"\n', r"""
[ "$OVERSEER_ATTEMPT" = 1 ] && { echo one > NOTES; echo here > "$HOME/g.here"; read x < "$HOME/g.go"; } || echo two >> NOTES
""")
        gate = site.gate("g")
        site.up()
        seq = 0
        for line in lines:
            words = shlex.split(line)
            if words[1] in ("review", "accept"):  # its work has to be good first
                seq = site.wait_type("worker.status", after=seq, to="needs_review")["seq"]
            if words[1] == "reset":
                site.wait_type("node.status", to="done")
            site.cli(*words)
            if words[1] == "start":
                gate.wait()
            if words[1] == "peek":
                gate.go()
            if words[1] == "reject":
                seq = site.seq()
        self.assertEqual(site.git("show", "main:NOTES"), "one\ntwo\n")

    def test_workers_of_auto_mode(self):
        """They are made by themselves, shown apart, refused by start; all else works on them as on others."""
        site = self.site(FAST + r"""
[auto]
concurrency = 1
task_pool_command = '[ -e "$HOME/given" ] && exit 4; : > "$HOME/given"; echo The only task'
pool_wait = "10ms"
pool_wait_max = "10ms"
""", AT_GATE)
        site.args = ["--auto"]
        gate = site.gate("g")
        site.up()
        self.assertEqual(gate.wait().split()[0], "auto-1")
        shown = site.cli("status")
        self.assertRegex(shown, r"Auto Workers \(1\)\n  auto-1  working .*The only task\n")
        self.assertIn("Auto Mode: 1 workers, 0 tasks completed, 0 errors", shown)
        said = self.cli_error(site, "worker", "start", "auto-1", "--task", "mine")
        self.assertIn("worker auto-1 gets its tasks from the pool (auto mode)", said)
        self.assertIn("overseer worker add NAME", said)
        self.assertEqual(site.cli("worker", "peek", "auto-1", "--lines", "1"), "line 5\n")
        # Its task is done again, once, by one that is made anew.
        self.assertIn("auto-1 was removed", site.cli("worker", "nuke", "auto-1"))
        self.assertEqual(gate.wait().split()[0], "auto-1")
        gate.go()
        site.wait_type("node.status", to="done")
        self.assertEqual(site.git("log", "--format=%s", "main").split("\n").count("The only task"), 1)
        self.assertTrue(any(n.startswith("left-") for n in self.kept(site, "auto-1")))

    def test_errors(self):
        site = self.site(FAST, AT_GATE)
        site.up()
        site.cli("worker", "add", "mine")
        for args, words in (
                (("add", "mine"), "there is a worker mine already"),
                (("add", "../x"), "letters, digits"),
                (("add", "auto-7"), "made on demand"),
                (("add", "x", "--agent", "nobody"), "not configured"),
                (("start", "mien", "--task", "x"), 'did you mean "mine"?'),
                (("start", "mine", "--task", " "), "a task is needed"),
                (("message", "mine", "x"), "is idle, so it cannot be asked to message; what can be done: start"),
                (("peek", "mine"), "there is no run to look at"),
                (("reset",), "name one worker, or give --all"),
                (("nuke", "mine", "--all"), "name one worker, or give --all")):
            self.assertIn(words, self.cli_error(site, "worker", *args))
        with self.assertRaises(RpcError) as e:
            site.call("worker.reset", worker="nobody")
        self.assertEqual((e.exception.code, e.exception.next), ("E_NOT_FOUND", "overseer worker list"))


if __name__ == "__main__":
    unittest.main()
