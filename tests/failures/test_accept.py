#!/usr/bin/env python3
"""The table of failures: the way of good work to the target branch."""

import os
import unittest

from row import WORKERS, AutoCase, plan, row, task

# Each node's work is one file; what `do.NODE` says comes before, which may end it.
AGENT = r"""
[ ! -e "$HOME/do.$OVERSEER_NODE" ] || . "$HOME/do.$OVERSEER_NODE"
echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"
git add -A && { git diff --cached --quiet || git commit -qm "$OVERSEER_NODE"; }
"""
# The first time the agent changes what a person is about to change, too, and stands at its gate; then it takes both sides.
BOTH = r"""
if git merge-base --is-ancestor main HEAD; then
    for i in 1 2 3 4 5; do echo agent > shared-$i.txt; done
    git add -A; git commit -qm "work of the agent"
    echo here > "$HOME/g.here"; read x < "$HOME/g.go"
else
    [ ! -e "$HOME/helpless" ] || exit 0
    git rebase -q main || {
        for i in 1 2 3 4 5; do printf 'person\nagent\n' > shared-$i.txt; done
        git add -A; GIT_EDITOR=true git rebase --continue
    }
fi
"""
ACCEPT = """
[accept]
conflict_rounds = 2
dirty_wait = "1h"
dirty_notice = "200ms"
"""


