#!/usr/bin/env python3
"""The real Gemini under a real daemon."""

import unittest

import common
import real


class Gemini(common.Common):
    kind = real.Gemini
    test_a_limit_that_passes = None  # it tries again by itself
    slow = common.SLOW


if __name__ == "__main__":
    unittest.main(verbosity=2)
