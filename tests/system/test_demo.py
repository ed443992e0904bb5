#!/usr/bin/env python3
"""The demo and the README, as a newcomer would run them."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

import harness
from harness import SiteCase

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Demo(unittest.TestCase):
    def test_demo(self):
        tmp = tempfile.mkdtemp(prefix="overseer-test-")
        self.addCleanup(shutil.rmtree, tmp, ignore_errors=True)
        env = {**os.environ, "TMPDIR": tmp, "HOME": tmp}
        done = subprocess.run([os.path.join(ROOT, "examples/demo/run"), harness.BUILD], env=env, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=harness.PATIENCE * 3)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"Done in \d+ s: 5 tasks, 6 runs, 5 commits on main, nothing lost\.")
        self.assertIn("Hello, Ada!\nGoodbye, Ada.\n", done.stdout)
        self.assertRegex(done.stdout, r"t2 +failed \(run, 1x\): the agent (was ended by signal 11|ended with exit status 139)")
        self.assertIn("uncommitted work was committed for it", done.stdout)
        # The three commands to look further work, with the daemon gone.
        commands = re.findall(r"^  (\S*(?:overseer|git) .*?)  +\S", done.stdout, re.M)
        self.assertEqual(len(commands), 3, done.stdout)
        for command in commands:
            looked = subprocess.run(["sh", "-c", command], env=env, capture_output=True, text=True)
            self.assertEqual(looked.returncode, 0, command + "\n" + looked.stderr)
            self.assertTrue(looked.stdout)
        for name in os.listdir("/proc"):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as f:
                    self.assertNotIn(tmp.encode(), f.read(), "the demo left something running")
            except (FileNotFoundError, NotADirectoryError, ProcessLookupError):
                pass


class Readme(SiteCase):
    def test_first_hour(self):
        """Every `overseer` line of the README's first hour, in order, in a scratch repository."""
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as f:
            text = f.read()
        lines = re.findall(r"^    (overseer .+?)(?:  .*)?$", text, re.M)
        self.assertGreaterEqual(len(lines), 7, lines)
        site = self.site()
        os.remove(os.path.join(site.dir, "config.toml"))
        shutil.copy(os.path.join(ROOT, "examples/demo/plan.json"), site.repo)
        bin_dir = os.path.join(site.root, "bin")
        os.makedirs(bin_dir)
        os.symlink(harness.CLI, os.path.join(bin_dir, "overseer"))
        # It is found, but has no model to do the toy task with.
        site.write("../bin/claude", "#!/bin/sh\necho '2.1.325 (Claude Code)'\n")
        os.chmod(os.path.join(bin_dir, "claude"), 0o755)
        # Nothing to do now.
        site.write("next-task", "#!/bin/sh\nexit 4\n")
        os.chmod(os.path.join(site.repo, "next-task"), 0o755)
        env = {**site.env, "PATH": bin_dir + ":" + site.env["PATH"], "OVERSEERD": harness.DAEMON}
        for line in lines:
            # What goes on for ever is given a moment, must then still be there, and ends when it is asked to.
            for_ever = "--follow" in line or line.startswith("overseer watch ")
            command = f"timeout -s INT 1 {line}" if for_ever else line
            done = subprocess.run(["sh", "-c", command], cwd=site.repo, env=env, capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, timeout=harness.PATIENCE)
            want = 124 if for_ever else 1 if "agent test" in line else 0
            self.assertEqual(done.returncode, want, f"{line}\n{done.stdout}{done.stderr}")
            if "agent test" in line:
                self.assertIn("claude cannot be relied on", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
