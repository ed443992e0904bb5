#!/usr/bin/env python3
"""What agents say in their own format, from the run's files to the log: a real daemon, a scripted agent."""

import json
import os
import unittest

from harness import CLI, FAST, SiteCase, plan, task
from spoken import (SCRIPT, SESSION, Spoken, claude_init, claude_result, claude_retry, claude_says, claude_tool,
                    claude_tool_result, codex, config, update)

WORK = 'echo x > "$OVERSEER_NODE.txt"\n'


class SpokenCase(SiteCase):
    def begin(self, kind="claude", more="", top="", nodes=("T1",)):
        self.s = self.site(top)
        os.chmod(self.s.write("../agent.sh", "#!/bin/sh\n" + SCRIPT), 0o755)
        env = 'env_pass = ["HOME", "PATH", "LC_ALL", "ASAN_OPTIONS", "UBSAN_OPTIONS"]\n'
        self.s.configure(top + "\n[planner]\nfallback = false\n" + config(self.s.root, kind, env + more))
        self.agent = Spoken(self.s)
        self.s.up()
        self.goal = self.s.call("goal.create", title="Test", plan=plan(*[task(n) for n in nodes]))["goal"]
        return self.agent.up()

    def of(self, kind, **data):
        return [e for e in self.s.events() if e["type"] == kind and
                all(e.get(k, e["data"].get(k)) == v for k, v in data.items())]

    def ended(self, run):
        return self.s.wait_type("run.ended", run=run)["data"]


