#!/usr/bin/env python3
"""Bad input on every surface: a clear error, nothing changed, the daemon lives."""

import json
import os
import re
import socket
import subprocess
import unittest

from harness import DAEMON, PATIENCE, SANITIZED, RpcError, SiteCase, plan, task

PARSE, INVALID_REQUEST, INVALID_PARAMS = -32700, -32600, -32602
FRAME_MAX = 5 * 1024 * 1024
QUEUED_MAX = 12 * 1024 * 1024
CONNECTIONS_MAX = 64  # of one process
GROWTH_MAX = 48 * 1024 * 1024


def request(method="status.get", params=None, number=1):
    message = {"jsonrpc": "2.0", "id": number, "method": method}
    if params is not None:
        message["params"] = params
    return json.dumps(message).encode() + b"\n"


def operations():
    """[(name, {parameter: (type, required)})], from the daemon's own table."""
    text = subprocess.run([DAEMON, "--docs", "operations"], capture_output=True, text=True, check=True).stdout
    found = []
    for section in text.split("\n## `")[1:]:
        name = section.split("`")[0]
        rows = re.findall(r"^\| `(\w+)` \| ([a-z ]+) \| (required)? ?\|", section, re.M)
        found.append((name, {row[0]: (row[1], bool(row[2])) for row in rows}))
    return found


