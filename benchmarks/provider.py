"""A Chat Completions server with answers made beforehand, run in a process of its own so that its CPU is nobody's.

The first part of the path names the scenario; the number of tool messages in the request says which answer is due.
Prints its port and serves until its standard input is closed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

CHUNKS = 500
WORD = "word "
ANSWER = "It is 19 degrees in Reykjavik."

USAGE = {"prompt_tokens": 57, "completion_tokens": 17, "total_tokens": 74, "prompt_tokens_details": {"cached_tokens": 0}}


def completion(message: dict[str, Any], finish_reason: str) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "refusal": None, **message}, "logprobs": None, "finish_reason": finish_reason}
    body = json.dumps(
        {
            "id": "chatcmpl-0123456789",
            "object": "chat.completion",
            "created": 1700000000,
            "model": "gpt-4o",
            "choices": [choice],
            "usage": USAGE,
        }
    ).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-request-id: req_1\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def text() -> bytes:
    return completion({"content": ANSWER}, "stop")


def call(name: str, arguments: dict[str, Any]) -> bytes:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return completion({"content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}, "tool_calls")


def stream() -> bytes:
    """All chunks in one piece: reading costs next to nothing then, so what a client adds shows as clearly as it can."""
    deltas: list[tuple[dict[str, Any], str | None]] = [({"role": "assistant", "content": ""}, None)]
    deltas += [({"content": WORD}, None)] * CHUNKS
    deltas += [({}, "stop")]
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    return head + b"".join(map(http_chunk, [*(event(delta, reason) for delta, reason in deltas), b"data: [DONE]\n\n", b""]))


def event(delta: dict[str, Any], finish_reason: str | None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    chunk = {"id": "chatcmpl-0123456789", "object": "chat.completion.chunk", "created": 1700000000, "model": "gpt-4o", "choices": [choice]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def http_chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


ANSWERS = {
    b"answer": [text()],
    b"tool": [call("get_weather", {"location": "Reykjavik"}), text()],
    b"handoff": [call("transfer_to_weather", {}), text()],
    b"stream": [stream()],
}


class Connection(asyncio.Protocol):
    """Just enough of HTTP/1.1: keep-alive, bodies with a length."""

    transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.received = b""

    def data_received(self, data: bytes) -> None:
        self.received += data
        while (end := self.received.find(b"\r\n\r\n")) >= 0:
            head = self.received[:end].lower()
            length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
            if len(self.received) < end + 4 + length:
                return
            body, self.received = self.received[end + 4 : end + 4 + length], self.received[end + 4 + length :]
            scenario = head.split(b"/", 2)[1]
            self.transport.write(ANSWERS[scenario][body.count(b'"tool_call_id"')])


async def main() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
