#!/usr/bin/env python3
"""The real Gemini under a real daemon."""

import json
import unittest
from pathlib import Path

import common
import real


class Gemini(common.Common):
    kind = real.Gemini
    test_a_limit_that_passes = None  # it tries again by itself
    test_a_session_that_is_gone = None  # it keeps none that failed at once
    slow = common.SLOW

    def test_a_session_whose_first_request_failed_is_not_resumed(self):
        """It keeps no session in which the model said nothing: to resume it would be an error."""
        site = self.site(self.kind)
        work, said = self.work("T1")
        goal = self.goal(site, self.task("T1", [{"fail": {"status": 401, "message": "no luck", "times": 1}, **work}, said]))
        asked = site.wait_type("escalation.opened")["data"]
        self.assertEqual(asked["kind"], "login", asked)
        self.assertTrue(self.kinds_of(site, "run.session"), "it had told its session")
        self.cli(site, "inbox", "answer", str(asked["escalation"]), "done")
        site.wait_goal(goal)
        runs = site.runs()
        self.assertEqual([(r["trouble"], r["verdict"], r["resumed"]) for r in runs],
                         [("login", "failed", False), ("none", "ok", False)])
        self.assertEqual(len({r["session"] for r in runs}), 2)
        self.assertEqual(self.kinds_of(site, "node.failed"), [])

    def limited(self, site):
        """From now on it ends after one turn of the model's."""
        settings = Path(self.home(site.root, self.kind.name), ".gemini/settings.json")
        settings.write_text(json.dumps({**json.loads(settings.read_text()), "model": {"maxSessionTurns": 1}}))

    def test_a_limit_of_turns(self):
        site = self.site(self.kind, start=False)
        self.limited(site)
        site.up()
        self.continues_after_its_turns(site)

    def test_a_limit_of_turns_without_a_change(self):
        site = self.site(self.kind, start=False, recovery="escalate")
        self.limited(site)
        site.up()
        self.fails_after_its_turns(site)

    def failed_with(self, fail, trouble):
        """One run that the model's server fails: what Gemini tells of it, and what that is taken for."""
        site = self.site(self.kind)
        goal = self.goal(site, self.task("T1", [{"fail": fail}], self.work("T1")))
        ended = site.wait_type("run.ended")["data"]
        self.assertEqual((ended["verdict"], ended["trouble"]), ("failed", trouble), ended)
        return site, goal

    def test_a_key_that_is_not_valid_is_a_login(self):
        site, _ = self.failed_with({"status": 400, "message": "API key not valid. Please pass a valid API key.", "error": {
            "status": "INVALID_ARGUMENT", "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo",
                                                       "reason": "API_KEY_INVALID", "domain": "googleapis.com"}]}}, "login")
        self.assertEqual(site.wait_type("agent.limited")["data"]["kind"], "login")
        self.assertIn("agent gemini is logged out", self.cli(site, "inbox"))

    def test_it_stops_itself_in_a_loop(self):
        """Gemini calls that a success; the next run is ordered to do it otherwise."""
        same = [self.kind.shell("echo same")] * 6
        site = self.site(self.kind)
        goal = self.goal(site, self.task("T1", same, same, self.work("T1")))
        ended = site.wait_type("run.ended")["data"]
        self.assertEqual((ended["exit_code"], ended["verdict"], ended["trouble"]), (0, "failed", "loop"), ended)
        found = site.wait_type("detection.made")["data"]["detection"]
        self.assertEqual((found["type"], found["severity"]), ("stuck", "high"), found)
        site.wait_goal(goal)
        last = [r for r in self.model.requests if not r["side"]][-1]
        self.assertTrue(any("OVERRIDE: Change approach immediately." in p for p in last["prompts"][-2:]), last["prompts"])
        self.assertEqual(site.git("show", "main:T1.txt"), "work of T1\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
