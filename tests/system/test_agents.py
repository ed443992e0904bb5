#!/usr/bin/env python3
"""Agents as they are configured: what `agent list` says of them while they work, wait or are missing."""

import json
import os
import signal
import subprocess
import unittest

from harness import CLI, PATIENCE, SiteCase, plan, task

CONFIG = """
[agents.claude]
format = "claude"
env_pass = ["HOME", "PATH", "BROKEN", "LC_ALL", "ASAN_OPTIONS", "UBSAN_OPTIONS"]
"""
CARDS = """
[agents.known]
format = "claude"
command = ["{root}/missing"]
model = "some-model"
description = "knows much"
capabilities = ["c", "review"]
cost_tier = "high"
concurrency = 3
tools = ["read", "shell"]
tools_deny = ["web"]
[agents.bare]
format = "codex"
[roles]
reviewer = "known"
"""


# Speaks as Claude Code does, and does what `agent test` asks. BROKEN names what it does wrong.
CLAUDE = r"""#!/usr/bin/env python3
import json, os, signal, subprocess, sys
broken = os.environ.get("BROKEN", "").split(",")
options = dict(x.split("=", 1) for x in sys.argv[1:] if x.startswith("--") and "=" in x)
prompt = sys.stdin.read()
session = options.get("--resume") or options["--session-id"]
memory = os.path.join(os.environ["HOME"], session)
hooks = json.load(open(options["--settings"]))["hooks"]

def say(kind, **more):
    print(json.dumps({"type": kind, "session_id": session, **more}), flush=True)

def hook(event, **more):
    if "hooks" not in broken:
        subprocess.run(hooks[event][0]["hooks"][0]["command"], shell=True, check=True, stdout=subprocess.DEVNULL,
                       input=json.dumps({"session_id": session, "hook_event_name": event, **more}).encode())

def tool(name, **given):
    say("assistant", message={"id": "m", "content": [{"type": "tool_use", "id": "t1", "name": name, "input": given}]})

def result(failed, **more):
    used = {"inputTokens": 100, "outputTokens": 20, "costUSD": 0.002} if "usage" not in broken else {}
    say("result", subtype="success", is_error=failed, num_turns=1, result="Done.",
        model_usage_since_last_result={"some-model": used}, **more)

def stop(signo, frame):
    result(True, terminal_reason="aborted_tools")
    sys.exit(0)

if "resumes" in broken and "--resume" in options:
    session = "another"
signal.signal(signal.SIGINT, signal.SIG_IGN if "interrupts" in broken else stop)
say("system", subtype="init", tools=[], model="some-model")
hook("SessionStart", source="startup")
if "login" in broken:
    result(True, api_error_status=401, terminal_reason="api_error")
    sys.exit(1)
if "overseer-test.txt" in prompt:
    open(memory, "w").write("4711")
    tool("Write", file_path="overseer-test.txt")
    if "edits" not in broken:
        open("overseer-test.txt", "w").write("hello\n")
elif "overseer-resumed.txt" in prompt:
    known = open(memory).read() if os.path.exists(memory) else "?"
    open("overseer-resumed.txt", "w").write(known)
elif "overseer-denied.txt" in prompt:
    if "denies" in broken or "Bash" not in options["--disallowedTools"].split(","):
        open("overseer-denied.txt", "w")
elif "tail -f" in prompt:
    tool("Bash", command="tail -f /dev/null")
    while True:
        signal.pause()
assert "NOTE" in prompt
say("user", message={"content": [{"type": "tool_result", "tool_use_id": "t1", "content": ""}]})
hook("Stop")
result(False)
"""


