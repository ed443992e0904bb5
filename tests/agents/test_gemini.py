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


if __name__ == "__main__":
    unittest.main(verbosity=2)
