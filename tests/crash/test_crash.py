#!/usr/bin/env python3
"""kill -9 of the daemon at every injection point.

A first run of a goal like the demo's, without a crash, writes down all points that are passed. Then
the daemon kills itself at each of them, is started again, and everything must have happened exactly
once. What that goal does not pass has a scenario of its own; no point of the sources is left out.
`make check` takes half of it, `make check-san` a quarter, others with each commit; `make check-full` all.
"""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "system"))
import harness  # noqa: E402
import peers  # noqa: E402
import promises  # noqa: E402
import spoken  # noqa: E402
from fake_model import FakeModel  # noqa: E402
from harness import CLI, FAST, plan, task, wait_gone  # noqa: E402
from promises import T  # noqa: E402

# Every run leaves a file of its own, so that what an agent wrote can be looked for. T2 crashes
# on its first try after it wrote something; T4 leaves its work uncommitted. All others report.
AGENT = r"""
echo "$OVERSEER_RUN" >> "$HOME/started"
mkdir -p work
echo "$OVERSEER_RUN" > "work/$OVERSEER_RUN.txt"
echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"
case $OVERSEER_NODE in
T2) [ -e "$HOME/t2-crashed" ] || { : > "$HOME/t2-crashed"; kill -SEGV $$; } ;;
T4) exit 0 ;;
esac
git add -A && git commit -qm "work of $OVERSEER_NODE"
printf '%s\n' '```json' '{"overseerUpdate": {"summary": "'"$OVERSEER_RUN"'"}}' '```'
"""
PLAN = plan(task("T1"), task("T2"), task("T3", ["T1"]), task("T4", ["T1", "T2"]), task("T5", ["T3", "T4"]))
NODES = ["T1", "T2", "T3", "T4", "T5"]
CONFIG = FAST + """
[workspace]
check_command = "test -e README"
[store]
snapshot_every = 40
"""
ONE_IN = 4 if harness.SANITIZED else promises.one_in(2, 1, 4)
# tests/git cuts these off at every turn of the loop.
ELSEWHERE = {"git-advance-pushed", "git-lfs-taken"}


def demo_points():
    """The points that a whole goal passes, in order of first passage."""
    site = harness.Site(CONFIG, AGENT)
    try:
        with tempfile.NamedTemporaryFile("r", dir=site.root) as listed:
            site.up(OVERSEER_INJECT_LIST=listed.name)
            site.wait_goal(site.call("goal.create", title="list the points", plan=PLAN)["goal"])
            site.down()
            points = [line.strip() for line in open(listed.name, encoding="utf-8")]
    finally:
        site.close()
    return list(dict.fromkeys(points))


def source_points():
    """All that the sources name."""
    found = set()
    for path in glob.glob(os.path.join(HERE, "../../src/**/*.c"), recursive=True):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        found.update(re.findall(r'(?:INJECT\(|\.inject = )"([a-z-]+)"', text))
        found.update(re.findall(r'"((?:begin|end)-[a-z-]+|(?:before|during|after)-(?:check|gate|post))"', text))
    return found


def dead(site, point):
    T.assertEqual(site.ended(), -9, f"the daemon did not die at {point}")


def create_goal(site, point, **params):
    """Starts a daemon that dies, with a goal; returns the goal of the daemon after it."""
    goal = None
    if site.start(OVERSEER_INJECT=point) == "ready\n":
        try:
            goal = site.call("goal.create", **params)["goal"]
        except ConnectionError:
            pass  # it died before it could answer
        dead(site, point)
    site.up()
    known = promises.find_goal(site, params["title"])
    if goal is not None:
        T.assertEqual(known, goal, "an answered goal is gone")
    return known or site.call("goal.create", **params)["goal"]


