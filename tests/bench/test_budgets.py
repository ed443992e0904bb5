#!/usr/bin/env python3
"""Budgets that are counts: wake-ups, subprocesses, queries, events and bytes do not depend on the machine.

Times and rates are in `make bench`; docs/benchmarks.md has both.
"""

import os
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "system"))
from harness import PATIENCE, SiteCase, plan, task  # noqa: E402
from live_fleet import LiveFleet, make_store  # noqa: E402
from test_idle import QUIET, IdleCase  # noqa: E402

AGENT = '[defaults]\nagent = "a"\n[agents.a]\ncommand = ["true"]\n'
# The tick that comes after tick_every at the latest is not what is counted here.
RARELY = '[supervisor]\ntick_every = "1h"\n'
LIVE = 1000

# Of one task of a goal, from its creation to its accept.
EVENTS_PER_TASK = 40
PROCESSES_PER_TASK = 50
QUERIES_PER_TASK = 20
# Of one assignment with a run that is under way.
SNAPSHOT_BYTES = 3000
STORE_BYTES = 12000
# Of the daemon's memory: an assignment that waits, and one whose run is watched.
WAITING_BYTES = 7000
RUNNING_BYTES = 14000
# What a daemon with a thousand assignments may keep of the memory that an answer about them took.
KEPT_BYTES = 256 * 1024


class IdleFleet(IdleCase):
    def fleet(self, running, live=LIVE):
        site = self.site(QUIET + RARELY + AGENT)
        self.made = LiveFleet(site, live, running)
        self.addCleanup(self.made.close)
        site.up()
        status = site.call("status.get")
        self.assertEqual((len(status["running"]), status["stalled"]), (live, []))
        page = site.call("events.list", after=self.made.made["events"], limit=1000)
        happened = {e["type"] for e in page["events"]}
        self.assertEqual(happened & {"run.created", "run.ended", "assignment.moved", "patrol.found"}, set())
        return site

    def test_a_thousand_assignments_that_wait(self):
        site = self.fleet(running=False)
        self.check_idle(site)

    def test_a_thousand_runs_that_say_nothing(self):
        """They are alive and not due: no timer, no subprocess, no query, no event."""
        site = self.fleet(running=True)
        self.assertEqual({r["status"] for r in site.runs()}, {"running"})
        self.check_idle(site)
        # Nor does anybody query the store to say how things stand.
        before = self.store_calls(site)
        for method in ("status.get", "goal.list", "run.list", "inbox.list", "worker.list", "agent.list"):
            site.call(method)
        self.assertEqual(self.store_calls(site), before)

    def test_they_are_believed_because_their_locks_are_held(self):
        """Otherwise the test above would measure runs that nobody watches."""
        site = self.fleet(running=True, live=10)
        self.assertEqual({r["status"] for r in site.runs()}, {"running"})
        after = site.seq()
        self.made.holder.stdin.close()
        self.made.holder.wait()
        for _ in self.made.runs:
            after = site.wait_type("run.ended", after=after, lost=True)["seq"]


class Bytes(SiteCase):
    def test_bytes_per_assignment(self):
        site = self.site(AGENT)
        small, large = make_store(site, 100, running=True), None
        os.remove(os.path.join(site.dir, "store.db"))
        large = make_store(site, LIVE, running=True)
        each = (large["snapshot_bytes"] - small["snapshot_bytes"]) / (LIVE - 100)
        self.assertLess(each, SNAPSHOT_BYTES)
        # With its snapshot and all events of its goal.
        self.assertLess(os.path.getsize(os.path.join(site.dir, "store.db")) / LIVE, STORE_BYTES)


class Memory(SiteCase):
    """Pages that the daemon wrote: other than all that is resident, they do not depend on the libraries."""

    FEW = 100

    def private(self, site):
        with open(f"/proc/{site.daemon.pid}/smaps_rollup", encoding="ascii") as f:
            found = [line.split() for line in f]
        return sum(int(line[1]) for line in found if line[0] == "Private_Dirty:") * 1024

    def measure(self, live, running):
        """After the start, and after answers about all of them."""
        site = self.site(QUIET + RARELY + AGENT)
        fleet = LiveFleet(site, live, running)
        self.addCleanup(fleet.close)
        site.up()
        begun = self.private(site)
        connection = site.connect()
        for method in ("status.get", "run.list", "goal.list", "status.get"):
            connection.call(method)
        connection.close()
        return begun, self.rested(site, begun)

    def rested(self, site, begun):
        """What answers took is given back when whoever asked hangs up."""
        end = time.monotonic() + PATIENCE
        while self.private(site) - begun >= KEPT_BYTES and time.monotonic() < end:
            time.sleep(0.05)
        return self.private(site)

    def check(self, running, most):
        few, many = self.measure(self.FEW, running), self.measure(LIVE, running)
        each = [(b - a) / (LIVE - self.FEW) for a, b in zip(few, many)]
        print(f"private: {many[0] >> 10} KiB, after answers {many[1] >> 10} KiB; per assignment: "
              f"{each[0]:.0f} bytes, after answers {each[1]:.0f}", file=sys.stderr)
        self.assertLess(each[0], most)
        self.assertLess(many[1] - many[0], KEPT_BYTES)

    def test_assignments_that_wait(self):
        self.check(False, WAITING_BYTES)

    def test_runs_that_are_watched(self):
        self.check(True, RUNNING_BYTES)


class PerTask(SiteCase):
    TASKS = 7  # as many as a phase may have

    def test_what_a_task_costs(self):
        """Events, subprocesses and queries of a task that is done at once, is checked and accepted.

        One at a time: how often one accept has to follow another's depends on the machine.
        """
        site = self.site(QUIET + '[workers]\nmax = 1\n[workspace]\ncheck_command = "test -e README"\n',
                         'echo x > $OVERSEER_NODE.txt; git add -A; git commit -qm work\n')
        self.count_git(site)
        site.up()
        goal = site.call("goal.create", title="counted", plan=plan(*(task(f"T{i}") for i in range(self.TASKS))))["goal"]
        site.wait_goal(goal)
        self.assertEqual(site.down(), 0)
        with open(os.path.join(site.dir, "..", "..", "processes"), encoding="utf-8") as f:
            processes = len(f.readlines())
        queries = [line for line in site.daemon_log().split("\n") if " store: " in line and "->" in line]
        site.up()
        events = [e for e in site.events() if e.get("goal") == goal]
        print(f"per task: {len(events) / self.TASKS:.1f} events, {processes / self.TASKS:.1f} processes of git, "
              f"{len(queries) / self.TASKS:.1f} queries", file=sys.stderr)
        self.assertLess(len(events) / self.TASKS, EVENTS_PER_TASK)
        self.assertLess(processes / self.TASKS, PROCESSES_PER_TASK)
        self.assertLess(len(queries) / self.TASKS, QUERIES_PER_TASK)

    @staticmethod
    def count_git(site):
        """A git before the real one that writes a line per call; those of the agent are its own."""
        real = subprocess.run(["sh", "-c", "command -v git"], capture_output=True, text=True, check=True).stdout.strip()
        path = site.write("../bin/git", f'#!/bin/sh\n[ "$OVERSEER_NODE" ] || echo "$*" >> {site.root}/processes\n'
                                        f'exec {real} "$@"\n')
        os.chmod(path, 0o755)
        site.env["PATH"] = os.path.dirname(path) + ":" + site.env["PATH"]


if __name__ == "__main__":
    unittest.main(verbosity=2)