class Claude(SpokenCase):
    def test_story(self):
        """Session, words, a tool, a result: all of it is known, and the work is accepted."""
        run = self.begin()
        self.agent.say(claude_init())
        self.s.wait_type("run.session", run=run, session=SESSION)
        self.agent.say(claude_says("I look around."), claude_tool(command="make test"))
        now = self.agent.now(lambda n: n["state"] == "tool")
        self.assertEqual((now["tool"], now["session"], now["model"]), ("Bash", SESSION, "claude-opus-5-5"))
        self.assertIn("Bash for ", now["text"])
        status = self.s.call("status.get")["running"]
        self.assertEqual([r["now"]["tool"] for r in status], ["Bash"])
        self.assertEqual(self.s.node("T1")["now"]["state"], "tool")
        for command in (("status",), ("run", "show", run), ("work", "show", "T1")):
            self.assertIn("Bash for ", self.s.cli(*command), command)
        self.agent.sh(WORK)
        self.agent.say(claude_tool_result(), claude_result())
        self.agent.end()
        end = self.ended(run)
        self.assertEqual((end["verdict"], end["exit_code"], end["turns"], end["tool_calls"]), ("ok", 0, 1, 1))
        self.assertEqual([end["tokens_" + k] for k in ("input", "output", "cache_read", "cache_write")],
                         [300, 60, 7, 5])
        self.assertEqual((end["tokens"], end["cost_microusd"], end["cost_source"]), (372, 2400, "agent"))
        self.s.wait_goal(self.goal)
        spent = self.of("goal.spent", run=run)[0]["data"]["amounts"]
        self.assertEqual((spent["tokens"], spent["cost_microusd"]), (372, 2400))
        self.assertNotIn("now", self.s.call("run.show", run=run))
        self.assertRegex(self.s.cli("run", "show", run), r"Used +372 tokens \(300 in, 60 out\), \$0.002400")

    def test_a_flood_of_hook_events(self):
        """A run that writes to its own file of events: it is read up to a bound, said once, and the work goes on."""
        run = self.begin()
        self.agent.say(claude_init())
        self.s.wait_type("run.session", run=run, session=SESSION)
        self.agent.sh(WORK + 'yes "{}" | head -c 60M >> "$OVERSEER_RUN_DIR/hooks/events"')
        self.assertTrue(self.s.call("status.get")["running"])
        self.agent.say(claude_result())
        self.agent.end()
        self.assertEqual(self.ended(run)["verdict"], "ok")
        self.s.wait_goal(self.goal)
        self.assertEqual(self.s.daemon_log().count("the rest of it is not read"), 1)

    def test_resume(self):
        """A run that failed is gone on with: the next process is given the session's id."""
        first = self.begin(top=FAST)
        self.agent.say(claude_init(), claude_says("Hm."))
        self.s.wait_type("run.session", run=first)
        self.agent.say(claude_result("Broken", is_error=True, subtype="error_during_execution"))
        self.agent.end(1)
        self.assertEqual(self.ended(first)["verdict"], "failed")
        second = self.agent.up()
        self.assertIn(f"--resume={SESSION}", self.agent.argv()[1])
        shown = self.s.call("run.show", run=second)
        self.assertEqual((shown["session"], shown["resumed"]), (SESSION, True))
        # The cost that it calls the total is the session's: this run is charged with its own.
        self.agent.say(claude_init(), claude_result(cost=0.0012, session_cost=0.0036))
        self.agent.sh(WORK)
        self.agent.end()
        self.assertEqual(self.ended(second)["cost_microusd"], 1200)

    def test_failed_with_exit_0(self):
        """An interrupted Claude exits with 0: its words count, not its status."""
        run = self.begin()
        self.agent.say(claude_init(), claude_result("", is_error=True, subtype="error_during_execution",
                                                    terminal_reason="aborted_tools"))
        self.agent.end(0)
        end = self.ended(run)
        self.assertEqual((end["verdict"], end["exit_code"], end["trouble"]), ("failed", 0, "interrupted"))
        self.assertIn("failed, interrupted", self.s.cli("run", "list"))

    def test_success_that_is_none(self):
        """API 400: the subtype says success, the flag does not."""
        run = self.begin(top=FAST)
        self.agent.say(claude_init(), claude_result("API Error: 400 bad", is_error=True, api_error_status=400))
        self.agent.end(1)
        end = self.ended(run)
        self.assertEqual((end["verdict"], end["trouble"]), ("failed", "refused"))
        self.assertIn("400", end["message"])

    def test_several_results(self):
        """A background task starts another turn: the end is the end of the process."""
        run = self.begin()
        self.agent.say(claude_init(), claude_says("One."), claude_result("First"))
        self.agent.say(claude_init(), claude_says("Two.", number=5), claude_result("Second"))
        self.assertEqual(self.of("run.ended"), [])
        self.agent.sh(WORK)
        self.agent.end()
        self.assertEqual(self.ended(run)["verdict"], "ok")

    def test_cut_off(self):
        """Exit 0 in the middle of a turn is no success."""
        run = self.begin()
        self.agent.say(claude_init(), claude_tool(command="x"))
        self.agent.end(0)
        end = self.ended(run)
        self.assertEqual((end["verdict"], end["trouble"]), ("failed", "unfinished"))

    def test_errors_before_the_first_line(self):
        """What it says on stderr when it cannot even begin is told, and is not among its output."""
        run = self.begin(top=FAST)
        self.agent.err("error: unknown option '--no-such-thing'\n")
        self.agent.end(1)
        end = self.ended(run)
        self.assertEqual(end["verdict"], "failed")
        self.assertIn("unknown option '--no-such-thing'", end["message"])
        self.assertEqual(self.s.output(run), b"")
        self.assertIn("no-such-thing", self.s.cli("run", "show", run))

    def test_update_across_kill(self):
        """A block inside of a JSON line is taken once, also by the daemon after one that was killed."""
        run = self.begin()
        self.agent.say(claude_init(), claude_says("Hello.\n" + update(summary="Half")))
        self.s.wait_type("node.reported", run=run)
        self.s.kill()
        self.agent.say(claude_says(update(summary="All of it"), number=7))
        # Half of a line: the next daemon begins in the middle of it.
        line = json.dumps(claude_says(update(summary="And more ä 😀"), number=8)) + "\n"
        self.agent.say(line[:200])
        self.s.up()
        self.s.wait_event(lambda e: e["type"] == "node.reported" and e["data"]["update"]["summary"] == "All of it")
        self.agent.say(line[200:])
        self.s.wait_event(lambda e: e["type"] == "node.reported" and "And more" in e["data"]["update"]["summary"])
        self.s.kill()
        self.s.up()
        self.agent.now(lambda n: n["session"] == SESSION)
        self.agent.say(claude_result())
        self.agent.sh(WORK)
        self.agent.end()
        self.assertEqual(self.ended(run)["verdict"], "ok")
        self.assertEqual([e["data"]["update"]["summary"] for e in self.of("node.reported")],
                         ["Half", "All of it", "And more ä 😀"])
        self.assertEqual(len(self.of("run.session")), 1)
        self.assertEqual(len(self.of("run.ended")), 1)

    def test_own_words_are_no_report(self):
        """The instruction's example of an update, said back, is ours."""
        run = self.begin()
        with open(os.path.join(self.s.root, "prompt.1"), encoding="utf-8") as f:
            prompt = f.read()
        self.assertIn("overseerUpdate", prompt)
        self.agent.say(claude_init(), claude_says("You said: " + prompt), claude_result())
        self.agent.sh(WORK)
        self.agent.end()
        self.assertEqual(self.ended(run)["verdict"], "ok")
        self.assertEqual(self.of("node.reported"), [])

    def test_account_after_restart(self):
        """Nothing of the account is stored; the run's files tell it again."""
        self.begin()
        self.agent.say(claude_init(), claude_tool(command="make"))
        self.agent.now(lambda n: n["state"] == "tool")
        self.s.kill()
        self.s.up()
        now = self.agent.now(lambda n: n["state"] == "tool")
        self.assertEqual((now["tool"], now["tool_calls"], now["turns"]), ("Bash", 1, 1))

    def test_hooks_are_heard(self):
        """What hooks tell beside the output: that it waits for a person, for instance."""
        self.begin()
        self.agent.say(claude_init())
        self.agent.hook({"at": 1, "event": "PermissionRequest", "session": SESSION, "tool": "Bash"})
        now = self.agent.now(lambda n: n["state"] == "waiting")
        self.assertIn("Bash", now["text"])