def demo(site, point):
    site.write("../agent.sh", "#!/bin/sh\n" + AGENT)
    site.configure(CONFIG + site.agent_config() + "\n[planner]\nfallback = false\n")
    goal = create_goal(site, point, title="crash", plan=PLAN)
    site.wait_goal(goal)
    promises.goal_kept(site, goal, {n: f"Task {n}" for n in NODES}, site.events(), silent=("T4",))
    promises.runs_once(site, site.events())
    T.assertEqual(site.git("status", "--porcelain"), "")
    T.assertEqual(site.down(), 0)
    promises.work_kept(site)
    promises.nothing_left(site)


# Waits to be asked, writes down what it heard, and answers.
LISTENER = r"""
while IFS= read -r line; do
    printf '%s\n' "$line" >> "$HOME/heard"
    case $line in "Request "*) break;; esac
done
printf '%s\n' "$line" '```json' '{"overseerUpdate": {"summary": "here"}}' '```'
echo done > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "work of $OVERSEER_NODE"
"""


def asking(site, point):
    """An agent that is asked for its status hears the request once, whenever the daemon dies."""
    site.write("../agent.sh", "#!/bin/sh\n" + LISTENER)
    site.configure(FAST + '[supervisor]\nidle_after = "500ms"\nmin_resend_interval = "5m"\n' + site.agent_config().replace(
        'agent.sh"]', 'agent.sh", "{prompt_file}"]\ninput = "stdin"\nprompt = "file"'))
    site.wait_goal(create_goal(site, point, title="asked", plan=plan(task("T1"))))
    T.assertEqual(site.home("heard").count("Request "), 1)
    events = site.events()
    T.assertEqual([e["data"]["update"]["summary"] for e in events if e["type"] == "node.reported"], ["here"])
    asked = [e["data"]["dispatch"] for e in events if e["type"] == "dispatch.intended" and e["data"]["purpose"] == "nudge"]
    T.assertEqual(len(asked), 1)


# Speaks the format of Claude Code; what it says when is a matter of the test.
SPEAKER = r"""
echo "$OVERSEER_RUN" >> "$HOME/started"
cat "$HOME/words"
echo done > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "work of $OVERSEER_NODE"
"""


def speaks(site, agent):
    site.write("../agent.sh", "#!/bin/sh\n" + agent)
    site.configure(FAST + site.agent_config() + 'format = "claude"\n[planner]\nfallback = false\n')


def speaking(site, point):
    """What a run says in its format is read anew by the next daemon, and taken once."""
    speaks(site, SPEAKER)
    words = [spoken.claude_init(), spoken.claude_says(spoken.update(summary="half")), spoken.claude_tool(),
             spoken.claude_tool_result(), spoken.claude_says(spoken.update(summary="whole"), number=3),
             spoken.claude_result()]
    site.write("../words", "".join(json.dumps(line) + "\n" for line in words))
    site.wait_goal(create_goal(site, point, title="spoken", plan=plan(task("T1"))))
    events = site.events()

    def of(kind):
        return [e["data"] for e in events if e["type"] == kind]

    T.assertEqual([d["update"]["summary"] for d in of("node.reported")], ["half", "whole"])
    T.assertEqual([d["session"] for d in of("run.session")], [spoken.SESSION])
    T.assertEqual([(d["verdict"], d["tokens"], d["tool_calls"]) for d in of("run.ended")], [("ok", 372, 1)])
    T.assertEqual([d["amounts"]["tokens"] for d in of("goal.spent")], [372])
    promises.runs_once(site, events)


# Asks its hook what to do next when it is let to, until there is nothing.
ASKER = r"""
echo "$OVERSEER_RUN" >> "$HOME/started"
cat "$HOME/words"
echo here > "$HOME/hook.here"; read x < "$HOME/hook.go"
while :; do
    next=$(printf '{"hook_event_name":"Stop","session_id":"%s"}' "$SESSION" | "$HOOK" hook Stop)
    [ "$next" ] || break
    printf '%s\n' "$next" >> "$HOME/heard"
done
cat "$HOME/result"
echo done > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "work of $OVERSEER_NODE"
"""


