"""The test's side of killat.so: where the daemon shall die, and what it passed. Layout: killat.h."""

import mmap
import os
import struct

import harness

MODULE = os.path.join(harness.BUILD, "tests/crash/killat.so")
BEFORE, AFTER, HALF = 0, 1, 2
HOW = ("before", "after", "half-way")

MAGIC = 0x746B696C6C617431
HEADER = struct.Struct("=QQQQqqQQQQ")
ORDERS = struct.Struct("=qqQQQQ")  # from at_call on
ORDERS_AT = 32
SITES_AT = 256
SITE = struct.Struct("=QQQ488s")
SITES = 2048


class Place:
    """A call and the chain of its callers; `text` is the same in every life of one build."""

    def __init__(self, ident, first, count, text):
        self.id, self.first, self.count, self.text = ident, first, count, text

    @property
    def call(self):
        return self.text.split(" ", 1)[0]


class Map:
    """One file per site of the harness; the daemon maps it at its start."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "killat.map")
        with open(self.path, "w+b") as f:
            f.truncate(SITES_AT + SITES * SITE.size)
            self.map = mmap.mmap(f.fileno(), 0)
        self.reset()

    def env(self):
        return {"LD_PRELOAD": MODULE, "OV_KILLAT": self.path}

    def reset(self):
        """Nothing passed, nothing ordered: for the start of a daemon."""
        self.map[:SITES_AT] = HEADER.pack(MAGIC, *[0] * 9).ljust(SITES_AT, b"\0")

    def order(self, call=0, place=0, passage=1, how=BEFORE):
        """The call-th call from now on, or the passage-th from one place, is the last one."""
        # What makes the order valid comes last: the daemon may look at any time.
        self.map[ORDERS_AT:ORDERS_AT + ORDERS.size] = ORDERS.pack(0, passage, 0, how, 0, 0)
        struct.pack_into("=q" if call else "=Q", self.map, ORDERS_AT if call else ORDERS_AT + 16, call or place)

    def header(self):
        return HEADER.unpack_from(self.map)

    @property
    def calls(self):
        return self.header()[1]

    @property
    def lost(self):
        return self.header()[3]

    @property
    def died(self):
        """The number of the call and the place of the last death, or (0, 0)."""
        return self.header()[8:10]

    def places(self):
        found = []
        for i in range(self.header()[2]):
            ident, first, count, text = SITE.unpack_from(self.map, SITES_AT + i * SITE.size)
            found.append(Place(ident, first, count, text.split(b"\0", 1)[0].decode()))
        return found

    def close(self):
        self.map.close()
