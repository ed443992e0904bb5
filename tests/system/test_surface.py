#!/usr/bin/env python3
"""What a newcomer types and reads: commands say what they mean, what they did, and what follows from it."""

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios
import unittest

from harness import CLI, FAST, PATIENCE, RpcError, SiteCase, plan, task, wait_gone
from test_ops import STUBBORN

# Commits a file, after the test lets it.
GATED = r"""
echo "$OVERSEER_NODE $OVERSEER_RUN $$" > "$HOME/g.here"
read x < "$HOME/g.go"
echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "work of $OVERSEER_NODE"
"""
COMMIT = r"""
echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "work of $OVERSEER_NODE"
"""


class Surface(SiteCase):
    def run_cli(self, site, *args, **env):
        return subprocess.run([CLI, *args], cwd=site.repo, env={**site.env, **env}, capture_output=True, text=True,
                              timeout=PATIENCE, stdin=subprocess.DEVNULL)

    def cli(self, site, *args, code=0):
        done = self.run_cli(site, *args)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout if code == 0 else done.stdout + done.stderr

    def goal(self, site, *tasks, title="Test", **more):
        return site.call("goal.create", title=title, plan=plan(*tasks), **more)["goal"]


class Names(Surface):
    def test_a_task_of_several_goals(self):
        """To change something, the goal has to be said; to read, the only open one is meant."""
        site = self.site(FAST, GATED)
        gate = site.gate("g")
        site.up()
        over = self.goal(site, task("t1"), title="The old one")
        site.call("goal.cancel", goal=over)
        first = self.goal(site, task("t1"), title="The first one")
        gate.wait()
        self.assertIn(f"{first}/t1", self.cli(site, "explain", "t1", "--json"))
        refused = self.cli(site, "work", "cancel", "t1", "--reason", "no", code=4)
        self.assertIn('2 goals have a task "t1"', refused)
        self.assertIn(f"{over}/t1 (Task t1; The old one, cancelled)", refused)
        self.assertIn(f"{first}/t1 (Task t1; The first one, active)", refused)
        self.assertRegex(refused, rf"Next:?  ?overseer explain {first}/t1\n")
        with self.assertRaises(RpcError) as caught:
            site.call("queue.drop", node="t1", reason="no")
        self.assertEqual(caught.exception.code, "E_CONFLICT")
        second = self.goal(site, task("t1"), title="The second one")
        for command in (["explain", "t1"], ["work", "show", "t1"], ["events", "--node", "t1"], ["run", "list", "--node", "t1"]):
            self.assertIn('3 goals have a task "t1"', self.cli(site, *command, code=4), command)
        self.cli(site, "work", "cancel", f"{second}/t1", "--reason", "no")
        self.assertEqual(site.node(f"{second}/t1")["status"], "cancelled")
        self.assertNotEqual(site.node(f"{first}/t1")["status"], "cancelled")
        gate.go(1)
        site.wait_goal(first)


