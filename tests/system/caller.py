#!/usr/bin/env python3
"""Asks a daemon to make a goal, as a person would: by the socket, or by HTTP with the token.

    caller.py STORE TITLE socket|http [mapped] [bound] [mptcp] [flee] [leave] [pass]

mapped, bound, mptcp: the HTTP connection is one of IPv6, of one interface, of several paths. flee: the call is made by a process without parent, session
or environment of its caller. leave: it does not wait for the answer. pass: the socket is opened by one
process and used by another. Prints "ok", or the code and the message of the error.
"""

import http.client
import json
import os
import socket
import sys


def request(title):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "goal.create", "params": {"title": title}}).encode()


def read(store, name):
    with open(os.path.join(store, name), encoding="utf-8") as f:
        return f.read()


def tcp(store, how):
    port = json.loads(read(store, "daemon.json"))["http_port"]
    found = socket.socket(socket.AF_INET6 if "mapped" in how else socket.AF_INET, socket.SOCK_STREAM,
                          262 if "mptcp" in how else 0)
    if "bound" in how:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo")
    found.connect(("::ffff:127.0.0.1" if "mapped" in how else "127.0.0.1", port))
    return found, port


def told(answer):
    error = answer.get("error")
    return f"{error['data']['code']} {error['message']}" if error else "ok"


def by_http(store, title, how):
    s, port = tcp(store, how)
    if "pass" in how and os.fork():
        os._exit(0)
    body = request(title)
    head = (f"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {read(store, 'token').strip()}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n")
    s.sendall(head.encode() + body)
    if "leave" in how:
        return "left"
    answer = http.client.HTTPResponse(s)
    answer.begin()
    return told(json.loads(answer.read()))


def by_socket(store, title, how):
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.path.join(store, "overseer.sock"))
    if "pass" in how and os.fork():
        os._exit(0)
    s.sendall(request(title) + b"\n")
    return "left" if "leave" in how else told(json.loads(s.makefile("rb").readline()))


def flee(result):
    """Returns only in a process that has left everything behind; the one that called waits for its result."""
    r, w = os.pipe()
    if os.fork():
        os.close(w)
        os.wait()
        with os.fdopen(r) as f:
            print(f.read().strip())
        sys.exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    os.dup2(w, 1)
    os.execve(sys.executable, [sys.executable, *result], {})


def main():
    store, title, via, *how = sys.argv[1:]
    if "flee" in how:
        flee([os.path.abspath(__file__), store, title, via, *(word for word in how if word != "flee")])
    print((by_http if via == "http" else by_socket)(store, title, how))


if __name__ == "__main__":
    main()
