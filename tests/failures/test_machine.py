#!/usr/bin/env python3
"""The table of failures: the machine (rows 16 and 17)."""

import json
import os
import signal
import time
import unittest

from row import row
from guarded import GATED, GuardedCase, started

import namespaces
from harness import FAST, RpcError, plan, task, wait_gone
from small_disk import Small, private_mounts


class Machine(GuardedCase):
    def until_refused(self, site, answered):
        """Writes until the store refuses, and returns why; the goals that it answered for are in `answered`."""
        connection = site.connect()
        try:
            for _ in range(10000):
                answered.add(connection.call("goal.create", title="more", problem_statement="x" * 4000)["goal"])
        except RpcError as e:
            return e
        finally:
            connection.close()
        raise AssertionError("the disk does not fill up")

    def beats(self, site):
        return json.loads(site.read(".overseer/heartbeat"))["loop"]

    def goals(self, site):
        return {g["id"] for g in site.call("goal.list")["goals"]}

    @row("16")
    @unittest.skipUnless(os.environ.get("OV_MOUNTS"), namespaces.MOUNTS)
    def test_16_disk_full(self):
        site = self.site("", GATED)
        disk = Small(site.dir, "6m")
        self.addCleanup(disk.close)
        site.configure(FAST + "[planner]\nfallback = false\n" + site.agent_config())
        self.add_watch(site, 'exit 1\n', heartbeat_timeout="3s")
        gate = site.gate("g")
        watch = self.watch(site)
        watch.wait_act("healthy")
        daemon = self.daemon(site)
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        gate.wait()
        site.wait_type("run.started")
        disk.fill()
        answered = {goal}
        error = self.until_refused(site, answered)
        self.injected()
        self.assertRegex(error.message, "full|space")
        # It says so, goes on beating, and nobody ends it.
        self.until(lambda: "degraded" in watch.said() or "space" in watch.said(), watch.said)
        loop = self.beats(site)
        self.until(lambda: self.beats(site) > loop + 2, "it beats on")
        self.assertEqual(self.daemon(site), daemon)
        disk.free()
        after = site.call("goal.create", title="after")["goal"]
        answered.add(after)
        gate.go()
        self.recovered(site.wait_goal(goal))
        self.assertEqual((self.daemon(site), self.remedies(site)), (daemon, 0))
        self.killed_while_full(site, disk, watch, answered)

    def killed_while_full(self, site, disk, watch, answered):
        """Nobody can start it, nor mend it: a person is told, and goes on with everything."""
        disk.fill()
        self.until_refused(site, answered)
        os.kill(self.daemon(site)["pid"], signal.SIGKILL)
        while watch.process.poll() is None:  # what is freed by its end is filled again
            disk.fill()
            time.sleep(0.002)
        self.assertEqual(watch.ended(), 21, watch.said())
        self.assertRegex(watch.said(), "full|space")
        self.assertEqual(self.remedies(site), 2)
        disk.free()
        watch = self.watch(site)
        watch.wait_act("healthy", 2)
        self.assertEqual(self.goals(site), answered)

    @row("17")
    def test_17_out_of_memory(self):
        """As the kernel does it: SIGKILL, to the daemon first and then to an agent."""
        site = self.guarded_site(GATED)
        gate = site.gate("g")
        watch = self.watch(site)
        watch.wait_act("healthy")
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        _, agent, shim = gate.wait().split()
        site.wait_type("run.started")
        old = self.daemon(site)
        self.injected()
        os.kill(old["pid"], signal.SIGKILL)
        watch.wait_act("healthy", 2)
        self.assertEqual((self.failures(watch), self.remedies(site)), (["died"], 1))
        self.assertNotEqual(self.daemon(site)["instance_id"], old["instance_id"])
        # The agent has not noticed; now it is its turn.
        self.assertTrue(started({"pid": int(shim)}))
        os.kill(int(agent), signal.SIGKILL)
        wait_gone(int(agent), int(shim))
        site.wait_type("node.failed", node="T1", cause="run")
        gate.wait()
        gate.go()
        self.recovered(site.wait_goal(goal))
        self.assertEqual(self.subjects(site), ["Task T1"])
        self.assertEqual(len(watch.acts("failed")), 1)


if __name__ == "__main__":
    if not os.environ.get("OV_MOUNTS"):
        private_mounts()
    unittest.main(verbosity=2)
