#!/usr/bin/env python3
"""The watchdog: whatever the daemon does wrong, it ends as the rules say."""

import datetime
import fcntl
import json
import os
import signal
import subprocess
import time
import unittest

import leaks as look_for_leaks
from harness import CLI, PATIENCE, Gate, SiteCase
from watched import Place, Watchdog, acts, alive, end_watching, fake, fakes, kinds, registered, saved, tell

UP = fake("register", "beat", "forever")
UP_LINE = r"The daemon is up and its heart beats"


def until(is_so):
    end = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > end:
            raise AssertionError("it never came to that")
        time.sleep(0.01)


def seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class WatchCase(unittest.TestCase):
    def place(self):
        place = Place(leaks=look_for_leaks.wanted(self.id()))
        self.addCleanup(place.close)
        return place

    def stranger(self):
        """A process that has nothing to do with any of this, and its identity."""
        process = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        with open(f"/proc/{process.pid}/stat", encoding="utf-8") as f:
            start = int(f.read().rsplit(")", 1)[1].split()[19])
        with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as f:
            boot = f.read().strip()
        return process, {"pid": process.pid, "start_time": start, "boot_id": boot, "instance_id": "0123456789abcdef"}

    @staticmethod
    def register(place, identity):
        path = os.path.join(place.dir, "daemon.json")
        with open(path + ".tmp", "w", encoding="utf-8") as f:
            json.dump(identity, f)
        os.rename(path + ".tmp", path)

    def failures(self, place):
        return [act["failure"] for act in acts(place) if act["kind"] == "failed"]


class Life(WatchCase):
    def test_it_starts_the_daemon_and_ends_with_it(self):
        place = self.place()
        w = Watchdog(place, UP)
        w.wait(UP_LINE)
        pid = registered(place)["pid"]
        # The daemon is in a session of its own, at home in the repository, with nothing of ours open.
        self.assertEqual(os.getsid(pid), pid)
        self.assertEqual(os.readlink(f"/proc/{pid}/cwd"), place.repo)
        self.assertTrue(os.readlink(f"/proc/{pid}/fd/1").endswith("/logs/daemon.log"))
        w.interrupt()
        self.assertEqual(w.ended(), 0)
        self.assertFalse(alive(pid))
        self.assertEqual(kinds(place), ["watching", "started", "healthy", "left"])
        self.assertEqual([act["n"] for act in acts(place)], [1, 2, 3, 4])
        self.assertEqual((saved(place)["state"], saved(place)["daemon"]), ("stopped", None))
        # Lines for a file: no colour.
        self.assertNotIn("\033", w.text)
        self.assertRegex(w.text, r"^\d{4}-\d\d-\d\dT\S+ · Watching ")

    def test_asked_twice_it_ends_at_once(self):
        place = self.place()
        w = Watchdog(place, fake("deaf", "register", "beat", "forever"))
        w.wait(UP_LINE)
        w.interrupt()
        w.wait("the daemon ends first")
        w.interrupt()
        self.assertEqual(w.ended(), 130)
        self.assertTrue(alive(registered(place)["pid"]))

    def test_killed_it_harms_nobody_and_the_next_one_remembers(self):
        place = self.place()
        w = Watchdog(place, UP)
        w.wait(UP_LINE)
        tell(place, "exit", "9")
        w.wait("The daemon failed: it ended with status 9 ")
        w.wait("Restarting the daemon")
        w.wait(UP_LINE)
        pid = registered(place)["pid"]
        w.kill()
        self.assertTrue(alive(pid))
        w = Watchdog(place, UP)
        w.wait(rf"Watching the daemon that runs \(pid {pid}\)")
        w.wait(UP_LINE)
        self.assertEqual(saved(place)["restarts_24h"], 1)
        # Its cool-down was not over when the first watchdog was killed: it is not over now.
        tell(place, "exit", "9")
        self.assertEqual(w.ended(), 21)
        self.assertEqual([act["n"] for act in acts(place)], list(range(1, len(acts(place)) + 1)))
        self.assertIn("failed again", saved(place)["reason"])
        # Who starts one after that begins anew.
        w = Watchdog(place, UP)
        w.wait(UP_LINE)
        self.assertEqual(saved(place)["restarts_24h"], 0)

    def test_a_second_one_is_refused(self):
        place = self.place()
        first = Watchdog(place, UP)
        first.wait(UP_LINE)
        second = Watchdog(place, UP)
        self.assertEqual(second.ended(), 4)
        self.assertIn(f"another watchdog watches this store: pid {first.process.pid}", second.text)
        self.assertIsNone(first.process.poll())

    def test_a_person_who_was_asked_for_has_to_answer(self):
        place = self.place()
        path = os.path.join(place.dir, "manual_intervention_needed_20260101T000000Z.txt")
        with open(path, "w", encoding="utf-8") as f:
            f.write("the disk is broken\n")
        w = Watchdog(place, UP)
        self.assertEqual(w.ended(), 22)
        self.assertIn("the disk is broken", w.text)
        self.assertIn("remove that file", w.text)
        os.unlink(path)
        Watchdog(place, UP).wait(UP_LINE)

    def test_on_a_terminal_it_is_coloured(self):
        place = self.place()
        w = Watchdog(place, UP, terminal=True)
        w.wait(r"\d\d:\d\d:\d\d \033\[32m✓ The daemon is up and its heart beats .*\033\[0m")
        w.interrupt()
        self.assertEqual(w.ended(), 0)
        w = Watchdog(place, UP, terminal=True, env={"NO_COLOR": "1", "LC_ALL": "C"})
        w.wait(r"\d\d:\d\d:\d\d \+ The daemon is up and its heart beats")
        self.assertNotIn("\033", w.text)
        self.assertTrue(w.text.isascii())


