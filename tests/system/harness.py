"""A real daemon in a temporary folder, for tests: real git, real SQLite, real processes.

A Site is a scratch repository with its store. Everything that it starts is ended with it, by
process id; nothing outside its folder is touched. Waiting is for events of the log or for the
end of a process, never for time to pass.
"""

import atexit
import glob
import http.client
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import leaks as look_for_leaks

BUILD = os.environ.get("OV_BUILD", "")
DAEMON = os.path.join(BUILD, "src/app/overseerd")
SHIM = os.path.join(BUILD, "src/shim/overseer-run")
CLI = os.path.join(BUILD, "src/cli/overseer")
SANITIZED = bool(os.environ.get("OV_SANITIZED"))
# Sizes: those of `make check`, of `make check-full`, of `make soak`.
SOAK = bool(os.environ.get("OV_SOAK"))
FULL = SOAK or bool(os.environ.get("OV_FULL"))
# An upper bound for everything that is waited for; reached only when something is wrong.
PATIENCE = 120 if SANITIZED else 60
# What agents run in where a test does not say it.
SANDBOX = os.environ.get("OV_SANDBOX", "none")
LEAKS_LOOKED_FOR = set()
# An ordinary user who has no processes but this test's. A shared one would have those of tests beside it, and what
# hides from its user makes HTTP read-only for all stores of that user.
ORDINARY_USER = 20000 + os.getpid() % 40000


def sized(check, full, soak):
    return soak if SOAK else full if FULL else check


