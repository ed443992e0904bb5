#!/usr/bin/env python3
"""Starting, stopping, answering many things at once: what a person types to run Overseer from day to day."""

import json
import os
import signal
import subprocess
import unittest

from harness import CLI, DAEMON, FAST, PATIENCE, SiteCase, plan, task, wait_gone

# Leaves a file uncommitted, tells who it is, and stands at the gate until the test lets it go on.
GATED = r"""
echo "$OVERSEER_ATTEMPT" >> "$OVERSEER_NODE.txt"
echo "$OVERSEER_NODE $OVERSEER_RUN $$" > "$HOME/g.here"
read x < "$HOME/g.go"
"""
# The same, and it takes its time to end: what it does last is part of its work.
POLITE = r"""
trap 'echo last >> "$OVERSEER_NODE.txt"; kill $child; exit 1' TERM
echo "$OVERSEER_ATTEMPT" >> "$OVERSEER_NODE.txt"
head -c1 "$HOME/g.go" > /dev/null & child=$!
echo "$OVERSEER_NODE $OVERSEER_RUN $$" > "$HOME/g.here"
wait $child
"""
# Cannot be stopped but by force.
STUBBORN = r"""
trap '' TERM INT
echo "$OVERSEER_NODE $OVERSEER_RUN $$" > "$HOME/g.here"
while :; do read x < "$HOME/g.go" && exit 0; done
"""
FAILS = "exit 7\n"
# A person is asked about each task, and not about an agent that fails everywhere.
ONCE = FAST.replace("[retry]", "[retry]\nmax_attempts = 1\nmax_agent_failures = 0")
WORKERS = "[workers]\nmax = 4\n"


class Ops(SiteCase):
    def run_cli(self, site, *args, stdin=subprocess.DEVNULL):
        return subprocess.run([CLI, *args], cwd=site.repo, env=site.env, capture_output=True, text=True,
                              timeout=PATIENCE, stdin=stdin)

    def cli(self, site, *args, code=0):
        done = self.run_cli(site, *args)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout if code == 0 else done.stdout + done.stderr

    def goal(self, site, *tasks, **more):
        return site.call("goal.create", title="Test", plan=plan(*tasks), **more)["goal"]

    def started(self, gate):
        node, run, pid = gate.wait().split()
        return node, run, int(pid)

    def by_cli(self, site, *args):
        """Starts the daemon as a person does; it is ended with the test."""
        self.addCleanup(self.run_cli, site, "down", "--stop-runs")
        return self.cli(site, "up", *args)


