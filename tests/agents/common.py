"""What every agent must do under Overseer, whatever it is called: one class, a subclass per agent."""

import os
import re
import shutil
import signal

import real
from real import FORCE, QUICK, harness, script


def children_of(pid):
    """The living ones, the oldest first."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as f:
                state, parent, *rest = f.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(parent) == pid and state != "Z":
            found.append((int(rest[17]), int(name)))
    return [child for _, child in sorted(found)]


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as f:
            return f.read().split("\0")
    except OSError:
        return [""]


def running(text):
    """Processes that name this text on their command line; zombies have none."""
    return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
            if pid != os.getpid() and any(text in word for word in command_of(pid))]


# Of agents that take seconds to start.
SLOW = ("test_finished_while_no_daemon_was_there", "test_stopped_in_a_tool", "test_a_tool_that_hangs")


class Common(real.RealCase):
    kind = None  # one of real.AGENTS
    slow = ()  # tests of it that only run at full size: what they show depends little on the agent

    def __init_subclass__(cls, **more):
        super().__init_subclass__(**more)
        for name in () if harness.FULL else cls.slow:
            assert callable(getattr(cls, name))
            setattr(cls, name, None)

    def work(self, node, said="All done."):
        """The steps of a turn that makes NODE.txt."""
        return [self.kind.shell(f"echo work of {node} > {node}.txt"), {"text": said}]

    def endless(self, site):
        """A step with a tool that writes a file, says at the gate that it is there, and never ends."""
        self.token = site.write("../token", "")
        self.gate = site.gate("tool")
        return self.kind.shell(f"echo half > half.txt; echo up > {site.root}/tool.here; tail -f {self.token}")

    def agent_pid(self, site):
        """The process of the one run: the shim's first child. Orphans of the agent become its children, too."""
        shims = [pid for pid in running(site.root) if command_of(pid)[0].endswith("/overseer-run")]
        self.assertEqual(len(shims), 1, [command_of(pid) for pid in shims])
        agents = children_of(shims[0])
        self.assertTrue(agents)
        return agents[0]

    def continues_after_its_turns(self, site):
        """It may take one turn per run, and each changes something: that is no failure, however often."""
        parts = 4  # more than attempts
        goal = self.goal(site, self.task("T1", *([self.kind.shell(f"echo {n} > part.{n}"), {"text": "never said"}]
                                                 for n in range(parts)), [{"text": "It is all there."}]))
        site.wait_goal(goal)
        runs = [self.run_of(site, "T1", n) for n in range(parts + 1)]
        self.assertEqual([(r["verdict"], r["trouble"], r["resumed"]) for r in runs],
                         [("failed", "max_turns", n > 0) for n in range(parts)] + [("ok", "none", True)])
        self.assertEqual(len({r["session"] for r in runs}), 1)
        self.assertEqual(self.kinds_of(site, "node.failed"), [])
        self.assertEqual([e["data"]["trouble"] for e in self.kinds_of(site, "run.continued")], ["max_turns"] * parts)
        self.assertEqual(site.git("show", f"main:part.{parts - 1}"), f"{parts - 1}\n")
        self.assertIn("continues", self.cli(site, "explain", "T1", "--all"))

    def fails_after_its_turns(self, site):
        """The first run changes something, the ones after it nothing: those are failures, and a person is asked."""
        self.goal(site, self.task("T1", [self.kind.shell("echo part > part.txt"), {"text": "never said"}],
                                  *([self.kind.shell("cat part.txt"), {"text": "never said"}] for _ in range(5))))
        site.wait_type("escalation.opened")
        runs = [self.run_of(site, "T1", n) for n in range(len(site.runs()))]
        self.assertEqual([(r["trouble"], r["resumed"]) for r in runs], [("max_turns", n > 0) for n in range(4)])
        self.assertEqual([(e["data"]["cause"], e["data"]["count"]) for e in self.kinds_of(site, "node.failed")],
                         [("run", 1), ("run", 2), ("run", 3)])
        self.assertEqual(len(self.kinds_of(site, "run.continued")), 1)

    def test_a_goal_is_accepted(self):
        site = self.site(self.kind, more=f"""
[prices."{self.kind.model}"]
input_usd_per_mtok = 1
output_usd_per_mtok = 2
cache_read_usd_per_mtok = 0.1
""")
        worktree = f"{site.dir}/worktrees/pool-1"
        goal = self.goal(
            site,
            self.task("T1", [self.kind.edit(f"{worktree}/T1.txt", "edited\n"), {"text": "Edited it."}]),
            self.task("T2", [{"thinking": "hm", **self.kind.shell("cat T1.txt > T2.txt")}, {
                "text": "Copied it.", "usage": {"input": 1000, "output": 50, "cache_read": 300}}], deps=["T1"]))
        site.wait_goal(goal)
        self.assertEqual(site.git("show", "main:T1.txt").strip(), "edited")
        self.assertEqual(site.git("show", "main:T2.txt").strip(), "edited")
        self.assertEqual([r["note"] for r in self.model.requests if not r["side"]], [""] * 4)
        for node in "T1", "T2":
            run = self.run_of(site, node)
            self.assertEqual((run["verdict"], run["trouble"], run["resumed"]), ("ok", "none", False), run)
            self.assertTrue(run["session"] and run["model"], run)
            self.assertEqual(run["tool_calls"], 1, run)
            self.assertGreaterEqual(run["turns"], 1, run)
        self.assertEqual({k: run[f"tokens_{k}"] for k in ("input", "output", "cache_read")},
                         {"input": 1100, "output": 70, "cache_read": 300}, run)
        self.assertEqual(site.live_pids(), [])
        # As the agent says, or else by the prices.
        self.assertEqual(run["cost_source"], "agent" if self.kind.tells_cost else "prices", run)
        if not self.kind.tells_cost:
            self.assertEqual(run["cost_microusd"], 1100 + 2 * 70 + 30)
        shown = self.cli(site, "cost", "--by", "agent")
        self.assertRegex(shown, self.kind.name + r".*\$0\.0")
        self.silences_are_learned(site)

    def silences_are_learned(self, site):
        """What each run was silent at is told by its agent's own account, under the model's name."""
        learned = self.kinds_of(site, "silence.learned")
        self.assertEqual([e["node"] for e in learned], ["T1", "T2"])
        for e in learned:
            did = {row["activity"] for row in e["data"]["silences"]}
            self.assertEqual(did - {"starting", "thinking", "tool", "between"}, set(), e)
            self.assertIn("thinking", did, e)
            tool, = (row["tool"] for row in e["data"]["silences"] if row["activity"] == "tool")
            # A shell is known by what it was called for.
            self.assertEqual(tool == "cat", e["node"] == "T2", e)
            self.assertEqual(e["data"]["model"], self.run_of(site, e["node"])["model"])

    def test_a_failed_check_goes_back_to_the_same_session(self):
        """And when it fails in the same way again, the agent is told first of all to change its approach."""
        site = self.site(self.kind, more=real.STUCK)
        goal = self.goal(site, self.task("T1", self.work("T1"), self.work("T2"),
                                         [self.kind.shell("echo x > fixed.txt"), {"text": "Now it is."}]))
        site.wait_goal(goal)
        runs = [self.run_of(site, "T1", n) for n in range(len(site.runs()))]
        self.assertEqual([r["resumed"] for r in runs], [False, True, True])
        self.assertEqual(len({r["session"] for r in runs}), 1)
        again = [r for r in self.model.requests if r["turn"] == 1 and not r["side"]]
        self.assertEqual([r["step"] for r in again], [0, 1])
        # The model sees the conversation so far, and what the check said.
        self.assertGreaterEqual(again[0]["answers"], 2)
        self.assertIn("not yet", again[0]["prompts"][-1])
        # What each run used is its own.
        self.assertEqual([r[f"tokens_{k}"] for r in runs for k in ("input", "output")], [200, 40] * 3)
        self.assertEqual(self.redirected("T1"), [2])

    def test_interrupted_in_a_tool_and_gone_on_with(self):
        site = self.site(self.kind)
        goal = self.goal(site, self.task("T1", [self.endless(site)], self.work("T1")))
        self.gate.wait()
        site.wait_type("run.session")
        site.call("work.nudge", node="T1", now=True, message="Leave it, and finish.")
        site.wait_type("run.ended")
        self.assertEqual(running(self.token), [])
        site.wait_goal(goal)
        self.assertEqual(site.live_pids(), [])
        self.assertEqual(site.git("show", "main:half.txt"), "half\n", "what it had made is kept")
        first, last = self.run_of(site, "T1", 0), self.run_of(site, "T1")
        self.assertEqual((last["session"], last["resumed"], last["verdict"]), (first["session"], True, "ok"), last)
        again = self.model.wait(lambda r: r["turn"] == 1)
        self.assertGreaterEqual(len(again["prompts"]), 2, "it knows what it was asked before")
        self.assertIn("Leave it, and finish.", again["prompts"][-1])

    def test_stopped_in_a_tool(self):
        site = self.site(self.kind)
        goal = self.goal(site, self.task("T1", [self.endless(site)]))
        self.gate.wait()
        everybody = site.live_pids()
        site.call("goal.pause", goal=goal, now=True)
        site.wait_type("run.ended")
        self.assertEqual(running(self.token), [])
        harness.wait_gone(*everybody)
        kept = site.wait_type("run.harvested", node="T1")["data"]
        # Right after the end one was seen twice that had not been before, on its way out.
        self.assertEqual(site.live_pids(), [])
        self.assertEqual(site.git("show", kept["rescue_ref"] + ":half.txt"), "half\n", kept)

    def test_killed_in_a_tool(self):
        site = self.site(self.kind)
        goal = self.goal(site, self.task("T1", [self.endless(site)], self.work("T1")))
        self.gate.wait()
        site.wait_type("run.session")
        everybody = site.live_pids()
        os.kill(self.agent_pid(site), signal.SIGKILL)
        ended = site.wait_type("run.ended")
        self.assertEqual(running(self.token), [], "the tool does not outlive its agent")
        harness.wait_gone(*everybody)
        self.assertEqual(ended["data"]["signal"], signal.SIGKILL, ended)
        site.wait_goal(goal)
        self.assertEqual(site.git("show", "main:half.txt"), "half\n", "what it had made is kept")
        first, last = self.run_of(site, "T1", 0), self.run_of(site, "T1")
        self.assertEqual((first["verdict"], first["trouble"]), ("failed", "unfinished"), first)
        self.assertEqual((last["session"], last["resumed"], last["verdict"]), (first["session"], True, "ok"), last)

    def restarted(self, end):
        """A daemon that goes away while its agent waits for the model; the agent goes on."""
        site = self.site(self.kind)
        goal = self.goal(site, self.task("T1", [{"gate": "g", **self.kind.shell("echo x > T1.txt")}, {"text": "Done."}]))
        self.model.wait(lambda r: not r["side"])
        site.wait_type("run.session")
        agent = self.agent_pid(site)
        end(site)
        return site, goal, agent

    def adopted(self, site, goal):
        site.wait_goal(goal)
        run = self.run_of(site, "T1")
        self.assertEqual((run["verdict"], run["trouble"], run["resumed"], run["tool_calls"]), ("ok", "none", False, 1), run)
        self.assertEqual((run["tokens_input"], run["tokens_output"]), (200, 40), run)
        self.assertEqual(len(self.kinds_of(site, "run.created")), 1)
        self.assertEqual(site.git("show", "main:T1.txt"), "x\n")
        self.assertEqual(len([r for r in self.model.requests if not r["side"]]), 2)

    def test_adopted_by_the_next_daemons(self):
        """The first daemon is stopped, the second one is killed, the third one sees the end."""
        site, goal, agent = self.restarted(lambda site: site.down())
        site.up()
        site.kill()
        site.up()
        os.kill(agent, 0)
        self.model.open("g")
        self.adopted(site, goal)

    def test_finished_while_no_daemon_was_there(self):
        site, goal, agent = self.restarted(lambda site: site.kill())
        self.model.open("g")
        harness.wait_gone(agent)
        site.up()
        self.adopted(site, goal)

    def test_a_denied_tool(self):
        """Denied in the first turn, in one that a person's nudge begins, and after a restart."""
        def attempt(n):
            return [{**self.kind.shell(f"echo {n} > {site.root}/denied.{n}"), **FORCE}, {"gate": "never", "text": "x"}]

        site = self.site(self.kind, tools_deny=["shell"])
        self.goal(site, self.task("T1", attempt(0), attempt(1), attempt(2)))

        def came(turn):
            self.model.wait(lambda r: r["turn"] == turn and r["step"] == 1 and not r["side"])
            site.wait_event(lambda e: e["type"] == "run.session" and e["run"] == site.runs()[-1]["id"])

        came(0)
        site.call("work.nudge", node="T1", now=True)
        came(1)
        site.kill()
        site.up()
        site.call("work.nudge", node="T1", now=True, force=True)
        came(2)
        self.assertEqual([name for name in os.listdir(site.root) if name.startswith("denied.")], [])
        self.assertEqual(len({r["session"] for r in site.runs()}), 1)
        for request in self.model.requests:
            self.assertNotIn(self.kind.shell_tool, request["tools"], f"offered in turn {request['turn']}")

    def ask_for_changes(self, site):
        """The agent's own settings, where ours have no mode for it."""

    def test_a_tool_that_the_agent_denies(self):
        """Nothing was changed because its own rules let it change nothing: tools and setting are named."""
        site = self.site(self.kind, start=False, recovery="escalate", **self.kind.asks)
        self.ask_for_changes(site)
        site.up()
        steps = [{**self.kind.edit(f"{site.dir}/worktrees/pool-1/T1.txt", "x\n"), **FORCE},
                 {**self.kind.shell("touch T1.txt"), **FORCE}, {"text": "I could not."}]
        self.goal(site, self.task("T1", *[steps] * 5))
        failed = site.wait_type("node.failed")["data"]["detail"]
        run = self.run_of(site, "T1", 0)
        self.assertEqual(run["denied"], ", ".join(self.kind.refused), run)
        self.assertIn(f"it was denied {run['denied']} (agents.{self.kind.name}.permission_mode", failed)
        self.assertRegex(self.cli(site, "run", "show", run["id"]),
                         rf"Denied +{re.escape(run['denied'])}; agents\.{self.kind.name}\.permission_mode")
        asked = site.wait_type("escalation.opened")["data"]["question"]
        self.assertIn("it was denied " + run["denied"], asked)

    # The name of the trouble of each failure of the model's server, and what it does to the agent's lane.
    TROUBLES = {400: ("refused", None), 401: ("login", "login"), 429: ("rate_limited", "rate_limited"),
                500: ("overloaded", "rate_limited"), 529: ("overloaded", "rate_limited")}

    def test_failures_of_the_model(self):
        """Each status by an agent of its own, so that each has a lane of its own."""
        statuses = self.kind.gives_up_on
        site = self.site(*(real.Agent(self.kind, f"a{status}", self.kind.no_retries) for status in statuses),
                         config=QUICK + 'backoff.base = "10ms"\n[workers]\nmax = 5\n', recovery="escalate")
        self.goal(site, *(self.task(f"T{status}", [{"fail": {"status": status, "message": f"no luck {status}"}}],
                                    suggestedAgent=f"a{status}") for status in statuses))
        for status in statuses:
            with self.subTest(status=status):
                trouble, lane = self.TROUBLES[status]
                ended = site.wait_type("run.ended", node=f"T{status}")["data"]
                self.assertEqual((ended.get("verdict"), ended.get("trouble")), ("failed", trouble), ended)
                if status not in (429, 500):  # of which Codex does not tell what the server said
                    self.assertIn(f"no luck {status}", ended["message"])
                if lane:
                    limited = site.wait_type("agent.limited", node=f"T{status}")["data"]
                    self.assertEqual((limited["agent"], limited["kind"]), (f"a{status}", lane))
                else:
                    asked = site.wait_type("escalation.opened", node=f"T{status}")["data"]
                    self.assertIn(f"no luck {status}", str(asked))
        # The same request again would be refused again: a new session, once.
        refused = [r for r in site.runs() if r["node_id"] == "T400"]
        self.assertEqual([r["resumed"] for r in refused], [False] * 2)
        self.assertEqual(len({r["session"] for r in refused}), 2)
        inbox = self.cli(site, "inbox")
        self.assertIn("agent a401 may be logged out", inbox)
        self.assertIn("T400", inbox)

    def test_a_limit_that_passes(self):
        """The server is out of quota for a moment: the lane waits, and the session goes on."""
        site = self.site(real.Agent(self.kind, env=self.kind.no_retries), config=QUICK + """
backoff.base = "100ms"
""")
        goal = self.goal(site, self.task("T1", [{"fail": {"status": 429, "message": "quota used up"}}], self.work("T1")))
        limited = site.wait_type("agent.limited")["data"]
        self.assertEqual((limited["agent"], limited["kind"]), (self.kind.name, "rate_limited"))
        site.wait_goal(goal)
        self.assertEqual([(r["trouble"], r["verdict"], r["resumed"]) for r in site.runs()],
                         [("rate_limited", "failed", False), ("none", "ok", True)])
        self.assertEqual(len({r["session"] for r in site.runs()}), 1)
        site.wait_type("agent.cleared")
        self.assertEqual(self.kinds_of(site, "node.failed"), [], "a limit is no failure of the work")

    def test_a_session_that_is_gone(self):
        """Its files were removed while its lane waited: a new session begins, and nobody has failed."""
        site = self.site(real.Agent(self.kind, env=self.kind.no_retries))
        refused = {"status": 401, "message": "no luck", "times": self.kind.tries}
        work, said = self.work("T1")
        goal = self.goal(site, self.task("T1", [{"fail": refused, **work}, said]))
        asked = site.wait_type("escalation.opened")["data"]
        for name in self.kind.sessions:
            shutil.rmtree(os.path.join(self.home(site.root, self.kind.name), name))
        self.cli(site, "inbox", "answer", str(asked["escalation"]), "done")
        site.wait_goal(goal)
        self.assertEqual([(r["trouble"], r["resumed"]) for r in site.runs()],
                         [("login", False), ("session_lost", True), ("none", False)])
        self.assertEqual(self.kinds_of(site, "node.failed"), [])

    def test_endless_retries_are_a_stall(self):
        """An agent that only tries again is no sign of life; asked again in a new turn, it works."""
        site = self.site(self.kind)
        goal = self.goal(site, self.task("T1", [{"fail": {"status": self.kind.retries_on, "message": "no luck"}}],
                                         self.work("T1")))
        self.model.wait(lambda r: r["status"] != 200, count=2)
        site.wait_type("run.session")
        self.impatient(site, idle_after="2s", min_resend_interval="100ms", **{"backoff.base": "100ms"})
        stall = site.wait_type("episode.opened")["data"]
        status = f".*{self.kind.retries_on}" if self.kind.tells_status else ""
        self.assertRegex(" ".join(stall["evidence"]), "retrying for " + status, stall)
        if self.kind is real.Gemini:
            self.assertEqual(site.wait_type("agent.limited")["data"]["kind"], "rate_limited")
            return
        # The new run is given the time that it needs.
        site.wait_type("run.created", attempt=2)
        self.impatient(site, idle_after="5m")
        site.wait_goal(goal)
        first, last = self.run_of(site, "T1", 0), self.run_of(site, "T1")
        self.assertEqual((last["verdict"], last["resumed"], last["session"]), ("ok", True, first["session"]))
        self.assertEqual(len(site.runs()), 2)

    def test_a_model_that_hangs(self):
        """Its answer never comes. What an agent uses of the processor while it waits is no sign of life; asked again, it works."""
        site = self.site(self.kind)
        goal = self.goal(site, self.task("T1", [self.kind.shell("echo x > T0.txt"), {"hang": True}], self.work("T1")))
        self.model.wait(lambda r: r["step"] == 1 and not r["side"])
        site.wait_type("run.session")
        self.hung(site)
        site.wait_goal(goal)
        first, last = self.run_of(site, "T1", 0), self.run_of(site, "T1")
        self.assertEqual((last["verdict"], last["resumed"], last["session"]), ("ok", True, first["session"]))
        self.assertEqual(len(site.runs()), 2)

    def test_a_tool_that_hangs(self):
        """A tool in flight is life; when nothing comes of it for long, a person is told which one it is."""
        site = self.site(self.kind)
        self.goal(site, self.task("T1", [self.endless(site)]))
        self.gate.wait()
        self.impatient(site, idle_after="1s", mute_after="2s")
        asked = site.wait_type("escalation.opened")["data"]
        self.assertEqual(asked["kind"], "mute", asked)
        self.assertEqual(self.kinds_of(site, "episode.opened"), [])
        self.assertIn(f"tool {self.kind.tool_shown}", asked["question"])
        self.assertIn(self.kind.tool_shown, self.cli(site, "status"))


