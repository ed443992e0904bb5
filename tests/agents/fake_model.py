#!/usr/bin/env python3
"""A language model for real agents: on the loopback interface, and scripted by the prompt.

It speaks the four protocols that coding agents speak: Anthropic's messages, OpenAI's responses and
chat completions, and Gemini's generateContent. What it is to say stands in what it is asked, behind
the marker MODEL-SCRIPT, so that any number of conversations go on at once and nothing is kept
between two requests but the counters of `fail`. script() and turns() write such a text:

    turns([step, ...], [step, ...], ...)    per turn: what to answer, request after request
    script(step, ...)                       the same, with one turn

A turn begins with each prompt: the text with the script, then whatever else the agent is told (a
nudge, the reason of a Stop hook, the same script again when a session is resumed). The newest script
in the conversation is the one that counts. A step is a dictionary:

    text      what it says
    tool      a tool that it calls, with `input`; `tools`: several at once, each {"tool", "input"}
    either    steps for different agents: the first one whose tool is offered counts
    thinking  what it thinks before that
    usage     {"input", "output", "cache_read", "cache_write"}: tokens; input without the cached ones
    stop      the stop reason instead of the usual one
    fail      {"status", "message", "headers", "times", "error"}: an HTTP error instead; without times: always;
              error: further members of its object, such as a type of its own
    gate      a name: nothing is said until the test opens the gate
    hang      true: nothing is said until the other side goes away; "stream": after a first piece
    cut       true: the connection ends after a first piece, in the middle of the answer; "end": the answer itself ends there.
              With times: the first ones only
    force     true: the tool is called although it was not offered

A tool that is not offered is not called; the answer then says so, as a text. Requests beside the
conversation (titles, routing) offer no tools, and get a text, or the object that their schema wants.
"""

import argparse
import gzip
import http.server
import json
import sys
import threading
import urllib.parse

from wires import MARKER, WIRES, Reply

SECRET_HEADERS = ("authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie")
BODY_MAX = 64 << 20


def turns(*lists):
    return MARKER + json.dumps({"turns": [list(steps) for steps in lists]})


def script(*steps):
    return turns(steps)


MODELS = {"object": "list", "has_more": False, "data": [
    {"id": "fake-model", "object": "model", "type": "model", "display_name": "Fake", "created": 0, "owned_by": "test"}]}


