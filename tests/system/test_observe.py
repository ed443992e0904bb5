#!/usr/bin/env python3
"""What the daemon sees and hears of its agents, and what it says to them."""

import os
import threading
import time
import unittest

import harness
from harness import SiteCase, plan, task

# Supervision in seconds instead of minutes.
QUICK = harness.FAST + """
[supervisor]
idle_after = "1s"
done_grace = "200ms"
"""

FINISH = """
echo done > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "work of $OVERSEER_NODE"
"""


def block(**update):
    """A shell command that prints a structured update."""
    body = ", ".join(f'"{key}": "{value}"' for key, value in update.items())
    return f"""printf '%s\\n' 'Here it is:' '```json' '{{"overseerUpdate": {{{body}}}}}' '```'\n"""


class Observe(SiteCase):
    def begin(self, site, title="observed"):
        return site.call("goal.create", title=title, plan=plan(task("T1")))["goal"]

    def kinds(self, site, kind):
        return [e for e in site.events() if e["type"] == kind]

    def wait_activity(self, site, sign, times):
        """So often a silence had lasted long enough, and this sign was found in it."""
        after = 0
        for _ in range(times):
            after = site.wait_type("assignment.activity", after=after, sign=sign)["seq"]

    def test_silent_work_is_no_stall(self):
        site = self.site(QUICK, '(ulimit -t 100; while ! [ -e "$HOME/go" ]; do :; done)' + FINISH)
        site.up()
        goal = self.begin(site)
        self.wait_activity(site, "process", 2)
        site.write("../go", "")
        site.wait_goal(goal)
        self.assertEqual(self.kinds(site, "episode.opened"), [])

    def test_busy_but_mute_is_told(self):
        site = self.site(QUICK + 'mute_after = "2s"\n',
                         '(ulimit -t 100; while ! [ -e "$HOME/go" ]; do :; done)' + FINISH)
        site.up()
        goal = self.begin(site)
        asked = site.wait_type("escalation.opened")
        self.assertEqual(asked["data"]["kind"], "mute")
        self.assertRegex(asked["data"]["question"], "busy .process., but has written nothing")
        self.assertEqual(self.kinds(site, "episode.opened"), [])
        self.assertEqual(self.kinds(site, "run.ended"), [])
        site.write("../go", "")
        site.wait_goal(goal)
        self.assertEqual(len(self.kinds(site, "escalation.closed")), 1)

    def test_silence_is_a_stall(self):
        site = self.site(QUICK, 'echo up > "$HOME/a.here"; read x < "$HOME/a.go"' + FINISH)
        gate = site.gate("a")
        site.up()
        goal = self.begin(site)
        gate.wait()
        stall = site.wait_type("episode.opened")
        self.assertRegex(" ".join(stall["data"]["evidence"]), "process: nothing seen.*tree: nothing seen")
        started = site.wait_type("run.started")
        self.assertGreaterEqual(harness_ms(stall) - harness_ms(started), 1000)
        self.assertEqual(site.node("T1")["status"], "in_progress")
        # It was only slow: what it does next is seen, and its work is taken.
        gate.go()
        site.wait_goal(goal)

    def test_edits_are_life(self):
        site = self.site(QUICK, 'echo up > "$HOME/a.here"; read x < "$HOME/a.go"' + FINISH)
        gate = site.gate("a")
        site.up()
        goal = self.begin(site)
        gate.wait()
        worktrees = os.path.join(site.dir, "worktrees")
        path = os.path.join(worktrees, os.listdir(worktrees)[0], "README")
        stop = threading.Event()

        def edit():
            # By nobody of the run: only the tree tells.
            while not stop.wait(0.05):
                with open(path, "a", encoding="utf-8") as f:
                    f.write("x\n")

        editor = threading.Thread(target=edit)
        editor.start()
        try:
            self.wait_activity(site, "tree", 2)
        finally:
            stop.set()
            editor.join()
        gate.go()
        site.wait_goal(goal)
        self.assertEqual(self.kinds(site, "episode.opened"), [])

    def test_a_report_is_taken(self):
        site = self.site(QUICK.replace("1s", "1h"),
                         block(status="in_progress", summary="half of it", next="the rest") +
                         'echo up > "$HOME/a.here"; read x < "$HOME/a.go"\n' + block(summary="nearly") + FINISH +
                         # Without a newline at the end, which ends with the run.
                         block(status="done", summary="all of it").replace(" '```'\n", "; printf '```'\n"))
        gate = site.gate("a")
        site.up()
        goal = self.begin(site)
        gate.wait()
        site.wait_type("node.reported")
        node = site.node("T1")
        self.assertIn("half of it", str(node["report"]))
        self.assertEqual(node["reported_status"], "in_progress")
        gate.go()
        site.wait_goal(goal)
        reported = [e["data"]["update"].get("summary") for e in self.kinds(site, "node.reported")]
        self.assertEqual(reported, ["half of it", "nearly", "all of it"])
        kinds = [e["type"] for e in site.events()]
        self.assertLess(len(kinds) - kinds[::-1].index("node.reported"), kinds.index("run.ended") + 1,
                        "the last words come before the end")

    def test_a_malformed_report_is_told(self):
        site = self.site(QUICK.replace("1s", "1h"), block(status="perfect") + FINISH)
        site.up()
        goal = self.begin(site)
        site.wait_goal(goal)
        events = self.kinds(site, "node.reported")
        self.assertEqual(len(events), 1)
        self.assertIn("status", events[0]["data"]["error"])

    def test_a_report_survives_a_killed_daemon_and_is_taken_once(self):
        site = self.site(QUICK.replace("1s", "1h"), """
echo one > "$HOME/a.here"; read x < "$HOME/a.go"
""" + block(status="in_progress", summary="unheard") + """
echo two > "$HOME/b.here"; read x < "$HOME/b.go"
""" + block(summary="second") + FINISH)
        first, second = site.gate("a"), site.gate("b")
        site.up()
        goal = self.begin(site)
        first.wait()
        site.wait_type("run.started")
        site.kill()
        first.go()
        second.wait()
        site.up()
        site.wait_type("node.reported")
        for _ in range(3):
            site.kill()
            site.up()
        second.go()
        site.wait_goal(goal)
        reported = [e["data"]["update"].get("summary") for e in self.kinds(site, "node.reported")]
        self.assertEqual(reported, ["unheard", "second"])

    def test_a_report_of_a_run_that_ended_unseen_is_taken(self):
        site = self.site(QUICK.replace("1s", "1h"), 'echo one > "$HOME/a.here"; read x < "$HOME/a.go"' +
                         FINISH + block(status="done", summary="last words"))
        gate = site.gate("a")
        site.up()
        goal = self.begin(site)
        gate.wait()
        site.wait_type("run.started")
        site.kill()
        gate.go()
        pids = site.live_pids()
        harness.wait_gone(*pids)
        site.up()
        site.wait_goal(goal)
        self.assertEqual([e["data"]["update"]["summary"] for e in self.kinds(site, "node.reported")], ["last words"])


