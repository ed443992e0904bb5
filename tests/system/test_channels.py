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


if __name__ == "__main__":
    unittest.main()
