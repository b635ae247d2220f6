"""What the hot paths cost, counted in function calls: a clock would say something else on every machine, a count says the same.

A budget that is hit asks for a look at what was added. Who raises one leaves the reason beside it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from benchmarks.turn_cost import InstantModel, async_run, history, sync_run
from swarm import Agent, AsyncSwarm, Swarm
from swarm.effects import CallModel

QUESTION = [{"role": "user", "content": "Go."}]
# Function calls, those of C functions too. Measured when written, on Python 3.11: 126, 126, 10.5, 154, 17 and 20.
BUDGETS = {
    "a turn with one tool call, sync": 140,
    "a turn with one tool call, async": 140,
    "a message of history": 12,
    "a run of one turn": 175,
    "a chunk of a stream, sync": 19,
    "a chunk of a stream, async": 22,
}


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


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


def test_the_hot_paths_keep_to_their_budgets(runner: asyncio.Runner) -> None:
    costs = {
        "a turn with one tool call, sync": of_one(lambda turns: sync_run(turns, QUESTION), 10, 50),
        "a turn with one tool call, async": of_one(lambda turns: async_run(runner, turns, QUESTION), 10, 50) / 10,
        "a message of history": of_one(lambda count: sync_run(1, [*history(count), *QUESTION]), 100, 1_100),
        "a run of one turn": float(operations(sync_run(1, QUESTION))),
        "a chunk of a stream, sync": of_one(streamed, 10, 110),
        "a chunk of a stream, async": of_one(lambda words: streamed_async(runner, words), 10, 110),
    }
    assert costs.keys() == BUDGETS.keys()
    over = {what: (cost, BUDGETS[what]) for what, cost in costs.items() if cost > BUDGETS[what]}
    assert over == {}, "function calls, and how many there may be"


def test_a_turn_costs_the_same_however_long_the_history() -> None:
    """Each message is looked at once per run: a later turn must not look at it again."""
    turn = [of_one(lambda turns, before=before: sync_run(turns, [*history(before), *QUESTION]), 10, 50) for before in (0, 1_000)]
    assert turn[0] == pytest.approx(turn[1], abs=1)


def test_what_is_counted_counts() -> None:
    assert operations(lambda: [len("") for _ in range(100)]) - operations(lambda: [len("") for _ in range(10)]) == 90