def telling(site, point):
    """What a person says to an agent with hooks lies there once, and is taken once."""
    gate = site.gate("hook")
    speaks(site, f"SESSION={spoken.SESSION}\nHOOK={CLI}\n" + ASKER)
    site.write("../words", json.dumps(spoken.claude_init()) + "\n")
    site.write("../result", json.dumps(spoken.claude_result()) + "\n")
    site.up()
    goal = site.call("goal.create", title="told", plan=plan(task("T1")))["goal"]
    gate.wait()
    site.wait_type("run.session")
    site.down()
    site.up(OVERSEER_INJECT=point)
    try:
        site.call("work.nudge", node="T1", message="Mind the gap")
    except ConnectionError:
        pass
    dead(site, point)
    site.up()
    site.wait_type("dispatch.result", result="accepted")
    gate.go()
    site.wait_goal(goal)
    heard = site.home("heard")
    T.assertEqual((heard.count("Mind the gap"), heard.count("\n")), (1, 1))
    told = [e["data"] for e in site.events() if e["type"] == "dispatch.result" and e["data"]["result"] == "ok"
            and e["data"].get("notes") == "hook"]
    T.assertEqual(len(told), 1)
    promises.runs_once(site, site.events())


# Away from its branch, with something uncommitted, and a check that changes what it looks at.
WANDERER = r"""
echo "$OVERSEER_RUN" >> "$HOME/started"
git checkout -q --detach
mkdir -p work
echo "$OVERSEER_RUN" > "work/$OVERSEER_RUN.txt"
git add -A && git commit -qm "work of $OVERSEER_NODE"
echo more > more.txt
"""


def wandering(site, point):
    """An agent that left its branch, and a check that changes the worktree: neither costs any work."""
    site.write("../agent.sh", "#!/bin/sh\n" + WANDERER)
    site.configure(FAST + "[workspace]\ncheck_command = 'test -e more.txt && echo changed >> README'\n"
                   + site.agent_config())
    goal = create_goal(site, point, title="wandering", plan=plan(task("T1")))
    site.wait_goal(goal)
    promises.goal_kept(site, goal, {"T1": "Task T1"}, site.events(), silent=("T1",))
    promises.runs_once(site, site.events())
    T.assertEqual(site.git("show", "main:README", "main:more.txt"), "hello\nmore\n")
    T.assertEqual(site.git("status", "--porcelain"), "")
    T.assertEqual(site.down(), 0)
    promises.work_kept(site)
    promises.nothing_left(site)


def stopping(site, point):
    """A cancelled goal: its run is stopped, with what it started, and its work is kept."""
    site.write("../agent.sh", "#!/bin/sh\n" + r"""
echo "$OVERSEER_RUN" >> "$HOME/started"
mkdir -p work
echo "$OVERSEER_RUN" > "work/$OVERSEER_RUN.txt"
setsid sleep 3600 </dev/null >/dev/null 2>&1 &
echo "$$ $!" > "$HOME/g.here"
read x < "$HOME/g.go"
""")
    site.configure(FAST + '[supervisor]\nstop_grace = "20ms"\n' + site.agent_config())
    gate = site.gate("g")
    site.up(OVERSEER_INJECT=point)
    goal = site.call("goal.create", title="stopped", plan=plan(task("T1")))["goal"]
    pids = site.told_pids(gate.wait())
    answered = True
    try:
        site.call("goal.cancel", goal=goal, reason="enough")
    except ConnectionError:
        answered = False
    dead(site, point)
    site.up()
    if site.call("goal.show", goal=goal)["status"] != "cancelled":
        T.assertFalse(answered, "an answered cancellation is gone")
        site.call("goal.cancel", goal=goal, reason="enough")
    site.wait_type("run.ended")
    wait_gone(*pids)
    T.assertEqual(len([e for e in site.events() if e["type"] == "run.created"]), 1)
    T.assertEqual(site.git("log", "--format=%s", "main"), "start\n")
    site.wait_type("run.harvested")
    T.assertEqual(site.down(), 0)
    promises.work_kept(site)
    promises.nothing_left(site)


