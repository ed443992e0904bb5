#!/usr/bin/env python3
"""Work that changes hands: nothing of it is lost, the next one is told, and everything can be explained."""

import json
import os
import subprocess
import unittest

from harness import CLI, SiteCase, plan, task

# What takes minutes takes tenths of seconds; the agent takes no input, so that nudges are skipped.
SCALED = """
[retry]
delays = ["10ms", "10ms", "10ms"]
[supervisor]
idle_after = "600ms"
min_resend_interval = "500ms"
stop_grace = "100ms"
[supervisor.backoff]
base = "10ms"
"""
# The first one begins, reports, and hangs; whoever finds that goes on from it.
HANGS = r"""
if [ ! -e begun.txt ]; then
	echo begun > begun.txt
	git add -A && git commit -qm "begin"
	echo more > more.txt
	cat <<'EOF'
```json
{"overseerUpdate": {"status": "in_progress", "summary": "the beginning is made", "next": "write ended.txt",
 "decisions": [{"decision": "plain text files", "rationale": "simple"}], "openQuestions": ["which colour?"],
 "evidence": {"filesTouched": ["begun.txt", "never.txt"], "testsRun": ["none yet"]}}}
```
EOF
	exec sleep 1000
fi
while sleep 0.1; do echo alive; done &
echo "$OVERSEER_RUN" > "$HOME/g.here"
read x < "$HOME/g.go"
kill $!
echo ended > ended.txt
git add -A && git commit -qm "end"
"""
# Reads what it is sent and never answers.
DEAF = r"""
while IFS= read -r line; do :; done
exec sleep 1000
"""


