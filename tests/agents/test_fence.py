#!/usr/bin/env python3
"""The real agents in the fence that they get by default: with their logins, settings and servers of MCP, in exec and tmux."""

import base64
import http.server
import json
import os
import sys
import threading
import unittest
import unittest.mock
from pathlib import Path

import real
from real import Claude, Codex, Gemini, Opencode

import namespaces

SERVER = str(Path(__file__).resolve().parent / "mcp_server.py")


def claude_home(home, repo, server):
    """Logged in by a file, trusted, with a server of the user's own."""
    Path(home, ".claude").mkdir(exist_ok=True)
    Path(home, ".claude", "settings.json").write_text('{"permissions": {"allow": ["mcp__probe__touch"]}}', encoding="utf-8")
    Path(home, ".claude.json").write_text(json.dumps({
        "hasCompletedOnboarding": True, "theme": "dark", "projects": {repo: {"hasTrustDialogAccepted": True}},
        "customApiKeyResponses": {"approved": ["not-a-real-key"[-20:]], "rejected": []},
        "mcpServers": {"probe": {"type": "stdio", "command": server[0], "args": server[1:]}}}), encoding="utf-8")
    return [".claude/settings.json", ".claude.json"]


def codex_home(home, repo, server):
    path = Path(home, "codex", "config.toml")
    path.write_text(path.read_text(encoding="utf-8") + f"""
[mcp_servers.probe]
command = {json.dumps(server[0])}
args = {json.dumps(server[1:])}
""", encoding="utf-8")
    return ["codex/config.toml"]


def gemini_home(home, repo, server):
    path = Path(home, ".gemini", "settings.json")
    settings = json.loads(path.read_text(encoding="utf-8"))
    settings["mcpServers"] = {"probe": {"command": server[0], "args": server[1:], "trust": True}}
    path.write_text(json.dumps(settings), encoding="utf-8")
    return [".gemini/settings.json"]


def opencode_home(home, repo, server):
    path = Path(home, ".config", "opencode", "opencode.json")
    settings = json.loads(path.read_text(encoding="utf-8"))
    settings["mcp"] = {"probe": {"type": "local", "command": server, "enabled": True}}
    path.write_text(json.dumps(settings), encoding="utf-8")
    return [".config/opencode/opencode.json"]


# The tool of the server, as each of them calls it.
CASES = {
    Claude: (claude_home, "mcp__probe__touch", [".claude/settings.json", ".claude/hooks/x", ".claude/plugins/x", ".claude.json"]),
    Codex: (codex_home, "touch", ["codex/config.toml", "codex/hooks.json", "codex/AGENTS.md", "codex/skills/x"]),
    Gemini: (gemini_home, "mcp_probe_touch", [".gemini/settings.json", ".gemini/extensions/x", ".gemini/GEMINI.md"]),
    Opencode: (opencode_home, "probe_touch", [".config/opencode/opencode.json", ".config/opencode/plugin/x.js",
                                              ".local/share/opencode/bin/x"]),
}


def tokens(name, until):
    """Of a login of Codex, until a second of Unix time."""
    def part(claims):
        return base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")

    about = {"exp": until, "email": "a@example.com", "https://api.openai.com/auth": {
        "chatgpt_account_id": "account", "chatgpt_plan_type": "pro", "chatgpt_user_id": "user"}}
    token = ".".join([part({"alg": "none"}), part({**about, "jti": name}), part({"x": 1})])
    return {"id_token": token, "access_token": token, "refresh_token": name, "account_id": "account"}


