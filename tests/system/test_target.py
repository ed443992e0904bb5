#!/usr/bin/env python3
"""A target branch that is moved by neither Overseer nor the user is told to a person."""

import os
import unittest

from harness import FAST, SiteCase, plan, task

# Commits beside its own work, and moves the target there, as no fence keeps it from doing.
ROGUE = r"""
echo "$PPID" > "$HOME/$OVERSEER_NODE.here"; read x < "$HOME/$OVERSEER_NODE.go"
if [ "$OVERSEER_NODE" = T1 ]; then
	echo planted > planted.txt; git add -A; git commit -qm "Sneak in"
	users="$OVERSEER_WORKTREE/../../../.git"; head=$(git rev-parse HEAD)
	git --git-dir="$users" fetch -q --no-write-fetch-head "$PWD" HEAD
	echo "$head" > "$users/refs/heads/main"
	git reset -q --hard HEAD~
fi
[ -e planted.txt ] && echo "changed by $OVERSEER_NODE" > planted.txt
echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "$OVERSEER_NODE"
"""


class Target(SiteCase):
    def start(self, config=""):
        self.s = self.site(FAST + '[workers]\nmax = 2\n[accept]\ndirty_notice = "100ms"\ndirty_wait = "300ms"\n' + config, ROGUE)
        self.s.up()
        return self.s

    def begin(self, node):
        gate = self.s.gate(node)
        goal = self.s.call("goal.create", title=node, plan=plan(task(node)))["goal"]
        gate.wait()
        return gate, goal

    def whole(self, node):
        gate, goal = self.begin(node)
        gate.go()
        self.s.wait_goal(goal)

    def entries(self):
        return [x for x in self.s.call("inbox.list")["inbox"] if x["kind"] == "target_moved"]

    def head(self):
        return self.s.git("rev-parse", "main").strip()

    def commit(self, name, cwd=None):
        s = self.s
        where = ["-C", cwd or s.repo]
        s.git(*where, "commit", "-q", "--allow-empty", "-m", name)
        return s.git(*where, "rev-parse", "HEAD").strip()

    def accept(self, goal, node):
        self.s.wait_type("worker.status", to="needs_review", worker=self.s.node(f"{goal}/{node}")["assignment"]["worker"])
        self.s.cli("worker", "accept", self.s.node(f"{goal}/{node}")["assignment"]["worker"])

    def test_put_back(self):
        """The target is checked out by the user: what the agent did looks as if the user had taken it back."""
        s = self.start('review = "always"\n')
        before = self.head()
        gate, goal = self.begin("T1")
        gate.go()
        move = s.wait_type("target.moved", how="unknown")["data"]
        self.assertEqual((move["from"], move["to"]), (before, self.head()))
        self.assertEqual(len(move["runs"]), 1)
        entry, = self.entries()
        self.assertEqual(entry["number"], move["escalation"])
        for words in ("Sneak in", move["runs"][0], f"git update-ref refs/heads/main {before} {move['to']}",
                      "neither Overseer nor your checkout"):
            self.assertIn(words, entry["question"])
        self.assertIn("planted.txt", s.git("status", "--porcelain"))
        # As the entry says: the files were never touched, and the entry closes itself.
        s.git("update-ref", "refs/heads/main", before, move["to"])
        self.assertEqual(s.git("status", "--porcelain"), "")
        self.accept(goal, "T1")
        s.wait_goal(goal)
        s.wait_type("target.moved", how="back")
        self.assertEqual(self.entries(), [])
        self.assertEqual(s.git("show", "main:T1.txt"), "T1\n")
        self.assertNotIn("planted.txt", s.git("ls-tree", "--name-only", "main"))

    def test_work_that_waits_says_so(self):
        s = self.start('review = "always"\n')
        gate, _ = self.begin("T1")
        gate.go()
        s.wait_type("target.moved", how="unknown")
        entry, = self.entries()
        # Its worktree has the file; in the user's checkout it seems to be deleted.
        gate, goal = self.begin("T2")
        gate.go()
        self.accept(goal, "T2")
        told = s.wait_event(lambda e: e["type"] == "escalation.opened" and e["data"]["kind"] == "checkout")["data"]
        self.assertIn(f"moved by neither Overseer nor your checkout, which therefore shows changes that are not yours (inbox #{entry['number']})",
                      told["question"])
        self.assertNotIn("uncommitted", told["question"])
        self.assertIn("moved by neither", s.cli("status"))
        s.cli("inbox", "answer", str(entry["number"]), "keep")
        s.git("reset", "-q", "--hard")
        s.wait_goal(goal)
        self.assertEqual(self.entries(), [])
        self.assertEqual(s.git("show", "main:planted.txt"), "changed by T2\n")

    def test_traces_removed(self):
        """Whoever removes the log of HEAD hides nothing; where the user switched it off, nobody can be told apart."""
        s = self.start('review = "always"\n')
        gate, goal = self.begin("T1")
        os.remove(os.path.join(s.repo, ".git/logs/HEAD"))
        gate.go()
        s.wait_type("target.moved", how="unknown")
        self.assertEqual(len(self.entries()), 1)
        s.git("config", "core.logAllRefUpdates", "false")
        gate, _ = self.begin("T3")
        mine = self.commit("mine")
        gate.go()
        self.assertEqual(s.wait_type("target.moved", to=mine)["data"]["how"], "unrecorded")

    def test_people(self):
        """Whoever leaves a trace as people do is not reported, and nobody is where no agent was at work."""
        s = self.start()
        gate, goal = self.begin("T8")
        mine = self.commit("mine")
        self.whole("T9")
        self.assertEqual(s.wait_type("target.moved", to=mine)["data"]["how"], "person")
        # In another worktree of the user's.
        s.git("switch", "-q", "-c", "side")
        other = os.path.join(s.root, "other")
        s.git("worktree", "add", "-q", other, "main")
        theirs = self.commit("theirs", other)
        self.whole("T10")
        self.assertEqual(s.wait_type("target.moved", to=theirs)["data"]["how"], "person")
        # From a remote, by fetch: no HEAD moves.
        s.git("-C", other, "switch", "-q", "--detach")
        far = s.git("commit-tree", "-p", "main", "-m", "far", "main^{tree}").strip()
        s.git("update-ref", "refs/remotes/origin/main", far)
        s.git("update-ref", "refs/heads/main", far)
        self.whole("T11")
        self.assertEqual(s.wait_type("target.moved", to=far)["data"]["how"], "remote")
        gate.go()
        s.wait_goal(goal)
        # Nobody can say who it was, but no run was live.
        odd = s.git("commit-tree", "-p", "main", "-m", "odd", "main^{tree}").strip()
        s.git("update-ref", "refs/heads/main", odd)
        self.whole("T12")
        move = s.wait_type("target.moved", to=odd)["data"]
        self.assertEqual((move["how"], move.get("escalation")), ("unknown", None))
        self.assertEqual(self.entries(), [])
        # Overseer's own moves are known without a look.
        self.assertEqual([e["data"]["how"] for e in s.events() if e["type"] == "target.moved"],
                         ["found", "person", "ours", "person", "ours", "remote", "ours", "ours", "unknown", "ours"])


if __name__ == "__main__":
    unittest.main()
