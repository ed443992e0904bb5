#!/usr/bin/env python3
"""The accept queue with a real daemon and a real repository: every step, and a user who works there, too."""

import json
import os
import unittest

from harness import FAST, RpcError, SiteCase, plan, task

# What each node's agent does; a second run of the same node corrects what the first one did.
AGENT = r"""
echo "$OVERSEER_NODE" >> "$HOME/runs"
n=$(grep -cx "$OVERSEER_NODE" "$HOME/runs")
case $OVERSEER_NODE in
GATE) [ $n = 1 ] && echo bad > GATE.txt || echo good > GATE.txt ;;
BOTH)
    if [ $n = 1 ]; then
        sed -i '1s/.*/ours/' shared.txt
        echo BOTH > "$HOME/g.here"; read -r _ < "$HOME/g.go"
    else
        git rebase -q main || {
            printf 'theirs\nours\n' > shared.txt
            git add shared.txt && GIT_EDITOR=true git rebase --continue
        }
    fi ;;
LAZY) [ $n = 1 ] || echo now > LAZY.txt ;;
BACK) [ -e BACK.txt ] && echo good > BACK.txt || echo broken > BACK.txt ;;
*) echo "$n" > "$OVERSEER_NODE.txt" ;;
esac
git add -A && git commit -qm "work of $OVERSEER_NODE" || exit 0
"""

ACCEPT = """
[workers]
max = 1
[accept]
dirty_wait = "100ms"
"""
# Nothing but a change of the checkout can end a wait.
WATCHED = """
[accept]
dirty_wait = "1d"
dirty_notice = "300ms"
"""


