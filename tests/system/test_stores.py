#!/usr/bin/env python3
"""Two repositories of one user, each with a daemon of its own: a run in a sandbox of one has no say in the other.

It sees nothing of the other's store, and if it got hold of its token or its socket all the same, it is no person there.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import test_callers
import test_contain
import test_fence
from harness import FAST, ORDINARY_USER, PATIENCE, Gate, plan, task
from test_fence import COMMIT, NOBODY, PROBE

# One that an ordinary user can run, too.
PYTHON = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
# Nobody but root may look at what the caller has open.
UNSEEN = "import ctypes, runpy, sys; ctypes.CDLL(None).prctl(4, 0); sys.argv.pop(0); runpy.run_path(sys.argv[0], run_name='__main__')"


# Calls, and leaves its socket on the way from one process to another.
KEPT = r"""
import json, os, signal, socket, sys
store = sys.argv[1]
read = lambda name: open(os.path.join(store, name)).read()
port = json.loads(read("daemon.json"))["http_port"]
s = socket.create_connection(("127.0.0.1", port))
body = b'{"jsonrpc":"2.0","id":1,"method":"goal.create","params":{"title":"forged"}}'
s.sendall((f"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {read('token').strip()}\r\n"
           f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body)
a, b = socket.socketpair()
socket.send_fds(a, [b"x"], [s.fileno()])
s.close()
if os.fork() == 0:
    signal.pause()
print("sent")
"""


class StoresCase(test_fence.FenceCase):
    def other(self, folder="/var/tmp"):
        """Another site of the same user, whose daemon is up."""
        site = test_fence.UserSite(FAST, root=tempfile.mkdtemp(prefix="overseer-test-", dir=folder))
        self.addCleanup(site.close)
        os.chmod(site.root, 0o755)
        if self.user is not None:
            site.become(self.user)
        site.up()
        return site

    def gated(self, script, config=""):
        """A site whose agents wait at a gate, in a folder that they can write. Not started."""
        site = self.fenced(script.replace("GATES", "$SITE/gates"), more='sandbox_writable = ["{root}/gates"]', config=config)
        site.configure(site.read(".overseer/config.toml").replace("{root}", site.root))
        os.makedirs(os.path.join(site.root, "gates"))
        site.gates.append(Gate(os.path.join(site.root, "gates"), "g"))
        self.gate = site.gates[-1]
        if self.user is not None:
            site.become(self.user)
        return site


class Hidden(StoresCase):
    def test_the_stores_of_other_daemons_are_hidden(self):
        """By their own name, through links, and where a folder around them can be written."""
        other = self.other()
        site = self.fenced("", more='sandbox_writable = ["{root}/user/shared"]')
        home = os.path.join(site.root, "user")
        os.symlink(other.root, os.path.join(home, "project"))
        os.symlink(other.root, os.path.join(home, ".cache", "project"))
        os.makedirs(os.path.join(home, "shared"))
        shared = self.other(os.path.join(home, "shared"))
        site.write("../user/bin/agent.sh", "#!/bin/sh\n" + PROBE + rf"""
try readme reads {other.repo}/README
try token reads {other.dir}/token
try store reads {other.dir}/store.db
try socket sees {other.socket}
try by_link reads "$HOME/project/repo/.overseer/token"
try in_a_cache reads "$HOME/.cache/project/repo/.overseer/token"
try in_a_cache_readme reads "$HOME/.cache/project/repo/README"
try by_writable reads {shared.dir}/token
try writable writes "$HOME/shared/mine"
""" + COMMIT)
        site.configure(site.read(".overseer/config.toml").replace("{root}", site.root))
        if self.user is not None:
            site.become(self.user)
        self.assertEqual(self.probe(site), {"readme", "in_a_cache_readme", "writable"})
        self.assertEqual(other.call("goal.list")["goals"], [])

    def test_a_program_that_a_run_calls_overseerd_hides_nothing(self):
        """Its process can be seen from outside: the folder that it names must not vanish from other sandboxes."""
        site = self.gated(r"""
if [ "$OVERSEER_NODE" = T1 ]; then
	cp "$(command -v sh)" /tmp/overseerd
	/tmp/overseerd -c 'echo here > GATES/g.here; read x < GATES/g.go' overseerd --dir "$SITE/user"
fi
cat "$SITE/user/private" > found
""" + COMMIT, config="[workers]\nmax = 2\n")
        site.up()
        site.call("goal.create", title="Pretend", plan=plan(task("T1")))
        self.gate.wait()
        site.wait_goal(site.call("goal.create", title="Look", plan=plan(task("T2")))["goal"])
        self.assertEqual(site.git("show", "main:found"), "the user's\n")
        self.gate.go()


class HiddenAsUser(Hidden):
    user = NOBODY


class Callers(StoresCase):
    """The store of a daemon that was started later is not hidden: such a run is known by its processes."""

    def begin(self):
        self.a = self.gated(test_callers.OBEY.replace("${GATES:-$HOME}", "GATES"))
        shutil.copy(test_callers.CALLER, os.path.join(self.a.root, "gates"))
        self.a.up()
        self.a.call("goal.create", title="Test", plan=plan(task("T1")))
        self.gate.wait()
        self.b = self.other()

    def tell(self, line):
        os.write(self.gate.fds[1], line.encode() + b"\n")

    def inside(self, *words):
        """What a command of the run of A prints."""
        self.tell(shlex.join(words))
        self.assertEqual(self.gate.wait(), "done")
        return self.a.read(os.path.join(self.a.root, "gates/said")).strip()

    def call_inside(self, way, title="forged"):
        return self.inside(PYTHON, os.path.join(self.a.root, "gates/caller.py"), self.b.dir, title, *way.split())

    def as_person(self, way):
        who = {} if self.user is None else {"user": self.user, "group": self.user, "extra_groups": []}
        done = subprocess.run([PYTHON, test_callers.CALLER, self.b.dir, "by " + way, *way.split()],
                              env=self.b.env, capture_output=True, text=True, timeout=PATIENCE, **who)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "ok"), done.stderr)

    def titles(self):
        return [goal["title"] for goal in self.b.call("goal.list")["goals"]]

    def test_a_run_of_another_store_is_no_person(self):
        self.begin()
        for way in ("socket", "http", "http mapped", "http flee", "http flee pass", "socket flee"):
            with self.subTest(way):
                said = self.call_inside(way)
                self.assertTrue(said.startswith("E_UNAUTHORIZED goal.create is for people: this call came from"), said)
                self.assertIn("sandbox", said)
        for way in ("http", "socket"):
            self.as_person(way)
        self.assertEqual(sorted(self.titles()), ["by http", "by socket"])

    def test_who_has_ended_was_an_agent(self):
        """It connects, sends and ends while the other daemon looks elsewhere."""
        self.begin()
        self.b.daemon.send_signal(signal.SIGSTOP)
        for way in ("socket flee leave", "http flee leave", "socket leave", "http leave"):
            self.call_inside(way)
        self.b.daemon.send_signal(signal.SIGCONT)
        for way in ("http", "socket"):  # whoever called before was answered before
            self.as_person(way)
        self.assertEqual(sorted(self.titles()), ["by http", "by socket"])

    def test_one_that_cannot_be_looked_at(self):
        """It is no person; and people are, where control groups tell the two apart."""
        self.begin()
        said = self.inside(PYTHON, "-c", UNSEEN, os.path.join(self.a.root, "gates/caller.py"), self.b.dir, "forged", "http")
        self.assertTrue(said.startswith("E_UNAUTHORIZED goal.create is for people"), said)
        self.as_person("socket")
        self.assertEqual(self.titles(), ["by socket"])

    def test_a_socket_that_no_descriptor_shows(self):
        """It was sent to itself over another one, and waits there. Where runs have control groups, that does not help it."""
        if not test_contain.own_group() or self.user is not None:
            self.skipTest("no control group can be made here")
        self.begin()
        self.a.write("../gates/kept.py", KEPT)
        self.b.daemon.send_signal(signal.SIGSTOP)
        self.assertEqual(self.inside(PYTHON, os.path.join(self.a.root, "gates/kept.py"), self.b.dir), "sent")
        self.b.daemon.send_signal(signal.SIGCONT)
        self.as_person("http")
        self.assertEqual(self.titles(), ["by http"])

    def test_without_runs_elsewhere_nobody_is_suspected(self):
        self.begin()
        self.tell("end")
        self.a.wait_type("run.ended")
        for way in ("http", "http flee", "socket flee"):
            self.as_person(way)


class CallersAsUser(Callers):
    user = ORDINARY_USER


if __name__ == "__main__":
    unittest.main(verbosity=2)
