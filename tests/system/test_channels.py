"""The channels by which people outside are told, against real peers: HTTP servers that look closely at
what they are sent, a session bus with a notification service, and commands."""

import hashlib
import hmac
import json
import os
import unittest

import harness
import peers

HEAD = "escalation.desktop = false\n"


def table(name, **options):
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in options.items())
    return f"[escalation.channels.{name}]\n{lines}"


class Channels(unittest.TestCase):
    """One notice at a time, by `overseer escalation test`."""

    def setUp(self):
        self.site = harness.Site(leaks=False)
        self.addCleanup(self.site.close)
        self.token = self.site.write("../token", peers.Forge.TOKEN + "\n")
        os.chmod(self.token, 0o600)

    def peer(self, kind=peers.Peer, *args):
        peer = kind(*args)
        self.addCleanup(peer.close)
        return peer

    def forge(self, kind, **more):
        peer = self.peer(kind)
        self.site.configure(HEAD + table("tracker", type=kind.__name__.lower(), url=peer.url, repo=peer.repo,
                                         token_file="~/token", **more))
        return peer

    def send(self, channel, *args, code=0):
        return self.site.cli("escalation", "test", channel, *args, code=code)

    def refused(self, channel, code, *words):
        said = self.send(channel, code=code)
        for word in words:
            self.assertIn(word, said)
        self.assertNotIn("secret", said)
        return said

    # ---- issues ----

    def check_forge(self, kind):
        forge = self.forge(kind)
        forge.labels = {"automated": 7, "bug": 1, "zoo": 2}
        self.assertIn("sent  through tracker", self.send("tracker", "--level", "critical"))
        issue, = forge.issues
        self.assertEqual(sorted(issue["labels"]), ["automated", "critical", "overseer"])
        self.assertEqual(issue["title"], 'Overseer: CRITICAL: This is a test of the channel "tracker": nothing is wrong.')
        self.assertRegex(issue["body"], r"\A<!-- overseer:test notice:test_[0-9a-f]{16} -->\n## Agent Loop Overseer Alert\n")
        for part in ("**Timestamp:** 20", "### Issue\n\nThis is a test", "### Actions Required\n\n- [ ] Review",
                     "\n---\n*Automated escalation from Overseer."):
            self.assertIn(part, issue["body"])
        # A second alarm about the same is a comment on the first one's issue.
        answer = json.loads(self.site.cli("escalation", "test", "tracker", "--json"))
        self.assertEqual(answer["ref"], "1")
        self.assertEqual(len(forge.issues), 1)
        comment, = issue["comments"]
        self.assertIn(f"notice:{answer['notice']} -->\n## Agent Loop Overseer Alert: again", comment)
        # Once that is closed, another one is opened.
        issue["state"] = "closed"
        self.send("tracker")
        self.assertEqual([x["labels"] for x in forge.issues[1:]], [["overseer", "info", "automated"]])
        self.assertEqual(forge.wrong, [])
        return forge

    def test_gitea(self):
        forge = self.check_forge(peers.Gitea)
        pages = [r["query"]["page"] for r in forge.requests if r["method"] == "GET" and r["path"].endswith("labels")]
        self.assertEqual(pages[:3], ["1", "2", "3"])

    def test_github(self):
        self.check_forge(peers.GitHub)

    def test_an_alarm_matters_more_than_its_labels(self):
        forge = self.forge(peers.Gitea)
        forge.new_label = lambda document: (403, {"message": "no"})
        self.send("tracker")
        self.assertEqual(forge.issues[0]["labels"], [])

    def test_refusals_of_a_forge(self):
        forge = self.forge(peers.Gitea)
        forge.authorised = lambda request: False
        # The server repeats the token in its answer; nobody else does.
        self.refused("tracker", 4, "status 401", "bad credentials: token [redacted]", "is the token right")
        self.site.configure(HEAD + table("tracker", type="gitea", url=forge.url, repo="fleet/other", token_file="~/token"))
        del forge.authorised
        self.refused("tracker", 4, "status 404", "are url and repo right")
        forge.first = [(200, b"<html>")]
        self.refused("tracker", 4, "is not the API of a gitea server")
        forge.first = [(301, b"", {"Location": "http://127.0.0.1:1/"})]
        self.refused("tracker", 4, "status 301", "it has moved")
        self.assertEqual(forge.issues, [])

    def test_tokens(self):
        forge = self.forge(peers.Gitea)
        os.chmod(self.token, 0o644)
        self.refused("tracker", 4, "everybody can read", "chmod 600")
        os.chmod(self.token, 0o600)
        self.site.write("../token", "two words\n")
        self.refused("tracker", 4, "is not one word")
        self.site.write("../token", "\n")
        self.refused("tracker", 4, "is empty")
        os.unlink(self.token)
        self.refused("tracker", 4, "there is no")
        self.site.configure(HEAD + table("tracker", type="gitea", url=forge.url, repo=forge.repo, token_env="THE_TOKEN"))
        self.refused("tracker", 4, "THE_TOKEN is not set where the daemon was started")
        self.assertEqual(forge.requests, [])
        self.site.env["THE_TOKEN"] = forge.TOKEN
        self.send("tracker")
        self.assertEqual(len(forge.issues), 1)

    # ---- posts ----

    def test_webhook(self):
        hook = self.peer()
        secret = self.site.write("../signing", "a shared-secret"[2:] + "\n")
        os.chmod(secret, 0o600)
        self.site.configure(HEAD + table("pager", type="webhook", url=hook.url + "/a?b=c", secret_file=secret)
                            + table("plain", type="webhook", url=hook.url))
        answer = json.loads(self.site.cli("escalation", "test", "pager", "--level", "emergency", "--json"))
        request, = hook.requests
        self.assertEqual((request["method"], request["path"], request["query"]), ("POST", "/a", {"b": "c"}))
        sign = hmac.new(b"shared-secret", request["body"], hashlib.sha256).hexdigest()
        self.assertEqual(request["headers"]["x-overseer-signature-256"], f"sha256={sign}")
        self.assertEqual(request["headers"]["x-overseer-delivery"], answer["notice"])
        document = json.loads(request["body"])
        self.assertEqual(document["level"], "emergency")
        self.assertEqual(document["id"], answer["notice"])
        self.assertRegex(document["timestamp"], r"^20\d\d-.*Z$")
        self.assertEqual(sorted(document["context"]), sorted(
            ["loopId", "taskDescription", "iterationNumber", "reason", "detection", "intervention", "goal", "goalTitle",
             "node", "inbox", "commands"]))
        self.send("plain")
        self.assertNotIn("x-overseer-signature-256", hook.requests[1]["headers"])

    def test_chats(self):
        hook = self.peer()
        address = self.site.write("../address", hook.url + "/services/T0/very-secret\n")
        os.chmod(address, 0o600)
        self.site.configure(HEAD + table("slack", type="slack", url_file=address)
                            + table("discord", type="discord", url_file=address))
        self.send("slack", "--level", "warning")
        self.send("discord", "--level", "warning")
        slack, discord = hook.posts()
        self.assertTrue(slack["text"].startswith("Overseer: WARNING: This is a test"))
        self.assertEqual([b["type"] for b in slack["blocks"]], ["header", "section"])
        self.assertEqual({b["text"]["type"] for b in slack["blocks"]}, {"plain_text"})
        self.assertEqual(discord["allowed_mentions"], {"parse": []})
        self.assertEqual(discord["embeds"][0]["title"], "Overseer: WARNING")
        self.assertIn("This is a test", discord["content"])
        hook.first = [(404, b"no_team: very-secret is gone")]
        self.refused("slack", 4, "status 404: no_team")

    def test_answers_of_a_webhook(self):
        hook = self.peer()
        self.site.configure(HEAD + table("pager", type="webhook", url=hook.url + "/very-secret", timeout="300ms"))
        for status, code in ((500, 7), (429, 7), (408, 7), (400, 4), (410, 4)):
            hook.first = [(status, {"message": "words of <its> own"})]
            self.refused("pager", code, f"status {status}: words of <its> own")
        hook.first = [(None, b"")]
        self.refused("pager", 7, hook.url + "/...:")
        hook.close()
        self.refused("pager", 7, hook.url + "/...:")
        hook.close = lambda: None

    # ---- a command ----

    def test_hook(self):
        self.site.configure(HEAD + "escalation.hook = \"cat > ../got; pwd >> ../got\"\n"
                            + table("bad", type="hook", command="echo it went wrong >&2; exit 3")
                            + table("slow", type="hook", command="exec sleep 100", timeout="100ms"))
        self.send("hook")
        document, folder = self.site.home("got").splitlines()
        self.assertEqual(json.loads(document)["level"], "info")
        self.assertEqual(folder, os.path.realpath(self.site.repo))
        self.refused("bad", 7, "exit status 3: it went wrong")
        self.refused("slow", 7, "did not end within 100 ms")

    # ---- the desktop ----

    def test_desktop(self):
        desktop = self.peer(peers.Desktop)
        self.site.env["DBUS_SESSION_BUS_ADDRESS"] = desktop.bus
        self.site.configure("")
        for level, urgency in (("info", 0), ("warning", 1), ("critical", 2), ("emergency", 2)):
            said = self.send("desktop", "--level", level)
            self.assertRegex(said, r": [0-9a-f]{32}:\d+\n$")
            shown = desktop.shown()
            self.assertEqual((shown["title"], shown["urgency"], shown["app"]), (f"Overseer: {level.upper()}", urgency, "Overseer"))
            self.assertIn("This is a test", shown["body"])

    def test_desktop_without_an_answer(self):
        for mode, says in (("silent", "did not answer within 300 ms"), ("refuse", "LimitsExceeded: too many")):
            desktop = self.peer(peers.Desktop, mode)
            self.site.env["DBUS_SESSION_BUS_ADDRESS"] = desktop.bus
            self.site.configure(table("desktop", type="desktop", timeout="300ms"))
            self.refused("desktop", 7, says)
        self.site.env["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path={self.site.root}/nobody"
        self.refused("desktop", 4, "there is no desktop session", "escalation.desktop = false")
        del self.site.env["DBUS_SESSION_BUS_ADDRESS"], self.site.env["XDG_RUNTIME_DIR"]
        self.refused("desktop", 4, "there is no desktop session")

    # ---- mistakes ----

    def test_mistakes(self):
        self.site.configure(table("tracker", type="hook", command="true"))
        self.assertIn('did you mean "tracker"?', self.send("trucker", code=3))
        self.assertIn("is no level", self.send("tracker", "--level", "loud", code=2))
        self.site.configure(table("tracker", type="hook"))
        self.assertIn("escalation.channels.tracker.command: is missing", self.send("tracker", code=2))


class Alarms(unittest.TestCase):
    """Through the daemon: what needs a person goes out by every channel, each on its own."""

    def setUp(self):
        self.peers = {name: kind() for name, kind in (
            ("tracker", peers.Gitea), ("flaky", peers.Peer), ("wrong", peers.Peer), ("mute", peers.Peer),
            ("slow", peers.GitHub))}
        for peer in self.peers.values():
            self.addCleanup(peer.close)
        self.site = harness.Site(agent="echo 'it went wrong <@here>'; exit 1")
        self.addCleanup(self.site.close)
        os.chmod(self.site.write("../token", peers.Forge.TOKEN), 0o600)
        self.desktop = peers.Desktop()
        self.addCleanup(self.desktop.close)

    def configure(self, **escalation):
        url = {name: peer.url for name, peer in self.peers.items()}
        text = """[retry]
max_attempts = 1
[supervisor.backoff]
base = "10ms"
max = "10ms"
[planner]
fallback = false
[escalation]
max_attempts = 3
retry_base = "10ms"
retry_max = "20ms"
hook = "cat >> ../heard"
routes.warning = ["*"]
""" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in escalation.items())
        forge = {"repo": "fleet/alarms", "token_file": "~/token"}
        self.site.configure(
            text + table("tracker", type="gitea", url=url["tracker"], **forge)
            + table("flaky", type="webhook", url=url["flaky"])
            + table("wrong", type="webhook", url=url["wrong"] + "/very-secret")
            + table("mute", type="slack", url=url["mute"], timeout="200ms")
            + table("slow", type="github", url=url["slow"], **forge) + self.site.agent_config())

    def block(self, title):
        return self.site.call("goal.create", title=title, plan=harness.plan(harness.task("T1")))["goal"]

    def tried(self, goal, channel, status, after=0):
        """The event that settled the goal's notice on a channel."""
        return self.site.wait_type("notice.tried", after=after, goal=goal, channel=channel, status=status)["data"]

    def test_each_channel_on_its_own(self):
        self.configure()
        self.peers["flaky"].first = [(500, {"message": "down"}), (429, b"", {"Retry-After": "0"})]
        self.peers["wrong"].answer = lambda request: (401, {"message": "who are you?"})
        self.peers["mute"].answer = lambda request: (None, b"")
        self.site.up(DBUS_SESSION_BUS_ADDRESS=self.desktop.bus)
        goal = self.block("first")
        sent = {name: self.tried(goal, name, "sent") for name in ("tracker", "slow", "flaky", "hook", "desktop")}
        self.assertEqual((sent["tracker"]["ref"], sent["slow"]["ref"]), ("1", "1"))
        self.assertEqual(sent["flaky"]["attempts"], 3)
        wrong, mute = self.tried(goal, "wrong", "failed"), self.tried(goal, "mute", "failed")
        self.assertEqual((wrong["attempts"], mute["attempts"]), (1, 3))
        self.assertIn("status 401: who are you?", wrong["error"])
        self.assertEqual(len(self.peers["wrong"].requests), 1)
        self.assertEqual(len(self.peers["mute"].requests), 3)

        # What they were told is about that goal, and says how it is answered.
        issue, = self.peers["tracker"].issues
        self.assertEqual(issue["labels"], ["overseer", "warning", "automated"])
        self.assertIn("**Task:** Task T1", issue["body"])
        self.assertIn("    overseer inbox answer 1 ", issue["body"])
        documents = self.peers["flaky"].posts()
        self.assertEqual(len({d["id"] for d in documents}), 1)
        self.assertEqual(documents[0]["context"]["loopId"], f"{goal}/T1")
        self.assertEqual(json.loads(self.site.home("heard"))["context"]["inbox"], 1)
        first = self.desktop.shown()
        self.assertEqual((first["title"], first["replaces"]), ("Overseer: WARNING", 0))
        self.assertEqual([peer.wrong for peer in self.peers.values()], [[]] * 5)

        # A reminder is about the same: a comment on the issue, in place of the notification.
        self.peers["wrong"].answer = self.peers["mute"].answer = lambda request: (200, b"ok")
        before = self.site.seq()
        self.configure(remind_after="10ms", max_reminders=1)
        self.site.call("config.reload")
        for name in ("tracker", "slow", "desktop", "wrong", "mute"):
            self.tried(goal, name, "sent", after=before)
        comment, = issue["comments"]
        self.assertIn("Alert: again", comment)
        self.assertEqual([len(self.peers[name].issues) for name in ("tracker", "slow")], [1, 1])
        second = self.desktop.shown()
        self.assertEqual(second["replaces"], first["id"])

        # Nothing secret came anywhere near the log.
        for text in (json.dumps(self.site.events()), self.site.daemon_log()):
            self.assertNotIn(peers.Forge.TOKEN, text)
            self.assertNotIn("very-secret", text)
        self.assertEqual(self.site.down(), 0)

    def test_a_notice_that_was_sent_before_the_daemon_died_is_not_sent_twice(self):
        self.configure()
        # The issue is made, the answer never comes: what a daemon sees that is killed just then.
        tracker = self.peers["tracker"]
        made, gate = tracker.made, self.site.gate("made")

        def lost(document):
            made(document)
            os.write(gate.fds[0], b"made\n")
            return None, b""

        tracker.made = lost
        self.site.up()
        goal = self.block("once")
        gate.wait()
        self.site.kill()
        del tracker.made
        self.site.up()
        self.assertEqual(self.tried(goal, "tracker", "sent")["ref"], "1")
        self.assertEqual(len(tracker.issues), 1)
        self.assertEqual(tracker.issues[0]["comments"], [])


if __name__ == "__main__":
    unittest.main()
