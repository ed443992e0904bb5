#!/usr/bin/env python3
"""What oversight stopped, as people answer it in the inbox: every `overseer` line of docs/inbox.md, in order."""

import json
import os
import re
import shlex
import unittest

from harness import FAST, SiteCase, plan, task

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")

# Attempts go on until oversight says that it is enough, and nothing but the error is to be found.
CONFIG = FAST.replace("[retry]", "[retry]\nmax_attempts = 50") + """
[estimate]
iterations = 400
[workspace]
check_command = "echo error: no such function parse in line $(cat T1.txt); exit 1"
"""

AGENT = r"""
n=$(cat "$HOME/n" 2>/dev/null || echo 0); n=$((n + 1)); echo $n > "$HOME/n"
cat > "$HOME/prompt.$n"
echo $n > "$OVERSEER_NODE.txt"
git add -A; git commit -qm "attempt $n"
"""


def lines_of_the_page():
    with open(os.path.join(ROOT, "docs/inbox.md"), encoding="utf-8") as f:
        block = re.search(r"```sh\n(.*?)```", f.read(), re.S).group(1)
    return [shlex.split(line)[1:] for line in block.splitlines() if line.startswith("overseer ")]


class Inbox(SiteCase):
    maxDiff = None

    def json(self, *args):
        return json.loads(self.s.cli(*args, "--json"))

    def goal_is(self, status, health=None):
        shown = self.s.call("goal.show", goal=self.goal)
        self.assertEqual(shown["status"], status)
        if health:
            self.assertEqual(shown["health"], health)
        return shown

    def after_snooze(self):
        """Hidden, counted, and there again in a life that it was not put off in."""
        self.assertEqual(self.json("inbox")["inbox"], [])
        self.assertIn("1 more put off", self.s.cli("inbox"))
        self.assertIn("PUT OFF (1)", self.s.cli("status"))
        self.s.kill()
        self.s.up()
        self.assertEqual((self.json("inbox")["inbox"], self.json("inbox")["snoozed"]), ([], 1))
        seq = self.s.seq()
        self.s.cli("inbox", "snooze", "1", "50ms")
        self.s.wait_type("escalation.raised", after=seq, escalation=1)
        self.assertEqual([x["number"] for x in self.json("inbox")["inbox"]], [1])

    def after_answer(self):
        shown = self.goal_is("active")
        self.assertEqual(shown["budget"]["iterations"], 500)

    def after_dismiss(self):
        judged = [e["data"] for e in self.s.events() if e["type"] == "detection.judged" and e["data"].get("false_positive")]
        self.assertEqual([j["effectiveness"] for j in judged], ["unhelpful"])
        self.assertIn("test server", judged[0]["because"])
        self.goal_is("active")

    def after_deny(self):
        self.goal_is("paused", "aborted")
        self.assertEqual(self.json("inbox")["inbox"], [])

    def test_the_page(self):
        self.s = self.site(CONFIG, agent=AGENT)
        self.s.up()
        self.goal = self.s.call("goal.create", title="Parse", plan=plan(task("T1")))["goal"]
        after = {"snooze": self.after_snooze, "answer": self.after_answer, "dismiss": self.after_dismiss,
                 "deny": self.after_deny}
        self.s.wait_type("escalation.opened", escalation=1)
        first = self.json("inbox")["inbox"][0]
        self.assertEqual((first["kind"], first["urgency"], first["if_unanswered"]), ("paused", "critical", "waits for you"))
        self.assertEqual((first["detection"]["type"], first["detection"]["severity"]), ("stuck", "critical"))
        self.assertIn("cannot be dismissed", self.s.cli("inbox", "dismiss", "1", code=4))
        for line in lines_of_the_page():
            if len(line) > 2 and line[2].isdigit():
                self.s.wait_type("escalation.opened", escalation=int(line[2]))
            self.s.cli(*line)
            if len(line) > 1 and line[1] in after:
                after[line[1]]()
        # Five runs until the first pause; the next one was told what the person said.
        for n, told in ((5, False), (6, True)):
            self.assertEqual("parse() is in lib/parse.c" in self.s.home(f"prompt.{n}"), told)
        # Asked once per round, by its number; each answer began a new one.
        opened = [e["data"]["escalation"] for e in self.s.events() if e["type"] == "escalation.opened"]
        self.assertEqual(opened, [1, 2, 3, 4])
        self.assertIn("overseer goal reopen", self.s.cli("goal", "resume", self.goal, code=4))


if __name__ == "__main__":
    unittest.main()