class Waits(Surface):
    def test_no_free_worker(self):
        """What could begin but has no worker has its reason in status, work list and explain."""
        site = self.site(FAST + "[workers]\nmax = 1\n", GATED)
        gate = site.gate("g")
        site.up()
        goal = self.goal(site, task("t1"), task("t2"), task("t3"))
        first = gate.wait().split()[0]
        others = sorted({"t1", "t2", "t3"} - {first})
        why = "waits for a free worker (1 of 1 at work; workers.max)"
        text = self.cli(site, "status")
        self.assertRegex(text, rf"WAITING \(2\)\n  -  script  {', '.join(others)} +\d+\w+  waits for a free worker")
        self.assertIn(why, text)
        group, = json.loads(self.cli(site, "status", "--json"))["queued"]
        self.assertEqual((group["count"], group["why"], group["state"]), (2, why, "worker"))
        self.assertEqual([n["node"] for n in group["nodes"]], others)
        for node in others:
            self.assertIn(why, self.cli(site, "explain", node))
        listed = {n["id"]: n["waiting_for"] for n in site.call("work.list")["nodes"]}
        self.assertEqual(listed, {first: None, others[0]: why, others[1]: why})
        self.assertIn(why, self.cli(site, "queue", "list"))
        gate.go(3)
        site.wait_goal(goal)
        self.assertNotIn("WAITING", self.cli(site, "status"))

    def test_files_in_the_way(self):
        """Explain, status and the list of workers agree about work that waits for files."""
        site = self.site(FAST + '[accept]\ndirty_wait = "1h"\n', "echo theirs > README; git commit -qam x\n")
        site.write("README", "mine\n")
        site.up()
        self.goal(site, task("t1"))
        site.wait_type("assignment.moved", node="t1", waiting="files")
        waiting, = [r["waiting_for"] for r in site.call("status.get")["running"]]
        self.assertIn("README", waiting)
        said = json.loads(self.cli(site, "explain", "t1", "--json"))["conclusion"]
        self.assertEqual(said["why"], waiting)
        self.assertNotIn("begins by itself", said["next"])
        text = self.cli(site, "status")
        self.assertNotIn("needs_review", text)
        self.assertRegex(self.cli(site, "worker", "list"), r"pool-1  waiting .*README")


class Plans(Surface):
    def file(self, site, *tasks, **more):
        site.write("../plan.json", json.dumps({**plan(*tasks), **more}))
        return os.path.join(site.root, "plan.json")

    def test_an_agent_that_is_not_configured(self):
        """The user hears of it when the plan is given: by plan check, goal create and plan apply."""
        site = self.site(FAST, COMMIT)
        bad = self.file(site, task("t1", suggestedAgent="scrpt"), task("t2", suggestedAgent="script"))
        said = 'phases[0].tasks[0].suggestedAgent: agent "scrpt" is not configured; configured: script; t1 cannot start'
        self.assertIn(said, self.cli(site, "plan", "check", bad))
        checked = json.loads(self.cli(site, "plan", "check", bad, "--json"))
        self.assertEqual((checked["valid"], len(checked["warnings"])), (True, 1))
        site.up()
        self.assertIn(said, self.cli(site, "goal", "create", "--title", "One", "--plan", bad))
        empty = site.call("goal.create", title="Two", no_plan=True)["goal"]
        self.assertIn(said, self.cli(site, "plan", "check", bad, "--goal", empty))
        self.assertIn(said, self.cli(site, "plan", "apply", bad, "--goal", empty))
        site.wait_type("node.status", node="t1", to="blocked")
        self.assertIn('agent "scrpt" is not configured; configured: script', self.cli(site, "inbox"))

    def test_no_default_agent(self):
        """Agents that nobody is told to use are named, by config check, doctor and the inbox."""
        site = self.site(FAST)
        site.configure(FAST + '[planner]\nfallback = false\n[agents.one]\ncommand = ["true"]\n[agents.two]\ncommand = ["true"]\n')
        said = "no default agent is set (defaults.agent); configured: one, two"
        checked = self.cli(site, "config", "check")
        self.assertIn(said, checked)
        self.assertIn("Next: set defaults.agent in config.toml", checked)
        self.assertNotIn("good", checked)
        self.assertIn(said, self.run_cli(site, "doctor").stdout)
        site.up()
        self.goal(site, task("t1"))
        site.wait_type("node.status", node="t1", to="blocked")
        self.assertIn(said, self.cli(site, "inbox"))
        self.assertNotIn("no agent is configured", self.cli(site, "explain", "t1"))

    def test_the_version_of_a_first_plan(self):
        site = self.site(FAST, COMMIT)
        bad = self.file(site, task("t1"), planVersion=7)
        said = "planVersion"
        self.assertIn(said, self.cli(site, "plan", "check", bad, code=2))
        site.up()
        self.assertIn(said, self.cli(site, "goal", "create", "--title", "One", "--plan", bad, code=2))
        empty = site.call("goal.create", title="Two", no_plan=True)["goal"]
        self.assertIn(said, self.cli(site, "plan", "apply", bad, "--goal", empty, code=2))
        with self.assertRaises(RpcError) as caught:
            self.goal(site, task("t1", ["t1"]))
        self.assertIn("task t1 depends on itself", caught.exception.message)


