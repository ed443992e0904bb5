#!/usr/bin/env python3
"""A night of auto mode, compressed: a pool of tasks on a real repository, agents of every temper, a
person at work in the checkout, and a daemon that is killed again and again. In the morning every task
is accepted exactly once or with a person, and nothing of anybody's is lost.

OV_TASKS and OV_KILLS set the sizes, which are otherwise those of the tier. OV_SEED repeats a night.
"""

import os
import random
import unittest

import harness
import night

TASKS = int(os.environ.get("OV_TASKS") or harness.sized(16, 60, 200))
KILLS = int(os.environ.get("OV_KILLS") or harness.sized(2, 6, 20))
SEED = int(os.environ.get("OV_SEED") or 1)
KINDS = ("finish", "crash", "conflict", "leave", "hang", "owngit", "broken", "nothing")

CONFIG = night.CONFIG + """
[supervisor]
idle_after = "2s"
max_retries = 0
min_resend_interval = "20ms"
interrupt_grace = "50ms"
stop_grace = "100ms"
[supervisor.backoff]
base = "20ms"
max = "100ms"
[retry]
delays = ["20ms", "50ms", "100ms"]
max_attempts = 4
"""


class Overnight(night.Night, unittest.TestCase):
    def test_a_night(self):
        site = harness.Site(CONFIG, night.AGENT, leaks=False)
        self.addCleanup(site.close)
        kinds = [KINDS[i % len(KINDS)] for i in range(TASKS)]
        random.Random(SEED).shuffle(kinds)
        self.prepare(site, kinds, KILLS, SEED)
        self.night_and_morning()


if __name__ == "__main__":
    unittest.main(verbosity=2)
