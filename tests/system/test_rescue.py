#!/usr/bin/env python3
"""What was rescued is listed with whose it is, shown, made a branch of, and let go by age and count only."""

import json
import os
import time
import unittest

from harness import FAST, PATIENCE, RpcError, SiteCase, plan, task

AGENT = r"""
if [ "$(cat "$HOME/mode")" = leave ]; then
    echo committed > committed.txt; git add committed.txt; git commit -qm "agent's own"
    echo staged > staged.txt; git add staged.txt
    echo loose > loose.txt
    echo here > "$HOME/work.here"; read x < "$HOME/work.go"
else
    echo done > "$OVERSEER_NODE.txt"; git add -A; git commit -qm "$OVERSEER_NODE"
fi
"""
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def ulid(ms, end):
    """An id that was made at a time."""
    text = ""
    for _ in range(10):
        text, ms = CROCKFORD[ms & 31] + text, ms >> 5
    return text + end.rjust(16, "0")


# Each leaves what its name says in the worktree, uncommitted or committed, and fails; "idle" does nothing and waits.
MAKERS = r"""
case $OVERSEER_NODE in
idle*) ;;
half*) echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt" ;;
full*) echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"; git add -A; git commit -qm "$OVERSEER_NODE" ;;
good*) echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"; git add -A; git commit -qm "$OVERSEER_NODE"; exit 0 ;;
esac
echo here > "$HOME/work.here"; read x < "$HOME/work.go"
exit 1
"""


class Whose(SiteCase):
    """A ref is listed with the task whose work it holds; git itself says whose that is."""
    maxDiff = None

    def makers(self, site, row):
        """The tasks whose files the ref has and the target branch has not."""
        base = site.git("merge-base", "main", row["commit"]).strip()
        names = site.git("diff", "--name-only", base, row["commit"]).split()
        return {name[:-len(".txt")] for name in names}

    def check(self, site):
        rows = site.call("rescue.list", limit=1000)["rescued"]
        run_of = {e["run"]: (e["goal"], e["node"], e["assignment"]) for e in site.events() if e["type"] == "run.created"}
        for row in rows:
            self.assertEqual(self.makers(site, row), {row["node"]}, row)
            self.assertEqual(run_of[row["run"]], (row["goal"], row["node"], row["assignment"]), row)
            self.assertGreater(row["files"], 0, row)
        for ref in site.git("for-each-ref", "--format=%(objectname)", "refs/overseer/rescue").split():
            self.assertNotIn(ref, site.git("rev-list", "main").split())
        self.assertEqual({r["ref"] for r in rows}, set(site.git("for-each-ref", "--format=%(refname)", "refs/overseer/").split()))
        return rows

    def test_work_is_filed_under_its_maker(self):
        site = self.site(FAST + "[workers]\nmax = 1\n", MAKERS)
        site.up()
        gate = site.gate("work")
        for name in ("half1", "full1", "idle1", "full2", "idle2", "half2"):
            goal = site.call("goal.create", title=name, plan=plan(task(name)))["goal"]
            gate.wait()
            seq = site.seq()
            if name in ("half1", "idle2"):  # is stopped, its work kept; the others are cancelled at work
                run = next(r for r in site.runs() if r["status"] == "running")
                site.call("run.stop", run=run["id"], reason="enough")
                site.wait_type("run.harvested", goal=goal)
            site.call("work.cancel", node=name, goal=goal, reason="no longer wanted")
            site.wait_type("worker.status", after=seq, to="idle")
            self.check(site)
        site.wait_goal(site.call("goal.create", title="good", plan=plan(task("good1")))["goal"])
        # What was in the worktree last is kept before the next use, and no good work is in the way.
        site.call("worker.reset", worker="pool-1", reason="clean")
        site.wait_event(lambda e: e["type"] == "effect.ended" and e["data"]["kind"] == "worker")
        rows = self.check(site)
        self.assertEqual({r["node"] for r in rows}, {"half1", "full1", "full2", "half2", "good1"})

    def test_refs_of_an_older_program(self):
        """Those of work that changed nothing are not listed; all of them can be shown, restored and pruned."""
        site = self.site(FAST, MAKERS)
        site.up()
        gate = site.gate("work")
        goal = site.call("goal.create", title="idle", plan=plan(task("idle1")))["goal"]
        gate.wait()
        run = next(r for r in site.runs() if r["status"] == "running")
        site.call("run.stop", run=run["id"], reason="enough")
        site.wait_type("run.harvested", goal=goal)
        self.assertEqual(site.call("rescue.list")["rescued"], [])
        stop = site.wait_event(lambda e: e["type"] == "effect.intended" and e["data"]["kind"] == "run_stop")["data"]["effect"]
        for ref in (f"rescue/pool-1/{stop}", f"accepted/{run['assignment_id']}"):
            site.git("update-ref", f"refs/overseer/{ref}", "main")
        self.assertEqual(site.call("rescue.list")["rescued"], [])
        self.assertEqual(site.call("rescue.show", id=stop)["node"], "idle1")
        self.assertEqual(site.call("rescue.restore", id=stop)["commit"], site.git("rev-parse", "main").strip())
        commit = site.git("commit-tree", "-m", "old", "-p", "main", "main^{tree}").strip()
        site.git("update-ref", f"refs/overseer/accepted/{run['assignment_id']}", commit)
        row, = site.call("rescue.list")["rescued"]
        self.assertEqual((row["node"], row["run"], row["worker"]), ("idle1", run["id"], ""))
        self.assertEqual(site.call("rescue.restore", id=row["id"])["commit"], commit)