class Accept(SiteCase):
    def goal(self, site, *tasks):
        return site.call("goal.create", title="Test", plan=plan(*tasks))["goal"]

    def asked(self, site, about, after=0):
        return site.wait_event(lambda e: e["type"] == "escalation.opened" and e["data"]["kind"] == about, after)

    def subjects(self, site):
        return site.git("log", "--reverse", "--format=%s", "main").split("\n")[1:-1]

    def test_gate_conflict_and_no_changes(self):
        """What does not pass goes back to its agent, with what it has to know, and comes again."""
        site = self.site(FAST + ACCEPT + """
pre_accept_command = '''
test "$(git rev-parse HEAD)" = "$OVERSEER_COMMIT" || exit 9
echo "gate of $OVERSEER_NODE for $OVERSEER_TARGET"
touch left-by-the-gate
! grep -qs bad *.txt
'''
""", AGENT)
        site.write("shared.txt", "base\n")
        site.git("add", "shared.txt")
        site.git("commit", "-qm", "shared")
        gate = site.gate("g")
        site.up()
        goal = self.goal(site, task("GATE"), task("BOTH"), task("LAZY"))
        gate.wait()
        site.write("shared.txt", "theirs\n")
        site.git("commit", "-qam", "of the user")
        gate.go()
        site.wait_goal(goal)
        failed = [(e["node"], e["data"]["cause"]) for e in site.events() if e["type"] == "node.failed"]
        self.assertEqual(sorted(failed), [("BOTH", "conflict"), ("GATE", "gate"), ("LAZY", "no_changes")])
        self.assertEqual(site.read("shared.txt"), "theirs\nours\n")
        self.assertEqual((site.read("GATE.txt"), site.read("LAZY.txt")), ("good\n", "now\n"))
        # What the gate leaves in the worktree is in nobody's work.
        self.assertFalse(os.path.exists(os.path.join(site.repo, "left-by-the-gate")))
        told = {e["node"]: e["data"]["instruction"] for e in site.events() if e["type"] == "dispatch.intended"}
        self.assertIn("shared.txt", told["BOTH"])
        self.assertIn("gate of GATE for main", told["GATE"])
        # The worker was what it did.
        states = [e["data"]["to"] for e in site.events() if e["type"] == "worker.status"]
        for state in ("working", "needs_review", "rebasing", "no_changes", "idle"):
            self.assertIn(state, states)
        log = site.read(".overseer/logs/pre_accept.log")
        self.assertIn("gate of BOTH for main", log)
        self.assertIn("pool-1", log)

    def test_the_users_checkout(self):
        """Left alone while it is dirty or elsewhere; whatever it is on, the work gets to its branch."""
        site = self.site(FAST + ACCEPT, AGENT)
        site.up()
        site.write("T1.txt", "the user is at work\n")
        goal = self.goal(site, task("T1"))
        first = site.wait_type("assignment.moved", node="T1", waiting="files")
        site.kill()  # and the wait is kept
        site.up()
        again = site.wait_type("assignment.moved", after=first["seq"], node="T1", waiting="files")
        self.assertEqual(again["data"]["waiting_since_ms"], first["data"]["waiting_since_ms"])
        self.assertEqual(site.read("T1.txt"), "the user is at work\n")
        row = site.call("queue.list")["accept"][0]
        self.assertEqual((row["node"], row["position"]), ("T1", 1))
        site.write("README", "of the user\n")
        site.git("commit", "-qm", "of the user", "README")
        os.unlink(os.path.join(site.repo, "T1.txt"))
        site.wait_goal(goal)
        self.assertEqual(site.read("T1.txt"), "1\n")
        # On another branch, with changes there: the target moves, the checkout does not.
        site.git("checkout", "-qb", "other")
        site.write("README", "on another branch\n")
        site.kill()  # and the target stays what it was
        site.up()
        goal = self.goal(site, task("T2"))
        site.wait_goal(goal)
        self.assertEqual(site.git("status", "--porcelain"), " M README\n")
        self.assertFalse(os.path.exists(os.path.join(site.repo, "T2.txt")))
        # Detached.
        site.git("commit", "-qam", "other work")
        site.git("checkout", "-q", "--detach")
        goal = self.goal(site, task("T3"))
        site.wait_goal(goal)
        self.assertEqual(self.subjects(site), ["of the user", "Task T1", "Task T2", "Task T3"])
        site.git("checkout", "-q", "main")
        self.assertEqual(site.read("T3.txt"), "1\n")

    def test_beside_uncommitted_changes(self):
        """A file that the work does not touch stops nothing, and stays as it is, staged or not."""
        site = self.site(FAST + WATCHED, AGENT)
        site.up()
        site.write("README", "the user is at work\n")
        site.write("staged.txt", "to be committed\n")
        site.git("add", "staged.txt")
        before = site.git("status", "--porcelain")
        site.wait_goal(self.goal(site, task("T1"), task("T2")))
        self.assertEqual(sorted(self.subjects(site)), ["Task T1", "Task T2"])
        self.assertEqual(site.git("status", "--porcelain"), before)
        self.assertEqual((site.read("README"), site.read("T1.txt")), ("the user is at work\n", "1\n"))
        self.assertEqual(site.call("inbox.list")["inbox"], [])

    def test_the_same_file(self):
        """It waits, is named after a while, goes in as soon as the user has made way, and stops nobody else meanwhile."""
        site = self.site(FAST + WATCHED + "[workers]\nmax = 1\n", AGENT)
        site.up()
        site.write("T1.txt", "mine\n")
        site.write("T2.txt", "mine, too\n")
        goal = self.goal(site, task("T1"), task("T2"), task("T3"))
        for node in ("T1", "T2"):
            site.wait_type("assignment.moved", node=node, waiting="files")
            asked = site.wait_type("escalation.opened", node=node)
            self.assertIn(f"your {node}.txt has uncommitted changes in the same file", asked["data"]["question"])
        # Two workers wait, and the only slot is the third task's.
        site.wait_type("node.accepted", node="T3")
        status = site.call("status.get")
        self.assertEqual((status["workers_busy"], status["workers_waiting"], status["held"]), (0, 2, []))
        text = site.cli("status")
        self.assertIn("WAITING (2)", text)
        self.assertIn("your T1.txt has uncommitted changes in the same file", text)
        self.assertIn("your T2.txt has uncommitted changes in the same file", site.cli("work", "list"))
        self.assertIn("your T1.txt has uncommitted changes", site.cli("explain", "T1"))
        self.assertEqual(site.read("T1.txt"), "mine\n")
        # No command: he removes one file, and commits the other under another name.
        os.unlink(os.path.join(site.repo, "T1.txt"))
        site.wait_type("node.accepted", node="T1")
        site.git("add", "T2.txt")
        site.git("mv", "T2.txt", "mine.txt")
        site.git("commit", "-qm", "of the user")
        site.wait_goal(goal)
        self.assertEqual((site.read("T1.txt"), site.read("T2.txt"), site.read("mine.txt")), ("1\n", "1\n", "mine, too\n"))
        self.assertEqual(site.call("inbox.list")["inbox"], [])
        self.assertEqual([e["data"]["kind"] for e in site.events() if e["type"] == "escalation.opened"], ["checkout"] * 2)

    def test_an_unfinished_merge(self):
        site = self.site(FAST + WATCHED, AGENT)
        site.up()
        head = site.git("rev-parse", "HEAD")
        site.write(".git/MERGE_HEAD", head)
        goal = self.goal(site, task("T1"))
        asked = site.wait_type("escalation.opened", node="T1")
        self.assertIn("a git merge is not finished", asked["data"]["question"])
        site.git("merge", "--quit")
        site.wait_goal(goal)
        self.assertEqual(site.call("inbox.list")["inbox"], [])

    def test_one_lock_is_one_entry(self):
        """A lock of a git that was killed is in the way of all: one matter, which ends with it."""
        site = self.site(FAST + WATCHED + "[workers]\nmax = 3\n", AGENT)
        lock = site.write(".git/index.lock", "")
        site.up()
        tasks = ["T1", "T2", "T3"]
        goal = self.goal(site, *map(task, tasks))
        for node in tasks:
            site.wait_type("assignment.moved", node=node, waiting="checkout")
        asked = self.asked(site, "checkout")
        self.assertIn(f"Unable to create '{lock}': File exists", asked["data"]["question"])
        # The wait of the others is over, too: their notice would be due.
        site.cli("tick")
        entry, = json.loads(site.cli("inbox", "list", "--json"))["inbox"]
        self.assertEqual((entry["number"], entry["kind"]), (asked["data"]["escalation"], "checkout"))
        self.assertIn("3 waiting", site.cli("status"))
        os.unlink(lock)
        site.wait_goal(goal)
        closed = site.wait_type("escalation.closed", escalation=entry["number"])
        self.assertEqual((closed["data"]["status"], closed["actor"]), ("dismissed", "overseer"))
        self.assertEqual(json.loads(site.cli("inbox", "list", "--json"))["inbox"], [])
        # However often it was tried, and whoever waited: nobody was asked twice.
        self.assertEqual([e["data"]["kind"] for e in site.events() if e["type"] == "escalation.opened"], ["checkout"])

    def test_so_many_may_wait(self):
        """Then nothing new is started, and status says why."""
        site = self.site(FAST + WATCHED + "[workers]\nmax = 1\nmax_waiting = 1\n", AGENT)
        site.up()
        site.write("T1.txt", "mine\n")
        goal = self.goal(site, task("T1"), task("T2"))
        waits = site.wait_type("assignment.moved", node="T1", waiting="files")
        why = "1 task waits (1 for your uncommitted files); nothing new is started: workers.max_waiting"
        for words in (("status", "--json"), ("status",), ("explain", "T2"), ("queue", "list")):
            # A change of the checkout that is seen late makes it try once more, and then wait again.
            while why not in site.cli(*words):
                waits = site.wait_type("assignment.moved", after=waits["seq"], node="T1", waiting="files")
        os.unlink(os.path.join(site.repo, "T1.txt"))
        site.wait_goal(goal)
        self.assertEqual(site.call("status.get")["held"], [])

    def test_options_of_before(self):
        """What an older configuration says breaks nothing, and everybody who looks is told."""
        site = self.site(FAST + '[accept]\ndirty_tries = 3\ndirty_wait_max = "1h"\n', AGENT)
        note = "accept.dirty_tries is obsolete and ignored"
        self.assertIn(note, site.cli("config", "check"))
        self.assertIn(note, site.cli("up"))
        self.assertIn(note, site.cli("doctor"))
        site.cli("down")

    def test_the_user_acts_between_the_steps(self):
        """After the rebase, before the target moves: the gate itself plays the user, once for each node."""
        site = self.site(FAST + ACCEPT + """
pre_accept_command = '''
cd "$OVERSEER_REPO" && test ! -e "$HOME/done.$OVERSEER_NODE" || exit 0
: > "$HOME/done.$OVERSEER_NODE"
case $OVERSEER_NODE in
COMMITS) echo "$OVERSEER_NODE" > user.txt; git add user.txt; git commit -qm "of the user" ;;
EDITS) echo edited > EDITS.txt ;;
SWITCHES) git checkout -qb feature ;;
DETACHES) git checkout -q --detach ;;
RESETS) git checkout -q main; git reset -q --hard HEAD~1 ;;
esac
'''
""", AGENT)
        site.up()
        site.wait_goal(self.goal(site, task("COMMITS")))
        self.assertEqual(self.subjects(site), ["of the user", "Task COMMITS"])
        edits = self.goal(site, task("EDITS"))
        site.wait_type("assignment.moved", node="EDITS", waiting="files")
        self.assertEqual(site.read("EDITS.txt"), "edited\n")
        os.unlink(os.path.join(site.repo, "EDITS.txt"))
        site.wait_goal(edits)
        site.wait_goal(self.goal(site, task("SWITCHES")))
        self.assertEqual(site.git("branch", "--show-current"), "feature\n")
        site.wait_goal(self.goal(site, task("DETACHES")))
        self.assertEqual(site.git("branch", "--show-current"), "")
        # The user takes the last one back: what comes after is put on what is left.
        site.wait_goal(self.goal(site, task("RESETS")))
        self.assertEqual(self.subjects(site), ["of the user", "Task COMMITS", "Task EDITS", "Task SWITCHES", "Task RESETS"])
        self.assertEqual(site.git("status", "--porcelain"), "")
        causes = [(e["node"], e["data"]["cause"]) for e in site.events() if e["type"] == "node.failed"]
        self.assertEqual([c for c in causes if c[0] != "EDITS"], [("COMMITS", "moved"), ("RESETS", "moved")])

    def test_remote(self):
        """The target is brought forward from the remote before, and pushed after."""
        site = self.site(FAST + ACCEPT + 'remote = "origin"\npush = true\n', AGENT)
        other, bare = (os.path.join(site.root, name) for name in ("other", "bare.git"))
        site.git("clone", "-q", "--bare", site.repo, bare)
        site.git("remote", "add", "origin", bare)
        site.git("clone", "-q", bare, other)
        with open(os.path.join(other, "elsewhere.txt"), "w", encoding="utf-8") as f:
            f.write("x\n")
        for args in (("add", "-A"), ("-c", "user.name=u", "-c", "user.email=u@localhost", "commit", "-qm", "elsewhere"),
                     ("push", "-q", "origin", "main")):
            site.git("-C", other, *args)
        site.up()
        site.wait_goal(self.goal(site, task("T1")))
        self.assertEqual(self.subjects(site), ["elsewhere", "Task T1"])
        self.assertEqual(site.git("-C", bare, "rev-parse", "main"), site.git("rev-parse", "main"))

    def test_post_accept(self):
        """It may be long, while everything else is answered; its failure is what the configuration says."""
        site = self.site(FAST, AGENT)
        config = FAST + ACCEPT + """post_accept_command = '''
echo "post of $OVERSEER_NODE at $(pwd)"
[ "$OVERSEER_NODE" != LONG ] || { echo LONG > "$HOME/p.here"; read -r _ < "$HOME/p.go"; }
! grep -qs broken "$OVERSEER_NODE.txt" && test ! -e "$HOME/broken"
'''
post_accept_on_failure = "%s"
""" + site.agent_config() + "\n[planner]\nfallback = false\n"
        site.configure(config.replace("max = 1", "max = 2") % "fail")
        gate = site.gate("p")
        site.up()
        long = self.goal(site, task("LONG"), task("AFTER", ["LONG"]))
        gate.wait()
        other = self.goal(site, task("T1"))  # only now, or it might be accepted first
        site.wait_type("run.verified", node="T1")
        rows = site.call("queue.list")["accept"]
        self.assertEqual([(r["node"], r["step"], r["state"]) for r in rows],
                         [("LONG", "post_accept", "accepting"), ("T1", "rebase", "next")])
        self.assertIn("has its turn", rows[1]["why"])
        self.assertIn("post_accept", site.cli("queue", "list"))
        self.assertEqual(self.subjects(site), ["Task LONG"])
        self.assertEqual(site.node("LONG")["status"], "in_progress")
        self.assertEqual(site.node("AFTER")["status"], "todo")
        # Killed while it runs: it is run again, and nothing is accepted twice.
        site.kill()
        site.up()
        gate.wait()
        gate.go()
        site.wait_goal(long)
        site.wait_goal(other)
        self.assertEqual(sorted(self.subjects(site)), ["Task AFTER", "Task LONG", "Task T1"])
        self.assertIn(f"post of LONG at {site.repo}", site.read(".overseer/logs/post_accept.log"))
        # fail: nothing goes on until a person says so; then as they say.
        site.write("../broken", "")
        held = self.goal(site, task("T4"), task("T5", ["T4"]))
        asked = self.asked(site, "post_accept")["data"]
        self.assertEqual(site.call("queue.list")["accept"][0]["state"], "held")
        with self.assertRaises(RpcError):
            site.call("inbox.dismiss", number=asked["escalation"])
        os.unlink(os.path.join(site.root, "broken"))
        site.call("inbox.answer", number=asked["escalation"], answer="run again")
        site.wait_goal(held)
        # warn: it is told, and goes on.
        site.configure(config % "warn")
        site.call("config.reload")
        site.write("../broken", "")
        site.wait_goal(self.goal(site, task("T6")))
        self.assertEqual(self.asked(site, "post_accept_warning")["node"], "T6")
        os.unlink(os.path.join(site.root, "broken"))
        # revert: a commit takes it back, and it is done again, better.
        site.configure(config % "revert")
        site.call("config.reload")
        site.wait_goal(self.goal(site, task("BACK")))
        self.assertEqual(self.subjects(site)[-3:], ["Task BACK", 'Revert "Task BACK"', "Task BACK"])
        self.assertEqual(site.read("BACK.txt"), "good\n")
        second = [e for e in site.events() if e["type"] == "dispatch.intended" and e["node"] == "BACK"][1]
        self.assertIn("post of BACK", second["data"]["instruction"])
        self.assertEqual(site.node("BACK")["epoch"], 2)

    def test_review(self):
        """Good work waits for a person, who accepts it or sends it back with a reason."""
        site = self.site(FAST + ACCEPT + 'review = "always"\n', AGENT)
        site.up()
        goal = self.goal(site, task("T1"))
        asked = self.asked(site, "review")
        self.assertEqual(site.call("queue.list")["accept"][0]["state"], "review")
        self.assertEqual(self.subjects(site), [])
        with self.assertRaises(RpcError):
            site.call("inbox.answer", number=asked["data"]["escalation"], answer="hm")
        site.call("inbox.answer", number=asked["data"]["escalation"], answer="reject: count further")
        again = self.asked(site, "review", asked["seq"])
        told = [e for e in site.events() if e["type"] == "dispatch.intended"][-1]
        self.assertIn("count further", told["data"]["instruction"])
        site.kill()
        site.up()
        self.assertEqual(self.subjects(site), [])
        site.call("inbox.answer", number=again["data"]["escalation"], answer="accept")
        site.wait_goal(goal)
        self.assertEqual(site.read("T1.txt"), "2\n")


if __name__ == "__main__":
    unittest.main()
