"""The loop as people write it by hand, for the official client and for the bare transports: what ours is compared with."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeAlias

from pydantic_core import from_json

from benchmarks.scenarios import ASSISTANT, DESK, PING, PONG, QUESTION, TELLER, USUAL, Message, get_weather, get_weather_async
from benchmarks.tools import FIFTY, asynchronous
from swarm import tool

Calls: TypeAlias = list[tuple[str, str, str]]
"""Id, name and arguments of each."""

CANNOT = {"inprocess": "a client has no model but its server", "agent": "a client has no agents"}
HEADERS = {"content-type": "application/json", "authorization": "Bearer benchmark"}
WEATHER = tool(get_weather).wire
MANY = [tool(function).wire for function in FIFTY]
FUNCTIONS: dict[str, Callable[..., Any]] = {function.__name__: function for function in [get_weather, *FIFTY]}
ASYNC_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "get_weather": get_weather_async,
    **{function.__name__: asynchronous(function) for function in FIFTY},
}
TARGETS = {call: agent for agent, (call, _) in USUAL.transfers.items()}


def transfer(agent: str) -> dict[str, Any]:
    parameters: dict[str, Any] = {"type": "object", "properties": {}, "required": []}
    return {
        "type": "function",
        "function": {"name": USUAL.transfers[agent][0], "description": f"Hand over to {agent}.", "parameters": parameters},
    }


AGENTS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "Weather": (TELLER, [WEATHER]),
    "Ping": (PING, [transfer("Pong")]),
    "Pong": (PONG, [transfer("Ping")]),
}
SETUP: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "handoff": (DESK, [transfer("Weather")]),
    "pingpong": AGENTS["Ping"],
    "fifty": (TELLER, MANY),
    **dict.fromkeys(["answer", "stream", "history200", "history2000"], (ASSISTANT, [])),
}


class Conversation:
    """The messages of one run, and what a reply does to them."""

    def __init__(self, scenario: str, so_far: list[Message]) -> None:
        instructions, self.tools = SETUP.get(scenario, AGENTS["Weather"])
        self.messages: list[Any] = [{"role": "system", "content": instructions}, *so_far, {"role": "user", "content": QUESTION}]

    def request(self, **more: Any) -> dict[str, Any]:
        body: dict[str, Any] = {"model": "gpt-4o", "messages": self.messages, **more}
        if self.tools:
            body["tools"] = self.tools
        return body

    def perform(self, calls: Calls) -> bool:
        """Run the calls of a reply, several side by side; whether there were none."""
        if len(calls) == 1:
            self.keep(calls, [do(FUNCTIONS, calls[0])])
        elif calls:
            with ThreadPoolExecutor(len(calls)) as pool:
                self.keep(calls, list(pool.map(partial(do, FUNCTIONS), calls)))
        return not calls

    async def perform_async(self, calls: Calls) -> bool:
        """The same for functions that are awaited."""
        if len(calls) == 1:
            result = do(ASYNC_FUNCTIONS, calls[0])
            self.keep(calls, [result if result is None else await result])
        elif calls:
            self.keep(calls, await asyncio.gather(*(do(ASYNC_FUNCTIONS, call) for call in calls)))
        return not calls

    def keep(self, calls: Calls, results: list[str | None]) -> None:
        """Append what calls came to; None is a switch to the agent that the function names."""
        for (call_id, name, _), result in zip(calls, results, strict=True):
            if result is None:
                instructions, self.tools = AGENTS[TARGETS[name]]
                self.messages[0] = {"role": "system", "content": instructions}
            content = json.dumps({"assistant": TARGETS[name]}) if result is None else result
            self.messages.append({"role": "tool", "tool_call_id": call_id, "content": content})


def do(functions: dict[str, Callable[..., Any]], call: tuple[str, str, str]) -> Any:
    _, name, arguments = call
    return functions[name](**json.loads(arguments)) if name in functions else None


def calls_of(message: dict[str, Any]) -> Calls:
    """The calls of a reply given as a dict."""
    calls: list[dict[str, Any]] = message.get("tool_calls") or []
    return [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in calls]


def calls_of_object(message: Any) -> Calls:
    """The calls of a reply of the official client."""
    calls: list[Any] = message.tool_calls or []
    return [(call.id, call.function.name, call.function.arguments) for call in calls]


def read_events(data: bytes, pieces: list[str]) -> bytes:
    """Collect the text of every whole event; what is left of an unfinished one comes back."""
    *events, rest = data.split(b"\n\n")
    for event in events:
        if event != b"data: [DONE]":
            pieces.append(from_json(event[6:])["choices"][0]["delta"].get("content") or "")
    return rest
