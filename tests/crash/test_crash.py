#!/usr/bin/env python3
"""kill -9 of the daemon at every injection point during a goal like the demo's.

A first run without a crash writes down all points that are passed. Then each point has a test:
the daemon kills itself there, is started again, and everything must have happened exactly once.
"""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import harness  # noqa: E402
from harness import SiteCase, plan, task  # noqa: E402

# Every run leaves a file of its own, so that what an agent wrote can be looked for. T2 crashes
# on its first try after it wrote something; T4 leaves its work uncommitted. All others report.
AGENT = r"""
echo "$OVERSEER_RUN" >> "$HOME/started"
mkdir -p work
echo "$OVERSEER_RUN" > "work/$OVERSEER_RUN.txt"
echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"
case $OVERSEER_NODE in
T2) [ -e "$HOME/t2-crashed" ] || { : > "$HOME/t2-crashed"; kill -SEGV $$; } ;;
T4) exit 0 ;;
esac
git add -A && git commit -qm "work of $OVERSEER_NODE"
printf '%s\n' '```json' '{"overseerUpdate": {"summary": "'"$OVERSEER_RUN"'"}}' '```'
"""

PLAN = plan(task("T1"), task("T2"), task("T3", ["T1"]), task("T4", ["T1", "T2"]), task("T5", ["T3", "T4"]))
NODES = ["T1", "T2", "T3", "T4", "T5"]
CONFIG = harness.FAST + """
[workspace]
check_command = "test -e README"
[store]
snapshot_every = 40
"""


def crash_points():
    """The points that a whole goal passes, in order of first passage."""
    site = harness.Site(CONFIG, AGENT)
    try:
        with tempfile.NamedTemporaryFile("r", dir=site.root) as listed:
            site.up(OVERSEER_INJECT_LIST=listed.name)
            site.wait_goal(site.call("goal.create", title="list the points", plan=PLAN)["goal"])
            site.down()
            points = [line.strip() for line in open(listed.name, encoding="utf-8")]
    finally:
        site.close()
    return list(dict.fromkeys(points))


class Crash(SiteCase):
    def crash_at(self, point):
        site = self.site(CONFIG, AGENT)
        said = site.start(OVERSEER_INJECT=point)
        goal = None
        if said == "ready\n":
            try:
                goal = site.call("goal.create", title="crash", plan=PLAN)["goal"]
            except ConnectionError:
                pass  # it died before it could answer
            self.assertEqual(site.ended(), -9, f"the daemon did not die at {point}")
        site.up()
        if goal is None or not site.call("goal.list")["goals"]:
            self.assertIsNone(goal, "an answered goal is gone")
            goals = site.call("goal.list")["goals"]
            goal = goals[0]["id"] if goals else site.call("goal.create", title="crash", plan=PLAN)["goal"]
        site.wait_goal(goal)
        self.check(site)
        self.assertEqual(site.down(), 0)
        self.check_refs(site)

    def check(self, site):
        """The promises, from the log and from git."""
        nodes = {n["id"]: n for n in site.call("work.list")["nodes"]}
        self.assertEqual(sorted(nodes), NODES)
        for node in nodes.values():
            self.assertEqual(node["status"], "done", node)
        subjects = site.git("log", "--format=%s", "main").split("\n")
        for node in NODES:
            self.assertEqual(subjects.count(f"Task {node}"), 1, f"{node} is not on main exactly once: {subjects}")
        self.assertEqual(site.git("status", "--porcelain"), "")
        started = open(os.path.join(site.root, "started"), encoding="utf-8").read().split()
        self.assertEqual(len(started), len(set(started)), "a dispatch ran twice")
        runs = {e["run"]: e["data"]["dispatch"] for e in site.events() if e["type"] == "run.created"}
        self.assertLessEqual(set(started), set(runs), "a run was started that was never intended")
        self.assertEqual(len(set(runs.values())), len(runs))
        reports = [e["data"]["update"]["summary"] for e in site.events() if e["type"] == "node.reported"]
        ended = [e["run"] for e in site.events() if e["type"] == "run.ended" and e["data"]["exit_code"] == 0]
        silent = [e["run"] for e in site.events() if e["type"] == "run.created" and e["node"] == "T4"]
        self.assertEqual(sorted(reports), sorted(set(ended) - set(silent)), "each report is taken once")

    def check_refs(self, site):
        """Whatever an agent wrote is reachable from some ref."""
        reachable = site.git("rev-list", "--objects", "--all")
        for run in open(os.path.join(site.root, "started"), encoding="utf-8").read().split():
            self.assertIn(f"work/{run}.txt", reachable, f"the work of {run} is unreachable")


# Waits to be asked, writes down what it heard, and answers.
LISTENER = r"""
while IFS= read -r line; do
    printf '%s\n' "$line" >> "$HOME/heard"
    case $line in "Request "*) break;; esac
done
printf '%s\n' "$line" '```json' '{"overseerUpdate": {"summary": "here"}}' '```'
echo done > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "work of $OVERSEER_NODE"
"""
QUICK = harness.FAST + """
[supervisor]
idle_after = "500ms"
"""


class Asking(SiteCase):
    """An agent that is asked for its status hears the request once, whenever the daemon dies."""

    def ask_and_crash(self, point):
        site = self.site()
        os.chmod(site.write("../agent.sh", "#!/bin/sh\n" + LISTENER), 0o755)
        site.configure(QUICK + site.agent_config().replace(
            'agent.sh"]', 'agent.sh", "{prompt_file}"]\ninput = "stdin"\nprompt = "file"'))
        site.up(OVERSEER_INJECT=point)
        goal = site.call("goal.create", title="asked", plan=plan(task("T1")))["goal"]
        self.assertEqual(site.ended(), -9, f"the daemon did not die at {point}")
        site.up()
        site.wait_goal(goal)
        with open(os.path.join(site.root, "heard"), encoding="utf-8") as f:
            self.assertEqual(f.read().count("Request "), 1)
        events = site.events()
        self.assertEqual([e["data"]["update"]["summary"] for e in events if e["type"] == "node.reported"], ["here"])
        asked = [e["data"]["dispatch"] for e in events
                 if e["type"] == "dispatch.intended" and e["data"]["purpose"] == "nudge"]
        self.assertEqual(len(asked), 1)

    def test_before_it_is_sent(self):
        self.ask_and_crash("before-send")

    def test_after_it_was_taken(self):
        self.ask_and_crash("after-send")

    def test_before_its_answer_is_taken(self):
        self.ask_and_crash("before-run-report")

    def test_after_its_answer_was_taken(self):
        self.ask_and_crash("after-run-report")


def load_tests(loader, tests, pattern):
    del tests, pattern
    suite = unittest.TestSuite([loader.loadTestsFromTestCase(Asking)])
    points = crash_points()
    assert len(points) >= 15, f"only {points} were passed"
    if harness.SOAK:
        points = [f"{p}:{n}" for p in points for n in (1, 2, 5)]
    for point in points:
        name = "test_" + point.replace("-", "_").replace(":", "_")

        def run(self, at=point):
            self.crash_at(at)

        setattr(Crash, name, run)
        suite.addTest(Crash(name))
    return suite


if __name__ == "__main__":
    unittest.main(verbosity=2)
