"""A language model on the loopback interface that says what the test wants it to say.

It speaks Anthropic's Messages API and OpenAI's chat completions. Each request takes the next step of
the script; the last step is repeated. A step is a text (the model's answer) or a dictionary:

    {"text": "...", "in": 10, "out": 20}    an answer, with the tokens it used
    {"status": 429, "headers": {...}, "body": "..."}
    {"raw": b"..."}                         these bytes instead of HTTP
    {"hang": True}                          nothing, until the other side goes away or close()
"""

import http.server
import json
import threading


class FakeModel:
    def __init__(self, *steps):
        self.steps = list(steps)
        self.requests = []
        self.lock = threading.Condition()
        self.closing = threading.Event()
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                model.serve(self)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def config(self, provider="openai", **more):
        """The [planner] section that asks this model."""
        options = {"provider": provider, "model": "fake-1", "base_url": self.url, "api_key_env": "FAKE_MODEL_KEY", **more}
        return "\n[planner]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in options.items())

    def serve(self, handler):
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        with self.lock:
            self.requests.append({"path": handler.path, "headers": dict(handler.headers), "body": json.loads(body)})
            step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
            self.lock.notify_all()
        if isinstance(step, str):
            step = {"text": step}
        if step.get("hang"):
            self.closing.wait()
        if step.get("hang") or "raw" in step:
            handler.wfile.write(step.get("raw", b""))
            handler.close_connection = True
            return
        answer = step.get("body", "")
        if "text" in step:
            answer = json.dumps(self.answer(handler.path, step))
        handler.send_response(step.get("status", 200))
        for name, value in step.get("headers", {}).items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(answer.encode())))
        handler.end_headers()
        handler.wfile.write(answer.encode())

    @staticmethod
    def answer(path, step):
        tokens = step.get("in", 0), step.get("out", 0)
        if path == "/v1/messages":
            return {"type": "message", "role": "assistant", "content": [{"type": "text", "text": step["text"]}],
                    "stop_reason": "end_turn", "usage": {"input_tokens": tokens[0], "output_tokens": tokens[1]}}
        return {"choices": [{"index": 0, "message": {"role": "assistant", "content": step["text"]}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}}

    def prompt(self, i):
        """What the user's message of the i-th request said."""
        return self.requests[i]["body"]["messages"][-1]["content"]

    def wait(self, n, patience=60):
        """Until n requests have come."""
        with self.lock:
            if not self.lock.wait_for(lambda: len(self.requests) >= n, patience):
                raise AssertionError(f"{len(self.requests)} of {n} requests came")

    def close(self):
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()
