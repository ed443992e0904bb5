#!/usr/bin/env python3
"""The real Claude Code and the real Codex, interactive, in terminals of tmux: each does a task."""

import json
import os
import subprocess
import unittest
from pathlib import Path

import real


def trusted(home, repo, key, trust=True):
    """What Claude Code asks before it begins, answered once for the repository, as people do."""
    Path(home, ".claude.json").write_text(json.dumps({
        "hasCompletedOnboarding": True, "theme": "dark", "projects": {repo: {"hasTrustDialogAccepted": trust}},
        "customApiKeyResponses": {"approved": [key[-20:]], "rejected": []}}), encoding="utf-8")


class Tmux(real.RealCase):
    def terminal_site(self, kind, trust=True, more=real.STUCK, **options):
        site = self.site(kind, start=False, runtime="tmux", more=more, **options)
        site.env["TMUX_TMPDIR"] = site.root
        trusted(self.home(site.root, kind.name), site.repo, "not-a-real-key", trust)
        site.up()
        return site

    def accepted(self, kind):
        """A task, typed and done; what a failed check says is typed into the same conversation, what oversight says of
        the second time, too, and done."""
        site = self.terminal_site(kind)
        goal = self.goal(site, self.task("T1", [kind.shell("echo x > T1.txt"), {"text": "Did it."}],
                                         [kind.shell("echo x > T2.txt"), {"text": "Did more."}],
                                         [kind.shell("echo x > fixed.txt"), {"text": "Now it is."}]))
        site.wait_goal(goal)
        self.assertEqual(site.git("show", "main:T1.txt"), "x\n")
        first, *others = runs = [self.run_of(site, "T1", n) for n in range(3)]
        for run in runs:
            self.assertEqual((run["verdict"], run["trouble"], run["tool_calls"], run["turns"]), ("ok", "none", 1, 1), run)
            self.assertEqual((run["tokens_input"], run["tokens_output"]), (200, 40), run)
        self.assertTrue(first["session"], first)
        self.assertEqual([(r["session"], r["resumed"]) for r in others], [(first["session"], True)] * 2)
        self.assertIn("not yet", [r for r in self.model.requests if r["turn"] == 1 and not r["side"]][0]["prompts"][-1])
        self.assertEqual(self.redirected("T1"), [2])
        self.assertEqual(site.live_pids(), [])
        self.assertIn("Did it.", self.cli(site, "run", "log", first["id"]))

    def waits_in_vain(self, kind):
        """Its model never answers. Its screen goes on drawing how long that has been, which is no sign of life."""
        site = self.terminal_site(kind, more="")
        goal = self.goal(site, self.task("T1", [kind.shell("echo x > T0.txt"), {"hang": True}],
                                         [kind.shell("echo x > T1.txt"), {"text": "Did it."}]))
        self.model.wait(lambda r: r["step"] == 1 and not r["side"])
        site.wait_type("run.session")
        self.hung(site)
        site.wait_goal(goal)
        self.assertEqual(site.git("show", "main:T1.txt"), "x\n")

    def test_claude_waits_in_vain(self):
        self.waits_in_vain(real.Claude)

    def test_codex_waits_in_vain(self):
        self.waits_in_vain(real.Codex)

    def test_claude_asks_for_a_permission(self):
        """A prompt is open: a person is told what it is about, whatever idle_after is; the run waits, and goes on when it is answered."""
        site = self.terminal_site(real.Claude, more="", permission_mode="default", config=real.QUICK + 'ask_after = "1s"\n')
        goal = self.goal(site, self.task("T1", [real.Claude.shell("echo x > T1.txt"), {"text": "Did it."}]))
        asked = site.wait_type("escalation.opened")["data"]
        self.assertEqual(asked["kind"], "permission", asked)
        self.assertRegex(asked["question"], 'it asks for "permission: Bash: [^"]*echo x > T1.txt[^"]*"')
        self.assertIn("Next: overseer worker attach pool-1", asked["question"])
        self.assertIn("waits for a person", self.cli(site, "inbox"))
        self.impatient(site, idle_after="2s", min_resend_interval="100ms", **{"backoff.base": "100ms"})
        worker = site.call("worker.show", worker="pool-1")
        self.assertEqual(worker["now"]["state"], "waiting", worker)
        *tmux, _, _, target, session = worker["place"]["peek"]
        subprocess.run([*tmux, "send-keys", target, session, "Enter"], env=site.env, check=True)
        self.assertIn("goes on", site.wait_type("escalation.closed")["data"]["answer"])
        self.impatient(site, idle_after="5m")
        site.wait_goal(goal)
        self.assertEqual(self.kinds_of(site, "episode.opened"), [])
        self.assertEqual(len(site.runs()), 1)

    def test_claude(self):
        self.accepted(real.Claude)

    def test_a_repository_that_claude_was_not_told_to_trust(self):
        site = self.terminal_site(real.Claude, trust=False, more='[patrol]\nconfirm = "10s"\n')
        self.asks_about_its_folder(site)

    def starts_with_a_question(self, site, goal, shown, words, *keys):
        """Nobody answers before it begins: an inbox entry says that it waits, and closes when a person has answered."""
        asked = site.wait_type("escalation.opened")["data"]
        self.assertEqual(asked["kind"], "permission", asked)
        self.assertIn(f'it asks for "permission: {words}"', asked["question"])
        self.assertIn("Next: overseer worker attach pool-1", asked["question"])
        self.assertIn("waits for a person", self.cli(site, "inbox"))
        self.assertIn(shown, self.cli(site, "worker", "peek", "pool-1"))
        self.assertEqual([r for r in self.model.requests if not r["side"]], [])
        *tmux, _, _, target, session = site.call("worker.show", worker="pool-1")["place"]["peek"]
        for key in keys:
            subprocess.run([*tmux, "send-keys", target, session, key], env=site.env, check=True)
        self.assertIn("goes on", site.wait_type("escalation.closed")["data"]["answer"])
        site.wait_goal(goal)
        self.assertEqual((len(site.runs()), self.kinds_of(site, "episode.opened")), (1, []))

    def test_claude_asks_whether_its_folder_is_trusted(self):
        site = self.terminal_site(real.Claude, trust=False, more='[patrol]\nconfirm = "10s"\n',
                                  config=real.QUICK + 'ask_after = "1s"\n')
        goal = self.goal(site, self.task("T1", [real.Claude.shell("echo x > T1.txt"), {"text": "Did it."}]))
        self.starts_with_a_question(site, goal, "Yes, I trust this folder", "its start: whether its folder is trusted", "Down", "Enter")

    def test_a_codex_that_is_not_logged_in(self):
        """It begins with a choice of logins: nothing is chosen for the user, who is told. Logged in, it works."""
        class LoggedOut(real.Codex):
            secret = {}

            @staticmethod
            def prepare(home, url):
                os.makedirs(f"{home}/codex", exist_ok=True)
                Path(f"{home}/codex/config.toml").write_text(
                    f'openai_base_url = "{url}/v1"\ncheck_for_update_on_startup = false\n[analytics]\nenabled = false\n',
                    encoding="utf-8")

        site = self.terminal_site(LoggedOut, more='[patrol]\nconfirm = "4s"\n', config=real.QUICK + 'ask_after = "1s"\n')
        goal = self.goal(site, self.task("T1", [real.Codex.shell("echo x > T1.txt"), {"text": "Did it."}]))
        self.starts_with_a_question(site, goal, "> 1. Sign in with ChatGPT", "its start", "Down", "Down", "Enter", *"sk-not-a-real-key", "Enter")

    def test_codex(self):
        self.accepted(real.Codex)

    def test_sub_agents_of_codex_are_counted(self):
        site = self.terminal_site(real.Codex, more="")
        much = {**real.Codex.shell("echo sub"), "usage": {"input": 20000, "output": 1000}}
        sub = real.script(much, much, {"gate": "never", "text": "Never said."})
        goal = self.goal(site, self.task("T1", [{"tool": "spawn_agent", "input": {"message": sub}},
                                                {"gate": "parent", **real.Codex.shell("echo x > T1.txt")}, {"text": "Did it."}]))
        self.model.wait(lambda r: r["step"] == 2)
        self.model.open("parent")
        site.wait_goal(goal)
        run = self.run_of(site, "T1", 0)
        self.assertEqual((run["tokens_input"], run["tokens_output"]), (40300, 2060), run)


if __name__ == "__main__":
    unittest.main(verbosity=2)
