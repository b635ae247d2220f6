"""What an agent was asked and what it answered, one turn at a time: as a tape holds it, or made anew from what a conversation holds.

A session or a result of an eval keeps what was said, not the instructions and tools of the moment. They are made by the library itself,
from the agents as they are now: each turn is asked for again, of a model that only looks at the request. No tool runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core import Swarm
from ...effects import CallModel, Message, Reply
from ...errors import SwarmError
from ...types import Agent


@dataclass(slots=True)
class Turn:
    """One answer of a model with what it was asked.

    Attributes:
        agent: name of the agent that spoke, or None if that is not known.
        messages: what the model was sent, the instructions first.
        reply: the assistant message.
        tools: what it was offered.
        settings: of the rest of the request what training data has a place for.
    """

    agent: str | None
    messages: list[Message]
    reply: Message
    tools: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    settings: dict[str, Any] = field(default_factory=dict[str, Any])


def turn_of(agent: str | None, request: Mapping[str, Any], reply: Message) -> Turn:
    """The turn that a request and the answer to it are."""
    settings = {name: request[name] for name in ("parallel_tool_calls",) if name in request}
    return Turn(agent, list(request.get("messages", ())), reply, list(request.get("tools", ())), settings)


class Unknown(SwarmError):
    """What was asked in a turn cannot be told. The text says why."""


def asked_again(
    messages: Sequence[Message], agents: Mapping[str, Agent], context: dict[str, Any] | None, first: int = 0
) -> Iterator[Turn | Unknown]:
    """The turns of a conversation, each with the request that its agent would make now.

    Args:
        messages: the conversation, with `sender`.
        agents: by name.
        context: the context variables, for instructions and tools that depend on them; None if they are not known.
        first: where the messages begin that the agents said; those before were given.

    Returns:
        a turn for each assistant message; or why there is none.
    """
    for at in range(first, len(messages)):
        message = messages[at]
        if message.get("role") != "assistant" or "sender" not in message:
            continue
        try:
            yield _turn(messages[:at], message, agents, context)
        except Unknown as reason:
            yield reason


def _turn(before: Sequence[Message], reply: Message, agents: Mapping[str, Agent], context: dict[str, Any] | None) -> Turn:
    name = reply["sender"]
    if name not in agents:
        raise Unknown(f"the agent {name!r} is not among those that were given")
    agent = agents[name].copy(client=None)
    if context is None and callable(vars(agent)["instructions"]):
        raise Unknown(f"the instructions of {name!r} are a function, and with which context variables it was asked is not known")
    looking = _Looking(reply)
    try:
        Swarm(looking).run(agent, list(before), context or {}, execute_tools=False, max_turns=1)
    except Exception as error:
        raise Unknown(f"the request of {name!r} cannot be made again: {type(error).__name__}: {error}") from None
    return turn_of(name, looking.request, reply)


class _Looking:
    """A model that keeps what it is asked, and answers what was answered then."""

    blocking = False

    def __init__(self, reply: Message) -> None:
        self.request: dict[str, Any] = {}
        self._reply = reply

    def complete(self, call: CallModel) -> Reply:
        self.request = self.request or call.request
        return Reply({"role": "assistant", "content": self._reply.get("content") or "", "tool_calls": None}, finish_reason="stop")

    def stream(self, call: CallModel) -> Any:
        """Never asked for: the runs here do not stream."""
        return iter(())
