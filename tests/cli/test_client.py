"""A daemon that is slow, silent, absent, hostile or broken: a clear error in bounded time."""

import json
import os
import signal
import socket
import subprocess
import threading
import time

from cli_case import CLI, PATIENCE, Case, FakeDaemon, Refuse, event, goal, main, status


class Errors(Case):
    def test_codes(self):
        for code, rpc, want in (("E_INVALID", -32001, 2), ("E_INVALID_PLAN", -32002, 2), ("E_NOT_FOUND", -32003, 3),
                                ("E_CONFLICT", -32004, 4), ("E_STATE", -32005, 4), ("E_UNAUTHORIZED", -32006, 5),
                                ("E_FENCED", -32007, 5), ("E_LIMIT", -32008, 6), ("E_UNAVAILABLE", -32009, 7),
                                ("E_IO", -32010, 8), ("E_INTERNAL", -32011, 70)):
            daemon = self.fake({"work.update": Refuse(code, "it is so", "overseer status", rpc)})
            done = self.fails(want, "work", "done", "T1", "--reason", "x")
            self.assertEqual(done.err, "overseer: it is so\nNext  overseer status\n")
            self.assertEqual(done.out, "")
            done = self.fails(want, "work", "done", "T1", "--reason", "x", "--json")
            self.assertEqual(json.loads(done.err),
                             {"error": {"code": code, "message": "it is so", "next": "overseer status"}})
            self.assertEqual(done.out, "")
            daemon.close()
            os.unlink(daemon.path)

    def test_many_lines(self):
        self.fake({"config.reload": Refuse("E_INVALID", "two problems\na.b: no\nc.d: no", "", -32001)})
        self.assertEqual(self.fails(2, "config", "reload").err, "overseer: two problems\n  a.b: no\n  c.d: no\n")

    def test_protocol_errors(self):
        self.fake({"status.get": b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}\n'})
        self.assertIn("parse error", self.run_cli("status").err)


class BadDaemon(Case):
    def bad(self, answer, code, text, command=("status",)):
        self.fake({"status.get": answer, "work.update": answer})
        begin = time.monotonic()
        done = self.fails(code, "--timeout", "300ms", *command)
        self.assertLess(time.monotonic() - begin, PATIENCE / 2)
        self.assertIn(text, done.err)
        self.assertEqual(done.out, "")
        self.assertEqual(self.run_cli("--json", "--timeout", "300ms", *command).error()["code"],
                         {7: "E_UNAVAILABLE", 70: "E_INTERNAL", 6: "E_LIMIT"}[code])

    def test_silent(self):
        self.bad(None, 7, "did not answer status.get within 300ms")

    def test_half_an_answer_then_nothing(self):
        def half(_):
            return b'{"jsonrpc":"2.0","id":1,'
        self.bad(half, 7, "closed the connection")

    def test_hangs_up(self):
        self.bad(FakeDaemon.HANG_UP, 7, "the daemon closed the connection")

    def test_hangs_up_in_the_middle_of_a_change(self):
        self.bad(FakeDaemon.HANG_UP, 7, "work.update may or may not have been done",
                 ("work", "done", "T1", "--reason", "x"))

    def test_silent_in_the_middle_of_a_change(self):
        self.bad(None, 7, "may or may not have been done", ("work", "done", "T1", "--reason", "x"))

    def test_junk(self):
        self.bad(b"\x00\xff\xfe\n", 70, "the daemon's answer")
        self.doCleanups()
        self.setUp()
        self.bad(b"[1,2,3]\n", 70, "the daemon's answer")
        self.doCleanups()
        self.setUp()
        self.bad(b'{"jsonrpc":"1.0","id":1,"result":{}}\n', 70, "the daemon's answer")
        self.doCleanups()
        self.setUp()
        self.bad(b"[" * 100000 + b"\n", 70, "the daemon's answer")

    def test_answer_to_another_question(self):
        self.bad(b'{"jsonrpc":"2.0","id":77,"result":{}}\n', 7, "did not answer")

    def test_endless_answer(self):
        daemon = self.fake()
        stop = threading.Event()

        def flood(connection, _):
            while not stop.is_set():
                connection.sendall(b"x" * 1000000)
            return False
        daemon.answer = flood
        done = self.fails(6, "status", "--timeout", "60s")
        stop.set()
        self.assertIn("the daemon's answer", done.err)

    def test_drip(self):
        """A byte now and then does not move the deadline."""
        daemon = self.fake()
        stop = threading.Event()

        def drip(connection, _):
            while not stop.wait(0.02):
                connection.sendall(b" ")
            return False
        daemon.answer = drip
        done = self.fails(7, "status", "--timeout", "400ms")
        stop.set()
        self.assertIn("did not answer", done.err)

    def test_takes_no_request(self):
        os.makedirs(self.path(".overseer"))
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(self.path(".overseer/overseer.sock"))
        listener.listen(1)
        tasks = [{"id": f"T1.{i}", "name": "x" * 190, "acceptance": ["y" * 4000] * 60} for i in range(1, 4)]
        self.write("plan.json", json.dumps({"phases": [{"id": "P1", "name": "One", "tasks": tasks}]}))
        done = self.fails(7, "goal", "create", "--title", "x", "--plan", "plan.json", "--timeout", "300ms")
        self.assertIn("the daemon takes no request", done.err)

    def test_events_before_an_answer(self):
        note = b'{"jsonrpc":"2.0","method":"event","params":{}}\n' * 10
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "result": status()}).encode()
        self.fake({"status.get": note + body + b"\r\n"})
        self.assertIn("overseerd up", self.ok("status").out)