class Rescue(SiteCase):
    maxDiff = None

    def refs(self, site):
        return set(site.git("for-each-ref", "--format=%(refname)", "refs/overseer/").split())

    def stopped(self, site):
        """A run with work of every kind was stopped; what the stop rescued."""
        gate = site.gate("work")
        site.write("../mode", "leave")
        goal = site.call("goal.create", title="Work", plan=plan(task("T1")))["goal"]
        gate.wait()
        site.call("run.stop", run=site.runs()[0]["id"], reason="enough")
        site.wait_event(lambda e: e["type"] == "assignment.moved" and e["data"]["to"] == "cancelled"
                        or e["type"] == "run.harvested")
        rows = site.call("rescue.list")["rescued"]
        stop = [r for r in rows if r["why"].startswith("work in progress")]
        self.assertEqual(len(stop), 1, rows)
        return goal, stop[0], rows

    def test_whole_life(self):
        config = FAST + '[rescue]\nkeep = "0s"\nkeep_count = 1\n'
        site = self.site(config, AGENT)
        site.up()
        # Where the remote's branch was is noted there, too, and is nobody's work.
        site.git("update-ref", "refs/overseer/remote/main", "main")
        self.assertIn("Nothing was rescued", site.cli("rescue", "list"))
        site.git("update-ref", "-d", "refs/overseer/remote/main")
        goal, row, rows = self.stopped(site)
        self.listed(site, goal, row, rows)
        self.shown(site, row)
        self.restored(site, row)
        self.pruned(site, goal, row)
        self.unreadable(site)

    def listed(self, site, goal, row, rows):
        self.assertEqual((row["goal"], row["node"], row["worker"]), (goal, "T1", "pool-1"))
        self.assertEqual((row["commits"], row["files"]), (3, 3))  # the agent's, the index, the folder
        self.assertTrue(row["ref"].startswith("refs/overseer/rescue/pool-1/"))
        self.assertEqual([r["at"] for r in rows], sorted((r["at"] for r in rows), reverse=True))
        text = site.cli("rescue", "list")
        self.assertIn(row["id"], text)
        self.assertRegex(text, r"pool-1 .*/T1 .*3 commits, 3 files .*before its run was stopped")
        self.assertEqual(len(site.call("rescue.list", limit=1)["rescued"]), 1)
        self.assertEqual(site.call("rescue.list", worker="pool-9")["rescued"], [])
        self.assertEqual(len(site.call("rescue.list", node=f"{goal}/T1")["rescued"]), len(rows))

    def shown(self, site, row):
        text = site.cli("rescue", "show", row["id"])
        for words in ("+committed", "+staged", "+loose", "agent's own", "3 files changed", row["run"]):
            self.assertIn(words, text)
        self.assertNotIn("+loose", site.cli("rescue", "show", "--stat", row["ref"]))
        error = site.cli("rescue", "show", "X_NOSUCH", code=3)
        self.assertIn("overseer rescue list", error)

    def restored(self, site, row):
        head = site.git("rev-parse", "HEAD")
        branch = json.loads(site.cli("rescue", "restore", row["id"], "--json"))["branch"]
        self.assertTrue(branch.startswith("rescue/pool-1-"), branch)
        for name in ("committed", "staged", "loose"):
            self.assertEqual(site.git("show", f"{branch}:{name}.txt"), f"{name}\n")
        self.assertEqual(site.git("rev-parse", "HEAD"), head)
        self.assertEqual(site.git("status", "--porcelain"), "")
        site.cli("rescue", "restore", row["id"])  # again is fine
        self.assertIn("exists", site.cli("rescue", "restore", row["id"], "--branch", "main", code=4))
        for bad in ("-x", "a..b", "a b"):
            with self.assertRaises(RpcError) as raised:
                site.call("rescue.restore", id=row["id"], branch=bad)
            self.assertEqual(raised.exception.code, "E_INVALID")
        site.cli("rescue", "restore", row["ref"], "--branch", "mine")
        self.assertEqual(site.git("rev-parse", "mine").strip(), row["commit"])

    def pruned(self, site, goal, row):
        """Of what is old, all but the newest of each node, and what the node goes on from."""
        old = int(time.time() * 1000) - 90 * 86400 * 1000
        start = site.git("rev-list", "--max-parents=0", "HEAD").strip()
        commit = site.git("-c", "user.name=x", "commit-tree", "-m", "old", f"{start}^{{tree}}", "-p", start).strip()
        site.git("update-ref", f"refs/overseer/rescue/pool-7/X_{ulid(old, 'A')}", start)
        site.git("update-ref", f"refs/overseer/rescue/pool-7/X_{ulid(old + 1, 'B')}", start)
        site.git("update-ref", f"refs/overseer/rescue/pool-8/X_{ulid(old, 'C')}", commit)
        # The work that was stopped is what the node goes on from; others use its worktree meanwhile.
        handover = site.node("T1", goal=goal)["handover"]
        self.assertEqual(site.git("show", f"{handover}:loose.txt"), "loose\n")
        site.write("../mode", "work")
        site.wait_goal(site.call("goal.create", title="Other", plan=plan(task("T2")))["goal"])
        needed = {r["ref"]: r for r in site.call("rescue.list")["rescued"] if r["needed"]}
        self.assertEqual({r["node"] for r in needed.values()}, {"T1"})
        before = self.refs(site)
        self.assertIn("would be removed", site.cli("rescue", "prune", "--dry-run"))
        self.assertEqual(self.refs(site), before)
        gone = json.loads(site.cli("rescue", "prune", "--json"))
        left = self.refs(site)
        self.assertEqual({r["ref"] for r in gone["rescued"]}, before - left)
        self.assertEqual((gone["removed"], gone["kept"]), (len(before) - len(left), len(left)))
        self.assertNotIn(f"refs/overseer/rescue/pool-7/X_{ulid(old, 'A')}", left)
        self.assertIn(f"refs/overseer/rescue/pool-7/X_{ulid(old + 1, 'B')}", left)
        self.assertLessEqual(set(needed), left)
        # What is done and replaced by something newer goes.
        site.call("work.cancel", node="T1", goal=goal, reason="test")
        site.wait_goal(goal, ("completed", "cancelled"))
        site.cli("rescue", "prune")
        self.assertNotIn(row["ref"], self.refs(site))
        self.assertTrue(any(r["node"] == "T1" for r in site.call("rescue.list")["rescued"]))
        self.assertEqual(json.loads(site.cli("rescue", "prune", "--json"))["removed"], 0)

    def unreadable(self, site):
        """Without the daemon, and without a store that can say whose things are."""
        site.down()
        self.assertIn("pool-1", site.cli("rescue", "list"))
        path = os.path.join(site.dir, "store.db")
        os.rename(path, path + ".away")
        before = self.refs(site)
        self.assertIn("could not be found out", site.cli("rescue", "list"))
        self.assertIn("nothing is pruned", site.cli("rescue", "prune", code=4))
        self.assertEqual(self.refs(site), before)
        os.rename(path + ".away", path)

    def test_ignored_files_up_to_a_size(self):
        """The smallest are kept; the others stay for the next task, and go with the worker."""
        agent = r"""
case $OVERSEER_NODE in
next) ls *.o > "$HOME/seen"; echo n > n.txt; git add -A; git commit -qm next; exit 0 ;;
esac
echo '*.o' >> .gitignore; git add .gitignore; echo w > w.txt; git add w.txt; git commit -qm work
head -c 300 /dev/zero > b.o; head -c 700 /dev/zero > a.o; head -c 5000 /dev/zero > c.o
"""
        site = self.site(FAST + '[workers]\nmax = 1\n[rescue]\nignored = "1KiB"\n', agent)
        site.up()
        site.wait_goal(site.call("goal.create", title="Work", plan=plan(task("T1")))["goal"])
        site.wait_goal(site.call("goal.create", title="Next", plan=plan(task("next")))["goal"])
        self.assertEqual(site.home("seen").split(), ["a.o", "b.o", "c.o"])
        site.call("worker.nuke", worker="pool-1", reason="enough")
        site.wait_type("worker.removed")
        kept = {name for ref in self.refs(site) for name in site.git("ls-tree", "-r", "--name-only", ref).split() if name.endswith(".o")}
        self.assertEqual(kept, {"a.o", "b.o"})
        self.assertEqual(set(site.git("ls-tree", "-r", "--name-only", "main").split()), {"README", ".gitignore", "w.txt", "n.txt"})

    def test_the_daemon_prunes_once_a_day(self):
        site = self.site(FAST + '[rescue]\nkeep = "0s"\nkeep_count = 1\n', AGENT)
        site.write("../mode", "work")
        site.write(".overseer/rescue-pruned", "2020-01-01T00:00:00.000Z")
        ref = "refs/overseer/rescue/pool-7/X_" + ulid(1600000000000, "A")
        site.git("update-ref", ref, "HEAD")
        site.git("update-ref", "refs/overseer/rescue/pool-7/X_" + ulid(1600000000001, "B"), "HEAD")
        site.up()
        site.wait_goal(site.call("goal.create", title="Work", plan=plan(task("T1")))["goal"])
        end = time.monotonic() + PATIENCE
        while ref in self.refs(site) and time.monotonic() < end:
            site.call("rescue.list")  # takes its time, as the pruning does
        self.assertNotIn(ref, self.refs(site))
        self.assertNotIn("2020", site.read(".overseer/rescue-pruned"))
        # Not again on the same day.
        site.git("update-ref", ref, "HEAD")
        site.wait_goal(site.call("goal.create", title="More", plan=plan(task("T2")))["goal"])
        site.call("rescue.list")
        self.assertEqual(site.down(), 0)
        self.assertIn(ref, self.refs(site))


if __name__ == "__main__":
    unittest.main()
