"""The real agents, for tests: each with a home of its own, and a model that the test scripts.

find() says where the pinned agents are (tools/agents-cache, which `make check` runs first). Without
them the tests that need them are skipped and say why; where CI is set, they fail instead.
"""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(1, str(TOP / "tests/system"))

import harness  # noqa: E402
from fake_model import FakeModel, script, turns  # noqa: E402,F401


def find():
    done = subprocess.run([TOP / "tools/agents-cache", "--look"], stdin=subprocess.DEVNULL, capture_output=True,
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


def program(name):
    return CACHE["agents"][name]["program"]


class Claude:
    name = "claude"
    model = "claude-sonnet-4-5"
    wire = "messages"
    shell_tool, edit_tool = "Bash", "Write"

    @staticmethod
    def environment(home, url):
        return {"HOME": home, "ANTHROPIC_BASE_URL": url, "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1",
                "DISABLE_ERROR_REPORTING": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "CLAUDE_CODE_TMPDIR": f"{home}/tmp", "ENABLE_TOOL_SEARCH": "false"}

    secret = {"ANTHROPIC_API_KEY": "not-a-real-key"}

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
    name = "codex"
    model = "fake-model"
    wire = "responses"
    shell_tool, edit_tool = "exec_command", "exec_command"
    secret = {"FAKE_KEY": "not-a-real-key"}

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
env_key = "FAKE_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
""", encoding="utf-8")

    @staticmethod
    def shell(command):
        return {"tool": "exec_command", "input": {"cmd": command}}

    @classmethod
    def edit(cls, path, text):
        patch = "".join(f"+{line}\n" for line in text.splitlines())
        return cls.shell(f"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: {path}\n{patch}*** End Patch\nEOF")

    @staticmethod
    def direct(prompt):
        return ["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", prompt]


class Gemini:
    name = "gemini"
    model = "gemini-2.5-pro"
    wire = "gemini"
    shell_tool, edit_tool = "run_shell_command", "write_file"
    secret = {"GEMINI_API_KEY": "not-a-real-key"}

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
    name = "opencode"
    model = "fake/fake-model"
    wire = "chat"
    shell_tool, edit_tool = "bash", "write"
    secret = {}

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

    def home(self, root):
        """A home that agents may litter."""
        home = os.path.join(root, "home")
        os.makedirs(os.path.join(home, "tmp"), exist_ok=True)
        return home

    def environment(self, kind, home):
        kind.prepare(home, self.model.url)
        return {**kind.environment(home, self.model.url), "TMPDIR": f"{home}/tmp", "LC_ALL": "C.UTF-8",
                "TERM": "dumb", "NO_COLOR": "1", "DO_NOT_TRACK": "1"}

    def run_direct(self, kind, prompt, cwd, home):
        """One run of an agent without us: (exit status, its lines as JSON, its errors)."""
        env = {"PATH": os.environ["PATH"], **self.environment(kind, home), **kind.secret}
        done = subprocess.run([program(kind.name), *kind.direct(prompt)], env=env, cwd=cwd, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", timeout=harness.PATIENCE, check=False)
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines() if line], done.stderr