class NoDaemon(Case):
    """The daemon is down: what reads is answered from the store."""

    def setUp(self):
        super().setUp()
        self.write(".overseer/config.toml", "")
        self.seen = self.path("seen")
        self.env["OVERSEERD"] = self.path("stand-in")

    def stand_in(self, script):
        self.write("stand-in", "#!/bin/sh\n" + script, 0o755)

    def answering(self, result):
        reply = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result})
        self.stand_in(f"echo \"$@\" >'{self.seen}'; head -n 1 >>'{self.seen}'\ncat <<'END'\n{reply}\nEND\n")

    def test_reads(self):
        self.answering(status(goals=[goal()], daemon={"read_only": True}))
        done = self.fails(0, "status")
        self.assertEqual(done.err, "overseer: the daemon is not running; this is the state as stored\n")
        self.assertTrue(done.out.startswith("overseerd is down   0 of 2 workers busy\nGOALS (1)\n"))
        with open(self.seen) as f:
            words, request = f.read().splitlines()
        self.assertEqual(words, "--read-only --dir " + self.path(".overseer"))
        self.assertEqual(json.loads(request)["method"], "status.get")

    def test_json_note(self):
        self.answering({"goals": []})
        done = self.fails(0, "goal", "list", "--json")
        self.assertEqual(done.json(), {"goals": []})
        self.assertIn("state as stored", json.loads(done.err)["note"])

    def test_stale_registration(self):
        self.answering({"goals": []})
        daemon = self.fake()
        daemon.close()  # the socket file and daemon.json stay behind, as after kill -9
        self.assertIn("No goals", self.run_cli("goal", "list").out)
        self.write(".overseer/daemon.json", "{ half")
        self.assertIn("No goals", self.run_cli("goal", "list").out)
        self.write(".overseer/daemon.json", json.dumps({"socket": "/" + "x" * 300}))
        self.assertIn("No goals", self.run_cli("goal", "list").out)

    def test_writes_are_refused(self):
        self.stand_in("exit 99\n")
        self.write("plan.json", json.dumps({"phases": [{"id": "P1", "name": "O", "tasks": [
            {"id": "T1.1", "name": "A", "acceptance": ["b"]}]}]}))
        for command in (["goal", "create", "--title", "x"], ["plan", "apply", "--goal", "g", "plan.json"],
                        ["work", "done", "T", "--reason", "r"], ["tick"], ["config", "reload"], ["status", "--watch"],
                        ["events", "--follow"], ["run", "log", "R", "--follow"]):
            done = self.fails(7, *command)
            self.assertEqual(done.err, "overseer: the daemon is not running\nNext  overseer up\n", command)
        self.assertEqual(self.ok("down").out, "The daemon is not running.\n")

    def test_refusal_of_the_store(self):
        reply = json.dumps({"jsonrpc": "2.0", "id": 1, "error": {
            "code": -32003, "message": "no such goal", "data": {"code": "E_NOT_FOUND", "next": "overseer goal list"}}})
        self.stand_in(f"cat >/dev/null\necho '{reply}'\nexit 3\n")
        self.assertEqual(self.fails(3, "goal", "show", "x").err, "overseer: no such goal\nNext  overseer goal list\n")

    def test_broken_helpers(self):
        for script, code, text in (("exit 5\n", 7, "gave no answer (exit status 5)"), ("kill -9 $$\n", 7, "exit status 137"),
                                   ("echo junk\n", 70, "the daemon's answer"), ("exec sleep 600\n", 7, "did not end within"),
                                   ("echo '{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}'\n", 70, "something else")):
            self.stand_in(script)
            self.assertIn(text, self.fails(code, "status", "--timeout", "1s").err)
        os.unlink(self.path("stand-in"))
        self.assertIn("overseerd was not found", self.fails(3, "status").err)


