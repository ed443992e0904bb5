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
import select
import sqlite3
import subprocess
import sys
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("build")
parser.add_argument("--quick", action="store_true")
parser.add_argument("--full", action="store_true")
parser.add_argument("--only", choices=["idle", "start", "memory", "status", "goals", "explain", "copies",
                                      "watchdog"])
options = parser.parse_args()

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(options.build)
os.environ["OV_BUILD"] = BUILD
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, "..", "system"))
from harness import CLI, DAEMON, SHIM, Site, plan, task  # noqa: E402  (needs OV_BUILD)
from live_fleet import LiveFleet, make_store  # noqa: E402

missed = False


def report(name, value, unit, budget=None, at_least=False):
    global missed
    ok = budget is None or (value >= budget if at_least else value <= budget)
    missed |= not ok
    print(json.dumps({"name": name, "value": round(value, 3), "unit": unit, "budget": budget, "ok": ok}), flush=True)


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


def cpu_ns(pid):
    """The same, finely."""
    return int(proc(pid, "schedstat").split()[0])


def switches(pid):
    return status_field(pid, "voluntary_ctxt_switches")


def children(pid):
    """Children that live, and time spent in those that ended: any subprocess shows in one of them."""
    fields = proc(pid, "stat").rsplit(")", 1)[1].split()
    return proc(pid, f"task/{pid}/children").split(), fields[8], fields[10], fields[13], fields[14]


def quiet(pid, name):
    """Nothing is to be done: how often the daemon wakes up, and whether it starts anything."""
    seconds = 2 if options.quick else 60 if options.full else 15
    time.sleep(1)  # the last answer is over, and its connection closed
    family, woken = children(pid), switches(pid)
    time.sleep(seconds)
    woken = switches(pid) - woken
    same = children(pid) == family
    report(f"{name}_wakeups", woken, f"wake-ups in {seconds} s", 0)
    report(f"{name}_subprocesses", 0 if same else 1, f"processes in {seconds} s", 0)


def answer_ms(site, pid, method, **params):
    """CPU time of the daemon for one answer: the best of some rounds of some calls."""
    connection = site.connect()
    calls, best = 5, 1e9
    try:
        connection.call(method, **params)
        for _ in range(2 if options.quick else 8):
            begin = cpu_ns(pid)
            for _ in range(calls):
                connection.call(method, **params)
            best = min(best, cpu_ns(pid) - begin)
    finally:
        connection.close()
    return best / calls / 1e6


def once(site, method, **params):
    """One call in a process of its own, as the daemon makes it: its result, CPU seconds, wall seconds, peak in MB."""
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n"
    begin = time.monotonic()
    process = subprocess.Popen([DAEMON, "--once", "--dir", site.dir, "--repo", site.repo, "--shim", SHIM],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=site.env)
    process.stdin.write(request.encode())
    process.stdin.close()
    said, peak = b"", 0
    while True:
        # As it runs: what the kernel tells of the dead counts this process too, before the exec.
        try:
            peak = max(peak, status_field(process.pid, "VmHWM"))
        except KeyError:
            pass  # it is ending
        if select.select([process.stdout], [], [], 0.002)[0]:
            piece = os.read(process.stdout.fileno(), 65536)
            if not piece:
                break
            said += piece
    _, process.returncode, usage = os.wait4(process.pid, 0)
    process.stdout.close()
    answer = json.loads(said)
    assert "result" in answer, answer
    return (answer["result"], usage.ru_utime + usage.ru_stime, time.monotonic() - begin, peak / 1024)


AGENT = '[defaults]\nagent = "a"\n[agents.a]\ncommand = ["true"]\n'


def idle_fleet(name, running, budget_mb):
    site = Site('[supervisor]\ntick_every = "1h"\n' + AGENT)
    fleet = None
    try:
        fleet = LiveFleet(site, 1000, running)
        site.up()
        pid = site.daemon.pid
        report(f"{name}_resident_at_start", resident_mb(pid), "MB", budget_mb)
        made = site.seq()
        status = site.call("status.get")
        assert len(status["running"]) == 1000, f"{len(status['running'])} assignments are open"
        quiet(pid, name)
        # After answers about all of them: what these took is given back by now.
        report(f"{name}_resident", resident_mb(pid), "MB", budget_mb)
        report(f"{name}_private", status_field(pid, "Private_Dirty", "smaps_rollup") / 1024, "MB")
        assert site.seq() == made, "something happened"
    finally:
        site.close()
        if fleet:
            fleet.close()


def idle():
    """A thousand assignments that wait, and a thousand runs that say nothing: nothing is done about them."""
    idle_fleet("idle_1000_assignments", False, 16)
    idle_fleet("idle_1000_live_runs", True, 64)


def goals():
    """What is answered about a thousand goals, in the daemon, against one."""
    many = 20 if options.quick else 1000
    took = {}
    for count in (1, many):
        site = Site('[supervisor]\ntick_every = "1h"\n' + AGENT)
        try:
            LiveFleet(site, 7 * count, False, tasks=7)
            site.up()
            pid, before = site.daemon.pid, site.seq()
            took[count] = [answer_ms(site, pid, "status.get"), answer_ms(site, pid, "goal.list")]
            memory_mb = resident_mb(pid)
            assert site.seq() == before, "it was at work meanwhile"
        finally:
            site.close()
    for i, name in enumerate(("status_get", "goal_list")):
        report(f"{name}_1000_goals_cpu", took[many][i], "ms", (50, 10)[i])
        report(f"{name}_1000_goals_vs_1", took[many][i] / took[1][i], "ratio", 1500)
    report("daemon_1000_goals_7000_assignments_resident", memory_mb, "MB", 128)


