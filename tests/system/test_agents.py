#!/usr/bin/env python3
"""Agents as they are configured: what `agent list` says of them while they work, wait or are missing."""

import json
import os
import unittest

from harness import SiteCase, plan, task

CARDS = """
[agents.known]
format = "claude"
command = ["{root}/missing"]
model = "some-model"
description = "knows much"
capabilities = ["c", "review"]
cost_tier = "high"
concurrency = 3
[agents.bare]
format = "codex"
[roles]
reviewer = "known"
"""


class AgentList(SiteCase):
    def agents(self, site):
        return {x["name"]: x for x in json.loads(site.cli("agent", "list", "--json"))["agents"]}

    def test_cards(self):
        site = self.site(agent="true\n")
        path = os.path.join(site.dir, "config.toml")
        with open(path, "a", encoding="utf-8") as f:
            f.write(CARDS.replace("{root}", site.root))
        os.makedirs(os.path.join(site.root, "bin"))
        os.chmod(site.write("../bin/codex", "#!/bin/sh\n"), 0o755)
        site.env["PATH"] = os.path.join(site.root, "bin") + ":" + site.env["PATH"]
        site.up()
        found = self.agents(site)
        self.assertEqual(list(found), ["script", "known", "bare"])
        self.assertTrue(found["script"]["default"])
        self.assertEqual((found["script"]["format"], found["script"]["program"]), ("raw", site.root + "/agent.sh"))
        known = found["known"]
        self.assertEqual((known["title"], known["model"], known["program"]), ("Claude Code", "some-model", None))
        self.assertEqual((known["capabilities"], known["cost_tier"]), (["c", "review"], "high"))
        self.assertEqual((known["roles"], known["in_use"], known["concurrency"]), (["reviewer"], 0, 3))
        self.assertTrue(known["hooks"] and known["resumes"])
        self.assertEqual(found["bare"]["program"], os.path.join(site.root, "bin/codex"))
        text = site.cli("agent", "list")
        self.assertRegex(text, r"script \* +exec/raw +- +0 of 256 +ready")
        self.assertRegex(text, r"known +exec/claude +some-model +0 of 3 +\S+/missing is not found +c, review")
        # Without a daemon, from the store as it lies there.
        site.down()
        self.assertEqual(list(self.agents(site)), ["script", "known", "bare"])

    def test_what_is_in_use(self):
        site = self.site(agent='echo here > "$HOME/a.here"; read x < "$HOME/a.go"; echo x > done.txt\n')
        gate = site.gate("a")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        gate.wait()
        self.assertEqual(self.agents(site)["script"]["in_use"], 1)
        self.assertIn("1 of 256", site.cli("agent", "list"))
        gate.go()
        site.wait_goal(goal)
        self.assertEqual(self.agents(site)["script"]["in_use"], 0)

    def test_what_waits_for_its_quota(self):
        site = self.site(agent="exit 75\n")
        site.up()
        site.call("goal.create", title="Test", plan=plan(task("T1")))
        site.wait_type("agent.limited")
        limit = self.agents(site)["script"]["limit"]
        self.assertEqual((limit["kind"], limit["times"]), ("rate_limited", 1))
        self.assertRegex(site.cli("agent", "list"), r"script \* .* rate_limited, again in ")

    def test_none(self):
        site = self.site()
        site.up()
        self.assertIn("No agent is configured", site.cli("agent", "list"))


if __name__ == "__main__":
    unittest.main()
