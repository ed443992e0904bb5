#!/usr/bin/env python3
"""The table of failures: the store, the configuration and the folder (rows 20 to 23)."""

import glob
import os
import signal
import subprocess
import sqlite3
import sys
import unittest

from row import row
from guarded import GATED, GuardedCase

from harness import CLI, PATIENCE, RpcError, plan, task

CAPABILITIES = "-dac_override,-dac_read_search"  # by which root passes all permissions


class Store(GuardedCase):
    def at_work(self, site):
        """A watched daemon with a goal whose agent waits: (watchdog, gate, goal)."""
        gate = site.gate("g")
        watch = self.watch(site)
        watch.wait_act("healthy")
        goal = site.call("goal.create", title="Test", plan=plan(task("T1"), task("T2", ["T1"])))["goal"]
        gate.wait()
        site.wait_type("run.started")
        return watch, gate, goal

    def finish(self, site, gate, goal):
        gate.go(2)
        ended = site.wait_goal(goal)
        self.assertEqual(self.subjects(site), ["Task T1", "Task T2"])
        return ended

    @row("20")
    def test_20_corruption(self):
        site = self.guarded_site(GATED)
        watch, gate, goal = self.at_work(site)
        site.cli("down")
        watch.wait_act("waiting")
        db = sqlite3.connect(os.path.join(site.dir, "store.db"))
        with db:
            last = db.execute("SELECT max(seq) FROM log").fetchone()[0]
            db.execute("UPDATE log SET body = 'x' WHERE seq = ?", (last,))
            db.execute("DELETE FROM snapshot")
        db.close()
        site.cli("up")
        self.injected()
        # Safe mode is no failure: nothing is written, everything can be read, and it says what to do.
        watch.wait_act("degraded")
        self.assertIn("SAFE MODE", site.cli("status"))
        with self.assertRaises(RpcError) as refused:
            site.call("goal.create", title="no")
        self.assertIn("doctor --rebuild", refused.exception.next)
        site.cli("down")
        site.cli("doctor", "--rebuild")
        site.cli("up")
        watch.wait_act("adopted", 2)
        self.recovered(self.finish(site, gate, goal))
        self.assertEqual((self.failures(watch), self.remedies(site)), ([], 0))
        self.assertEqual(len(glob.glob(os.path.join(site.dir, "store.corrupt-*.db"))), 1)

    @row("20a")
    def test_20a_overwritten(self):
        """As a test does that takes the repository's store for its own."""
        site = self.guarded_site(GATED, 'cd repo/.overseer\nrm -f store.db store.db-wal store.db-shm\nmv store.lost-*.db store.db\n')
        watch, gate, goal = self.at_work(site)
        self.injected()
        os.unlink(os.path.join(site.dir, "store.db"))
        site.write(".overseer/store.db", "what a test made of it\n")
        watch.wait_act("healthy", 2)
        self.assertEqual((self.failures(watch), self.remedies(site)), (["health"], 1))
        failed = watch.acts("failed")[0]["text"]
        self.assertIn("store.db", failed)
        self.assertIn("store.lost-", site.home("prompt"))
        # The agent has noticed nothing of it.
        self.recovered(self.finish(site, gate, goal))

    @row("21")
    def test_21_config(self):
        """A start on a broken configuration; one that runs is not harmed by it."""
        site = self.guarded_site(GATED, "cp good.toml repo/.overseer/config.toml\n", start_command="sh $HOME/start.sh")
        good = site.read(".overseer/config.toml")
        site.write("../good.toml", good)
        # As if somebody saved it half-way in this moment.
        site.write("../start.sh", '[ -e "$HOME/mended" ] || echo "[workers" > .overseer/config.toml\n'
                   'exec overseer up --foreground\n')
        self.injected()
        watch, gate, goal = self.at_work(site)
        self.recovered(site.wait_type("daemon.started"))
        self.assertEqual((self.failures(watch), self.remedies(site)), (["died"], 1))
        prompt = site.home("prompt")
        self.assertIn("config.toml", prompt)
        self.assertIn("manual_intervention_needed_", prompt)
        site.configure("[workers\n")
        self.assertIn("config.toml", site.cli("config", "reload", code=2))
        self.finish(site, gate, goal)
        self.assertEqual(len(watch.acts("failed")), 1)

    @row("22")
    def test_22_socket(self):
        """Nobody has to restart anything: it listens again."""
        site = self.guarded_site(GATED)
        watch, gate, goal = self.at_work(site)
        old = os.stat(site.socket).st_ino
        self.injected()
        os.unlink(site.socket)
        self.until(lambda: os.path.exists(site.socket) and os.stat(site.socket).st_ino != old, "it listens again")
        self.until(lambda: self.answers(site), "it answers")
        self.recovered()
        self.finish(site, gate, goal)
        self.assertEqual((self.failures(watch), self.remedies(site)), ([], 0))

    @staticmethod
    def answers(site):
        try:
            return site.seq()
        except OSError:
            return None

    @row("23")
    def test_23_permissions(self):
        site = self.guarded_site(GATED, "chmod 0700 repo/.overseer\n")
        watch, gate, goal = self.at_work(site)
        self.addCleanup(os.chmod, site.dir, 0o700)
        pid = self.daemon(site)["pid"]
        os.chmod(site.dir, 0)
        self.injected()
        done = subprocess.run([CLI, "status"], cwd=site.repo, env=site.env, capture_output=True, text=True, timeout=PATIENCE)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("ermission denied", done.stderr)
        os.kill(pid, signal.SIGKILL)
        self.until(lambda: os.stat(site.dir).st_mode & 0o700, watch.said)
        watch.wait_act("healthy", 2)
        self.recovered(self.finish(site, gate, goal))
        self.assertEqual(self.remedies(site), 1)


def without_privilege():
    """Runs this file again where permissions count, also for root."""
    os.environ["OV_PLAIN"] = "1"
    os.execvp("setpriv", ["setpriv", "--bounding-set", CAPABILITIES, "--inh-caps", CAPABILITIES, sys.executable, *sys.argv])


if __name__ == "__main__":
    if os.geteuid() == 0 and not os.environ.get("OV_PLAIN"):
        without_privilege()
    unittest.main(verbosity=2)
