"""`overseer hook`: what stands between an agent and its work must be quick, silent and never in the way."""

import json
import os
import resource
import socket
import subprocess
import threading

from cli_case import CLI, PATIENCE, Case, main

LINE_MAX = 16 << 10
EVENTS_MAX = 8 << 20
KEEP = 1 << 20


class Hook(Case):
    def setUp(self):
        super().setUp()
        self.run_dir = self.path("runs", "R_1")
        self.hooks = os.path.join(self.run_dir, "hooks")
        self.events = os.path.join(self.hooks, "events")
        os.makedirs(self.hooks)
        self.scope({})
        self.env["OVERSEER_RUN_DIR"] = self.run_dir

    def scope(self, scope, form="claude"):
        with open(os.path.join(self.hooks, "scope.json"), "w") as f:
            json.dump({"format": form, **scope}, f)

    def next(self, text, dispatch="D_1"):
        path = os.path.join(self.hooks, "next")
        with open(path + ".new", "w") as f:
            json.dump({"dispatch": dispatch, "text": text}, f)
        os.rename(path + ".new", path)

    def hook(self, call, *args, **more):
        """One call; always exit 0 and silent on standard error. The answer, parsed, or None."""
        done = self.ok("hook", *args, stdin=call if isinstance(call, str) else json.dumps(call), **more)
        return json.loads(done.out) if done.out else None

    def call(self, event, **more):
        return self.hook({"hook_event_name": event, "session_id": "s1", **more})

    def lines(self):
        with open(self.events) as f:
            # An empty line means nothing: whoever sees another's line half written begins a new one.
            return [json.loads(line) for line in f.read().splitlines() if line]


class Notes(Hook):
    def test_one_line_for_each_call(self):
        self.assertIsNone(self.call("SessionStart", source="startup", model="m"))
        self.assertIsNone(self.call("PreToolUse", tool_name="Bash", tool_use_id="t1", tool_input={"command": "ls"}))
        self.assertIsNone(self.call("Stop", stop_hook_active=False, last_assistant_message="Done."))
        lines = self.lines()
        self.assertEqual([line["event"] for line in lines], ["SessionStart", "PreToolUse", "Stop"])
        self.assertEqual((lines[1]["tool"], lines[1]["tool_id"], lines[1]["text"]), ("Bash", "t1", '{"command":"ls"}'))
        self.assertTrue(all(line["session"] == "s1" and line["at_ms"] > 0 for line in lines))
        self.assertEqual(os.stat(self.events).st_mode & 0o777, 0o600)

    def test_the_event_as_an_argument(self):
        self.assertIsNone(self.hook({"session_id": "s"}, "Notification"))
        self.assertEqual(self.lines()[0]["event"], "Notification")

    def test_without_a_run_nothing_is_done(self):
        del self.env["OVERSEER_RUN_DIR"]
        self.assertIsNone(self.call("Stop"))
        for folder in ("", "runs/R_1"):
            self.assertIsNone(self.hook({"hook_event_name": "Stop"}, env={"OVERSEER_RUN_DIR": folder}))
        self.assertFalse(os.path.exists(self.events))

    def test_without_a_run_nothing_is_read(self):
        del self.env["OVERSEER_RUN_DIR"]
        read, write = os.pipe()
        done = subprocess.run([CLI, "hook"], stdin=read, env=self.env, timeout=PATIENCE, capture_output=True)
        os.close(read)
        os.close(write)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))

    def test_what_is_no_call(self):
        for text in ("", "{", "[]", "nonsense", "{}", '{"hook_event_name": "X", "hook_event_name": "Y"}'):
            self.assertIsNone(self.hook(text))
        self.assertEqual({line["event"] for line in self.lines()}, {"unreadable"})

    def test_input_without_bound(self):
        big = json.dumps({"hook_event_name": "PostToolUse", "x": "y" * (17 << 20)})
        self.assertIsNone(self.hook(big, "PostToolUse"))
        self.assertEqual(self.lines()[0]["event"], "PostToolUse")
        fits = {"hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": {"content": "z" * (8 << 20)}}
        self.assertIsNone(self.hook(fits))
        self.assertLess(os.path.getsize(self.events), 2 * LINE_MAX)

    def test_fifty_at_a_time(self):
        started = [subprocess.Popen([CLI, "hook"], env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE) for _ in range(50)]
        text = "x" * 1300
        for i, process in enumerate(started):
            process.stdin.write(json.dumps({"hook_event_name": "Stop", "session_id": str(i),
                                            "last_assistant_message": text}).encode())
        for process in started:
            process.stdin.close()
        for process in started:
            self.assertEqual(process.wait(PATIENCE), 0)
            self.assertEqual(process.stdout.read() + process.stderr.read(), b"")
            process.stdout.close()
            process.stderr.close()
        lines = self.lines()
        self.assertEqual(sorted(int(line["session"]) for line in lines), list(range(50)))
        self.assertTrue(all(line["text"] == text for line in lines))

    def test_a_full_file(self):
        with open(self.events, "w") as f:
            f.write('{"at_ms":1,"event":"Stop"}\n')
            f.truncate(EVENTS_MAX - KEEP - 10)
        for _ in range(3):
            self.assertIsNone(self.call("PostToolUse", tool_name="Bash"))
        with open(self.events, "rb") as f:
            tail = f.read().lstrip(b"\0").split(b"\n")
        self.assertEqual(tail.count(b""), 1)
        self.assertEqual(sum(b'"dropped"' in line for line in tail), 1)
        # What was handed over is told even then.
        self.next("go on")
        self.assertEqual(self.call("Stop")["reason"], "go on")
        with open(self.events, "rb") as f:
            self.assertIn(b'"taken":"D_1"', f.read().splitlines()[-1])


