"""Runs that somebody else cuts off, and policies that will not let a run end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from swarm import Agent, AsyncSwarm, Response, RunTimeout, Swarm
from swarm.effects import CallModel, Flow
from swarm.errors import Cancelled, SwarmError, attach
from swarm.events import Delta
from swarm.history import NOT_EXECUTED
from swarm.messages import repaired
from swarm.models.scripted import ScriptedModel, call


def check(response: Response | None, contents: list[str]) -> None:
    assert response is not None
    assert response.stop_reason == "cancelled"
    assert [message["content"] for message in response.messages if message["role"] == "tool"] == contents
    whole = [{"role": "user", "content": "go"}, *response.messages]
    assert repaired(whole, allow_open_tail=False) == whole


def first() -> str:
    return "first"


CUT = "Error: it was started, but the run was cut off; whether it had an effect is not known"


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("parallel", [False, True])
def test_ctrl_c_and_an_exit_leave_the_response(ending: type[BaseException], parallel: bool) -> None:
    """D16: the exception goes through as it is, with what had been done."""
    mine = ending("mine")

    def second() -> str:
        raise mine

    agent = Agent(functions=[first, second])
    swarm = Swarm(ScriptedModel([[call("first")], [call("second")], "never"]), parallel_tools=parallel)
    with pytest.raises(ending) as raised, swarm.stream(agent, "go") as stream:
        list(stream)
    assert raised.value is mine
    check(stream.response, ["first", CUT])
    swarm = Swarm(ScriptedModel([[call("first")], [call("second")], "never"]), parallel_tools=parallel)
    with pytest.raises(ending) as raised:
        swarm.run(agent, "go")
    check(getattr(raised.value, "response", None), ["first", CUT])


def test_ctrl_c_while_a_text_comes_keeps_the_part() -> None:
    """D13, D16"""

    class Interrupted(ScriptedModel):
        def stream(self, call: CallModel) -> Iterator[Any]:
            yield {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "one "}}]}
            raise KeyboardInterrupt

    stream = Swarm(Interrupted(["x"])).stream(Agent(), "go")
    with pytest.raises(KeyboardInterrupt):
        list(stream)
    check(stream.response, [])
    assert stream.response is not None and stream.response.text == "one "


def cut_by_timeout(reading: Callable[[], Any], begun: asyncio.Event) -> Any:
    async def main() -> None:
        async with asyncio.timeout(None) as scope:

            async def end() -> None:
                await begun.wait()
                scope.reschedule(asyncio.get_running_loop().time())

            ending = asyncio.create_task(end())
            try:
                await reading()
            finally:
                await ending

    return main()


def cut_by_cancel(reading: Callable[[], Any], begun: asyncio.Event) -> Any:
    async def main() -> None:
        task = asyncio.create_task(reading())
        await begun.wait()
        task.cancel()
        await task

    return main()


@pytest.mark.parametrize(("cut", "raised"), [(cut_by_timeout, TimeoutError), (cut_by_cancel, asyncio.CancelledError)])
@pytest.mark.parametrize("parallel", [False, True])
def test_a_foreign_cancellation_leaves_the_response(cut: Any, raised: type[BaseException], parallel: bool) -> None:
    """D16, D49"""

    async def main() -> Response | None:
        begun = asyncio.Event()

        async def hang() -> str:
            begun.set()
            await asyncio.Event().wait()
            return "never"

        model = ScriptedModel([[call("first")], [call("hang"), call("hang")], "never"])
        stream = AsyncSwarm(model, parallel_tools=parallel).stream(Agent(functions=[first, hang]), "go")

        async def read() -> None:
            async with stream:
                async for _ in stream:
                    pass

        with pytest.raises(raised):
            await cut(read, begun)
        return stream.response

    check(asyncio.run(main()), ["first", CUT, CUT if parallel else NOT_EXECUTED])


def test_a_cancellation_of_a_close_leaves_the_response() -> None:
    """D49"""

    async def main() -> Response | None:
        closing = asyncio.Event()

        class Holds(ScriptedModel):
            async def astream(self, call: CallModel) -> AsyncIterator[Any]:
                try:
                    yield {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "one "}}]}
                    yield {"choices": [{"index": 0, "delta": {"content": "two"}}]}
                finally:
                    closing.set()
                    await asyncio.Event().wait()

        stream = AsyncSwarm(Holds(["never"])).stream(Agent(), "go")
        while not isinstance(await anext(stream), Delta):
            pass
        with pytest.raises(asyncio.CancelledError):
            await cut_by_cancel(stream.aclose, closing)
        return stream.response

    response = asyncio.run(main())
    check(response, [])


class Stubborn:
    """A policy that asks again whatever comes; `kind` says what it catches."""

    def __init__(self, kind: type[BaseException]) -> None:
        self.kind = kind

    def model(self, call: CallModel) -> Flow:
        while True:
            try:
                return (yield call)
            except self.kind:
                pass


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Python's own word for a generator that cannot be closed
@pytest.mark.parametrize("kind", [Cancelled, BaseException])
@pytest.mark.parametrize("way", ["close", "cancel"])
def test_a_policy_that_catches_everything_cannot_hold_a_close(kind: type[BaseException], way: str, caplog: Any) -> None:
    """D13"""
    stream = Swarm(ScriptedModel(["one two three"]), policies=[Stubborn(kind)]).stream(Agent(), "go")
    while not isinstance(next(stream), Delta):
        pass
    with caplog.at_level(logging.WARNING, "swarm"):
        if way == "close":
            stream.close()
        else:
            stream.cancel()
            assert list(stream) == []
    assert "a policy must pass on what ends a run" in caplog.text
    assert list(stream) == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", [Cancelled, BaseException])
@pytest.mark.parametrize("way", ["aclose", "cancel"])
def test_nor_an_async_one(kind: type[BaseException], way: str, caplog: Any) -> None:
    """D13"""

    async def main() -> None:
        stream = AsyncSwarm(ScriptedModel(["one two three"]), policies=[Stubborn(kind)]).stream(Agent(), "go")
        while not isinstance(await anext(stream), Delta):
            pass
        if way == "aclose":
            await stream.aclose()
        else:
            stream.cancel()
        assert [event async for event in stream] == []

    with caplog.at_level(logging.WARNING, "swarm"):
        asyncio.run(main())
    assert "a policy must pass on what ends a run" in caplog.text


class Down:
    """A model that cannot be reached."""

    def complete(self, call: CallModel) -> Any:
        raise OSError("no")

    stream = complete


@pytest.mark.parametrize("is_async", [False, True])
def test_a_policy_that_tries_for_ever_cannot_outlive_the_time_of_the_run(is_async: bool) -> None:
    """D6"""
    policies = [Stubborn(Exception)]
    with pytest.raises(RunTimeout):
        if is_async:
            asyncio.run(AsyncSwarm(Down(), policies=policies).run(Agent(), "go", timeout=0.05))
        else:
            Swarm(Down(), policies=policies).run(Agent(), "go", timeout=0.05)


class Foreign(Exception):
    """Takes attributes, and has none."""


class WithResponse(Foreign):
    response = "its own"


@pytest.mark.parametrize("kind", [Foreign, WithResponse, SwarmError])
def test_the_outer_run_replaces_what_an_inner_one_put_on_an_exception(kind: type[Exception]) -> None:
    """D16: what a caller finds there is about the run that it called."""
    error = kind()
    inner, outer = (Swarm(ScriptedModel([text])).run(Agent(), "go") for text in ("inner", "outer"))
    attach(error, inner)
    attach(error, outer)
    found = {name: value for name, value in vars(error).items() if isinstance(value, Response)}
    assert found == {"swarm_response" if kind is WithResponse else "response": outer}
