"""What servers share that offer agents to clients of a protocol: a conversation that goes on message by message, and what is told of it."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from ..core import AsyncSwarm
from ..effects import Message
from ..events import Event, HandedOff, ToolStarted, TurnStarted
from ..records import Refuse, Response
from ..tools import result_text
from ..types import Agent

_CONVERSATIONS = 1_000
"""So many are kept; the one that was silent longest is forgotten first."""
_NOBODY = "A person would have to agree to this call, and nobody can be asked here. Do without it, and say so."


class ServedConversation:
    """What was said so far, and who speaks.

    Args:
        agent: who answers next.
        context: the context variables.

    Attributes:
        agent, context: as given, and as each run leaves them.
        messages: the whole history.
        turn: held while a message is answered, so that two at once are answered one after the other.
    """

    def __init__(self, agent: Agent, context: dict[str, Any]) -> None:
        self.agent = agent
        self.messages: list[Message] = []
        self.context = context
        self.turn = asyncio.Lock()

    async def answer(self, swarm: AsyncSwarm, message: Message, options: dict[str, Any], tell: Callable[[str], Awaitable[Any]]) -> Response:
        """Let the agents answer a message. Calls that need an approval are refused. What was done stays known, whatever ends the run.

        Args:
            swarm: runs them.
            message: what the client says.
            options: keyword arguments for the run.
            tell: gets what a watching person is told.

        Raises:
            Exception: what ended a run.
        """
        said = [*self.messages, message]
        stream = swarm.stream(self.agent, said, self.context, **options)
        try:
            while True:
                async with stream:
                    async for event in stream:
                        if (text := _progress(event)) is not None:
                            await tell(text)
                response = stream.response
                assert response is not None  # it was read to its end
                if response.stop_reason != "approval":
                    return response
                refused = {call.id: Refuse(_NOBODY) for call in response.pending}
                stream = swarm.resume_stream(response.state(), refused, **options)
        finally:
            if (done := stream.response) is not None:
                self.messages = [*said, *done.messages]
                self.agent = done.agent or self.agent
                self.context = done.context_variables


_Kept = TypeVar("_Kept", bound=ServedConversation)


def keep(conversations: OrderedDict[str, _Kept], name: str, conversation: _Kept) -> None:
    """Put a conversation among those that are kept, as the last to be forgotten."""
    conversations[name] = conversation
    conversations.move_to_end(name)
    if len(conversations) > _CONVERSATIONS:
        conversations.popitem(last=False)


def answer_text(response: Response) -> str:
    """What a run came to, as text: of a function that ended it, its value."""
    return result_text(response.output) if response.stop_reason == "stopped" else response.text or ""


def _progress(event: Event) -> str | None:
    """What a watching person is told: who does what, but not with what."""
    if isinstance(event, TurnStarted):
        return f"{event.agent}: turn {event.turn}"
    if isinstance(event, ToolStarted):
        return f"{event.agent} calls {event.name}"
    if isinstance(event, HandedOff):
        return f"{event.agent} hands over to {event.to}"
    return None
