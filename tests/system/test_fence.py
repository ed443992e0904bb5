#!/usr/bin/env python3
"""The fence, which agents get by default: what an agent and its check can do in it, and what they cannot.

Each case runs with the real bubblewrap, as the user who runs the tests and, where that is root, as an ordinary user, too.
"""

import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest

import namespaces
from harness import CLI, DAEMON, FAST, SHIM, Site, SiteCase, plan, task

NOBODY = 65534
# Each line of the probe is "NAME RESULT": 0 when it could be done.
PROBE = r"""
try() { name=$1; shift; if "$@" >/dev/null 2>&1; then echo "$name 0"; else echo "$name 1"; fi >> probe; }
sees() { [ -e "$1" ]; }
reads() { cat "$1"; }
writes() { echo x > "$1"; }
makes() { mkdir -p "$(dirname "$1")" && echo x > "$1"; }
: > probe
"""
COMMIT = r"""
echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"
git add -A && git commit -qm "work of $OVERSEER_NODE"
"""
CONNECT = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])"


# Looks for a key of a keyring.
KEYS = r"""
import ctypes, platform
ADD, CTL = {"x86_64": (248, 250), "aarch64": (217, 219)}.get(platform.machine(), (-1, -1))
call = ctypes.CDLL(None, use_errno=True).syscall
call.restype = ctypes.c_long
def keyctl(*args):
    return call(CTL, *(ctypes.c_long(a) if isinstance(a, int) else a for a in args))
def add(ring):
    return call(ADD, b"user", b"overseer-test", b"secret", ctypes.c_size_t(6), ctypes.c_int(ring))
def found(name, ring):
    key, text = keyctl(10, ring, b"user", b"overseer-test", 0), ctypes.create_string_buffer(64)
    n = keyctl(11, key, text, 64) if key > 0 else -1
    return text.raw[:n].decode() if n >= 0 else "none"
"""


class UserSite(Site):
    """A site whose daemon belongs to an ordinary user."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.user = None
        self.before = []  # a command that takes something from the daemon, and becomes it

    def become(self, uid):
        self.user = uid
        subprocess.run(["chown", "-R", f"{uid}:{uid}", self.root], check=True)

    def popen(self, **env):
        who = {} if self.user is None else {"user": self.user, "group": self.user, "extra_groups": []}
        ready, told = os.pipe()
        self.log = os.path.join(self.root, "daemon.log")
        with open(self.log, "ab") as log:
            process = subprocess.Popen(
                [*self.before, DAEMON, "--dir", self.dir, "--shim", SHIM, "--ready-fd", str(told), *self.args],
                cwd=self.root, env={**self.env, **env}, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=[told], **who)
        os.close(told)
        return process, ready

    def git(self, *args):
        who = {} if self.user is None else {"user": self.user, "group": self.user, "extra_groups": []}
        done = subprocess.run(["git", *args], cwd=self.repo, env=self.env, capture_output=True, text=True, **who)
        if done.returncode:
            raise AssertionError(f"git {' '.join(args)}: {done.stderr}")
        return done.stdout


class FenceCase(SiteCase):
    user = None  # who the daemon is; None: whoever runs the tests

    def setUp(self):
        super().setUp()
        if namespaces.no_sandbox():
            self.skipTest(namespaces.no_sandbox())
        if self.user is not None:
            self.need_user()

    def need_user(self):
        if os.geteuid() != 0:
            self.skipTest("the tests are run by an ordinary user already")
        why = namespaces.why_not(["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups",
                                  "bwrap", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "--", "true"])
        if why:
            self.skipTest(f"namespaces: bwrap does not work here for an ordinary user ({why})")

    def fenced(self, script, level="auto", more="", config="", name="raw"):
        """A site whose agent is in a fence, with a home like that of a person. Not started."""
        site = UserSite(FAST + config, root=tempfile.mkdtemp(prefix="overseer-test-", dir="/var/tmp"))
        self.addCleanup(site.close)
        os.chmod(site.root, 0o755)
        home = os.path.join(site.root, "user")
        os.makedirs(os.path.join(home, "bin"))
        site.env["HOME"] = home
        os.chmod(site.write("../user/bin/agent.sh", "#!/bin/sh\n" + script), 0o755)
        site.write("../user/private", "the user's\n")
        site.write("../user/.gitconfig", "[user]\n\tname = Tester\n")
        site.write("../user/.bashrc", "# mine\n")
        site.write("../user/.config/git/ignore", "*.o\n")
        site.write("../user/.cache/p10k-instant-prompt-u.zsh", "# mine\n")
        site.write("../user/.cache/pip/old", "mine\n")
        site.configure(FAST + config + f"""
