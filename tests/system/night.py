"""What rehearsals of a night in auto mode share: a pool of tasks, what an agent does for each of them, a
person at work in the checkout, a daemon that is killed again and again, and what must hold in the morning.
"""

import os
import random
import subprocess
import threading
import time

import harness

WORKERS = 4

# Every commit that it makes is noted, also those that it throws away itself.
AGENT = r"""
prompt=$(cat)
set -- $(printf '%s\n' "$prompt" | grep -o 'job [0-9][0-9]* [a-z][a-z]*' | head -n 1)
n=$2 kind=$3
mkdir -p "$HOME/tries" jobs
echo x >> "$HOME/tries/$n"
try=$(wc -l < "$HOME/tries/$n")
note() { git rev-parse HEAD >> "$HOME/made"; }
commit() { git add -A && git commit -qm "$1" && note; }
# What was built on an old target is put onto the new one; of lines in conflict both sides stay.
if ! git merge-base --is-ancestor main HEAD; then
	git rebase -q main >/dev/null 2>&1 || while [ -n "$(git diff --name-only --diff-filter=U)" ]; do
		sed -i '/^[<=>]\{7\}/d' shared.txt
		git add shared.txt
		GIT_EDITOR=true git rebase --continue >/dev/null 2>&1
	done
	note
fi
[ "$try" -gt 6 ] && exit 1
case $kind$try in
nothing*) exit 0 ;;
crash1) echo half > jobs/half-$n; commit "half of $n"; echo more > jobs/more-$n; exit 1 ;;
hang1) echo half > jobs/half-$n; commit "half of $n"; exec tail -f /dev/null ;;
broken1) touch bad ;;
broken*) rm -f bad ;;
esac
[ -e jobs/$n ] || echo "done $n" > jobs/$n
case $kind in
conflict) grep -q "^line $n$" shared.txt || echo "line $n" >> shared.txt; commit "job $n" ;;
leave) echo index > jobs/staged-$n; git add jobs/staged-$n ;;
owngit)
	commit "first of $n"
	echo again >> jobs/$n; git add -A; git commit -q --amend -m "amended $n"; note
	git switch -qc "own-$n-$try"; echo apart > jobs/apart-$n; commit "apart $n"
	echo stashed > jobs/stashed-$n; git add -A; git stash -q; git stash pop -q; commit "stashed $n"
	;;
*) commit "job $n" ;;
esac
exit 0
"""

# One answer at a time; what was given out is never given again.
POOL = r"""
while ! mkdir "$HOME/pool.lock" 2>/dev/null; do sleep 0.01; done
n=$(cat "$HOME/next")
if [ "$n" -le "$(cat "$HOME/limit")" ]; then
	cat "$HOME/tasks/$n"
	echo $((n + 1)) > "$HOME/next.new"; mv "$HOME/next.new" "$HOME/next"
fi
rmdir "$HOME/pool.lock"
"""

GATE = r"""
[ ! -e bad ] || { echo "there is a file called bad"; exit 1; }
for f in jobs/[0-9]*; do [ ! -e "$f" ] || [ -s "$f" ] || { echo "$f is empty"; exit 1; }; done
"""

# The third accepted task is found to be wrong once, when it is on main already.
POST = r"""
echo "$OVERSEER_NODE" >> "$HOME/post"
[ "$(wc -l < "$HOME/post")" != 3 ]
"""

CONFIG = f"""
[accept]
dirty_wait = "500ms"
conflict_rounds = 20
pre_accept_command = "sh $HOME/gate.sh"
post_accept_command = "sh $HOME/post.sh"
post_accept_on_failure = "revert"
[auto]
# Tasks that fail on purpose may come in a row.
max_failures_in_a_row = 0
task_pool_command = "sh $HOME/pool.sh"
concurrency = {WORKERS}
pool_wait = "50ms"
pool_wait_max = "200ms"
[http]
enabled = false
"""


