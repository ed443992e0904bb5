#!/usr/bin/env python3
"""Daemons that go wrong in ways of their own, under the watchdog: each ends as the rules say."""

import json
import os
import shutil
import signal
import subprocess
import unittest

from guarded import GATED, SLOW, GuardedCase, stranger

from harness import CLI, DAEMON, SHIM, plan, task

# It is stopped as soon as it has registered, before its heart beats.
HANGS = r"""
(until grep -q "\"pid\": $$," .overseer/daemon.json 2>/dev/null; do sleep 0.01; done; kill -STOP $$) &
exec overseer up --foreground
"""
CRASHES = "(sleep 1; kill -9 $$) &\nexec overseer up --foreground\n"


class Daemons(GuardedCase):
    def begun(self, start, mend="exit 0\n", **options):
        """A site whose daemon is started by these lines, and its watchdog."""
        site = self.guarded_site(GATED, mend, start_command="sh $HOME/start.sh", **options)
        site.write("../start.sh", start)
        return site, self.watch(site)

    def at_work(self, site, watch):
        """A goal whose agent waits at the gate."""
        gate = site.gate("g")
        watch.wait_act("healthy")
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        gate.wait()
        site.wait_type("run.started")
        return gate, goal

    def test_one_that_hangs_at_once(self):
        """However long it takes to see that: it was never healthy."""
        site, watch = self.begun(HANGS, heartbeat_timeout=f"{1500 * SLOW}ms", restart_cooldown="1s")
        self.gave_up(watch, 21)
        self.assertEqual((self.failures(watch), self.remedies(site)), (["heartbeat", "heartbeat"], 1))
        self.assertIsNone(self.daemon(site))

    def test_one_that_never_registers(self):
        site, watch = self.begun('[ -e good ] || exec sleep 1000\nexec overseer up --foreground\n', "touch repo/good\n",
                                 registration_timeout=f"{3000 * SLOW}ms")
        watch.wait_act("healthy")
        self.assertEqual((self.failures(watch), self.remedies(site)), (["unregistered"], 1))

    def test_one_that_exits_cleanly_at_once(self):
        site, watch = self.begun("exit 0\n")
        self.gave_up(watch, 21)
        self.assertEqual((self.failures(watch), self.remedies(site)), (["died", "died"], 1))

    def test_one_that_crashes_now_and_then(self):
        """Each time after its cool-down, so that it is no spiral; but not for ever."""
        site, watch = self.begun(CRASHES, restart_cooldown="1ms", max_restarts=3)
        self.gave_up(watch, 23)
        self.assertEqual((self.failures(watch), self.remedies(site)), (["died"] * 4, 3))

    def test_one_that_is_stopped(self):
        site = self.guarded_site(GATED, heartbeat_timeout=f"{1500 * SLOW}ms")
        watch = self.watch(site)
        gate, goal = self.at_work(site, watch)
        old = self.daemon(site)
        os.kill(old["pid"], signal.SIGSTOP)
        watch.wait_act("healthy", 2)
        self.assertEqual((self.failures(watch), self.remedies(site)), (["heartbeat"], 1))
        self.assertNotEqual(self.daemon(site)["instance_id"], old["instance_id"])
        gate.go()
        site.wait_goal(goal)
        self.assertEqual(len(site.runs()), 1)

    def test_one_whose_program_is_replaced(self):
        """It goes on; the next one is the new one."""
        site = self.guarded_site(GATED)
        folder = os.path.join(site.root, "bin")
        os.mkdir(folder)
        for program in (CLI, DAEMON, SHIM):
            shutil.copy(program, folder)
        watch = self.watch(site, PATH=folder + ":" + os.environ["PATH"], OVERSEERD=os.path.join(folder, "overseerd"))
        gate, goal = self.at_work(site, watch)
        old = self.daemon(site)["pid"]
        path = os.path.join(folder, "overseerd")
        shutil.copy(DAEMON, path + ".new")
        os.rename(path + ".new", path)
        self.assertEqual(os.readlink(f"/proc/{old}/exe"), path + " (deleted)")
        gate.go()
        site.wait_goal(goal)
        self.assertEqual(self.daemon(site)["pid"], old)
        os.kill(old, signal.SIGKILL)
        watch.wait_act("healthy", 2)
        self.assertEqual(os.readlink(f"/proc/{self.daemon(site)['pid']}/exe"), path)

    def test_one_whose_number_is_another_process_now(self):
        site = self.guarded_site(GATED)
        watch = self.watch(site)
        gate, goal = self.at_work(site, watch)
        watch.process.kill()
        watch.process.wait()
        old = self.daemon(site)
        os.kill(old["pid"], signal.SIGKILL)
        process, identity = stranger(self)
        site.write(".overseer/daemon.json", json.dumps({**old, "pid": identity["pid"]}))
        watch = self.watch(site)
        watch.wait_act("healthy", 2)
        self.assertEqual([act["kind"] for act in watch.acts()][-2:], ["started", "healthy"])
        self.assertIsNone(process.poll(), "a stranger was ended")
        gate.go()
        site.wait_goal(goal)


if __name__ == "__main__":
    unittest.main(verbosity=2)
