"""A Chat Completions server with answers made beforehand, run in a process of its own so that its CPU is nobody's.

The path says whose run of which scenario it is: /<contestant>/<scenario>/chat/completions. Runs of one contestant come one after the other,
so the turns of a scenario simply come round; where many conversations go on at once, what the request holds says which turn is due. A
request without what its turn needs is refused: a contestant that forgets a tool's result or an agent's instructions is not faster.

Prints its port. Then each line of standard input is a command in JSON, answered by one line, until it is closed:

    {"begin": "contestant/scenario", "dialect": {...}, "at_once": 0, "delay": 0.0}    {}
    {"end": "contestant/scenario"}                                                    {"requests": 2, "bytes": 812, "most_at_once": 1}
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
from dataclasses import replace
from typing import Any

from benchmarks.scenarios import SCENARIOS, Dialect
from benchmarks.wire import Step, steps_of

BACKLOG = 16_384


class Route:
    """One contestant's runs of one scenario."""

    def __init__(self, name: str, dialect: dict[str, Any], at_once: int, delay: float) -> None:
        self.name = name
        self.scenario = replace(SCENARIOS[name.split("/")[1]], at_once=at_once, delay=delay)
        self.steps = steps_of(self.scenario, Dialect(**dialect))
        self.requests = self.bytes = self.open = self.most_at_once = 0

    def due(self, body: bytes) -> Step | str:
        """The step that answers a request, or what is wrong with the request."""
        self.requests += 1
        self.bytes += len(body)
        self.open += 1
        self.most_at_once = max(self.most_at_once, self.open)
        if self.scenario.at_once:
            for step in reversed(self.steps):
                if all(need in body for need in step.needs):
                    return step
            return f"{self.name}: a request that fits no turn"
        number = (self.requests - 1) % len(self.steps)
        missing = [need.decode() for need in self.steps[number].needs if need not in body]
        return f"{self.name}: the request of turn {number} lacks {missing}" if missing else self.steps[number]

    def counts(self) -> dict[str, int]:
        return {"requests": self.requests, "bytes": self.bytes, "most_at_once": self.most_at_once}


ROUTES: dict[bytes, Route] = {}


class Connection(asyncio.Protocol):
    """Just enough of HTTP/1.1: keep-alive, bodies with a length."""

    transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.received = bytearray()
        self.loop = asyncio.get_running_loop()

    def data_received(self, data: bytes) -> None:
        self.received += data
        while (end := self.received.find(b"\r\n\r\n")) >= 0:
            head = bytes(self.received[:end])
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            if len(self.received) < end + 4 + length:
                return
            body = bytes(self.received[end + 4 : end + 4 + length])
            del self.received[: end + 4 + length]
            self.answer(ROUTES[b"/".join(head.split(b"/", 3)[1:3])], body)

    def answer(self, route: Route, body: bytes) -> None:
        step = route.due(body)
        if isinstance(step, str):
            answer = refusal(step, body)
        elif b'"stream":true' not in body and b'"stream": true' not in body:
            answer = step.whole
        else:
            answer = step.streamed_with_usage if b"include_usage" in body else step.streamed
        if route.scenario.delay:
            self.loop.call_later(route.scenario.delay, self.send, route, answer)
        else:
            self.send(route, answer)

    def send(self, route: Route, answer: bytes) -> None:
        route.open -= 1
        self.transport.write(answer)


def refusal(why: str, request: bytes) -> bytes:
    text = f"{why}; it begins {request[:2000].decode(errors='replace')}"
    body = json.dumps({"error": {"message": text, "type": "invalid_request_error", "code": None}}).encode()
    return b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


def obey(command: dict[str, Any]) -> dict[str, int]:
    if "end" in command:
        return ROUTES.pop(command["end"].encode()).counts()
    name: str = command["begin"]
    ROUTES[name.encode()] = Route(name, command["dialect"], command["at_once"], command["delay"])
    return {}


def serve_commands() -> None:
    for line in sys.stdin:
        print(json.dumps(obey(json.loads(line))), flush=True)


async def main() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "127.0.0.1", 0, backlog=BACKLOG)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, serve_commands)


if __name__ == "__main__":
    asyncio.run(main())
