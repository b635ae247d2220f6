"""What the hot paths cost, counted in function calls and in bytes of JSON: a clock would say something else on every machine, a count says
the same.

The budgets are in budgets.json, each with its history, newest last. A budget that is hit asks for a look at what was added. Who raises one
adds a line to its history that says why.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import to_json

from benchmarks.history_cost import Encoding
from benchmarks.policy_cost import idle, run_with
from benchmarks.turn_cost import InstantModel, add, async_run, history, shout, sync_run
from swarm import Agent, AsyncSwarm, Swarm, encoded, wire
from swarm.effects import CallModel

QUESTION = [{"role": "user", "content": "Go."}]
FILE = Path(__file__).with_name("budgets.json")
BUDGETS: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))


class Streaming(InstantModel):
    """Streams as many words as its number of turns says."""

    def __init__(self, words: int) -> None:
        super().__init__(1)
        self.words = words

    def stream(self, call: CallModel) -> Iterator[dict[str, Any]]:
        for _ in range(self.words):
            yield {"choices": [{"index": 0, "delta": {"content": "word "}, "finish_reason": None}]}


class AsyncStreaming(InstantModel):
    blocking = False

    def __init__(self, words: int) -> None:
        super().__init__(1)
        self.words = words

    async def stream(self, call: CallModel) -> Any:  # type: ignore[override]
        for chunk in Streaming(self.words).stream(call):
            yield chunk


def operations(work: Callable[[], object]) -> int:
    """The function calls of one `work()`, at its second time, when everything that is made once is there."""
    count = 0

    def note(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    work()
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def of_one(make: Callable[[int], Callable[[], object]], few: int, many: int) -> float:
    """The calls for one more of what `make` is told the number of."""
    return (operations(make(many)) - operations(make(few))) / (many - few)


def streamed(words: int) -> Callable[[], object]:
    client, agent = Swarm(Streaming(words)), Agent()
    return lambda: list(client.run(agent, QUESTION, stream=True))


def streamed_async(runner: asyncio.Runner, words: int) -> Callable[[], object]:
    client, agent = AsyncSwarm(AsyncStreaming(words)), Agent()

    async def read() -> int:
        return len([item async for item in client.run(agent, QUESTION, stream=True)])

    return lambda: runner.run(read())


def of_responses(count: int) -> list[dict[str, Any]]:
    """Texts as Responses hold them."""
    return [{"role": "assistant", "content": f"message {number}", "sender": "Agent", "tool_calls": None} for number in range(count)]


def encoding_run(turns: int, before: int) -> Callable[[], object]:
    """A run whose requests are encoded, over so many messages."""
    client, agent = Swarm(Encoding(turns)), Agent(functions=[add, shout])
    messages = [*history(before), *QUESTION]
    return lambda: client.run(agent, messages)


def encoded_bytes(monkeypatch: pytest.MonkeyPatch, work: Callable[[], object]) -> int:
    """How many bytes of JSON one `work()` makes, at its second time."""
    total = 0

    def counted(write: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
        def written(value: Any) -> bytes:
            nonlocal total
            text = write(value)
            total += len(text)
            return text

        return written

    work()
    with monkeypatch.context() as patch:
        for name in ("_written", "_plainly_written"):
            patch.setattr(wire, name, counted(getattr(wire, name)))
        patch.setattr(encoded, "to_json", counted(to_json))
        work()
    return total


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


def test_the_hot_paths_keep_to_their_budgets(
    runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "swarm.audit")  # whatever tests before this one have switched on

    def new_bytes(before: int) -> float:
        few, many = (encoded_bytes(monkeypatch, encoding_run(turns, before)) for turns in (40, 50))
        return (many - few) / 10

    costs = {
        "a turn with one tool call, sync": of_one(lambda turns: sync_run(turns, QUESTION), 10, 50),
        "a turn with one tool call, async": of_one(lambda turns: async_run(runner, turns, QUESTION), 10, 50) / 10,
        "a turn with one tool call, encoded": of_one(lambda turns: encoding_run(turns, 2_000), 10, 50),
        "a turn with seven idle policies": of_one(lambda turns: run_with(list(idle().values()), turns), 10, 50),
        "a plain message of history": of_one(lambda count: encoding_run(1, count), 100, 1_100),
        "a text of a Response in the history": of_one(lambda count: sync_run(1, [*of_responses(count), *QUESTION]), 100, 1_100),
        "a run of one turn": float(operations(sync_run(1, QUESTION))),
        "a chunk of a stream, sync": of_one(streamed, 10, 110),
        "a chunk of a stream, async": of_one(lambda words: streamed_async(runner, words), 10, 110),
        "bytes encoded for a turn after 100 messages": new_bytes(20),  # and two for each of 40 turns
        "bytes encoded for a turn after 2,000 messages": new_bytes(2_000),
    }
    assert costs.keys() == BUDGETS.keys()
    over = {what: (cost, most(what)) for what, cost in costs.items() if cost > most(what)}
    assert over == {}, "what was counted, and how much there may be"


def most(what: str) -> float:
    return BUDGETS[what]["history"][-1]["most"]


def test_every_budget_says_what_is_counted_and_why_it_is_what_it_is() -> None:
    for what, budget in BUDGETS.items():
        assert budget.keys() == {"counts", "history"}, what
        assert budget["counts"] in ("function calls", "bytes"), what
        assert all(entry.keys() == {"most", "why"} and len(entry["why"]) > 10 for entry in budget["history"]), what


def plain_run(turns: int, before: int) -> Callable[[], object]:
    return sync_run(turns, [*history(before), *QUESTION])


@pytest.mark.parametrize("run", [plain_run, encoding_run])
def test_a_turn_costs_the_same_however_long_the_history(run: Callable[[int, int], Callable[[], object]]) -> None:
    """Each message is looked at and encoded once per run: a later turn must not do it again."""
    turn = [of_one(lambda turns, before=before: run(turns, before), 40, 50) for before in (20, 2_000)]
    assert turn[0] == pytest.approx(turn[1], abs=1)


def test_what_is_counted_counts() -> None:
    assert operations(lambda: [len("") for _ in range(100)]) - operations(lambda: [len("") for _ in range(10)]) == 90