class Requests(WatchCase):
    def test_a_daemon_that_was_asked_to_stop_is_waited_for(self):
        place = self.place()
        w = Watchdog(place, UP)
        w.wait(UP_LINE)
        tell(place, "stop")
        w.wait("stopped by request; waiting for the next one")
        # Somebody starts it by hand.
        daemon = subprocess.Popen(["/bin/sh", "-c", UP], env={**place.env, "OVERSEER_DIR": place.dir}, cwd=place.repo)
        w.wait(rf"Watching the daemon that runs \(pid {daemon.pid}\)")
        w.wait(UP_LINE)
        tell(place, "stop")
        w.wait("stopped by request")
        daemon.wait(PATIENCE)
        w.interrupt()
        self.assertEqual(w.ended(), 0)
        self.assertNotIn("failed", kinds(place))

    def test_one_that_was_asked_to_stop_and_cannot_is_ended_and_not_started_again(self):
        place = self.place()
        w = Watchdog(place, fake("deaf", "register", "beat", "forever"), heartbeat_timeout=600, grace=100)
        w.wait(UP_LINE)
        tell(place, "health", "requested", "by-a-test", "hang")
        w.wait("failed: its main loop has not turned")
        w.wait("stopped by request")
        self.assertEqual(fakes(place), [])
        self.assertEqual(kinds(place).count("started"), 1)

    def test_somebody_else_was_quicker_with_a_start(self):
        place = self.place()
        w = Watchdog(place, "exit 4")
        w.wait("Another daemon has the store: waiting for it to register")
        daemon = subprocess.Popen(["/bin/sh", "-c", UP], env={**place.env, "OVERSEER_DIR": place.dir}, cwd=place.repo)
        w.wait(UP_LINE)
        w.interrupt()
        self.assertEqual((w.ended(), daemon.wait(PATIENCE)), (0, 0))
        self.assertNotIn("failed", kinds(place))
        # And one that never registers, whoever it is, is a failure.
        w = Watchdog(place, "exit 4", registration_timeout=100)
        self.assertEqual(w.ended(), 21)
        self.assertEqual(self.failures(place), ["unregistered", "unregistered"])
        self.assertIn("another one has the store, but has not registered", w.text)

    def test_an_end_without_a_request_is_a_failure_whatever_its_status(self):
        place = self.place()
        w = Watchdog(place, UP)
        w.wait(UP_LINE)
        os.kill(registered(place)["pid"], signal.SIGTERM)
        w.wait("failed: it ended with status 0, without being asked to")
        w.wait(UP_LINE)
        os.kill(registered(place)["pid"], signal.SIGKILL)
        self.assertEqual(w.ended(), 21)
        self.assertIn("signal 9", w.text)
        self.assertEqual(self.failures(place), ["died", "died"])


