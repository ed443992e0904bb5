"""What people see of the daemon's answers, and what --json hands on."""

import json
import re

from cli_case import Case, Refuse, ago, event, goal, main, running, status, worker

RUN = {"id": "R_01JC9AAAAAAAAAAAAAAAAAAAAA", "goal_id": goal()["id"], "node_id": "S1.2.3", "assignment_id": "A_1",
       "dispatch_id": "D_1", "agent": "claude", "worker": "pool-1", "attempt": 2, "epoch": 3, "status": "ended",
       "lost": False, "exit_code": 1, "signal": 0, "message": "it failed", "output_bytes": 10, "dropped_bytes": 0,
       "verification": "failed", "verification_detail": "make test: exit 2", "leftovers": True, "rescue_ref": "",
       "commits": 1, "files_changed": 2, "created_at": ago(150), "started_at": ago(149), "ended_at": ago(39),
       "duration_ms": 60000, "dir": "/x/.overseer/runs/R_1"}
NODE = {"id": "T1.1", "goal": goal()["id"], "tier": "task", "name": "Parser", "status": "done", "status_reason": "",
        "deps": [], "commit": "0123456789abcdef0123456789abcdef01234567", "updated_at": ago(90)}
EXPLAIN = {"id": goal()["id"] + "/S2.1.1", "noun": "node", "title": "Config schema", "status": "blocked",
           "since": ago(1050), "now": "blocked by overseer: retries used up",
           "facts": [{"seq": 3, "at": ago(1020), "type": "node.status", "text": "todo -> queued"},
                     {"seq": 9, "at": ago(900), "type": "run.started", "text": f"run {RUN['id']} started"}],
           "next": ["overseer work unblock --reason TEXT S2.1.1", "overseer work show S2.1.1"]}


def lane(state, **more):
    return {"agent": "gemini", "kind": "x", "state": state, "waits": True, "since": ago(1830), "until": None, "tried_again_at": None,
            "ends_when": "", "waiting": 1, "how": "", "escalation": None, **more}


ESC, BELL, BIDI = "\x1b", "\x07", "\u202e"


