"""A site for cases: a repository of a user with things of their own in it, a daemon, and the life of one case.

A case gets a worker of its own. Its task is harvested and, unless it fails, accepted; the next task takes
the worktree; then the worker is removed. After each of that the judge is asked.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "system"))
import harness  # noqa: E402
from judge import Judge  # noqa: E402

# How long one step of a case may take, and one of a case that is large; reached only when something is wrong.
LIMIT, LARGE_LIMIT = 30, 600


def sources():
    """The table as it is now, for the agents: they may not see where it lies."""
    found = {}
    for name in ("agent.py", "room.py", "table.py", *(name for name in os.listdir(HERE) if name.startswith("cases_"))):
        with open(os.path.join(HERE, name), encoding="utf-8") as f:
            found[name] = f.read()
    return found


SOURCES = sources()


def interpreter():
    """That of whoever runs the tests may lie in a home that an ordinary user does not see."""
    return next((path for path in (sys.executable, "/usr/bin/python3") if os.access(path, os.X_OK)), sys.executable)


EVIL = r"""#!/bin/sh
# A program that an agent planted: case, kind. Outside of a run it leaves a note of who started it.
if [ -z "$OVERSEER_RUN" ] && ! ls "SITE/outside/$1.$2".* > /dev/null 2>&1; then
	{
		p=$$
		while [ "$p" -gt 1 ]; do
			tr '\0' ' ' < /proc/$p/cmdline; echo
			p=$(sed 's/.*) . //; s/ .*//' /proc/$p/stat)
		done
		cat /proc/self/cgroup
	} > "SITE/outside/$1.$2.$$" 2>&1
fi
case $2 in
clean|smudge|textconv|base-*) cat ;;
fsmonitor) printf '/\0' ;;
*) exit 1 ;;
esac
"""
# The user's own programs: only for files that the base's attributes name, and what was accepted is the base from then on.
USER_PROGRAM = r"""#!/bin/sh
if [ -z "$OVERSEER_RUN" ] && ! env -i PATH="$PATH" git -C "REPO" check-attr filter diff merge -- "$2" | grep -q ': user$'; then
	{ echo "$@"; pwd -P; } > "SITE/outside/$(echo "$2" | cut -d/ -f1).user-$1.$$"