IDLE = '\n[supervisor]\nidle_after = "2s"\n'


class Told(SpokenCase):
    """Instructions to an agent that takes them at its next stop, by `overseer hook`."""

    STOP = 'printf %s \'{"hook_event_name":"Stop","session_id":"' + SESSION + '"}\' | "$OVERSEER" hook Stop\n'

    def stop(self):
        """The agent wants to stop: what its hook answers."""
        self.agent.sh(f'OVERSEER={CLI}\n' + self.STOP.replace("\n", f' > {self.s.root}/answer\n'))
        return self.s.home("answer")

    def test_next_stop(self):
        """The first message is taken at the next stop; the second one, too late for that, is a run of its own."""
        run = self.begin()
        self.agent.say(claude_init())
        self.s.wait_type("run.session", run=run)
        self.assertEqual(self.stop(), "")
        after = self.s.seq()
        self.s.call("work.nudge", node="T1", message="Mind the gap")
        sent = self.s.wait_type("dispatch.result", after=after, result="accepted", run=run)
        self.s.call("work.nudge", node="T1", message="And the doors", force=True)
        refused = self.s.wait_type("dispatch.result", after=sent["seq"], result="error", run=run)
        self.assertIn("has not taken", refused["data"]["notes"])
        answer = json.loads(self.stop())
        self.assertEqual(answer["decision"], "block")
        self.assertIn("Mind the gap", answer["reason"])
        taken = self.s.wait_type("dispatch.result", result="ok", dispatch=sent["data"]["dispatch"])
        self.assertEqual(taken["data"]["notes"], "hook")
        self.agent.say(claude_result())
        self.agent.end()
        self.ended(run)
        self.agent.up()
        self.assertIn(f"--resume={SESSION}", self.agent.argv()[1])
        self.assertIn("And the doors", self.s.home("prompt.2"))
        self.agent.say(claude_init(), claude_result())
        self.agent.sh(WORK)
        self.agent.end()
        self.s.wait_goal(self.goal)


    def test_now(self):
        """Who cannot wait ends the run: its session goes on with the words at once, and nothing has failed."""
        run = self.begin()
        refused = self.s.cli("work", "nudge", "T1", "--now", code=4)
        self.assertIn("no session of its agent is known", refused)
        self.agent.say(claude_init())
        self.s.wait_type("run.session", run=run)
        said = self.s.cli("work", "nudge", "T1", "--message", "Stop that", "--now")
        self.assertIn("is interrupted; its session goes on", said)
        self.ended(run)
        second = self.agent.up()
        self.assertIn(f"--resume={SESSION}", self.agent.argv()[1])
        self.assertIn("Stop that", self.s.home("prompt.2"))
        self.agent.say(claude_init())
        self.s.wait_type("dispatch.result", result="ok", taken=True)
        self.assertIn(f"resumed {SESSION}", self.s.cli("run", "show", second))
        self.assertIn("session resumed", self.s.cli("status"))
        self.assertIn(f"resumed session {SESSION}", self.s.cli("explain", "T1"))
        self.agent.sh(WORK)
        self.agent.say(claude_result())
        self.agent.end()
        self.s.wait_goal(self.goal)
        self.assertEqual(self.of("node.failed"), [])


