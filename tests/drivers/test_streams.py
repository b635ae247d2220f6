"""What the holder of a stream may rely on: closing raises nothing and is told to observers, and a failure leaves its response."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Generator, Iterator
from typing import Any

import pytest

from swarm import Agent, AsyncSwarm, Swarm, tool
from swarm.effects import Call, CallModel, Emit, Reply
from swarm.errors import Cancelled, RequestError, StateError
from swarm.events import Delta, Done, Event, ToolStarted
from swarm.models.scripted import ScriptedModel, Turn, call
from swarm.run import Signal
from tests.modes import Drive

LONG = 5.0
PIECE = {"choices": [{"delta": {"content": "one "}}]}


class Unclosable:
    """A model whose streams cannot be closed."""

    def __init__(self) -> None:
        self.closed = 0

    def complete(self, call: CallModel) -> Reply:
        raise AssertionError("not asked for")

    def stream(self, call: CallModel) -> Any:
        return _Chunks(self)


class _Chunks(Iterator[dict[str, Any]]):
    def __init__(self, model: Unclosable) -> None:
        self.model = model
        self.left = 3

    def __next__(self) -> dict[str, Any]:
        if not self.left:
            raise StopIteration
        self.left -= 1
        return PIECE

    def close(self) -> None:
        self.model.closed += 1
        raise OSError("the connection is gone")


class AsyncUnclosable(Unclosable):
    def stream(self, call: CallModel) -> Any:
        return _AsyncChunks(self)


class _AsyncChunks(AsyncIterator[dict[str, Any]]):
    def __init__(self, model: Unclosable) -> None:
        self.chunks = _Chunks(model)

    async def __anext__(self) -> dict[str, Any]:
        for chunk in self.chunks:
            return chunk
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self.chunks.close()


def reads(mode: str, swarm: dict[str, Any], agent: Agent, client: Any, until: type[Event], **options: Any) -> Any:
    """Read a stream until an event of a kind, close it, and return it."""

    async def main() -> Any:
        stream = AsyncSwarm(client, **swarm).stream(agent, "go", **options)
        async for event in stream:
            if isinstance(event, until):
                break
        await stream.aclose()
        return stream

    if mode.startswith("async"):
        return asyncio.run(main())
    stream = Swarm(client, **swarm).stream(agent, "go", **options)
    for event in stream:
        if isinstance(event, until):
            break
    stream.close()
    return stream


MODES = pytest.mark.parametrize("mode", ["sync-stream", "async-stream"])


@MODES
@pytest.mark.parametrize("timeout", [None, LONG])
@pytest.mark.parametrize("kind", [Unclosable, AsyncUnclosable])
def test_a_providers_stream_that_cannot_be_closed(mode: str, timeout: float | None, kind: Any, caplog: pytest.LogCaptureFixture) -> None:
    """D13: closing raises nothing."""
    model = kind()
    with caplog.at_level(logging.DEBUG, "swarm"):
        stream = reads(mode, {}, Agent(), model, Delta, timeout=timeout)
        for _ in range(500):
            if model.closed:
                break
            time.sleep(0.01)
    assert stream.response.stop_reason == "cancelled"
    assert stream.response.text == "one "
    assert model.closed == 1
    assert "the connection is gone" in caplog.text


@pytest.mark.parametrize("kind", [Unclosable, AsyncUnclosable])
def test_a_whole_reply_whose_stream_cannot_be_closed(drive: Drive, kind: Any) -> None:
    """D13"""
    if drive.streams:
        assert drive(Agent(), "go", kind()).text == "one one one "


@MODES
@pytest.mark.parametrize("kind", [ValueError, StateError])
def test_closing_a_run_that_cannot_tidy_up(mode: str, kind: Any, caplog: pytest.LogCaptureFixture) -> None:
    """D13: what fails while a stream is closed is logged, and the response is kept, whatever kind of exception it is."""

    def fail() -> None:
        raise kind("no tidying up today")

    class Untidy:
        def model(self, call: CallModel) -> Generator[Any, Any, Any]:
            try:
                return (yield call)
            except Cancelled:
                yield Call(fail)

    with caplog.at_level(logging.DEBUG, "swarm"):
        stream = reads(mode, {"policies": [Untidy()]}, Agent(), ScriptedModel(["one two"]), Delta)
    assert stream.response.stop_reason == "error"
    assert "no tidying up today" in caplog.text


def test_closing_before_a_run_that_could_not_begin() -> None:
    """D13"""
    wrong = {"no such call": True}
    stream = Swarm(ScriptedModel([])).stream(Agent(), "go", approvals=wrong)
    stream.close()
    assert stream.response is not None

    async def main() -> None:
        stream = AsyncSwarm(ScriptedModel([])).stream(Agent(), "go", approvals=wrong)
        await stream.aclose()
        assert stream.response is not None

    asyncio.run(main())


@MODES
@pytest.mark.parametrize("until", [Delta, ToolStarted, Done])
def test_observers_hear_how_a_closed_run_ended(mode: str, until: type[Event]) -> None:
    """D47"""
    seen: list[Event] = []

    async def observe(event: Event) -> None:
        seen.append(event)

    def ping() -> str:
        return "pong"

    model = ScriptedModel([call("ping"), "done"])
    stream = reads(mode, {"on_event": [seen.append, observe]}, Agent(functions=[ping]), model, until)
    ends = [event for event in seen if isinstance(event, Done)]
    assert len(ends) == 2
    assert ends[0] is ends[1] is seen[-1]
    assert stream.response is ends[0].response


@MODES
def test_observers_hear_of_a_run_closed_before_it_began(mode: str) -> None:
    """D47"""
    seen: list[Event] = []

    async def main() -> None:
        stream = AsyncSwarm(ScriptedModel([]), on_event=seen.append).stream(Agent(), "go")
        await stream.aclose()
        await stream.aclose()

    if mode == "async-stream":
        asyncio.run(main())
    else:
        stream = Swarm(ScriptedModel([]), on_event=seen.append).stream(Agent(), "go")
        stream.close()
        stream.close()
    assert [type(event) for event in seen] == [Done]


class Answered(Exception):
    """An exception of a client library, which keeps a response of its own."""

    response = "of the library"


@MODES
@pytest.mark.parametrize("kind", [RequestError, ValueError, Answered])
def test_the_response_after_a_failure(mode: str, kind: type[Exception]) -> None:
    """D13: `stream.response` is what the error carries."""
    failure: Any = kind("no")

    def ping() -> str:
        return "pong"

    agent, model = Agent(functions=[ping]), ScriptedModel([call("ping"), Turn(error=failure)])

    async def main() -> Any:
        stream = AsyncSwarm(model).stream(agent, "go")
        with pytest.raises(kind):
            async for _ in stream:
                pass
        await stream.aclose()
        return stream.response

    if mode == "async-stream":
        response = asyncio.run(main())
    else:
        stream = Swarm(model).stream(agent, "go")
        with pytest.raises(kind):
            list(stream)
        stream.close()
        response = stream.response
    assert response is (failure.swarm_response if kind is Answered else failure.response)
    assert response.stop_reason == "error"
    assert [m["content"] for m in response.messages] == [None, "pong"]


def test_a_function_closes_the_stream_that_runs_it() -> None:
    """D13: it ends at its next step."""
    held: list[Any] = []

    def leave() -> str:
        held[0].close()
        return "left"

    for timeout in (None, LONG):
        held[:] = [Swarm(ScriptedModel([call("leave"), "never said"])).stream(Agent(functions=[leave]), "go", timeout=timeout)]
        assert isinstance(list(held[0])[-1], Done)
        assert held[0].response.stop_reason == "cancelled"
        assert held[0].response.messages[-1]["content"] == "left"

    async def leave_async() -> str:
        await held[0].aclose()
        return "left"

    async def main(timeout: float | None) -> None:
        agent = Agent(functions=[tool(leave_async, name="leave")])
        held[:] = [AsyncSwarm(ScriptedModel([call("leave"), "never said"])).stream(agent, "go", timeout=timeout)]
        assert isinstance([event async for event in held[0]][-1], Done)
        assert held[0].response.stop_reason == "cancelled"

    asyncio.run(main(None))
    asyncio.run(main(LONG))


def test_an_observer_closes_the_stream_it_hears() -> None:
    """D47"""
    held: list[Any] = []

    def hear(event: Event) -> None:
        if isinstance(event, Delta):
            held[0].close()

    held.append(Swarm(ScriptedModel(["one two three"]), on_event=hear).stream(Agent(), "go"))
    assert [type(event).__name__ for event in held[0]] == ["TurnStarted", "Delta"]
    assert held[0].response.stop_reason == "cancelled"


class Held:
    """A model that waits in its stream, and counts how often it was closed."""

    def __init__(self) -> None:
        self.closed = 0

    async def complete(self, call: CallModel) -> Reply:
        raise AssertionError("not asked for")

    async def stream(self, call: CallModel) -> AsyncIterator[dict[str, Any]]:
        try:
            yield PIECE
            await asyncio.sleep(LONG * 10)
        finally:
            self.closed += 1
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("ways", [("aclose", "aclose"), ("cancel", "aclose"), ("aclose", "cancel"), ("cancel", "cancel")])
@pytest.mark.parametrize("timeout", [None, LONG * 10])
def test_an_async_stream_is_ended_twice_while_it_is_read(ways: tuple[str, str], timeout: float | None) -> None:
    """D49: neither waits for ever, and the reader is not cancelled by the second."""

    async def main() -> None:
        model = Held()
        stream = AsyncSwarm(model).stream(Agent(), "go", timeout=timeout)
        seen: list[Event] = []

        async def read() -> None:
            async for event in stream:
                seen.append(event)

        async def end(way: str) -> None:
            await stream.aclose() if way == "aclose" else stream.cancel()

        reader = asyncio.create_task(read())
        while not any(isinstance(event, Delta) for event in seen):
            await asyncio.sleep(0)
        await asyncio.gather(*[end(way) for way in ways])
        await reader
        assert isinstance(seen[-1], Done)
        assert model.closed == 1
        assert stream.response is not None and stream.response.text == "one "

    asyncio.run(asyncio.wait_for(main(), LONG))


def test_an_async_stream_is_closed_twice_at_once_and_read_while_it_closes() -> None:
    """D49"""

    async def main() -> None:
        model = Held()
        stream = AsyncSwarm(model).stream(Agent(), "go")
        while not isinstance(await anext(stream), Delta):
            pass
        closers = [asyncio.create_task(stream.aclose()) for _ in range(2)]
        await asyncio.sleep(0)
        assert [event async for event in stream] == []
        await asyncio.gather(*closers)
        assert model.closed == 1
        assert stream.response is not None and stream.response.stop_reason == "cancelled"

    asyncio.run(asyncio.wait_for(main(), LONG))


def test_a_closer_that_is_cancelled_leaves_the_other_one_waiting() -> None:
    """D49"""

    async def main() -> None:
        model = Held()
        stream = AsyncSwarm(model).stream(Agent(), "go")

        async def read() -> None:
            async for _ in stream:
                pass

        reader = asyncio.create_task(read())
        await asyncio.sleep(0.01)
        first, second = asyncio.create_task(stream.aclose()), asyncio.create_task(stream.aclose())
        await asyncio.sleep(0)
        first.cancel()
        await second
        await reader
        assert first.cancelled()
        assert model.closed == 1

    asyncio.run(asyncio.wait_for(main(), LONG))


def test_a_sync_stream_is_closed_from_another_thread_while_it_is_read() -> None:
    """D13: it ends at the next step, and nothing is raised on either side."""
    started, gate = threading.Event(), threading.Event()

    def wait() -> str:
        started.set()
        gate.wait(LONG)
        return "waited"

    stream = Swarm(ScriptedModel([call("wait"), "never said"])).stream(Agent(functions=[wait]), "go")

    def stop() -> None:
        started.wait(LONG)
        stream.close()
        gate.set()

    thread = threading.Thread(target=stop)
    thread.start()
    assert isinstance(list(stream)[-1], Done)
    thread.join()
    assert stream.response is not None and stream.response.stop_reason == "cancelled"


def test_one_cancellation_wakes_all_who_sleep() -> None:
    """D49"""
    for _ in range(50):
        signal, ready = Signal(), threading.Barrier(3)

        def sleep(signal: Signal = signal, ready: threading.Barrier = ready) -> None:
            ready.wait()
            signal.wait(LONG * 10)

        threads = [threading.Thread(target=sleep, daemon=True) for _ in range(2)]
        for thread in threads:
            thread.start()
        ready.wait()
        signal.cancel()
        for thread in threads:
            thread.join(LONG)
            assert not thread.is_alive()


def test_an_event_of_a_policy_while_closing_is_dropped() -> None:
    """D49"""
    seen: list[Event] = []

    class Talks:
        def model(self, call: CallModel) -> Generator[Any, Any, Any]:
            try:
                return (yield call)
            except Cancelled:
                yield Emit(Delta("One", {"content": "too late"}))
                raise

    reads("sync-stream", {"policies": [Talks()], "on_event": seen.append}, Agent(), ScriptedModel(["one two"]), Delta)
    assert [type(event).__name__ for event in seen] == ["TurnStarted", "Delta", "Done"]
