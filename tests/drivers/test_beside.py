"""Agents that stream side by side inside another: wherever the outer stream is left, no inner stream, thread or task is left over."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar, copy_context
from typing import Any

import pytest

from swarm import Agent, AsyncSwarm, Response, Swarm
from swarm.drivers.sync import SyncDriver, finish
from swarm.drivers.threads import POOL
from swarm.effects import CallModel, Now, Reply, Together
from swarm.events import ToolStarted
from swarm.messages import repaired
from swarm.models.scripted import ScriptedModel, call
from swarm.run import Signal

LONG = 5.0
CALLS = [{**call("inner", {"input": str(n)}), "index": n, "id": f"call_{n}"} for n in range(3)]


def words(request: dict[str, Any]) -> list[dict[str, Any]]:
    """What the model says: three calls at once to whoever has functions and no answer yet, a text to the others."""
    if request.get("tools") and request["messages"][-1]["role"] == "user":
        return [{"role": "assistant"}, {"tool_calls": CALLS}]
    return [{"role": "assistant"}, {"content": "one "}, {"content": "two"}]


class Inner:
    """A model that may be asked by many threads at once, and counts its open streams."""

    blocking = False

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.open_streams = self.asked = 0

    def count(self, step: int) -> None:
        with self.lock:
            self.open_streams += step
            self.asked += step > 0

    def complete(self, call: CallModel) -> Reply:
        raise AssertionError("not asked for")

    def stream(self, call: CallModel) -> Any:
        return self.chunks(words(call.request))

    def chunks(self, deltas: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        self.count(+1)
        try:
            for delta in deltas:
                yield {"choices": [{"delta": delta}]}
        finally:
            self.count(-1)


class BlockingInner(Inner):
    blocking = True


class AsyncInner(Inner):
    blocking = False

    def stream(self, call: CallModel) -> Any:
        return self.achunks(words(call.request))

    async def achunks(self, deltas: list[dict[str, Any]]) -> AsyncIterator[dict[str, Any]]:
        self.count(+1)
        try:
            for delta in deltas:
                await asyncio.sleep(0)
                yield {"choices": [{"delta": delta}]}
        finally:
            self.count(-1)


KINDS = [Inner, BlockingInner, AsyncInner]
OUTER = Agent(name="Outer", functions=[Agent(name="Inner").as_tool()])
EVENTS = len(list(Swarm(Inner(), parallel_tools=True).stream(OUTER, "go")))


def wait_until_idle() -> None:
    """Every worker thread has come back to the pool."""
    for _ in range(500):
        workers = [thread for thread in threading.enumerate() if thread.name == "swarm-worker"]
        if len(workers) == POOL._idle and not POOL._jobs:  # type: ignore[reportPrivateUsage]
            return
        time.sleep(0.01)
    raise AssertionError(f"threads still run: {workers}")


def check(response: Response | None, model: Inner) -> None:
    assert model.open_streams == 0
    assert response is not None
    assert response.stop_reason == "cancelled"
    whole = [{"role": "user", "content": "go"}, *response.messages]
    assert repaired(whole, allow_open_tail=False) == whole


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("timeout", [None, LONG * 10])
@pytest.mark.parametrize("stop_at", range(EVENTS))
def test_a_sync_stream_is_closed_at_every_event(kind: Any, timeout: float | None, stop_at: int) -> None:
    """D13, D50"""
    model = kind()
    stream = Swarm(model, parallel_tools=True).stream(OUTER, "go", timeout=timeout)
    for _ in range(stop_at):
        next(stream)
    stream.close()
    wait_until_idle()
    asked = model.asked
    check(stream.response, model)
    assert model.asked == asked


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("timeout", [None, LONG * 10])
@pytest.mark.parametrize("stop_at", range(EVENTS))
def test_an_async_stream_is_closed_at_every_event(kind: Any, timeout: float | None, stop_at: int) -> None:
    """D13, D48"""
    model = kind()

    async def main() -> Response | None:
        stream = AsyncSwarm(model, parallel_tools=True).stream(OUTER, "go", timeout=timeout)
        for _ in range(stop_at):
            await anext(stream)
        await stream.aclose()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return stream.response

    response = asyncio.run(main())
    wait_until_idle()
    check(response, model)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("timeout", [None, LONG * 10])
def test_an_async_stream_is_closed_while_it_is_read(kind: Any, timeout: float | None) -> None:
    """D49"""

    async def main(model: Inner, steps: int) -> Response | None:
        stream = AsyncSwarm(model, parallel_tools=True).stream(OUTER, "go", timeout=timeout)

        async def read() -> None:
            async for _ in stream:
                await asyncio.sleep(0)

        reader = asyncio.create_task(read())
        for _ in range(steps):
            await asyncio.sleep(0)
        await stream.aclose()
        await reader
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return stream.response

    for steps in range(12):
        model = kind()
        response = asyncio.run(main(model, steps))
        wait_until_idle()
        if response is not None and response.stop_reason != "complete":
            check(response, model)
        assert model.open_streams == 0


@pytest.mark.parametrize("stop_at", range(2, EVENTS, 3))
def test_a_dropped_sync_stream_leaves_nothing(stop_at: int) -> None:
    """D13"""
    model = Inner()
    stream = Swarm(model, parallel_tools=True).stream(OUTER, "go")
    for _ in range(stop_at):
        next(stream)
    del stream
    wait_until_idle()
    assert model.open_streams == 0


@pytest.mark.parametrize("limit", [-1, 0, 1, None])
def test_flows_end_whatever_number_may_run_at_once(limit: int | None) -> None:
    """X08"""

    def flow(n: int) -> Any:
        yield Now()
        return n

    def both() -> Any:
        return (yield Together([flow(1), flow(2)], limit))

    async def main() -> Any:
        from swarm.drivers.aio import AsyncDriver

        driver = AsyncDriver(Signal())
        async for _ in driver.drive(both()):
            pass
        return driver.result

    assert finish(SyncDriver(Signal()).drive(both())) == [1, 2]
    assert asyncio.run(main()) == [1, 2]


variable: ContextVar[str] = ContextVar("variable", default="never set")


def leave_variable() -> str:
    return "left"


@pytest.mark.parametrize("names", [("set_variable", "leave_it"), ("leave_it", "set_variable")])
def test_a_call_that_changes_no_context_variable_reverts_none(names: tuple[str, str]) -> None:
    """D14, T20: a sibling's change stays, though the one that changed nothing comes back last."""
    is_set = threading.Event()

    def set_variable() -> str:
        variable.set("by a tool")
        is_set.set()
        return "set"

    def leave_it() -> str:
        is_set.wait(LONG)
        time.sleep(0.05)
        return "left"

    def run() -> str:
        variable.set("before")
        turns = [[call(name) for name in names], "done"]
        Swarm(ScriptedModel(turns), parallel_tools=True).run(Agent(functions=[set_variable, leave_it]), "go")
        return variable.get()

    assert copy_context().run(run) == "by a tool"


def test_what_the_consumer_sets_between_events_stays() -> None:
    """D14, D50"""

    def consume() -> str:
        variable.set("before")
        stream = Swarm(ScriptedModel([[call("leave_variable"), call("leave_variable")], "done"]), parallel_tools=True).stream(
            Agent(functions=[leave_variable]), "go"
        )
        for event in stream:
            if isinstance(event, ToolStarted):
                variable.set("by the consumer")
        return variable.get()

    assert copy_context().run(consume) == "by the consumer"
