"""A site whose daemon is kept by the watchdog: `overseer watch`, as a user starts it."""

import glob
import json
import os
import signal
import subprocess
import time

import harness


class Guarded(harness.Site):
    """The daemon comes and goes; whoever asks it waits for the next one."""

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