class Words(Surface):
    def test_cancel_tells_who_begins(self):
        site = self.site(FAST, GATED)
        gate = site.gate("g")
        site.up()
        goal = self.goal(site, task("t1"), task("t2", ["t1"]), task("t3", ["t2"]))
        gate.wait()
        said = self.cli(site, "work", "cancel", "t1", "--reason", "not wanted")
        self.assertIn("t2 no longer waits for t1 and will start.\n", said)
        self.assertRegex(said, r"What it made is kept on branch overseer/\S+\.\n")
        self.assertEqual(gate.wait().split()[0], "t2")
        self.assertIn("t2 depends on t1, which was cancelled", self.cli(site, "explain", "t2"))
        gate.go(2)
        site.wait_goal(goal)

    def test_done_tells_what_was_not_merged(self):
        site = self.site(FAST + '[accept]\ndirty_wait = "1h"\n', "echo theirs > README; git commit -qam x\n")
        site.write("README", "mine\n")
        site.up()
        goal = self.goal(site, task("t1"))
        site.wait_type("assignment.moved", node="t1", waiting="files")
        said = self.cli(site, "work", "done", "t1", "--reason", "I did it")
        self.assertRegex(said, r"\nIts commits were not merged\. They are kept on branch (overseer/\S+)\.\n")
        branch = said.split("on branch ")[1].split(".\n")[0]
        site.wait_goal(goal)
        self.assertEqual(site.git("show", f"{branch}:README"), "theirs\n")
        self.assertEqual(site.git("show", "main:README"), "hello\n")

    def test_a_dismissed_entry_leaves_its_task_in_status(self):
        site = self.site(FAST.replace("[retry]", "[retry]\nmax_attempts = 1\nmax_agent_failures = 0"), "exit 7\n")
        site.up()
        goal = self.goal(site, task("t1"))
        number = site.wait_type("escalation.opened")["data"]["escalation"]
        self.assertNotIn("BLOCKED", self.cli(site, "status"))
        said = self.cli(site, "inbox", "dismiss", str(number))
        self.assertIn("t1 stays blocked, and nobody is asked about it any more: ", said)
        self.assertIn(f"Next  overseer work unblock {goal}/t1 --reason TEXT      overseer work cancel {goal}/t1", said)
        self.assertRegex(self.cli(site, "status"),
                         r"BLOCKED \(1\)\n  t1  Task t1 .*  overseer work unblock\|cancel goal_\w+/t1 --reason TEXT")
        shown, = json.loads(self.cli(site, "status", "--json"))["blocked"]
        self.assertEqual(shown["next"], f"overseer work unblock {goal}/t1 --reason TEXT")
        self.cli(site, "work", "cancel", f"{goal}/t1", "--reason", "no")
        self.assertNotIn("BLOCKED", self.cli(site, "status"))


# Ends by itself when it is told to, and says so; what it wrote by then is its work.
POLITE = r"""
trap 'kill $child; exit 1' TERM
echo "$OVERSEER_ATTEMPT" >> "$OVERSEER_NODE.txt"
head -c1 "$HOME/g.go" > /dev/null & child=$!
echo "$OVERSEER_NODE $OVERSEER_RUN $$" > "$HOME/g.here"
wait $child
"""


