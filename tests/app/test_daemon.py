#!/usr/bin/env python3
"""The daemon where its parts meet: what a check leaves behind, reloads, stopping, following."""

import os
import sqlite3
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import harness  # noqa: E402
from harness import SiteCase, plan, task  # noqa: E402

AGENT = """
echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"
"""


class Checks(SiteCase):
    def test_a_check_may_leave_files(self):
        """What a check built is no work of the agent's: it is not accepted, and not in the way."""
        site = self.site(harness.FAST + '[workspace]\ncheck_command = "mkdir -p out && echo o > out/a.o"\n', AGENT)
        site.up()
        site.wait_goal(site.call("goal.create", title="g", plan=plan(task("T1"), task("T2", ["T1"])))["goal"])
        self.assertEqual(site.git("ls-tree", "-r", "--name-only", "main").split(), ["README", "T1.txt", "T2.txt"])
        self.assertEqual(site.down(), 0)


class Reload(SiteCase):
    def test_a_target_that_is_named_no_longer_stays(self):
        """Without accept.target the branch of the start counts; a start that was told one has none."""
        site = self.site(harness.FAST + '[accept]\ntarget = "main"\n', AGENT)
        site.git("switch", "-q", "--detach")
        site.up()
        with open(os.path.join(site.dir, "config.toml"), encoding="utf-8") as f:
            config = f.read()
        site.configure(config.replace('target = "main"\n', ""))
        site.call("config.reload")
        site.wait_goal(site.call("goal.create", title="g", plan=plan(task("T1")))["goal"])
        self.assertEqual(site.git("show", "main:T1.txt"), "T1\n")
        self.assertEqual(site.down(), 0)


@unittest.skipUnless(os.environ.get("OV_INJECT"), "only a build with -Dinject=true can be killed in the middle")
class Starting(SiteCase):
    def test_a_start_that_cannot_be_seen_is_not_repeated(self):
        """The agent runs, the daemon died before it wrote so, and the next one cannot look: one agent."""
        site = self.site(harness.FAST, 'echo x >> "$HOME/started"; echo here > "$HOME/g.here"; read x < "$HOME/g.go"\n'
                         + AGENT)
        gate = site.gate("g")
        site.start(OVERSEER_INJECT="after-run-start")
        try:
            site.call("goal.create", title="g", plan=plan(task("T1")))
        except ConnectionError:
            pass
        self.assertEqual(site.ended(), -9)
        gate.wait()
        output = os.path.join(site.dir, "runs", os.listdir(os.path.join(site.dir, "runs"))[0], "output")
        os.rename(output, output + ".away")
        os.mkdir(output)
        site.up()
        self.assertEqual([run["status"] for run in site.runs()], ["starting"])
        os.rmdir(output)
        os.rename(output + ".away", output)
        site.wait_type("run.started")
        gate.go()
        site.wait_goal(site.call("goal.list")["goals"][0]["id"])
        self.assertEqual(site.home("started"), "x\n")
        self.assertEqual(len(site.runs()), 1)
        self.assertEqual(site.down(), 0)


class Fenced(SiteCase):
    def registered(self, site):
        with open(os.path.join(site.dir, "daemon.json"), encoding="utf-8") as f:
            return f.read()

    def test_a_daemon_that_lost_its_store_ends(self):
        """Somebody removed the lock file and another daemon took the store: the old one shows nothing any more."""
        site = self.site(harness.FAST, AGENT)
        site.up()
        registered = self.registered(site)
        os.unlink(os.path.join(site.dir, "store.db.lock"))
        db = sqlite3.connect(os.path.join(site.dir, "store.db"))
        with db:
            db.execute("UPDATE lease SET term = term + 1")
        db.close()
        with self.assertRaises((harness.RpcError, ConnectionError)) as refused:
            site.call("goal.create", title="g", plan=plan(task("T1")))
        if isinstance(refused.exception, harness.RpcError):
            self.assertEqual(refused.exception.code, "E_FENCED")
        self.assertEqual(site.ended(), 5)
        # What stands there is the other one's, as far as this one can know.
        self.assertEqual(self.registered(site), registered)
        site.up()
        self.assertEqual(site.call("goal.list")["goals"], [])
        self.assertEqual(site.down(), 0)


class Following(SiteCase):
    def test_following_twice_is_refused(self):
        """One connection hears every event once."""
        site = self.site(harness.FAST, AGENT)
        site.up()
        connection = site.connect()
        head = connection.call("events.follow")["head"]
        with self.assertRaises(harness.RpcError) as refused:
            connection.call("events.follow")
        self.assertEqual(refused.exception.code, "E_CONFLICT")
        site.call("goal.create", title="g")
        event = connection.event()
        self.assertEqual((event["type"], event["seq"]), ("goal.created", head + 1))
        connection.close()
        self.assertEqual(site.down(), 0)

    def test_every_event_after_the_head_comes_once(self):
        """Also those that were on their way into the store when somebody began to follow."""
        site = self.site(harness.FAST, AGENT)
        site.up()
        connection = site.connect()
        # In one piece, so that they are handled before the commit that follows.
        lines = []
        for i in range(3):
            lines.append('{"jsonrpc":"2.0","id":"c%d","method":"goal.create","params":{"title":"g"}}' % i)
        lines.append('{"jsonrpc":"2.0","id":"f","method":"events.follow"}')
        lines.append('{"jsonrpc":"2.0","id":"d","method":"goal.create","params":{"title":"g"}}')
        connection.sock.sendall(("\n".join(lines) + "\n").encode())
        head, seqs = None, []
        while head is None or len(seqs) < site.seq() - head:
            message = connection.receive()
            if message.get("method") == "event":
                seqs.append(message["params"]["seq"])
            elif message["id"] == "f":
                head = message["result"]["head"]
        self.assertEqual(seqs, list(range(head + 1, head + 1 + len(seqs))))
        connection.close()
        self.assertEqual(site.down(), 0)


if __name__ == "__main__":
    unittest.main()
