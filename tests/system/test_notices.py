"""People outside are told what needs them: durably, again when it fails, and never said to be when they
were not. A command stands for the channel; it waits at a gate, where the test decides what comes of it."""

import json
import os
import unittest

import harness
from harness import plan, task

HOOK = """cat > $HOME/heard.json; echo told > $HOME/tell.here; read x < $HOME/tell.go; test "$x" != no"""
CONFIG = f"""
escalation.hook = {json.dumps(HOOK)}
escalation.routes.warning = ["desktop", "hook"]
escalation.retry_base = "%s"
escalation.retry_max = "1h"
"""


class Notices(unittest.TestCase):
    def site(self, retry="20ms"):
        self.s = harness.Site(CONFIG % retry)
        self.addCleanup(self.s.close)
        self.tell = self.s.gate("tell")
        self.s.up()

    def answer(self, word):
        os.write(self.tell.fds[1], word.encode() + b"\n")

    def ask(self):
        """A task that no agent can take: a person is needed. Returns the number in the inbox."""
        self.s.call("goal.create", title="Test", plan=plan(task("T1", suggestedAgent="nobody")))
        return self.s.wait_type("escalation.opened")["data"]["escalation"]

    def notices(self, channel):
        return [x for x in self.s.call("notice.list", all=True)["notices"] if x["channel"] == channel]

    def tried(self, channel, status, after=0):
        return self.s.wait_type("notice.tried", after=after, channel=channel, status=status)

    def test_told_at_last(self):
        self.site()
        number = self.ask()
        # There is no desktop here: that is said, and keeps nobody else from being told.
        lost = self.tried("desktop", "failed")["data"]
        self.assertIn("bus", lost["error"])
        self.tell.wait()
        self.answer("no")
        self.assertIn("exit status 1", self.tried("hook", "waiting")["data"]["error"])
        self.tell.wait()
        self.answer("yes")
        self.assertEqual(self.tried("hook", "sent")["data"]["attempts"], 2)
        heard = json.loads(self.s.home("heard.json"))
        self.assertEqual(heard["level"], "warning")
        self.assertEqual(heard["context"]["inbox"], number)
        self.assertEqual(heard["context"]["reason"], 'agent "nobody" is not configured; configured: none')
        self.assertEqual(heard["id"], self.notices("hook")[0]["id"])
        # What people see of it.
        self.assertRegex(self.s.cli("inbox", "show", str(number)), r"Told +desktop: failed: .*bus.*\n +hook: sent, 2 attempts\n")
        self.assertRegex(self.s.cli("status"), r"1 notice could not be sent, the last one: desktop: failed: .*overseer notice list")
        listed = self.s.cli("notice", "list")
        self.assertIn("desktop", listed)
        self.assertNotIn("hook", listed)
        self.assertIn("hook", self.s.cli("notice", "list", "--all"))
        self.assertIn("the notice to hook is sent after attempt 2", self.s.cli("explain", "T1", "--all"))
        # Tried again by hand: there still is no desktop.
        shown = lost["notice"][:18]
        before = self.s.seq()
        self.assertIn("tried again by desktop", self.s.cli("notice", "retry", shown, "--reason", "logged in"))
        self.tried("desktop", "failed", after=before)
        self.assertRegex(self.s.cli("notice", "show", shown), r"failed\n(.*\n)*Next  overseer notice retry N_")
        # What is answered is lost no more.
        self.s.call("inbox.answer", number=number, answer="cancel")
        self.assertNotIn("could not be sent", self.s.cli("status"))
        self.assertIn("Everybody was told.", self.s.cli("notice", "list"))
        self.assertIn("E_STATE", self.s.cli("--json", "notice", "retry", self.notices("hook")[0]["id"], code=4))

    def test_killed_while_it_tells(self):
        self.site(retry="1h")
        number = self.ask()
        self.tell.wait()
        first = json.loads(self.s.home("heard.json"))["id"]
        self.s.kill()
        self.answer("yes")  # to a command that nobody hears of any more
        self.s.up()
        # Nobody knows what came of it, so they are told again: the same notice.
        self.tell.wait()
        self.assertEqual(json.loads(self.s.home("heard.json"))["id"], first)
        self.answer("no")
        self.assertEqual(self.tried("hook", "waiting")["data"]["attempts"], 1)
        # In an hour it would be tried again; it is settled before that.
        self.assertIn("tried again then", self.s.cli("notice", "list"))
        self.s.call("inbox.answer", number=number, answer="cancel")
        self.assertEqual(self.s.wait_type("notice.withdrawn")["data"]["notice"], first)
        self.assertEqual(self.notices("hook")[0]["status"], "withdrawn")
        self.assertTrue(self.tell.empty())


if __name__ == "__main__":
    unittest.main()