fi
case $1 in
clean) sed 's/^plain:/stored:/' ;;
smudge) sed 's/^stored:/plain:/' ;;
textconv) cat "$2" ;;
*) exit 1 ;;
esac
"""
ATTRIBUTES = """*.by-user filter=user diff=user merge=user
*.by-tree filter=tree
base.merged merge=tree
*.lf text eol=lf
*.crlf text eol=crlf
*.utf16 text working-tree-encoding=UTF-16LE
"""


class Follower(threading.Thread):
    """All events of a daemon, as they come."""

    def __init__(self, site):
        super().__init__(daemon=True)
        self.connection, self.seen, self.news, self.over = site.connect(), [], threading.Condition(), False
        self.connection.sock.settimeout(None)
        self.start()

    def run(self):
        try:
            self.connection.call("events.follow", after=0)
            while True:
                event = self.connection.event()
                with self.news:
                    self.seen.append(event)
                    self.news.notify_all()
        except (OSError, ValueError):
            with self.news:
                self.over = True
                self.news.notify_all()

    def wait(self, wanted, limit):
        """The first event that is wanted, None when there is none in time."""
        at, end = 0, time.monotonic() + limit
        with self.news:
            while True:
                for event in self.seen[at:]:
                    if wanted(event):
                        return event
                at = len(self.seen)
                if self.over or not self.news.wait(max(0, end - time.monotonic())) and time.monotonic() >= end:
                    return None


class Listener(threading.Thread):
    """Another program of the user's with a socket in /tmp. Who reaches it leaves a note, as programs do that run outside."""

    def __init__(self, outside):
        super().__init__(daemon=True)
        self.outside, self.folder = outside, tempfile.mkdtemp(prefix="overseer-test-", dir="/tmp")
        self.path = os.path.join(self.folder, "socket")
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(self.path)
        self.socket.listen()
        self.start()

    def run(self):
        while True:
            try:
                peer = self.socket.accept()[0]
            except OSError:
                return
            with peer:
                name = peer.recv(100).decode(errors="replace")
                with open(os.path.join(self.outside, f"{name}.socket.1"), "w", encoding="utf-8") as f:
                    f.write("the listener at the socket\nwas\nreached\n")

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class CaseSite:
    def __init__(self, sandbox, full):
        self.sandbox, self.full, self.limit = sandbox, full, LIMIT
        # Not below /tmp, which is another one in a sandbox.
        self.root = tempfile.mkdtemp(prefix="overseer-test-", dir="/var/tmp")
        os.chmod(self.root, 0o755)
        self.site = harness.Site(root=self.root)
        self.site.env["HOME"] = os.path.join(self.root, "home")
        self.events = self.listener = self.sleeper = None
        try:
            self.folders()
            self.others()
            self.repository()
            self.configure()
            self.site.up()
            self.events = Follower(self.site)
            self.bystander()
            self.judge = Judge(self.root, self.site.env)
        except BaseException:
            self.close()
            raise

    def put(self, name, text, mode=0o644):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)

    def folders(self):
        for name in ("outside", "home", "alternate", "bin", "victims"):
            os.makedirs(os.path.join(self.root, name), exist_ok=True)
        self.put("evil.sh", EVIL.replace("SITE", self.root), 0o755)
        self.put("user-program.sh", USER_PROGRAM.replace("SITE", self.root).replace("REPO", os.path.realpath(self.site.repo)), 0o755)
        self.put("home/.gitconfig", """[user]
	name = User
	email = user@localhost
[protocol "file"]
	allow = always
""")
        for name, text in SOURCES.items():
            self.put(f"bin/{name}", text, 0o755)

    def others(self):
        """Other programs of the user's, and the one that talks to the daemon where every run can see it."""
        self.listener = Listener(os.path.join(self.root, "outside"))
        self.sleeper = subprocess.Popen(["sleep", "infinity"])
        self.put("sleeper.pid", f"{self.sleeper.pid}\n")
        shutil.copy(harness.CLI, os.path.join(self.root, "bin/overseer"))

    def repository(self):
        """What the user has: a base with attributes, a submodule, two commits to merge, branches, a worktree, uncommitted files."""
        git, put = self.site.git, self.site.write
        sub = os.path.join(self.root, "sub")
        subprocess.run(f"git init -q -b main --template= {sub} && cd {sub} && echo base > base-sub.txt && git add -A && git commit -qm sub",
                       shell=True, env=self.site.env, check=True)
        secret = os.path.join(self.root, "home/secret")
        subprocess.run(f"""git init -q -b main --template= {secret} && cd {secret} && echo "a secret of the user's" > secret && git add -A &&
                       git commit -qm secret && cp -r .git/objects loose && git repack -qad && cp -r loose/?? .git/objects/ && rm -r loose""",
                       shell=True, env=self.site.env, check=True)
        program = os.path.join(self.root, "user-program.sh")
        for key, words in (("filter.user.clean", "clean %f"), ("filter.user.smudge", "smudge %f"), ("diff.user.textconv", "textconv"),
                           ("merge.user.driver", "merge %P")):
            git("config", key, f"{program} {words}")
        git("config", "filter.tree.clean", "./tree-filter.sh")
        git("config", "merge.tree.driver", "./tree-merge.sh %A")
        put(".gitattributes", ATTRIBUTES)
        put(".gitignore", "*.base-ignored\n")
        for i in range(1, 6):
            put(f"d/{i}", f"{i}\n")
        put("merge.txt", "".join(f"{i}\n" for i in range(1, 10)))
        put("base.by-user", "plain: base\n")
        put("tool.sh", "#!/bin/sh\n")
        os.chmod(os.path.join(self.site.repo, "tool.sh"), 0o755)
        os.symlink("README", os.path.join(self.site.repo, "base-link"))
        put("tree-filter.sh", "#!/bin/sh\nexec cat\n")
        os.chmod(os.path.join(self.site.repo, "tree-filter.sh"), 0o755)
        put("tree-merge.sh", "#!/bin/sh\nexit 1\n")
        os.chmod(os.path.join(self.site.repo, "tree-merge.sh"), 0o755)
        put("base.merged", "base\n")
        put("user-dirty.txt", "committed\n")
        put("user-file.txt", "the user's own words\n")
        git("submodule", "--quiet", "add", sub, "base-sub")
        git("add", "-A", ":!.overseer")
        git("commit", "-qm", "base")
        put("merge.txt", "one\n" + "".join(f"{i}\n" for i in range(2, 10)))
        put("base.merged", "the user's\n")
        git("commit", "-qam", "the user changes the first line")
        git("config", "extensions.worktreeConfig", "true")
        git("branch", "release", "main~1")
        git("tag", "v1", "main~1")
        git("worktree", "add", "-q", os.path.join(self.root, "other"), "-b", "other")
        put("user-dirty.txt", "not committed\n")
        put("user-untracked.txt", "not added\n")
        put("user-folder/kept.txt", "not added\n")
        put("user.ignored", "not even shown\n")
        os.makedirs(os.path.join(self.site.repo, ".git/info"), exist_ok=True)
        put(".git/info/exclude", "*.ignored\n")

    def configure(self):
        text = f"""
[planner]
fallback = false
[workers]
max = 4
[retry]
max_attempts = 1
max_agent_failures = 0
delays = ["10ms", "10ms", "10ms"]
[supervisor.backoff]
base = "10ms"
[supervisor]
stop_grace = "1s"
interrupt_grace = "100ms"
[accept]
conflict_rounds = 1
[patrol]
restarts = 1
[defaults]
agent = "hostile"
sandbox = "{self.sandbox}"
[agents.hostile]
command = ["{interpreter()}", "{self.root}/bin/agent.py"]
[agents.hostile.env]
FENCE_SITE = "{self.root}"
FENCE_FULL = "{int(self.full)}"
FENCE_PYTHON = "{interpreter()}"
FENCE_SOCKET = "{self.listener.path}"
GIT_CONFIG_NOSYSTEM = "1"
PYTHONDONTWRITEBYTECODE = "1"
"""
        self.site.configure(text)

    def bystander(self):
        """Another worker with work in its worktree, which is nobody's business."""
        self.site.call("worker.add", worker="bystander", excluded=True)
        runs, how, why = self.task("bystander", "first")
        if how != "done":
            said = b"".join(self.output(run) for run in runs).decode(errors="replace")
            raise AssertionError(f"an ordinary task is {how}: {why}\n{said[-2000:]}")
        self.site.write(".overseer/worktrees/bystander/unfinished.txt", "the bystander's\n")

    def victims(self, name):
        """What the user has that a case may be after, and files of the base that no other case changes."""
        self.put(f"victims/{name}", f"the user's file, for {name}\n")
        self.put(f"victims/{name}.d/kept", f"the user's folder, for {name}\n")
        self.put(f"victims/{name}.d/README", "not the repository's\n")
        self.put(f"victims/{name}.closed", "closed\n", 0o200)
        for i in (1, 2, 3):
            self.site.write(f"own/{name}/{i}", f"{i}\n")
        self.site.git("add", f"own/{name}")
        self.site.git("commit", "-qm", f"files for {name}", "--", f"own/{name}")
        self.site.git("branch", f"victim/{name}", "main~1")
        shutil.copy(os.path.join(self.site.repo, ".git/index"), os.path.join(self.root, f"victims/{name}.index"))

    # The life of a case

    def cli(self, *args):
        """(exit status, what it said); a status of None is one that never came."""
        try:
            done = subprocess.run([harness.CLI, *args], cwd=self.site.repo, env=self.site.env, capture_output=True, text=True, errors="replace",
                                  timeout=self.limit, check=False)
        except subprocess.TimeoutExpired:
            return None, "no answer"
        return done.returncode, (done.stdout + done.stderr).strip()

    def task(self, worker, which, stop=False):
        """(run ids, how the task ended, the reason): done, blocked, error, review, stuck or refused."""
        with self.events.news:
            after = len(self.events.seen) and self.events.seen[-1]["seq"]
        try:
            self.site.call("worker.start", worker=worker, task=f"fence {which}: {worker}")
        except (harness.RpcError, OSError) as e:
            return [], "refused", str(e)
        added = self.events.wait(lambda e: e["seq"] > after and e["type"] == "node.added" and e["data"].get("worker") == worker, self.limit)
        node = added and added["node"]

        def over(e):
            if e["seq"] <= after:
                return False
            if e["type"] == "node.status" and e.get("node") == node:
                return e["data"]["to"] in ("done", "blocked", "cancelled")
            if e["type"] == "escalation.opened" and e.get("node") == node:
                return e["data"]["kind"] != "failed"  # then it is blocked next
            return e["type"] == "worker.status" and e["data"]["worker"] == worker and e["data"]["to"] == "error"
        if stop:
            self.stop_when_ready(node)
        end = self.events.wait(over, self.limit)
        with self.events.news:
            runs = [e["run"] for e in self.events.seen if e["type"] == "run.created" and e.get("node") == node]
        how = end["data"].get("to", "asked") if end else "stuck"
        last = "" if end else self.last_word(node)
        if how != "done" and node and added:
            try:
                self.site.call("work.cancel", node=node, goal=added["goal"], reason="the case is over")
            except (harness.RpcError, OSError):
                pass
        return runs, how, (end["data"].get("reason") or end["data"].get("question", "") if end else last)

    def last_word(self, node):
        with self.events.news:
            said = [e["text"] for e in self.events.seen if e.get("node") == node]
        return " / ".join(said[-4:]) or "nothing happened"

    def stop_when_ready(self, node):
        """Stops a run that stays, once its case is prepared."""
        begun = self.events.wait(lambda e: e["type"] == "run.started" and e.get("node") == node, self.limit)
        end = time.monotonic() + self.limit
        while begun and time.monotonic() < end and b"FENCE " not in self.output(begun["run"]):
            time.sleep(0.02)
        if begun:
            try:
                self.site.call("run.stop", run=begun["run"], reason="the case wants it stopped")
            except (harness.RpcError, OSError):
                pass

    def output(self, run):
        try:
            return self.site.output(run)
        except OSError:
            return b""

    def report(self, runs):
        """What the case declared."""
        for run in runs:
            for line in self.output(run).decode(errors="replace").splitlines():
                if line.startswith("FENCE "):
                    return json.loads(line[6:])
        return None

    def live(self, case):
        """All of a case's life. Returns [(question, what was found)] and notes."""
        found, notes = [], []
        self.limit = self.judge.patience = LARGE_LIMIT if case.large and self.full else LIMIT
        self.victims(case.name)
        self.judge.begin()
        self.site.call("worker.add", worker=case.name, excluded=True)
        runs, how, why = self.task(case.name, "first", case.stays)
        notes.append(f"first task: {how}" + (f" ({why})" if how != "done" else ""))
        if how == "stuck" and not self.answers():
            return [("stuck", "the daemon no longer answers")], notes
        if how == "stuck":
            found.append(("stuck", f"the task does not come to an end: {why}"))
        report = self.report(runs)
        if report is None or report["failed"]:
            found.append(("prepare", "the case could not be prepared: " + (report["failed"][-600:] if report else f"{how}: {why}")))
            report = report or {"works": [], "excused": [], "could_not": []}
        notes += ["could not: " + text for text in report["could_not"]]
        self.shown(case.name)
        if case.refused and not report["could_not"]:
            found += [("refused", what) for what in self.refused(case, how, why)]
        self.idle(case.name)
        works, second = report["works"], None
        if how != "stuck":
            second = self.next_task(case, notes)
            works = works + (second["works"] if second else [])
            found += self.lost(case, works, "after the next task took the worktree")
        if second and second["failed"]:
            found.append(("works", "the next task: " + second["failed"][-300:]))
        if case.judge:
            found += [("works", what) for what in case.judge(self, case.name, how)]
        status, said = self.cli("worker", "nuke", case.name)
        if status != 0:
            found.append(("stuck", f"the worker cannot be removed: {said}"))
        found += self.lost(case, works, "after its worker was removed")
        found += [("ran", f"{kind}, started by {who.strip().splitlines()[1:4]}") for kind, who in self.judge.ran(case.name).items()]
        found += self.changed(report["excused"] + (second["excused"] if second else []))
        return found, notes

    def next_task(self, case, notes):
        """Another task takes the worktree. What it declared, or None."""
        if case.between:
            case.between(self, case.name)
        runs, how, why = self.task(case.name, "second")
        if how == "refused":
            notes.append(f"reset: {self.cli('worker', 'reset', case.name)}")
            runs, how, why = self.task(case.name, "second")
        notes.append(f"next task: {how}" + (f" ({why})" if how != "done" else ""))
        self.idle(case.name)
        return self.report(runs)

    def shown(self, worker):
        """People look at what was kept, by the commands that show it."""
        for ref in self.judge.git("for-each-ref", "--count=3", "--format=%(refname)", f"refs/overseer/rescue/{worker}").split():
            self.cli("rescue", "show", ref)

    def idle(self, worker):
        """Waits until nothing is under way at a worker."""
        end = time.monotonic() + self.limit
        while time.monotonic() < end:
            try:
                row = [w for w in self.site.call("worker.list")["workers"] if w["name"] == worker]
            except (harness.RpcError, OSError):
                return
            if not row or row[0]["status"] not in ("working", "rebasing") and not row[0]["under_way"]:
                return
            time.sleep(0.02)

    def refused(self, case, how, why):
        if how in ("done", "stuck"):
            return ["it was accepted" if how == "done" else f"it is neither accepted nor refused: {why}"]
        return [] if why else [f"it is {how} without a reason"]

    def lost(self, case, works, when):
        kept = self.judge.kept(case.name)
        return [("lost", f"{work.split(':')[0]} is nowhere {when}") for work in works if work not in kept]

    def changed(self, excused):
        """What changed outside while the case lived, other than what it changed itself where nothing hinders it."""
        excused = [re.compile(e) for e in excused] if self.sandbox == "none" else []
        found = [f"{key}: {was} -> {now}" for key, (was, now) in self.judge.changed().items() if not any(e.search(key) for e in excused)]
        with self.events.news:
            accepted = {e["data"]["commit"] for e in self.events.seen if e["type"] == "node.accepted"}
        found += self.judge.target(accepted) + self.judge.checkout()
        alternates = os.path.join(self.site.repo, ".git/objects/info/alternates")
        if os.path.lexists(alternates):
            os.unlink(alternates)
        return [("changed", what) for what in found + ["the repository: " + line for line in self.judge.sound()]]

    def answers(self):
        """Whether the daemon does."""
        try:
            connection = self.site.connect()
            connection.sock.settimeout(5)
            connection.call("status.get")
            connection.close()
            return True
        except (OSError, harness.RpcError):
            return False

    def close(self):
        self.site.close()
        if self.events:
            self.events.join(5)
        if self.listener:
            self.listener.close()
        if self.sleeper:
            self.sleeper.kill()
            self.sleeper.wait()
        with open("/proc/mounts", encoding="utf-8", errors="replace") as f:
            mounts = [line.split()[1] for line in f if line.split()[1].startswith(self.root + "/")]
        for mount in reversed(mounts):
            subprocess.run(["umount", "-l", mount], check=False, capture_output=True)
        subprocess.run(["chmod", "-R", "u+rwX", self.root], check=False, capture_output=True)
        harness.discard(self.root)
