#!/usr/bin/env python3
"""kill -9 of the daemon at the calls that write, during a goal with an accept.

A first site is watched without a crash: all places from which a call is made, in the first start of
a new store, in later starts, during a goal, and in the stop. Then the daemon dies at each of these
places: before the call, for many also after it or with half of its bytes, and at random calls of a
whole life. At full size it dies also after the call at each place, and at every single call of a life. Each
commit tries other ones of these points: one in five in `make check`, one in four at full size, and all in
`make soak`. It is started again, the goal goes on, and everything must have happened exactly once.
OV_CRASH_ONLY=TEXT takes only the points whose name has the text, such as "after posix_spawn". A place is shown
as module+offset per frame, which addr2line -fe MODULE OFFSET translates.
"""

import http.client
import os
import random
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import harness  # noqa: E402
import killat  # noqa: E402
import promises  # noqa: E402
from harness import plan, task  # noqa: E402
from killat import AFTER, BEFORE, HALF  # noqa: E402

RANDOM_CALLS = 15
ONE_IN = promises.one_in(5, 4, 12)
SEED = 20240229
POINTS_PER_SITE = 5

# T1 commits and reports; T2 leaves its work uncommitted and says nothing.
AGENT = r"""
echo "$OVERSEER_RUN" >> "$HOME/started"
mkdir -p work
echo "$OVERSEER_RUN" > "work/$OVERSEER_RUN.txt"
[ "$OVERSEER_NODE" = T2 ] && exit 0
git add -A && git commit -qm "work of $OVERSEER_NODE"
printf '%s\n' '```json' '{"overseerUpdate": {"summary": "'"$OVERSEER_RUN"'"}}' '```'
"""
# A check takes its time, and two of them in one worktree at once would disturb each other.
CHECK = "exec 9> $HOME/check-$(basename $PWD); flock -n 9 && test -e README && sleep 0.2"
CONFIG = harness.FAST + f"""
[workspace]
check_command = '{CHECK}'
[store]
snapshot_every = 40
"""
NODES = ("T1", "T2")
# Writes that can come to an end half-way.
DIVISIBLE = ("write", "pwrite64", "send", "copy_file_range")


class Point:
    """Where the daemon shall die. `phase`: from when on, "new" being the first start of a store."""

    def __init__(self, phase, how, place=None, call=0):
        self.phase, self.how, self.place, self.call = phase, how, place, call
        what = f"{place.call} {place.id:016x}" if place else f"call {call}"
        self.name = f"{phase}: {killat.HOW[how]} {what}"


