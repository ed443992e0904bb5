#!/usr/bin/env python3
"""The sandbox of an agent, with the real bubblewrap: what it can do, and what it cannot."""

import json
import os
import shutil
import socket
import tempfile
import time
import unittest

import namespaces
from harness import FAST, PATIENCE, Gate, Site, SiteCase, plan, task, wait_gone
from spoken import claude_init, claude_result, claude_says

# Each line of the probe is "NAME RESULT": 0 when it could be done.
PROBE = r"""
try() { name=$1; shift; if "$@" >/dev/null 2>&1; then echo "$name 0"; else echo "$name 1"; fi >> probe; }
sees() { [ -e "$1" ]; }
writes() { echo x > "$1"; }
: > probe
"""
COMMIT = r"""
echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "work of $OVERSEER_NODE"
"""
GATE = r"""
echo "$OVERSEER_NODE $OVERSEER_RUN $$" > "$GATES/g.here"
read x < "$GATES/g.go"
"""


class Sandbox(SiteCase):
    def setUp(self):
        super().setUp()
        if namespaces.no_sandbox():
            self.skipTest(namespaces.no_sandbox())

    def boxed(self, script, more="", secrets="", config=""):
        """A site whose agent is in a sandbox. Its HOME is a folder of its own, beside the repository."""
        # Not below /tmp, which is another one inside.
        site = Site(FAST + config, root=tempfile.mkdtemp(prefix="overseer-test-", dir="/var/tmp"))
        self.addCleanup(site.close)
        home = os.path.join(site.root, "user")
        os.makedirs(os.path.join(home, "bin"))
        site.env["HOME"] = home
        os.chmod(site.write("../user/bin/agent.sh", "#!/bin/sh\n" + script), 0o755)
        site.write("../user/private", "the user's\n")
        os.makedirs(os.path.join(site.root, "gates"), exist_ok=True)
        site.configure(FAST + config + f"""
[planner]
fallback = false
[defaults]
agent = "boxed"
[agents.boxed]
command = ["{home}/bin/agent.sh"]
sandbox = "bwrap"
{more}
[agents.boxed.env]
SITE = "{site.root}"
GATES = "{site.root}/gates"
GIT_CONFIG_NOSYSTEM = "1"
[agents.other]
command = "true"
env_pass = ["PATH", "OTHERS_KEY"]
{secrets}""")
        return site

    def probe(self, site):
        """What the one task of a goal found out: name -> whether it could be done."""
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        site.wait_goal(goal)
        lines = site.git("show", "main:probe").splitlines()
        return {name: result == "0" for name, result in (line.split() for line in lines)}

    def test_what_it_can_see_and_change(self):
        site = self.boxed(PROBE + r"""
try worktree writes here
try system_read sees /usr/bin/env
try system_write writes /usr/ov-probe
try repo_write writes "$SITE/repo/README"
try home_secret sees "$HOME/private"
try home_write writes "$HOME/mine"
try own_program sees "$HOME/bin/agent.sh"
try own_program_write writes "$HOME/bin/agent.sh"
try tmp_write writes "$TMPDIR/mine"
try token sees "$SITE/repo/.overseer/token"
try store sees "$SITE/repo/.overseer/store.db"
try socket sees "$SITE/repo/.overseer/overseer.sock"
try other_worktrees sees "$SITE/repo/.overseer/worktrees/pool-2"
try own_run sees "$SITE/repo/.overseer/runs/$OVERSEER_RUN/instruction"
try own_run_write writes "$SITE/repo/.overseer/runs/$OVERSEER_RUN/exit.json"
try run_sockets sees /run/overseer-probe
try processes test "$(ls -d /proc/[0-9]* | wc -l)" -gt 12
try others_key test -n "$OTHERS_KEY"
try core_pattern test -w /proc/sys/kernel/core_pattern
try unmount umount "$SITE/repo/.overseer"
""" + COMMIT)
        site.env["OTHERS_KEY"] = "s3cret"
        found = self.probe(site)
        can = {name for name, done in found.items() if done}
        self.assertEqual(can, {"worktree", "system_read", "home_write", "own_program", "tmp_write", "own_run"})
        self.assertFalse(os.path.exists("/usr/ov-probe"))
        self.assertEqual(site.read("README"), "hello\n")
        self.assertEqual(site.read("../user/private"), "the user's\n")
        self.assertEqual(site.runs()[0]["exit_code"], 0)

    def test_git_works_and_cannot_be_turned_against_others(self):
        """add, commit, amend, rebase and a second commit work; what would run elsewhere cannot be planted."""
        site = self.boxed(PROBE + r"""
common="$SITE/repo/.git"; own=$(git rev-parse --git-dir)
echo 1 > a; git add a; git commit -qm one; echo 2 > b; git add b; git commit -qm two
try amend git commit -q --amend -m changed
try rebase git rebase -q --force-rebase HEAD~2
try interactive env GIT_SEQUENCE_EDITOR=true git rebase -q -i HEAD~1
try reset git reset -q --hard HEAD
try log sh -c 'git reflog | grep -q changed'
try own_branch git branch "$(git symbolic-ref --short HEAD)-2"
try hook writes "$common/hooks/post-commit"
try config git config user.name Planted
try own_hook writes "$own/hooks/post-commit"
try commondir writes "$own/commondir"
try users_config git --git-dir="$common" config user.name Planted
try pointer writes .git
try move_pointer mv .git elsewhere
try main git --git-dir="$common" update-ref refs/heads/main main~1
try tag git --git-dir="$common" tag planted main
try own_main git update-ref refs/heads/main HEAD
try own_tag git tag planted
try exclude writes "$common/info/exclude"
try packed writes "$common/packed-refs"
""" + COMMIT)
        found = self.probe(site)
        can = {name for name, done in found.items() if done}
        self.assertEqual(can, {"amend", "rebase", "interactive", "reset", "log", "own_branch", "own_main", "own_tag"})
        self.assertEqual(site.git("tag"), "")
        self.assertEqual(site.git("show", "main:b"), "2\n")
        self.assertEqual(site.git("fsck", "--no-dangling"), "")

    def test_network_off_is_off(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            script = PROBE + rf"""
try loopback_of_others python3 -c 'import socket; socket.create_connection(("127.0.0.1", {server.getsockname()[1]}), 5)'
try own_loopback python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); socket.create_connection(s.getsockname(), 5)'
""" + COMMIT
            self.assertEqual(self.probe(self.boxed(script, "network = false")), {"loopback_of_others": False, "own_loopback": True})
            self.assertEqual(self.probe(self.boxed(script)), {"loopback_of_others": True, "own_loopback": True})

    def test_shared_home_and_further_paths(self):
        site = self.boxed(PROBE + r"""
try home_read sees "$HOME/private"
try home_write writes "$HOME/private"
try cache writes "$SITE/cache/x"
""" + COMMIT, 'home = "shared"\nsandbox_writable = ["{root}/cache"]')
        os.makedirs(os.path.join(site.root, "cache"))
        path = os.path.join(site.dir, "config.toml")
        with open(path, encoding="utf-8") as f:
            text = f.read().replace("{root}", site.root)
        site.configure(text)
        self.assertEqual(self.probe(site), {"home_read": True, "home_write": False, "cache": True})

    def begin(self, script, more="", config=""):
        site = self.boxed(script, more='sandbox_writable = ["{root}/gates"]\n' + more, config=config)
        with open(os.path.join(site.dir, "config.toml"), encoding="utf-8") as f:
            text = f.read().replace("{root}", site.root)
        site.configure(text)
        gate = Gate(os.path.join(site.root, "gates"), "g")
        site.gates.append(gate)
        site.up()
        site.call("goal.create", title="Test", plan=plan(task("T1")))
        return site, gate

    def test_signals_reach_the_agent_inside_and_nothing_is_left(self):
        site, gate = self.begin("trap 'echo asked > asked; exit 0' TERM\nsetsid sleep 3600 &\n" + GATE + GATE,
                                config='[supervisor]\nstop_grace = "20s"\n')
        _, run, _ = gate.wait().split()
        inside = self.processes(site, run)
        self.assertGreaterEqual(len(inside), 4)  # the sandbox twice, the agent, what it started
        site.call("run.stop", run=run, reason="enough")
        site.wait_type("run.ended", run=run)
        wait_gone(*inside)
        harvested = site.wait_type("run.harvested", run=run)["data"]
        self.assertEqual(site.git("show", harvested["head"] + ":asked"), "asked\n")
        self.assertEqual(site.live_pids(), [])

    def test_a_killed_shim_takes_the_sandbox_along(self):
        site, gate = self.begin("setsid sleep 3600 &\n" + GATE + GATE, config="[supervisor]\ncgroups = false\n")
        _, run, _ = gate.wait().split()
        inside = self.processes(site, run)
        os.kill(int(site.read(f".overseer/runs/{run}/lock").split()[0]), 9)
        self.assertTrue(site.wait_type("run.ended", run=run)["data"]["lost"])
        wait_gone(*inside)

    def processes(self, site, run):
        """Everybody below the run's shim, as it is seen from outside."""
        shim = int(site.read(f".overseer/runs/{run}/lock").split()[0])
        parents = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                    parents[int(pid)] = int(f.read().rsplit(")", 1)[1].split()[1])
            except OSError:
                pass
        found, last = {shim}, set()
        while found != last:
            last = set(found)
            found |= {pid for pid, parent in parents.items() if parent in found}
        return sorted(found - {shim})

    def leave(self, site, name, *more):
        """A home that an earlier daemon did not come to remove."""
        path = os.path.join(site.dir, "home", name, *more)
        os.makedirs(path)
        return path

    def gone(self, path):
        end = time.monotonic() + PATIENCE
        while os.path.lexists(path):
            self.assertLess(time.monotonic(), end, path + " is still there")
            time.sleep(0.01)

    def test_a_home_goes_with_its_assignment(self):
        """What it wrote there is for the next run of its session; when nobody can go on with that it is removed."""
        site, gate = self.begin(r"""
echo x > "$HOME/mine"; ln -s "$SITE/user/private" "$HOME/link"; ln -s "$SITE/user" "$HOME/folder"
mkdir -p "$HOME/closed/in"; echo x > "$HOME/closed/in/it"; chmod 0 "$HOME/closed/in" "$HOME/closed"
""" + GATE + COMMIT)
        gate.wait()
        homes = os.path.join(site.dir, "home")
        self.assertEqual(os.stat(homes).st_mode & 0o077, 0)
        own, = os.listdir(homes)
        self.assertEqual(site.runs()[0]["assignment_id"], own)
        # What died with a daemon goes at the next start: not what lives, what is not ours, or what links lead to.
        site.kill()
        old = self.leave(site, "A_01HZZZZZZZZZZZZZZZZZZZZZZZ", "home", "x")
        others = self.leave(site, "notes")
        link = os.path.join(homes, "A_01HZZZZZZZZZZZZZZZZZZZZZZY")
        os.symlink(os.path.join(site.root, "user"), link)
        site.up()
        self.gone(os.path.dirname(os.path.dirname(old)))
        self.assertEqual(site.read(f".overseer/home/{own}/home/mine"), "x\n")
        gate.go()
        site.wait_type("goal.status", to="completed")
        self.gone(os.path.join(homes, own))
        self.assertEqual(sorted(os.listdir(homes)), sorted([os.path.basename(link), os.path.basename(others)]))
        self.assertEqual(site.read("../user/private"), "the user's\n")
        self.assertTrue(os.path.exists(os.path.join(site.root, "user", "bin", "agent.sh")))

    def test_a_session_that_has_to_wait_finds_its_home_again(self):
        """Its budget is used up: the next assignment goes on with the session, in the home where it began."""
        lines = [json.dumps(line) for line in (claude_init(), claude_says("Hm."), claude_result())]
        site, gate = self.begin(rf"""
echo '{lines[0]}'
if [ -e "$HOME/mine" ]; then
	cp "$HOME/mine" found; {COMMIT.strip()}
	echo '{lines[2]}'; exit 0
fi
echo x > "$HOME/mine"
{GATE}
echo '{lines[1]}'
read x < "$GATES/g.go"
""", more='format = "claude"\n')
        gate.wait()
        goal = site.call("goal.list")["goals"][0]["id"]
        own, = os.listdir(os.path.join(site.dir, "home"))
        old = self.leave(site, "A_01HZZZZZZZZZZZZZZZZZZZZZZZ")
        site.call("goal.update", goal=goal, budget={"tokens": 100})
        gate.go()
        self.assertTrue(site.wait_type("assignment.moved", to="cancelled", session_kept=True))
        # It was looked, and the one that waits stays.
        self.gone(old)
        self.assertEqual(site.read(f".overseer/home/{own}/home/mine"), "x\n")
        site.call("goal.update", goal=goal, budget={"tokens": 100000})
        site.wait_goal(goal)
        self.assertEqual(site.git("show", "main:found"), "x\n")
        self.assertEqual(len({run["assignment_id"] for run in site.runs()}), 2)
        self.gone(os.path.join(site.dir, "home", own))
        self.assertEqual(os.listdir(os.path.join(site.dir, "home")), [])

    def test_a_sandbox_that_cannot_be_made_is_an_error(self):
        """Nothing is run without it; what is wrong is said, and by doctor too."""
        site = self.boxed("echo ran > ran" + COMMIT)
        empty = os.path.join(site.root, "bin")
        os.makedirs(empty)
        for name in ("git", "sh", "env"):
            os.symlink(shutil.which(name), os.path.join(empty, name))
        site.env["PATH"] = empty
        site.up()
        site.call("goal.create", title="Test", plan=plan(task("T1")))
        detail = site.wait_event(lambda e: e["type"] == "effect.ended" and e["data"]["kind"] == "run_start")["data"]
        self.assertEqual(detail["outcome"], "error")
        self.assertIn("bubblewrap (bwrap) is not installed", detail["detail"])
        check = [c for c in site.call("doctor.run")["checks"] if c["name"] == "sandbox"][0]
        self.assertEqual(check["level"], "problem")
        self.assertIn("not installed", check["text"])
        self.assertEqual(site.git("log", "--format=%s", "main"), "start\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
