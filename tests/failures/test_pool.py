#!/usr/bin/env python3
"""The table of failures: the task pool's command."""

import os
import unittest

from row import AutoCase, row, wait_gone


class Pool(AutoCase):
    def answers(self, site):
        return [e["data"] for e in site.events() if e["type"] == "auto.pool"]

    def task_is_done(self, site):
        """The next one that the pool gives out; then nobody is asked for anything."""
        tasks = len(self.subjects(site))
        site.write(f"../tasks/{tasks + 1}", f"Make {'abc'[tasks]}\n")
        self.recovered(site.wait_type("node.status", node=f"t{tasks + 1}", to="done"))
        self.assertEqual(self.inbox(site), [])

    def failure_passes(self, site, odd, words):
        """The command does something odd, once: it is asked again, and nobody hears of it."""
        after = site.seq()
        site.write("../odd", "rm odd; " + odd)
        failed = site.wait_type("auto.pool", after=after, answer="failed")
        self.assertIn(words, failed["data"]["detail"])
        self.task_is_done(site)

    def failure_pauses(self, site, odd, words):
        """It does so every time: auto mode waits with one entry, and the daemon stays."""
        after = site.seq()
        site.write("../odd", odd)
        self.injected()
        paused = site.wait_type("auto.paused", after=after, cause="pool")
        entry, = self.inbox(site)
        self.assertEqual(entry["number"], paused["data"]["escalation"])
        self.assertIn(words, site.cli("inbox", "show", str(entry["number"])))
        self.assertGreaterEqual(len([a for a in self.answers(site) if a["answer"] == "failed"]), 3)
        os.unlink(os.path.join(site.root, "odd"))
        site.cli("inbox", "answer", str(entry["number"]), "resume")
        self.task_is_done(site)

    @row("1")
    def test_1_the_command_fails(self):
        site = self.auto_site()
        site.args = ["--auto"]
        site.up()
        self.failure_passes(site, "echo no tracker here >&2; exit 1\n", "exit status 1: no tracker here")
        # Claims that workers do not give back are such a failure, too.
        self.failure_pauses(site, "echo too many claims >&2; exit 3\n", "it gave up (exit status 3): too many claims")
        # Where it is to end with the daemon, an agent mends it.
        site = self.auto_site()
        watch = self.watched(site, "auto.task_pool_on_failure=fail")
        site.write("../odd", "echo no tracker here >&2; exit 1\n")
        self.remediated(site, watch, 1, "exit status 1: no tracker here")

    @row("2")
    def test_2_the_command_hangs(self):
        site = self.auto_site()
        site.args = ["--auto"]
        site.up()
        self.failure_passes(site, "echo $$ > hung; exec sleep 1000\n", "longer than auto.task_pool_timeout")
        wait_gone(int(site.home("hung")))
        self.failure_pauses(site, "exec sleep 1000\n", "longer than auto.task_pool_timeout")

    @row("3")
    def test_3_no_tasks(self):
        site = self.auto_site()
        site.args = ["--auto"]
        site.up()
        for code in ("0", "4"):
            after = site.seq()
            site.write("../empty-code", code + "\n")
            asked = site.wait_type("auto.pool", after=after, answer="none", exit_code=int(code))
        # Asked ever more rarely, and asleep in between: each question is a few turns of the loop.
        site.wait_type("auto.pool", after=asked["seq"], answer="none")
        before, turns = len(self.answers(site)), site.metrics()["overseer_loop_iterations_total"]
        while len(self.answers(site)) < before + 2:
            site.wait_type("auto.pool", after=site.seq(), answer="none")
        self.assertLess(site.metrics()["overseer_loop_iterations_total"] - turns, 200)
        waits = [a["ask_at_ms"] for a in self.answers(site)]
        self.assertGreaterEqual(waits[-1] - waits[-2], 400)
        self.assertEqual(self.inbox(site), [])
        self.assertEqual(site.call("status.get")["auto"]["errors"], 0)
        # One day there is a task.
        self.injected()
        site.write("../tasks/1", "Make apples\n")
        self.recovered(site.wait_type("node.status", to="done"))
        self.assertEqual(self.subjects(site), ["Make apples"])

    @row("4")
    def test_4_the_same_task_twice(self):
        site = self.auto_site()
        for n in (1, 2):
            site.write(f"../tasks/{n}", "Make apples\n")
        site.args = ["--auto"]
        site.up()
        self.injected(site.wait_type("node.added", node="t2"))
        # The second is a task of its own: it finds the work done, and a person is shown it; the next one is done.
        asked = self.asked(site, "no_changes")
        self.assertEqual(asked["node"], "t2")
        # As long as nobody has answered, the same again is counted there and not run.
        site.write("../tasks/3", "Make apples\n")
        self.recovered(site.wait_type("auto.pool", answer="repeated"))
        site.write("../tasks/4", "Make pears\n")
        site.wait_type("node.status", node="t3", to="done")
        self.assertEqual(self.subjects(site), ["Make apples", "Make pears"])
        self.assertEqual(len({a["effect"] for a in self.answers(site) if a["answer"] == "task"}), 3)
        shown = site.cli("inbox", "show", str(asked["data"]["escalation"]))
        self.assertIn("changed nothing", shown)
        self.assertIn("given out 1 time since", shown)
        site.cli("work", "done", "t2", "--reason", "it was given out twice")
        self.assertEqual(self.inbox(site), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
