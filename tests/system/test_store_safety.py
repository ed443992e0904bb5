#!/usr/bin/env python3
"""Damaged stores and stores of newer programs: never replaced, never written, always said.

Each kind of damage is done to the files of a real store while no daemon runs; then a real daemon
is started on it.
"""

import glob
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import unittest

from harness import CLI, FAST, RpcError, SiteCase, plan, task

COMMIT = r"""
echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "work of $OVERSEER_NODE"
"""
# It stays until it is told to go.
GATED = COMMIT + r"""
echo "$OVERSEER_RUN $$ $PPID" > "$HOME/g.here"
read x < "$HOME/g.go"
"""
PAGE = 4096


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class SafetyCase(SiteCase):
    leaks = False

    def filled(self, goals=40, agent=COMMIT, config=FAST):
        """A site whose store has some pages, with its daemon stopped; also its last event."""
        site = self.site(config, agent)
        site.up()
        connection = site.connect()
        for number in range(goals):
            connection.call("goal.create", title=f"goal {number}", problem_statement="words " * 300)
        connection.close()
        seq = site.seq()
        site.down()
        return site, seq + 1  # daemon.stopped

    def store(self, site):
        return os.path.join(site.dir, "store.db")

    def sql(self, site, *statements):
        db = sqlite3.connect(self.store(site))
        with db:
            for statement in statements:
                db.execute(statement)
        db.close()

    def head(self, site):
        db = sqlite3.connect(f"file:{self.store(site)}?mode=ro", uri=True)
        try:
            return db.execute("SELECT max(seq) FROM log").fetchone()[0]
        finally:
            db.close()

    def write(self, site, at, data):
        with open(self.store(site), "r+b") as f:
            f.seek(at)
            f.write(data)

    def copies(self, site):
        return sorted(glob.glob(os.path.join(site.dir, "store.corrupt-*.db")))

    def cli(self, site, *args, status=0):
        done = subprocess.run([CLI, "--dir", site.dir, *args], env=site.env, cwd=site.root, capture_output=True,
                              text=True, timeout=120)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def assert_safe(self, site, last=None):
        """The daemon that runs is in safe mode, and everything says so."""
        status = site.call("status.get")
        safe = status["safe_mode"]
        self.assertTrue(safe, status)
        if last is not None:
            self.assertEqual(safe["last_seq"], last)
        self.assertEqual(status["seq"], safe["last_seq"])
        needs = [n for n in status["needs_you"] if n["kind"] == "store_damaged"]
        self.assertEqual(len(needs), 1)
        code, _, body = site.http()
        body = json.loads(body)
        self.assertEqual((code, body["ok"], body["degraded"]), (200, True, True))
        self.assertIn("safe mode", body["reason"])
        self.assertEqual(site.metrics()["overseer_safe_mode"], 1)
        for method, params in (("goal.create", {"title": "no"}), ("tick.now", {})):
            with self.assertRaises(RpcError) as e:
                site.call(method, **params)
            self.assertEqual(e.exception.code, "E_UNAVAILABLE")
            self.assertIn("safe mode", e.exception.message)
            self.assertIn("doctor --rebuild", e.exception.next)
        site.call("tick.now", dry_run=True)
        return safe