# Echoes what it is told, as terminals do, and answers after the whole of it was read.
LISTENER = r"""
echo up
while IFS= read -r line; do
    printf '%s\n' "$line"
    printf '%s\n' "$line" >> "$HOME/heard"
    case $line in "Request "*) break;; esac
done
""" + block(status="in_progress", summary="I am here")


class Talk(SiteCase):
    def site_with(self, script, idle="1s"):
        site = self.site()
        os.chmod(site.write("../agent.sh", "#!/bin/sh\n" + script), 0o755)
        text = QUICK.replace("1s", idle) + site.agent_config()
        text = text.replace('agent.sh"]', 'agent.sh", "{prompt_file}"]\ninput = "stdin"\nprompt = "file"')
        site.configure(text)
        return site

    def test_a_stalled_agent_is_asked_and_its_answer_heard(self):
        site = self.site_with(LISTENER + FINISH)
        site.up()
        goal = site.call("goal.create", title="asked", plan=plan(task("T1")))["goal"]
        asked = site.wait_type("dispatch.intended", purpose="nudge")
        dispatch = asked["data"]["dispatch"]
        site.wait_goal(goal)
        results = [e["data"]["result"] for e in site.events()
                   if e["type"] == "dispatch.result" and e["data"]["dispatch"] == dispatch]
        # Its answer may be heard before the shim's word that it was taken.
        self.assertIn(results, (["accepted", "ok"], ["ok"]))
        # Its echo of our own sample is not its answer.
        reports = [e["data"] for e in site.events() if e["type"] == "node.reported"]
        self.assertEqual([r["update"].get("summary") for r in reports], ["I am here"])
        self.assertEqual(site.home("heard").count("Request "), 1)
        closed = [e for e in site.events() if e["type"] == "episode.closed"]
        self.assertEqual(len(closed), 1)

    def test_what_was_sent_before_a_crash_is_heard_once(self):
        site = self.site_with(LISTENER + 'echo up > "$HOME/a.here"; read x < "$HOME/a.go"' + FINISH)
        gate = site.gate("a")
        site.up()
        goal = site.call("goal.create", title="asked", plan=plan(task("T1")))["goal"]
        site.wait_type("dispatch.intended", purpose="nudge")
        site.kill()  # before, while or after it was delivered
        site.up()
        gate.wait()
        gate.go()
        site.wait_goal(goal)
        self.assertEqual(site.home("heard").count("Request "), 1)


