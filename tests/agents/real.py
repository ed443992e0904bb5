"""The real agents, for tests: each with a home of its own, and a model that the test scripts.

find() says where the pinned agents are (tools/agents-cache, which `make check` runs first), or those that
OV_AGENTS asks for: newest, or NAME=VERSION of some (tools/agents-try sets it). Without
them the tests that need them are skipped and say why; where CI is set, they fail instead.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(1, str(TOP / "tests/system"))

import harness  # noqa: E402
import namespaces  # noqa: E402
from fake_model import FakeModel, script, turns  # noqa: E402,F401

# They are slow to start where many do at once.
harness.PATIENCE = max(harness.PATIENCE, 120)


def find():
    others = os.environ.get("OV_AGENTS", "").replace("newest", "--newest").split()
    done = subprocess.run([TOP / "tools/agents-cache", "--look", *others], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    return json.loads(done.stdout)


CACHE = find()


def need_agents():
    """Called before anything that needs a real agent."""
    if CACHE["ok"]:
        return
    if os.environ.get("CI"):
        raise AssertionError("agents: " + CACHE["reason"])
    raise unittest.SkipTest("agents: " + CACHE["reason"])


def need_namespaces(agents, options):
    """Called before agents are configured that box their tools in user namespaces of their own."""
    modes = [{**options, **a.options}.get("permission_mode") for a in agents if a.kind.boxes]
    if any(mode != "danger-full-access" for mode in modes) and namespaces.no_users():
        raise unittest.SkipTest(namespaces.no_users())


def program(name):
    return CACHE["agents"][name]["program"]


class Claude:
    boxes = False  # its tools
    name = "claude"
    tells_cost = True
    model = "claude-sonnet-4-5"
    wire = "messages"
    shell_tool, edit_tool = "Bash", "Write"
    tool_shown = "Bash"
    tells_status = True  # of a failed request, while it tries again
    asks = {"permission_mode": "default"}  # about every change, and nobody is there to answer
    refused = ("Write", "Bash")
    sessions = (".claude/projects",)  # where it keeps them, in its home
    tries = 1  # of a request that is refused

    @staticmethod
    def environment(home, url):
        return {"HOME": home, "ANTHROPIC_BASE_URL": url, "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1",
                "DISABLE_ERROR_REPORTING": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "CLAUDE_CODE_TMPDIR": f"{home}/tmp", "ENABLE_TOOL_SEARCH": "false"}

    secret = {"ANTHROPIC_API_KEY": "not-a-real-key"}
    no_retries = {"CLAUDE_CODE_MAX_RETRIES": "0"}
    gives_up_on = (400, 401, 429, 500, 529)
    retries_on = 401

    @staticmethod
    def prepare(home, url):
        pass

    @staticmethod
    def shell(command):
        return {"tool": "Bash", "input": {"command": command, "description": "as scripted"}}

    @staticmethod
    def edit(path, text):
        return {"tool": "Write", "input": {"file_path": path, "content": text}}

    @staticmethod
    def direct(prompt):
        return ["-p", prompt, "--output-format", "stream-json", "--verbose", "--allowedTools", "Write,Bash"]


class Codex:
    boxes = True
    name = "codex"
    tells_cost = False
    model = "fake-model"
    wire = "responses"
    shell_tool, edit_tool = "exec_command", "exec_command"
    tool_shown = "Bash"
    tells_status = True  # of a failed request, while it tries again
    asks = {"permission_mode": "read-only"}
    refused = ("apply_patch",)  # of a command it says nothing
    sessions = ("codex/sessions",)
    tries = 2
    secret = {"OPENAI_API_KEY": "not-a-real-key"}
    no_retries = {}  # by its configuration file, below
    gives_up_on = (400, 401, 429, 500, 529)
    retries_on = None

    @staticmethod
    def environment(home, url):
        return {"HOME": home, "CODEX_HOME": f"{home}/codex"}

    @staticmethod
    def prepare(home, url):
        os.makedirs(f"{home}/codex", exist_ok=True)
        Path(f"{home}/codex/config.toml").write_text(f"""