class Life:
    """One site with one store, in which the daemon dies at several points, one after the other."""

    def __init__(self):
        self.site = harness.Site(CONFIG, AGENT)
        self.site.write("mine.txt", "of the user\n")
        self.map = killat.Map(self.site.root)
        self.goals = 0
        self.finished = None  # the goal before this one

    def close(self):
        self.site.close()
        self.map.close()

    def up(self):
        """Starts the daemon under the map; true when it became ready."""
        return self.site.start(**self.map.env()) == "ready\n"

    def names(self, title):
        return {node: f"{title} {node}" for node in NODES}

    def create(self, title):
        names = self.names(title)
        return self.site.call("goal.create", title=title, plan=plan(*[task(n, name=names[n]) for n in NODES]))["goal"]

    def work(self, title):
        """What is done in every life: the last goal is put away, a new one is worked on, somebody looks."""
        if self.finished:
            self.site.call("goal.archive", goal=self.finished)
            self.finished = None
        self.answered = self.create(title)
        T.assertEqual(self.site.http()[0], 200)
        self.site.wait_goal(self.answered)
        return self.answered

    def order(self, point, phase):
        if point.phase == phase:
            self.map.order(point.call, point.place.id if point.place else 0, 1, point.how)

    def live(self, point, title):
        """From start to stop, or until it dies: the goal if its creation was answered, and whether it died."""
        site, self.answered = self.site, None
        if site.daemon is None:
            self.map.reset()
            self.order(point, "new")
            self.order(point, "start")
            if not self.up():
                return None, True
        if point.phase == "goal":
            # So that its worktrees are made in every life.
            site.cli("worker", "nuke", "--all")
        self.order(point, "goal")
        try:
            goal = self.work(title)
            if point.phase == "goal" and not self.map.died[0]:
                return goal, False  # it did not come along there: the daemon can go on
            self.order(point, "stop")
            site.call("daemon.stop")
        except (OSError, AssertionError, http.client.HTTPException):
            if not self.map.died[0]:
                raise
        return self.answered, site.ended() == -9

    def die(self, point):
        """One crash and everything that follows. Returns whether the daemon died as it should."""
        self.goals += 1
        title, before = f"goal {self.goals}", self.finished
        if point.phase in ("start", "stop") and self.site.daemon is not None:
            T.assertEqual(self.site.down(), 0)
        goal, died = self.live(point, title)
        if point.phase == "goal" and not died:
            # Of those that follow a start by themselves: ordered before the next one it comes along.
            T.assertEqual(self.site.down(), 0)
            self.goals += 1
            title = f"goal {self.goals}"
            goal, died = self.live(Point("start", point.how, point.place), title)
        T.assertEqual(died, self.map.died[0] > 0, "it died of something else")
        if self.site.daemon is None:
            self.map.reset()
            self.site.up(**self.map.env())
        known = promises.find_goal(self.site, title)
        if goal is not None:
            T.assertEqual(known, goal, "an answered goal is gone")
            T.assertTrue(before is None or self.is_archived(before), "an answered archiving is gone")
        goal = known or self.create(title)
        self.site.wait_goal(goal)
        self.check(goal, title)
        self.finished = goal
        return died

    def is_archived(self, goal):
        return self.site.call("goal.show", goal=goal)["status"] == "archived"

    def check(self, goal, title):
        site = self.site
        log = site.events()
        T.assertEqual([e["seq"] for e in log], list(range(1, len(log) + 1)))
        events = promises.goal_kept(site, goal, self.names(title), log, silent=("T2",))
        promises.runs_once(site, log)
        promises.work_kept(site)
        runs = [e["node"] for e in events if e["type"] == "run.created"]
        T.assertEqual(sorted(runs), sorted(NODES), "the end of the daemon is no reason for another run")
        T.assertEqual(site.git("status", "--porcelain"), "?? mine.txt\n")
        T.assertEqual(site.read("mine.txt"), "of the user\n")
        T.assertEqual(site.git("symbolic-ref", "HEAD"), "refs/heads/main\n")
        T.assertTrue(site.call("store.verify")["ok"])

    def wait_archived(self):
        """The events are moved some time after the answer; each question is a turn of the daemon's loop."""
        end = time.monotonic() + harness.PATIENCE
        while "are in the archive" not in self.site.daemon_log():
            T.assertLess(time.monotonic(), end)
            self.site.call("status.get")

    def settle(self):
        """Makes the store an old one, with worktrees that were in use before."""
        self.site.up()
        self.finished = self.work("the first goal")
        T.assertEqual(self.site.down(), 0)

    def end(self):
        if self.site.daemon is not None:
            T.assertEqual(self.site.down(), 0)
        promises.nothing_left(self.site)


T = promises.T


def watch():
    """Two lives without a crash: {phase: places first seen in it}, and how many calls each phase makes."""
    life = Life()
    seen, places, calls = set(), {}, {}

    def note(phase, before=0):
        new = [p for p in life.map.places() if p.id not in seen]
        seen.update(p.id for p in new)
        places.setdefault(phase, []).extend(new)
        calls[phase] = life.map.calls - before

    try:
        for number, phase in enumerate(("new", "start")):
            life.map.reset()
            assert life.up(), life.site.daemon_log()
            note(phase)
            before = life.map.calls
            life.finished = life.work(f"watched {number}")
            worked = life.map.calls - before
            if number:
                life.wait_archived()
            note("goal")
            calls["goal"] = worked  # without those of asking and asking
            before = life.map.calls
            assert life.site.down() == 0
            note("stop", before)
        assert life.map.lost == 0
        promises.nothing_left(life.site)
    finally:
        life.close()
    return places, calls


