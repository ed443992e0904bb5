#!/usr/bin/env python3
"""The daemon's signs of life: what it says of its health, its heartbeat, and what it tells systemd."""

import json
import os
import signal
import unittest

from harness import FAST, SiteCase

HEALTH_BYTES = 256 * 1024


class Health(SiteCase):
    @staticmethod
    def lines(site, name="health.jsonl"):
        """(instance, kind, text) of each whole line."""
        with open(os.path.join(site.dir, name), encoding="utf-8") as f:
            found = []
            for line in f:
                try:
                    v = json.loads(line)
                except ValueError:
                    continue
                assert set(v) == {"time", "instance", "kind", "text"}, v
                found.append((v["instance"], v["kind"], v["text"]))
            return found

    def test_start_and_end(self):
        site = self.site()
        told = []

        def up():
            site.up()
            instance, pid = site.daemon_json()["instance_id"], site.daemon.pid
            self.assertRegex(self.lines(site)[-1][2], rf"^overseerd [0-9.]+.*, pid {pid}$")
            self.assertEqual(self.lines(site)[-1][:2], (instance, "started"))
            told.append(self.lines(site)[-1])
            return instance

        # Asked by a person.
        instance = up()
        self.assertEqual(site.down(), 0)
        requested = self.lines(site)[-2]
        self.assertEqual(requested[:2], (instance, "requested"))
        self.assertRegex(requested[2], "^by human:")
        told += [requested, (instance, "stopped", "0")]
        # A signal is nobody's request, though it ends in order.
        instance = up()
        site.daemon.terminate()
        self.assertEqual(site.ended(), 0)
        told.append((instance, "stopped", "0"))
        # Whoever was killed says nothing.
        up()
        site.kill()
        self.assertEqual(self.lines(site), told)
        # Half a line that one left is no part of the next one's.
        path = os.path.join(site.dir, "health.jsonl")
        with open(path, "ab") as f:
            f.write(b'{"time":"20')
        instance = up()
        self.assertEqual(self.lines(site), told)
        # A file that somebody removed comes again.
        os.unlink(path)
        site.daemon.send_signal(signal.SIGTERM)
        self.assertEqual(site.ended(), 0)
        self.assertEqual(self.lines(site), [(instance, "stopped", "0")])

    def test_rotated(self):
        site = self.site()
        path = os.path.join(site.dir, "health.jsonl")
        old = b"x" * (HEALTH_BYTES - 1) + b"\n"
        with open(path, "wb") as f:
            f.write(old)
        site.up()
        instance = site.daemon_json()["instance_id"]
        with open(path + ".1", "rb") as f:
            self.assertEqual(f.read(), old)
        self.assertEqual([line[:2] for line in self.lines(site)], [(instance, "started")])

    def test_not_writable(self):
        """What cannot be written is told once, and holds up nothing."""
        site = self.site()
        os.mkdir(os.path.join(site.dir, "health.jsonl"))
        site.up()
        self.assertEqual(site.down(), 0)
        self.assertEqual(site.daemon_log().count("health was not written down"), 1)

    def test_auto_failed(self):
        site = self.site(FAST + '[auto]\ntask_pool_command = "echo no such pool >&2; exit 7"\n', "true\n")
        site.args = ["--auto"]
        site.up()
        instance = site.daemon_json()["instance_id"]
        self.assertEqual(site.ended(), 20)
        lines = self.lines(site)
        self.assertEqual([line[:2] for line in lines], [(instance, kind) for kind in ("started", "failed", "stopped")])
        self.assertIn("auto mode: ", lines[1][2])
        self.assertEqual(lines[2][2], "20")

    def test_damaged(self):
        """In safe mode it is up, and cannot do its work."""
        site = self.site()
        site.up()
        site.call("goal.create", title="Test")
        site.down()
        path = os.path.join(site.dir, "store.db")
        with open(path, "r+b") as f:
            f.seek(100)
            f.write(b"\xff" * 4000)
        before = len(self.lines(site))
        site.up()
        self.assertEqual([line[1] for line in self.lines(site)[before:]], ["started", "degraded"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