class Failures(WatchCase):
    def test_one_that_never_registers(self):
        place = self.place()
        w = Watchdog(place, fake("forever"), registration_timeout=200)
        self.assertEqual(w.ended(), 21)
        self.assertEqual(self.failures(place), ["unregistered", "unregistered"])
        self.assertEqual(fakes(place), [])
        self.assertIn("has not registered within 200ms", w.text)

    def test_one_that_exits_cleanly_at_once(self):
        place = self.place()
        for command in ("exit 0", fake("register", "beat", "exit", "0")):
            w = Watchdog(place, command)
            self.assertEqual(w.ended(), 21)
            self.assertEqual(w.text.count("The daemon failed: it ended with status 0"), 2)

    def test_one_that_cannot_be_started(self):
        place = self.place()
        w = Watchdog(place, "exec /nonexistent/overseer up")
        self.assertEqual(w.ended(), 21)
        self.assertIn("status 127", w.text)

    def test_one_that_crashes_again_and_again_but_never_soon(self):
        place = self.place()
        w = Watchdog(place, fake("register", "beat", "run", "30", "exit", "9"), restart_cooldown=0, max_restarts=2)
        self.assertEqual(w.ended(), 23)
        self.assertEqual(kinds(place).count("started"), 3)
        self.assertIn("2 times in 24 hours", w.text)

    def test_one_that_is_stopped(self):
        place = self.place()
        w = Watchdog(place, UP, heartbeat_timeout=1500)
        w.wait(UP_LINE)
        pid = registered(place)["pid"]
        os.kill(pid, signal.SIGSTOP)
        w.wait("failed: its main loop has not turned for")
        w.wait("Ended the daemon by SIGTERM")
        w.wait(UP_LINE)
        self.assertFalse(alive(pid))
        self.assertEqual(self.failures(place), ["heartbeat"])

    def test_one_that_hangs_at_once_is_a_spiral_however_long_it_takes_to_see(self):
        place = self.place()
        # It beats once. Detection and grace take longer than the cool-down; healthy it never was.
        w = Watchdog(place, fake("deaf", "register", "beat", "run", "1", "hang"), heartbeat_timeout=600, grace=100,
                     restart_cooldown=500)
        self.assertEqual(w.ended(), 21)
        self.assertEqual(self.failures(place), ["heartbeat", "heartbeat"])
        self.assertEqual(w.text.count("Ended the daemon by SIGKILL"), 2)
        self.assertEqual(fakes(place), [])

    def test_one_that_says_that_it_cannot_go_on(self):
        place = self.place()
        w = Watchdog(place, UP)
        w.wait(UP_LINE)
        tell(place, "health", "degraded", "no-disk")
        w.wait("The daemon cannot do all of its work: no-disk")
        tell(place, "health", "restored", "it-works")
        w.wait("The daemon can do all of its work again")
        tell(place, "health", "failed", "the-pool-is-broken")
        w.wait("The daemon failed: the-pool-is-broken")
        w.wait(UP_LINE)
        self.assertEqual(self.failures(place), ["health"])
        # What an earlier instance said is not held against this one.
        self.assertEqual(len(fakes(place)), 1)

    def test_a_stall_is_only_started_again(self):
        place = self.place()
        w = Watchdog(place, fake("register", "due", "forever"), remedy="exit 1", stall_timeout=100,
                     heartbeat_timeout=2000, max_restarts=2)
        self.assertEqual(w.ended(), 23)
        self.assertEqual(self.failures(place), ["stall"] * 3)
        self.assertNotIn("remediating", kinds(place))

    def test_what_a_start_command_leaves_is_killed_and_what_left_it_is_not(self):
        place = self.place()
        left = os.path.join(place.root, "left")
        command = (f"sleep 1000 & echo $! > {left}.group; setsid sleep 1000 & echo $! > {left}.session;"
                   + fake("register", "beat", "forever").replace("exec ", "", 1))
        w = Watchdog(place, command)
        w.wait(UP_LINE)
        with open(left + ".group", encoding="utf-8") as f:
            group = int(f.read())
        with open(left + ".session", encoding="utf-8") as f:
            session = int(f.read())
        self.addCleanup(lambda: alive(session) and os.kill(session, signal.SIGKILL))
        self.assertTrue(alive(group))
        w.interrupt()
        self.assertEqual(w.ended(), 0)
        self.assertEqual(fakes(place), [])
        self.assertFalse(alive(group))
        self.assertTrue(alive(session))