# Commits something, leaves something, and works on until it is stopped.
BUSY = r"""
echo "$OVERSEER_RUN" >> "$HOME/started"
mkdir -p work
echo committed > committed.txt; git add -A; git commit -qm "work of $OVERSEER_NODE"
echo "$OVERSEER_RUN" > "work/$OVERSEER_RUN.txt"
echo "$$" > "$HOME/g.here"
read x < "$HOME/g.go"
"""


def busy_worker(site, point):
    """A worker of a person's own whose agent is at work, in a daemon that will die; the agent's processes."""
    site.write("../agent.sh", "#!/bin/sh\n" + BUSY)
    site.configure(FAST + '[supervisor]\nstop_grace = "20ms"\n' + site.agent_config())
    gate = site.gate("g")
    site.up(OVERSEER_INJECT=point)
    site.call("worker.add", worker="mine")
    site.call("worker.start", worker="mine", task="Do it")
    return site.told_pids(gate.wait())


def asked(site, point, method, **params):
    """A command during which, or after which, the daemon dies; the next one is up when this returns."""
    try:
        site.call(method, **params)
    except ConnectionError:
        pass  # the step may begin in the same turn
    dead(site, point)
    site.up()


def kept_all(site, pids):
    """Its run is over, and all of its work is reachable."""
    wait_gone(*pids)
    T.assertEqual(len([e for e in site.events() if e["type"] == "run.created"]), 1)
    T.assertEqual(site.git("log", "--format=%s", "main"), "start\n")
    T.assertEqual(site.down(), 0)
    promises.work_kept(site)
    T.assertIn("committed.txt", site.git("rev-list", "--objects", "--all"))
    promises.nothing_left(site)


def resetting(site, point):
    """A worker that is reset: its worktree is clean once its work is kept, and its task waits."""
    pids = busy_worker(site, point)
    asked(site, point, "worker.reset", worker="mine")
    site.wait_type("worker.wanted", wanted="")
    T.assertEqual(sorted(os.listdir(os.path.join(site.dir, "worktrees/mine"))), [".git", "README"])
    T.assertEqual([w["status"] for w in site.call("worker.list")["workers"]], ["idle"])
    T.assertEqual(site.node("t1")["status"], "blocked")
    kept_all(site, pids)


def removing(site, point):
    """A worker that is removed: gone with its worktree, once its work is kept."""
    pids = busy_worker(site, point)
    asked(site, point, "worker.nuke", worker="mine")
    site.wait_type("worker.removed")
    T.assertEqual(os.listdir(os.path.join(site.dir, "worktrees")), [])
    T.assertEqual(site.call("worker.list")["workers"], [])
    kept_all(site, pids)


def picking(site, point):
    """What a person picks is on the target branch once, and the worker goes on."""
    busy_worker(site, point)
    asked(site, point, "worker.pick", worker="mine", reason="today")
    site.wait_event(lambda e: e["type"] == "effect.ended" and e["data"]["kind"] == "worker" and e["data"]["outcome"] == "ok")
    T.assertEqual(site.git("log", "--format=%s", "main").split("\n"), ["Do it", "start", ""])
    T.assertEqual(site.git("show", "main:committed.txt"), "committed\n")
    T.assertEqual([w["status"] for w in site.call("worker.list")["workers"]], ["working"])
    T.assertEqual(site.git("status", "--porcelain"), "")


def planned(site, point):
    """A goal without a plan gets one, once, however often the planner has to be asked."""
    model = FakeModel(json.dumps(plan(task("T1.1"), task("T1.2", deps=["T1.1"]))))
    try:
        site.env["FAKE_MODEL_KEY"] = "sk-planner-secret-3141592653589793"
        site.configure(model.config())
        goal = create_goal(site, point, title="planned", problem_statement="Solve it.")
        site.wait_type("plan.applied", goal=goal)
        T.assertEqual(site.down(), 0)
        site.up()
        applied = [e["data"]["source"] for e in site.events() if e["type"] == "plan.applied"]
        T.assertEqual(applied, ["planner"])
        T.assertEqual([n["id"] for n in site.call("work.list", goal=goal)["nodes"]], ["T1.1", "T1.2"])
    finally:
        model.close()


