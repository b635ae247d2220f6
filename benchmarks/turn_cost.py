"""What the library itself costs: a turn, a message of history, an Agent, with a model that answers in no time.

The yardstick is one `json.loads` of SAMPLE on the same machine in the same run: a turn may cost ten of them. On a quiet machine one takes
2 microseconds; budgets first said in microseconds (0.6 a message, 5 an Agent) are given in loads, so that a busy machine does not matter.

    python -m benchmarks.turn_cost
"""

from __future__ import annotations

import asyncio
import itertools
import json
import tracemalloc
from collections.abc import Callable
from typing import Any

from benchmarks.measure import interleaved, table
from swarm import Agent, AsyncSwarm, Swarm, tool
from swarm.effects import CallModel, Reply

SAMPLE = (
    '{"id": "call_0123456789abcd", "type": "function", "function": {"name": "get_weather", "arguments": '
    '{"location": "Reykjavik", "unit": "celsius", "days": 3, "detail": true, "since": null, "x": [1, 2]}}}'
)
TURNS = 40
HISTORY = 2_000
ROUNDS = 9
REPEATS = 20


class InstantModel:
    """Answers with calls of two tools in turn, then with a text, over and over."""

    def __init__(self, turns: int) -> None:
        replies = [Reply(tool_call(number), finish_reason="tool_calls") for number in range(turns - 1)]
        replies.append(Reply({"role": "assistant", "content": "Done."}, finish_reason="stop"))
        self.replies = itertools.cycle(replies)

    def complete(self, call: CallModel) -> Reply:
        return next(self.replies)

    def stream(self, call: CallModel) -> Any:
        raise NotImplementedError("this benchmark does not stream")


class AsyncInstantModel(InstantModel):
    async def complete(self, call: CallModel) -> Reply:  # type: ignore[override]
        return next(self.replies)


def tool_call(number: int) -> dict[str, Any]:
    name, arguments = (("add", {"a": number, "b": 2}), ("shout", {"text": f"number {number}"}))[number % 2]
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}]}


def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


@tool(name="add")
async def add_async(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


@tool(name="shout")
async def shout_async(text: str) -> str:
    """Say it louder."""
    return text.upper()


def history(count: int) -> list[dict[str, Any]]:
    return [{"role": ("user", "assistant")[number % 2], "content": f"message {number}"} for number in range(count)]


def sync_run(turns: int, messages: list[dict[str, Any]]) -> Callable[[], object]:
    client = Swarm(InstantModel(turns))
    agent = Agent(functions=[add, shout])
    return lambda: client.run(agent, messages)


def async_run(runner: asyncio.Runner, turns: int, messages: list[dict[str, Any]]) -> Callable[[], object]:
    """One event loop for all rounds; ten runs for each time it is entered, so that entering it does not count."""
    client = AsyncSwarm(AsyncInstantModel(turns))
    agent = Agent(functions=[add_async, shout_async])

    async def ten_runs() -> None:
        for _ in range(10):
            await client.run(agent, messages)

    return lambda: runner.run(ten_runs())


def thousand_loads() -> None:
    for _ in range(1_000):
        json.loads(SAMPLE)


def thousand_agents() -> None:
    for _ in range(1_000):
        Agent(name="Sales", instructions="Sell.", functions=[add])


def bytes_of_an_agent() -> float:
    """What stays allocated for an Agent without functions."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = [Agent(name="Sales", instructions="Sell.") for _ in range(1_000)]
    size = (tracemalloc.get_traced_memory()[0] - before) / len(kept)
    tracemalloc.stop()
    return size


def main() -> None:
    if len(SAMPLE.encode()) != 200:
        raise SystemExit(f"the sample has {len(SAMPLE.encode())} bytes, not 200")
    question = [{"role": "user", "content": "Go."}]
    long = [*history(HISTORY), *question]
    with asyncio.Runner() as runner:
        seconds = interleaved(
            {
                "loads": thousand_loads,
                "agents": thousand_agents,
                "sync": sync_run(TURNS, question),
                "async": async_run(runner, TURNS, question),
                "sync short": sync_run(1, question),
                "sync long": sync_run(1, long),
                "async short": async_run(runner, 1, question),
                "async long": async_run(runner, 1, long),
            },
            ROUNDS,
            REPEATS,
        )
    unit = seconds["loads"] / 1_000
    rows = [
        ("one `json.loads` of 200 bytes", unit, 1.0),
        ("a turn with one tool call, sync", seconds["sync"] / TURNS, 10.0),
        ("a turn with one tool call, async", seconds["async"] / 10 / TURNS, 10.0),
        ("a message of history, once per run, sync", (seconds["sync long"] - seconds["sync short"]) / HISTORY, 0.3),
        ("a message of history, once per run, async", (seconds["async long"] - seconds["async short"]) / 10 / HISTORY, 0.3),
        ("making an Agent", seconds["agents"] / 1_000, 2.5),
    ]
    lines = [(what, f"{cost * 1e6:.2f}", f"{cost / unit:.2f}", f"{budget:.1f}") for what, cost, budget in rows]
    print(table(("what", "microseconds", "in loads", "budget"), lines))
    print(f"\nAn Agent without functions: {bytes_of_an_agent():.0f} bytes; the budget is 1,024.")


if __name__ == "__main__":
    main()
