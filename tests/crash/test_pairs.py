#!/usr/bin/env python3
"""kill -9 of the daemon at every step of an accept, and a user who does something to the repository before the next one.

Every pair of a step and an action: the work is on the target branch exactly once, after the gate has
passed on that very commit; where the user is in the way it waits until he is not; and nothing of his is
lost or changed. A part of the pairs by turns, others with each commit; all of them with OV_SOAK or
OV_CRASH_ALL. OV_CRASH_ONLY=TEXT takes only those whose name has it.
"""

import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "system"))
import harness  # noqa: E402
import promises  # noqa: E402
from harness import FAST, plan, task  # noqa: E402
from promises import T  # noqa: E402

ALL = harness.SOAK or bool(os.environ.get("OV_CRASH_ALL"))
ONLY = os.environ.get("OV_CRASH_ONLY", "")
ONE_IN = 40 if harness.SANITIZED else promises.one_in(20, 4, 20)

# Changes a file, adds one, removes one. Where the first of it was taken back, what comes then is good.
AGENT = r"""
echo "$OVERSEER_RUN" >> "$HOME/started"
mkdir -p work
echo "$OVERSEER_RUN" > "work/$OVERSEER_RUN.txt"
sed -i '1s/.*/of the agent/' README
git rm -q --ignore-unmatch old.txt
if [ -e "$HOME/good" ]; then echo good > T1.txt; else echo bad > T1.txt; fi
: > "$HOME/good"
git add -A && git commit -qm "work of $OVERSEER_NODE"
"""
# What passed the gate is written down. The user's checkout may be anywhere when the other one runs.
CONFIG = """
[accept]
dirty_wait = "100ms"
pre_accept_command = '''
test "$(git rev-parse HEAD)" = "$OVERSEER_COMMIT" && test ! -e old.txt && grep -q agent README || exit 1
echo "$OVERSEER_COMMIT" >> "$HOME/gated"
'''
post_accept_command = '! git show "$OVERSEER_COMMIT:T1.txt" | grep -q bad'
post_accept_on_failure = "revert"
"""
README = "hello\n" + "".join(f"line {n}\n" for n in range(10))

# In the order in which they are passed. Before MOVES the target has not moved; from TAKES_BACK on the
# work is found bad, taken back and made anew.
POINTS = ["begin-rebase", "git-rebase-fetched", "git-rebase-squashed", "git-rebase-kept", "git-rebase-followed",
          "end-rebase", "begin-gate", "before-gate", "during-gate", "after-gate", "end-gate", "begin-accept",
          "git-advance-moved", "end-accept", "begin-post", "before-post", "during-post", "after-post", "end-post",
          "begin-revert", "git-revert-made", "git-revert-moved", "end-revert"]
MOVES, TAKES_BACK = POINTS.index("git-advance-moved"), POINTS.index("begin-revert")


class Action:
    """What the user does; the base of all does nothing that is in the way."""

    blocks = False  # while it lasts, the target branch cannot be moved
    files = ()      # of the user, which stay as they are
    subjects = ()   # of his commits, which are on the target branch in the end

    def act(self, site):
        raise NotImplementedError

    def tidy(self, site):
        """Ends what is in the way, as a user would."""

    def commit(self, site):
        site.git("commit", "-qam", "of the user")
        self.subjects = ("of the user",)


class Commits(Action):
    def act(self, site):
        site.write("user.txt", "mine\n")
        site.git("add", "user.txt")
        self.commit(site)


class EditsWhatTheWorkChanges(Action):
    blocks = True
    files = ("README",)
    tidy = Action.commit

    def act(self, site):
        site.write("README", site.read("README") + "by the user\n")


class EditsAnother(Action):
    files = ("other.txt",)

    def act(self, site):
        site.write("other.txt", "changed by the user\n")


class Stages(Action):
    files = ("staged.txt",)

    def act(self, site):
        site.write("staged.txt", "by the user\n")
        site.git("add", "staged.txt")


class PutsOneInTheWay(Action):
    """A new file where the work, or taking it back, brings one of that name."""

    blocks = True

    def act(self, site):
        self.files = ("old.txt",) if os.path.exists(os.path.join(site.repo, "T1.txt")) else ("T1.txt",)
        site.write(self.files[0], "by the user\n")

    def tidy(self, site):
        os.rename(os.path.join(site.repo, self.files[0]), os.path.join(site.root, "kept"))


class Switches(Action):
    def act(self, site):
        site.git("checkout", "-qb", "feature")


class Detaches(Action):
    def act(self, site):
        site.git("checkout", "-q", "--detach")


class Renames(Action):
    def act(self, site):
        site.git("branch", "-m", "mine", "yours")


class RebasesHisOwn(Action):
    """In the middle of it there is a conflict."""

    def begin(self, site, branch, onto):
        site.git("checkout", "-q", branch)
        done = subprocess.run(["git", "rebase", "-q", onto], cwd=site.repo, env=site.env, capture_output=True, text=True)
        T.assertNotEqual(done.returncode, 0)
        T.assertIn("other.txt", done.stdout + done.stderr)

    def act(self, site):
        self.files = ("other.txt", ".git/rebase-merge/onto", ".git/rebase-merge/head-name")
        self.begin(site, "mine", "main")


class RebasesTheTarget(RebasesHisOwn):
    blocks = True

    def act(self, site):
        self.files = ("other.txt", ".git/rebase-merge/onto", ".git/rebase-merge/head-name")
        self.begin(site, "main", "mine")

    def tidy(self, site):
        site.git("rebase", "--abort")