class Status(Case):
    def test_nothing(self):
        self.fake({"status.get": status()})
        self.assertEqual(self.ok("status").out,
                         "overseerd up 2h14m   0 of 2 workers busy\n"
                         'Nothing to do yet.  Next: overseer goal create --title "..." [--plan plan.json]\n')

    def test_everything(self):
        question = {"number": 12, "goal_id": goal()["id"], "node_id": "S2.1.2", "kind": "question",
                    "question": "Redis or in-process counters?", "status": "open", "answer": "",
                    "opened_at": ago(21 * 60 + 30), "closed_at": None, "options": ["redis", "in-process"],
                    "default_answer": "in-process", "expires_at": ago(-39 * 60 - 30), "answers": "redis|in-process|TEXT"}
        stalled = {"id": "S2.1.9", "name": "Slow one", "agent": "claude", "worker": "pool-1", "stalled_since": ago(17 * 60 + 5),
                   "rungs": {"nudge": 1}, "next": "nudge", "next_at": ago(-245)}
        wait = running("S2.1.1", "Config schema", worker="", stage="start", attempt=2, not_before=ago(-270),
                       reason="the run crashed")
        # What is stalled and still runs is told of once.
        silent = running("S2.1.9", "Slow one", status="stalled")
        held_up = goal("goal_01JD0AAAAAAAAAAAAAAAAAAAAA", title="Held up", progress={"done": 0, "leaves": 2, "blocked": 1})
        self.fake({"status.get": status(needs_you=[question], running=[running(), wait, silent], workers_busy=1,
                                        goals=[goal(), held_up], stalled=[stalled])})
        lines = self.ok("status").out.splitlines()
        self.assertEqual(lines[1], "NEEDS YOU (1)")
        self.assertRegex(lines[2], r"^  #12  S2\.1\.2  Redis or in-process counters\?  21m  default in 39m: in-process  "
                                   r"overseer inbox answer 12 redis\|in-process\|TEXT$")
        self.assertEqual(lines[3:5], ["RUNNING (1)", "  pool-1  claude  S1.2.3  Token bucket  18m  running"])
        self.assertEqual(lines[5], "WAITING (1)")
        self.assertRegex(lines[6], r"^  -  claude  S2\.1\.1  Config schema  18m  start in 4m: the run crashed$")
        self.assertEqual(lines[7:9], ["STALLED (1)",
                                      "  pool-1  claude  S2.1.9  Slow one  17m  nudged once, next: nudge in 4m"])
        self.assertEqual(lines[9:], ["GOALS (2)", "  goal_01JC8  Rate limiting  ######----  9/15  healthy",
                                     "  goal_01JD0  Held up        ----------   0/2  healthy  1 blocked"])

    def test_workers(self):
        """Workers of people are shown, those of auto mode apart with their sum; others only when they wait."""
        mode = {"on": True, "workers": 2, "completed": 41, "errors": 1, "since": ago(900), "stop_reason": ""}
        workers = [worker("pool-1", "pool", status="working"),
                   worker("pool-2", "pool", status="error", task="", reason="it could not be reset: x"),
                   worker("mine", "manual", status="working", wanted="reset"),
                   worker("auto-1", "auto", status="working", task="a task with a name that is " + "long " * 20),
                   worker("auto-2", "auto", status="idle", task="", reason="its work was accepted")]
        self.fake({"status.get": status(workers=workers, auto=mode),
                   "worker.list": {"workers": workers, "auto": mode, "workers_max": 2}})
        lines = self.ok("status").out.splitlines()
        self.assertEqual(lines[1], "WORKERS (2)")
        self.assertRegex(lines[2], r"^  pool-2  error +3m  claude  it could not be reset: x$")
        self.assertRegex(lines[3], r"^  mine    working, then reset  3m  claude  Fix it$")
        self.assertEqual(lines[4], "Auto Workers (2)")
        self.assertRegex(lines[5], r"^  auto-1  working  3m  claude  a task with a name that is long .{1,40}$")
        self.assertEqual(lines[7], "Auto Mode: 2 workers, 41 tasks completed, 1 errors")
        listed = self.ok("worker", "list").out
        for title in ("Workers of the pool (2)", "Workers of people (1)", "Auto Workers (2)"):
            self.assertIn(title, listed)
        mode.update(on=False, failed=True, stop_reason="the pool failed")
        self.assertIn("1 errors (it could not go on: the pool failed)", self.ok("status").out)

    def test_ids_are_as_long_as_they_must_be(self):
        goals = [goal("goal_01JC8AAAAAAAAAAAAAAAAAAAAA"), goal("goal_01JC8AAAAAAABAAAAAAAAAAAAA"),
                 goal("goal_01JD0AAAAAAAAAAAAAAAAAAAAA")]
        self.fake({"status.get": status(goals=goals), "goal.list": {"goals": goals}})
        for command in (["status"], ["goal", "list"]):
            out = self.ok(*command).out
            self.assertEqual(re.findall(r"goal_\w+", out),
                             ["goal_01JC8AAAAAAAA", "goal_01JC8AAAAAAAB", "goal_01JD0"])

    def test_old_goals_are_counted_only(self):
        goals = [goal(f"goal_0{i}C8AAAAAAAAAAAAAAAAAAAAAA", status="completed", ended_at=ago(i)) for i in range(9)]
        self.fake({"status.get": status(goals=goals + [goal()])})
        out = self.ok("status").out
        self.assertIn("GOALS (10)", out)
        self.assertIn("and 4 that are over: overseer goal list", out)
        self.assertEqual(out.count("completed"), 5)

    def test_json_is_handed_on(self):
        answer = status(extra={"z": 1, "a": [1.5, None, True, "ü"]})
        self.fake({"status.get": answer})
        out = self.ok("status", "--json").out
        self.assertEqual(json.loads(out), answer)
        self.assertEqual(list(json.loads(out)), list(answer))
        self.assertEqual(out.count("\n"), 1)

    def test_strange_answers_do_no_harm(self):
        for answer in ({}, {"daemon": 7, "goals": "x", "running": {}, "needs_you": [1, None]},
                       status(goals=[{}, 5, {"progress": {"done": 10**15, "leaves": 1}}], running=[{"not_before": "?"}])):
            self.fake({"status.get": answer}).answers["status.get"] = answer
            self.assertEqual(self.run_cli("status").code, 0)
            self.tearDownFake()

    def tearDownFake(self):
        self.doCleanups()
        self.setUp()


