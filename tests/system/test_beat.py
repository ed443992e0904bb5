#!/usr/bin/env python3
"""The daemon's signs of life: what it says of its health, its heartbeat, and what it tells systemd."""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import time
import unittest

from harness import FAST, PATIENCE, SiteCase, plan, task

HEALTH_BYTES = 256 * 1024
HEARTBEAT_BYTES = 512


class Health(SiteCase):
    @staticmethod
    def lines(site):
        """(instance, kind, text) of each whole line."""
        with open(os.path.join(site.dir, "health.jsonl"), encoding="utf-8") as f:
            found = []
            for line in f:
                try:
                    v = json.loads(line)
                except ValueError:
                    continue
                assert set(v) == {"time", "instance", "kind", "text"}, v
                found.append((v["instance"], v["kind"], v["text"]))
            return found

    def test_start_and_end(self):
        site = self.site()
        told = []

        def up():
            site.up()
            instance, pid = site.daemon_json()["instance_id"], site.daemon.pid
            self.assertRegex(self.lines(site)[-1][2], rf"^overseerd [0-9.]+.*, pid {pid}$")
            self.assertEqual(self.lines(site)[-1][:2], (instance, "started"))
            told.append(self.lines(site)[-1])
            return instance

        # Asked by a person.
        instance = up()
        self.assertEqual(site.down(), 0)
        requested = self.lines(site)[-2]
        self.assertEqual(requested[:2], (instance, "requested"))
        self.assertRegex(requested[2], "^by human:")
        told += [requested, (instance, "stopped", "0")]
        # A signal is nobody's request, though it ends in order.
        instance = up()
        site.daemon.terminate()
        self.assertEqual(site.ended(), 0)
        told.append((instance, "stopped", "0"))
        # Whoever was killed says nothing.
        up()
        site.kill()
        self.assertEqual(self.lines(site), told)
        # Half a line that one left is no part of the next one's.
        path = os.path.join(site.dir, "health.jsonl")
        with open(path, "ab") as f:
            f.write(b'{"time":"20')
        instance = up()
        self.assertEqual(self.lines(site), told)
        # A file that somebody removed comes again.
        os.unlink(path)
        site.daemon.send_signal(signal.SIGTERM)
        self.assertEqual(site.ended(), 0)
        self.assertEqual(self.lines(site), [(instance, "stopped", "0")])

    def test_rotated(self):
        site = self.site()
        path = os.path.join(site.dir, "health.jsonl")
        old = b"x" * (HEALTH_BYTES - 1) + b"\n"
        with open(path, "wb") as f:
            f.write(old)
        site.up()
        instance = site.daemon_json()["instance_id"]
        with open(path + ".1", "rb") as f:
            self.assertEqual(f.read(), old)
        self.assertEqual([line[:2] for line in self.lines(site)], [(instance, "started")])

    def test_not_writable(self):
        """What cannot be written is told once, and holds up nothing."""
        site = self.site()
        os.mkdir(os.path.join(site.dir, "health.jsonl"))
        site.up()
        self.assertEqual(site.down(), 0)
        self.assertEqual(site.daemon_log().count("health was not written down"), 1)

    def test_auto_failed(self):
        site = self.site(FAST + '[auto]\ntask_pool_command = "echo no such pool >&2; exit 7"\n'
                         'task_pool_retries = 0\ntask_pool_on_failure = "fail"\n', "true\n")
        site.args = ["--auto"]
        site.up()
        instance = site.daemon_json()["instance_id"]
        self.assertEqual(site.ended(), 20)
        lines = self.lines(site)
        self.assertEqual([line[:2] for line in lines], [(instance, kind) for kind in ("started", "failed", "stopped")])
        self.assertIn("no such pool", lines[1][2])
        self.assertEqual(lines[2][2], "20")

    def test_damaged(self):
        """In safe mode it is up, and cannot do its work."""
        site = self.site()
        site.up()
        site.call("goal.create", title="Test")
        site.down()
        path = os.path.join(site.dir, "store.db")
        with open(path, "r+b") as f:
            f.seek(100)
            f.write(b"\xff" * 4000)
        before = len(self.lines(site))
        site.up()
        self.assertEqual([line[1] for line in self.lines(site)[before:]], ["started", "degraded"])


class Watcher:
    """A process that stands for a watchdog: the daemon only wants to know whether it lives."""

    def __init__(self, site):
        self.site = site
        self.process = subprocess.Popen(["sleep", "600"])

    def identity(self, **changed):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as f:
            start = int(f.read().rsplit(")", 1)[1].split()[19])
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
            boot = f.read().strip()
        return {"pid": self.process.pid, "start_time": start, "boot_id": boot, "instance_id": "0123456789abcdef",
                "state": "running", **changed}

    def register(self, text=None, **changed):
        path = os.path.join(self.site.dir, "watch.json")
        with open(path + ".new", "w", encoding="utf-8") as f:
            f.write(json.dumps(self.identity(**changed)) if text is None else text)
        os.rename(path + ".new", path)

    def close(self):
        self.process.kill()
        self.process.wait()


