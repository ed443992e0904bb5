#!/usr/bin/env python3
"""Two nights of auto mode in 20 minutes: a minute of the configuration is a second here.

Four agents work: one that is good, one that crashes at random, one that changes nothing, and one that is out of quota
for a while. The pool fails now and then, the user edits, commits and switches branches, and the daemon is killed. All
the while somebody looks at `status` and at the inbox: nothing may wait without a reason, nothing be asked twice.

OV_REHEARSAL_MINUTES sets its length, OV_SEED repeats a night. At a slow pace: it runs beside other tests.
"""

import collections
import os
import time
import unittest

import harness
import night

MINUTES = float(os.environ.get("OV_REHEARSAL_MINUTES") or harness.sized(1, 20, 20))
SEED = int(os.environ.get("OV_SEED") or 1)
LENGTH = MINUTES * 60
EVERY = 4  # seconds, from one task of the pool to the next
GOAL_EVERY = 20
LOOK_EVERY = 1
# Parts of the night in which the one agent is out of quota, and after which the daemon is killed.
NO_QUOTA = ((0.15, 0.25), (0.45, 0.5), (0.7, 0.8))
KILLS = (0.2, 0.4, 0.62, 0.85)
TASKS = round(LENGTH / EVERY)
KINDS = ("finish", "conflict", "leave", "finish", "finish", "owngit")
# Number of runs: those of the first night, and after the person has raised it in the morning between the two.
# Conflicts with the user's own edits cost further runs.
BUDGET, RAISED = TASKS // 2, TASKS * 2 + 10
MORNING = 0.6
WORKERS = 2
TASK_BUDGET = 32
FIRST = 100001  # number of the first task that is none of the pool's
POOL_WORKERS = 2
IDLE_FAILURES = 5  # retry.max_agent_failures
# Without any progress, and nothing that it waits for. Far more than any step takes.
UNEXPLAINED = harness.PATIENCE / 2

# While the user's edit of the shared file waits, tasks that append to it pile up; then each conflicts with those before it, and with
# the user's next edit: on a busy machine one lost ten times in a row.
AGENT = night.AGENT.replace('"$try" -gt 6', '"$try" -gt 32')

# What it does, if it does it, is AGENT's. $1 says what it is like.
TEMPER = r"""
temper=$1
prompt=$(cat)
set -- $(printf '%s\n' "$prompt" | grep -o 'job [0-9][0-9]* [a-z][a-z]*' | head -n 1)
n=$2
mkdir -p "$HOME/tries"
[ -e "$HOME/tries/$n" ] || : > "$HOME/tries/$n"
dice=$(echo "$n $(wc -l < "$HOME/tries/$n")" | cksum | cut -d ' ' -f 1)
echo "$temper $n" >> "$HOME/ran"
case $temper in
idle) exit 0 ;;
limited) [ ! -e "$HOME/no-quota" ] || { echo "quota exceeded" >&2; exit 75; } ;;
crashy)
	if [ $((dice % 3)) = 0 ]; then
		echo x >> "$HOME/tries/$n"
		echo "$n" >> "$HOME/crashed"
		if [ $((dice % 2)) = 0 ]; then
			mkdir -p jobs
			echo half > "jobs/half-$n"; git add -A && git commit -qm "half of $n" && git rev-parse HEAD >> "$HOME/made"
			echo more > "jobs/more-$n"
		fi
		kill -SEGV $$
	fi
	;;
esac
sleep "0.$((dice % 10))"
printf '%s\n' "$prompt" | sh "$HOME/agent.sh"
"""

# Every tenth call fails, before it gives anything out.
POOL = r"""
echo x >> "$HOME/asked"
[ $(($(wc -l < "$HOME/asked") % 10)) != 7 ] || { echo "the tracker does not answer" >&2; exit 1; }
""" + night.POOL