class Terminal(Case):
    def test_colours(self):
        self.fake({"status.get": status(goals=[goal()])})
        self.assertNotIn(ESC, self.ok("status").out)
        code, shown = self.on_terminal("status")
        self.assertEqual(code, 0)
        self.assertIn(ESC + "[32mhealthy" + ESC + "[0m", shown)
        self.assertNotIn(ESC, self.on_terminal("status", env={"NO_COLOR": "1"})[1])
        self.assertNotIn(ESC, self.on_terminal("status", env={"TERM": "dumb"})[1])
        self.assertIn(ESC, self.on_terminal("status", env={"NO_COLOR": ""})[1])
        self.assertNotIn(ESC, self.on_terminal("status", "--json")[1])

    def test_ascii(self):
        tree = {**goal(title="Größe"), "phases": [{**NODE, "id": "P1", "children": [
            {**NODE, "children": []}, {**NODE, "id": "T1.2", "status": "todo", "commit": "", "deps": ["T1.1"],
                                       "children": []}]}]}
        self.fake({"plan.show": tree})
        out = self.ok("plan", "show", "goal_").out
        self.assertIn("├─ T1.1  Parser", out)
        self.assertIn("└─ T1.2  Parser", out)
        self.assertIn("Größe", out)
        for env in ({"LC_ALL": "C"}, {"LC_ALL": "", "LC_CTYPE": "POSIX", "LANG": "de_DE.UTF-8"},
                    {"LC_ALL": "", "LANG": ""}):
            out = self.ok("plan", "show", "goal_", env=env).out
            self.assertTrue(out.isascii(), out)
            self.assertIn("|- T1.1  Parser", out)
            self.assertIn("`- T1.2  Parser", out)
            self.assertIn("Gr??e", out)
        self.assertIn("├─", self.ok("plan", "show", "goal_", env={"LC_ALL": "", "LANG": "de_DE.utf8"}).out)

    def test_plan_tree_tells_progress_and_what_is_ready(self):
        tree = {**goal(), "removed": [NODE], "phases": [{
            **NODE, "id": "P1", "commit": "", "status": "in_progress",
            "progress": {"leaves": 4, "done": 1, "cancelled": 1, "blocked": 0, "done_pct": 33},
            "children": [{**NODE, "id": "T1.2", "status": "todo", "commit": "", "ready": True, "children": []}]}]}
        self.fake({"plan.show": tree})
        lines = self.ok("plan", "show", "goal_").out.splitlines()
        self.assertRegex(lines[3], r"^P1 +Parser +in_progress +1/3  33%$")
        self.assertRegex(lines[4], r"T1\.2 +Parser +todo +ready$")
        self.assertRegex(lines[6], "^1 removed by later versions: overseer plan history goal_01JC8A+$")

    def test_plan_versions(self):
        version = {"version": 2, "at": ago(5), "actor": "human:ann", "source": "file", "reason": "bigger\nthan thought",
                   "added": ["T4"], "changed": [], "removed": ["T1", "T2"], "kept": 3, "seq": 9}
        diff = {"goal": goal()["id"], "from": 1, "to": 2, "kept": ["P1"],
                "added": [{"id": "T4", "name": "Größe", "tier": "task", "parent": "P1"}], "removed": [],
                "changed": [{"id": "T3", "name": "n", "tier": "task", "parent": "P1",
                             "changes": [{"key": "deps", "from": None, "to": ["T4"]}]}]}
        self.fake({"plan.history": {"goal": goal()["id"], "version": 2, "versions": [version]}, "plan.diff": diff})
        self.assertRegex(self.ok("plan", "history", "goal_").out,
                         r"^v2 .* file +\+1 ~0 -2 =3 +human:ann +bigger.than thought\n$")
        self.assertEqual(self.ok("plan", "diff", "goal_", "v1").out.splitlines()[1:],
                         ["+ T4  Größe", "~ T3  n", '    deps: (none) → ["T4"]',
                          "1 added, 1 changed, 0 removed, 1 kept"])
        self.assertTrue(self.ok("plan", "diff", "goal_", env={"LC_ALL": "C"}).out.isascii())
        self.assertEqual(json.loads(self.ok("plan", "diff", "goal_", "--json").out), diff)

    def test_alignment_counts_columns(self):
        self.fake({"status.get": status(running=[running("T1", "日本語"), running("T2", "e\u0301clair"),
                                                 running("T3", "plain")])})
        lines = self.ok("status").out.splitlines()[2:5]
        self.assertEqual([line.index("18m") for line in lines], [27, 31, 30])

    def test_text_of_others_cannot_steer_the_terminal(self):
        bad = f"a{ESC}]0;owned{BELL}b{ESC}[2Jc\rd\ne{BIDI}f\u009bg\x7f"
        self.fake({
            "status.get": status(goals=[goal(title=bad)], lanes=[lane(bad, agent=bad, how=bad, ends_when=bad, until=bad)],
                                 running=[running(bad, bad, agent=bad, worker=bad, not_before=ago(-60), last_lines=bad)]),
            "agent.list": {"agents": [{"name": bad, "limit": lane(bad, how=bad, since=bad), "cannot_tell": [{"about": bad}]}]},
            "agent.show": {"name": bad, "title": bad, "program": bad, "model": bad, "description": bad, "roles": [bad],
                           "capabilities": [bad], "limit": lane(bad), "cannot_tell": [{"about": bad, "why": bad}]},
            "inbox.show": {"number": 1, "question": bad, "kind": bad, "status": "open", "last_lines": bad},
            "goal.list": {"goals": [goal(title=bad, status=bad)]},
            "goal.show": {**goal(title=bad, status_reason=bad), "owner": bad, "problem_statement": bad,
                          "success_criteria": [bad], "constraints": [bad], "non_goals": [bad], "tags": [bad],
                          "escalations": [{"question": bad}]},
            "plan.show": {**goal(title=bad), "phases": [{**NODE, "id": bad, "name": bad, "worker": bad, "agent": bad}]},
            "work.list": {"nodes": [{**NODE, "id": bad, "name": bad, "status_reason": bad, "commit": ""}]},
            "work.show": {**NODE, "id": bad, "name": bad, "objective": bad, "acceptance": [bad], "runs": [RUN],
                          "assignment": {"agent": bad, "worker": bad, "stage": bad}},
            "work.update": {"node": bad, "status": bad},
            "run.list": {"runs": [{**RUN, "agent": bad, "node_id": bad}]},
            "run.show": {**RUN, "message": bad, "verification_detail": bad, "dir": bad},
            "run.log": {"text": bad, "offset": 0, "next_offset": 9, "size": 9, "ended": True},
            "events.list": {"events": [event(text=bad, node=bad)], "head": 1, "next_after": 1},
            "handoff.show": {"id": bad, "text": bad},
            "explain.get": {**EXPLAIN, "conclusion": {"state": bad, "why": bad, "next": bad}, "last_lines": bad, "id": bad, "title": bad, "now": bad, "next": [bad], "state": bad,
                            "evidence": [{"at": None, "text": bad}, {"at": bad, "text": bad}], "instruction": bad,
                            "facts": [{"seq": 1, "at": bad, "text": bad}]},
            "tick.now": {"decisions": [{"decision": bad, "goal": bad, "node": bad, "why": bad}], "wake_at": bad},
            "config.show": {"file": bad, "options": {bad: {"value": bad, "set": True}}},
            "config.reload": Refuse("E_INVALID", bad, bad, -32001),
        })
        for command in (["status"], ["goal", "list"], ["goal", "show", "x"], ["plan", "show", "x"], ["work", "list"],
                        ["work", "show", "x"], ["work", "block", "x", "--reason", "y"], ["run", "list"],
                        ["run", "show", "x"], ["run", "log", "x"], ["events"], ["explain", "x"], ["tick"], ["handoff", "show", "x"],
                        ["agent", "list"], ["agent", "show", "x"], ["inbox", "show", "1"], ["config", "show", "--effective"], ["config", "reload"]):
            for env in ({}, {"LC_ALL": "C"}):
                done = self.run_cli(*command, env=env)
                for text in (done.out, done.err):
                    self.assertNotRegex(text, "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", command)

    def test_raw_log(self):
        page = {"text": f"{ESC}[31mred{ESC}[0m\ttab\r\nbell{BELL}\n", "offset": 0, "next_offset": 9, "size": 9, "ended": True}
        self.fake({"run.log": page})
        self.assertEqual(self.run_cli("run", "log", "R_", "--raw", text=False).out.decode(), page["text"])
        self.assertEqual(self.ok("run", "log", "R_").out, "\ufffd[31mred\ufffd[0m\ttab\nbell\ufffd\n")


