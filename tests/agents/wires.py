"""The protocols in which coding agents ask a model: each reads a conversation and writes an answer.

A wire has a `path` (what its requests end with), talk(body): what was said so far, error(status,
message): the body of a failure, and answer(body, reply, match): a document, or the events of a stream
as pairs of a kind and its data.
"""

import html
import itertools
import json
import re
import time
import uuid

MARKER = "MODEL-SCRIPT: "
# What agents put into the mouth of their user: no prompt.
NOT_SAID = re.compile(
    r"<(system-reminder|environment_context|user_instructions|turn_aborted|permissions instructions)>.*?</\1>"
    r"|# AGENTS\.md instructions for .*?</INSTRUCTIONS>"
    r"|\[Request interrupted by user[^\]]*\]"
    r"|<session_context>.*?</session_context>", re.S)
NO_USAGE = {"input": 100, "output": 20, "cache_read": 0, "cache_write": 0}


def read_script(text):
    """A script at the beginning of a text, and where it ends; one agent puts a backslash before each quote."""
    for quote in ('"', '\\"'):
        plain = text.replace(quote, '"')
        try:
            found, end = json.JSONDecoder().raw_decode(plain)
        except ValueError:
            continue
        if isinstance(found, dict) and isinstance(found.get("turns"), list):
            return found, end + plain.count('"', 0, end) * (len(quote) - 1)
    return None, 0


def find_script(text):
    """The last script in a text, or None. One that is within another (a sub-agent's) is not meant."""
    last, at = None, 0
    while (at := text.find(MARKER, at)) >= 0:
        at += len(MARKER)
        found, length = read_script(text[at:])
        last, at = found or last, at + length
    return last


class Talk:
    """A conversation, whatever protocol it came by: prompts, answers and results of tools, in order."""

    def __init__(self, tools):
        self.tools = tools
        self.entries = []

    def said(self, text):
        # One agent hands on what a hook says as XML.
        if text.lstrip().startswith("<hook_prompt"):
            text = html.unescape(text)
        text = NOT_SAID.sub("", text).strip()
        self.entries.append(("prompt", text) if text else ("aside", ""))

    def add(self, kind):
        # The parts of one answer are one answer.
        if kind != "answer" or not self.entries or self.entries[-1][0] != "answer":
            self.entries.append((kind, ""))

    @property
    def prompts(self):
        return [text for kind, text in self.entries if kind == "prompt"]

    @property
    def answers(self):
        return sum(kind == "answer" for kind, _ in self.entries)

    def place(self):
        """The script that counts, the turn of it that it is, and the request in this turn."""
        found, turn, step = None, 0, 0
        for kind, text in self.entries:
            if kind == "prompt":
                new = find_script(text)
                turn = turn + 1 if new is None or new == found else 0
                found = new or found
                step = 0
            elif kind == "answer":
                step += 1
        return found, turn, step


class Reply:
    def __init__(self, step, calls=(), note=""):
        self.step = step
        self.calls = list(calls)
        self.note = note
        self.text = step.get("text", "" if calls else "ok")
        self.thinking = step.get("thinking", "")
        self.usage = {**NO_USAGE, **step.get("usage", {})}
        self.stop = step.get("stop")


def fresh(prefix):
    return prefix + uuid.uuid4().hex[:24]


def pieces(text):
    return [text[i:i + 24] for i in range(0, len(text), 24)]


def blocks(content):
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or []


def texts(content):
    return [b["text"] for b in blocks(content) if isinstance(b.get("text"), str)]


