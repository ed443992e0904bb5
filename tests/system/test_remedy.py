#!/usr/bin/env python3
"""Remediation through `overseer watch`, with real daemons: what somebody who mends is told, what is kept
before, what is written down, and what is left behind."""

import glob
import json
import os
import re
import signal
import sys
import time
import unittest

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../failures"))
from harness import PATIENCE, SANITIZED, SiteCase  # noqa: E402
from row import Watch  # noqa: E402

# Does what the file `mode` says.
MENDER = r"""
cat > "$HOME/prompt"
mode=$(cat "$HOME/mode")
echo "mending by $mode"
case $mode in
crash) echo nothing > "$HOME/mode"; kill -9 $$;;
config) cp "$HOME/good.toml" "$OVERSEER_DIR/config.toml";;
up) overseer up;;
gate) echo here > "$HOME/mend.here"; read x < "$HOME/mend.go";;
hang) setsid sh -c 'trap "" TERM; echo here > "$HOME/mend.here"; sleep 1000; :' & sleep 1000; exit 1;;
person) f=$(grep -o '/[^ ]*/manual_intervention_needed_[^ ]*\.txt' "$HOME/prompt")
    echo "The disk is broken: buy another." > "$f";;
esac
"""
# Long enough for a busy machine, except where the test is about its end.
CONFIG = """
[watch]
heartbeat_timeout = "10m"
registration_timeout = "10m"
restart_cooldown = "{cooldown}"
remediation_timeout = "{timeout}"
remediation_prompt = "Mend the daemon of this test."
{who}
"""