class Lanes(Case):
    def test_status(self):
        known = lane("rate limited", until=ago(-725), waiting=2, how='its output (run R_01JC9AAAAAAAAAAAAAAAAAAAAA): "quota"')
        unknown = lane("rate limited", agent="codex", tried_again_at=ago(-245))
        out = lane("logged out", agent="claude", ends_when="you log it in", escalation=4)
        self.fake({"status.get": status(lanes=[known, unknown, out])})
        text = self.ok("status").out
        self.assertRegex(text, r'AGENTS WAITING \(3\)\n  gemini  rate limited until (\S+ )?\d\d:\d\d \(in 12m\) +since \S.* +2 tasks wait  '
                               r'known by its output \(run R_01JC9AAAAAAAAAAA\): "quota"\n')
        self.assertRegex(text, r"  codex   rate limited, until unknown, tried again at (\S+ )?\d\d:\d\d \(in 4m\) +since .* 1 task waits\n")
        self.assertRegex(text, r"  claude  logged out until you log it in +since .* 1 task waits  overseer inbox show 4\n")

    def test_another_reason_needs_no_word_here(self):
        self.fake({"status.get": status(lanes=[lane("out of service", ends_when="you answer", escalation=7)])})
        self.assertRegex(self.ok("status").out, r"gemini  out of service until you answer +since .*overseer inbox show 7\n")

    def test_agents(self):
        agent = {"name": "gemini", "runtime": "exec", "format": "gemini", "program": "/x", "in_use": 0, "concurrency": 1}
        self.fake({"agent.list": {"agents": [{**agent, "limit": lane("rate limited", until=ago(-725), how="its output")},
                                             {**agent, "name": "b", "limit": lane("rate limited", waits=False, until=ago(9))},
                                             {**agent, "name": "c", "limit": None}]}})
        lines = self.ok("agent", "list").out.splitlines()
        self.assertRegex(lines[1], r"^gemini .* rate limited until (\S+ )?\d\d:\d\d \(in 12m\) ")
        self.assertRegex(lines[2], r"^b .* ready ")
        self.assertRegex(lines[3], r"^c .* ready ")
        self.assertRegex(lines[4], r"^  gemini  not given work since .* \(30m ago\)  known by its output$")

    def test_what_a_failed_agent_wrote(self):
        need = {"number": 3, "goal_id": goal()["id"], "node_id": "T1", "kind": "failed", "question": "How shall it go on?", "status": "open",
                "opened_at": ago(60), "answers": "retry|done", "last_lines": "one\ntwo\nthree"}
        wait = running("T2", "Two", not_before=ago(-60), last_lines="four\nfive")
        self.fake({"status.get": status(needs_you=[need], running=[wait])})
        text = self.ok("status").out
        self.assertRegex(text, r"NEEDS YOU \(1\)\n  #3 .*\n +\| two\n +\| three\n")
        self.assertRegex(text, r"WAITING \(1\)\n  .*T2.*\n +\| five\n")
        self.assertNotIn("| one", text)
        self.assertNotIn("| four", text)