class Messages:
    """Anthropic's messages."""

    path = re.compile(r"/v1/messages$")
    errors = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error",
              404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error"}

    def talk(self, body):
        talk = Talk([t["name"] for t in body.get("tools") or []])
        for message in body.get("messages", []):
            if message["role"] == "assistant":
                talk.add("answer")
            elif message["role"] == "user":
                if any(b["type"] == "tool_result" for b in blocks(message["content"])):
                    talk.add("result")
                for text in texts(message["content"]):
                    talk.said(text)
        return talk

    def error(self, status, message):
        kind = self.errors.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": fresh("req_")}

    def content(self, reply):
        if reply.thinking:
            yield {"type": "thinking", "thinking": reply.thinking, "signature": "c2lnbmVk"}
        if reply.text:
            yield {"type": "text", "text": reply.text}
        for call in reply.calls:
            yield {"type": "tool_use", "id": fresh("toolu_"), "name": call["tool"], "input": call.get("input", {})}

    def answer(self, body, reply, _match):
        usage = {"input_tokens": reply.usage["input"], "output_tokens": reply.usage["output"],
                 "cache_read_input_tokens": reply.usage["cache_read"],
                 "cache_creation_input_tokens": reply.usage["cache_write"], "service_tier": "standard"}
        stop = reply.stop or ("tool_use" if reply.calls else "end_turn")
        head = {"id": fresh("msg_"), "type": "message", "role": "assistant", "model": body.get("model", ""),
                "content": [], "stop_reason": None, "stop_sequence": None, "usage": {**usage, "output_tokens": 1}}
        if not body.get("stream"):
            return {**head, "content": list(self.content(reply)), "stop_reason": stop, "usage": usage}
        return self.events(head, reply, stop, usage)

    def events(self, head, reply, stop, usage):
        def event(kind, **more):
            return kind, {"type": kind, **more}

        yield event("message_start", message=head)
        yield event("ping")
        for i, block in enumerate(self.content(reply)):
            if block["type"] == "text":
                empty, deltas = {**block, "text": ""}, [
                    {"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
            elif block["type"] == "thinking":
                empty, deltas = {**block, "thinking": "", "signature": ""}, [
                    {"type": "thinking_delta", "thinking": block["thinking"]},
                    {"type": "signature_delta", "signature": block["signature"]}]
            else:
                empty, deltas = {**block, "input": {}}, [
                    {"type": "input_json_delta", "partial_json": piece} for piece in pieces(json.dumps(block["input"]))]
            yield event("content_block_start", index=i, content_block=empty)
            for delta in deltas:
                yield event("content_block_delta", index=i, delta=delta)
            yield event("content_block_stop", index=i)
        yield event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage=usage)
        yield event("message_stop")


class OpenAi:
    errors = {400: "invalid_request_error", 401: "invalid_api_key", 429: "rate_limit_exceeded"}

    def error(self, status, message):
        kind = self.errors.get(status, "server_error")
        return {"error": {"message": message, "type": kind, "param": None, "code": kind}}


class Responses(OpenAi):
    """OpenAI's responses."""

    path = re.compile(r"/responses$")

    def talk(self, body):
        names = []
        for tool in body.get("tools") or []:
            names += [t["name"] for t in tool["tools"]] if tool.get("type") == "namespace" else [
                tool.get("name") or tool["type"]]
        talk = Talk(names)
        given = body.get("input") or []
        for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
            kind = item.get("type", "message")
            if kind.endswith("_call") or kind == "reasoning" or item.get("role") == "assistant":
                talk.add("answer")
            elif kind.endswith("_output"):
                talk.add("result")
            elif item.get("role") == "user":
                talk.said("\n".join(texts(item["content"])))
        return talk

    def item(self, body, call):
        made = {"type": "function_call", "id": fresh("fc_"), "call_id": fresh("call_"), "name": call["tool"],
                "arguments": json.dumps(call.get("input", {})), "status": "completed"}
        for tool in body.get("tools") or []:
            if tool.get("type") == "namespace" and any(t["name"] == call["tool"] for t in tool["tools"]):
                made["namespace"] = tool["name"]
            elif tool.get("type") == "custom" and tool.get("name") == call["tool"]:
                del made["arguments"]
                made.update(type="custom_tool_call", input=call.get("input", ""))
        return made

    def items(self, body, reply):
        if reply.thinking:
            yield {"type": "reasoning", "id": fresh("rs_"), "encrypted_content": None,
                   "summary": [{"type": "summary_text", "text": reply.thinking}]}
        if reply.text:
            yield {"type": "message", "id": fresh("msg_"), "role": "assistant", "status": "completed",
                   "content": [{"type": "output_text", "text": reply.text, "annotations": []}]}
        for call in reply.calls:
            yield self.item(body, call)

    def answer(self, body, reply, _match):
        used = reply.usage
        asked = used["input"] + used["cache_read"] + used["cache_write"]
        usage = {"input_tokens": asked, "input_tokens_details": {"cached_tokens": used["cache_read"]},
                 "output_tokens": used["output"], "output_tokens_details": {"reasoning_tokens": 0},
                 "total_tokens": asked + used["output"]}
        head = {"id": fresh("resp_"), "object": "response", "created_at": int(time.time()), "status": "in_progress",
                "model": body.get("model", ""), "output": [], "parallel_tool_calls": True, "tools": []}
        items = list(self.items(body, reply))
        done = {**head, "status": "completed", "output": items, "usage": usage}
        return self.events(head, items, done) if body.get("stream") else done

    def events(self, head, items, done):
        numbers = itertools.count()

        def event(kind, **more):
            return kind, {"type": kind, "sequence_number": next(numbers), **more}

        yield event("response.created", response=head)
        yield event("response.in_progress", response=head)
        for i, item in enumerate(items):
            at = {"item_id": item["id"], "output_index": i}
            begun = {**item, "status": "in_progress"}
            if item["type"] == "message":
                part, where = item["content"][0], {**at, "content_index": 0}
                yield event("response.output_item.added", output_index=i, item={**begun, "content": []})
                yield event("response.content_part.added", **where, part={**part, "text": ""})
                for piece in pieces(part["text"]):
                    yield event("response.output_text.delta", **where, delta=piece)
                yield event("response.output_text.done", **where, text=part["text"])
                yield event("response.content_part.done", **where, part=part)
            elif item["type"] == "function_call":
                yield event("response.output_item.added", output_index=i, item={**begun, "arguments": ""})
                yield event("response.function_call_arguments.delta", **at, delta=item["arguments"])
                yield event("response.function_call_arguments.done", **at, arguments=item["arguments"])
            else:
                yield event("response.output_item.added", output_index=i, item=begun)
            yield event("response.output_item.done", output_index=i, item=item)
        yield event("response.completed", response=done)


class Chat(OpenAi):
    """OpenAI's chat completions, which many others speak."""

    path = re.compile(r"/chat/completions$")

    def talk(self, body):
        talk = Talk([t.get("function", t).get("name") for t in body.get("tools") or []])
        for message in body.get("messages", []):
            if message["role"] == "assistant":
                talk.add("answer")
            elif message["role"] == "tool":
                talk.add("result")
            elif message["role"] == "user":
                talk.said("\n".join(texts(message["content"])))
        return talk

    def answer(self, body, reply, _match):
        used = reply.usage
        asked = used["input"] + used["cache_read"] + used["cache_write"]
        usage = {"prompt_tokens": asked, "completion_tokens": used["output"],
                 "total_tokens": asked + used["output"], "prompt_tokens_details": {"cached_tokens": used["cache_read"]}}
        calls = [{"index": i, "id": fresh("call_"), "type": "function",
                  "function": {"name": c["tool"], "arguments": json.dumps(c.get("input", {}))}}
                 for i, c in enumerate(reply.calls)]
        stop = reply.stop or ("tool_calls" if calls else "stop")
        head = {"id": fresh("chatcmpl-"), "created": int(time.time()), "model": body.get("model", "")}
        if body.get("stream"):
            return self.events(head, reply, calls, stop, usage)
        message = {"role": "assistant", "content": reply.text, **({"tool_calls": calls} if calls else {})}
        return {**head, "object": "chat.completion", "usage": usage,
                "choices": [{"index": 0, "message": message, "finish_reason": stop}]}

    def events(self, head, reply, calls, stop, usage):
        def chunk(delta, reason=None):
            return None, {**head, "object": "chat.completion.chunk",
                          "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

        yield chunk({"role": "assistant", "content": ""})
        if reply.thinking:
            yield chunk({"reasoning_content": reply.thinking})
        for piece in pieces(reply.text):
            yield chunk({"content": piece})
        for call in calls:
            yield chunk({"tool_calls": [call]})
        yield chunk({}, stop)
        yield None, {**head, "object": "chat.completion.chunk", "choices": [], "usage": usage}
        yield None, "[DONE]"


def least(schema):
    """The smallest object that a schema accepts."""
    made = {}
    for name in schema.get("required") or schema.get("properties", {}):
        part = schema.get("properties", {}).get(name, {})
        kind = str(part.get("type", "")).lower()
        made[name] = (part["enum"][0] if part.get("enum") else 1 if kind in ("number", "integer") else
                      False if kind == "boolean" else [] if kind == "array" else least(part) if kind == "object" else
                      "none")
    return made


class Gemini:
    """Google's generateContent."""

    path = re.compile(r"/models/([^/:]+):(streamGenerateContent|generateContent)$")
    errors = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
              429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}

    def talk(self, body):
        talk = Talk([f["name"] for t in body.get("tools") or [] for f in t.get("functionDeclarations", [])])
        for content in body.get("contents", []):
            parts = content.get("parts", [])
            if content.get("role") == "model":
                talk.add("answer")
                continue
            if any("functionResponse" in p for p in parts):
                talk.add("result")
            # Prompts between which there was no answer are parts of one content.
            for part in parts:
                if "text" in part:
                    talk.said(part["text"])
        return talk

    def error(self, status, message):
        return {"error": {"code": status, "message": message, "status": self.errors.get(status, "INTERNAL")}}

    def answer(self, body, reply, match):
        used = reply.usage
        asked = used["input"] + used["cache_read"] + used["cache_write"]
        usage = {"promptTokenCount": asked, "candidatesTokenCount": used["output"],
                 "totalTokenCount": asked + used["output"], "cachedContentTokenCount": used["cache_read"]}
        config = body.get("generationConfig", {})
        schema = config.get("responseJsonSchema") or config.get("responseSchema")
        parts = [{"text": json.dumps(least(schema))}] if schema else [
            *([{"text": reply.thinking, "thought": True}] if reply.thinking else []),
            *({"text": piece} for piece in pieces(reply.text)),
            *({"functionCall": {"id": fresh("call_"), "name": c["tool"], "args": c.get("input", {})}}
              for c in reply.calls)]

        def message(some, **more):
            return {"candidates": [{"content": {"role": "model", "parts": some}, "index": 0, **more}],
                    "usageMetadata": usage, "modelVersion": match[1], "responseId": fresh("r")}

        stop = reply.stop or "STOP"
        if match[2] == "generateContent":
            return message(parts, finishReason=stop)
        return itertools.chain(((None, message([part])) for part in parts),
                               [(None, message([{"text": ""}], finishReason=stop))])


WIRES = (Messages(), Responses(), Chat(), Gemini())
