"""What a time limit does to what runs then: an async function is cancelled, what opens late is closed, whose limit it was is told."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import AsyncIterator, Coroutine, Generator, Iterator
from contextvars import copy_context
from typing import Any

import pytest

from swarm import Agent, AsyncSwarm, RunInfo, RunTimeout, Swarm, tool
from swarm.drivers.threads import Job
from swarm.effects import CallModel, CallTool, Now, Reply, Sleep
from swarm.errors import ModelTimeout, OutOfTime, StreamBroken, TransientError
from swarm.messages import read_reply
from swarm.models.scripted import ScriptedModel, Turn, call
from tests.modes import Drive, streaming

SHORT = 0.2
LONG = 5.0
PIECE = {"choices": [{"delta": {"content": "one "}}]}
WHOLE = {"choices": [{"message": {"role": "assistant", "content": "in time"}, "finish_reason": "stop"}]}


class Patience:
    """A policy that gives each model call so many seconds, and a context of its own if asked."""

    def __init__(self, seconds: float, context: bool = False) -> None:
        self.seconds = seconds
        self.context = copy_context() if context else None
        self.failures: list[BaseException] = []

    def model(self, call: CallModel) -> Generator[Any, Any, Any]:
        try:
            return (yield call.replace(timeout=self.seconds, context=self.context))
        except Exception as error:
            self.failures.append(error)
            raise


class Blocking:
    """A model of the user's own that takes no heed of `call.timeout`. The gate lets it go on."""

    def __init__(self) -> None:
        self.gate, self.closed = threading.Event(), threading.Event()

    def complete(self, call: CallModel) -> Reply:
        self.gate.wait(LONG)
        return read_reply(WHOLE)

    def stream(self, call: CallModel) -> Iterator[dict[str, Any]]:
        try:
            self.gate.wait(LONG)
            yield PIECE
        finally:
            self.closed.set()


class Async:
    """The same, async."""

    def __init__(self) -> None:
        self.gate, self.closed = threading.Event(), threading.Event()

    async def complete(self, call: CallModel) -> Reply:
        try:
            await asyncio.sleep(LONG)
            return read_reply(WHOLE)
        finally:
            self.closed.set()

    async def stream(self, call: CallModel) -> AsyncIterator[dict[str, Any]]:
        try:
            await asyncio.sleep(LONG)
            yield PIECE
        finally:
            self.closed.set()


@pytest.mark.parametrize("kind", [Blocking, Async])
@pytest.mark.parametrize("timeout", [None, LONG])
@pytest.mark.parametrize("context", [False, True])
def test_the_limit_of_a_model_call(drive: Drive, kind: Any, timeout: float | None, context: bool) -> None:
    """X06: it is the call's own, worth another try, whatever the run's limit, and for any model."""
    model, patience = kind(), Patience(SHORT, context)
    with pytest.raises(ModelTimeout, match=r"^no answer within 0.2 s$") as caught:
        drive(Agent(), "go", model, timeout=timeout, swarm={"policies": [patience]})
    model.gate.set()
    assert isinstance(caught.value, TransientError)
    assert patience.failures == [caught.value]
    assert caught.value.response is not None
    if drive.streams or kind is Async:
        assert model.closed.wait(LONG)


@pytest.mark.parametrize("kind", [Blocking, Async])
def test_the_limit_of_a_run_in_a_model_call_with_a_longer_one(drive: Drive, kind: Any) -> None:
    """X05, X06"""
    model, patience = kind(), Patience(LONG)
    with pytest.raises(RunTimeout, match=r"longer than its 0.2 s") as caught:
        drive(Agent(), "go", model, timeout=SHORT, swarm={"policies": [patience]})
    model.gate.set()
    assert not isinstance(caught.value, TransientError)
    assert isinstance(patience.failures[0], OutOfTime)
    if drive.streams or kind is Async:
        assert model.closed.wait(LONG)


def test_a_model_call_with_a_context_and_no_limit(drive: Drive) -> None:
    """D15"""

    class InContext:
        def model(self, call: CallModel) -> Generator[Any, Any, Any]:
            return (yield call.replace(context=copy_context()))

    assert drive(Agent(), "go", ["done"], swarm={"policies": [InContext()]}).text == "done"


