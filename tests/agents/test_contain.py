#!/usr/bin/env python3
"""Real agents that are killed with a tool running, and real agents in a sandbox: nothing is left, nothing gets out."""

import os
import signal
import unittest

import real
from real import Claude, Codex, harness

import namespaces
from harness import wait_gone

HANG = "tail -f /dev/null"


def parents():
    """pid -> (parent, words of its command), of everybody."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                parent = int(f.read().rsplit(")", 1)[1].split()[1])
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                found[int(pid)] = (parent, f.read().split(b"\0"))
        except OSError:
            pass
    return found


class Killed(real.RealCase):
    def hanging(self, kind, **options):
        """A site whose agent has a tool running that never ends: (site, run, shim, agent, everybody below the shim)."""
        site = self.site(kind, **options)
        self.goal(site, self.task("T1", [kind.shell("echo kept > kept.txt; " + HANG), {"text": "Never said."}]))
        run = site.wait_type("run.session")["run"]
        shim = int(site.read(f".overseer/runs/{run}/lock").split()[0])
        while True:
            all_of = parents()
            below, last = {shim}, set()
            while below != last:
                last = set(below)
                below |= {pid for pid, (parent, _) in all_of.items() if parent in below}
            if any(all_of[pid][1][:1] == [b"tail"] for pid in below if pid in all_of):
                break
            # Each answer is a turn of the daemon's loop; the harness' patience bounds the run.
            site.call("run.log", run=run, offset=1 << 30, wait_ms=200)
        agent = [pid for pid in below if all_of[pid][0] == shim]
        return site, run, shim, agent, sorted(below - {shim})

    def check(self, kind, victim, config, containment, swept=1):
        """Nothing is left, and at least `swept` processes were there to be swept."""
        site, run, shim, agent, below = self.hanging(kind, config=real.QUICK + config)
        self.assertGreaterEqual(len(below), 2)
        os.kill(shim if victim == "shim" else agent[0], signal.SIGKILL)
        ended = site.wait_type("run.ended", run=run)["data"]
        wait_gone(*below)
        self.assertEqual((ended.get("lost", False), ended["containment"]), (victim == "shim", containment))
        self.assertGreaterEqual(ended["swept"], swept)
        # What it had done is kept.
        harvested = site.wait_type("run.harvested", run=run)["data"]
        self.assertEqual(site.git("show", harvested["head"] + ":kept.txt"), "kept\n")

    def test_claude_is_killed(self):
        self.check(Claude, "agent", "cgroups = false\n", "sweep")

    def test_codex_is_killed(self):
        # Its tools ask the kernel to die with it, and may have done so before anybody looks.
        self.check(Codex, "agent", "cgroups = false\n", "sweep", swept=0)

    def test_the_shim_of_claude_is_killed(self):
        self.check(Claude, "shim", "cgroups = false\n", "sweep")

    def test_the_shim_of_codex_is_killed(self):
        self.check(Codex, "shim", "cgroups = false\n", "sweep")


class Boxed(real.RealCase):
    def setUp(self):
        super().setUp()
        if namespaces.no_sandbox():
            self.skipTest(namespaces.no_sandbox())

    def check(self, kind, **options):
        """A task is done and accepted from inside, and what it tried outside did not happen."""
        site = self.site(kind, sandbox="bwrap", start=False, **options)
        out = os.path.join(site.repo, "planted")
        site.up()
        goal = self.goal(site, self.task("T1", [
            kind.shell(f"echo inside > T1.txt; cat {site.dir}/token > token.txt; echo x > {out}; true"), {"text": "Done."}]))
        site.wait_goal(goal)
        self.assertEqual(site.git("show", "main:T1.txt"), "inside\n")
        self.assertEqual(site.git("show", "main:token.txt"), "")
        self.assertFalse(os.path.exists(out))
        # Its hooks could be called from inside, and write where they may.
        events = site.read(f".overseer/runs/{site.runs()[0]['id']}/hooks/events")
        self.assertIn("Stop", events)

    def test_claude(self):
        self.check(Claude)

    def test_codex(self):
        self.check(Codex, home="shared", permission_mode="danger-full-access")


if __name__ == "__main__":
    unittest.main(verbosity=2)
