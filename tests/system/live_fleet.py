"""Runs by the thousand that a daemon takes for alive, without a thousand agents.

tests/bench/make_store writes the store of a daemon that has just started them. Here are the folders
that go with it: each run's, whose lock a process of ours holds as a shim would, and each worker's
worktree, as far as it is looked at. Nobody ever writes, so nothing is ever due.
"""

import json
import os
import subprocess
import sys

from harness import BUILD

# Holds the locks of the folders that it is told, then says so and waits for its end.
HOLDER = r"""
import fcntl, os, resource, sys
folders = sys.stdin.readline().split("\0")
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
with open("/proc/self/stat", encoding="ascii") as f:
    start = int(f.read().rsplit(")", 1)[1].split()[19])
held = []
for folder in folders:
    fd = os.open(folder.strip() + "/lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.write(fd, b"%10d %20d\n" % (os.getpid(), start))
    held.append(fd)
print("held", flush=True)
sys.stdin.read()
"""


def make_store(site, live, events=0, tail=0, tasks=10, running=False):
    """What make_store says that it made."""
    done = subprocess.run([os.path.join(BUILD, "tests/bench/make_store"), os.path.join(site.dir, "store.db"), str(live),
                           str(events), str(tail), str(tasks), *(["running"] if running else [])],
                          check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


class LiveFleet:
    """So many assignments in a site whose daemon has not been started yet; needs an agent called a.

    Each has a run that is under way, or, unless `running`, waits a year for its next attempt.
    """

    def __init__(self, site, live, running=True, tasks=10):
        self.made = make_store(site, live, tasks=tasks, running=running)
        self.runs = self.made["runs"] if running else []
        folders = [os.path.join(site.dir, "runs", run) for run in self.runs]
        for folder in folders:
            os.makedirs(folder)
            for name in ("started", "output"):
                with open(os.path.join(folder, name), "w", encoding="ascii"):
                    pass
        for worker in self.made["workers"]:
            self.add_worktree(site, worker)
        self.holder = None
        if running:
            self.hold(site, folders)

    def hold(self, site, folders):
        self.holder = subprocess.Popen([sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       env=site.env, text=True)
        self.holder.stdin.write("\0".join(folders) + "\n")
        self.holder.stdin.flush()
        assert self.holder.stdout.readline() == "held\n"

    @staticmethod
    def add_worktree(site, worker):
        admin = os.path.join(site.repo, ".git", "worktrees", worker)
        tree = os.path.join(site.dir, "worktrees", worker)
        for folder in (admin, tree):
            os.makedirs(folder)
        for name, text in ((f"{tree}/.git", f"gitdir: {admin}"), (f"{admin}/gitdir", f"{tree}/.git"),
                           (f"{admin}/commondir", "../.."), (f"{admin}/HEAD", "ref: refs/heads/main")):
            with open(name, "w", encoding="utf-8") as f:
                f.write(text + "\n")

    def close(self):
        if not self.holder:
            return
        self.holder.stdin.close()
        self.holder.wait()
        self.holder.stdout.close()