class Trouble(Hook):
    """The agent goes on, whatever is wrong."""

    def test_no_folder(self):
        gone = {"OVERSEER_RUN_DIR": self.path("runs", "R_2")}
        self.assertIsNone(self.hook({"hook_event_name": "Stop"}, env=gone))
        self.assertFalse(os.path.exists(gone["OVERSEER_RUN_DIR"]))
        os.unlink(os.path.join(self.hooks, "scope.json"))
        os.rmdir(self.hooks)
        self.assertIsNone(self.call("Stop"))
        self.assertEqual(os.listdir(self.run_dir), [])

    def limited(self, size, call):
        return subprocess.run([CLI, "hook"], env=self.env, input=json.dumps(call).encode(), capture_output=True,
                              timeout=PATIENCE, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))

    def test_a_full_disk(self):
        done = self.limited(0, {"hook_event_name": "PreToolUse", "tool_name": "Bash"})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        self.assertEqual(self.lines(), [])
        # Half a line is left behind; the next one begins on a line of its own.
        done = self.limited(20, {"hook_event_name": "Stop"})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        self.assertEqual(os.path.getsize(self.events), 20)
        self.assertIsNone(self.call("SessionEnd"))
        with open(self.events) as f:
            self.assertEqual(json.loads(f.read().splitlines()[1])["event"], "SessionEnd")

    def test_a_full_disk_still_denies_and_hands_over(self):
        self.scope({"deny": ["Bash"]})
        self.next("go on")
        self.assertIn(b'"deny"', self.limited(0, {"hook_event_name": "PreToolUse", "tool_name": "Bash"}).stdout)
        self.assertIn(b"go on", self.limited(0, {"hook_event_name": "Stop"}).stdout)

    @staticmethod
    def as_nobody():
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

    def test_a_folder_that_cannot_be_written(self):
        self.next("go on")
        os.chmod(self.root, 0o755)
        for folder in (self.run_dir, self.hooks):
            os.chmod(folder, 0o555)
        for event in ("PreToolUse", "Stop"):
            done = subprocess.run([CLI, "hook"], env=self.env, timeout=PATIENCE, capture_output=True,
                                  input=json.dumps({"hook_event_name": event, "tool_name": "Bash"}).encode(),
                                  preexec_fn=self.as_nobody)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        self.assertFalse(os.path.exists(self.events))
        self.assertTrue(os.path.exists(os.path.join(self.hooks, "next")))

    def test_links_lead_nowhere(self):
        outside = self.write("outside", "mine\n")
        os.symlink(outside, self.events)
        self.assertIsNone(self.call("Stop"))
        os.unlink(self.events)
        os.link(outside, self.path("elsewhere"))
        os.symlink(self.hooks, self.path("runs", "link"))
        os.makedirs(self.path("runs", "R_3"))
        os.symlink(self.hooks, self.path("runs", "R_3", "hooks"))
        self.assertIsNone(self.hook({"hook_event_name": "Stop"}, env={"OVERSEER_RUN_DIR": self.path("runs", "R_3")}))
        with open(outside) as f:
            self.assertEqual(f.read(), "mine\n")
        self.assertFalse(os.path.exists(self.events))

    def test_what_is_no_file(self):
        os.mkfifo(self.events)
        self.assertIsNone(self.call("Stop"))
        os.unlink(self.events)
        os.mkdir(self.events)
        self.assertIsNone(self.call("Stop"))
        os.rmdir(self.events)
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        here = os.getcwd()
        os.chdir(self.hooks)
        listener.bind("events")
        os.chdir(here)
        self.assertIsNone(self.call("Stop"))

    def test_closed_descriptors(self):
        self.scope({"deny": ["Bash"]})
        call = json.dumps({"hook_event_name": "PreToolUse", "tool_name": "Bash"})
        for redirect in ("<&-", "<&- >&- 2>&-", ">&-", "2>&-"):
            done = subprocess.run(["sh", "-c", f"printf '%s' '{call}' | \"$0\" hook PreToolUse {redirect}", CLI],
                                  env=self.env, capture_output=True, timeout=PATIENCE)
            self.assertEqual((done.returncode, done.stderr), (0, b""), redirect)
        lines = self.lines()
        self.assertEqual(len(lines), 4)
        self.assertTrue(all(line["event"] == "PreToolUse" for line in lines))

    def test_an_agent_that_does_not_listen(self):
        self.next("go on")
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run([CLI, "hook"], env=self.env, input=b'{"hook_event_name":"Stop"}', stdout=write,
                              stderr=subprocess.PIPE, timeout=PATIENCE)
        os.close(write)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        # It was not heard, so it is still to be said.
        self.assertNotIn("taken", self.lines()[0])
        self.assertEqual(self.call("Stop")["reason"], "go on")


