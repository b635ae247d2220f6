"""Time limits of a tool, a model call and a run."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from swarm import Agent, Limits, RunTimeout, Swarm, tool
from swarm.effects import CallModel, Reply
from swarm.errors import ConnectionFailed, StreamBroken, TransientError
from swarm.models.scripted import ScriptedModel, Turn, call
from tests.modes import Drive, streaming

SHORT = 0.2
LONG = 5.0


def wait_blocking() -> str:
    time.sleep(LONG / 10)
    return "late"


async def wait_async() -> str:
    await asyncio.sleep(LONG)
    return "late"


@pytest.mark.parametrize("function", [wait_blocking, wait_async])
def test_a_tool_that_takes_too_long(drive: Drive, function: Any) -> None:
    """X04"""
    agent = Agent(functions=[tool(function, timeout=SHORT, name="wait")])
    response = drive(agent, "go", [call("wait"), "done"])
    assert response.messages[1]["content"] == "Error: timed out after 0.2 s"
    assert response.calls[0].outcome == "timed_out"
    assert response.text == "done"


def test_a_tool_in_time_keeps_its_result_and_context(drive: Drive) -> None:
    @tool(timeout=LONG)
    def work(context_variables: dict[str, Any]) -> str:
        context_variables["seen"] = True
        return "in time"

    response = drive(Agent(functions=[work]), "go", [call("work"), "done"])
    assert response.messages[1]["content"] == "in time"
    assert response.context_variables == {"seen": True}


@pytest.mark.parametrize("function", [wait_blocking, wait_async])
def test_a_run_that_takes_too_long_in_a_tool(drive: Drive, function: Any) -> None:
    """X05, D6"""
    agent = Agent(functions=[tool(function, name="wait")])
    with pytest.raises(RunTimeout) as caught:
        drive(agent, "go", [call("wait"), "done"], timeout=SHORT)
    assert isinstance(caught.value, TimeoutError)
    assert not isinstance(caught.value, TransientError)
    response = caught.value.response
    assert response is not None
    assert [m["role"] for m in response.messages] == ["assistant", "tool"]
    assert response.calls[0].outcome == "unknown"


class Waiting:
    """A blocking model that never answers within the time of a test, whole or in the middle of a stream."""

    def __init__(self) -> None:
        self.closed = threading.Event()

    def complete(self, call: CallModel) -> Reply:
        time.sleep(LONG / 10)
        raise AssertionError("too late")

    def stream(self, call: CallModel) -> Iterator[dict[str, Any]]:
        try:
            yield {"choices": [{"delta": {"content": "one "}}]}
            time.sleep(LONG / 10)
            yield {"choices": [{"delta": {"content": "late"}}]}
        finally:
            self.closed.set()


def test_a_run_that_takes_too_long_in_the_model(drive: Drive) -> None:
    """X05, X06"""
    model = Waiting()
    with pytest.raises(RunTimeout):
        drive(Agent(), "go", model, timeout=SHORT)
    if drive.streams:
        assert model.closed.wait(LONG)


def test_the_time_left_reaches_the_model(drive: Drive) -> None:
    """X06"""
    seen: list[float | None] = []

    class Asked(ScriptedModel):
        def complete(self, call: CallModel) -> Reply:
            seen.append(call.timeout)
            return super().complete(call)

        def stream(self, call: CallModel) -> Iterator[dict[str, Any]]:
            seen.append(call.timeout)
            return super().stream(call)

    drive(Agent(), "go", Asked(["done"]))
    drive(Agent(), "go", Asked(["done"]), timeout=60)
    assert seen[0] is None
    assert seen[1] is not None and 50 < seen[1] <= 60


@pytest.mark.parametrize("timeout", [0, -1])
def test_a_time_limit_must_be_above_zero(drive: Drive, timeout: float) -> None:
    """X05"""
    with pytest.raises(ValueError, match="timeout"):
        drive(Agent(), "go", ["done"], timeout=timeout)


def test_a_run_in_time_is_not_disturbed(drive: Drive) -> None:
    def ping() -> str:
        return "pong"

    response = drive(Agent(functions=[ping]), "go", [call("ping"), "done"], timeout=60, swarm={"parallel_tools": True})
    assert response.text == "done"


def test_a_soft_limit_of_seconds_lets_what_runs_finish(drive: Drive) -> None:
    """D6"""

    def slow() -> str:
        time.sleep(SHORT)
        return "finished"

    response = drive(Agent(functions=[slow]), "go", [call("slow"), "never asked"], limits=Limits(seconds=SHORT / 2))
    assert response.stop_reason == "limit:seconds"
    assert response.messages[-1]["content"] == "finished"


@streaming
def test_a_stream_that_breaks_after_text_is_not_transient(drive: Drive) -> None:
    """S15, D12"""
    model = ScriptedModel([Turn(chunks=["Hel", ConnectionFailed("cut")])])
    with pytest.raises(StreamBroken) as caught:
        drive(Agent(), "go", model)
    assert not isinstance(caught.value, TransientError)
    assert caught.value.partial is not None and caught.value.partial["content"] == "Hel"
    assert caught.value.response is not None


@streaming
def test_a_stream_that_breaks_before_any_text_is_transient(drive: Drive) -> None:
    """D12"""
    with pytest.raises(ConnectionFailed):
        drive(Agent(), "go", ScriptedModel([Turn(chunks=[ConnectionFailed("cut")])]))


def test_a_late_tool_does_not_hold_the_exit() -> None:
    """D14"""
    import subprocess
    import sys
    from pathlib import Path

    code = """
import time
from swarm import Agent, Swarm, tool
from swarm.models.scripted import ScriptedModel, call
@tool(timeout=0.05)
def wait(): time.sleep(600)
print(Swarm(ScriptedModel([call("wait"), "done"])).run(Agent(functions=[wait]), "go").text)
"""
    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", code], cwd=root / "src", timeout=30, capture_output=True, text=True, check=True)
    assert run.stdout == "done\n"


def test_the_run_ends_by_itself_when_nobody_limits_it() -> None:
    assert Swarm(ScriptedModel(["done"])).run(Agent(), "go").stop_reason == "complete"