CONFIG = f"""
[defaults]
agent = "good"
[supervisor]
tick_every = "2s"
idle_after = "15s"
max_run = "4m"
mute_after = "1m"
done_grace = "1s"
min_resend_interval = "5s"
interrupt_grace = "100ms"
stop_grace = "500ms"
[supervisor.backoff]
base = "2s"
max = "30s"
[retry]
delays = ["80ms", "500ms", "2s"]
max_agent_failures = {IDLE_FAILURES}
[escalation]
remind_after = "4m"
[accept]
ageing = "30s"
conflict_rounds = 30
dirty_wait = "5s"
dirty_notice = "1s"
pre_accept_command = "sh $HOME/gate.sh"
[auto]
agent = "good"
task_pool_command = "sh $HOME/pool.sh"
task_pool_retry_wait = "330ms"
concurrency = {WORKERS}
pool_wait = "200ms"
pool_wait_max = "2s"
budget.iterations = {BUDGET}
task_budget.iterations = {TASK_BUDGET}
[workers]
max = {POOL_WORKERS}
[http]
enabled = false
[agents]
good.command = "sh $HOME/temper.sh good"
crashy.command = "sh $HOME/temper.sh crashy"
idle.command = "sh $HOME/temper.sh idle"
limited.command = "sh $HOME/temper.sh limited"
"""


def cause(kind, goal, node, question):
    """What an entry is about. One about an agent begins with its name."""
    return kind, goal or "", node or "", "" if goal else " ".join(question.split()[:2])


class Owner(night.User):
    """Edits the file, too, that agents change."""

    def __init__(self, site, rng, pace):
        super().__init__(site, rng, pace)
        self.line = None
        self.switches = 0
        self.steps += (self.edit_shared, self.edit_shared)

    def edit_shared(self):
        if self.line is not None:
            return
        self.n += 1
        line = f"mine {self.n}\n"
        # Between the moment when git looks and the one when it writes nobody can protect an edit: editors see that the
        # file changed, and ask.
        while self.line is None:
            with open(os.path.join(self.site.repo, "shared.txt"), "a", encoding="utf-8") as f:
                f.write(line)
            time.sleep(0.1)
            if line in self.site.read("shared.txt"):
                self.line = line

    def clean_up(self):
        super().clean_up()
        if self.line is None:
            return
        if self.line not in self.site.read("shared.txt"):
            raise AssertionError(f"{self.line!r} is gone: {self.site.read('shared.txt')!r}")
        while not self.git("commit", "-qm", f"edit {self.line.strip()}", "--", "shared.txt"):
            time.sleep(0.02)
        self.commits.append(self.site.git("log", "-1", "--format=%H", f"--grep=^edit {self.line.strip()}$", "HEAD").strip())
        self.line = None

    def switch(self):
        if self.line is None:
            self.switches += 1
            super().switch()