# Two tasks, each given out once.
POOL = r"""
n=$(( $(cat "$HOME/given" 2>/dev/null || echo 0) + 1 ))
[ $n -le 2 ] || exit 4
echo $n > "$HOME/given"
echo "Task T$n"
"""


def pooling(site, point):
    """Whatever the pool gave out becomes one task, whenever the daemon dies."""
    site.write("../agent.sh", "#!/bin/sh\n" + AGENT)
    site.write("../pool.sh", POOL)
    site.configure(FAST + '[auto]\ntask_pool_command = "sh $HOME/pool.sh"\npool_wait = "20ms"\n' + site.agent_config())
    site.args = ["--auto"]
    if site.start(OVERSEER_INJECT=point) == "ready\n":
        dead(site, point)
    site.up()
    site.wait_type("node.status", to="done", node="t1")
    site.wait_type("node.status", to="done", node="t2")
    events = site.events()
    T.assertEqual(sorted(site.git("log", "--format=%s", "main").split()), sorted("Task T1 Task T2 start".split()))
    T.assertEqual([e["data"]["answer"] for e in events if e["type"] == "auto.pool" and e["data"]["answer"] != "none"],
                  ["task", "task"])
    promises.runs_once(site, events)
    T.assertEqual(site.down(), 0)


def alarming(site, point):
    """What needs a person becomes one issue of a tracker, whenever the daemon dies."""
    tracker = peers.Gitea()
    try:
        os.chmod(site.write("../token", tracker.TOKEN), 0o600)
        site.write("../agent.sh", "#!/bin/sh\nexit 1\n")
        site.configure(site.agent_config() + f"""
[retry]
max_attempts = 1
[supervisor.backoff]
base = "10ms"
max = "10ms"
[escalation]
desktop = false
routes.warning = ["tracker"]
[escalation.channels.tracker]
type = "gitea"
url = "{tracker.url}"
repo = "{tracker.repo}"
token_file = "~/token"
""")
        goal = create_goal(site, point, title="alarm", plan=plan(task("T1")))
        sent = site.wait_type("notice.tried", goal=goal, status="sent")
        T.assertEqual(sent["data"]["ref"], "1")
        T.assertEqual([issue["comments"] for issue in tracker.issues], [[]])
        T.assertEqual(tracker.wrong, [])
        T.assertEqual(site.down(), 0)
    finally:
        tracker.close()


def failing(site, point):
    """A daemon that cannot go on is killed while it ends: the next one goes on with everything."""
    site.write("../agent.sh", "#!/bin/sh\n" + r"""
echo "$OVERSEER_RUN" >> "$HOME/started"
mkdir -p work
echo "$OVERSEER_RUN" > "work/$OVERSEER_RUN.txt"
[ -e "$HOME/again" ] || { echo $$ > "$HOME/g.here"; read x < "$HOME/g.go"; }
git add -A
git commit -qm work
""")
    site.write("../pool.sh", r"""
[ -e "$HOME/broken" ] && { rm "$HOME/broken"; exit 3; }
[ -e "$HOME/given" ] && exit 4
echo x > "$HOME/given"
echo "Task T1"
""")
    site.configure(FAST + '[supervisor]\nstop_grace = "20ms"\n[auto]\ntask_pool_command = "sh $HOME/pool.sh"\n'
                   'concurrency = 2\npool_wait = "20ms"\npool_wait_max = "20ms"\n'
                   'task_pool_retries = 0\ntask_pool_on_failure = "fail"\n' + site.agent_config())
    site.args = ["--auto"]
    gate = site.gate("g")
    site.up(OVERSEER_INJECT=point)
    gate.wait()
    site.write("../again", "")
    site.write("../broken", "")
    dead(site, point)
    gate.go()
    site.up()
    site.wait_type("node.status", to="done", node="t1")
    events = site.events()
    T.assertEqual([e for e in events if e["type"] == "node.failed"], [])
    T.assertEqual(len([e for e in events if e["type"] == "daemon.failed"]), 1)
    promises.runs_once(site, events)
    T.assertEqual(site.down(), 0)
    promises.work_kept(site)
    promises.nothing_left(site)


