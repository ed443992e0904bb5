#!/usr/bin/env python3
"""Who calls: a process of a run is an agent, however it calls and whatever it does to hide."""

import glob
import os
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

import namespaces
from harness import CLI, FAST, ORDINARY_USER, PATIENCE, Gate, Site, SiteCase, plan, task
from test_contain import own_group

CALLER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "caller.py")
WAYS = ["socket", "http", "http mapped", "http bound", "socket flee", "http flee", "http flee pass"]
try:
    socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262).close()
    WAYS.append("http mptcp")
except OSError:
    pass  # this kernel has none

# Does what the test says, line by line, until it is told to end.
OBEY = r"""
at=${GATES:-$HOME}
echo "$OVERSEER_RUN" > "$at/g.here"
while read -r line < "$at/g.go" && [ "$line" != end ]; do
    eval "$line" > "$at/said" 2>&1
    echo done > "$at/g.here"
done
"""
STOP_DAEMON = r"""
kill -STOP "$(sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' "$OVERSEER_REPO/.overseer/daemon.json")"
"""
# Starts a process that nobody but root may look at.
HIDE = r"""
python3 -c 'import ctypes, os, signal
ctypes.CDLL(None).prctl(4, 0)
print("up", file=open(os.environ["GATES"] + "/h.here", "w"), flush=True)
signal.pause()' &
"""
WORK = r"""
echo "$OVERSEER_RUN" > "$HOME/g.here"
echo > work; git add -A; git commit -qm work
"""