class Repeats(SiteCase):
    """Agents that speak no format, and write the same again and again."""

    CONFIG = harness.FAST + "[oversight]\nstuck.same_call_count = 4\nstuck.same_output_seconds = 2\n"
    LOOP = 'while ! [ -e "$HOME/go" ]; do echo "cannot reach the server"; echo "trying again"; %ssleep 0.2; done\n'

    def begin(self, script):
        site = self.site(self.CONFIG, script + FINISH)
        site.up()
        return site, site.call("goal.create", title="repeats", plan=plan(task("T1")))["goal"]

    def finish(self, site, goal):
        site.write("../go", "")
        site.wait_goal(goal)

    def test_a_loop_is_found_and_left_alone(self):
        site, goal = self.begin(self.LOOP % "")
        found = site.wait_type("detection.made")["data"]["detection"]
        self.assertEqual((found["type"], found["severity"]), ("stuck", "high"))
        self.assertRegex(found["message"], "Same output repeated [0-9]+ times in one run")
        self.assertIn(found["evidence"]["repeatedOutput"], ("cannot reach the server", "trying again"))
        self.assertIn("Same output repeated", site.cli("goal", "detections", goal))
        self.assertEqual([r["status"] for r in site.runs()], ["running"])
        site.wait_type("intervention.applied")
        seen = r'the same output \d+ times in one run: "[^"]+"; redirect: the run is left to finish'
        self.assertRegex(site.cli("explain", "T1"), rf"\nWhy   it goes in a loop: {seen}")
        self.assertRegex(site.cli("explain", site.runs()[0]["id"]), rf"\nWhy   it goes in a loop: {seen}")
        self.assertRegex(site.cli("status"), rf"\nLOOPS \(1\)\n +pool-1 +script +T1 .* \d+s +{seen}")
        self.finish(site, goal)
        judged = site.wait_type("detection.judged")["data"]
        self.assertEqual(judged["effectiveness"], "unknown")
        self.assertNotIn("LOOPS", site.cli("status"))
        self.assertNotIn("loop:", site.cli("explain", "T1").split("Evidence")[1])

    def test_files_that_change_are_work(self):
        site, goal = self.begin(self.LOOP % 'echo x >> log.txt; ')
        self.wrote(site, 40)
        self.finish(site, goal)
        self.assertEqual([e for e in site.events() if e["type"] == "detection.made"], [])

    def wrote(self, site, blocks):
        """Its run has written so many of them."""
        run = site.wait_type("run.started")["run"]
        end = time.monotonic() + harness.PATIENCE
        while site.output(run).count(b"trying again") < blocks:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def test_a_new_daemon_goes_on_counting(self):
        site, goal = self.begin(self.LOOP % "")
        self.wrote(site, 3)
        site.kill()
        site.up()
        found = site.wait_type("detection.made")["data"]["detection"]
        self.assertIn("Same output", found["message"])
        self.finish(site, goal)


def harness_ms(event):
    from datetime import datetime
    return datetime.fromisoformat(event["at"].replace("Z", "+00:00")).timestamp() * 1000


if __name__ == "__main__":
    unittest.main()