def turn():
    """A number that each commit has of its own: which of many the tests of this one try."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=os.path.dirname(os.path.abspath(__file__)),
                          capture_output=True, text=True, check=False)
    return int(done.stdout[:8], 16) if done.returncode == 0 else 0


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
        try:
            self.sock.connect(path)
        except OSError:
            self.sock.close()
            raise
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
        if not line.endswith(b"\n"):  # the end, or a message of which only a piece was sent
            raise ConnectionError("the daemon closed the connection")
        return json.loads(line)

    def call(self, method, **params):
        want = self.send(method, params)
        while True:
            message = self.receive()
            if message.get("method") == "event":
                self.notifications.append(message["params"])
            elif message.get("id") == want or ("error" in message and message["id"] is None):
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


class Gate:
    """Where an agent reports and waits: `echo text > $HOME/NAME.here; read x < $HOME/NAME.go`.

    The test holds both fifos open, so that neither side blocks in open(), whoever dies meanwhile.
    """

    def __init__(self, folder, name):
        self.fds = []
        for end in ("here", "go"):
            path = os.path.join(folder, f"{name}.{end}")
            os.mkfifo(path)
            self.fds.append(os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))
        self.heard = b""

    def wait(self):
        """The next line that an agent wrote."""
        end = time.monotonic() + PATIENCE
        while b"\n" not in self.heard:
            readable, _, _ = select.select([self.fds[0]], [], [], max(0, end - time.monotonic()))
            if not readable:
                raise AssertionError("no agent came to the gate")
            self.heard += os.read(self.fds[0], 4096)
        line, self.heard = self.heard.split(b"\n", 1)
        return line.decode()

    def empty(self):
        """True when nobody has come since the last wait."""
        return not self.heard and not select.select([self.fds[0]], [], [], 0)[0]

    def go(self, times=1):
        """Lets one agent go on (also one that comes later)."""
        os.write(self.fds[1], b"\n" * times)

    def close(self):
        for fd in self.fds:
            os.close(fd)


def discard(top):
    """
    Removes a site but for the empty folder of its store, which goes with the program: a daemon of another program
    that hides it in a sandbox at this very moment could not start its run.
    """
    repo = os.path.join(top, "repo")
    kept = ["!", "-path", repo, "!", "-path", os.path.join(repo, ".overseer")]
    subprocess.run(["find", top, "-mindepth", "1", *kept, "-delete"], stderr=subprocess.DEVNULL, check=False)
    atexit.register(shutil.rmtree, top, ignore_errors=True)


class Template:
    """A repository with one commit, made once in a program and copied for each site."""

    folder = None
    lock = threading.Lock()  # some programs make their sites beside each other

    @classmethod
    def made(cls):
        with cls.lock:
            if not cls.folder:
                root = tempfile.mkdtemp(prefix="overseer-test-")
                atexit.register(shutil.rmtree, root, ignore_errors=True)
                folder = os.path.join(root, "repo")
                cls.make(folder, {"PATH": os.environ["PATH"], "HOME": root, "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1"})
                cls.folder = folder
            return cls.folder

    @staticmethod
    def make(folder, env):
        def git(*args):
            subprocess.run(["git", *args], cwd=folder, env=env, check=True)

        os.mkdir(folder)
        git("init", "-q", "-b", "main", "--template=", ".")
        git("config", "user.name", "Tester")
        git("config", "user.email", "tester@localhost")
        with open(os.path.join(folder, "README"), "w", encoding="utf-8") as f:
            f.write("hello\n")
        git("add", "README")
        git("commit", "-qm", "start")


class Site:
    def __init__(self, config="", agent=None, root=None, leaks=True):
        self.root = root or tempfile.mkdtemp(prefix="overseer-test-")
        self.top = self.root
        if SANDBOX != "none" and not root:  # agents write beside the repository, not around it
            self.root = os.path.join(self.top, "site")
            os.mkdir(self.root)
        self.repo = os.path.join(self.top, "repo")
        self.dir = os.path.join(self.repo, ".overseer")
        self.socket = os.path.join(self.dir, "overseer.sock")
        self.daemon = None
        self.args = []  # further ones of the daemon
        self.user = None  # whose the daemon is; ours
        self.log = None
        self.gates = []
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
        if SANITIZED and not leaks:
            look_for_leaks.ignore(self.env)
        # Looking for leaks takes seconds at each exit, also at that of the child beside each start.
        if SANITIZED and leaks and "store" not in config:
            config = "store.verify_at_start = false\n" + config
        shutil.copytree(Template.made(), self.repo)
        os.makedirs(self.dir, mode=0o700)
        if agent is not None:
            os.chmod(self.write("../agent.sh", "#!/bin/sh\n" + agent), 0o755)
            config += self.agent_config()
        # Most tests want a goal that just lies there, not one that becomes a task by itself.
        if "planner" not in config:
            config += "\n[planner]\nfallback = false\n"
        self.configure(config)

    def agent_config(self):
        """Makes the site's script the default agent. Its shim gets the sanitizers' options too."""
        text = f'\n[defaults]\nagent = "script"\n[agents.script]\ncommand = ["{self.root}/agent.sh"]\n'
        if SANITIZED:
            text += ('env_pass = ["HOME", "PATH", "LC_ALL", "TZ", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", '
                     '"GIT_COMMITTER_EMAIL", "ASAN_OPTIONS", "UBSAN_OPTIONS"]\n')
        return text

    def configure(self, text):
        """Writes config.toml. Few tests are about checks: without a word of theirs, work needs none."""
        if "unchecked" not in text:
            line = 'unchecked = "accept"\n'
            text = text.replace("[accept]\n", "[accept]\n" + line) if "[accept]\n" in text else f"accept.{line}{text}"
        # The script of a site reports in its $HOME. Tests about sandboxes say so; OV_SANDBOX=fence asks others, too.
        if "defaults.sandbox" not in text and "\nsandbox = " not in text:
            line = f'sandbox = "{SANDBOX}"\n'
            agents = re.compile(r"^(\[agents\.[a-z0-9_-]+\])$", re.M)
            if self.top != self.root:  # a home cannot be made writable, so its script gets another one inside
                os.makedirs(self.root + "-home", exist_ok=True)
                # Programs of the tests, where these lie in what a sandbox hides.
                tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
                paths = f'"{self.root}"' + (f', "{tests}"' if tests.startswith("/tmp/") else "")
                text = agents.sub(rf'\1\nsandbox_writable = [{paths}]\nenv = {{ HOME = "{self.root}-home" }}', text)
                text = re.sub(r"^command = \[", rf'command = ["env", "HOME={self.root}", ', text, flags=re.M)
                text = text.replace("$HOME", self.root)
            if SANDBOX == "none" and agents.search(text):  # only they: git is confined as it is by default
                text = agents.sub(r'\1\nsandbox = "none"', text)
            elif "[defaults]\n" in text:
                text = text.replace("[defaults]\n", "[defaults]\n" + line)
            else:
                text = f"defaults.{line}{text}"
        # The disk of whoever runs the tests may be small: only tests about that ask for free space.
        if "[limits]\n" in text and "min_free_disk" not in text:
            text = text.replace("[limits]\n", '[limits]\nmin_free_disk = "0"\n')
        elif "min_free_disk" not in text:
            text = 'limits.min_free_disk = "0"\n' + text
        with open(os.path.join(self.dir, "config.toml"), "w", encoding="utf-8") as f:
            f.write(text)

    def gate(self, name):
        self.gates.append(Gate(self.root, name))
        return self.gates[-1]

    def path(self, name):
        """Of the repository, or, with "../" before it, of the home."""
        if name.startswith("../"):
            return os.path.normpath(os.path.join(self.root, name[3:]))
        return os.path.normpath(os.path.join(self.repo, name))

    def write(self, name, text):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def read(self, name):
        with open(self.path(name), encoding="utf-8", errors="replace") as f:
            return f.read()

    def home(self, name):
        """A file that an agent wrote to its $HOME."""
        return self.read(os.path.join(self.root, name))

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
                [DAEMON, "--dir", self.dir, "--shim", SHIM, "--ready-fd", str(told), *self.args],
                cwd=self.root, env={**self.env, **env}, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=[told], user=self.user, extra_groups=None if self.user is None else [])
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
            raise AssertionError(f"waited in vain ({e}):\n{self.daemon_log()[-6000:]}\n{self.last_events()}") from None
        finally:
            connection.close()

    def last_events(self):
        """What happened last, for whoever reads why a test failed."""
        try:
            return "\n".join(json.dumps(e)[:300] for e in self.events()[-12:])
        except (OSError, AssertionError, RpcError) as e:
            return f"its events cannot be read: {e}"

    def wait_goal(self, goal, statuses=("completed",)):
        def over(event):
            return event["type"] == "goal.status" and event.get("goal") == goal and event["data"]["to"] in statuses
        return self.wait_event(over)

    def wait_type(self, kind, after=0, **data):
        """The first event of a type since `after` with these members (of the event or its data)."""
        def wanted(event):
            return event["type"] == kind and all(
                event.get(key, event["data"].get(key)) == value for key, value in data.items())
        return self.wait_event(wanted, after)

    def seq(self):
        return self.call("status.get")["seq"]

    def node(self, node, **more):
        return self.call("work.show", node=node, **more)

    def runs(self, **more):
        return self.call("run.list", **more)["runs"]

    def cli(self, *args, code=0):
        """What the command prints; to stderr when it is to fail."""
        done = subprocess.run([CLI, *args], cwd=self.repo, env=self.env, capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode != code:
            raise AssertionError(f"{args}: exit {done.returncode}: {done.stdout}{done.stderr}")
        return done.stderr if code else done.stdout

    def output(self, run):
        """The bytes that were kept of a run's output."""
        kept = b""
        with open(os.path.join(self.dir, "runs", run, "output"), "rb", buffering=0) as f:
            at, size = 0, os.fstat(f.fileno()).st_size
            while at < size:  # around the hole of a long one
                at = os.lseek(f.fileno(), at, os.SEEK_DATA)
                end = os.lseek(f.fileno(), at, os.SEEK_HOLE)
                kept += os.pread(f.fileno(), end - at, at)
                at = end
        return kept

    def daemon_json(self):
        with open(os.path.join(self.dir, "daemon.json"), encoding="utf-8") as f:
            return json.load(f)

    def http(self, method="GET", path="/healthz", body=None, headers=None, token=True):
        """One request with the right Host and token: (status, headers, body)."""
        port = self.daemon_json()["http_port"]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        try:
            headers = dict(headers or {})
            if token:
                with open(os.path.join(self.dir, "token"), encoding="utf-8") as f:
                    headers.setdefault("Authorization", "Bearer " + f.read().strip())
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def metrics(self):
        """{name or name{labels}: number}"""
        status, _, body = self.http(path="/metrics")
        assert status == 200, body
        lines = [line for line in body.decode().split("\n") if line and not line.startswith("#")]
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines}

    def read_only(self, method, **params):
        """One answer of `overseerd --read-only`; also its exit status."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        env = dict(self.env)
        # Looking for leaks takes seconds each time: a few operations will do, each once.
        if SANITIZED and (method in LEAKS_LOOKED_FOR or len(LEAKS_LOOKED_FOR) >= 4):
            look_for_leaks.ignore(env)
        LEAKS_LOOKED_FOR.add(method)
        done = subprocess.run([DAEMON, "--read-only", "--dir", self.dir], env=env, cwd=self.root, timeout=PATIENCE,
                              input=json.dumps(request) + "\n", capture_output=True, text=True)
        return json.loads(done.stdout), done.returncode

    def events(self):
        found, after = [], 0
        while True:
            page = self.call("events.list", after=after, limit=1000)
            found += page["events"]
            if len(page["events"]) == 0:
                return found
            after = page["next_after"]

    def live_pids(self):
        """Processes of this site's runs and checks: their environment says so, and names its folder."""
        found = []
        needle = self.root.encode()
        own = [os.getpid(), self.daemon.pid if self.daemon else 0]
        for name in os.listdir("/proc"):
            if not name.isdigit() or int(name) in own:
                continue
            try:
                with open(f"/proc/{name}/environ", "rb") as f:
                    env = f.read()
                with open(f"/proc/{name}/cmdline", "rb") as f:
                    line = f.read()
            except OSError:
                continue
            ours = b"OVERSEER_RUN=" in env or b"OVERSEER_CHECK=" in env
            # The command lines of other sites' sandboxes name our store, too, to hide it.
            if ours and needle in env or b"overseer-run" in line and b"--dir\0" + self.dir.encode() in line:
                found.append(int(name))
        return found

    def told_pids(self, said):
        """The processes whose numbers an agent told; in a sandbox they have others there: all that live, then."""
        return [int(pid) for pid in said.split()] if SANDBOX == "none" else self.live_pids()

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
        self.end_groups()
        for gate in self.gates:
            gate.close()
        discard(self.top)

    def end_groups(self):
        """Control groups of runs whose shims we have just killed: nobody else removes them."""
        for note in glob.glob(os.path.join(self.dir, "runs", "*", "cgroup")):
            with open(note, encoding="utf-8") as f:
                group = f.read().strip()
            end = time.monotonic() + PATIENCE
            while os.path.basename(group).startswith("overseer-") and time.monotonic() < end:
                try:
                    with open(os.path.join(group, "cgroup.kill"), "w", encoding="utf-8") as f:
                        f.write("1")
                    os.rmdir(group)
                except FileNotFoundError:
                    break
                except OSError:  # still dying
                    time.sleep(0.005)


class SiteCase(unittest.TestCase):
    """Gives each test sites that are closed after it."""

    # Whether daemons are looked at for leaks, where that is possible: not where they are started by the dozen.
    leaks = True

    def site(self, config="", agent=None):
        site = Site(config, agent, leaks=self.leaks and look_for_leaks.wanted(self.id()))
        self.addCleanup(site.close)
        return site


def task(node, deps=(), **more):
    return {"id": node, "name": f"Task {node}", "acceptance": [f"{node}.txt exists"], "deps": list(deps), **more}


def plan(*tasks):
    return {"phases": [{"id": "P1", "name": "Work", "tasks": list(tasks)}]}


def wait_gone(*pids):
    """Waits until none of these processes exists; they need not be ours."""
    for pid in pids:
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            if not select.select([fd], [], [], PATIENCE)[0]:
                raise AssertionError(f"process {pid} lives on")
        finally:
            os.close(fd)


FAST = """
[retry]
delays = ["10ms", "10ms", "10ms"]
[supervisor.backoff]
base = "10ms"
"""