class Up(Ops):
    def test_already_up(self):
        site = self.site("")
        first = self.by_cli(site)
        self.assertRegex(first, r"^overseerd \S+ is up \(pid \d+, store \.overseer/store\.db\)\nNothing to do yet\.")
        pid = site.daemon_json()["pid"]
        again = self.cli(site, "up")
        self.assertRegex(again, rf"^overseerd is already up \(pid {pid}, up \d+\w+\)\.\n")
        said = json.loads(self.cli(site, "up", "--json"))
        self.assertEqual((said["pid"], said["already_up"]), (pid, True))

    def test_after_a_kill(self):
        """A daemon that is just dying is not up: its socket may still take a connection."""
        site = self.site("")
        self.by_cli(site)
        for _ in range(8):
            pid = site.daemon_json()["pid"]
            os.kill(pid, signal.SIGKILL)
            self.assertIn(" is up (pid ", self.cli(site, "up"))
            self.assertNotEqual(site.daemon_json()["pid"], pid)

    def test_options_of_a_running_daemon(self):
        site = self.site("")
        self.by_cli(site, "--set", "workers.max=3")
        # What it has already is no reason to complain.
        self.cli(site, "up", "--set", "workers.max=3")
        refused = self.cli(site, "up", "--set", "workers.max=4", code=4)
        self.assertIn("these options have no effect: --set workers.max=4", refused)
        self.assertIn("Next  overseer down && overseer up --set workers.max=4", refused)
        auto = self.cli(site, "up", "--auto", "--task-pool-command", "echo a b", code=4)
        self.assertIn("no effect: --auto --task-pool-command 'echo a b'", auto)
        self.assertIn("Next  overseer auto start --task-pool-command 'echo a b'", auto)

    def test_bad_flag_is_blamed(self):
        site = self.site("")
        refused = self.cli(site, "up", "--auto", "--concurrency", "0", code=2)
        self.assertIn("--concurrency 0: auto.concurrency: 0 is out of range", refused)
        self.assertNotIn("config.toml", refused)
        self.assertIn("--set workers.max=0: ", self.cli(site, "up", "--set", "workers.max=0", code=2))
        # A bad file is blamed for what it says.
        site.configure("workers.max = 0\n")
        self.assertIn("config.toml", self.cli(site, "up", "--auto", "--concurrency", "0", code=2))

    def test_nothing_to_do_only_when_that_is_so(self):
        site = self.site(FAST + "[planner]\nfallback = false\n", FAILS)
        self.assertIn("Nothing to do yet.", self.by_cli(site))
        goal = self.goal(site, task("T1"))
        site.call("goal.pause", goal=goal)
        self.assertIn("1 goal is paused.", self.cli(site, "up"))
        site.call("goal.cancel", goal=goal)
        self.assertIn("All goals are finished.", self.cli(site, "up"))
        site.call("goal.archive", goal=goal)
        status = self.cli(site, "status")
        self.assertNotIn("Nothing to do yet", status)
        self.assertIn("All goals are finished.", status)


class Down(Ops):
    def test_agents_continue_by_default(self):
        site = self.site(FAST, GATED)
        gate = site.gate("g")
        site.up()
        self.goal(site, task("T1"))
        _, _, pid = self.started(gate)
        said = self.cli(site, "down")
        site.ended()
        self.assertIn("1 agent continues without it", said)
        self.assertIn("overseer up && overseer down --stop-runs", said)
        self.assertRegex(said, r"\n  T1  Task T1  run R_\w+\n$")
        os.kill(pid, 0)
        refused = self.cli(site, "down", "--stop-runs", code=4)
        self.assertIn("the daemon is not running, but 1 of its agents is", refused)

    def test_stop_runs(self):
        site = self.site(FAST + WORKERS, POLITE)
        gate = site.gate("g")
        site.up()
        goal = self.goal(site, task("T1"), task("T2"))
        agents = [self.started(gate), self.started(gate)]
        said = self.cli(site, "down", "--stop-runs")
        self.assertEqual(site.ended(), 0)
        wait_gone(*[pid for _, _, pid in agents])
        self.assertRegex(said, r"^Stopping 2 agents, for up to 20s \.\.\.\n")
        for node, _, _ in agents:
            self.assertIn(f"  {node}  stopped\n", said)
            self.assertRegex(said, rf"  {node}  work kept: refs/overseer/rescue/pool-\d/R_\w+\n")
        self.assertIn("overseerd stopped", said)
        self.assertNotIn("continue", said)
        # Everything that they wrote is there, to the last word.
        for node, run, _ in agents:
            ref = site.read_only("run.show", run=run)[0]["result"]["rescue_ref"]
            self.assertEqual(site.git("show", f"{ref}:{node}.txt"), "1\nlast\n")
        site.up()
        resumed = [self.started(gate), self.started(gate)]
        self.assertEqual(sorted(node for node, _, _ in resumed), ["T1", "T2"])
        # It goes on from what was kept, and nothing is held against anybody.
        self.assertEqual([e for e in site.events() if e["type"] == "node.failed"], [])
        gate.go(2)
        site.wait_goal(goal)
        self.assertEqual(site.read("T1.txt"), "1\nlast\n2\n")
        self.assertEqual(site.read("T2.txt"), "1\nlast\n2\n")

    def test_stop_runs_within_the_time(self):
        config = FAST + "[supervisor]\nstop_grace = \"1h\"\ndrain_timeout = \"300ms\"\n"
        site = self.site(config.replace("[supervisor.backoff]\nbase = \"10ms\"\n", ""), STUBBORN)
        gate = site.gate("g")
        site.up()
        self.goal(site, task("T1"))
        _, _, pid = self.started(gate)
        said = self.cli(site, "down", "--stop-runs")
        self.assertEqual(site.ended(), 0)
        self.assertIn("1 agent had not stopped within supervisor.drain_timeout", said)
        self.assertRegex(said, r"\n  T1  Task T1  run R_\w+\n$")
        os.kill(pid, 0)
        gate.go()
        wait_gone(pid)

    def test_what_was_asked_to_stop_is_stopped_first(self):
        site = self.site(FAST, POLITE)
        gate = site.gate("g")
        site.up()
        self.goal(site, task("T1"))
        _, run, pid = self.started(gate)
        # In one go: the stop is not carried out when the daemon is told to end.
        connection = site.connect()
        connection.send("run.stop", {"run": run})
        connection.send("daemon.stop", {})
        connection.receive()
        self.assertEqual(site.ended(), 0)
        connection.close()
        wait_gone(pid)
        self.assertEqual(site.read_only("run.show", run=run)[0]["result"]["status"], "ended")
        site.up()
        site.wait_type("run.harvested", node="T1")
        self.assertEqual(site.node("T1")["status"], "blocked")
        self.assertEqual(site.live_pids(), [])


