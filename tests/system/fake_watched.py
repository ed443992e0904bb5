#!/usr/bin/env python3
"""A daemon to be watched, as far as a watchdog can tell: it registers, its heart beats, and it does
what it is told to do wrong.

usage: fake_watched.py [STEP]...
    register         writes daemon.json
    beat             begins to beat every 20 ms, by itself from now on
    due              says in its beats that work is due, with progress that stands still
    health KIND TEXT a line of health.jsonl
    run MS           lets its heart beat for so long
    hang             does not turn its loop any more
    exit STATUS      ends at once
    forever          beats until it is told to end: by SIGTERM, or by steps on the fifo control.PID
    stop             ends as if a person had asked for it
    deaf             does not hear SIGTERM
"""

import json
import os
import select
import signal
import sys
import time

DIR = os.environ["OVERSEER_DIR"]
BEAT = 0.02


class Fake:
    def __init__(self):
        self.instance = os.urandom(8).hex()
        self.loop = 0
        self.beats = self.due = False
        path = os.path.join(DIR, f"control.{os.getpid()}")
        os.mkfifo(path)
        self.control = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self.held = open(os.path.join(DIR, "store.fake"), "a", encoding="utf-8")

    def identity(self):
        with open("/proc/self/stat", encoding="utf-8") as f:
            start = int(f.read().rsplit(")", 1)[1].split()[19])
        with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as f:
            boot = f.read().strip()
        return {"pid": os.getpid(), "start_time": start, "boot_id": boot, "instance_id": self.instance}

    def register(self):
        path = os.path.join(DIR, "daemon.json")
        with open(path + ".tmp", "w", encoding="utf-8") as f:
            json.dump(self.identity(), f)
        os.rename(path + ".tmp", path)

    def health(self, kind, text):
        line = {"time": "2026-01-01T00:00:00.000Z", "instance": self.instance, "kind": kind, "text": text}
        with open(os.path.join(DIR, "health.jsonl"), "a", encoding="utf-8") as f:
            f.write(json.dumps(line) + "\n")

    def turn(self):
        """One turn of the main loop."""
        self.loop += 1
        if self.beats:
            beat = {"instance_id": self.instance, "loop": self.loop, "progress": 7 if self.due else self.loop,
                    "due": self.due, "degraded": False, "time": "2026-01-01T00:00:00.000Z"}
            fd = os.open(os.path.join(DIR, "heartbeat"), os.O_WRONLY | os.O_CREAT, 0o600)
            os.pwrite(fd, json.dumps(beat).ljust(511).encode() + b"\n", 0)
            os.close(fd)
        if select.select([self.control], [], [], BEAT)[0]:
            for line in os.read(self.control, 4096).decode().splitlines():
                self.do(line.split())

    def asked(self, *_):
        self.health("stopped", "0")
        os._exit(0)

    def do(self, words):
        while words:
            word = words.pop(0)
            if word == "register":
                self.register()
            elif word in ("beat", "due"):
                self.beats = True
                self.due = word == "due"
            elif word == "health":
                self.health(words.pop(0), words.pop(0))
            elif word == "run":
                end = time.monotonic() + int(words.pop(0)) / 1000
                while time.monotonic() < end:
                    self.turn()
            elif word == "hang":
                signal.pause()
            elif word == "deaf":
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
            elif word == "stop":  # as a person asks for it
                self.health("requested", "by a test")
                self.asked()
            elif word == "exit":
                os._exit(int(words.pop(0)))
            elif word == "forever":
                while True:
                    self.turn()


fake = Fake()
signal.signal(signal.SIGTERM, fake.asked)
fake.do(sys.argv[1:])
