#!/usr/bin/env python3
"""A daemon that cannot go on: it says why, asks its agents to stop, keeps everything, and ends with its status."""

import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
import unittest

from harness import FAST, PATIENCE, RpcError, SiteCase, plan, task, wait_gone
from spoken import SCRIPT, SESSION, Spoken, claude_init, claude_result, config

POOL = r"""#!/bin/sh
cd "$HOME" || exit 9
[ -e broken ] && { rm broken; echo "the tracker is down" >&2; exit 3; }
[ -e given ] && exit 4
echo x > given
echo "The only task"
"""
QUICK = FAST + """
[auto]
task_pool_command = "sh $HOME/pool.sh"
concurrency = 2
pool_wait = "30ms"
pool_wait_max = "30ms"
task_pool_retries = 0
task_pool_on_failure = "fail"
"""
# It writes a file, and takes its time to end when it is asked to.
STUBBORN = r"""
echo half > half.txt
trap 'echo asked >> "$HOME/asked"; exit 0' INT TERM
echo $$ > "$HOME/g.here"
while :; do read x < "$HOME/g.go" && break; done
echo whole > half.txt
git add -A && git commit -qm "work"
"""


class Hard(SiteCase):
    def auto_site(self, agent, more=""):
        site = self.site(QUICK + more, agent)
        site.args = ["--auto"]
        site.write("../pool.sh", POOL)
        return site

    def health(self, site):
        return [json.loads(line) for line in site.read(".overseer/health.jsonl").splitlines()]

    def test_sessions_go_on_with_the_next_daemon(self):
        site = self.auto_site(SCRIPT)
        site.configure(QUICK + config(site.root))
        agent = Spoken(site)
        site.up()
        first = agent.up()
        agent.say(claude_init())
        site.wait_type("run.session", run=first)
        agent.sh("echo half > half.txt")
        site.write("../broken", "")
        self.assertEqual(site.ended(), 20)
        log = site.daemon_log()
        for words in ("the daemon cannot go on (auto): the task pool's command failed: it gave up (exit status 3)",
                      "command: sh $HOME/pool.sh", "output: the tracker is down", "worker: auto-2"):
            self.assertIn(words, log)
        failed = [line for line in self.health(site) if line["kind"] == "failed"]
        self.assertEqual(len(failed), 1)
        self.assertIn("the tracker is down", failed[0]["text"])
        self.assertEqual(site.live_pids(), [])
        self.assertEqual(site.read(".overseer/worktrees/auto-1/half.txt"), "half\n")
        # Whoever looks finds why; whoever mends it and starts it again has lost nothing.
        site.up()
        second = agent.up()
        self.assertIn(f"--resume={SESSION}", agent.argv()[1])
        self.assertIn("through no fault of yours", site.home("prompt.2"))
        self.assertNotEqual(first, second)
        agent.say(claude_init())
        agent.sh("cat half.txt > whole.txt; git add -A; git commit -qm work")
        agent.say(claude_result())
        agent.end()
        site.wait_type("node.status", node="t1", to="done")
        events = site.events()
        self.assertEqual([e for e in events if e["type"] == "node.failed"], [])
        told = [e["data"] for e in events if e["type"] == "escalation.opened"]
        self.assertEqual([x["kind"] for x in told], ["auto"])
        for words in ("overseer up --auto", "command: sh $HOME/pool.sh", "its last output: the tracker is down"):
            self.assertIn(words, told[0]["question"])
        self.assertEqual(len([e for e in events if e["type"] == "escalation.closed"]), 1)
        self.assertEqual(site.git("show", "main:whole.txt"), "half\n")

    def test_a_deaf_agent_does_not_hold_it_up(self):
        site = self.auto_site("", '[supervisor]\ndrain_timeout = "200ms"\ninterrupt_grace = "0s"\nstop_grace = "1h"\n')
        site.write("../agent.sh", "#!/bin/sh\n" + STUBBORN.replace("exit 0", ":"))
        gate = site.gate("g")
        site.up()
        pid = int(gate.wait())
        site.write("../broken", "")
        self.assertEqual(site.ended(), 20)
        self.assertIn("not everything under way came to an end in time", site.daemon_log())
        # It was asked, it lives, and the next daemon knows that it is to stop.
        site.up()
        site.wait_event(lambda e: e["type"] == "effect.ended" and e["data"]["kind"] == "run_stop")
        os.kill(pid, signal.SIGKILL)
        wait_gone(pid)
        again = int(gate.wait())
        self.assertNotEqual(pid, again)
        self.assertEqual([e for e in site.events() if e["type"] == "node.failed"], [])
        gate.go()
        site.wait_type("node.status", node="t1", to="done")

    def test_a_plain_stop_leaves_agents_alone(self):
        site = self.auto_site("")
        site.write("../agent.sh", "#!/bin/sh\n" + STUBBORN)
        gate = site.gate("g")
        site.up()
        pid = int(gate.wait())
        self.assertEqual(site.down(), 0)
        os.kill(pid, 0)
        self.assertFalse(os.path.exists(os.path.join(site.root, "asked")))
        site.up()
        gate.go()
        site.wait_type("node.status", node="t1", to="done")


