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

    def test_phases_alone_do_not_wait_and_sequential_ones_do(self):
        """Both phases begin at once, until the plan says that they are sequential."""
        site = self.site("workers.max = 2\n" + FAST, AGENT)
        gate = site.gate("g")
        site.up()
        phases = [{"id": f"P{p}", "name": f"Phase {p}", "tasks": [task(f"T{p}.1"), task(f"T{p}.2")]} for p in (1, 2)]
        path = site.write("../plan.json", json.dumps({"phases": phases}))
        said = self.cli(site, "plan", "check", path).stdout
        self.assertIn("4 of 4 can start at once", said)
        self.assertIn("Phases do not make tasks wait", said)
        path = site.write("../plan.json", json.dumps({"sequential": True, "phases": phases}))
        said = self.cli(site, "plan", "check", path).stdout
        self.assertIn("2 of 4 can start at once", said)
        self.assertNotIn("Phases do not make", said)
        said = self.cli(site, "goal", "create", "--title", "In order", "--plan", path).stdout
        self.assertIn("Ready now: T1.1, T1.2", said)
        goal = site.call("goal.list")["goals"][0]["id"]
        self.assertEqual({gate.wait(), gate.wait()}, {"T1.1", "T1.2"})
        self.assertIn("waits for phase P1 (sequential)", self.cli(site, "explain", "T2.1").stdout)
        self.assertIn("after P1 (sequential)", self.cli(site, "plan", "show", goal).stdout)
        self.assertIn("T1.1", [n["id"] for n in site.call("plan.show", goal=goal)["phases"][0]["children"]])
        # What is printed to be edited is what was given, and changes nothing.
        document = self.cli(site, "plan", "show", "--document", goal).stdout
        self.assertTrue(json.loads(document)["sequential"])
        path = site.write("../again.json", document)
        self.assertIn("Plan version 1", self.cli(site, "plan", "apply", "--goal", goal, path).stdout)
        gate.go(2)
        self.assertEqual({gate.wait(), gate.wait()}, {"T2.1", "T2.2"})
        # A later version takes the order back, or makes another one.
        changed = json.loads(document)
        changed["sequential"] = False
        changed["phases"][1]["sequential"] = True
        said = self.cli(site, "plan", "check", "--goal", goal, site.write("../other.json", json.dumps(changed))).stdout
        self.assertIn("sequential: true", said)
        gate.go(2)
        site.wait_goal(goal)
        # An order that contradicts itself is found before it is applied.
        phases[0]["tasks"][0]["deps"] = ["T2.1"]
        path = site.write("../plan.json", json.dumps({"sequential": True, "phases": phases}))
        said = self.cli(site, "plan", "check", path, code=2)
        self.assertIn('dependency cycle: P2 waits for P1 because the plan is "sequential"', said.stdout)

    def test_contracts_that_nothing_looks_at_are_refused(self):
        site = self.site(FAST)
        site.up()
        path = self.file(site, task("T1"), task("T1.2", verification={"tests": ["x"]}))
        reason = 'verification contracts are not supported yet; remove "verification" from T1.2'
        goal = site.call("goal.create", title="Empty", no_plan=True)["goal"]
        for args in (["plan", "check", path], ["goal", "create", "--title", "x", "--plan", path],
                     ["plan", "apply", "--goal", goal, path], ["plan", "check", "--goal", goal, path]):
            done = self.cli(site, *args, code=2)
            self.assertIn(reason, done.stdout + done.stderr, args)
        with self.assertRaises(RpcError) as caught:
            site.call("goal.create", title="x", plan=plan(task("T1", verification={})))
        self.assertIn("not supported yet", caught.exception.message)
        self.assertEqual([g["id"] for g in site.call("goal.list")["goals"]], [goal])

    def test_as_many_nodes_as_a_plan_may_have(self):
        """9,950 nodes and nearly 4 MiB: by the command line, the socket and HTTP, and after a restart."""
        site = self.site(FAST)
        site.up()
        document = {"sequential": True, "phases": [{"id": f"P{p}", "name": "p", "tasks": [
            {"id": f"T{p}.{t}", "name": "t", "acceptance": ["x"], "objective": "y" * 320} for t in range(200)]}
            for p in range(49)]}
        path = site.write("../plan.json", json.dumps(document))
        self.assertIn("49 phases, 9800 tasks", self.cli(site, "plan", "check", path).stdout)
        follower = site.connect()
        follower.call("events.follow", after=0)
        said = self.cli(site, "goal", "create", "--title", "Large", "--plan", path).stdout
        self.assertIn("49 phases, 9800 tasks, 0 subtasks. Ready now: T0.0, T0.1,", said)
        goal = site.call("goal.list")["goals"][0]["id"]
        event = follower.event()
        while event["type"] != "plan.applied":
            event = follower.event()
        self.assertEqual(len(event["data"]["plan"]["phases"]), 49)
        follower.close()
        shown = self.cli(site, "plan", "show", "--document", goal).stdout
        self.assertEqual(json.loads(shown)["phases"], document["phases"])
        path = site.write("../again.json", shown)
        self.assertIn("Plan version 1", self.cli(site, "plan", "apply", "--goal", goal, path).stdout)
        document["phases"][40]["tasks"][199]["name"] = "another"
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "plan.apply", "params": {"goal": goal, "plan": document}})
        status, _, answer = site.http("POST", "/rpc", body, {"Content-Type": "application/json"})
        self.assertEqual(status, 200, answer[:300])
        result = json.loads(answer)["result"]
        self.assertEqual((result["version"], result["changed"], len(result["kept"])), (2, ["T40.199"], 9848))
        before = site.call("plan.show", goal=goal)
        exported = site.write("../export.json", self.cli(site, "export").stdout)
        self.assertEqual(site.down(), 0)
        # It is there already: the plan is at version 2, and a first plan would be version 1.
        self.assertIn("planVersion  2, but", self.cli(site, "plan", "check", path, code=2).stdout)
        self.assertIn("the next version is 3", self.cli(site, "plan", "check", "--goal", goal, path, code=2).stdout)
        again = json.loads(shown)
        del again["planVersion"]
        path = site.write("../again.json", json.dumps(again))
        self.assertIn("49 phases, 9800 tasks", self.cli(site, "plan", "check", path).stdout)
        self.assertIn("0 added, 1 changed", self.cli(site, "plan", "check", "--goal", goal, path).stdout)
        site.up()
        self.assertEqual(site.call("plan.show", goal=goal), before)
        other = self.site(FAST)
        other.cli("import", exported)
        other.up()
        self.assertEqual(other.call("plan.show", goal=goal)["progress"], before["progress"])
        # One more of anything is refused, with the bound.
        document["phases"][0]["tasks"][0]["subtasks"] = [task(f"S{i}") for i in range(51)]
        document["phases"].append({"id": "P50", "name": "p", "tasks": [task(f"U{i}") for i in range(199)]})
        said = self.cli(site, "plan", "check", site.write("../plan.json", json.dumps(document)), code=2).stdout
        self.assertIn("51 subtasks, at most 50 are allowed", said)
        self.assertIn("more than 10000 phases, tasks and subtasks", said)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    unittest.main()