class Damage(SafetyCase):
    def damaged(self, damage, last=None, goals=40):
        """Does the damage, checks safe mode over two starts; the file is not touched by either."""
        site, seq = self.filled(goals)
        damage(site)
        before = digest(self.store(site))
        site.up()
        safe = self.assert_safe(site, last)
        self.assertLess(safe["last_seq"], seq)
        self.assertEqual([safe["copy"]], self.copies(site))
        self.assertEqual(digest(safe["copy"]), before)
        self.assertIn("SAFE MODE", self.cli(site, "status"))
        goals = site.call("goal.list")["goals"]
        self.assertEqual([g["title"] for g in goals], [f"goal {n}" for n in range(len(goals))])
        if safe["last_seq"]:
            self.assertEqual([e["seq"] for e in site.events()], list(range(1, safe["last_seq"] + 1)))
        self.assertEqual(site.down(), 0)
        self.assertEqual(digest(self.store(site)), before)
        site.up()
        self.assertEqual(self.assert_safe(site)["copy"], safe["copy"])
        self.assertEqual(self.copies(site), [safe["copy"]])
        site.kill()
        answer, status = site.read_only("status.get")
        self.assertEqual(status, 0, answer)
        self.assertEqual(answer["result"]["safe_mode"]["last_seq"], safe["last_seq"])
        self.assertEqual(digest(self.store(site)), before)
        return site, safe

    def test_page_in_the_middle(self):
        def spoil(site):
            self.sql(site, "DELETE FROM snapshot")
            self.write(site, 12 * PAGE, b"\xee" * PAGE)
        _, safe = self.damaged(spoil)
        self.assertGreater(safe["last_seq"], 0)

    def test_page_under_a_snapshot(self):
        """A start does not read so far back; what verifies everything beside it does."""
        for damage in (lambda site: self.write(site, 12 * PAGE, b"\xee" * PAGE),
                       lambda site: self.sql(site, "UPDATE log SET body = 'x' WHERE seq = 9")):
            site, seq = self.filled()
            damage(site)
            site.up()
            while not site.call("status.get")["safe_mode"]:
                pass
            safe = self.assert_safe(site)
            self.assertGreater(safe["last_seq"], seq)  # the state stands on the snapshot
            self.assertEqual(len(site.call("goal.list")["goals"]), 40)
            self.assertEqual(site.down(), 0)
            self.assertIn("problem", self.cli(site, "doctor", status=4))
            answer = json.loads(self.cli(site, "doctor", "--rebuild", "--json", status=0).splitlines()[0])
            self.assertGreater(answer["rebuilt"]["last_seq"], 0)

    def test_truncated(self):
        def cut(site):
            os.truncate(self.store(site), os.path.getsize(self.store(site)) // 2 // PAGE * PAGE)
        self.damaged(cut)

    def test_header_of_zeros(self):
        self.damaged(lambda site: self.write(site, 0, b"\0" * 100), last=0)

    def test_garbage(self):
        def replace(site):
            with open(self.store(site), "wb") as f:
                f.write(b"This is no database.\n" * 1000)
        self.damaged(replace, last=0)

    def test_byte_in_a_body(self):
        def flip(site):
            with open(self.store(site), "rb") as f:
                text = f.read()
            at = text.index(b'"title":"goal 7"')
            self.write(site, at + len('"title":"goal '), b"8")
            self.sql(site, "DELETE FROM snapshot")
        site, safe = self.damaged(flip)
        self.assertIn("hash chain broken", safe["reason"])
        self.assertEqual(len(site.read_only("goal.list")[0]["result"]["goals"]), 7)

    def test_record_that_contradicts(self):
        """The chain is whole, but an event cannot be: it ends the state, and the file is kept."""
        site, seq = self.filled(3)
        db = sqlite3.connect(self.store(site))
        previous = db.execute("SELECT hash FROM log WHERE seq = ?", (seq,)).fetchone()[0]
        kind, body = "run.started", '{"data":{},"run":"R_none"}'
        head = (seq + 1).to_bytes(8, "big") + (5).to_bytes(8, "big") + len(kind).to_bytes(4, "big")
        chained = hashlib.sha256(previous + head + kind.encode() + body.encode()).digest()
        with db:
            db.execute("INSERT INTO log VALUES (?, 5, ?, ?, ?)", (seq + 1, kind, body, chained))
        db.close()
        site.up()
        self.assertIn("R_none", self.assert_safe(site, seq)["reason"])

    def test_wal_deleted(self):
        """Without its write-ahead log the store is older, or damaged; never something else."""
        site = self.site(FAST, COMMIT)
        site.up()
        for number in range(20):
            site.call("goal.create", title=f"goal {number}", problem_statement="words " * 300)
        events = site.events()
        site.kill()
        os.unlink(self.store(site) + "-wal")
        site.up()
        if site.call("status.get")["safe_mode"]:
            self.assert_safe(site)
        seen = [e for e in site.events() if e["seq"] <= len(events)]
        count = len([1 for a, b in zip(seen, events) if a == b])
        self.assertGreaterEqual(count, len(seen) - 1)  # but for the start of the second daemon

    def test_copies_are_bounded(self):
        site, _ = self.filled(3)
        for number in range(6):
            self.write(site, 0, b"\0" * 100)
            os.utime(self.store(site), (number, number))
            site.up()
            self.assert_safe(site, 0)
            site.kill()
        self.assertEqual(len(self.copies(site)), 5)

    def test_cut_to_nothing(self):
        """An empty file where there were runs is no new store; a backup in its place goes on."""
        site = self.site(FAST, COMMIT)
        site.up()
        site.wait_goal(site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"])
        backup = site.call("store.backup")["file"]
        site.down()
        os.truncate(self.store(site), 0)
        said = site.start()
        self.assertTrue(said.startswith("error E_STATE\n"), said)
        self.assertIn("cut off", said)
        self.assertEqual(os.path.getsize(self.store(site)), 0)
        os.rename(backup, self.store(site))
        site.up()
        self.assertEqual(len(site.runs()), 1)

    def test_second_daemon(self):
        """Safe mode holds the store as any daemon does."""
        site, _ = self.filled(3)
        self.write(site, 0, b"\0" * 100)
        site.up()
        process, ready = site.popen()
        said = site.hear(ready)
        self.assertEqual(process.wait(60), 4, said)
        self.assertIn("E_CONFLICT", said)
        self.assertIn(f"another daemon holds this store: pid {site.daemon.pid} ", said)
        self.assert_safe(site, 0)

    def test_runs_go_on(self):
        """A run that lives when the store breaks is left alone, can be read, and counts once it is repaired."""
        site = self.site(FAST, "echo first words\n" + GATED)
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        run, agent, shim = gate.wait().split()
        site.wait_type("run.started", run=run)
        last = site.seq()
        site.call("goal.create", title="later", problem_statement="words")
        site.down()
        db = sqlite3.connect(self.store(site))
        body = db.execute("SELECT body FROM log WHERE seq = ?", (last + 1,)).fetchone()[0]
        kept = db.execute("SELECT * FROM snapshot").fetchall()
        with db:
            db.execute("UPDATE log SET body = 'x' WHERE seq = ?", (last + 1,))
            db.execute("DELETE FROM snapshot")
        db.close()
        site.up()
        self.assert_safe(site, last)
        self.assertEqual(site.call("run.show", run=run)["status"], "running")
        self.assertIn("first words", site.call("run.log", run=run)["text"])
        self.assertTrue(alive(agent) and alive(shim))
        gate.go()
        while alive(shim):
            site.call("status.get")
        self.assertEqual(site.call("run.show", run=run)["status"], "running")
        site.down()
        db = sqlite3.connect(self.store(site))
        with db:
            db.execute("UPDATE log SET body = ? WHERE seq = ?", (body, last + 1))
            db.executemany("INSERT INTO snapshot VALUES (?, ?, ?, ?, ?)", kept)
        db.close()
        site.up()
        self.assertIsNone(site.call("status.get")["safe_mode"])
        site.wait_goal(goal)
        self.assertEqual(len(site.runs()), 1)


class Pages(SafetyCase):
    """Every page of a store, set to zeros in turn: the state is never wrong in silence."""

    def titles(self, site):
        return [g["title"] for g in site.call("goal.list")["goals"]]

    def said(self, site):
        """The daemon's log, once all of the store was verified or safe mode began."""
        while True:
            safe = site.call("status.get")["safe_mode"]
            log = site.daemon_log()
            if safe or "the store was verified" in log:
                return safe, log

    def newest_is_whole(self, site):
        db = sqlite3.connect(f"file:{self.store(site)}.damaged?mode=ro&immutable=1", uri=True)
        try:
            data, total = db.execute("SELECT bytes, sum FROM snapshot ORDER BY seq DESC LIMIT 1").fetchone()
            return hashlib.sha256(data).digest() == total
        finally:
            db.close()

    def zeroed(self, site, keep, page):
        """The store as it was, but for the page; nothing is left of an earlier one."""
        for path in glob.glob(self.store(site) + "-*") + self.copies(site):
            os.remove(path)
        for path in (site.log, os.path.join(site.dir, "health.jsonl")):
            open(path, "w", encoding="utf-8").close()
        shutil.copy2(keep, self.store(site))
        self.write(site, page * PAGE, bytes(PAGE))
        shutil.copy2(self.store(site), self.store(site) + ".damaged")

    def mended(self, site, log):
        """A snapshot that is no help: said, and replaced."""
        self.assertIn("is damaged: it is not what was written", log)
        self.assertIn("the state was made from the log instead", log)
        while "a new snapshot was written in place of the damaged one" not in log:
            log = site.daemon_log()
        kinds = [json.loads(line)["kind"] for line in site.read(".overseer/health.jsonl").splitlines()]
        self.assertEqual(kinds, ["started", "degraded", "restored"])
        site.call("goal.create", title="goes on")

    def judge(self, site, owner, titles):
        """What became of it: in a word, after everything about it was checked."""
        safe, log = self.said(site)
        if safe:
            self.assert_safe(site)
            self.assertEqual(self.titles(site), titles[:len(self.titles(site))])
            if owner not in ("log", "sqlite_schema"):
                self.assertEqual(self.titles(site), titles)
            self.assertIn("doctor --rebuild", self.cli(site, "doctor", status=4))
            return "safe mode"
        self.assertEqual((owner, self.titles(site)), ("snapshot", titles))
        if self.newest_is_whole(site):
            return "unused"  # the older one of the two
        self.mended(site, log)
        return "mended"

    def test_every_page(self):
        site, _ = self.filled(10)
        site.up()
        titles = self.titles(site)
        site.down()
        keep = self.store(site) + ".keep"
        shutil.copy2(self.store(site), keep)
        db = sqlite3.connect(f"file:{keep}?mode=ro&immutable=1", uri=True)
        owners = dict(db.execute("SELECT pageno, name FROM dbstat"))
        db.close()
        outcomes = {}
        for page in range(os.path.getsize(keep) // PAGE):
            owner = owners[page + 1]
            with self.subTest(page=page, owner=owner):
                self.zeroed(site, keep, page)
                site.up()
                outcomes.setdefault(owner, set()).add(self.judge(site, owner, titles))
                self.assertEqual(site.down(), 0)
        self.assertEqual(outcomes.pop("snapshot"), {"safe mode", "mended", "unused"})
        self.assertEqual(set(outcomes), {"sqlite_schema", "log", "lease", "meta", "checkpoint"})
        self.assertEqual(set.union(*outcomes.values()), {"safe mode"})

    def test_doctor_names_the_snapshot(self):
        site, _ = self.filled(10)
        self.sql(site, "UPDATE snapshot SET bytes = x'00' WHERE seq = (SELECT max(seq) FROM snapshot)")
        said = self.cli(site, "doctor")
        self.assertIn("is damaged: it is not what was written", said)
        self.assertIn("doctor --fix", said)
        self.cli(site, "doctor", "--fix")
        self.assertNotIn("is damaged", self.cli(site, "doctor"))


class Newer(SafetyCase):
    def refused(self, site, *words):
        """No daemon starts, nothing is read; not a byte is changed."""
        before = {name: digest(name) for name in glob.glob(self.store(site) + "*") if not name.endswith("-shm")}
        said = site.start()
        self.assertTrue(said.startswith("error E_STATE\n"), said)
        for word in words:
            self.assertIn(word, said)
        answer, status = site.read_only("status.get")
        self.assertEqual((status, answer["error"]["data"]["code"]), (4, "E_STATE"))
        after = {name: digest(name) for name in glob.glob(self.store(site) + "*") if not name.endswith("-shm")}
        self.assertEqual(before, after)
        self.assertEqual(self.copies(site), [])

    def test_schema(self):
        site, _ = self.filled(3)
        self.sql(site, "PRAGMA user_version = 1000", "CREATE TABLE future (x)")
        self.refused(site, "newer Overseer", "1000", "not touched")

    def append(self, site, seq, kind, body):
        db = sqlite3.connect(self.store(site))
        previous = db.execute("SELECT hash FROM log WHERE seq = ?", (seq,)).fetchone()[0]
        head = (seq + 1).to_bytes(8, "big") + (5).to_bytes(8, "big") + len(kind).to_bytes(4, "big")
        chained = hashlib.sha256(previous + head + kind.encode() + body.encode()).digest()
        with db:
            db.execute("INSERT INTO log VALUES (?, 5, ?, ?, ?)", (seq + 1, kind, body, chained))
        db.close()

    def test_event_kind(self):
        site, seq = self.filled(3)
        self.append(site, seq, "goal.dreamt", '{"data":{}}')
        self.refused(site, "goal.dreamt", "newer Overseer", "not touched")

    def test_event_field(self):
        site, seq = self.filled(3)
        self.append(site, seq, "daemon.stopped", '{"data":{"instance":"x","mood":"good","reason":"y"}}')
        self.refused(site, "mood", "newer Overseer", "not touched")

    def test_snapshot_format(self):
        """A snapshot of another format is only a loss of time."""
        site, seq = self.filled(3)
        self.sql(site, "UPDATE snapshot SET format = 1000")
        site.up()
        self.assertEqual(len(site.call("goal.list")["goals"]), 3)
        self.assertIsNone(site.call("status.get")["safe_mode"])
        self.assertGreater(site.seq(), seq)


class Doctor(SafetyCase):
    def doctor(self, site, *args, status=0):
        out = self.cli(site, "doctor", "--json", *args, status=status)
        answer = json.loads(out.splitlines()[0])
        answer["by"] = {c["name"]: c for c in answer["checks"]}
        return answer

    def worked(self):
        """A site where a goal was done."""
        site = self.site(FAST, COMMIT)
        os.chmod(site.dir, 0o700)
        site.up()
        site.wait_goal(site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"])
        return site


    def levels(self, answer):
        # The sites' agents have no sandbox, on purpose, and doctor says so.
        return {name: c["level"] for name, c in answer["by"].items() if c["level"] != "ok" and name != "sandbox"}

    def test_healthy(self):
        """Everything is well, with the daemon, without it, and before there is a store."""
        site = self.site(FAST, COMMIT)
        os.chmod(site.dir, 0o700)
        self.assertEqual(self.levels(self.doctor(site)), {})
        site.close()
        site = self.worked()
        running = self.doctor(site)
        self.assertEqual(self.levels(running), {})
        self.assertIn(str(site.daemon.pid), running["by"]["lease"]["text"])
        self.assertEqual(site.call("doctor.run")["problems"], 0)
        site.down()
        stopped = self.doctor(site)
        self.assertEqual(self.levels(stopped), {})
        self.assertIn("is what the log says", stopped["by"]["snapshot"]["text"])
        self.assertEqual(sorted(stopped["by"]), sorted(running["by"]))
        self.assertIn("0 problems, 1 warning\n", self.cli(site, "doctor"))

    def test_a_program_that_is_not_there(self):
        """Of every agent, by the PATH that its runs have; before a run fails by it, and with the daemon as without."""
        site = self.site(FAST + """
[agents.gone]
format = "raw"
command = ["/nonexistent/agent"]
[agents.named]
format = "codex"
command = ["no-such-program"]
[agents.elsewhere]
command = ["sh", "-c", "true"]
env.PATH = "/nonexistent"
[agents.later]
command = ["./in-the-worktree"]
""", COMMIT)
        said = "agent gone: its program /nonexistent/agent does not exist or is not executable"
        for daemon in (False, True):
            if daemon:
                site.up()
            answer = self.doctor(site)
            found = answer["by"]["agents"]
            self.assertEqual((found["level"], answer["problems"]), ("warning", 0))
            self.assertEqual(found["text"], said + "; agent named: its program no-such-program is not in its PATH"
                             "; agent elsewhere: its program sh is not in its PATH")
            self.assertEqual(found["next"], "install /nonexistent/agent, or correct agents.gone.command in config.toml, "
                             "then: overseer agent test gone")
        checked = site.cli("config", "check")
        self.assertIn(": valid, 5 agents\n  warning: " + said + "\n  Next: install /nonexistent/agent", checked)
        self.assertEqual(checked.count("warning:"), 3)

    def test_findings(self):
        site = self.worked()
        run = site.runs()[0]["id"]
        site.kill()
        os.mkdir(os.path.join(site.dir, "runs", "R_unknown"))
        os.mkdir(os.path.join(site.dir, "worktrees", "stranger"))
        site.git("worktree", "add", "-q", os.path.join(site.dir, "worktrees", "gone"), "-b", "gone")
        subprocess.run(["rm", "-r", os.path.join(site.dir, "worktrees", "gone")], check=True)
        old = os.path.join(site.dir, ".tmp-0123")
        with open(old, "w", encoding="utf-8"):
            pass
        os.utime(old, (1, 1))
        os.chmod(os.path.join(site.dir, "token"), 0o644)
        with open(os.path.join(site.dir, "config.toml"), "a", encoding="utf-8") as f:
            f.write("[nonsense]\nx = 1\n")
        found = self.doctor(site, status=4)
        self.assertEqual(self.levels(found), {
            "runs": "warning", "worktrees": "warning", "git_folders": "warning", "temporary": "warning",
            "permissions": "problem", "config": "problem", "lease": "warning"})
        self.assertIn("R_unknown", found["by"]["runs"]["text"])
        self.assertIn("stranger belongs to no worker", found["by"]["worktrees"]["text"])
        self.assertIn("overseer rescue list --worker stranger", found["by"]["worktrees"]["next"])
        self.assertIn("which an earlier version made and which is gone", found["by"]["git_folders"]["text"])
        self.assertIn("worktree prune", found["by"]["git_folders"]["next"])
        self.assertNotIn(run, found["by"]["runs"]["text"])
        self.assertIsNone(found["backup"])
        for check in found["by"].values():
            self.assertEqual(bool(check["next"]), check["level"] != "ok", check)
        fixed = self.doctor(site, "--fix", status=4)
        self.assertTrue(os.path.exists(fixed["backup"]))
        self.assertEqual(self.levels(fixed), {
            "runs": "warning", "worktrees": "warning", "git_folders": "warning", "config": "problem"})
        self.assertTrue(fixed["by"]["permissions"]["fixed"])
        self.assertFalse(os.path.exists(old))
        self.assertEqual(os.stat(os.path.join(site.dir, "token")).st_mode & 0o777, 0o600)
        # What might hold work is still there.
        self.assertTrue(os.path.isdir(os.path.join(site.dir, "runs", "R_unknown")))
        self.assertTrue(os.path.isdir(os.path.join(site.dir, "worktrees", "stranger")))

    def test_git_folders(self):
        """A worktree whose .git file is gone, or names another folder, is named; a reset makes it whole."""
        site = self.worked()
        link = os.path.join(site.dir, "worktrees", "pool-1", ".git")
        self.assertIn("1 worktree, each with its git folder", self.doctor(site)["by"]["git_folders"]["text"])
        for text in (None, "gitdir: ../../../.git\n"):
            os.unlink(link)
            if text:
                with open(link, "w", encoding="utf-8") as f:
                    f.write(text)
            found = self.doctor(site)["by"]["git_folders"]
            self.assertEqual((found["level"], found["text"]),
                             ("warning", "pool-1: its .git file is gone or names another git folder"))
            self.assertIn("overseer worker reset pool-1", found["next"])
            site.cli("worker", "reset", "pool-1")
            self.assertEqual(self.levels(self.doctor(site)), {})

    def test_no_git_looks_into_strays(self):
        """What was moved aside is an agent's: its configuration names programs, and doctor runs none of them."""
        site = self.worked()
        ran = os.path.join(site.root, "ran")
        for name in ("pool-1.aside-1", "stranger", "$(touch x)"):
            stray = os.path.join(site.dir, "worktrees", name)
            site.git("init", "-q", stray)
            site.git("-C", stray, "config", "core.fsmonitor", f"touch '{ran}'; false")
        found = self.doctor(site)["by"]["worktrees"]
        self.assertFalse(os.path.exists(ran))
        self.assertEqual(found["level"], "warning")
        self.assertIn("pool-1.aside-1 was moved aside with what no ref can keep", found["text"])
        self.assertIn("stranger belongs to no worker", found["text"])
        self.assertNotIn("$(", found["next"])

    def test_wrong_snapshot(self):
        """A snapshot that is not the fold of the log is found, and replaced by what is."""
        site = self.worked()
        titles = [g["title"] for g in site.call("goal.list")["goals"]]
        site.down()
        db = sqlite3.connect(self.store(site))
        seq, data = db.execute("SELECT seq, bytes FROM snapshot ORDER BY seq DESC LIMIT 1").fetchone()
        data = data.replace(b'"title":"Test"', b'"title":"Rest"')
        with db:
            db.execute("UPDATE snapshot SET bytes = ?, sum = ? WHERE seq = ?",
                       (data, hashlib.sha256(data).digest(), seq))
        db.close()
        site.up()
        self.assertEqual(self.levels(self.doctor(site, status=4))["snapshot"], "problem")
        held = self.doctor(site, "--fix", status=4)["by"]["snapshot"]
        self.assertFalse(held["fixed"])
        self.assertIn("overseer down", held["next"])
        site.kill()
        self.assertTrue(self.doctor(site, "--fix")["by"]["snapshot"]["fixed"])
        site.up()
        self.assertEqual([g["title"] for g in site.call("goal.list")["goals"]], titles)

    def rebuilt(self, damage, status=0, goals=30):
        site, seq = self.filled(goals)
        os.chmod(site.dir, 0o700)
        damage(site)
        before = digest(self.store(site))
        self.assertIn("problem", self.levels(self.doctor(site, status=4)).values())
        self.assertEqual(digest(self.store(site)), before)
        answer = self.doctor(site, "--rebuild", status=status)
        self.assertEqual(digest(answer["rebuilt"]["old"]), before)
        site.up()
        self.assertIsNone(site.call("status.get")["safe_mode"])
        site.call("goal.create", title="goes on")
        events = site.events()
        self.assertEqual([e["seq"] for e in events], list(range(1, len(events) + 1)))
        return site, seq, answer["rebuilt"]

    def test_rebuild(self):
        def spoil(site):
            self.sql(site, "DELETE FROM snapshot", "UPDATE log SET body = 'x' WHERE seq = 21")
        site, _, rebuilt = self.rebuilt(spoil)
        self.assertEqual((rebuilt["last_seq"], rebuilt["from"]), (20, self.store(site)))
        self.assertEqual(len(site.call("goal.list")["goals"]), 20)  # 19, and the one that was added
        self.assertEqual(self.levels(self.doctor(site)), {"copies": "warning"})

    def test_rebuild_from_a_backup(self):
        """Of a file of which nothing is left, the newest backup is what can be verified."""
        def spoil(site):
            self.cli(site, "backup")
            with open(self.store(site), "wb") as f:
                f.write(b"nothing at all\n" * 500)
        site, seq, rebuilt = self.rebuilt(spoil)
        self.assertEqual(rebuilt["last_seq"], seq)
        self.assertIn("/backups/store-", rebuilt["from"])
        self.assertEqual(len(site.call("goal.list")["goals"]), 31)

    def test_a_foreign_backup_is_not_taken(self):
        def spoil(site):
            other, _ = self.filled(60)
            self.cli(other, "backup", os.path.join(site.root, "other.db"))
            os.makedirs(os.path.join(site.dir, "backups"), mode=0o700)
            os.rename(os.path.join(site.root, "other.db"), os.path.join(site.dir, "backups", "store-9.db"))
            self.sql(site, "DELETE FROM snapshot", "UPDATE log SET body = 'x' WHERE seq = 21")
        _, _, rebuilt = self.rebuilt(spoil)
        self.assertEqual(rebuilt["last_seq"], 20)

    def test_rebuild_is_refused(self):
        site, _ = self.filled(3)
        self.assertIn("not damaged", self.cli(site, "doctor", "--rebuild", status=4))
        self.write(site, 0, b"\0" * 100)
        site.up()
        before = digest(self.store(site))
        self.assertIn("overseer down", self.cli(site, "doctor", "--rebuild", status=4))
        self.assertIn("damaged", self.cli(site, "doctor", status=4))
        self.assertEqual(digest(self.store(site)), before)
        site.down()
        self.sql_newer(site)
        self.assertIn("newer", self.cli(site, "doctor", "--rebuild", status=4))

    def sql_newer(self, site):
        os.unlink(self.store(site))
        db = sqlite3.connect(self.store(site))
        db.executescript(f"PRAGMA application_id = {0x4f565352}; PRAGMA user_version = 1000; CREATE TABLE x (y)")
        db.close()


class Backup(SafetyCase):
    def check(self, path, last):
        db = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
        try:
            self.assertEqual(db.execute("PRAGMA integrity_check").fetchone()[0], "ok")
            self.assertEqual(db.execute("SELECT count(*), max(seq) FROM log").fetchone(), (last, last))
        finally:
            db.close()

    def test_while_running(self):
        site, _ = self.filled(20)
        site.up()
        made = site.call("store.backup")
        self.check(made["file"], made["last_seq"])
        self.assertEqual(made["last_seq"], site.seq())
        self.assertEqual(os.stat(made["file"]).st_mode & 0o777, 0o600)
        path = os.path.join(site.root, "b.db")
        self.assertIn("verified", self.cli(site, "backup", path))
        self.check(path, made["last_seq"])
        self.assertIn("exists", self.cli(site, "backup", path, status=4))
        with self.assertRaises(RpcError) as e:
            site.call("store.backup", file="b.db")
        self.assertEqual(e.exception.code, "E_INVALID")
        self.assertEqual(sorted(os.listdir(os.path.join(site.dir, "backups"))), [os.path.basename(made["file"])])
        # A store of its own: a daemon goes on from it.
        site.down()
        os.rename(path, self.store(site))
        site.up()
        self.assertEqual(len(site.call("goal.list")["goals"]), 20)

    def test_while_writing(self):
        """Many backups beside a daemon that writes all the time: each is whole, nothing is held up."""
        site, _ = self.filled(5)
        site.up()
        asker, writer = site.connect(), site.connect()
        for _ in range(5):
            wanted = asker.send("store.backup")
            written = 0
            readable = []
            asker.sock.setblocking(False)
            while not readable:
                writer.call("goal.create", title="more", problem_statement="words " * 200)
                written += 1
                try:
                    readable = asker.sock.recv(65536)
                except BlockingIOError:
                    continue
            asker.sock.settimeout(60)
            answer = json.loads(readable)
            self.assertEqual(answer["id"], wanted)
            self.check(answer["result"]["file"], answer["result"]["last_seq"])
            self.assertGreater(written, 0)
        asker.close()
        writer.close()

    def test_only_the_newest_stay(self):
        site, _ = self.filled(2, config=FAST + "[store]\nbackups_kept = 3\n")
        folder = os.path.join(site.dir, "backups")
        kept = []
        for _ in range(5):
            kept.append(os.path.basename(json.loads(self.cli(site, "backup", "--json"))["file"]))
        with open(os.path.join(folder, "mine.db"), "w", encoding="utf-8"):
            pass
        kept.append(os.path.basename(json.loads(self.cli(site, "backup", "--json"))["file"]))
        self.assertEqual(sorted(os.listdir(folder)), sorted(["mine.db"] + kept[-3:]))

    def test_refused(self):
        """Nothing is called a backup that is none, and nothing is left of it."""
        site = self.site(FAST, COMMIT)
        self.assertIn("no store", self.cli(site, "backup", status=3))
        site, _ = self.filled(30)
        self.sql(site, "UPDATE log SET body = 'x' WHERE seq = 21")
        self.assertIn("chain broken", self.cli(site, "backup", status=8))
        self.assertIn("chain broken", self.cli(site, "backup", os.path.join(site.root, "b.db"), status=8))
        self.assertEqual(os.listdir(os.path.join(site.dir, "backups")), [])
        self.assertFalse([n for n in os.listdir(site.root) if n.startswith("b.db")])


class Export(SafetyCase):
    KEYS = ["version", "goals", "assignments", "crystallizations", "dispatchIndex", "events"]

    def worked(self):
        """A site where work was done, in part by a person's word."""
        site = self.site(FAST, GATED)
        gate = site.gate("g")
        site.up()
        goal = site.call("goal.create", title="A \u201cquoted\u201d title \\ / \u00e4", tags=["x", "y"],
                         success_criteria=["it works"], plan=plan(task("T1"), task("T2"), task("T3", ["T1"])))["goal"]
        gate.wait()
        site.call("work.update", node="T3", status="done", reason="not needed any more")
        gate.go(5)
        site.wait_goal(goal)
        site.call("goal.create", title="second")
        return site, goal

    def hashes(self, site):
        db = sqlite3.connect(f"file:{self.store(site)}?mode=ro", uri=True)
        try:
            return db.execute("SELECT seq, at, kind, body, hash FROM log ORDER BY seq").fetchall()
        finally:
            db.close()

    def exported(self, site):
        return json.loads(self.cli(site, "export"))

    def test_round_trip(self):
        site, goal = self.worked()
        path = os.path.join(site.root, "out.json")
        self.assertIn("events", self.cli(site, "export", path))  # while the daemon runs
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        self.assertIn("exists", self.cli(site, "export", path, status=4))
        site.down()
        os.unlink(path)
        self.cli(site, "export", path)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        document = json.loads(text)
        self.assertEqual(list(document), self.KEYS)
        self.assertEqual(document["version"], 1)
        self.assertEqual(document["goals"][goal]["goalId"], goal)
        self.assertEqual(document["goals"][goal]["successCriteria"], ["it works"])
        nodes = document["goals"][goal]["workNodes"]
        self.assertEqual([n.get("phaseId") or n.get("taskId") for n in nodes][1:], ["T1", "T2", "T3"])
        self.assertEqual(nodes[3]["dependsOn"], ["T1"])
        for key, assignment in document["assignments"].items():
            self.assertEqual((assignment["assignmentId"], assignment["goalId"]), (key, goal))
            for dispatch in assignment["dispatchHistory"]:
                self.assertEqual(document["dispatchIndex"][dispatch["dispatchId"]], dispatch)
        self.assertFalse([k for g in document["goals"].values() for k in g if "_" in k])
        self.assertEqual([e["seq"] for e in document["events"]], list(range(1, len(document["events"]) + 1)))
        self.assertEqual(self.cli(site, "export"), text)
        # Into an empty store, and out again.
        other = self.site(FAST, COMMIT)
        self.assertIn(f"{len(document['events'])} events", self.cli(other, "import", path))
        self.assertEqual(self.hashes(other), self.hashes(site))
        self.assertEqual(self.cli(other, "export"), text)
        self.assertEqual([n for n in os.listdir(other.dir) if "tmp" in n], [])
        os.chmod(other.dir, 0o700)
        # The runs' folders stay behind.
        self.cli(other, "doctor")
        other.up()
        self.assertEqual(other.call("goal.show", goal=goal)["status"], "completed")
        self.assertIn("not empty", self.cli(other, "import", path, status=4))
        other.down()
        self.assertIn("not empty", self.cli(other, "import", path, status=4))

    def test_empty(self):
        site = self.site(FAST, COMMIT)
        self.cli(site, "export", status=3)
        path = site.write("../empty.json", json.dumps({**{k: {} for k in self.KEYS}, "version": 1, "events": []}))
        self.cli(site, "import", path)
        self.assertEqual(self.exported(site)["events"], [])
        site.up()
        self.assertEqual(site.call("goal.list")["goals"], [])

    def test_refused(self):
        """Whatever is wrong: an error that says where, no store, nothing left behind."""
        site, goal = self.worked()
        site.down()
        good = self.exported(site)

        def change(path, new):
            document = json.loads(json.dumps(good))
            at = document
            for step in path[:-1]:
                at = at[step]
            if new is None:
                del at[path[-1]]
            else:
                at[path[-1]] = new
            return json.dumps(document)

        last = max(n for n, e in enumerate(good["events"]) if e["type"] == "goal.created")
        cases = [
            ("", "document"),
            ("[]", "object"),
            ("nonsense", "object"),
            (json.dumps(good)[:-1], "end of the list"),
            (json.dumps(good) + "x", "the end"),
            (change(["version"], 2), "version 2"),
            (change(["version"], None), "version"),
            (change(["events"], None), "events"),
            (change(["goals"], None), "goals"),
            (change(["more"], {}), "more"),
            (change(["goals", goal, "title"], "Another"), f"goals.{goal}.title"),
            (change(["goals", goal, "extra"], 1), "more than the events give"),
            (change(["goals", goal], None), "is missing"),
            (change(["goals", "goal_x"], {}), "3 entries"),
            (change(["assignments"], {}), "is missing"),
            (change(["events", 3, "seq"], 9), "events[3]"),
            (change(["events", 3, "ts"], "x"), "events[3]"),
            (change(["events", 3, "type"], "goal.dreamt"), "goal.dreamt"),
            (change(["events", 3, "data"], None), "events[3]"),
            (change(["events", 3, "who"], "me"), "who"),
            (change(["events", 3, "actor"], ""), "actor"),
            (change(["events"], good["events"][:last]), "entries, but the events give"),
            (change(["events", 2], None), "events[2]"),
            (json.dumps(good).replace('"goals"', '"goals": {}, "goals"', 1), "twice"),
        ]
        other = self.site(FAST, COMMIT)
        before = sorted(os.listdir(other.dir))
        for text, word in cases:
            path = other.write("../bad.json", text)
            said = self.cli(other, "import", path, status=4 if "version 2" in word else 2)
            self.assertIn(word, said)
            self.assertEqual([n for n in sorted(os.listdir(other.dir)) if n != "store.db.lock"], before, word)
        self.cli(other, "import", os.path.join(other.root, "absent.json"), status=3)
        self.cli(other, "import", other.write("../good.json", json.dumps(good)))

    def test_damaged(self):
        site, _ = self.filled(5)
        self.sql(site, "DELETE FROM snapshot", "UPDATE log SET body = 'x' WHERE seq = 3")
        self.assertIn("damaged", self.cli(site, "export", status=4))


if __name__ == "__main__":
    unittest.main(verbosity=2)
