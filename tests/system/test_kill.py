#!/usr/bin/env python3
"""kill -9 of the daemon, of a shim and of an agent in the middle of a run."""

import os
import signal
import unittest

from harness import FAST, SiteCase, plan, task, wait_gone

# Tells who it is (run, its pid, its parent's pid), then speaks and commits when it may.
AGENT = r"""
[ -e "$HOME/no-gate" ] || {
	echo "$OVERSEER_RUN" >> "$HOME/started"
	setsid sleep 3600 </dev/null >/dev/null 2>&1 &
	echo before
	echo "$OVERSEER_RUN $$ $PPID $!" > "$HOME/g.here"
	read x < "$HOME/g.go"
	cat "$HOME/words"
	echo "spoken" > "$HOME/s.here"
	read x < "$HOME/g.go"
}
echo "$OVERSEER_RUN" > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "work of $OVERSEER_NODE"
exit $(cat "$HOME/status")
"""
WORDS = "".join(f"{i}: words that must not be lost, äöü\n" for i in range(5000))


class Kill(SiteCase):
    def begin(self, status=0):
        """A site whose one run stands at the gate: (site, gate, goal, run, pids of agent, shim, child)."""
        site = self.site(FAST + '[supervisor]\nstop_grace = "20ms"\n', AGENT)
        site.write("../words", WORDS)
        site.write("../status", f"{status}\n")
        gate, self.spoken = site.gate("g"), site.gate("s")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        run, agent, shim, child = gate.wait().split()
        site.wait_type("run.started", run=run)
        with open(f"/proc/{shim}/cmdline", "rb") as f:
            self.assertIn(b"overseer-run", f.read())
        return site, gate, goal, run, int(agent), int(shim), int(child)

    def once(self, site):
        """No dispatch ran twice, and the task is on main exactly once."""
        started = site.home("started").split()
        self.assertEqual(len(started), len(set(started)))
        self.assertEqual(site.git("log", "--format=%s", "main").split("\n").count("Task T1"), 1)
        runs = [e["run"] for e in site.events() if e["type"] == "run.created"]
        self.assertEqual(len(runs), len(set(runs)))
        self.assertEqual(site.live_pids(), [])
        return runs

    def whole_log(self, site, run):
        text, offset = "", 0
        while True:
            page = site.call("run.log", run=run, offset=offset)
            text, offset = text + page["text"], page["next_offset"]
            if offset == page["size"]:
                return text

    def test_daemon_dies_while_the_agent_speaks(self):
        """What is written while no daemon lives is all there afterwards; the same run goes on."""
        site, gate, goal, run, _, _, child = self.begin()
        site.kill()
        gate.go()
        self.spoken.wait()
        site.up()
        self.assertEqual([r["run"] for r in site.call("status.get")["running"]], [run])
        self.assertEqual(self.whole_log(site, run), "before\n" + WORDS)
        gate.go()
        site.wait_goal(goal)
        record = site.call("run.show", run=run)
        self.assertEqual((record["exit_code"], record["lost"], record["attempt"]), (0, False, 1))
        self.assertEqual(site.output(run).decode(), "before\n" + WORDS)
        self.assertEqual(record["output_bytes"], len(("before\n" + WORDS).encode()))
        self.assertEqual(self.once(site), [run])
        wait_gone(child)

    def test_agent_ends_while_no_daemon_lives(self):
        """Its exit status and its output wait for the next daemon."""
        site, gate, goal, run, agent, shim, child = self.begin()
        site.kill()
        gate.go(2)
        wait_gone(agent, shim, child)
        site.up()
        site.wait_goal(goal)
        record = site.call("run.show", run=run)
        self.assertEqual((record["exit_code"], record["lost"]), (0, False))
        self.assertGreaterEqual(record["swept"], 1)
        self.assertEqual(site.output(run).decode(), "before\n" + WORDS)
        self.assertEqual(self.once(site), [run])

    def test_agent_fails_while_no_daemon_lives(self):
        site, gate, goal, run, agent, shim, _ = self.begin(status=7)
        site.kill()
        gate.go(2)
        wait_gone(agent, shim)
        site.write("../status", "0\n")
        site.write("../no-gate", "")
        site.up()
        site.wait_goal(goal)
        record = site.call("run.show", run=run)
        self.assertEqual((record["exit_code"], record["lost"]), (7, False))
        self.assertEqual(len(self.once(site)), 2)

    def test_daemon_dies_again_and_again(self):
        site, gate, goal, run, _, _, _ = self.begin()
        for _ in range(5):
            site.kill()
            site.up()
        site.kill()
        gate.go()
        self.spoken.wait()
        site.up()
        gate.go()
        site.wait_goal(goal)
        self.assertEqual(site.output(run).decode(), "before\n" + WORDS)
        self.assertEqual(self.once(site), [run])

    def test_shim_dies(self):
        """Seen at once; nothing of the run goes on unowned; what it had made is kept; it is retried."""
        site, _, goal, run, agent, shim, child = self.begin()
        site.write("../no-gate", "")
        worktree = os.readlink(f"/proc/{agent}/cwd")
        with open(os.path.join(worktree, "half.txt"), "w", encoding="utf-8") as f:
            f.write("half\n")
        os.kill(shim, signal.SIGKILL)
        wait_gone(agent, child)
        ended = site.wait_type("run.ended", run=run)
        self.assertTrue(ended["data"]["lost"])
        site.wait_goal(goal)
        first, second = site.runs()
        self.assertEqual((first["lost"], second["lost"], second["exit_code"], second["attempt"]), (True, False, 0, 2))
        self.assertEqual(site.wait_type("node.failed")["data"]["cause"], "lost")
        self.assertEqual(site.git("show", first["rescue_ref"] + ":half.txt"), "half\n")
        self.assertEqual(len(self.once(site)), 2)

    def test_shim_and_daemon_die(self):
        """No daemon, no shim: the agent is ended all the same, and the next daemon tells the run lost."""
        site, _, goal, run, agent, shim, child = self.begin()
        site.write("../no-gate", "")
        site.kill()
        os.kill(shim, signal.SIGKILL)
        site.up()
        wait_gone(agent, child)
        site.wait_goal(goal)
        self.assertTrue(site.call("run.show", run=run)["lost"])
        self.assertEqual(len(self.once(site)), 2)

    def test_agent_dies(self):
        site, _, goal, run, agent, shim, child = self.begin()
        site.write("../no-gate", "")
        os.kill(agent, signal.SIGKILL)
        wait_gone(child, shim)
        site.wait_goal(goal)
        first, second = site.runs()
        self.assertEqual((first["id"], first["signal"], first["lost"], first["exit_code"]), (run, 9, False, -1))
        self.assertEqual((second["signal"], second["exit_code"]), (0, 0))
        self.assertEqual(site.wait_type("node.failed")["data"]["cause"], "run")
        self.assertEqual(len(self.once(site)), 2)

    def test_graceful_stop_leaves_the_run(self):
        """The daemon stops, the run goes on, the next daemon adopts it; nothing is started twice."""
        site, gate, goal, run, agent, shim, _ = self.begin()
        self.assertEqual(site.down(), 0)
        self.assertFalse(os.path.exists(os.path.join(site.dir, "daemon.json")))
        self.assertFalse(os.path.exists(site.socket))
        os.kill(agent, 0), os.kill(shim, 0)
        gate.go()
        self.spoken.wait()
        site.up()
        self.assertEqual([r["run"] for r in site.call("status.get")["running"]], [run])
        gate.go()
        site.wait_goal(goal)
        self.assertEqual(site.output(run).decode(), "before\n" + WORDS)
        self.assertEqual(self.once(site), [run])
        self.assertEqual(site.down(), 0)

    def test_stop_by_signal(self):
        site, gate, goal, run, _, _, _ = self.begin()
        site.daemon.terminate()
        self.assertEqual(site.ended(), 0)
        site.up()
        gate.go(2)
        site.wait_goal(goal)
        self.assertEqual(self.once(site), [run])
        stops = [e["data"]["reason"] for e in site.events() if e["type"] == "daemon.stopped"]
        self.assertEqual(stops, ["SIGTERM"])

    def test_waiting_clients_when_it_stops(self):
        """A call that waits is answered, a follower sees the end, before the socket closes."""
        site, gate, goal, run, _, _, _ = self.begin()
        waiting, follower = site.connect(), site.connect()
        self.addCleanup(waiting.close)
        self.addCleanup(follower.close)
        follower.call("events.follow")
        size = site.call("run.log", run=run)["next_offset"]
        waiting.send("run.log", {"run": run, "offset": size, "wait_ms": 30000})
        self.assertEqual(site.down(), 0)
        answer = waiting.receive()
        self.assertTrue("result" in answer or answer["error"]["data"]["code"] == "E_UNAVAILABLE", answer)
        with self.assertRaises(ConnectionError):
            while True:
                follower.event()
        site.up()
        gate.go(2)
        site.wait_goal(goal)
        self.assertEqual(self.once(site), [run])


