#!/usr/bin/env python3
"""An agent that says too much: the log, the loop and the other agents do not suffer, and nothing that counts is lost."""

import os
import unittest
from datetime import datetime

import harness
from harness import SiteCase, plan, task

FLOOD = harness.FAST + """
[supervisor]
idle_after = "1h"
done_grace = "1h"
"""
# As many as are told at once, with changes of the status and the last words; and one a second.
BURST = 20 + 5 + 2

TALK = r"""
import json, os, sys
def say(**update):
    sys.stdout.write("```json\n" + json.dumps({"overseerUpdate": update}) + "\n```\n")
def flood(first, n):
    for i in range(first, first + n):
        say(status="in_progress", summary=f"step {i} " + "x" * 600, evidence={"commandsRun": [f"command {i // 100}"]})
def gate(name):
    sys.stdout.flush()
    with open(os.environ["HOME"] + f"/{name}.here", "w") as f:
        f.write("here\n")
    with open(os.environ["HOME"] + f"/{name}.go") as f:
        f.readline()
"""
FINISH = """
echo done > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "work of $OVERSEER_NODE"
"""


def agent(talk):
    return f"python3 - <<'END'\n{TALK}\n{talk}\nEND\n" + FINISH


class Flood(SiteCase):
    def begin(self, site):
        return site.call("goal.create", title="flood", plan=plan(task("T1")))["goal"]

    def reports(self, site):
        return [e for e in site.events() if e["type"] == "node.reported"]

    def size(self, site):
        return sum(os.path.getsize(os.path.join(site.dir, name)) for name in os.listdir(site.dir)
                   if name.startswith("store.db"))

    @staticmethod
    def seconds(site):
        """How long the run took: updates may be as many as these, and a burst."""
        times = {e["type"]: datetime.fromisoformat(e["at"].replace("Z", "+00:00")).timestamp() for e in site.events()
                 if e["type"] in ("run.started", "run.ended")}
        return int(times["run.ended"] - times["run.started"]) + 1

    def test_twelve_thousand_updates(self):
        site = self.site(FLOOD, agent("flood(0, 12000)\nsay(status='done', summary='all of it')"))
        site.up()
        before = self.size(site)
        goal = self.begin(site)
        site.wait_goal(goal)
        reports = self.reports(site)
        self.assertLessEqual(len(reports), BURST + self.seconds(site))
        node = site.node("T1")
        self.assertEqual(node["report"]["summary"], "all of it")
        self.assertEqual(node["reported_status"], "done")
        # Of evidence, which grows, nothing is lost: it was in updates that no event tells alone.
        self.assertEqual(sorted(node["report"]["evidence"]["commandsRun"]), sorted(f"command {i}" for i in range(120)))
        self.assertLess(self.size(site) - before, 2 << 20)

    def test_blocked_amid_a_flood(self):
        site = self.site(FLOOD, agent("flood(0, 2000)\nsay(status='blocked', blockers=['which one?'])\n"
                                      "flood(2000, 2000)\ngate('a')"))
        site.gate("a")
        site.up()
        self.begin(site)
        asked = site.wait_type("escalation.opened")
        self.assertEqual(asked["data"]["kind"], "question")
        self.assertIn("which one?", asked["data"]["question"])
        self.assertEqual(site.node("T1")["status"], "blocked")

    def test_what_is_held_is_told_within_the_second(self):
        site = self.site(FLOOD, agent("flood(0, 1000)\ngate('a')"))
        gate = site.gate("a")
        site.up()
        goal = self.begin(site)
        gate.wait()
        # The agent says nothing more, and still lives: nothing but the clock lets the last words out.
        told = site.wait_event(lambda e: e["type"] == "node.reported" and
                               e["data"]["update"].get("summary", "").startswith("step 999 "))
        self.assertFalse([e for e in site.events() if e["type"] == "run.ended"])
        self.assertEqual(told["data"]["offset"], site.call("run.show", run=told["run"])["update_offset"])
        gate.go()
        site.wait_goal(goal)

    def test_a_restart_loses_none_and_takes_none_twice(self):
        site = self.site(FLOOD, agent("flood(0, 3000)\ngate('a')\nflood(3000, 3000)\nsay(summary='the end')"))
        gate = site.gate("a")
        site.up()
        goal = self.begin(site)
        gate.wait()
        site.kill()  # what is held is known to nobody but the output
        site.up()
        site.wait_event(lambda e: e["type"] == "node.reported" and
                        e["data"]["update"].get("summary", "").startswith("step 2999 "))
        site.kill()
        gate.go()
        site.up()
        site.wait_goal(goal)
        reports = self.reports(site)
        offsets = [e["data"]["offset"] for e in reports]
        self.assertEqual(offsets, sorted(set(offsets)))
        self.assertLessEqual(len(reports), 3 * BURST + self.seconds(site))
        report = site.node("T1")["report"]
        self.assertEqual(report["summary"], "the end")
        self.assertEqual(sorted(report["evidence"]["commandsRun"]), sorted(f"command {i}" for i in range(60)))