class CallerCase(SiteCase):
    config = ""

    def begin(self, agent=OBEY, config=""):
        self.s = self.site(FAST + self.config + config, agent)
        self.gate = self.s.gate("g")
        self.s.up()
        self.goal = self.s.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        self.run_id = self.gate.wait()

    def tell(self, line):
        os.write(self.gate.fds[1], line.encode() + b"\n")

    def inside(self, line):
        """What a command of the agent's prints."""
        self.tell(line)
        self.assertEqual(self.gate.wait(), "done")
        return self.s.home("said").strip()

    def caller(self, title, way):
        return [sys.executable, CALLER, self.s.dir, title, *way.split()]

    def as_agent(self, title, way):
        return self.inside(shlex.join(self.caller(title, way)))

    def as_person(self, title, way):
        done = subprocess.run(self.caller(title, way), env=self.s.env, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def titles(self):
        return [goal["title"] for goal in self.s.call("goal.list")["goals"]]

    def refused(self, said, *words):
        self.assertTrue(said.startswith("E_UNAUTHORIZED goal.create is for people"), said)
        for word in words:
            self.assertIn(word, said)


class Agents(CallerCase):
    """In a control group each, where there are some."""

    def test_a_run_is_no_person(self):
        self.begin()
        for way in WAYS:
            with self.subTest(way):
                said = self.as_agent(f"forged by {way}", way)
                self.refused(said)
                self.assertNotIn(f"forged by {way}", self.titles())

    def test_it_is_told_which_run_it_is(self):
        self.begin()
        for way in ("socket", "http"):
            self.refused(self.as_agent("forged", way), f"run {self.run_id}")
        self.assertIn(f"refused goal.create: run {self.run_id}", self.s.daemon_log())

    def test_a_person_is_one(self):
        """Also while a run goes on, and in whatever session."""
        self.begin()
        for way in WAYS:
            with self.subTest(way):
                self.assertEqual(self.as_person(f"by {way}", way), "ok")
                self.assertIn(f"by {way}", self.titles())

    def test_an_agent_reads(self):
        """With the command, which says how a refusal comes about."""
        self.begin()
        self.assertIn("T1", self.inside(f"cd {self.s.repo} && {CLI} work list"))
        said = self.inside(f"cd {self.s.repo} && {CLI} goal create --title forged; echo status $?")
        self.assertIn(f"goal.create is for people: this call came from run {self.run_id}", said)
        self.assertIn("Next  a person runs the command outside of the run", said)
        self.assertIn("status 5", said)
        self.assertNotIn("forged", self.titles())

    def call_from_a_sandbox(self):
        inside = ["bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc", *self.caller("forged", "socket")]
        done = subprocess.run(inside, env=self.s.env, capture_output=True, text=True, timeout=PATIENCE)
        self.refused(done.stdout, "a sandbox or a container")

    @unittest.skipIf(namespaces.no_sandbox(), namespaces.no_sandbox())
    def test_another_sandbox_is_no_person(self):
        """Such as a run of another store of the same user; also while this one has no run."""
        self.begin()
        self.call_from_a_sandbox()
        self.tell("end")
        self.s.wait_type("run.ended")
        self.call_from_a_sandbox()
        self.assertNotIn("forged", self.titles())

    def test_after_a_restart(self):
        """The runs of a daemon that was killed are known to the next one."""
        self.begin()
        self.s.kill()
        self.s.up()
        for way in WAYS:
            self.refused(self.as_agent("forged", way))
        self.assertEqual(self.as_person("mine", "http"), "ok")

    def test_a_run_that_cannot_be_found_again(self):
        """It makes its lock unreadable, and ends the daemon: the next one does not take it for a person."""
        self.begin()
        lock = os.path.join(self.s.dir, "runs", self.run_id, "lock")
        self.inside(f"mv {lock} {lock}.old && ln -s lock {lock}")
        self.s.kill()
        self.s.up()
        for way in WAYS:
            self.refused(self.as_agent("forged", way), f"run {self.run_id}")
        self.assertEqual(self.as_person("mine", "socket"), "ok")

    def test_a_run_whose_start_was_not_recorded(self):
        """It stops the daemon before that knows of its start, and makes its lock unreadable: no person, either."""
        self.begin(STOP_DAEMON + OBEY)
        lock = os.path.join(self.s.dir, "runs", self.run_id, "lock")
        self.inside(f"mv {lock} {lock}.old && ln -s lock {lock}")
        self.s.kill()
        self.s.up()
        for way in WAYS:
            self.refused(self.as_agent("forged", way))
        self.assertNotIn("forged", self.titles())

    def test_who_has_ended_was_an_agent(self):
        """It connects, sends and ends while the daemon looks elsewhere."""
        self.begin()
        self.s.daemon.send_signal(signal.SIGSTOP)
        for way in ("socket flee leave", "http flee leave", "socket leave", "http leave"):
            self.as_agent(f"forged by {way}", way)
        self.s.daemon.send_signal(signal.SIGCONT)
        self.after_all("forged by")

    def test_the_last_act_of_a_run(self):
        """Its end and the calls that it left are found at the same moment."""
        self.begin()
        self.s.daemon.send_signal(signal.SIGSTOP)
        for way in ("socket flee leave", "http flee leave"):
            self.as_agent(f"forged by {way}", way)
        shim = int(self.s.read(f".overseer/runs/{self.run_id}/lock").split()[0])
        fd = os.pidfd_open(shim)
        self.tell("end")
        self.assertTrue(self.ended(fd))
        self.s.daemon.send_signal(signal.SIGCONT)
        self.s.wait_type("run.ended", run=self.run_id)
        self.after_all("forged by")

    def ended(self, fd):
        try:
            return bool(select.select([fd], [], [], PATIENCE)[0])
        finally:
            os.close(fd)

    def after_all(self, forged):
        """Whoever called before us was answered before us, on the same socket."""
        self.assertEqual(self.as_person("mine by socket", "socket"), "ok")
        self.assertEqual(self.as_person("mine by http", "http"), "ok")
        self.assertEqual([title for title in self.titles() if title.startswith(forged)], [])

    def test_without_a_run_nobody_is_suspected(self):
        self.begin(agent="true\n" + OBEY.replace("while", "while false &&"))
        self.s.wait_type("run.ended", run=self.run_id)
        self.assertEqual(self.as_person("by socket", "socket"), "ok")
        self.assertEqual(self.as_person("by http", "http flee"), "ok")


class Swept(Agents):
    """Without control groups: held together by the shim alone."""

    config = "[supervisor]\ncgroups = false\n"


class Groups(CallerCase):
    def test_who_leaves_its_group_is_still_of_the_run(self):
        group = own_group()
        if not group:
            self.skipTest("no control group can be made here")
        self.begin()
        self.assertTrue(os.path.isdir(os.path.join(group, "overseer-" + self.run_id)))
        self.inside(f"echo $$ > {group}/cgroup.procs")
        with open(os.path.join(group, "overseer-" + self.run_id, "cgroup.procs"), encoding="ascii") as f:
            self.assertEqual(f.read(), "")
        for way in WAYS:
            self.refused(self.as_agent("forged", way), f"run {self.run_id}")
        self.assertEqual(self.as_person("mine", "http"), "ok")


class Commands(CallerCase):
    """A check runs what an agent wrote."""

    def test_a_check_is_no_person(self):
        self.begin(WORK + 'read x < "$HOME/g.go"\n', '[workspace]\ncheck_command = "sh $HOME/check"\n')
        calls = [f"{shlex.join(self.caller('forged', way))} > $HOME/said.{way}" for way in ("socket", "http")]
        self.s.write("../check", "; ".join(calls) + "\n")
        self.gate.go()
        self.s.wait_goal(self.goal)
        for way in ("socket", "http"):
            self.refused(self.s.home(f"said.{way}"), "the check command")
        self.assertNotIn("forged", self.titles())

    def test_a_filter_of_git_is_no_person(self):
        """It reads what an agent wrote, and may run it."""
        for level in ("none", "fence"):
            with self.subTest(level):
                self.s = self.site(FAST + f'[defaults]\nagent = "a"\nsandbox = "{level}"\n[agents.a]\nsandbox = "none"\n'
                                   'command = ["sh", "-c", "echo > a.filtered"]\n')
                self.s.git("config", "filter.f.clean", "sh $HOME/filter")
                self.s.write(".gitattributes", "*.filtered filter=f\n")
                self.s.git("add", ".gitattributes")
                self.s.git("commit", "-qm", "attributes")
                self.s.write("../filter", f'{shlex.join(self.caller("forged", "socket"))} > "${{TMPDIR:-$HOME}}/said"; cat\n')
                self.s.up()
                goal = self.s.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
                self.s.wait_goal(goal)
                said = glob.glob(os.path.join(self.s.dir, "git/*/own/tmp/said")) if level == "fence" else [os.path.join(self.s.root, "said")]
                with open(said[0], encoding="utf-8") as f:
                    told = f.read()
                if level == "fence":  # there is no socket in it
                    self.assertEqual(told, "")
                else:
                    self.refused(told, "git, or a program that it runs")
                self.assertNotIn("forged", self.titles())

    def test_what_git_left_is_no_person(self):
        """Should it outlive git, as it may when everything is killed: it is known by its environment, with no run, too."""
        self.s = self.site(FAST)
        self.s.up()
        done = subprocess.run(self.caller("forged", "socket"), env={**self.s.env, "OVERSEER_GIT_PATH": self.s.repo}, capture_output=True,
                              text=True, timeout=PATIENCE)
        self.refused(done.stdout, "a program that git has run")
        self.assertNotIn("forged", self.titles())

    def test_what_comes_after_an_accept_is_the_users(self):
        self.begin(WORK + 'read x < "$HOME/g.go"\n', '[accept]\npost_accept_command = "sh $HOME/after"\n')
        self.s.write("../after", shlex.join(self.caller("mine", "socket")) + "\n")
        self.gate.go()
        self.s.wait_goal(self.goal)
        self.s.wait_type("goal.created", title="mine")


class Placed(CallerCase):
    """Sites beside /tmp, which a sandbox hides; of an ordinary user, if asked for."""

    def begin_placed(self, script, more="", user=None):
        self.s = site = Site(FAST, root=tempfile.mkdtemp(prefix="overseer-test-", dir="/var/tmp"))
        self.addCleanup(site.close)
        site.user = user
        for folder in ("bin", "user", "gates"):
            os.makedirs(os.path.join(site.root, folder))
        shutil.copy(CALLER, os.path.join(site.root, "gates"))
        os.chmod(site.write("../bin/agent.sh", "#!/bin/sh\n" + script), 0o755)
        site.configure(FAST + f"""
[planner]
fallback = false
[defaults]
agent = "script"
[agents.script]
command = ["{site.root}/bin/agent.sh"]
{more.replace("{root}", site.root)}
[agents.script.env]
HOME = "{site.root}/user"
GATES = "{site.root}/gates"
""")
        self.gate, self.hidden = (Gate(os.path.join(site.root, "gates"), name) for name in "gh")
        site.gates += [self.gate, self.hidden]
        if user is not None:
            for folder, _, files in os.walk(site.root):
                for name in [folder, *(os.path.join(folder, file) for file in files)]:
                    os.chown(name, user, user)
        site.up()
        self.goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        self.run_id = self.gate.wait()


BOXED = 'sandbox = "bwrap"\nsandbox_writable = ["{root}/gates"]\n'


class Ordinary(Placed):
    """A daemon that is not root's cannot look at everything that its runs start."""

    def setUp(self):
        super().setUp()
        if os.getuid() != 0:
            self.skipTest("only root can start a daemon of another user")

    def test_who_cannot_be_looked_at_makes_http_read_only(self):
        self.begin_placed(HIDE + OBEY, user=ORDINARY_USER)
        self.hidden.wait()
        self.refused(self.as_person("by http", "http"), f"may come from run {self.run_id}", "cannot be looked at")
        self.assertEqual(self.as_person("by socket", "socket"), "ok")
        status, _, body = self.s.http("POST", "/rpc", '{"jsonrpc":"2.0","id":1,"method":"goal.list"}')
        self.assertEqual(status, 200)
        self.assertIn(b"by socket", body)

    def test_without_such_a_process_it_is_not(self):
        self.begin_placed(OBEY, user=ORDINARY_USER)
        self.assertEqual(self.as_person("by http", "http"), "ok")

    def test_in_a_sandbox_it_has_no_token(self):
        if namespaces.no_sandbox():
            self.skipTest(namespaces.no_sandbox())
        self.begin_placed(HIDE + OBEY, BOXED, user=ORDINARY_USER)
        self.hidden.wait()
        self.assertEqual(self.as_person("by http", "http"), "ok")


class Boxed(Placed):
    """In a sandbox there is neither token nor socket; one that got hold of the token is still an agent."""

    def test_a_token_is_no_person(self):
        if namespaces.no_sandbox():
            self.skipTest(namespaces.no_sandbox())
        self.begin_placed(OBEY, BOXED)
        gates = os.path.join(self.s.root, "gates")
        for name in ("token", "daemon.json"):
            self.inside(f"cat {self.s.dir}/{name} || true")
            self.assertIn("No such file", self.s.read(os.path.join(gates, "said")))
            shutil.copy(os.path.join(self.s.dir, name), gates)
        for way in ("http", "http mapped", "http flee", "http flee pass"):
            self.inside(f"python3 {gates}/caller.py {gates} forged {way}")
            self.refused(self.s.read(os.path.join(gates, "said")).strip(), f"run {self.run_id}")
        self.assertEqual(self.as_person("mine", "http"), "ok")

    def inside(self, line):
        self.tell(line)
        self.assertEqual(self.gate.wait(), "done")


if __name__ == "__main__":
    unittest.main(verbosity=2)
