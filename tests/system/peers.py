"""Those whom notices go to: HTTP servers on loopback that behave like the real ones and look closely at
what they are sent, and a session bus with a notification service."""

import http.server
import json
import os
import re
import subprocess
import threading
import urllib.parse

import harness

SERVICE = os.path.join(harness.BUILD, "tests/system/notification_service")


class Peer:
    """A server. `answer(request)` gives (status, document or bytes, headers); what was asked is kept."""

    def __init__(self):
        self.requests = []
        self.wrong = []  # what a real one would not have been sent
        self.first = []  # answers that come before all others
        peer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                length = int(self.headers.get("Content-Length") or 0)
                address = urllib.parse.urlsplit(self.path)
                request = {
                    "method": self.command, "path": address.path,
                    "query": dict(urllib.parse.parse_qsl(address.query)),
                    "headers": {k.lower(): v for k, v in self.headers.items()},
                    "body": self.rfile.read(length),
                }
                peer.requests.append(request)
                answer = peer.first.pop(0) if peer.first else peer.answer(request)
                status, body, headers = (*answer, {})[:3]
                if status is None:  # says nothing until the other side has had enough
                    self.rfile.read(1)
                    self.close_connection = True
                    return
                body = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                for name, text in headers.items():
                    self.send_header(name, text)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = handle_any

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def answer(self, request):
        return 200, {}

    def want(self, truth, what):
        if not truth:
            self.wrong.append(what)

    def posts(self):
        """What was posted, as documents."""
        return [json.loads(r["body"]) for r in self.requests if r["method"] == "POST"]

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class Forge(Peer):
    """What Gitea and GitHub have in common: labels, issues and comments of one repository."""

    TOKEN = "very-secret-token-0123456789"
    prefix = repo = ""
    page = 2  # labels of a page, at most

    def __init__(self):
        super().__init__()
        self.labels = {}  # name -> number
        self.issues = []

    def authorised(self, request):
        raise NotImplementedError

    def label_of(self, given):
        raise NotImplementedError

    def made(self, document):
        self.want(isinstance(document.get("title"), str) and 0 < len(document["title"]) <= 255, "title")
        labels = [self.label_of(x) for x in document["labels"]]
        if None in labels:
            self.wrong.append(f"labels {document['labels']}")
            return 422, {"message": "no such label"}
        number = len(self.issues) + 1
        self.issues.append({"number": number, "title": document["title"], "body": document["body"], "state": "open",
                            "labels": labels, "comments": []})
        return 201, {"number": number}

    def new_label(self, document):
        raise NotImplementedError

    def answer(self, request):
        if not self.authorised(request):
            return 401, {"message": f"bad credentials: {request['headers'].get('authorization')}"}
        path = request["path"]
        start = f"{self.prefix}/repos/{self.repo}/"
        if not path.startswith(start):
            return 404, {"message": "Not Found"}
        path = path[len(start):]
        document = json.loads(request["body"]) if request["body"] else None
        if request["method"] == "POST":
            self.want(request["headers"].get("content-type") == "application/json", "content type")
        comments = re.fullmatch(r"issues/(\d+)/comments", path)
        if comments and not 0 < int(comments[1]) <= len(self.issues):
            return 404, {"message": "issue does not exist"}
        if comments:
            kept = self.issues[int(comments[1]) - 1]["comments"]
            if request["method"] == "POST":
                kept.append(document["body"])
                return 201, {"id": len(kept)}
            return 200, [{"id": i + 1, "body": body} for i, body in enumerate(kept)]
        if path == "issues" and request["method"] == "POST":
            return self.made(document)
        if path == "issues":
            self.want(request["query"].get("state") == "all", "state of issues")
            return 200, [{k: v for k, v in x.items() if k != "comments"} for x in reversed(self.issues)]
        if path == "labels" and request["method"] == "POST":
            return self.new_label(document)
        if path == "labels":
            first = (int(request["query"]["page"]) - 1) * self.page
            names = sorted(self.labels)[first:first + self.page]
            return 200, [{"id": self.labels[n], "name": n, "color": "ffffff"} for n in names]
        self.wrong.append(f"{request['method']} {path}")
        return 404, {"message": "Not Found"}


class Gitea(Forge):
    prefix = "/api/v1"
    repo = "fleet/alarms"

    def authorised(self, request):
        return request["headers"].get("authorization") == f"token {self.TOKEN}"

    def label_of(self, given):
        return next((n for n, number in self.labels.items() if number == given), None)

    def new_label(self, document):
        self.want(re.fullmatch(r"#[0-9a-f]{6}", document.get("color", "")), "colour")
        self.want(document["name"] not in self.labels, "a label that is there already")
        self.labels[document["name"]] = 100 + len(self.labels)
        return 201, {"id": self.labels[document["name"]], "name": document["name"]}


class GitHub(Forge):
    repo = "fleet/alarms"

    def authorised(self, request):
        headers = request["headers"]
        self.want(headers.get("accept") == "application/vnd.github+json", "accept")
        self.want(headers.get("x-github-api-version") == "2022-11-28", "version")
        self.want(headers.get("user-agent") == "overseer", "user agent")
        return headers.get("authorization") == f"Bearer {self.TOKEN}"

    def label_of(self, given):
        return given if given in self.labels else None

    def new_label(self, document):
        self.want(re.fullmatch(r"[0-9a-f]{6}", document.get("color", "")), "colour")
        if document["name"] in self.labels:
            return 422, {"message": "Validation Failed", "errors": [{"code": "already_exists"}]}
        self.labels[document["name"]] = len(self.labels) + 1
        return 201, {"id": self.labels[document["name"]], "name": document["name"]}


class Desktop:
    """A session bus of our own, and who shows notifications on it."""

    def __init__(self, mode=""):
        self.process = subprocess.Popen(["dbus-run-session", "--", SERVICE, mode], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.bus = json.loads(self.process.stdout.readline())["bus"]

    def shown(self):
        """The next notification."""
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(harness.PATIENCE)
        self.process.stdout.close()
