"""An MCP server without the SDK that speaks the protocol as of 2025: `python old_server.py`, or `--http PORT` with sessions.

It knows no `server/discover`; it tells of changed tools without being asked; over HTTP it forgets all sessions when its tool `forget`
is called, and answers 404 for those that it does not know, as the specification wants.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

NAMES = ["echo", "forget", "grow", "not a legal name!", "not a legal name?", "x" * 90, "名前", "odd"]
SCHEMA: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"self": {"type": ["string", "null"]}, "context_variables": {"$ref": "#/definitions/any"}},
    "definitions": {"any": {"description": "kept as it is"}},
    "x-odd": [1, {"deep": True}],
}
tools = list(NAMES)
sessions: set[str] = set()
counted = {"echo": 0}


def answer(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages that a message is answered with."""
    method, params = message["method"], message.get("params") or {}
    more: list[dict[str, Any]] = []
    if "id" not in message:
        return []
    if method == "initialize":
        result: dict[str, Any] = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "old", "version": "1"},
        }
    elif method == "tools/list":  # two on a page
        first = int(params.get("cursor") or 0)
        page = [{"name": name, "description": name, "inputSchema": SCHEMA} for name in tools[first : first + 2]]
        result = {"tools": page, **({"nextCursor": str(first + 2)} if first + 2 < len(tools) else {})}
    elif method == "tools/call":
        result, more = call(params["name"], params.get("arguments") or {})
    else:
        return [{"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": f"no method {method}"}}]
    return [*more, {"jsonrpc": "2.0", "id": message["id"], "result": result}]


def call(name: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if name == "forget":
        sessions.clear()
    if name == "grow":
        tools.append("grown")
        return {"content": []}, [{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}]
    if name == "odd":
        return {
            "content": [
                {"type": "resource_link", "uri": "notes://1", "name": "note", "description": "one"},
                {"type": "resource", "resource": {"uri": "notes://2", "text": "two"}},
                {"type": "resource", "resource": {"uri": "file:///a/report.pdf", "mimeType": "application/pdf", "blob": "JVBERg=="}},
                {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
                {"type": "audio", "data": "T2dn", "mimeType": "audio/ogg"},
                {"type": "image", "data": "no base64", "mimeType": "image/png"},
            ]
        }, []
    counted["echo"] += 1
    return {"content": [], "structuredContent": {"name": name, "arguments": arguments, "count": counted["echo"]}}, []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers.get("Authorization") != "Bearer secret":
            self.send({}, 401)
            return
        session = self.headers.get("Mcp-Session-Id")
        if message["method"] == "initialize":
            session = f"session-{len(sessions)}-{id(message)}"
            sessions.add(session)
        elif session not in sessions:
            self.send({}, 404 if session else 400)
            return
        answers = answer(message)
        self.send(answers[-1] if answers else None, 200 if answers else 202, session)

    def do_GET(self) -> None:
        self.send({}, 405)

    def do_DELETE(self) -> None:
        self.send({}, 200)

    def send(self, body: Any, status: int, session: str | None = None) -> None:
        text = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        if session:
            self.send_header("Mcp-Session-Id", session)
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        pass


if __name__ == "__main__":
    if "--http" in sys.argv:
        ThreadingHTTPServer(("127.0.0.1", int(sys.argv[-1])), Handler).serve_forever()
    for line in sys.stdin:
        for message in answer(json.loads(line)):
            print(json.dumps(message), flush=True)
