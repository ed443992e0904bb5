#!/usr/bin/env python3
"""What the daemon makes of its watchdog's acts: events, a section of the status, and the daemon's own story."""

import json
import os
import signal
import subprocess
import unittest

from harness import CLI, DAEMON, PATIENCE, SHIM, SiteCase, plan, task
from watched import Watchdog, acts, end_watching

KNOWN = {"state", "detail", "pid", "since", "alive", "daemon_pid", "daemon_uptime_ms", "remediation",
         "restarts_24h", "reason", "manual_file", "last"}


def act(n, kind="started", watch="a" * 16, at="2026-01-02T03:04:05.678Z", failure="none", instance="", text=""):
    return {"n": n, "time": at, "watch": watch, "kind": kind, "failure": failure, "instance": instance,
            "text": text or f"act {n}"}


def line(a):
    """As the watchdog writes it."""
    return json.dumps(a, separators=(",", ":")).encode()


class WatchCase(SiteCase):
    @staticmethod
    def path(site, name="logs/watch.jsonl"):
        os.makedirs(os.path.join(site.dir, "logs"), exist_ok=True)
        return os.path.join(site.dir, name)

    def add(self, site, *acts, raw=b"", name="logs/watch.jsonl"):
        with open(self.path(site, name), "ab") as f:
            f.write(b"".join(line(a) + b"\n" for a in acts) + raw)


class Acts(WatchCase):
    @staticmethod
    def recorded(site):
        """[(watch, n)] of the log."""
        return [(e["data"]["watch"][0], e["data"]["n"]) for e in site.events() if e["type"] == "watch.acted"]

    def test_each_act_once(self):
        site = self.site()
        self.add(site, act(1, "watching"), act(2), name="logs/watch.jsonl.1")
        self.add(site, act(3, "failed", failure="died", text="it was killed"), raw=b"rubbish\n{}\n\n")
        self.add(site, act(4), raw=line(act(5)))  # and no end of the line
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
        # A power loss left half a line, and the next one stands behind it.
        self.add(site, raw=line(act(90))[:40])
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
        self.assertIn("watchdog: act 6", out)

    def test_many_at_once(self):
        site = self.site()
        self.add(site, *[act(n) for n in range(1, 1301)])
        site.up()
        self.assertEqual(self.recorded(site), [("a", n) for n in range(1, 1301)])
        site.down()


def identity(pid=None, start_time=None):
    """Of a process, or of one that is gone."""
    pid = pid or os.getpid()
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        started = int(f.read().rsplit(")", 1)[1].split()[19])
    with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as f:
        boot = f.read().strip()
    return {"pid": pid, "start_time": start_time or started, "boot_id": boot, "instance_id": "c" * 16}