class Goals(Case):
    def test_create(self):
        tree = {**goal(), "phases": [{"id": "P1", "deps": [], "status": "todo", "children": [
            {"id": "T1.1", "deps": [], "status": "done", "waits": False, "children": []},
            {"id": "T1.2", "deps": ["T1.1"], "status": "todo", "children": [
                {"id": "S1.2.1", "deps": [], "status": "todo", "waits": False, "children": []},
                {"id": "S1.2.2", "deps": ["S1.2.1"], "status": "todo", "waits": True, "children": []}]}]},
            {"id": "P2", "deps": ["P1"], "status": "todo", "children": [
                {"id": "T2.1", "deps": [], "status": "todo", "waits": True, "children": []}]}]}
        daemon = self.fake({"goal.create": {"goal": goal()["id"]}, "plan.show": tree})
        self.write("plan.json", json.dumps({"phases": [{"id": "P1", "name": "One", "tasks": [
            {"id": "T1.1", "name": "A", "acceptance": ["b"]}]}]}))
        self.write("problem.md", "What\nis wrong.\n")
        out = self.ok("goal", "create", "--title", "Rate limiting", "--problem", "@problem.md", "--success", "a",
                      "--success=b", "--constraint", "c", "--non-goal", "d", "--tag", "e", "--tag", "f",
                      "--priority", "high", "--plan", "plan.json").out
        self.assertEqual(out, "goal_01JC8AAAAAAAAAAA created.\n"
                              "2 phases, 3 tasks, 2 subtasks. Ready now: T1.1, S1.2.1\n"
                              "Next  overseer plan show goal_01JC8AAAAAAAAAAA      overseer status --watch\n")
        method, params = daemon.asked[0]
        self.assertEqual(method, "goal.create")
        self.assertEqual(params.pop("plan")["phases"][0]["id"], "P1")
        self.assertEqual(params, {"title": "Rate limiting", "problem_statement": "What\nis wrong.",
                                  "success_criteria": ["a", "b"], "constraints": ["c"], "non_goals": ["d"],
                                  "tags": ["e", "f"], "priority": "high"})

    def test_create_without_plan(self):
        daemon = self.fake({"goal.create": {"goal": goal()["id"]}})
        self.assertIn("plan apply --goal goal_01JC8", self.ok("goal", "create", "--title", "x").out)
        self.assertEqual(daemon.asked, [("goal.create", {"title": "x"})])

    def test_a_bad_plan_is_not_sent(self):
        daemon = self.fake({"goal.create": {"goal": goal()["id"]}})
        self.write("plan.json", '{"phases": [{"id": "P1"}]}')
        self.assertIn("plan.json: ", self.fails(2, "goal", "create", "--title", "x", "--plan", "plan.json").out)
        error = self.fails(2, "goal", "create", "--title", "x", "--plan", "plan.json", "--json")
        self.assertEqual((error.out, error.error()["code"]), ("", "E_INVALID_PLAN"))
        self.fails(2, "plan", "apply", "--goal", "g", "plan.json")
        self.fails(3, "goal", "create", "--title", "x", "--problem", "@absent")
        self.assertEqual(daemon.asked, [])

    def test_apply(self):
        daemon = self.fake({"plan.apply": {"goal": goal()["id"], "version": 2}})
        text = json.dumps({"phases": [{"id": "P1", "name": "O", "tasks": [{"id": "T1.1", "name": "A", "acceptance": ["b"]}]}]})
        self.assertIn("Plan version 2", self.ok("plan", "apply", "--goal", "goal_01", "-", stdin=text).out)
        self.assertEqual(daemon.asked[0][1]["goal"], "goal_01")

    def test_empty_lists(self):
        self.fake({"goal.list": {"goals": []}, "work.list": {"nodes": []}, "run.list": {"runs": []},
                   "events.list": {"events": [], "head": 0, "next_after": 0}})
        self.assertIn("No goals.\nNext  overseer goal create", self.ok("goal", "list").out)
        self.assertEqual(self.ok("work", "list").out, "No work yet.\n")
        self.assertEqual(self.ok("run", "list").out, "No runs yet.\n")
        self.assertEqual(self.ok("run", "list", "--status", "ended").out, "No runs fit.\n")
        self.assertEqual(self.ok("events").out, "No events.\n")