class Reasons(Ops):
    def test_none_is_needed(self):
        site = self.site(FAST, GATED)
        gate = site.gate("g")
        site.up()
        goal = self.goal(site, task("T1"))
        _, run, pid = self.started(gate)
        self.cli(site, "run", "stop", run)
        wait_gone(pid)
        blocked = site.wait_type("node.status", node="T1", to="blocked")
        self.assertEqual(blocked["data"]["reason"], "asked by " + blocked["actor"])
        self.assertTrue(blocked["actor"].startswith("human:"))
        self.cli(site, "goal", "cancel", goal)
        over = site.wait_type("goal.status", goal=goal, to="cancelled")
        self.assertEqual(over["data"]["reason"], "asked by " + over["actor"])


class Inbox(Ops):
    def failed(self, count, config=ONCE + WORKERS):
        site = self.site(config, FAILS)
        site.up()
        self.goal(site, *[task(f"T{i}") for i in range(1, count + 1)])
        for i in range(1, count + 1):
            site.wait_type("escalation.opened", node=f"T{i}")
        entries = {e["node_id"]: e["number"] for e in site.call("inbox.list")["inbox"]}
        self.assertEqual(len(entries), count)
        return site, [entries[f"T{i}"] for i in range(1, count + 1)]

    def test_lists_and_ranges(self):
        site, n = self.failed(5)
        numbers = sorted(n)
        site.call("inbox.dismiss", number=numbers[1])
        spec = f"{numbers[0]},{numbers[1]}-{numbers[3]}"
        done = self.run_cli(site, "inbox", "answer", spec, "done")
        # One that was closed meanwhile does not stop the others.
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0], rf"^#{numbers[0]} +answered +done \(T\d is done\)$")
        self.assertRegex(lines[1], rf"^#{numbers[1]} +failed +#{numbers[1]} is dismissed already")
        self.assertEqual(lines[4], "1 of 4 failed.  Next: overseer inbox")
        done = self.run_cli(site, "inbox", "answer", f"{numbers[4]},99", "done", "--json")
        self.assertEqual(done.returncode, 3)
        said = json.loads(done.stdout)
        self.assertEqual([(e["number"], e["ok"]) for e in said], [(numbers[4], True), (99, False)])
        self.assertEqual(said[0]["result"]["status"], "answered")
        self.assertEqual(said[1]["error"]["code"], "E_NOT_FOUND")

    def test_several_words_and_one(self):
        site, n = self.failed(3)
        n.sort()
        # A space where a comma was meant starts nothing; a text may begin with a number where it says that it is one.
        site.call("work.cancel", node="T3", reason="x")
        seq = site.seq()
        for words in (["cancell"], ["stop", "it"], [str(n[1]), "cancel"]):
            said = self.cli(site, "inbox", "answer", str(n[0]), *words, code=2)
            self.assertIn(f'"{" ".join(words)}" is not an answer to #{n[0]}', said)
            self.assertIn("retry|done|cancel|TEXT", said)
        self.assertIn(f"to answer several: overseer inbox answer {n[0]},{n[1]} cancel", said)
        self.assertEqual(site.seq(), seq)
        one = self.cli(site, "inbox", "answer", str(n[0]), "text:", "2", "tries", "are", "enough", code=0)
        self.assertRegex(one, rf"^#{n[0]} is answered: 2 tries are enough\n")
        site.wait_type("escalation.opened", after=site.seq() - 3)
        two = self.cli(site, "inbox", "dismiss", str(n[1]), "98", code=3)
        self.assertRegex(two, rf"#{n[1]} +dismissed")
        self.assertRegex(two, r"#98 +failed +there is no #98")
        self.assertIn("not a range", self.cli(site, "inbox", "answer", "9-3", "done", code=2))
        self.assertIn("is not the number", self.cli(site, "inbox", "answer", "3,x", "done", code=2))
        self.assertIn("an answer is missing", self.cli(site, "inbox", "answer", "3", code=2))

    def test_all_of_a_kind(self):
        site, n = self.failed(3)
        kind = site.call("inbox.list")["inbox"][0]["kind"]
        self.assertIn("--all and --kind K go together", self.cli(site, "inbox", "answer", "--all", "done", code=2))
        none = self.cli(site, "inbox", "answer", "--all", "--kind", "nonsense", "done")
        self.assertIn("No entry of kind nonsense is open", none)
        snoozed = self.cli(site, "inbox", "snooze", str(n[0]), str(n[1]), "4h")
        self.assertEqual(len([x for x in snoozed.splitlines() if "put off" in x]), 2)
        # Only those that are shown.
        said = json.loads(self.cli(site, "inbox", "answer", "--all", "--kind", kind, "done", "--json"))
        self.assertEqual([(e["number"], e["ok"]) for e in said], [(n[2], True)])
        refused = self.cli(site, "inbox", "approve", f"{n[0]},{n[1]}", code=2)
        self.assertIn("there is nothing to approve", refused)
        self.assertIn("2 of 2 failed.", refused)

    def test_answer_that_does_not_fit(self):
        """It is refused for that entry alone, with the answers that it has."""
        site = self.site(ONCE + WORKERS + "[accept]\nreview = \"always\"\n", """
test "$OVERSEER_NODE" = T2 && exit 7
echo x > "$OVERSEER_NODE.txt"
""")
        site.up()
        self.goal(site, task("T1"), task("T2"))
        review = site.wait_type("escalation.opened", node="T1")["data"]["escalation"]
        other = site.wait_type("escalation.opened", node="T2")["data"]["escalation"]
        said = self.cli(site, "inbox", "answer", f"{review},", str(other), "done", code=2)
        self.assertRegex(said, rf"#{review} +failed +.*accept.*reject")
        self.assertRegex(said, rf"#{other} +answered +done")
        self.assertEqual(site.node("T1")["status"], "in_progress")


