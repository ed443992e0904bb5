#!/usr/bin/env python3
"""The real Opencode under a real daemon."""

import unittest

import common
import real


class Opencode(common.Common):
    kind = real.Opencode
    test_a_limit_that_passes = None  # it tries again by itself
    test_a_session_that_is_gone = None  # it tells none before the model's first answer
    slow = (*common.SLOW, "test_failures_of_the_model", "test_interrupted_in_a_tool_and_gone_on_with")


if __name__ == "__main__":
    unittest.main(verbosity=2)
