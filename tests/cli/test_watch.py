"""`overseer watch` up to the start of the watchdog: what it is told, and what is refused before."""

import json
import os
import subprocess

from cli_case import Case, main

# Stands in for the watchdog: says what it was told, and how it was started.
DUMP = """#!/bin/sh
test "$1" = --spec-fd || exit 99
eval "exec 9<&$2"
cat <&9
"""
PROMPT = "\x02overseer-prompt\x03"


class Watch(Case):
    def setUp(self):
        super().setUp()
        self.repository("my repo")
        self.dir = os.path.join(self.cwd, ".overseer")
        os.mkdir(self.dir)
        self.env["OVERSEER_WATCH"] = self.write("dump", DUMP, 0o755)

    def config(self, text):
        with open(os.path.join(self.dir, "config.toml"), "w") as f:
            f.write(text)

    def spec(self, *args, **more):
        return self.ok("watch", *args, **more).json()

    def test_without_a_configuration(self):
        spec = self.spec()
        self.assertEqual((spec["dir"], spec["repo"], spec["remedy"]), (self.dir, self.cwd, None))
        self.assertRegex(spec["start_command"], r"^exec (overseer|'/.*/overseer') up --foreground "
                                                r'--dir "\$OVERSEER_DIR" "\$@"$')
        self.assertTrue(os.access(spec["overseer"], os.X_OK))
        self.assertEqual(spec["watch"], {
            "registration_timeout_ms": 60000, "heartbeat_timeout_ms": 30000, "stall_timeout_ms": 3600000,
            "grace_ms": 30000, "restart_cooldown_ms": 60000, "remediation_timeout_ms": 1800000,
            "max_restarts": 20, "remediation_prompt": ""})

    def test_options_reach_the_daemon_and_the_watchdog(self):
        self.config("watch.grace = \"7s\"\nwatch.start_command = 'printf \"%s|\" \"$@\"'\n"
                    'defaults.agent = "a"\n[agents.a]\ncommand = ["true"]\n')
        spec = self.spec("--auto", "--task-pool-command", "echo 'it''s' $X", "--set", "watch.max_restarts=3",
                         "--concurrency", "2")
        self.assertEqual((spec["watch"]["grace_ms"], spec["watch"]["max_restarts"]), (7000, 3))
        said = subprocess.run(["/bin/sh", "-c", spec["start_command"]], capture_output=True, text=True)
        self.assertEqual(said.stdout, "--auto|--set|watch.max_restarts=3|--set|auto.task_pool_command=echo 'it''s' $X|"
                                      "--set|auto.concurrency=2|")
        self.assertIn("it needs --auto", self.fails(2, "watch", "--concurrency", "2").err)
        self.assertIn("overseer watch --auto --concurrency", self.fails(2, "watch", "--concurrency", "2").err)

    def test_auto_mode_that_cannot_work(self):
        done = self.fails(2, "watch", "--auto")
        self.assertIn("auto.task_pool_command is not set", done.err)
        self.assertIn("Next  overseer watch --auto --task-pool-command COMMAND", done.err)
        self.assertIn("needs an agent", self.fails(2, "watch", "--auto", "--task-pool-command", "true").err)

    def test_an_agent_mends(self):
        program = self.write("bin/claude", "#!/bin/sh\n", 0o755)
        self.env["PATH"] = os.path.dirname(program) + ":" + self.env["PATH"]
        self.env.update(ANTHROPIC_API_KEY="k1", SECRET="k2")
        self.config('watch.remediation_agent = "c"\nwatch.remediation_prompt = "Mend it."\n'
                    'watch.remediation_dir = "sub"\n'
                    '[agents.c]\nformat = "claude"\nmodel = "m"\n[agents.c.env]\nA = "1"\n')
        self.assertIn("watch.remediation_dir", self.fails(3, "watch").err)
        os.mkdir(os.path.join(self.cwd, "sub"))
        remedy = self.spec()["remedy"]
        env = dict(e.split("=", 1) for e in remedy["env"])
        self.assertEqual((remedy["name"], remedy["cwd"]), ("c", os.path.join(self.cwd, "sub")))
        self.assertEqual(remedy["argv"][:2], ["claude", "-p"])
        self.assertIn("--model=m", remedy["argv"])
        self.assertFalse([w for w in remedy["argv"] if PROMPT in w or "--settings" in w or "--session" in w])
        self.assertTrue(remedy["prompt_on_stdin"])
        self.assertEqual((env["A"], env["OVERSEER_DIR"]), ("1", self.dir))
        self.assertEqual(env["OVERSEER_PROMPT_FILE"], remedy["prompt_file"])
        self.assertNotIn("SECRET", env)

    def test_the_prompt_in_a_word_or_a_file(self):
        for by, word in (("arg", "do: {prompt}"), ("file", "do: {prompt_file}")):
            self.config('watch.remediation_agent = "r"\n'
                        f'[agents.r]\ncommand = ["/bin/echo", "{word}"]\nprompt = "{by}"\n')
            remedy = self.spec()["remedy"]
            self.assertEqual(remedy["argv"],
                             ["/bin/echo", "do: " + (PROMPT if by == "arg" else remedy["prompt_file"])])
            self.assertFalse(remedy["prompt_on_stdin"])

    def test_a_command_mends(self):
        self.config("watch.remediation_command = 'cat > x'\n")
        remedy = self.spec(env={"MINE": "1", "OVERSEER_PROMPT_FILE": "other"})["remedy"]
        self.assertEqual(remedy["argv"], ["/bin/sh", "-c", "cat > x"])
        self.assertTrue(remedy["prompt_on_stdin"])
        self.assertIn("MINE=1", remedy["env"])
        self.assertEqual([e for e in remedy["env"] if e.startswith("OVERSEER_PROMPT_FILE=")],
                         ["OVERSEER_PROMPT_FILE=" + remedy["prompt_file"]])

    def test_what_is_wrong_is_said_before_anything_is_started(self):
        cases = (
            ("watch.grace = 3\nworkers.max = \"x\"\n", 2, ("watch.grace", "workers.max", "overseer config check")),
            ("[watch\n", 2, ("config.toml",)),
            ('watch.remediation_agent = "none"\n', 2, ("watch.remediation_agent",)),
            ('watch.remediation_agent = "c"\n[agents.c]\ncommand = ["no-such-program"]\n', 3,
             ("no-such-program was not found",)),
            ('watch.remediation_agent = "g"\n[agents.g]\nformat = "gemini"\ncommand = ["/bin/echo"]\n'
             'tools_deny = ["shell"]\n', 2, ("narrowed by a file",)),
        )
        for text, code, words in cases:
            with self.subTest(text):
                self.config(text)
                done = self.fails(code, "watch")
                self.assertEqual(done.out, "")
                for word in words:
                    self.assertIn(word, done.err)
        self.config("")
        done = self.fails(3, "watch", env={"OVERSEER_WATCH": "/nowhere"})
        self.assertIn("overseer-watch was not found at /nowhere", done.err)
        self.assertEqual(json.loads(self.fails(3, "watch", "--json", "--dir", "/nowhere").err)["error"]["code"],
                         "E_NOT_FOUND")


if __name__ == "__main__":
    main()
