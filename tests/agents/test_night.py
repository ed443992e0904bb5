#!/usr/bin/env python3
"""A night of auto mode with the real Claude Code and the real Codex, each by exec and in terminals of tmux,
a person at work in the checkout, and a daemon that is killed. What must hold in the morning: night.py.

OV_TASKS and OV_KILLS set the sizes, which are otherwise those of the tier. OV_SEED repeats a night.
"""

import os
import random
import subprocess
import unittest

import real
from real import harness, turns
from test_tmux import trusted

import night

TASKS = int(os.environ.get("OV_TASKS") or harness.sized(5, 5, 20))
KILLS = int(os.environ.get("OV_KILLS") or harness.sized(2, 2, 10))
SEED = int(os.environ.get("OV_SEED") or 1)
KINDS = ("conflict", "broken", "conflict", "leave", "owngit", "finish", "nothing")
TURNS = 8  # more than any task is given


class RealNight(night.Night, real.RealCase):
    def words(self, n, kind):
        """Each turn does what the agent of a scripted night does in one run. Whoever runs it: what is reopened may
        get the agent after its own."""
        command = f"echo job {n} {kind} | HOME={self.root} sh {self.root}/agent.sh"
        turn = [{"either": [agent.shell(command) for agent in (real.Claude, real.Codex)]}, {"text": f"Job {n} is done."}]
        return turns(*[turn] * TURNS)

    def agent_of(self, n):
        return self.agents[(n - 1) % len(self.agents)]

    def go_on(self, tasks):
        """One task after the other is given out, each to the next agent. A task takes its agent when it is started."""
        if len(self.started()) != self.given or self.given == self.total:
            return
        self.given += 1
        self.place.configure(self.config.replace("[auto]\n", f'[auto]\nagent = "{self.agent_of(self.given).name}"\n'))
        self.place.call("config.reload")
        self.place.write("../limit", f"{self.given}\n")

    def test_a_night(self):
        self.agents = [real.Agent(real.Claude), real.Agent(real.Codex),
                       real.Agent(real.Claude, "claude-terminal", runtime="tmux"),
                       real.Agent(real.Codex, "codex-terminal", runtime="tmux")]
        site = self.site(*self.agents, config=real.QUICK + night.CONFIG, start=False)
        self.root, self.given = site.root, 0
        # A gate has the environment of the agent, whose home is another.
        self.config = site.read(".overseer/config.toml").replace("sh $HOME/gate.sh", f"sh {site.root}/gate.sh")
        site.configure(self.config)
        site.env["TMUX_TMPDIR"] = site.root
        trusted(self.home(site.root, "claude-terminal"), site.repo, "not-a-real-key")
        kinds = [KINDS[i % len(KINDS)] for i in range(TASKS)]
        random.Random(SEED).shuffle(kinds)
        self.prepare(site, kinds, KILLS, SEED, pace=1.0)
        site.write("../agent.sh", night.AGENT)
        site.write("../limit", "0\n")
        self.addCleanup(self.tmux, "kill-server")
        self.night_and_morning()
        self.assertEqual(self.tmux("list-sessions").stdout, "")

    def tmux(self, *args):
        """Of the one server of the site, if it still has one."""
        folder = os.path.join(self.root, f"tmux-{os.getuid()}")
        names = os.listdir(folder) if os.path.isdir(folder) else []
        self.assertLessEqual(len(names), 1, names)
        return subprocess.run(["tmux", "-S", os.path.join(folder, *names), *args], env=self.place.env,
                              capture_output=True, text=True, timeout=harness.PATIENCE, check=False)

    def night(self):
        super().night()
        self.assertEqual(self.started(), {node["id"]: self.agent_of(n).name for n, node in self.tasks().items()})

    def started(self):
        """{task: the agent that it was started with}"""
        agents = {}
        for run in self.place.runs():
            agents.setdefault(run["node_id"], run["agent"])
        return agents


if __name__ == "__main__":
    unittest.main(verbosity=2)
