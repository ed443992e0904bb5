#!/usr/bin/env python3
"""The HTTP side: /rpc, /events, /metrics, /healthz, the token, the port."""

import http.client
import json
import os
import re
import socket
import stat
import unittest

from harness import FAST, PATIENCE, SiteCase, plan, task

COMMIT = r"""
echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "work of $OVERSEER_NODE"
"""


class Stream:
    """A subscriber of /events."""

    def __init__(self, site, last=None, query=""):
        headers = {"Authorization": "Bearer " + site.read(".overseer/token")}
        if last is not None:
            headers["Last-Event-ID"] = str(last)
        self.connection = http.client.HTTPConnection("127.0.0.1", site.daemon_json()["http_port"], timeout=PATIENCE)
        self.connection.request("GET", "/events" + query, headers=headers)
        self.answer = self.connection.getresponse()

    def event(self):
        """(id, type, data) of the next event; None at the end of the stream."""
        fields = {}
        while True:
            line = self.answer.readline()
            if not line:
                return None
            line = line.decode().rstrip("\r\n")
            if not line and "data" in fields:
                return int(fields["id"]), fields.get("event"), json.loads(fields["data"])
            name, _, value = line.partition(":")
            if name:
                fields[name] = value.removeprefix(" ")

    def close(self):
        self.connection.close()


