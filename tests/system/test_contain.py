#!/usr/bin/env python3
"""Containment: how runs are stopped, what is kept of them, and that nothing of them is left."""

import os
import unittest

from harness import FAST, SiteCase, plan, task, wait_gone

# Stands at the gate "g" until the test lets it go on.
GATE = r"""
echo "$OVERSEER_NODE $OVERSEER_RUN $$" > "$HOME/g.here"
read x < "$HOME/g.go"
"""


class Stop(SiteCase):
    def begin(self, config, agent):
        """A site with one run at its gate: (site, run, pid)."""
        site = self.site(FAST + config, agent)
        gate = site.gate("g")
        site.up()
        site.call("goal.create", title="Test", plan=plan(task("T1")))
        _, run, pid = gate.wait().split()
        return site, run, int(pid)

    def stop_told(self, site):
        """What came of the stop."""
        return site.wait_event(lambda e: e["type"] == "effect.ended" and e["data"]["kind"] == "run_stop")["data"]

    def test_work_is_kept_before_the_first_signal(self):
        """An agent that throws its work away when it is asked to end cannot lose it."""
        site, run, pid = self.begin('[supervisor]\nstop_grace = "20s"\n', r"""
trap 'rm -f precious; git reset -q --hard; exit 1' TERM
git commit -q --allow-empty -m "a commit"
echo precious > precious; echo changed > README; git add README; echo twice > README
""" + GATE + GATE)
        site.call("run.stop", run=run, reason="enough")
        wait_gone(pid)
        site.wait_type("run.ended", run=run)
        told = self.stop_told(site)
        self.assertEqual(told["outcome"], "ok")
        ref = told["detail"].split()[-1]
        self.assertTrue(ref.startswith("refs/overseer/rescue/"), told)
        self.assertEqual(site.git("show", ref + ":precious"), "precious\n")
        self.assertEqual(site.git("show", ref + ":README"), "twice\n")
        self.assertEqual(site.git("log", "--format=%s", "-1", ref + "^1").strip(), "a commit")

    def test_a_failing_rescue_does_not_keep_a_run_alive(self):
        """It is said, and the run ends all the same."""
        site, run, pid = self.begin('[supervisor]\nstop_grace = "20ms"\n', GATE + GATE)
        site.git("update-ref", "refs/overseer/rescue/pool-1", "HEAD")  # in the way of the ref
        site.call("run.stop", run=run, reason="enough")
        wait_gone(pid)
        site.wait_type("run.ended", run=run)
        told = self.stop_told(site)
        self.assertEqual(told["outcome"], "ok")
        self.assertIn("could not be kept", told["detail"])


if __name__ == "__main__":
    unittest.main()
