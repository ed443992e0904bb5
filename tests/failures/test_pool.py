#!/usr/bin/env python3
"""The table of failures: the task pool's command."""

import unittest

from row import AutoCase, row, wait_gone


class Pool(AutoCase):
    def answers(self, site):
        return [e["data"] for e in site.events() if e["type"] == "auto.pool"]

    def failure_is_mended(self, site, watch, odd, words):
        """The command does something odd: the daemon ends, what is wrong is mended, and the next task is done."""
        before, tasks = len(watch.acts("failed")), len(self.subjects(site))
        self.injected()
        site.write("../odd", odd)
        self.remediated(site, watch, before + 1, words)
        site.write(f"../tasks/{tasks + 1}", f"Make {'abc'[tasks]}\n")
        self.recovered(site.wait_type("node.status", node=f"t{tasks + 1}", to="done"))
        self.assertEqual(self.inbox(site), [])

    @row("1")
    def test_1_the_command_fails(self):
        site = self.auto_site()
        watch = self.watched(site)
        self.failure_is_mended(site, watch, "echo no tracker here >&2; exit 1\n", "exit status 1: no tracker here")
        # Claims that workers do not give back are such a failure, too.
        self.failure_is_mended(site, watch, "echo too many claims >&2; exit 3\n", "it gave up (exit status 3): too many claims")

    @row("2")
    def test_2_the_command_hangs(self):
        site = self.auto_site()
        watch = self.watched(site)
        self.failure_is_mended(site, watch, "echo $$ > hung; exec sleep 1000\n", "longer than auto.task_pool_timeout")
        wait_gone(int(site.home("hung")))

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
        site.write("../tasks/3", "Make pears\n")
        site.args = ["--auto"]
        site.up()
        self.injected(site.wait_type("node.added", node="t2"))
        # The second is a task of its own: it finds the work done, and a person is shown it; the next one is done.
        asked = self.asked(site, "no_changes")
        self.assertEqual(asked["node"], "t2")
        self.recovered(asked)
        site.wait_type("node.status", node="t3", to="done")
        self.assertEqual(self.subjects(site), ["Make apples", "Make pears"])
        self.assertEqual(len({a["effect"] for a in self.answers(site) if a["answer"] == "task"}), 3)
        shown = site.cli("inbox", "show", str(asked["data"]["escalation"]))
        self.assertIn("changed nothing", shown)
        site.cli("work", "done", "t2", "--reason", "it was given out twice")
        self.assertEqual(self.inbox(site), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