class Down(Surface):
    def test_status_after_a_stop(self):
        """Nothing runs after `down --stop-runs`, and status does not say that something does."""
        site = self.site(FAST, POLITE)
        gate = site.gate("g")
        site.up()
        self.goal(site, task("t1"))
        _, _, pid = gate.wait().split()
        self.cli(site, "down", "--stop-runs")
        self.assertEqual(site.ended(), 0)
        wait_gone(int(pid))
        text = self.cli(site, "status")
        self.assertNotIn("RUNNING", text)
        self.assertRegex(text, r"^overseerd is down   0 of 2 workers busy   as of \S+ \(\d+\w+ ago\)\n")
        self.assertRegex(text, r"WAITING \(1\)\n .* t1 .*the next `overseer up` continues it")
        row, = json.loads(self.cli(site, "status", "--json"))["running"]
        self.assertEqual((row["alive"], row["waiting"]), (False, "daemon"))

    def test_an_agent_that_ends_without_a_daemon(self):
        site = self.site(FAST, GATED)
        gate = site.gate("g")
        site.up()
        self.goal(site, task("t1"))
        _, _, pid = gate.wait().split()
        self.cli(site, "down")
        site.ended()
        self.assertIn("RUNNING (1)", self.cli(site, "status"))
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            shim = int(f.read().rsplit(")", 1)[1].split()[1])
        gate.go()
        wait_gone(int(pid), shim)
        text = self.cli(site, "status")
        self.assertNotIn("RUNNING", text)
        self.assertIn("its run has ended; the next `overseer up` takes up what it did", text)

    def test_a_daemon_that_is_killed_meanwhile(self):
        """Only what is known is said: it did not stop its agents."""
        site = self.site(FAST, STUBBORN)
        gate = site.gate("g")
        site.up()
        self.goal(site, task("t1"))
        _, run, pid = gate.wait().split()
        down = subprocess.Popen([CLI, "down", "--stop-runs"], cwd=site.repo, env=site.env, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(down.stdout.close)
        self.addCleanup(down.stderr.close)
        self.assertIn("Stopping 1 agent", down.stdout.readline())
        site.kill()
        out, err = down.communicate(timeout=PATIENCE)
        self.assertEqual(down.returncode, 7, out + err)
        self.assertIn("was killed or crashed before it had stopped; agents may still be at work", err)
        self.assertNotIn("stopped (pid", out)
        gate.go()
        wait_gone(int(pid))


class Looks(Surface):
    def picture(self, site, rows, columns):
        """The first picture of `status --watch` on a terminal of this size."""
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        watch = subprocess.Popen([CLI, "status", "--watch"], cwd=site.repo, env={**site.env, "TERM": "xterm", "NO_COLOR": "1"},
                                 stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs)
        os.close(theirs)
        seen = b""
        try:
            while b"\x1b[J" not in seen:
                self.assertTrue(select.select([ours], [], [], PATIENCE)[0], seen)
                seen += os.read(ours, 65536)
        finally:
            watch.terminate()
            watch.wait(PATIENCE)
        return re.sub("\x1b\\[(H|K|2J)|\r", "", seen.decode().split("\x1b[J")[0])

    def test_a_small_terminal_keeps_the_top(self):
        site = self.site(FAST.replace("[retry]", "[retry]\nmax_attempts = 1\nmax_agent_failures = 0"), "exit 7\n")
        site.up()
        for number in range(1, 5):
            self.goal(site, task("t1"), title=f"Goal {number}")
            site.wait_type("escalation.opened", escalation=number)
        text = self.picture(site, 10, 80)
        self.assertTrue(text.startswith("overseerd up "), text)
        self.assertIn("NEEDS YOU (4)", text)
        self.assertRegex(text, r"\.\.\. \d+ more lines: overseer status\n$")
        rows = sum(max(1, -(-len(line) // 80)) for line in text.split("\n")[:-1])
        self.assertLessEqual(rows, 9, text)
        whole = self.picture(site, 200, 300)
        self.assertNotIn("more line", whole)
        self.assertIn("GOALS (4)", whole)

    def test_the_plural_of_dispatch(self):
        site = self.site(FAST, COMMIT)
        site.up()
        site.wait_goal(self.goal(site, task("t1"), task("t2")))
        self.assertIn('"D_" fits 2 dispatches;', self.cli(site, "explain", "D_", code=4))

    def test_hidden_characters_of_an_agent(self):
        """What an agent wrote cannot make a line read as another one, not even in what is stored."""
        site = self.site(FAST.replace("[retry]", "[retry]\nmax_attempts = 1\nmax_agent_failures = 0"),
                         "printf 'all \\342\\200\\256dessap\\342\\201\\251 \\302\\23331m\\n'; exit 7\n")
        site.up()
        self.goal(site, task("t1", name="one\u202etwo"))
        site.wait_type("escalation.opened")
        self.assertEqual(site.runs()[0]["last_lines"], "all dessap 31m")
        for command in (["status"], ["inbox", "show", "1"], ["explain", "t1"], ["work", "list"]):
            self.assertNotRegex(self.cli(site, *command), "[\u202a-\u202e\u2066-\u2069\x80-\x9f]", command)


class Checks(Surface):
    def test_a_check_that_is_configured_afterwards(self):
        """Work that waits only because nothing checked it is checked without another run of its agent."""
        config = FAST + '[accept]\nunchecked = "review"\n'
        site = self.site(config, COMMIT)
        site.up()
        goal = self.goal(site, task("t1"))
        number = site.wait_type("escalation.opened")["data"]["escalation"]
        self.assertNotIn("a check is configured now", self.cli(site, "inbox", "show", str(number)))
        self.assertIn("no check is configured", self.cli(site, "inbox", "answer", str(number), "check", code=2))
        site.configure(config + '[workspace]\ncheck_command = "test -e t1.txt"\n[planner]\nfallback = false\n' + site.agent_config())
        site.call("config.reload")
        shown = self.cli(site, "inbox", "show", str(number))
        self.assertIn(f"a check is configured now; to run it on this work: overseer inbox answer {number} check", shown)
        self.cli(site, "inbox", "answer", str(number), "check")
        site.wait_goal(goal)
        self.assertEqual(len(site.runs()), 1)
        self.assertEqual(site.node("t1")["checked_by"], "check")

    def test_a_check_that_cannot_be_run(self):
        """Not the agent's failure: the work waits, and is checked once the command is there; a no of it is for the person."""
        def config(check):
            return FAST + f'[workspace]\ncheck_command = "{check}"\n'

        def asked(after):
            return str(site.wait_event(lambda e: e["type"] == "escalation.opened" and
                                       e["data"]["escalation"] > after)["data"]["escalation"])
        site = self.site(config("no-such-cmd"), COMMIT)
        site.up()
        goal = self.goal(site, task("t1"))
        number = asked(0)
        shown = self.cli(site, "inbox", "show", number)
        for words in ("the check command cannot be run, so nothing checked the work", "no-such-cmd",
                      f"overseer inbox answer {number} accept|check|reject: WHY"):
            self.assertIn(words, shown)
        self.assertEqual([e["answers"] for e in site.call("inbox.list")["inbox"]], ["accept|check|reject: WHY"])
        self.assertIn("the check command cannot be run", self.cli(site, "explain", "t1"))
        for check, words in (("echo two tests failed; false", "    two tests failed"), ("test -e t1.txt", None)):
            site.configure(config(check) + "[planner]\nfallback = false\n" + site.agent_config())
            site.call("config.reload")
            self.cli(site, "inbox", "answer", number, "check")
            if words:
                number = asked(int(number))
                shown = self.cli(site, "inbox", "show", number)
                self.assertIn("the check failed on the work", shown)
                self.assertIn("two tests failed", shown)
        site.wait_goal(goal)
        self.assertEqual(len(site.runs()), 1)
        self.assertEqual(site.node("t1")["checked_by"], "check")


if __name__ == "__main__":
    unittest.main(verbosity=2)