class Handoff(SiteCase):
    def cli(self, site, *args, status=0):
        done = subprocess.run([CLI, "--dir", site.dir, *args], env={**site.env, "NO_COLOR": "1"}, cwd=site.root,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status == 0 else done.stderr

    def test_the_next_one_goes_on(self):
        site = self.site(SCALED, HANGS)
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Story", plan=plan(task("T1", checkCommand="test -e ended.txt")))["goal"]
        self.assertIn("no handoff yet", self.cli(site, "handoff", "show", "T1", status=3))
        second = gate.wait()
        first = site.runs()[0]
        self.assertEqual((first["files"], first["files_changed"]), (["begun.txt", "more.txt"], 2))
        node = site.node("T1")
        self.assertEqual((node["epoch"], node["handover"]), (2, site.git("rev-parse", first["commit_ids"][0]).strip()))

        # What is shown is what the next one was given, and it was given what the log says.
        shown = self.cli(site, "handoff", "show", "T1")
        instruction = site.read(f".overseer/runs/{second}/instruction")
        self.assertIn(shown.strip(), instruction)
        for words in ("the beginning is made", "> write ended.txt", "> which colour?", "> begun.txt", "> plain text files"):
            self.assertIn(words, shown)
        said = [e["data"] for e in site.events() if e["type"] == "dispatch.intended"]
        self.assertEqual(said[-1]["instruction"], instruction)
        record = json.loads(self.cli(site, "handoff", "show", "T1", "--json"))["crystallization"]
        self.assertEqual(record["files_touched"], ["begun.txt", "more.txt"])
        self.assertEqual(record["claimed"], {"files": ["never.txt"]})
        self.assertEqual((record["status"], record["run_id"], record["transcript"]["run"]),
                         ("queued", first["id"], first["id"]))
        self.assertGreater(record["transcript"]["to_byte"], 100)

        # The chain, in plain words: of the node, and of the session that is over.
        told = self.cli(site, "explain", "T1")
        for words in ("is IN_PROGRESS", "stalled, episode 1", "reassign", "a handoff was written", "epoch 2", "Evidence",
                      "left to go on from"):
            self.assertIn(words, told)
        told = self.cli(site, "explain", first["assignment_id"])
        self.assertIn("is CANCELLED", told)
        self.assertIn("epoch 2 has taken over", told)
        self.assertNotIn("epoch 2;", told, "facts of another assignment")
        self.assertIn("others speak for its node now", self.cli(site, "explain", first["id"]))

        # Killed and started again: the same run, the same instruction.
        site.kill()
        site.up()
        gate.go()
        site.wait_goal(goal)
        self.assertEqual(site.git("log", "--format=%s", "main").split("\n").count("Task T1"), 1)
        changed = site.git("show", "--name-only", "--format=", "main").split()
        self.assertEqual(changed, ["begun.txt", "ended.txt", "more.txt"])
        self.assertEqual(site.node("T1")["handover"], "")

        # The whole is summed up.
        phase = self.cli(site, "handoff", "show", goal + "/P1")
        self.assertIn("1 of 1 parts done", phase)
        record = json.loads(self.cli(site, "handoff", "show", goal, "--json"))["crystallization"]
        self.assertEqual(record["status"], "done")
        self.assertIn("begun.txt", record["files_touched"])
        self.assertIn("checked: test -e ended.txt: passed", record["tests_run"])

    def test_the_four_questions(self):
        """Which is stalled and why; the last dispatch and was it taken; the backoff; what shows progress."""
        config = SCALED.replace('base = "10ms"', 'base = "10m"')
        site = self.site(config)
        script = site.write("../agent.sh", "#!/bin/sh\n" + DEAF)
        os.chmod(script, 0o755)
        site.configure(config + f'\n[planner]\nfallback = false\n[defaults]\nagent = "script"\n[agents.script]\n'
                       f'command = ["{script}", "{{prompt_file}}"]\nprompt = "file"\ninput = "stdin"\n')
        site.up()
        goal = site.call("goal.create", title="Story", plan=plan(task("T1"), task("T2", ["T1"])))["goal"]
        rung = site.wait_type("episode.rung", node="T1")
        nudge = site.wait_type("dispatch.intended", purpose="nudge")["data"]
        site.wait_type("dispatch.result", dispatch=nudge["dispatch"], result="accepted")

        told = self.cli(site, "explain", "T1")
        self.assertRegex(told.splitlines()[0], r'T1 "Task T1" is STALLED since .* ago\)\.$')
        for words in ("stalled, episode 1", "backoff for another", "then nudge 2 of", "after that: ", "ask you",
                      "last instruction", "(nudge), sent 1x", "the agent has not acknowledged it yet", "is alive",
                      "last sign of life", "process:", "tree:", "overseer run log", "overseer work nudge",
                      "overseer work reassign"):
            self.assertIn(words, told)
        self.assertNotIn("effect", told)
        self.assertIn("workspace intended", self.cli(site, "explain", "--all", "T1"))
        node = json.loads(self.cli(site, "explain", "T1", "--json"))
        self.assertEqual((node["noun"], node["status"], node["state"], node["next_rung"]),
                         ("node", "in_progress", "stalled", "nudge"))
        self.assertTrue(node["backoff_until"] > rung["at"])
        self.assertEqual((node["last_dispatch"]["id"], node["last_dispatch"]["result"]), (nudge["dispatch"], "accepted"))

        told = self.cli(site, "explain", goal)
        for words in ("is ACTIVE", "applied plan version 1", "0 of 2 done", "stalled: T1", "waiting: T2"):
            self.assertIn(words, told)
        told = self.cli(site, "explain", node["last_dispatch"]["assignment_id"])
        for words in ("is STALLED", "by script", "backoff for another"):
            self.assertIn(words, told)
        run = node["last_dispatch"]["run_id"]
        told = self.cli(site, "explain", run[:14])
        for words in ("is RUNNING", "attempt 1 of epoch 1", "overseer run stop"):
            self.assertIn(words, told)
        told = self.cli(site, "explain", nudge["dispatch"])
        for words in ("is ACCEPTED", "| Nothing has been heard of task T1", "SHA-256", "sent 1x"):
            self.assertIn(words, told)
        self.assertEqual(json.loads(self.cli(site, "explain", nudge["dispatch"], "--json"))["instruction"],
                         nudge["instruction"])
        self.assertIn("no dispatch", self.cli(site, "explain", "D_01NONE", status=3))
        self.assertIn("T2", self.cli(site, "explain", "T2"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
