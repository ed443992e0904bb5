#!/usr/bin/env python3
"""What runs use and cost, in the table that people see; budgets that act while runs go on."""

import json
import os
import signal
import unittest

from harness import FAST
from spoken import SESSION, claude_init, claude_result, claude_says, codex
from test_spoken import WORK, SpokenCase

PRICES = '[prices."gpt-*"]\ninput_usd_per_mtok = 10\noutput_usd_per_mtok = 100\ncache_read_usd_per_mtok = 1\n'


class Cost(SpokenCase):
    def cost(self, *args):
        return json.loads(self.s.cli("cost", "--json", *args))

    def rows(self, by):
        return {row["key"]: row for row in self.cost("--by", by)["rows"]}

    def budget(self, **amounts):
        self.s.call("goal.update", goal=self.goal, budget=amounts)

    def used(self):
        return self.s.call("goal.show", goal=self.goal)["usage"]


class Table(Cost):
    def test_story(self):
        """A run under way and then one that has ended, by goal, agent, model, day and node."""
        run = self.begin()
        self.agent.say(claude_init(), claude_says("Hm."))
        self.agent.now(lambda now: now["state"] != "starting" and now.get("session") == SESSION)
        live = self.cost()["total"]
        self.assertEqual((live["runs"], live["live_runs"], live["tokens"]), (0, 1, 120))
        self.assertIn("1 running, 120 tokens of it so far", self.s.cli("cost"))
        self.assertEqual(self.used()["tokens"]["live"], 120)
        self.assertIn("(120 of it by what runs)", self.s.cli("goal", "show", self.goal))
        self.agent.sh(WORK)
        self.agent.say(claude_result())
        self.agent.end()
        self.s.wait_goal(self.goal)
        day = self.of("run.ended", run=run)[0]["at"][:10]
        for by, key in (("goal", self.goal), ("agent", "spoken"), ("model", "claude-opus-5-5"),
                        ("node", f"{self.goal}/T1")):
            row = self.rows(by)[key]
            self.assertEqual((row["runs"], row["live_runs"], row["tokens"], row["cost_microusd"]),
                             (1, 0, 372, 2400), by)
        self.assertEqual([r["key"] for r in self.cost("--by", "day")["rows"]], [day])
        self.assertEqual(self.rows("agent")["spoken"]["tokens_cache_read"], 7)
        shown = self.s.cli("cost", "--by", "agent", "--since", "1d")
        self.assertIn("AGENT", shown)
        self.assertIn("$0.002400", shown)
        self.assertNotIn("without a price", shown)
        self.assertIn("today $0.00", self.s.cli("status"))
        self.assertIn("is not one of goal, agent", self.s.cli("cost", "--by", "weekday", code=2))
        self.assertIn("only the sums are kept", self.s.cli("cost", "--by", "node", "--since", "1d", code=2))
        metrics = self.s.metrics()
        self.assertEqual(metrics['overseer_agent_tokens_total{agent="spoken"}'], 372)
        self.assertEqual(metrics['overseer_agent_cost_microusd_total{agent="spoken"}'], 2400)

    def test_nothing(self):
        self.s = self.site()
        self.s.up()
        self.assertEqual(self.s.cli("cost"), "Nothing was used yet.\n")
        self.s.down()
        self.assertIn("Nothing was used yet.\n", self.s.cli("cost"))

    def test_prices(self):
        """Tokens without a cost: unknown without a price, and said so; with one it is the sum."""
        self.begin("codex", more='model = "gpt-x"\n')
        self.agent.say(*codex(total=200))
        self.agent.sh(WORK)
        self.agent.end()
        self.s.wait_goal(self.goal)
        shown = self.s.cli("cost")
        self.assertIn("1 run without a price: what they cost is not in it; set [prices.\"gpt-x\"]", shown)
        self.assertIn("?", shown)
        self.assertEqual(self.cost()["total"]["unpriced_runs"], 1)

    def test_priced(self):
        self.begin("codex", more='model = "gpt-x"\n', top=PRICES)
        self.agent.say(*codex(total=200))
        self.agent.sh(WORK)
        self.agent.end()
        self.s.wait_goal(self.goal)
        total = self.cost()["total"]
        self.assertEqual((total["unpriced_runs"], total["cost_microusd"]), (0, 200 * 10 + 40 * 100))
        spent = self.of("goal.spent")[0]["data"]
        self.assertEqual((spent["model"], spent["cost_source"]), ("gpt-x", "prices"))


