#!/usr/bin/env python3
"""The table of failures: what agents need from outside (rows 18 and 19)."""

import json
import os
import unittest

from row import RowCase, row, when

from harness import FAST, plan, task
from spoken import claude_init, claude_result, claude_retry, config

# It says what lies in the file of its node, and fails; without that file it does its work. A moment that is named there is soon.
SOON = 4718281828
CLAUDE = r"""#!/bin/sh
if [ -e "$HOME/said.$OVERSEER_NODE" ]; then
	echo $(($(date +%s) + 3)) > "$HOME/soon"
	sed "s/4718281828/$(cat "$HOME/soon")/" "$HOME/said.$OVERSEER_NODE"
	exit 1
fi
echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "work of $OVERSEER_NODE"
cat "$HOME/done"
"""


def lines(*said):
    return "".join(json.dumps(line) + "\n" for line in said)


class Outside(RowCase):
    def claude(self, more, agent=""):
        """A site whose agent speaks as Claude Code does; says(node, lines) is what it says instead of working."""
        site = self.site()
        os.chmod(site.write("../agent.sh", CLAUDE), 0o755)
        site.write("../done", lines(claude_init(), claude_result()))
        env = 'env_pass = ["HOME", "PATH", "LC_ALL", "ASAN_OPTIONS", "UBSAN_OPTIONS"]\n'
        site.configure(more + "[planner]\nfallback = false\n" + config(site.root, "claude", env + agent))
        return site

    @row("18")
    def test_18_rate_limit(self):
        site = self.claude(FAST)
        site.up()
        site.write("../said.T1", lines(claude_init(), {
            "type": "rate_limit_event", "session_id": "s", "rate_limit_info": {
                "status": "rejected", "resetsAt": SOON, "rateLimitType": "five_hour"}},
            claude_result("You've hit your limit", is_error=True, api_error_status=429)))
        goal = site.call("goal.create", title="Test", plan=plan(task("T1"), task("T2", ["T1"])))["goal"]
        limited = site.wait_type("agent.limited")
        self.injected(limited)
        resets = int(site.home("soon"))
        self.assertEqual((limited["data"]["kind"], limited["data"]["resets_at_ms"]), ("rate_limited", resets * 1000))
        os.unlink(os.path.join(site.root, "said.T1"))
        self.assertIn("its agent is out of quota", site.cli("work", "show", "T1"))
        self.assertRegex(site.cli("agent", "list"), r"rate limited until \d\d:\d\d:\d\d \(in")
        self.recovered(site.wait_type("agent.cleared"))
        site.wait_goal(goal)
        runs = site.runs()
        self.assertEqual([(r["node_id"], r["trouble"]) for r in runs],
                         [("T1", "rate_limited"), ("T1", "none"), ("T2", "none")])
        again = site.wait_type("run.created", run=runs[1]["id"])
        self.assertGreaterEqual(when(again), resets)
        # It was nobody's failure, and nobody had to do anything.
        self.assertEqual([e["type"] for e in site.events() if e["type"] in ("node.failed", "escalation.opened")], [])

    @row("19")
    def test_19_network(self):
        site = self.claude('[retry]\ndelays = ["100ms", "10ms", "10ms"]\n[supervisor]\nbackoff.base = "10ms"\n', 'recovery = "escalate"\n')
        gone = lines(claude_init(), claude_retry(1, None, "unknown"), claude_result(
            "API Error: Unable to connect to API (ECONNREFUSED)", is_error=True))
        site.write("../said.T1", gone)
        site.write("../said.T2", gone)
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1"), task("T2")))["goal"]
        # One finds it back when it tries again.
        first = site.wait_type("node.failed", node="T1")
        self.injected(first)
        self.assertIn("could not reach its model", first["data"]["detail"])
        os.unlink(os.path.join(site.root, "said.T1"))
        site.wait_type("node.status", node="T1", to="done")
        # The other tries in vain until a person is asked; everything else goes on meanwhile.
        asked = site.wait_type("escalation.opened", node="T2")
        self.assertIn("could not reach its model", asked["data"]["question"])
        self.assertIn("ECONNREFUSED", asked["data"]["question"])
        self.assertEqual({r["trouble"] for r in site.runs() if r["node_id"] == "T2"}, {"network"})
        os.unlink(os.path.join(site.root, "said.T2"))
        site.cli("work", "unblock", "T2", "--reason", "the network is back")
        self.recovered(site.wait_goal(goal))
        self.assertEqual(sorted(self.subjects(site)), ["Task T1", "Task T2"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
