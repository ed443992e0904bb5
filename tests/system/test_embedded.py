#!/usr/bin/env python3
"""Repositories that agents make inside their worktrees: a link in a commit goes back to its agent, one that is just left costs no work."""

import os
import subprocess
import unittest

from harness import CLI, FAST, SiteCase, plan, task

CLONE = r"""
clone() {
	git init -q lib; echo library > lib/file; git -C lib add file
	git -C lib -c user.name=a -c user.email=b commit -qm "only here"; echo changed >> lib/file
}
cat > "$HOME/prompt"
echo "$OVERSEER_NODE" > "$OVERSEER_NODE.txt"
"""
# Commits its clone, until it is told why that is refused.
LINKS = CLONE + r"""
if grep -q "cannot be accepted" "$HOME/prompt"; then
	cp "$HOME/prompt" "$HOME/told"
	git rm -qr --cached lib; git commit -qm "without it"
	exit 0
fi
clone; git add -A; git commit -qm "with a link"
"""
# Leaves its clone where it is. "needs" has work that needs it, until the check has told that it is not there.
LEAVES = CLONE + r"""
case $OVERSEER_NODE in
next) ls -d lib > "$HOME/seen" 2>/dev/null; git add -A; git commit -qm work; exit 0 ;;
needs*) if grep -q "ran without" "$HOME/prompt"; then
		cp "$HOME/prompt" "$HOME/told"; mkdir lib; echo library > lib/file; git add -A; git commit -qm files; exit 0
	fi ;;
esac
git add "$OVERSEER_NODE.txt"; git commit -qm work; clone
"""


class Embedded(SiteCase):
    def begin(self, agent, more=""):
        self.s = self.site(FAST + '[workers]\nmax = 1\n[retry]\nmax_attempts = 2\n' + more, agent)
        self.s.up()
        return self.s

    def goal(self, node):
        return self.s.call("goal.create", title=node, plan=plan(task(node)))["goal"]

    def modes(self, ref="main"):
        return {line.split("\t")[1]: line[:6] for line in self.s.git("ls-tree", "-r", ref).splitlines()}

    def asides(self):
        folder = os.path.join(self.s.repo, ".overseer/worktrees")
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if ".aside-" in name]

    def test_a_link_is_corrected(self):
        s = self.begin(LINKS)
        s.wait_goal(self.goal("T1"))
        self.assertEqual({m for m in self.modes().values()}, {"100644"})
        self.assertIn("T1.txt", self.modes())
        failed = s.wait_type("node.failed", cause="check")["data"]["detail"]
        for said in (failed, s.home("told")):
            self.assertIn('a link to another repository at "lib"', said)
            self.assertIn("without their .git folder", said)
        refused = s.wait_type("run.verified", verdict="refused")
        shown = s.cli("run", "show", refused["run"])
        self.assertIn("refused: the work contains a link", shown)
        self.assertIn("git rm -r --cached", shown)
        first = s.wait_type("run.harvested")["data"]
        self.assertEqual(self.modes(first["head"])["lib"], "160000")
        self.assertEqual(s.git("show", first["rescue_ref"] + ":lib/file"), "library\nchanged\n")

    def test_what_is_left_costs_no_work(self):
        """The check runs without it, it is named and kept, and the next task begins without it."""
        s = self.begin(LEAVES, '[workspace]\ncheck_command = "test ! -e lib"\n')
        s.wait_goal(self.goal("T1"))
        self.assertEqual(set(self.modes()), {"README", "T1.txt"})
        harvested = s.wait_type("run.harvested")["data"]
        self.assertIn('"lib"', harvested["detail"])
        run, = s.runs()
        for shown in (s.cli("run", "show", run["id"]), s.cli("work", "show", "T1")):
            self.assertRegex(shown, r'Not in work +.*"lib"')
        self.assertIn("1 commit, 1 file changed", s.cli("run", "show", run["id"]))
        self.assertEqual(s.git("show", harvested["rescue_ref"] + ":lib/file"), "library\nchanged\n")
        shown = subprocess.run([CLI, "rescue", "list"], cwd=s.repo, env=s.env, capture_output=True, text=True, check=True).stdout
        self.assertIn("T1", shown)
        s.wait_goal(self.goal("next"))
        self.assertEqual(s.home("seen"), "")
        aside, = self.asides()
        self.assertEqual(s.git("-C", os.path.join(aside, "lib"), "log", "--format=%s"), "only here\n")
        with open(os.path.join(aside, "lib/file"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "library\nchanged\n")

    def test_work_that_needs_it_is_not_accepted(self):
        s = self.begin(LEAVES, '[workspace]\ncheck_command = "cat lib/file"\n')
        s.wait_goal(self.goal("needs"))
        self.assertEqual(self.modes()["lib/file"], "100644")
        self.assertIn('"lib" in', s.home("told"))

    def test_a_removed_worker_loses_nothing(self):
        s = self.begin(LEAVES)
        s.wait_goal(self.goal("T1"))
        s.call("worker.nuke", worker="pool-1", reason="enough")
        s.wait_type("worker.removed")
        aside, = self.asides()
        self.assertEqual(s.git("-C", os.path.join(aside, "lib"), "log", "--format=%s"), "only here\n")


if __name__ == "__main__":
    unittest.main()
