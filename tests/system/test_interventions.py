#!/usr/bin/env python3
"""Oversight with a real daemon: runs become iterations, and what is found in them is answered."""

import unittest

from harness import FAST, SiteCase, plan, task

# Hands in something else at each run, and leaves what it was told for the test to read.
AGENT = r"""
n=$(cat "$HOME/n" 2>/dev/null || echo 0); n=$((n + 1)); echo $n > "$HOME/n"
cat > "$HOME/prompt.$n"
echo $n > "$OVERSEER_NODE.txt"
git add -A; git commit -qm "attempt $n"
"""


class Interventions(SiteCase):
    maxDiff = None

    def begin(self, check, more=""):
        site = self.site(FAST + f'[workspace]\ncheck_command = "{check}"\n' + more, agent=AGENT)
        site.up()
        return site

    def test_every_run_is_an_iteration(self):
        site = self.begin('grep -q 3 T1.txt || { echo "error: it is not three in line $(cat T1.txt)"; exit 1; }'.replace('"', '\\"'))
        goal = site.call("goal.create", title="Count", plan=plan(task("T1")))["goal"]
        site.wait_goal(goal)
        found = [e["data"]["iteration"] for e in site.events() if e["type"] == "iteration.recorded"]
        self.assertEqual([i["number"] for i in found], [1, 2, 3])
        self.assertEqual([i.get("failed", False) for i in found], [True, True, False])
        self.assertIn("it is not three", found[0]["error"])
        self.assertEqual(len({i["tree"] for i in found}), 3)


if __name__ == "__main__":
    unittest.main()