class Circles(SpokenCase):
    def calls(self, command, first, n):
        """So many calls with the same answer."""
        return [line for i in range(first, first + n) for line in
                (claude_tool(tool_id=f"toolu_{i}", number=i, command=command), claude_tool_result(f"toolu_{i}", "1 failed"))]

    def test_same_call(self):
        """Who makes the same call again and again is interrupted; who does it once more is paused."""
        run = self.begin(top="[oversight]\npause = 'node'\n[oversight.stuck]\nsame_call_count = 5")
        self.agent.say(claude_init(), *self.calls("make", 10, 4), *self.calls("make test", 20, 4))
        self.s.wait_type("run.session", run=run)
        self.agent.say_last(*self.calls("make test", 30, 1))
        made = self.s.wait_type("detection.made", run=run)
        found = made["data"]["detection"]
        self.assertEqual((found["type"], found["severity"], found["message"]),
                         ("stuck", "high", "Loop stuck: Same tool call repeated 5 times in one run"))
        self.assertEqual(found["evidence"], {"repeatedToolCall": "Bash: make test", "occurrences": 5})
        answer = self.s.wait_type("intervention.applied", run=run)["data"]
        self.assertEqual(answer["level"], "redirect")
        self.assertIn("the run is interrupted", answer["did"])
        self.ended(run)
        second = self.agent.up()
        self.assertIn(f"--resume={SESSION}", self.agent.argv()[1])
        prompt = self.s.home("prompt.2")
        self.assertTrue(prompt.startswith("From the overseer of this task"), prompt)
        self.assertIn('You have called "Bash: make test" 5 times in a row', prompt)
        self.assertIn("Same tool call repeated", self.s.cli("explain", "T1"))
        # Its next run goes on with the order: until that is judged, people see what was found and done.
        seen = 'the same call 5 times in one run: "Bash: make test"; redirect: the run is interrupted'
        self.assertRegex(self.s.cli("explain", "T1"), rf"went in a loop: {seen}.* \(\d+s ago\)")
        self.assertRegex(self.s.cli("status"), rf"\nLOOPS \(1\)\n +pool-1 +spoken +T1 .* \d+s +{seen}")
        loop = self.s.call("status.get")["loops"][0]
        self.assertEqual((loop["run"], loop["at"], loop["level"], loop["repeated"], loop["times"]),
                         (run, made["at"], "redirect", "Bash: make test", 5))
        self.assertEqual(self.of("node.failed"), [])
        # A daemon that hears all of it anew finds nothing new.
        self.s.down()
        self.s.up()
        self.agent.say(claude_init())
        self.s.wait_type("run.session", run=second)
        self.assertEqual(len(self.of("detection.made")), 1)
        self.agent.say_last(*self.calls("make test", 40, 6))
        again = self.s.wait_type("detection.made", run=second)["data"]["detection"]
        self.assertEqual((again["severity"], again["fingerprint"]), ("critical", found["fingerprint"]))
        self.s.wait_type("node.status", node="T1", to="blocked")
        self.ended(second)
        asked = [x["question"] for x in self.s.call("inbox.list")["inbox"] if x["kind"] == "paused"]
        self.assertIn("Bash: make test", asked[0])


    def test_same_call_of_a_sub_agent(self):
        """A sub-agent that goes in a circle is found, though its neighbour and the session get on."""
        run = self.begin(top="[oversight.stuck]\nsame_call_count = 5")
        self.agent.say(claude_init(), claude_tool("Agent", "toolu_a", 1, prompt="a"),
                       claude_tool("Agent", "toolu_b", 2, prompt="b"))
        self.s.wait_type("run.session", run=run)
        lines = []
        for i in range(10, 15):
            for parent, command in (("toolu_a", "make test"), ("toolu_b", f"cat {i}")):
                for line in (claude_tool("Bash", f"{parent}_{i}", i, command=command),
                             claude_tool_result(f"{parent}_{i}", "1 failed")):
                    lines.append({**line, "parent_tool_use_id": parent})
        self.agent.say_last(*lines)
        found = self.s.wait_type("detection.made", run=run)["data"]["detection"]
        self.assertEqual(found["evidence"], {"repeatedToolCall": "Bash: make test", "occurrences": 5})
        self.assertEqual(self.s.wait_type("intervention.applied", run=run)["data"]["level"], "redirect")
        self.ended(run)