class Files(SiteCase):
    """What the daemon is found by, and its store, are removed while it runs."""

    def lost(self, site):
        """The daemon has ended since its store is lost; returns where it was saved."""
        self.assertEqual(site.ended(), 21)
        saved = glob.glob(os.path.join(site.dir, "store.lost-*.db"))
        self.assertEqual(len(saved), 1, os.listdir(site.dir))
        self.assertEqual([name for name in os.listdir(site.dir) if ".tmp-" in name], [])
        last = json.loads(site.read(".overseer/health.jsonl").splitlines()[-2])
        self.assertEqual(last["kind"], "failed")
        self.assertIn(saved[0], last["text"])
        return saved[0]

    def put_back(self, site, saved, goals):
        """A start is refused until the person does what the message says; then everything is there."""
        said = site.start()
        self.assertIn("error", said)
        self.assertIn(saved, said)
        command = said.strip().split("\n")[-1]
        self.assertIn(command, site.daemon_log())
        subprocess.run(["sh", "-c", command], check=True, capture_output=True)
        site.up()
        created = [e["data"]["title"] for e in site.events() if e["type"] == "goal.created"]
        # The one that was just being written may be there, too, though nobody was told so.
        self.assertEqual(created[:len(goals)], goals)
        self.assertLessEqual(len(created), len(goals) + 1)
        failed = [e["data"] for e in site.events() if e["type"] == "daemon.failed"]
        self.assertEqual([(x["cause"], x["exit_status"]) for x in failed], [("store", 21)])
        self.assertNotIn("#1", site.cli("inbox"))

    def test_a_store_that_is_removed(self):
        site = self.site("", "exit 0")
        site.up()
        site.call("goal.create", title="kept", plan=plan(task("T1", deps=[])), priority="low")
        db = os.path.join(site.dir, "store.db")
        os.unlink(db)
        saved = self.lost(site)
        self.put_back(site, saved, ["kept"])
        site.cli("doctor")
        # Another one is moved over it: that stays as it is.
        other = self.site("", "exit 0")
        other.up()
        other.call("goal.create", title="other")
        self.assertEqual(other.down(), 0)
        os.rename(os.path.join(other.dir, "store.db"), db)
        saved = self.lost(site)
        said = site.start()
        self.assertIn("another store", said)
        kept = os.path.join(site.root, "elsewhere.db")
        os.rename(saved, kept)
        for name in ("-wal", "-shm"):
            if os.path.exists(db + name):
                os.unlink(db + name)
        site.up()
        self.assertEqual([g["title"] for g in site.call("goal.list")["goals"]], ["other"])

    def test_a_folder_that_is_removed(self):
        site = self.site("", "exit 0")
        site.up()
        goals = [f"kept {n}" for n in range(20)]
        for title in goals:
            site.call("goal.create", title=title)
        config = site.read(".overseer/config.toml")
        while os.path.exists(os.path.join(site.dir, "store.db")):
            shutil.rmtree(site.dir, ignore_errors=True)
        saved = self.lost(site)
        site.configure(config)
        self.put_back(site, saved, goals)

    def test_nothing_is_answered_that_nobody_will_find(self):
        """Whoever writes while the store is removed is told that it did not happen, or finds it afterwards."""
        site = self.site("", "exit 0")
        site.up()
        done, created = [], threading.Semaphore(0)

        def create():
            connection = site.connect()
            try:
                for n in range(100000):
                    connection.call("goal.create", title=f"goal {n}")
                    done.append(f"goal {n}")
                    created.release()
            except (RpcError, ConnectionError, OSError):
                pass
            finally:
                connection.close()

        thread = threading.Thread(target=create)
        thread.start()
        for _ in range(20):
            self.assertTrue(created.acquire(timeout=PATIENCE))
        os.unlink(os.path.join(site.dir, "store.db"))
        thread.join()
        self.put_back(site, self.lost(site), done)

    def test_a_store_that_is_overwritten_in_place(self):
        """It is the same file, with other bytes: read as a whole, and found to be damaged."""
        site = self.site("", "exit 0")
        site.up()
        for n in range(20):
            site.call("goal.create", title=f"goal {n}")
        self.assertEqual(site.down(), 0)
        site.up()
        self.assertIsNone(site.call("status.get")["safe_mode"])
        path = os.path.join(site.dir, "store.db")
        with open(path, "r+b") as f:
            f.seek(4096)
            f.write(b"x" * (os.path.getsize(path) - 4096))
        patiently(lambda: site.call("status.get")["safe_mode"])
        self.assertEqual(len(site.call("goal.list")["goals"]), 20)

    def test_hooks_of_agents_are_heard_without_a_socket(self):
        """What an agent's hooks say while nobody can connect arrives all the same."""
        site = self.site("", "")
        os.chmod(site.write("../agent.sh", "#!/bin/sh\n" + SCRIPT), 0o755)
        site.configure(FAST + config(site.root))
        agent = Spoken(site)
        site.up()
        site.call("goal.create", title="hooked", plan=plan(task("T1")))
        agent.up()
        agent.say(claude_init())
        os.unlink(os.path.join(site.dir, "overseer.sock"))
        agent.hook({"at": 1, "event": "PermissionRequest", "session": SESSION, "tool": "Bash"})
        wait_for_answer(site)
        self.assertIn("Bash", agent.now(lambda now: now["state"] == "waiting")["text"])

    def test_a_socket_and_a_registration_that_are_removed(self):
        site = self.site("", "exit 0")
        site.up()
        follower = site.connect()
        seq = follower.call("status.get")["seq"]
        for name in ("overseer.sock", "daemon.json"):
            path = os.path.join(site.dir, name)
            before = os.stat(path).st_ino if name == "overseer.sock" else None
            text = site.read(".overseer/daemon.json")
            os.unlink(path)
            wait_for(path)
            if before:
                wait_for_answer(site)
            else:
                self.assertEqual(site.read(".overseer/daemon.json"), text)
        # Who was connected is so still, and a socket that somebody puts in its place is replaced.
        self.assertEqual(follower.call("status.get")["seq"], seq)
        follower.close()
        path = os.path.join(site.dir, "overseer.sock")
        stray = socket.socket(socket.AF_UNIX)
        os.unlink(path)
        wait_for(path)
        stray.bind(path + ".new")
        stray.close()
        os.rename(path + ".new", path)
        wait_for_answer(site)
        self.assertEqual(site.daemon.poll(), None)
        self.assertEqual(site.down(), 0)
        self.assertFalse(os.path.exists(path))
        self.assertFalse(os.path.exists(os.path.join(site.dir, "daemon.json")))


def patiently(look):
    end = time.monotonic() + PATIENCE
    while not look():
        if time.monotonic() > end:
            raise AssertionError("waited in vain")
        time.sleep(0.005)


def wait_for(path):
    patiently(lambda: os.path.exists(path))


def wait_for_answer(site):
    def answers():
        try:
            return site.call("status.get")
        except (OSError, ConnectionError):
            return None
    patiently(answers)


if __name__ == "__main__":
    unittest.main()
