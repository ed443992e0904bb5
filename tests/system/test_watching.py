#!/usr/bin/env python3
"""What the daemon makes of its watchdog's acts: events, a section of the status, and the daemon's own story."""

import json
import os
import unittest

from harness import SiteCase

KNOWN = {"state", "detail", "pid", "since", "alive", "daemon_pid", "daemon_uptime_ms", "remediation",
         "restarts_24h", "reason", "last"}


def act(n, kind="started", watch="a" * 16, at="2026-01-02T03:04:05.678Z", failure="none", instance="", text=""):
    return {"n": n, "time": at, "watch": watch, "kind": kind, "failure": failure, "instance": instance,
            "text": text or f"act {n}"}


class Acts(SiteCase):
    @staticmethod
    def path(site, name="logs/watch.jsonl"):
        os.makedirs(os.path.join(site.dir, "logs"), exist_ok=True)
        return os.path.join(site.dir, name)

    def add(self, site, *acts, raw=b"", name="logs/watch.jsonl"):
        with open(self.path(site, name), "ab") as f:
            f.write(b"".join(json.dumps(a).encode() + b"\n" for a in acts) + raw)

    @staticmethod
    def recorded(site):
        """[(watch, n)] of the log."""
        return [(e["data"]["watch"][0], e["data"]["n"]) for e in site.events() if e["type"] == "watch.acted"]

    def test_each_act_once(self):
        site = self.site()
        self.add(site, act(1, "watching"), act(2), name="logs/watch.jsonl.1")
        self.add(site, act(3, "failed", failure="died", text="it was killed"), raw=b"rubbish\n{}\n\n")
        self.add(site, act(4), raw=json.dumps(act(5)).encode())  # and no end of the line
        site.up()
        first = site.events()
        # They come before the daemon's own start, as they did.
        self.assertEqual([e["type"] for e in first[:5]], ["watch.acted"] * 4 + ["daemon.started"])
        third = first[2]
        self.assertEqual(third["data"], {"n": 3, "act": "failed", "failure": "died", "watch": "a" * 16,
                                         "text": "it was killed", "at_ms": 1767323045678})
        self.assertNotIn("failure", first[0]["data"])
        self.assertIn("2 lines are none of a watchdog's", site.daemon_log())
        # The line's end comes, and more.
        self.add(site, raw=b"\n")
        site.wait_type("watch.acted", n=5)
        # The file is put aside, and the next one goes on.
        self.add(site, act(6))
        os.rename(self.path(site), self.path(site, "logs/watch.jsonl.1"))
        self.add(site, act(7))
        site.wait_type("watch.acted", n=7)
        # It is lost: another watchdog begins at 1.
        os.unlink(self.path(site))
        self.add(site, act(1, watch="b" * 16), act(2, watch="b" * 16))
        site.wait_type("watch.acted", n=2, watch="b" * 16)
        # It is cut.
        with open(self.path(site), "wb") as f:
            f.write(b"")
        self.add(site, act(3, watch="b" * 16))
        site.wait_type("watch.acted", n=3, watch="b" * 16)
        # Lines that are too long harm nobody.
        self.add(site, act(4, watch="b" * 16, text="x" * 200000), raw=b"y" * 70000 + b"\n")
        self.add(site, act(5, watch="b" * 16))
        site.wait_type("watch.acted", n=5, watch="b" * 16)
        told = [("a", n) for n in range(1, 8)] + [("b", 1), ("b", 2), ("b", 3), ("b", 5)]
        self.assertEqual(self.recorded(site), told)
        # Nothing comes twice: not by a start with a snapshot, not by one without an end.
        self.assertEqual(site.down(), 0)
        self.add(site, act(6, watch="b" * 16))
        site.up()
        site.kill()
        site.up()
        self.assertEqual(self.recorded(site), told + [("b", 6)])
        out = site.cli("events", "--type", "watch.acted")
        self.assertIn("watchdog: started: act 6", out)

    def test_many_at_once(self):
        site = self.site()
        self.add(site, *[act(n) for n in range(1, 1301)])
        site.up()
        self.assertEqual(self.recorded(site), [("a", n) for n in range(1, 1301)])
        site.down()


if __name__ == "__main__":
    unittest.main()
