#!/usr/bin/env python3
"""Work that brings names which are git's or Overseer's own goes back to its agent, and never gets to the target."""

import unittest

from harness import FAST, SiteCase, plan, task

# Commits what it must not, in its own way for each task, until it is told why that is refused.
AGENT = r"""
cat > "$HOME/prompt"
echo run >> "$HOME/runs"
echo work > "$OVERSEER_NODE.txt"
if [ "$OVERSEER_NODE" != stubborn ] && grep -q "cannot be accepted" "$HOME/prompt"; then
	cp "$HOME/prompt" "$HOME/told"
	git rm -rqf --cached .Overseer .overseer --ignore-unmatch; rm -rf .Overseer
	git add "$OVERSEER_NODE.txt"; git commit -qm "as it should be"
	exit 0
fi
case "$OVERSEER_NODE" in
left) mkdir .Overseer; echo 'x' > .Overseer/config.toml ;;
forced) mkdir -p .overseer; echo 'x' > .overseer/config.toml; git add -f .overseer; git commit -qm sneaky ;;
stubborn) mkdir -p .Overseer; date +%N > more.txt; echo 'x' > .Overseer/config.toml; git add -A; git commit -qm again ;;
tree)
	b=$(echo x | git hash-object -w --stdin)
	t=$(printf '100644 blob %s\tconfig\n' "$b" | git mktree)
	r=$( (git ls-tree HEAD; printf '040000 tree %s\t.git\n' "$t") | git mktree)
	git update-ref HEAD "$(git commit-tree "$r" -p HEAD -m evil)" ;;
esac
"""


class Names(SiteCase):
    def begin(self, node):
        self.s = self.site(FAST + '[workers]\nmax = 1\n[retry]\nmax_attempts = 2\n', AGENT)
        self.s.up()
        return self.s, self.s.call("goal.create", title=node, plan=plan(task(node)))["goal"]

    def names(self, ref="main"):
        return self.s.git("ls-tree", "-r", "--name-only", ref).split("\n")

    def corrected(self, node, name):
        s, goal = self.begin(node)
        s.wait_goal(goal)
        self.assertEqual([x for x in self.names() if "verseer" in x], [])
        self.assertIn(f"{node}.txt", self.names())
        self.assertEqual(len(s.home("runs").splitlines()), 2)
        self.assertIn(name, s.home("told"))
        failed = s.wait_type("node.failed", cause="check")["data"]
        self.assertIn(name, failed["detail"])
        # The first attempt is kept, with all that it had.
        first = s.wait_type("run.harvested")["data"]["head"]
        self.assertIn(name, self.names(first))

    def test_left_uncommitted(self):
        self.corrected("left", ".Overseer/config.toml")

    def test_committed_by_force(self):
        self.corrected("forced", ".overseer/config.toml")

    def test_never_corrected(self):
        s, goal = self.begin("stubborn")
        s.wait_event(lambda e: e["type"] == "escalation.opened" and ".Overseer/config.toml" in e["data"]["question"])
        self.assertEqual(s.node(f"{goal}/stubborn")["status"], "blocked")
        self.assertNotIn("stubborn.txt", self.names())

    def test_tree_by_hand(self):
        """git itself puts no .git into an index: what was committed so is gone with the next commit."""
        s, goal = self.begin("tree")
        s.wait_goal(goal)
        self.assertIn("tree.txt", self.names())
        self.assertEqual([x for x in self.names() if x.startswith(".git")], [])


if __name__ == "__main__":
    unittest.main()