class User(threading.Thread):
    """A person at work in the checkout, as if Overseer were not there."""

    def __init__(self, site, rng, pace):
        super().__init__(daemon=True)
        self.site, self.rng, self.pace = site, rng, pace
        self.over = threading.Event()
        self.commits, self.branches, self.draft, self.failed = [], ["main"], None, None
        self.n = 0
        self.steps = (self.commit, self.leave_dirty, self.clean_up, self.clean_up, self.switch)

    def git(self, *args):
        done = subprocess.run(["git", *args], cwd=self.site.repo, env=self.site.env, capture_output=True, text=True)
        return done.returncode == 0

    def commit(self):
        self.n += 1
        name = f"user-{self.n}.txt"
        self.site.write(name, f"{self.n}\n")
        # Whoever is refused because something moved tries again, as people do.
        while not (self.git("add", name) and self.git("commit", "-qm", f"user {self.n}", "--", name)):
            time.sleep(0.02)
        self.commits.append(self.site.git("log", "-1", "--format=%H", f"--grep=^user {self.n}$", "HEAD").strip())

    def leave_dirty(self):
        self.n += 1
        self.draft = f"draft {self.n}\n"
        self.site.write("README", self.draft)

    def clean_up(self):
        if self.draft is None:
            return
        if self.site.read("README") != self.draft:
            raise AssertionError(f"the draft is gone: {self.site.read('README')!r}")
        while not self.git("commit", "-qm", f"draft {self.n}", "--", "README"):
            time.sleep(0.02)
        self.draft = None

    def switch(self):
        if self.draft is not None:
            return
        if len(self.branches) > 1 or self.rng.random() < 0.5:
            self.git("switch", "-q", "main")
            self.branches = ["main"]
        else:
            self.n += 1
            if self.git("switch", "-qc", f"user-{self.n}"):
                self.branches.append(f"user-{self.n}")

    def run(self):
        try:
            while not self.over.wait(self.rng.uniform(0.02, self.pace)):
                self.rng.choice(self.steps)()
            self.clean_up()
            self.git("switch", "-q", "main")
        except Exception as e:  # told by the test that waits for us
            self.failed = e


