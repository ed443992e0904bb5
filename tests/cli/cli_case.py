"""The command `overseer`, tested from outside: a scratch folder for each test, and a fake daemon
whose answers the test gives, so that everything a daemon can do wrong can be done."""

import json
import os
import pty
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../system"))
import leaks  # noqa: E402

BUILD = os.environ.get("OV_BUILD", "")
CLI = os.path.join(BUILD, "src/cli/overseer")
DAEMON = os.path.join(BUILD, "src/app/overseerd")
SANITIZED = bool(os.environ.get("OV_SANITIZED"))
# Reached only when something is wrong.
PATIENCE = 120 if SANITIZED else 60


class Done:
    """What a finished command left."""

    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout
        self.err = process.stderr

    def json(self):
        return json.loads(self.out)

    def error(self):
        return json.loads(self.err)["error"]

    def __repr__(self):
        return f"exit {self.code}\n--- out\n{self.out}\n--- err\n{self.err}"


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="overseer-cli-"))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        self.cwd = self.root
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": self.root,
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "GIT_CONFIG_NOSYSTEM": "1",
            "XDG_RUNTIME_DIR": self.root,
        }
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
            if name in os.environ:
                self.env[name] = os.environ[name]
        if SANITIZED and not leaks.wanted(self.id()):
            leaks.ignore(self.env)

    def path(self, *names):
        return os.path.join(self.root, *names)

    def write(self, name, text, mode=None):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb" if isinstance(text, bytes) else "w") as f:
            f.write(text)
        if mode is not None:
            os.chmod(path, mode)
        return path

    def run_cli(self, *args, stdin="", env=None, text=True):
        return Done(subprocess.run(
            [CLI, *args], cwd=self.cwd, env={**self.env, **(env or {})}, capture_output=True, timeout=PATIENCE,
            text=text, errors="replace" if text else None, input=stdin if text else b""))

    def ok(self, *args, **more):
        done = self.run_cli(*args, **more)
        self.assertEqual((done.code, done.err), (0, ""), done)
        return done

    def fails(self, code, *args, **more):
        done = self.run_cli(*args, **more)
        self.assertEqual(done.code, code, done)
        return done

    def on_terminal(self, *args, env=None):
        """Runs the command with a terminal as its standard output: (exit status, what it showed)."""
        master, slave = pty.openpty()
        process = subprocess.Popen([CLI, *args], cwd=self.cwd, env={**self.env, "TERM": "xterm", **(env or {})},
                                   stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.STDOUT)
        os.close(slave)
        shown = b""
        try:
            while select.select([master], [], [], PATIENCE)[0]:
                shown += os.read(master, 65536)
        except OSError:
            pass  # the other end is closed
        os.close(master)
        return process.wait(PATIENCE), shown.decode(errors="replace")

    def git(self, *args, cwd=None):
        done = subprocess.run(["git", *args], cwd=cwd or self.cwd, env=self.env, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def repository(self, name="repo"):
        self.cwd = self.path(name)
        os.makedirs(self.cwd)
        self.git("init", "-q", "-b", "main", ".")
        self.git("config", "user.name", "Tester")
        self.git("config", "user.email", "tester@localhost")
        self.write(os.path.join(name, "README"), "hello\n")
        self.git("add", "README")
        self.git("commit", "-qm", "start")
        return self.cwd

    def fake(self, answers=None):
        """A store in the scratch folder with a daemon that gives these answers."""
        daemon = FakeDaemon(self.path(".overseer"), answers or {})
        self.addCleanup(daemon.close)
        return daemon


class Refuse(Exception):
    """An answer that is an error."""

    def __init__(self, code, message, hint="", rpc_code=-32005):
        super().__init__(message)
        self.error = {"code": rpc_code, "message": message, "data": {"code": code, "next": hint}}


class FakeDaemon:
    """Listens on a store's socket. answers: method -> result, exception, or function of params.

    A bytes answer is sent as it is; None sends nothing and keeps the connection; HANG_UP closes it.
    A list of events under "events" is sent as notifications after events.follow was answered.
    """

    HANG_UP = object()

    def __init__(self, folder, answers):
        os.makedirs(folder, exist_ok=True)
        self.answers = answers
        self.asked = []
        self.connections = []
        self.path = os.path.join(folder, "overseer.sock")
        with open(os.path.join(folder, "daemon.json"), "w") as f:
            json.dump({"pid": os.getpid(), "socket": self.path}, f)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(16)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self.serve, args=[connection], daemon=True).start()

    def serve(self, connection):
        try:
            for line in connection.makefile("rb"):
                if not self.answer(connection, json.loads(line)):
                    break
        except OSError:
            pass
        connection.close()

    def send(self, connection, message):
        connection.sendall(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def answer(self, connection, request):
        self.asked.append((request["method"], request.get("params")))
        answer = self.answers.get(request["method"], Refuse("E_NOT_FOUND", "there is no such operation", "", -32003))
        if callable(answer) and not isinstance(answer, Exception):
            answer = answer(request.get("params"))
        if answer is self.HANG_UP:
            return False
        if answer is None:
            return True
        if isinstance(answer, bytes):
            connection.sendall(answer)
            return not answer or answer.endswith(b"\n")
        if isinstance(answer, Refuse):
            self.send(connection, {"id": request["id"], "error": answer.error})
            return True
        early = self.answers.get("early", [])
        if request["method"] == "events.follow":
            for event in early:
                self.send(connection, {"method": "event", "params": event})
        self.send(connection, {"id": request["id"], "result": answer})
        if request["method"] == "events.follow":
            for event in self.answers.get("events", []):
                self.send(connection, {"method": "event", "params": event})
        return True

    def close(self):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)  # a blocked accept would keep it listening
        except OSError:
            pass
        self.listener.close()
        for connection in self.connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            connection.close()


