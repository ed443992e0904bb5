#!/usr/bin/env python3
"""Hooks and tool scopes through a real daemon: what is installed holds in every turn of a session."""

import json
import os
import unittest

from harness import FAST, RpcError, SiteCase, plan, task
from spoken import SCRIPT, SESSION, Spoken, claude_init, claude_result, claude_says, codex, config

WORK = 'echo x > "$OVERSEER_NODE.txt"\n'


class ScopeCase(SiteCase):
    def begin(self, *tasks, kind="claude", more=""):
        self.s = self.site()
        os.chmod(self.s.write("../agent.sh", "#!/bin/sh\n" + SCRIPT), 0o755)
        self.kind = kind
        self.configure(more)
        self.agent = Spoken(self.s)
        self.s.up()
        self.goal = self.s.call("goal.create", title="Test", plan=plan(*tasks))["goal"]

    def configure(self, more):
        env = 'env_pass = ["HOME", "PATH", "LC_ALL", "ASAN_OPTIONS", "UBSAN_OPTIONS"]\n'
        self.s.configure(FAST + "\n[planner]\nfallback = false\n" + config(self.s.root, self.kind, env + more))

    def hook(self, event, **call):
        """Calls the hook that is installed for this run as the agent would; its answer, or None."""
        with open(os.path.join(self.s.dir, "runs", self.agent.run, "claude-settings.json"), encoding="utf-8") as f:
            command = json.load(f)["hooks"][event][0]["hooks"][0]["command"]
        with open(os.path.join(self.s.root, "call"), "w", encoding="utf-8") as f:
            json.dump({"hook_event_name": event, "session_id": SESSION, **call}, f)
        self.agent.sh(f'{command} < "$HOME/call" > "$HOME/answer" 2> "$HOME/hook.err" || echo $? >> "$HOME/hook.err"\n')
        self.assertEqual(self.s.home("hook.err"), "")
        answer = self.s.home("answer")
        return json.loads(answer) if answer else None

    def judged(self, *tools):
        """Which of these are denied by the hook."""
        return [tool for tool in tools if self.hook("PreToolUse", tool_name=tool, tool_use_id="t") is not None]

    def offered(self, tool):
        """By the agent's own options."""
        words = self.agent.argv()[-1].split()
        named = [w.split("=", 1)[1].split(",") for w in words if w.startswith("--disallowedTools=")]
        return not any(tool in names for names in named)

    def fail_turn(self):
        self.agent.say(claude_init(), claude_says("Hm."))
        self.s.wait_type("run.session", run=self.agent.run)
        self.agent.say(claude_result("Broken", is_error=True, subtype="error_during_execution"))
        self.agent.end(1)

    def finish(self):
        self.agent.sh(WORK)
        self.agent.say(claude_init(), claude_result())
        self.agent.end()
        self.s.wait_goal(self.goal)

    def tools_of(self, run):
        return self.s.call("run.show", run=run)["tools"]


