#!/usr/bin/env python3
"""Worktrees are set up before an agent works in them: one at a time, once per use, again after a failure or a kill."""

import glob
import os
import re
import unittest

from harness import FAST, SiteCase, plan, task, wait_gone

SETUP = r"""
mkdir "$HOME/lock" || { echo "two at once"; exit 9; }
echo "$$ $OVERSEER_WORKER $OVERSEER_WORKTREE $OVERSEER_SESSION $OVERSEER_REPO" >> "$HOME/setups"
pwd >> "$HOME/places"
if [ -e "$HOME/broken" ]; then rm "$HOME/broken"; rmdir "$HOME/lock"; echo "no network today" >&2; exit 3; fi
if [ -e "$HOME/wait" ]; then rm "$HOME/wait"; echo here > "$HOME/setup.here"; read x < "$HOME/setup.go"; fi
echo ready > dep.made
rmdir "$HOME/lock"
"""
AGENT = r"""
[ "$(cat dep.made)" = ready ] || exit 7
cat .serena/project.local.yml > "$HOME/serena.$OVERSEER_NODE"
echo work > "$OVERSEER_NODE.txt"; git add -A; git commit -qm "$OVERSEER_NODE"
"""


class Setup(SiteCase):
    def setUp(self):
        self.s = self.site(FAST + f"[workers]\nmax = 3\n[workspace]\nserena = true\nsetup_command = '''{SETUP}'''\n",
                           AGENT)
        self.s.write(".gitignore", "*.made\n")
        self.s.git("add", ".gitignore")
        self.s.git("commit", "-qm", "ignore")
        self.s.up()

    def goal(self, *nodes):
        return self.s.call("goal.create", title="Work", plan=plan(*map(task, nodes)))["goal"]

    def setups(self):
        return [line.split(" ", 4) for line in self.s.home("setups").splitlines()]

    def test_whole_life(self):
        self.one_at_a_time()
        self.a_failure_is_told_and_tried_again()
        self.killed_in_the_middle()

    def one_at_a_time(self):
        s = self.s
        s.wait_goal(self.goal("T1", "T2", "T3"))
        done = self.setups()
        self.assertEqual(sorted(d[1] for d in done), ["pool-1", "pool-2", "pool-3"])
        for (_, worker, path, session, repo), place in zip(done, s.home("places").splitlines()):
            self.assertEqual((path, repo), (os.path.join(s.dir, "worktrees", worker), s.repo))
            self.assertEqual(os.path.realpath(place), os.path.realpath(path))
            self.assertRegex(session, r"^agent:script:A_")
        names = {s.home(f"serena.T{i}").splitlines()[1] for i in (1, 2, 3)}
        self.assertEqual(names, {f'project_name: "repo-pool-{i}"' for i in (1, 2, 3)})
        # What was set up is nobody's work.
        self.assertEqual(s.git("ls-tree", "-r", "--name-only", "main").split(),
                         [".gitignore", "README", "T1.txt", "T2.txt", "T3.txt"])
        self.assertIn("/.serena/project.local.yml", s.read(".git/info/exclude").splitlines())

    def a_failure_is_told_and_tried_again(self):
        s = self.s
        s.write("../broken", "")
        s.write(".serena/project.yml", 'languages: ["c"]\nproject_name: "mine"\n')
        after = s.seq()
        goal = self.goal("T4")
        failed = s.wait_type("effect.ended", after=after, outcome="error")
        self.assertEqual(failed["data"]["kind"], "workspace")
        for words in ("workspace.setup_command failed", "exit status 3", "no network today"):
            self.assertIn(words, failed["data"]["detail"])
        s.wait_goal(goal)
        self.assertEqual(len(self.setups()), 5)
        log = s.read(".overseer/logs/setup.log")
        self.assertIn("no network today", log)
        self.assertEqual(log.count("exit status 0"), 4)
        # The checkout's own project, which git does not know, under another name.
        [path] = glob.glob(os.path.join(s.dir, "worktrees", self.setups()[-1][1], ".serena", "project.yml"))
        self.assertEqual(s.read(path).splitlines()[1:], [f'project_name: "repo-{self.setups()[-1][1]}"', 'languages: ["c"]'])

    def killed_in_the_middle(self):
        s = self.s
        gate = s.gate("setup")
        s.write("../wait", "")
        goal = self.goal("T5")
        gate.wait()
        s.kill()
        os.rmdir(os.path.join(s.root, "lock"))
        s.up()
        s.wait_goal(goal)
        done = self.setups()
        self.assertEqual(len(done), 7)
        self.assertEqual(done[-1][1:4], done[-2][1:4])
        wait_gone(int(done[-2][0]))
        self.assertEqual(s.git("show", "main:T5.txt"), "work\n")


class Submodules(SiteCase):
    """The command of docs/setup.md: what one task leaves in a submodule is not there for the next."""

    def test_each_task_has_them_as_committed(self):
        with open(os.path.join(os.path.dirname(__file__), "../../docs/setup.md"), encoding="utf-8") as f:
            command = re.search(r'setup_command = "(git submodule .*)"', f.read()).group(1)
        s = self.site(FAST + f'[workers]\nmax = 1\n[workspace]\nsetup_command = "{command}"\n',
                      'cat lib/* > "$HOME/seen.$OVERSEER_NODE"; echo left >> lib/f; echo new > lib/new; echo w > "$OVERSEER_NODE"; '
                      'git add "$OVERSEER_NODE"; git commit -qm "$OVERSEER_NODE"')
        s.write("../.gitconfig", "[protocol \"file\"]\n\tallow = always\n")
        os.mkdir(os.path.join(s.repo, "../lib"))
        s.write("../lib/f", "committed\n")
        for words in (("-C", "../lib", "init", "-q"), ("-C", "../lib", "add", "f"), ("-C", "../lib", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "f"),
                      ("submodule", "--quiet", "add", os.path.join(s.root, "lib")), ("commit", "-qm", "lib")):
            s.git(*words)
        s.up()
        s.wait_goal(s.call("goal.create", title="Work", plan=plan(task("T1"), task("T2", deps=["T1"])))["goal"])
        self.assertEqual((s.home("seen.T1"), s.home("seen.T2")), ("committed\n", "committed\n"))


if __name__ == "__main__":
    unittest.main()