def typing(site, point):
    """An instruction that is typed into a terminal is taken once, whenever the daemon dies."""
    site.env["TMUX_TMPDIR"] = site.root
    site.configure(FAST + f"""
[patrol]
confirm = "3s"
[defaults]
agent = "typed"
[agents.typed]
runtime = "tmux"
format = "claude"
command = ["{HERE}/../system/typed.py"]
env_pass = ["HOME", "PATH", "LC_ALL", "ASAN_OPTIONS", "UBSAN_OPTIONS"]
""")
    goal = create_goal(site, point, title="crash", plan=plan(task("T1", objective="Do as the lines say.\n!echo x > T1.txt")))
    site.wait_goal(goal)
    T.assertEqual(site.git("show", "main:T1.txt"), "x\n")
    typed = [json.loads(line)["what"] for line in site.home("typed.log").splitlines()]
    T.assertEqual(typed.count("prompt"), 1, typed)
    T.assertEqual(len(site.runs()), 1)
    T.assertEqual(site.down(), 0)
    promises.nothing_left(site)


def cli(site, *args, **env):
    return subprocess.run([CLI, "--dir", site.dir, *args], env={**site.env, **env}, cwd=site.root,
                          capture_output=True, text=True, timeout=harness.PATIENCE)


def filled(site, goals=12):
    """A store with some events, and what it exports."""
    site.configure("[planner]\nfallback = false\n")
    site.up()
    for n in range(goals):
        site.call("goal.create", title=f"goal {n}")
    T.assertEqual(site.down(), 0)
    done = cli(site, "export")
    T.assertEqual(done.returncode, 0, done.stderr)
    return done.stdout


def no_pieces(site, folder):
    """What a dead writer left is found and removed, once it is too old to be somebody's at work."""
    pieces = [os.path.join(folder, n) for n in os.listdir(folder) if "tmp" in n]
    T.assertNotEqual(pieces, [])
    for path in pieces:
        os.utime(path, (0, 0))
    cli(site, "doctor", "--fix")
    T.assertEqual([p for p in pieces if os.path.exists(p)], [])


def backup(site, point):
    """A backup that dies leaves nothing that could be taken for one; the next one is whole."""
    filled(site)
    T.assertNotEqual(cli(site, "backup", OVERSEER_INJECT=point).returncode, 0)
    folder = os.path.join(site.dir, "backups")
    T.assertEqual(glob.glob(os.path.join(folder, "*.db")), [])
    T.assertEqual(cli(site, "backup").returncode, 0)
    T.assertEqual(len(glob.glob(os.path.join(folder, "*.db"))), 1)
    no_pieces(site, folder)


def importing(site, point):
    """An import that dies has imported nothing, or everything."""
    other = harness.Site()
    try:
        text = filled(other)
    finally:
        other.close()
    path = site.write("../in.json", text)
    T.assertNotEqual(cli(site, "import", path, OVERSEER_INJECT=point).returncode, 0)
    done = cli(site, "import", path)
    T.assertEqual(done.returncode, 0, done.stderr)
    T.assertEqual(cli(site, "export").stdout, text)
    no_pieces(site, site.dir)


# Leaves its change in the write-ahead log, where a daemon that is killed has it, too.
SPOIL = """
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("PRAGMA wal_autocheckpoint = 0")
db.execute("UPDATE log SET body = 'x' WHERE seq > ?", (int(sys.argv[2]),))
db.commit()
os._exit(0)
"""


