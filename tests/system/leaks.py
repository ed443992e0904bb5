"""Which tests look for leaks in a build with sanitizers."""

import os
import platform
import zlib

# There the leak check walks all possible regions of the address space: 3 s of CPU at each exit.
SLOW = platform.machine() == "aarch64"
ONE_IN = 12


def wanted(test):
    """All of them where it is quick, and in a soak; elsewhere one in twelve, others with each commit."""
    if not SLOW or os.environ.get("OV_SOAK"):
        return True
    return zlib.crc32(f"{test} {os.environ.get('OV_LEAKS_TURN', '')}".encode()) % ONE_IN == 0


def ignore(env):
    """Programs with this environment do not look for leaks."""
    env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
