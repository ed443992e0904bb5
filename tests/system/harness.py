"""A real daemon in a temporary folder, for tests: real git, real SQLite, real processes.

A Site is a scratch repository with its store. Everything that it starts is ended with it, by
process id; nothing outside its folder is touched. Waiting is for events of the log or for the
end of a process, never for time to pass.
"""

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

BUILD = os.environ.get("OV_BUILD", "")
DAEMON = os.path.join(BUILD, "src/app/overseerd")
SHIM = os.path.join(BUILD, "src/shim/overseer-run")
CLI = os.path.join(BUILD, "src/cli/overseer")
SANITIZED = bool(os.environ.get("OV_SANITIZED"))
SOAK = bool(os.environ.get("OV_SOAK"))
# An upper bound for everything that is waited for; reached only when something is wrong.
PATIENCE = 120 if SANITIZED else 60


class RpcError(Exception):
    def __init__(self, error):
        super().__init__(f"{error.get('data', {}).get('code')}: {error['message']}")
        self.code = error.get("data", {}).get("code")
        self.rpc_code = error["code"]
        self.message = error["message"]
        self.next = error.get("data", {}).get("next", "")


class Connection:
    """One connection to the daemon's socket."""

    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(path)
        self.file = self.sock.makefile("rb")
        self.next_id = 1
        self.notifications = []

    def send(self, method, params=None):
        request = {"jsonrpc": "2.0", "id": self.next_id, "method": method}
        if params is not None:
            request["params"] = params
        self.next_id += 1
        self.sock.sendall(json.dumps(request).encode() + b"\n")
        return request["id"]

    def receive(self):
        line = self.file.readline()
        if not line:
            raise ConnectionError("the daemon closed the connection")
        return json.loads(line)

    def call(self, method, **params):
        want = self.send(method, params)
        while True:
            message = self.receive()
            if message.get("method") == "event":
                self.notifications.append(message["params"])
            elif message.get("id") == want:
                if "error" in message:
                    raise RpcError(message["error"])
                return message["result"]

    def event(self):
        """The next live event, after events.follow."""
        if self.notifications:
            return self.notifications.pop(0)
        while True:
            message = self.receive()
            if message.get("method") == "event":
                return message["params"]

    def close(self):
        self.file.close()
        self.sock.close()


