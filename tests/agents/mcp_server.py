#!/usr/bin/env python3
"""A server of MCP on standard input and output with one tool, `touch`, which makes a file in its folder."""

import json
import sys

TOOL = {"name": "touch", "description": "Makes a file.",
        "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params.get("protocolVersion", "2025-06-18"), "capabilities": {"tools": {}},
                "serverInfo": {"name": "probe", "version": "1"}}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        with open(params["arguments"]["name"], "w", encoding="utf-8") as f:
            f.write("by the server\n")
        return {"content": [{"type": "text", "text": "made"}]}
    if method == "ping":
        return {}
    return None


def main():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        result = answer(message.get("method"), message.get("params") or {})
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        reply.update({"error": {"code": -32601, "message": "unknown"}} if result is None else {"result": result})
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
