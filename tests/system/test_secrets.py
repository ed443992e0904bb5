#!/usr/bin/env python3
"""Secrets are never stored, whichever way they come in: not in the store, the logs or any answer."""

import json
import os
import subprocess
import unittest

from harness import CLI, FAST, PATIENCE, SiteCase, plan, task

BODY = "Zx9a1b2c3d4e5f6g7h8i9j0Q"
# Made up, and put together here so that nobody takes this file for a leak.
KEYS = {
    "github token": "gh" + "p_" + BODY + "0123456789ab",
    "anthropic key": "sk-" + "ant-api03-" + BODY + "-" + BODY,
    "aws access key": "AK" + "IAIOSFODNN7EXAMPLE",
    "private key": "-----" + "BEGIN PRIVATE KEY-----\n" + BODY * 2 + "\n-----" + "END PRIVATE KEY-----",
}
COMMIT = 'echo x > "$OVERSEER_NODE.txt"; git add -A; git commit -qm "work"\n'


class Secrets(SiteCase):
    def cli(self, site, *args):
        done = subprocess.run([CLI, *args], cwd=site.repo, env=site.env, capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def clean(self, text, where):
        """Nothing of a key in it: not even a part that would be of use."""
        if isinstance(text, str):
            text = text.encode()
        for kind, key in KEYS.items():
            for part in (key, key[:16], key[-16:]) if kind != "private key" else (BODY * 2,):
                self.assertNotIn(part.encode(), text, f"{kind} in {where}")

    def files(self, site):
        for folder, _, names in os.walk(site.dir):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.isfile(path):
                    with open(path, "rb") as f:
                        yield path, f.read()

    def test_nothing_keeps_a_secret(self):
        # The check prints so much that its last 3000 bytes begin in the middle of a key.
        padding = 3000 - 20 - len(KEYS["anthropic key"])
        # Failing alike again and again is what is wanted here.
        site = self.site('oversight.levels.stuck_critical = "log"\n' + FAST, COMMIT)
        for name, key in KEYS.items():
            site.write(f"../{name.split()[0]}", key)
        site.up()
        goal = site.call(
            "goal.create", title="Rotate " + KEYS["github token"],
            problem_statement="The old one was " + KEYS["anthropic key"] + ".",
            success_criteria=["no " + KEYS["aws access key"]], constraints=[KEYS["private key"]],
            plan=plan(
                task("T1", objective="Use " + KEYS["github token"], checkCommand=(
                    'cat "$HOME/private"; echo; cat "$HOME/github"; '
                    f'printf %{padding}s; cat "$HOME/anthropic"; exit 1')),
                task("T2", ["T1"])))["goal"]
        blocked = site.wait_type("node.status", node="T1", to="blocked")
        verified = site.wait_type("run.verified", node="T1", verdict="failed")
        self.assertIn("[redacted: anthropic key]", verified["data"]["detail"])
        self.cli(site, "work", "block", "T2", "--reason", "needs " + KEYS["github token"],
                 "--unblock-when", KEYS["aws access key"] + " works")
        node = site.node("T2")
        self.assertEqual(node["status_reason"], "needs [redacted: github token]")
        self.assertEqual(node["unblock_when"], "[redacted: aws access key] works")

        shown = site.call("goal.show", goal=goal)
        self.assertEqual(shown["title"], "Rotate [redacted: github token]")
        self.assertIn("[redacted: anthropic key]", shown["problem_statement"])
        self.assertEqual(shown["constraints"], ["[redacted: private key]"])
        self.clean(json.dumps(shown), "goal.show")
        self.clean(json.dumps(site.events()), "events.list")
        self.clean(json.dumps(blocked), "the event of the block")
        for args in (["goal", "show", goal], ["goal", "show", goal, "--json"], ["events"], ["work", "show", "T1"],
                     ["explain", "T1"], ["status"], ["plan", "show", goal, "--json"]):
            self.clean(self.cli(site, *args), " ".join(args))
        self.assertEqual(site.down(), 0)
        self.clean(site.daemon_log(), "the daemon's log")
        seen = set()
        for path, data in self.files(site):
            seen.add(os.path.basename(path))
            self.clean(data, path)
        self.assertIn("store.db", seen)

    def test_ids_and_commits_stay(self):
        """What the work itself depends on is never altered."""
        site = self.site(FAST, COMMIT)
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("sk-learn.2"), task("token_1")))["goal"]
        site.wait_goal(goal)
        commits = {e["data"]["commit"] for e in site.events() if e["type"] == "node.accepted"}
        self.assertEqual(len(commits), 2)
        for commit in commits:
            self.assertEqual(site.git("cat-file", "-t", commit).strip(), "commit")
        self.assertEqual(site.down(), 0)


if __name__ == "__main__":
    unittest.main()
