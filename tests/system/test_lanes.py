#!/usr/bin/env python3
"""Agents that cannot work for a while, and agents that failed: work starts again by itself, and people see why."""

import datetime
import json
import os
import re
import shlex
import shutil
import subprocess
import time
import unittest

from harness import CLI, FAST, PATIENCE, SiteCase, plan, task

# Does its task once its limit is over: `until` holds the moment, in seconds; without one it says none.
LIMITED = r"""
cat > /dev/null
echo '{"type":"system","subtype":"init","cwd":"/w","session_id":"bcac89b7-f0ce-4aad-8947-bb6c67a83286","tools":[],"model":"m"}'
until=$(cat "$HOME/until" 2>/dev/null || echo 0)
if [ "$(date +%s)" -lt "$until" ]; then
	echo '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":'$until',"rateLimitType":"five_hour"}}'
	echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"You have hit your five hour limit","num_turns":1}'
	exit 1
fi
echo x > "$OVERSEER_NODE.txt"
echo '{"type":"result","subtype":"success","is_error":false,"result":"Done.","num_turns":1}'
"""
SPEAKS = '[defaults]\nagent = "gemini"\n[agents.gemini]\nformat = "claude"\ncommand = ["{root}/agent.sh"]\n'

# Is logged out in the middle of its work while `limited` is there: some of it is left in its worktree, also what git ignores.
IN_PLACE = r"""
cat > /dev/null
echo '{"type":"system","subtype":"init","cwd":"/w","session_id":"bcac89b7-f0ce-4aad-8947-bb6c67a83286","tools":[],"model":"m"}'
if [ -e "$HOME/limited" ]; then
	echo before > "$OVERSEER_NODE.txt"
	echo '*.o' >> "$(git rev-parse --git-path info/exclude)"
	echo compiled > ignored.o
	echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":401,"result":"Please log in","num_turns":1}'
	exit 1
fi
[ "$OVERSEER_NODE" != T1 ] || test -e ignored.o || exit 9
echo after >> "$OVERSEER_NODE.txt"
echo '{"type":"result","subtype":"success","is_error":false,"result":"Done.","num_turns":1}'
"""

# Takes no work until the file `free` is there.
QUOTA = r"""
if [ ! -e "$HOME/free" ]; then
	printf 'reading the plan\n\033[31mquota exceeded\033[0m for key ghp_%s\n' "$(printf abcdef1234567890XYZW%s 16chars0Zq8Wm3Pt)" >&2
	exit 75
fi
echo x > "$OVERSEER_NODE.txt"
"""

FAILS = r"""
i=0; while [ $i -lt 20 ]; do i=$((i + 1)); echo "line $i"; done
printf '\033[1;31mfatal:\033[0m no model \a"x"\n10%%\r50%%\rstopped at 70%%\n' >&2
exit 3
"""


def moment(rfc3339):
    return datetime.datetime.fromisoformat(rfc3339.replace("Z", "+00:00")).timestamp()