class AgentTest(SiteCase):
    leaks = False  # looked for at each exit, also at those of the hooks, it takes minutes
    ALL = ["starts", "streams", "edits", "usage", "hooks", "resumes", "denies", "interrupts"]

    def trial(self, broken="", code=0):
        site = self.site("[supervisor]\nstop_grace = \"1s\"\ninterrupt_grace = \"2s\"\n" + CONFIG)
        os.makedirs(os.path.join(site.root, "bin"))
        os.chmod(site.write("../bin/claude", CLAUDE), 0o755)
        site.env["PATH"] = os.path.join(site.root, "bin") + ":" + site.env["PATH"]
        site.env["BROKEN"] = broken
        before = site.git("status", "--porcelain", "--ignored"), site.git("worktree", "list"), site.git("branch", "-a")
        done = subprocess.run([CLI, "agent", "test", "claude", "--note", "NOTE", "--json"], cwd=site.repo, env=site.env,
                              capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stderr), (code, ""), done.stdout)
        # Nothing is left, neither of the runs nor in the repository.
        self.assertEqual(os.listdir(os.path.join(site.dir, "agent-test")), [])
        after = site.git("status", "--porcelain", "--ignored"), site.git("worktree", "list"), site.git("branch", "-a")
        self.assertEqual(before, after)
        self.assertEqual(sorted(os.listdir(site.dir)), ["agent-test", "config.toml"])
        found = json.loads(done.stdout)
        self.assertEqual((found["agent"], found["ok"]), ("claude", code == 0))
        return {x["check"]: x for x in found["checks"]}

    def test_all_is_well(self):
        checks = self.trial()
        self.assertEqual(list(checks), self.ALL)
        self.assertEqual({x["verdict"] for x in checks.values()}, {"ok"}, checks)
        self.assertIn("model some-model", checks["starts"]["text"])
        self.assertIn("100 tokens in, 20 out, $0.0020", checks["usage"]["text"])
        self.assertIn("remembered", checks["resumes"]["text"])
        self.assertIn("it ended within", checks["interrupts"]["text"])

    def test_each_thing_that_can_be_wrong(self):
        for name in ("edits", "hooks", "resumes", "denies", "interrupts"):
            checks = self.trial(broken=name, code=1)
            self.assertEqual([x for x in self.ALL if checks[x]["verdict"] == "failed"], [name], checks)

    def test_usage_is_not_needed(self):
        checks = self.trial(broken="usage")
        self.assertEqual((checks["usage"]["verdict"], checks["usage"]["needed"]), ("failed", False))

    def test_an_agent_that_is_logged_out(self):
        checks = self.trial(broken="login", code=1)
        self.assertEqual(list(checks), ["starts"])
        self.assertIn("login", checks["starts"]["text"])

    def test_for_people(self):
        site = self.site(agent="echo hello > overseer-test.txt\n")
        text = site.cli("agent", "test", "script")
        self.assertRegex(text, r"  ok +edits +overseer-test.txt was made")
        self.assertRegex(text, r"  skipped +resumes +every run of it begins anew")
        self.assertIn("script can be used: 2 of 2 checks passed.", text)

    def test_an_agent_that_is_not_there(self):
        site = self.site('[agents.x]\nformat = "codex"\ncommand = ["/nonexistent/codex"]\n')
        done = subprocess.run([CLI, "agent", "test", "x"], cwd=site.repo, env=site.env, capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"failed +starts +it could not be started: .*nonexistent")
        self.assertIn("x cannot be relied on: 1 of 1 checks failed.\nNext: correct [agents.x]", done.stdout)
        self.assertTrue(done.stdout.endswith("then: overseer agent test x\n"), done.stdout)
        self.assertIn("there is no [agents.y]", site.cli("agent", "test", "y", code=3))

    def test_ctrl_c_leaves_nothing(self):
        site = self.site(agent='echo $$ > "$HOME/a.here"\nexec tail -f /dev/null\n')
        gate = site.gate("a")
        test = subprocess.Popen([CLI, "agent", "test", "script"], cwd=site.repo, env=site.env, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        self.addCleanup(test.kill)
        pid = gate.wait()
        os.killpg(test.pid, signal.SIGINT)
        out, err = test.communicate(timeout=PATIENCE)
        self.assertRegex(out, r"failed +starts +the test was cancelled")
        self.assertEqual((test.returncode, err), (1, ""), out)
        self.assertFalse(os.path.exists(f"/proc/{pid}"))
        self.assertEqual(os.listdir(os.path.join(site.dir, "agent-test")), [])


class AgentList(SiteCase):
    def agents(self, site):
        return {x["name"]: x for x in json.loads(site.cli("agent", "list", "--json"))["agents"]}

    def test_cards(self):
        site = self.site(agent="true\n")
        path = os.path.join(site.dir, "config.toml")
        with open(path, "a", encoding="utf-8") as f:
            f.write(CARDS.replace("{root}", site.root))
        os.makedirs(os.path.join(site.root, "bin"))
        os.chmod(site.write("../bin/codex", "#!/bin/sh\n"), 0o755)
        site.env["PATH"] = os.path.join(site.root, "bin") + ":" + site.env["PATH"]
        site.up()
        found = self.agents(site)
        self.assertEqual(list(found), ["script", "known", "bare"])
        self.assertTrue(found["script"]["default"])
        self.assertEqual((found["script"]["format"], found["script"]["program"]), ("raw", site.root + "/agent.sh"))
        known = found["known"]
        self.assertEqual((known["title"], known["model"], known["program"]), ("Claude Code", "some-model", None))
        self.assertEqual((known["capabilities"], known["cost_tier"]), (["c", "review"], "high"))
        self.assertEqual((known["roles"], known["in_use"], known["concurrency"]), (["reviewer"], 0, 3))
        self.assertEqual(known["tools"], {"allow": ["read", "shell"], "deny": ["web"]})
        self.assertIsNone(found["bare"]["tools"])
        self.assertTrue(known["hooks"] and known["resumes"])
        self.assertEqual(found["bare"]["program"], os.path.join(site.root, "bin/codex"))
        text = site.cli("agent", "list")
        self.assertRegex(text, r"script \* +exec/raw +- +0 of 256 +ready")
        self.assertRegex(text, r"known +exec/claude +some-model +0 of 3 +\S+/missing is not found +read, shell; not web +c, review")
        # Without a daemon, from the store as it lies there.
        site.down()
        self.assertEqual(list(self.agents(site)), ["script", "known", "bare"])

    def test_what_they_cannot_tell(self):
        formats = ("claude", "codex", "gemini", "opencode")
        site = self.site("".join(f'[agents.{x}]\nformat = "{x}"\n' for x in formats) +
                         '[agents.seen]\nformat = "claude"\nruntime = "tmux"\n', agent="true\n")
        found = self.agents(site)  # before the first start, too
        site.up()
        self.assertEqual(self.agents(site), found)
        for agent in found.values():
            for gap in agent["cannot_tell"]:
                self.assertEqual(list(gap), ["what", "about", "why"])
        self.assertEqual({name: [gap["what"] for gap in agent["cannot_tell"]] for name, agent in found.items()},
                         {"script": ["sub_agent_loop", "overflow", "permission", "usage"], "claude": [],
                          "seen": ["retry_status", "sub_agent_usage", "cost"], "codex": ["denied_command", "cost"],
                          "gemini": ["sub_agent_loop", "cost"], "opencode": ["retry_status"]})
        text = site.cli("agent", "list")
        self.assertRegex(text, r"(?m)^  seen +cannot tell  why it repeats a failed request, tokens of sub-agents, cost$")
        self.assertNotRegex(text, r"(?m)^  claude +cannot tell")
        text = site.cli("agent", "show", "gemini")
        self.assertRegex(text, r"^gemini \S")
        self.assertRegex(text, r"CANNOT TELL \(2\)\n  loops of sub-agents +its stream shows a sub-agent as one call; it stops loops")
        self.assertNotIn("CANNOT TELL", site.cli("agent", "show", "claude"))
        self.assertEqual(json.loads(site.cli("agent", "show", "seen", "--json")), found["seen"])
        site.down()
        self.assertEqual(json.loads(site.cli("agent", "show", "gemini", "--json")), found["gemini"])
        self.assertRegex(site.cli("agent", "show", "gemni", code=3), "(?s)gemni.*gemini.*overseer agent list")

    def test_what_is_in_use(self):
        site = self.site(agent='echo here > "$HOME/a.here"; read x < "$HOME/a.go"; echo x > done.txt\n')
        gate = site.gate("a")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        gate.wait()
        self.assertEqual(self.agents(site)["script"]["in_use"], 1)
        self.assertIn("1 of 256", site.cli("agent", "list"))
        gate.go()
        site.wait_goal(goal)
        self.assertEqual(self.agents(site)["script"]["in_use"], 0)

    def test_what_waits_for_its_quota(self):
        site = self.site(agent="exit 75\n")
        site.up()
        site.call("goal.create", title="Test", plan=plan(task("T1")))
        site.wait_type("agent.limited")
        limit = self.agents(site)["script"]["limit"]
        self.assertEqual((limit["kind"], limit["times"]), ("rate_limited", 1))
        self.assertRegex(site.cli("agent", "list"), r"script \* .* rate limited, until unknown, tried again at ")

    def test_what_a_failed_agent_wrote(self):
        site = self.site(agent='echo reading; printf "\\033[31mfatal:\\033[0m no key\\n" >&2; exit 3\n')
        site.git("config", "user.name", "Tester")
        done = subprocess.run([CLI, "agent", "test", "script"], cwd=site.repo, env=site.env, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stdout, r"  failed  starts +it ended with status 3\n +\| reading\n +\| fatal: no key\n")
        done = subprocess.run([CLI, "agent", "test", "script", "--json"], cwd=site.repo, env=site.env, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(json.loads(done.stdout)["checks"][0]["last_lines"], "reading\nfatal: no key")

    def test_who_commits(self):
        """Names of the user's environment reach the agent; our commits have them too, and no date of it."""
        who = {"GIT_AUTHOR_NAME": "Ada Author", "GIT_AUTHOR_EMAIL": "ada@example.com",
               "GIT_COMMITTER_NAME": "Cy Committer", "GIT_COMMITTER_EMAIL": "cy@example.com"}
        names = " ".join(f"${name}," for name in who)
        site = self.site(agent=f'echo "{names} $TZ $GIT_AUTHOR_DATE" > "$HOME/who.txt"\n'
                               "echo x > a.txt; git add a.txt; git commit -qm mine; git log -1 --format=%an,%ce > \"$HOME/log.txt\"\n")
        site.up(**who, TZ="XYZ-3", GIT_AUTHOR_DATE="2001-02-03T04:05:06Z", GIT_COMMITTER_DATE="2001-02-03T04:05:06Z")
        site.wait_goal(site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"])
        self.assertEqual(site.read("../who.txt"), ", ".join(who.values()) + ", XYZ-3 \n")
        self.assertEqual(site.read("../log.txt"), "Ada Author,cy@example.com\n")
        self.assertEqual(site.git("log", "-1", "--format=%an,%ae,%cn,%ce", "main").strip(), ",".join(who.values()))
        self.assertNotIn("2001", site.git("log", "-1", "--format=%ai %ci", "main"))

    def test_none(self):
        site = self.site()
        site.up()
        self.assertIn("No agent is configured", site.cli("agent", "list"))


if __name__ == "__main__":
    unittest.main()
