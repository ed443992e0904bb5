#!/usr/bin/env python3
"""What the table of docs/agents.md says of troubles that no other test shows: that they are heard, and what is done."""

import time
import unittest

import common
import real
from test_tmux import trusted

# As each model's server says that a conversation is too long.
TOO_LONG = {"claude": "prompt is too long: 205000 tokens > 200000 maximum",
            "codex": "Your input exceeds the context window of this model. Please adjust your input and try again.",
            "gemini": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            "opencode": "This model's maximum context length is 100000 tokens. However, your messages resulted in 120000 tokens."}
SAME_CALLS = 24  # more than oversight.stuck.same_call_count


class Heard(real.RealCase):
    kind = None
    work, impatient, endless = common.Common.work, common.Common.impatient, common.Common.endless

    def place(self, **options):
        """A site whose agent's model fails at once where it fails."""
        return self.site(real.Agent(self.kind, env=self.kind.no_retries), **options)

    def hang(self):
        """The model never answers: silence, and a stall."""
        site = self.place()
        self.goal(site, self.task("T1", [{"hang": True}], self.work("T1")))
        self.model.wait(lambda r: not r["side"])
        self.impatient(site, idle_after="2s", min_resend_interval="100ms", **{"backoff.base": "100ms"})
        site.wait_type("episode.opened")

    def loop(self):
        """The same call with the same answer again and again: the run is interrupted for the order to change its approach."""
        site = self.place()
        self.goal(site, self.task("T1", [self.kind.shell("echo same")] * SAME_CALLS + [{"hang": True}], self.work("T1")))
        found = site.wait_type("detection.made")["data"]["detection"]
        self.assertEqual(found["type"], "stuck", found)
        self.assertIn("the run is interrupted", site.wait_type("intervention.applied")["data"]["did"])

    def overflow(self):
        """The conversation is too long: it begins anew."""
        site = self.place()
        work, said = self.work("T1")
        too_long = {"status": 400, "message": TOO_LONG[self.kind.name], "times": 1}
        goal = self.goal(site, self.task("T1", [{"fail": too_long, **work}, said]))
        ended = site.wait_type("run.ended")["data"]
        self.assertEqual((ended["verdict"], ended["trouble"]), ("failed", "context"), ended)
        site.wait_goal(goal)
        first, last = self.run_of(site, "T1", 0), self.run_of(site, "T1")
        self.assertEqual((last["resumed"], last["verdict"], last["session"] != first["session"]), (False, "ok", True))


class Claude(Heard):
    kind = real.Claude

    def test_hang(self):
        self.hang()

    def test_loop(self):
        self.loop()

    def test_overflow(self):
        self.overflow()


class Codex(Heard):
    kind = real.Codex

    def test_hang(self):
        self.hang()

    def test_loop(self):
        self.loop()

    def test_overflow(self):
        self.overflow()


class Gemini(Heard):
    kind = real.Gemini

    def test_hang(self):
        self.hang()

    def test_overflow(self):
        self.overflow()


class Opencode(Heard):
    kind = real.Opencode

    def test_hang(self):
        self.hang()

    def test_loop(self):
        self.loop()

    def test_overflow(self):
        """It sums the conversation up by itself; where it ends there without a change, another run follows."""
        site = self.place()
        work, said = self.work("T1")
        too_long = {"status": 400, "message": TOO_LONG["opencode"], "times": 1}
        goal = self.goal(site, self.task("T1", [{"fail": too_long, **work}, said]))
        site.wait_goal(goal)
        self.assertEqual({(r["verdict"], r["trouble"]) for r in site.runs()}, {("ok", "none")})


class Terminal(Heard):
    def place(self, env=None, **options):
        site = self.site(real.Agent(self.kind, env=env or self.kind.no_retries), start=False, runtime="tmux", **options)
        site.env["TMUX_TMPDIR"] = site.root
        trusted(self.home(site.root, self.kind.name), site.repo, "not-a-real-key")
        site.up()
        return site

    def refused(self, status, trouble):
        """The model's server refuses: its lane waits."""
        site = self.place()
        self.goal(site, self.task("T1", [{"fail": {"status": status, "message": "no luck"}}], self.work("T1")))
        self.assertEqual(site.wait_type("agent.limited")["data"]["kind"], trouble)

    def hung_tool(self):
        site = self.place()
        self.goal(site, self.task("T1", [self.endless(site)]))
        self.gate.wait()
        self.impatient(site, idle_after="1s", mute_after="2s")
        asked = site.wait_type("escalation.opened")["data"]
        self.assertEqual(asked["kind"], "mute", asked)
        self.assertIn(f"tool {self.kind.tool_shown}", asked["question"])


    def sub_agent_loop(self, sub_agent):
        """sub_agent: the step that starts one with these words."""
        site = self.place(more="[oversight]\nstuck.same_call_count = 6\n")
        sub = real.script(*[self.kind.shell("echo same")] * 200)
        self.goal(site, self.task("T1", [sub_agent(sub), {"gate": "never", "text": "Never said."}], self.work("T1")))
        found = site.wait_type("detection.made")["data"]["detection"]
        self.assertIn("echo same", found["evidence"]["repeatedToolCall"], found)
        self.assertIn("the run is interrupted", site.wait_type("intervention.applied")["data"]["did"])


