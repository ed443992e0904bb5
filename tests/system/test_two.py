#!/usr/bin/env python3
"""One store, one daemon: the second refuses and names the first; a dead one's lock is taken over."""

import fcntl
import hashlib
import json
import os
import select
import socket
import unittest

from harness import FAST, SANITIZED, SiteCase, plan, task

COMMIT = r"""
echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "work of $OVERSEER_NODE"
"""


def fingerprint(folder):
    """Every file below a folder: its bytes, size, mode and times.

    After a kill SQLite leaves store.db-shm, an index of the WAL with the marks of its readers:
    it holds nothing that is not in the WAL, and reading means writing one's mark.
    """
    found = {}
    for root, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(root, name)
            if name == "store.db-shm":
                continue
            st = os.lstat(path)
            data = b""
            if name in files and not os.path.islink(path) and not (st.st_mode & 0o170000) == 0o140000:
                with open(path, "rb") as f:
                    data = f.read()
            found[os.path.relpath(path, folder)] = (
                st.st_mode, st.st_size, st.st_mtime_ns, hashlib.sha256(data).hexdigest())
    return found


class Two(SiteCase):
    maxDiff = None

    def second(self, site):
        """Starts another daemon on the site: (what it said, its exit status)."""
        process, ready = site.popen()
        said = site.hear(ready)
        return said, process.wait()

    def test_second_is_refused(self):
        site = self.site(FAST, COMMIT)
        site.up()
        me = site.call("status.get")["daemon"]
        before, seq = site.daemon_json(), site.seq()
        for _ in range(1 if SANITIZED else 3):
            said, status = self.second(site)
            lines = said.split("\n")
            self.assertEqual((lines[0], status), ("error E_CONFLICT", 4))
            self.assertIn(f"pid {me['pid']} ", lines[1])
            self.assertIn(me["instance"], lines[1])
            self.assertIn("overseer down", lines[2])
        self.assertEqual(site.daemon_json(), before, "the first one's registration stays")
        self.assertEqual(site.seq(), seq)
        self.assertEqual(site.call("status.get")["daemon"]["instance"], me["instance"])

    def test_second_by_another_name_of_the_folder(self):
        site = self.site(FAST, COMMIT)
        site.up()
        os.symlink(site.dir, os.path.join(site.root, "alias"))
        real, site.dir = site.dir, os.path.join(site.root, "alias")
        said, status = self.second(site)
        site.dir = real
        self.assertEqual((said.split("\n")[0], status), ("error E_CONFLICT", 4))

    def test_lock_of_a_dead_daemon_is_taken_over(self):
        site = self.site(FAST, COMMIT)
        site.up()
        old = site.daemon_json()
        site.kill()
        self.assertTrue(os.path.exists(site.socket), "what the dead one left is still there")
        self.assertEqual(site.daemon_json(), old)
        site.up()
        new = site.daemon_json()
        self.assertNotEqual(new["instance_id"], old["instance_id"])
        self.assertEqual(new["pid"], site.daemon.pid)
        started = [e["data"]["instance"] for e in site.events() if e["type"] == "daemon.started"]
        self.assertEqual(started, [old["instance_id"], new["instance_id"]])
        self.assertEqual(site.down(), 0)
        self.assertEqual(sorted(set(os.listdir(site.dir)) & {"daemon.json", "overseer.sock"}), [])

    def left_behind(self):
        """A site whose daemon was killed, and its lock still held: as by a child that it was just about to start."""
        site = self.site(FAST, COMMIT)
        site.up()
        dead = site.daemon.pid
        site.kill()
        lock = os.open(os.path.join(site.dir, "store.db.lock"), os.O_RDWR | os.O_CLOEXEC)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return site, dead, lock

    def test_what_is_left_of_a_dead_daemon_is_waited_for(self):
        site, dead, lock = self.left_behind()
        site.daemon, ready = site.popen()
        waits = f"waiting for what is left of the daemon that held this store: pid {dead} "
        while waits not in site.daemon_log():
            self.assertEqual(select.select([ready], [], [], 0.01)[0], [], "it said something already")
        os.close(lock)
        self.assertEqual(site.hear(ready), "ready\n", site.daemon_log())
        self.assertEqual(site.daemon_json()["pid"], site.daemon.pid)

    def test_what_is_left_of_a_dead_daemon_does_not_end(self):
        site, dead, lock = self.left_behind()
        said, status = self.second(site)
        lines = said.split("\n")
        self.assertEqual((lines[0], status), ("error E_CONFLICT", 4))
        self.assertRegex(lines[1], rf"the daemon that held this store is gone, pid {dead} \(.*\), "
                                   "but a process that is left of it still has the lock")
        self.assertIn("fuser", lines[2])
        os.close(lock)
        site.up()

    def test_stale_files_are_replaced(self):
        """Registration and socket of nobody, whatever they hold."""
        site = self.site(FAST, COMMIT)
        site.write(".overseer/daemon.json", '{"pid": 1, "instance_id": "nobody"')
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(site.socket)
        site.up()
        self.assertEqual(site.daemon_json()["pid"], site.daemon.pid)
        self.assertEqual(site.call("status.get")["daemon"]["pid"], site.daemon.pid)
        self.assertEqual(os.stat(site.socket).st_mode & 0o777, 0o600)

    def test_something_else_at_the_socket_path(self):
        site = self.site(FAST, COMMIT)
        site.write(".overseer/overseer.sock", "a file of the user's")
        said = site.start().split("\n")
        self.assertTrue(said[0].startswith("error E_"), said)
        self.assertIn("overseer.sock", said[1])
        self.assertEqual(site.read(".overseer/overseer.sock"), "a file of the user's")

    def test_two_at_the_same_moment(self):
        """Exactly one wins, round after round, also after the last winner was killed."""
        site = self.site(FAST, COMMIT)
        for number in range(2 if SANITIZED else 10):
            both = [site.popen(), site.popen()]
            said = [site.hear(ready) for _, ready in both]
            winners = [i for i in (0, 1) if said[i] == "ready\n"]
            for process, _ in both:
                if len(winners) != 1:
                    process.kill()
            self.assertEqual(len(winners), 1, said)
            site.daemon, loser = both[winners[0]][0], both[1 - winners[0]][0]
            self.assertEqual(loser.wait(), 4)
            self.assertIn("error E_CONFLICT", said[1 - winners[0]])
            self.assertEqual(site.call("status.get")["daemon"]["pid"], site.daemon.pid)
            self.assertEqual(site.daemon_json()["pid"], site.daemon.pid)
            if number % 2:
                site.kill()
            else:
                self.assertEqual(site.down(), 0)

    def finished(self):
        site = self.site(FAST, COMMIT)
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        site.wait_goal(goal)
        return site, goal

    def reads(self, goal, run):
        return [("status.get", {}), ("goal.list", {}), ("goal.show", {"goal": goal}), ("plan.show", {"goal": goal}),
                ("work.list", {}), ("work.show", {"node": "T1"}), ("run.list", {}), ("run.show", {"run": run}),
                ("run.log", {"run": run}), ("events.list", {"after": 0, "limit": 1000}), ("explain.get", {"id": "T1"}),
                ("config.show", {})]

    def test_read_only_says_the_same(self):
        """With the daemon up and with it down; it changes no byte of the store's folder."""
        site, goal = self.finished()
        run = site.runs()[0]["id"]

        def plain(method, answer):
            answer = json.loads(json.dumps(answer))
            if method == "status.get":
                self.assertIsInstance(answer.pop("daemon"), dict)
            return answer

        for method, params in self.reads(goal, run):
            answer, status = site.read_only(method, **params)
            self.assertEqual(status, 0, answer)
            self.assertEqual(plain(method, answer["result"]), plain(method, site.call(method, **params)), method)
        for end in (site.down, site.kill):
            want = {method: plain(method, site.call(method, **params)) for method, params in self.reads(goal, run)}
            end()
            before = fingerprint(site.dir)
            for method, params in self.reads(goal, run):
                answer, status = site.read_only(method, **params)
                self.assertEqual(status, 0, answer)
                if method == "status.get":
                    self.assertTrue(answer["result"]["daemon"]["read_only"])
                    self.assertIsNone(answer["result"]["daemon"]["pid"])
                if end == site.kill or method not in ("status.get", "events.list"):
                    self.assertEqual(plain(method, answer["result"]), want[method], method)
            self.assertEqual(fingerprint(site.dir), before)
            site.up()

    def test_read_only_refuses_to_write(self):
        site, goal = self.finished()
        site.down()
        before = fingerprint(site.dir)
        for method, params in (("goal.create", {"title": "x"}), ("plan.apply", {"goal": goal, "plan": {}}),
                               ("work.update", {"node": "T1", "status": "done", "reason": "x"}),
                               ("tick.now", {}), ("events.follow", {}), ("config.reload", {}), ("daemon.stop", {})):
            answer, status = site.read_only(method, **params)
            self.assertEqual((answer["error"]["data"]["code"], status), ("E_UNAVAILABLE", 7), method)
            self.assertEqual(answer["error"]["data"]["next"], "overseer up")
        answer, status = site.read_only("work.show", node="T9")
        self.assertEqual((answer["error"]["data"]["code"], status), ("E_NOT_FOUND", 3))
        answer, status = site.read_only("work.shwo", node="T9")
        self.assertIn("work.show", answer["error"]["message"])
        self.assertEqual(fingerprint(site.dir), before)

    def test_read_only_without_a_store(self):
        site = self.site(FAST, COMMIT)
        before = fingerprint(site.dir)
        answer, status = site.read_only("status.get")
        self.assertEqual(status, 3, answer)
        self.assertEqual(answer["error"]["data"]["code"], "E_NOT_FOUND")
        self.assertEqual(fingerprint(site.dir), before)


if __name__ == "__main__":
    unittest.main(verbosity=2)