class Site:
    def __init__(self, config="", agent=None, root=None):
        self.root = root or tempfile.mkdtemp(prefix="overseer-test-")
        self.repo = os.path.join(self.root, "repo")
        self.dir = os.path.join(self.repo, ".overseer")
        self.socket = os.path.join(self.dir, "overseer.sock")
        self.daemon = None
        self.log = None
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": self.root,
            "LC_ALL": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
            "XDG_RUNTIME_DIR": self.root,
        }
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "OV_SANITIZED", "OV_SAN_LOG"):
            if name in os.environ:
                self.env[name] = os.environ[name]
        os.makedirs(self.dir, mode=0o700)
        self.git("init", "-q", "-b", "main", ".")
        self.git("config", "user.name", "Tester")
        self.git("config", "user.email", "tester@localhost")
        self.write("README", "hello\n")
        self.git("add", "README")
        self.git("commit", "-qm", "start")
        if agent is not None:
            script = self.write("../agent.sh", "#!/bin/sh\n" + agent)
            os.chmod(script, 0o755)
            config += f'\n[defaults]\nagent = "script"\n[agents.script]\ncommand = ["{script}"]\n'
        self.configure(config)

    def configure(self, text):
        with open(os.path.join(self.dir, "config.toml"), "w", encoding="utf-8") as f:
            f.write(text)

    def write(self, name, text):
        path = os.path.normpath(os.path.join(self.repo, name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def read(self, name):
        with open(os.path.join(self.repo, name), encoding="utf-8", errors="replace") as f:
            return f.read()

    def git(self, *args):
        done = subprocess.run(["git", *args], cwd=self.repo, env=self.env, capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(f"git {' '.join(args)}: {done.stderr}")
        return done.stdout

    def popen(self, **env):
        ready, told = os.pipe()
        self.log = os.path.join(self.root, "daemon.log")
        with open(self.log, "ab") as log:
            process = subprocess.Popen(
                [DAEMON, "--dir", self.dir, "--shim", SHIM, "--ready-fd", str(told)],
                cwd=self.root, env={**self.env, **env}, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=[told])
        os.close(told)
        return process, ready

    def start(self, **env):
        """Starts the daemon and waits until it says that it is ready. Returns what it said."""
        assert self.daemon is None
        self.daemon, ready = self.popen(**env)
        said = self.hear(ready)
        if said != "ready\n":
            self.daemon.wait(PATIENCE)
            self.daemon = None
        return said

    @staticmethod
    def hear(fd):
        said = b""
        end = time.monotonic() + PATIENCE
        while True:
            readable, _, _ = select.select([fd], [], [], max(0, end - time.monotonic()))
            if not readable:
                raise AssertionError("the daemon neither became ready nor ended")
            piece = os.read(fd, 4096)
            if not piece:
                break
            said += piece
        os.close(fd)
        return said.decode()

    def up(self, **env):
        said = self.start(**env)
        if said != "ready\n":
            raise AssertionError(f"the daemon did not start: {said}\n{self.daemon_log()}")

    def daemon_log(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def connect(self):
        return Connection(self.socket)

    def call(self, method, **params):
        connection = self.connect()
        try:
            return connection.call(method, **params)
        finally:
            connection.close()

    def down(self):
        """Stops the daemon gracefully; returns its exit status."""
        if self.daemon is None:
            return None
        try:
            self.call("daemon.stop")
        except (ConnectionError, OSError):
            self.daemon.terminate()
        return self.ended()

    def kill(self):
        self.daemon.kill()
        return self.ended()

    def ended(self):
        try:
            status = self.daemon.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            self.daemon.wait()
            raise AssertionError("the daemon did not end:\n" + self.daemon_log()) from None
        self.daemon = None
        return status

    def wait_event(self, wanted, after=0):
        """The first event since `after` that `wanted` accepts; waits for it as it happens."""
        connection = self.connect()
        try:
            connection.call("events.follow", after=after)
            while True:
                event = connection.event()
                if wanted(event):
                    return event
        except (ConnectionError, TimeoutError, socket.timeout) as e:
            raise AssertionError(f"waited in vain ({e}):\n{self.daemon_log()[-6000:]}") from None
        finally:
            connection.close()

    def wait_goal(self, goal, statuses=("completed",)):
        def over(event):
            return event["type"] == "goal.status" and event.get("goal") == goal and event["data"]["to"] in statuses
        return self.wait_event(over)

    def events(self):
        found, after = [], 0
        while True:
            page = self.call("events.list", after=after, limit=1000)
            found += page["events"]
            if len(page["events"]) == 0:
                return found
            after = page["next_after"]

    def live_pids(self):
        """Processes of this site's runs: their environment names one of its run folders or worktrees."""
        found = []
        needle = self.root.encode()
        for name in os.listdir("/proc"):
            if not name.isdigit() or int(name) == os.getpid():
                continue
            try:
                with open(f"/proc/{name}/environ", "rb") as f:
                    env = f.read()
                with open(f"/proc/{name}/cmdline", "rb") as f:
                    line = f.read()
            except OSError:
                continue
            if b"OVERSEER_RUN=" in env and needle in env or b"overseer-run" in line and needle in line:
                found.append(int(name))
        return found

    def close(self):
        if self.daemon is not None:
            self.daemon.kill()
            self.daemon.wait()
            self.daemon = None
        for pid in self.live_pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        shutil.rmtree(self.root, ignore_errors=True)


class SiteCase(unittest.TestCase):
    """Gives each test sites that are closed after it."""

    def site(self, config="", agent=None):
        site = Site(config, agent)
        self.addCleanup(site.close)
        return site


def task(node, deps=(), **more):
    return {"id": node, "name": f"Task {node}", "acceptance": [f"{node}.txt exists"], "deps": list(deps), **more}


def plan(*tasks):
    return {"phases": [{"id": "P1", "name": "Work", "tasks": list(tasks)}]}


FAST = """
[retry]
delays = ["10ms", "10ms", "10ms"]
"""