class Status(WatchCase):
    @staticmethod
    def say(site, **members):
        """watch.json, as a watchdog writes it."""
        doc = {**identity(), "started_at": "2026-01-02T03:04:05.000Z", "state": "running", "detail": "running",
               "since": "2026-01-02T03:04:05.000Z", "daemon": None, "remediation": None, "restarts_24h": 0,
               "last": [], **members}
        site.write(".overseer/watch.json", json.dumps(doc))

    def test_section(self):
        site = self.site()
        site.up()
        self.assertIsNone(site.call("status.get")["watch"])
        self.assertIsNone(site.daemon_json()["log_file"])  # its standard error is another file
        self.assertNotIn("watchdog", site.cli("status").lower())
        self.assertEqual((site.metrics()["overseer_watchdog_up"], site.metrics()["overseer_watchdog_restarts"]), (0, 0))
        # It runs.
        daemon = {**site.daemon_json(), "since": "2026-01-02T03:04:05.000Z"}
        self.say(site, daemon=daemon, restarts_24h=3, last=[act(n) for n in range(1, 11)])
        watch = site.call("status.get")["watch"]
        self.assertEqual(set(watch), KNOWN)
        self.assertEqual((watch["state"], watch["alive"], watch["pid"]), ("running", True, os.getpid()))
        self.assertEqual((watch["daemon_pid"], watch["restarts_24h"]), (site.daemon.pid, 3))
        self.assertGreater(watch["daemon_uptime_ms"], 0)
        self.assertEqual([x["n"] for x in watch["last"]], [6, 7, 8, 9, 10])
        self.assertEqual(set(watch["last"][0]), {"n", "at", "act", "failure", "text"})
        self.assertEqual((watch["remediation"], watch["reason"]), (None, None))
        self.assertEqual((site.metrics()["overseer_watchdog_up"], site.metrics()["overseer_watchdog_restarts"]), (1, 3))
        head, rest = site.cli("status").split("\n", 1)
        self.assertRegex(head, r"^overseerd up \S+   watchdog running   0 of")
        # It comes last, with the newest acts and no advice: all is well.
        self.assertRegex(rest, rf"^WATCHDOG running for \S+   daemon pid {site.daemon.pid} up \d+m?s   3 restarts in 24h\n"
                               r" +\S+  act 8\n +\S+  act 9\n +\S+  act 10\nNothing to do yet")
        # It has the daemon mended; that is told without a daemon, too.
        self.say(site, state="remediating", detail="remediating", last=[act(1, "failed", failure="died", text="gone")],
                 remediation={"stamp": "s", "since": "2026-01-02T03:04:05.000Z", "agent": "script",
                              "log": "logs/remediation_s.txt", "failure": "died"})
        self.assertEqual(site.down(), 0)
        answer, status = site.read_only("status.get")
        self.assertEqual((status, answer["result"]["watch"]["remediation"]["agent"]), (0, "script"))
        out = site.cli("status")
        self.assertRegex(out, r"overseerd is down   watchdog remediating")
        self.assertRegex(out, r"\nWATCHDOG remediating for \S+   script is asked to mend it \(died\); "
                              r"see logs/remediation_s.txt\n +\S+  gone\n  Next: overseer explain daemon\n")
        # It waits for the next one, which a person starts.
        self.say(site, detail="waiting", restarts_24h=1)
        out = site.cli("status")
        self.assertRegex(out, r"WATCHDOG running for \S+   the daemon was stopped by request; the next one will be watched\n"
                              r"  Next: overseer explain daemon     or     overseer up\n")
        self.assertIn("overseer up", site.read_only("explain.get", id="daemon")[0]["result"]["next"])
        self.say(site, detail="starting")
        self.assertIn("   starts the daemon\n", site.cli("status"))
        self.assertNotIn("overseer up", site.read_only("explain.get", id="daemon")[0]["result"]["next"])
        self.assertEqual(site.cli("inbox"), "Nothing needs you.\n")
        # It gave up; it was asked to end; it is gone; it cannot be told.
        self.say(site, state="stopped", reason="the daemon failed again within 10m", last=[act(1), act(2, "gave_up")],
                 **identity(start_time=1))
        self.assertRegex(site.cli("status"), r"WATCHDOG stopped for \S+   the daemon failed again within 10m\n +\S+  act 1\n"
                                             r"  Next: overseer explain daemon     or     overseer watch\n")
        self.assertRegex(site.cli("inbox"), r'^#0  watchdog  -  "the daemon failed again within 10m"  \S+  waits for you\n'
                                            r" +overseer explain daemon    overseer watch\n$")
        # It asked for a person: the next one would be refused as long as the file is there.
        for stamp in ("20260101T000000Z", "20260102T000000Z"):
            site.write(f".overseer/manual_intervention_needed_{stamp}.txt", "buy a disk")
        words = f"rm {site.dir}/manual_intervention_needed_20260102T000000Z.txt"
        self.assertIn(words + " && overseer watch", site.cli("status"))
        self.assertIn(words + " && overseer watch", site.cli("inbox"))
        self.assertIn(words, site.read_only("explain.get", id="daemon")[0]["result"]["next"])
        # A configuration that is broken as well keeps nobody from being told all of this.
        good = site.read(".overseer/config.toml")
        site.write(".overseer/config.toml", "nonsense = 1\n")
        out = site.cli("status")
        self.assertRegex(out, r"\nBAD CONFIGURATION  .*\n  .*/config.toml: nonsense: unknown\n  Next: overseer config check\n")
        self.assertIn("WATCHDOG stopped for", out)
        self.assertIn("no daemon starts with this configuration", site.cli("explain", "daemon"))
        self.assertIn("waits for you", site.cli("inbox"))
        site.write(".overseer/config.toml", good)
        self.say(site, state="stopped", reason="it was asked to end", last=[act(1, "left")], **identity(start_time=1))
        self.assertNotIn("watchdog", site.cli("status").lower())
        self.say(site, **identity(start_time=1))
        out = site.cli("status")
        self.assertIn("watchdog gone", out)
        self.assertIn("nobody watches the daemon", out)
        for text in ("", "{", "[]", "{}", '{"state": "running"}', "x" * 70000):
            site.write(".overseer/watch.json", text)
            watch = site.read_only("status.get")[0]["result"]["watch"]
            self.assertEqual((set(watch), watch["state"], watch["alive"]), (KNOWN, "unknown", False))
            self.assertIn("watch.json cannot be read", site.cli("status"))

    def test_explain_daemon(self):
        site = self.site()
        site.up()
        first = site.daemon_json()["instance_id"]
        self.assertRegex(site.cli("explain", "daemon"), r'^daemon "overseerd \S+" is UP since ')
        site.kill()
        # Nobody saw that.
        site.up()
        story = site.call("explain.get", id="daemon")
        self.assertEqual([f["cause"] for f in story["failures"]], ["vanished"])
        self.assertIn("the one before it had ended without a word", site.cli("explain", "daemon"))
        self.assertNotEqual(site.daemon_json()["instance_id"], first)
        # The next one is seen by a watchdog, and told before there is a daemon again.
        second = site.daemon_json()["instance_id"]
        site.kill()
        at = "2099-01-02T03:04:{}.000Z".format
        self.add(site, act(1, "failed", at=at("05"), failure="died", instance=second, text="signal 9"),
                 act(2, "remediating", at=at("06"), text="script is asked"),
                 act(3, "remediated", at=at("10"), text="after 4 s"), act(4, "started", at=at("11")))
        answer, status = site.read_only("explain.get", id="daemon")
        self.assertEqual(status, 0)
        told = answer["result"]
        self.assertEqual((told["state"], told["failures"][-1]["recovered_at"]), ("down", None))
        self.assertEqual(told["facts"][-1]["seq"], 0)
        out = site.cli("explain", "daemon")
        self.assertIn("watchdog (died): signal 9; it has not been up again since", out)
        self.assertIn("4 acts of the watchdog are not in the log yet", out)
        self.assertIn("overseer up", out)
        site.up()
        self.add(site, act(5, "healthy", at=at("17"), instance=site.daemon_json()["instance_id"]))
        site.wait_type("watch.acted", n=5)
        failure = site.call("explain.get", id="daemon")["failures"][-1]
        self.assertEqual((failure["cause"], failure["text"], failure["recovery_ms"]), ("died", "signal 9", 12000))
        self.assertEqual([d["text"] for d in failure["done"][:3]],
                         ["watchdog: script is asked", "watchdog: after 4 s", "watchdog: act 4"])
        self.assertIn("watchdog (died): signal 9; healthy again after 12s", site.cli("explain", "daemon"))
        self.assertEqual(len(site.call("explain.get", id="daemon")["failures"]), 2)
        # An end by request is no failure, and many facts are not all told.
        self.assertEqual(site.down(), 0)
        self.add(site, *[act(n, "adopted") for n in range(6, 106)])
        site.up()
        story = site.call("explain.get", id="daemon")
        self.assertEqual((len(story["failures"]), len(story["facts"])), (2, 50))
        self.assertEqual(story["facts"][-1]["type"], "daemon.started")
        # A node may be called like that: it is told of, by its whole name.
        goal = site.call("goal.create", title="Test", plan=plan(task("daemon")))["goal"]
        self.assertIn(f"overseer explain {goal}/daemon", site.call("explain.get", id="daemon")["next"])
        self.assertEqual(site.call("explain.get", id=f"{goal}/daemon")["noun"], "node")


