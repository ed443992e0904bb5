#!/usr/bin/env python3
"""The table of failures: the task pool's command."""

import unittest

from row import FAST, RowCase, row

# The oldest file is the next task; `odd` is run in its place, `empty-code` is how it says that there is none.
POOL = r"""
cd "$HOME" || exit 9
[ -e odd ] && . ./odd
next=$(ls tasks | head -n 1)
[ -n "$next" ] || exit "$(cat empty-code)"
mkdir -p given && mv "tasks/$next" given/ && cat "given/$next"
"""
# Its work is a file that tasks of the same name share.
AGENT = r"""
name=$(grep -o 'Make [a-z]*' | head -n 1 | cut -d ' ' -f 2)
echo "$name" > "$name.txt"
git add -A && git commit -qm "$name" || exit 0
"""
CONFIG = FAST + """
[auto]
task_pool_command = "sh $HOME/pool.sh"
concurrency = 1
pool_wait = "50ms"
pool_wait_max = "400ms"
task_pool_timeout = "1s"
"""


class Pool(RowCase):
    def pool_site(self, config=CONFIG, agent=AGENT):
        site = self.site(config, agent)
        site.args = ["--auto"]
        site.write("../pool.sh", POOL)
        site.write("../empty-code", "0\n")
        site.write("../tasks/.keep", "")
        return site

    def answers(self, site):
        return [e["data"] for e in site.events() if e["type"] == "auto.pool"]

    @row("3")
    def test_3_no_tasks(self):
        site = self.pool_site()
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
        site = self.pool_site()
        for n in (1, 2):
            site.write(f"../tasks/{n}", "Make apples\n")
        site.write("../tasks/3", "Make pears\n")
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
