#!/usr/bin/env python3
"""The log of a run whose format is known: turns, calls of tools and what held it up, while it goes on and afterwards."""

import json
import os
import subprocess
import threading
import unittest

from harness import CLI, PATIENCE, SiteCase, plan, task
from spoken import SCRIPT, SESSION, Spoken, claude_init, claude_result, claude_retry, claude_says, claude_tool, config

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENV = 'env_pass = ["HOME", "PATH", "LC_ALL", "ASAN_OPTIONS", "UBSAN_OPTIONS"]\n'


def capture(name):
    with open(os.path.join(ROOT, "tests/captures", name), encoding="utf-8") as f:
        return f.read()


def failed(tool_id="toolu_1", text="Exit code 3\nno such file"):
    return {"type": "user", "message": {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": tool_id, "content": text, "is_error": True}]},
        "parent_tool_use_id": None, "session_id": SESSION}


class RunLog(SiteCase):
    def begin(self, kind="claude"):
        self.s = self.site("")
        os.chmod(self.s.write("../agent.sh", "#!/bin/sh\n" + SCRIPT), 0o755)
        self.s.configure("[planner]\nfallback = false\n" + config(self.s.root, kind, ENV))
        self.agent = Spoken(self.s)
        self.s.up()
        self.s.call("goal.create", title="Test", plan=plan(task("T1")))
        return self.agent.up()

    def end(self, run):
        self.agent.sh('echo x > "$OVERSEER_NODE.txt"\n')
        self.agent.end()
        self.s.wait_type("run.ended", run=run)

    def test_of_a_capture(self):
        """What the real one wrote, as people read it; --raw is what it wrote, --json the pages of it."""
        run = self.begin()
        text = capture("claude/2.1.325/01_tools.out")
        self.agent.say(text)
        self.end(run)
        self.assertEqual(self.s.cli("run", "log", run), """\
bcac89b7-f0ce-4aad-8947-bb6c67a83286  claude-opus-5-5

w

> Write  KIT/wm/a.txt
> Bash  cat a.txt; exit 3  (failed)
    Exit code 3

All done.

= 1 turn, 2 tool calls, 360 tokens (300 in, 60 out, 0 cached), $0.0024
""")
        self.assertEqual(self.s.cli("run", "log", run, "--raw"), text)
        page = json.loads(self.s.cli("run", "log", run, "--json"))
        self.assertEqual((page["format"], page["text"], page["ended"]), ("claude", text, True))
        # What it was started as counts, whatever its agent is by now.
        config = self.s.read(".overseer/config.toml")
        self.assertIn('format = "claude"', config)
        self.s.configure(config.replace('format = "claude"', 'format = "raw"'))
        self.s.call("config.reload")
        self.assertIn("> Bash  cat a.txt", self.s.cli("run", "log", run))

    def test_retries_in_the_errors(self):
        """Gemini says on its errors alone that it retries."""
        run = self.begin("gemini")
        self.agent.say(capture("gemini/0.61.0/21_err429.out"))
        self.agent.err(capture("gemini/0.61.0/21_err429.err"))
        log = self.s.cli("run", "log", run)
        self.assertIn("\n~ retrying (429, attempt 1): Attempt 1 failed with status 429.", log)
        self.assertNotIn("throwErrorIfNotOK", log)
        self.end(run)

    def test_follow(self):
        run = self.begin()
        with subprocess.Popen([CLI, "run", "log", run, "--follow"], cwd=self.s.repo, env=self.s.env,
                              stdout=subprocess.PIPE, text=True) as log:
            watch = threading.Timer(PATIENCE, log.kill)  # a line that does not come must not hold us up
            watch.start()
            self.addCleanup(watch.cancel)
            self.agent.say(claude_init())
            self.assertEqual(log.stdout.readline(), SESSION + "  claude-opus-5-5\n")
            self.agent.say(claude_says("I look \x1b[31maround."), claude_tool(command="cat x\nrm y"))
            lines = [log.stdout.readline() for _ in range(4)]
            self.assertEqual(lines[::2] + lines[3:], ["\n", "\n", "> Bash  cat x\n"])
            self.assertRegex(lines[1], r"^I look [^\x1b]+around\.\n$")
            self.agent.say(failed(), claude_retry(3))
            self.assertEqual([log.stdout.readline() for _ in range(3)],
                             ["> Bash  cat x  (failed)\n", "    Exit code 3\n",
                              "~ retrying (401, attempt 3): authentication_failed\n"])
            self.agent.say(claude_result("Not logged in", is_error=True, api_error_status=401))
            self.assertEqual(log.stdout.readline(), "! login  Not logged in\n")
            self.agent.end(1)
            self.assertEqual(log.stdout.readline(), "\n")
            self.assertIn("= 1 turn, 1 tool call, 372 tokens", log.stdout.readline())
            self.assertEqual(log.stdout.read(), "")
        self.assertEqual(log.returncode, 0)


if __name__ == "__main__":
    unittest.main()
