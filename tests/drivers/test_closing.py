"""A stream may be dropped anywhere: the provider's stream is closed once, nothing more runs, the history is valid."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from swarm import Agent, AsyncSwarm, Response, Swarm
from swarm.effects import CallModel, Reply
from swarm.events import Delta, Done, Event, ToolStarted
from swarm.messages import repaired
from swarm.models.scripted import ScriptedModel, Turn, call

TURNS: list[Any] = [
    [call("first", {"n": 1}), call("second", {"n": 2})],
    call("to_other"),
    Turn("three short words", usage=(1, 1)),
]


class Watched(ScriptedModel):
    """Counts what is opened and closed, and what is called after the consumer has gone."""

    def __init__(self) -> None:
        super().__init__(TURNS)
        self.ran: list[str] = []

    def agents(self) -> Agent:
        other = Agent(name="Other")

        def first(n: int) -> str:
            self.ran.append("first")
            return f"first {n}"

        async def second(n: int) -> str:
            self.ran.append("second")
            return f"second {n}"

        def to_other() -> Agent:
            self.ran.append("to_other")
            return other

        return Agent(name="One", functions=[first, second, to_other])

    def check_left(self, response: Response | None, asked: int, ran: list[str]) -> None:
        assert self.open_streams == 0
        assert (len(self.requests), self.ran) == (asked, ran)
        if response is not None:
            assert response.stop_reason in ("cancelled", "complete")
            whole = [{"role": "user", "content": "go"}, *response.messages]
            assert repaired(whole, allow_open_tail=False) == whole


def events_in_all() -> int:
    model = Watched()
    return len(list(Swarm(model).stream(model.agents(), "go")))


@pytest.mark.parametrize("stop_at", range(events_in_all() + 1))
@pytest.mark.parametrize("way", ["close", "with", "drop", "cancel"])
def test_a_sync_stream_left_at_any_event(stop_at: int, way: str) -> None:
    model = Watched()
    stream = Swarm(model).stream(model.agents(), "go")
    for _ in range(stop_at):
        next(stream)
    asked, ran = len(model.requests), list(model.ran)
    response = None
    if way == "with":
        with stream:
            pass
        response = stream.response
    elif way == "close":
        stream.close()
        stream.close()
        response = stream.response
    elif way == "cancel":
        stream.cancel()
        assert [type(event) for event in stream] == ([Done] if stop_at < events_in_all() else [])
        response = stream.response
    else:
        del stream
    if way != "drop":
        assert response is not None
    model.check_left(response, asked, ran)


@pytest.mark.parametrize("stop_at", range(events_in_all() + 1))
@pytest.mark.parametrize("way", ["aclose", "with", "drop", "cancel"])
def test_an_async_stream_left_at_any_event(stop_at: int, way: str) -> None:
    model = Watched()

    async def main() -> tuple[Response | None, int, list[str]]:
        stream = AsyncSwarm(model).stream(model.agents(), "go")
        for _ in range(stop_at):
            await anext(stream)
        asked, ran = len(model.requests), list(model.ran)
        if way == "with":
            async with stream:
                pass
        elif way == "aclose":
            await stream.aclose()
            await stream.aclose()
        elif way == "cancel":
            stream.cancel()
            assert [type(event) async for event in stream] == ([Done] if stop_at < events_in_all() else [])
        else:
            del stream
            gc.collect()
            await asyncio.sleep(0)
            return None, asked, ran
        return stream.response, asked, ran

    response, asked, ran = asyncio.run(main())
    if way != "drop":
        assert response is not None
    model.check_left(response, asked, ran)


@pytest.mark.parametrize("stop_at", range(8))
def test_the_dict_stream_left_at_any_item(stop_at: int) -> None:
    model = Watched()
    with Swarm(model).run(model.agents(), "go", stream=True) as stream:
        for _ in range(stop_at):
            next(stream)
        asked, ran = len(model.requests), list(model.ran)
    model.check_left(stream.response, asked, ran)


def read_until(stream: Iterator[Event], kind: type[Event], count: int = 1) -> None:
    for event in stream:
        count -= isinstance(event, kind)
        if not count:
            return


def test_a_partial_text_is_kept() -> None:
    """D13, M06"""
    model = ScriptedModel(["one two three"])
    stream = Swarm(model).stream(Agent(), "go")
    read_until(stream, Delta, 2)
    stream.close()
    assert stream.response is not None
    assert [m["content"] for m in stream.response.messages] == ["one two "]
    assert stream.response.stop_reason == "cancelled"


def test_unfinished_calls_of_a_partial_reply_are_dropped() -> None:
    """D13"""
    model = ScriptedModel([Turn("well ", [call("f", {"text": "a long argument"})])])

    def f(text: str) -> str:
        return text

    stream = Swarm(model).stream(Agent(functions=[f]), "go")
    read_until(stream, Delta, 4)
    stream.close()
    assert stream.response is not None
    assert [(m["content"], m["tool_calls"]) for m in stream.response.messages] == [("well ", None)]


def test_calls_that_had_begun_are_told_from_those_that_had_not() -> None:
    """D43"""
    model = Watched()
    stream = Swarm(model).stream(model.agents(), "go")
    read_until(stream, ToolStarted, 2)
    stream.close()
    assert stream.response is not None
    texts = [m["content"] for m in stream.response.messages if m["role"] == "tool"]
    assert texts[0] == "first 1"
    assert texts[1].startswith("Error: it was started")
    assert [c.outcome for c in stream.response.calls] == ["ok", "unknown"]


def test_cancel_after_the_turn_completes_it() -> None:
    """X03"""
    model = Watched()
    stream = Swarm(model).stream(model.agents(), "go")
    read_until(stream, ToolStarted)
    stream.cancel(after_turn=True)
    rest = list(stream)
    assert model.ran == ["first", "second"]
    assert rest and stream.response is not None and stream.response.stop_reason == "cancelled"
    assert [m["role"] for m in stream.response.messages] == ["assistant", "tool", "tool"]


class Slow:
    """A model whose stream gives one word and then waits to be closed."""

    def __init__(self) -> None:
        self.closed = 0

    async def complete(self, call: CallModel) -> Reply:
        raise AssertionError("not asked for")

    async def stream(self, call: CallModel) -> AsyncIterator[dict[str, Any]]:
        try:
            yield {"choices": [{"delta": {"content": "one "}}]}
            await asyncio.sleep(60)
        finally:
            self.closed += 1


@pytest.mark.parametrize("way", ["cancel", "aclose"])
def test_an_async_stream_is_ended_from_another_task(way: str) -> None:
    """D49"""

    async def main() -> None:
        model = Slow()
        stream = AsyncSwarm(model).stream(Agent(), "go")
        seen: list[Event] = []

        async def read() -> None:
            async for event in stream:
                seen.append(event)

        reader = asyncio.create_task(read())
        while len(seen) < 2:
            await asyncio.sleep(0)
        if way == "cancel":
            stream.cancel()
        else:
            await stream.aclose()
        await reader
        assert model.closed == 1
        assert stream.response is not None
        assert [m["content"] for m in stream.response.messages] == ["one "]

    asyncio.run(main())


def test_a_cancelled_task_is_cancelled() -> None:
    """D49: a cancellation of somebody else goes through untouched, and the provider's stream is closed all the same."""

    async def main() -> None:
        model = Slow()
        stream = AsyncSwarm(model).stream(Agent(), "go")

        async def read() -> None:
            async for _ in stream:
                pass

        reader = asyncio.create_task(read())
        await asyncio.sleep(0.01)
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        assert model.closed == 1

    asyncio.run(main())


def test_a_sync_stream_is_cancelled_from_another_thread() -> None:
    """D13"""
    gate, started = threading.Event(), threading.Event()

    def wait() -> str:
        started.set()
        gate.wait(5)
        return "waited"

    model = ScriptedModel([call("wait"), "never said"])
    stream = Swarm(model).stream(Agent(functions=[wait]), "go")

    def stop() -> None:
        started.wait(5)
        stream.cancel()
        gate.set()

    thread = threading.Thread(target=stop)
    thread.start()
    list(stream)
    thread.join()
    assert stream.response is not None
    assert stream.response.stop_reason == "cancelled"
    assert [m["content"] for m in stream.response.messages] == [None, "waited"]
    assert len(model.unused) == 1


def test_a_hundred_hard_cancels_leave_no_open_stream() -> None:
    """X03"""
    opened = 0
    for number in range(100):
        model = Watched()
        stream = Swarm(model).stream(model.agents(), "go")
        for _ in range(number % 12):
            next(stream)
        stream.close()
        opened += model.open_streams
    assert opened == 0
