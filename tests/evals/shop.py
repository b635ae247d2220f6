"""A shop whose model goes by what was said, so that its conversations may be played in any order and side by side."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

from swarm import Agent, Result
from swarm.effects import CallModel, Reply
from swarm.evals import Case
from swarm.testing import call

_USAGE = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}


class Rules:
    """A model of rules: the last user message names what to do, `call look_up {"item": 7}` or any text to be said.

    Several, divided by ` / `, are done one after the other, each in a turn of its own.

    Attributes:
        requests: all that came.
        most_at_once: how many were being answered at the same time.
    """

    blocking = False

    def __init__(self, pause: float = 0.0) -> None:
        self.pause = pause
        self.requests: list[dict[str, Any]] = []
        self.now = self.most_at_once = 0
        self._lock = threading.Lock()

    async def complete(self, call: CallModel) -> Reply:
        """Do what the message says next."""
        with self._lock:
            self.requests.append(call.request)
            self.now += 1
            self.most_at_once = max(self.most_at_once, self.now)
        await asyncio.sleep(self.pause)
        self.now -= 1
        return self.answer(call.request["messages"])

    def answer(self, messages: list[dict[str, Any]]) -> Reply:
        """The reply to a conversation."""
        last = max(at for at, message in enumerate(messages) if message["role"] == "user")
        steps = messages[last]["content"].split(" / ")
        step = steps[min(sum(message["role"] == "assistant" for message in messages[last:]), len(steps) - 1)]
        if step == "fail":
            raise ValueError("the model is out of order")
        if not step.startswith("call "):
            return Reply({"role": "assistant", "content": step}, _USAGE, "stop")
        _, name, arguments = (*step.split(" ", 2), "{}")[:3]
        calls = [call(name, arguments, id=f"call_{len(messages)}")]
        return Reply({"role": "assistant", "content": None, "tool_calls": calls}, _USAGE, "tool_calls")

    def stream(self, call: CallModel) -> Iterator[dict[str, Any]]:
        """Nobody streams an eval."""
        raise NotImplementedError


def to_refunds() -> Agent:
    """Hand over to refunds."""
    return refunds


def to_triage() -> Agent:
    """Hand over to triage."""
    return triage


def look_up(item: int) -> str:
    """Look up an item."""
    return f"item {item}"


def refund(item: int, context_variables: dict[str, Any]) -> Result:
    """Refund an item."""
    context_variables.setdefault("orders", {})[str(item)] = "refunded"
    return Result(value="done", context_variables={"refunds": context_variables.get("refunds", 0) + 1})


def fails() -> str:
    """Fail."""
    raise ValueError("no luck")


def leaves() -> str:
    """End the process."""
    raise SystemExit(3)


triage = Agent(name="Triage", functions=[to_refunds, look_up, leaves])
refunds = Agent(name="Refunds", functions=[refund, look_up, fails, to_triage])


def case(said: str, id: str = "", **fields: Any) -> Case:
    """A case in which the user says one thing."""
    return Case(id=id or said, conversation=[{"role": "user", "content": said}], **fields)
