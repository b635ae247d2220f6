"""Agents with scripts, for `swarm mcp`; importing it prints, as careless modules do."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from swarm import Agent, tool
from swarm.effects import CallModel, Reply
from swarm.errors import ServerError
from swarm.models.scripted import ScriptedModel, call

print("printed at import")
os.system("echo printed by a child")


class Clerk:
    """A model that does what the last message says: one word is a function to call, else it repeats it.

    Args:
        functions: the words.
    """

    def __init__(self, *functions: str) -> None:
        self.functions = functions

    def _script(self, effect: CallModel) -> ScriptedModel:
        messages = effect.request["messages"]
        text, asked = str(messages[-1]["content"]), messages[-1]["role"] == "user"
        if asked and text == "break":
            return ScriptedModel([ServerError("503: overloaded")])
        users = sum(message["role"] == "user" for message in messages)
        return ScriptedModel([call(text) if asked and text in self.functions else f"{text} ({users})"])

    def complete(self, effect: CallModel) -> Reply:
        return self._script(effect).complete(effect)

    def stream(self, effect: CallModel) -> Any:
        return self._script(effect).stream(effect)


def to_refunds() -> Agent:
    """Hand over to refunds."""
    return refunds


def look_up() -> str:
    """Look something up."""
    print("printed by a tool")
    return f"read {sys.stdin.read()!r}"


async def wait() -> str:
    """Wait for a long time."""
    Path("waiting").touch()
    try:
        await asyncio.sleep(60)
    finally:
        Path("left").touch()
    return "waited"


@tool(approval=True)
def cancel() -> str:
    """Cancel the order."""
    raise AssertionError("nobody agreed")


def crash() -> str:
    """Fail."""
    raise ValueError("a secret")


refunds = Agent(
    name="Refunds", description="Gives money back.", functions=[look_up, cancel, wait], client=Clerk("look_up", "cancel", "wait")
)
triage = Agent(name="Triage", functions=[to_refunds, crash], client=Clerk("to_refunds", "crash"))
