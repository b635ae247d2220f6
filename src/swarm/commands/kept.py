"""A conversation that is kept in a session, so that it goes on when the command is called again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..ext.sessions import StoredSession
from ..types import Agent, Response
from .conversation import Conversation
from .failure import Failure


class KeptConversation(Conversation):
    """A conversation whose messages, active agent and context variables are in a session.

    Args:
        client, agent, options, known, context_variables, swarm: as for a Conversation.
        session: where it is kept.

    Raises:
        Failure: it stands with an agent that is not known.
        SessionError: it cannot be read.
    """

    def __init__(
        self,
        client: Any,
        agent: Agent,
        session: StoredSession,
        options: dict[str, Any],
        known: Iterable[Agent],
        context_variables: dict[str, Any] | None = None,
        swarm: dict[str, Any] | None = None,
    ) -> None:
        self._is_new = True
        super().__init__(client, agent, context_variables, {**options, "session": session}, known, swarm)
        self._is_new = False
        self._session = session
        self._read()

    def _read(self) -> None:
        """Take over what the session holds."""
        kept = next(self._session.store.export([self._session.id]), None)
        if kept is not None:
            self.messages, self.context, self.waits = kept["messages"], kept["context_variables"], kept["status"] == "waiting"
            self.agent = self._named(kept["agent"])

    def _keep(self, said: list[dict[str, Any]], response: Response | None) -> None:
        super()._keep(said, response)
        self._read()

    def reset(self) -> None:
        """Not while it is kept, except at the beginning.

        Raises:
            Failure: always later.
        """
        if not self._is_new:
            raise Failure("this conversation is kept in a session: leave, and begin another with --session")
        super().reset()

    def load(self, data: Any) -> None:
        """Not while it is kept.

        Raises:
            Failure: always.
        """
        raise Failure("this conversation is kept in a session: leave, and load the file in one that is not")

    def _new(self, said: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        return said[len(self.messages) :], None if self.messages else self.context
