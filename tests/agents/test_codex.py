#!/usr/bin/env python3
"""The real Codex under a real daemon."""

import unittest

import common
import real


class Codex(common.Hooked):
    kind = real.Codex
    test_endless_retries_are_a_stall = None  # it gives up by itself


if __name__ == "__main__":
    unittest.main(verbosity=2)
