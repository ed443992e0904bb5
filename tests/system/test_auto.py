#!/usr/bin/env python3
"""Auto mode from end to end: a command that gives out tasks, workers that do them, and its end."""

import os
import signal
import unittest

from harness import DAEMON, FAST, SiteCase, wait_gone

# Gives out the lines of a file, one per call; what else it does is told by a file.
POOL = r"""#!/bin/sh
cd "$HOME" || exit 9
echo "$OVERSEER_WORKER" >> asked
[ -e gate-pool ] && { echo $$ > pool.here; read x < pool.go; }
[ -e odd ] && { mv odd odd.done; . ./odd.done; }
n=$(( $(cat given 2>/dev/null || echo 0) + 1 ))
task=$(sed -n "${n}p" tasks)
[ "$task" ] || exit "$(cat empty-code)"
echo $n > given
echo "$task"
"""
AGENT = r"""
echo "$OVERSEER_RUN" > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "work of $OVERSEER_NODE"
"""
QUICK = FAST + """
[auto]
task_pool_command = "sh $HOME/pool.sh"
concurrency = 2
pool_wait = "30ms"
pool_wait_max = "30ms"
"""


HERE = os.path.dirname(os.path.abspath(__file__))


class Auto(SiteCase):
    def auto_site(self, tasks=0, config=QUICK, args=("--auto",), agent=AGENT):
        site = self.site(config, agent)
        site.args = list(args)
        site.write("../pool.sh", POOL)
        site.write("../empty-code", "4\n")
        site.write("../tasks", "".join(f"Task {n} of the pool\n" for n in range(1, tasks + 1)))
        return site

    def done(self, site, count):
        """Waits until so many tasks are done; then each is on main exactly once."""
        seen = set()

        def last(event):
            if event["type"] == "node.status" and event["data"]["to"] == "done":
                seen.add((event["goal"], event["node"]))
            return len(seen) == count

        site.wait_event(last)
        subjects = site.git("log", "--format=%s", "main").split("\n")
        self.assertEqual(sorted(s for s in subjects if s.startswith("Task")),
                         sorted(f"Task {n} of the pool" for n in range(1, count + 1)))
        claims = [e["data"]["claim"] for e in site.events() if e["type"] == "node.added" and "claim" in e["data"]]
        self.assertEqual((len(claims), len(set(claims))), (count, count))

    def answers(self, site):
        return [e["data"]["answer"] for e in site.events() if e["type"] == "auto.pool"]

    def log(self, site, name):
        return site.read(f".overseer/logs/{name}.log")

    def test_tasks_are_done_by_two_workers(self):
        site = self.auto_site(6, args=("--auto", "--set", "auto.agent=script"))
        site.up()
        self.done(site, 6)
        # None now, by exit status 4; then by silence; then there are tasks again.
        site.wait_type("auto.pool", answer="none", exit_code=4)
        site.write("../empty-code", "0\n")
        site.wait_type("auto.pool", answer="none", exit_code=0)
        with open(os.path.join(site.root, "tasks"), "a", encoding="utf-8") as f:
            f.write("Task 7 of the pool\n")
        self.done(site, 7)
        status = site.call("status.get")
        self.assertEqual([w["name"] for w in status["workers"]], ["auto-1", "auto-2"])
        self.assertEqual((status["auto"]["on"], status["auto"]["completed"], status["auto"]["errors"]), (True, 7, 0))
        self.assertIn("Auto Mode: 2 workers, 7 tasks completed, 0 errors", site.cli("status"))
        self.assertEqual(set(site.home("asked").split()), {"auto-1", "auto-2"})
        self.assertEqual(site.down(), 0)
        self.assertIn("auto.started", self.log(site, "auto"))
        self.assertEqual(self.log(site, "task_pool").count("of the pool\n"), 7)
        left = os.listdir(os.path.join(site.dir, "pool"))
        self.assertLessEqual(len({name.split(".")[0] for name in left}), 1, left)  # asked while it stopped
        # Without --auto nothing is asked.
        site.args = []
        site.up()
        self.assertEqual(site.call("status.get")["auto"]["on"], False)
        seq = site.seq()
        site.call("tick.now")
        self.assertEqual([e for e in site.events() if e["seq"] > seq and e["type"] == "effect.intended"], [])

    def test_failures_are_told_or_end_it(self):
        site = self.auto_site(1, config=QUICK + 'task_pool_on_failure = "warn"\ntask_pool_timeout = "2s"\n'
                                                'task_pool_retries = 0\n')
        site.up()
        self.done(site, 1)
        for odd, words in (("echo given up >&2; exit 3", "gave up (exit status 3): given up"),
                           ("echo $$ > pid; exec sleep 1000", "longer than auto.task_pool_timeout")):
            after = site.seq()
            site.write("../odd", odd + "\n")
            event = site.wait_type("auto.pool", after=after, answer="failed")
            self.assertIn(words, event["data"]["detail"])
        wait_gone(int(site.home("pid")))
        told = [e for e in site.events() if e["type"] == "escalation.opened" and e["data"]["kind"] == "task_pool"]
        self.assertGreaterEqual(len(told), 1)
        # A worse one: the same, when it is not only told.
        site.configure(site.read(".overseer/config.toml").replace('"warn"', '"fail"'))
        site.cli("config", "reload")
        site.write("../odd", "echo given up >&2; exit 3\n")
        self.assertEqual(site.ended(), 20)
        self.assertIn("the daemon cannot go on (auto): the task pool's command failed: it gave up", site.daemon_log())
        self.assertTrue(os.path.exists(os.path.join(site.dir, "worktrees/auto-1/README")))
        site.args = []
        site.up()
        self.assertIn("auto mode stopped", site.cli("inbox"))
        self.assertEqual(site.call("status.get")["auto"]["failed"], True)

    def test_a_killed_daemon_finds_the_answer_again(self):
        site = self.auto_site(2)
        pool = site.gate("pool")
        site.write("../gate-pool", "")
        site.up()
        # While the command runs; the next daemon waits for it.
        pid = int(pool.wait())
        site.kill()
        site.up()
        self.assertEqual(site.call("status.get")["auto"]["asking"], True)
        os.unlink(os.path.join(site.root, "gate-pool"))
        pool.go()
        wait_gone(pid)
        self.done(site, 2)
        # It answered while nobody was there.
        site.write("../gate-pool", "")
        pid = int(pool.wait())
        site.kill()
        with open(os.path.join(site.root, "tasks"), "a", encoding="utf-8") as f:
            f.write("Task 3 of the pool\n")
        os.unlink(os.path.join(site.root, "gate-pool"))
        pool.go()
        wait_gone(pid)
        site.up()
        self.done(site, 3)
        # It was killed, too, after it wrote something: a person is shown that, and it is asked again.
        site.write("../gate-pool", "")
        pool.wait()
        half = site.gate("half")
        site.write("../odd", "echo half a ta; echo $$ > half.here; exec sleep 1000\n")
        os.unlink(os.path.join(site.root, "gate-pool"))
        pool.go()
        pid = int(half.wait())
        site.kill()
        for one in (self.shell_of(pid), pid):
            os.kill(one, signal.SIGKILL)
        site.up()
        site.wait_type("auto.pool", answer="uncertain")
        self.assertIn("half a ta", site.cli("inbox", "show", "1"))
        site.wait_type("auto.pool", after=site.seq(), answer="none")

    @staticmethod
    def shell_of(pid):
        """The process that records how the command with this process ended."""
        while True:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if b".overseer/pool/" in f.read():
                    return pid
            with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
                pid = int(f.read().rsplit(")", 1)[1].split()[1])

    def test_what_is_wrong_is_said_at_once(self):
        site = self.auto_site(0, config=FAST)
        site.env["OVERSEERD"] = DAEMON
        self.assertIn("auto.task_pool_command is not set", site.cli("up", "--auto", code=2))
        self.assertIn("needs --auto", site.cli("up", "--concurrency", "2", code=2))
        self.assertIn("auto.concurrency", site.cli("up", "--auto", "--task-pool-command", "true", "--concurrency", "0", code=2))
        self.assertIn("no such option", site.cli("up", "--set", "auto.concurency=2", code=2))

    def test_flags_stand_in_place_of_the_file_and_a_failing_post_accept_ends_it(self):
        # The pool is the one of docs/auto.md.
        with open(os.path.join(HERE, "../../docs/auto.md"), encoding="utf-8") as f:
            example = f.read().split("```sh\n")[1].split("```")[0]
        site = self.auto_site(1, args=("--auto", "--set", "auto.task_pool_command=sh pool.sh",
                                       "--set", "auto.post_accept_command=echo broken; exit 1",
                                       "--set", "auto.concurrency=1"))
        site.write("pool.sh", example)
        site.write("tasks/first", "Task 1 of the pool\n")
        site.configure(site.read(".overseer/config.toml").replace("concurrency = 2", 'concurrency = 2\npost_accept_on_failure = "fail"'))
        site.up()
        self.assertEqual(site.ended(), 20)
        self.assertIn("broken", self.log(site, "post_accept"))
        self.assertEqual(site.git("log", "--format=%s", "main"), "Task 1 of the pool\nstart\n")
        site.args = []
        site.up()
        self.assertIn("broken", site.cli("inbox", "show", "1"))
        self.assertIn("auto mode stopped", site.cli("inbox"))

    def runs(self, site):
        return len([e for e in site.events() if e["type"] == "run.created"])

    def open_entries(self, site):
        return site.call("inbox.list")["inbox"]

    def test_the_same_task_that_changes_nothing_is_run_once(self):
        """An agent that ends well and changes nothing, with a pool that has one task: it burns no money."""
        site = self.auto_site(0, config=QUICK.replace("concurrency = 2", "concurrency = 1"),
                              agent="echo 'I had a look, all is well.'\n")
        site.write("../pool.sh", "echo The same task again\n")
        site.up()
        seen = []
        site.wait_event(lambda e: e["type"] == "auto.pool" and e["data"]["answer"] == "repeated" and
                        (seen.append(e["seq"]) or len(seen) >= 4))
        attempts = self.runs(site)
        self.assertLessEqual(attempts, 3)
        entry, = self.open_entries(site)
        self.assertGreaterEqual(entry["repeats"], 4)
        self.assertIn("times since", site.cli("inbox", "show", str(entry["number"])))
        # Once it is answered it is a task like any other.
        site.cli("inbox", "answer", str(entry["number"]), "cancel")
        site.wait_event(lambda e: e["type"] == "run.created" and self.runs(site) > attempts)

    def test_tasks_that_fail_in_a_row_pause_it(self):
        """The pool has a new task each time, and none ends with a change: after three it pauses, with one entry."""
        site = self.auto_site(30, config=QUICK.replace("concurrency = 2", "concurrency = 1"), agent="echo nothing to do here\n")
        site.up()
        paused = site.wait_type("auto.paused", cause="failures")
        self.assertLessEqual(self.runs(site), 3 * 3)
        entry = paused["data"]["escalation"]
        self.assertEqual([x["number"] for x in self.open_entries(site)], [entry])
        shown = site.cli("inbox", "show", str(entry))
        for words in ("3 tasks in a row", "Task 1 of the pool", "Task 3 of the pool", "changed nothing"):
            self.assertIn(words, shown)
        self.assertIn(f"paused, waits for an answer to #{entry}", site.cli("status"))
        # The next daemon waits, too.
        self.assertEqual(site.down(), 0)
        site.up()
        status = site.call("auto.get")
        self.assertEqual((status["on"], status["paused"]["cause"], status["paused"]["entry"]), (True, "failures", entry))
        self.assertEqual((status["tasks"]["blocked"], status["failures_in_a_row"]), (3, 3))
        site.cli("tick")
        self.assertEqual(site.home("given").strip(), "3")
        site.cli("inbox", "answer", str(entry), "stop")
        self.assertFalse(site.call("auto.get")["on"])
        self.assertEqual(self.open_entries(site), [])

    def test_a_stuck_task_holds_no_other_up(self):
        """The first task never passes its check, in the same way each time: it alone is put before a person."""
        config = QUICK.replace("concurrency = 2", "concurrency = 1").replace("[retry]", "[retry]\nmax_attempts = 20")
        site = self.auto_site(3, config=config + '[workspace]\ncheck_command = "test ! -e t1.txt || { echo error: the same; exit 1; }"\n')
        site.up()
        seen = set()
        site.wait_event(lambda e: e["type"] == "node.status" and e["data"]["to"] == "done" and
                        (seen.add(e["node"]) or len(seen) == 2))
        entry, = self.open_entries(site)
        goal, = {e["goal"] for e in site.events() if e["type"] == "node.added"}
        self.assertEqual((entry["kind"], entry["node_id"]), ("paused", "t1"))
        self.assertEqual(site.call("goal.show", goal=goal)["status"], "active")
        status = site.call("auto.get")
        self.assertEqual((status["paused"], status["waits"]), (None, ""))
        self.assertEqual((status["tasks"]["done"], status["tasks"]["blocked"]), (2, 1))
        site.cli("inbox", "deny", str(entry["number"]), "--reason", "not wanted")
        self.assertEqual(site.call("goal.show", goal=goal)["status"], "active")
        after = site.seq()
        site.write("../tasks", "".join(f"Task {n} of the pool\n" for n in range(1, 5)))
        site.wait_type("node.status", after=after, to="done")
        # A person may hold all of them: whoever looks is told, and how it ends.
        site.cli("goal", "pause", goal)
        self.assertIn(f"its goal is paused: overseer goal resume {goal}", site.call("auto.get")["waits"])
        for command in (("auto", "status"), ("status",)):
            self.assertIn(f"its goal is paused: overseer goal resume {goal}", site.cli(*command))
        site.write("../tasks", "".join(f"Task {n} of the pool\n" for n in range(1, 6)))
        site.cli("tick")
        self.assertEqual(site.home("given").strip(), "4")
        self.assertIn("Next  overseer goal resume goal_", site.cli("explain", goal))
        after = site.seq()
        site.cli("goal", "resume", goal)
        site.wait_type("node.status", after=after, to="done")

    def test_a_dead_agent_takes_few_tasks_from_the_pool(self):
        """A task that waits for its retry counts against auto.concurrency: the pool is not emptied meanwhile."""
        for concurrency, agent in ((1, "exit 7\n"), (2, "echo nothing to do here\n")):
            site = self.auto_site(30, config=QUICK.replace("concurrency = 2", f"concurrency = {concurrency}").replace(
                '"10ms", "10ms", "10ms"]', '"1s", "1s", "1s"]\nmax_attempts = 2'), agent=agent)
            site.up()
            site.wait_type("auto.paused", cause="failures")
            self.assertLess(int(site.home("given")), concurrency + 3)
            site.down()

    def test_a_person_s_start_counts_failures_from_0(self):
        """Tasks that failed after auto mode was switched off, and were cancelled, do not pause the next start."""
        site = self.auto_site(2, config=QUICK.replace("concurrency = 2", "concurrency = 1\nmax_failures_in_a_row = 1").replace(
            "[retry]", "[retry]\nmax_attempts = 1"), agent='echo $$ > "$HOME/agent.here"; read x < "$HOME/agent.go"\n')
        gate = site.gate("agent")
        site.up()
        gate.wait()
        site.cli("auto", "stop")
        gate.go()
        blocked = site.wait_type("node.status", to="blocked")
        self.assertEqual(site.call("auto.get")["failures_in_a_row"], 1)
        site.cli("work", "cancel", blocked["node"], "--reason", "not wanted")
        self.assertEqual(site.call("auto.get")["failures_in_a_row"], 0)
        after = site.seq()
        site.cli("auto", "start")
        site.wait_type("auto.pool", after=after, answer="task")
        self.assertEqual([e for e in site.events() if e["type"] == "auto.paused"], [])

    def test_a_retry_takes_the_agent_that_auto_mode_has_now(self):
        config = QUICK.replace("concurrency = 2", 'concurrency = 1\nmax_failures_in_a_row = 1\nagent = "broken"').replace(
            "[retry]", "[retry]\nmax_attempts = 1") + '[agents.broken]\ncommand = ["sh", "-c", "exit 7"]\n'
        site = self.auto_site(1, config=config)
        site.up()
        paused = site.wait_type("auto.paused", cause="failures")
        node = next(e for e in site.events() if e["type"] == "run.created")["node"]
        self.assertIn("broken is the agent of auto mode", site.cli("explain", node))
        site.configure(site.read(".overseer/config.toml").replace('agent = "broken"', 'agent = "script"'))
        site.cli("config", "reload")
        site.cli("inbox", "answer", str(paused["data"]["escalation"]), "retry")
        self.done(site, 1)

    def test_the_entry_shows_what_agents_said_last(self):
        site = self.auto_site(3, config=QUICK.replace("concurrency = 2", "concurrency = 1\nmax_failures_in_a_row = 1").replace(
            "[retry]", "[retry]\nmax_attempts = 1"), agent="echo 'boom: no such model'; exit 7\n")
        site.up()
        paused = site.wait_type("auto.paused", cause="failures")
        shown = site.cli("inbox", "show", str(paused["data"]["escalation"]))
        for words in ("Task 1 of the pool", "exit status 7", "boom: no such model"):
            self.assertIn(words, shown)

    def test_a_pool_that_fails_is_tried_again_then_pauses(self):
        site = self.auto_site(1, config=QUICK + 'task_pool_retries = 2\ntask_pool_retry_wait = "30ms"\n')
        site.write("../fails", "")
        site.write("../pool.sh", "cd $HOME; echo x >> tried; [ -e fails ] && { echo no network >&2; exit 1; }\n" + POOL)
        site.up()
        paused = site.wait_type("auto.paused", cause="pool")
        self.assertEqual(site.home("tried").split(), ["x"] * 3)
        entry = str(paused["data"]["escalation"])
        self.assertIn("no network", site.cli("inbox", "show", entry))
        self.assertEqual(len(self.open_entries(site)), 1)
        os.unlink(os.path.join(site.root, "fails"))
        site.cli("inbox", "answer", entry, "resume")
        self.done(site, 1)

    def test_people_see_why_the_pool_fails(self):
        site = self.auto_site(0, config=QUICK + 'task_pool_retries = 3\ntask_pool_retry_wait = "1h"\n')
        site.write("../pool.sh", "echo looking; echo 'no such queue' >&2; exit 9\n")
        site.up()
        site.wait_type("auto.pool", answer="failed")
        for shown in (site.cli("auto", "status"), site.cli("status")):
            self.assertRegex(shown, r"the pool's command failed \(exit status 9: no such queue\), asked again at \S+, 3 retries left")
        pool = site.call("auto.get")["pool"]
        self.assertEqual((pool["trouble"], pool["retries_left"]), ("exit status 9: no such queue", 3))
        # A command that is not there is told at once.
        after = site.seq()
        site.cli("auto", "start", "--task-pool-command", "no-such-command")
        site.wait_type("auto.paused", after=after, cause="pool")
        entry, = self.open_entries(site)
        self.assertIn("no-such-command", entry["question"])
        self.assertIn("exit status 127", site.cli("auto", "status"))

    def test_long_tasks(self):
        """64 KiB reach the agent whole; what is longer is refused alone."""
        site = self.auto_site(0, agent='cp "$OVERSEER_PROMPT_FILE" "$HOME/prompt" 2>/dev/null; ' + AGENT)
        site.write("../pool.sh", r"""
cd "$HOME" || exit 9
n=$(( $(cat given 2>/dev/null || echo 0) + 1 )); echo $n > given
case $n in
1) echo Too long; head -c 66000 /dev/zero | tr '\\0' x ;;
2) echo Long; head -c 60000 /dev/zero | tr '\\0' y; echo THE END ;;
*) exit 4 ;;
esac
""".replace("\\\\", "\\"))
        site.up()
        refused = site.wait_type("auto.pool", answer="refused")
        self.assertIn("64 KiB", refused["data"]["detail"])
        site.wait_type("node.status", to="done")
        dispatch = [e for e in site.events() if e["type"] == "dispatch.intended"][0]
        self.assertIn("THE END", dispatch["data"]["instruction"])
        self.assertIn("y" * 60000, dispatch["data"]["instruction"])
        entry = self.open_entries(site)
        self.assertEqual(len(entry), 1)
        self.assertIn("Too long", entry[0]["question"])

    def test_a_day_s_budget(self):
        site = self.auto_site(9, config=QUICK.replace("concurrency = 2", "concurrency = 1") + "[auto.budget]\niterations = 2\n")
        site.up()
        site.wait_event(lambda e: e["type"] == "escalation.opened" and e["data"]["kind"] == "budget")
        self.assertEqual(self.runs(site), 2)
        status = site.call("auto.get")
        self.assertEqual((status["budget"]["level"], status["budget"]["last_24h"]["iterations"]),
                         ("spent", {"used": 2, "limit": 2}))
        self.assertTrue(status["budget"]["room_at"])
        # 24 hours after an hour of today is another day.
        room = r"2 of 2 runs in the last 24 h, room again (tomorrow \d\d:00 \(\d{4}-\d\d-\d\d\)|\d{4}-\d\d-\d\d 00:00)"
        self.assertRegex(site.cli("status"), room)
        shown = site.cli("auto", "status")
        self.assertRegex(shown, room)
        # Its agent does not tell what it uses.
        self.assertEqual([status["budget"][key] for key in ("unpriced_runs", "untold_runs", "live_runs")], [0, 2, 0])
        self.assertRegex(shown, r"\n +\? of 60000000 tokens\n +\? of \$60\.00\n")
        self.assertRegex(shown, r"Room at +(tomorrow|\d{4}-\d\d-\d\d) \d\d:00\n")
        self.assertNotRegex(shown, r"\d\.\d{3}Z")
        entry = self.open_entries(site)
        self.assertEqual(len(entry), 1)
        self.assertRegex(entry[0]["question"], room)
        # It is one goal's budget to raise, as any.
        site.cli("inbox", "answer", str(entry[0]["number"]), "raise")
        site.wait_event(lambda e: e["type"] == "run.created" and self.runs(site) == 4)

    def test_the_same_task_again_and_again_is_told(self):
        site = self.auto_site(0, config=QUICK.replace("concurrency = 2", "concurrency = 1"))
        site.write("../tasks", "Task 1 of the pool\n" * 3)
        site.up()
        site.wait_event(lambda e: e["type"] == "node.status" and e["data"]["to"] == "done" and e["node"] == "t3")
        self.assertEqual(site.call("auto.get")["pool"]["same_task_in_a_row"], 3)
        self.assertIn("the pool gave the same task 3 times in a row", site.cli("auto", "status"))
        self.assertIn("The pool gave the same task 3 times in a row.", site.cli("report"))

    def test_runs_under_way_take_their_place_in_the_budget(self):
        """Three workers, two runs: no third one is begun while they are under way, and everybody is told why."""
        site = self.auto_site(9, agent='echo here > "$HOME/gate.here"; read x < "$HOME/gate.go"\n' + AGENT,
                              config=QUICK.replace("concurrency = 2", "concurrency = 3") + "[auto.budget]\niterations = 2\n")
        gate = site.gate("gate")
        site.up()
        for _ in range(2):
            gate.wait()
        site.call("tick.now")
        taken = "2 of 2 runs are left and all of them are under way"
        self.assertEqual(site.call("auto.get")["waits"], taken)
        self.assertEqual(site.call("auto.get")["budget"]["level"], "fine")
        goal = site.call("status.get")["goals"][0]["id"]
        for command in (("status",), ("auto", "status"), ("explain", goal)):
            self.assertIn(taken, site.cli(*command))
        self.assertEqual(self.answers(site), ["task", "task"])
        for _ in range(2):
            gate.go()
        site.wait_event(lambda e: e["type"] == "escalation.opened" and e["data"]["kind"] == "budget")
        site.call("tick.now")
        self.assertEqual((self.runs(site), self.answers(site)), (2, ["task", "task"]))
        self.assertEqual(site.call("auto.get")["budget"]["last_24h"]["iterations"], {"used": 2, "limit": 2})

    def test_switched_on_and_off_while_the_daemon_runs(self):
        site = self.auto_site(2, args=(), config=QUICK.replace('task_pool_command = "sh $HOME/pool.sh"\n', ""))
        site.up()
        self.assertIn("overseer auto start --task-pool-command", site.cli("auto", "start", code=2))
        self.assertIn("Auto mode is off", site.cli("auto", "status"))
        self.assertIn("Auto mode is on", site.cli("auto", "start", "--task-pool-command", "sh $HOME/pool.sh", "--concurrency", "1"))
        self.done(site, 2)
        self.assertIn("Auto mode is off: enough", site.cli("auto", "stop", "--reason", "enough"))
        site.cli("config", "reload")
        self.assertEqual(site.call("auto.get")["on"], False)
        with open(os.path.join(site.root, "tasks"), "a", encoding="utf-8") as f:
            f.write("Task 3 of the pool\n")
        # What was given with the first start holds as long as the daemon runs.
        self.assertIn("Auto mode is on", site.cli("auto", "start"))
        self.done(site, 3)
        self.assertEqual(site.down(), 0)
        site.up()
        self.assertEqual(site.call("auto.get")["on"], False)


    def test_without_auto_after_it_was_on(self):
        for end in ("down", "kill"):
            site = self.auto_site(1)
            site.env["OVERSEERD"] = DAEMON
            site.up()
            self.done(site, 1)
            getattr(site, end)()
            site.args = []
            site.up()
            for shown in (site.cli("auto", "status"), site.cli("up")):
                self.assertRegex(shown, r"Auto mode was on until \S+")
                self.assertRegex(shown, r"Next:? +overseer auto start")
            self.assertRegex(site.cli("status"), r"off; it was on until \S+")
            site.cli("auto", "stop", "--reason", "not today")
            self.assertIn("Auto mode is off: not today", site.cli("auto", "status"))
            self.assertNotIn("was on until", site.cli("up"))
            site.down()


