#!/usr/bin/env python3
"""Agents in terminals of tmux, with the real daemon and the real tmux: what is typed, and when, and what comes of it."""

import json
import os
import pty
import select
import subprocess
import time
import unittest

from harness import CLI, FAST, PATIENCE, SiteCase, plan, task, wait_gone

TYPED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "typed.py")

CONFIG = FAST + """
[patrol]
confirm = "{confirm}"
resends = {resends}
[supervisor]
stop_grace = "5s"
[defaults]
agent = "typed"
[agents.typed]
runtime = "tmux"
format = "{format}"
command = {command}
env_pass = ["HOME", "PATH", "LC_ALL", "ASAN_OPTIONS", "UBSAN_OPTIONS"]
"""


class Terminal(SiteCase):
    def terminal_site(self, command=None, confirm="20s", resends=2, options="", more="", **site_options):
        site = self.site(CONFIG.format(format="raw" if command else "claude", confirm=confirm, resends=resends,
                                       command=json.dumps(command or [TYPED])).replace(
            "[supervisor]\n", "[supervisor]\n" + options) + more, **site_options)
        site.env["TMUX_TMPDIR"] = site.root
        self.addCleanup(self.no_server, site)
        return site

    def goal(self, site, *lines):
        objective = "Do as the lines say.\n" + "\n".join(lines)
        return site.call("goal.create", title="Test", plan=plan(task("T1", objective=objective)))["goal"]

    def log(self, site, what=None):
        try:
            found = [json.loads(line) for line in site.home("typed.log").splitlines()]
        except FileNotFoundError:
            return []
        return [entry for entry in found if what in (None, entry["what"])]

    def tmux(self, site, *args):
        """Of the one server of the site."""
        folder = os.path.join(site.root, f"tmux-{os.getuid()}")
        names = os.listdir(folder) if os.path.isdir(folder) else []
        self.assertLessEqual(len(names), 1, names)
        if not names:
            return ""
        return subprocess.run(["tmux", "-S", os.path.join(folder, names[0]), *args], env=site.env, capture_output=True,
                              text=True, timeout=PATIENCE, check=False).stdout

    def no_server(self, site):
        self.tmux(site, "kill-server")

    def sessions(self, site):
        return self.tmux(site, "list-sessions", "-F", "#{session_name}").split()

    def peek(self, site):
        return site.cli("worker", "peek", "pool-1")

    def attach_and_leave(self, site, worker, text):
        """As a person does, in a terminal of the test's own, until the text is there."""
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(site.repo)
            os.execve(CLI, [CLI, "worker", "attach", worker], {**site.env, "TERM": "xterm", "TMUX": "/of/ones,own,0"})
        shown, left = b"", False
        try:
            while True:
                self.assertTrue(select.select([fd], [], [], PATIENCE)[0], shown)
                shown += os.read(fd, 65536)
                # Keys that come at once are taken for a paste, so that none of them is a command.
                if text in shown and not left:
                    clients = self.tmux(site, "list-clients", "-F", "#{client_control_mode} #{client_tty}").split("\n")
                    self.tmux(site, "detach-client", "-t", next(c[2:] for c in clients if c.startswith("0 ")))
                    left = True
        except OSError:  # the terminal's other end is closed
            pass
        finally:
            os.close(fd)
        self.assertEqual(os.waitpid(pid, 0)[1], 0, shown)
        self.assertTrue(left)
        self.assertIn(b"detached", shown)

    def until_it_waits(self, site):
        site.wait_type("run.created")
        end = time.monotonic() + PATIENCE
        while site.call("worker.show", worker="pool-1").get("now", {}).get("state") != "waiting":
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)