model = "fake-model"
model_provider = "fake"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.fake]
name = "Fake"
base_url = "{url}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
""", encoding="utf-8")

    @staticmethod
    def shell(command):
        # Otherwise it is told after some seconds that the command still runs.
        return {"tool": "exec_command", "input": {"cmd": command, "yield_time_ms": 300000}}

    @classmethod
    def edit(cls, path, text):
        patch = "".join(f"+{line}\n" for line in text.splitlines())
        return cls.shell(f"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: {path}\n{patch}*** End Patch\nEOF")

    @staticmethod
    def direct(prompt):
        return ["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", prompt]


class Gemini:
    boxes = False
    name = "gemini"
    tells_cost = False
    model = "gemini-2.5-pro"
    wire = "gemini"
    shell_tool, edit_tool = "run_shell_command", "write_file"
    tool_shown = "run_shell_command"
    tells_status = True  # of a failed request, while it tries again
    asks = {"permission_mode": "default"}
    refused = ("write_file", "run_shell_command")
    secret = {"GEMINI_API_KEY": "not-a-real-key"}
    no_retries = {}
    gives_up_on = (400, 401)  # the others it tries ten times, for minutes
    retries_on = 429  # which is what it ends with when it is interrupted, and then its lane waits

    @staticmethod
    def environment(home, url):
        return {"HOME": home, "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_NO_RELAUNCH": "true"}

    @staticmethod
    def prepare(home, url):
        os.makedirs(f"{home}/.gemini", exist_ok=True)
        Path(f"{home}/.gemini/settings.json").write_text(json.dumps({
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
            "general": {"disableAutoUpdate": True, "disableUpdateNag": True, "enableAutoUpdate": False,
                        "checkpointing": {"enabled": False}}}), encoding="utf-8")

    @staticmethod
    def shell(command):
        return {"tool": "run_shell_command", "input": {"command": command, "description": "as scripted"}}

    @staticmethod
    def edit(path, text):
        return {"tool": "write_file", "input": {"file_path": path, "content": text}}

    @staticmethod
    def direct(prompt):
        return ["-p", prompt, "-o", "stream-json", "--yolo", "-m", "gemini-2.5-pro"]


class Opencode:
    boxes = False
    name = "opencode"
    tells_cost = True
    model = "fake/fake-model"
    wire = "chat"
    shell_tool, edit_tool = "bash", "write"
    tool_shown = "bash"
    tells_status = False
    asks = {}  # by its own settings
    refused = ("write",)  # and then it ends
    secret = {}
    no_retries = {}
    gives_up_on = (400, 401)  # the others it tries for ever
    retries_on = 500

    @staticmethod
    def environment(home, url):
        return {"HOME": home, "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
                "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}

    @staticmethod
    def prepare(home, url):
        os.makedirs(f"{home}/.config/opencode", exist_ok=True)
        Path(f"{home}/.config/opencode/opencode.json").write_text(json.dumps({
            "autoupdate": False, "share": "disabled", "model": "fake/fake-model", "small_model": "fake/fake-model",
            "provider": {"fake": {
                "npm": "@ai-sdk/openai-compatible", "name": "Fake",
                "options": {"baseURL": f"{url}/v1", "apiKey": "not-a-real-key"},
                "models": {"fake-model": {"name": "Fake", "tool_call": True, "cost": {"input": 1, "output": 2},
                                          "limit": {"context": 100000, "output": 8000}}}}}}), encoding="utf-8")

    @staticmethod
    def shell(command):
        return {"tool": "bash", "input": {"command": command, "description": "as scripted"}}

    @staticmethod
    def edit(path, text):
        return {"tool": "write", "input": {"filePath": path, "content": text}}

    @staticmethod
    def direct(prompt):
        return ["run", "--format", "json", prompt]


AGENTS = {kind.name: kind for kind in (Claude, Codex, Gemini, Opencode)}



class AgentCase(unittest.TestCase):
    """A model, and real agents that ask it."""

    def setUp(self):
        need_agents()
        self.model = FakeModel()
        self.addCleanup(self.model.close)

    def home(self, root, *name):
        """A home that agents may litter."""
        home = os.path.join(root, "home", *name)
        os.makedirs(os.path.join(home, "tmp"), exist_ok=True)
        return home

    def environment(self, kind, home):
        kind.prepare(home, self.model.url)
        env = {**kind.environment(home, self.model.url), "TMPDIR": f"{home}/tmp", "LC_ALL": "C.UTF-8",
               "TERM": "dumb", "NO_COLOR": "1", "DO_NOT_TRACK": "1"}
        if harness.SANDBOX != "none":  # it has a /tmp of its own, and cannot write to a folder of the home
            env.pop("CLAUDE_CODE_TMPDIR", None)
        return env

    def run_direct(self, kind, prompt, cwd, home):
        """One run of an agent without us: (exit status, its lines as JSON, its errors)."""
        env = {"PATH": os.environ["PATH"], **self.environment(kind, home), **kind.secret}
        done = subprocess.run([program(kind.name), *kind.direct(prompt)], env=env, cwd=cwd, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", timeout=harness.PATIENCE, check=False)
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines() if line], done.stderr


# Waits of a fraction of a second instead of minutes; silence is judged in seconds where a test asks for it.
QUICK = """
[retry]
delays = ["10ms", "10ms", "10ms"]
[supervisor]
stop_grace = "5s"
"""


# A check that fails in the same way until the work is right; the second time is one too many.
STUCK = """
[workspace]
check_command = "test -e fixed.txt || { echo error: it is not yet fixed; exit 1; }"
[oversight]
stuck.same_error_count = 2
"""

# A model that calls what it was not offered.
FORCE = {"force": True}


class Agent:
    """An entry of the configuration: an agent under a name of its own, with variables and options."""

    def __init__(self, kind, name=None, env=None, **options):
        self.kind, self.name, self.env, self.options = kind, name or kind.name, env or {}, options


class RealCase(AgentCase):
    """Real agents under a real daemon."""

    def site(self, *agents, config=QUICK, more="", start=True, **options):
        """A site whose agents are these; the first takes what names none. options: of each of them."""
        agents = [a if isinstance(a, Agent) else Agent(a) for a in agents]
        need_namespaces(agents, options)
        root = tempfile.mkdtemp(prefix="overseer-test-")
        site = harness.Site(config + self.agents_config(agents, root, options) + more, root=root)
        self.addCleanup(site.close)
        for agent in agents:
            site.env.update(agent.kind.secret)
        if start:
            site.up()
        return site

    def agents_config(self, agents, root, options):
        """Each has a home of its own: not all of them can be started for the first time twice at once."""
        text = f'[defaults]\nagent = "{agents[0].name}"\n'
        for agent in agents:
            kind = agent.kind
            rows = {"format": kind.name, "command": [program(kind.name)], "model": kind.model, **options, **agent.options}
            env = {**self.environment(kind, self.home(root, agent.name)), **agent.env}
            for table, members in ((f"agents.{agent.name}", rows), (f"agents.{agent.name}.env", env)):
                text += f"[{table}]\n" + "".join(f"{name} = {json.dumps(v)}\n" for name, v in members.items())
        return text

    def goal(self, site, *tasks, **more):
        return site.call("goal.create", title=more.pop("title", "real work"), plan=harness.plan(*tasks), **more)["goal"]

    def wait_goals(self, site, goals):
        """Until all of these are completed; the log may be longer than what can be followed from its beginning."""
        after = site.seq()
        open_goals = {g["id"] for g in site.call("goal.list")["goals"] if g["status"] != "completed"} & set(goals)
        while open_goals:
            event = site.wait_type("goal.status", after=after, to="completed")
            open_goals.discard(event["goal"])
            after = event["seq"]

    def task(self, node, *lists, deps=(), **more):
        """A task whose agent does as the lists of steps say, one list per turn."""
        return harness.task(node, deps, objective=turns(*lists), **more)

    def run_of(self, site, node, n=-1):
        """The record of a node's n-th run."""
        runs = [r for r in site.runs() if r["node_id"] == node]
        return site.call("run.show", run=runs[n]["id"])

    def redirected(self, node):
        """The turns whose own prompt begins with what oversight says; that they remember it does not count."""
        found = []
        for request in self.model.requests:
            prompt = request["prompts"][-1] if request["prompts"] else ""
            if not request["side"] and not request["step"] and "OVERRIDE: Change approach immediately." in prompt:
                said, task = prompt.index("OVERRIDE: Change"), prompt.index(f"ask {node}: ")
                self.assertLess(said, task, prompt)
                self.assertIn("it is not yet fixed", prompt[said:task])
                found.append(request["turn"])
        return found

    def wait_output(self, site, run, wanted):
        """Until a run's output holds these bytes."""
        while wanted not in (output := site.output(run)):
            page = site.call("run.log", run=run, offset=len(output), wait_ms=30000)
            if page["size"] == len(output):
                raise AssertionError(f"{wanted} did not come: {output[-2000:]}")

    def impatient(self, site, **durations):
        """From now on silence is judged in seconds; an agent's slow start has not been."""
        text = "".join(f'{name} = "{value}"\n' for name, value in durations.items())
        before = self.__dict__.setdefault("patient", site.read(".overseer/config.toml"))
        site.configure(before.replace("[supervisor]\n", "[supervisor]\n" + text))
        site.call("config.reload")

    def hung(self, site):
        """From now on silence is judged in seconds, until the silent run is asked; whatever comes then is given its time."""
        self.impatient(site, idle_after="8s", min_resend_interval="100ms", **{"backoff.base": "100ms"})
        stall = site.wait_type("episode.opened")["data"]
        self.assertIn("no sign of life for", stall["reason"])
        nudge = site.wait_type("episode.rung", rung="nudge")["data"]
        self.assertFalse(nudge.get("skipped"), nudge)
        self.assertNotIn("process", [e["data"]["sign"] for e in self.kinds_of(site, "assignment.activity")])
        self.impatient(site, idle_after="5m")

    def kinds_of(self, site, kind):
        return [e for e in site.events() if e["type"] == kind]

    def asks_about_its_folder(self, site):
        """Claude Code in a terminal, not told to trust the repository: a person is told that it waits, sees why, and answers."""
        goal = self.goal(site, self.task("T1", [Claude.shell("echo x > T1.txt"), {"text": "Did it."}]))
        site.wait_type("run.created")
        end = time.monotonic() + harness.PATIENCE
        while (worker := site.call("worker.show", worker="pool-1")).get("now", {}).get("state") != "waiting":
            self.assertLess(time.monotonic(), end, worker)
            time.sleep(0.1)
        self.assertIn("Yes, I trust this folder", self.cli(site, "worker", "peek", "pool-1"))
        self.assertEqual([r for r in self.model.requests if not r["side"]], [])
        self.assertEqual([r["status"] for r in site.runs()], ["running"])
        *tmux, _, _, target, session = worker["place"]["peek"]
        for key in ("Down", "Enter"):
            subprocess.run([*tmux, "send-keys", target, session, key], env=site.env, check=True)
        site.wait_goal(goal)
        self.assertEqual(site.git("show", "main:T1.txt"), "x\n")

    def cli(self, site, *args, status=0):
        done = subprocess.run([harness.CLI, "--dir", site.dir, *args], env=site.env, cwd=site.repo,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=harness.PATIENCE,
                              check=False)
        if done.returncode != status:
            raise AssertionError(f"overseer {' '.join(args)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout
