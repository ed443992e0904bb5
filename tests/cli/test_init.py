"""`overseer init` in real repositories."""

import os
import re
import stat
import time
import tomllib

from cli_case import Case, main


class Init(Case):
    def config(self):
        """What the file says: it is TOML, and tables in which all is commented out say nothing."""
        with open(os.path.join(self.cwd, ".overseer/config.toml"), "rb") as f:
            return {name: table for name, table in tomllib.load(f).items() if table}

    def exclude(self, common=None):
        with open(os.path.join(common or os.path.join(self.cwd, ".git"), "info/exclude")) as f:
            return f.read()

    def bare_path(self, *names):
        """A PATH with git and these agents alone."""
        folder = self.path("bin")
        os.makedirs(folder, exist_ok=True)
        for name in names:
            self.write("bin/" + name, "#!/bin/sh\n", 0o755)
        for found in os.environ["PATH"].split(":"):
            if os.access(os.path.join(found, "git"), os.X_OK):
                os.symlink(os.path.join(found, "git"), os.path.join(folder, "git"))
                break
        self.env["PATH"] = folder

    def test_outside_of_a_repository(self):
        self.env["GIT_CEILING_DIRECTORIES"] = os.path.dirname(self.root)
        done = self.fails(3, "init")
        self.assertIn("not in a git repository", done.err)
        self.assertIn("Next  git init", done.err)
        self.assertFalse(os.path.exists(self.path(".overseer")))
        self.assertEqual(self.fails(3, "init", "--json").error()["next"], "git init")

    def test_no_git(self):
        os.mkdir(self.path("bin"))
        self.assertIn("git is not installed", self.fails(3, "init", env={"PATH": self.path("bin")}).err)

    def test_first_time(self):
        self.repository()
        self.bare_path()
        done = self.ok("init")
        self.assertIn("repo (branch main, clean)", done.out)
        self.assertIn("none of claude, codex, gemini, opencode is in PATH", done.out)
        self.assertIn("name an agent: [agents.NAME]", done.out)
        self.assertIn("no check is configured: finished work will wait for your review", done.out)
        self.assertEqual(done.out.splitlines()[-1].split("  ")[-1].strip(), "start the daemon")
        mode = os.stat(os.path.join(self.cwd, ".overseer")).st_mode
        self.assertEqual(stat.S_IMODE(mode), 0o700)
        self.assertEqual(self.config(), {})
        self.assertEqual(self.git("status", "--porcelain"), "")
        self.assertIn("good", self.ok("config", "check").out)

    def test_again_keeps_everything(self):
        self.repository()
        self.ok("init")
        self.write("repo/.overseer/config.toml", "# mine\nworkers.max = 9\n")
        before = self.exclude()
        done = self.ok("init")
        self.assertIn("was not changed", done.out)
        self.assertEqual(self.config(), {"workers": {"max": 9}})
        self.assertEqual(self.exclude(), before)
        self.assertFalse(self.ok("init", "--json").json()["created"])

    def test_agents_that_are_found_are_configured(self):
        self.repository()
        self.bare_path("claude", "codex", "gemini", "opencode")
        self.write("bin/claude", "#!/bin/sh\necho '2.1.325 (Claude Code)'\n", 0o755)
        self.write("bin/codex", "#!/bin/sh\n[ \"$1\" = --version ] && echo codex-cli 0.166.0\n", 0o755)
        self.write("bin/gemini", "#!/bin/sh\necho broken >&2\nexit 3\n", 0o755)
        done = self.ok("init")
        self.assertIn("claude 2.1.325  (hooks, resume, tool scope, cost)  -> [agents.claude]  (default)", done.out)
        self.assertIn("codex 0.166.0  (hooks, resume, tool scope)  -> [agents.codex]", done.out)
        self.assertIn('gemini does not work: "gemini --version" failed with status 3', done.out)
        self.assertIn("opencode (version unknown)", done.out)
        self.assertNotIn("name an agent", done.out)
        config = self.config()
        self.assertEqual(config["defaults"]["agent"], "claude")
        self.assertEqual(config["agents"], {name: {"format": name} for name in ("claude", "codex", "opencode")})
        self.assertIn("good, 3 agents", self.ok("config", "check").out)
        # What is commented out is written as it would have to be.
        path = os.path.join(self.cwd, ".overseer/config.toml")
        with open(path) as f:
            text = f.read()
        start = text.index("[agents.claude]")
        lines = [line[1:] if line.startswith("#") and not line.startswith("# ") else line
                 for line in text[start:].splitlines()]
        with open(path, "w") as f:
            f.write(text[:start] + "\n".join(lines) + "\n")
        self.assertIn("good, 4 agents", self.ok("config", "check").out)

    def test_an_agent_that_is_too_old(self):
        self.repository()
        self.bare_path("codex")
        self.write("bin/codex", "#!/bin/sh\necho codex-cli 0.110.0\n", 0o755)
        done = self.ok("init")
        self.assertIn("codex: version 0.110.0 is older than 0.131.0, the oldest that is known to work: update it", done.out)
        self.assertEqual(self.config()["agents"], {"codex": {"format": "codex"}}, "it may work all the same")

    def test_snippets_can_be_pasted_anywhere(self):
        """README's agent, before, after and between all tables of the file; then any line of it is uncommented."""
        with open(os.path.join(os.path.dirname(__file__), "../../README.md")) as f:
            blocks = re.findall(r"(?:^    .*\n)+", f.read(), re.M)
        snippet, = [re.sub("^    ", "", b, flags=re.M) for b in blocks if "[agents.mine]" in b]
        section = '[auto]\ntask_pool_command = "./next"\n[accept]\nreview = "always"\n'
        for agents in ((), ("claude",)):
            self.repository(f"repo{len(agents)}")
            self.write(f"repo{len(agents)}/Makefile", "test:\n\ttrue\n")
            if agents:
                self.write("bin/claude", "#!/bin/sh\n", 0o755)
            else:
                self.bare_path()
            self.ok("init")
            path = os.path.join(self.cwd, ".overseer/config.toml")
            with open(path) as f:
                template = f.read()
            places = [m.start() for m in re.finditer(r"^\[", template, re.M)] + [len(template)]
            self.assertGreater(len(places), 15)
            for text in (snippet, snippet + section, section + snippet):
                for at in [0] + places:
                    self.check(path, template[:at] + text + template[at:], len(agents) + 1)
            for text in (snippet + template, template + snippet):
                keys = list(re.finditer(r"^#(?=[a-z_.]+ = )", text[:text.index("# Agents.")], re.M))
                self.assertGreater(len(keys), 100)
                for key in keys if not agents else ():
                    self.check(path, text[:key.start()] + text[key.end():], 1)

    def check(self, path, text, agents):
        with open(path, "w") as f:
            f.write(text)
        self.assertRegex(self.ok("config", "check").out, f"(good|valid), {agents} agent")

    def test_all_agents_broken(self):
        self.repository()
        self.bare_path("codex")
        self.write("bin/codex", "#!/nonexistent\n", 0o755)
        done = self.ok("init")
        self.assertIn("codex does not work", done.out)
        self.assertIn("name an agent", done.out)
        self.assertEqual(self.config(), {})

    def test_an_agent_that_does_not_answer_is_not_waited_for(self):
        self.repository()
        self.bare_path("codex")
        self.write("bin/codex", "#!/bin/sh\necho $$ >%s\nwhile :; do :; done\n" % self.path("pid"),
                   0o755)
        begun = time.monotonic()
        self.assertIn("codex (version unknown)", self.ok("init").out)
        self.assertLess(time.monotonic() - begun, 30)
        with open(self.path("pid")) as f:
            self.assertFalse(os.path.exists(f"/proc/{f.read().strip()}"))

    def test_json(self):
        self.repository()
        self.bare_path("gemini")
        self.write("repo/Makefile", "check: all\n\ttrue\n")
        found = self.ok("init", "--json").json()
        self.assertEqual(found["repository"], self.cwd)
        self.assertEqual((found["branch"], found["clean"], found["created"]), ("main", False, True))
        self.assertEqual(found["agents"], [{
            "name": "gemini", "title": "Gemini CLI", "path": self.path("bin/gemini"), "version": None,
            "warning": None, "problem": None}])
        self.assertEqual((found["default_agent"], found["check_command"]), ("gemini", "make check"))

    def check_command(self, files):
        """What is found in a repository with these files: in the output and in the file alike."""
        name = f"repo{len(os.listdir(self.root))}"
        self.repository(name)
        for path, text in files.items():
            self.write(os.path.join(name, path), text)
        found = self.ok("init", "--json").json()["check_command"]
        self.assertEqual(self.config().get("workspace", {}).get("check_command", ""), found)
        return found

    def test_check_commands(self):
        for want, files in (
                ("make test", {"Makefile": "check:\n\ttrue\ntest : x\n\ttrue\n"}),
                ("make check", {"makefile": "all:\ncheck: all\n"}),
                ("", {"Makefile": "test := 1\ntesting:\n\ttrue\n\ttest: no\n"}),
                ("make test", {"Makefile": ".PHONY: test\ncheck test: all\n\ttrue\n"}),
                ("", {"Makefile": ".PHONY: test\nall:\n\ttest: x\n# test: no\ntest ::= 1\nx = test:\n"}),
                ("", {"GNUmakefile": "all:\n", "Makefile": "test:\n"}),
                ("npm test", {"package.json": '{"scripts": {"test": "jest"}}'}),
                ("", {"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'}),
                ("", {"package.json": "not json"}),
                ("cargo test", {"Cargo.toml": ""}),
                ("cargo test --workspace", {"Cargo.toml": "[package]\nname = 'x'\n[workspace]\n"}),
                ("go test ./...", {"go.mod": ""}),
                ("python3 -m pytest", {"pyproject.toml": "[tool.pytest.ini_options]\n"}),
                ("python3 -m pytest", {"pytest.ini": ""}),
                ("", {"pyproject.toml": "[project]\n"}),
                ("python3 -m pytest", {"setup.cfg": "[tool:pytest]\n"}),
                ("python3 -m pytest", {"tox.ini": "[pytest]\n"}),
                ("", {"setup.cfg": "[metadata]\n", "tox.ini": "[tox]\n"}),
                ("python3 -m pytest", {"tests/conftest.py": ""}),
                ("python3 -m pytest", {"requirements-dev.txt": "pytest>=8\n"}),
                ("python3 -m unittest discover", {"tests/__init__.py": "", "requirements.txt": "flask\n"}),
                ("python3 -m pytest", {"tests/test_x.py": "import pytest\n"}),
                ("python3 -m pytest", {"test_x.py": "def test_x():\n    pass\n"}),
                ("python3 -m unittest discover -s tests", {"tests/test_x.py": "import unittest\n", "setup.py": ""}),
                ("", {"tests/helper.py": "import pytest\n", "x.py": ""}),
                ("", {"pyproject.toml": "[project]\n# pytest some day\n"}),
                ("python3 manage.py test", {"manage.py": "import django\n", "app/tests.py": ""}),
                ("gradle test", {"settings.gradle": "include 'app'\n"}),
                ("./gradlew test", {"gradlew": "", "build.gradle.kts": ""}),
                ("gradle test", {"build.gradle.kts": ""}),
                ("./mvnw test", {"mvnw": "", "pom.xml": ""}),
                ("mvn test", {"pom.xml": ""}),
                ("meson setup build && meson test -C build", {"meson.build": "project('x')\nsubdir('tests')\n",
                                                              "tests/meson.build": "test('x', x)\n"}),
                ("meson setup build && meson test -C build", {"meson.build": "project('x')\ntest('x', x)\n"}),
                ("", {"meson.build": "project('x')\nsubdir('src')\n", "src/meson.build": "latest('x')\n# test('x')\n"}),
                ("", {"meson.build": "project('x')\n"}),
                ("cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure",
                 {"CMakeLists.txt": "project(x)\nenable_testing()\n"}),
                ("", {"CMakeLists.txt": "project(x)\n# enable_testing()\n"}),
                ("make test", {"Makefile": "test:\n", "Cargo.toml": ""})):
            self.assertEqual(self.check_command(files), want, files)

    def test_path_with_spaces_and_more(self):
        self.repository("my repo's \"dir\" ü")
        done = self.ok("init")
        self.assertIn('my repo\'s "dir" ü (branch main', done.out)
        self.assertEqual(self.git("status", "--porcelain"), "")
        self.ok("config", "check")

    def test_from_below_and_by_dir(self):
        top = self.repository()
        os.makedirs(os.path.join(top, "a/b"))
        self.cwd = os.path.join(top, "a/b")
        self.ok("init")
        self.assertTrue(os.path.isdir(os.path.join(top, ".overseer")))
        other = self.repository("other")
        self.cwd = self.root
        self.ok("init", "--dir", other)
        self.assertTrue(os.path.isdir(os.path.join(other, ".overseer")))

    def test_linked_worktree(self):
        main_tree = self.repository()
        tree = self.path("linked tree")
        self.git("worktree", "add", "-q", "-b", "side", tree)
        self.assertTrue(os.path.isfile(os.path.join(tree, ".git")))
        self.cwd = tree
        self.assertIn("(branch side, clean)", self.ok("init").out)
        self.assertEqual(self.exclude(os.path.join(main_tree, ".git")).count("/.overseer/\n"), 1)
        self.assertEqual(self.git("status", "--porcelain"), "")
        self.cwd = main_tree
        self.ok("init")
        self.assertEqual(self.exclude().count("/.overseer/\n"), 1)

    def test_not_in_our_own_worktrees(self):
        top = self.repository()
        self.ok("init")
        tree = os.path.join(top, ".overseer/worktrees/pool-1")
        self.git("worktree", "add", "-q", "-b", "w", tree)
        self.cwd = tree
        self.fails(4, "init")
        self.assertFalse(os.path.exists(os.path.join(tree, ".overseer")))

    def test_states_of_the_repository(self):
        top = self.repository()
        self.write("repo/new", "x")
        self.assertIn("with uncommitted changes", self.ok("init").out)
        self.git("add", "new")
        self.git("commit", "-qm", "new")
        self.git("checkout", "-q", "--detach")
        self.assertIn("(detached, clean)", self.ok("init").out)
        self.cwd = self.path("empty")
        os.mkdir(self.cwd)
        self.git("init", "-q", "-b", "main", ".")
        out = self.ok("init").out
        self.assertIn("no commit yet", out)
        self.assertIn("git commit", out)
        self.cwd = self.path("bare")
        os.mkdir(self.cwd)
        self.git("init", "-q", "--bare", ".")
        self.fails(3, "init")
        self.assertTrue(os.path.isdir(top))

    def test_exclude_without_a_last_newline(self):
        self.repository()
        self.write("repo/.git/info/exclude", "*.o")
        self.ok("init")
        self.assertEqual(self.exclude(), "*.o\n/.overseer/\n")

    def test_read_only_folder(self):
        if os.geteuid() == 0:
            self.write("repo-file", "")
            self.repository()
            self.write("repo/.overseer", "a file in the way")
            self.assertIn(self.run_cli("init").code, (4, 8))
            return
        top = self.repository()
        os.chmod(top, 0o500)
        self.addCleanup(os.chmod, top, 0o700)
        self.assertIn(self.run_cli("init").code, (5, 8))


if __name__ == "__main__":
    main()