class Lanes(SiteCase):
    maxDiff = None

    def speaking(self, seconds, *tasks, more=""):
        """A site whose agent says that it is limited for so many seconds."""
        site = self.site(FAST + more)
        os.chmod(site.write("../agent.sh", "#!/bin/sh\n" + LIMITED), 0o755)
        site.configure(FAST + more + SPEAKS.format(root=site.root) + '[planner]\nfallback = false\n')
        self.until = int(time.time()) + seconds
        site.write("../until", str(self.until))
        site.up()
        return site, site.call("goal.create", title="Test", plan=plan(*tasks))["goal"]

    def lanes(self, site):
        return site.call("status.get")["lanes"]

    def test_starts_by_itself_at_the_moment_that_the_agent_named(self):
        site, goal = self.speaking(4, task("T1"), task("T2", deps=["T1"]))
        limited = site.wait_type("agent.limited")
        lane, = self.lanes(site)
        self.assertEqual((lane["agent"], lane["kind"], lane["state"], lane["waiting"], lane["times"]),
                         ("gemini", "rate_limited", "rate limited", 1, 1))
        self.assertEqual((moment(lane["until"]), lane["tried_again_at"]), (self.until, None))
        self.assertEqual((lane["known_by"], lane["run"], lane["words"]),
                         ("stream", limited["run"], "You have hit your five hour limit"))
        self.assertEqual(lane["since"], limited["at"])
        text = site.cli("status")
        self.assertRegex(text, r'AGENTS WAITING \(1\)\n  gemini  rate limited until \d\d:\d\d:\d\d \((in \d+s|now)\)  since \S+  '
                               r'1 task waits  known by its output \(run R_\w+\): "You have hit your five hour limit"\n')
        self.assertEqual(self.lanes(site), json.loads(site.cli("agent", "list", "--json"))["agents"][0]["limit"] and [lane])
        self.assertRegex(site.cli("agent", "list"), r"gemini \* .* rate limited until \d\d:\d\d")
        self.assertRegex(site.cli("explain", "gemini"), r'^gemini "Claude Code" is RATE LIMITED since .*\n'
                                                        r'Why .*known by its output .*\nNext +it is free again at .*, in .*by itself\n')
        again = site.wait_type("run.created", after=limited["seq"])
        self.assertGreaterEqual(moment(again["at"]), self.until)
        # Nobody asked in between: one tick at that moment, and none before it.
        between = [e["type"] for e in site.events() if limited["seq"] < e["seq"] < again["seq"]]
        self.assertFalse({"agent.limited", "run.created", "run.started"} & set(between), between)
        site.wait_goal(goal)
        self.assertEqual(self.lanes(site), [])
        self.assertNotIn("AGENTS WAITING", site.cli("status"))
        self.assertEqual({e["actor"] for e in site.events() if e["seq"] > limited["seq"]}, {"overseer"})

    def test_a_limit_of_weeks_that_one_task_tells(self):
        """It may be a lie: after limit_wait_max the agent is tried, and works."""
        site, goal = self.speaking(39 * 86400, task("T1"), more='[supervisor]\nlimit_wait_max = "2s"\n')
        limited = site.wait_type("agent.limited")
        self.assertTrue(limited["data"]["guessed"], limited)
        self.assertEqual(limited["data"]["far_until_ms"], self.until * 1000, limited)
        self.assertLessEqual(limited["data"]["resets_at_ms"] - moment(limited["at"]) * 1000, 2000)
        self.assertRegex(site.cli("explain", "T1"), r"agent gemini is rate limited, until unknown, tried again at \S+: .*; it says until 20")
        os.unlink(f"{site.root}/until")
        site.wait_goal(goal)
        self.assertEqual(site.call("inbox.list")["inbox"], [])

    def test_a_limit_of_weeks_that_two_tasks_tell(self):
        """It is believed, tried by one run at a time, and told to a person, who lifts it."""
        site, goal = self.speaking(39 * 86400, *(task(f"T{i}") for i in range(1, 4)), more="[workers]\nmax = 2\n")
        entry = site.wait_type("escalation.opened")["data"]
        self.assertEqual(entry["kind"], "agent_limited", entry)
        self.assertIn('said so: "You have hit your five hour limit"', entry["question"])
        lane, = self.lanes(site)
        self.assertEqual((moment(lane["until"]), lane["escalation"]), (self.until, entry["escalation"]), lane)
        clock = datetime.datetime.fromtimestamp(self.until, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M")
        for node in "T1", "T2", "T3":
            self.assertRegex(site.cli("explain", node), f"agent gemini is rate limited until {clock}, tried by one run at ")
        self.assertRegex(site.cli("status"), r"gemini  rate limited until .*, tried by one run at .*overseer inbox show ")
        # A person is believed.
        os.unlink(f"{site.root}/until")
        site.cli("inbox", "answer", str(entry["escalation"]), "lift")
        site.wait_goal(goal)
        self.assertEqual(self.lanes(site), [])

    def test_an_agent_that_speaks_no_format(self):
        """By its last lines, when it fails; by patterns of its own, too. It waits, and nothing is counted."""
        site = self.site(FAST + '[workers]\nmax = 3\n', agent="exit 1\n")
        says = "read x; [ -e \"$HOME/free\" ] && {{ echo x > $OVERSEER_NODE.txt; exit 0; }}; echo working; echo {}; exit 1"
        agents = (("quota", "Error: 429 Too Many Requests, try again in 2 hours", ""), ("key", "Invalid API key", ""),
                  ("fuel", "tank: no more of my fuel", 'limit_patterns = ["No more*fuel"]\n'),
                  ("wait", "Rate limited. Please try again in 2 hours.", ""), ("date", "Limit reached; resets Nov 19, 9am", ""),
                  ("unknown", "401 Unauthorized", ""), ("unset", "API key not found. Set OPENAI_API_KEY.", ""),
                  ("tests", "401 Unauthorized\n1 of 3 tests failed", ""), ("work", "FAILED test_rate_limit", 'limit_patterns = ["no more*fuel"]\n'))
        text = "".join(f"[agents.{name}]\ncommand = {json.dumps(says.format(shlex.quote(words)))}\n{more}" for name, words, more in agents)
        site.configure(site.read(".overseer/config.toml").replace("[agents.script]", text + "[agents.script]"))
        site.cli("config", "check")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(*(task(f"T{i}", suggestedAgent=a[0]) for i, a in enumerate(agents))))["goal"]
        for node, agent, kind in (("T0", "quota", "rate_limited"), ("T1", "key", "login"), ("T2", "fuel", "rate_limited"),
                                  ("T3", "wait", "rate_limited"), ("T4", "date", "rate_limited"), ("T5", "unknown", "login"),
                                  ("T6", "unset", "login")):
            limited = site.wait_type("agent.limited", node=node)["data"]
            self.assertEqual((limited["agent"], limited["kind"], limited["known_by"]), (agent, kind, "stream"), limited)
        self.assertRegex(site.cli("status"), r'quota +rate limited until \S+( \S+)? \(in (2h|1h59m)\).*429 Too Many Requests')
        self.assertRegex(site.cli("status"), r'wait +rate limited until \S+( \S+)? \(in (2h|1h59m)\)')
        for node in "T7", "T8":
            site.wait_type("node.failed", node=node)
        self.assertFalse({"tests", "work"} & {lane["agent"] for lane in self.lanes(site)})
        self.assertEqual({e["node"] for e in site.events() if e["type"] == "node.failed"}, {"T7", "T8"})
        self.assertIn("agent key may be logged out", site.cli("inbox"))
        self.assertTrue(goal)

    def test_patterns_that_fit_too_much(self):
        site = self.site(FAST, agent="exit 1\n")
        site.configure(site.read(".overseer/config.toml").replace("[agents.script]\n", '[agents.script]\nlimit_patterns = ["*"]\nlogin_patterns = ["ok"]\n'))
        done = subprocess.run([CLI, "config", "check"], cwd=site.repo, env=site.env, capture_output=True, text=True, timeout=PATIENCE)
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, 2, said)
        self.assertIn("agents.script.limit_patterns[0]: a pattern has at least 6 characters", said)
        self.assertIn("agents.script.login_patterns[0]: a pattern has at least 6 characters", said)

    def test_over_a_restart_and_while_the_daemon_is_down(self):
        site, goal = self.speaking(5, task("T1"))
        limited = site.wait_type("agent.limited")
        before, = self.lanes(site)
        site.kill()
        site.up()
        after, = self.lanes(site)
        self.assertEqual(before, after)
        site.down()
        # The daemon is back after the moment: what was due meanwhile starts at once.
        while time.time() < self.until:
            time.sleep(max(0, self.until - time.time()))
        site.up()
        site.wait_goal(goal)
        self.assertGreaterEqual(moment(site.wait_type("run.created", after=limited["seq"])["at"]), self.until)
        self.assertEqual(self.lanes(site), [])

    def test_without_a_known_end_it_is_tried_again_later_each_time(self):
        site = self.site(FAST.replace('"10ms"\n', '"700ms"\n'), agent=QUOTA)
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        first = site.wait_type("agent.limited")
        self.assertTrue(first["data"]["guessed"])
        second = site.wait_type("agent.limited", after=first["seq"], times=2)
        self.assertGreater(second["data"]["resets_at_ms"] - moment(second["at"]) * 1000,
                           first["data"]["resets_at_ms"] - moment(first["at"]) * 1000)
        site.kill()
        site.up()
        site.wait_type("agent.limited", after=second["seq"], times=3)
        lane, = self.lanes(site)
        self.assertEqual((lane["until"], lane["known_by"]), (None, "exit_code"))
        self.assertTrue(lane["tried_again_at"])
        self.assertRegex(lane["how"], r'^its exit status 75 \(run R_\w+\): "quota exceeded for key \[redacted: [^"]*\]"$')
        self.assertRegex(site.cli("status"), r"script  rate limited, until unknown, tried again at \d\d:\d\d:\d\d \((in \d+s|now)\) ")
        site.write("../free", "")
        site.wait_goal(goal)
        self.assertEqual(self.lanes(site), [])

    def test_logged_out_until_a_person_says_so(self):
        site = self.site(FAST, agent=QUOTA.replace("75", "77"))
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1"), task("T2")))["goal"]
        number = site.wait_type("escalation.opened")["data"]["escalation"]
        second = site.wait_type("agent.limited", after=site.wait_type("agent.limited")["seq"])
        # Both were under way together: that is one time, and one question.
        self.assertEqual(second["data"]["times"], 1)
        lane, = self.lanes(site)
        self.assertEqual((lane["state"], lane["until"], lane["tried_again_at"], lane["escalation"]), ("said to be logged out", None, None, number))
        self.assertRegex(site.cli("status"), r"script  said to be logged out until you log it in  .*overseer inbox show 1  known by its exit status 77")
        self.assertRegex(site.cli("inbox", "show", "1"), r"The agent wrote last\n  \| reading the plan\n  \| quota exceeded for key \[redacted")
        site.write("../free", "")
        site.cli("inbox", "answer", "1", "done")
        site.wait_goal(goal)

    def test_words_of_one_task_do_not_hold_up_the_others(self):
        """Its last line reads like a login; a run that was under way ends well, and the others need nobody."""
        site = self.site(FAST + "[workers]\nmax = 2\n", agent="""
case $OVERSEER_NODE in
T1) [ -e "$HOME/free" ] || { read x < "$HOME/b.go"; echo "FAILED test_login: expected 'please log in'"; exit 1; } ;;
T2) echo up > "$HOME/a.here"; read x < "$HOME/a.go" ;;
esac
echo x > $OVERSEER_NODE.txt
""")
        gate, first = site.gate("a"), site.gate("b")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(*(task(f"T{i}") for i in range(1, 4))))["goal"]
        gate.wait()
        first.go()
        said = site.wait_type("escalation.opened")
        run = site.wait_type("agent.limited")["run"]
        self.assertEqual(said["data"]["question"], f"agent script may be logged out: run {run} of task T1 said so: "
                         "\"FAILED test_login: expected 'please log in'\". If it is, log it in; then say so.")
        self.assertIn("said to be logged out until you log it in", site.cli("status"))
        site.write("../free", "")
        gate.go()
        cleared = site.wait_type("agent.cleared", after=said["seq"])
        self.assertEqual(cleared["data"]["reason"], "it works again")
        site.wait_goal(goal)
        self.assertEqual(self.lanes(site), [])

    def test_a_stuck_task_does_not_pause_the_goal_while_others_wait_for_their_agent(self):
        patient = FAST.replace("[retry]", "[retry]\nmax_attempts = 50")
        site = self.site(patient + '[workspace]\ncheck_command = "test $(ls T2.txt 2>/dev/null) || { echo error: no such function parse; exit 1; }"\n'
                         '[workers]\nmax = 2\n', agent='date +%N > T1.txt\n')
        os.chmod(site.write("../quota.sh", "#!/bin/sh\n" + QUOTA), 0o755)
        site.configure(site.read(".overseer/config.toml") + f'[agents.quota]\ncommand = ["{site.root}/quota.sh"]\n')
        config = site.read(".overseer/config.toml").replace('base = "10ms"', 'base = "30m"')
        site.configure(config)
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1", deps=[]), task("T2", suggestedAgent="quota")))["goal"]
        site.wait_type("agent.limited", agent="quota")
        done = site.wait_type("intervention.applied", level="pause")
        self.assertEqual(done["data"]["did"], "the node is paused until a person lets it go on")
        self.assertEqual(site.call("goal.show", goal=goal)["status"], "active")
        self.assertEqual(site.node("T1")["block"], "paused")
        self.assertEqual(site.node("T2")["block"], "rate_limited")

    def test_keeps_its_worktree_and_session_while_others_work(self):
        config = FAST + "[workers]\nmax = 1\n"
        site = self.site(config)
        os.chmod(site.write("../agent.sh", "#!/bin/sh\n" + IN_PLACE), 0o755)
        os.chmod(site.write("../other.sh", "#!/bin/sh\necho y > $OVERSEER_NODE.txt\n"), 0o755)
        site.configure(config + SPEAKS.format(root=site.root) + f'[agents.other]\ncommand = ["{site.root}/other.sh"]\n')
        site.write("../limited", "")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1"), task("T2", suggestedAgent="other"), task("T3")))["goal"]
        limited = site.wait_type("agent.limited")
        site.wait_type("node.accepted", node="T2")
        # It keeps its worker, with what it left there, and no slot; what has not begun has none.
        status = site.call("status.get")
        worker, = [w for w in status["workers"] if w["name"] == "pool-1"]
        self.assertEqual((site.node("T1")["block"], worker["node"], worker["stage"]), ("login", f"{goal}/T1", "waiting"))
        self.assertEqual((status["workers_busy"], status["workers_waiting"], status["held"]), (0, 1, []))
        running, = status["running"]
        self.assertEqual((running["node"], running["waiting"]), ("T1", "agent"))
        self.assertTrue(os.path.exists(os.path.join(site.dir, "worktrees/pool-1/ignored.o")))
        self.assertEqual(site.wait_type("assignment.created", node="T2")["data"]["worker"], "pool-2")
        site.kill()
        site.up()
        os.unlink(os.path.join(site.root, "limited"))
        site.cli("inbox", "answer", "1", "done")
        site.wait_goal(goal)
        first, again = [r for r in site.runs() if r["node_id"] == "T1"]
        self.assertEqual((first["id"], first["assignment_id"], first["session"], again["resumed"]),
                         (limited["run"], again["assignment_id"], again["session"], True))
        self.assertEqual(site.git("show", "HEAD:T1.txt"), "before\nafter\n")

    def test_gives_its_worktree_back_where_others_need_it(self):
        config = FAST + "[workers]\nmax = 1\nmax_waiting = 1\n"
        site = self.site(config, agent=QUOTA.replace("75", "77").replace("if [", "echo half > $OVERSEER_NODE.part\nif ["))
        os.chmod(site.write("../other.sh", "#!/bin/sh\necho y > $OVERSEER_NODE.txt\n"), 0o755)
        site.configure(site.read(".overseer/config.toml") + f'[agents.other]\ncommand = ["{site.root}/other.sh"]\n')
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1"), task("T2", suggestedAgent="other")))["goal"]
        site.wait_type("node.accepted", node="T2")
        self.assertEqual((site.node("T1")["status"], site.node("T1")["block"]), ("blocked", "login"))
        back = [e for e in site.events() if e["type"] == "assignment.moved" and "workers.max_waiting" in e["data"]["reason"]]
        self.assertEqual([e["node"] for e in back], ["T1"])
        # Its work is kept, and it continues from that.
        site.write("../free", "")
        site.cli("inbox", "answer", "1", "done")
        site.wait_goal(goal)
        self.assertEqual(site.git("show", "HEAD:T1.part"), "half\n")


    def test_seen_in_the_queue_and_in_status_while_it_waits(self):
        """In its worktree, and after that was given to another task: with the reason and the time of the day."""
        site = self.site(FAST)
        os.chmod(site.write("../agent.sh", "#!/bin/sh\n" + LIMITED), 0o755)
        os.chmod(site.write("../other.sh", "#!/bin/sh\necho y > $OVERSEER_NODE.txt\n"), 0o755)
        site.configure(FAST + "[workers]\nmax = 1\nmax_waiting = 1\n" + SPEAKS.format(root=site.root) +
                       f'[agents.other]\ncommand = ["{site.root}/other.sh"]\n')
        until = int(time.time()) + 7200
        site.write("../until", str(until))
        site.up()
        first = site.call("goal.create", title="First", plan=plan(task("T1")))["goal"]
        site.wait_type("agent.limited")
        clock = datetime.datetime.fromtimestamp(until).strftime("%H:%M")
        why = f"agent gemini is rate limited until (tomorrow )?{clock}: its agent is out of quota"
        self.assertRegex(site.cli("queue", "list"), rf"TO BE BEGUN \(1\)\n +1 .*/T1 .* gemini +waiting +\w+ +{why}\n")
        self.assertRegex(site.cli("status"), rf"WAITING \(1\)\n +pool-1 +gemini +T1 .*{why}\n")
        # Another task needs the worker.
        site.call("goal.create", title="Second", plan=plan(task("T2", suggestedAgent="other"), task("T3")))
        site.wait_type("node.accepted", node="T2")
        self.assertEqual(site.node("T1", goal=first)["assignment"]["stage"], "none")
        self.assertRegex(site.cli("queue", "list"), rf"TO BE BEGUN \(2\)\n +1 .*/T1 .* gemini +\w+ +{why}\n +2 .*/T3 .* gemini +\w+ +{why}\n")
        status = site.cli("status")
        self.assertRegex(status, rf"WAITING \(2\)\n +- +gemini +T1, T3 .*{why}\n")
        self.assertNotIn("BLOCKED", status)
        self.assertRegex(site.cli("work", "list", "--goal", first), rf"T1 +waiting .*{why}")
        self.assertEqual({r["node"]: r["state"] for r in site.call("queue.list")["dispatch"]}, {"T1": "lane", "T3": "lane"})


