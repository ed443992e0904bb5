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
        return self.failed_by({"fail": fail}, trouble)

    def failed_by(self, step, trouble):
        """One run that the model's server fails: what Gemini tells of it, and what that is taken for."""
        site = self.site(self.kind)
        goal = self.goal(site, self.task("T1", [step], self.work("T1")))
        ended = site.wait_type("run.ended")["data"]
        self.assertEqual((ended["verdict"], ended["trouble"]), ("failed", trouble), ended)
        return site, goal

    def test_a_key_that_is_not_valid_is_a_login(self):
        site, _ = self.failed_with({"status": 400, "message": "API key not valid. Please pass a valid API key.", "error": {
            "status": "INVALID_ARGUMENT", "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo",
                                                       "reason": "API_KEY_INVALID", "domain": "googleapis.com"}]}}, "login")
        self.assertEqual(site.wait_type("agent.limited")["data"]["kind"], "login")
        self.assertIn("agent gemini may be logged out", self.cli(site, "inbox"))

    # An answer that can be cut in two, and then the work.
    LONG = {"text": "The first words of a longer answer.", **real.Gemini.edit("T1.txt", "work of T1\n")}

    def test_a_connection_that_breaks(self):
        """`[API Error: terminated]`: nobody's fault but the network's, and the work is done by the next run."""
        site, goal = self.failed_by({**self.LONG, "cut": True, "times": 1}, "network")
        site.wait_goal(goal)
        self.assertIn("API Error: terminated", self.run_of(site, "T1", 0)["message"])

    def test_an_answer_without_an_end(self):
        """It asks four times; then its result is an error that does not say of what."""
        site, goal = self.failed_by({**self.LONG, "cut": "end", "times": 4}, "network")
        site.wait_goal(goal)
        self.assertIn("stream ended without a finish reason", self.run_of(site, "T1", 0)["message"])

    def test_a_limit_that_is_told_in_two_lines(self):
        """A 429 that says when to ask again: the first line says why, the second that it does. It is a limit when it is stopped."""
        site = self.site(self.kind)
        quota = {"status": 429, "message": "You have exhausted your capacity on this model.", "error": {"details": [
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "30s"}]}}
        self.goal(site, self.task("T1", [{"fail": quota}]))
        self.model.wait(lambda r: r["status"] == 429)
        site.wait_type("run.session")
        self.impatient(site, idle_after="2s", min_resend_interval="100ms", **{"backoff.base": "100ms"})
        stall = site.wait_type("episode.opened")["data"]
        self.assertRegex(" ".join(stall["evidence"]), "retrying for .*: rate_limited", stall)
        limited = site.wait_type("agent.limited")["data"]
        self.assertEqual(limited["kind"], "rate_limited", limited)

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