[planner]
fallback = false
[defaults]
agent = "boxed"
[agents.boxed]
command = ["{home}/bin/agent.sh"]
sandbox = "{level}"
{more}
[agents.boxed.env]
SITE = "{site.root}"
GIT_CONFIG_NOSYSTEM = "1"
""")
        if self.user is not None:
            site.become(self.user)
        return site

    def finish(self, site, *tasks):
        site.up()
        goal = site.call("goal.create", title="Test", plan=plan(*(tasks or (task("T1"),))))["goal"]
        site.wait_goal(goal)
        return goal

    def probe(self, site):
        """What the one task of a goal found out: what could be done."""
        self.finish(site)
        lines = site.git("show", "main:probe").splitlines()
        return {name for name, result in (line.split() for line in lines) if result == "0"}


class Fence(FenceCase):
    def snapshot(self, folder):
        """path -> content of everything below it, links and kinds included."""
        found = {}
        for top, dirs, files in os.walk(folder):
            for name in dirs + files:
                path = os.path.join(top, name)
                mode = os.lstat(path).st_mode
                if stat.S_ISREG(mode):
                    with open(path, "rb") as f:
                        found[path] = f.read()
                else:
                    found[path] = os.readlink(path) if stat.S_ISLNK(mode) else stat.S_IFMT(mode)
        return found

    def test_what_it_can_see_and_change(self):
        site = self.fenced(PROBE + r"""