def choose(places, calls):
    found = [Point(phase, BEFORE, p) for phase, here in places.items() for p in here]
    for phase, here in places.items():
        for number, p in enumerate(here):
            if harness.FULL or p.call.startswith("posix_spawn") or number % 4 == 0:
                found.append(Point(phase, AFTER, p))
            if p.call in DIVISIBLE:
                found.append(Point(phase, HALF, p))
    whole = calls["start"] + calls["goal"] + calls["stop"]
    if harness.FULL:
        found += [Point(phase, BEFORE, call=n) for phase, last in (("new", calls["new"]), ("start", whole))
                  for n in range(1, last + 1)]
    else:
        rng = random.Random(SEED)
        found += [Point("start", rng.choice((BEFORE, AFTER, HALF)), call=rng.randint(1, whole))
                  for _ in range(RANDOM_CALLS)]
    return found


def groups(points):
    """Each group is one site's: it begins with a death in the first start, if there is one left."""
    first = [p for p in points if p.phase == "new"]
    later = [p for p in points if p.phase != "new"]
    n = max(len(first), -(-len(points) // POINTS_PER_SITE))
    made = [[first[i]] if i < len(first) else [] for i in range(n)]
    for i, p in enumerate(later):
        made[i % n].append(p)
    return made


def run_group(points):
    """{point: None, or what went wrong}, and the points that were survived."""
    results, survived, life = {}, [], None
    try:
        for p in points:
            try:
                if not life:
                    life = Life()
                    if p.phase != "new":
                        life.settle()
                died = life.die(p)
                if not died and p.place:
                    # Passed once in the life of a store, and this one's time is over.
                    life.end()
                    life.close()
                    life = Life()
                    life.settle()
                    died = life.die(p)
                if not died:
                    survived.append(p)
                if p is points[-1]:
                    life.end()
                results[p] = None
            except Exception as e:  # pylint: disable=broad-except
                log = life.site.daemon_log()[-3000:] if life and life.site.log else ""
                where = p.place.text if p.place else ""
                results[p] = f"{p.name}: {type(e).__name__}: {e}\n{where}\n{log}"
                if life:
                    life.close()
                life = None
    finally:
        if life:
            life.close()
    return results, survived


class Syscalls(unittest.TestCase):
    jobs = {}  # point -> the job that it is part of
    begun = time.monotonic()

    def judge(self, point):
        wrong = self.jobs[point].result()[0][point]
        if wrong:
            self.fail(wrong)

    def test_zz_that_it_died(self):
        """Timing decides about a few places and calls; most must have been the end of a daemon."""
        jobs = set(self.jobs.values())
        survived = [p for j in jobs for p in j.result()[1]]
        print(f"{len(self.jobs)} points in {len(jobs)} sites, {time.monotonic() - self.begun:.0f} s, "
              f"{len(survived)} not reached: {[p.name for p in survived]}", file=sys.stderr)
        self.assertLessEqual(len(survived), len(self.jobs) // 20)


class NotHere(unittest.TestCase):
    @unittest.skip("a build with sanitizers has wrappers of its own around the same calls")
    def test_syscalls(self):
        pass


def load_tests(loader, tests, pattern):
    del tests, pattern
    if harness.SANITIZED:
        return loader.loadTestsFromTestCase(NotHere)
    places, calls = watch()
    print(f"places: { {k: len(v) for k, v in places.items()} }, calls: {calls}", file=sys.stderr)
    assert sum(map(len, places.values())) >= 80, "hardly a place was passed: is the module loaded?"
    points = choose(places, calls)
    only = os.environ.get("OV_CRASH_ONLY")
    if only:
        points = [p for p in points if only in p.name]
    else:
        points = points[harness.turn() % ONE_IN::ONE_IN]
    beside = promises.Beside()
    for group in groups(points):
        job = beside.start(run_group, group)
        Syscalls.jobs.update((p, job) for p in group)
    suite = unittest.TestSuite()
    for number, point in enumerate(points):
        name = "test_%04d_%s" % (number, "".join(c if c.isalnum() else "_" for c in point.name))
        setattr(Syscalls, name, lambda self, at=point: self.judge(at))
        suite.addTest(Syscalls(name))
    suite.addTest(Syscalls("test_zz_that_it_died"))
    return suite


if __name__ == "__main__":
    unittest.main(verbosity=2)