def ago(seconds):
    """An RFC 3339 time so long ago."""
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() - seconds))


def goal(ident="goal_01JC8AAAAAAAAAAAAAAAAAAAAA", title="Rate limiting", status="active", done=9, leaves=15, **more):
    return {"id": ident, "title": title, "status": status, "health": "healthy", "priority": 3, "plan_version": 1,
            "created_at": ago(7200), "ended_at": None,
            "progress": {"leaves": leaves, "done": done, "cancelled": 0, "blocked": 0, "done_pct": 60}, **more}


def running(node="S1.2.3", name="Token bucket", **more):
    return {"worker": "pool-1", "agent": "claude", "goal": goal()["id"], "node": node, "name": name,
            "status": "active", "stage": "running", "attempt": 1, "reason": "started",
            "run": "R_01JC9AAAAAAAAAAAAAAAAAAAAA", "not_before": None, "since": ago(18 * 60 + 30), **more}


def status(**more):
    return {"daemon": {"pid": 4121, "version": "0.1.0", "instance": "7f3c", "started_at": ago(8040),
                       "uptime_ms": 8040000, "http_port": 8677, "dir": "/x/.overseer",
                       "store": "sqlite:/x/.overseer/store.db", "read_only": False},
            "seq": 7, "needs_you": [], "running": [], "workers": [], "workers_busy": 0, "goals": [],
            "workers_max": 2, **more}


def worker(name, kind, **more):
    return {"name": name, "kind": kind, "status": "idle", "since": ago(190), "task": "Fix it", "reason": "T1", "wanted": "",
            "under_way": None, "works_as": "claude", "run": "", "node": None, **more}


def event(seq=1, text="something happened", **more):
    return {"seq": seq, "at": ago(5), "type": "node.status", "actor": "actor:system:overseer", "data": {},
            "text": text, **more}


def main():
    if not os.access(CLI, os.X_OK):
        raise SystemExit(f"{CLI} is missing: set OV_BUILD to a build directory")
    unittest.main(verbosity=1)
