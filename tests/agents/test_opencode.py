#!/usr/bin/env python3
"""The real Opencode under a real daemon."""

import json
import unittest
from pathlib import Path

import common
import real
from fake_model import script


class Opencode(common.Common):
    kind = real.Opencode
    test_a_limit_that_passes = None  # it tries again by itself
    test_a_session_that_is_gone = None  # it tells none before the model's first answer
    slow = (*common.SLOW, "test_failures_of_the_model", "test_interrupted_in_a_tool_and_gone_on_with",
            "test_a_tool_that_the_agent_denies")

    def ask_for_changes(self, site):
        settings = Path(self.home(site.root, self.kind.name), ".config/opencode/opencode.json")
        rules = {"permission": {"edit": "ask", "bash": "ask"}}
        settings.write_text(json.dumps({**json.loads(settings.read_text()), **rules}))

    def sub_agent(self, *steps):
        return {"tool": "task", "input": {"description": "sub", "prompt": script(*steps), "subagent_type": "general"}}

    def test_what_its_sub_agents_use_is_counted(self):
        """And its model is known, though nobody named it; for a title it asks nobody."""
        site = self.site(self.kind, model="")
        much = {"usage": {"input": 20000, "output": 1000}}
        goal = self.goal(site, self.task("T1", [self.sub_agent({**self.kind.shell("echo sub"), **much}, {"text": "Done.", **much}),
                                                *self.work("T1")]))
        site.wait_goal(goal)
        run = self.run_of(site, "T1")
        self.assertEqual((run["tokens_input"], run["tokens_output"], run["model"]), (40300, 2060, "fake/fake-model"), run)
        self.assertEqual([r for r in self.model.requests if r["side"]], [])
        self.assertIn("echo sub", self.cli(site, "run", "log", run["id"]))

    def test_a_budget_holds_for_sub_agents(self):
        site = self.site(self.kind)
        work = {**self.kind.shell("echo again"), "usage": {"input": 4000, "output": 10}}
        goal = self.goal(site, self.task("T1", [self.sub_agent(*[work] * 30), {"text": "Never said."}]),
                         budget={"tokens": 20000})
        site.wait_type("goal.budget", level="spent")
        site.wait_type("run.ended")
        self.assertLess(len(self.model.requests), 25, "it was ended in the middle of its sub-agent")
        self.assertNotEqual(site.call("goal.show", goal=goal)["status"], "completed")

    def test_a_sub_agent_that_goes_in_a_circle(self):
        site = self.site(self.kind, more="[oversight]\nstuck.same_call_count = 6\n")
        goal = self.goal(site, self.task("T1", [self.sub_agent(*[self.kind.shell("echo the same")] * 60),
                                                {"text": "Never said."}], self.work("T1")))
        found = site.wait_type("detection.made")["data"]["detection"]
        self.assertEqual((found["type"], found["evidence"]["repeatedToolCall"]), ("stuck", "bash: echo the same"), found)
        site.wait_goal(goal)
        self.assertEqual([r["resumed"] for r in site.runs()], [False, True])


if __name__ == "__main__":
    unittest.main(verbosity=2)
