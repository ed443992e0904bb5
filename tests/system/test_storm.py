#!/usr/bin/env python3
"""Failures of every kind, one after the other, on one store under the watchdog, while a pool of tasks is
being worked on and a person is at work in the checkout. In the end every task is accepted once or with a
person, nothing is lost, nothing is left over, and the log of events explains what happened to the daemon.

OV_FAILURES and OV_TASKS set the sizes, which are otherwise those of the tier. OV_SEED repeats a storm.
"""

import glob
import json
import os
import random
import signal
import subprocess
import time
import unittest

import harness
import night
import test_overnight

FAILURES = int(os.environ.get("OV_FAILURES") or harness.sized(20, 60, 200))
TASKS = int(os.environ.get("OV_TASKS") or max(10, FAILURES))
SEED = int(os.environ.get("OV_SEED") or 1)

CONFIG = test_overnight.CONFIG + """
[watch]
registration_timeout = "30s"
heartbeat_timeout = "1s"
grace = "10s"
stall_timeout = "1h"
restart_cooldown = "0s"
max_restarts = 1000
remediation_timeout = "20s"
remediation_command = "sh $HOME/mend.sh"
remediation_prompt = "Mend what is wrong."
[auto]
task_pool_on_failure = "fail"
task_pool_retries = 0
"""

# What somebody who knows the system would do; each kind of damage leaves its mark.
MEND = r"""
cat > "$HOME/prompt.last"
echo mend >> "$HOME/mended"
[ ! -e "$HOME/mend.crash" ] || { rm "$HOME/mend.crash"; kill -9 $$; }
rm -f "$HOME/pool.fail"
[ ! -e "$HOME/config.good" ] || mv "$HOME/config.good" .overseer/config.toml
for lost in .overseer/store.lost-*.db; do
	[ ! -e "$lost" ] || { rm -f .overseer/store.db .overseer/store.db-*; mv "$lost" .overseer/store.db; }
done
exit 0
"""

POOL = '[ ! -e "$HOME/pool.fail" ] || { echo "the pool is broken" >&2; exit 1; }\n' + night.POOL