class CollectsGarbage(Action):
    def act(self, site):
        site.git("gc", "--quiet", "--prune=now")


ACTIONS = [Commits, EditsWhatTheWorkChanges, EditsAnother, Stages, PutsOneInTheWay, Switches, Detaches, Renames,
           RebasesHisOwn, RebasesTheTarget, CollectsGarbage]


def users(site, files):
    """All that is the user's: where he is, his branches, what is uncommitted, and his files."""
    head = site.git("branch", "--show-current") or site.git("rev-parse", "HEAD")
    own = site.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/mine", "refs/heads/yours",
                   "refs/heads/feature", "refs/stash")
    return head, own, site.git("status", "--porcelain"), [site.read(name) for name in files]


def prepared(site):
    os.chmod(site.write("../agent.sh", "#!/bin/sh\n" + AGENT), 0o755)
    site.configure(FAST + site.agent_config() + CONFIG)
    site.write("README", README)
    site.write("old.txt", "old\n")
    site.write("other.txt", "first\n")
    site.git("add", ".")
    site.git("commit", "-qm", "files")
    site.git("checkout", "-qb", "mine")
    site.write("other.txt", "of the branch\n")
    site.git("commit", "-qam", "mine")
    site.git("checkout", "-q", "main")
    site.write("other.txt", "of main\n")
    site.git("commit", "-qam", "other")


def died(site, point):
    """A daemon that got as far as this; its goal."""
    site.up(OVERSEER_INJECT=point)
    goal = site.call("goal.create", title="pair", plan=plan(task("T1")))["goal"]
    T.assertEqual(site.ended(), -9, f"the daemon did not die at {point}")
    return goal


def on_target_once(site, action, took_back):
    tries = 2 if took_back else 1
    subjects = site.git("log", "--reverse", "--format=%s", "main").split("\n")[:-1]
    work = ["Task T1", 'Revert "Task T1"', "Task T1"] if took_back else ["Task T1"]
    T.assertEqual([s for s in subjects if s not in ("of the user", "start", "files", "other")], work)
    T.assertEqual([s for s in subjects if s == "of the user"], list(action.subjects))
    events = site.events()
    for kind, count in (("run.created", tries), ("node.accepted", tries), ("node.reverted", tries - 1)):
        T.assertEqual(len([e for e in events if e["type"] == kind]), count, f"{kind}: it happened once for each try")
    T.assertEqual(site.node("T1")["status"], "done")
    promises.runs_once(site, events)
    accepted = site.git("log", "--format=%H", "--grep=^Overseer-Accept: ", "main").split()
    T.assertLessEqual(set(accepted), set(promises.lines(site, "gated")), "what is on main did not pass the gate")
    T.assertEqual(site.git("show", "main:T1.txt"), "good\n")
    T.assertEqual(site.git("show", "main:README").split("\n")[0], "of the agent")
    T.assertNotIn("old.txt", site.git("ls-tree", "--name-only", "main").split())


def nothing_half(site):
    T.assertEqual(site.down(), 0)
    for name in ("MERGE_HEAD", "REVERT_HEAD", "CHERRY_PICK_HEAD"):
        T.assertFalse(os.path.exists(os.path.join(site.repo, ".git", name)), name)
    found = subprocess.run(["find", ".git", "-name", "overseer-following"], cwd=site.repo, capture_output=True, text=True)
    T.assertEqual(found.stdout, "")
    promises.work_kept(site)
    promises.nothing_left(site)


def pair(site, point, action):
    at = POINTS.index(point)
    took_back = at >= TAKES_BACK
    prepared(site)
    if not took_back:
        site.write("../good", "")
    goal = died(site, point)
    action.act(site)
    before = users(site, action.files)
    site.up()
    # After work that was taken back there comes a whole accept of what is made anew.
    waits = action.blocks and (at < MOVES or took_back)
    over = site.wait_event(lambda e: e["type"] == "goal.status" and e["data"]["to"] == "completed"
                           or e["type"] == "assignment.moved" and "waiting" in e["data"]
                           or e["type"] == "node.failed" and e["data"]["cause"] != "moved"
                           and not (took_back and e["data"]["cause"] == "post_accept"))
    T.assertEqual(over["type"], "assignment.moved" if waits else "goal.status")
    T.assertEqual(users(site, action.files), before)
    if waits:
        action.tidy(site)
        site.wait_goal(goal)
    on_target_once(site, action, took_back)
    nothing_half(site)


def run(point, action):
    site = harness.Site(leaks=False)
    try:
        pair(site, point, action())
    finally:
        site.close()


def chosen():
    """One in so many; which ones depends on the commit."""
    pairs = [(point, action) for point in POINTS for action in ACTIONS]
    if ALL or ONLY:
        return pairs
    return pairs[harness.turn() % ONE_IN::ONE_IN]


class Pairs(unittest.TestCase):
    jobs = {}  # name of the test -> its job

    def judge(self, name):
        self.jobs[name].result()


def load_tests(loader, tests, pattern):
    del loader, tests, pattern
    beside, suite = promises.Beside(), unittest.TestSuite()
    for point, action in chosen():
        user = re.sub("(?<!^)([A-Z])", r"_\1", action.__name__).lower()
        name = f"test_{re.sub('[^a-z0-9]', '_', point)}_and_the_user_{user}"
        if ONLY not in name:
            continue
        Pairs.jobs[name] = beside.start(run, point, action)
        setattr(Pairs, name, lambda self, name=name: self.judge(name))
        suite.addTest(Pairs(name))
    return suite


if __name__ == "__main__":
    unittest.main(verbosity=2)
