"""The command with the real daemon: a day in short."""

import json
import os
import signal
import subprocess

from cli_case import CLI, PATIENCE, Case, main

PLAN = {"phases": [{"id": "P1", "name": "Work", "tasks": [
    {"id": "T1.1", "name": "First", "acceptance": ["a file"]},
    {"id": "T1.2", "name": "Second", "deps": ["T1.1"], "acceptance": ["a file"]}]}]}
# Waits at a gate before it works, so that the test decides when.
AGENT = """#!/bin/sh
echo "working on it"
cat "$HOME/gate" >/dev/null
echo "${OVERSEER_NODE:-x}$$" > "file$$"
git add -A && git commit -qm work
echo "done with it"
"""


class Day(Case):
    def setUp(self):
        super().setUp()
        self.repository("my repo")
        self.addCleanup(self.end)
        agent = self.write("agent.sh", AGENT, 0o755)
        os.mkfifo(self.path("gate"))
        self.ok("init")
        with open(os.path.join(self.cwd, ".overseer/config.toml"), "a") as f:
            f.write(f'[accept]\nunchecked = "accept"\n[agents.s]\ncommand = ["{agent}"]\n')
        self.write("plan.json", json.dumps(PLAN))

    def end(self):
        self.open_gate()
        self.run_cli("down")

    def open_gate(self):
        """Lets an agent through that waits at the gate."""
        try:
            os.close(os.open(self.path("gate"), os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            pass  # nobody waits

    def pass_gate(self):
        fd = os.open(self.path("gate"), os.O_WRONLY)  # waits for the agent
        os.close(fd)

    def follow_until(self, process, text):
        for line in process.stdout:
            if text in line:
                return line
        self.fail(f"{text} did not come: {process.stderr.read()}")

    def test_day(self):
        up = self.ok("up").out
        self.assertRegex(up, r"^overseerd \S+ is up \(pid \d+, store \.overseer/store\.db\)\nNothing to do yet")
        self.assertRegex(self.ok("up").out, r"^overseerd is already up \(pid \d+, up \d+\w+\)\.\nNothing to do yet")
        second = self.fails(4, "up", "--foreground")
        self.assertRegex(second.err, r"another daemon holds this store: pid \d+ \(instance \w+, up ")
        follow = subprocess.Popen([CLI, "events", "--follow"], cwd=self.cwd, env=self.env, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        created = self.ok("goal", "create", "--title", "A day", "--plan", self.path("plan.json")).out
        self.assertIn("1 phase, 2 tasks, 0 subtasks. Ready now: T1.1", created)
        self.follow_until(follow, "the agent was started")
        self.assertRegex(self.ok("status").out, r"pool-1  s  T1\.1  First  \d+\w+  running")
        run = self.ok("run", "list", "--json").json()["runs"][0]["id"]
        log = subprocess.Popen([CLI, "run", "log", "--follow", run[:-4]], cwd=self.cwd, env=self.env,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(log.stdout.readline(), "working on it\n")
        self.pass_gate()
        self.assertEqual(log.communicate(timeout=PATIENCE)[0], "done with it\n")
        self.assertEqual(log.returncode, 0)
        self.pass_gate()
        self.follow_until(follow, "goal active -> completed")
        follow.send_signal(signal.SIGINT)
        self.assertEqual(follow.wait(PATIENCE), 130)
        follow.communicate()
        self.look_around()
        self.assertRegex(self.ok("down").out, r"^overseerd stopped \(pid \d+, was up \d+\w+\)\.\n$")
        stored = self.fails(0, "status")
        self.assertIn("state as stored", stored.err)
        self.assertIn("##########  2/2  completed", stored.out)
        self.assertIn("T1.2", self.fails(0, "explain", "T1.2").out)
        self.fails(7, "work", "done", "T1.1", "--reason", "x")

    def look_around(self):
        self.assertIn("T1.1", self.ok("plan", "show", "goal_").out)
        self.assertIn("commit", self.ok("work", "list").out)
        self.assertIn("finished; its change is commit", self.ok("explain", "T1.1").out)
        self.assertIn("A day", self.ok("goal", "show", "goal_").out)
        self.assertIn("Parts", self.ok("work", "show", "P1").out)
        self.assertIn("0 decisions", self.ok("tick", "--dry-run").out)
        self.assertIn("workers.max", self.ok("config", "show", "--effective").out)
        self.assertIn("as it is now", self.ok("config", "reload").out)
        self.assertIn("T1.2", self.ok("events", "--node", "T1.2", "--type", "run.started").out)
        self.fails(2, "events", "--type", "nonsense")
        self.fails(3, "explain", "T9.9")
        self.fails(2, "goal", "list", "--status", "nonsense")
        self.fails(6, "goal", "create", "--title", "x" * 201)

    def test_runs_go_on_without_the_daemon(self):
        self.ok("up")
        follow = subprocess.Popen([CLI, "events", "--follow"], cwd=self.cwd, env=self.env, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        self.ok("goal", "create", "--title", "A day", "--plan", self.path("plan.json"))
        self.follow_until(follow, "the agent was started")
        down = self.ok("down").out
        self.assertIn("1 agent continues without it", down)
        self.assertRegex(down, r"\n  T1\.1  First  run R_\w+\n$")
        self.assertEqual(follow.wait(PATIENCE), 7)
        follow.communicate()
        self.assertIn("1 goal open", self.ok("up").out)
        watch = subprocess.Popen([CLI, "status", "--watch"], cwd=self.cwd, env=self.env, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        self.follow_until(watch, "T1.1")
        self.pass_gate()
        self.follow_until(watch, "1/2  healthy")
        self.pass_gate()
        self.follow_until(watch, "2/2  completed")
        watch.send_signal(signal.SIGINT)
        self.assertEqual(watch.wait(PATIENCE), 130)
        watch.communicate()

    def test_bad_configuration(self):
        path = os.path.join(self.cwd, ".overseer/config.toml")
        with open(path, "a") as f:
            f.write("nonsense = 1\n")
        done = self.fails(2, "up")
        self.assertIn("nonsense", done.err)

    def test_json(self):
        daemon = self.ok("up", "--json").json()
        self.assertEqual(daemon["dir"], os.path.join(self.cwd, ".overseer"))
        self.assertFalse(daemon["already_up"])
        self.assertTrue(self.ok("up", "--json").json()["already_up"])
        refused = self.fails(4, "up", "--set", "workers.max=9", "--json").error()
        self.assertEqual(refused["code"], "E_STATE")
        self.assertTrue(self.ok("down", "--json").json()["stopping"])
        self.assertFalse(self.ok("down", "--json").json()["stopping"])


if __name__ == "__main__":
    main()