class Disk(Ops):
    def test_no_room_stops_new_starts(self):
        site = self.site(FAST + "[limits]\nmin_free_disk = \"1000TiB\"\n", GATED)
        gate = site.gate("g")
        site.up()
        self.goal(site, task("T1"))
        site.wait_type("node.status", node="T1", to="queued")
        status = site.call("status.get")
        self.assertRegex(status["no_capacity"],
                         r"^\d+ MiB of disk space are free, limits\.min_free_disk asks for \d+ MiB \(/.*\)$")
        self.assertRegex(self.cli(site, "status"), r"\nNOTHING NEW STARTS  \d+ MiB of disk space are free")
        waits = site.call("queue.list")["dispatch"]
        self.assertEqual([(x["node"].split("/")[-1], x["state"]) for x in waits], [("T1", "capacity")])
        self.assertTrue(gate.empty())

    def test_it_starts_again_by_itself(self):
        config = FAST.replace("[supervisor.backoff]", "[supervisor]\ntick_every = \"50ms\"\n[supervisor.backoff]")
        site = self.site(config + "[limits]\nmin_free_disk = \"1000TiB\"\n", GATED)
        gate = site.gate("g")
        site.up()
        goal = self.goal(site, task("T1"))
        site.wait_type("node.status", node="T1", to="queued")
        site.configure(site.read(".overseer/config.toml").replace("1000TiB", "0"))
        site.call("config.reload")
        self.started(gate)
        gate.go()
        site.wait_goal(goal)


