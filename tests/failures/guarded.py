"""A site under a watchdog, for the failures that one of them has to see: configuration, agents, a remedy.

What mends is a shell script in the site's home, so that each test writes down what it would do.
"""

import json
import os
import subprocess
import time

from row import RowCase

from harness import FAST, PATIENCE, SANITIZED

COMMIT = r"""
echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "work of $OVERSEER_NODE"
"""
# It stays until it is told to go.
GATED = r"""
echo "$OVERSEER_RUN $$ $PPID" > "$HOME/g.here"
read x < "$HOME/g.go"
""" + COMMIT
# Everybody is given more time where everything is slow; what is checked is the order of things.
SLOW = 3 if SANITIZED else 1


def watch_config(home, **options):
    """[watch] with a remedy that is a script, and options in place of those here (None: left out)."""
    all_of_them = {"registration_timeout": "30s", "grace": "10s", "remediation_timeout": "30s",
                   "remediation_command": f"sh {home}/mend.sh", **options}
    lines = [f"{name} = {json.dumps(value)}\n" for name, value in all_of_them.items() if value is not None]
    return "[watch]\n" + "".join(lines)


def started(daemon):
    """When the process of a daemon.json or watch.json began, or None when it is gone."""
    try:
        with open(f"/proc/{daemon['pid']}/stat", encoding="ascii") as f:
            fields = f.read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def stranger(case):
    """A process that has nothing to do with any of it, and who it is."""
    process = subprocess.Popen(["sleep", "1000"])
    case.addCleanup(process.wait)
    case.addCleanup(process.kill)
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
        boot = f.read().strip()
    return process, {"pid": process.pid, "start_time": started({"pid": process.pid}), "boot_id": boot,
                     "instance_id": "0123456789abcdef"}


class GuardedCase(RowCase):
    leaks = False

    def guarded_site(self, agent=COMMIT, mend="exit 0\n", config=FAST, **options):
        """Not yet watched. mend: what the remedy does; it notes each call in `mended` first."""
        site = self.site(config, agent)
        self.add_watch(site, mend, **options)
        return site

    def add_watch(self, site, mend="exit 0\n", **options):
        site.env["HERE"] = site.dir
        site.write("../mend.sh", f'echo "$$" >> "{site.root}/mended"\ncat > "{site.root}/prompt"\ncd "{site.root}"\n' + mend)
        with open(os.path.join(site.dir, "config.toml"), "a", encoding="utf-8") as f:
            f.write(watch_config(site.root, **options))

    def remedies(self, site):
        """How often the remedy was called."""
        try:
            return len(site.home("mended").split())
        except FileNotFoundError:
            return 0

    def until(self, fact, what):
        """Waits for something that no event tells."""
        end = time.monotonic() + PATIENCE
        while not fact():
            if time.monotonic() > end:
                self.fail(f"waited in vain: {what}")
            time.sleep(0.01)

    def daemon(self, site):
        """The identity of the daemon that is registered and lives, or None."""
        try:
            daemon = site.daemon_json()
        except (OSError, ValueError):
            return None
        return daemon if started(daemon) == daemon["start_time"] else None

    def failures(self, watch):
        return [act["failure"] for act in watch.acts("failed")]

    def gave_up(self, watch, status):
        """It ended since a person is needed, and said why and what to do."""
        self.assertEqual(watch.ended(), status, watch.said())
        saved = self.state(watch.site)
        self.assertEqual(saved["state"], "stopped")
        self.assertTrue(saved["reason"])
        self.assertIn(saved["reason"], watch.said())
        self.assertIn("overseer watch", watch.said())

    def state(self, site):
        with open(os.path.join(site.dir, "watch.json"), encoding="utf-8") as f:
            return json.load(f)
