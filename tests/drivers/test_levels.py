"""Sync runs inside async functions, to any depth: what a blocked loop waits for never needs that loop."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import swarm
from swarm import Agent, Swarm, tool
from swarm.models.scripted import ScriptedModel, call

SRC = Path(swarm.__file__).parent.parent
TEXT = {"choices": [{"index": 0, "delta": {"content": "a"}}]}


def within_reach(run: Callable[[], Any]) -> Any:
    """What a function returns; a deadlock fails instead of holding the tests."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(run()), daemon=True)
    thread.start()
    thread.join(20)
    assert found, "a deadlock, or an exception"
    return found[0]


def answer(functions: list[Callable[..., Any]], calls: Any, **options: Any) -> str:
    """What the first call of a run came to."""
    timeout = options.pop("timeout", None)
    response = Swarm(ScriptedModel([calls, "done"]), **options).run(Agent(functions=functions), "go", timeout=timeout)
    return next(message["content"] for message in response.messages if message["role"] == "tool")


async def bottom() -> str:
    return "bottom"


@tool(timeout=10)
async def limited() -> str:
    return "bottom"


def nested(depth: int) -> Callable[[], Awaitable[str]]:
    async def deeper() -> str:
        return answer([nested(depth - 1)], call("deeper")) if depth else "bottom"

    return deeper


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_sync_run_in_an_async_tool_in_another(depth: int) -> None:
    """D51"""
    assert within_reach(lambda: answer([nested(depth)], call("deeper"))) == "bottom"


INNER: dict[str, Callable[[], str]] = {
    "side by side": lambda: answer([bottom], [call("bottom"), call("bottom")], parallel_tools=True),
    "with a time limit": lambda: answer([bottom], call("bottom"), timeout=10),
    "with a tool's time limit": lambda: answer([limited], call("limited")),
}


@pytest.mark.parametrize("kind", INNER)
@pytest.mark.parametrize("outer", [{}, {"parallel_tools": True}, {"timeout": 10}])
def test_an_inner_run_that_uses_workers(kind: str, outer: dict[str, Any]) -> None:
    """D50, D51"""

    async def inner() -> str:
        return INNER[kind]()

    assert within_reach(lambda: answer([inner], [call("inner"), call("inner")], **outer)) == "bottom"


class AsyncClient:
    """A client whose stream is an async generator."""

    class chat:
        class completions:
            @staticmethod
            async def create(**request: Any) -> AsyncIterator[dict[str, Any]]:
                async def chunks() -> AsyncIterator[dict[str, Any]]:
                    for _ in range(3):
                        yield TEXT

                return chunks()


def test_an_async_stream_in_a_run_in_an_async_tool_comes_whole() -> None:
    """D51: every step of it runs on the same loop."""

    async def inner() -> str:
        stream = Swarm(AsyncClient()).stream(Agent(), "go")
        list(stream)
        return stream.response.text if stream.response is not None else ""

    assert within_reach(lambda: answer([inner], call("inner"))) == "aaa"


ABANDONED = """
from swarm import Agent, Swarm

async def chunks():
    while True:
        yield {"choices": [{"index": 0, "delta": {"content": "a"}}]}

class Client:
    class chat:
        class completions:
            @staticmethod
            async def create(**request):
                return chunks()

stream = Swarm(Client()).stream(Agent(), "hi", timeout=TIMEOUT)
next(stream)
next(stream)
if IN_CYCLE:
    loop = [stream]
    loop.append(loop)
print("over")
"""


@pytest.mark.parametrize("timeout", [None, 60])
@pytest.mark.parametrize("in_cycle", [False, True])
def test_a_stream_that_a_script_leaves_open_does_not_hold_its_end(timeout: int | None, in_cycle: bool) -> None:
    """D14: the loop's thread stands still by then, so nothing may be waited for."""
    code = ABANDONED.replace("TIMEOUT", repr(timeout)).replace("IN_CYCLE", repr(in_cycle))
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, cwd=SRC)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "over\n", "")
