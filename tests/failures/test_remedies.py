#!/usr/bin/env python3
"""The table of failures: the watchdog and its remedies (rows 24 to 27)."""

import json
import os
import signal
import unittest

from row import row
from guarded import GATED, GuardedCase, started, stranger

from harness import plan, task, wait_gone

# A daemon that cannot start as long as there is a file called broken.
START = '[ ! -e "$HOME/broken" ] || { echo "it is broken" >&2; exit 9; }\nexec overseer up --foreground\n'


class Remedies(GuardedCase):
    def broken_site(self, mend, **options):
        site = self.guarded_site(GATED, mend, start_command="sh $HOME/start.sh", **options)
        site.write("../start.sh", START)
        site.write("../broken", "")
        return site

    def log(self, site):
        """Of the one remediation that there was."""
        names = [n for n in os.listdir(os.path.join(site.dir, "logs")) if n.startswith("remediation_")]
        self.assertEqual(len(names), 1, names)
        return site.read(".overseer/logs/" + names[0])

    @row("24")
    def test_24_agent_crashes(self):
        site = self.broken_site('[ "$(wc -l < mended)" = 2 ] || kill -9 $$\nrm broken\n')
        self.injected()
        watch = self.watch(site)
        watch.wait_act("healthy")
        self.recovered(site.wait_type("daemon.started"))
        self.assertEqual((self.remedies(site), len(watch.acts("remediating"))), (2, 1))
        self.assertIn("started once more", self.log(site))

    @row("25")
    def test_25_no_effect(self):
        site = self.broken_site("echo 'I changed something else' > changed\n")
        self.injected()
        watch = self.watch(site)
        self.gave_up(watch, 21)
        self.recovered()
        self.assertEqual((self.failures(watch), self.remedies(site)), (["died", "died"], 1))
        self.assertIn("it is broken", site.read(".overseer/logs/daemon.log"))
        # What a person mended goes on as if nothing had been.
        os.unlink(os.path.join(site.root, "broken"))
        watch = self.watch(site)
        watch.wait_act("healthy")
        self.assertIsNone(watch.process.poll())

    @row("26")
    def test_26_hangs(self):
        """It mended what was wrong, but does not end; nor does what it started."""
        site = self.broken_site('rm broken\nsetsid sleep 1000 & echo $! > hung\ntrap "" TERM INT\nwhile :; do sleep 1000; done\n',
                                remediation_timeout="2s", grace="500ms")
        self.injected()
        watch = self.watch(site)
        watch.wait_act("healthy")
        self.recovered(site.wait_type("daemon.started"))
        self.assertEqual(self.remedies(site), 1, watch.said() + self.log(site))
        wait_gone(int(site.home("hung")), int(site.home("mended")))
        self.assertRegex(watch.acts("remediated")[0]["text"], "took too long and was ended")

    @row("27")
    def test_27_another_one(self):
        """Another process registers in the daemon's place; then somebody kills the daemon and starts another at once."""
        site = self.guarded_site(GATED, '[ ! -e slow ] || { echo > m.here; read x < m.go; }\n', restart_cooldown="1ms")
        gate, mending = site.gate("g"), site.gate("m")
        watch = self.watch(site)
        watch.wait_act("healthy")
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        gate.wait()
        site.wait_type("run.started")
        old = self.daemon(site)
        process, identity = stranger(self)
        self.injected()
        with open(os.path.join(site.dir, "daemon.new"), "w", encoding="utf-8") as f:
            json.dump({**old, **identity}, f)
        os.rename(os.path.join(site.dir, "daemon.new"), os.path.join(site.dir, "daemon.json"))
        watch.wait_act("healthy", 2)
        self.recovered({"at": watch.acts("healthy")[1]["time"]})
        self.assertEqual((self.failures(watch), self.remedies(site)), (["identity"], 1))
        self.assertIsNone(process.poll(), "a stranger was ended")
        self.assertIsNone(started(old))
        # Somebody who is quicker than the watchdog is not in its way.
        site.write("../slow", "")
        os.kill(self.daemon(site)["pid"], signal.SIGKILL)
        mending.wait()
        site.cli("up")
        other = self.daemon(site)
        mending.go()
        watch.wait_act("adopted")
        watch.wait_act("healthy", 3)
        self.assertEqual((self.daemon(site), self.failures(watch)), (other, ["identity", "died"]))
        gate.go()
        site.wait_goal(goal)


if __name__ == "__main__":
    unittest.main(verbosity=2)