class ClaudeTmux(Terminal):
    kind = real.Claude

    def test_hung_tool(self):
        self.hung_tool()

    def test_loop(self):
        self.loop()

    def test_limit(self):
        self.refused(429, "rate_limited")

    def test_login(self):
        self.refused(401, "login")

    def test_overflow(self):
        self.overflow()

    def test_endless_retries_are_a_stall(self):
        """From its first request on, when no hook tells of anything; its session file notes each that it makes again."""
        site = self.place(env={"CLAUDE_CODE_MAX_RETRIES": "10"})
        goal = self.goal(site, self.task("T1", [{"fail": {"status": 529, "message": "no luck"}}], self.work("T1")))
        self.model.wait(lambda r: r["status"] != 200, count=3)
        site.wait_type("run.session")
        self.impatient(site, idle_after="2s", min_resend_interval="100ms", **{"backoff.base": "100ms"})
        stall = site.wait_type("episode.opened")["data"]
        self.assertRegex(" ".join(stall["evidence"]), "retrying for ", stall)
        site.wait_type("run.created", attempt=2)
        self.impatient(site, idle_after="5m")
        site.wait_goal(goal)

    def test_a_loop_of_a_sub_agent(self):
        self.sub_agent_loop(lambda sub: {"tool": "Agent", "input": {
            "description": "sub", "prompt": sub, "subagent_type": "general-purpose"}})


class CodexTmux(Terminal):
    """What no hook tells stands in the file that it keeps of its session."""

    kind = real.Codex

    def test_hung_tool(self):
        self.hung_tool()

    def test_loop(self):
        self.loop()

    def test_a_loop_of_a_sub_agent(self):
        self.sub_agent_loop(lambda sub: {"tool": "spawn_agent", "input": {"message": sub}})

    def test_a_patch_by_its_shell_is_no_tool_in_flight(self):
        """It takes that call for itself, and calls a hook for its beginning alone. What comes then is a hang, not a tool."""
        site = self.place()
        goal = self.goal(site, self.task("T1", [self.kind.edit("T0.txt", "x\n"), {"hang": True}], self.work("T1")))
        self.model.wait(lambda r: r["step"] == 1 and not r["side"])
        site.wait_type("run.session")
        self.hung(site)
        site.wait_goal(goal)
        self.assertEqual(site.git("show", "main:T0.txt"), "x\n")

    def test_a_patch_of_a_sub_agent_is_no_tool_in_flight(self):
        site = self.place()
        sub = real.script(self.kind.edit("T0.txt", "x\n"), {"hang": True})
        self.goal(site, self.task("T1", [{"tool": "spawn_agent", "input": {"message": sub}}, {"hang": True}], self.work("T1")))
        self.model.wait(lambda r: r["step"] == 1 and not r["side"], count=2)
        site.wait_type("run.session")
        self.hung(site)

    def test_limit(self):
        """With the moment at which it ends, to the minute."""
        site = self.place()
        resets_at = int(time.time()) + 3 * 3600
        self.goal(site, self.task("T1", [{"fail": {"status": 429, "message": "The usage limit has been reached", "error": {
            "type": "usage_limit_reached", "plan_type": "plus", "resets_at": resets_at}}}], self.work("T1")))
        limited = site.wait_type("agent.limited")["data"]
        self.assertEqual((limited["kind"], limited["resets_at_ms"]), ("rate_limited", resets_at // 60 * 60 * 1000), limited)

    def test_login(self):
        self.refused(401, "login")

    def test_overflow(self):
        self.overflow()

    def test_a_failure_of_a_resumed_session(self):
        """It was refused, its session is resumed by another process, and refused again: both are heard."""
        site = self.place(config=real.QUICK + 'backoff.base = "100ms"\n')
        work, said = self.work("T1")
        goal = self.goal(site, self.task("T1", [{"fail": {"status": 429, "message": "no luck"}}],
                                         [{"fail": {"status": 429, "message": "no luck"}}], [work, said]))
        site.wait_goal(goal)
        self.assertEqual([(r["trouble"], r["verdict"], r["resumed"]) for r in site.runs()],
                         [("rate_limited", "failed", False), ("rate_limited", "failed", True), ("none", "ok", True)])

    def test_a_failure_while_no_daemon_was_there(self):
        """It waits at its prompt when the next daemon comes, which reads the files from their beginning."""
        site = self.place()
        gate = site.gate("tool")
        self.goal(site, self.task("T1", [self.kind.edit("T0.txt", "x\n"),
                                         self.kind.shell(f"echo up > {site.root}/tool.here; head -n 1 {site.root}/tool.go"),
                                         {"fail": {"status": 429, "message": "no luck"}}], self.work("T1")))
        gate.wait()
        site.kill()
        gate.go()
        self.model.wait(lambda r: r["status"] == 429)
        site.up()
        self.assertEqual(site.wait_type("agent.limited")["data"]["kind"], "rate_limited")
        run = self.run_of(site, "T1", 0)
        self.assertEqual((run["verdict"], run["trouble"], run["tool_calls"], run["turns"]), ("failed", "rate_limited", 2, 1), run)

    def test_its_sandbox_cannot_start(self):
        site = self.place(command=[str(real.TOP / "tools/without-userns"), real.program("codex")], recovery="escalate")
        self.goal(site, self.task("T1", [self.kind.shell("echo x > T1.txt"), {"text": "Done, as far as I know."}]))
        asked = site.wait_type("escalation.opened")["data"]["question"]
        for words in ("own sandbox cannot start", 'permission_mode = "danger-full-access"', "bwrap: "):
            self.assertIn(words, asked)
        run = self.run_of(site, "T1")
        self.assertEqual((run["verdict"], run["trouble"], len(site.runs())), ("failed", "sandbox", 1), run)


if __name__ == "__main__":
    unittest.main(verbosity=2)
