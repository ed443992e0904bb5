#!/usr/bin/env python3
"""Containment: how runs are stopped, what is kept of them, and that nothing of them is left."""

import os
import select
import time
import unittest

from harness import FAST, PATIENCE, SiteCase, plan, task, wait_gone

# Stands at the gate "g" until the test lets it go on.
GATE = r"""
echo "$OVERSEER_NODE $OVERSEER_RUN $$" > "$HOME/g.here"
read x < "$HOME/g.go"
"""


class Stop(SiteCase):
    def begin(self, config, agent):
        """A site with one run at its gate: (site, run, pid)."""
        site = self.site(FAST + config, agent)
        gate = site.gate("g")
        site.up()
        site.call("goal.create", title="Test", plan=plan(task("T1")))
        _, run, pid = gate.wait().split()
        return site, run, int(pid)

    def stop_told(self, site):
        """What came of the stop."""
        return site.wait_event(lambda e: e["type"] == "effect.ended" and e["data"]["kind"] == "run_stop")["data"]

    def test_work_is_kept_before_the_first_signal(self):
        """An agent that throws its work away when it is asked to end cannot lose it."""
        site, run, pid = self.begin('[supervisor]\nstop_grace = "20s"\n', r"""
trap 'rm -f precious; git reset -q --hard; exit 1' TERM
git commit -q --allow-empty -m "a commit"
echo precious > precious; echo changed > README; git add README; echo twice > README
""" + GATE + GATE)
        site.call("run.stop", run=run, reason="enough")
        wait_gone(pid)
        site.wait_type("run.ended", run=run)
        told = self.stop_told(site)
        self.assertEqual(told["outcome"], "ok")
        ref = told["detail"].split()[-1]
        self.assertTrue(ref.startswith("refs/overseer/rescue/"), told)
        self.assertEqual(site.git("show", ref + ":precious"), "precious\n")
        self.assertEqual(site.git("show", ref + ":README"), "twice\n")
        self.assertEqual(site.git("log", "--format=%s", "-1", ref + "^1").strip(), "a commit")

    def test_a_failing_rescue_does_not_keep_a_run_alive(self):
        """It is said, and the run ends all the same."""
        site, run, pid = self.begin('[supervisor]\nstop_grace = "20ms"\n', "echo precious > precious\n" + GATE + GATE)
        site.git("update-ref", "refs/overseer/rescue/pool-1", "HEAD")  # in the way of the ref
        site.call("run.stop", run=run, reason="enough")
        wait_gone(pid)
        site.wait_type("run.ended", run=run)
        told = self.stop_told(site)
        self.assertEqual(told["outcome"], "ok")
        self.assertIn("could not be kept", told["detail"])


def own_group():
    """The folder of our cgroup v2 group, when groups can be made there; else None."""
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        mounts = [line.split()[4] for line in f if " - cgroup2 " in line]
    with open("/proc/self/cgroup", encoding="utf-8") as f:
        own = [line.strip()[3:] for line in f if line.startswith("0::")]
    folder = os.path.normpath(mounts[0] + own[0]) if mounts and own else None
    try:
        os.mkdir(os.path.join(folder, f"test-{os.getpid()}"))
        os.rmdir(os.path.join(folder, f"test-{os.getpid()}"))
    except (OSError, TypeError):
        return None
    return folder


# Gets away as far as a process can: own session, no parent, nothing of us in its environment.
FLED = r"""
(env -i HOME="$HOME" setsid sh -c 'echo $$ > "$HOME/f.here"; trap "" TERM; while :; do sleep 3600; done' &)
"""


def wait_written_down(site, run, pid):
    """Until the shim has seen it."""
    path, end = f".overseer/runs/{run}/descendants", time.monotonic() + PATIENCE
    while f"\n{pid} " not in (site.read(path) if os.path.exists(site.path(path)) else ""):
        if time.monotonic() > end:
            raise AssertionError(f"{pid} is not among the descendants of {run}")
        time.sleep(0.02)


