"""An MCP server without the SDK that keeps to the protocol badly: `python rough_server.py KIND`."""

from __future__ import annotations

import json
import sys
from typing import Any

KIND = sys.argv[1]
SCHEMA: Any = "no schema" if KIND == "tools" else {"type": "object"}
RESULT: Any = {"content": [{"type": "odd"}]} if KIND == "results" else {"content": [{"type": "text", "text": "Fine."}]}

if KIND == "prints":
    print("Loading the model ...")
    print('{"jsonrpc": "2.0"}')
for line in sys.stdin:
    message = json.loads(line)
    results: dict[str, Any] = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "rough", "version": "1"}},
        "tools/list": {"tools": [{"name": "work", "inputSchema": SCHEMA}]},
        "tools/call": RESULT,
    }
    if "id" in message:
        answer: dict[str, Any] = {"error": {"code": -32601, "message": "not known"}}
        if message["method"] in results:
            answer = {"result": results[message["method"]]}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