@pytest.mark.parametrize("asynchronous", [False, True])
@streaming
def test_the_limit_of_a_model_call_lasts_to_the_end_of_its_stream(drive: Drive, asynchronous: bool) -> None:
    """X06, D12"""
    closed = threading.Event()

    class Trickle(Blocking):
        def stream(self, call: CallModel) -> Iterator[dict[str, Any]]:
            try:
                while True:
                    yield PIECE
                    time.sleep(SHORT / 5)
            finally:
                closed.set()

    class AsyncTrickle(Async):
        async def stream(self, call: CallModel) -> AsyncIterator[dict[str, Any]]:
            try:
                while True:
                    yield PIECE
                    await asyncio.sleep(SHORT / 5)
            finally:
                closed.set()

    with pytest.raises(StreamBroken, match=r"no answer within 0.4 s") as caught:
        drive(Agent(), "go", AsyncTrickle() if asynchronous else Trickle(), swarm={"policies": [Patience(2 * SHORT)]})
    assert caught.value.partial is not None and caught.value.partial["content"].startswith("one ")
    assert isinstance(caught.value.cause, ModelTimeout)
    assert closed.wait(LONG)


def test_a_stream_is_closed_when_the_time_is_over_between_its_chunks() -> None:
    """X06, D13: whoever reads took the time, so no step is running then."""
    closed = threading.Event()

    class Quick(Blocking):
        def stream(self, call: CallModel) -> Iterator[dict[str, Any]]:
            try:
                while True:
                    yield PIECE
            finally:
                closed.set()

    def read_slowly() -> None:
        for _ in Swarm(Quick()).stream(Agent(), "go", timeout=4 * SHORT):
            time.sleep(2 * SHORT)

    async def read_slowly_too() -> None:
        async for _ in AsyncSwarm(Quick()).stream(Agent(), "go", timeout=4 * SHORT):
            await asyncio.sleep(2 * SHORT)

    for read in (read_slowly, lambda: asyncio.run(read_slowly_too())):
        closed.clear()
        with pytest.raises(RunTimeout):
            read()
        assert closed.wait(LONG)


def test_a_model_that_never_waits_is_limited_between_its_chunks(drive: Drive) -> None:
    """X06"""

    class Endless(Blocking):
        blocking = False

        def stream(self, call: CallModel) -> Iterator[dict[str, Any]]:
            while True:
                yield PIECE

    if drive.streams:
        with pytest.raises(StreamBroken, match="no answer within"):
            drive(Agent(), "go", Endless(), swarm={"policies": [Patience(SHORT)]})


def test_the_limit_a_model_sees_leaves_the_effect_as_it_was(drive: Drive) -> None:
    """X06: a policy that asks again with the same effect gives the same time again."""
    seen: list[float | None] = []

    class Twice:
        def model(self, call: CallModel) -> Generator[Any, Any, Any]:
            call.timeout = 40.0
            yield call
            seen.append(call.timeout)
            return (yield call)

    class Asked(ScriptedModel):
        def complete(self, call: CallModel) -> Reply:
            seen.append(call.timeout)
            return super().complete(call)

        def stream(self, call: CallModel) -> Iterator[dict[str, Any]]:
            seen.append(call.timeout)
            return super().stream(call)

    drive(Agent(), "go", Asked(["one", "two"]), timeout=20, swarm={"policies": [Twice()]})
    assert seen[1] == 40.0
    assert all(value is not None and value <= 20 for value in (seen[0], seen[2]))


class Cancellable:
    """An async function, and what became of it."""

    def __init__(self) -> None:
        self.began, self.cancelled, self.ended = threading.Event(), threading.Event(), threading.Event()

    async def __call__(self) -> str:
        self.began.set()
        try:
            await asyncio.sleep(LONG / 2)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        self.ended.set()
        return "late"

    def was_stopped(self) -> bool:
        """Whether it was cancelled, or given up before it could begin."""
        return (self.cancelled.wait(LONG) or not self.began.is_set()) and not self.ended.is_set()


