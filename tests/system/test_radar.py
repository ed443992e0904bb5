#!/usr/bin/env python3
"""Conflicts are seen coming while agents are still at work, told to both, shown, and taken back."""

import os
import unittest

from harness import FAST, SiteCase, plan, task

# Does what it is told at its gate, one command at a time.
AGENT = r"""
exec 3<&0
while :; do
    echo here > "$HOME/$OVERSEER_NODE.here"; read x < "$HOME/$OVERSEER_NODE.go"
    [ -s "$HOME/do.$OVERSEER_NODE" ] || break
    . "$HOME/do.$OVERSEER_NODE"
done
exit 0
"""


class Radar(SiteCase):
    def setUp(self):
        s = self.s = self.site()
        script = s.write("../agent.sh", "#!/bin/bash\n" + AGENT)
        os.chmod(script, 0o755)
        s.configure(FAST + "[workers]\nmax = 2\n[planner]\nfallback = false\n" + s.agent_config().replace(
            'agent.sh"]', 'agent.sh", "{prompt_file}"]\ninput = "stdin"\nprompt = "file"'))
        s.write("shared.txt", "".join(f"line {i}\n" for i in range(9)))
        s.git("add", "shared.txt")
        s.git("commit", "-qm", "shared")
        s.up()
        self.gates = {node: s.gate(node) for node in ("T1", "T2")}
        self.goal = s.call("goal.create", title="Work", plan=plan(task("T1"), task("T2")))["goal"]
        for gate in self.gates.values():
            gate.wait()

    def tell(self, node, script):
        """The agent does this, and waits again; without a script it ends."""
        self.s.write(f"../do.{node}", script)
        self.gates[node].go()
        if script:
            self.gates[node].wait()

    def edit(self, node, text):
        self.tell(node, f'sed -i "s/line 4.*/line 4 {text}/" shared.txt; git commit -qam "{text}"\n')

    def conflicts(self):
        return self.s.call("status.get")["conflicts"]

    def test_whole_life(self):
        s = self.s
        self.edit("T1", "one")
        self.edit("T2", "two")
        found = s.wait_type("conflict.predicted")
        self.assertEqual(found["data"]["files"], ["shared.txt"])
        [one] = self.conflicts()
        self.assertEqual({one["a"]["node"], one["b"]["node"]}, {"T1", "T2"})
        text = s.cli("status")
        self.assertRegex(text, r"CONFLICTS AHEAD \(1\)\n.*T[12] +T[12] .*shared\.txt")
        self.assertRegex(s.cli("explain", "T1"), r"would conflict with .*/T2 in shared\.txt")
        # Both are told, while they work.
        for node in ("T1", "T2"):
            s.wait_event(lambda e, node=node: e["type"] == "dispatch.intended" and e.get("node") == node
                         and e["data"]["purpose"] == "conflict")
            done = s.wait_event(lambda e, node=node: e["type"] == "effect.ended" and e.get("node") == node
                                and e["data"]["kind"] == "send")
            self.assertEqual(done["data"]["outcome"], "ok")
            self.tell(node, 'head -n 1 <&3 > "$HOME/told.$OVERSEER_NODE"\n')
            self.assertIn("would conflict with work under way on branch overseer/pool-", s.home(f"told.{node}"))
        # It is found again after a restart, and not told again.
        s.kill()
        s.up()
        self.assertEqual(len(self.conflicts()), 1)
        # The target moves, too: a person commits there.
        s.git("checkout", "-q", "main")
        s.write("shared.txt", "".join(f"line {i}{' person' if i == 4 else ''}\n" for i in range(9)))
        s.git("commit", "-qam", "person")
        s.wait_event(lambda e: e["type"] == "conflict.predicted" and e["data"]["b"] == "")
        # One gives way.
        self.tell("T1", "git reset -q --hard main~1; echo own > own.txt; git add own.txt; git commit -qm own\n")
        s.wait_event(lambda e: e["type"] == "conflict.cleared" and e["data"]["b"] != "")
        purposes = [e["data"]["purpose"] for e in s.events() if e["type"] == "dispatch.intended"
                    and e["data"]["mode"] == "send"]
        self.assertLessEqual(len(purposes), 4)  # of each pair, each agent once
        self.assertEqual(set(purposes), {"conflict"})
        # The end of the work is the end of what was foreseen for it.
        s.call("work.cancel", node="T2", goal=self.goal, reason="test")
        s.wait_event(lambda e: e["type"] == "conflict.cleared" and e["data"]["b"] == ""
                     and e["data"]["reason"] == "the work is over")
        self.tell("T1", "")
        s.wait_goal(self.goal)
        self.assertEqual(self.conflicts(), [])
        self.assertEqual(s.git("show", "main:own.txt"), "own\n")


if __name__ == "__main__":
    unittest.main()