class Failing(SiteCase):
    def test_an_agent_that_fails_at_everything_is_taken_out_of_service(self):
        """Ordinary goals: one entry, and no more runs, however many tasks wait."""
        site = self.site(FAST.replace("[retry]", "[retry]\nmax_agent_failures = 3\nmax_attempts = 2"), "exit 7\n")
        site.up()
        plan = {"phases": [{"id": "P", "name": "P", "tasks": [{"id": f"T{n}", "name": f"task {n}", "acceptance": ["it is there"]} for n in range(6)]}]}
        goal = site.call("goal.create", title="many", plan=plan)["goal"]
        site.wait_event(lambda e: e["type"] == "agent.limited" and e["data"]["kind"] == "failing")
        entry, = [x for x in site.call("inbox.list")["inbox"] if x["kind"] == "agent_failing"]
        self.assertIn("out of service", entry["question"])
        self.assertIn("exit status 7", entry["question"])
        self.assertRegex(site.cli("agent", "list"), r"(?s)out of service.*known by its last \d+ runs failed, on several tasks")
        self.assertIn("agent script", site.cli("queue", "list"))
        runs = lambda: len([e for e in site.events() if e["type"] == "run.created"])
        before = runs()
        self.assertLessEqual(before, 3 + 2)  # two workers
        site.cli("tick")
        self.assertEqual(runs(), before)
        site.write("../agent.sh", "#!/bin/sh\n" + AGENT)
        site.cli("inbox", "answer", str(entry["number"]), "resume")
        site.wait_goal(goal)

    def test_one_entry_for_all_tasks_that_it_failed_at(self):
        site = self.site(FAST.replace("[retry]", "[retry]\nmax_agent_failures = 5\nmax_attempts = 2"), "echo I looked around\n")
        site.up()
        plan = {"phases": [{"id": "P", "name": "P", "tasks": [{"id": f"T{n}", "name": f"task {n}", "acceptance": ["it is there"]} for n in range(3)]}]}
        goal = site.call("goal.create", title="many", plan=plan)["goal"]
        asked = site.wait_event(lambda e: e["type"] == "escalation.opened" and e["data"]["kind"] == "agent_failing")
        entry = asked["data"]["escalation"]
        # Two attempts each: with the fifth failure at least two of them are given up.
        opened = [e["data"]["escalation"] for e in site.events() if e["type"] == "escalation.opened" and e["data"]["kind"] == "no_changes"]
        self.assertGreaterEqual(len(opened), 2)
        for number in opened:
            closed = site.wait_type("escalation.closed", escalation=number)
            self.assertEqual((closed["data"]["status"], closed["data"]["answer"]), ("dismissed", f"part of #{entry}"))
        given_up = {e["node"] for e in site.events() if e["type"] == "node.status" and e["data"].get("block") == "failed"}
        shown = site.cli("inbox", "show", str(entry))
        self.assertRegex(shown, r'/T\d "task \d": failed 2 times \(no_changes\): the agent reported success but changed nothing')
        self.assertIn(f"it waits for your answer: overseer inbox show {entry}", site.cli("explain", min(given_up)))
        site.write("../agent.sh", "#!/bin/sh\n" + AGENT)
        site.cli("inbox", "answer", str(entry), "resume")
        site.wait_goal(goal)
        self.assertEqual(site.call("inbox.list")["inbox"], [])


if __name__ == "__main__":
    unittest.main()