class Heart(SiteCase):
    FAST_BEAT = FAST + '[watch]\nheartbeat_timeout = "60ms"\n'

    def watcher(self, site):
        watcher = Watcher(site)
        self.addCleanup(watcher.close)
        return watcher

    @staticmethod
    def beat(site):
        """The last beat, or None; one that is being written is read again."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                with open(os.path.join(site.dir, "heartbeat"), "rb") as f:
                    text = f.read()
            except FileNotFoundError:
                return None
            with contextlib.suppress(ValueError):
                if len(text) == HEARTBEAT_BYTES and text.endswith(b"\n"):
                    return json.loads(text)
        raise AssertionError(f"no whole beat: {text}")

    def beats(self, site, wanted=lambda beat: True, after=None):
        """The first beat that is wanted and newer than `after`."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            beat = self.beat(site)
            if beat and (after is None or beat["loop"] > after["loop"]) and wanted(beat):
                return beat
            select.select([], [], [], 0.002)
        raise AssertionError(f"waited in vain; the last beat: {self.beat(site)}\n{site.daemon_log()[-3000:]}")

    def log_says(self, site, text):
        end = time.monotonic() + PATIENCE
        while text not in site.daemon_log():
            self.assertLess(time.monotonic(), end, site.daemon_log())
            select.select([], [], [], 0.002)

    def test_only_while_somebody_watches(self):
        site = self.site(self.FAST_BEAT)
        watcher = self.watcher(site)
        site.up()
        instance = site.daemon_json()["instance_id"]
        # Nobody, and those who are not there: none of them makes it beat.
        watcher.register("{ half")
        watcher.register(start_time=1)
        watcher.register(boot_id="0" * 36)
        watcher.register(pid=0)
        site.call("status.get")
        self.assertIsNone(self.beat(site))
        watcher.register()
        first = self.beats(site)
        self.assertEqual(set(first), {"instance_id", "loop", "progress", "due", "degraded", "time"})
        self.assertEqual((first["instance_id"], first["due"], first["degraded"]), (instance, False, False))
        second = self.beats(site, after=first)
        # It says the same again, and something else: still one watchdog, and its file is not what it lives by.
        watcher.register()
        watcher.register("{ half")
        third = self.beats(site, after=second)
        # Whoever removes the file finds a new one.
        os.unlink(os.path.join(site.dir, "heartbeat"))
        self.beats(site, after=third)
        # A stopped daemon does not beat: the same beat stands until it goes on.
        site.daemon.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, site.daemon.pid, os.WSTOPPED | os.WNOWAIT)
        stopped = self.beat(site)
        subprocess.run(["sleep", "0.3"], check=True)  # ten beats' time by an outside clock; nothing is waited for
        self.assertEqual(self.beat(site), stopped)
        site.daemon.send_signal(signal.SIGCONT)
        self.beats(site, after=stopped)
        # The watchdog dies, and with it the beat; the next one brings it back.
        watcher.close()
        self.log_says(site, "is gone")
        last = self.beat(site)
        for _ in range(20):
            site.call("status.get")
        self.assertEqual(self.beat(site), last)
        self.watcher(site).register()
        self.beats(site, after=last)
        # The next daemon finds it when it starts.
        site.down()
        site.configure(FAST)
        site.up()
        instance = site.daemon_json()["instance_id"]
        slow = self.beats(site, lambda beat: beat["instance_id"] == instance)
        # One that is less patient than the daemon's configuration says so itself.
        self.watcher(site).register(heartbeat_timeout_ms=60)
        begun = time.monotonic()
        for _ in range(5):
            slow = self.beats(site, after=slow)
        self.assertLess(time.monotonic() - begun, 20, "five seconds apart")

    def test_idle_but_for_the_beat(self):
        """Watched and idle, it wakes up for its beat alone, a third of the watchdog's patience apart."""
        site = self.site(FAST + '[watch]\nheartbeat_timeout = "3s"\n')
        self.watcher(site).register()
        site.up()
        first = self.beats(site)
        with open(f"/proc/{site.daemon.pid}/status", encoding="ascii") as f:
            before = sum(int(line.split()[1]) for line in f if "ctxt_switches" in line)
        second = self.beats(site, after=first)
        with open(f"/proc/{site.daemon.pid}/status", encoding="ascii") as f:
            after = sum(int(line.split()[1]) for line in f if "ctxt_switches" in line)
        self.assertLessEqual(second["loop"] - first["loop"], 8)
        self.assertLessEqual(after - before, 12)
        self.assertEqual(second["progress"], first["progress"])

    def test_progress_and_due(self):
        """What moves is counted; an agent at work is nothing that is owed, nor is a question to a person."""
        # It fails in the same way again and again: how often is not what this is about.
        site = self.site(self.FAST_BEAT + "\n[oversight.stuck]\ncritical_error_count = 16\n", """
echo "$OVERSEER_RUN $$" > "$HOME/g.here"
read x < "$HOME/g.go"
echo said something
read x < "$HOME/g.go"
exit 1
""")
        gate = site.gate("g")
        self.watcher(site).register()
        site.up()
        idle = self.beats(site)
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        run, _ = gate.wait().split()
        started = site.wait_type("run.started", run=run)
        moved = self.beats(site, lambda beat: beat["progress"] > idle["progress"] + 5 and not beat["due"])
        # Output that changes nothing in the log is a sign of life of its run.
        moved = self.beats(site, after=moved)
        gate.go()
        spoke = self.beats(site, lambda beat: beat["progress"] > moved["progress"])
        self.assertFalse(spoke["due"])
        for _ in range(10):
            gate.go(2)
        site.wait_type("escalation.opened", after=started["seq"])
        asked = self.beats(site, lambda beat: not beat["due"], after=self.beat(site))
        later = self.beats(site, lambda beat: not beat["due"] and beat["progress"] == asked["progress"], after=asked)
        self.assertGreater(later["progress"], spoke["progress"])
        self.assertEqual(site.call("goal.show", goal=goal)["status"], "active")

    def test_beats_at_the_first_try_again(self):
        """Where it cannot be written the reason is told once; the daemon goes on, and beats when it can."""
        site = self.site(self.FAST_BEAT)
        os.mkdir(os.path.join(site.dir, "heartbeat"))
        self.watcher(site).register()
        site.up()
        self.log_says(site, "the heartbeat was not written")
        os.rmdir(os.path.join(site.dir, "heartbeat"))
        self.beats(site)
        self.assertEqual(site.daemon_log().count("the heartbeat was not written"), 1)


