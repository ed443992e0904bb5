#!/usr/bin/env python3
"""A daemon that cannot go on: it says why, asks its agents to stop, keeps everything, and ends with its status."""

import json
import os
import signal
import unittest

from harness import FAST, SiteCase, wait_gone
from spoken import SCRIPT, SESSION, Spoken, claude_init, claude_result, config

POOL = r"""#!/bin/sh
cd "$HOME" || exit 9
[ -e broken ] && { rm broken; echo "the tracker is down" >&2; exit 3; }
[ -e given ] && exit 4
echo x > given
echo "The only task"
"""
QUICK = FAST + """
[auto]
task_pool_command = "sh $HOME/pool.sh"
concurrency = 2
pool_wait = "30ms"
pool_wait_max = "30ms"
"""
# It writes a file, and takes its time to end when it is asked to.
STUBBORN = r"""
echo half > half.txt
trap 'echo asked >> "$HOME/asked"; exit 0' INT TERM
echo $$ > "$HOME/g.here"
while :; do read x < "$HOME/g.go" && break; done
echo whole > half.txt
git add -A && git commit -qm "work"
"""


class Hard(SiteCase):
    def auto_site(self, agent, more=""):
        site = self.site(QUICK + more, agent)
        site.args = ["--auto"]
        site.write("../pool.sh", POOL)
        return site

    def health(self, site):
        return [json.loads(line) for line in site.read(".overseer/health.jsonl").splitlines()]

    def test_sessions_go_on_with_the_next_daemon(self):
        site = self.auto_site(SCRIPT)
        site.configure(QUICK + config(site.root))
        agent = Spoken(site)
        site.up()
        first = agent.up()
        agent.say(claude_init())
        site.wait_type("run.session", run=first)
        agent.sh("echo half > half.txt")
        site.write("../broken", "")
        self.assertEqual(site.ended(), 20)
        log = site.daemon_log()
        for words in ("the daemon cannot go on (auto): the task pool's command failed: it gave up (exit status 3)",
                      "command: sh $HOME/pool.sh", "output: the tracker is down", "worker: auto-2"):
            self.assertIn(words, log)
        failed = [line for line in self.health(site) if line["kind"] == "failed"]
        self.assertEqual(len(failed), 1)
        self.assertIn("the tracker is down", failed[0]["text"])
        self.assertEqual(site.live_pids(), [])
        self.assertEqual(site.read(".overseer/worktrees/auto-1/half.txt"), "half\n")
        # Whoever looks finds why; whoever mends it and starts it again has lost nothing.
        site.up()
        second = agent.up()
        self.assertIn(f"--resume={SESSION}", agent.argv()[1])
        self.assertIn("through no fault of yours", site.home("prompt.2"))
        self.assertNotEqual(first, second)
        agent.say(claude_init())
        agent.sh("cat half.txt > whole.txt; git add -A; git commit -qm work")
        agent.say(claude_result())
        agent.end()
        site.wait_type("node.status", node="t1", to="done")
        events = site.events()
        self.assertEqual([e for e in events if e["type"] == "node.failed"], [])
        told = [e["data"] for e in events if e["type"] == "escalation.opened"]
        self.assertEqual([x["kind"] for x in told], ["auto"])
        for words in ("overseer up --auto", "command: sh $HOME/pool.sh", "its last output: the tracker is down"):
            self.assertIn(words, told[0]["question"])
        self.assertEqual(len([e for e in events if e["type"] == "escalation.closed"]), 1)
        self.assertEqual(site.git("show", "main:whole.txt"), "half\n")

    def test_a_deaf_agent_does_not_hold_it_up(self):
        site = self.auto_site("", '[supervisor]\ndrain_timeout = "200ms"\ninterrupt_grace = "0s"\nstop_grace = "1h"\n')
        site.write("../agent.sh", "#!/bin/sh\n" + STUBBORN.replace("exit 0", ":"))
        gate = site.gate("g")
        site.up()
        pid = int(gate.wait())
        site.write("../broken", "")
        self.assertEqual(site.ended(), 20)
        self.assertIn("not everything under way came to an end in time", site.daemon_log())
        # It was asked, it lives, and the next daemon knows that it is to stop.
        site.up()
        site.wait_event(lambda e: e["type"] == "effect.ended" and e["data"]["kind"] == "run_stop")
        os.kill(pid, signal.SIGKILL)
        wait_gone(pid)
        again = int(gate.wait())
        self.assertNotEqual(pid, again)
        self.assertEqual([e for e in site.events() if e["type"] == "node.failed"], [])
        gate.go()
        site.wait_type("node.status", node="t1", to="done")

    def test_a_plain_stop_leaves_agents_alone(self):
        site = self.auto_site("")
        site.write("../agent.sh", "#!/bin/sh\n" + STUBBORN)
        gate = site.gate("g")
        site.up()
        pid = int(gate.wait())
        self.assertEqual(site.down(), 0)
        os.kill(pid, 0)
        self.assertFalse(os.path.exists(os.path.join(site.root, "asked")))
        site.up()
        gate.go()
        site.wait_type("node.status", node="t1", to="done")


if __name__ == "__main__":
    unittest.main()