def rebuilding(site, point):
    """A rebuild that dies can be made again, and loses nothing that the first would have kept."""
    site.configure("[planner]\nfallback = false\n[store]\nverify_at_start = false\n")
    site.up()
    goal = site.call("goal.create", title="an old one")["goal"]
    site.call("goal.cancel", goal=goal, reason="for the archive")
    site.call("goal.archive", goal=goal)
    while "are in the archive" not in site.daemon_log():
        site.call("status.get")  # each question is a turn of the daemon's loop
    site.call("goal.create", title="the last one that is whole")
    last = site.seq()
    site.call("goal.create", title="the damaged one")
    site.kill()
    store = os.path.join(site.dir, "store.db")
    subprocess.run([sys.executable, "-c", SPOIL, store, str(last)], check=True)
    T.assertGreater(os.path.getsize(store + "-wal"), 0)
    T.assertNotEqual(cli(site, "doctor", "--rebuild", OVERSEER_INJECT=point).returncode, 0)
    again = cli(site, "doctor", "--rebuild")
    if again.returncode:
        T.assertIn("not damaged", again.stderr)  # the first was as good as done
    site.up()
    T.assertIsNone(site.call("status.get")["safe_mode"])
    T.assertEqual([g["title"] for g in site.call("goal.list")["goals"]], ["the last one that is whole"])
    T.assertEqual([e["seq"] for e in site.events()][:last], list(range(1, last + 1)))
    T.assertTrue(site.call("store.verify")["ok"])


# What it makes first is bad, as the command after the accept finds out; what it makes of that is good.
CORRECTS_ITSELF = r"""
echo "$OVERSEER_RUN" >> "$HOME/started"
mkdir -p work
echo "$OVERSEER_RUN" > "work/$OVERSEER_RUN.txt"
if [ -e T1.txt ]; then echo good > T1.txt; else echo bad > T1.txt; fi
git add -A && git commit -qm "work of $OVERSEER_NODE"
"""


def taking_back(site, point):
    """A change that passes the gate, is accepted, found bad, taken back and made anew: each once."""
    site.write("../agent.sh", "#!/bin/sh\n" + CORRECTS_ITSELF)
    site.configure(FAST + site.agent_config() + """
[accept]
pre_accept_command = "test $(git rev-parse HEAD) = $OVERSEER_COMMIT"
post_accept_command = "! grep bad T1.txt"
post_accept_on_failure = "revert"
""")
    goal = create_goal(site, point, title="take back", plan=plan(task("T1")))
    site.wait_goal(goal)
    log = site.git("log", "--reverse", "--format=%s", "main").split("\n")
    T.assertEqual(log[:-1], ["start", "Task T1", 'Revert "Task T1"', "Task T1"])
    T.assertEqual(site.read("T1.txt"), "good\n")
    T.assertEqual(len([e for e in site.events() if e["type"] == "node.accepted"]), 2)
    T.assertEqual(len([e for e in site.events() if e["type"] == "node.reverted"]), 1)
    promises.runs_once(site, site.events())
    T.assertEqual(site.git("status", "--porcelain"), "")
    T.assertEqual(site.down(), 0)
    promises.work_kept(site)
    promises.nothing_left(site)


# Hands in something else each time, which fails in the same way each time; keeps what it was told.
CIRCLING = r"""
echo "$OVERSEER_RUN" >> "$HOME/started"
cat > "$HOME/told.$OVERSEER_RUN"
mkdir -p work
echo "$OVERSEER_RUN" > "work/$OVERSEER_RUN.txt"
git add -A && git commit -qm "work of $OVERSEER_NODE"
"""


def overseeing(site, point):
    """A loop is redirected once and paused once, and the next agent is told once, whenever the daemon dies."""
    site.write("../agent.sh", "#!/bin/sh\n" + CIRCLING)
    site.configure(FAST.replace("[retry]", "[retry]\nmax_attempts = 50") + site.agent_config() + """
[workspace]
check_command = "echo error: no such function parse; exit 1"
""")
    goal = create_goal(site, point, title="circles", plan=plan(task("T1")))
    site.wait_type("goal.status", to="paused")
    events = site.events()

    def of(kind):
        return [e for e in events if e["type"] == kind]

    T.assertEqual([e["data"]["iteration"]["number"] for e in of("iteration.recorded")], [1, 2, 3, 4, 5])
    T.assertEqual([(d["type"], d["severity"]) for d in (e["data"]["detection"] for e in of("detection.made"))],
                  [("stuck", "high"), ("stuck", "critical")])
    T.assertEqual([e["data"]["level"] for e in of("intervention.applied")], ["redirect", "pause"])
    # Found at the third run, said to the fourth, and to nobody else.
    told = [site.home("told." + e["run"]).count("OVERRIDE") for e in of("iteration.recorded")]
    T.assertEqual([n > 0 for n in told], [False, False, False, True, False])
    T.assertEqual([x["kind"] for x in site.call("inbox.list")["inbox"]], ["paused"])
    shown = site.call("goal.show", goal=goal)
    T.assertEqual((shown["status"], shown["health"]), ("paused", "paused"))
    promises.runs_once(site, events)
    T.assertEqual(site.down(), 0)
    promises.work_kept(site)
    promises.nothing_left(site)


