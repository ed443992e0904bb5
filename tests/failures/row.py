"""What the tests of the table of failures share: one test per row of table.toml, and its time to recovery.

A test is marked with the row's id and bears it in its name:

    class Pool(RowCase):
        @row("3")
        def test_3_empty(self):
            ...
            self.injected()        # the failure is there now, or since an event
            ...
            self.recovered(event)  # the event by which everything is well, or a person knows what to do

Time is that between the two. Where OV_FAILURE_TIMES names a file it is appended there, for
`tools/failures-table --times`. Waits are scaled, so it says what the recovery itself costs.
"""

import datetime
import functools
import json
import os
import signal
import subprocess
import sys
import time

SYSTEM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../system")
sys.path.insert(0, SYSTEM)

import harness  # noqa: E402
# Tests get all from here, since harness is in the other folder.
from harness import BUILD, CLI, DAEMON, FAST, PATIENCE, plan, task, wait_gone  # noqa: E402,F401

WATCH = os.path.join(BUILD, "src/watch/overseer-watch")

# Everything that is waited for is short; `supervisor` are further options of that table.
WORKERS = """
[workers]
max = 2
[patrol]
restarts = 2
confirm = "20s"
[retry]
max_attempts = 2
delays = ["10ms", "10ms", "10ms"]
[supervisor]
tick_every = "500ms"
{supervisor}
min_resend_interval = "10ms"
interrupt_grace = "50ms"
stop_grace = "100ms"
[supervisor.backoff]
base = "10ms"
max = "10ms"
"""

# Auto mode: the oldest file is the next task; `odd` is run first, `empty-code` is how it says that there is none.
POOL = r"""
cd "$HOME" || exit 9
[ ! -e odd ] || . ./odd
next=$(ls tasks | head -n 1)
[ -n "$next" ] || exit "$(cat empty-code)"
mkdir -p given && mv "tasks/$next" given/ && cat "given/$next"
"""
# Its work is a file, which tasks of the same name share.
MAKER = r"""
name=$(grep -o 'Make [a-z]*' | head -n 1 | cut -d ' ' -f 2)
echo "$name" > "$name.txt"
git add -A && git commit -qm "$name" || exit 0
"""
# Who is asked to mend keeps what he was told, and mends whatever it is.
MEND = r"""
cat > "$HOME/told"
rm -f "$HOME/odd"
git diff --quiet || git commit -qam "of a person"
"""
AUTO = FAST + """
[auto]
task_pool_command = "sh $HOME/pool.sh"
concurrency = 1
pool_wait = "50ms"
pool_wait_max = "400ms"
task_pool_timeout = "1s"
task_pool_retries = 2
task_pool_retry_wait = "100ms"
[watch]
remediation_command = "sh $HOME/mend.sh"
restart_cooldown = "10ms"
"""


def row(number):
    """Of the one test of that row."""
    def mark(test):
        assert test.__name__.startswith(f"test_{number}_"), test.__name__

        @functools.wraps(test)
        def measured(self):
            self.begin = self.end = None
            test(self)
            self.assertTrue(self.begin and self.end, "the time to recovery was not measured")
            self.assertGreaterEqual(self.end, self.begin)
            if os.environ.get("OV_FAILURE_TIMES"):
                with open(os.environ["OV_FAILURE_TIMES"], "a", encoding="utf-8") as f:
                    f.write(json.dumps({"row": number, "seconds": round(self.end - self.begin, 3)}) + "\n")
        return measured
    return mark


def when(event):
    """An event's time, or now."""
    if event is None:
        return time.time()
    return datetime.datetime.fromisoformat(event["at"].replace("Z", "+00:00")).timestamp()


class RowCase(harness.SiteCase):
    maxDiff = None

    def injected(self, event=None):
        self.begin = when(event)

    def recovered(self, event=None):
        self.end = when(event)

    def inbox(self, site):
        return site.call("inbox.list")["inbox"]

    def asked(self, site, kind, after=0):
        """The event by which a person is asked something of this kind."""
        return site.wait_event(lambda e: e["type"] == "escalation.opened" and e["data"]["kind"] == kind, after)

    def subjects(self, site):
        """Of what is on the target since the first commit, oldest first."""
        return site.git("log", "--reverse", "--format=%s", "main").split("\n")[1:-1]

    def workers(self, site):
        return {w["name"]: w["status"] for w in site.call("worker.list")["workers"]}

    def mended(self, site, node, keep=False):
        """A person does what the inbox says: the task is done after all."""
        if not keep and os.path.exists(os.path.join(site.root, f"do.{node}")):
            os.unlink(os.path.join(site.root, f"do.{node}"))
        after = site.seq()
        site.cli("work", "unblock", node, "--reason", "it is mended")
        site.wait_type("node.status", after=after, node=node, to="done")
        self.assertEqual(site.git("show", f"main:{node}.txt"), f"{node}\n")
        self.assertEqual(self.inbox(site), [])

    def watch(self, site, *args, **env):
        """A watchdog for the site's daemon; ended, with that, after the test."""
        watch = Watch(site, args, env)
        self.addCleanup(watch.close)
        return watch


