#!/usr/bin/env python3
"""The real Codex under a real daemon."""

import unittest

import common
import real


class Codex(common.Hooked):
    kind = real.Codex


if __name__ == "__main__":
    unittest.main(verbosity=2)
