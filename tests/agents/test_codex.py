#!/usr/bin/env python3
"""The real Codex under a real daemon."""

import json
import os
import shutil
import subprocess
import time
import unittest

import common
import real
from fake_model import script
from real import harness


class Codex(common.Hooked):
    kind = real.Codex
    test_endless_retries_are_a_stall = None  # it gives up by itself

    def limited_for(self, seconds):
        """A usage limit that ends so much later, in a zone that is not UTC: (the moment, how it was heard)."""
        site = self.site(self.kind, start=False)
        site.up(TZ="XYZ-5:30")
        resets_at = int(time.time()) + seconds
        self.goal(site, self.task("T1", [{"fail": {"status": 429, "message": "The usage limit has been reached", "error": {
            "type": "usage_limit_reached", "plan_type": "plus", "resets_at": resets_at}}}]))
        limited = site.wait_type("agent.limited")["data"]
        self.assertEqual((limited["kind"], limited.get("guessed", False)), ("rate_limited", False), limited)
        # It tells minutes.
        self.assertEqual(limited["resets_at_ms"], resets_at // 60 * 60 * 1000, limited)
        return limited

    def test_a_limit_until_a_time_of_the_day(self):
        self.limited_for(3 * 3600)

    def test_a_limit_until_another_day(self):
        self.limited_for(int(23.5 * 3600))

    def without_namespaces(self):
        return [str(real.TOP / "tools/without-userns"), real.program(self.kind.name)]

    def test_its_sandbox_cannot_start(self):
        """As in many containers: none of its commands runs, and it says that it is done."""
        site = self.site(self.kind, command=self.without_namespaces(), recovery="escalate")
        self.goal(site, self.task("T1", [self.kind.shell("echo x > T1.txt"), {"text": "Done, as far as I know."}]))
        asked = site.wait_type("escalation.opened")["data"]["question"]
        for words in ("own sandbox cannot start", 'permission_mode = "danger-full-access"', "user namespaces", "bwrap: "):
            self.assertIn(words, asked)
        run = self.run_of(site, "T1")
        self.assertEqual((run["verdict"], run["trouble"], len(site.runs())), ("failed", "sandbox", 1), run)
        self.assertIn("bwrap: ", self.cli(site, "run", "show", run["id"]))

    def test_without_its_own_sandbox_it_works_there(self):
        site = self.site(self.kind, command=self.without_namespaces(), permission_mode="danger-full-access")
        site.wait_goal(self.goal(site, self.task("T1", self.work("T1"))))

    def sub_agent(self, *steps):
        return {"tool": "spawn_agent", "input": {"message": script(*steps)}}

    def counted(self, **options):
        """A sub-agent whose first two answers are complete when its parent goes on."""
        site = self.site(self.kind, **options)
        much = {**self.kind.shell("echo sub"), "usage": {"input": 20000, "output": 1000}}
        work, said = self.work("T1")
        goal = self.goal(site, self.task("T1", [self.sub_agent(much, much, {"gate": "never", "text": "Never said."}),
                                                {"gate": "parent", **work}, said]))
        self.model.wait(lambda r: r["step"] == 2)
        return site, goal

    def test_what_its_sub_agents_use_is_counted(self):
        """Also by another daemon. And its model is known, though nobody named it."""
        site, goal = self.counted(model="")
        site.down()
        site.up()
        self.model.open("parent")
        site.wait_goal(goal)
        run = self.run_of(site, "T1")
        self.assertEqual((run["tokens_input"], run["tokens_output"], run["model"]), (40300, 2060, "fake-model"), run)

    def test_a_budget_holds_for_sub_agents(self):
        site = self.site(self.kind)
        work = {**self.kind.shell("echo again"), "usage": {"input": 4000, "output": 10}}
        self.goal(site, self.task("T1", [self.sub_agent(*[work] * 60), {"gate": "never", "text": "Never said."}]),
                  budget={"tokens": 20000})
        site.wait_type("goal.budget", level="spent")
        site.wait_type("run.ended")
        self.assertLess(len(self.model.requests), 50, "it was ended in the middle of its sub-agent")

    def test_a_sub_agent_that_goes_in_a_circle(self):
        site = self.site(self.kind, more="[oversight]\nstuck.same_call_count = 6\n")
        goal = self.goal(site, self.task("T1", [self.sub_agent(*[self.kind.shell("exit 3")] * 200),
                                                {"gate": "never", "text": "Never said."}], self.work("T1")))
        found = site.wait_type("detection.made")["data"]["detection"]
        self.assertIn("exit 3", found["evidence"]["repeatedToolCall"], found)
        site.wait_goal(goal)
        self.assertEqual([r["resumed"] for r in site.runs()], [False, True])


class Forbidden(real.AgentCase):
    """Where user namespaces are forbidden, and no sandbox of ours can be made: whoever looks is told."""

    def setUp(self):
        super().setUp()
        self.site = harness.Site()
        self.addCleanup(self.site.close)
        programs = os.path.join(self.site.root, "programs")
        os.mkdir(programs)
        for name in ("git", "sh", "bash", "cat", "env", "mkdir", "touch", "tail"):
            os.symlink(shutil.which(name), os.path.join(programs, name))
        os.symlink(real.program("codex"), os.path.join(programs, "codex"))
        self.env = {**self.site.env, **self.environment(real.Codex, self.home(self.site.root)), **real.Codex.secret,
                    "PATH": programs}

    def run_cli(self, *args, forbidden=True):
        words = [str(real.TOP / "tools/without-userns")] if forbidden else []
        python = [os.path.realpath("/proc/self/exe")] if forbidden else []
        return subprocess.run([*python, *words, harness.CLI, *args], cwd=self.site.repo, env=self.env, capture_output=True,
                              text=True, timeout=8 * harness.PATIENCE, check=False)

    def named(self, text):
        for words in ("user namespaces", "permission_mode", "danger-full-access"):
            self.assertIn(words, text)

    def test_init(self):
        shutil.rmtree(self.site.dir)
        done = self.run_cli("init")
        self.assertEqual(done.returncode, 0, done)
        self.named(done.stdout)
        config = self.site.read(".overseer/config.toml")
        self.named(config)
        self.assertIn("\n[agents.codex]\n", config, "it may still be used")
        shutil.rmtree(self.site.dir)
        self.assertNotIn("user namespaces", self.run_cli("init", forbidden=False).stdout)

    def test_doctor(self):
        self.site.configure('[agents.codex]\nformat = "codex"\n')
        done = self.run_cli("doctor")
        self.named(done.stdout)
        self.assertIn("agent codex can run no command", done.stdout)
        self.assertNotEqual(done.returncode, 0)
        self.site.configure('[agents.codex]\nformat = "codex"\npermission_mode = "danger-full-access"\n')
        self.assertNotIn("user namespaces", self.run_cli("doctor").stdout)

    def test_agent_test(self):
        names = ", ".join(json.dumps(name) for name in self.env)
        self.site.configure(f'[agents.codex]\nformat = "codex"\nmodel = "fake-model"\nenv_pass = [{names}]\n')
        note = real.turns([real.Codex.shell("echo hello > overseer-test.txt"), {"text": "Made."}])
        done = self.run_cli("agent", "test", "codex", "--note", note)
        self.named(done.stdout)
        self.assertEqual(done.returncode, 1, done)


if __name__ == "__main__":
    unittest.main(verbosity=2)
