#!/usr/bin/env python3
"""Oversight with a real daemon: runs become iterations, and what is found in them is answered."""

import json
import os
import pty
import threading
import unittest

from harness import FAST, PATIENCE, SiteCase, plan, task
from test_contain import own_group

# Attempts go on until oversight says that it is enough.
PATIENT = FAST.replace("[retry]", "[retry]\nmax_attempts = 50")

# Hands in something else at each run, and leaves what it was told for the test to read.
AGENT = r"""
[ "$OVERSEER_NODE" = T9 ] && { echo "$OVERSEER_RUN" > "$HOME/g.here"; read x < "$HOME/g.go"; }
n=$(cat "$HOME/n" 2>/dev/null || echo 0); n=$((n + 1)); echo $n > "$HOME/n"
cat > "$HOME/prompt.$n"
echo $n > "$OVERSEER_NODE.txt"
git add -A; git commit -qm "attempt $n"
"""


class Shown(threading.Thread):
    """What is shown on a terminal, read as it comes so that nobody has to wait for us."""

    def __init__(self, master):
        super().__init__(daemon=True)
        self.master, self.text, self.more = master, "", threading.Condition()
        self.start()

    def run(self):
        try:
            while True:
                piece = os.read(self.master, 65536).decode(errors="replace")
                with self.more:
                    self.text += piece
                    self.more.notify_all()
        except OSError:
            pass  # the other end is closed

    def until(self, wanted):
        with self.more:
            if not self.more.wait_for(lambda: wanted in self.text, PATIENCE):
                raise AssertionError(f"{wanted} was not shown: {self.text}")
            return self.text

    def close(self):
        self.join(PATIENCE)
        os.close(self.master)


