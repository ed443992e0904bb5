#!/usr/bin/env python3
"""Replanning while work goes on: through the command line, with a real daemon and real agents."""

import json
import os
import subprocess
import unittest

from harness import CLI, FAST, PATIENCE, RpcError, SiteCase, plan, task

# Leaves a file uncommitted, then stands at the gate until the test lets it go on.
AGENT = r"""
echo "half of $OVERSEER_NODE" > "$OVERSEER_NODE.txt"
echo "$OVERSEER_NODE" > "$HOME/g.here"
read x < "$HOME/g.go"
"""


class Plans(SiteCase):
    def cli(self, site, *args, code=0):
        done = subprocess.run([CLI, *args], cwd=site.repo, env=site.env, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def file(self, site, *tasks, **more):
        return site.write("../plan.json", json.dumps({**plan(*tasks), **more}))

    def test_replan_while_a_node_runs(self):
        """The removed node's run is stopped and its work kept; the rest is worked off under the new plan."""
        site = self.site(FAST, AGENT)
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1"), task("T2", ["T1"])))["goal"]
        self.assertEqual(gate.wait(), "T1")
        said = self.cli(site, "plan", "apply", "--goal", goal, "--version", "1", "--reason", "the customer left",
                        self.file(site, task("T2", name="Another name"), task("T3", ["T2"]))).stdout
        self.assertIn("Plan version 2", said)
        self.assertIn("removed  1  T1", said)
        node = site.node("T1")
        self.assertEqual((node["status"], node["status_reason"], node["removed_in"]),
                         ("cancelled", "removed by plan version 2: the customer left", 2))
        # Nobody let it go on: it was stopped, and what it had written is under a ref.
        kept = site.wait_type("run.harvested", node="T1")["data"]
        self.assertEqual(site.git("show", kept["rescue_ref"] + ":T1.txt"), "half of T1\n")
        self.assertEqual(gate.wait(), "T2")
        gate.go()
        self.assertEqual(gate.wait(), "T3")
        gate.go()
        site.wait_goal(goal)
        self.assertEqual(site.git("ls-tree", "--name-only", "main").split(), ["README", "T2.txt", "T3.txt"])
        self.assertIn("Another name", site.git("log", "--format=%s", "main"))
        # The same state after a restart.
        before = site.call("plan.show", goal=goal)
        self.assertEqual([n["id"] for n in before["removed"]], ["T1"])
        self.assertEqual(site.down(), 0)
        site.up()
        self.assertEqual(site.call("plan.show", goal=goal), before)

    def test_split_and_stale_versions_and_history(self):
        site = self.site(FAST, AGENT)
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1"), task("T2", ["T1"])))["goal"]
        self.assertEqual(gate.wait(), "T1")
        # Checked without changing anything; then split; then whoever has seen the old plan is refused.
        split = self.file(site, task("T1", subtasks=[task("S1"), task("S2", ["S1"])]), task("T2", ["T1"]))
        preview = self.cli(site, "plan", "check", "--goal", goal, split).stdout
        self.assertIn("it would be version 2", preview)
        self.assertIn("+ S1", preview)
        self.assertEqual(site.call("plan.show", goal=goal)["plan_version"], 1)
        self.cli(site, "plan", "apply", "--goal", goal, split)
        stale = self.cli(site, "plan", "apply", "--goal", goal, "--version", "1", split, code=4)
        self.assertIn("you have seen plan version 1", stale.stderr)
        self.assertIn("it is at version 2", stale.stderr)
        self.assertIn("overseer plan diff", stale.stderr)
        with self.assertRaises(RpcError) as refused:
            site.call("plan.apply", goal=goal, version=1, plan=plan(task("T9")))
        self.assertEqual(refused.exception.code, "E_CONFLICT")
        kept = site.wait_type("run.harvested", node="T1")["data"]
        self.assertEqual(site.git("show", kept["rescue_ref"] + ":T1.txt"), "half of T1\n")
        for node in ("S1", "S2", "T2"):
            self.assertEqual(gate.wait(), node)
            if node == "T2":
                # Done nodes can be left out and waited for; those that are named stay as they are.
                document = json.loads(self.cli(site, "plan", "show", "--document", goal).stdout)
                self.assertEqual(document["planVersion"], 3)
                bad = self.file(site, task("T1", subtasks=[task("S1", name="x")]), task("T2", ["nope"]))
                told = self.cli(site, "plan", "apply", "--goal", goal, bad, code=2).stdout
                self.assertIn("2 problems", told)
                self.assertIn("phases[0].tasks[0].subtasks[0].name", told)
                self.assertIn("phases[0].tasks[1].deps[0]", told)
                self.cli(site, "plan", "apply", "--goal", goal, "--reason", "one more",
                         self.file(site, task("T2", ["T1"]), task("T3", ["S2"]), planVersion=3))
            gate.go()
        self.assertEqual(gate.wait(), "T3")
        gate.go()
        site.wait_goal(goal)
        self.history(site, goal)

    def history(self, site, goal):
        lines = self.cli(site, "plan", "history", goal).stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines[:3]], ["v1", "v2", "v3"])
        self.assertIn("+2 ~0 -0 =3", lines[1])
        self.assertIn("one more", lines[2])
        versions = json.loads(self.cli(site, "plan", "history", "--json", goal).stdout)["versions"]
        self.assertEqual([(v["version"], v["added"], v["removed"], v["source"]) for v in versions],
                         [(1, ["P1", "T1", "T2"], [], "file"), (2, ["S1", "S2"], [], "file"), (3, ["T3"], [], "file")])
        shown = self.cli(site, "plan", "diff", goal, "1", "3").stdout
        self.assertIn("+ S1  Task S1", shown)
        self.assertIn("+ T3  Task T3", shown)
        self.assertIn("3 added, 0 changed, 0 removed, 3 kept", shown)
        backwards = json.loads(self.cli(site, "plan", "diff", "--json", goal, "3", "1").stdout)
        self.assertEqual([n["id"] for n in backwards["removed"]], ["S1", "S2", "T3"])
        self.assertIn("versions 1 to 3, not 7", self.cli(site, "plan", "diff", goal, "7", code=3).stderr)
        self.assertIn("not a plan version", self.cli(site, "plan", "diff", goal, "x", code=2).stderr)
        tree = self.cli(site, "plan", "show", goal).stdout
        self.assertIn("4/4  100%", tree)
        # With the daemon down the same is read from the store.
        self.assertEqual(site.down(), 0)
        self.assertEqual(self.cli(site, "plan", "diff", goal, "1", "3").stdout, shown)

    def test_large_plans(self):
        """245 subtasks; a replan that changes each of them is applied and explained."""
        site = self.site(FAST)
        site.up()

        def big(text):
            return {"phases": [{"id": f"P{p}", "name": "p", "tasks": [
                {"id": f"T{p}.{t}", "name": "t", "acceptance": ["x"], "subtasks": [
                    {"id": f"S{p}.{t}.{s}", "name": text, "acceptance": ["x"]} for s in range(7)]}
                for t in range(7)]} for p in range(5)]}

        goal = site.call("goal.create", title="Test", plan=big("one"))["goal"]
        site.wait_type("node.status", node="S4.6.6")
        result = site.call("plan.apply", goal=goal, plan=big("two"))
        self.assertEqual((len(result["changed"]), len(result["kept"])), (245, 40))
        self.assertEqual(site.call("plan.show", goal=goal)["progress"]["leaves"], 245)
        self.assertEqual(len(site.call("plan.diff", goal=goal)["changed"]), 245)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    unittest.main()
