"""A run that ended badly leaves no reference cycle once its exception is dropped, and a model's wrong answer is named."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from swarm import Agent, AsyncSwarm, Swarm
from swarm.effects import CallModel
from swarm.errors import InvalidReply, StreamBroken
from swarm.events import Delta
from swarm.models.scripted import ScriptedModel, call

CALLS = [call("fail"), call("fail")]


def fail() -> str:
    raise ValueError("x")


def interrupt() -> str:
    raise KeyboardInterrupt


async def hang() -> str:
    await asyncio.Event().wait()
    return "never"


class Breaks:
    """A client whose stream breaks after a text."""

    class chat:
        class completions:
            @staticmethod
            def create(**request: Any) -> Any:
                yield {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "one "}}]}
                raise OSError("broken")


AGENT = Agent(functions=[fail, hang, interrupt])


def raised(parallel: bool) -> None:
    with pytest.raises(ValueError, match="x"):
        Swarm(ScriptedModel([CALLS, "never"]), tool_errors="raise", parallel_tools=parallel).run(AGENT, "go")


def broken() -> None:
    with pytest.raises(StreamBroken):
        list(Swarm(Breaks()).stream(AGENT, "go"))


def cut_off() -> None:
    with pytest.raises(KeyboardInterrupt):
        Swarm(ScriptedModel([[call("fail"), call("interrupt")]]), tool_errors="raise").run(AGENT, "go")


SYNC: dict[str, Callable[[], None]] = {
    "raised": lambda: raised(False),
    "raised side by side": lambda: raised(True),
    "a broken stream": broken,
    "cut off": cut_off,
}


@pytest.mark.parametrize("name", SYNC)
def test_a_sync_run_that_failed_leaves_no_reference_cycle(name: str) -> None:
    """D54"""
    SYNC[name]()
    gc.collect()
    SYNC[name]()
    assert gc.collect() == 0


async def raised_async() -> None:
    with pytest.raises(ValueError, match="x"):
        await AsyncSwarm(ScriptedModel([CALLS, "never"]), tool_errors="raise").run(AGENT, "go")


async def broken_async() -> None:
    with pytest.raises(StreamBroken):
        async for _ in AsyncSwarm(Breaks()).stream(AGENT, "go"):
            pass


async def closed_async() -> None:
    stream = AsyncSwarm(ScriptedModel(["one two three"])).stream(AGENT, "go")
    while not isinstance(await anext(stream), Delta):
        pass
    await stream.aclose()


async def cancelled_async(parallel: bool) -> None:
    swarm = AsyncSwarm(ScriptedModel([[call("hang"), call("hang")]]), parallel_tools=parallel)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(swarm.run(AGENT, "go"), 0.01)


async def out_of_time_async(parallel: bool) -> None:
    swarm = AsyncSwarm(ScriptedModel([[call("hang"), call("hang")]]), parallel_tools=parallel)
    with pytest.raises(TimeoutError):
        await swarm.run(AGENT, "go", timeout=0.01)


ASYNC: dict[str, Callable[[], Awaitable[None]]] = {
    "raised": raised_async,
    "a broken stream": broken_async,
    "a closed stream": closed_async,
    "cancelled": lambda: cancelled_async(False),
    "cancelled side by side": lambda: cancelled_async(True),
    "out of time": lambda: out_of_time_async(False),
    "out of time side by side": lambda: out_of_time_async(True),
}


@pytest.mark.parametrize("name", ASYNC)
def test_an_async_run_that_failed_leaves_no_reference_cycle(name: str) -> None:
    """D54. Counted while the loop is open, since asyncio makes cycles of its own when one is closed."""

    async def main() -> int:
        await ASYNC[name]()
        await asyncio.sleep(0.02)
        gc.collect()
        await ASYNC[name]()
        await asyncio.sleep(0.02)
        return gc.collect()

    assert asyncio.run(main()) == 0


class Wrong:
    """A model that answers with what is no answer."""

    def __init__(self, value: Any, blocking: bool) -> None:
        self.value = value
        self.blocking = blocking

    def complete(self, call: CallModel) -> Any:
        return self.value

    def stream(self, call: CallModel) -> Any:
        return self.value


@pytest.mark.parametrize("value", [None, 3])
@pytest.mark.parametrize("blocking", [False, True])
@pytest.mark.parametrize("timeout", [None, 30])
def test_a_wrong_answer_of_a_model_is_named(value: Any, blocking: bool, timeout: int | None) -> None:
    """In sync and async, whole and streamed, with and without a time limit."""
    said = f"Wrong answered with {value}; "

    async def read(stream: bool) -> None:
        swarm = AsyncSwarm(Wrong(value, blocking))
        if stream:
            async for _ in swarm.stream(Agent(), "go", timeout=timeout):
                pass
        else:
            await swarm.run(Agent(), "go", timeout=timeout)

    with pytest.raises(InvalidReply, match=said):
        Swarm(Wrong(value, blocking)).run(Agent(), "go", timeout=timeout)
    with pytest.raises(InvalidReply, match=said):
        list(Swarm(Wrong(value, blocking)).stream(Agent(), "go", timeout=timeout))
    for stream in (False, True):
        with pytest.raises(InvalidReply, match=said):
            asyncio.run(read(stream))
