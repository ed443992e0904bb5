#!/usr/bin/env python3
"""The main job: goals that real processes finish, with everything that goes wrong on the way."""

import os
import subprocess
import tarfile
import unittest

from harness import CLI, FAST, PATIENCE, RpcError, SiteCase, plan, task, wait_gone

# Writes NODE.txt and commits it.
COMMIT = r"""
echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "work of $OVERSEER_NODE"
"""
# Stands at the gate "g" until the test lets it go on.
GATE = r"""
echo "$OVERSEER_NODE $OVERSEER_RUN $$" > "$HOME/g.here"
read x < "$HOME/g.go"
"""


class Work(SiteCase):
    def run_goal(self, site, *tasks, statuses=("completed",), **more):
        goal = site.call("goal.create", title="Test", plan=plan(*tasks), **more)["goal"]
        site.wait_goal(goal, statuses)
        return goal

    def subjects(self, site, branch="main"):
        return site.git("log", "--format=%s", branch).split("\n")

    def blocked(self, site, node):
        return site.wait_type("node.status", node=node, to="blocked")["data"]

    def test_plan_in_order_two_at_a_time(self):
        """Five tasks with dependencies: two do overlap, never three, nothing before what it depends on."""
        site = self.site(FAST, 'echo "start $OVERSEER_NODE" >> "$HOME/log"' + GATE + COMMIT +
                         'echo "end $OVERSEER_NODE" >> "$HOME/log"')
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(
            task("T1"), task("T2"), task("T3", ["T1"]), task("T4", ["T1", "T2"]), task("T5", ["T3", "T4"])))["goal"]
        # Both stand at the gate at once: they overlap, and a third has no worker.
        pair = {gate.wait().split()[0], gate.wait().split()[0]}
        self.assertEqual(pair, {"T1", "T2"})
        status = site.call("status.get")
        self.assertEqual((status["workers_busy"], status["workers_max"], len(status["running"])), (2, 2, 2))
        self.assertEqual({r["stage"] for r in status["running"]}, {"running"})
        gate.go(2)
        pair = {gate.wait().split()[0], gate.wait().split()[0]}
        self.assertEqual(pair, {"T3", "T4"})
        gate.go(2)
        self.assertEqual(gate.wait().split()[0], "T5")
        gate.go()
        site.wait_goal(goal)
        running, most, ended = set(), 0, set()
        deps = {"T1": [], "T2": [], "T3": ["T1"], "T4": ["T1", "T2"], "T5": ["T3", "T4"]}
        for line in site.home("log").splitlines():
            what, node = line.split()
            if what == "start":
                self.assertLessEqual(set(deps[node]), ended, f"{node} began too early")
                running.add(node)
                most = max(most, len(running))
            else:
                running.remove(node)
                ended.add(node)
        self.assertEqual(most, 2)
        subjects = self.subjects(site)
        for node in deps:
            self.assertEqual(subjects.count(f"Task {node}"), 1)
        for node in deps:
            self.assertEqual(site.read(f"{node}.txt"), f"{node}\n", "the user's checkout follows")
        self.assertEqual(site.git("status", "--porcelain"), "")
        self.assertEqual(site.call("status.get")["workers_busy"], 0)
        self.assertEqual(site.call("goal.show", goal=goal)["status"], "completed")
        self.assertEqual(site.live_pids(), [])
        self.assertEqual(site.down(), 0)

    def test_crash_is_retried(self):
        site = self.site(FAST, '[ "$OVERSEER_ATTEMPT" = 2 ] || { echo "half" > half; kill -SEGV $$; }' + COMMIT)
        site.up()
        self.run_goal(site, task("T1"))
        runs = site.runs()
        self.assertEqual([(r["signal"], r["exit_code"], r["attempt"]) for r in runs], [(11, -1, 1), (0, 0, 2)])
        self.assertEqual(site.node("T1")["failures"]["run"], 1)
        failed = site.wait_type("node.failed")
        self.assertIn("signal 11", failed["data"]["detail"])
        # What the first try left is kept; the second run went on from it.
        self.assertTrue(runs[0]["leftovers"])
        self.assertEqual(site.git("show", runs[0]["rescue_ref"] + ":half"), "half\n")
        self.assertIn("signal 11", site.read(f".overseer/runs/{runs[1]['id']}/instruction"))

    def test_leftovers_are_rescued_and_accepted(self):
        agent = r"""
echo committed > a.txt; git add a.txt; git commit -qm one
echo staged > b.txt; git add b.txt
echo changed > a.txt
mkdir -p deep/er; printf 'un\ttracked' > "deep/er/name with space"
ln -s a.txt link; echo '#!/bin/sh' > tool; chmod +x tool
git rm -q --cached README; rm README
tar -cf "$HOME/left.tar" --exclude=.git .
"""
        site = self.site(FAST, agent)
        site.up()
        self.run_goal(site, task("T1"))
        run = site.runs()[0]
        self.assertTrue(run["leftovers"])
        ref = run["rescue_ref"]
        self.assertTrue(ref.startswith("refs/overseer/rescue/pool-1/"), ref)
        want = {}
        with tarfile.open(os.path.join(site.root, "left.tar")) as tar:
            for member in tar:
                if member.isfile():
                    want[member.name[2:]] = tar.extractfile(member).read().decode()
                elif member.issym():
                    want[member.name[2:]] = member.linkname
        for branch in (ref, "main"):
            names = site.git("ls-tree", "-r", "-z", "--name-only", branch).split("\0")[:-1]
            self.assertEqual({n: site.git("show", f"{branch}:{n}") for n in names}, want)
        self.assertIn("100755", site.git("ls-tree", ref, "tool"))
        self.assertIn("120000", site.git("ls-tree", ref, "link"))
        self.assertEqual(self.subjects(site), ["Task T1", "start", ""])

    def test_check_fails_then_passes(self):
        """What the check said reaches the next instruction."""
        site = self.site(FAST + '[workspace]\ncheck_command = "cat verdict; grep -q good verdict"\n',
                         '[ "$OVERSEER_ATTEMPT" = 2 ] && echo good > verdict || echo "bad: unique-7f3a" > verdict\n')
        site.up()
        self.run_goal(site, task("T1"))
        first, second = site.runs()
        self.assertEqual((first["verification"], second["verification"]), ("failed", "passed"))
        self.assertIn("unique-7f3a", first["verification_detail"])
        told = site.read(f".overseer/runs/{second['id']}/instruction")
        self.assertIn("Since your last attempt", told)
        self.assertIn("exit status 1\nbad: unique-7f3a", told)
        self.assertNotIn("Since your last attempt", site.read(f".overseer/runs/{first['id']}/instruction"))
        self.assertEqual(site.git("show", "main:verdict"), "good\n")

    def test_what_a_check_leaves_is_not_merged(self):
        """Files that a check makes or changes are neither harvested with the next run nor accepted."""
        site = self.site(FAST + '[workspace]\ncheck_command = "echo o > junk.o; echo x >> README; test -e second"\n',
                         'git status --porcelain > "$HOME/seen-$OVERSEER_ATTEMPT"\necho "$OVERSEER_ATTEMPT" > A.txt\n'
                         '[ "$OVERSEER_ATTEMPT" = 1 ] || : > second\ngit add -A && git commit -qm work\n')
        site.up()
        site.wait_goal(site.call("goal.create", title="check", plan=plan(task("A")))["goal"])
        self.assertEqual(site.git("ls-tree", "-r", "--name-only", "main").split(), ["A.txt", "README", "second"])
        self.assertEqual(site.git("show", "main:README"), "hello\n")
        self.assertEqual(site.read("../seen-2"), "")

    def test_own_check_comes_first(self):
        site = self.site(FAST + '[workspace]\ncheck_command = "false"\n', COMMIT)
        site.up()
        self.run_goal(site, task("T1", checkCommand="test -e T1.txt"))
        self.assertEqual(site.runs()[0]["verification"], "passed")

    def test_cap_asks_a_person_and_unblock_goes_on(self):
        """Three failures of one cause: another session tries; three more: a person is asked. Unblock is a new epoch."""
        # Oversight would ask before that.
        site = self.site(FAST + "[oversight.stuck]\ncritical_error_count = 16\n", '[ -e "$HOME/fixed" ] || exit 3' + COMMIT)
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1"), task("T2", ["T1"])))["goal"]
        reason = "failed 3 times (run): the agent ended with exit status 3"
        blocked = self.blocked(site, "T1")
        self.assertEqual((blocked["reason"], blocked["blocked_by"]), (reason, "overseer"))
        status = site.call("status.get")
        self.assertEqual(len(status["needs_you"]), 1)
        question = status["needs_you"][0]
        self.assertEqual((question["question"], question["node_id"], question["goal_id"], question["kind"],
                          question["status"]), (f"nothing helped: {reason}. How shall it go on?", "T1", goal, "failed", "open"))
        self.assertEqual((status["workers_busy"], status["running"]), (0, []))
        node = site.node("T1")
        self.assertEqual((node["status"], node["status_reason"], len(node["runs"]), node["epoch"]),
                         ("blocked", reason, 6, 2))
        explained = site.call("explain.get", id="T1")
        self.assertTrue(any("unblock" in command for command in explained["next"]), explained)
        site.write("../fixed", "")
        site.call("work.update", node="T1", status="queued", reason="fixed it")
        site.wait_goal(goal)
        node = site.node("T1")
        self.assertEqual((node["status"], node["epoch"]), ("done", 3))
        self.assertEqual([r["epoch"] for r in node["runs"]], [1, 1, 1, 2, 2, 2, 3])
        self.assertEqual(site.call("status.get")["needs_you"], [])
        closed = site.wait_type("escalation.closed")["data"]
        self.assertEqual((closed["status"], closed["answer"]), ("answered", "fixed it"))

    def test_done_while_running(self):
        """A person's word ends the run; what it had made is kept, the worker is free again."""
        site = self.site(FAST, 'echo precious > made.txt; [ "$OVERSEER_NODE" = T2 ] ||' +
                         '{' + GATE + '}\n' + COMMIT)
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1"), task("T2", ["T1"])))["goal"]
        _, run, pid = gate.wait().split()
        site.call("work.update", node="T1", status="done", reason="I did it by hand")
        node = site.node("T1")
        self.assertEqual((node["status"], node["status_reason"]), ("done", "I did it by hand"))
        site.wait_goal(goal)
        wait_gone(int(pid))
        record = site.call("run.show", run=run)
        self.assertEqual((record["status"], record["signal"]), ("ended", 15))
        self.assertEqual(site.git("show", record["rescue_ref"] + ":made.txt"), "precious\n")
        self.assertNotIn("Task T1", self.subjects(site))
        changed = site.wait_type("node.status", node="T1", to="done")
        self.assertTrue(changed["data"]["override"])
        self.assertTrue(changed["actor"].startswith("human:"), changed)
        self.assertEqual(site.call("status.get")["workers_busy"], 0)

    def test_block_while_running(self):
        site = self.site(FAST, 'echo precious > made.txt; [ "$OVERSEER_NODE" = T2 ] || [ -e "$HOME/fixed" ] ||' +
                         '{' + GATE + '}\n' + COMMIT)
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1"), task("T2")))["goal"]
        _, run, pid = gate.wait().split()
        site.call("work.update", node="T1", status="blocked", reason="not now", unblock_when="on Monday")
        node = site.node("T1")
        self.assertEqual((node["status"], node["status_reason"], node["unblock_when"]), ("blocked", "not now", "on Monday"))
        wait_gone(int(pid))
        harvested = site.wait_type("run.harvested", run=run)
        self.assertEqual(site.git("show", harvested["data"]["rescue_ref"] + ":made.txt"), "precious\n")
        site.wait_type("node.status", node="T2", to="done")
        self.assertEqual(site.node("T1")["status"], "blocked")
        site.write("../fixed", "")
        site.call("work.update", node="T1", status="queued", reason="Monday")
        site.wait_goal(goal)
        self.assertEqual(site.node("T1")["epoch"], 2)

    def test_conflict_round(self):
        """Two tasks change one line: the second is told to rebase, does so, and both changes stay."""
        agent = r"""
cat > "$HOME/told.$OVERSEER_NODE.$OVERSEER_ATTEMPT"
if [ "$OVERSEER_ATTEMPT" = 2 ]; then
	git rebase main >/dev/null 2>&1 || {
		printf 'T1\nT2\n' > README; git add README; GIT_EDITOR=true git rebase --continue; }
	exit
fi
""" + GATE + r"""
echo "$OVERSEER_NODE" > README
git commit -qam "work of $OVERSEER_NODE"
"""
        site = self.site(FAST, agent)
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1"), task("T2")))["goal"]
        self.assertEqual({gate.wait().split()[0], gate.wait().split()[0]}, {"T1", "T2"})
        gate.go(2)
        site.wait_goal(goal)
        self.assertEqual(len(site.runs()), 3)
        last = site.runs()[-1]
        told = site.home(f"told.{last['node_id']}.2")
        self.assertIn("Rebase your branch onto main", told)
        self.assertIn("README", told)
        self.assertEqual(site.git("show", "main:README"), "T1\nT2\n")
        subjects = self.subjects(site)
        self.assertEqual((subjects.count("Task T1"), subjects.count("Task T2")), (1, 1))
        failed = site.wait_type("node.failed")
        self.assertEqual(failed["data"]["cause"], "conflict")

    def test_conflict_never_resolved(self):
        site = self.site(FAST + "[accept]\nconflict_rounds = 2\n",
                         '[ "$OVERSEER_ATTEMPT" = 2 ] || {' + GATE +
                         '}\necho "$OVERSEER_NODE" > README\ngit commit -qam x || :\n')
        gate = site.gate("g")
        site.up()
        site.call("goal.create", title="Test", plan=plan(task("T1"), task("T2")))
        gate.wait(), gate.wait()
        gate.go(2)
        asked = site.wait_type("escalation.opened")
        self.assertEqual(asked["data"]["kind"], "conflict")
        self.assertIn("failed 2 times (conflict): the work conflicts with the target branch", asked["data"]["question"])
        run = [r for r in site.runs() if r["node_id"] == asked["node"]][-1]
        branch = [e for e in site.events() if e["type"] == "assignment.created" and e["node"] == asked["node"]][0]["data"]
        self.assertEqual(site.git("show", branch["branch"] + ":README"), f"{run['node_id']}\n", "its work stays on its branch")

    def test_dirty_checkout_waits(self):
        """Uncommitted work of the user's is never touched; the accept waits for it."""
        site = self.site(FAST + '[accept]\ndirty_wait = "20ms"\n', "echo by the agent >> README\n" + COMMIT)
        site.write("README", "hello\nmine, unfinished\n")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        after = 0
        for _ in range(3):
            waits = site.wait_type("assignment.moved", after=after, waiting="files")
            self.assertIn("your README has uncommitted changes in the same file", waits["data"]["reason"])
            after = waits["seq"]
        self.assertEqual(site.read("README"), "hello\nmine, unfinished\n")
        self.assertEqual(self.subjects(site), ["start", ""])
        self.assertFalse(os.path.exists(os.path.join(site.repo, "T1.txt")))
        self.assertEqual(site.git("status", "--porcelain"), " M README\n")
        site.git("stash", "-q")
        site.wait_goal(goal)
        self.assertEqual(self.subjects(site), ["Task T1", "start", ""])
        self.assertEqual(site.read("README"), "hello\nby the agent\n")
        self.assertEqual(site.read("T1.txt"), "T1\n")

    def test_user_on_another_branch(self):
        """A checkout that is elsewhere is left alone, dirty or not; the target branch moves."""
        site = self.site(FAST + '[accept]\ntarget = "main"\n', COMMIT)
        site.git("switch", "-qc", "feature")
        site.write("README", "mine, unfinished\n")
        site.write("T1.txt", "an untracked file of the same name\n")
        site.up()
        self.run_goal(site, task("T1"))
        self.assertEqual(self.subjects(site, "main"), ["Task T1", "start", ""])
        self.assertEqual(self.subjects(site, "feature"), ["start", ""])
        self.assertEqual(site.git("branch", "--show-current"), "feature\n")
        self.assertEqual(site.read("README"), "mine, unfinished\n")
        self.assertEqual(site.read("T1.txt"), "an untracked file of the same name\n")

    def test_detached_checkout(self):
        """Without a branch there is nowhere to put work, unless the configuration names one."""
        site = self.site(FAST, COMMIT)
        site.git("switch", "-q", "--detach")
        said = site.start().split("\n")
        self.assertEqual(said[0], "error E_STATE")
        self.assertIn("not on a branch", said[1])
        self.assertIn("accept.target", said[2])

    def test_untracked_file_in_the_way(self):
        """An untracked file of the user's that the work would overwrite is never overwritten."""
        site = self.site(FAST + '[accept]\ndirty_wait = "50ms"\ndirty_notice = "50ms"\n', COMMIT)
        site.write("T1.txt", "mine\n")
        site.up()
        site.call("goal.create", title="Test", plan=plan(task("T1")))
        site.wait_type("escalation.opened")
        self.assertEqual(site.read("T1.txt"), "mine\n")
        self.assertEqual(self.subjects(site), ["start", ""])

    def test_nothing_changed(self):
        site = self.site(FAST, 'cat > "$HOME/told.$OVERSEER_ATTEMPT"; echo "Which file?"; echo "attempt $OVERSEER_ATTEMPT: tell me."; exit 0\n')
        site.up()
        site.call("goal.create", title="Test", plan=plan(task("T1")))
        blocked = self.blocked(site, "T1")
        self.assertEqual(blocked["reason"],
                         "failed 2 times (no_changes): the agent reported success but changed nothing")
        self.assertEqual(len(site.runs()), 2)
        self.assertIn("changed no file", site.home("told.2"))
        need = site.call("status.get")["needs_you"][0]
        self.assertEqual(need["kind"], "no_changes")
        # What it said instead is what a person wants to see.
        said = "Which file?\nattempt 2: tell me."
        self.assertEqual(need["last_lines"], said)
        self.assertEqual([r["last_lines"] for r in site.call("run.list")["runs"]], [said.replace("2", "1"), said])
        entry = str(site.wait_type("escalation.opened")["data"]["escalation"])
        for command in (("status",), ("inbox", "show", entry), ("explain", "T1")):
            self.assertRegex(site.cli(*command), r"\| Which file\?\n +\| attempt 2: tell me\.\n", command)

    def test_nothing_changed_by_an_agent_that_speaks_a_format(self):
        """Its last message is shown, not the lines that it is written in; of a run that changed something, none."""
        site = self.site(FAST)
        os.chmod(site.write("../agent.sh", """#!/bin/sh
cat > /dev/null
[ "$OVERSEER_NODE" = T2 ] && echo x > x.txt
echo '{"type":"system","subtype":"init","cwd":"/w","session_id":"bcac89b7-f0ce-4aad-8947-bb6c67a83286","tools":[],"model":"m"}'
printf '%s\\n' '{"type":"assistant","message":{"content":[{"type":"text","text":"I may not write here.\\nAllow it?"}]}}'
printf '%s\\n' '{"type":"result","subtype":"success","is_error":false,"result":"I may not write here.\\nAllow it?","num_turns":1}'
"""), 0o755)
        site.configure(FAST + f'[defaults]\nagent = "x"\n[agents.x]\nformat = "claude"\ncommand = ["{site.root}/agent.sh"]\n')
        site.up()
        site.call("goal.create", title="Test", plan=plan(task("T1"), task("T2")))
        self.blocked(site, "T1")
        site.wait_type("node.status", node="T2", to="done")
        runs = site.call("run.list")["runs"]
        self.assertEqual({r["last_lines"] for r in runs if r["node_id"] == "T1"}, {"I may not write here.\nAllow it?"})
        self.assertEqual({r["last_lines"] for r in runs if r["node_id"] == "T2"}, {""})

    def test_errors_say_what_to_do_next(self):
        site = self.site(FAST, "cat > /dev/null; exec tail -f /dev/null\n")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1"), task("T2", deps=["T1"])))["goal"]
        run = site.wait_type("run.started")["run"]
        task_not_run = f"overseer: T1 is a task; its newest run is {run}\nNext  overseer run show {run}\n"

        def check(code, said, *command):
            done = subprocess.run([CLI, *command], cwd=site.repo, env=site.env, capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (code, "", said), command)

        check(2, "overseer: a goal needs a title\nNext  overseer goal create --title TEXT\n", "goal", "create", "--title", " ")
        check(2, "overseer: a goal needs a title\nNext  overseer goal update GOAL --title TEXT\n", "goal", "update", goal, "--title", "")
        check(3, "overseer: there is no file /nonexistent/p\nNext  name the file of a plan, or - for standard input\n",
              "goal", "create", "--title", "x", "--plan", "/nonexistent/p")
        check(3, task_not_run, "run", "show", "T1")
        check(3, task_not_run, "run", "log", goal + "/T1")
        check(3, task_not_run, "run", "stop", "T1")
        check(3, f"overseer: T2 is a task, which has no run yet\nNext  overseer explain {goal}/T2\n", "run", "show", "T2")
        check(3, 'overseer: there is no run "T9"\nNext  overseer run list\n', "run", "show", "T9")
        site.cli("goal", "cancel", goal)
        check(4, f"overseer: goal {goal} is cancelled already\nNext  overseer goal show {goal}\n", "goal", "cancel", goal)
        check(4, f"overseer: goal {goal} is cancelled and cannot become paused; from cancelled it can become: archived\n"
              f"Next  overseer goal show {goal}\n", "goal", "pause", goal)

    def test_who_ended_a_run(self):
        """A signal alone does not tell: run show says who ended it and why, and of one that ended by itself nothing."""
        site = self.site(FAST + '[workers]\nmax = 1\n[supervisor]\nidle_after = "1s"\nstop_grace = "1s"\n', """
cat > /dev/null
echo x > x.txt
[ "$OVERSEER_NODE" = T2 ] && exit 3
exec tail -f /dev/null
""")
        site.up()
        site.call("goal.create", title="Test", plan=plan(task("T1"), task("T2", deps=["T1"])))
        first = site.wait_type("run.ended")["run"]
        by = site.call("run.show", run=first)["ended_by"]
        self.assertRegex(by, r"^overseer: no sign of life for \S+; \S+")
        shown = site.cli("run", "show", first)
        self.assertRegex(shown, r"Ended by +overseer: no sign of life for 1s; ")
        self.assertNotIn("Verified", shown)
        second = site.wait_event(lambda e: e["type"] == "run.started" and e["run"] != first)["run"]
        site.cli("run", "stop", second, "--reason", "wrong branch")
        site.wait_event(lambda e: e["type"] == "run.ended" and e["run"] == second)
        self.assertRegex(site.cli("run", "show", second), r"Ended by +\S+: .*wrong branch\n")
        site.cli("work", "done", "T1", "--reason", "by hand")
        third = site.wait_type("run.ended", node="T2")["run"]
        site.wait_type("node.failed", node="T2")
        shown = site.cli("run", "show", third)
        self.assertIn("exit 3", shown)
        for word in "Ended by", "Verified":
            self.assertNotIn(word, shown)
        self.assertNotIn("pending", site.cli("run", "list"))

    def test_unknown_agent(self):
        site = self.site(FAST, COMMIT)
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1", suggestedAgent="nobody"), task("T2")))["goal"]
        self.assertEqual(self.blocked(site, "T1")["reason"], 'agent "nobody" is not configured; configured: script')
        site.wait_type("node.status", node="T2", to="done")
        question = site.call("status.get")["needs_you"][0]
        self.assertEqual((question["kind"], question["goal_id"]), ("no_agent", goal))
        self.assertEqual(site.runs(node="T1"), [])

    def test_an_agent_is_no_person(self):
        """It runs as the same user, but what it says of its own work is a report, never a decision."""
        site = self.site(FAST, """
setsid -w %s --dir "$HOME/repo/.overseer" work done T2 --reason "trust me" > "$HOME/said" 2>&1
echo $? > "$HOME/code"
%s --dir "$HOME/repo/.overseer" status > "$HOME/seen" 2>&1
""" % (CLI, CLI) + COMMIT)
        site.up()
        self.run_goal(site, task("T1"), task("T2", ["T1"]))
        self.assertEqual(site.home("code"), "5\n")
        self.assertIn("is for people", site.home("said"))
        self.assertIn("overseerd up", site.home("seen"))
        self.assertEqual(site.git("log", "--format=%s", "main").split("\n").count("Task T2"), 1)

    def test_program_missing(self):
        site = self.site(FAST + '[defaults]\nagent = "ghost"\n[agents.ghost]\ncommand = ["/nonexistent/agent"]\n')
        site.up()
        site.call("goal.create", title="Test", plan=plan(task("T1")))
        reason = self.blocked(site, "T1")["reason"]
        self.assertIn("failed 3 times", reason)
        self.assertIn("No such file or directory", reason)
        self.assertIn("/nonexistent/agent", reason)
        self.assertEqual(site.call("status.get")["workers_busy"], 0)

    def test_background_processes_are_swept(self):
        """What an agent leaves running, in whatever session, ends with its run."""
        agent = r"""
setsid sh -c 'echo $$ > "$HOME/pids.here"; exec sleep 3600' </dev/null >/dev/null 2>&1 &
sh -c 'trap "" TERM; echo $$ > "$HOME/pids.here"; while :; do sleep 3600; done' </dev/null >/dev/null 2>&1 &
read x < "$HOME/pids.go"
""" + COMMIT
        site = self.site(FAST + '[supervisor]\nstop_grace = "50ms"\n', agent)
        gate = site.gate("pids")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        pids = [int(gate.wait()), int(gate.wait())]
        gate.go()
        site.wait_goal(goal)
        wait_gone(*pids)
        self.assertGreaterEqual(site.runs()[0]["swept"], 2)
        self.assertEqual(site.live_pids(), [])

    def test_output_is_bounded(self):
        site = self.site(FAST + '[limits]\nrun_output = "1MiB"\n',
                         "head -c 5242880 /dev/zero | tr '\\0' x; echo; echo the last line" + COMMIT)
        site.up()
        self.run_goal(site, task("T1"))
        run = site.runs()[0]
        total = 5242880 + len("\nthe last line\n")
        self.assertEqual(run["output_bytes"] + run["dropped_bytes"], total)
        self.assertLessEqual(run["output_bytes"], 1024 * 1024)
        kept = site.output(run["id"])
        self.assertEqual(len(kept), run["output_bytes"])
        self.assertTrue(kept.endswith(b"x\nthe last line\n"))
        self.assertEqual(run["exit_code"], 0)
        # The log has both ends, and says what is missing between them.
        log = site.cli("run", "log", run["id"])
        self.assertTrue(log.endswith("x\nthe last line\n"), log[-100:])
        self.assertRegex(log, r"x\n… 4\.[0-9] MB left out …\nx")
        head = site.call("run.log", run=run["id"], max_bytes=512 * 1024)
        self.assertEqual((head["offset"], len(head["text"])), (0, 512 * 1024))
        tail = site.call("run.log", run=run["id"], offset=head["next_offset"], max_bytes=512 * 1024)
        self.assertEqual(tail["left_out_bytes"], run["dropped_bytes"])
        self.assertEqual(tail["next_offset"], total)
        self.assertIn("left out", site.cli("run", "show", run["id"]))

    def test_log_pages_and_waits(self):
        """Paging gives every byte once; wait_ms answers when there is more, not before."""
        lines = "".join(f"{i} äöü € 😀\n" for i in range(2000))
        site = self.site(FAST, 'cat "$HOME/lines"' + GATE + "echo more; " + GATE + "echo seen; " + GATE + COMMIT)
        site.write("../lines", lines)
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        run = gate.wait().split()[1]
        site.wait_type("run.started", run=run)
        text, offset = "", 0
        while offset < len(lines.encode()):
            page = site.call("run.log", run=run, offset=offset, max_bytes=1001, wait_ms=30000)
            self.assertFalse(page["ended"])
            self.assertEqual(page["offset"], offset)
            self.assertLessEqual(len(page["text"].encode()), 1001)
            self.assertEqual(page["next_offset"], offset + len(page["text"].encode()))
            text, offset = text + page["text"], page["next_offset"]
        self.assertEqual(text, lines)
        waiting = site.connect()
        self.addCleanup(waiting.close)
        waiting.send("run.log", {"run": run, "offset": offset, "wait_ms": 30000})
        other = site.call("run.log", run=run, offset=offset)
        self.assertEqual((other["text"], other["size"]), ("", offset))
        gate.go()
        self.assertEqual(waiting.receive()["result"]["text"], "more\n")
        self.assertEqual(gate.wait().split()[1], run)
        # A wait that nothing ends but the run itself: who reads the file has seen the output before the daemon has.
        waiting.send("run.log", {"run": run, "offset": offset + len("more\nseen\n"), "wait_ms": 30000})
        gate.go()
        self.assertEqual(site.call("run.log", run=run, offset=offset + len("more\n"), wait_ms=30000)["text"], "seen\n")
        self.assertEqual(gate.wait().split()[1], run)
        gate.go()
        last = waiting.receive()["result"]
        self.assertEqual(last["text"], "")
        self.assertTrue(last["ended"])
        site.wait_goal(goal)
        # At its end and beyond.
        page = site.call("run.log", run=run, offset=10 ** 12)
        self.assertEqual((page["text"], page["ended"]), ("", True))
        with self.assertRaises(RpcError) as e:
            site.call("run.log", run="R_NONE")
        self.assertEqual(e.exception.code, "E_NOT_FOUND")

    def test_log_wait_ends_with_its_time(self):
        site = self.site(FAST, GATE + COMMIT)
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        run = gate.wait().split()[1]
        page = site.call("run.log", run=run, wait_ms=1)
        self.assertEqual((page["text"], page["ended"]), ("", False))
        gate.go()
        site.wait_goal(goal)

    def test_output_that_is_not_text(self):
        """Any bytes are kept as they are, and shown as text."""
        site = self.site(FAST, r"""printf 'a\377\376b\000c\303( end \303\244\n'; cat "$HOME/bytes" """ + COMMIT)
        noise = bytes(range(256)) * 64
        with open(os.path.join(site.root, "bytes"), "wb") as f:
            f.write(noise)
        site.up()
        self.run_goal(site, task("T1"))
        run = site.runs()[0]["id"]
        self.assertTrue(site.output(run).endswith(noise))
        text, offset = "", 0
        while True:
            page = site.call("run.log", run=run, offset=offset, max_bytes=100)
            if page["next_offset"] == offset:
                break
            text, offset = text + page["text"], page["next_offset"]
        self.assertEqual(offset, page["size"])
        self.assertTrue(text.startswith("a\ufffd\ufffdb\ufffdc\ufffd("), ascii(text[:40]))
        self.assertIn("end ä\n", text)

    def test_failure_text_that_is_not_text(self):
        """A check whose output is noise: the log, the feedback and a restart stand it."""
        site = self.site(FAST + '[workspace]\ncheck_command = "printf \'\\\\377\\\\376 noise \\\\000\\\\033[31m\'; test -e two"\n',
                         '[ "$OVERSEER_ATTEMPT" = 1 ] || : > two\n' + COMMIT)
        site.up()
        self.run_goal(site, task("T1"))
        self.assertIn("noise", site.runs()[0]["verification_detail"])
        before = site.events()
        site.down()
        site.up()
        self.assertEqual(site.events()[:len(before)], before)

    def test_priorities(self):
        """With one worker, urgent goals come first, and within a goal the urgent node."""
        site = self.site(FAST + "[workers]\nmax = 1\n", 'echo "$OVERSEER_NODE" >> "$HOME/order"' + GATE + COMMIT)
        gate = site.gate("g")
        site.up()
        site.call("goal.create", title="first", plan=plan(task("A1")))
        gate.wait()  # the one worker is taken; the rest queues up behind it
        site.call("goal.create", title="low", priority="low", plan=plan(task("L1")))
        site.call("goal.create", title="normal", plan=plan(task("N1"), task("N2", priority=2)))
        last = site.call("goal.create", title="background", priority="background", plan=plan(task("B1")))["goal"]
        site.call("goal.create", title="urgent", priority="urgent", plan=plan(task("U1")))
        gate.go(6)
        site.wait_goal(last)
        order = site.home("order").split()
        self.assertEqual(order, ["A1", "U1", "N2", "N1", "L1", "B1"])

    def test_environment_and_instruction(self):
        """The agent sees what is passed on and nothing else; the instruction comes by all three ways."""
        site = self.site(FAST + r"""
[defaults]
agent = "stdin"
[agents.stdin]
command = "cat > stdin.txt; env > env.txt"
env = { EXTRA = "set" }
[agents.arg]
command = ["sh", "-c", "printf %s \"$1\" > arg.txt", "sh", "{prompt}"]
prompt = "arg"
[agents.file]
command = ["cp", "{prompt_file}", "file.txt"]
prompt = "file"
""")
        site.up(SECRET_TOKEN="do-not-pass-on")
        self.run_goal(site, task("T1", objective="say $(id) `id` 'x' \"y\"\n{prompt_file}"),
                      task("T2", suggestedAgent="arg"), task("T3", suggestedAgent="file"))
        env = site.git("show", "main:env.txt")
        self.assertNotIn("do-not-pass-on", env)
        for name in ("OVERSEER_RUN=R_", "OVERSEER_GOAL=goal_", "OVERSEER_NODE=T1", "OVERSEER_ATTEMPT=1", "EXTRA=set", "PATH="):
            self.assertIn(name, env)
        runs = {r["node_id"]: r["id"] for r in site.runs()}
        for node, name in (("T1", "stdin.txt"), ("T2", "arg.txt"), ("T3", "file.txt")):
            self.assertEqual(site.git("show", f"main:{name}"), site.read(f".overseer/runs/{runs[node]}/instruction"), name)
        self.assertIn("say $(id) `id` 'x' \"y\"\n{prompt_file}", site.git("show", "main:stdin.txt"))

    def test_agent_that_ignores_being_stopped(self):
        site = self.site(FAST + '[supervisor]\nstop_grace = "20ms"\n', "trap '' TERM\necho kept > kept" + GATE + GATE)
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        _, run, pid = gate.wait().split()
        site.call("work.update", node="T1", status="done", reason="enough")
        wait_gone(int(pid))
        site.wait_goal(goal)
        harvested = site.wait_type("run.harvested", run=run)
        self.assertEqual(site.call("run.show", run=run)["signal"], 9)
        self.assertEqual(site.git("show", harvested["data"]["rescue_ref"] + ":kept"), "kept\n")

    def test_update_refuses_nonsense(self):
        site = self.site(FAST, COMMIT)
        site.up()
        self.run_goal(site, task("T1"))
        before = site.seq()
        for params, code in (
                ({"node": "P1", "status": "done", "reason": "x"}, "E_STATE"),
                ({"node": "T1", "status": "queued", "reason": "x"}, "E_STATE"),
                ({"node": "T1", "status": "done", "reason": "x"}, "E_STATE"),
                ({"node": "T1", "status": "blocked", "reason": "x"}, "E_STATE"),
                ({"node": "T1", "status": "done", "reason": "  "}, "E_INVALID"),
                ({"node": "T1", "status": "sideways", "reason": "x"}, "E_INVALID"),
                ({"node": "T9", "status": "done", "reason": "x"}, "E_NOT_FOUND")):
            with self.assertRaises(RpcError) as e:
                site.call("work.update", **params)
            self.assertEqual(e.exception.code, code, params)
        self.assertEqual(site.seq(), before)

    def test_tick_and_explain(self):
        """A dry tick says what it would do and does nothing."""
        site = self.site(FAST + "[workers]\nmax = 1\n", GATE + COMMIT)
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1"), task("T2")))["goal"]
        gate.wait()
        before = site.seq()
        self.assertEqual(site.call("tick.now", dry_run=True)["decisions"], [])
        self.assertEqual(site.seq(), before)
        self.assertEqual(site.call("explain.get", id="T1")["noun"], "node")
        self.assertEqual(site.call("explain.get", id=goal)["noun"], "goal")
        self.assertEqual(site.call("explain.get", id=site.runs()[0]["id"])["noun"], "run")
        gate.go(2)
        site.wait_goal(goal)
        facts = site.call("explain.get", id="T1")["facts"]
        self.assertTrue(any("accept" in f["text"] for f in facts), facts)


if __name__ == "__main__":
    unittest.main(verbosity=2)