class AutoCase(RowCase):
    """Auto mode, and the watchdog that has it mended."""

    def auto_site(self, config=""):
        site = self.site(AUTO + config, MAKER)
        for name, text in (("pool.sh", POOL), ("mend.sh", MEND), ("empty-code", "0\n"), ("tasks/.keep", "")):
            site.write("../" + name, text)
        return site

    def watched(self, site, *sets):
        """Its daemon, under a watchdog; returns that when all is well."""
        watch = self.watch(site, "--auto", *(word for set in sets for word in ("--set", set)))
        watch.wait_act("healthy")
        return watch

    def remediated(self, site, watch, count, words):
        """The daemon failed for the count-th time, said so, ended gracefully, was mended and is well again."""
        self.assertIn(words, watch.wait_act("failed", count)["text"])
        watch.wait_act("remediated", count)
        watch.wait_act("healthy", count + 1)
        failed = [e for e in site.events() if e["type"] == "daemon.failed"][-1]
        self.assertIn(words, failed["text"])
        self.assertIn(words, site.home("told"))
        health = [json.loads(line) for line in site.read(".overseer/health.jsonl").splitlines()]
        self.assertEqual([(h["kind"], h["text"]) for h in health if h["kind"] == "stopped"], [("stopped", "20")] * count)
        self.assertIn(words, [h for h in health if h["kind"] == "failed"][-1]["text"])
        self.assertIn("Entering remediation", watch.said())
        self.assertIn(words, site.cli("explain", "daemon"))


class Watch:
    """`overseer watch` in the site's repository; what it says goes to a file."""

    def __init__(self, site, args, env=None):
        self.site = site
        self.log = os.path.join(site.root, "watch.log")
        self.env = env or {}
        self.start(args)

    def start(self, args):
        site = self.site
        site.log = os.path.join(site.dir, "logs", "daemon.log")
        site.env.update({"OVERSEERD": DAEMON, "OVERSEER_WATCH": WATCH,
                         "PATH": os.path.dirname(CLI) + ":" + os.environ["PATH"], **self.env})
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([CLI, "watch", *args], cwd=site.repo, env=site.env,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def acts(self, kind=None):
        """What it did, by its own log."""
        try:
            with open(os.path.join(self.site.dir, "logs/watch.jsonl"), encoding="utf-8") as f:
                found = [json.loads(line) for line in f if line.endswith("\n")]
        except FileNotFoundError:
            return []
        return [act for act in found if kind in (None, act["kind"])]

    def wait_act(self, kind, count=1):
        """Its count-th act of that kind."""
        end = time.monotonic() + PATIENCE
        while len(self.acts(kind)) < count:
            if self.process.poll() is not None and len(self.acts(kind)) < count:
                raise AssertionError(f"it ended with {self.process.returncode}: {self.said()}")
            if time.monotonic() > end:
                raise AssertionError(f"no {kind}: {self.said()}\n{self.daemon_log()}")
            time.sleep(0.02)
        return self.acts(kind)[count - 1]

    def daemon_log(self):
        return self.site.daemon_log() if os.path.exists(self.site.log) else ""

    def ended(self):
        return self.process.wait(PATIENCE)

    def close(self):
        """The watchdog first, or it would start another daemon."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.end_daemon()

    def end_daemon(self):
        try:
            daemon = self.site.daemon_json()
            with open(f"/proc/{daemon['pid']}/stat", encoding="ascii") as f:
                if int(f.read().rsplit(")", 1)[1].split()[19]) != daemon["start_time"]:
                    return
            os.kill(daemon["pid"], signal.SIGKILL)
            harness.wait_gone(daemon["pid"])
        except (OSError, ValueError, KeyError):
            pass