class Manager(SiteCase):
    """What systemd would hear, and that nobody else says it for us."""

    AGENT = """
env > "$HOME/agent.env"
echo x > x && git add x && git commit -qm x
"""

    def test_notify(self):
        for abstract in (False, True):
            site = self.site(FAST + '[accept]\npost_accept_command = "env > $HOME/post.env"\n', self.AGENT)
            name = os.path.join(site.root, "notify")
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self.addCleanup(listener.close)
            listener.settimeout(PATIENCE)
            listener.bind("\0" + name if abstract else name)
            # WATCHDOG_PID must be the daemon's own, which only a shell that becomes it can say.
            site.up(NOTIFY_SOCKET="@" + name if abstract else name, WATCHDOG_USEC="60000")
            heard = [listener.recv(4096).decode() for _ in range(4)]
            self.assertIn(f"READY=1\nSTATUS=up, instance {site.daemon_json()['instance_id']}", heard)
            self.assertGreaterEqual(heard.count("WATCHDOG=1"), 2)
            self.assertTrue(os.path.exists(os.path.join(site.dir, "heartbeat")), "the file beats too")
            if not abstract:
                site.wait_goal(site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"])
                for child in ("agent.env", "post.env"):
                    self.assertNotRegex(site.home(child), "NOTIFY_SOCKET|WATCHDOG_")
            site.daemon.terminate()
            said = listener.recv(4096).decode()
            while said == "WATCHDOG=1":
                said = listener.recv(4096).decode()
            self.assertEqual(said, "STOPPING=1\nSTATUS=stopping: SIGTERM")
            self.assertEqual(site.ended(), 0)

    def test_not_for_us(self):
        """The watchdog of another process is none of ours; a start that fails says why."""
        site = self.site(FAST)
        name = os.path.join(site.root, "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
            listener.settimeout(PATIENCE)
            listener.bind(name)
            site.up(NOTIFY_SOCKET=name, WATCHDOG_USEC="1000", WATCHDOG_PID=str(os.getpid()))
            self.assertRegex(listener.recv(4096).decode(), "^READY=1\n")
            site.down()
            self.assertRegex(listener.recv(4096).decode(), "^STOPPING=1\n")
            self.assertFalse(os.path.exists(os.path.join(site.dir, "heartbeat")))
            site.configure("[watch]\nnonsense = 1\n")
            self.assertIn("error", site.start(NOTIFY_SOCKET=name))
            self.assertRegex(listener.recv(4096).decode(), "^STATUS=.*config.toml")
        # A manager that is gone, or a name that is none, is nothing to fail for.
        site.configure(FAST)
        site.up(NOTIFY_SOCKET=name)
        site.down()
        site.up(NOTIFY_SOCKET="nonsense", WATCHDOG_USEC="nonsense")
        site.down()


if __name__ == "__main__":
    unittest.main(verbosity=2)