# Holds as many connections as it is given until its input ends; says how many got an answer.
HOLD = r"""
import json, socket, sys
path, n, held, told = sys.argv[1], int(sys.argv[2]), [], 0
for _ in range(n):
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(60)
    sock.connect(path)
    try:
        sock.sendall(b'{"jsonrpc": "2.0", "id": 1, "method": "status.get"}\n')
    except BrokenPipeError:
        pass
    try:
        told += "result" in json.loads(sock.makefile("rb").readline())
    except (OSError, ValueError):
        pass
    held.append(sock)
print(told, flush=True)
sys.stdin.read()
"""


class Connections(SiteCase):
    def hold(self, site, processes, each):
        """Real processes that hold connections; how many of them they got in all."""
        script = site.write("../hold.py", HOLD)
        started = [harness.subprocess.Popen(["python3", script, site.socket, str(each)], text=True, env=site.env,
                                            stdin=harness.subprocess.PIPE, stdout=harness.subprocess.PIPE)
                   for _ in range(processes)]
        for p in started:
            self.addCleanup(p.stdout.close)
            self.addCleanup(p.wait)
            self.addCleanup(p.stdin.close)
        return [int(p.stdout.readline()) for p in started]

    def test_one_process_takes_its_share_and_no_more(self):
        site = self.site(harness.FAST)
        site.up()
        self.assertEqual(self.hold(site, 1, 1000), [64])
        self.assertIn("daemon", site.cli("status", "--json"))

    def test_many_processes_leave_room_for_the_command_line(self):
        site = self.site(harness.FAST)
        site.up()
        told = self.hold(site, 8, 64)
        self.assertLessEqual(max(told), 64)
        # The last 16 are for processes that have none: each of these had one of them at most.
        self.assertLessEqual(sum(told), 256 - 16 + 8)
        self.assertGreaterEqual(sum(told), 256 - 16)
        for _ in range(5):
            self.assertIn("daemon", site.cli("status", "--json"))

    def test_agents_leave_room_for_people(self):
        """As many processes as it likes: all that belong to runs get half of the connections together."""
        site = self.site(FLOOD, f"""
cat > "$HOME/hold.py" <<'END'
{HOLD}
END
mkfifo "$HOME/open"
for i in 1 2 3 4; do python3 "$HOME/hold.py" "$STORE" 64 <> "$HOME/open" >> "$HOME/told" & done
while [ "$(wc -l < "$HOME/told")" -lt 4 ]; do sleep 0.05; done
echo here > "$HOME/a.here"; read x < "$HOME/a.go"
kill $(jobs -p)
""".replace("$STORE", "$OVERSEER_TEST_SOCKET") + FINISH)
        site.configure(site.read(".overseer/config.toml").replace(
            "[agents.script]\n", f'[agents.script]\nenv = {{ OVERSEER_TEST_SOCKET = "{site.socket}" }}\n'))
        gate = site.gate("a")
        site.up()
        goal = site.call("goal.create", title="flood", plan=plan(task("T1")))["goal"]
        gate.wait()
        self.assertEqual(sum(int(n) for n in site.home("told").split()), 128)
        self.assertEqual(self.hold(site, 1, 64), [64])
        self.assertIn("daemon", site.cli("status", "--json"))
        gate.go()
        site.wait_goal(goal)


class Sessions(SiteCase):
    """An agent that says another session and another model in each line."""

    SAY = r"""#!/bin/sh
exec python3 - <<'END'
import json
for i in range(20000):
    print(json.dumps({"type": "system", "subtype": "init", "cwd": "/", "session_id": f"bcac89b7-f0ce-4aad-8947-{i:012x}", "model": f"m{i}"}))
END
"""

    def test_its_sessions_are_bounded(self):
        site = self.site("", "true")
        os.chmod(site.write("../spoken.sh", self.SAY), 0o755)
        site.configure(FLOOD + f'[planner]\nfallback = false\n[defaults]\nagent = "spoken"\n[agents.spoken]\n'
                       f'format = "claude"\ncommand = ["{site.root}/spoken.sh"]\n')
        site.up()
        site.call("goal.create", title="flood", plan=plan(task("T1")))
        run = site.wait_type("run.ended")["run"]
        told = [e for e in site.events() if e["type"] == "run.session" and e["run"] == run]
        self.assertEqual(len(told), 32)


if __name__ == "__main__":
    unittest.main()
