#!/usr/bin/env python3
"""What a person types about work, runs, the queue and the inbox, with a real daemon and real agents."""

import json
import os
import subprocess
import unittest

from harness import CLI, FAST, PATIENCE, SiteCase, plan, task, wait_gone

# Leaves a file uncommitted, tells who it is, and stands at the gate until the test lets it go on.
GATED = r"""
echo "$OVERSEER_ATTEMPT" >> "$OVERSEER_NODE.txt"
echo "$OVERSEER_NODE $OVERSEER_RUN $$" > "$HOME/g.here"
read x < "$HOME/g.go"
"""
# Fails until it was told the secret word.
STUBBORN = r"""
prompt=$(cat)
case "$prompt" in *xyzzy*) echo "$prompt" > told.txt ;; *) exit 7 ;; esac
"""
# Takes the rules for filters away, until it is told how to restore them.
UNRULED = r"""
cat > "$HOME/prompt"
echo text > a.filtered
if grep -q "cannot be accepted" "$HOME/prompt"; then
	cp "$HOME/prompt" "$HOME/told"
	eval "$(sed -n 's/.*(\(git checkout [^)]*\)).*/\1/p' "$HOME/prompt" | head -n 1)"
else
	git rm -q .gitattributes
fi
git add -A; git commit -qm "$OVERSEER_ATTEMPT"
"""
# A person is asked soon.
ONCE = FAST.replace("[retry]", "[retry]\nmax_attempts = 1")


