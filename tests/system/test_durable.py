#!/usr/bin/env python3
"""An operation that was answered with success survives kill -9 right after the answer."""

import threading
import unittest

from harness import SANITIZED, RpcError, SiteCase, sized

KILLS = 10 if SANITIZED else sized(60, 250, 1000)
CLIENTS = 10


class Client(threading.Thread):
    """Creates goals as fast as they are answered, until the daemon is gone."""

    def __init__(self, site, name, enough):
        super().__init__()
        self.connection = site.connect()
        self.name, self.enough = name, enough
        self.answered, self.refused = {}, []

    def run(self):
        number = 0
        try:
            while True:
                number += 1
                title = f"{self.name}.{number}"
                self.answered[self.connection.call("goal.create", title=title)["goal"]] = title
                self.enough.release()
        except OSError:
            pass  # the daemon was killed
        except RpcError as e:
            self.refused.append(str(e))
            self.enough.release()
        finally:
            self.connection.close()


class Durable(SiteCase):
    def kill_round(self, site, number):
        """Kills the daemon as soon as every client has had its answer; what was answered, by id."""
        site.up()
        enough = threading.Semaphore(0)
        clients = [Client(site, f"{number}.{i}", enough) for i in range(CLIENTS)]
        for client in clients:
            client.start()
        for _ in range(CLIENTS):
            enough.acquire()
        site.kill()
        answered = {}
        for client in clients:
            client.join()
            self.assertEqual(client.refused, [])
            answered.update(client.answered)
        return answered

    def test_answered_is_durable(self):
        site = self.site("[http]\nenabled = false\n[store]\nsnapshot_every = 500\n")
        answered, kills = {}, 0
        for number in range(KILLS):
            answered.update(self.kill_round(site, number))
            kills += 1
            # The next start must have all of them: asked of what the store holds, now and then.
            if number % 10 == 9:
                site.up()
                self.check(site, answered)
                site.kill()
        site.up()
        self.check(site, answered)
        self.assertGreaterEqual(len(answered), KILLS * CLIENTS)
        print(f"{len(answered)} answered operations survived {kills} kills", flush=True)
        self.assertEqual(site.down(), 0)

    def check(self, site, answered):
        found = {g["id"]: g["title"] for g in site.call("goal.list")["goals"]}
        lost = {goal: title for goal, title in answered.items() if found.get(goal) != title}
        self.assertEqual(lost, {})
        self.assertEqual(len(set(found.values())), len(found), "something happened twice")

    def test_seen_is_durable(self):
        """What a reader saw, or an event told, was durable: nothing is taken back."""
        site = self.site("[http]\nenabled = false\n")
        told = []
        for number in range(KILLS // 10 or 1):
            site.up()
            writer, follower, reader = site.connect(), site.connect(), site.connect()
            follower.call("events.follow")
            for i in range(5):
                writer.send("goal.create", {"title": f"{number}.{i}"})
            event = follower.event()
            while event["type"] != "goal.created":
                event = follower.event()
            seen = reader.call("goal.list")["goals"]
            site.kill()
            told += [event["goal"]] + [g["id"] for g in seen]
            for connection in (writer, follower, reader):
                connection.close()
        site.up()
        self.assertLessEqual(set(told), {g["id"] for g in site.call("goal.list")["goals"]})


if __name__ == "__main__":
    unittest.main(verbosity=2)