class Work(Case):
    def test_list(self):
        other = goal("goal_01JD0AAAAAAAAAAAAAAAAAAAAA")["id"]
        one, two = {**NODE}, {**NODE, "id": "T1.2", "status": "in_progress", "commit": "", "worker": "pool-1",
                              "agent": "claude", "stage": "check", "attempt": 1}
        daemon = self.fake({"work.list": {"nodes": [one, two]}})
        out = self.ok("work", "list", "--goal", "goal_01", "--status", "done").out
        self.assertEqual(out, "T1.1  done         1m  Parser  commit 0123456789\n"
                              "T1.2  in_progress  1m  Parser  claude in pool-1: check\n")
        self.assertEqual(daemon.asked[0][1], {"goal": "goal_01", "status": "done"})
        daemon.answers["work.list"] = {"nodes": [one, {**two, "goal": other}]}
        self.assertIn("goal_01JD0/T1.2", self.ok("work", "list").out)

    def test_updates(self):
        daemon = self.fake({"work.update": lambda p: {"node": p["node"], "status": p["status"]}})
        self.assertIn("T1 is done.", self.ok("work", "done", "T1", "--reason", "I looked").out)
        self.ok("work", "block", "T1", "--reason", "no", "--unblock-when", "yes", "--goal", "g")
        self.ok("work", "unblock", "--reason", "r", "--", "T1")
        self.assertEqual([params for _, params in daemon.asked], [
            {"node": "T1", "status": "done", "reason": "I looked"},
            {"node": "T1", "status": "blocked", "goal": "g", "reason": "no", "unblock_when": "yes"},
            {"node": "T1", "status": "queued", "reason": "r"}])
        self.fails(2, "work", "done", "T1")

    def test_runs(self):
        self.fake({"run.list": {"runs": [RUN]}, "run.show": RUN})
        self.assertEqual(self.ok("run", "list").out,
                         "RUN         TASK    ATTEMPT  AGENT   RESULT  CHECK   TOOK  STARTED\n"
                         "R_01JC9AAA  S1.2.3  2        claude  exit 1  failed    1m  2m ago\n")
        out = self.ok("run", "show", "R_").out
        self.assertIn("exit 1 after 1m", out)
        self.assertIn("failed: make test: exit 2", out)
        self.assertIn("uncommitted work was committed for it", out)

    def test_explain(self):
        self.fake({"explain.get": EXPLAIN})
        lines = self.ok("explain", "S2.1.1").out.splitlines()
        self.assertRegex(lines[0], r'^goal_01JC8AAAAAAAAAAA/S2\.1\.1 "Config schema" is BLOCKED since .* \(17m ago\)\.$')
        # A daemon of before says no conclusion: what it says now and what can be typed stand for it.
        self.assertEqual(lines[1:3], ["Why   blocked by overseer: retries used up", "Next  overseer work unblock --reason TEXT S2.1.1"])
        self.assertTrue(lines[4].endswith("run R_01JC9AAAAAAAAAAA started"))
        self.assertEqual(lines[5], "Commands  overseer work unblock --reason TEXT S2.1.1")

    def test_explain_begins_with_the_conclusion(self):
        facts = [{"seq": i, "at": ago(900 - i), "type": "x", "text": f"fact {i}", "minor": i % 2 == 0} for i in range(40)]
        answer = {**EXPLAIN, "conclusion": {"state": "blocked", "why": "the agent failed", "next": "it waits for your answer"},
                  "facts": facts, "last_lines": "one\ntwo"}
        self.fake({"explain.get": answer})
        lines = self.ok("explain", "S2.1.1").out.splitlines()
        self.assertEqual(lines[1:4], ["Why   the agent failed", "Next  it waits for your answer", "  28 facts left out  overseer explain --all goal_01JC8AAAAAAAAAAA/S2.1.1"])
        self.assertEqual([x.split("  ")[2] for x in lines[4:16]], [f"fact {i}" for i in range(17, 40, 2)])
        self.assertEqual(lines[16:19], ["The agent wrote last", "  | one", "  | two"])
        every = self.ok("explain", "S2.1.1", "--all").out
        self.assertEqual((every.count("fact "), "left out" in every), (40, False))
        self.assertIn("Now       blocked by overseer: retries used up\n", every)

    def test_tick(self):
        daemon = self.fake({"tick.now": {"decisions": [{"decision": "assign", "goal": "g", "node": "T1", "agent": "a",
                                                        "worker": "pool-1", "why": "it is ready"}],
                                         "wake_at": ago(-150)}})
        out = self.ok("tick", "--dry-run").out
        self.assertRegex(out, r"^1 decision, none of them carried out; looks again in 2m\n  T1  assign  a  pool-1  it is ready\n$")
        self.ok("tick", "--now")
        self.assertEqual(daemon.asked, [("tick.now", {"dry_run": True}), ("tick.now", {})])

    def test_config(self):
        options = {"workers.max": {"value": 3, "default": 2, "set": True, "help": "h"},
                   "http.port": {"value": 0, "default": 0, "set": False, "help": "h"}}
        self.fake({"config.show": {"file": "/x/config.toml", "options": options}, "config.reload": {"reloaded": True}})
        self.assertEqual(self.ok("config", "show").out, "/x/config.toml\nworkers.max  = 3  (set)\n")
        self.assertEqual(self.ok("config", "show", "--effective").out,
                         "/x/config.toml\nworkers.max  = 3  (set)\nhttp.port    = 0\n")
        self.assertIn("as it is now", self.ok("config", "reload").out)

    def test_log_in_pages(self):
        text = "".join(f"line {i}\n" for i in range(20000))

        def page(params):
            piece = text[params["offset"]:params["offset"] + 50000]
            return {"text": piece, "offset": params["offset"], "next_offset": params["offset"] + len(piece),
                    "size": len(text), "ended": True}
        self.fake({"run.log": page})
        self.assertEqual(self.ok("run", "log", "R_").out, text)
        pages = [json.loads(line) for line in self.ok("run", "log", "R_", "--json").out.splitlines()]
        self.assertEqual("".join(p["text"] for p in pages), text)

    def test_ids_in_sentences(self):
        commit = "0123456789abcdef0123456789abcdef01234567"
        text = f"commit {commit}, kept in refs/overseer/accepted/{RUN['id']}, run {RUN['id']}; {commit}0 {RUN['id']}Z"
        self.fake({"events.list": {"events": [event(text=text)], "head": 1, "next_after": 1}})
        self.assertIn(f"commit 0123456789ab, kept in refs/overseer/accepted/{RUN['id']}, run R_01JC9AAAAAAAAAAA; {commit}0 ",
                      self.ok("events").out)