try worktree writes here
try home_read reads "$HOME/private"
try home_write writes "$HOME/private"
try link reads "$HOME/link"
try checkout_read reads "$SITE/repo/README"
try checkout_write writes "$SITE/repo/README"
try system_read sees /usr/bin/env
try system_write writes /usr/ov-probe
try etc_write writes /etc/ov-probe
try var_write writes /var/tmp/ov-probe
try tmp_write writes /tmp/mine
try token reads "$SITE/repo/.overseer/token"
try store reads "$SITE/repo/.overseer/store.db"
try store_by_link reads "$HOME/repo/.overseer/token"
try socket sees "$SITE/repo/.overseer/overseer.sock"
try other_worktrees sees "$SITE/repo/.overseer/worktrees/pool-2"
try others_tmp sees "/tmp/$(basename "$SITE").sock"
try own_run sees "$SITE/repo/.overseer/runs/$OVERSEER_RUN/instruction"
try own_run_write writes "$SITE/repo/.overseer/runs/$OVERSEER_RUN/exit.json"
try run_folder sees /run/lock
try unmount umount "$SITE/repo/.overseer"
try remount mount -o remount,rw /
try core_pattern test -w /proc/sys/kernel/core_pattern
try sysrq test -w /proc/sysrq-trigger
try kernel test -w /sys/kernel/mm/transparent_hugepage/enabled
""" + COMMIT)
        os.symlink("private", os.path.join(site.root, "user", "link"))
        os.symlink(site.repo, os.path.join(site.root, "user", "repo"))
        with socket.socket(socket.AF_UNIX) as other:
            path = f"/tmp/{os.path.basename(site.root)}.sock"
            other.bind(path)
            self.addCleanup(os.unlink, path)
            before = self.snapshot(os.path.join(site.root, "user"))
            can = self.probe(site)
        self.assertEqual(can, {"worktree", "home_read", "link", "checkout_read", "system_read", "tmp_write", "own_run"})
        self.assertEqual(self.snapshot(os.path.join(site.root, "user")), before)
        self.assertEqual(site.read("README"), "hello\n")
        for path in ("/usr/ov-probe", "/etc/ov-probe", "/var/tmp/ov-probe"):
            self.assertFalse(os.path.exists(path), path)
        run, = site.runs()
        self.assertEqual((run["exit_code"], site.call("run.show", run=run["id"])["sandbox"]), (0, "fence"))
        self.assertEqual(site.call("status.get")["sandbox"], {"auto": "fence", "reason": None})

    def test_nothing_is_planted_for_others(self):
        """Files that somebody else would run one day, there already or not: nothing of it is in the user's home after."""
        places = [".bashrc", ".profile", ".zshrc", ".gitconfig", ".config/git/hooks/post-commit", ".config/git/config",
                  ".config/autostart/x.desktop", ".config/systemd/user/x.service", ".local/bin/git", "bin/ls",
                  ".claude/settings.json", ".claude/plugins/x", ".claude.json", ".codex/config.toml", ".codex/hooks.json",
                  ".gemini/settings.json", ".config/opencode/opencode.json", ".local/share/opencode/bin/x",
                  ".ssh/authorized_keys", ".npmrc", ".npm/_npx/x", ".cargo/config.toml", ".cargo/bin/x", ".vimrc",
                  ".cache/p10k-instant-prompt-u.zsh", ".cache/pip/old", ".cache/go-build/x", ".mozilla/x", "new"]
        script = PROBE + "".join(f'makes "$HOME/{place}"\n' for place in places) + r"""
common=$(git rev-parse --git-common-dir)
try hook makes "$common/hooks/post-commit"
try checkout_hook makes "$SITE/repo/.git/hooks/post-checkout"
try config git config core.fsmonitor "touch $SITE/ran"
try main git --git-dir="$SITE/repo/.git" update-ref refs/heads/main HEAD
""" + COMMIT
        for format_name in ("raw", "claude", "codex", "gemini", "opencode"):
            with self.subTest(format=format_name):
                more = "" if format_name == "raw" else f'format = "{format_name}"\n'
                site = self.fenced(script, more=more)
                home = os.path.join(site.root, "user")
                before = self.snapshot(home)
                site.up()
                site.call("goal.create", title="Test", plan=plan(task("T1")))
                run = site.wait_type("run.harvested")["run"]
                after = self.snapshot(home)
                # Folders that the agent's program would make itself are made for it.
                made = {p for p in after if p not in before and after[p] != stat.S_IFDIR}
                self.assertEqual((made, {p for p in before if before[p] != after.get(p)}), (set(), set()))
                harvested = site.wait_type("run.harvested", run=run)["data"]
                found = site.git("show", harvested["head"] + ":probe").splitlines()
                self.assertEqual([line for line in found if line.endswith(" 0")], [])

    def test_other_programs_cannot_be_asked(self):
        """Sockets of tmux, of docker, of the user's service manager; processes that are not its own."""
        site = self.fenced(PROBE + rf"""
connects() {{ {sys.executable} -c '{CONNECT}' "$1"; }}
try tmux env TMUX_TMPDIR=/tmp tmux -L "$(cat "$SITE/user/name")" run-shell "touch $SITE/ran"
try docker connects "$HOME/.docker/run/docker.sock"
try docker_system connects /var/run/docker.sock
try gpg connects "$HOME/.gnupg/S.gpg-agent"
try home_socket connects "$HOME/editor.sock"
try screen_key reads "$HOME/.Xauthority"
try systemd systemd-run --user --wait touch "$SITE/ran"
try bus connects "/run/user/$(id -u)/bus"
try system_bus connects /run/dbus/system_bus_socket
try sees_other sees "/proc/$(cat "$SITE/user/pid")"
try signals kill -0 "$(cat "$SITE/user/pid")"
try many test "$(ls -d /proc/[0-9]* | wc -l)" -gt 12
""" + COMMIT)
        home = os.path.join(site.root, "user")
        sockets = []
        for place in (".docker/run/docker.sock", ".gnupg/S.gpg-agent", "editor.sock"):
            path = os.path.join(home, place)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            sockets.append(socket.socket(socket.AF_UNIX))
            # Short names: a socket's path has 107 characters.
            os.chdir(os.path.dirname(path))
            sockets[-1].bind(os.path.basename(path))
            sockets[-1].listen()
            os.chmod(path, 0o777)
        os.chdir("/")
        self.addCleanup(lambda: [s.close() for s in sockets])
        site.write("../user/.Xauthority", "key\n")
        name = os.path.basename(site.root)
        site.write("../user/name", name)
        if shutil.which("tmux"):
            subprocess.run(["tmux", "-L", name, "-f", "/dev/null", "new-session", "-d", "sleep 3600"], check=True,
                           env={**site.env, "TMUX_TMPDIR": "/tmp"})
            self.addCleanup(subprocess.run, ["tmux", "-L", name, "kill-server"], env={**site.env, "TMUX_TMPDIR": "/tmp"},
                            check=False)
        other = subprocess.Popen(["sleep", "3600"], **({} if self.user is None else {"user": self.user}))
        self.addCleanup(lambda: (other.kill(), other.wait()))
        site.write("../user/pid", str(other.pid))
        if self.user is not None:
            site.become(self.user)
        self.assertEqual(self.probe(site), set())
        self.assertFalse(os.path.exists(os.path.join(site.root, "ran")))
        self.assertIsNone(other.poll())
        if shutil.which("tmux"):  # which does it for those who are outside
            subprocess.run(["tmux", "-L", name, "run-shell", f"touch {site.root}/ran"], check=True,
                           env={**site.env, "TMUX_TMPDIR": "/tmp"})
            self.assertTrue(os.path.exists(os.path.join(site.root, "ran")))

    def test_services_below_run_cannot_be_asked(self):
        """The user's service manager, D-Bus, docker and podman, where the environment says that they are: nobody connects."""
        base = "/run" if os.geteuid() == 0 else f"/run/user/{os.getuid()}"
        if not os.access(base, os.W_OK):
            self.skipTest(f"{base} cannot be written")
        folder = tempfile.mkdtemp(prefix="ov-", dir=base)
        self.addCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o755)
        services = {}
        for name in ("bus", "systemd/private", "docker.sock", "podman/podman.sock"):
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            services[path] = self.enterContext(socket.socket(socket.AF_UNIX))
            services[path].bind(path)
            services[path].listen()
            services[path].setblocking(False)
            os.chmod(path, 0o777)
        tries = "".join(f"try s{n} {sys.executable} -c '{CONNECT}' {path}\n" for n, path in enumerate(services))
        site = self.fenced(PROBE + rf"""
export XDG_RUNTIME_DIR={folder} DBUS_SESSION_BUS_ADDRESS=unix:path={folder}/bus DOCKER_HOST=unix://{folder}/docker.sock
try systemd systemd-run --user --wait touch "$SITE/ran"
try systemctl systemctl --user start x.service
try docker docker run -v /:/host busybox true
{tries}""" + COMMIT)
        self.assertEqual(self.probe(site), set())
        for path, service in services.items():
            with self.assertRaises(BlockingIOError, msg=path):
                service.accept()
            with socket.socket(socket.AF_UNIX) as outside:
                outside.connect(path)
                service.accept()[0].close()

    def test_git_works_and_cannot_be_turned_against_others(self):
        site = self.fenced(PROBE + r"""
common=$(git rev-parse --git-common-dir); own=$(git rev-parse --git-dir)
echo 1 > a; git add a; git commit -qm one; echo 2 > b; git add b; git commit -qm two
try amend git commit -q --amend -m changed
try rebase git rebase -q --force-rebase HEAD~2
try interactive env GIT_SEQUENCE_EDITOR=true git rebase -q -i HEAD~1
try reset git reset -q --hard HEAD
try log sh -c 'git reflog | grep -q changed'
try hook writes "$common/hooks/post-commit"
try config git config user.name Planted
try pointer writes .git
try move_pointer mv .git elsewhere
try main git --git-dir="$SITE/repo/.git" update-ref refs/heads/main HEAD
try exclude writes "$SITE/repo/.git/info/exclude"
try packed writes "$SITE/repo/.git/packed-refs"
""" + COMMIT)
        self.assertEqual(self.probe(site), {"amend", "rebase", "interactive", "reset", "log"})
        self.assertEqual(site.git("show", "main:b"), "2\n")

    def test_caches_and_the_state_of_an_agent(self):
        """They can be written. What is in them is the fence's own; logins and transcripts are the user's."""
        site = self.fenced(PROBE + r"""
try cache makes "$HOME/.cache/pip/x"
try new_cache makes "$HOME/.cache/tool/x"
try npm makes "$HOME/.npm/_cacache/x"
try cargo makes "$HOME/.cargo/registry/x"
try go makes "$HOME/go/pkg/x"
try user_cache sees "$HOME/.cache/pip/old"
try settings reads "$HOME/.claude/settings.json"
try settings_write writes "$HOME/.claude/settings.json"
try settings_rename sh -c 'echo x > "$HOME/.claude/s.tmp" && mv "$HOME/.claude/s.tmp" "$HOME/.claude/settings.json"'
try hooks makes "$HOME/.claude/hooks/x"
try transcript makes "$HOME/.claude/projects/here/x"
try login writes "$HOME/.claude/.credentials.json"
try servers reads "$HOME/.claude.json"
try servers_write writes "$HOME/.claude.json"
try snapshot sees "$HOME/.claude/shell-snapshots/old"
try own_snapshot makes "$HOME/.claude/shell-snapshots/x"
""" + COMMIT + 'echo \'{"type":"result","subtype":"success","is_error":false,"result":"ok"}\'\n', more='format = "claude"\n')
        site.write("../user/.claude/settings.json", "{}")
        site.write("../user/.claude/.credentials.json", "login")
        site.write("../user/.claude/hooks/mine", "x")
        site.write("../user/.claude/shell-snapshots/old", "x")
        site.write("../user/.claude.json", "{}")
        if self.user is not None:
            site.become(self.user)
        self.assertEqual(self.probe(site), {"cache", "new_cache", "npm", "cargo", "go", "settings", "transcript", "login",
                                            "servers", "servers_write", "own_snapshot"})
        self.assertEqual(site.read("../user/.claude/settings.json"), "{}")
        self.assertEqual(site.read("../user/.claude/.credentials.json"), "x\n")
        self.assertEqual(site.read("../user/.claude/projects/here/x"), "x\n")
        self.assertEqual(site.read("../user/.claude.json"), "{}")
        self.assertEqual(os.listdir(os.path.join(site.root, "user", ".claude", "shell-snapshots")), ["old"])
        self.assertEqual(os.listdir(os.path.join(site.root, "user", ".cache", "pip")), ["old"])
        self.assertFalse(os.path.exists(os.path.join(site.root, "user", ".npm")))
        self.assertEqual(site.read(".overseer/cache/.cache/pip/x"), "x\n")

    def start_fails(self, site):
        site.up()
        site.call("goal.create", title="Test", plan=plan(task("T1")))
        ended = site.wait_event(lambda e: e["type"] == "effect.ended" and e["data"]["kind"] == "run_start")["data"]
        self.assertEqual(ended["outcome"], "error", ended)
        return ended["detail"]

    def test_what_a_fence_protects_cannot_be_made_writable(self):
        """By the path itself, one around it, or a link to that. A run could rename it, and put its own there."""
        for path, what in (("", "the store"), ("/repo", "the store"), ("/repo/.git", "the repository's git folder"),
                           ("/repo/.overseer", "the store"), ("/user", "your home"), ("/user/.config", "settings of an agent"),
                           ("/user/.claude", "settings of an agent"), ("/link", "the store")):
            with self.subTest(path=path):
                site = self.fenced("echo ran > ran" + COMMIT, more='sandbox_writable = ["/usr", "{root}' + path + '"]')
                os.makedirs(os.path.join(site.root, "user/.claude"))
                os.symlink("repo", os.path.join(site.root, "link"))
                site.configure(site.read(".overseer/config.toml").replace("{root}", site.root))
                if self.user is not None:
                    site.become(self.user)
                said = self.start_fails(site)
                self.assertIn(f"agents.boxed.sandbox_writable: {site.root}{path} contains {what}", said)
                check, = [c for c in site.call("doctor.run")["checks"] if c["name"] == "sandbox"]
                self.assertEqual(check["level"], "problem")
                self.assertIn(f"agents.boxed.sandbox_writable: {site.root}{path} contains {what}", check["text"])
                self.assertEqual(site.git("log", "--format=%s", "main"), "start\n")

    def test_folders_beside_the_repository_can_be_made_writable(self):
        """Also one of the checkout: then the store and the git folder are still what they were."""
        site = self.fenced(PROBE + r"""
try beside writes "$SITE/beside/x"
try in_the_checkout writes "$SITE/repo/build/x"
try token reads "$SITE/repo/.overseer/token"
try hook makes "$SITE/repo/.git/hooks/post-commit"
try in_git writes "$SITE/repo/.git/info/x"
try checkout mv "$SITE/repo" "$SITE/elsewhere"
""" + COMMIT, more='sandbox_writable = ["{root}/beside", "{root}/repo/build", "{root}/repo/.git/info"]')
        site.configure(site.read(".overseer/config.toml").replace("{root}", site.root))
        site.write("build/.gitignore", "*\n")
        os.makedirs(os.path.join(site.repo, ".git/info"), exist_ok=True)
        os.makedirs(os.path.join(site.root, "beside"))
        if self.user is not None:
            site.become(self.user)
        self.assertEqual(self.probe(site), {"beside", "in_the_checkout"})

    def test_the_prompt_of_a_run_stays_what_it_was(self):
        """Its standard input was opened outside of the fence; /proc has a name for it."""
        site = self.fenced(PROBE + r"""
cat > told
try append sh -c 'echo planted >> /proc/self/fd/0'
try replace sh -c 'echo planted > /proc/self/fd/0'
try truncate truncate -s 1M /proc/self/fd/0
""" + COMMIT, more='prompt = "stdin"')
        self.assertEqual(self.probe(site), set())
        run, = site.runs()
        kept = site.read(f".overseer/runs/{run['id']}/prompt")
        self.assertEqual(site.git("show", "main:told"), kept)
        self.assertNotIn("planted", kept)

    def test_a_run_does_nothing_while_its_work_is_kept(self):
        """It could exchange folders for links meanwhile: files that the sandbox hides would be kept, where it can read them."""
        counts = r"""
mkdir m; for i in 1 2 3 4 5 6; do head -c 4000000 /dev/urandom > m/$i; done
n=0; while :; do n=$((n + 1)); echo $n > .new; mv .new a; echo $n > .new; mv .new z; done
"""
        for groups in ("true", "false"):
            site = self.fenced(counts, config=f'[supervisor]\nstop_grace = "1s"\ncgroups = {groups}\n')
            site.up()
            site.call("goal.create", title="Test", plan=plan(task("T1")))
            run = site.wait_type("run.started")["run"]
            while not os.path.exists(os.path.join(site.dir, "worktrees", "pool-1", "z")):
                time.sleep(0.01)
            held = os.path.exists(os.path.join(site.dir, "runs", run, "cgroup"))
            site.cli("run", "stop", run)
            stopped = site.wait_event(lambda e: e["type"] == "effect.ended" and e["data"]["kind"] == "run_stop")
            self.assertEqual(stopped["data"]["outcome"], "ok")
            detail = stopped["data"].get("detail", "")
            # Without a control group it cannot be held: its work is kept when it has ended.
            self.assertEqual(detail.startswith("its work, before it was stopped, is in "), held)
            if held:
                first, last = (int(site.git("show", f"{detail.split()[-1]}:{name}")) for name in "az")
                self.assertIn(first - last, (0, 1))
            site.wait_type("run.harvested", run=run)
            self.assertIn("z", site.git("ls-tree", "-r", "--name-only", site.git("for-each-ref", "--format=%(refname)", "refs/overseer/rescue").split()[-1]).split())

    def test_a_run_is_found_again_whatever_is_in_place_of_its_events(self):
        """The folder of its hooks is its own: a daemon that starts must neither wait there nor give the run up."""
        for kind in ("mkfifo", "mkdir", "ln -s /etc/passwd"):
            site = self.fenced(f"""
cat > /dev/null
cd "$SITE"/repo/.overseer/runs/*/hooks; rm -f events; {kind} events; cd - > /dev/null
: > swapped; until [ -e "$SITE/go" ]; do sleep 0.05; done; git rm -qf --ignore-unmatch swapped
{COMMIT}
echo '{{"type":"result","subtype":"success","is_error":false,"result":"ok"}}'
""", more='format = "claude"\nprompt = "stdin"')
            site.up()
            goal = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
            while not os.path.exists(os.path.join(site.dir, "worktrees", "pool-1", "swapped")):
                time.sleep(0.01)
            site.kill()
            site.up()
            site.write("../go", "")
            site.wait_goal(goal)
            self.assertEqual(len(site.runs()), 1)

    def test_a_run_keeps_no_worktree_from_others(self):
        """By the variable that tells a git of ours which was left behind."""
        site = self.fenced("""
if [ "$OVERSEER_NODE" = T1 ]; then
	OVERSEER_GIT_PATH="$SITE/repo/.overseer/worktrees/pool-2" sleep 1000 &
	: > "$OVERSEER_NODE.marked"; until [ -e "$SITE/go" ]; do sleep 0.05; done
fi
""" + COMMIT, config="[workers]\nmax = 2\n")
        site.up()
        first = site.call("goal.create", title="Test", plan=plan(task("T1")))["goal"]
        while not os.path.exists(os.path.join(site.dir, "worktrees", "pool-1", "T1.marked")):
            time.sleep(0.01)
        site.wait_goal(site.call("goal.create", title="Test", plan=plan(task("T2")))["goal"])
        site.write("../go", "")
        site.wait_goal(first)

    def test_keys_of_whoever_started_the_daemon(self):
        """Their session keyring is not that of a run, nor of a check on its work."""
        python = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
        site = self.fenced(f'{python} "$SITE/user/key.py" >> keys; cp keys keys.run; true' + COMMIT,
                           config=f"[workspace]\ncheck_command = '{python} \"$SITE/user/key.py\" | grep ^none'\n")
        site.env["SITE"] = site.root
        site.write("../user/key.py", KEYS + 'print(found("@s", -3), found("@u", -4))\n')
        site.write("../start.py", KEYS + """
import os, sys
keyctl(1, None)
if add(-3) < 0:
    print("no keyrings")
    sys.exit(1)
assert found("", -3) == "secret"
os.execv(sys.argv[1], sys.argv[1:])
""")
        if subprocess.run([python, os.path.join(site.root, "start.py"), "/bin/true"], capture_output=True).returncode:
            self.skipTest("the kernel has no keyrings")
        site.before = [python, os.path.join(site.root, "start.py")]
        if self.user is not None:
            site.become(self.user)
        self.finish(site)
        self.assertEqual(site.git("show", "main:keys.run").split()[0], "none")

    def test_links_that_a_run_leaves_lead_no_mount_elsewhere(self):
        """In its /tmp, where the place of its own program is, and in a cache, where one that the user shares is."""
        folder = tempfile.mkdtemp(prefix="overseer-test-", dir="/tmp")
        self.addCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o755)
        site = self.fenced("", more='sandbox_writable = ["{root}/user/.cache/pip/shared"]')
        outside = os.path.join(site.root, "outside")
        os.makedirs(os.path.join(folder, "sub"))
        os.makedirs(outside)
        site.write("../user/.cache/pip/shared/x", "shared\n")
        with open(os.path.join(folder, "sub/agent.sh"), "w", encoding="utf-8") as f:
            f.write(f"""#!/bin/sh
if [ ! -e /tmp/planted ]; then
	echo > /tmp/planted
	mv {folder} /tmp/moved && ln -s /oldroot{outside} {folder} || exit 3
	mv "$HOME/.cache/pip" "$HOME/.cache/moved" && ln -s /oldroot{outside} "$HOME/.cache/pip" || exit 4
	exit 1
fi
cat "$HOME/.cache/pip/shared/x" > found
""" + COMMIT)
        os.chmod(os.path.join(folder, "sub/agent.sh"), 0o755)
        site.configure(site.read(".overseer/config.toml").replace(f"{site.root}/user/bin/agent.sh", f"{folder}/sub/agent.sh")
                       .replace("{root}", site.root))
        if self.user is not None:
            site.become(self.user)
        self.finish(site)
        self.assertEqual([run["exit_code"] for run in site.runs()], [1, 0])
        self.assertEqual(site.git("show", "main:found"), "shared\n")
        self.assertEqual(os.listdir(outside), [])

    def test_a_cache_is_there_for_the_next_run(self):
        site = self.fenced(r"""
[ "$OVERSEER_NODE" = T1 ] || cp "$HOME/.cache/pip/x" found
mkdir -p "$HOME/.cache/pip"; echo kept > "$HOME/.cache/pip/x"
""" + COMMIT)
        self.finish(site, task("T1"), task("T2", ["T1"]))
        self.assertEqual(site.git("show", "main:found"), "kept\n")

    def test_what_a_run_left_in_a_cache_does_not_stop_the_next(self):
        """A link in the place where an entry of the user's is to be shown."""
        site = self.fenced(r"""
rm -rf "$HOME/.cache/tool"; ln -s ../.bashrc "$HOME/.cache/tool"; ln -s /etc/passwd "$HOME/.cache/other"
""" + COMMIT)
        self.finish(site)
        for name in ("tool", "other"):
            site.write(f"../user/.cache/{name}/x", "mine\n")
        if self.user is not None:
            site.become(self.user)
        goal = site.call("goal.create", title="Again", plan=plan(task("T2")))["goal"]
        site.wait_goal(goal)
        self.assertEqual(site.read("../user/.bashrc"), "# mine\n")

    def test_folders_that_are_links_in_a_home_that_is_shown_as_a_whole(self):
        """More entries than are mounted one by one: links stay links there, and their targets are replaced."""
        site = self.fenced(r"""
mkdir -p "$HOME/.cache/pip" "$HOME/.npm/x"; echo ours > "$HOME/.cache/pip/old"; echo ours > "$HOME/.npm/x/y"
cat "$HOME/.cache/mine" > found; [ -s "$HOME/.Xauthority" ] && echo key >> found
""" + COMMIT)
        home = os.path.join(site.root, "user")
        for i in range(301):
            site.write(f"../user/file-{i}", "")
        shutil.move(os.path.join(home, ".cache"), os.path.join(site.root, "elsewhere"))
        os.symlink("../elsewhere", os.path.join(home, ".cache"))
        os.symlink("../missing", os.path.join(home, ".npm"))
        os.symlink(".", os.path.join(home, "go"))
        site.write("../elsewhere/mine", "mine\n")
        site.write("../key", "secret\n")
        os.symlink("../key", os.path.join(home, ".Xauthority"))
        if self.user is not None:
            site.become(self.user)
        self.finish(site)
        self.assertEqual(site.git("show", "main:found"), "mine\n")
        self.assertEqual(site.read("../elsewhere/pip/old"), "mine\n")

    def test_a_writable_path_that_does_not_exist_is_left_out_and_said(self):
        site = self.fenced("true" + COMMIT, more='sandbox_writable = ["/nothere"]',
                           config='[workspace]\nsetup_command = "true"\n')
        self.finish(site)
        check, = [c for c in site.call("doctor.run")["checks"] if c["name"] == "sandbox"]
        self.assertEqual(check["level"], "warning")
        self.assertIn("agents.boxed.sandbox_writable: /nothere does not exist", check["text"])

    def test_overseer_in_a_run_says_that_its_store_is_hidden(self):
        """An agent that asks for the status must not be led to start a daemon of its own."""
        site = self.fenced(r"""
for words in status up "--dir $SITE/repo up" "--dir $SITE/repo init"; do
	"$HOME/bin/overseer" $words >> told 2>&1; echo "exit $?" >> told
done
(cd "$SITE/repo" && "$HOME/bin/overseer" init) >> told 2>&1; echo "exit $?" >> told
ls "$SITE/repo/.overseer" > left
""" + COMMIT)
        shutil.copy(CLI, os.path.join(site.root, "user/bin/overseer"))
        self.finish(site)
        told = site.git("show", "main:told")
        self.assertEqual(told.count("of Overseer: its store"), 5, told)
        self.assertEqual(told.count("exit "), told.count("exit 4"), told)
        self.assertNotIn("overseer up", told)
        self.assertNotIn("daemon", site.git("show", "main:left"))