class Identity(WatchCase):
    def test_a_number_that_is_somebody_elses_is_never_signalled(self):
        place = self.place()
        stranger, identity = self.stranger()
        # The number was reused: another start time. Then the right one, but it is no daemon of this store.
        for wrong in ({**identity, "start_time": identity["start_time"] - 1}, identity,
                      {**identity, "boot_id": "00000000-0000-0000-0000-000000000000"}):
            self.register(place, wrong)
            w = Watchdog(place, UP)
            w.wait("Starting the daemon")
            w.wait(UP_LINE)
            w.interrupt()
            self.assertEqual(w.ended(), 0)
        self.assertIsNone(stranger.poll())

    def test_another_one_registered_in_its_place(self):
        place = self.place()
        stranger, identity = self.stranger()
        w = Watchdog(place, UP)
        w.wait(UP_LINE)
        pid = registered(place)["pid"]
        self.register(place, identity)
        w.wait(rf"failed: pid {stranger.pid} .* is registered in the place of pid {pid}")
        w.wait("Ended the daemon by SIGTERM")
        w.wait(UP_LINE)
        self.assertFalse(alive(pid))
        self.assertIsNone(stranger.poll())
        self.assertEqual(self.failures(place), ["identity"])


class Remediation(WatchCase):
    def test_the_first_failure_is_mended_and_a_second_one_is_a_spiral(self):
        place = self.place()
        w = Watchdog(place, UP, remedy="cat >prompt; touch mended", terminal=True)
        w.wait(UP_LINE)
        tell(place, "exit", "20")
        w.wait(r"\033\[31m⚠ Entering remediation: mender is asked to mend it")
        w.wait(r"\033\[32m✓ Remediation completed in \d+\.\d s")
        w.wait(r"\033\[32m✓ Restarting the daemon")
        w.wait(UP_LINE)
        self.assertTrue(os.path.exists(os.path.join(place.repo, "mended")))
        tell(place, "exit", "20")
        self.assertEqual(w.ended(), 21)
        self.assertEqual(kinds(place).count("remediating"), 1)

    def test_one_that_takes_too_long_is_ended_and_leaves_nothing(self):
        place = self.place()
        w = Watchdog(place, UP, remedy="echo $$ >mender.pid; trap '' TERM INT; while :; do sleep 1000; done",
                     remediation_timeout=500)
        w.wait(UP_LINE)
        tell(place, "exit", "20")
        w.wait("Remediation issue: it took too long and was ended")
        w.wait(UP_LINE)
        with open(os.path.join(place.repo, "mender.pid"), encoding="utf-8") as f:
            self.assertFalse(alive(int(f.read())))

    def test_a_watchdog_that_is_killed_meanwhile(self):
        place = self.place()
        gate = Gate(place.root, "mender")
        self.addCleanup(gate.close)
        w = Watchdog(place, UP, remedy=f"echo here >{place.root}/mender.here; read x <{place.root}/mender.go")
        w.wait(UP_LINE)
        tell(place, "exit", "20")
        gate.wait()
        until(lambda: saved(place)["state"] == "remediating")
        self.assertEqual(saved(place)["remediation"]["failure"], "died")
        w.kill()
        w = Watchdog(place, UP, remedy="exit 1")
        w.wait("A remediation of an earlier watchdog still runs")
        gate.go()
        w.wait("Remediation completed")
        w.wait(UP_LINE)
        tell(place, "exit", "20")
        self.assertEqual(w.ended(), 21)

    def test_what_a_remediation_left_is_swept_by_the_next_watchdog(self):
        place = self.place()
        gate = Gate(place.root, "mender")
        self.addCleanup(gate.close)
        w = Watchdog(place, UP, remedy=f"echo $$ >{place.root}/mender.here; exec sleep 1000")
        w.wait(UP_LINE)
        tell(place, "exit", "20")
        mender = int(gate.wait())
        until(lambda: saved(place)["state"] == "remediating")
        # The remediation and the watchdog are killed, and the agent is left alone.
        w.kill()
        os.kill(saved(place)["remediation"]["pid"], signal.SIGKILL)
        until(lambda: not alive(saved(place)["remediation"]["pid"]))
        self.assertTrue(alive(mender))
        Watchdog(place, UP, remedy="exit 1").wait(UP_LINE)
        self.assertFalse(alive(mender))

    def test_asked_to_end_it_ends_the_remediation_first(self):
        place = self.place()
        w = Watchdog(place, UP, remedy="cat >/dev/null; echo $$ >mender.pid; exec sleep 1000")
        w.wait(UP_LINE)
        tell(place, "exit", "20")
        w.wait("Entering remediation")
        w.interrupt()
        self.assertEqual(w.ended(), 0)
        self.assertIn("Remediation interrupted", w.text)
        path = os.path.join(place.repo, "mender.pid")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                self.assertFalse(alive(int(f.read() or 0)))

    def test_a_remediation_that_asks_for_a_person(self):
        place = self.place()
        w = Watchdog(place, UP, remedy=f"echo no-money >{place.dir}/manual_intervention_needed_now.txt")
        w.wait(UP_LINE)
        tell(place, "exit", "20")
        self.assertEqual(w.ended(), 22)
        self.assertIn("no-money", w.text)


