#!/usr/bin/env python3
"""A full disk and a read-only one: clear errors, nothing half-written, and it goes on when space returns.

The stores lie on small file systems of their own, mounted in a mount namespace of this test alone.
"""

import json
import os
import subprocess
import time
import unittest

import namespaces
from harness import FAST, PATIENCE, RpcError, Site, SiteCase, plan, task, wait_gone
from small_disk import Small, mount, private_mounts

COMMIT = r"""
echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "work of $OVERSEER_NODE"
"""
# Its work is done before the disk is full; it only ends while it is.
GATED = COMMIT + r"""
echo "$OVERSEER_RUN $$ $PPID" > "$HOME/g.here"
read x < "$HOME/g.go"
"""


@unittest.skipUnless(os.environ.get("OV_MOUNTS"), namespaces.MOUNTS)
class Disk(SiteCase):
    def small_site(self, where, agent=COMMIT, config=FAST + "[planner]\nfallback = false\n", size="6m"):
        """A site whose store alone ("store") or whose whole folder ("all") lies on a small disk."""
        site = Site("", agent)
        self.addCleanup(site.close)
        if where == "store":
            disk = Small(os.path.join(site.root, "small"), size)
            config += f'[store]\nurl = "sqlite:{disk.folder}/store.db"\n'
        else:
            disk = Small(site.dir, size)
        self.addCleanup(disk.close)
        site.configure(config + site.agent_config())
        return site, disk

    def until_refused(self, site, answered):
        """Writes until the store refuses; what it answered is added to `answered`. The error."""
        connection = site.connect()
        try:
            for number in range(10000):
                title = f"goal {len(answered)}"
                answered[connection.call("goal.create", title=title, problem_statement="x" * 4000)["goal"]] = title
            raise AssertionError("the disk does not fill up")
        except RpcError as e:
            return e
        finally:
            connection.close()

    def check_goals(self, site, answered):
        self.assertEqual({g["id"]: g["title"] for g in site.call("goal.list")["goals"]}, answered)

    def verify(self, site):
        """The log is whole, for the daemon and for a reader that opens it by itself."""
        events = site.events()
        self.assertEqual([e["seq"] for e in events], list(range(1, len(events) + 1)))
        site.down()
        seen, after = [], 0
        while True:
            answer, status = site.read_only("events.list", after=after, limit=1000)
            self.assertEqual(status, 0, answer)
            if not answer["result"]["events"]:
                break
            seen += answer["result"]["events"]
            after = answer["result"]["next_after"]
        self.assertEqual(seen[:len(events)], events)
        self.assertEqual([e["seq"] for e in seen], list(range(1, len(seen) + 1)))

    def failing(self, site, is_failing):
        status, _, body = site.http()
        self.assertEqual((status, json.loads(body)["ok"]), (503, False) if is_failing else (200, True))
        self.assertEqual(site.metrics()["overseer_store_failing"], is_failing)

    def beat(self, site, **wanted):
        """A beat that comes from now on and says this: the disk has nothing to do with it."""
        path = os.path.join(site.dir, "heartbeat")
        first, end = None, time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                with open(path, encoding="ascii") as f:
                    beat = json.load(f)
            except (FileNotFoundError, ValueError):  # not yet, or just being written
                continue
            first = first or beat["loop"]
            if beat["loop"] > first and wanted.items() <= beat.items():
                return
        raise AssertionError(f"no beat says {wanted}")

    def health(self, site):
        with open(os.path.join(site.dir, "health.jsonl"), encoding="utf-8") as f:
            return [json.loads(line)["kind"] for line in f]

    def full(self, where):
        site, disk = self.small_site(where)
        site.up(WATCHDOG_USEC="60000")
        self.beat(site, degraded=False)
        answered = {}
        answered[site.call("goal.create", title="before")["goal"]] = "before"
        self.failing(site, False)
        disk.fill()
        error = self.until_refused(site, answered)
        self.assertEqual(error.code, "E_IO")
        self.assertRegex(error.message, "full|space")
        self.failing(site, True)
        self.beat(site, degraded=True, due=False)
        self.assertRegex(site.call("status.get")["daemon"]["degraded"], "the store cannot be written: .*(full|space)")
        self.assertRegex(site.cli("status"), r"\nDEGRADED +the store cannot be written: ")
        seq = site.seq()
        for _ in range(5):
            with self.assertRaises(RpcError) as e:
                site.call("goal.create", title="refused", problem_statement="x" * 8000)
            self.assertEqual(e.exception.code, "E_IO")
        # Reading goes on, and sees exactly what was answered.
        self.check_goals(site, answered)
        self.assertEqual(site.seq(), seq)
        disk.free()
        answered[site.call("goal.create", title="after")["goal"]] = "after"
        self.failing(site, False)
        self.beat(site, degraded=False)
        self.assertIsNone(site.call("status.get")["daemon"]["degraded"])
        self.assertNotIn("DEGRADED", site.cli("status"))
        self.assertEqual(self.health(site), ["started", "degraded", "restored"])  # short lines: their page was there
        self.check_goals(site, answered)
        site.kill()
        site.up()
        self.check_goals(site, answered)
        self.verify(site)

    def test_full_store(self):
        self.full("store")

    def test_full_folder(self):
        self.full("all")

    def test_killed_while_full(self):
        """The next start on a full disk either works or says why; nothing answered is lost."""
        site, disk = self.small_site("all")
        site.up()
        answered = {}
        disk.fill()
        self.until_refused(site, answered)
        site.kill()
        said = site.start()
        if said == "ready\n":
            self.check_goals(site, answered)
            site.kill()
        else:
            self.assertTrue(said.startswith("error E_IO\n"), said)
            self.assertRegex(said, "full|space")
        disk.free()
        site.up()
        self.check_goals(site, answered)
        self.verify(site)

    def run_ends_while_full(self, client_first):
        """A run's end that could not be written is written later, without a restart."""
        site, disk = self.small_site("store", GATED)
        gate = site.gate("g")
        site.up()
        answered = {}
        goal = site.call("goal.create", title="Test", plan=plan(task("T1"), task("T2", ["T1"])))["goal"]
        answered[goal] = "Test"
        run, agent, shim = gate.wait().split()
        site.wait_type("run.started", run=run)
        disk.fill()
        self.until_refused(site, answered)
        gate.go()
        wait_gone(int(agent), int(shim))
        self.assertEqual(site.call("run.show", run=run)["status"], "running")
        # The daemon has tried to write it, in vain.
        while site.daemon_log().count("could not be written") < 2:
            site.call("status.get")
        follower = site.connect()
        self.addCleanup(follower.close)
        follower.call("events.follow")
        disk.free()
        if client_first:
            answered[site.call("goal.create", title="first")["goal"]] = "first"
        event = follower.event()
        while event["type"] != "run.ended":
            event = follower.event()
        self.assertEqual((event["run"], event["data"]["exit_code"]), (run, 0))
        gate.wait()
        gate.go()
        while event["type"] != "goal.status":
            event = follower.event()
        self.assertEqual((event["goal"], event["data"]["to"]), (goal, "completed"))
        self.failing(site, False)
        self.check_goals(site, answered)
        self.assertEqual(len(site.runs()), 2)
        self.assertEqual(site.git("log", "--format=%s", "main").split("\n").count("Task T1"), 1)
        self.verify(site)

    def test_run_ends_while_full(self):
        self.run_ends_while_full(False)

    def test_run_ends_while_full_and_a_client_writes_first(self):
        self.run_ends_while_full(True)

    def test_full_while_an_agent_works(self):
        """The folder of the runs is full too: output, exit record and all."""
        words = "words and more words\n" * 50000
        agent = COMMIT + r"""
echo "$OVERSEER_RUN $$ $PPID" > "$HOME/g.here"
read x < "$HOME/g.go"
cat "$HOME/words"
echo "spoken" > "$HOME/s.here"
"""
        site, disk = self.small_site("all", agent)
        site.write("../words", words)
        gate, spoken = site.gate("g"), site.gate("s")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        run, pid, _ = gate.wait().split()
        site.wait_type("run.started", run=run)
        disk.fill()
        gate.go()
        spoken.wait()  # it was not held up
        wait_gone(int(pid))
        self.assertEqual(site.call("status.get")["daemon"]["pid"], site.daemon.pid)
        disk.free()
        site.wait_goal(goal)
        record = site.call("run.show", run=run)
        self.assertEqual((record["exit_code"], record["lost"]), (0, False))
        self.assertEqual(record["output_bytes"] + record["dropped_bytes"], len(words))
        self.assertEqual(len(site.output(run)), record["output_bytes"])
        self.assertEqual(site.git("show", "main:T1.txt"), "T1\n")
        self.verify(site)

    def test_new_work_on_a_full_disk(self):
        """No room for a worktree: tried again, then a person is asked with the reason; unblocked, it goes on."""
        site, disk = self.small_site("all", config='[retry]\ndelays = ["10ms", "10ms", "10ms"]\n')
        os.makedirs(os.path.join(site.repo, "data"))
        site.write("data/large", "x" * 3000000)  # does not fit into what the store leaves
        site.git("add", "data")
        site.git("commit", "-qm", "large")
        disk.fill()
        # Room for the store, not for the worktree.
        with open(os.path.join(disk.folder, "ballast"), "r+b") as f:
            f.truncate(os.path.getsize(f.name) - 2000000)
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        asked = site.wait_type("escalation.opened")
        self.assertEqual(asked["data"]["kind"], "workspace")
        self.assertIn("unable to write file data/large", asked["data"]["question"])
        disk.free()
        site.call("work.update", node="T1", status="queued", reason="made room")
        site.wait_goal(goal)
        self.verify(site)

    def test_read_only_from_the_start(self):
        """No daemon starts on it, and it says why; reading works; writable again, everything goes on."""
        site, disk = self.small_site("all")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        site.wait_goal(goal)
        for node, end in (("T2", site.down), ("T3", site.kill)):
            events = site.events()
            end()
            mount("-o", "remount,ro", disk.folder)
            said = site.start()
            self.assertTrue(said.startswith("error E_IO\n"), said)
            self.assertIn("ead-only", said)
            answer, status = site.read_only("events.list", after=0, limit=1000)
            if end == site.down:
                self.assertEqual(status, 0, answer)
                self.assertEqual(answer["result"]["events"][:len(events)], events)
            else:  # a WAL that nobody closed cannot be read where nothing can be written
                self.assertIn(status, (0, 8), answer)
            mount("-o", "remount,rw", disk.folder)
            site.up()
            goal = site.call("goal.create", title="Test", plan=plan(task(node)))["goal"]
            site.wait_goal(goal)
        self.verify(site)

    def test_runs_become_read_only(self):
        """The folder turns read-only under a living daemon: new runs fail with the reason, and nothing is lost."""
        site, disk = self.small_site("store")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        site.wait_goal(goal)
        mount("--bind", site.dir, site.dir)
        mount("-o", "remount,bind,ro", site.dir)
        try:
            goal = site.call("goal.create", title="Test", plan=plan(task("T2")))["goal"]
            asked = site.wait_type("escalation.opened")
            self.assertIn("Read-only file system", asked["data"]["question"])
        finally:
            subprocess.run(["umount", "-l", site.dir], check=True)
        site.call("work.update", node="T2", status="queued", reason="writable again")
        site.wait_goal(goal)
        self.verify(site)


if __name__ == "__main__":
    if not os.environ.get("OV_MOUNTS"):
        private_mounts()
    unittest.main(verbosity=2)
