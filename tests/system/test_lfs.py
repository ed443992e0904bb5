#!/usr/bin/env python3
"""A repository with large files (git-lfs), end to end: whoever adds one, the user's checkout gets its content.

With the real git-lfs; where it is not installed, the tests are skipped.
"""

import glob
import hashlib
import os
import shutil
import subprocess
import unittest

from harness import plan, task
from test_fence import NOBODY, FenceCase

# Two large files, one committed and one left; those of before must be there, for a checkout of its own, too.
WORK = r"""
set -e
for sum in *.sum; do sha256sum --quiet -c "$sum"; done
rm base.bin; git checkout -q -- base.bin; sha256sum --quiet -c base.sum
n=$OVERSEER_NODE
head -c 70000 /dev/urandom > "$n-mine.bin"; sha256sum "$n-mine.bin" > "$n-mine.sum"
git add -A; git commit -qm "work of $n"
head -c 80000 /dev/urandom > "$n-left.bin"; sha256sum "$n-left.bin" > "$n-left.sum"
plant() { own=$(git rev-parse --absolute-git-dir)/lfs/objects/$(echo "$1" | cut -c1-2)/$(echo "$1" | cut -c3-4); mkdir -p "$own"; cat > "$own/$1"; }
"""
PLANTED = hashlib.sha256(b"planted").hexdigest()


class Lfs(FenceCase):
    user = None

    def setUp(self):
        super().setUp()
        if not shutil.which("git-lfs"):
            self.skipTest("git-lfs: it is not installed")

    def large(self, script, level):
        site = self.fenced(WORK + script, level=level)
        site.git("lfs", "install", "--local")
        site.git("lfs", "track", "*.bin")
        with open(os.path.join(site.repo, "base.bin"), "wb") as f:
            f.write(os.urandom(60000))
        site.write("base.sum", self.sum(site, "base.bin"))
        site.git("add", "-A", "--", ":!.overseer")
        site.git("commit", "-qm", "large files")
        return site

    @staticmethod
    def sum(site, name):
        return subprocess.run(["sha256sum", name], cwd=site.repo, check=True, capture_output=True, text=True).stdout

    @staticmethod
    def storage(site):
        return glob.glob(os.path.join(site.repo, ".git/lfs/objects/*/*/*"))

    def check(self, site, files):
        sums = sorted(glob.glob("*.sum", root_dir=site.repo))
        self.assertEqual(len(sums), files)
        subprocess.run(["sha256sum", "--quiet", "-c", *sums], cwd=site.repo, check=True)
        for name in sums:  # in git they are pointers
            self.assertIn("oid sha256:", site.git("show", "main:" + name.replace(".sum", ".bin")))
        self.assertIn("Git LFS fsck OK", site.git("lfs", "fsck"))
        self.assertEqual(site.git("status", "--porcelain"), "")
        for path in self.storage(site):
            with open(path, "rb") as f:
                self.assertEqual(hashlib.sha256(f.read()).hexdigest(), os.path.basename(path))
            self.assertEqual(os.stat(path).st_uid, site.user if site.user is not None else os.geteuid())

    def test_the_content_arrives(self):
        for level in ("fence", "none"):
            with self.subTest(level=level):
                site = self.large(f"echo other | plant {PLANTED}\n", level)
                self.finish(site, task("T1"), task("T2", ["T1"]), task("T3", ["T2"]))
                self.check(site, 7)
                self.assertEqual(len(self.storage(site)), 7)
                if level == "fence":  # nothing of it is a file that the agent can write
                    self.assertEqual({os.stat(path).st_nlink for path in self.storage(site)}, {1})

    def test_a_pointer_that_would_remove_content_is_refused(self):
        """git-lfs removes from its storage what has another size than a pointer says."""
        for level in ("fence", "none"):
            with self.subTest(level=level):
                site = self.large("git show HEAD:base.bin | sed 's/^size .*/size 5/' > base.bin; rm -f *left*\n", level)
                site.up()
                site.call("goal.create", title="Test", plan=plan(task("T1")))
                site.wait_event(lambda e: "base.bin" in str(e["data"]) and "git-lfs" in str(e["data"]))
                site.down()
                self.check(site, 1)
                self.assertIn(self.sum(site, "base.bin").split()[0], [os.path.basename(path) for path in self.storage(site)])


class LfsUser(Lfs):
    """The same where the daemon is an ordinary user's."""

    user = NOBODY

    def large(self, script, level):
        self.user = None
        site = super().large(script, level)
        self.user = NOBODY
        site.become(NOBODY)
        return site


if __name__ == "__main__":
    unittest.main(verbosity=2)