class Groups(SiteCase):
    def setUp(self):
        super().setUp()
        self.group = own_group()
        if not self.group:
            self.skipTest("no control group can be made here")

    def begin(self, config="", agent=GATE + GATE):
        site = self.site(FAST + '[supervisor]\nstop_grace = "50ms"\n' + config, FLED + agent)
        fled, gate = site.gate("f"), site.gate("g")
        site.up()
        site.call("goal.create", title="Test", plan=plan(task("T1")))
        pid = int(fled.wait())
        _, run, agent = gate.wait().split()
        return site, run, (pid, int(agent)), gate

    def shim(self, site, run):
        return int(site.read(f".overseer/runs/{run}/lock").split()[0])

    def test_who_fled_ends_with_the_run(self):
        site, run, pids, _ = self.begin()
        self.assertTrue(os.path.isdir(os.path.join(self.group, "overseer-" + run)))
        site.call("run.stop", run=run, reason="enough")
        site.wait_type("run.ended", run=run)
        wait_gone(*pids)
        self.assertEqual(site.call("run.show", run=run)["containment"], "cgroup")
        self.assertIn("in a control group of its own", site.cli("run", "show", run))
        self.assertFalse(os.path.exists(os.path.join(self.group, "overseer-" + run)))

    def test_who_fled_ends_when_shim_and_daemon_are_killed(self):
        """Nobody is left to see it; the next daemon finds the group."""
        site, run, pids, _ = self.begin()
        shim = self.shim(site, run)
        site.kill()
        os.kill(shim, 9)
        wait_gone(shim)
        site.up()
        ended = site.wait_type("run.ended", run=run)["data"]
        self.assertTrue(ended["lost"])
        self.assertEqual(ended["containment"], "cgroup")
        wait_gone(*pids)
        self.assertFalse(os.path.exists(os.path.join(self.group, "overseer-" + run)))

    def test_who_moved_to_another_group_ends_when_shim_and_daemon_are_killed(self):
        """Neither the group nor the environment tells of it: the next daemon knows it by number and start time."""
        site, run, pids, _ = self.begin()
        elsewhere = os.path.join(self.group, f"test-elsewhere-{os.getpid()}")
        os.mkdir(elsewhere)
        try:
            with open(os.path.join(elsewhere, "cgroup.procs"), "w", encoding="utf-8") as f:
                f.write(str(pids[0]))
            wait_written_down(site, run, pids[0])
            shim = self.shim(site, run)
            site.kill()
            os.kill(shim, 9)
            wait_gone(shim)
            site.up()
            self.assertTrue(site.wait_type("run.ended", run=run)["data"]["lost"])
            wait_gone(*pids)
        finally:
            os.rmdir(elsewhere)

    def test_groups_of_runs_that_are_over_are_removed_at_the_start(self):
        """Those of others are not touched."""
        site, run, pids, _ = self.begin()
        site.call("run.stop", run=run, reason="enough")
        site.wait_type("run.ended", run=run)
        self.assertEqual(site.down(), 0)
        mine, other = (os.path.join(self.group, "overseer-" + name) for name in (run, "R_" + "0" * 26))
        for folder in (mine, other):
            os.mkdir(folder)
        try:
            site.up()
            site.call("status.get")
            self.assertEqual((os.path.exists(mine), os.path.exists(other)), (False, True))
        finally:
            os.rmdir(other)

    def test_doctor_says_it(self):
        site = self.site(FAST, GATE)
        site.up()
        check = [c for c in site.call("doctor.run")["checks"] if c["name"] == "containment"][0]
        self.assertIn("each run gets a control group below " + self.group, check["text"])


class WithoutGroups(SiteCase):
    def test_who_cleared_its_environment_ends_when_the_shim_is_killed(self):
        site = self.site(FAST + '[supervisor]\ncgroups = false\nstop_grace = "50ms"\n', FLED + GATE + GATE)
        fled, gate = site.gate("f"), site.gate("g")
        site.up()
        site.call("goal.create", title="Test", plan=plan(task("T1")))
        pid = int(fled.wait())
        _, run, agent = gate.wait().split()
        wait_written_down(site, run, pid)
        os.kill(int(site.read(f".overseer/runs/{run}/lock").split()[0]), 9)
        ended = site.wait_type("run.ended", run=run)["data"]
        self.assertEqual((ended["lost"], ended["containment"]), (True, "sweep"))
        wait_gone(pid, int(agent))

    def test_chains_that_fork_and_end_are_not_called_gone_while_they_live(self):
        """Whoever lives holds the pipe. The record says that others may be left, or nobody is."""
        site = self.site(FAST + '[supervisor]\ncgroups = false\nstop_grace = "50ms"\n', r"""
if mkdir "$HOME/once"; then
    exec 9>"$HOME/held"
    python3 - <<'END'
import os, time
for i in range(6):
    if os.fork() == 0:
        end = time.time() + 60
        while time.time() < end:
            if os.fork():
                os._exit(0)
            os.setsid()
            time.sleep(0.005)  # where nobody reaps them, the numbers of processes must not run out
        os._exit(0)
END
fi
""" + GATE)
        os.mkfifo(os.path.join(site.root, "held"))
        held = os.open(os.path.join(site.root, "held"), os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, held)
        gate = site.gate("g")
        site.up()
        site.call("goal.create", title="Test", plan=plan(task("T1")))
        _, run, _ = gate.wait().split()
        os.kill(int(site.read(f".overseer/runs/{run}/lock").split()[0]), 9)
        ended = site.wait_type("run.ended", run=run)["data"]
        self.assertEqual((ended["lost"], ended["containment"]), (True, "sweep"))
        if "may be left" in ended["message"]:
            end = time.monotonic() + PATIENCE
            while time.monotonic() < end and select.select([held], [], [], 0.01)[0] == []:
                pass
        self.assertEqual(os.read(held, 1), b"")

    def test_the_sweep_is_said(self):
        """Switched off: the run says so, and what moved to another session ends all the same."""
        config = FAST + '[supervisor]\ncgroups = false\nstop_grace = "50ms"\n[agents.limited]\ncommand = "true"\npids_max = 9\n'
        site = self.site(config, r"""
setsid sh -c 'echo $$ > "$HOME/f.here"; while :; do sleep 3600; done' </dev/null >/dev/null 2>&1 &
""" + GATE + GATE)
        fled, gate = site.gate("f"), site.gate("g")
        site.up()
        site.call("goal.create", title="Test", plan=plan(task("T1")))
        pid = int(fled.wait())
        _, run, agent = gate.wait().split()
        os.kill(int(site.read(f".overseer/runs/{run}/lock").split()[0]), 9)
        ended = site.wait_type("run.ended", run=run)["data"]
        self.assertEqual((ended["lost"], ended["containment"]), (True, "sweep"))
        wait_gone(pid, int(agent))
        check = [c for c in site.call("doctor.run")["checks"] if c["name"] == "containment"][0]
        self.assertEqual(check["level"], "warning")
        self.assertIn("no control groups (supervisor.cgroups is false)", check["text"])
        self.assertIn("limits of agents cannot be kept", check["text"])


if __name__ == "__main__":
    unittest.main()
