"""The conversations that clients hold, by context id: in this process, or in a session store."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from ...async_streams import AsyncStream
from ...core import AsyncSwarm
from ...effects import Message
from ...events import Event
from ...records import Response
from ...types import Agent
from ..serving import refusals

if TYPE_CHECKING:
    from ..sessions import SessionStore, StoredSession

_MOST = 1_000
"""So many are kept; the one that was silent longest is forgotten first."""


class Conversations:
    """All of them.

    Args:
        agent, swarm, context, store, options: as for `A2AServer`.
    """

    def __init__(
        self, agent: Agent, swarm: AsyncSwarm, context: dict[str, Any], store: SessionStore | None, options: dict[str, Any]
    ) -> None:
        self.agent = agent
        self.swarm = swarm
        self.context = context
        self.options = options
        self._store = store
        self._kept: OrderedDict[str, Conversation] = OrderedDict()

    def of(self, name: str) -> Conversation:
        """The conversation of a context, after which it is the last to be forgotten."""
        found = self._kept.get(name)
        if found is None:
            found = self._kept[name] = Conversation(self) if self._store is None else StoredConversation(self, self._store, name)
        self._kept.move_to_end(name)
        if len(self._kept) > _MOST:
            self._kept.popitem(last=False)
        return found


class Conversation:
    """What was said so far, and who speaks.

    Attributes:
        agent: who answers next, as far as is known.
        turn: two messages at once are answered one after the other.
    """

    def __init__(self, all: Conversations) -> None:
        self._all = all
        self.agent = all.agent
        self.turn = asyncio.Lock()
        self._messages: list[Message] = []
        self._said: list[Message] = []
        self._context = all.context

    async def begin(self, message: Message) -> AsyncStream[Event]:
        """Answer a message."""
        self._said = [*self._messages, message]
        return self._all.swarm.stream(self.agent, self._said, self._context, **self._all.options)

    def go_on(self, response: Response) -> AsyncStream[Event]:
        """Refuse the calls for which a run waits."""
        return self._all.swarm.resume_stream(response.state(), refusals(response), **self._all.options)

    def note(self, response: Response) -> None:
        """What a run came to, also one that failed or was cancelled."""
        self._messages = [*self._said, *response.messages]
        self._context = response.context_variables
        self.agent = response.agent or self.agent


class StoredConversation(Conversation):
    """One whose messages, agent and context variables are in a session."""

    def __init__(self, all: Conversations, store: SessionStore, name: str) -> None:
        super().__init__(all)
        self._store = store
        self._id = f"a2a/{name}"  # so that no client goes on with a session of another kind

    def _session(self) -> StoredSession:
        return self._store.session(self._id, tags=["a2a"])

    async def begin(self, message: Message) -> AsyncStream[Event]:
        session = self._session()
        is_new = await asyncio.to_thread(self._store.info, self._id) is None
        context = self._all.context if is_new else None  # those that were kept may have changed since
        return self._all.swarm.stream(self._all.agent, [message], context, session=session, **self._all.options)

    def go_on(self, response: Response) -> AsyncStream[Event]:
        return self._all.swarm.stream(self._all.agent, [], session=self._session(), approvals=refusals(response), **self._all.options)

    def note(self, response: Response) -> None:
        self.agent = response.agent or self.agent
