#!/usr/bin/env python3
"""Budgets of the daemon as a whole: idle, start, memory, the command line.

usage: bench_daemon.py BUILD [--quick | --full]

Prints one JSON line per figure; the exit status says whether every budget was kept. --quick runs
everything at a small size, to see that it works; --full measures memory with as many live runs as
the configuration allows.
"""

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("build")
parser.add_argument("--quick", action="store_true")
parser.add_argument("--full", action="store_true")
parser.add_argument("--only", choices=["idle", "start", "memory", "status"])
options = parser.parse_args()

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(options.build)
os.environ["OV_BUILD"] = BUILD
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, "..", "system"))
from harness import CLI, SHIM, Site, plan, task  # noqa: E402  (needs OV_BUILD)

missed = False


def report(name, value, unit, budget=None):
    global missed
    ok = budget is None or value <= budget
    missed |= not ok
    print(json.dumps({"name": name, "value": round(value, 3), "unit": unit, "budget": budget, "ok": ok}), flush=True)


def make_store(site, live, events, tail):
    done = subprocess.run([os.path.join(BUILD, "tests/bench/make_store"), os.path.join(site.dir, "store.db"),
                           str(live), str(events), str(tail)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def proc(pid, name):
    with open(f"/proc/{pid}/{name}", encoding="ascii") as f:
        return f.read()


def status_field(pid, field, name="status"):
    for line in proc(pid, name).split("\n"):
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise KeyError(field)


def resident_mb(pid):
    return status_field(pid, "VmRSS") / 1024


def cpu_s(pid):
    """CPU time of a process without its children."""
    fields = proc(pid, "stat").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def switches(pid):
    return status_field(pid, "voluntary_ctxt_switches")


def children(pid):
    """Children that live, and time spent in those that ended: any subprocess shows in one of them."""
    fields = proc(pid, "stat").rsplit(")", 1)[1].split()
    return proc(pid, f"task/{pid}/children").split(), fields[8], fields[10], fields[13], fields[14]


AGENT = '[defaults]\nagent = "a"\n[agents.a]\ncommand = ["true"]\n'


def idle():
    """A thousand assignments that wait: nothing happens, and nothing is done."""
    site = Site(AGENT)
    try:
        made = make_store(site, 1000, 0, 0)
        site.up()
        pid = site.daemon.pid
        status = site.call("status.get")
        assert len(status["running"]) >= 1000, f"only {len(status['running'])} assignments of {made}"
        time.sleep(1)  # the answer above is over, and its connection closed
        family, woken = children(pid), switches(pid)
        time.sleep(2 if options.quick else 10)
        woken = switches(pid) - woken
        same = children(pid) == family
        report("idle_1000_assignments_wakeups", woken, "wake-ups in 10 s", 0)
        report("idle_1000_assignments_subprocesses", 0 if same else 1, "processes in 10 s", 0)
        report("idle_1000_assignments_resident", resident_mb(pid), "MB", 16)
    finally:
        site.close()


def start_once(site):
    """Seconds of CPU and of wall time until the daemon says that it is ready: the first tick is done."""
    begin = time.monotonic()
    site.up()
    wall, cpu = time.monotonic() - begin, cpu_s(site.daemon.pid)
    peak = status_field(site.daemon.pid, "VmHWM") / 1024
    site.kill()
    return cpu, wall, peak


def start():
    """After kill -9, with a long log: from a snapshot and from the first event on."""
    live, events = (100, 20000) if options.quick else (10000, 1000000)
    rounds = 1 if options.quick else 3
    site = Site(AGENT)
    store = os.path.join(site.dir, "store.db")
    try:
        begin = time.monotonic()
        # As many events after the snapshot as the daemon lets come together: see snapshot_due.
        made = make_store(site, live, events, events // 11)
        print(f"# store of {made} made in {time.monotonic() - begin:.0f} s, "
              f"{os.path.getsize(store) >> 20} MiB", file=sys.stderr)
        site.up()
        site.kill()
        with_snapshot = [start_once(site) for _ in range(rounds)]
        without = []
        for _ in range(rounds):
            with sqlite3.connect(store) as db:
                db.execute("DELETE FROM snapshot")
            db.close()
            without.append(start_once(site))
        report("start_with_snapshot_cpu", min(with_snapshot)[0], "s", 1)
        report("start_with_snapshot_wall", min(w for _, w, _ in with_snapshot), "s")
        report("start_with_snapshot_peak", max(p for _, _, p in with_snapshot), "MB")
        report("start_without_snapshot_cpu", min(without)[0], "s", 10)
        report("start_without_snapshot_wall", min(w for _, w, _ in without), "s")
    finally:
        site.close()


def memory():
    """Live runs: real shims, real agents that wait, real worktrees."""
    runs = 8 if options.quick else 256 if options.full else 64
    site = Site(f"[workers]\nmax = {runs}\n", agent='echo ready > "$HOME/gate.here"\nread x < "$HOME/gate.go"\n')
    site.configure(site.read(".overseer/config.toml") + f"concurrency = {runs}\n")
    try:
        gate = site.gate("gate")
        site.up()
        pid = site.daemon.pid
        site.call("status.get")
        empty = resident_mb(pid)
        for first in range(0, runs, 7):
            goal_plan = plan(*[task(f"T{i}") for i in range(1, min(7, runs - first) + 1)])
            site.call("goal.create", title=f"Runs from {first} on", plan=goal_plan)
        for _ in range(runs):
            gate.wait()
        while sum(run["status"] == "running" for run in site.runs()) < runs:
            time.sleep(0.05)
        each = (resident_mb(pid) - empty) / runs
        shims = [p for p in site.live_pids() if os.path.basename(os.readlink(f"/proc/{p}/exe")) == "overseer-run"]
        assert len(shims) == runs, f"{len(shims)} shims for {runs} runs"
        own = [status_field(p, "Pss", "smaps_rollup") for p in shims]
        whole = [status_field(p, "VmRSS") for p in shims]
        report("daemon_resident_empty", empty, "MB", 16)
        report("daemon_resident_per_run", each * 1024, "KB")
        report(f"daemon_1000_runs_from_{runs}", empty + each * 1000, "MB", 64)
        report("shim_resident", sum(whole) / len(whole), "KB")
        report("shim_resident_own_share", sum(own) / len(own), "KB")
    finally:
        site.close()


def status():
    """The command line against a bare client, and the shim, in bench_status."""
    global missed
    site = Site(AGENT)
    try:
        site.up()
        done = subprocess.run([os.path.join(BUILD, "tests/bench/bench_status"), CLI, SHIM, site.dir,
                               "5" if options.quick else "201"], env=site.env, check=False)
        missed |= done.returncode != 0
    finally:
        site.close()


for bench in [idle, status, memory, start]:
    if not options.only or options.only == bench.__name__:
        bench()
sys.exit(1 if missed else 0)