class Commands(FenceCase):
    """Setup, check and pre-accept commands run what an agent wrote; post-accept, pool and hook commands do not."""

    # What the agent wrote, and each command runs.
    TRY = PROBE.replace("probe", "$OUT") + r"""
try store reads "$SITE/repo/.overseer/token"
makes "$HOME/planted-$1"
try checkout writes "$SITE/repo/README"
try hook makes "$SITE/repo/.git/hooks/post-commit"
try secret test -n "$SECRET"
try home_read reads "$HOME/private"
cat "$OUT" > "$SITE/out/$1"
"""

    def commanded(self, level="auto", workspace="", more=""):
        config = f"""
[workspace]
setup_command = 'OUT="$SITE/out/s" sh "$SITE/try.sh" setup'
check_command = "OUT=$SITE/out/c sh ./try.sh check"
{workspace}
[accept]
unchecked = "accept"
pre_accept_command = "OUT=$SITE/out/g sh ./try.sh gate"
post_accept_command = "OUT=$SITE/p sh ./try.sh post"
{more}
"""
        site = self.fenced("cp \"$SITE/try.sh\" try.sh" + COMMIT, level=level, config=config)
        return self.with_outside(site)

    def with_outside(self, site):
        site.env.update(SECRET="s3cret", SITE=site.root)
        site.write("../try.sh", self.TRY)
        os.makedirs(os.path.join(site.root, "out"))
        path = os.path.join(site.dir, "config.toml")
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if 'sandbox = "none"' not in text:
            text = text.replace('sandbox = "auto"', f'sandbox = "auto"\nsandbox_writable = ["{site.root}/out"]')
        site.configure(text)
        if self.user is not None:
            site.become(self.user)
        return site

    def found(self, site, name):
        lines = site.read(os.path.join(site.root, "out", name)).splitlines()
        return {n for n, result in (line.split() for line in lines) if result == "0"}

    def test_they_run_in_the_sandbox_of_the_agent_with_its_environment(self):
        site = self.commanded()
        self.finish(site)
        for name in ("setup", "check", "gate"):
            self.assertEqual(self.found(site, name), {"home_read"}, name)
        self.assertEqual([n for n in os.listdir(os.path.join(site.root, "user")) if "planted" in n], ["planted-post"])
        self.assertEqual(self.found(site, "post"), {"store", "checkout", "hook", "secret", "home_read"})

    def test_without_a_sandbox_they_still_have_the_environment_of_the_agent(self):
        site = self.commanded(level="none")
        self.finish(site)
        for name in ("setup", "check", "gate"):
            self.assertEqual(self.found(site, name), {"store", "checkout", "hook", "home_read"}, name)

    def test_opting_out_is_named_by_doctor(self):
        site = self.commanded(workspace='check_sandbox = "none"')
        self.finish(site)
        self.assertEqual(self.found(site, "check"), {"store", "checkout", "hook", "secret", "home_read"})
        check, = [c for c in site.call("doctor.run")["checks"] if c["name"] == "sandbox"]
        self.assertEqual(check["level"], "warning")
        self.assertIn('workspace.check_sandbox = "none"', check["text"])

    def test_a_command_that_could_not_write_tells_of_the_sandbox(self):
        for option, kind in ("check_command", "check"), ("setup_command", "workspace"):
            with self.subTest(option=option):
                site = self.fenced("true" + COMMIT, config=f"[workspace]\n{option} = 'echo x > \"$SITE/x\"'\n")
                site.up()
                site.call("goal.create", title="Test", plan=plan(task("T1")))
                ended = site.wait_event(lambda e: e["type"] == "effect.ended" and e["data"]["kind"] == kind)["data"]
                self.assertIn("It ran in the sandbox of agent boxed", ended["detail"])
                for said in ("agents.boxed.sandbox_writable", "workspace.check_sandbox", "docs/security.md"):
                    self.assertIn(said, ended["detail"])

    def test_commands_of_the_user_get_what_is_named(self):
        site = self.commanded(more='[commands]\nenv_pass = ["PATH", "HOME", "SITE"]')
        self.finish(site)
        self.assertEqual(self.found(site, "post"), {"store", "checkout", "hook", "home_read"})

    def test_a_check_that_takes_too_long_leaves_nothing(self):
        site = self.fenced("true" + COMMIT, config="""
[workspace]
check_command = "setsid sleep 3600 & sleep 3600"
check_timeout = "500ms"
""")
        site.up()
        site.call("goal.create", title="Test", plan=plan(task("T1")))
        ended = site.wait_event(lambda e: e["type"] == "effect.ended" and e["data"]["kind"] == "check")["data"]
        self.assertIn("workspace.check_timeout", ended["detail"])
        self.assertEqual([p for p in site.live_pids() if self.is_sleep(p)], [])

    @staticmethod
    def is_sleep(pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                return f.read().startswith(b"sleep\0003600")
        except OSError:
            return False


class FenceAsUser(Fence):
    user = NOBODY


class CommandsAsUser(Commands):
    user = NOBODY


class Levels(FenceCase):
    def without(self, site):
        """A PATH without bubblewrap."""
        empty = os.path.join(site.root, "bin")
        os.makedirs(empty)
        for name in ("git", "sh", "env", "cat"):
            os.symlink(shutil.which(name), os.path.join(empty, name))
        site.env["PATH"] = empty

    def test_auto_without_bubblewrap_is_none_and_said(self):
        site = self.fenced("echo x > \"$HOME/mine\"" + COMMIT)
        self.without(site)
        self.finish(site)
        self.assertEqual(site.read("../user/mine"), "x\n")
        self.assertEqual(site.call("status.get")["sandbox"],
                         {"auto": "none", "reason": "bubblewrap (bwrap) is not installed"})
        run, = site.runs()
        self.assertEqual(site.call("run.show", run=run["id"])["sandbox"], "none")
        check, = [c for c in site.call("doctor.run")["checks"] if c["name"] == "sandbox"]
        self.assertEqual(check["level"], "warning")
        self.assertIn("agents run without a sandbox: bubblewrap (bwrap) is not installed", check["text"])
        self.assertIn("NO FENCE", site.cli("status"))
        site.cli("down")
        self.assertIn("NO FENCE  agents run without a sandbox: bubblewrap", site.cli("up"))

    def test_auto_where_namespaces_are_forbidden_is_none_and_said(self):
        site = self.fenced("true" + COMMIT)
        fake = site.write("../bin/bwrap", "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n")
        os.chmod(fake, 0o755)
        site.env["PATH"] = os.path.dirname(fake) + ":" + site.env["PATH"]
        self.finish(site)
        self.assertIn("No permissions to create new namespace", site.call("status.get")["sandbox"]["reason"])

    def test_auto_in_a_container_without_namespaces(self):
        """As many containers are: root without privileges, and a user who may make no user namespace."""
        if os.geteuid() != 0:
            self.skipTest("only root can take something from itself")
        tool = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/without-userns")
        for before, user in (["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"], None), ([tool], NOBODY):
            with self.subTest(before=before[0]):
                site = self.fenced("echo x > \"$HOME/mine\"" + COMMIT)
                site.before = before
                if user is not None:
                    site.become(user)
                self.finish(site)
                status = site.call("status.get")["sandbox"]
                self.assertEqual(status["auto"], "none")
                self.assertIn("does not work here", status["reason"])
                self.assertEqual(site.read("../user/mine"), "x\n")

    def test_a_level_that_is_asked_for_and_cannot_be_made_fails_the_start(self):
        for level in ("fence", "bwrap"):
            with self.subTest(level=level):
                site = self.fenced("echo ran > ran" + COMMIT, level=level)
                self.without(site)
                site.up()
                site.call("goal.create", title="Test", plan=plan(task("T1")))
                ended = site.wait_event(lambda e: e["type"] == "effect.ended" and e["data"]["kind"] == "run_start")["data"]
                self.assertEqual(ended["outcome"], "error")
                self.assertIn("bubblewrap (bwrap) is not installed", ended["detail"])
                site.configure(site.read(".overseer/config.toml") + '[agents.other]\ncommand = ["true"]\n')
                site.cli("config", "reload")
                check, = [c for c in site.call("doctor.run")["checks"] if c["name"] == "sandbox"]
                self.assertIn("1 of 2 agents cannot be run, the others run without a sandbox", check["text"])
                self.assertEqual(site.git("log", "--format=%s", "main"), "start\n")

    def test_none_is_none(self):
        site = self.fenced("echo x > \"$HOME/mine\"" + COMMIT, level="none")
        self.finish(site)
        self.assertEqual(site.read("../user/mine"), "x\n")
        self.assertIsNone(site.call("status.get")["sandbox"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
