"""A watchdog under test, with daemons that do wrong what they are told to (fake_watched.py)."""

import json
import os
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import leaks as look_for_leaks
from harness import BUILD, PATIENCE, SANITIZED

WATCH = os.path.join(BUILD, "src/watch/overseer-watch")
FAKE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_watched.py")
# Far from everything that a slow machine may take, except what a test makes short for itself.
TIMES = {
    "registration_timeout": 60000,
    "heartbeat_timeout": 60000,
    "stall_timeout": 3600000,
    "grace": 60000,
    "restart_cooldown": 3600000,
    "remediation_timeout": 60000,
}


def fake(*steps):
    """A start command."""
    return " ".join(["exec", shlex.quote(sys.executable), "-IS", shlex.quote(FAKE), *map(shlex.quote, steps)])


class Place:
    """A store's folder without a store: all that a watchdog needs."""

    def __init__(self, leaks=True):
        self.root = tempfile.mkdtemp(prefix="overseer-test-")
        self.repo = os.path.join(self.root, "repo")
        self.dir = os.path.join(self.repo, ".overseer")
        os.makedirs(self.dir, mode=0o700)
        self.env = {name: os.environ[name] for name in ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ}
        self.env["LC_ALL"] = "C.UTF-8"
        if SANITIZED and not leaks:
            look_for_leaks.ignore(self.env)
        self.watchdogs = []

    def close(self):
        end_watching(self)
        shutil.rmtree(self.root, ignore_errors=True)


class Watchdog:
    """`overseer-watch` on a site's folder. terminal: its output is a terminal's. argv: by another way."""

    def __init__(self, site, command, remedy=None, max_restarts=20, terminal=False, env=None, argv=None,
                 **times):
        self.site = site
        spec = {
            "dir": site.dir, "repo": site.repo, "overseer": None, "start_command": command,
            "watch": {**{f"{k}_ms": v for k, v in {**TIMES, **times}.items()},
                      "max_restarts": max_restarts, "remediation_prompt": "Mend it."},
            "remedy": remedy and {
                "name": "mender", "argv": ["/bin/sh", "-c", remedy], "env": ["PATH=" + os.environ["PATH"]],
                "cwd": site.repo, "prompt_on_stdin": True, "prompt_file": None},
        }
        fd = os.memfd_create("spec", 0)
        os.write(fd, json.dumps(spec).encode())
        ours, theirs = pty.openpty() if terminal else os.pipe()
        self.process = subprocess.Popen(
            argv or [WATCH, "--spec-fd", str(fd)], cwd=site.repo, env={**site.env, **(env or {})}, stdin=subprocess.DEVNULL,
            stdout=theirs, stderr=theirs, pass_fds=[fd], start_new_session=True)
        os.close(fd)
        os.close(theirs)
        self.out = ours
        self.raw = b""
        self.seen = 0
        site.watchdogs.append(self)

    def read(self, wait):
        if not select.select([self.out], [], [], wait)[0]:
            return False
        try:
            piece = os.read(self.out, 65536)
        except OSError:  # a terminal whose other side is gone
            piece = b""
        self.raw += piece
        return bool(piece)

    @property
    def text(self):
        return self.raw.decode()

    def wait(self, pattern):
        """Until a line after the last one that was waited for matches."""
        end = time.monotonic() + PATIENCE
        while True:
            match = re.search(pattern, self.text[self.seen:])
            if match:
                self.seen += match.end()
                return match
            if time.monotonic() > end or not self.read(max(0, end - time.monotonic())):
                raise AssertionError(f"waited in vain for {pattern!r}:\n{self.text}")

    def ended(self):
        """Its exit status."""
        while self.read(PATIENCE):
            pass
        return self.process.wait(PATIENCE)

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)

    def close(self):
        if self.process.poll() is None:
            self.kill()
        os.close(self.out)


def acts(site):
    with open(os.path.join(site.dir, "logs/watch.jsonl"), encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def kinds(site):
    return [act["kind"] for act in acts(site)]


def registered(site):
    with open(os.path.join(site.dir, "daemon.json"), encoding="utf-8") as f:
        return json.load(f)


def saved(site):
    with open(os.path.join(site.dir, "watch.json"), encoding="utf-8") as f:
        return json.load(f)


def tell(site, *steps):
    """Tells the fake daemon that is registered what to do next."""
    path = os.path.join(site.dir, f"control.{registered(site)['pid']}")
    with open(path, "w", encoding="utf-8") as f:
        f.write(" ".join(steps) + "\n")


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def fakes(site):
    """The fake daemons of this site that are alive."""
    pids = [int(name.split(".")[1]) for name in os.listdir(site.dir) if name.startswith("control.")]
    mark = f"OVERSEER_DIR={site.dir}".encode()
    ours = []
    for pid in filter(alive, pids):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                if mark in f.read().split(b"\0"):
                    ours.append(pid)
        except OSError:
            pass
    return ours


def end_watching(site):
    """Ends the watchdogs of this site and their fake daemons."""
    for watchdog in site.watchdogs:
        watchdog.close()
    for pid in fakes(site):
        os.kill(pid, signal.SIGKILL)
