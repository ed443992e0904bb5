#!/usr/bin/env python3
"""The real Claude under a real daemon."""

import glob
import json
import os
import signal
import sys
import time
import unittest

import common
import real
from real import script

sys.path.insert(1, str(real.TOP / "tests/failures"))
from row import Watch  # noqa: E402


class Claude(common.Hooked):
    kind = real.Claude

    def test_a_limit_of_turns(self):
        self.continues_after_its_turns(self.site(self.kind, max_turns=1))

    def test_a_limit_of_turns_without_a_change(self):
        self.fails_after_its_turns(self.site(self.kind, max_turns=1, recovery="escalate"))

    def test_git_can_be_read_without_approval(self):
        """As in any worktree: it has to take the git folder for one that nobody planted."""
        site = self.site(self.kind, permission_mode="default")
        self.goal(site, self.task("T1", [self.kind.shell("git status"), {"text": "It is clean."}]))
        run = site.wait_type("run.ended")["run"]
        said = site.output(run).decode()
        self.assertNotIn("requires approval", said)
        self.assertIn("nothing to commit", said)

    def test_several_results_in_one_run(self):
        """A sub-agent in the background ends after its parent's turn, and begins another one."""
        site = self.site(self.kind)
        sub = script({"gate": "sub", "text": "The sub-agent is done."})
        work, said = self.work("T1")
        goal = self.goal(site, self.task("T1", [
            {"tool": "Agent", "input": {"description": "sub", "prompt": sub, "subagent_type": "general-purpose"}},
            {"gate": "parent", "text": "The parent is done."}, {"gate": "second", **work}, said]))
        self.model.wait(lambda r: r["turn"] == 0 and r["step"] == 1)
        # Not before: the parent's next request would tell of it, and nothing were left for another turn.
        self.model.open("sub")
        run = site.runs()[0]["id"]
        self.wait_output(site, run, b'"task_notification"')
        self.model.open("parent")
        self.model.wait(lambda r: r["step"] == 2)
        self.wait_output(site, run, b'"result":"The parent is done."')
        self.assertEqual(self.kinds_of(site, "run.ended"), [], "the first result is not the end")
        self.model.open("second")
        site.wait_goal(goal)
        self.assertEqual(len(site.runs()), 1)
        self.assertEqual(site.git("show", "main:T1.txt"), "work of T1\n")
        lines = [json.loads(line) for line in site.output(run).splitlines()]
        self.assertEqual([line["result"] for line in lines if line["type"] == "result"],
                         ["The parent is done.", "All done."])
        record = self.run_of(site, "T1")
        self.assertEqual((record["tokens_input"], record["tokens_output"]), (500, 100), "its sub-agent's, too")

    def test_a_sub_agent_that_goes_in_a_circle(self):
        """It is found while it happens, and the session is told to go about it in another way."""
        site = self.site(self.kind, more="[oversight]\nstuck.same_call_count = 6\n")
        sub = script(*[self.kind.shell("echo the same")] * 60)
        goal = self.goal(site, self.task("T1", [
            {"tool": "Agent", "input": {"description": "sub", "prompt": sub, "subagent_type": "general-purpose"}},
            {"gate": "never", "text": "Never said."}], self.work("T1")))
        found = site.wait_type("detection.made")["data"]["detection"]
        self.assertEqual((found["type"], found["evidence"]["repeatedToolCall"]), ("stuck", "Bash: echo the same"), found)
        self.assertIn("the run is interrupted", site.wait_type("intervention.applied")["data"]["did"])
        site.wait_goal(goal)
        self.assertEqual([r["resumed"] for r in site.runs()], [False, True])

    def test_it_mends_the_daemon(self):
        """Under the watchdog: a configuration by which no daemon can start is put right."""
        site = self.site(self.kind, start=False)
        asked = script(self.kind.shell("cp ../good.toml .overseer/config.toml"), {"text": "It starts again."})
        good = site.read(".overseer/config.toml") + (
            f'[watch]\nheartbeat_timeout = "10m"\nremediation_agent = "claude"\nremediation_prompt = {json.dumps(asked)}\n')
        site.configure(good)
        site.write("../good.toml", good)
        watch = Watch(site, [])
        self.addCleanup(watch.close)
        first = self.wait_instance(watch)
        site.configure("[watch\n")
        os.kill(site.daemon_json()["pid"], signal.SIGKILL)
        self.assertIn("Remediation completed", watch.wait_act("remediated")["text"])
        self.wait_instance(watch, first)
        prompt = self.model.requests[0]["prompts"][-1]
        self.assertIn("Failure: died", prompt)
        self.assertIn(site.dir + "/manual_intervention_needed_", prompt)
        log, = glob.glob(site.dir + "/logs/remediation_*.txt")
        self.assertRegex(site.read(log), r'"name":"Bash"(?s:.*)It starts again\.(?s:.*)==== Outcome ====\ncompleted')

    def wait_instance(self, watch, before=None):
        """Another daemon than the one before answers."""
        end = time.monotonic() + real.harness.PATIENCE
        while time.monotonic() < end:
            try:
                instance = watch.site.daemon_json()["instance_id"]
                if instance != before and watch.site.call("status.get"):
                    return instance
            except (OSError, ValueError):
                pass
            time.sleep(0.05)
        raise AssertionError(watch.said() + watch.daemon_log())


if __name__ == "__main__":
    unittest.main(verbosity=2)