class Tmux(Terminal):
    def test_a_task_is_typed_and_accepted(self):
        site = self.terminal_site()
        gate = site.gate("g")
        site.up()
        goal = self.goal(site, "!echo 'x' > T1.txt", "!wait g", "!say All of it is done.")
        gate.wait()
        # One can look at it meanwhile, and attach: the terminal shows what was typed.
        self.assertIn("Do as the lines say.", self.peek(site))
        self.attach_and_leave(site, "pool-1", b"Do as the lines say.")
        done = subprocess.run([CLI, "worker", "attach", "pool-1"], cwd=site.repo, env=site.env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stderr), (4, "overseer: attaching needs a terminal, and standard input is none\n"
                                                             "Next  overseer worker peek pool-1\n"))
        gate.go()
        site.wait_goal(goal)
        self.assertEqual(site.git("show", "main:T1.txt"), "x\n")
        run = site.call("run.show", run=site.runs()[0]["id"])
        self.assertEqual((run["verdict"], run["trouble"], run["turns"], run["tool_calls"]), ("ok", "none", 1, 1), run)
        self.assertEqual((run["tokens_input"], run["tokens_output"]), (10, 5), run)
        self.assertEqual([len(self.log(site, what)) for what in ("paste", "prompt")], [1, 1])
        # Its instruction came through the terminal as it is.
        typed = self.log(site, "prompt")[0]["text"]
        self.assertIn("!say All of it is done.", typed)
        self.assertIn("Welcome", site.cli("run", "log", run["id"]))
        self.assertEqual(site.live_pids(), [])
        site.down()
        self.assertEqual(self.sessions(site), [])

    def test_a_run_names_no_transcript_but_its_own(self):
        """Whatever its hooks name, nothing of it reaches the record, and the run is none the worse."""
        site = self.terminal_site()
        secret = json.dumps({"type": "assistant", "sessionId": "s", "message": {
            "id": "m", "role": "assistant", "model": "model-s", "content": [{"type": "text", "text": "the secret"}],
            "usage": {"input_tokens": 7000, "output_tokens": 7000}}}) + "\n"
        site.write("../private/other.jsonl", secret)
        projects = os.path.join(site.env["HOME"], ".claude", "projects")
        os.makedirs(os.path.join(projects, "there"))
        site.write(os.path.join(projects, "there", "of-another-run.jsonl"), secret)
        os.mkfifo(os.path.join(projects, "there", "pipe.jsonl"))
        os.symlink(os.path.join(site.root, "private"), os.path.join(projects, "link"))
        site.up()
        for n, name in enumerate((os.path.join(site.root, "private", "other.jsonl"),
                                  os.path.join(projects, "..", "..", "private", "other.jsonl"),
                                  os.path.join(projects, "link", "other.jsonl"),
                                  os.path.join(projects, "there", "of-another-run.jsonl"),
                                  os.path.join(projects, "there", "pipe.jsonl"))):
            with self.subTest(name):
                site.write(os.path.join(site.env["HOME"], "named"), name)
                site.wait_goal(self.goal(site, f"!echo 'x' > T{n}.txt", "!say Done."))
                record = site.runs()[-1]
                shown = site.call("run.show", run=record["id"])
                self.assertEqual((shown["verdict"], shown["tokens_input"], shown["tokens_output"]), ("ok", 0, 0), shown)
                self.assertNotIn("the secret", json.dumps([shown, site.call("worker.list")]))
                self.assertNotIn("the secret", site.cli("run", "show", record["id"]))
        with open(site.log, encoding="utf-8") as f:
            self.assertEqual(f.read().count("the transcript is not read"), 5)

    def test_nothing_is_typed_before_it_is_ready(self):
        site = self.terminal_site(confirm="300ms")
        late = site.gate("late")
        site.up()
        goal = self.goal(site, "!touch T1.txt")
        late.wait()
        # A dialog may be open: a person is told that it waits.
        self.until_it_waits(site)
        self.assertEqual(self.log(site), [])
        late.go()
        site.wait_goal(goal)
        self.assertEqual(len(self.log(site, "paste")), 1)

    def asked(self, trusted, **more):
        """A site whose agent asks about its folder; the user has told it to trust the repository, or another one."""
        site = self.terminal_site(**more)
        site.write("../stranger", "")
        projects = {site.repo: {"hasTrustDialogAccepted": trusted}, "/elsewhere": {"hasTrustDialogAccepted": True}}
        site.write("../.claude.json", json.dumps({"projects": projects}))
        return site, site.home(".claude.json")

    def test_a_folder_is_trusted_where_the_user_trusts_the_repository(self):
        site, before = self.asked(True)
        site.up()
        site.wait_goal(self.goal(site, "!touch T1.txt"))
        self.assertEqual([a["got"] for a in self.log(site, "answer")], ["('key', b'down')", "('key', b'\\r')"])
        self.assertEqual(len(self.log(site, "paste")), 1)
        self.assertEqual(site.home(".claude.json"), before)

    def test_a_folder_that_the_user_does_not_trust_is_for_a_person(self):
        site, before = self.asked(False, confirm="1s")
        site.up()
        goal = self.goal(site, "!touch T1.txt")
        self.until_it_waits(site)
        self.assertEqual([entry["what"] for entry in self.log(site)], ["asks about its folder"])
        self.assertIn("Yes, I trust this folder", self.peek(site))
        session, = (name for name in self.sessions(site) if name.endswith("-pool-1"))
        for key in ("Down", "Enter"):
            self.tmux(site, "send-keys", "-t", session, key)
        site.wait_goal(goal)
        self.assertEqual(site.home(".claude.json"), before)

    def test_a_question_about_a_folder_that_is_drawn_slowly(self):
        """A key whose effect is not seen yet is not pressed again: it would choose the other answer."""
        site, _ = self.asked(True)
        site.write("../slow", "2")
        site.up()
        site.wait_goal(self.goal(site, "!touch T1.txt"))
        self.assertEqual([entry["got"] for entry in self.log(site, "answer")], [str(("key", b"down")), str(("key", b"\r"))])

    def test_a_question_about_a_folder_is_answered_by_the_next_daemon(self):
        site, _ = self.asked(True)
        late = site.gate("late")
        site.up()
        goal = self.goal(site, "!touch T1.txt")
        late.wait()
        site.kill()
        late.go()
        while not self.log(site, "asks about its folder"):
            time.sleep(0.02)
        site.up()
        site.wait_goal(goal)
        self.assertEqual(len(self.log(site, "asks about its folder")), 1)

    def test_a_paste_that_got_lost_is_made_again(self):
        site = self.terminal_site(confirm="1500ms")
        site.write("../lose", "1")
        site.up()
        goal = self.goal(site, "!touch T1.txt")
        site.wait_goal(goal)
        self.assertEqual([e["what"] for e in self.log(site)], ["lost", "paste", "prompt"])
        self.assertEqual(len(site.runs()), 1)

    def test_a_key_that_got_lost_is_pressed_again(self):
        """The text stands there already: it is not pasted twice."""
        site = self.terminal_site(confirm="1500ms")
        site.write("../deaf", "2")
        site.up()
        goal = self.goal(site, "!touch T1.txt")
        site.wait_goal(goal)
        self.assertEqual([e["what"] for e in self.log(site)], ["paste", "deaf", "deaf", "prompt"])

    def test_what_is_never_confirmed_fails_loudly(self):
        site = self.terminal_site(confirm="700ms", resends=1)
        site.write("../lose", "2")
        site.up()
        goal = self.goal(site, "!touch T1.txt")
        ended = site.wait_type("run.ended")
        self.assertIn("did not confirm its instruction, which was typed 2 times", ended["data"]["message"])
        self.assertEqual(site.wait_type("patrol.found")["data"]["finding"], "undelivered")
        # The next run is another try, with the same conversation or a new one.
        site.wait_goal(goal)
        self.assertEqual(len(self.log(site, "lost")), 2)

    def test_a_permission_prompt_is_left_to_people(self):
        site = self.terminal_site()
        site.up()
        goal = self.goal(site, "!ask", "!touch T1.txt")
        self.until_it_waits(site)
        # What it is told meanwhile waits for its next stop.
        site.call("work.nudge", node="T1", message="Also:\n!touch told.txt")
        site.wait_type("dispatch.result", after=site.wait_type("run.created")["seq"])
        self.assertEqual(self.log(site, "answer"), [])
        session = self.sessions(site)[-1]
        self.tmux(site, "send-keys", "-t", f"={session}:", "Enter")
        site.wait_goal(goal)
        self.assertEqual(len(self.log(site, "answer")), 1)
        self.assertIn("told.txt", site.git("ls-tree", "--name-only", "main"))
        self.assertEqual([len(self.log(site, what)) for what in ("paste", "prompt")], [1, 2])

    def test_the_entry_about_a_prompt_takes_no_text(self):
        """A text would close it, and reach nobody: the prompt takes keys."""
        site = self.terminal_site(options='ask_after = "100ms"\n')
        site.up()
        goal = self.goal(site, "!ask", "!touch T1.txt")
        site.wait_type("escalation.opened")
        number = site.call("inbox.list")["inbox"][0]["number"]
        said = site.cli("inbox", "answer", str(number), "yes, please create that file", code=2)
        self.assertIn("overseer worker attach pool-1", said)
        shown = site.cli("inbox", "show", str(number))
        self.assertIn("overseer worker attach pool-1\n", shown)
        self.assertIn("retry|done|cancel\n", shown)
        self.assertEqual([x["kind"] for x in site.call("inbox.list")["inbox"]], ["permission"])
        self.tmux(site, "send-keys", "-t", f"={self.sessions(site)[-1]}:", "Enter")
        site.wait_goal(goal)

    def test_a_killed_session_is_tried_again(self):
        site = self.terminal_site()
        gate = site.gate("g")
        site.up()
        goal = self.goal(site, "!echo x > T1.txt", "!wait g")
        pid = int(gate.wait())
        self.tmux(site, "kill-server")
        ended = site.wait_type("run.ended")
        self.assertIn("its terminal was closed", ended["data"]["message"])
        wait_gone(pid)
        gate.wait()
        gate.go()
        site.wait_goal(goal)
        runs = [site.call("run.show", run=r["id"]) for r in site.runs()]
        self.assertEqual([r["verdict"] for r in runs], ["failed", "ok"])
        self.assertEqual(len({r["session"] for r in runs}), 1, "it went on with its session")

    def test_found_again_by_the_next_daemons(self):
        site = self.terminal_site()
        gate = site.gate("g")
        site.up()
        goal = self.goal(site, "!echo x > T1.txt", "!wait g", "!say Done with it.")
        pid = int(gate.wait())
        site.kill()
        site.up()
        self.assertIn("Do as the lines say.", self.peek(site))
        site.down()
        gate.go()  # the agent ends its turn while nobody is there
        site.up()
        site.wait_goal(goal)
        wait_gone(pid)
        run = site.call("run.show", run=site.runs()[0]["id"])
        self.assertEqual((len(site.runs()), run["verdict"], run["tokens_input"]), (1, "ok", 10), run)
        self.assertEqual([len(self.log(site, what)) for what in ("paste", "prompt")], [1, 1])

    def test_a_daemon_that_dies_while_it_waits_to_be_ready(self):
        site = self.terminal_site(confirm="1500ms")
        late = site.gate("late")
        site.up()
        goal = self.goal(site, "!touch T1.txt")
        late.wait()
        site.kill()
        late.go()
        site.up()
        site.wait_goal(goal)
        self.assertEqual([len(self.log(site, what)) for what in ("paste", "prompt")], [1, 1])

    def test_what_oversight_says_is_typed_first(self):
        site = self.terminal_site()
        site.configure(site.read(".overseer/config.toml") + """[workspace]
check_command = "test $(wc -l < T1.txt) -ge 3 || { echo error: it is too short; exit 1; }"
[oversight]
stuck.same_error_count = 2
""")
        site.up()
        site.wait_goal(self.goal(site, "!echo x >> T1.txt"))
        typed = [entry["text"] for entry in self.log(site, "prompt")]
        # Found in the second turn, typed at the third one.
        self.assertEqual(["OVERRIDE: Change approach immediately." in text for text in typed], [False, False, True])
        self.assertTrue(typed[2].startswith("From the overseer of this task, before everything else:"), typed[2])
        self.assertIn("it is too short", typed[2].split("Go on with task T1")[0])
        runs = [site.call("run.show", run=r["id"]) for r in site.runs()]
        self.assertEqual([r["resumed"] for r in runs], [False, True, True])
        self.assertEqual(len({r["session"] for r in runs}), 1)

    def test_any_command(self):
        site = self.terminal_site(["sh", "-c", 'test -t 1 && cat > T1.txt && stty size < /dev/tty && echo "said \\"so\\""'])
        site.up()
        goal = self.goal(site, "typed nowhere")
        site.wait_goal(goal)
        self.assertIn("typed nowhere", site.git("show", "main:T1.txt"))
        run = site.runs()[0]["id"]
        self.assertIn(b'50 160\r\nsaid "so"\r\n', site.output(run))
        self.assertEqual(site.live_pids(), [])

    def test_stopped(self):
        site = self.terminal_site(["sh", "-c", "echo up > $HOME/g.here; echo left > left.txt; exec sleep 1000"])
        gate = site.gate("g")
        site.up()
        goal = self.goal(site, "x")
        gate.wait()
        pids = site.live_pids()
        site.call("goal.cancel", goal=goal, reason="enough")
        site.wait_type("run.ended")
        wait_gone(*pids)
        site.down()
        self.assertEqual(self.sessions(site), [])

    def test_what_cannot_be_is_said(self):
        site = self.terminal_site()
        site.configure('[agents.g]\nruntime = "tmux"\nformat = "gemini"\n')
        done = subprocess.run([CLI, "config", "check"], cwd=site.repo, env=site.env, capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        self.assertIn("cannot be run in a terminal", done.stdout + done.stderr)
        self.assertNotEqual(done.returncode, 0)


class Raw(Terminal):
    """Any command, of which nobody parses what it draws: it is judged as without a terminal."""

    def place(self, script, **more):
        site = self.terminal_site(command=["sh", "-c", script], **more)
        site.up()
        self.began = self.goal(site)
        return site

    def test_a_hang(self):
        site = self.place('sleep 1000', options='idle_after = "1s"\n')
        stall = site.wait_type("episode.opened")["data"]
        self.assertRegex(" ".join(stall["evidence"]), "process: nothing seen.*tree: nothing seen")

    def test_busy_but_mute(self):
        site = self.place('(ulimit -t 100; while ! [ -e "$HOME/go" ]; do :; done); echo x > T1.txt',
                          options='idle_after = "1s"\nmute_after = "2s"\n')
        asked = site.wait_type("escalation.opened")["data"]
        self.assertEqual(asked["kind"], "mute", asked)
        self.assertIn("but has written nothing", asked["question"])
        self.assertEqual([e["type"] for e in site.events() if e["type"] in ("episode.opened", "run.ended")], [])
        site.write("../go", "")
        site.wait_goal(self.began)

    def test_a_loop_over_runs(self):
        site = self.place("echo x > T1.txt", more="""
[workspace]
check_command = "echo error: no such function parse; exit 1"
[oversight]
stuck.same_error_count = 2
""")
        self.assertEqual(site.wait_type("detection.made")["data"]["detection"]["type"], "stuck")
        site.wait_type("intervention.applied", level="redirect")

    def limited(self, script, kind, known_by, **more):
        site = self.place(f'[ -e "$HOME/free" ] && {{ echo x > T1.txt; exit 0; }}; {script}', **more)
        limited = site.wait_type("agent.limited")["data"]
        self.assertEqual((limited["kind"], limited["known_by"]), (kind, known_by), limited)
        self.assertEqual([e for e in site.events() if e["type"] == "node.failed"], [])
        site.write("../free", "")
        return site

    def test_a_limit(self):
        site = self.limited("exit 75", "rate_limited", "exit_code")
        site.wait_goal(self.began)

    def test_a_limit_by_its_words(self):
        self.limited("echo 'Error: 429 Too Many Requests, try again in 2 hours'; exit 1", "rate_limited", "stream")

    def test_a_login(self):
        site = self.limited("exit 77", "login", "exit_code")
        site.cli("inbox", "answer", str(site.wait_type("escalation.opened")["data"]["escalation"]), "done")
        site.wait_goal(self.began)

    def test_a_login_by_its_words(self):
        self.limited("echo Invalid API key; exit 1", "login", "stream")


if __name__ == "__main__":
    unittest.main(verbosity=2)