class Watched(SiteCase):
    """A watchdog, and what it did, told by the daemon that it started."""

    @staticmethod
    def end_daemon(site):
        """One that is left over is registered, and of this site."""
        try:
            pid = site.daemon_json()["pid"]
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                ours = site.dir.encode() in f.read().split(b"\0")
        except OSError:
            return
        if ours:
            os.kill(pid, signal.SIGKILL)

    def sees(self, looker, state, pid):
        """Until a picture shows that."""
        for text in looker.stdout:
            status = json.loads(text)
            if (status["watch"]["state"], status["daemon"]["pid"]) == (state, pid):
                return
        self.fail(f"{state}, {pid} was never shown: {looker.stderr.read()}")

    def test_killed_and_started_again(self):
        site = self.site()
        site.watchdogs = []
        self.addCleanup(self.end_daemon, site)
        self.addCleanup(end_watching, site)
        command = f"exec {DAEMON} --dir {site.dir} --shim {SHIM}"
        gate = os.path.join(site.root, "mend")
        os.mkfifo(gate)
        watchdog = Watchdog(site, command, remedy=f"read x < '{gate}'", heartbeat_timeout=PATIENCE * 1000)
        watchdog.wait("its heart beats")
        first = site.daemon_json()
        self.assertEqual(first["log_file"], os.path.join(site.dir, "logs/daemon.log"))
        watch = site.call("status.get")["watch"]
        self.assertEqual((watch["state"], watch["pid"], watch["daemon_pid"], watch["alive"]),
                         ("running", watchdog.process.pid, first["pid"], True))
        self.assertIn("watchdog running", site.cli("status"))
        looker = subprocess.Popen([CLI, "status", "--watch", "--json"], cwd=site.repo, env=site.env, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(looker.communicate)
        self.addCleanup(looker.kill)
        self.sees(looker, "running", first["pid"])
        os.kill(first["pid"], signal.SIGKILL)
        # Who looks on is told of it all, and does not have to ask anew.
        self.sees(looker, "remediating", None)
        with open(gate, "w", encoding="utf-8") as f:
            f.write("go\n")
        watchdog.wait("Restarting the daemon")
        watchdog.wait("its heart beats")
        self.assertNotEqual(site.daemon_json()["instance_id"], first["instance_id"])
        self.sees(looker, "running", site.daemon_json()["pid"])
        site.log = os.path.join(site.dir, "logs/daemon.log")
        healthy = [a for a in acts(site) if a["kind"] == "healthy"][-1]
        site.wait_type("watch.acted", n=healthy["n"])
        # Each act is an event, in order, and the story is told whole.
        recorded = [e["data"] for e in site.events() if e["type"] == "watch.acted"]
        self.assertEqual([(e["n"], e["act"], e["text"]) for e in recorded],
                         [(a["n"], a["kind"], a["text"]) for a in acts(site)])
        story = site.call("explain.get", id="daemon")
        self.assertEqual([(f["cause"], len(f["done"])) for f in story["failures"]], [("died", 4)])
        self.assertGreaterEqual(story["failures"][0]["recovery_ms"], 0)
        self.assertRegex(site.cli("explain", "daemon"), r"watchdog \(died\): The daemon failed: .*; healthy again after ")
        # It is killed: that harms nobody, and is told.
        watchdog.kill()
        self.assertEqual(site.call("status.get")["watch"]["state"], "gone")
        self.assertIn("nobody watches the daemon", site.cli("status"))
        # The next one finds the daemon; it ends with it, asked to.
        watchdog = Watchdog(site, command, heartbeat_timeout=PATIENCE * 1000)
        watchdog.wait("Watching the daemon that runs")
        watchdog.wait("its heart beats")
        watchdog.interrupt()
        self.assertEqual(watchdog.ended(), 0)
        # Nobody will start it again.
        self.assertEqual(looker.wait(PATIENCE), 7)
        self.assertNotIn("watchdog", site.cli("status").lower())
        told = site.read_only("explain.get", id="daemon")[0]["result"]
        self.assertEqual((told["state"], len(told["failures"]), told["facts"][-1]["type"]), ("down", 1, "watch.acted"))
        self.assertIn("Ended, and so did the daemon", told["facts"][-1]["text"])


if __name__ == "__main__":
    unittest.main()