class Http(SiteCase):
    def stream(self, site, *args, **more):
        found = Stream(site, *args, **more)
        self.addCleanup(found.close)
        self.assertEqual(found.answer.status, 200)
        self.assertTrue(found.answer.getheader("Content-Type").startswith("text/event-stream"))
        return found

    def rpc(self, site, method, **params):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        status, headers, answer = site.http("POST", "/rpc", body, {"Content-Type": "application/json"})
        self.assertEqual((status, headers["Content-Type"]), (200, "application/json"))
        return json.loads(answer)

    def test_rpc(self):
        """The same operations as on the socket, by the same table; who asked is recorded."""
        site = self.site(FAST, COMMIT)
        site.up()
        goal = self.rpc(site, "goal.create", title="Test", plan=plan(task("T1")))["result"]["goal"]
        site.wait_goal(goal)
        self.assertEqual(site.wait_type("goal.created")["actor"], "human:http")
        for method, params in (("goal.show", {"goal": goal}), ("work.list", {}), ("run.list", {}), ("config.show", {})):
            self.assertEqual(self.rpc(site, method, **params)["result"], site.call(method, **params))
        error = self.rpc(site, "work.show", node="T9")["error"]
        self.assertEqual((error["code"], error["data"]["code"]), (-32003, "E_NOT_FOUND"))
        # A notification is done, and has no answer.
        status, _, body = site.http("POST", "/rpc", '{"jsonrpc":"2.0","method":"goal.create","params":{"title":"quiet"}}')
        self.assertEqual((status, body), (204, b""))
        site.wait_type("goal.created", title="quiet")

    def test_rpc_waits_for_the_log(self):
        site = self.site(FAST, 'read x < "$HOME/g.go"; echo spoken' + COMMIT)
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        run = site.wait_type("run.started")["run"]
        gate.go()
        self.assertEqual(self.rpc(site, "run.log", run=run, wait_ms=30000)["result"]["text"], "spoken\n")
        site.wait_goal(goal)

    def test_events_live(self):
        site = self.site(FAST, COMMIT)
        site.up()
        stream = self.stream(site)
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        seen = []
        while not seen or seen[-1][1] != "goal.status":
            seen.append(stream.event())
        self.assertEqual(seen[0][1], "goal.created")
        self.assertEqual([e[0] for e in seen], list(range(seen[0][0], seen[0][0] + len(seen))))
        self.assertEqual(seen[-1][2]["goal"], goal)
        logged = site.call("events.list", after=seen[0][0] - 1, limit=1000)["events"]
        self.assertEqual([e[2] for e in seen], logged[:len(seen)])
        for number, kind, data in seen:
            self.assertEqual((data["seq"], data["type"]), (number, kind))
            self.assertTrue(data["text"])

    def test_events_resume(self):
        """Last-Event-ID goes on without gap or repetition, also after a restart, also from far behind."""
        site = self.site(FAST + "[store]\nsnapshot_every = 100\n", COMMIT)
        site.up()
        for number in range(1500):  # more than the ring holds
            self.writer(site).call("goal.create", title=f"{number}")
        head = site.seq()
        self.assertGreater(head, 1500)
        stream = self.stream(site, 0)
        self.assertEqual([stream.event()[0] for _ in range(head)], list(range(1, head + 1)))
        stream = self.stream(site, head - 3)
        self.assertEqual([stream.event()[0] for _ in range(3)], [head - 2, head - 1, head])
        stream = self.stream(site, None, query=f"?after={head - 1}")
        self.assertEqual(stream.event()[0], head)
        self._writer.close()
        site.kill()
        self.assertIsNone(self.end(stream))
        site.up()
        stream = self.stream(site, head - 1)
        number, _, data = stream.event()
        self.assertEqual((number, data["data"]["title"]), (head, "1499"))
        self.assertEqual(stream.event()[1], "daemon.started")
        site.call("goal.create", title="after the restart")
        self.assertEqual(stream.event()[2]["data"]["title"], "after the restart")
        # Ids that cannot be: ahead of the log, and no number at all.
        for last in (10 ** 9, "x"):
            stream = Stream(site, last)
            self.addCleanup(stream.close)
            self.assertIn(stream.answer.status, (200, 400))
        self.assertEqual(site.http()[0], 200)

    def writer(self, site):
        if not hasattr(self, "_writer"):
            self._writer = site.connect()
        return self._writer

    @staticmethod
    def end(stream):
        try:
            return stream.event()
        except (ConnectionError, http.client.HTTPException):
            return None

    def test_events_end_with_the_daemon(self):
        site = self.site(FAST, COMMIT)
        site.up()
        stream = self.stream(site)
        self.assertEqual(site.down(), 0)
        while (event := self.end(stream)) is not None:
            self.assertEqual(event[1], "daemon.stopped")

    def test_metrics(self):
        site = self.site(FAST, COMMIT)
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1"), task("T2")))["goal"]
        site.wait_goal(goal)
        status, headers, body = site.http(path="/metrics")
        self.assertEqual(status, 200)
        self.assertTrue(headers["Content-Type"].startswith("text/plain; version=0.0.4"))
        declared = set()
        for line in body.decode().rstrip("\n").split("\n"):
            if line.startswith("# "):
                match = re.fullmatch(r"# (?:HELP (\w+) .+|TYPE (\w+) (counter|gauge))", line)
                self.assertTrue(match, line)
                declared.add(match[1] or match[2])
                continue
            label = r'(?:status|agent|type|severity|level|cause)="[a-z_-]+"'
            match = re.fullmatch(rf"(overseer_[a-z_]+)(\{{{label}(?:,{label})*\}})? (\d+)", line)
            self.assertTrue(match, line)
            self.assertIn(match[1], declared)
        found = site.metrics()
        self.assertEqual(found['overseer_goals{status="completed"}'], 1)
        self.assertEqual(found['overseer_nodes{status="done"}'], 2)
        self.assertEqual(found["overseer_events_total"], site.seq())
        self.assertEqual(found["overseer_store_failing"], 0)
        self.assertGreater(found["overseer_resident_bytes"], 1e6)

    def test_health(self):
        """Open to everyone on the machine, and says nothing that matters."""
        site = self.site(FAST, COMMIT)
        site.up()
        status, _, body = site.http(token=False)
        answer = json.loads(body)
        self.assertEqual((status, answer["ok"]), (200, True))
        self.assertEqual(answer["instance"], site.call("status.get")["daemon"]["instance"])
        self.assertEqual(site.http("HEAD", "/healthz", token=False)[0], 200)

    def test_token(self):
        """Made once, for the owner alone, kept over restarts; an own one is taken."""
        site = self.site(FAST, COMMIT)
        site.up()
        path = os.path.join(site.dir, "token")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        token = site.read(".overseer/token")
        self.assertRegex(token, r"^[0-9a-f]{64}$")
        self.assertNotIn(token, site.daemon_log())
        site.kill()
        site.up()
        self.assertEqual(site.read(".overseer/token"), token)
        site.down()
        site.write(".overseer/token", "  my-own-token\n")
        site.up()
        self.assertEqual(site.http(path="/metrics", headers={"Authorization": "Bearer my-own-token"})[0], 200)
        self.assertEqual(site.http(path="/metrics", headers={"Authorization": f"Bearer {token}"})[0], 401)
        site.down()
        site.write(".overseer/token", "\n")
        said = site.start().split("\n")
        self.assertEqual(said[0], "error E_INVALID")
        self.assertIn("token", said[1])

    def test_off(self):
        site = self.site(FAST + "[http]\nenabled = false\n", COMMIT)
        site.up()
        self.assertIsNone(site.daemon_json()["http_port"])
        self.assertIsNone(site.call("status.get")["daemon"]["http_port"])
        self.assertFalse(os.path.exists(os.path.join(site.dir, "token")))
        with open("/proc/net/tcp", encoding="ascii") as f:
            listening = {line.split()[9] for line in f if line.split()[3] == "0A"}
        for fd in os.listdir(f"/proc/{site.daemon.pid}/fd"):
            link = os.readlink(f"/proc/{site.daemon.pid}/fd/{fd}")
            self.assertNotIn(link.removeprefix("socket:[").rstrip("]"), listening)

    def test_loopback_only(self):
        site = self.site(FAST, COMMIT)
        site.up()
        port = site.call("status.get")["daemon"]["http_port"]
        self.assertEqual(port, site.daemon_json()["http_port"])
        with open("/proc/net/tcp", encoding="ascii") as f:
            rows = [line.split() for line in f]
        with open("/proc/net/tcp6", encoding="ascii") as f:
            rows += [line.split() for line in f]
        at = {row[1].split(":")[0] for row in rows if row[3] == "0A" and row[1].endswith(f":{port:04X}")}
        self.assertEqual(at, {"0100007F"})

    def test_port_in_use(self):
        """A clear error at the start; nothing is left behind, and the next start works."""
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            site = self.site(FAST + f"[http]\nport = {port}\n", COMMIT)
            said = site.start().split("\n")
            self.assertTrue(said[0].startswith("error E_"), said)
            self.assertIn(str(port), said[1])
            self.assertIn("is taken", said[1])
            self.assertFalse(os.path.exists(site.socket))
        site.up()
        self.assertEqual(site.daemon_json()["http_port"], port)


if __name__ == "__main__":
    unittest.main(verbosity=2)
