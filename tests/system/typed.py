#!/usr/bin/env python3
"""An interactive agent for tests: a terminal, a prompt, bracketed pastes, and hooks as Claude Code calls them.

It is started with Claude Code's options. What it does with each instruction is written into it as lines that
begin with '!': a command of the shell, or one of

    !ask        a permission prompt is open until Enter is pressed
    !wait NAME  stands at the gate NAME
    !say TEXT   its answer, which also goes into its transcript

Files in $HOME change how it begins: `late` (a gate: ready only after it), `stranger` (it asks about its folder, as Claude
Code does), `slow` (so many seconds pass until it shows what a key of the answer did), `named` (what its hooks call its transcript), `lose` (so many pastes get lost), `deaf` (so many times Enter is not minded).
"""

import json
import os
import select
import signal
import subprocess
import sys
import termios
import time
import tty

HOME = os.environ["HOME"]


def option(name):
    return next((word.split("=", 1)[1] for word in sys.argv[1:] if word.startswith(name + "=")), "")


SESSION = option("--resume") or option("--session-id")
TRANSCRIPT = os.path.join(HOME, ".claude", "projects", "here", SESSION + ".jsonl")
with open(option("--settings"), encoding="utf-8") as f:
    HOOKS = json.load(f)["hooks"]


def named():
    """The file `named` says another one; in it, SESSION is that of the run."""
    try:
        with open(os.path.join(HOME, "named"), encoding="utf-8") as f:
            return f.read().strip().replace("SESSION", SESSION)
    except OSError:
        return TRANSCRIPT


def hook(event, **more):
    call = {"hook_event_name": event, "session_id": SESSION, "transcript_path": named(), **more}
    out = ""
    for group in HOOKS.get(event, []):
        for entry in group["hooks"]:
            out += subprocess.run(["sh", "-c", entry["command"]], input=json.dumps(call), capture_output=True,
                                  text=True, check=False).stdout
    return json.loads(out) if out.strip() else {}


def number(name):
    try:
        with open(os.path.join(HOME, name), encoding="utf-8") as f:
            return int(f.read())
    except OSError:
        return 0


def count_down(name):
    """True so many times as the file says."""
    left = number(name)
    if left > 0:
        with open(os.path.join(HOME, name), "w", encoding="utf-8") as f:
            f.write(str(left - 1))
    return left > 0


def gate(name):
    with open(os.path.join(HOME, name + ".here"), "w", encoding="utf-8") as f:
        f.write(f"{os.getpid()}\n")
    with open(os.path.join(HOME, name + ".go"), encoding="utf-8") as f:
        f.readline()


def show(text):
    os.write(1, text.replace("\n", "\r\n").encode())


def say(text):
    show(f"* {text}\n")
    message = {"id": f"m{os.getpid()}-{text[:20]}", "role": "assistant", "model": "model-t",
               "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 10, "output_tokens": 5}}
    os.makedirs(os.path.dirname(TRANSCRIPT), exist_ok=True)
    with open(TRANSCRIPT, "a", encoding="utf-8") as f:
        f.write(json.dumps({"message": message, "type": "assistant", "sessionId": SESSION}) + "\n")


def note(what, **more):
    with open(os.path.join(HOME, "typed.log"), "a", encoding="utf-8") as f:
        f.write(json.dumps({"what": what, **more}) + "\n")


class Keys:
    def __init__(self):
        self.buf = b""

    def next(self):
        """("paste", text) or ("key", byte)"""
        while True:
            if self.buf.startswith(b"\x1b[200~"):
                end = self.buf.find(b"\x1b[201~")
                if end >= 0:
                    text, self.buf = self.buf[6:end].decode(), self.buf[end + 6:]
                    return "paste", text
            elif self.buf and not self.buf.startswith(b"\x1b"):
                key, self.buf = self.buf[:1], self.buf[1:]
                return "key", key
            elif self.buf[:3] in (b"\x1b[B", b"\x1bOB"):
                self.buf = self.buf[3:]
                return "key", b"down"
            elif len(self.buf) >= 6:
                self.buf = self.buf[1:]
                continue
            select.select([0], [], [])
            piece = os.read(0, 65536)
            if not piece:
                sys.exit(0)
            self.buf += piece


def ask(keys):
    hook("PreToolUse", tool_name="Bash", tool_use_id="t1", tool_input={"command": "x"})
    show("Do you want to proceed?\n> 1. Yes\n  2. No\n")
    hook("PermissionRequest", tool_name="Bash", tool_use_id="t1")
    note("asks")
    while True:
        what = keys.next()
        note("answer", got=str(what))
        if what == ("key", b"\r"):
            break
    hook("PostToolUse", tool_name="Bash", tool_use_id="t1")


def ask_about_folder(keys):
    """The first answer ends it, the second is that the folder is trusted."""
    chosen = 0
    note("asks about its folder")
    while True:
        marks = ["\u276f" if chosen == n else " " for n in range(2)]
        show(f"\x1b[2J\x1b[HAccessing workspace:\n\n {marks[0]} No, exit\n {marks[1]} Yes, I trust this folder\n\n Enter to confirm\n")
        what = keys.next()
        note("answer", got=str(what))
        time.sleep(number("slow"))
        if what == ("key", b"down"):
            chosen = 1 - chosen
        elif what == ("key", b"\r"):
            break
    if chosen == 0:
        sys.exit(0)


def work(keys, text):
    for line in text.split("\n"):
        line = line.strip()
        if line == "!ask":
            ask(keys)
        elif line.startswith("!wait "):
            gate(line[6:])
        elif line.startswith("!say "):
            say(line[5:])
        elif line.startswith("!"):
            hook("PreToolUse", tool_name="Bash", tool_use_id="t2", tool_input={"command": line[1:]})
            subprocess.run(["sh", "-c", line[1:]], check=False)
            hook("PostToolUse", tool_name="Bash", tool_use_id="t2")


def turn(keys, text):
    while text:
        note("prompt", text=text)
        work(keys, text)
        answer = hook("Stop", last_assistant_message="Done.", stop_hook_active=False)
        text = answer.get("reason", "") if answer.get("decision") == "block" else ""


def main():
    def leave(signo, _):
        hook("SessionEnd", reason="other")
        sys.exit(128 + signo)

    signal.signal(signal.SIGTERM, leave)
    old = termios.tcgetattr(0)
    tty.setraw(0)
    show("\x1b[?2004hWelcome\n> ")
    keys, typed = Keys(), ""
    if os.path.exists(os.path.join(HOME, "late.here")):
        gate("late")
    if os.path.exists(os.path.join(HOME, "stranger")):
        ask_about_folder(keys)
    hook("SessionStart", source="resume" if option("--resume") else "startup")
    try:
        while True:
            kind, what = keys.next()
            if kind == "paste" and count_down("lose"):
                note("lost")
            elif kind == "paste":
                note("paste")
                typed += what
                show(what + "\n")
            elif what == b"\r" and typed:
                if count_down("deaf"):
                    note("deaf")
                    continue
                text, typed = typed, ""
                hook("UserPromptSubmit", prompt=text)
                turn(keys, text)
                show("> ")
            elif what != b"\r":
                typed += what.decode("utf-8", "replace")
    finally:
        termios.tcsetattr(0, termios.TCSANOW, old)


main()
