#!/usr/bin/env python3
"""The whole story: a goal, its plan, a dispatch, no progress, a nudge, progress, the end. Then the same with kill -9."""

import json
import os
import random
import time
import unittest

from fake_model import FakeModel
from harness import SANITIZED, SiteCase, plan, task

# Time is scaled: what takes minutes takes tenths of seconds.
SCALED = """
[retry]
delays = ["10ms", "10ms", "10ms"]
[supervisor]
idle_after = "700ms"
min_resend_interval = "500ms"
done_grace = "200ms"
stop_grace = "100ms"
[supervisor.backoff]
base = "200ms"
"""

# Says nothing and does nothing until somebody asks; then it reports, works, reports done, and ends.
SILENT = r"""
echo "$OVERSEER_RUN" >> "$HOME/started.$OVERSEER_NODE"
while IFS= read -r line; do
	case $line in Request*) break;; esac
done
number=$(echo "$line" | sed 's/Request \([0-9A-Z]*\):.*/\1/')
printf 'about %s\n```json\n{"overseerUpdate": {"status": "in_progress", "summary": "half of it"}}\n```\n' "$number"
echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "work of $OVERSEER_NODE"
printf '```json\n{"overseerUpdate": {"status": "done", "summary": "all of it", "evidence": {"filesTouched": ["%s.txt"]}}}\n```\n' "$OVERSEER_NODE"
"""


class Story(SiteCase):
    def begin(self, tasks):
        """A site whose planner answers nonsense first, and whose agent waits to be asked."""
        self.model = FakeModel("Of course! Here is your plan.", json.dumps(plan(*tasks)))
        self.addCleanup(self.model.close)
        site = self.site(SCALED)
        script = site.write("../agent.sh", "#!/bin/sh\n" + SILENT)
        os.chmod(script, 0o755)
        config = SCALED + self.model.config() + (
            f'\n[defaults]\nagent = "script"\n[agents.script]\n'
            f'command = ["{script}", "{{prompt_file}}"]\nprompt = "file"\ninput = "stdin"\n')
        if SANITIZED:
            config += 'env_pass = ["HOME", "PATH", "LC_ALL", "ASAN_OPTIONS", "UBSAN_OPTIONS"]\n'
        site.configure(config)
        site.env["FAKE_MODEL_KEY"] = "a key of no use"
        return site

    def explained(self, site, goal):
        """The planner's first answer and what was wrong about it are kept with the goal."""
        made = site.call("goal.show", goal=goal)["planner"]
        self.assertEqual(made["template_id"], "plan.v1")
        self.assertEqual(len(made["template_hash"]), 64)
        self.assertEqual(site.call("goal.show", goal=goal)["plan_source"], "planner")
        return made

    def test_silence_is_nudged_and_the_answer_ends_the_stall(self):
        site = self.begin([task("T1"), task("T2", ["T1"])])
        site.up()
        goal = site.call("goal.create", title="Story", success_criteria=["both files exist"])["goal"]
        site.wait_goal(goal)
        self.assertTrue(self.explained(site, goal)["attempts"][0]["errors"])
        self.assertIn("Of course!", self.model.prompt(1))
        events = [e for e in site.events() if e.get("node") == "T1"]
        kinds = [e["type"] for e in events]
        order = ["episode.opened", "episode.rung", "dispatch.result", "node.reported", "episode.closed", "node.accepted"]
        places = [kinds.index(kind, 0 if kind != "dispatch.result" else kinds.index("episode.rung")) for kind in order]
        self.assertEqual(places, sorted(places), kinds)
        rung = events[kinds.index("episode.rung")]["data"]
        self.assertEqual((rung["rung"], rung["count"]), ("nudge", 1))
        node = site.node("T1")
        self.assertEqual((node["status"], node["reported_status"], node["epoch"]), ("done", "done", 1))
        self.assertEqual(node["report"]["summary"], "all of it")
        sent = [e["data"] for e in events if e["type"] == "dispatch.intended"]
        self.assertEqual([d["purpose"] for d in sent], ["start", "nudge"])
        results = [e["data"]["result"] for e in events
                   if e["type"] == "dispatch.result" and e["data"]["dispatch"] == sent[1]["dispatch"]]
        self.assertEqual(results[-1], "ok")
        self.assertEqual(site.git("log", "--format=%s", "main").split("\n").count("Task T1"), 1)

    def test_twenty_kills_change_nothing(self):
        """kill -9 of the daemon at random moments: each task is done once, by one run, all of it explained."""
        tasks = [task(f"T{i}", [f"T{i - 1}"] if i > 1 else []) for i in range(1, 6)]
        site = self.begin(tasks)
        moments = random.Random(int(os.environ.get("STORY_SEED", "20")))
        site.up()
        goal = site.call("goal.create", title="Story")["goal"]
        for _ in range(20):
            # Not a wait for anything: where in the story the daemon dies is left to chance.
            time.sleep(moments.uniform(0, 0.5))
            site.kill()
            site.up()
        site.wait_goal(goal)
        self.explained(site, goal)
        events = site.events()
        subjects = site.git("log", "--format=%s", "main").split("\n")
        for t in tasks:
            node = t["id"]
            self.assertEqual(subjects.count(f"Task {node}"), 1)
            started = site.home(f"started.{node}").split()
            self.assertEqual(len(started), len(set(started)), "a run was started twice")
            self.assertEqual(site.node(node)["status"], "done")
            identities = [e["data"]["identity"] for e in events
                          if e["type"] == "node.reported" and e.get("node") == node]
            self.assertEqual(len(identities), len(set(identities)), "a report was applied twice")
        dispatches = [e["data"]["dispatch"] for e in events if e["type"] == "dispatch.intended"]
        self.assertEqual(len(dispatches), len(set(dispatches)))
        self.assertEqual(site.call("status.get")["needs_you"], [])
        self.assertEqual(site.live_pids(), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