class Remedy(SiteCase):
    maxDiff = None

    def watched(self, who, cooldown="0s", timeout="10m", mode="nothing"):
        site = self.site(CONFIG.format(who=who, cooldown=cooldown, timeout=timeout), agent=MENDER)
        site.write("../mode", mode)
        watch = Watch(site, [])
        self.addCleanup(watch.close)
        self.wait_up(watch)
        return site, watch

    def wait_up(self, watch, before=""):
        """Another daemon than the one before is up, and the watchdog knows it."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                with open(os.path.join(watch.site.dir, "watch.json"), encoding="utf-8") as f:
                    state = json.load(f)
                instance = watch.site.daemon_json()["instance_id"]
            except (FileNotFoundError, ValueError):
                continue
            if state["detail"] == "running" and instance == state["daemon"]["instance_id"] != before:
                return
            if watch.process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f"no daemon: {watch.said()}\n{watch.daemon_log()}")

    def broken(self, site, watch):
        """The daemon is killed, and somebody is asked to mend it."""
        daemon = site.daemon_json()
        count = len(watch.acts("remediating"))
        os.kill(daemon["pid"], signal.SIGKILL)
        watch.wait_act("remediating", count + 1)
        return daemon

    def back(self, watch, daemon):
        """It is up again; how the remediation ended."""
        self.wait_up(watch, daemon["instance_id"])
        return watch.acts("remediated")[-1]["text"]

    def newest_log(self, site):
        names = sorted(glob.glob(os.path.join(site.dir, "logs/remediation_*.txt")))
        return names[-1], site.read(names[-1])

    def left(self, site):
        """Processes of a remediation of this site."""
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/environ", "rb") as f:
                    env = f.read()
            except OSError:
                continue
            if b"OVERSEER_REMEDIATION=" in env and site.root.encode() in env:
                found.append(int(name))
        return found

    def test_from_failure_to_health(self):
        site, watch = self.watched('remediation_agent = "script"')
        gate = site.gate("mend")
        self.told_and_kept(site, watch)
        self.crashed(site, watch)
        self.started_by_who_mends(site, watch)
        self.bad_configuration(site, watch)
        self.outlives_its_watchdog(site, watch, gate)
        self.interrupted(site, watch, gate)
        self.person_needed(site, watch)

    def told_and_kept(self, site, watch):
        site.write("README", "half done\n")
        site.write("new file", "not committed\n")
        status = site.git("status", "--porcelain")
        daemon = self.broken(site, watch)
        self.assertRegex(self.back(watch, daemon), r"^Remediation completed in \d+\.\d s$")
        prompt = site.home("prompt")
        self.assertTrue(prompt.startswith("Mend the daemon of this test.\n"))
        for words in ("Failure: died (", f"pid {daemon['pid']}, start time {daemon['start_time']}",
                      daemon["instance_id"], "The last lines of logs/daemon.log:\n<<<<<<<< ",
                      "logs/post_accept.log: there are none", "The workers (overseer worker list)",
                      "overseer status:\n<<<<<<<< ", "## main\n M README\n?? \"new file\"\n",
                      f"{site.dir}/manual_intervention_needed_", "exit normally"):
            self.assertIn(words, prompt)
        name, log = self.newest_log(site)
        self.assertEqual(os.stat(name).st_mode & 0o777, 0o600)
        self.assertIn(prompt, log)
        self.assertRegex(log, r"mending by nothing\n\n---- it exited with status 0 ----\n")
        self.assertRegex(log, r"==== Outcome ====\ncompleted;.*\nEnded: .*\nDuration: \d+\.\d s\n$")
        self.rescued(site, os.path.basename(name)[:-len(".txt")])
        self.assertEqual(site.git("status", "--porcelain"), status)

    def rescued(self, site, ident):
        row, = (r for r in site.call("rescue.list")["rescued"] if r["id"] == ident)
        self.assertEqual(row["why"], "the checkout, before the daemon was mended")
        self.assertIn("+half done", site.cli("rescue", "show", ident))
        self.assertIn(f"rescue/{ident.lower()}", site.cli("rescue", "restore", ident))
        self.assertEqual(site.git("show", f"rescue/{ident.lower()}:new file"), "not committed\n")

    def crashed(self, site, watch):
        site.write("../mode", "crash")
        daemon = self.broken(site, watch)
        self.assertIn("completed", self.back(watch, daemon))
        log = self.newest_log(site)[1]
        self.assertIn("---- it was ended by signal 9 ----\n", log)
        self.assertRegex(log, "started once more ====\nmending by nothing\n")

    def started_by_who_mends(self, site, watch):
        """A daemon that is up when the remediation ends is no leftover of it."""
        site.write("../mode", "up")
        daemon = self.broken(site, watch)
        self.back(watch, daemon)
        self.assertEqual(len(watch.acts("adopted")), 1, watch.said())
        self.assertEqual(self.left(site), [])

    def bad_configuration(self, site, watch):
        """The daemon cannot start by it; the watchdog has what it needs, and so has who mends."""
        site.write("../good.toml", site.read(".overseer/config.toml"))
        site.write("../mode", "config")
        site.configure("[watch\n")
        daemon = self.broken(site, watch)
        self.assertIn("completed", self.back(watch, daemon))
        self.assertIn("config.toml", site.home("prompt"))

    def outlives_its_watchdog(self, site, watch, gate):
        site.write("../mode", "gate")
        daemon = self.broken(site, watch)
        gate.wait()
        watch.process.kill()
        watch.process.wait()
        watch.start([])
        watch.wait_act("watching", 2)
        gate.go()
        self.assertNotIn("issue", self.back(watch, daemon))
        self.assertTrue(gate.empty())

    def interrupted(self, site, watch, gate):
        site.write("../mode", "hang")
        self.broken(site, watch)
        gate.wait()
        watch.process.send_signal(signal.SIGTERM)
        self.assertEqual(watch.ended(), 0, watch.said())
        self.assertIn("Remediation interrupted", watch.said())
        self.assertEqual(self.left(site), [])
        self.assertIn("failed: it was ended", self.newest_log(site)[1])

    def person_needed(self, site, watch):
        site.write("../mode", "person")
        watch.start([])
        self.wait_up(watch, site.daemon_json()["instance_id"])
        self.broken(site, watch)
        self.assertEqual(watch.ended(), 22, watch.said())
        self.assertRegex(watch.said(), r"The disk is broken: buy another\. \(manual_intervention_needed_\w+\.txt\)")
        path, = glob.glob(os.path.join(site.dir, "manual_intervention_needed_*.txt"))
        self.assertEqual(re.sub(r"\D*(\w+)\.txt$", r"\1", os.path.basename(path)),
                         re.sub(r"\D*(\w+)\.txt$", r"\1", os.path.basename(self.newest_log(site)[0])))
        watch.start([])
        self.assertEqual(watch.ended(), 22)

    def test_a_useless_one_is_not_repeated(self):
        site, watch = self.watched(f"remediation_command = 'sh {'$HOME'}/agent.sh'", cooldown="1h",
                                   timeout="15s" if SANITIZED else "5s", mode="hang")
        gate = site.gate("mend")
        daemon = self.broken(site, watch)
        gate.wait()
        self.assertEqual(self.back(watch, daemon), "Remediation issue: it took too long and was ended")
        self.assertEqual(self.left(site), [])
        log = self.newest_log(site)[1]
        self.assertIn("---- asked to end ----", log)
        self.assertIn("failed: it was ended", log)
        os.kill(site.daemon_json()["pid"], signal.SIGKILL)
        self.assertEqual(watch.ended(), 21, watch.said())
        self.assertEqual(len(watch.acts("remediating")), 1)


if __name__ == "__main__":
    unittest.main()