class Scope(Hook):
    def decision(self, tool, **more):
        answer = self.call("PreToolUse", tool_name=tool, **more)
        if answer is None:
            return None
        answer = answer["hookSpecificOutput"]
        self.assertEqual((answer["hookEventName"], answer["permissionDecision"]), ("PreToolUse", "deny"))
        return answer["permissionDecisionReason"]

    def test_denied_by_name(self):
        self.scope({"deny": ["Bash"]})
        self.assertIsNone(self.decision("Read"))
        self.assertIn("the tool Bash is outside the tool scope of this task (allowed: all; denied: Bash)",
                      self.decision("Bash", tool_use_id="t1"))
        self.assertIs(self.lines()[1]["denied"], True)
        self.assertNotIn("denied", self.lines()[0])

    def test_only_what_is_allowed(self):
        self.scope({"allow": ["Read", "Bash"], "deny": ["Bash"]})
        self.assertIsNone(self.decision("Read"))
        for tool in ("Bash", "Write", "mcp__x__y", "Tool That Does Not Exist"):
            self.assertIn("outside the tool scope", self.decision(tool))

    def test_what_cannot_be_judged_is_denied(self):
        path = os.path.join(self.hooks, "scope.json")
        for text in ("", "{", "{}", '{"format":"claude","deny":"Bash"}', '{"format":"?"}', '{"format":"claude","x":1}'):
            with open(path, "w") as f:
                f.write(text)
            self.assertIn("cannot be read", self.decision("Read"), text)
        os.unlink(path)
        self.assertIn("cannot be read", self.decision("Read"))
        os.symlink("events", path)
        self.assertIn("cannot be read", self.decision("Read"))
        self.assertIsNone(self.call("PostToolUse", tool_name="Read"))

    def test_a_call_that_cannot_be_read_under_a_scope(self):
        text = '{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"\\ud800"}}'
        self.assertIsNone(self.hook(text, "PreToolUse"))
        self.scope({"deny": ["Bash"]})
        self.assertIn("deny", json.dumps(self.hook(text, "PreToolUse")))


class Next(Hook):
    def test_handed_over_once(self):
        self.next("Now add the tests.\n\"quoted\"", "D_7")
        self.assertIsNone(self.call("PreToolUse", tool_name="Read"))
        self.assertIsNone(self.call("SubagentStop", agent_id="a1"))
        self.assertEqual(self.call("Stop"), {"decision": "block", "reason": "Now add the tests.\n\"quoted\""})
        self.assertIsNone(self.call("Stop", stop_hook_active=True))
        self.assertEqual([line.get("taken") for line in self.lines()], [None, None, "D_7", None])
        self.assertEqual(sorted(os.listdir(self.hooks)), ["events", "next.D_7", "scope.json"])
        # One that was handed over is not handed over again, whoever lays it there.
        self.next("again", "D_7")
        self.assertIsNone(self.call("Stop"))
        self.next("and then", "D_8")
        self.assertEqual(self.call("Stop", stop_hook_active=True)["reason"], "and then")

    def test_many_at_a_time_take_it_once(self):
        for round_ in range(5):
            self.next("go", f"D_{round_}")
            answers = []

            def one():
                answers.append(self.run_cli("hook", "Stop", stdin="{}").out)

            threads = [threading.Thread(target=one) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(sorted(answers), [""] * 7 + ['{"decision":"block","reason":"go"}'])
        taken = [line["taken"] for line in self.lines() if "taken" in line]
        self.assertEqual(taken, [f"D_{i}" for i in range(5)])

    def test_what_is_no_instruction(self):
        path = os.path.join(self.hooks, "next")
        for text in ("", "{", '{"dispatch":"../../x","text":"a"}', '{"dispatch":"D"}', '{"text":"a"}', "x" * 300000):
            with open(path, "w") as f:
                f.write(text)
            self.assertIsNone(self.call("Stop"))
            self.assertTrue(os.path.exists(path))
        os.unlink(path)
        os.symlink(self.write("outside", '{"dispatch":"D","text":"a"}'), path)
        self.assertIsNone(self.call("Stop"))


if __name__ == "__main__":
    main()
