#!/usr/bin/env python3
"""install-service: what systemd itself makes of the unit, and a daemon that is run as it says."""

import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import unittest

import leaks
from harness import CLI, PATIENCE, SANITIZED, SiteCase, plan, task
from watched import alive

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
# Everything that means something to a shell, to a unit or to git.
ODD = "a b'\"c%d%%e\\x20f$HOME;ü"


class ServiceCase(SiteCase):
    def setUp(self):
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="overseer-test-"))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        self.env = {"PATH": os.environ["PATH"], "HOME": self.root, "LC_ALL": "C.UTF-8", "XDG_RUNTIME_DIR": self.root}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
            if name in os.environ:
                self.env[name] = os.environ[name]
        if SANITIZED and not leaks.wanted(self.id()):
            leaks.ignore(self.env)
        self.units = os.path.join(self.root, ".config/systemd/user")

    def store(self, name, config=""):
        top = os.path.join(self.root, name)
        os.makedirs(os.path.join(top, ".overseer"))
        with open(os.path.join(top, ".overseer/config.toml"), "w", encoding="utf-8") as f:
            f.write(config)
        return top

    def install(self, top, *args, code=0, program=CLI, **env):
        done = subprocess.run([program, "install-service", "--dir", top, *args], env={**self.env, **env}, cwd=self.root,
                              capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stderr if code else done.stdout

    def installed(self, top, *args, **more):
        """The file that was written."""
        return json.loads(self.install(top, "--json", *args, **more))["file"]

    def understood(self, file):
        """The unit as systemd reads it: {name: [values]}. It may have nothing to say against it."""
        command = ["systemd-analyze", "--user", "verify", file]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        done = subprocess.run(command, env={**self.env, "SYSTEMD_LOG_LEVEL": "debug"}, capture_output=True, text=True,
                              timeout=PATIENCE)
        found, ours = {}, False
        for line in done.stdout.splitlines():
            if "-> Unit " in line:
                ours = line.endswith("-> Unit " + os.path.basename(file) + ":")
            elif ours and ": " in line:
                key, value = line.lstrip("\t").split(": ", 1)
                found.setdefault(key, []).append(value)
        self.assertTrue(found, done.stdout[:2000])
        return found

    @staticmethod
    def words(line):
        """A command line of systemd's as the words that it stands for."""
        done = subprocess.run(["sh", "-c", "printf '%s\\0' " + line], env={}, capture_output=True, text=True, check=True)
        return done.stdout.split("\0")[:-1]


class Unit(ServiceCase):
    def test_what_systemd_reads(self):
        top = self.store("plain", '[watch]\nheartbeat_timeout = "1m30s"\nregistration_timeout = "2h"\ngrace = "250ms"\n'
                                  "max_restarts = 7\n")
        file = self.installed(top, "--auto")
        self.assertEqual(file, os.path.join(self.units, "overseer-plain.service"))
        unit = self.understood(file)
        for key, value in {
                "Description": "Overseer for plain", "Type": "notify", "NotifyAccess": "main", "WorkingDirectory": top,
                "WatchdogSec": "1min 30s", "TimeoutStartSec": "2h", "TimeoutStopSec": "250ms", "Restart": "on-failure",
                "RestartSec": "5s", "KillMode": "process", "OOMPolicy": "continue", "Delegate": "yes",
                "IgnoreSIGPIPE": "no", "PrivateTmp": "no", "PrivateUsers": "no", "ProtectHome": "no",
                "ProtectSystem": "no"}.items():
            self.assertEqual(unit[key], [value], key)
        self.assertEqual(self.words(unit["Command Line"][0]),
                         [CLI, "up", "--foreground", "--dir", top + "/.overseer", "--auto"])
        self.assertEqual(unit["Environment"], ["PATH=" + self.env["PATH"]])
        with open(file, encoding="utf-8") as f:
            text = f.read()
        self.assertIn("\nStartLimitBurst=7\n", text)
        # What a restart cannot mend, by the table of exit statuses: E_UNAVAILABLE, E_IO, E_INTERNAL it may.
        self.assertIn("\nRestartPreventExitStatus=2 3 4 5 6 20 21\n", text)
        self.assertIn("\nNoNewPrivileges=yes\n", text)
        self.assertEqual(self.install(top, "--auto", "--print"), text)
        self.assertNotIn("--auto", self.install(top, "--print"))

    def test_odd_names(self):
        for name in (ODD, "-x", ".hidden", "a@b", "tab\u00a0", "%", "проект"):
            top = self.store(name)
            file = self.installed(top, PATH=f"relative::/usr/bin:{top}/bin:/bin\t")
            unit = self.understood(file)
            self.assertEqual(unit["Description"], ["Overseer for " + name])
            self.assertEqual(unit["WorkingDirectory"], [top])
            self.assertEqual(self.words(unit["Command Line"][0])[4], top + "/.overseer")
            self.assertEqual(unit["Environment"], [f"PATH=/usr/bin:{top}/bin"])
            # As systemd-escape has it, but for the dash and the dot, which are taken as they are.
            escaped = subprocess.run(["systemd-escape", "--", name], capture_output=True, text=True, check=True).stdout
            self.assertEqual(os.path.basename(file),
                             "overseer-" + escaped.strip().replace("\\x2d", "-").replace("\\x2e", ".") + ".service")

    def test_what_is_printed_can_be_typed(self):
        out = self.install(self.store("my repo"))
        line = next(line for line in out.splitlines() if "enable --now" in line)
        words = self.words(re.sub("^Next", "", line).split("  start")[0])
        self.assertEqual(words, ["systemctl", "--user", "enable", "--now", "overseer-my\\x20repo.service"])
        self.assertIn("loginctl enable-linger", out)
        self.assertIn("daemon-reload", out)

    def test_names_that_no_unit_can_hold(self):
        for name in ("line\nfeed", "blank ", "back\\", b"\xff"):
            if isinstance(name, bytes):
                name = os.fsdecode(name)
            self.assertIn("cannot hold the name of the repository", self.install(self.store(name), code=2))
        top = self.store("good")
        self.assertIn("--name NAME", self.install(top, "--name", "x" * 250, code=2))
        self.assertIn("--name NAME", self.install(top, "--name", "", code=2))
        os.mkdir(os.path.join(self.root, "it's"))
        program = shutil.copy(CLI, os.path.join(self.root, "it's"))
        self.assertIn("cannot hold the name of the program", self.install(top, code=2, program=program))
        self.assertFalse(os.path.exists(self.units))

    def test_program_as_path_has_it(self):
        """A later version is put where PATH finds it: that name is written, not what it points to."""
        os.mkdir(os.path.join(self.root, "bin"))
        os.symlink(CLI, os.path.join(self.root, "bin/overseer"))
        top = self.store("repo")
        path = f"{self.root}/bin:{self.env['PATH']}"
        unit = self.understood(self.installed(top, PATH=path))
        self.assertEqual(self.words(unit["Command Line"][0])[0], self.root + "/bin/overseer")

    def test_what_is_there_is_kept(self):
        top, other = self.store("repo"), self.store("other/repo")
        file = self.installed(top)
        self.assertIn("was unchanged", self.install(top))
        self.assertIn("is of another store", self.install(other, code=4))
        self.assertIn("is of another store", self.install(other, "--remove", code=4))
        self.assertIn("--force", self.install(top, "--auto", code=4))
        self.assertNotIn("--auto", self.understood(file)["Command Line"][0])
        self.assertIn("was written", self.install(top, "--auto", "--force"))
        self.assertIn("--auto", self.understood(file)["Command Line"][0])
        with open(file, "a", encoding="utf-8") as f:
            f.write("# by hand\n")
        self.assertIn("differs", self.install(top, "--auto", code=4))
        with open(file, "w", encoding="utf-8") as f:
            f.write("[Service]\nExecStart=/bin/true\n")
        self.assertIn("was not written by overseer", self.install(top, code=4))
        self.assertIn("was not written by overseer", self.install(top, "--remove", code=4))
        with open(file, encoding="utf-8") as f:
            self.assertIn("/bin/true", f.read())
        self.assertEqual(self.installed(other, "--name", "second"), os.path.join(self.units, "overseer-second.service"))

    def test_remove(self):
        top = self.store("repo")
        self.assertIn("was absent", self.install(top, "--remove"))
        file = self.installed(top, XDG_CONFIG_HOME=self.root + "/config")
        self.assertEqual(file, self.root + "/config/systemd/user/overseer-repo.service")
        self.install(top, "--remove", XDG_CONFIG_HOME=self.root + "/config")
        self.assertFalse(os.path.exists(file))
        file = self.installed(top)
        wants = os.path.join(self.units, "default.target.wants")
        os.mkdir(wants)
        os.symlink(file, os.path.join(wants, "overseer-repo.service"))
        self.assertIn("systemctl --user disable --now overseer-repo.service", self.install(top, "--remove", code=4))
        self.assertTrue(os.path.exists(file))
        self.assertIn("systemctl --user restart overseer-repo.service", self.install(top, "--force", "--auto"))
        os.unlink(os.path.join(wants, "overseer-repo.service"))
        # A configuration that is broken by now is no reason to keep the unit.
        with open(os.path.join(top, ".overseer/config.toml"), "w", encoding="utf-8") as f:
            f.write("broken")
        self.install(top, "--remove")
        self.assertFalse(os.path.exists(file))
        self.assertIn("overseer config check", self.install(top, code=2))
        self.assertFalse(os.path.exists(file))


class Manager:
    """As much of systemd as a service of Type=notify sees of it."""

    def __init__(self, case, unit, env):
        self.path = os.path.join(case.root, "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.settimeout(PATIENCE)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.socket.bind(self.path)
        case.addCleanup(self.socket.close)
        self.words = case.words(unit["Command Line"][0])
        self.folder = unit["WorkingDirectory"][0]
        microseconds = int(re.fullmatch("([0-9]+)ms", unit["WatchdogSec"][0])[1]) * 1000
        self.env = {**env, **dict(pair.split("=", 1) for pair in unit["Environment"]), "NOTIFY_SOCKET": self.path,
                    "WATCHDOG_USEC": str(microseconds)}
        self.process = None

    def start(self):
        # WATCHDOG_PID is the process that is to beat: the one that becomes the daemon.
        self.process = subprocess.Popen(["sh", "-c", 'export WATCHDOG_PID=$$; exec "$@"', "sh", *self.words],
                                        env=self.env, cwd=self.folder, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def heard(self, wanted):
        """Waits for a line of what the main process says; with NotifyAccess=main nobody else is listened to."""
        while True:
            message, said_by, _, _ = self.socket.recvmsg(65536, socket.CMSG_SPACE(12))
            pid = struct.unpack("3i", said_by[0][2])[0]
            if pid != self.process.pid:
                raise AssertionError(f"{message} came from process {pid}, not from {self.process.pid}")
            if wanted in message.decode().split("\n"):
                return

    def stop(self):
        self.process.terminate()
        self.heard("STOPPING=1")
        return self.process.wait(PATIENCE)


class Service(ServiceCase):
    def test_as_systemd_would_run_it(self):
        """Up, alive, down; and a run that the daemon's restart does not touch."""
        site = self.site('[watch]\nheartbeat_timeout = "300ms"\n', agent=(
            'env > "$HOME/env"; echo here > "$HOME/g.here"; read x < "$HOME/g.go"; echo x > x\n'))
        gate = site.gate("g")
        self.env["HOME"] = site.root
        unit = self.understood(self.installed(site.repo))
        self.assertEqual((unit["WatchdogSec"], unit["KillMode"]), (["300ms"], ["process"]))
        manager = Manager(self, unit, site.env)
        manager.start()
        site.daemon = manager.process
        manager.heard("READY=1")
        for _ in range(5):
            manager.heard("WATCHDOG=1")
        self.assertIn("overseer down", self.install(site.repo))
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        gate.wait()
        site.wait_type("run.started")
        with open(os.path.join(site.root, "env"), encoding="utf-8") as f:
            self.assertNotRegex(f.read(), "(?m)^(NOTIFY_SOCKET|WATCHDOG_)")
        # What stopping a unit with KillMode=process does: the main process alone.
        self.assertEqual(manager.stop(), 0)
        manager.start()
        site.daemon = manager.process
        manager.heard("READY=1")
        gate.go()
        site.wait_goal(goal)
        self.assertEqual(len(site.runs()), 1)
        manager.heard("WATCHDOG=1")
        self.assertEqual(manager.stop(), 0)
        site.daemon = None

    def test_statuses_that_a_restart_cannot_mend(self):
        top = self.store("repo")
        unit = self.understood(self.installed(top))
        with open(os.path.join(top, ".overseer/config.toml"), "w", encoding="utf-8") as f:
            f.write("broken")
        done = subprocess.run(self.words(unit["Command Line"][0]), env=self.env, cwd=top, capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("config.toml", done.stderr)


class Document(ServiceCase):
    """What docs/watch.md says is what the programs do."""

    def setUp(self):
        super().setUp()
        with open(os.path.join(ROOT, "docs/watch.md"), encoding="utf-8") as f:
            self.text = f.read()

    def test_exit_statuses_and_options(self):
        with open(os.path.join(ROOT, "src/data/message/vital.h"), encoding="utf-8") as f:
            vital = f.read()
        for table, title in (("DAEMON_EXITS", "| of the daemon"), ("WATCH_EXITS", "| of `overseer watch`")):
            rows = re.search(rf"#define {table}\(X\)((?:.*\\\n)+.*)", vital)[1]
            told = re.findall(r"^\| (\d+) \|", self.text.split(title)[1].split("\n\n")[0], re.M)
            self.assertEqual(set(re.findall(r"X\(\w+, (\d+),", rows)) - set(told), set(), table)
        options = set(re.findall(r"^\| (`.*?`) \|", self.text.split("## Options")[1].split("##")[0], re.M))
        named = set(re.findall(r"`(\w+)`", " ".join(options)))
        with open(os.path.join(ROOT, "docs/configuration.md"), encoding="utf-8") as f:
            known = set(re.findall(r"^\| `(\w+)`", f.read().split("## [watch]")[1].split("\n## ")[0], re.M))
        self.assertEqual(named, known)

    def test_example(self):
        top = self.store("repo", re.search("```toml\n(.*?)```", self.text, re.S)[1] + '[agents.claude]\nformat = "claude"\n')
        done = subprocess.run([CLI, "config", "check", "--dir", top], env=self.env, capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stdout)

    def watch(self, site, *args):
        process = subprocess.Popen([CLI, *args], cwd=site.repo, env=site.env, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(self.end_all, site, process)
        return process

    @staticmethod
    def end_all(site, watchdog):
        """What a failure left: first who would start the daemon again."""
        watchdog.kill()
        watchdog.wait()
        watchdog.stdout.close()
        if os.path.exists(os.path.join(site.dir, "daemon.json")) and alive(site.daemon_json()["pid"]):
            os.kill(site.daemon_json()["pid"], signal.SIGKILL)

    @staticmethod
    def said(watchdog, words):
        """Waits for a line of the watchdog with these words."""
        before = []
        for line in watchdog.stdout:
            if words in line:
                return
            before.append(line)
        raise AssertionError(f"it ended without a word of {words!r}:\n" + "".join(before))

    def test_the_lines(self):
        """Every `overseer` line, in order: each watchdog is ended by the one after it, or by the end."""
        lines = re.findall(r"^overseer (.+?)(?:  .*| (?:takes|writes) .*)?$", self.text, re.M)
        self.assertEqual([line.split()[0] for line in lines],
                         ["watch", "watch", "status", "down", "up"] + 3 * ["install-service"])
        site = self.site('[watch]\nheartbeat_timeout = "2s"\n[auto]\ntask_pool_command = "exit 4"\n', "exit 0\n")
        self.env["HOME"] = site.root
        watchdog = None
        for line in lines:
            words = line.split()
            if words[0] == "watch":
                self.end(watchdog)
                watchdog = self.watch(site, *words)
                self.said(watchdog, "its heart beats")
            elif words[0] == "install-service":
                self.install(site.repo, *words[1:])
            else:
                out = site.cli(*words)
                if words[0] == "status":
                    self.assertIn("watchdog running", out)
                if words[0] == "down":
                    self.said(watchdog, "waiting for the next one")
                if words[0] == "up":
                    self.said(watchdog, "its heart beats")
        self.end(watchdog)
        self.assertFalse(os.path.exists(os.path.join(site.root, ".config/systemd/user/overseer-repo.service")))
        self.assertEqual(site.live_pids(), [])

    def end(self, watchdog):
        if watchdog is not None:
            watchdog.send_signal(signal.SIGINT)
            self.said(watchdog, "Ended, and so did the daemon")
            self.assertEqual(watchdog.wait(PATIENCE), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
