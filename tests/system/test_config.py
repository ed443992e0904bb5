#!/usr/bin/env python3
"""config.toml: read at the start, shown, and reloaded by signal or operation; a bad one changes nothing."""

import os
import signal
import unittest

from harness import FAST, RpcError, SiteCase, plan, task

GATED = r"""
echo "$OVERSEER_NODE" > "$HOME/g.here"
read x < "$HOME/g.go"
echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "work of $OVERSEER_NODE"
"""
BAD = """
colour = "red"
[workers]
max = 0
mx = 3
[retry]
delays = ["soon"]
[agents.a]
command = 5
"""


class Config(SiteCase):
    def wait_log(self, site, words):
        """Until the daemon's log has the words: each answer to a call shows that it went on."""
        while words not in site.daemon_log():
            site.call("status.get")

    def workers_change(self, reload):
        """Two workers become three while the first two work: the third task starts at once."""
        site = self.site(FAST, GATED)
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1"), task("T2"), task("T3")))["goal"]
        self.assertEqual({gate.wait(), gate.wait()}, {"T1", "T2"})
        self.assertEqual(site.call("status.get")["workers_max"], 2)
        self.assertEqual(site.call("tick.now", dry_run=True)["decisions"], [])
        site.configure(FAST + "[workers]\nmax = 3\n" + site.agent_config())
        reload(site)
        self.assertEqual(gate.wait(), "T3")
        self.assertEqual(site.call("status.get")["workers_max"], 3)
        self.assertEqual(site.call("config.show")["options"]["workers.max"]["value"], 3)
        gate.go(3)
        site.wait_goal(goal)

    def test_reload_by_operation(self):
        self.workers_change(lambda site: site.call("config.reload"))

    def test_reload_by_signal(self):
        self.workers_change(lambda site: os.kill(site.daemon.pid, signal.SIGHUP))

    def test_bad_file_is_refused_and_the_old_one_stays(self):
        site = self.site(FAST + "[workers]\nmax = 7\n", "exit 0\n")
        site.up()
        before, seq = site.call("config.show"), site.seq()
        for bad in (BAD, "workers = ", "\0", "[workers]\nmax = 99999\n", "x" * 100, '[agents.a]\ncommand = [""]\n'):
            site.configure(bad)
            with self.assertRaises(RpcError) as e:
                site.call("config.reload")
            self.assertEqual(e.exception.code, "E_INVALID", bad)
            self.assertIn("config.toml", e.exception.message)
            self.assertEqual(e.exception.next, "overseer config check")
            self.assertEqual(site.call("config.show"), before)
        with open(os.path.join(site.dir, "config.toml"), "wb") as f:
            f.write(b'defaults.agent = "\xff\xfe"\n')
        with self.assertRaises(RpcError):
            site.call("config.reload")
        with open(os.path.join(site.dir, "config.toml"), "wb") as f:
            f.write(b"#" * (2 * 1024 * 1024))
        with self.assertRaises(RpcError):
            site.call("config.reload")
        os.kill(site.daemon.pid, signal.SIGHUP)
        self.wait_log(site, "was not reloaded")
        self.assertEqual(site.call("config.show"), before)
        self.assertEqual(site.seq(), seq)
        # A good one afterwards is taken.
        site.configure("[workers]\nmax = 5\n")
        site.call("config.reload")
        self.assertEqual(site.call("status.get")["workers_max"], 5)

    def test_bad_file_at_the_start(self):
        """All problems at once, each with its key, and the nearest name; nothing is made."""
        site = self.site(BAD)
        said = site.start()
        lines = said.rstrip("\n").split("\n")
        self.assertEqual(lines[0], "error E_INVALID")
        for words in ("colour", "workers.max", "workers.mx", "retry.delays", "agents.a.command", "config.toml"):
            self.assertIn(words, said)
        self.assertEqual(lines[-1], "overseer config check")
        self.assertFalse(os.path.exists(os.path.join(site.dir, "store.db")))
        site.configure("")
        site.up()

    def test_nearest_name(self):
        site = self.site("[workers]\nmaxx = 3\n")
        said = site.start()
        self.assertIn("workers.max", said)

    def test_no_file_is_all_defaults(self):
        site = self.site()
        os.unlink(os.path.join(site.dir, "config.toml"))
        site.up()
        shown = site.call("config.show")
        self.assertEqual(shown["file"], os.path.join(site.dir, "config.toml"))
        for key, option in shown["options"].items():
            self.assertFalse(option["set"], key)
            self.assertTrue(option["help"], key)

    def test_show(self):
        site = self.site('[workers]\nmax = 4\n[agents.a]\ncommand = "true"\nenv = { KEY = "very-secret" }\n')
        site.up()
        options = site.call("config.show")["options"]
        self.assertEqual((options["workers.max"]["value"], options["workers.max"]["default"], options["workers.max"]["set"]),
                         (4, 2, True))
        self.assertFalse(options["retry.max_attempts"]["set"])
        self.assertIn("agents.a.command", options)
        self.assertNotIn("very-secret", str(options))
        self.assertNotIn("very-secret", site.daemon_log())

    def test_agent_taken_away_and_given_back(self):
        """A node whose agent is gone asks a person; with the agent back it goes on."""
        site = self.site(FAST, GATED)
        gate = site.gate("g")
        good = site.agent_config()
        site.configure(FAST + '[defaults]\nagent = "script"\n')
        said = site.start()
        if said != "ready\n":  # a default that is not configured may be refused at once
            self.assertIn("script", said)
            site.configure(FAST)
            site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1", suggestedAgent="script")))["goal"]
        self.assertEqual(site.wait_type("escalation.opened")["data"]["question"], 'agent "script" is not configured; configured: none')
        site.configure(FAST + good)
        site.call("config.reload")
        site.call("work.update", node="T1", status="queued", reason="the agent is there")
        self.assertEqual(gate.wait(), "T1")
        gate.go()
        site.wait_goal(goal)

    def test_reload_during_a_run(self):
        """What runs goes on; the next attempt uses the new command."""
        site = self.site(FAST, 'echo "$OVERSEER_NODE" > "$HOME/g.here"; read x < "$HOME/g.go"; exit 1\n')
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        gate.wait()
        site.configure(FAST + '[defaults]\nagent = "script"\n[agents.script]\ncommand = "echo new > new.txt"\n')
        site.call("config.reload")
        gate.go()
        site.wait_goal(goal)
        self.assertEqual(site.git("show", "main:new.txt"), "new\n")
        self.assertEqual([r["exit_code"] for r in site.runs()], [1, 0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