class LastLines(SiteCase):
    maxDiff = None
    WANTED = ["line 16", "line 17", "line 18", "line 19", "line 20", 'fatal: no model "x"', "stopped at 70%"]

    def failed(self, config=""):
        site = self.site(FAST.replace("[retry]", "[retry]\nmax_attempts = 1") + config, agent=FAILS)
        site.up()
        site.call("goal.create", title="Test", plan=plan(task("T1")))
        number = site.wait_type("escalation.opened")["data"]["escalation"]
        return site, number

    def check(self, site, number):
        run = site.runs()[-1]
        self.assertEqual(run["last_lines"].split("\n")[1:], self.WANTED)
        self.assertRegex(site.cli("status"), r'  #1 .*\n +\| fatal: no model "x"\n +\| stopped at 70%\n')
        self.assertIn("The agent wrote last\n  | line 15\n" + "".join(f"  | {x}\n" for x in self.WANTED), site.cli("inbox", "show", str(number)))
        text = site.cli("explain", "T1")
        self.assertRegex(text, r'^goal_\w+/T1 "Task T1" is BLOCKED since .*\n'
                               r'Why   .*; the agent wrote last: stopped at 70%\n'
                               rf'Next  it waits for your answer: overseer inbox show {number}\n')
        for about in ("T1", run["id"], "#1"):
            self.assertIn("The agent wrote last\n  | line 15\n  | line 16\n", site.cli("explain", about))

    def test_shown_everywhere_and_kept(self):
        site, number = self.failed()
        self.check(site, number)
        site.down()
        shutil.rmtree(os.path.join(site.dir, "runs"))
        site.up()
        self.check(site, number)

    def test_what_can_be_explained(self):
        site, number = self.failed()
        for name, noun in (("#1", "entry"), ("1", "entry"), ("pool-1", "worker"), ("script", "agent"), ("T1", "node"), ("daemon", "daemon")):
            lines = site.cli("explain", name).splitlines()
            told = site.call("explain.get", id=name)
            self.assertEqual(told["noun"], noun)
            self.assertRegex(lines[0], r'^\S+ ".*" is [A-Z_ ]+( since .*)?\.$')
            self.assertRegex(lines[1], r"^Why +\S")
            self.assertRegex(lines[2], r"^Next +\S")
            for key in ("id", "noun", "title", "status", "state", "since", "now", "conclusion", "evidence", "next", "facts"):
                self.assertIn(key, told, name)
        self.assertRegex(site.cli("explain", "#1"), r"Next +overseer inbox answer 1 ")
        self.assertRegex(site.cli("explain", "pool-1"), r"pool-1 .* is IDLE")
        # Facts that matter, and how many there are besides them.
        told = site.call("explain.get", id="T1")["facts"]
        text = site.cli("explain", "T1")
        left = int(re.search(r"  (\d+) facts? left out  overseer explain --all\b.*\n", text).group(1))
        shown = [x for x in text.splitlines() if re.match(r"  \d\d:\d\d:\d\d  ", x)]
        self.assertLessEqual(len(shown), 12)
        self.assertEqual(len(shown) + left, len(told))
        every = site.cli("explain", "T1", "--all")
        self.assertNotIn("left out", every)
        self.assertEqual(len([x for x in every.splitlines() if re.match(r"  \d\d:\d\d:\d\d  ", x)]), len(told))

    def test_unknown_ids(self):
        site, _ = self.failed()
        for name, near in (("T2", "T1"), ("pool-7", "pool-1"), ("scipt", "script"), ("#9", "'#1'"), ("deamon", "daemon")):
            said = site.cli("explain", name, code=3)
            self.assertIn("explain knows: tasks (T1.2, GOAL/T1.2), goals (goal_...), runs (R_...)", said)
            self.assertIn("workers (pool-1), agents, daemon", said)
            self.assertIn(f"overseer explain {near}", said)
        self.assertNotIn("did you mean", site.cli("explain", "nothing-like-it", code=3))

    def test_notices(self):
        site, _ = self.failed('[escalation]\nhook = "exit 1"\nroutes.warning = ["hook"]\nretry_base = "1h"\nretry_max = "1h"\n')
        notice = site.wait_type("notice.opened")["data"]["notice"]["id"]
        site.wait_type("notice.tried", notice=notice)
        told = site.call("explain.get", id=notice)
        self.assertEqual((told["noun"], told["status"]), ("notice", "waiting"))
        self.assertRegex(site.cli("explain", notice[:20]), r"^N_\w+ \".*\" is WAITING since .*\nWhy   by channel hook, 1 attempt: tried again then\n"
                                                           r"Next  it is tried again by itself at .*\n")


if __name__ == "__main__":
    unittest.main()