class Observer:
    """Looks at what everybody can see, and remembers what nothing explains."""

    def __init__(self, case, agents):
        self.case, self.agents = case, agents
        self.since, self.longest = {}, {}
        self.looks = 0
        self.seen = collections.Counter()

    def look(self):
        site, now = self.case.place, time.monotonic()
        status, inbox, auto = site.call("status.get"), site.call("inbox.list")["inbox"], site.call("auto.get")
        self.looks += 1
        self.one_entry_per_cause(inbox)
        self.within_budget(auto)
        unexplained = {}
        for goal in status["goals"]:
            if goal["ended_at"]:
                continue
            nodes = {n["id"]: n for n in site.call("work.list", goal=goal["id"])["nodes"]}
            for node in nodes.values():
                why = self.explained(goal, node, nodes, status, inbox)
                self.seen[why.split(":")[0] if why else "nothing"] += 1
                if not why:
                    unexplained[goal["id"], node["id"]] = node
        self.remember(unexplained, now)
        return status

    def one_entry_per_cause(self, inbox):
        causes = collections.Counter(cause(x["kind"], x["goal_id"], x["node_id"], x["question"]) for x in inbox)
        self.case.assertEqual([c for c, n in causes.items() if n > 1], [])
        # A task waits for one answer, not for two.
        tasks = collections.Counter((x["goal_id"], x["node_id"]) for x in inbox if x["node_id"])
        self.case.assertEqual([t for t, n in tasks.items() if n > 1], [], inbox)

    def within_budget(self, auto):
        runs = auto["budget"]["last_24h"]["iterations"]
        self.case.assertEqual(runs["limit"], self.case.budget)
        self.case.assertLessEqual(runs["used"], runs["limit"])

    def explained(self, goal, node, nodes, status, inbox):
        """What an open node does or waits for, as everybody is told; empty: nobody is."""
        asked = any(x["goal_id"] == goal["id"] and x["node_id"] in ("", node["id"]) or
                    x["kind"] == "agent_failing" and x["question"].startswith(f"agent {self.agent_of(node)} ") for x in inbox)
        if node["status"] in ("done", "cancelled"):
            return "ended"
        if goal["status"] != "active":
            return "goal: " + goal["status"] if asked else ""
        # It keeps its worktree meanwhile, and `status` shows the agent, too.
        if node["waiting"] == "agent":
            return "lane: " + node["waiting_for"] if self.agent_of(node) in [x["agent"] for x in status["lanes"]] else ""
        if node["waiting"]:
            return "waits: " + node["waiting_for"] if node["waiting_for"] else ""
        if node["status"] == "blocked":
            return self.blocked(node, asked, status)
        waits = [d for d in node["deps"] if nodes[d]["status"] not in ("done", "cancelled")]
        if waits:
            return "after: " + waits[0]
        return self.held(node, status)

    def blocked(self, node, asked, status):
        if asked:
            return "asked: " + node["status_reason"]
        lanes = [x["agent"] for x in status["lanes"]]
        return "lane: " + node["block"] if node["block"] == "rate_limited" and self.agent_of(node) in lanes else ""

    def held(self, node, status):
        """Why nobody begins with it, or goes on with it."""
        agent = self.agent_of(node)
        if agent == "good" and status["auto"]["waits"]:
            return "auto: " + status["auto"]["waits"]
        if "stage" in node:
            return ""
        if any(x["agent"] == agent for x in status["lanes"]):
            return "lane: " + agent
        return f"held: {status['held']} {status['no_capacity']}" if status["held"] or status["no_capacity"] else ""

    def agent_of(self, node):
        return self.agents.get(node["name"], "good")

    def remember(self, unexplained, now):
        """Work under way and the moments between two steps need no reason, but then something changes soon."""
        since = {}
        for key, node in unexplained.items():
            state = (node["status"], node.get("stage"), node.get("attempt"), node["updated_at"])
            since[key] = (state, now)
            if self.since.get(key, (None, 0))[0] == state:
                since[key] = self.since[key]
                waited = now - since[key][1]
                self.longest[state[:2]] = max(waited, self.longest.get(state[:2], 0))
                if waited > UNEXPLAINED:
                    self.case.fail(f"waits for {waited:.0f} s without a reason: {node}\n{self.case.place.cli('status')}\n"
                                   f"{self.case.place.cli('explain', '/'.join(key))}")
        self.since = since


