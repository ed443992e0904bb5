#!/usr/bin/env python3
"""Goals through the command line, with a real daemon: defined, changed, paused, cancelled, reopened, archived."""

import json
import subprocess
import unittest

from harness import CLI, FAST, PATIENCE, SiteCase, plan, task

# Leaves a file uncommitted, then stands at the gate until the test lets it go on.
AGENT = r"""
echo "half of $OVERSEER_NODE" > "$OVERSEER_NODE.txt"
echo "$OVERSEER_NODE" > "$HOME/g.here"
read x < "$HOME/g.go"
"""


class Goals(SiteCase):
    maxDiff = None

    def cli(self, site, *args, code=0):
        done = subprocess.run([CLI, *args], cwd=site.repo, env=site.env, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def ask(self, site, *args):
        return json.loads(self.cli(site, *args, "--json").stdout)

    def test_every_field(self):
        site = self.site(FAST)
        site.up()
        repo = site.write("../context.md", "main is green\n")
        goal = self.ask(site, "goal", "create", "--title", "Limits", "--problem", "too many", "--success", "429",
                        "--constraint", "no new service", "--non-goal", "billing", "--assumption", "keys exist",
                        "--stakeholder", "ops", "--risk", "slow | users leave | cache", "--risk", "other",
                        "--tag", "api", "--owner", "team-a", "--repo-context", "@" + repo, "--priority", "high",
                        "--origin-session", "agent:main", "--origin-context", '{"channel": "chat"}',
                        "--estimate", "iterations=30", "--estimate", "wall=2h",
                        "--budget", "cost_usd=12.5", "--budget", "tokens=unlimited")["goal"]
        shown = self.ask(site, "goal", "show", goal)
        want = {
            "title": "Limits", "problem_statement": "too many", "success_criteria": ["429"],
            "constraints": ["no new service"], "non_goals": ["billing"], "assumptions": ["keys exist"],
            "stakeholders": ["ops"], "tags": ["api"], "owner": "team-a", "priority": 2,
            "risks": [{"risk": "slow", "impact": "users leave", "mitigation": "cache"}, {"risk": "other"}],
            "repo_context": "main is green", "origin_session": "agent:main", "origin_context": {"channel": "chat"},
            "estimate": {"iterations": 30, "wall_ms": 7200000}, "budget": {"cost_microusd": 12500000, "tokens": -1},
            "planner": None,
        }
        self.assertEqual({key: shown[key] for key in want}, want)
        self.assertEqual(shown["usage"]["iterations"], {"used": 0, "spent": 0, "live": 0, "estimate": 30, "limit": 90, "shared": False})
        self.assertEqual(shown["usage"]["tokens"]["limit"], "unlimited")
        text = self.cli(site, "goal", "show", goal).stdout
        for part in ("Limits", "too many", "429", "no new service", "billing", "keys exist", "ops", "api", "team-a",
                     "slow; impact: users leave; against it: cache", "main is green", "agent:main", "chat", "high",
                     "0 of 90 runs", "of 6h of run time", "unlimited", "$0.00 of $12.50"):
            self.assertIn(part, text)
        self.assertEqual([g["id"] for g in self.ask(site, "goal", "list", "--tag", "api")["goals"]], [goal])
        self.assertEqual(self.ask(site, "goal", "list", "--tag", "web")["goals"], [])
        self.assertEqual(self.ask(site, "goal", "list", "--status", "paused")["goals"], [])
        said = self.cli(site, "goal", "update", goal, "--title", "Limits 2", "--tag", "web", "--clear", "risks",
                        "--clear", "problem_statement", "--budget", "tokens=default", "--reason", "more is known").stdout
        self.assertIn("changed: title, problem_statement, tags, risks, budget", said)
        shown = self.ask(site, "goal", "show", goal)
        self.assertEqual((shown["title"], shown["tags"], shown["risks"], shown["problem_statement"], shown["assumptions"]),
                         ("Limits 2", ["web"], [], "", ["keys exist"]))
        self.assertEqual(shown["budget"], {"cost_microusd": 12500000})
        event = self.ask(site, "events", "--type", "goal.updated")["events"][0]
        self.assertEqual(event["data"]["reason"], "more is known")
        self.assertTrue(event["actor"].startswith("human:"))
        # All of it is there after a restart.
        self.assertEqual(site.down(), 0)
        site.up()
        self.assertEqual(self.ask(site, "goal", "show", goal), shown)

    def test_what_is_wrong_is_said(self):
        site = self.site(FAST)
        site.up()
        goal = self.ask(site, "goal", "create", "--title", "Test")["goal"]
        before = site.seq()
        for args, part in (
            (["--budget", "iterations=0"], "0 is not a budget"),
            (["--budget", "cost_usd=1.2345678"], "is not an amount such as cost_usd=12.50"),
            (["--budget", "wall=2 hours"], "is not an amount such as wall=8h"),
            (["--budget", "runs=2"], "is not of the form NAME=AMOUNT"),
            (["--estimate", "tokens=unlimited"], "estimate.tokens must be a number"),
            (["--priority", "asap"], "is not one of urgent"),
            (["--title", ""], "needs a title"),
            (["--clear", "title"], "is not one of problem_statement"),
            ([], "nothing was given"),
        ):
            self.assertIn(part, self.cli(site, "goal", "update", goal, *args, code=2).stderr)
        self.assertIn("--reason", self.cli(site, "goal", "reopen", goal, code=2).stderr)
        self.assertIn("it can become: paused, completed, cancelled", self.cli(site, "goal", "archive", goal, code=4).stderr)
        self.assertEqual(site.seq(), before)

    def test_pause_and_restart(self):
        """A paused goal stays paused over a restart; what runs ends safely, and is accepted only after resume."""
        site = self.site(FAST + "[workers]\nmax = 1\n", AGENT)
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1"), task("T2")))["goal"]
        first = gate.wait()
        said = self.cli(site, "goal", "pause", goal[:12], "--reason", "freeze").stdout
        self.assertIn("is paused", said)
        self.assertIn("overseer goal resume", said)
        gate.go()
        site.wait_type("run.harvested", node=first)
        site.wait_type("assignment.moved", node=first, stage="rebase")
        self.assertEqual(site.kill(), -9)
        site.up()
        shown = self.ask(site, "goal", "show", goal)
        self.assertEqual((shown["status"], shown["health"], shown["status_reason"]), ("paused", "paused", "freeze"))
        self.assertEqual(self.ask(site, "tick", "--dry-run")["decisions"], [])
        self.assertTrue(gate.empty())
        self.assertIn("is active", self.cli(site, "goal", "resume", goal).stdout)
        gate.wait()
        gate.go()
        site.wait_goal(goal)
        self.assertEqual(site.git("ls-tree", "--name-only", "main").split(), ["README", "T1.txt", "T2.txt"])

    def test_pause_now(self):
        """The run is stopped, what it wrote is kept, and the next run goes on from a new epoch."""
        site = self.site(FAST, AGENT)
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        gate.wait()
        self.assertIn("is being stopped", self.cli(site, "goal", "pause", goal, "--now").stdout)
        kept = site.wait_type("run.harvested", node="T1")["data"]
        self.assertEqual(site.git("show", kept["rescue_ref"] + ":T1.txt"), "half of T1\n")
        self.assertEqual(site.node("T1")["status"], "queued")
        self.cli(site, "goal", "resume", goal)
        gate.wait()
        gate.go()
        site.wait_goal(goal)
        self.assertEqual(site.node("T1")["epoch"], 2)

    def test_cancel_and_archive(self):
        site = self.site(FAST, AGENT)
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1"), task("T2", ["T1"])))["goal"]
        gate.wait()
        said = self.cli(site, "goal", "cancel", goal, "--reason", "not needed").stdout
        self.assertIn("is cancelled", said)
        site.wait_type("run.harvested", node="T1")
        site.wait_type("worker.status", to="idle")
        self.assertEqual([site.node(n)["status"] for n in ("T1", "T2")], ["cancelled", "cancelled"])
        refused = self.cli(site, "goal", "resume", goal, code=4).stderr
        self.assertIn("archived", refused)
        self.cli(site, "goal", "archive", goal)
        self.assertEqual(self.ask(site, "goal", "show", goal)["status"], "archived")
        self.assertNotIn(goal, [g["id"] for g in self.ask(site, "status")["goals"]])
        for verb in ("pause", "resume", "cancel", "reopen", "archive"):
            reason = ["--reason", "x"]
            self.assertRegex(self.cli(site, "goal", verb, goal, *reason, code=4).stderr, r"\nNext  overseer goal (show|create) ")

    def test_reopen(self):
        site = self.site(FAST, AGENT)
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        gate.wait()
        refused = self.cli(site, "goal", "reopen", goal, "--reason", "x", code=4).stderr
        self.assertIn(f"goal {goal} is active already\nNext  overseer goal show {goal}\n", refused)
        gate.go()
        site.wait_goal(goal)
        self.assertIn("is active", self.cli(site, "goal", "reopen", goal, "--reason", "one more thing").stdout)
        status = self.ask(site, "status")
        self.assertEqual([n["kind"] for n in status["needs_you"]], ["reopened"])
        self.assertEqual(self.ask(site, "goal", "show", goal)["status"], "active")
        before = site.seq()
        site.call("plan.apply", goal=goal, plan={"phases": [{"id": "P2", "name": "two", "tasks": [task("T2")]}]},
                  reason="more")
        gate.wait()
        gate.go()
        site.wait_event(lambda e: e["type"] == "goal.status" and e["data"]["to"] == "completed", before)

    def test_budget(self):
        """A spent budget starts nothing new and asks once; raising it as the question says goes on."""
        site = self.site(FAST + "[workers]\nmax = 1\n[budget]\niterations = 1\n", AGENT)
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1"), task("T2")))["goal"]
        first = gate.wait()
        gate.go()
        site.wait_type("node.accepted", node=first)
        asked = site.wait_type("escalation.opened", goal=goal)["data"]["question"]
        shown = self.ask(site, "goal", "show", goal)
        self.assertEqual((shown["health"], shown["budget_level"]), ("critical", "spent"))
        self.assertEqual(shown["usage"]["iterations"]["used"], 1)
        self.assertGreater(shown["usage"]["wall_ms"]["used"], 0)
        self.assertIn("1 of 1 runs", self.cli(site, "goal", "show", goal).stdout)
        # The limit holds over a restart, and nobody is asked twice.
        self.assertEqual(site.kill(), -9)
        site.up()
        self.assertEqual(self.ask(site, "tick", "--dry-run")["decisions"], [])
        self.assertEqual([n["kind"] for n in self.ask(site, "status")["needs_you"]], ["budget"])
        self.assertTrue(gate.empty())
        command = asked.split("overseer ")[1].split()
        self.cli(site, *command)
        gate.wait()
        gate.go()
        site.wait_goal(goal)
        self.assertEqual([n["kind"] for n in self.ask(site, "status")["needs_you"]], [])

    def test_paused_goal_holds_no_worker(self):
        site = self.site("[workers]\nmax = 1\n[retry]\ndelays = [\"1h\", \"1h\", \"1h\"]\n", AGENT + "exit 1\n")
        gate = site.gate("g")
        site.up()
        first = site.call("goal.create", title="First", plan=plan(task("T1")))["goal"]
        gate.wait()
        gate.go()
        site.wait_type("node.failed", goal=first)
        second = site.call("goal.create", title="Second", plan=plan(task("T2")))["goal"]
        # The only worker waits for the next attempt of T1, until its goal is paused.
        self.cli(site, "goal", "pause", first)
        self.assertEqual(gate.wait(), "T2")
        self.cli(site, "goal", "cancel", second, "--reason", "enough")

    def test_history(self):
        """A goal as it was at any moment, with the daemon up and down."""
        site = self.site(FAST + "[workers]\nmax = 1\n", AGENT)
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Before", plan=plan(task("T1"), task("T2", ["T1"])))["goal"]
        gate.wait()
        started = site.wait_type("run.started", node="T1")
        site.call("goal.update", goal=goal, title="After")
        gate.go()
        gate.wait()
        gate.go()
        site.wait_goal(goal)
        then = self.ask(site, "goal", "history", goal, "--at", started["at"])
        nodes = then["plan"]["phases"][0]["children"]
        self.assertEqual((then["goal"]["title"], then["goal"]["status"]), ("Before", "active"))
        self.assertEqual([(n["id"], n["status"]) for n in nodes], [("T1", "in_progress"), ("T2", "todo")])
        now = self.ask(site, "goal", "history", goal, "--at", "0s")
        self.assertEqual((now["goal"]["title"], now["goal"]["status"]), ("After", "completed"))
        text = self.cli(site, "goal", "history", goal, "--at", started["at"]).stdout
        self.assertIn("As it was at", text)
        self.assertIn("in_progress", text)
        self.assertIn("as of", self.cli(site, "goal", "history", goal, "--at", "1h", code=3).stderr)
        self.assertIn("is not a time such as", self.cli(site, "goal", "history", goal, "--at", "noon", code=2).stderr)
        # The last event of each moment: all up to it are as old, and the next one is younger.
        events = self.ask(site, "events", "--limit", "1000")["events"]
        self.assertEqual(site.down(), 0)
        for event in events[::5]:
            if event["seq"] < next(e["seq"] for e in events if e["type"] == "goal.created"):
                continue
            seq = self.ask(site, "goal", "history", goal, "--at", event["at"])["seq"]
            self.assertEqual(seq, max(e["seq"] for e in events if e["at"] <= event["at"]))

    def test_events_since_and_by_kind(self):
        site = self.site(FAST, AGENT)
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        gate.wait()
        gate.go()
        site.wait_goal(goal)
        everything = self.ask(site, "events", "--limit", "1000")["events"]
        started = next(e for e in everything if e["type"] == "run.started")
        self.assertEqual(self.ask(site, "events", "--since", started["at"])["events"],
                         [e for e in everything if e["at"] >= started["at"]])
        self.assertEqual(self.ask(site, "events", "--since", "1d", "--limit", "1000")["events"], everything)
        self.assertEqual(self.ask(site, "events", "--since", "2100-01-01T00:00:00Z")["events"], [])
        self.assertEqual(self.ask(site, "events", "--type", "run.")["events"],
                         [e for e in everything if e["type"].startswith("run.")])
        self.assertEqual(self.ask(site, "events", "--type", "run.", "--goal", goal, "--since", started["at"])["events"],
                         [e for e in everything if e["type"].startswith("run.") and e["at"] >= started["at"]])
        self.assertIn('did you mean "run.started"', self.cli(site, "events", "--type", "run.startet", code=2).stderr)
        self.cli(site, "events", "--type", "runn.", code=2)
        self.cli(site, "events", "--since", "last year", code=2)
        self.assertIn("overseer events --after", self.cli(site, "events", "--after", "0", "--limit", "3").stdout)

    def test_no_phone_number_is_kept(self):
        site = self.site(FAST)
        site.up()
        goal = self.ask(site, "goal", "create", "--title", "Test", "--origin-context",
                        '{"channel": "sms", "to": "+49 151 12345678"}')["goal"]
        shown = self.ask(site, "goal", "show", goal)["origin_context"]
        self.assertEqual(shown["channel"], "sms")
        self.assertNotIn("12345678", json.dumps(self.ask(site, "events")) + json.dumps(shown))


if __name__ == "__main__":
    unittest.main()