class Scope(ScopeCase):
    def test_every_turn(self):
        """Turn 1, turn 2 of the same session, and turn 3 after the daemon was killed: the same scope."""
        self.begin(task("T1", toolsDeny=["Bash"]), more='tools_deny = ["web"]\n')
        first = self.agent.up()
        scope = {"deny": ["web", "Bash"]}
        for turn in range(3):
            self.assertEqual(self.judged("Bash", "WebFetch", "Read", "Edit"), ["Bash", "WebFetch"], turn)
            self.assertEqual([self.offered(t) for t in ("Bash", "WebFetch", "Read")], [False, False, True], turn)
            self.assertEqual(self.tools_of(self.agent.run), scope, turn)
            if turn == 2:
                break
            if turn == 1:
                self.s.kill()
                self.s.up()
            self.fail_turn()
            self.agent.up()
            self.assertIn(f"--resume={SESSION}", self.agent.argv()[-1])
        self.assertNotEqual(first, self.agent.run)
        self.assertIn("all but not web, Bash", self.s.cli("work", "show", "T1"))
        self.finish()

    def test_a_person_narrows(self):
        self.begin(task("T1"), more='tools = ["read", "edit", "shell"]\n')
        self.agent.up()
        self.assertEqual(self.judged("Bash", "WebFetch", "Write"), ["WebFetch"])
        said = self.s.cli("work", "scope", "T1", "--allow", "read,edit", "--deny", "Write", "--reason", "look first")
        self.assertIn("T1 may use: read, edit but not Write.", said)
        # The process that runs was started with more; its hooks know better once the daemon has told them,
        # which it does after it answered, and before it answers anything else.
        self.s.call("status.get")
        self.assertEqual(self.judged("Bash", "WebFetch", "Write", "Edit"), ["Bash", "WebFetch", "Write"])
        self.assertIn("read, edit but not Write", self.s.cli("work", "show", "T1"))
        with self.assertRaises(RpcError) as refused:
            self.s.call("work.scope", node="T1", allow=["shell"], reason="no, more")
        self.assertEqual(refused.exception.code, "E_UNAUTHORIZED")
        self.assertIn("never widened", refused.exception.message)
        self.fail_turn()
        self.agent.up()
        self.assertEqual(self.judged("Bash", "WebFetch", "Write", "Edit", "Read"), ["Bash", "WebFetch", "Write"])
        self.assertIn("took tools away from it: look first", self.s.cli("explain", "T1"))
        self.finish()

    def test_a_new_configuration_only_takes(self):
        self.begin(task("T1"), task("T2", ["T1"]), more='tools = ["read", "edit"]\n')
        self.agent.up()
        self.configure("")
        self.s.call("config.reload")
        self.assertEqual(self.judged("Bash", "Read"), ["Bash"])
        self.fail_turn()
        self.agent.up()
        self.assertEqual(self.judged("Bash", "Read"), ["Bash"])
        self.configure('tools_deny = ["Edit"]\n')
        self.s.call("config.reload")
        self.assertEqual(self.judged("Bash", "Read", "Edit"), ["Bash", "Edit"])
        self.fail_turn()
        self.agent.up()
        self.assertEqual(self.judged("Bash", "Read", "Edit"), ["Bash", "Edit"])
        self.configure("")
        self.s.call("config.reload")
        self.assertEqual(self.judged("Bash", "Read", "Edit"), ["Bash", "Edit"])
        self.agent.sh(WORK)
        self.agent.say(claude_init(), claude_result())
        self.agent.end()
        # The next session begins with what is configured now.
        self.agent.up()
        self.assertEqual(self.judged("Bash", "Read", "Edit"), [])
        self.finish()

    def test_a_plan_cannot_widen(self):
        self.begin(task("T1", toolsAllow=["read", "shell"]), more='tools = ["read", "edit"]\n')
        blocked = self.s.wait_type("node.status", node="T1", to="blocked")["data"]
        self.assertIn('"shell" is not among the tools that may be used (read, edit)', blocked["reason"])
        self.assertEqual(self.s.runs(), [])
        self.assertIn("shell", self.s.cli("inbox"))

    def test_plans_are_checked(self):
        self.begin(task("T1"))
        for wrong, said in (([], "is empty"), (["a b"], "entry 1"), ("Bash", "expected a list")):
            with self.assertRaises(RpcError) as refused:
                self.s.call("goal.create", title="x", plan=plan(task("T1", toolsAllow=wrong)))
            self.assertEqual(refused.exception.code, "E_INVALID_PLAN")
            self.assertIn("toolsAllow", refused.exception.message)
            self.assertIn(said, refused.exception.message)
        self.agent.up()
        self.agent.end(0)


class Hooks(ScopeCase):
    def test_stop_hands_over_what_a_person_said(self):
        """Laid there by the daemon, taken by the hook, told to the log; once, also with the daemon away."""
        self.begin(task("T1"))
        self.agent.up()
        self.agent.say(claude_init())
        self.s.wait_type("run.session", run=self.agent.run)
        seq = self.s.seq()
        self.s.cli("work", "nudge", "T1", "--message", "Mind the tests.")
        hooks = os.path.join(self.s.dir, "runs", self.agent.run, "hooks")
        self.s.wait_type("dispatch.result", result="accepted", after=seq)
        self.s.down()
        answer = self.hook("Stop", stop_hook_active=False)
        self.assertEqual(answer["decision"], "block")
        self.assertIn("Mind the tests.", answer["reason"])
        self.assertIsNone(self.hook("Stop", stop_hook_active=True))
        taken = [name for name in os.listdir(hooks) if name.startswith("next.")]
        self.assertEqual(len(taken), 1)
        self.s.up()
        self.s.wait_type("dispatch.result", dispatch=taken[0].removeprefix("next."), result="ok")
        self.finish()
        self.assertEqual(len(self.s.runs()), 1)

    def test_codex_names(self):
        """Codex tells its hooks "Bash" where its model says exec_command; both are meant."""
        self.begin(task("T1"), kind="codex", more='tools_deny = ["exec_command"]\n')
        self.agent.up()
        with open(os.path.join(self.s.dir, "runs", self.agent.run, "hooks/scope.json"), encoding="utf-8") as f:
            self.assertEqual(json.load(f), {"format": "codex", "deny": ["exec_command"]})
        self.agent.say(*codex())
        self.agent.sh(WORK)
        self.agent.end()
        self.s.wait_goal(self.goal)


if __name__ == "__main__":
    unittest.main()
