#!/usr/bin/env python3
"""The real Codex under a real daemon."""

import time
import unittest

import common
import real


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


if __name__ == "__main__":
    unittest.main(verbosity=2)
