#!/usr/bin/env python3
"""One case with each real agent, for `make check`: two tasks are edited by its own tools, checked and merged.

All cases: test_claude.py and the others, in `make check-full`.
"""

import unittest

import common
import real

CASE = "test_a_goal_is_accepted"


def only_one(cls):
    for name in dir(cls):
        if name.startswith("test_") and name != CASE:
            setattr(cls, name, None)
    return cls


@only_one
class Claude(common.Common):
    kind = real.Claude


@only_one
class Codex(common.Common):
    kind = real.Codex


@only_one
class Gemini(common.Common):
    kind = real.Gemini


@only_one
class Opencode(common.Common):
    kind = real.Opencode


if __name__ == "__main__":
    unittest.main(verbosity=2)