class Input(SiteCase):
    def setUp(self):
        # No agent is configured, so T1 is soon blocked and nothing moves by itself after that.
        self.s = self.site('[workers]\nmax = 1\n')
        self.s.up()
        self.goal = self.s.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        self.s.wait_type("escalation.opened")
        self.seq = self.s.seq()
        self.pid = self.s.daemon.pid
        self.rss = self.resident()

    def resident(self):
        with open(f"/proc/{self.pid}/statm", encoding="ascii") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def unharmed(self, seq=None):
        """The same daemon answers, and its log is as it was."""
        status = self.s.call("status.get")
        self.assertEqual((status["daemon"]["pid"], status["seq"]), (self.pid, self.seq if seq is None else seq))
        self.assertIsNone(self.s.daemon.poll())
        if not SANITIZED:  # there, freed memory is kept for a while on purpose
            self.assertLess(self.resident() - self.rss, GROWTH_MAX)

    def raw(self):
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(PATIENCE)
        sock.connect(self.s.socket)
        self.addCleanup(sock.close)
        return sock

    def talk(self, data, half_close=True):
        """Everything that the daemon answers to these bytes until it closes the connection."""
        sock = self.raw()
        heard = b""
        try:
            sock.sendall(data)
            if half_close:
                sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it hung up early; what it said can still be read
        try:
            while True:
                piece = sock.recv(65536)
                if not piece:
                    break
                heard += piece
        except ConnectionResetError:
            pass
        sock.close()
        return [json.loads(line) for line in heard.split(b"\n") if line]

    def refused(self, data, code=None):
        answers = self.talk(data)
        self.assertEqual(len(answers), 1, (data[:80], answers))
        self.assertIn("error", answers[0], (data[:80], answers))
        self.assertTrue(answers[0]["error"]["message"], answers)
        if code is not None:
            self.assertEqual(answers[0]["error"]["code"], code, (data[:80], answers))
        return answers[0]

    def test_not_json(self):
        for data in (b"hello\n", b"{\n", b"}\n", b"[1,\n", b'{"a":1}}\n', b'{"a":1,"a":2}\n', b'"\\ud800"\n', b"nul\n",
                     b"01\n", b"1e999999\n", b'{"jsonrpc":"2.0","id":1,"method":"status.get"} trailing\n', b"\xef\xbb\xbf{}\n",
                     b'{"jsonrpc":"2.0","id":1,"method":"\xff"}\n', b'{"a":"\xc3("}\n', b'{"a":"\x01"}\n', b"\x00\n",
                     b'{"a":"\x00"}\n', b"GET / HTTP/1.1\n", b"'single'\n", b"NaN\n"):
            self.refused(data, PARSE)
        self.unharmed()

    def test_wrong_envelope(self):
        for message in (1, "x", None, True, [], {}, {"id": 1, "method": "status.get"}, {"jsonrpc": "1.0", "id": 1, "method": "x"},
                        {"jsonrpc": 2.0, "id": 1, "method": "x"}, {"jsonrpc": "2.0", "id": 1},
                        {"jsonrpc": "2.0", "id": 1, "method": 5}, {"jsonrpc": "2.0", "id": {}, "method": "status.get"},
                        {"jsonrpc": "2.0", "id": [1], "method": "status.get"},
                        {"jsonrpc": "2.0", "id": 1.5, "method": "status.get"},
                        {"jsonrpc": "2.0", "id": True, "method": "status.get"},
                        {"jsonrpc": "2.0", "id": 1, "method": "status.get", "result": 1}):
            self.refused(json.dumps(message).encode() + b"\n", INVALID_REQUEST)
        # Batches are not served, and say so.
        batch = self.refused(b"[" + request().strip() + b"," + request("goal.create", {"title": "x"}).strip() + b"]\n",
                             INVALID_REQUEST)
        self.assertIn("batch", batch["error"]["message"])
        for params in ([], [1, 2], "x", 5, True):
            self.refused(request("goal.create", params), INVALID_PARAMS)
        self.unharmed()

    def test_unknown_envelope_members(self):
        answer = self.talk(b'{"jsonrpc":"2.0","id":"\\u0000\xc3\xa4","method":"status.get","extra":1}\n')[0]
        self.assertEqual(answer["id"], "\0ä")
        self.unharmed()

    def test_ids_come_back_as_they_were(self):
        for number in (0, -1, 2 ** 63 - 1, -2 ** 63, "", "x" * 1000, "ä\n\0"):
            message = {"jsonrpc": "2.0", "id": number, "method": "status.get"}
            self.assertEqual(self.talk(json.dumps(message).encode() + b"\n")[0]["id"], number)
        self.unharmed()

    def test_notifications_and_responses_are_not_answered(self):
        """A notification that would be refused is refused silently; answers to nobody are ignored."""
        for data in (b'{"jsonrpc":"2.0","method":"status.get"}\n', b'{"jsonrpc":"2.0","method":"no.such"}\n', b"\n\n  \n"):
            self.assertEqual([a for a in self.talk(data) if "result" in a], [])
        self.talk(b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
        self.unharmed()

    def test_unknown_operations(self):
        for method, near in (("status.gte", "status.get"), ("goal.craete", "goal.create"), ("work.updat", "work.update"),
                             ("overseer.goal.lst", "goal.list")):
            with self.assertRaises(RpcError) as e:
                self.s.call(method)
            self.assertEqual(e.exception.code, "E_NOT_FOUND")
            self.assertIn(f'did you mean "{near}"?', e.exception.message)
        for method in ("", "x" * 100000, "\0", "../etc/passwd", "%s%n", "daemon.start"):
            with self.assertRaises(RpcError) as e:
                self.s.call(method)
            self.assertIn(e.exception.code, ("E_NOT_FOUND", None))
            self.assertLess(len(e.exception.message), 1024)
        # Commands that only the daemon itself gives are no operations.
        for method in ("effect.end", "run.end", "daemon.start"):
            with self.assertRaises(RpcError) as e:
                self.s.call(method, run="x", effect="x")
            self.assertEqual(e.exception.code, "E_NOT_FOUND")
        self.unharmed()

    # A value of each wrong kind for each type of parameter.
    WRONG = {
        "text": (1, 1.5, True, [], {}, ["x"]),
        "integer": ("1", 1.5, True, [], {}, -1, 2 ** 63, 2 ** 70, -2 ** 63),
        "boolean": ("true", 0, 1, [], {}),
        "list of texts": ("x", 1, {}, True, [1], [["x"]], ["x", {}]),
        "list of objects": ("x", 1, {}, True, [1], ["x"], [{}, []]),
        "object": ("x", 1, True, [], [{}]),
    }
    RIGHT = {"text": "x", "integer": 1, "boolean": True, "list of texts": ["x"], "list of objects": [{}], "object": {}}

    def test_every_parameter_of_every_operation(self):
        """Wrong types, null, missing and unknown parameters: refused by name, before anything is done."""
        found = operations()
        self.assertGreaterEqual(len(found), 19)
        self.assertGreaterEqual(sum(len(params) for _, params in found), 35)
        connection = self.s.connect()
        self.addCleanup(connection.close)
        for name, params in found:
            right = {key: self.RIGHT[kind] for key, (kind, _) in params.items()}
            for key, (kind, required) in params.items():
                for wrong in self.WRONG[kind] + (None,):
                    self.refuse(connection, name, {**right, key: wrong}, key)
                if required:
                    self.refuse(connection, name, {k: v for k, v in right.items() if k != key}, key)
            self.refuse(connection, name, {**right, "colour": 1}, "colour")
            self.refuse(connection, name, {**right, "": 1}, "")
        self.unharmed()

    def refuse(self, connection, name, params, key):
        with self.assertRaises(RpcError, msg=f"{name} {params}") as e:
            connection.call(name, **params)
        if e.exception.rpc_code == PARSE:
            self.assertIn("number", e.exception.message)  # beyond 64 bits it is no number for us
            return
        self.assertIn(e.exception.code, ("E_INVALID", "E_LIMIT"), (name, params, e.exception.message))
        self.assertIn(name, e.exception.message)
        self.assertIn(key, e.exception.message)

    def test_texts_too_long_or_with_nul(self):
        found = dict(operations())
        for name in ("goal.create", "work.update", "goal.show", "work.show", "run.log", "explain.get", "events.list"):
            for key, (kind, _) in found[name].items():
                if kind != "text":
                    continue
                params = {k: self.RIGHT[t] for k, (t, need) in found[name].items() if need}
                for text, codes in (("x" * 200000, ("E_LIMIT",)), ("a\0b", ("E_INVALID", "E_NOT_FOUND"))):
                    with self.assertRaises(RpcError, msg=(name, key)) as e:
                        self.s.call(name, **{**params, key: text})
                    self.assertIn(e.exception.code, codes, (name, key, e.exception.message))
        for params in ({"title": "x", "tags": ["t"] * 65}, {"title": "x", "tags": ["t" * 5000]}):
            with self.assertRaises(RpcError) as e:
                self.s.call("goal.create", **params)
            self.assertIn(e.exception.code, ("E_LIMIT", "E_INVALID"))
        for title in ("", "   ", "\n"):
            with self.assertRaises(RpcError) as e:
                self.s.call("goal.create", title=title)
            self.assertEqual(e.exception.code, "E_INVALID")
        self.unharmed()

    def test_bad_plans(self):
        """Every problem is named with its place; no part of a bad plan is kept."""
        goal = self.s.call("goal.create", title="no plan yet")["goal"]
        seq = self.s.seq()
        cycle = plan(task("A", ["B"]), task("B", ["A"]))
        many = {"phases": [{"id": f"P{i}", "name": "x", "tasks": [task(f"T{i}")]} for i in range(51)]}
        for bad, words in (({}, "phases"), ({"phases": []}, "phases"), ({"phases": [1]}, "phases[0]"),
                           (plan(task("A"), task("A")), "A"), (plan(task("A", ["Z"])), "deps[0]"), (cycle, "A"),
                           (plan(task("../x")), "id"), (plan(task("A", priority=9)), "priority"), (many, "phases"),
                           (plan({"id": "A", "name": "x"}), "acceptance"), (plan(task("A", colour="x")), "colour"),
                           (plan(task("A", name="n" * 300)), "name"), (plan(task("A", objective="a\0b")), "NUL")):
            for method, params in (("plan.apply", {"goal": goal}), ("goal.create", {"title": "x"})):
                with self.assertRaises(RpcError, msg=bad) as e:
                    self.s.call(method, plan=bad, **params)
                self.assertEqual(e.exception.code, "E_INVALID_PLAN", bad)
                self.assertIn(words, e.exception.message)
        self.unharmed(seq)

    def test_numbers_at_the_edge(self):
        for params in ({"limit": 1001}, {"limit": 2 ** 63 - 1}, {"limit": -1}, {"after": -1}):
            with self.assertRaises(RpcError) as e:
                self.s.call("events.list", **params)
            self.assertEqual(e.exception.code, "E_INVALID")
        self.assertEqual(self.s.call("events.list", after=2 ** 63 - 1)["events"], [])
        self.assertEqual(self.s.call("events.list", limit=0)["events"], [])
        self.assertEqual(self.s.call("events.follow", after=2 ** 63 - 1)["head"], self.seq)
        self.unharmed()

    def test_deep_nesting(self):
        for data in (b"[" * 100000 + b"\n", b'{"a":' * 100000 + b"\n", b"[" * 100000 + b"]" * 100000 + b"\n"):
            self.assertIn("deep", self.refused(data, PARSE)["error"]["message"])
        self.unharmed()

    def test_large_frames(self):
        """Up to the bound a frame is read; above it the answer is an error and the connection ends."""
        padding = b" " * (FRAME_MAX - len(request()))
        self.assertIn("result", self.talk(request()[:-1] + padding + b"\n")[0])
        answers = self.talk(b"x" * (FRAME_MAX + 2) + b"\n" + request())
        self.assertEqual(len(answers), 1, "nothing after an oversized frame is read")
        self.assertIn(str(FRAME_MAX), answers[0]["error"]["message"])
        # Without an end: it must hang up, or this would never return.
        answers = self.talk(b"x" * (8 * FRAME_MAX), half_close=False)
        self.assertEqual(len(answers), 1)
        many = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "goal.create", "params": {
            "title": "x", "tags": ["t"] * 200000}}).encode() + b"\n"
        self.refused(many)
        self.unharmed()

    def test_binary_junk(self):
        """The same noise every time, with and without newlines."""
        state = 12345
        for size in (1, 2, 100, 5000, 300000):
            noise = bytearray()
            while len(noise) < size:
                state = (state * 6364136223846793005 + 1442695040888963407) % 2 ** 64
                noise += state.to_bytes(8, "little")
            for data in (bytes(noise), bytes(noise).replace(b"\n", b"") + b"\n"):
                for answer in self.talk(data):
                    self.assertIn("error", answer)
        self.unharmed()

    def test_half_closed(self):
        """A client that only closes its writing side still gets its answers, the last line without an end too."""
        answers = self.talk(request(number=1) + request("goal.list", number=2) + request("nope", number=3)[:-1])
        self.assertEqual([("result" in a, a["id"]) for a in sorted(answers, key=lambda a: a["id"])],
                         [(True, 1), (True, 2), (False, 3)])
        self.assertEqual(self.talk(b""), [])
        self.refused(request()[:20], PARSE)
        self.unharmed()

    def test_byte_at_a_time(self):
        sock = self.raw()
        for byte in request("goal.show", {"goal": self.goal}):
            sock.sendall(bytes([byte]))
        answer = json.loads(sock.makefile("rb").readline())
        self.assertEqual(answer["result"]["id"], self.goal)
        self.unharmed()

    def test_pipelined(self):
        """Thousands of calls in one go are all answered, each once."""
        answers = []
        sock = self.raw()
        reader = sock.makefile("rb")
        for start in range(0, 2000, 50):
            sock.sendall(b"".join(request("goal.list", number=n) for n in range(start, start + 50)))
            answers += [json.loads(reader.readline())["id"] for _ in range(50)]
        self.assertEqual(sorted(answers), list(range(2000)))
        self.unharmed()

    def test_many_connections(self):
        """More than are allowed: the last are told so; when the first go, others can come."""
        socks = []
        told = 0
        for _ in range(300):
            socks.append(self.raw())
        for sock in socks:
            try:
                sock.sendall(request())
            except BrokenPipeError:
                pass  # it was told at once, and can read that
            answer = json.loads(sock.makefile("rb").readline())
            if "result" in answer:
                told += 1
            else:
                self.assertIn("connections", answer["error"]["message"])
        self.assertEqual(told, CONNECTIONS_MAX)
        for sock in socks:
            sock.close()
        # It notices that they are gone before it looks at who comes next, or at the latest then.
        while True:
            try:
                if self.s.call("status.get")["seq"] == self.seq:
                    break
            except (RpcError, OSError):
                continue
        self.unharmed()

    def test_clients_that_vanish(self):
        """Gone before, during and after the answer; also with a call that waits."""
        for size in (0, 10, len(request())):
            for _ in range(50):
                sock = self.raw()
                sock.sendall(request()[:size])
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                sock.close()
        for _ in range(20):
            sock = self.raw()
            sock.sendall(request("events.follow") + request("events.follow", number=2))
            sock.close()
        self.unharmed()

    def test_reader_that_never_reads(self):
        """It asks and asks: the daemon stops reading or hangs up, keeps little, and serves the others."""
        sock = self.raw()
        sock.setblocking(False)
        data = b"".join(request("events.list", {"after": 0, "limit": 1000}, number=n) for n in range(100))
        sent = 0
        try:
            while sent < 64 * FRAME_MAX:
                sent += sock.send(data)
                self.s.call("status.get")
        except (BlockingIOError, BrokenPipeError, ConnectionResetError):
            pass
        self.assertLess(sent, 64 * FRAME_MAX, "it takes for ever what it cannot answer")
        self.unharmed()

    def test_follower_that_never_reads(self):
        """Events pile up for it only so far; then it is let go, and everybody else goes on."""
        slow, quick = self.raw(), self.s.connect()
        self.addCleanup(quick.close)
        slow.sendall(request("events.follow"))
        slow.recv(1)
        quick.call("events.follow")
        writer = self.s.connect()
        self.addCleanup(writer.close)
        for n in range(500):
            writer.call("goal.create", title=f"{n}", problem_statement="x" * 8000, constraints=["x" * 4000] * 10)
            self.assertEqual(quick.event()["data"]["title"], f"{n}")
        heard = 0
        try:
            while True:
                piece = slow.recv(1 << 20)
                if not piece:
                    break
                heard += len(piece)
        except ConnectionResetError:
            pass
        self.assertLess(heard, QUEUED_MAX + FRAME_MAX)
        self.unharmed(self.seq + 500)

    # HTTP

    def http_raw(self, data):
        """The answer's status and body, from raw bytes; None when it just hangs up."""
        port = self.s.daemon_json()["http_port"]
        sock = socket.create_connection(("127.0.0.1", port), PATIENCE)
        heard = b""
        data = data.replace(b"PORT", str(port).encode()).replace(b"TOKEN", self.s.read(".overseer/token").encode())
        try:
            sock.sendall(data)
        except OSError:
            pass  # it hung up early; what it said can still be read
        try:
            while True:
                piece = sock.recv(65536)
                if not piece:
                    break
                heard += piece
        except ConnectionResetError:
            pass
        sock.close()
        if not heard:
            return None, b""
        head, _, body = heard.partition(b"\r\n\r\n")
        return int(head.split()[1]), body

    def post(self, body, *headers, path=b"/rpc", method=b"POST", host=b"127.0.0.1:PORT", token=b"TOKEN", length=None):
        lines = [method + b" " + path + b" HTTP/1.1", b"Connection: close"]
        lines += [b"Host: " + host] if host is not None else []
        lines += [b"Authorization: Bearer " + token] if token is not None else []
        lines += [b"Content-Length: " + str(len(body) if length is None else length).encode()] if length != "none" else []
        return self.http_raw(b"\r\n".join(lines + list(headers)) + b"\r\n\r\n" + body)

    def test_http_who_may(self):
        good = request()
        self.assertEqual(self.post(good)[0], 200)
        self.assertEqual(self.post(good, host=b"localhost:PORT")[0], 200)
        self.assertEqual(self.post(good, b"Origin: http://127.0.0.1:PORT")[0], 200)
        for host in (b"evil.example", b"evil.example:PORT", b"127.0.0.1", b"127.0.0.1:1", b"", b"127.0.0.1:PORT.evil.example"):
            self.assertEqual(self.post(good, host=host)[0], 403, host)
        self.assertIn(self.post(good, host=None)[0], (400, 403))
        for origin in (b"http://evil.example", b"https://127.0.0.1:PORT", b"null", b"http://127.0.0.1:1", b"file://"):
            self.assertEqual(self.post(good, b"Origin: " + origin)[0], 403, origin)
        for token in (None, b"", b"wrong", b"TOKENx", b"x" * 20000):
            status, body = self.post(good, token=token)
            self.assertIn(status, (401, 413, 431) if token and len(token) > 1000 else (401,), token)
        for path in (b"/events", b"/metrics"):
            self.assertEqual(self.post(b"", path=path, method=b"GET", token=None, length="none")[0], 401)
        status, body = self.post(request("goal.create", {"title": "x"}), token=b"wrong")
        self.assertEqual(json.loads(body)["error"]["code"], "E_UNAUTHORIZED")
        self.unharmed()

    def test_http_what(self):
        good = request()
        for method, path, want in ((b"GET", b"/rpc", 405), (b"PUT", b"/rpc", 405), (b"DELETE", b"/healthz", 405),
                                   (b"OPTIONS", b"/rpc", 405), (b"POST", b"/", 404), (b"POST", b"/nothing", 404),
                                   (b"POST", b"/rpc/../../etc/passwd", 404), (b"POST", b"/" + b"a" * 3000, 404)):
            status, _ = self.post(good, method=method, path=path)
            self.assertIn(status, (want, 400, 404), (method, path))
        self.assertIn(self.post(good, method=b"GET", path=b"/healthz")[0], (400, 413))
        self.assertEqual(self.post(b"x" * (FRAME_MAX + 1))[0], 413)
        self.assertEqual(self.post(b"", length=10 ** 15)[0], 413)
        self.assertIn(self.post(b"", length=-5)[0], (400, None))
        self.assertIn(self.post(good, b"Content-Length: 3")[0], (200, 400, None))
        # A body in pieces is bounded just the same.
        pieces = b"".join(b"%x\r\n%s\r\n" % (len(good[i:i + 7]), good[i:i + 7]) for i in range(0, len(good), 7))
        status, body = self.post(pieces + b"0\r\n\r\n", b"Transfer-Encoding: chunked", length="none")
        self.assertEqual(status, 200)
        self.assertIn("result", json.loads(body.split(b"\r\n")[0] if body[:1] != b"{" else body))
        chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
        self.assertEqual(self.post(chunk * (FRAME_MAX // 65536 + 1) + b"0\r\n\r\n", b"Transfer-Encoding: chunked", length="none")[0], 413)
        # One that does not end is not listened to for ever.
        self.assertIn(self.post(chunk * 200, b"Transfer-Encoding: chunked", length="none")[0], (413, None))
        self.assertIn(self.post(b"zz\r\nx\r\n0\r\n\r\n", b"Transfer-Encoding: chunked", length="none")[0], (400, None))
        self.unharmed()

    def test_http_same_errors(self):
        """What the socket refuses, /rpc refuses with the same words."""
        for data in (b"", b"junk", b"\xff\xfe", b"[" * 100000, b"[]", b"{}", b'{"jsonrpc":"2.0","id":1,"method":5}',
                     request("no.such"), request("goal.create", {"title": 5}), request("goal.create", {"colour": 1}),
                     request("goal.create", [1]), request("work.show", {"node": "nope"}), request("events.follow")):
            status, body = self.post(data)
            self.assertIn(status, (200, 400), data[:60])
            answer = json.loads(body)
            self.assertIn("error", answer, data[:60])
            if data and status == 200 and b"events.follow" not in data:
                self.assertEqual(answer, self.talk(data.strip() + b"\n")[0])
        self.unharmed()

    def test_http_not_http(self):
        # No line of a request comes out of these; whether it hangs up at once or after a while is its business.
        for data in (b"\x16\x03\x01\x02\x00" + bytes(200), b"\0" * 1000, b"GET", b"\r\n" * 1000):
            sock = socket.create_connection(("127.0.0.1", self.s.daemon_json()["http_port"]), PATIENCE)
            self.addCleanup(sock.close)
            sock.sendall(data)
        for data in (b"GET / HTTP/9.9\r\n\r\n", b"X" * 100000, b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 20000 + b"\r\n",
                     request() + b"\r\n\r\n", b"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nConnection: close\r\n: x\r\n\r\n"):
            status, _ = self.http_raw(data)
            self.assertIn(status, (None, 400, 401, 414, 431, 505), data[:40])
        self.unharmed()

    def test_http_clients_that_vanish(self):
        port = self.s.daemon_json()["http_port"]
        token = self.s.read(".overseer/token")
        head = f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        for size in (0, 30, len(head)):
            for _ in range(30):
                sock = socket.create_connection(("127.0.0.1", port), PATIENCE)
                sock.sendall(head[:size])
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                sock.close()
        self.assertEqual(self.post(request())[0], 200)
        self.unharmed()

    def test_command_line(self):
        """The daemon's own arguments, and a folder that is none."""
        env = dict(self.s.env)
        if SANITIZED:  # seconds each; test_two looks for leaks of such short lives
            env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        for args, status in (([], 2), (["--colour"], 2), (["--dir"], 2), (["--dir", self.s.dir, "extra"], 2),
                             (["--docs", "nothing"], 2), (["--dir", "/nonexistent"], 3), (["--dir", ""], 3),
                             (["--dir", self.s.dir, "--ready-fd", "x"], 2), (["--dir", self.s.dir, "--ready-fd", "99999"], 2)):
            done = subprocess.run([DAEMON, *args], capture_output=True, text=True, timeout=PATIENCE, env=env)
            self.assertEqual(done.returncode, status, (args, done.stderr))
            self.assertTrue(done.stderr)
        for text in ("", "junk\n", "{}\n", "x" * (FRAME_MAX + 10), '{"jsonrpc":"2.0","id":1,"method":"no.such"}\n'):
            done = subprocess.run([DAEMON, "--read-only", "--dir", self.s.dir], input=text, capture_output=True, text=True,
                                  timeout=PATIENCE, env=env)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("error", json.loads(done.stdout), text[:20])
        self.unharmed()


if __name__ == "__main__":
    unittest.main(verbosity=2)