class Gone(Exception):
    """The other side went away, or the test is over."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 600

    def do_POST(self):
        self.server.model_of(self).serve(self)

    def do_GET(self):
        send_json(self, 200, MODELS if self.path.split("?")[0].endswith("/models") else {})

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    """One for all tests of a program: the first part of a path names the model that is asked."""

    daemon_threads = True
    request_queue_size = 256
    started = None

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.models, self.number = {}, 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @classmethod
    def warm(cls):
        cls.started = cls.started or cls()
        return cls.started

    def add(self, model):
        self.number += 1
        self.models[f"m{self.number}"] = model
        return f"/m{self.number}"

    def remove(self, prefix):
        del self.models[prefix[1:]]

    def model_of(self, handler):
        model = self.models.get(handler.path.split("/")[1])
        if not model:
            handler.close_connection = True
            raise Gone
        return model

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], (OSError, Gone)):
            super().handle_error(request, client_address)


class FakeModel:
    """What one test scripts, asks for and opens. Of its requests nothing is left when it is closed."""

    def __init__(self, log=None):
        self.lock = threading.Condition()
        self.requests = []  # what was asked and answered, oldest first
        self.keys = set()  # that it was asked with
        self.failures = {}  # how often a step has failed so far
        self.gates = {}
        self.closing = threading.Event()
        self.log = open(log, "a", encoding="utf-8") if log else None
        self.server = Server.warm()
        self.prefix = self.server.add(self)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}{self.prefix}"

    def close(self):
        self.closing.set()
        self.server.remove(self.prefix)
        with self.lock:
            self.lock.notify_all()
        if self.log:
            self.log.close()

    def open(self, gate):
        """Lets everyone pass who waits at the gate, or who comes later."""
        with self.lock:
            self.gates[gate] = True
            self.lock.notify_all()

    def wait(self, wanted, timeout=120, count=1):
        """The first `count` requests that `wanted` accepts (the last of them); waits for them as they come."""
        def found():
            return [r for r in self.requests if wanted(r)]

        with self.lock:
            if not self.lock.wait_for(lambda: len(found()) >= count or self.closing.is_set(), timeout):
                raise AssertionError(f"the model was not asked in {timeout} s; so far: "
                                     + json.dumps([brief(r) for r in self.requests]))
            return found()[count - 1]

    def asked(self, text):
        """The requests of the conversations in which a prompt holds this text, without those beside it."""
        with self.lock:
            return [r for r in self.requests if r["tools"] and any(text in p for p in r["prompts"])]

    def serve(self, handler):
        path = urllib.parse.urlsplit(handler.path).path
        body = read_body(handler)
        if path.endswith("count_tokens") or path.endswith(":countTokens"):
            send_json(handler, 200, {"input_tokens": 1000, "totalTokens": 1000})
            return
        for wire in WIRES:
            match = wire.path.search(path)
            if match:
                self.reply(handler, wire, body, match)
                return
        send_json(handler, 404, {"error": {"type": "not_found_error", "message": f"no such path: {path}"}})

    def reply(self, handler, wire, body, match):
        talk = wire.talk(body)
        found, turn, number = talk.place()
        step = choose(found, turn, number)
        side = not talk.tools
        reply = side_reply() if side else make_reply(step, talk.tools, found is not None)
        headers = {k.lower(): v for k, v in handler.headers.items() if k.lower() not in SECRET_HEADERS}
        record = {
            "wire": type(wire).__name__.lower(), "model": body.get("model") or match.groups()[0:1] and match[1] or "",
            "tools": talk.tools, "prompts": talk.prompts, "answers": talk.answers, "turn": turn, "step": number,
            "side": side, "headers": headers, "note": reply.note, "body": body,
        }
        with self.lock:
            record["n"] = len(self.requests)
            fail = None if side else self.failure(found, turn, number, step)
            cut = not side and self.counts(found, turn, number, step) and step.get("cut")
            record["status"] = fail["status"] if fail else 200
            self.requests.append(record)
            self.keys.update(v for k, v in handler.headers.items() if k.lower() in SECRET_HEADERS)
            if self.log:
                self.log.write(json.dumps(brief(record)) + "\n")
                self.log.flush()
            self.lock.notify_all()
        if fail:
            document = wire.error(fail["status"], fail.get("message", "scripted failure"))
            document["error"].update(fail.get("error", {}))
            send_json(handler, fail["status"], document, fail.get("headers", {}))
            return
        if not side:
            self.hold(handler, step)
        answer = wire.answer(body, reply, match)
        if isinstance(answer, dict):
            send_json(handler, 200, answer)
        else:
            self.stream(handler, answer, not side and step.get("hang") == "stream", not side and cut)

    def failure(self, found, turn, number, step):
        fail = step.get("fail")
        return fail if fail and self.counts(found, turn, number, fail) else None

    def counts(self, found, turn, number, what):
        """Whether what goes wrong at a step does so this time, too."""
        if "times" not in what:
            return True
        key = json.dumps([found, turn, number])
        self.failures[key] = self.failures.get(key, 0) + 1
        return self.failures[key] <= what["times"]

    def hold(self, handler, step):
        if step.get("hang") is True:
            self.until_gone(handler)
        if "gate" in step:
            with self.lock:
                self.lock.wait_for(lambda: self.gates.get(step["gate"]) or self.closing.is_set())
            if self.closing.is_set():
                raise Gone

    def until_gone(self, handler):
        handler.close_connection = True
        handler.connection.settimeout(0.2)
        while not self.closing.is_set():
            try:
                if not handler.connection.recv(1):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        raise Gone

    def stream(self, handler, events, hangs, cut):
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Cache-Control", "no-cache")
        # Where the end of the connection is that of the answer, nobody can tell that something is missing.
        handler.send_header(*(("Transfer-Encoding", "chunked") if cut is True else ("Connection", "close")))
        handler.end_headers()
        handler.close_connection = True
        events = list(events)
        for kind, data in events[:len(events) // 2] if hangs or cut else events:
            text = data if isinstance(data, str) else json.dumps(data)
            piece = ((f"event: {kind}\n" if kind else "") + f"data: {text}\n\n").encode()
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if cut is True else piece)
        handler.wfile.flush()
        if hangs:
            self.until_gone(handler)


def choose(found, turn, number):
    """The step of a script for this request; past its end there is nothing to do but to say so."""
    if not found:
        return {"text": "There is no script to follow."}
    lists = found["turns"]
    if turn >= len(lists) or number >= len(lists[turn]):
        return {"text": "The script is at its end."}
    return lists[turn][number]


def make_reply(step, offered, scripted):
    step = next((s for s in step.get("either", []) if s["tool"] in offered), step)
    calls = step.get("tools") or ([step] if "tool" in step else [])
    missing = [c["tool"] for c in calls if c["tool"] not in offered]
    if missing and not step.get("force"):
        note = "not offered: " + ", ".join(missing)
        return Reply({"text": note, "usage": step.get("usage", {})}, note=note)
    return Reply(step, calls, "" if scripted else "no script")


def side_reply():
    return Reply({"text": "A title", "usage": {"input": 0, "output": 0}}, note="side")


def brief(record):
    return {k: v for k, v in record.items() if k not in ("body", "prompts", "headers")}


def read_body(handler):
    if "chunked" in handler.headers.get("Transfer-Encoding", ""):
        raw = b""
        while size := int(handler.rfile.readline(64).split(b";")[0], 16):
            raw += handler.rfile.read(size)
            handler.rfile.readline()
            if len(raw) > BODY_MAX:
                raise Gone
        handler.rfile.readline()
    else:
        raw = handler.rfile.read(min(int(handler.headers.get("Content-Length") or 0), BODY_MAX))
    if handler.headers.get("Content-Encoding") == "gzip":
        raw = gzip.decompress(raw)
    try:
        body = json.loads(raw or b"{}")
    except ValueError:
        body = {}
    return body if isinstance(body, dict) else {}


def send_json(handler, status, document, headers=None):
    text = json.dumps(document).encode()
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(text)))
    for name, value in (headers or {}).items():
        handler.send_header(name, str(value))
    handler.end_headers()
    handler.wfile.write(text)


def main():
    parser = argparse.ArgumentParser(description="A scripted model on the loopback, until standard input ends.")
    parser.add_argument("--log", help="append a line of JSON per request to this file")
    args = parser.parse_args()
    model = FakeModel(args.log)
    print(model.url, flush=True)
    sys.stdin.read()
    model.close()


if __name__ == "__main__":
    main()