SCENARIOS = {
    taking_back: [f"{when}-{step}" for step in ("gate", "post") for when in ("begin", "before", "during", "after", "end")]
    + ["begin-revert", "git-revert-made", "git-revert-moved", "end-revert"],
    asking: ["before-send", "after-send", "before-run-report", "after-run-report", "begin-send", "end-send"],
    speaking: ["before-run-session", "after-run-session", "before-run-report", "after-run-report", "before-run-end"],
    telling: ["begin-send", "next-laid", "after-send", "end-send"],
    wandering: ["git-harvest-rescued", "git-restore-rescued"],
    stopping: ["begin-run-stop", "before-stop", "end-run-stop"],
    resetting: ["begin-worker", "end-worker"],
    removing: ["begin-worker", "git-remove-rescued", "git-remove-branch", "end-worker"],
    picking: ["begin-worker", "git-pick-squashed", "git-pick-moved", "end-worker"],
    planned: ["begin-plan", "before-plan-outcome", "end-plan"],
    pooling: ["begin-pool", "after-pool-start", "after-pool-answer", "end-pool"],
    overseeing: [f"{point}:{n}" for n in (18, 24, 27) for point in ("before-commit", "after-commit")]
    + ["after-effects:27", "begin-check:3", "end-check:3"],
    alarming: ["begin-notify", "end-notify"],
    failing: ["before-halt", "begin-run-stop", "before-stop", "end-run-stop", "after-halt"],
    typing: ["after-session", "before-paste", "after-paste"],
    backup: ["backup-copied", "backup-verified"],
    importing: ["new-store-written", "new-store-replace"],
    rebuilding: ["new-store-written", "new-store-replace", "rebuild-replaced"],
}


def run(scenario, point):
    site = harness.Site(leaks=False)
    try:
        site.write("../agent.sh", "")
        os.chmod(os.path.join(site.root, "agent.sh"), 0o755)
        scenario(site, point)
    finally:
        site.close()


class Crash(unittest.TestCase):
    jobs = {}  # name of the test -> its job
    points = set()

    def judge(self, name):
        self.jobs[name].result()

    def test_no_point_is_left_out(self):
        self.assertEqual(source_points() - self.points, ELSEWHERE)
        self.assertEqual(self.points - source_points(), set())


def load_tests(loader, tests, pattern):
    del loader, tests, pattern
    points = demo_points()
    assert len(points) >= 30, f"only {points} were passed"
    Crash.points.update(points, (p.split(":")[0] for here in SCENARIOS.values() for p in here))
    if harness.SOAK:
        points = [f"{p}:{n}" for p in points for n in (1, 2, 5)]
    beside, suite = promises.Beside(), unittest.TestSuite([Crash("test_no_point_is_left_out")])
    for scenario, here in [(demo, points), *SCENARIOS.items()]:
        for point in here[harness.turn() % ONE_IN::ONE_IN]:
            name = f"test_{scenario.__name__}_" + re.sub("[^a-z0-9]", "_", point)
            Crash.jobs[name] = beside.start(run, scenario, point)
            setattr(Crash, name, lambda self, name=name: self.judge(name))
            suite.addTest(Crash(name))
    return suite


if __name__ == "__main__":
    unittest.main(verbosity=2)