def everyone_of(site):
    """All processes that were started with the site's folder as their home, or for it."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as f:
                if site.root.encode() in f.read() and int(name) != os.getpid():
                    found.append(int(name))
        except OSError:
            continue
    return found


class Night:
    """Of a test case: its site, and the kinds of its tasks, in order."""

    maxDiff = None

    def prepare(self, site, kinds, kills, seed, pace=0.3):
        """texts(): what the pool says of each task; pace: of the person, in seconds between two steps at most."""
        self.place, self.kinds, self.kills = site, kinds, kills
        self.rng = random.Random(seed)
        self.total = len(kinds)
        site.args = ["--auto"]
        for name, text in (("pool.sh", POOL), ("gate.sh", GATE), ("post.sh", POST), ("next", "1\n"),
                           ("limit", f"{self.total}\n"), ("made", ""), ("post", "")):
            site.write("../" + name, text)
        for n, kind in enumerate(kinds, 1):
            site.write(f"../tasks/{n}", f"job {n} {kind}\n{self.words(n, kind)}\n")
        site.write("shared.txt", "first\n")
        site.git("add", "shared.txt")
        site.git("commit", "-qm", "a file that many change")
        self.user = User(site, random.Random(seed + 1), pace)

    def words(self, n, kind):
        """What a task says after its first line."""
        return "Do it well."

    def go_on(self, tasks):
        """Called again and again while it is night."""

    def tasks(self):
        """{number: node} of all tasks that came from the pool."""
        found = {}
        for goal in self.place.call("goal.list")["goals"]:
            for node in self.place.call("work.list", goal=goal["id"])["nodes"]:
                words = node["name"].split()
                if words[:1] == ["job"]:
                    self.assertNotIn(int(words[1]), found, "a task became two nodes")
                    found[int(words[1])] = node
        return found

    @staticmethod
    def settled(tasks):
        """How many tasks are accepted, or with a person."""
        return sum(n["status"] in ("done", "blocked") for n in tasks.values())

    def wait_settled(self, kills):
        site, moved, seen = self.place, time.monotonic(), None
        while True:
            tasks = self.tasks()
            done = self.settled(tasks)
            if done == self.total:
                return
            now = sorted((n["id"], n["updated_at"], str(n.get("stage")), str(n.get("attempt"))) for n in tasks.values())
            if now != seen:
                moved, seen = time.monotonic(), now
            elif time.monotonic() - moved > harness.PATIENCE:
                self.fail((done, site.cli("status"), site.daemon_log()[-3000:]))
            self.go_on(tasks)
            if kills and done >= kills[0]:
                kills.pop(0)
                time.sleep(self.rng.uniform(0, 0.05))  # not always in the same moment of its life
                site.kill()
                site.up()
            else:
                time.sleep(0.1)

    def user_cleans_up(self):
        """The person ends what is begun and returns to main."""
        self.user.over.set()
        self.user.join(harness.PATIENCE)
        if self.user.failed:
            raise self.user.failed
        self.assertFalse(self.user.is_alive())

    def night(self):
        self.place.up()
        self.user.start()
        kills = [round((i + 1) * self.total / (self.kills + 1)) for i in range(self.kills)]
        self.wait_settled(kills)
        self.user_cleans_up()
        # What the person's last steps held up is through, too.
        self.wait_settled([])
        self.assertEqual(kills, [])

    def night_and_morning(self):
        site = self.place
        self.night()
        tasks = self.tasks()
        inbox = {x["node_id"] for x in site.call("inbox.list")["inbox"]}
        status = site.cli("status")
        self.assertEqual(site.down(), 0)
        self.every_task_once(tasks, inbox)
        self.every_commit_reachable()
        self.main_passes_the_gate()
        self.nothing_of_the_users_lost()
        self.assertIn("Auto Mode:", status)
        self.assertEqual(len({n["id"] for n in tasks.values()}), self.total)
        self.nothing_left()

    def every_task_once(self, tasks, inbox):
        self.assertEqual(sorted(tasks), list(range(1, self.total + 1)))
        subjects = self.place.git("log", "--first-parent", "--format=%s", "main").split("\n")
        for n, node in tasks.items():
            kind = self.kinds[n - 1]
            if node["status"] == "blocked":
                self.assertIn(node["id"], inbox, (kind, node))
            accepted = subjects.count(node["name"]) - sum(s.startswith("Revert") and node["name"] in s for s in subjects)
            self.assertEqual(accepted, node["status"] == "done", (kind, node, subjects))
            if node["status"] == "done":
                self.assertNotEqual(kind, "nothing", node)
                self.assertTrue(self.place.git("show", f"main:jobs/{n}").startswith(f"done {n}\n"))
        done = [n for n, node in tasks.items() if node["status"] == "done"]
        lines = self.place.git("show", "main:shared.txt").split("\n")
        self.assertEqual(sorted(int(x[5:]) for x in lines if x.startswith("line ") and int(x[5:]) <= self.total),
                         sorted(n for n in done if self.kinds[n - 1] == "conflict"))
        # Only those that make no change need a person; on a busy machine one that hung may, too.
        self.assertGreaterEqual(len(done), self.total * 3 // 4, {n: (self.kinds[n - 1], tasks[n]) for n in tasks if n not in done})

    def every_commit_reachable(self):
        kept = set(self.place.git("rev-list", "--all").split())
        lost = set(self.place.home("made").split()) - kept
        self.assertEqual(lost, set(), [self.place.git("log", "-1", "--format=%H %s", c) for c in lost])

    def main_passes_the_gate(self):
        site = self.place
        work = os.path.join(site.root, "audit")
        site.git("worktree", "add", "-q", "--detach", work, "main")
        for commit in site.git("rev-list", "--first-parent", "main").split():
            subprocess.run(["git", "checkout", "-q", commit], cwd=work, env=site.env, check=True)
            done = subprocess.run(["sh", os.path.join(site.root, "gate.sh")], cwd=work, env=site.env,
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, (commit, done.stdout))
        site.git("worktree", "remove", "--force", work)

    def nothing_of_the_users_lost(self):
        site = self.place
        reachable = set(site.git("rev-list", "--branches").split())
        self.assertLessEqual(set(self.user.commits), reachable)
        self.assertEqual(site.git("status", "--porcelain"), "")

    def nothing_left(self):
        site = self.place
        harness.wait_gone(*everyone_of(site))
        locks = subprocess.run(["find", ".git", "-name", "*.lock"], cwd=site.repo, capture_output=True, text=True)
        self.assertEqual(locks.stdout, "")
        site.git("fsck", "--no-dangling", "--no-progress")
        # A question that was open when the daemon ended has its answer there for the next one.
        left = {name.split(".")[0] for name in os.listdir(os.path.join(site.dir, "pool"))}
        self.assertLessEqual(left, self.open_questions() if left else set())

    def open_questions(self):
        """Of a store without a daemon: what the pool was asked and has not answered."""
        found, after = set(), 0
        while True:
            page = self.place.read_only("events.list", after=after, limit=1000)[0]["result"]
            for event in page["events"]:
                if event["type"] == "effect.intended" and event["data"]["kind"] == "pool":
                    found.add(event["data"]["effect"])
                elif event["type"] == "effect.ended":
                    found.discard(event["data"]["effect"])
            if not page["events"]:
                return found
            after = page["next_after"]