class Interventions(SiteCase):
    maxDiff = None

    def begin(self, check, more="", terminal=None):
        site = self.site(PATIENT + f'[workspace]\ncheck_command = "{check}"\n' + more, agent=AGENT)
        if terminal:  # the daemon's own
            os.symlink(terminal, os.path.join(site.root, "daemon.log"))
        site.up()
        return site

    def test_every_run_is_an_iteration(self):
        site = self.begin('grep -q 3 T1.txt || { echo "error: it is not three in line $(cat T1.txt)"; exit 1; }'.replace('"', '\\"'))
        goal = site.call("goal.create", title="Count", plan=plan(task("T1")))["goal"]
        site.wait_goal(goal)
        found = [e["data"]["iteration"] for e in site.events() if e["type"] == "iteration.recorded"]
        self.assertEqual([i["number"] for i in found], [1, 2, 3])
        self.assertEqual([i.get("failed", False) for i in found], [True, True, False])
        self.assertIn("it is not three", found[0]["error"])
        self.assertEqual(len({i["tree"] for i in found}), 3)

    def test_stuck_is_redirected_then_paused_and_a_restart_changes_nothing(self):
        site = self.begin('echo error: no such function parse in line $(cat T1.txt); exit 1')
        goal = site.call("goal.create", title="Parse", plan=plan(task("T1"), task("T2", deps=["T1"])))["goal"]
        redirect = site.wait_type("intervention.applied", level="redirect")
        self.assertIn("OVERRIDE", redirect["data"]["text"])
        site.wait_type("goal.status", to="paused")
        found = [(e["data"]["detection"]["type"], e["data"]["detection"]["severity"]) for e in site.events() if e["type"] == "detection.made"]
        self.assertEqual(found, [("stuck", "high"), ("stuck", "critical")])
        # Found at the third, told to the fourth, before everything else; the others were told nothing.
        for n in (1, 2, 3, 4, 5):
            prompt = site.home(f"prompt.{n}")
            self.assertEqual(prompt.startswith("From the overseer of this task, before everything else:"), n == 4, prompt)
            self.assertEqual("OVERRIDE" in prompt, n == 4)
            self.assertIn("Task T1: Task T1", prompt)
        shown = site.call("goal.show", goal=goal)
        self.assertEqual((shown["status"], shown["health"]), ("paused", "paused"))
        self.assertEqual([x["kind"] for x in site.call("inbox.list")["inbox"]], ["paused"])
        for said, args in {"stuck": ("goal", "show", goal), "redirect": ("work", "show", "T1"),
                           "no such function": ("work", "iterations", "T1"), "critical": ("goal", "detections", goal),
                           "oversight found in T1": ("explain", goal), "paused": ("status",)}.items():
            self.assertIn(said, site.cli(*args), args)
        listed = json.loads(site.cli("work", "iterations", "T1", "--json"))
        self.assertEqual(([i["number"] for i in listed["iterations"]], listed["count"]), ([1, 2, 3, 4, 5], 5))
        listed = json.loads(site.cli("goal", "detections", goal, "--node", "T1", "--json"))["detections"]
        self.assertEqual([d["level"] for d in listed], ["pause", "redirect"])
        self.assertEqual(listed[0]["evidence"]["occurrences"], 5)
        seq = site.seq()
        site.kill()
        site.up()
        again = site.call("goal.show", goal=goal)
        self.assertEqual((again["status"], again["health"], again["freezes"]), ("paused", "paused", True))
        after = [e["type"] for e in site.events() if e["seq"] > seq]
        self.assertNotIn("run.created", after)
        self.assertNotIn("detection.made", after)
        site.cli("goal", "resume", goal, "--reason", "the function is there now")
        site.wait_type("run.created", after=seq)
        site.wait_type("detection.made", after=seq)
        self.assertEqual([e["data"]["detection"].get("round") for e in site.events() if e["type"] == "detection.made"][-1], 1)

    def test_however_an_agent_gets_its_prompt(self):
        """On standard input, as an argument (and more on standard input while it runs), or in a file."""
        ways = {"T1": ("cat", "", 'prompt = "stdin"'), "T2": ('printf %s "$1"', "{prompt}", 'prompt = "arg"\ninput = "stdin"'),
                "T3": ('cat "$1"', "{prompt_file}", 'prompt = "file"')}
        site = self.site(PATIENT + """
[workers]
max = 3
[workspace]
check_command = "if grep -qvx 4 T*.txt; then echo error: it is not four; exit 1; fi"
[oversight]
stuck.same_error_count = 2
""")
        config = site.read(".overseer/config.toml")
        for node, (read, arg, rows) in ways.items():
            script = site.write(f"../{node}.sh", f"""#!/bin/sh
n=$(ls "$HOME" | grep -c "^{node}.prompt"); n=$((n + 1))
{read} > "$HOME/{node}.prompt.$n"
echo $n > {node}.txt; git add -A; git commit -qm "attempt $n"
""")
            os.chmod(script, 0o755)
            config += f'[agents.{node.lower()}]\ncommand = {json.dumps([script, arg][:2 if arg else 1])}\n{rows}\n'
            config += 'env_pass = ["HOME", "PATH", "LC_ALL", "ASAN_OPTIONS", "UBSAN_OPTIONS"]\n'
        site.configure(config)
        site.up()
        goals = [site.call("goal.create", title=node, plan=plan(task(node, suggestedAgent=node.lower())))["goal"] for node in ways]
        for goal in goals:
            site.wait_goal(goal)
        for node in ways:
            prompts = [site.home(f"{node}.prompt.{n}") for n in (1, 2, 3, 4)]
            self.assertEqual(["OVERRIDE: Change approach immediately." in p for p in prompts], [False, False, True, False])
            self.assertTrue(prompts[2].startswith("From the overseer of this task, before everything else:"), prompts[2])
            self.assertIn("it is not four", prompts[2].split(f"Task {node}: ")[0])

    def test_burn_aborts_until_somebody_reopens(self):
        master, slave = pty.openpty()
        site = self.begin('echo error: $(cat T1.txt | tr 0-9 a-j) is missing; exit 1',
                          "[estimate]\niterations = 2\n", terminal=os.ttyname(slave))
        shown = Shown(master)
        goal = site.call("goal.create", title="Burn", plan=plan(task("T1")))["goal"]
        site.wait_type("goal.status", to="paused")
        seen = site.call("goal.show", goal=goal)
        self.assertEqual((seen["status"], seen["health"]), ("paused", "aborted"))
        # People see one word for it, wherever they look.
        for command in (["status"], ["goal", "list"], ["goal", "show", goal], ["explain", goal], ["explain", f"{goal}/T1"]):
            text = site.cli(*command)
            self.assertRegex(text.lower(), "aborted", command)
            self.assertNotIn("paused", text.lower().replace("budget is spent", ""), command)
        self.assertIn("overseer goal reopen", site.cli("goal", "resume", goal, code=4))
        self.assertIn("OVERSEER: LOOP ABORTED", shown.until(f"overseer goal reopen {goal}"))
        seq = site.seq()
        site.cli("goal", "reopen", goal, "--reason", "it is worth it")
        site.wait_type("run.created", after=seq)
        site.down()
        os.close(slave)
        shown.close()

    def test_runs_are_held_while_the_goal_is_paused(self):
        group = own_group()
        if not group:
            self.skipTest("no control group can be made here")
        site = self.site(PATIENT + '[workspace]\ncheck_command = "test -e T9.txt || { echo error: the same; exit 1; }"\n'
                         '[oversight]\npause = "goal"\n', agent=AGENT)
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Two", plan=plan(task("T9"), task("T1")))["goal"]
        run = gate.wait()
        self.assertTrue(site.wait_type("run.frozen", run=run)["data"]["frozen"])

        def held():
            with open(os.path.join(group, "overseer-" + run, "cgroup.freeze"), encoding="utf-8") as f:
                return f.read().strip() == "1"
        self.assertTrue(held())
        site.kill()
        site.up()
        self.assertTrue(held())
        self.assertTrue(site.call("run.show", run=run)["frozen"])
        gate.go()
        seq = site.seq()
        site.cli("goal", "resume", goal, "--reason", "go on")
        site.wait_type("run.frozen", after=seq, run=run)
        site.wait_type("run.ended", after=seq, run=run)


if __name__ == "__main__":
    unittest.main()