class Hooked(Common):
    """Of agents that call `overseer hook`."""

    def test_stop_hands_over_the_next_instruction(self):
        """A person's message reaches the agent when it wants to stop: the same run goes on."""
        site = self.site(self.kind)
        goal = self.goal(site, self.task("T1", [{"gate": "g", "text": "The first part is done."}]))
        self.model.wait(lambda r: not r["side"])
        site.wait_type("run.session")
        after = site.seq()
        self.cli(site, "work", "nudge", "T1", "--message", script(*self.work("T1", "Both parts are done.")))
        # The daemon answers before it lays the message where the hook finds it.
        site.wait_type("dispatch.result", after=after, result="accepted")
        self.model.open("g")
        site.wait_goal(goal)
        second = [r for r in self.model.requests if r["answers"] and not r["side"]]
        self.assertEqual([(r["turn"], r["step"]) for r in second], [(0, 0), (0, 1)], "a script of its own")
        self.assertIn("The first part", str(second[0]["body"]))
        self.assertEqual(len(self.kinds_of(site, "run.created")), 1)
        site.wait_type("dispatch.result", after=after, taken=True)
        self.assertEqual(self.run_of(site, "T1")["tool_calls"], 1)
        self.assertEqual(site.git("show", "main:T1.txt"), "work of T1\n")

    def test_a_message_that_comes_too_late_is_another_turn(self):
        """It had no more use for a Stop hook: the session is gone on with for what a person said."""
        site = self.site(self.kind)
        goal = self.goal(site, self.task("T1", [self.endless(site), {"text": "never said"}], self.work("T1")))
        self.gate.wait()
        site.wait_type("run.session")
        site.call("work.nudge", node="T1", message="Mind the gap.")
        os.kill(self.agent_pid(site), signal.SIGKILL)
        site.wait_goal(goal)
        again = self.model.wait(lambda r: r["turn"] == 1)
        self.assertIn("Mind the gap.", "\n".join(again["prompts"][1:]))
        self.assertTrue(self.run_of(site, "T1")["resumed"])