class Inbox(Case):
    ENTRY = {"number": 12, "goal_id": goal()["id"], "node_id": "S2.1.2", "assignment_id": "", "kind": "question",
             "question": "Redis or \x1b[31min-process\x1b[0m counters?\nSecond line", "options": ["redis", "in-process"],
             "default_answer": "in-process", "status": "open", "answer": "", "answered_by": "", "reminders": 1, "blocks": 3,
             "opened_at": ago(21 * 60 + 30), "closed_at": None, "expires_at": ago(-39 * 60 - 30),
             "answers": "redis|in-process|TEXT",
             "commands": ["overseer inbox answer 12 redis|in-process|TEXT", f"overseer explain {goal()['id']}/S2.1.2"]}

    def test_list(self):
        self.fake({"inbox.list": {"inbox": [self.ENTRY]}})
        for command in (["inbox"], ["inbox", "list"]):
            lines = self.ok(*command).out.splitlines()
            self.assertRegex(lines[0], r'^#12  question  goal_\w+/S2\.1\.2  "Redis or .*counters\? ?.*"  21m  default in 39m: in-process$')
            self.assertNotIn("\x1b", lines[0])
            self.assertRegex(lines[1], r"^     overseer inbox answer 12 redis\|in-process\|TEXT    overseer explain goal_\w+/S2\.1\.2$")
            self.assertEqual(len(lines), 2)

    def test_empty_and_all(self):
        fake = self.fake({"inbox.list": {"inbox": []}})
        self.assertEqual(self.ok("inbox", "--all").out, "Nothing needs you.\n")
        self.assertEqual(fake.asked[-1][1], {"all": True})

    def test_show(self):
        self.fake({"inbox.show": {**self.ENTRY, "facts": [{"seq": 1, "at": ago(60), "type": "node.failed", "text": "failed"}],
                                  "now": "blocked"}})
        out = self.ok("inbox", "show", "12").out
        for text in ("#12 question", "Second line", "Options", "redis", "3 more pieces of work", "What led to it", "failed",
                     "Next  overseer inbox answer 12"):
            self.assertIn(text, out)
        self.assertNotIn("\x1b", out)

    def test_answer_is_one_text(self):
        fake = self.fake({"inbox.answer": {"escalation": 12, "goal": goal()["id"], "node": "S2.1.2", "status": "answered",
                                           "answer": "use redis", "node_status": "queued"}})
        out = self.ok("inbox", "answer", "#12", "use", "redis").out
        self.assertEqual(fake.asked[-1][1], {"answer": "use redis", "number": 12})
        self.assertIn("S2.1.2 is queued.", out)

    HELD = {"number": 11, "goal_id": goal()["id"], "node_id": "", "kind": "paused", "question": "stuck: same error 5 times",
            "status": "open", "opened_at": ago(7230), "urgency": "critical", "why": "oversight paused the goal",
            "detection": {"id": "D_1", "type": "stuck", "severity": "critical", "message": "same error 5 times"},
            "answers": "resume|abort|TEXT", "raised": 2, "raised_at": ago(65),
            "commands": ["overseer inbox answer 11 resume|abort|TEXT"]}

    def test_what_oversight_stopped(self):
        self.fake({"inbox.list": {"inbox": [self.HELD], "snoozed": 0}, "inbox.show": self.HELD})
        self.assertRegex(self.ok("inbox").out, r'#11  paused  goal_\w+  "stuck: same error 5 times"  2h  waits for you\n')
        out = self.ok("inbox", "show", "11").out
        for text in ("oversight paused the goal", "stuck, critical: same error 5 times", "again, 2 times; last 1m ago",
                     "waits for you", "overseer inbox snooze 11 4h"):
            self.assertIn(text, out)

    def test_what_was_put_off(self):
        later = {**self.HELD, "snoozed": True, "snoozed_until": ago(-3700)}
        self.fake({"inbox.list": {"inbox": [later], "snoozed": 1}, "status.get": status(snoozed=1)})
        self.assertRegex(self.ok("inbox", "--all").out, r"2h  put off, back in 1h1m\n")
        self.assertIn("PUT OFF (1)  overseer inbox --all\n", self.ok("status").out)

    def test_only_what_was_put_off(self):
        self.fake({"inbox.list": {"inbox": [], "snoozed": 2}})
        self.assertEqual(self.ok("inbox").out, "Nothing needs you.\n2 more put off.  Next  overseer inbox --all\n")

    def test_words(self):
        done = {"escalation": 12, "goal": goal()["id"], "node": "", "status": "answered", "answer": "resume",
                "goal_status": "active"}
        fake = self.fake({"inbox.approve": done, "inbox.deny": done, "inbox.dismiss": done, "inbox.answer": done,
                          "inbox.snooze": {**done, "snoozed_until": ago(-7230), "expires_at": None}})
        self.assertIn("Its goal is active.", self.ok("inbox", "approve", "12", "--reason", "fine").out)
        self.assertEqual(fake.asked[-1], ("inbox.approve", {"number": 12, "reason": "fine"}))
        self.ok("inbox", "deny", "12")
        self.assertEqual(fake.asked[-1], ("inbox.deny", {"number": 12}))
        self.ok("inbox", "dismiss", "12", "--false-positive")
        self.assertEqual(fake.asked[-1], ("inbox.dismiss", {"number": 12, "false_positive": True}))
        self.ok("inbox", "answer", "12", "resume", "--budget", "iterations=30", "--estimate", "cost_usd=2.5")
        self.assertEqual(fake.asked[-1][1], {"number": 12, "answer": "resume", "budget": {"iterations": 30},
                                             "estimate": {"cost_microusd": 2500000}})
        self.assertIn("comes back in 2h, or when there is new evidence", self.ok("inbox", "snooze", "12", "2h").out)
        self.assertEqual(fake.asked[-1], ("inbox.snooze", {"number": 12, "for_ms": 7200000}))
        self.assertIn("is not a time such as 4h, tomorrow", self.fails(2, "inbox", "snooze", "12", "later").err)
        self.assertIn("iterations, wall, tokens or cost_usd", self.fails(2, "inbox", "answer", "12", "x", "--budget", "runs=3").err)

    def test_usage(self):
        self.fake({})
        for args in (["inbox", "answer", "12"], ["inbox", "answer", "x", "y"], ["inbox", "show"], ["inbox", "foo"],
                     ["queue", "drop", "T1"], ["work", "cancel", "T1"], ["run", "stop"]):
            self.assertIn("overseer", self.fails(2, *args).err)


class Queue(Case):
    def test_list(self):
        entry = {"goal": goal()["id"], "node": "T1", "name": "First", "priority": 3, "agent": "claude", "worker": "pool-1",
                 "branch": "b", "step": "rebase", "state": "waits", "why": "the checkout is dirty", "not_before": ago(-125), "since": ago(65)}
        self.fake({"queue.list": {"accept": [entry], "dispatch": [{**entry, "node": "T2", "step": "", "not_before": None,
                                                                    "why": "no worker is free"}]}})
        lines = self.ok("queue", "list").out.splitlines()
        self.assertEqual(lines[0], "TO BE ACCEPTED (1)")
        self.assertRegex(lines[1], r"^  1  goal_\w+/T1  First  priority 3  claude  rebase  1m  again in 2m: the checkout is dirty$")
        self.assertEqual(lines[2], "TO BE BEGUN (1)")
        self.assertRegex(lines[3], r"^  1  goal_\w+/T2  First  priority 3  claude +1m  no worker is free$")


if __name__ == "__main__":
    main()