class TokenServer:
    """Gives a new login to whoever asks."""

    def __enter__(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                text = json.dumps(tokens("new", 4102444800)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/oauth/token"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *args):
        self.server.shutdown()
        self.server.server_close()


class Fence(real.RealCase):
    def setUp(self):
        super().setUp()
        if namespaces.no_sandbox():
            self.skipTest(namespaces.no_sandbox())

    def fenced(self, kind, **options):
        """A site of this agent with the defaults, its home as a person has it: (site, home, its settings' texts)."""
        server = self.enterContext(self.visible_server())
        site = self.site(kind, start=False, sandbox="auto", **options)
        kind = kind.kind if isinstance(kind, real.Agent) else kind
        home = self.home(site.root, kind.name)
        kept = CASES[kind][0](home, site.repo, [sys.executable, server])
        # Some of them look at a command before they run it, and refuse what writes elsewhere.
        site.write("plant.sh", self.plant(kind, home) + f"echo renewed > {home}/.claude/.credentials.json\n")
        site.git("add", "plant.sh")
        site.git("commit", "-qm", "a script")
        text = site.read(".overseer/config.toml")
        site.configure("\n".join(line for line in text.split("\n") if not line.startswith("CLAUDE_CODE_TMPDIR")))
        return site, home, {name: Path(home, name).read_text(encoding="utf-8") for name in kept}

    @staticmethod
    def visible_server(name=""):
        """The server's program where the fence shows it: nothing of /tmp is."""
        class Copy:
            def __enter__(self):
                self.path = f"/var/tmp/overseer-test-mcp-{os.getpid()}{name}.py"
                Path(self.path).write_bytes(Path(SERVER).read_bytes())
                return self.path

            def __exit__(self, *args):
                os.unlink(self.path)
        return Copy()

    def plant(self, kind, home):
        """A script that tries to change what the agent, or anybody, would run one day."""
        return "".join(f"mkdir -p {home}/{os.path.dirname(name)}; echo planted > {home}/{name}\n"
                       for name in [*CASES[kind][2], ".bashrc", ".gitconfig", ".config/autostart/x.desktop"])

    def planted(self, home):
        return [path for path in Path(home).rglob("*") if path.is_file() and not path.is_symlink()
                and path.stat().st_size < 100 and path.read_bytes() == b"planted\n"]

    def check(self, kind, **options):
        site, home, settings = self.fenced(kind, **options)
        site.up()
        goal = self.goal(site, self.task(
            "T1", [{"tool": CASES[kind][1], "input": {"name": "server.txt"}},
                   kind.shell("sh plant.sh; echo x > T1.txt"), {"text": "Did it."}]))
        site.wait_goal(goal)
        self.assertEqual(site.git("show", "main:T1.txt"), "x\n")
        self.assertEqual(self.run_of(site, "T1")["sandbox"], "fence")
        self.assertEqual(self.planted(home), [])
        for name, text in settings.items():
            self.assertEqual(Path(home, name).read_text(encoding="utf-8"), text, name)
        self.assertEqual(site.git("show", "main:server.txt"), "by the server\n")

    def test_claude(self):
        self.check(Claude)

    def check_project(self, kind, name, text, tools, settings):
        """Servers that the repository brings itself, or the user has for it alone; settings: of the user, changed by a call."""
        site, home, _ = self.fenced(kind)
        server = [sys.executable, self.enterContext(self.visible_server("2"))]
        site.write(name, text(server))
        site.git("add", name)
        site.git("commit", "-qm", "a server")
        before = settings(home, site.repo, server)
        site.up()
        calls = [{"tool": tool, "input": {"name": f"{n}.txt"}} for n, tool in enumerate(tools)]
        site.wait_goal(self.goal(site, self.task("T1", [*calls, {"text": "Did it."}])))
        for n, _ in enumerate(tools):
            self.assertEqual(site.git("show", f"main:{n}.txt"), "by the server\n")
        for path, content in before.items():
            self.assertEqual(path.read_text(encoding="utf-8"), content)

    def test_claude_knows_a_worktree_as_its_repository(self):
        def settings(home, repo, server):
            allowed = Path(home, ".claude", "settings.json")
            allowed.write_text('{"permissions": {"allow": ["mcp__local__touch", "mcp__committed__touch"]}}', encoding="utf-8")
            path = Path(home, ".claude.json")
            told = json.loads(path.read_text(encoding="utf-8"))
            local = {"type": "stdio", "command": server[0], "args": server[1:]}
            told["projects"][repo].update(mcpServers={"local": local}, enabledMcpjsonServers=["committed"])
            path.write_text(json.dumps(told), encoding="utf-8")
            return {path: json.dumps(told)}

        self.check_project(Claude, ".mcp.json", lambda server: json.dumps(
            {"mcpServers": {"committed": {"type": "stdio", "command": server[0], "args": server[1:]}}}),
            ["mcp__local__touch", "mcp__committed__touch"], settings)

    def test_codex_knows_a_worktree_as_its_repository(self):
        def settings(home, repo, server):
            path = Path(home, "codex", "config.toml")
            text = path.read_text(encoding="utf-8").split("[mcp_servers.probe]")[0]
            text += f'[projects.{json.dumps(repo)}]\ntrust_level = "trusted"\n'
            path.write_text(text, encoding="utf-8")
            return {path: text}

        self.check_project(Codex, ".codex/config.toml", lambda server:
                           f"[mcp_servers.committed]\ncommand = {json.dumps(server[0])}\nargs = {json.dumps(server[1:])}\n",
                           ["touch"], settings)

    def test_gemini_knows_a_worktree_as_its_repository(self):
        self.check_project(Gemini, ".gemini/settings.json", lambda server: json.dumps(
            {"mcpServers": {"committed": {"command": server[0], "args": server[1:], "trust": True}}}),
            ["mcp_committed_touch"], lambda home, repo, server: {})

    def test_opencode_knows_a_worktree_as_its_repository(self):
        self.check_project(Opencode, "opencode.json", lambda server: json.dumps(
            {"mcp": {"committed": {"type": "local", "command": server, "enabled": True}}}),
            ["committed_touch"], lambda home, repo, server: {})

    def test_codex(self):
        self.check(Codex)

    def test_gemini(self):
        self.check(Gemini)

    def test_opencode(self):
        self.check(Opencode)

    def test_claude_in_tmux(self):
        self.check_tmux(Claude)

    def test_claude_in_tmux_where_the_user_does_not_trust_the_repository(self):
        site, home, _ = self.fenced(Claude, runtime="tmux", more='[patrol]\nconfirm = "10s"\n')
        site.env["TMUX_TMPDIR"] = site.root
        path = Path(home, ".claude.json")
        path.write_text(path.read_text(encoding="utf-8").replace('"hasTrustDialogAccepted": true', '"hasTrustDialogAccepted": false'),
                        encoding="utf-8")
        before = path.read_text(encoding="utf-8")
        site.up()
        self.asks_about_its_folder(site)
        self.assertEqual(path.read_text(encoding="utf-8"), before)

    def test_codex_in_tmux(self):
        self.check_tmux(Codex)

    def check_tmux(self, kind):
        site, home, settings = self.fenced(kind, runtime="tmux")
        site.env["TMUX_TMPDIR"] = site.root
        site.up()
        goal = self.goal(site, self.task("T1", [kind.shell("sh plant.sh; echo x > T1.txt"), {"text": "Did it."}]))
        site.wait_goal(goal)
        self.assertEqual(self.run_of(site, "T1")["sandbox"], "fence")
        self.assertEqual(self.planted(home), [])
        for name, text in settings.items():
            self.assertEqual(Path(home, name).read_text(encoding="utf-8"), text, name)

    def check_login(self, kind, name, content):
        """It is logged in by a file of its home and by nothing else, and the model gets what is in it."""
        site, home, _ = self.fenced(kind)
        path = Path(home, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        for variable in kind.secret:
            del site.env[variable]
        site.up()
        site.wait_goal(self.goal(site, self.task("T1", [kind.shell("echo x > T1.txt"), {"text": "Did it."}])))
        self.assertEqual(self.run_of(site, "T1")["sandbox"], "fence")
        self.assertEqual({key.removeprefix("Bearer ") for key in self.model.keys}, {"login-of-a-test"})

    def test_claude_uses_its_login(self):
        self.check_login(Claude, ".claude/.credentials.json", json.dumps({"claudeAiOauth": {
            "accessToken": "login-of-a-test", "refreshToken": "none", "expiresAt": 4102444800000,
            "scopes": ["user:inference", "user:profile"], "subscriptionType": "max"}}))

    @staticmethod
    def codex_logged_in(home, url, prepare=Codex.prepare):
        """As it is prepared, but with a login instead of a key in its environment."""
        prepare(home, url)
        path = Path(home, "codex", "config.toml")
        path.write_text(path.read_text(encoding="utf-8").replace('env_key = "OPENAI_API_KEY"', "requires_openai_auth = true"),
                        encoding="utf-8")

    def test_codex_uses_its_login(self):
        with unittest.mock.patch.object(Codex, "prepare", self.codex_logged_in):
            self.check_login(Codex, "codex/auth.json", json.dumps({"auth_mode": "apikey", "OPENAI_API_KEY": "login-of-a-test"}))

    def test_gemini_uses_its_login(self):
        self.check_login(Gemini, ".gemini/.env", "GEMINI_API_KEY=login-of-a-test\n")

    def test_opencode_uses_its_login(self):
        prepare = Opencode.prepare

        def logged_in(home, url):
            prepare(home, url)
            path = Path(home, ".config", "opencode", "opencode.json")
            path.write_text(path.read_text(encoding="utf-8").replace(', "apiKey": "not-a-real-key"', ""), encoding="utf-8")

        with unittest.mock.patch.object(Opencode, "prepare", logged_in):
            self.check_login(Opencode, ".local/share/opencode/auth.json",
                             json.dumps({"fake": {"type": "api", "key": "login-of-a-test"}}))

    def test_codex_renews_its_login(self):
        """A login that is due: Codex asks for another one, and the user's file has it afterwards."""
        with TokenServer() as server, unittest.mock.patch.object(Codex, "prepare", self.codex_logged_in):
            site, home, _ = self.fenced(real.Agent(Codex, env={"CODEX_REFRESH_TOKEN_URL_OVERRIDE": server.url}))
            path = Path(home, "codex", "auth.json")
            path.write_text(json.dumps({"auth_mode": "chatgpt", "OPENAI_API_KEY": None, "tokens": tokens("old", 1),
                                        "last_refresh": "2020-01-01T00:00:00Z"}), encoding="utf-8")
            del site.env["OPENAI_API_KEY"]
            site.up()
            site.wait_goal(self.goal(site, self.task("T1", [Codex.shell("echo x > T1.txt"), {"text": "Did it."}])))
        renewed = tokens("new", 4102444800)
        self.assertEqual(self.model.keys, {"Bearer " + renewed["access_token"]})
        self.assertEqual(json.loads(path.read_text(encoding="utf-8"))["tokens"]["refresh_token"], "new")

    def test_a_login_that_is_renewed_is_the_users(self):
        """Each of them writes its file of credentials in place: a tool stands in for that here."""
        site, home, _ = self.fenced(Claude)
        Path(home, ".claude", ".credentials.json").write_text("{}", encoding="utf-8")
        site.up()
        site.wait_goal(self.goal(site, self.task("T1", [Claude.shell("sh plant.sh; echo x > T1.txt"), {"text": "Did it."}])))
        self.assertEqual(Path(home, ".claude", ".credentials.json").read_text(encoding="utf-8"), "renewed\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