class Commands(SiteCase):
    def cli(self, site, *args, code=0):
        done = subprocess.run([CLI, *args], cwd=site.repo, env=site.env, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout if code == 0 else done.stderr

    def json(self, site, *args):
        return json.loads(self.cli(site, *args, "--json"))

    def goal(self, site, *tasks, **more):
        return site.call("goal.create", title="Test", plan=plan(*tasks), **more)["goal"]

    def started(self, gate):
        """The node, the run and the process of the agent that has come to the gate."""
        node, run, pid = gate.wait().split()
        return node, run, int(pid)

    def test_a_filter_that_fails(self):
        """Nothing is stored without it: a person is asked, and when it works again the work is stored by it."""
        site = self.site(ONCE, "echo text > a.filtered")
        site.git("config", "filter.f.clean", 'test -e "$HOME/works" && tr a-z A-Z')
        site.git("config", "filter.f.smudge", "cat")
        site.git("config", "filter.f.required", "true")
        site.write(".gitattributes", "*.filtered filter=f\n")
        site.git("add", ".gitattributes")
        site.git("commit", "-qm", "attributes")
        site.up()
        goal = self.goal(site, task("T1"))
        opened = site.wait_type("escalation.opened", node="T1")["data"]
        self.assertIn("a.filtered: clean filter 'f' failed", opened["question"])
        self.assertNotIn("a.filtered", site.git("log", "--branches", "--name-only", "--format="))
        site.write("../works", "")
        self.cli(site, "inbox", "answer", "1", "retry")
        site.wait_goal(goal)
        self.assertEqual(site.git("show", "main:a.filtered"), "TEXT\n")

    def test_rules_for_a_filter_are_restored(self):
        """Without them the next file would be stored as plain text: the agent is told how to restore them, and only that."""
        site = self.site(FAST, UNRULED)
        site.git("config", "filter.f.clean", "tr a-z A-Z")
        site.git("config", "filter.f.smudge", "cat")
        site.write(".gitattributes", "*.filtered filter=f\n")
        site.git("add", ".gitattributes")
        site.git("commit", "-qm", "attributes")
        site.up()
        site.wait_goal(self.goal(site, task("T1")))
        failed = site.wait_type("node.failed", cause="check")["data"]["detail"]
        for said in (failed, site.home("told")):
            self.assertIn('"*.filtered" was for the filter "f"', said)
            self.assertIn("Restore the rules of the base (git checkout ", said)
            self.assertNotIn("git rm", said)
        self.assertEqual(site.git("show", "main:.gitattributes"), "*.filtered filter=f\n")
        self.assertEqual(site.git("show", "main:a.filtered"), "TEXT\n")

    def test_reopened_with_words(self):
        """Why a person reopens a task, or unblocks it, is what its next agent is told."""
        site = self.site(FAST, 'cat > "$HOME/prompt"; echo "$OVERSEER_RUN" > a.txt')
        site.up()
        site.wait_goal(self.goal(site, task("T1")))
        seq = site.seq()
        self.cli(site, "work", "reopen", "T1", "--reason", "The button is gone.")
        site.wait_type("node.status", after=seq, to="done")
        self.assertIn("A person says\nThe button is gone.\n", site.home("prompt"))

    def test_cancel(self):
        site = self.site(FAST, GATED)
        gate = site.gate("g")
        site.up()
        goal = self.goal(site, task("T1"), task("T2", ["T1"]))
        _, _, pid = self.started(gate)
        self.assertIn("is cancelled. What was made is kept.", self.cli(site, "work", "cancel", "T1", "--reason", "no"))
        wait_gone(pid)
        kept = site.wait_type("run.harvested", node="T1")["data"]
        self.assertEqual(site.git("show", kept["rescue_ref"] + ":T1.txt"), "1\n")
        # Nobody is held up by it, and nothing brings it back.
        self.assertEqual(self.started(gate)[0], "T2")
        refused = self.cli(site, "work", "reopen", "T1", "--reason", "yes", code=4)
        self.assertIn("it is final", refused)
        gate.go()
        site.wait_goal(goal)
        self.assertEqual(site.node("T1")["status"], "cancelled")

    def test_reopen(self):
        site = self.site(FAST, GATED)
        gate = site.gate("g")
        site.up()
        goal = self.goal(site, task("T1"))
        self.started(gate)
        self.assertIn("nothing to reopen; what can be done: nudge, rerun",
                      self.cli(site, "work", "reopen", "T1", "--reason", "x", code=4))
        gate.go()
        site.wait_goal(goal)
        after = site.seq()
        said = self.cli(site, "work", "reopen", "T1", "--reason", "it is wrong")
        self.assertIn("Its goal is active again.", said)
        moved = site.wait_type("node.status", after=after, to="queued")
        self.assertTrue(moved["data"]["override"])
        self.assertTrue(moved["actor"].startswith("human:"))
        self.started(gate)
        self.assertEqual(site.node("T1")["epoch"], 2)
        gate.go()
        site.wait_type("goal.status", after=after, to="completed")

    def test_reassign(self):
        """What the first agent made is kept; the second one works under a new epoch."""
        site = self.site(FAST, GATED)
        site.configure(FAST + site.agent_config() +
                       f'[agents.other]\ncommand = ["sh", "-c", "echo other; exec {site.root}/agent.sh"]\n')
        gate = site.gate("g")
        site.up()
        goal = self.goal(site, task("T1"))
        _, run, pid = self.started(gate)
        refused = self.cli(site, "work", "reassign", "T1", "--agent", "nobody", "--reason", "x", code=2)
        self.assertIn("script, other", refused)
        self.cli(site, "work", "reassign", "T1", "--agent", "other", "--reason", "other knows it")
        wait_gone(pid)
        _, second, _ = self.started(gate)
        self.assertNotEqual(run, second)
        node = self.json(site, "work", "show", "T1")
        self.assertEqual((node["epoch"], node["assignment"]["agent"], node["wanted_agent"]), (2, "other", ""))
        self.assertEqual(node["path"], ["P1", "T1"])
        # Whoever still speaks of the old run is out of date.
        self.assertIn("is not the newest", self.cli(site, "run", "stop", run, "--reason", "x", code=5))
        self.assertIn("is not the newest", self.cli(site, "work", "nudge", run, code=5))
        gate.go()
        site.wait_goal(goal)
        self.assertEqual([r["agent"] for r in site.runs()], ["script", "other"])
        self.assertEqual(site.node("T1")["failures"].get("run", 0), 0)

    def test_rerun(self):
        site = self.site(FAST, GATED)
        gate = site.gate("g")
        site.up()
        goal = self.goal(site, task("T1"))
        _, first, pid = self.started(gate)
        self.cli(site, "work", "rerun", "T1", "--reason", "begin at the other end")
        wait_gone(pid)
        _, second, _ = self.started(gate)
        one, two = site.runs()
        self.assertEqual((one["id"], two["id"]), (first, second))
        self.assertEqual((one["assignment_id"], one["epoch"]), (two["assignment_id"], two["epoch"]))
        self.assertNotEqual(one["dispatch_id"], two["dispatch_id"])
        self.assertIn("begin at the other end", site.read(f".overseer/runs/{second}/instruction"))
        gate.go()
        site.wait_goal(goal)
        self.assertEqual(site.read("T1.txt"), "1\n2\n")

    def test_nudge(self):
        """The request reaches the agent's standard input, with its nonce; not twice within the interval."""
        site = self.site(FAST, GATED)
        site.configure(FAST + site.agent_config() + """prompt = "arg"
input = "stdin"
""")
        os.chmod(site.write("../agent.sh", '#!/bin/sh\necho "$OVERSEER_NODE $OVERSEER_RUN $$" > "$HOME/g.here"\n'
                            'while read -r line; do\n case "$line" in *Request*) echo "$line" > "$HOME/g.here"; break;; '
                            '*) echo "$line" >> asked.txt;; esac\ndone\nread x < "$HOME/g.go"\n'), 0o755)
        gate = site.gate("g")
        site.up()
        goal = self.goal(site, task("T1"))
        self.started(gate)
        said = self.cli(site, "work", "nudge", "T1", "--message", "is it the cache?")
        self.assertIn("is asked for its status", said)
        heard = gate.wait()
        sent = site.wait_type("dispatch.intended", purpose="nudge")["data"]
        self.assertIn(sent["nonce"], heard)
        site.wait_type("dispatch.result", dispatch=sent["dispatch"])
        refused = self.cli(site, "work", "nudge", "T1", "--message", "is it the cache?", code=4)
        self.assertIn("min_resend_interval", refused)
        self.assertIn("--force", refused)
        node = self.json(site, "work", "show", "T1")
        newest = node["assignment"]["dispatches"][-1]
        self.assertEqual((newest["id"], newest["mode"]), (sent["dispatch"], "send"))
        self.assertEqual(node["assignment"]["last_instruction_text"], sent["instruction"])
        self.assertIn("nudge (send)", self.cli(site, "work", "show", "T1"))
        gate.go()
        site.wait_goal(goal)
        self.assertIn("A person says: is it the cache?", site.git("show", "main:asked.txt"))

    def test_nudge_without_input(self):
        site = self.site(FAST, GATED)
        gate = site.gate("g")
        site.up()
        self.goal(site, task("T1"))
        self.started(gate)
        self.assertIn("takes no input", self.cli(site, "work", "nudge", "T1", code=4))

    def test_run_stop(self):
        site = self.site(FAST, GATED)
        gate = site.gate("g")
        site.up()
        goal = self.goal(site, task("T1"))
        _, run, pid = self.started(gate)
        self.assertIn("overseer work unblock", self.cli(site, "run", "stop", run[:20], "--reason", "lunch"))
        wait_gone(pid)
        site.wait_type("run.harvested", node="T1")
        node = self.json(site, "work", "show", "T1")
        self.assertEqual((node["status"], node["block"], node["status_reason"]), ("blocked", "paused", "lunch"))
        self.assertTrue(node["blocked_by"].startswith("human:"))
        self.assertIn("blocked (paused)", self.cli(site, "work", "list"))
        # A pause outlives the daemon.
        self.assertEqual(site.down(), 0)
        site.up()
        self.assertEqual(site.node("T1")["block"], "paused")
        self.cli(site, "work", "unblock", "T1", "--reason", "back")
        self.started(gate)
        gate.go()
        site.wait_goal(goal)

    def test_inbox(self):
        """A failure asks; the answer is told to the next run, which needs it."""
        site = self.site(ONCE, STUBBORN)
        site.up()
        self.assertIn("Nothing needs you.", self.cli(site, "inbox"))
        low = self.goal(site, task("T1"), priority="low")
        site.wait_type("escalation.opened", goal=low)
        urgent = self.goal(site, task("T1"), priority="urgent")
        site.wait_type("escalation.opened", goal=urgent)
        listed = self.json(site, "inbox")["inbox"]
        self.assertEqual([x["goal_id"] for x in listed], [urgent, low], "urgent first")
        number = str(listed[0]["number"])
        text = self.cli(site, "inbox", "list")
        self.assertLess(text.index(f"#{number} "), text.index(f"#{listed[1]['number']} "))
        self.assertIn(f"overseer inbox answer {number} ", text)
        self.assertIn(f"overseer inbox answer {number} ", self.cli(site, "status"))
        shown = self.cli(site, "inbox", "show", "#" + number)
        self.assertIn("exit status 7", shown)
        self.assertIn("What led to it", shown)
        said = self.cli(site, "inbox", "answer", number, "the", "word", "is", "xyzzy")
        self.assertIn("T1 is queued", said)
        site.wait_goal(urgent)
        self.assertIn("A person answered\nthe word is xyzzy", site.git("show", "main:told.txt"))
        again = self.cli(site, "inbox", "answer", number, "more", code=4)
        self.assertIn("the word is xyzzy", again)
        self.assertIn("human:", again)
        self.cli(site, "inbox", "answer", "99", "x", code=3)
        self.cli(site, "inbox", "show", "x", code=2)
        # Dismissed: nothing happens, and it is that person's now.
        other = str(listed[1]["number"])
        self.cli(site, "inbox", "dismiss", other, "--reason", "not now")
        node = site.node("T1", goal=low)
        self.assertEqual(node["status"], "blocked")
        self.assertTrue(node["blocked_by"].startswith("human:"))
        self.assertEqual(self.json(site, "inbox")["inbox"], [])
        self.assertEqual(len(self.json(site, "inbox", "--all")["inbox"]), 2)

    def test_question_of_an_agent(self):
        """It says that it cannot go on; its work is kept, a person answers, the next run goes on with that."""
        site = self.site(FAST, r"""
prompt=$(cat)
case "$prompt" in *"A person answered"*) echo "$prompt" > told.txt; exit 0 ;; esac
echo half > half.txt
printf '%s\n' '```json' '{"overseerUpdate": {"status": "blocked", "blockers": ["Redis or in-process?"]}}' '```'
read x < "$HOME/g.go"
""")
        site.gate("g")
        site.up()
        goal = self.goal(site, task("T1"), task("T2", ["T1"]))
        opened = site.wait_type("escalation.opened", node="T1")["data"]
        number = str(opened["escalation"])
        listed = self.json(site, "inbox")["inbox"][0]
        self.assertEqual((listed["question"], listed["blocks"]), ("Redis or in-process?", 1))
        self.assertEqual(site.node("T1")["block"], "question")
        self.assertIn("Redis or in-process?", self.cli(site, "status"))
        self.assertIn("T1 is queued", self.cli(site, "inbox", "answer", number, "redis"))
        site.wait_type("node.status", node="T1", to="done")
        self.assertIn("A person answered\nredis", site.git("show", "main:told.txt"))
        self.assertEqual(site.git("show", "main:half.txt"), "half\n")
        asked = [e for e in site.events() if e["type"] == "escalation.opened" and e.get("node") == "T1"]
        self.assertEqual(len(asked), 1)
        self.cli(site, "goal", "cancel", goal, "--reason", "enough")

    def test_inbox_words(self):
        for word, status in (("done", "done"), ("cancel", "cancelled")):
            site = self.site(ONCE, STUBBORN)
            site.up()
            goal = self.goal(site, task("T1"))
            number = site.wait_type("escalation.opened")["data"]["escalation"]
            self.cli(site, "inbox", "answer", str(number), word)
            site.wait_goal(goal, ("completed", "cancelled"))
            self.assertEqual(site.node("T1")["status"], status)
            self.assertEqual(site.down(), 0)

    def test_queue(self):
        """What cannot be accepted yet waits in the open: tried now by a word, or dropped."""
        site = self.site(FAST + '[accept]\ndirty_wait = "1h"\n[workers]\nmax = 1\nmax_waiting = 2\n',
                         'echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"\n')
        site.up()
        self.assertIn("Nothing waits.", self.cli(site, "queue", "list"))
        lock = site.write(".git/MERGE_HEAD", site.git("rev-parse", "HEAD"))
        goal = self.goal(site, task("T1"), task("T2"), task("T3"))
        for node in ("T1", "T2"):
            site.wait_type("assignment.moved", node=node, waiting="checkout")
        queue = self.json(site, "queue", "list")
        # Which of the two was ready first is not for us to say.
        self.assertEqual(sorted((x["node"], x["state"]) for x in queue["accept"]), [("T1", "waits"), ("T2", "waits")])
        self.assertEqual([(x["node"], x["state"]) for x in queue["dispatch"]], [("T3", "worker")])
        self.assertTrue(all(x["not_before"] and "a git merge is not finished" in x["why"] for x in queue["accept"]))
        text = self.cli(site, "queue", "list")
        self.assertIn("TO BE ACCEPTED (2)", text)
        self.assertIn("2 tasks wait (2 for your checkout); nothing new is started: workers.max_waiting", text)
        dropped = self.cli(site, "queue", "drop", "T2", "--reason", "not this one")
        branch = dropped.split("branch ")[1].split(".\n")[0]
        self.assertEqual(site.git("show", branch + ":T2.txt"), "T2\n")
        self.assertIn("it is in no queue", self.cli(site, "queue", "drop", "T2", "--reason", "x", code=4))
        os.unlink(lock)
        self.cli(site, "queue", "retry", "T1")
        site.wait_type("node.accepted", node="T1")
        site.wait_type("node.accepted", node="T3")
        self.assertEqual(site.git("show", branch + ":T2.txt"), "T2\n")
        self.cli(site, "work", "cancel", "T2", "--reason", "enough")
        site.wait_goal(goal)

    def test_credential(self):
        site = self.site(FAST, GATED)
        gate = site.gate("g")
        site.up()
        self.goal(site, task("T1"))
        self.started(gate)
        self.cli(site, "work", "block", "T1", "--kind", "credential", "--needs", "a deploy key", "--reason", "no push",
                 code=2)
        self.cli(site, "work", "block", "T1", "--kind", "credential", "--needs", "a deploy key",
                 "--configure", "agents.script.env_pass", "--reason", "no push")
        node = site.node("T1")
        self.assertEqual(node["block"], "credential")
        self.assertIn("agents.script.env_pass", self.cli(site, "work", "show", "T1"))


if __name__ == "__main__":
    unittest.main()