class Follow(Case):
    def start(self, *args):
        process = subprocess.Popen([CLI, *args], cwd=self.cwd, env=self.env, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.stop, process)
        return process

    @staticmethod
    def stop(process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def test_events(self):
        old = event(3, "old")
        daemon = self.fake({
            "events.list": {"events": [old], "head": 3, "next_after": 3}, "events.follow": {"head": 3},
            "early": [event(3, "a repetition"), event(4, "early")], "events": [event(5, "late"), event(6, "last")]})
        process = self.start("events", "--follow")
        lines = [process.stdout.readline().split(None, 3)[3].strip() for _ in range(4)]
        self.assertEqual(lines, ["old", "early", "late", "last"])
        self.assertEqual(daemon.asked[-1], ("events.follow", {"after": 3}))
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE), 130)
        self.assertEqual(process.stderr.read(), "")

    def test_events_by_pages_and_filter(self):
        pages = {0: ([event(1), event(2)], 2), 2: ([event(3)], 3)}

        def page(params):
            events, after = pages[params["after"]]
            return {"events": events, "head": 3, "next_after": after}
        wanted = goal()["id"]
        self.fake({"events.list": page, "events.follow": {"head": 3}, "goal.show": {"id": wanted},
                   "events": [event(4, goal="another"), event(5, goal=wanted)]})
        process = self.start("events", "--follow", "--after", "0", "--goal", "goal_", "--json")
        self.assertEqual([json.loads(process.stdout.readline())["seq"] for _ in range(4)], [1, 2, 3, 5])

    def test_the_daemon_ends(self):
        daemon = self.fake({"events.list": {"events": [event(1, "one")], "head": 1, "next_after": 1},
                            "events.follow": {"head": 1}, "events": [event(2, "two")]})
        process = self.start("events", "--follow")
        process.stdout.readline()
        process.stdout.readline()
        daemon.close()
        self.assertEqual(process.wait(PATIENCE), 7)
        self.assertIn("the daemon closed the connection", process.stderr.read())

    def test_watch(self):
        number = [0]

        def answer(_):
            number[0] += 1
            return status(seq=number[0])
        self.fake({"status.get": answer, "events.follow": {"head": 1}, "events": [event(i) for i in range(2, 500)]})
        process = self.start("status", "--watch", "--json")
        first = json.loads(process.stdout.readline())["seq"]
        second = json.loads(process.stdout.readline())["seq"]
        self.assertEqual((first, second), (1, 2))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(PATIENCE), 130)
        # A burst of events is one picture, not one each.
        self.assertLessEqual(number[0], 4)

    def test_watch_on_a_terminal(self):
        answers = [status(goals=[goal()]), FakeDaemon.HANG_UP, FakeDaemon.HANG_UP]
        self.fake({"status.get": lambda _: answers.pop(0), "events.follow": {"head": 1}, "events": [event(2)]})
        code, shown = self.on_terminal("status", "--watch")
        self.assertEqual(code, 7)
        # Cleared once, then drawn over line by line, without a flicker.
        self.assertEqual(shown.count("\x1b[2J"), 1)
        self.assertIn("\x1b[H", shown)
        self.assertIn("2 workers busy\x1b[K", shown)
        self.assertIn("the daemon closed the connection", shown)

    def test_log(self):
        answers = [{"text": "one\n", "next_offset": 4, "ended": False}, {"text": "", "next_offset": 4, "ended": False},
                   {"text": "two\n", "next_offset": 8, "ended": True}, {"text": "", "next_offset": 8, "ended": True}]
        asked = []

        def page(params):
            asked.append((params["offset"], params.get("wait_ms", 0) > 0))
            return {"offset": params["offset"], "size": 8, **answers[len(asked) - 1]}
        self.fake({"run.log": page})
        self.assertEqual(self.ok("run", "log", "--follow", "R_1").out, "one\ntwo\n")
        self.assertEqual(asked, [(0, True), (4, True), (4, True), (8, True)])

    def test_interrupted_log(self):
        daemon = self.fake({"run.log": lambda p: None if p["offset"] else {
            "text": "one\n", "offset": 0, "next_offset": 4, "size": 4, "ended": False}})
        process = self.start("run", "log", "--follow", "R_1")
        self.assertEqual(process.stdout.readline(), "one\n")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE), 130)
        self.assertLessEqual(len(daemon.asked), 2)

    def test_reader_goes_away(self):
        self.fake({"events.list": {"events": [event(i) for i in range(1, 900)], "head": 900, "next_after": 900}})
        process = self.start("events")
        process.stdout.read(10)
        process.stdout.close()
        self.assertIn(process.wait(PATIENCE), (0, -signal.SIGPIPE))
        self.assertEqual(process.stderr.read(), "")