def test_an_async_tool_that_takes_too_long_is_cancelled(drive: Drive) -> None:
    """X04"""
    work = Cancellable()
    response = drive(Agent(functions=[tool(work, timeout=SHORT, name="work")]), "go", [call("work"), "done"])
    assert response.messages[1]["content"] == "Error: timed out after 0.2 s"
    assert work.was_stopped()


def test_an_async_tool_is_cancelled_when_the_run_takes_too_long(drive: Drive) -> None:
    """X05"""
    work = Cancellable()
    with pytest.raises(RunTimeout):
        drive(Agent(functions=[tool(work, name="work")]), "go", [call("work"), "done"], timeout=SHORT)
    assert work.was_stopped()


@pytest.mark.parametrize("timeout", [None, LONG])
def test_an_async_tool_beside_one_that_exits_is_cancelled(drive: Drive, timeout: float | None) -> None:
    """D16, D50"""
    work = Cancellable()

    def leave() -> str:
        work.began.wait(LONG)
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        turns = [[call("work"), call("leave")]]
        functions = [tool(work, name="work"), leave]
        drive(Agent(functions=functions), "go", turns, timeout=timeout, swarm={"parallel_tools": True})
    assert work.was_stopped()


def test_an_async_tool_in_an_agent_beside_one_that_exits_is_cancelled(drive: Drive) -> None:
    """D16, D50: however deep the batches stand in each other."""
    work = Cancellable()

    def leave() -> str:
        work.began.wait(LONG)
        raise SystemExit(3)

    def other() -> str:
        return "ok"

    inner = Agent(name="Inner", functions=[tool(work, name="work"), other])
    outer = Agent(functions=[inner.as_tool(), leave])
    turns = [[call("inner", {"input": "x"}), call("leave")], [call("work"), call("other")]]
    with pytest.raises(SystemExit):
        drive(outer, "go", turns, swarm={"parallel_tools": True})
    assert work.was_stopped()


def test_a_function_that_returns_a_coroutine_too_late(drive: Drive) -> None:
    """X04: the coroutine is neither run nor left over (a coroutine that nobody awaits is a warning, and so an error here)."""
    gate, made = threading.Event(), threading.Event()
    late: list[Coroutine[Any, Any, str]] = []

    async def then() -> str:
        raise AssertionError("nobody waits for it")

    def slow() -> Any:
        gate.wait(LONG)
        late.append(then())
        made.set()
        return late[0]

    response = drive(Agent(functions=[tool(slow, timeout=SHORT, name="slow")]), "go", [call("slow"), "done"])
    assert response.calls[0].outcome == "timed_out"
    gate.set()
    assert made.wait(LONG)
    for _ in range(500):
        if inspect.getcoroutinestate(late[0]) == inspect.CORO_CLOSED:
            return
        time.sleep(0.01)
    raise AssertionError("the coroutine is still open")


@pytest.mark.parametrize("asynchronous", [False, True])
@streaming
def test_a_stream_that_opens_too_late_is_closed(drive: Drive, asynchronous: bool) -> None:
    """X06, D13"""
    gate, closed = threading.Event(), threading.Event()

    class Chunks(Iterator[dict[str, Any]]):
        def __next__(self) -> dict[str, Any]:
            return PIECE

        def close(self) -> None:
            closed.set()
            raise OSError("it was closed late")

    class Late(Blocking):
        def stream(self, call: CallModel) -> Iterator[dict[str, Any]]:
            gate.wait(LONG)
            return Chunks()

    class AsyncLate(Async):
        async def stream(self, call: CallModel) -> Iterator[dict[str, Any]]:  # type: ignore[override]
            try:
                await asyncio.sleep(LONG)
            finally:
                closed.set()
            return Chunks()

    with pytest.raises(RunTimeout):
        drive(Agent(), "go", AsyncLate() if asynchronous else Late(), timeout=SHORT)
    gate.set()
    assert closed.wait(LONG)