class Surroundings(WatchCase):
    def test_without_watch_json_silence_is_no_failure(self):
        place = self.place()
        # Its heart stops beating with the file that says for whom; then the file is back.
        w = Watchdog(place, fake("register", "beat", "run", "1", "hang"), heartbeat_timeout=500)
        w.wait(UP_LINE)
        until(lambda: saved(place)["last"][-1]["kind"] == "healthy")
        os.unlink(os.path.join(place.dir, "watch.json"))
        w.wait("failed: its main loop has not turned")
        self.assertEqual(saved(place)["pid"], w.process.pid)
        # The first half second was not held against it: the deadline came twice.
        times = [act["time"] for act in acts(place) if act["kind"] in ("healthy", "failed")]
        self.assertGreaterEqual(seconds(times[1]) - seconds(times[0]), 0.9)

    def test_files_that_cannot_be_written_do_not_stop_it(self):
        place = self.place()
        os.makedirs(os.path.join(place.dir, "watch.json"))
        os.makedirs(os.path.join(place.dir, "logs", "watch.jsonl"))
        w = Watchdog(place, UP)
        w.wait("Cannot write down what is done: .*; it goes on")
        w.wait("Cannot write watch.json: .*; it goes on")
        w.wait(UP_LINE)
        # When it can be written again, nothing is missing.
        os.rmdir(os.path.join(place.dir, "logs", "watch.jsonl"))
        tell(place, "exit", "9")
        w.wait("The daemon failed")
        self.assertEqual(kinds(place)[:4], ["watching", "started", "healthy", "failed"])

    def test_a_reader_that_sleeps_does_not_stop_it(self):
        place = self.place()
        w = Watchdog(place, "exit 9", restart_cooldown=0, max_restarts=1000)
        fcntl.fcntl(w.out, fcntl.F_SETPIPE_SZ, 4096)
        # Nobody reads: more is done than a pipe holds of it.
        w.wait("Starting the daemon")
        until(lambda: len(acts(place)) > 60)


class Costs(WatchCase):
    def test_it_is_small_and_sleeps(self):
        place = self.place()
        w = Watchdog(place, UP)
        w.wait(UP_LINE)

        def status(name):
            with open(f"/proc/{w.process.pid}/status", encoding="utf-8") as f:
                return int(next(line for line in f if line.startswith(name + ":")).split()[1])

        if not os.environ.get("OV_SANITIZED"):
            self.assertLess(status("VmRSS"), 3 * 1024)
        # A hundred beats later it has not been awake once; the rest is what it writes about the end.
        before = status("voluntary_ctxt_switches")
        tell(place, "run", "2000", "health", "degraded", "tired")
        w.wait("tired")
        self.assertLess(status("voluntary_ctxt_switches") - before, 50)


class Real(SiteCase):
    """With the real daemon, by the command line."""

    def test_it_is_started_watched_stopped_and_taken_up_again(self):
        site = self.site("[watch]\nheartbeat_timeout = \"20s\"\n")
        site.watchdogs = []
        self.addCleanup(end_watching, site)
        w = Watchdog(site, None, argv=[CLI, "watch"])
        w.wait(UP_LINE)
        first = registered(site)["pid"]
        os.kill(first, signal.SIGKILL)
        w.wait(r"failed: it was ended by signal 9")
        w.wait(UP_LINE)
        second = registered(site)["pid"]
        self.assertIn("watchdog running", site.cli("status"))
        said = site.cli("down")
        self.assertIn(f"The watchdog (pid {w.process.pid}) still runs. It does not start this daemon again", said)
        self.assertIn(f"or kill {w.process.pid}\n", said)
        w.wait("stopped by request")
        self.assertIn("The watchdog (pid ", site.cli("down"))
        self.assertFalse(alive(second))
        site.up()
        w.wait(rf"Watching the daemon that runs \(pid {site.daemon.pid}\)")
        w.wait(UP_LINE)
        w.interrupt()
        self.assertEqual(w.ended(), 0)
        self.assertEqual(site.ended(), 0)


if __name__ == "__main__":
    unittest.main()