class Accept(AutoCase):
    def accept_site(self, config="", agent=AGENT):
        site = self.site(WORKERS.format(supervisor="") + ACCEPT + config, agent)
        for i in range(1, 6):
            site.write(f"shared-{i}.txt", "first\n")
        site.git("add", "-A")
        site.git("commit", "-qm", "what many change")
        return site

    def goal(self, site, *nodes):
        return site.call("goal.create", title="Test", plan=plan(*map(task, nodes)))["goal"]

    def diverge(self, site, gate):
        """A person commits to the same files while the agent works."""
        gate.wait()
        for i in range(1, 6):
            site.write(f"shared-{i}.txt", "person\n")
        site.git("commit", "-qam", "of a person")
        self.injected()
        gate.go()

    @row("13")
    def test_13_a_conflict(self):
        site = self.accept_site()
        site.write("../do.T1", BOTH)
        gate = site.gate("g")
        site.up()
        goal = self.goal(site, "T1")
        self.diverge(site, gate)
        failed = site.wait_type("node.failed", cause="conflict")
        # Its agent is told while the worker is rebasing.
        site.wait_type("dispatch.intended", after=failed["seq"])
        self.recovered(site.wait_goal(goal))
        told = [e["data"]["instruction"] for e in site.events() if e["type"] == "dispatch.intended"][-1]
        self.assertIn("shared-3.txt", told)
        self.assertIn("rebasing", [e["data"]["to"] for e in site.events() if e["type"] == "worker.status"])
        self.assertEqual(self.subjects(site)[-2:], ["of a person", "Task T1"])
        self.assertEqual(site.read("shared-3.txt"), "person\nagent\n")
        self.assertEqual(self.inbox(site), [])

    @row("14")
    def test_14_the_target_is_far_away(self):
        site = self.accept_site()
        site.write("../do.T1", BOTH)
        site.write("../helpless", "")
        gate = site.gate("g")
        site.up()
        self.goal(site, "T1")
        self.diverge(site, gate)
        asked = self.asked(site, "conflict")
        self.recovered(asked)
        shown = site.cli("inbox", "show", str(asked["data"]["escalation"]))
        self.assertIn("failed 2 times (conflict): the work conflicts with the target branch: shared-1.txt shared-2.txt", shown)
        self.assertIn("overseer inbox answer 1 retry", shown)
        # Others get on, and after a person has helped it does, too.
        site.wait_goal(self.goal(site, "T2"))
        os.unlink(os.path.join(site.root, "helpless"))
        self.mended(site, "T1", keep=True)
        self.assertEqual(site.read("shared-3.txt"), "person\nagent\n")

    @row("15")
    def test_15_a_lock_is_stuck(self):
        site = self.accept_site()
        # Of gits that were killed: in the agent's worktree, and in the user's checkout.
        site.write("../do.T1", 'echo T1 > T1.txt; : > "$(git rev-parse --git-path index.lock)"\n'
                               'echo here > "$HOME/g.here"; read x < "$HOME/g.go"; exit 0\n')
        gate = site.gate("g")
        site.up()
        self.goal(site, "T1")
        gate.wait()
        lock = site.write(".git/index.lock", "")
        self.injected()
        gate.go()
        asked = self.asked(site, "checkout")
        self.recovered(asked)
        # The agent's stopped nothing and is gone; the user's is left to the user, who is told its name.
        self.assertTrue(os.path.exists(os.path.join(site.dir, "git/pool-1/.git/index")))
        self.assertFalse(os.path.exists(os.path.join(site.dir, "git/pool-1/.git/index.lock")))
        self.assertIn(f"Unable to create '{lock}': File exists", asked["data"]["question"])
        self.assertEqual([e for e in site.events() if e["type"] == "node.failed"], [])
        # It goes on by itself when the lock is gone, and others did meanwhile.
        os.unlink(lock)
        site.wait_type("node.status", node="T1", to="done")
        self.assertEqual(site.git("show", "main:T1.txt"), "T1\n")
        self.assertEqual(self.inbox(site), [])

    @row("12")
    def test_12_work_fails_after_it_was_accepted(self):
        site = self.auto_site('[accept]\npost_accept_command = "! test -e $HOME/odd || { echo it does not build; exit 1; }"\n')
        watch = self.watched(site, "auto.post_accept_on_failure=fail")
        site.write("../tasks/1", "Make a\n")
        site.wait_type("node.status", node="t1", to="done")
        # The pool itself is well; what it gave out is not.
        site.write("../pool.sh", site.home("pool.sh").replace(". ./odd", ":"))
        self.injected()
        site.write("../odd", "")
        site.write("../tasks/2", "Make b\n")
        self.remediated(site, watch, 1, "it does not build")
        self.recovered(site.wait_type("node.status", node="t2", to="done"))
        self.assertEqual(self.subjects(site), ["Make a", "Make b"])
        self.assertEqual(self.inbox(site), [])
        watch.close()
        # Without being told to end, auto mode waits for the answer to the one entry about it.
        site.args = ["--auto"]
        site.up()
        site.write("../odd", "")
        site.write("../tasks/3", "Make c\n")
        paused = site.wait_type("auto.paused", cause="accept")
        entry, = self.inbox(site)
        self.assertEqual((entry["kind"], entry["number"]), ("post_accept", paused["data"]["escalation"]))
        os.unlink(os.path.join(site.root, "odd"))
        site.cli("inbox", "answer", str(entry["number"]), "run again")
        site.wait_type("node.status", node="t3", to="done")
        site.wait_type("auto.resumed")

    @row("15a")
    def test_15a_the_checkout_is_dirty(self):
        site = self.auto_site(ACCEPT)
        watch = self.watched(site)
        # A file that the work does not touch is in nobody's way.
        site.write("README", "being written\n")
        site.write("../tasks/1", "Make a\n")
        site.wait_type("node.status", node="t1", to="done")
        # One that it does touch is waited for, named after a while; the next task is done meanwhile.
        site.write("b.txt", "of a person\n")
        self.injected()
        site.write("../tasks/2", "Make b\n")
        waits = site.wait_type("assignment.moved", node="t2", waiting="files")
        asked = self.asked(site, "checkout")
        self.recovered(asked)
        self.assertIn("your b.txt has uncommitted changes in the same file", asked["data"]["question"])
        site.write("../tasks/3", "Make c\n")
        site.wait_type("node.status", after=waits["seq"], node="t3", to="done")
        self.assertEqual(site.read("b.txt"), "of a person\n")
        os.unlink(os.path.join(site.repo, "b.txt"))
        site.wait_type("node.status", node="t2", to="done")
        self.assertEqual(self.subjects(site), ["Make a", "Make c", "Make b"])
        self.assertEqual(site.git("status", "--porcelain"), " M README\n")
        self.assertEqual(watch.acts("failed"), [])
        self.assertEqual(self.inbox(site), [])

    @row("15b")
    def test_15b_nothing_checks_it(self):
        site = self.site(WORKERS.format(supervisor="") + '[accept]\nunchecked = "review"\n', AGENT + "echo x > forgotten\n")
        site.up()
        self.injected()
        goal = self.goal(site, "T1")
        asked = site.wait_type("escalation.opened")["data"]
        self.assertIn("nothing checked the work", asked["question"])
        self.assertIn("forgotten", asked["question"])
        self.assertEqual(site.git("log", "--format=%s", "main"), "start\n")
        site.cli("inbox", "answer", str(asked["escalation"]), "accept")
        self.recovered(site.wait_goal(goal))
        self.assertEqual(site.git("show", "main:T1.txt"), "T1\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
