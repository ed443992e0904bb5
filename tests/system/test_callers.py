#!/usr/bin/env python3
"""Who calls: a process of a run is an agent, however it calls and whatever it does to hide."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import unittest

import namespaces
from harness import FAST, PATIENCE, SiteCase, plan, task
from test_contain import own_group

CALLER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "caller.py")
WAYS = ("socket", "http", "http mapped", "socket flee", "http flee", "http flee pass")

# Does what the test says, line by line, until it is told to end.
OBEY = r"""
echo "$OVERSEER_RUN" > "$HOME/g.here"
while read -r line < "$HOME/g.go" && [ "$line" != end ]; do
    eval "$line" > "$HOME/said" 2>&1
    echo done > "$HOME/g.here"
done
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
        self.begin()
        shown = self.inside(f"python3 -c 'import json, socket; s = socket.socket(socket.AF_UNIX); "
                            f"s.connect(\"{self.s.socket}\"); "
                            "s.sendall(b\"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":1,\\\"method\\\":\\\"work.list\\\"}\\n\"); "
                            "print(s.makefile().readline())'")
        self.assertIn("T1", [row["node"] for row in json.loads(shown)["result"]["nodes"]])

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
        import select
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


if __name__ == "__main__":
    unittest.main(verbosity=2)
