#!/usr/bin/env python3
"""The scripted model itself: what it answers in each protocol, and that the real agents understand it."""

import gzip
import http.client
import json
import os
import socket
import tempfile
import threading
import unittest

import real
from fake_model import FakeModel, script, turns
from wires import find_script

TOOL = {"tool": "shell", "input": {"command": "ls"}}


def ask_messages(talk, tools, stream):
    kinds = {"user": "user", "answer": "assistant"}
    return "/v1/messages?beta=true", {
        "model": "m", "stream": stream, "tools": [{"name": t} for t in tools],
        "messages": [{"role": kinds[kind], "content": [{"type": "text", "text": text}]} if kind in kinds else
                     {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": text}]}
                     for kind, text in talk]}


def ask_responses(talk, tools, stream):
    return "/v1/responses", {
        "model": "m", "stream": stream, "tools": [{"type": "function", "name": t} for t in tools],
        "input": [{"type": "function_call_output", "call_id": "x", "output": text} if kind == "result" else
                  {"type": "message", "role": "user" if kind == "user" else "assistant",
                   "content": [{"type": "input_text", "text": text}]} for kind, text in talk]}


def ask_chat(talk, tools, stream):
    roles = {"user": "user", "answer": "assistant", "result": "tool"}
    return "/v1/chat/completions", {
        "model": "m", "stream": stream, "tools": [{"type": "function", "function": {"name": t}} for t in tools],
        "messages": [{"role": roles[kind], "content": text} for kind, text in talk]}


def ask_gemini(talk, tools, stream):
    def part(kind, text):
        return {"functionResponse": {"name": "x", "response": {"output": text}}} if kind == "result" else {"text": text}

    method = "streamGenerateContent?alt=sse" if stream else "generateContent"
    return "/v1beta/models/m:" + method, {
        "tools": [{"functionDeclarations": [{"name": t} for t in tools]}],
        "contents": [{"role": "model" if kind == "answer" else "user", "parts": [part(kind, text)]}
                     for kind, text in talk]}


def heard_messages(document, events):
    if events is None:
        content = document["content"]
        return ("".join(b["text"] for b in content if b["type"] == "text"),
                [(b["name"], b["input"]) for b in content if b["type"] == "tool_use"],
                (document["usage"]["input_tokens"], document["usage"]["output_tokens"]))
    text, calls, usage = "", {}, None
    for e in events:
        if e["type"] == "content_block_start" and e["content_block"]["type"] == "tool_use":
            calls[e["index"]] = [e["content_block"]["name"], ""]
        elif e["type"] == "content_block_delta":
            text += e["delta"].get("text", "")
            if "partial_json" in e["delta"]:
                calls[e["index"]][1] += e["delta"]["partial_json"]
        elif e["type"] == "message_delta":
            usage = (e["usage"]["input_tokens"], e["usage"]["output_tokens"])
    return text, [(name, json.loads(given)) for name, given in calls.values()], usage


def heard_responses(document, events):
    if events is not None:
        document = events[-1]["response"]
    return ("".join(i["content"][0]["text"] for i in document["output"] if i["type"] == "message"),
            [(i["name"], json.loads(i["arguments"])) for i in document["output"] if i["type"] == "function_call"],
            (document["usage"]["input_tokens"], document["usage"]["output_tokens"]))


def heard_chat(document, events):
    parts = [document["choices"][0]["message"]] if events is None else [
        e["choices"][0]["delta"] for e in events if e != "[DONE]" and e["choices"]]
    usage = document["usage"] if events is None else events[-2]["usage"]
    return ("".join(p.get("content", "") for p in parts),
            [(c["function"]["name"], json.loads(c["function"]["arguments"]))
             for p in parts for c in p.get("tool_calls", [])],
            (usage["prompt_tokens"], usage["completion_tokens"]))


def heard_gemini(document, events):
    all_of = [document] if events is None else events
    parts = [p for e in all_of for p in e["candidates"][0]["content"]["parts"]]
    usage = all_of[-1]["usageMetadata"]
    return ("".join(p.get("text", "") for p in parts),
            [(p["functionCall"]["name"], p["functionCall"]["args"]) for p in parts if "functionCall" in p],
            (usage["promptTokenCount"], usage["candidatesTokenCount"]))


WIRES = {
    "messages": (ask_messages, heard_messages),
    "responses": (ask_responses, heard_responses),
    "chat": (ask_chat, heard_chat),
    "gemini": (ask_gemini, heard_gemini),
}


class Model(unittest.TestCase):
    def setUp(self):
        self.model = FakeModel()
        self.addCleanup(self.model.close)

    def post(self, path, body, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.model.server.server_port, timeout=30)
        self.addCleanup(connection.close)
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request("POST", self.model.prefix + path, raw, {"Authorization": "Bearer secret-1", **(headers or {})})
        return connection.getresponse()

    def ask(self, wire, talk, tools=("shell", "edit"), stream=True):
        """(text, calls, tokens) of an answer; talk: pairs of a kind and a text."""
        ask, heard = WIRES[wire]
        answer = self.post(*ask(talk, tools, stream))
        body = answer.read().decode()
        self.assertEqual(answer.status, 200, body)
        if not stream:
            return heard(json.loads(body), None)
        self.assertEqual(answer.headers["Content-Type"], "text/event-stream")
        data = [line[6:] for line in body.split("\n") if line.startswith("data: ")]
        return heard(None, [d if d == "[DONE]" else json.loads(d) for d in data])

    def each(self):
        for wire in WIRES:
            for stream in (True, False):
                with self.subTest(wire=wire, stream=stream):
                    yield wire, stream

    def test_a_text_with_its_usage(self):
        prompt = script({"text": "fifty characters of text, which are more than one piece", "usage": {
            "input": 7, "output": 9}})
        for wire, stream in self.each():
            text, calls, used = self.ask(wire, [("user", prompt)], stream=stream)
            self.assertEqual((text, calls, used), (
                "fifty characters of text, which are more than one piece", [], (7, 9)))

    def test_steps_follow_the_answers(self):
        prompt = script({"text": "looking", **TOOL}, {"tools": [TOOL, {"tool": "edit", "input": {"n": 1}}]},
                        {"text": "done"})
        talk = [("user", "before " + prompt + " after")]
        for wire, stream in self.each():
            said = [self.ask(wire, talk + [("answer", "x"), ("result", "y")] * n, stream=stream)[:2] for n in range(4)]
            self.assertEqual(said, [
                ("looking", [("shell", {"command": "ls"})]),
                ("", [("shell", {"command": "ls"}), ("edit", {"n": 1})]),
                ("done", []),
                ("The script is at its end.", [])])

    def test_the_newest_script_counts(self):
        old = script(TOOL, {"text": "old"})
        new = script({"text": "new 1"}, {"text": "new 2"})
        talk = [("user", old), ("answer", "a"), ("result", new), ("answer", "b"), ("user", new)]
        for wire, stream in self.each():
            self.assertEqual(self.ask(wire, talk, stream=stream)[0], "new 1")
            self.assertEqual(self.ask(wire, talk + [("answer", "c"), ("result", "d")], stream=stream)[0], "new 2")
            self.assertEqual(self.ask(wire, talk[:3], stream=stream)[0], "old", "a tool's result is no prompt")

    def test_each_prompt_begins_a_turn(self):
        prompt = turns([TOOL, {"text": "one"}], [{"text": "two"}], [{"text": "three"}])
        again = [("user", prompt), ("answer", "a"), ("result", "r"), ("answer", "b"), ("user", prompt)]
        nudged = again[:4] + [("user", "Please report now.")]
        for wire, stream in self.each():
            for talk in again, nudged:
                self.assertEqual(self.ask(wire, talk, stream=stream)[0], "two")
                self.assertEqual(self.ask(wire, talk + [("answer", "c"), ("user", "go on")], stream=stream)[0], "three")

    def test_what_agents_add_is_no_prompt(self):
        prompt = turns([{"text": "one"}, {"text": "one and a half"}], [{"text": "two"}])
        for wire, stream in self.each():
            talk = [("user", "<environment_context>\n<cwd>/x</cwd>\n</environment_context>"), ("user", prompt),
                    ("user", "<system-reminder>\nlike so\n</system-reminder>")]
            self.assertEqual(self.ask(wire, talk, stream=stream)[0], "one")
            talk += [("answer", "a"), ("user", "<system-reminder>more</system-reminder>")]
            self.assertEqual(self.ask(wire, talk, stream=stream)[0], "one and a half")
            # What comes after it is another answer all the same.
            self.assertEqual(self.ask(wire, talk + [("answer", "b")], stream=stream)[0], "The script is at its end.")

    def test_a_tool_that_is_not_offered_is_not_called(self):
        talk = [("user", script({"tool": "web", "input": {}}))]
        for wire, stream in self.each():
            self.assertEqual(self.ask(wire, talk, stream=stream)[:2], ("not offered: web", []))
        forced = [("user", script({"tool": "web", "input": {}, "force": True}))]
        for wire, stream in self.each():
            self.assertEqual(self.ask(wire, forced, stream=stream)[1], [("web", {})])

    def test_one_step_for_different_agents(self):
        either = [("user", script({"either": [{"tool": "web", "input": {}}, TOOL]}))]
        for wire, stream in self.each():
            self.assertEqual(self.ask(wire, either, stream=stream)[1], [(TOOL["tool"], TOOL["input"])])

    def test_requests_beside_the_conversation(self):
        talk = [("user", script({"fail": {"status": 500}, **TOOL}))]
        for wire, stream in self.each():
            self.assertEqual(self.ask(wire, talk, tools=(), stream=stream)[:2], ("A title", []))
        self.assertTrue(all(r["side"] for r in self.model.requests))
        schema = {"type": "object", "required": ["reasoning", "score"], "properties": {
            "reasoning": {"type": "string"}, "score": {"type": "number"}, "more": {"type": "string"}}}
        path, body = ask_gemini(talk, (), False)
        body["generationConfig"] = {"responseJsonSchema": schema}
        document = json.loads(self.post(path, body).read())
        self.assertEqual(json.loads(document["candidates"][0]["content"]["parts"][0]["text"]),
                         {"reasoning": "none", "score": 1})

    def test_failures(self):
        for wire, (ask, _heard) in WIRES.items():
            for status in (400, 401, 429, 500, 529):
                with self.subTest(wire=wire, status=status):
                    fail = {"status": status, "message": "no luck", "headers": {"retry-after": 7}}
                    answer = self.post(*ask([("user", script({"fail": fail}))], ("shell",), True))
                    self.assertEqual((answer.status, answer.headers["retry-after"]), (status, "7"))
                    self.assertEqual(json.loads(answer.read())["error"]["message"], "no luck")

    def test_failures_that_pass(self):
        for wire, (ask, heard) in WIRES.items():
            request = ask([("user", script({"fail": {"status": 529, "times": 2}, "text": wire}))], ("shell",), False)
            statuses = [self.post(*request).status for _ in range(2)]
            self.assertEqual(statuses, [529, 529])
            self.assertEqual(heard(json.loads(self.post(*request).read()), None)[0], wire)

    def test_gates(self):
        request = ask_chat([("user", script({"gate": "g", "text": "after"}))], ("shell",), False)
        heard = []
        waiter = threading.Thread(target=lambda: heard.append(json.loads(self.post(*request).read())))
        waiter.start()
        self.model.wait(lambda r: r["wire"] == "chat")
        self.assertEqual(heard, [])
        self.model.open("g")
        waiter.join(30)
        self.assertEqual(heard_chat(heard[0], None)[0], "after")

    def test_hanging(self):
        for hang, begins in ((True, b""), ("stream", b"HTTP/1.1 200")):
            path, body = ask_chat([("user", script({"hang": hang, "text": "words " * 20}))], ("shell",), True)
            raw = json.dumps(body).encode()
            with socket.create_connection(("127.0.0.1", self.model.server.server_port), 30) as s:
                s.sendall(f"POST {self.model.prefix}{path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(raw)}\r\n\r\n".encode() + raw)
                self.model.wait(lambda r: True)
                s.settimeout(30 if begins else 0.3)
                try:
                    got = s.recv(12)
                except TimeoutError:
                    got = b""
                self.assertEqual(got, begins)

    def test_quoted_prompts(self):
        step = {"tool": "bash", "input": {"command": "echo \"a b\" \\ 'c' > x\nls"}}
        text = script(step, {"text": "\u00e4 \\ \""})
        for quoted in (text, '"' + text.replace('"', '\\"') + '"'):
            self.assertEqual(find_script(quoted)["turns"], [[step, {"text": "\u00e4 \\ \""}]])
        # What is given to a sub-agent is within what its parent is given.
        outer = script({"tool": "Agent", "input": {"prompt": text}}, {"text": "outer"})
        for quoted in (outer, '"' + outer.replace('"', '\\"') + '"'):
            self.assertEqual(find_script(quoted)["turns"][0][1], {"text": "outer"})
            self.assertEqual(find_script(quoted + " and " + text)["turns"][0][0], step)
        self.assertIsNone(find_script("MODEL-SCRIPT: [1] MODEL-SCRIPT: {broken MODEL-SCRIPT: {}"))

    def test_bodies(self):
        path, body = ask_chat([("user", script({"text": "ok"}))], ("shell",), False)
        raw = gzip.compress(json.dumps(body).encode())
        self.assertEqual(self.post(path, raw, {"Content-Encoding": "gzip"}).status, 200)
        self.assertEqual(self.post(path, b"\xff\xfe no json").status, 200)
        self.assertEqual(self.post("/v1/nothing", {}).status, 404)

    def test_models_of_one_server_know_nothing_of_each_other(self):
        first, second = self.model, FakeModel()
        request = [("user", script({"fail": {"status": 500, "times": 1}, "text": "ok"}))]
        for self.model in (first, second):
            self.assertEqual(self.post(*ask_chat(request, ("shell",), False)).status, 500)
            self.assertEqual(self.ask("chat", request)[0], "ok")
            self.assertEqual(len(self.model.requests), 2)
        self.assertIs(first.server, second.server)
        second.close()
        with self.assertRaises(http.client.HTTPException):
            self.post(*ask_chat(request, ("shell",), False))
        self.model = first
        self.assertEqual(self.ask("chat", request)[0], "ok")

    def test_secrets_are_not_kept(self):
        self.ask("chat", [("user", script({"text": "ok"}))])
        self.assertNotIn("secret-1", json.dumps(self.model.requests))

    def test_the_log(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "log")
            model = FakeModel(path)
            first, self.model = self.model, model
            try:
                self.ask("chat", [("user", script({"text": "ok"}))])
            finally:
                self.model = first
                model.close()
            with open(path, encoding="utf-8") as f:
                lines = [json.loads(line) for line in f]
        self.assertEqual([(r["wire"], r["tools"], r["status"], r["turn"], r["step"]) for r in lines],
                         [("chat", ["shell", "edit"], 200, 0, 0)])


class Understood(real.AgentCase):
    """Each agent, without us: what the script says is what it does."""

    def check(self, name):
        kind = real.AGENTS[name]
        with tempfile.TemporaryDirectory(prefix="overseer-test-") as root:
            home, cwd = self.home(root), os.path.join(root, "work")
            os.makedirs(cwd)
            prompt = "Some words before.\n" + script(
                kind.edit(f"{cwd}/edited.txt", "by its tool\n"), {"thinking": "hm", **kind.shell(
                    "echo \"it's\" \\\\ > shell.txt")}, {"text": "All done.", "usage": {"input": 1000, "output": 50}}
            ) + "\nSome words after."
            status, lines, errors = self.run_direct(kind, prompt, cwd, home)
            told = f"{status} {lines} {errors}"
            self.assertEqual(status, 0, told)
            with open(f"{cwd}/edited.txt", encoding="utf-8") as f:
                self.assertEqual(f.read().strip(), "by its tool", told)
            with open(f"{cwd}/shell.txt", encoding="utf-8") as f:
                self.assertEqual(f.read(), "it's \\\n", told)
        requests = [r for r in self.model.requests if not r["side"]]
        self.assertEqual([(r["wire"], r["turn"], r["step"], r["note"]) for r in requests],
                         [(kind.wire, 0, n, "") for n in range(3)], told)
        self.assertIn("All done.", json.dumps(lines))

    def test_claude(self):
        self.check("claude")

    def test_codex(self):
        self.check("codex")

    def test_gemini(self):
        self.check("gemini")

    def test_opencode(self):
        self.check("opencode")


if __name__ == "__main__":
    unittest.main(verbosity=2)
