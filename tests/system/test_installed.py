"""The programs where `make install` puts them: each finds the others there, and none of the build's."""

import os
import shutil
import subprocess
import tempfile
import unittest

from harness import BUILD, PATIENCE, SiteCase, plan, task
from watched import Watchdog, end_watching, registered

MESON = "/usr/bin/meson" if os.path.exists("/usr/bin/meson") else "meson"


def program(pid):
    return os.readlink(f"/proc/{pid}/exe")


class Installed(SiteCase):
    leaks = False

    def install(self):
        top = os.path.realpath(tempfile.mkdtemp(prefix="overseer-test-"))
        self.addCleanup(shutil.rmtree, top, ignore_errors=True)
        done = subprocess.run([MESON, "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", top],
                              capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = [os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names]
        return top, {os.path.basename(path): path for path in found}

    def test_the_watchdog_starts_the_daemon_and_the_daemon_an_agent(self):
        top, at = self.install()
        self.assertEqual(sorted(at), ["overseer", "overseer-run", "overseer-watch", "overseerd"])
        self.assertTrue(all(path.startswith(top) for path in at.values()))
        self.assertEqual({os.path.basename(os.path.dirname(at[name])) for name in ("overseer", "overseerd")}, {"bin"})
        # Its parent is the shim.
        site = self.site("", agent='readlink /proc/$PPID/exe > "$HOME/shim"\ngit commit -q --allow-empty -m x\n')
        site.watchdogs = []
        self.addCleanup(end_watching, site)
        site.env["PATH"] = os.path.dirname(at["overseer"]) + ":" + site.env["PATH"]
        w = Watchdog(site, None, argv=["overseer", "watch"])
        w.wait("The daemon is up and its heart beats")
        self.assertEqual(program(w.process.pid), at["overseer-watch"])
        self.assertEqual(program(registered(site)["pid"]), at["overseerd"])
        site.call("goal.create", title="look around", plan=plan(task("a")))
        site.wait_type("run.ended")
        self.assertEqual(site.home("shim").strip(), at["overseer-run"])
        w.interrupt()
        self.assertEqual(w.ended(), 0, w.text)


if __name__ == "__main__":
    unittest.main()