class Watched(harness.Site):
    """A site under `overseer watch`. Its daemon comes and goes; whoever asks it waits for the next one."""

    watch_args = ()
    watchdog = None

    def watch(self, *args, **env):
        """Starts the watchdog; what it prints goes to watch.out."""
        assert self.watchdog is None
        self.watch_args = args or self.watch_args
        self.log = os.path.join(self.dir, "logs", "daemon.log")
        with open(os.path.join(self.root, "watch.out"), "ab") as out:
            self.watchdog = subprocess.Popen([harness.CLI, "watch", *self.watch_args], cwd=self.repo,
                                             env={**self.env, **env}, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                             start_new_session=True)

    def watch_log(self):
        return self.read(os.path.join(self.root, "watch.out"))

    def kill_watchdog(self):
        self.watchdog.kill()
        self.watchdog.wait()
        self.watchdog = None

    def watch_ended(self):
        status = self.watchdog.wait(harness.PATIENCE)
        self.watchdog = None
        return status

    def acts(self, after=0):
        """What the watchdog did, in order, whole lines only."""
        found = []
        for name in ("watch.jsonl.1", "watch.jsonl"):
            try:
                text = self.read(os.path.join(self.dir, "logs", name))
            except FileNotFoundError:
                continue
            found += [json.loads(line) for line in text.split("\n")[:-1]]
        return [a for a in found if a["n"] > after]

    def last_act(self):
        return max((a["n"] for a in self.acts()), default=0)

    def wait_act(self, *kinds, after=0, **members):
        """The first act of one of these kinds after that number."""
        end = time.monotonic() + harness.PATIENCE
        while True:
            for act in self.acts(after):
                if act["kind"] in kinds and all(act.get(k) == v for k, v in members.items()):
                    return act
            if time.monotonic() > end or self.watchdog is not None and self.watchdog.poll() is not None:
                raise AssertionError(f"no {kinds} after {after}: {self.watch_log()[-4000:]}\n{self.daemon_log()[-3000:]}")
            time.sleep(0.01)

    def daemon_log(self):
        try:
            return super().daemon_log()
        except FileNotFoundError:
            return ""

    def call(self, method, **params):
        """From whichever daemon is up, or will be."""
        end = time.monotonic() + harness.PATIENCE
        while True:
            try:
                return super().call(method, **params)
            except (OSError, harness.RpcError) as e:
                gone = isinstance(e, OSError) or e.code == "E_UNAVAILABLE"
                if not gone or time.monotonic() > end:
                    raise
            time.sleep(0.02)

    def daemon_pid(self):
        end = time.monotonic() + harness.PATIENCE
        while True:
            try:
                return self.daemon_json()["pid"]
            except (FileNotFoundError, ValueError, KeyError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def close(self):
        if self.watchdog is not None:
            self.kill_watchdog()
        for pid in self.ours():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        super().close()

    def ours(self):
        """Everybody who was started for this site, the watchdog and us excepted."""
        found, own = [], {os.getpid(), self.watchdog.pid if self.watchdog else 0}
        for path in glob.glob("/proc/[0-9]*/environ"):
            pid = int(path.split("/")[2])
            try:
                with open(path, "rb") as f:
                    if self.root.encode() in f.read() and pid not in own:
                        found.append(pid)
            except OSError:
                continue
        return found


def pids_of(pattern, site):
    """Processes of the site whose command line has this in it."""
    found = []
    for pid in site.ours():
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                line = f.read()
        except OSError:
            continue
        if pattern in line:
            found.append(pid)
    return found


def end(pid, signo):
    try:
        os.kill(pid, signo)
    except ProcessLookupError:
        pass


class Storm(night.Night, unittest.TestCase):
    # Each injects one failure. Those that end the daemon say which failure the watchdog must have seen.

    def fail_kill(self):
        end(self.place.daemon_pid(), signal.SIGKILL)
        return ("died",)

    def fail_abort(self):
        end(self.place.daemon_pid(), signal.SIGABRT)
        return ("died",)

    def fail_hang(self):
        end(self.place.daemon_pid(), signal.SIGSTOP)
        return ("heartbeat",)

    def fail_stranger_term(self):
        end(self.place.daemon_pid(), signal.SIGTERM)
        return ("died",)

    def fail_config(self):
        config = os.path.join(self.place.dir, "config.toml")
        self.place.write("../config.new", self.place.read(config))
        os.rename(os.path.join(self.place.root, "config.new"), os.path.join(self.place.root, "config.good"))
        self.place.write(config, "[auto\nthis is no TOML")
        end(self.place.daemon_pid(), signal.SIGKILL)
        return ("died",)

    def fail_pool(self):
        self.place.write("../pool.fail", "")
        return ("died", "health")

    def fail_mender(self):
        self.place.write("../mend.crash", "")
        end(self.place.daemon_pid(), signal.SIGKILL)
        return ("died",)

    def fail_identity(self):
        path = os.path.join(self.place.dir, "daemon.json")
        who = json.loads(self.place.read(path))
        self.place.write(path + ".new", json.dumps({**who, "instance_id": "0123456789abcdef", "start_time": 1}))
        os.rename(path + ".new", path)
        return ("identity",)

    def fail_store(self):
        os.unlink(os.path.join(self.place.dir, "store.db"))
        return ("died", "health")

    def fail_agent(self):
        for pid in pids_of(b"agent.sh", self.place)[:1]:
            end(pid, signal.SIGKILL)

    def fail_shim(self):
        for pid in pids_of(b"overseer-run", self.place)[:1]:
            end(pid, signal.SIGKILL)

    def worktree(self):
        """The git folder of the agent in one of the worktrees, or None."""
        names = sorted(glob.glob(os.path.join(self.place.dir, "git/*/.git")))
        return self.rng.choice(names) if names else None

    def fail_git_index(self):
        if self.worktree():
            self.place.write(os.path.join(self.worktree(), "index"), "this is no index")

    def fail_git_lock(self):
        if self.worktree():
            self.place.write(os.path.join(self.worktree(), "index.lock"), "")

    def fail_socket(self):
        os.unlink(self.place.socket)

    def fail_registration(self):
        os.unlink(os.path.join(self.place.dir, "daemon.json"))

    def fail_watchdog(self):
        self.place.kill_watchdog()
        self.place.watch()
        self.place.wait_act("adopted", after=self.mark)

    def fail_twice(self):
        self.fail_watchdog()
        self.mark = self.place.last_act()
        return self.fail_kill()

    def prepare_storm(self):
        site = Watched(CONFIG, night.AGENT, leaks=False)
        self.addCleanup(site.close)
        kinds = [test_overnight.KINDS[i % len(test_overnight.KINDS)] for i in range(TASKS)]
        random.Random(SEED).shuffle(kinds)
        self.prepare(site, kinds, 0, SEED)
        site.write("../pool.sh", POOL)
        site.write("../mend.sh", MEND)
        # Each kind about as often, in whatever order.
        every = sorted(name for name in dir(self) if name.startswith("fail_"))
        self.storm = [every[i % len(every)] for i in range(FAILURES)]
        self.rng.shuffle(self.storm)

    def healthy(self, after):
        """The watchdog sees a daemon that is up, which answers."""
        self.place.wait_act("healthy", after=after)
        self.place.call("status.get")

    def inject(self, name):
        site = self.place
        time.sleep(self.rng.uniform(0, 0.3))  # not always in the same moment of their lives
        self.mark = site.last_act()
        expected = getattr(self, name)()
        if expected:
            seen = site.wait_act("failed", after=self.mark)
            self.assertIn(seen["failure"], expected, (name, site.watch_log()[-2000:]))
            self.healthy(seen["n"])
            self.failed.append((name, seen))
        else:
            site.call("status.get")

    def test_a_storm(self):
        self.prepare_storm()
        site = self.place
        self.failed = []
        site.watch("--auto")
        self.healthy(0)
        self.user.start()
        for i, name in enumerate(self.storm):
            site.write("../limit", f"{self.total * (i + 1) // len(self.storm)}\n")
            with self.subTest(i=i, name=name):
                self.inject(name)
            self.assertIsNone(site.watchdog.poll(), site.watch_log()[-4000:])
        site.write("../limit", f"{self.total}\n")
        self.wait_settled([])
        self.user.over.set()
        self.user.join(harness.PATIENCE)
        if self.user.failed:
            raise self.user.failed
        self.wait_settled([])
        self.in_the_end()

    def in_the_end(self):
        site = self.place
        tasks = self.tasks()
        boxes = {e["data"]["sandbox"] for e in site.events() if e["type"] == "run.ended" and "sandbox" in e["data"]}
        self.assertEqual(boxes, {harness.SANDBOX})
        inbox = {x["node_id"] for x in site.call("inbox.list")["inbox"]}
        self.explained()
        self.left_alone()
        site.watchdog.send_signal(signal.SIGINT)
        self.assertEqual(site.watch_ended(), 0, site.watch_log()[-2000:])
        self.every_task_once(tasks, inbox)
        self.every_commit_reachable()
        self.nothing_of_the_users_lost()
        self.nothing_left()

    def left_alone(self):
        """Neither the end of all workers nor that of the daemon is the watchdog's."""
        site = self.place
        mark = site.last_act()
        site.cli("worker", "nuke", "--all", "--reason", "they have done their work")
        site.cli("down")
        site.wait_act("waiting", after=mark)
        site.cli("up", "--auto")
        self.healthy(mark)

    def explained(self):
        """Every failure that the watchdog acted on is an event, once, and `explain daemon` tells the newest of them."""
        site = self.place
        acts = [e["data"] for e in site.events() if e["type"] == "watch.acted"]
        numbers = [a["n"] for a in acts]
        self.assertEqual(len(numbers), len(set(numbers)))
        told = {a["n"]: a for a in acts}
        for name, seen in self.failed:
            self.assertIn(seen["n"], told, name)
            self.assertEqual(told[seen["n"]]["failure"], seen["failure"])
        words = site.cli("explain", "daemon")
        self.assertIn(self.failed[-1][1]["text"][:40], words)


if __name__ == "__main__":
    unittest.main(verbosity=2)