def explain():
    """A node about which as much is kept as can be."""
    site = Site(AGENT)
    try:
        site.up()
        goal = site.call("goal.create", title="Explained", no_plan=True)["goal"]
        site.call("goal.pause", goal=goal, reason="nothing shall happen but this")
        site.call("plan.apply", goal=goal, plan=plan(task("T1")))
        for i in range(5 if options.quick else 110):
            for status in ("blocked", "queued"):
                site.call("work.update", node=f"{goal}/T1", status=status, reason=f"reason number {i}")
        facts = len(site.call("explain.get", id=f"{goal}/T1")["facts"])
        assert options.quick or facts == 200, f"{facts} facts"
        report("explain_200_facts_cpu", answer_ms(site, site.daemon.pid, "explain.get", id=f"{goal}/T1"), "ms", 20)
    finally:
        site.close()


def copies():
    """The whole store as a document and as a file, by the process that does it."""
    events = 5000 if options.quick else 100000
    site = Site(AGENT)
    try:
        make_store(site, 100, events, 0)
        base = min(once(site, "status.get")[3] for _ in range(2))
        rounds = []
        for i in range(1 if options.quick else 3):
            out = os.path.join(site.root, f"export-{i}.json")
            result, cpu, _, peak = once(site, "store.export", file=out)
            assert result["events"] >= events
            rounds.append((os.path.getsize(out) / 1e6 / cpu, peak))
            os.remove(out)
        report("export_100000_events", max(rate for rate, _ in rounds), "MB/s", 5, True)
        report("export_100000_events_peak", max(peak for _, peak in rounds), "MB", 128)
        report("export_peak_vs_the_state_alone", max(peak for _, peak in rounds) / base, "ratio", 1.5)
        done = [once(site, "store.backup", file=os.path.join(site.root, f"copy-{i}.db"))
                for i in range(1 if options.quick else 3)]
        report("backup_100000_events_cpu", min(cpu for _, cpu, _, _ in done), "s", 3)
        report("backup_100000_events_wall", min(wall for _, _, wall, _ in done), "s")
        report("backup_100000_events_peak", max(peak for _, _, _, peak in done), "MB", 64)
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
        print(f"# store of { {k: v for k, v in made.items() if isinstance(v, int)} } made in {time.monotonic() - begin:.0f} s, "
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
    # Deadlines are far: what a tick at the latest after tick_every would do is not what is counted.
    site = Site(f'[workers]\nmax = {runs}\n[supervisor]\ntick_every = "1h"\n', agent='echo ready > "$HOME/gate.here"\nread x < "$HOME/gate.go"\n')
    site.configure(site.read(".overseer/config.toml").replace(
        "[agents.script]\n", f"[agents.script]\nconcurrency = {runs}\n"))
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
        quiet(pid, f"idle_{runs}_watched_runs")
    finally:
        site.close()


def watchdog():
    """A healthy daemon, idle, under its watchdog: what either costs, by what it has to do in that time."""
    timeout = 0.3 if options.quick else 1.5  # heartbeat_timeout; the daemon beats three times in it
    seconds = 2 if options.quick else 60 if options.full else 15
    site = Site(AGENT + f'[watch]\nheartbeat_timeout = "{timeout * 1000:.0f}ms"\n')
    watch = subprocess.Popen([CLI, "watch"], cwd=site.repo, env=site.env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL)
    try:
        state = os.path.join(site.dir, "watch.json")
        daemon = None
        while daemon is None:  # until it says whom it watches
            assert watch.poll() is None, "the watchdog ended"
            time.sleep(0.05)
            if os.path.exists(state) and os.path.exists(os.path.join(site.dir, "heartbeat")):
                with open(state, encoding="utf-8") as f:
                    found = json.load(f)
                daemon = found["daemon"]["pid"] if found.get("state") == "running" and found["daemon"] else None
        time.sleep(2 * timeout)  # the start is over
        woken = [switches(pid) for pid in (watch.pid, daemon)]
        time.sleep(seconds)
        woken = [switches(pid) - before for pid, before in zip((watch.pid, daemon), woken)]
        # As many as can fall into that time, its ends included.
        deadlines, beats = (int(seconds / period) + 1 for period in (timeout / 2, timeout / 3))
        report("watchdog_resident", resident_mb(watch.pid), "MB", 3)
        report("watchdog_wakeups_per_deadline", woken[0] / deadlines, "ratio", 1)
        report("idle_watched_daemon_wakeups_per_beat", woken[1] / beats, "ratio", 1)
    finally:
        watch.terminate()
        watch.wait()
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


for bench in [idle, watchdog, status, goals, explain, memory, copies, start]:
    if not options.only or options.only == bench.__name__:
        bench()
sys.exit(1 if missed else 0)