class Small(Ops):
    def test_agent_list_before_the_first_up(self):
        site = self.site("", GATED)
        self.assertFalse(os.path.exists(os.path.join(site.dir, "store.db")))
        done = self.run_cli(site, "agent", "list")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("script *", done.stdout)
        self.assertEqual(self.run_cli(site, "config", "show").returncode, 0)
        refused = self.cli(site, "status", code=3)
        self.assertIn("Next  overseer up", refused)
        self.assertFalse(os.path.exists(os.path.join(site.dir, "store.db")))

    def test_a_reader_that_has_enough_ends_the_watch(self):
        site = self.site("")
        site.up()
        for words in (["status", "--watch", "--json"], ["status", "--watch"], ["events", "--follow"]):
            watch = subprocess.Popen([CLI, *words], cwd=site.repo, env=site.env, stdout=subprocess.PIPE)
            self.assertTrue(watch.stdout.readline())
            watch.stdout.close()
            # Nothing happens meanwhile that it could fail to write.
            self.assertEqual(watch.wait(PATIENCE), 0, words)

    def test_planner_of_a_cancelled_goal_is_ended(self):
        site = self.site("""
[planner]
provider = "command"
command = "echo $$ > $HOME/g.here; read x < $HOME/g.go"
timeout = "1h"
""")
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Plan me")["goal"]
        pid = int(gate.wait())
        self.cli(site, "goal", "cancel", goal)
        wait_gone(pid)
        site.wait_event(lambda e: e["type"] == "effect.ended" and e["data"]["kind"] == "plan")
        self.assertEqual(site.call("goal.show", goal=goal)["status"], "cancelled")

    def test_no_changes_honours_max_attempts(self):
        site = self.site(ONCE, "exit 0\n")
        site.up()
        self.goal(site, task("T1"))
        asked = site.wait_type("escalation.opened", node="T1")
        self.assertEqual(asked["data"]["kind"], "no_changes", asked)
        self.assertEqual(len(site.runs()), 1)

    def test_idle_workers_have_no_reason(self):
        site = self.site(ONCE, FAILS)
        site.up()
        self.goal(site, task("T1"))
        site.wait_type("escalation.opened", node="T1")
        worker = site.call("worker.list")["workers"][0]
        self.assertEqual((worker["status"], worker["reason"]), ("idle", ""))
        self.assertRegex(self.cli(site, "worker", "list"), r"pool-1 +idle +\d+\w+\s*\n")

    def test_unknown_cost_in_each_row(self):
        site = self.site(FAST, 'echo x > "$OVERSEER_NODE.txt"\n')
        site.up()
        site.wait_goal(self.goal(site, task("T1"), task("T2")))
        for by in ("goal", "agent", "node", "day"):
            rows = self.cli(site, "cost", "--by", by).splitlines()[1:]
            for row in rows[:2]:
                self.assertRegex(row, r"  \?  +\?\s*$", (by, row))


if __name__ == "__main__":
    if not os.access(DAEMON, os.X_OK):
        raise SystemExit(f"{DAEMON} is missing: set OV_BUILD to a build directory")
    unittest.main(verbosity=1)