class Untrue(Cost):
    """Figures that cannot be true are unknown, not 0."""

    def run_with(self, result, **more):
        run = self.begin(**more)
        self.agent.say(claude_init(), result)
        self.agent.sh(WORK)
        self.agent.end()
        self.s.wait_goal(self.goal)
        return self.ended(run)

    def test_cost(self):
        end = self.run_with(claude_result(cost=1e308))
        self.assertEqual((end["tokens"], "cost_microusd" in end, "cost_source" in end), (372, False, False))
        self.assertEqual(self.cost()["total"]["unpriced_runs"], 1)
        self.assertRegex(self.s.cli("cost"), r"total .* 372 +\?")

    def test_nothing(self):
        """With prices, too: what nobody told costs nobody knows how much."""
        result = claude_result()
        del result["model_usage_since_last_result"], result["total_cost_usd"]
        result["modelUsage"] = result["usage"] = {}
        end = self.run_with(result, top=PRICES.replace("gpt-*", "claude-*"))
        self.assertEqual(("cost_microusd" in end, "cost_source" in end), (False, False))
        self.assertEqual(self.cost()["total"]["untold_runs"], 1)

    def test_tokens(self):
        result = claude_result()
        result["model_usage_since_last_result"]["claude-opus-5-5"]["outputTokens"] = 2**63 - 1
        end = self.run_with(result)
        self.assertEqual((end["unknown"], end["cost_microusd"]), ("tokens", 2400))
        self.assertEqual(self.cost()["total"]["untold_runs"], 1)
        shown = self.s.cli("cost")
        self.assertRegex(shown, r"total .* \?.* \$0\.002400\+")
        self.assertIn("1 run of agents that do not tell what they use, or tell what cannot be true", shown)


class Budget(Cost):
    def stopped(self, run):
        """The budget is used up: the run was stopped, nobody failed, a person is asked."""
        self.s.wait_type("goal.budget", goal=self.goal, level="spent")
        end = self.ended(run)
        self.s.wait_type("assignment.moved", to="cancelled")
        self.assertEqual(self.of("node.failed"), [])
        self.assertEqual(self.s.node("T1")["status"], "queued")
        self.assertEqual([x["kind"] for x in self.s.call("status.get")["needs_you"]], ["budget"])
        return end

    def test_tokens(self):
        """Reached while the run goes on; raised, and the same session goes on in the same worktree."""
        first = self.begin(top=FAST)
        self.budget(tokens=300)
        self.agent.say(claude_init(), claude_says("One."))
        self.s.wait_type("run.session", run=first)
        self.agent.say(claude_says("Two.", number=2))
        self.s.wait_type("goal.budget", goal=self.goal, level="warned", resource="tokens")
        self.assertEqual(self.of("run.ended"), [])
        self.agent.sh(WORK)
        self.agent.say(claude_says("Three.", number=3))
        end = self.stopped(first)
        self.assertEqual(end["tokens"], 360)
        self.assertEqual(self.used()["tokens"]["used"], 360)
        self.assertIn("360 of 300 tokens", self.s.cli("goal", "show", self.goal))
        self.s.cli("goal", "update", self.goal, "--budget", "tokens=100000")
        second = self.agent.up()
        self.assertIn(f"--resume={SESSION}", self.agent.argv()[1])
        shown = self.s.call("run.show", run=second)
        self.assertEqual((shown["resumed"], shown["session"]), (True, SESSION))
        self.agent.say(claude_init(), claude_result(session_cost=0.0048))
        self.agent.sh('echo more >> "$OVERSEER_NODE.txt"\n')
        self.agent.end()
        self.s.wait_goal(self.goal)
        self.assertEqual(self.used()["tokens"]["used"], 360 + 372)
        self.assertEqual(self.cost()["total"]["runs"], 2)

    def test_wall(self):
        """Time passes without a word."""
        first = self.begin(top=FAST)
        self.budget(wall_ms=700)
        self.stopped(first)
        wall = self.used()["wall_ms"]["used"]
        self.assertGreaterEqual(wall, 700)

    def test_counted_once(self):
        """kill -9 of the daemon, again and again: what was used is read anew, not added."""
        run = self.begin()
        self.agent.say(claude_init(), claude_says("One."))
        for number in (2, 3):
            self.s.kill()
            self.agent.say(claude_says("More.", number=number))
            self.s.up()
        self.agent.now(lambda now: now.get("session") == SESSION)
        self.assertEqual(self.used()["tokens"]["used"], 360)
        self.agent.sh(WORK)
        self.agent.say(claude_result())
        self.agent.end()
        self.s.wait_goal(self.goal)
        self.assertEqual(self.used()["tokens"]["used"], 372)
        self.assertEqual(len(self.of("goal.spent", run=run)), 1)

    def test_lost(self):
        """A run whose shim dies has used what it had told of."""
        run = self.begin(top=FAST)
        self.agent.say(claude_init(), claude_says("One."))
        self.agent.now(lambda now: now.get("session") == SESSION)
        os.kill(self.shim(), signal.SIGKILL)
        end = self.ended(run)
        self.assertTrue(end["lost"])
        self.assertEqual(end["tokens"], 120)
        self.assertEqual(self.of("goal.spent", run=run)[0]["data"]["amounts"]["tokens"], 120)

    def shim(self):
        for pid in self.s.live_pids():
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if b"overseer-run" in f.read().split(b"\0")[0]:
                    return pid
        raise AssertionError("no shim")


if __name__ == "__main__":
    unittest.main()