class Rehearsal(night.Night, unittest.TestCase):
    def open_goal(self, number):
        """A few tasks for the other three agents; one depends on another."""
        first = FIRST + 10 * number
        tasks = [("crashy", "finish", ()), ("limited", "conflict" if number % 2 else "finish", ()),
                 ("limited" if number % 2 else "crashy", "finish", (0,))]
        if number % 3 == 0:
            tasks.append(("idle", "finish", ()))
        plan = []
        for i, (agent, kind, after) in enumerate(tasks):
            self.agents[f"job {first + i} {kind}"] = agent
            plan.append(dict(harness.task(f"T{i + 1}", deps=[f"T{d + 1}" for d in after]), name=f"job {first + i} {kind}",
                             suggestedAgent=agent, acceptance=["it is done"]))
        self.place.call("goal.create", title=f"Morning {number}", plan=harness.plan(*plan))

    def be_night(self):
        """What happens in a night, by the clock; a look at everything in between."""
        site, start = self.place, time.monotonic()
        given = goals = 0
        kills = [k + self.rng.uniform(-0.03, 0.03) for k in KILLS]
        while True:
            at = time.monotonic() - start
            if at >= LENGTH:
                break
            want = min(self.total, 1 + int(at / EVERY))
            if want > given:
                given = want
                self.give_out(given)
            if at >= goals * GOAL_EVERY and at < LENGTH * 0.9:
                goals += 1
                self.open_goal(goals)
            self.quota(not any(a <= at / LENGTH < b for a, b in NO_QUOTA))
            if kills and at / LENGTH >= kills[0]:
                kills.pop(0)
                site.kill()
                site.up()
            if self.budget == BUDGET and at >= LENGTH * MORNING:
                self.person_looks()
            self.observer.look()
            if self.user.failed:
                raise self.user.failed
            time.sleep(LOOK_EVERY)
        self.give_out(self.total)
        self.quota(True)
        self.assertEqual(kills, [])
        self.assertEqual(self.budget, RAISED)

    def person_looks(self):
        """Finds auto mode waiting for its budget, with one entry about that, and raises it."""
        auto = self.place.call("auto.get")
        if auto["budget"]["level"] != "spent":
            return
        self.assertIn("the budget is spent", auto["waits"])
        self.assertIn("the budget is spent", self.place.cli("status"))
        entry, = [x for x in self.place.call("inbox.list")["inbox"] if x["kind"] == "budget"]
        self.place.cli("inbox", "answer", str(entry["number"]), "raise", "--budget", f"iterations={RAISED}")
        self.budget = RAISED

    def give_out(self, number):
        # In one step, as the pool reads it at any moment.
        os.replace(self.place.write("../limit.new", f"{number}\n"), os.path.join(self.place.root, "limit"))

    def quota(self, free):
        path = os.path.join(self.place.root, "no-quota")
        if free and os.path.exists(path):
            os.unlink(path)
        elif not free and not os.path.exists(path):
            self.place.write("../no-quota", "")
            self.dry += 1

    def at_rest(self, status):
        """Whether all that can be done without a person is done."""
        tasks = self.tasks()
        nodes = {(n["goal"], n["id"]): n for n in tasks.values()}
        shut = {x["agent"] for x in status["lanes"] if x["escalation"]}

        def rests(node):
            return (node["status"] in ("done", "cancelled")
                    or node["status"] == "blocked" and node["block"] != "rate_limited"
                    or self.agents.get(node["name"]) in shut
                    or any(nodes[node["goal"], d]["status"] not in ("done", "cancelled") and rests(nodes[node["goal"], d])
                           for d in node["deps"]))

        return sum(n <= self.total for n in tasks) == self.total and all(map(rests, tasks.values()))

    def be_morning(self):
        self.user_cleans_up()
        end = time.monotonic() + harness.PATIENCE * 3
        while not self.at_rest(self.observer.look()):
            if time.monotonic() > end:
                self.fail(self.place.cli("status") + self.place.daemon_log()[-3000:])
            time.sleep(LOOK_EVERY)

    def test_two_nights(self):
        site = harness.Site(CONFIG, leaks=False)
        self.addCleanup(site.close)
        kinds = [KINDS[i % len(KINDS)] for i in range(TASKS)]
        self.prepare(site, kinds, 0, SEED)
        for name, text in (("pool.sh", POOL), ("agent.sh", AGENT), ("temper.sh", TEMPER), ("limit", "0\n"), ("ran", ""), ("crashed", "")):
            site.write("../" + name, text)
        self.user = Owner(site, self.user.rng, 6)
        self.agents, self.dry, self.budget = {}, 0, BUDGET
        self.observer = Observer(self, self.agents)
        site.up()
        self.user.start()
        self.be_night()
        self.be_morning()
        self.judge()

    def judge(self):
        site = self.place
        tasks, inbox, events = self.tasks(), site.call("inbox.list")["inbox"], site.events()
        pool = {n: node for n, node in tasks.items() if n <= self.total}
        self.assertIn("Auto Mode:", site.cli("status"))
        self.assertEqual(site.down(), 0)
        self.every_task_once(pool, set())
        self.assertEqual({node["status"] for node in pool.values()}, {"done"})
        self.others(tasks, inbox)
        self.asked(events, pool)
        self.spent(events, pool)
        self.it_was_a_night(events)
        self.every_commit_reachable()
        self.main_passes_the_gate()
        self.nothing_of_the_users_lost()
        self.nothing_left()

    def others(self, tasks, inbox):
        """Tasks of ordinary goals: accepted once, or with a person."""
        subjects = collections.Counter(self.place.git("log", "--first-parent", "--format=%s", "main").split("\n"))
        asked = {(x["goal_id"], x["node_id"]) for x in inbox}
        failing = {x["question"].split(" ")[1] for x in inbox if x["kind"] == "agent_failing"}
        for n, node in tasks.items():
            if n <= self.total:
                continue
            self.assertEqual(subjects[node["name"]], node["status"] == "done", node)
            if self.agents[node["name"]] == "idle":
                self.assertNotEqual(node["status"], "done")
            elif node["status"] == "blocked":
                self.assertTrue(self.agents[node["name"]] in failing or asked & {(node["goal"], node["id"]), (node["goal"], "")}, node)
        # One entry about an agent that is out of service, and none about each of the tasks that it failed at.
        if "idle" in failing:
            self.assertEqual([x for x in inbox if x["kind"] == "no_changes"], [])

    def asked(self, events, pool):
        """Over the whole night: about what people were asked, and how often."""
        opened = collections.Counter(cause(e["data"]["kind"], e.get("goal"), e.get("node"), e["data"]["question"])
                                     for e in events if e["type"] == "escalation.opened")
        kinds = collections.Counter()
        for about, times in opened.items():
            kinds[about[0]] += times
            # The user may edit the file again while the same work waits; all else is asked about once.
            if about[0] != "checkout":
                self.assertEqual(times, 1, about)
        goals = {node["goal"] for node in pool.values()}
        self.assertLessEqual({kind for kind, goal, *_ in opened if goal in goals}, {"checkout", "budget"}, opened)
        self.assertEqual(kinds["budget"], 1, opened)
        # Of the one that changes nothing: two runs for each of its tasks, and after five it gets no more. The first ones had
        # an entry each before that, which became part of the one about the agent.
        idle = sum(agent == "idle" for agent in self.agents.values())
        self.assertEqual(kinds["no_changes"], min(idle, IDLE_FAILURES // 2), opened)
        failing = {about[3] for about in opened if about[0] == "agent_failing"}
        self.assertEqual("agent idle" in failing, idle * 2 >= IDLE_FAILURES, opened)
        # The one that crashes may do so five times in a row.
        self.assertLessEqual(failing, {"agent idle", "agent crashy"})
        self.assertLessEqual(self.place.home("ran").count("idle "), IDLE_FAILURES + POOL_WORKERS)

    def spent(self, events, pool):
        goals = {node["goal"] for node in pool.values()}
        runs = collections.Counter((e["goal"], e["node"]) for e in events if e["type"] == "run.created" and e["goal"] in goals)
        self.assertLessEqual(sum(runs.values()), RAISED)
        self.assertLessEqual(max(runs.values()), TASK_BUDGET)

    def it_was_a_night(self, events):
        """What a rehearsal is about did happen, so far as its length allows."""
        seen, user = self.observer.seen, self.user
        limited = sum(e["type"] == "agent.limited" and e["data"]["agent"] == "limited" for e in events)
        failures = sum(e["type"] == "auto.pool" and e["data"]["answer"] == "failed" for e in events)
        crashes = self.place.home("crashed").count("\n")
        print(f"{self.total} tasks of the pool, {len(self.agents)} others, {crashes} crashes, {failures} failures of the pool, "
              f"{limited} times out of quota, {user.n} edits of the user, {user.switches} switches; {self.observer.looks} looks: "
              f"{dict(seen)}, longest without a reason: {max(self.observer.longest.values(), default=0):.0f} s")
        self.assertEqual(self.dry, len(NO_QUOTA))
        for happened in (limited, failures, crashes, seen["lane"]):
            self.assertGreater(happened, 0)
        if MINUTES >= 5:
            for happened in (user.switches, seen["waits"], seen["asked"]):
                self.assertGreater(happened, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