class Stop(Case):
    def test_still_runs(self):
        """The fake daemon is this process: it agrees to stop and does not."""
        self.fake({"status.get": status(), "daemon.stop": {"stopping": True}})
        done = self.fails(7, "down", "--timeout", "200ms")
        self.assertIn(f"(pid {os.getpid()}) was asked to stop but still runs after 200ms", done.err)

    def test_refuses(self):
        self.fake({"status.get": status(), "daemon.stop": Refuse("E_UNAVAILABLE", "the daemon is stopping", "", -32009)})
        self.assertIn("the daemon is stopping", self.fails(7, "down").err)


class Start(Case):
    def setUp(self):
        super().setUp()
        self.write(".overseer/config.toml", "")
        self.env["OVERSEERD"] = self.path("stand-in")

    def up(self, script, code, *more):
        self.write("stand-in", "#!/bin/sh\n" + script, 0o755)
        return self.fails(code, "up", *more)

    def test_says_why_not(self):
        done = self.up("printf 'error E_CONFLICT\\nanother daemon\\nholds it\\noverseer down\\n' >&3; exit 4\n", 4)
        self.assertEqual(done.err, "overseer: another daemon\n  holds it\nNext  overseer down\n")
        done = self.up("printf 'error E_IO\\nno disk\\n\\n' >&3; exit 8\n", 8)
        self.assertEqual(done.err, "overseer: no disk\n")

    def test_dies(self):
        done = self.up("echo the last words; echo and more >&2; exit 66\n", 7)
        self.assertIn("ended with status 66 while starting\n  the last words\n  and more\n", done.err)
        self.assertIn("logs/daemon.log", done.err)
        self.assertIn("killed by signal 9", self.up("kill -9 $$\n", 7).err)
        self.assertIn("ended with status 0", self.up("echo nonsense >&3; exit 0\n", 7).err)

    def test_never_ready(self):
        done = self.up(f"echo $$ >'{self.path('pid')}'; exec sleep 600\n", 7, "--timeout", "1s")
        self.assertIn("not ready after 1s", done.err)
        with open(self.path("pid")) as f:
            os.kill(int(f.read()), signal.SIGKILL)

    def test_not_there(self):
        self.assertIn("overseerd was not found", self.fails(3, "up", env={"OVERSEERD": "/nowhere/overseerd"}).err)

    def test_foreground(self):
        done = self.up("echo foreground \"$@\"; exit 9\n", 9, "--foreground")
        self.assertEqual(done.out, f"foreground --dir {self.path('.overseer')}\n")

    def test_inherits_nothing(self):
        """The daemon keeps no file of ours open, is no part of our session, and starts in the repository."""
        null = os.open("/dev/null", os.O_RDONLY)
        fd = os.dup2(null, 77)
        os.close(null)
        self.addCleanup(os.close, fd)
        self.write("stand-in", "#!/bin/sh\n"
                   f"{{ ls /proc/$$/fd; ps -o sid= -p $$; echo $$; pwd; }} >'{self.path('seen')}'\n"
                   "printf 'error E_STATE\\nx\\n\\n' >&3\n", 0o755)
        done = subprocess.run([CLI, "up"], cwd=self.cwd, env=self.env, capture_output=True, timeout=PATIENCE,
                              pass_fds=[fd])
        self.assertEqual(done.returncode, 4)
        with open(self.path("seen")) as f:
            *fds, session, pid, folder = f.read().split()
        self.assertLessEqual({"0", "1", "2", "3"}, set(fds))
        self.assertNotIn(str(fd), fds)
        self.assertEqual(session, pid)
        self.assertEqual(folder, self.root)


if __name__ == "__main__":
    main()
