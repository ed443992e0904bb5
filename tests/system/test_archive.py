#!/usr/bin/env python3
"""Archived goals: their events go to a file of their own, and everything is read as before."""

import json
import os
import sqlite3
import subprocess
import time
import unittest

from harness import CLI, FAST, PATIENCE, RpcError, SiteCase, plan, task

COMMIT = r"""
echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "work of $OVERSEER_NODE"
"""
MANY = 1300  # more than two steps of the move
OFF = "[store]\narchive = false\n"


class Archive(SiteCase):
    leaks = False

    def rows(self, site, name="store.db"):
        """First and last record of a file, and how many it has."""
        path = os.path.join(site.dir, name)
        if not os.path.exists(path):
            return None, None, 0
        db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=PATIENCE)
        try:
            return db.execute("SELECT min(seq), max(seq), count(*) FROM log").fetchone()
        except sqlite3.OperationalError:
            return None, None, 0  # just being made
        finally:
            db.close()

    def border(self, site):
        db = sqlite3.connect(f"file:{os.path.join(site.dir, 'store.db')}?mode=ro", uri=True, timeout=PATIENCE)
        try:
            return db.execute("SELECT seq FROM checkpoint").fetchone()[0]
        finally:
            db.close()

    def until(self, condition, site):
        """Asks again and again; each question is a turn of the daemon's loop."""
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end, site.daemon_log()[-4000:])
            site.call("status.get")

    def cli(self, site, *args, status=0):
        done = subprocess.run([CLI, "--dir", site.dir, *args], env=site.env, cwd=site.root, capture_output=True,
                              text=True, timeout=120)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def completed(self, config="", many=MANY):
        """A site with a completed goal and many other events, and what is told about the goal."""
        site = self.site(FAST + config, COMMIT)
        site.up()
        goal = site.call("goal.create", title="work", plan=plan(task("T1"), task("T2", ["T1"])))["goal"]
        site.wait_goal(goal)
        connection = site.connect()
        for number in range(many):
            connection.call("goal.create", title=f"goal {number}")
        connection.close()
        return site, goal

    def told(self, site, goal):
        moment = site.call("goal.show", goal=goal)["created_at"]
        return {
            "events": [e for e in site.call("events.list", goal=goal, after=0, limit=1000)["events"]
                       if e["data"].get("to") != "archived"],
            "explain": site.call("explain.get", id="T1", goal=goal),
            "history": site.call("goal.history", goal=goal, at=moment),
            "log": json.loads(self.cli(site, "export"))["events"][:1000],
        }

    def assert_moved(self, site, goal):
        to = site.call("goal.show", goal=goal)["archived_seq"]
        self.until(lambda: self.border(site) == to, site)
        rest = site.seq() - to
        self.assertEqual(self.rows(site), (to + 1, to + rest, rest) if rest else (None, None, 0))
        self.assertEqual(self.rows(site, "archive.db"), (1, to, to))

    def test_killed_in_the_middle(self):
        site, goal = self.completed()
        before = self.told(site, goal)
        total = self.rows(site)[2]
        self.cli(site, "goal", "archive", goal)
        self.until(lambda: self.rows(site, "archive.db")[2] > 0, site)
        site.kill()
        moved = self.rows(site, "archive.db")[2]
        self.assertGreater(moved, 0)
        self.assertLess(moved, total)
        site.up()
        self.assert_moved(site, goal)
        self.assertGreater(self.rows(site, "archive.db")[2], total)
        for _ in range(2):
            now = self.told(site, goal)
            self.assertEqual([key for key in before if now[key] != before[key]], [])
            self.assertIn("of them in the archive", self.cli(site, "doctor"))
            self.assertEqual(site.down(), 0)
            self.assertEqual(site.read_only("goal.show", goal=goal)[0]["result"]["status"], "archived")
            self.assertIn("of them in the archive", self.cli(site, "doctor"))
            site.up()
        self.assertNotIn(goal, [g["id"] for g in site.call("goal.list")["goals"]])
        self.assertEqual([g["id"] for g in site.call("goal.list", status="archived")["goals"]], [goal])
        self.assertIn("and 1 archived", self.cli(site, "goal", "list"))
        # A backup stands alone.
        made = site.call("store.backup")
        db = sqlite3.connect(f"file:{made['file']}?immutable=1", uri=True)
        self.assertEqual(db.execute("SELECT count(*), min(seq), max(seq) FROM log").fetchone(),
                         (made["last_seq"], 1, made["last_seq"]))
        self.assertEqual(db.execute("SELECT seq FROM checkpoint").fetchone()[0], 0)
        db.close()

    def test_switched_off_and_on(self):
        site, goal = self.completed(OFF, many=5)
        site.call("goal.archive", goal=goal)
        site.down()
        self.assertFalse(os.path.exists(os.path.join(site.dir, "archive.db")))
        with open(os.path.join(site.dir, "config.toml"), encoding="utf-8") as f:
            site.configure(f.read().replace(OFF, ""))
        site.up()
        self.assert_moved(site, goal)

    def test_missing(self):
        site, goal = self.completed(many=5)
        site.call("goal.archive", goal=goal)
        self.assert_moved(site, goal)
        site.down()
        archive, away = (os.path.join(site.dir, "archive.db"), os.path.join(site.root, "away.db"))
        os.rename(archive, away)
        site.up()
        site.call("goal.create", title="goes on")
        self.assertEqual(site.call("goal.show", goal=goal)["status"], "archived")
        with self.assertRaises(RpcError) as e:
            site.call("events.list", after=0)
        self.assertEqual(e.exception.code, "E_UNAVAILABLE")
        self.assertIn("archive.db is missing", e.exception.message)
        self.assertIn("put it back", e.exception.next)
        self.assertFalse(site.call("status.get")["safe_mode"])
        site.down()
        self.assertIn("archive.db is missing", self.cli(site, "doctor", status=4))
        self.assertIn("archive.db is missing", self.cli(site, "doctor", "--rebuild", status=7))
        self.assertFalse(os.path.exists(archive))
        os.rename(away, archive)
        self.cli(site, "doctor")

    def test_wrong(self):
        site, goal = self.completed(many=5)
        site.call("goal.archive", goal=goal)
        self.assert_moved(site, goal)
        made = site.call("store.backup")["last_seq"]
        site.down()
        db = sqlite3.connect(os.path.join(site.dir, "archive.db"))
        with db:
            db.execute("UPDATE log SET body = 'x' WHERE seq = 4")
        db.close()
        site.up()
        self.until(lambda: site.call("status.get")["safe_mode"], site)
        self.assertIn("broken at seq 4", site.call("status.get")["safe_mode"]["reason"])
        site.down()
        self.assertIn("broken at seq 4", self.cli(site, "doctor", status=4))
        # The backup reaches further than what is good of the store: it is one file again.
        self.cli(site, "doctor", "--rebuild")
        self.assertEqual(self.rows(site), (1, made, made))
        self.assertFalse(os.path.exists(os.path.join(site.dir, "archive.db")))
        site.up()
        self.assert_moved(site, goal)


if __name__ == "__main__":
    unittest.main(verbosity=2)