class Asked(SpokenCase):
    def test_silence(self):
        """A silent agent is asked by a new run of its session; the same stall goes on, one nudge richer."""
        top = ('\n[supervisor]\nidle_after = "1s"\nmin_resend_interval = "100ms"\nbackoff.base = "100ms"\n'
               'backoff.max = "200ms"\n')
        run = self.begin(top=top)
        self.agent.say(claude_init())
        rung = self.s.wait_type("episode.rung", rung="nudge")
        self.assertNotIn("skipped", rung["data"])
        self.ended(run)
        self.agent.up()
        self.assertIn(f"--resume={SESSION}", self.agent.argv()[1])
        self.assertIn("Nothing has been heard of task T1", self.s.home("prompt.2"))
        self.agent.say(claude_init())
        self.agent.sh(WORK)
        self.agent.say(claude_result())
        self.agent.end()
        self.s.wait_goal(self.goal)
        self.assertEqual(self.of("node.failed"), [])


class Life(SpokenCase):
    def test_tool_is_life(self):
        """A tool that takes its time is no silence."""
        run = self.begin(top=IDLE)
        self.agent.say(claude_init(), claude_tool(command="make"))
        self.s.wait_type("assignment.activity", run=run, sign="tool")
        self.assertEqual(self.of("episode.opened"), [])

    def test_retries_are_no_life(self):
        """Line after line, and still silent: the stall says what it tries."""
        run = self.begin(top=IDLE)
        self.agent.say(claude_init(), claude_says("Let us see."))
        seq = self.s.seq()
        stalled, attempt = [], 0
        while not stalled:
            attempt += 1
            self.agent.say(claude_retry(attempt))
            stalled = [e for e in self.s.call("events.list", after=seq, limit=1000)["events"]
                       if e["type"] == "episode.opened"]
        self.assertGreater(attempt, 3)
        self.assertIn("HTTP 401", json.dumps(stalled[0]["data"]))
        self.assertIn("retrying for ", json.dumps(stalled[0]["data"]))
        now = self.agent.now(lambda n: n["state"] == "retrying")
        self.assertIn("HTTP 401", now["text"])
        self.assertEqual(now["trouble"], "login")
        self.assertIn("HTTP 401", self.s.cli("run", "show", run))

    def test_retries_before_the_first_line(self):
        """An agent that tells them among its errors, and nothing else: since when is known, also after a restart."""
        self.begin("gemini", top=IDLE)
        self.agent.err("Attempt 1 failed with status 500. Retrying with backoff... no luck\n")
        now = self.agent.now(lambda n: n["state"] == "retrying")
        self.assertLess(now["retrying_for_ms"], 60000)
        self.s.kill()
        self.s.up()
        now = self.agent.now(lambda n: n["state"] == "retrying")
        self.assertLess(now["retrying_for_ms"], 60000)
        stalled = self.s.wait_type("episode.opened", node="T1")
        self.assertIn("HTTP 500", json.dumps(stalled["data"]))

    def test_chatter_is_not_written(self):
        """Lines alone decide nothing: the log stays as it is."""
        self.begin()
        self.agent.say(claude_init(), claude_says("Well."))
        self.agent.now(lambda n: n.get("message") == "Well.")
        seq = self.s.seq()
        for n in range(50):
            self.agent.say(claude_tool(tool_id=f"toolu_{n}", number=n + 10, command=f"cat {n}"),
                           claude_tool_result(f"toolu_{n}"))
        self.agent.now(lambda n: n["tool_calls"] == 50)
        self.assertEqual(self.s.seq(), seq)


class Codex(SpokenCase):
    def test_totals(self):
        """Codex tells a thread's totals: each run is charged with its own share, at the configured prices."""
        prices = '[prices."gpt-*"]\ninput_usd_per_mtok = 2.0\noutput_usd_per_mtok = 10.0\n'
        first = self.begin("codex", top=FAST + prices, more='model = "gpt-x"\n')
        lines = codex(total=200)
        self.agent.say(*lines[:-1])
        self.s.wait_type("run.session", run=first)
        self.agent.say(lines[-1])
        self.agent.end(0)
        one = self.ended(first)
        self.assertEqual((one["verdict"], one["tokens_input"], one["tokens_output"]), ("ok", 200, 40))
        self.assertEqual((one["cost_microusd"], one["cost_source"]), (800, "prices"))
        # It does not name its model: what it was told to use is what it is.
        self.assertEqual(self.s.call("run.show", run=first)["model"], "gpt-x")
        second = self.agent.up()  # it changed nothing, so it is asked once more
        self.assertIn("resume", self.agent.argv()[1])
        self.agent.sh(WORK)
        more = codex(total=500)
        more[-1]["usage"]["output_tokens"] = 100
        self.agent.say(*more)
        self.agent.end(0)
        two = self.ended(second)
        self.assertEqual((two["tokens_input"], two["tokens_output"], two["cost_microusd"]), (300, 60, 1200))


if __name__ == "__main__":
    unittest.main()
