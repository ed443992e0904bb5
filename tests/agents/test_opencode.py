#!/usr/bin/env python3
"""The real Opencode under a real daemon."""

import unittest

import common
import real


class Opencode(common.Common):
    kind = real.Opencode


if __name__ == "__main__":
    unittest.main(verbosity=2)
