#!/usr/bin/env python3
"""`agent test` with the real agents."""

import concurrent.futures
import json
import os
import subprocess
import unittest

import real
from real import AGENTS, harness, turns

CHECKS = ["starts", "streams", "edits", "usage", "hooks", "resumes", "denies", "interrupts"]


class Trial(real.AgentCase):
    def trial(self, kind):
        """The verdicts on an agent that does what it is asked, as far as it is let."""
        site = harness.Site()
        self.addCleanup(site.close)
        env = {**self.environment(kind, self.home(site.root)), **kind.secret}
        names = ", ".join(json.dumps(name) for name in ("PATH", *env))
        site.configure(f'[agents.it]\nformat = "{kind.name}"\ncommand = ["{real.program(kind.name)}"]\n'
                       f'model = "{kind.model}"\nenv_pass = [{names}]\n[supervisor]\nstop_grace = "5s"\ninterrupt_grace = "2m"\n')
        denied = {**kind.shell("touch overseer-denied.txt"), "force": True}
        note = turns(
            [kind.shell("echo hello > overseer-test.txt"), {"text": "Made.", "usage": {"input": 70, "output": 7}}],
            [kind.shell("echo 4711 > overseer-resumed.txt"), {"text": "Written."}],
            [denied, {"text": "I could not."}],
            [kind.shell("tail -f /dev/null"), {"text": "Never said."}])
        done = subprocess.run([harness.CLI, "agent", "test", "it", "--json", "--note", note], cwd=site.repo,
                              env={**site.env, **env}, capture_output=True, text=True, timeout=8 * harness.PATIENCE,
                              check=False)
        self.assertEqual(done.stderr, "", done)
        found = json.loads(done.stdout)
        self.assertEqual(os.listdir(os.path.join(site.dir, "agent-test")), [])
        return done.returncode, {x["check"]: x for x in found["checks"]}

    def test_codex(self):
        real.need_namespaces([real.Agent(AGENTS["codex"])], {})
        self.check(["codex"])

    def test_others(self):
        self.check(["claude", "gemini", "opencode"] if harness.FULL else ["claude"])

    def check(self, names):
        with concurrent.futures.ThreadPoolExecutor(len(names)) as pool:
            found = dict(zip(names, pool.map(self.trial, (AGENTS[name] for name in names))))
        for name, (code, checks) in found.items():
            self.assertEqual(list(checks), CHECKS, (name, checks))
            for check, x in checks.items():
                without = check == "hooks" and name in ("gemini", "opencode")
                self.assertEqual(x["verdict"], "skipped" if without else "ok", (name, checks))
            self.assertEqual(code, 0, name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