class Silent(SiteCase):
    """A run hangs, and the daemon is killed before it asks a person about it."""

    def config(self, site, wait):
        site.configure(FAST + f'''[supervisor]
idle_after = "1s"
interrupt_grace = "50ms"
stop_grace = "100ms"
min_resend_interval = "{wait}"
''' + site.agent_config().replace('agent.sh"]', 'agent.sh"]\nrecovery = "escalate"'))

    def test_the_next_daemon_looks_twice_and_frees_the_worker(self):
        site = self.site("", "sleep 3600\n")
        self.config(site, "1h")
        site.up()
        site.call("goal.create", title="silent", plan=plan(task("T1")))
        site.wait_type("episode.opened")
        site.kill()
        # By now it is long due: the first look of the next daemon has nothing to be compared with.
        self.config(site, "10ms")
        site.up()
        asked = site.wait_type("escalation.opened")
        self.assertEqual(asked["data"]["kind"], "stalled")
        site.wait_type("node.status", after=asked["seq"], to="blocked")
        site.wait_type("run.ended", after=asked["seq"])
        site.wait_type("worker.status", after=asked["seq"], to="idle")
        self.assertEqual(site.live_pids(), [])


class Checks(SiteCase):
    """The check command is ours: whatever becomes of the daemon, at most one is at work in a worktree."""

    WORK = 'echo w > "$OVERSEER_NODE.txt"; git add -A && git commit -qm "work of $OVERSEER_NODE"\n'

    def begin(self, check):
        site = self.site(FAST + f"[workspace]\ncheck_command = '{check}'\n", self.WORK)
        gate = site.gate("c")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        return site, gate, goal

    def test_daemon_dies_during_a_check(self):
        """The next daemon begins the check anew; what the old one started does not go on beside it."""
        site, gate, goal = self.begin(
            "setsid sleep 3600 </dev/null >/dev/null 2>&1 & echo $$ $! > $HOME/c.here; read x < $HOME/c.go; kill $!")
        old = [int(pid) for pid in gate.wait().split()]
        site.kill()
        site.up()
        gate.wait()
        wait_gone(*old)
        gate.go()
        site.wait_goal(goal)
        self.assertEqual(len(site.runs(goal=goal)), 1)

    def test_what_a_check_leaves_is_ended(self):
        site, gate, goal = self.begin("setsid sleep 3600 </dev/null >/dev/null 2>&1 & echo $! > $HOME/c.here")
        left = int(gate.wait())
        site.wait_goal(goal)
        wait_gone(left)


if __name__ == "__main__":
    unittest.main(verbosity=2)
