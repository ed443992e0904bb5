#!/usr/bin/env python3
"""What is done about a silent run and when: foretold by the configuration and by explain, and done so."""

import datetime
import json
import os
import re
import subprocess
import unittest

import harness
from harness import CLI, SiteCase, plan, task

IDLE = harness.FAST + '[supervisor]\nidle_after = "{}"\ninterrupt_grace = "50ms"\nstop_grace = "100ms"\n'
SESSION = "bcac89b7-f0ce-4aad-8947-bb6c67a83286"
# It reads what it is sent, and says nothing.
DEAF = 'echo up > "$HOME/a.here"\nwhile read -r line; do :; done\n'


def steps(timeline, *states):
    return [m["step"] for m in timeline if m["state"] in states and not m.get("skipped")]


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


class Timeline(SiteCase):
    maxDiff = None

    def deaf(self, idle, more=""):
        """A site with an agent that takes input, and never answers."""
        site = self.site("", DEAF)
        site.configure(IDLE.format(idle) + more + site.agent_config().replace(
            'agent.sh"]', 'agent.sh", "{prompt_file}"]\ninput = "stdin"\nprompt = "file"'))
        site.up()
        return site

    def explain(self, site, what="T1"):
        return site.call("explain.get", id=what)

    def test_config(self):
        site = self.site('[supervisor]\nidle_after = "20s"\n' +
                         '[agents.coder]\nformat = "claude"\n', "true")
        site.up()
        told = json.loads(site.cli("config", "timeline", "--json"))
        self.assertTrue(told["idle_after_set"])
        self.assertEqual(told["ask_after_ms"], 30000)
        coder, = (a for a in told["agents"] if a["agent"] == "coder")
        first = coder["timeline"][:2]
        self.assertEqual([(m["step"], m["after_ms"] // 1000) for m in first], [("stall", 20), ("nudge", 32)])
        self.assertTrue(first[1]["ends_run"])
        self.assertEqual(coder["timeline"][-1]["step"], "person")
        text = site.cli("config", "timeline", "coder")
        self.assertRegex(text, r"20s +run 1 +stalled: no sign of life\n +32s +run 1 +nudge 1 of 2: its run is ended")
        self.assertIn("idle_after is 20s (set)", text)
        self.assertIn("opens an inbox entry after 30s, and is\nkept (ask_after)", text)
        self.assertIn("overseer agent list", site.cli("config", "timeline", "nobody", code=3))

    def test_nobody_is_asked_at_once(self):
        site = self.site('[supervisor]\nask_after = "0s"\n', "true")
        site.up()
        self.assertIn("counts as silent (ask_after is 0s)", site.cli("config", "timeline"))

    def test_what_is_usual_is_learned_from_runs(self):
        """Their silences are told at their ends; a sixth run is asked by them, as explain and the timeline say."""
        site = self.site('[supervisor]\nmute_after = "1h"\n', """
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $i; sleep 0.1; done
[ $OVERSEER_NODE != T6 ] || { echo up > "$HOME/a.here"; read x < "$HOME/a.go"; }
echo x > $OVERSEER_NODE; git add -A; git commit -qm work
""")
        gate = site.gate("a")
        site.up()
        goal = site.call("goal.create", title="T", plan=plan(*(task(f"T{i}") for i in range(1, 6))))["goal"]
        site.wait_goal(goal)
        learned = [e["data"] for e in site.events() if e["type"] == "silence.learned"]
        self.assertEqual(len(learned), 5)
        for data in learned:
            rows = {row["activity"]: row["counts"] for row in data["silences"]}
            self.assertEqual(rows["unsaid"], {"60": 10})
            self.assertEqual(rows["starting"], {"60": 1})
        usual = json.loads(site.cli("config", "timeline", "script", "--json"))["agents"][0]["usual"]
        row, = (u for u in usual if u["activity"] == "unsaid")
        self.assertEqual((row["samples"], row["runs"], row["within_ms"], row["asked_after_ms"]), (50, 5, 60000, 135000))
        self.assertRegex(site.cli("config", "timeline"), r"2m15s +unsaid +- +50 in 5 runs +99\.5 % of the silences of this agent end "
                         r"within 1m\n  Of 1 more activities too little is known yet\.\n")
        # It outlives the daemon.
        self.assertEqual(site.down(), 0)
        site.up()
        goal = site.call("goal.create", title="T", plan=plan(task("T6")))["goal"]
        gate.wait()
        stall = self.explain(site, "T6")["timeline"][1]
        after = moment(stall["at"]) - moment(site.call("run.list", goal=goal)["runs"][0]["started_at"])
        self.assertLess(after.total_seconds(), 135 + harness.PATIENCE)
        self.assertEqual(stall["text"], "stalled: no sign of life; 99.5 % of the silences of this agent end within 1m")
        gate.go()
        site.wait_goal(goal)

    def test_docs(self):
        """The page shows what the command says."""
        site = self.site('[supervisor]\nidle_after = "20s"\n[agents.claude]\nformat = "claude"\n[agents.script]\n'
                         'command = ["./agent.sh"]\ninput = "stdin"\nprompt = "file"\n')
        site.up()
        with open(os.path.join(os.path.dirname(__file__), "../../docs/timeline.md"), encoding="utf-8") as f:
            shown = f.read().split("```\n")[1]
        self.assertEqual(shown, '$ overseer config timeline      # with idle_after = "20s"\n' +
                         site.cli("config", "timeline"))

    def test_what_explain_foretells_is_done(self):
        site = self.deaf("1s")
        site.call("goal.create", title="silent", plan=plan(task("T1")))
        site.wait_type("run.started")
        before = self.explain(site)
        self.assertEqual(steps(before["timeline"], "next", "later"),
                         ["stall", "nudge", "nudge", "resend", "reassign", "stall", "person"])
        foretold = {}
        for m in before["timeline"]:
            foretold.setdefault((m["step"], m.get("count", 1)), m["at"])
        nudged = site.wait_type("episode.rung", rung="nudge", count=1)
        now = self.explain(site)
        self.assertEqual(steps(now["timeline"], "done")[:3], ["start", "stall", "nudge"])
        second = site.wait_type("episode.rung", rung="nudge", count=2)
        resent = site.wait_type("episode.rung", rung="resend")
        taken = site.wait_type("episode.rung", rung="reassign")
        # Never sooner than it was said. When exactly, tests/unit/test_timeline asks, with a clock of its own.
        for event, key in ((nudged, ("nudge", 1)), (second, ("nudge", 2)), (resent, ("resend", 1)),
                           (taken, ("reassign", 1))):
            self.assertGreaterEqual(event["at"], foretold[key], key)

    def test_after_a_reassignment(self):
        """It is the new run's: what was done about the one before is in the facts."""
        site = self.deaf("2s", "max_retries = 1\n")
        site.call("goal.create", title="silent", plan=plan(task("T1")))
        taken = site.wait_type("episode.rung", rung="reassign")
        site.wait_type("run.started", after=taken["seq"])
        now = self.explain(site)
        self.assertEqual(steps(now["timeline"], "done"), ["start"])
        self.assertEqual(steps(now["timeline"], "next", "later"), ["stall", "person"])
        for m in now["timeline"]:
            self.assertGreater(m["at"], taken["at"])
        asked = site.wait_type("escalation.opened")
        foretold, = (m["at"] for m in now["timeline"] if m["step"] == "person")
        self.assertGreaterEqual(asked["at"], foretold)

    def test_text(self):
        site = self.deaf("1s", 'min_resend_interval = "1h"\n')
        site.call("goal.create", title="silent", plan=plan(task("T1")))
        site.wait_type("episode.rung", rung="nudge")
        text = site.cli("explain", "T1")
        clock = r"\d\d:\d\d:\d\d"
        self.assertRegex(text, f"Timeline +done {clock}  the run started")
        self.assertRegex(text, f"done {clock}  stalled: no sign of life for ")
        self.assertRegex(text, f"done {clock}  nudge 1 of 2: it is asked for its status")
        self.assertRegex(text, r"next [0-9 :-]+ \(in \w+\)  nudge 2 of 2: it is asked for its status")
        self.assertRegex(text, "then .* resend: the request is sent again")
        self.assertRegex(text, "then .* person: its run is ended, and you are asked")

    def test_left_out_facts_are_shown(self):
        site = self.deaf("1s", 'min_resend_interval = "1h"\n')
        site.call("goal.create", title="silent", plan=plan(task("T1")))
        site.wait_type("episode.rung", rung="nudge")
        said = re.search("facts left out  overseer (explain .*)", site.cli("explain", "T1"))
        self.assertIn("workspace intended", site.cli(*said.group(1).split()))

    def test_a_tool_at_work(self):
        """No stall is foretold, which never comes: the entry that does come is, and it comes."""
        said = ('{"type":"system","subtype":"init","cwd":"/w","session_id":"%s","model":"m"}' % SESSION,
                '{"type":"assistant","message":{"id":"m1","role":"assistant","type":"message","content":[{"type":"tool_use",'
                '"id":"t1","name":"Bash","input":{"command":"pytest"}}]},"parent_tool_use_id":null,"session_id":"%s"}' % SESSION)
        site = self.site("", "\n".join(f"echo '{line}'" for line in said) + '\necho up > "$HOME/a.here"; read x < "$HOME/a.go"\n')
        gate = site.gate("a")
        script = site.agent_config().replace("[agents.script]\n", '[agents.script]\nformat = "claude"\n')
        site.configure(IDLE.format("500ms") + 'mute_after = "1h"\n' + script)
        site.up()
        site.call("goal.create", title="busy", plan=plan(task("T1")))
        gate.wait()
        site.wait_type("assignment.activity", sign="tool")
        foretold = self.explain(site)["timeline"]
        self.assertEqual(steps(foretold, "next", "later"), ["mute"])
        self.assertGreater(moment(foretold[-1]["at"]) - moment(foretold[0]["at"]), datetime.timedelta(hours=1))
        self.assertRegex(site.cli("explain", "T1"), r"next .*  mute: it is busy and shows nothing of it, and you are asked \(inbox\)")
        site.configure(IDLE.format("500ms") + 'mute_after = "1s"\n' + script)
        site.call("config.reload")
        self.assertEqual(site.wait_type("escalation.opened")["data"]["kind"], "mute")
        now = self.explain(site)["timeline"]
        self.assertEqual((steps(now, "done"), steps(now, "next", "later")), (["start", "mute"], []))
        gate.go()

    def suggested(self, site):
        """Every command that is suggested for a stalled task, as a person would type it."""
        said = self.explain(site)
        self.assertEqual(said["state"], "stalled")
        for line in said["next"]:
            words = line.replace("TEXT", "because").split()
            self.assertEqual(words[0], "overseer")
            if "--follow" in words:
                process = subprocess.Popen([CLI, *words[1:]], cwd=site.repo, env=site.env,
                                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                try:
                    process.wait(timeout=0.5)
                    self.fail(process.stdout.read())
                except subprocess.TimeoutExpired:
                    process.kill()
                finally:
                    process.communicate()
            else:
                yield words[1:]

    def test_suggested_commands_apply(self):
        site = self.deaf("1s", 'min_resend_interval = "1h"\n')
        site.call("goal.create", title="silent", plan=plan(task("T1")))
        site.wait_type("dispatch.result", result="accepted", after=site.wait_type("episode.rung")["seq"])
        ran = []
        for words in self.suggested(site):
            site.cli(*words)
            ran.append(" ".join(words[:2]))
        self.assertEqual(ran, ["work nudge", "work reassign", "work show"])

    def test_no_nudge_is_suggested_that_would_be_refused(self):
        site = self.site(IDLE.format("1s") + 'min_resend_interval = "1h"\n', DEAF + 'read x < "$HOME/a.go"\n')
        site.gate("a")
        site.up()
        site.call("goal.create", title="silent", plan=plan(task("T1")))
        site.wait_type("episode.rung", rung="nudge", skipped=True)
        ran = []
        for words in self.suggested(site):
            site.cli(*words)
            ran.append(" ".join(words[:2]))
        self.assertEqual(ran, ["work reassign", "work show"])


if __name__ == "__main__":
    unittest.main()
