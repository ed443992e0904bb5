"""What must hold after a crash, whatever it hit: from the log, from git, and from the processes."""

import concurrent.futures
import os
import subprocess
import unittest

import harness

# Sites are idle most of the time (ticks are apart, agents start), so more of them than there are cores.
WORKERS = int(os.environ.get("OV_CRASH_JOBS", "") or (2 if harness.SANITIZED else 8))
T = unittest.TestCase()
T.maxDiff = None


def one_in(check, full, fenced):
    """Which share of its points a test tries: all in `make soak`, fewer where another run tries them without a fence."""
    return harness.sized(check, fenced if os.environ.get("OV_SANDBOX") == "fence" else full, 1)


class Beside:
    """Runs jobs beside each other. Each test waits for its own."""

    def __init__(self):
        self.pool = concurrent.futures.ThreadPoolExecutor(WORKERS)

    def start(self, job, *args):
        return self.pool.submit(job, *args)


def lines(site, name):
    """A file that agents appended to in their $HOME."""
    try:
        return site.home(name).split()
    except FileNotFoundError:
        return []


def find_goal(site, title):
    return next((g["id"] for g in site.call("goal.list")["goals"] if g["title"] == title), None)


def goal_kept(site, goal, names, log, silent=()):
    """`names`: {node: the subject of its commit}; `log`: all events; `silent`: nodes whose agents report nothing."""
    nodes = {n["id"]: n for n in site.call("work.list", goal=goal)["nodes"]}
    T.assertEqual(sorted(nodes), sorted(names))
    for node in nodes.values():
        T.assertEqual(node["status"], "done", node)
    subjects = site.git("log", "--format=%s", "main").split("\n")
    for node, subject in names.items():
        T.assertEqual(subjects.count(subject), 1, f"{node} is not on main exactly once: {subjects}")
    events = [e for e in log if e.get("goal") == goal]
    reports = [e["data"]["update"]["summary"] for e in events if e["type"] == "node.reported"]
    ended = [e["run"] for e in events if e["type"] == "run.ended" and e["data"]["exit_code"] == 0]
    quiet = [e["run"] for e in events if e["type"] == "run.created" and e["node"] in silent]
    T.assertEqual(sorted(reports), sorted(set(ended) - set(quiet)), "each report is taken once")
    return events


def runs_once(site, log):
    """Every agent that was started was meant to be, and once."""
    started = lines(site, "started")
    T.assertEqual(len(started), len(set(started)), f"a dispatch ran twice: {started}")
    runs = {e["run"]: e["data"]["dispatch"] for e in log if e["type"] == "run.created"}
    T.assertLessEqual(set(started), set(runs), "a run was started that was never intended")
    T.assertEqual(len(set(runs.values())), len(runs))
    boxes = {e["data"].get("sandbox", harness.SANDBOX) for e in log if e["type"] == "run.ended"}
    T.assertLessEqual(boxes, {harness.SANDBOX}, "what every run was in")


def work_kept(site):
    """Whatever an agent wrote is reachable from some ref."""
    reachable = site.git("rev-list", "--objects", "--all")
    for run in lines(site, "started"):
        T.assertIn(f"work/{run}.txt", reachable, f"the work of {run} is unreachable")


def marked(site):
    """Processes that work for this site: their environment says so. {pid: command line}"""
    found = {pid: b"run" for pid in site.live_pids()}
    needle = site.root.encode()
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/environ", "rb") as f:
                env = f.read()
            with open(f"/proc/{name}/cmdline", "rb") as f:
                line = f.read()
        except (OSError, NotADirectoryError):
            continue
        if any(e.startswith(b"HOME=" + needle) for e in env.split(b"\0")) and line:
            found[int(name)] = line.replace(b"\0", b" ")
    return found


def nothing_left(site):
    """With its daemon stopped: no process, no lock, no half object."""
    T.assertIsNone(site.daemon)
    left = marked(site)
    harness.wait_gone(*left)  # what is just ending may take its time; anything else is an orphan
    locks = subprocess.run(["find", ".git", "-name", "*.lock"], cwd=site.repo, capture_output=True, text=True)
    T.assertEqual(locks.stdout, "")
    site.git("fsck", "--no-dangling", "--no-progress")
