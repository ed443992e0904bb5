#!/usr/bin/env python3
"""Named pipes where files should be: nobody is at their other end, and nothing waits for them."""

import os
import signal
import stat
import unittest

import harness
from harness import SiteCase, plan, task

QUICK = harness.FAST + """
[supervisor]
idle_after = "1h"
"""
WAIT = 'echo "$$" > "$HOME/a.here"; read x < "$HOME/a.go"\n'
FINISH = """
echo done > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "work of $OVERSEER_NODE"
"""
# What the daemon or its shim reads or writes in the folder of a run.
RUN_FILES = ("output", "errors", "prompt", "instruction", "started", "exit.json", "exit.json.tmp", "cgroup", "driver.json",
             "hooks/events", "hooks/next", "hooks/scope.json", "sock", "descendants")


class Fifos(SiteCase):
    def replace(self, path):
        """A pipe in its place; the old file lives on with whoever has it open."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.lexists(path):
            os.unlink(path)
        os.mkfifo(path)
        self.addCleanup(lambda: os.path.lexists(path) and os.unlink(path))  # who tidies up would wait for it

    def begin(self, site):
        return site.call("goal.create", title="pipes", plan=plan(task("T1")))["goal"]

    def folder(self, site):
        return os.path.join(site.dir, "runs", site.runs()[0]["id"])

    def test_in_the_folder_of_a_live_run(self):
        site = self.site(QUICK, WAIT + FINISH)
        gate = site.gate("a")
        site.up()
        goal = self.begin(site)
        gate.wait()
        folder = self.folder(site)
        for name in RUN_FILES:
            self.replace(os.path.join(folder, name))
            # Each is looked at by these, and they are answered.
            site.call("status.get")
            for call in ("run.show", "run.log"):
                try:
                    site.call(call, run=site.runs()[0]["id"])
                except harness.RpcError as e:
                    self.assertIn(e.code, ("E_INVALID", "E_IO", "E_NOTFOUND"), e)
        gate.go()
        # Whoever had a file open goes on with it, and what is written anew takes the place of the pipe.
        site.wait_goal(goal)

    def test_before_a_daemon_that_adopts_the_run(self):
        site = self.site(QUICK, WAIT + FINISH)
        gate = site.gate("a")
        site.up()
        goal = self.begin(site)
        pid = int(gate.wait())
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            shim = int(f.read().rsplit(")", 1)[1].split()[1])
        folder = self.folder(site)
        site.kill()
        os.kill(shim, signal.SIGKILL)
        for name in RUN_FILES + ("lock",):
            self.replace(os.path.join(folder, name))
        site.up()
        site.call("status.get")
        self.assertTrue(stat.S_ISFIFO(os.stat(os.path.join(folder, "output")).st_mode), "nothing was put in its place")
        # Whose folder shows nothing that can be read is not known to have ended: a person can say so.
        site.call("goal.cancel", goal=goal, reason="it is lost")
        site.call("status.get")

    def test_in_the_folder_of_the_store(self):
        site = self.site(QUICK, FINISH)
        for name in ("logs/daemon.log", "logs/check.log", "logs/accept.log", "logs/auto.log", "heartbeat", "health", "acts",
                     "daemon.json.tmp", "token.tmp"):
            self.replace(os.path.join(site.dir, name))
        site.up()
        goal = self.begin(site)
        site.wait_goal(goal)
        site.cli("doctor", code=site_status(site, "doctor"))
        self.assertEqual(site.down(), 0)

    def test_what_the_command_line_is_given(self):
        site = self.site(QUICK, FINISH)
        site.up()
        pipe = site.path("pipe")
        os.mkfifo(pipe)
        for args in (("plan", "check", pipe), ("goal", "create", "x", "--plan", pipe), ("import", pipe),
                     ("detect", pipe)):
            with self.subTest(args=args):
                status = site_status(site, *args)
                self.assertNotEqual(status, 0)
        self.replace(os.path.join(site.dir, "config.toml"))
        self.assertNotEqual(site_status(site, "config", "reload"), 0)
        self.assertNotEqual(site_status(site, "config", "check"), 0)
        site.call("status.get")


def site_status(site, *args):
    """The exit status; a command that waits for ever fails the test by its timeout."""
    done = harness.subprocess.run([harness.CLI, *args], cwd=site.repo, env=site.env, capture_output=True, text=True,
                                  timeout=harness.PATIENCE, check=False, stdin=harness.subprocess.DEVNULL)
    return done.returncode


if __name__ == "__main__":
    unittest.main()