def test_the_time_limit_of_a_run_inside_a_function_is_that_calls_failure(drive: Drive) -> None:
    """D41"""

    def wait_long() -> str:
        time.sleep(SHORT * 4)
        return "late"

    inner = Agent(functions=[wait_long])

    def ask() -> str:
        Swarm(ScriptedModel([call("wait_long"), "never said"])).run(inner, "go", timeout=SHORT)
        raise AssertionError("it took longer")

    async def ask_async() -> str:
        await AsyncSwarm(ScriptedModel([call("wait_long"), "never said"])).run(inner, "go", timeout=SHORT)
        raise AssertionError("it took longer")

    response = drive(Agent(functions=[ask, ask_async]), "go", [call("ask"), call("ask_async"), "done"], timeout=LONG)
    assert response.text == "done"
    texts = [m["content"] for m in response.messages if m["role"] == "tool"]
    assert texts == ["Error: RunTimeout: the run took longer than its 0.2 s; what was done is on .response"] * 2


@pytest.mark.parametrize("parallel", [False, True])
def test_what_leaves_a_run_is_a_plain_run_timeout(drive: Drive, parallel: bool) -> None:
    """X05"""
    gate = threading.Event()

    def wait() -> str:
        gate.wait(LONG)
        return "late"

    with pytest.raises(RunTimeout) as caught:
        drive(Agent(functions=[wait]), "go", [[call("wait"), call("wait")]], timeout=5 * SHORT, swarm={"parallel_tools": parallel})
    gate.set()
    assert type(caught.value) is RunTimeout
    assert caught.value.__cause__ is None and caught.value.__suppress_context__
    assert caught.value.response is not None
    assert [m["role"] for m in caught.value.response.messages] == ["assistant", "tool", "tool"]


def test_a_tool_that_still_runs_sees_that_the_time_is_over(drive: Drive) -> None:
    """D18, X05"""
    seen: list[bool] = []
    checked = threading.Event()

    def work(run: RunInfo) -> str:
        seen.append(run.cancelled)
        for _ in range(500):
            if run.cancelled:
                break
            time.sleep(0.01)
        seen.append(run.cancelled)
        checked.set()
        return "late"

    with pytest.raises(RunTimeout):
        drive(Agent(functions=[work]), "go", [call("work"), "done"], timeout=SHORT)
    assert checked.wait(2 * LONG)
    assert seen[-1] is True


def test_a_run_whose_time_is_over_is_not_a_cancelled_one(drive: Drive) -> None:
    """X05: a policy that tidies up afterwards meets the same time limit again, and the run does not end as if someone had closed it."""
    met: list[type[BaseException]] = []

    class Tidy:
        def tool(self, call: CallTool) -> Generator[Any, Any, Any]:
            try:
                return (yield call)
            except OutOfTime:
                yield Now()
                try:
                    yield Sleep(SHORT)
                except BaseException as error:
                    met.append(type(error))
                raise

    work = Cancellable()
    with pytest.raises(RunTimeout):
        drive(Agent(functions=[tool(work, name="work")]), "go", [call("work")], timeout=SHORT, swarm={"policies": [Tidy()]})
    assert met == [OutOfTime]


def test_a_sleep_ends_with_the_run(drive: Drive) -> None:
    """X05"""

    class Wait:
        def model(self, call: CallModel) -> Generator[Any, Any, Any]:
            yield Sleep(LONG)
            return (yield call)

    with pytest.raises(RunTimeout):
        drive(Agent(), "go", ["never asked"], timeout=SHORT, swarm={"policies": [Wait()]})
    assert drive.requests == []


def test_no_limit_is_too_long(drive: Drive) -> None:
    def ping() -> str:
        return "pong"

    agent = Agent(functions=[tool(ping, timeout=1e12)])
    assert drive(agent, "go", [call("ping"), "done"], timeout=float("inf")).text == "done"


def test_a_failure_before_any_text_is_its_own_cause_in_no_mode(drive: Drive) -> None:
    """D12, D31"""
    failure = ModelTimeout("slow today")
    with pytest.raises(ModelTimeout) as caught:
        drive(Agent(), "go", ScriptedModel([Turn(chunks=[failure]) if drive.streams else failure]))
    assert caught.value is failure
    assert failure.__cause__ is None


def test_a_job_given_up_before_it_can_be_stopped_is_stopped_at_once() -> None:
    """D51"""
    stops: list[str] = []
    job = Job(lambda: None)
    job.stopped_by(lambda: stops.append("never"))
    job.stopped_by(None)
    job.give_up()
    assert stops == []
    job.stopped_by(lambda: stops.append("late"))
    assert stops == ["late"]
