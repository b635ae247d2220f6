"""A person's conversation with agents, kept over many runs: history, active agent, context variables. It prints nothing."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias, cast

from ..attachments import user_message
from ..context import copied
from ..core import Swarm
from ..errors import Cancelled
from ..events import Event
from ..history import repaired
from ..policies import Approval
from ..types import Agent, Pending, Response
from .failure import Failure
from .target import reachable

Show: TypeAlias = Callable[[Event], None]
Decide: TypeAlias = Callable[[Pending, Agent], Any]


class Conversation:
    """What was said so far, and who is active.

    Args:
        client: who is asked for agents that have no client of their own; None is what the environment names.
        agent: who begins.
        context_variables: what the conversation begins with; copied.
        options: further arguments of every run: `model_override`, `max_turns`.
        known: more agents that a saved conversation may name.
        swarm: further arguments of the Swarm: policies, limits.

    Attributes:
        agent: who is active now.
        messages: the whole history.
        context: the context variables as they are now.
        attached: content parts that go with the next message.
        waits: whether the conversation stands at calls that a person has to decide about.
    """

    waits = False

    def __init__(
        self,
        client: Any,
        agent: Agent,
        context_variables: dict[str, Any] | None = None,
        options: dict[str, Any] | None = None,
        known: Iterable[Agent] = (),
        swarm: dict[str, Any] | None = None,
    ) -> None:
        given: dict[str, Any] = {"policies": (), **(swarm or {})}
        given["policies"] = [Approval(self._ask), *given["policies"]]
        self._swarm = Swarm(client, **given)
        self._first = agent
        self._first_context = context_variables or {}
        self._options = options or {}
        self._met = [agent, *known]
        self.reset()

    @property
    def client(self) -> Any:
        """Who is asked for the first agent.

        Raises:
            ConfigError: nobody is named, neither here nor by the environment or the agent.
        """
        return self._swarm.client if self._first.client is None else self._first.client

    def reset(self) -> None:
        """Begin anew, with the first agent."""
        self.agent = self._first
        self.messages: list[dict[str, Any]] = []
        self.context: dict[str, Any] = copied(self._first_context)
        self.attached: list[dict[str, Any]] = []

    def reply(self, text: str | None, show: Show, decide: Decide) -> Response | None:
        """Say something, or with None go on with what waits for a decision, and let the agents work until they have answered.

        Ctrl-C ends the reply. Whatever was done until then, or until an error, is kept; if nothing was, what was said is forgotten too,
        so that it can be said again.

        Args:
            text: what the person says, or None.
            show: called with every event.
            decide: asked about each call that needs a person's decision, see `swarm.policies.Approval`.

        Returns:
            what the run came to, or None if it was stopped before it began.

        Raises:
            Exception: whatever ended a run.
        """
        said = self.messages if text is None else [*self.messages, user_message(text, *self.attached)]
        self._decide = decide
        try:
            response = self._listen(said, show)
        except Exception as error:
            self._keep(said, getattr(error, "response", None))
            raise
        self._keep(said, response)
        return response

    def _ask(self, call: Pending, agent: Agent) -> Any:
        return self._decide(call, agent)

    def _listen(self, messages: list[dict[str, Any]], show: Show) -> Response | None:
        said, context = self._new(messages)
        stream = self._swarm.stream(self.agent, said, context, **self._options)
        with suppress(Cancelled), stream, _ctrl_c_cancels() as shielded:
            shown = shielded(show)
            for event in stream:
                shown(event)
        return stream.response

    def _new(self, said: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        """What a run is given: messages and context variables."""
        return said, self.context

    def _keep(self, said: list[dict[str, Any]], response: Response | None) -> None:
        if response is None or not response.messages:
            return
        self.messages = [*said, *response.messages]
        self.attached = []
        self.agent = response.agent or self.agent
        self.context = response.context_variables
        self._met.append(self.agent)

    def saved(self) -> dict[str, Any]:
        """The conversation as JSON: the agent's name, messages, context variables."""
        return {"agent": self.agent.name, "messages": self.messages, "context_variables": self.context}

    def load(self, data: Any) -> None:
        """Go on with a saved conversation. Agents are looked up by name among those that this one has met or can reach.

        Args:
            data: what `saved` gave; `Response.state()` will do too.

        Raises:
            Failure: it is no saved conversation, or names an agent that is not known.
            HistoryError: messages that cannot be sent.
        """
        fields = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
        for name, kind in (("agent", str), ("messages", list), ("context_variables", dict)):
            if not isinstance(fields.get(name), kind):
                raise Failure(f"it holds no saved conversation: {name!r} should be a {kind.__name__}")
        agent = self._named(fields["agent"])
        self.messages = repaired(fields["messages"], allow_open_tail=True)
        self.agent, self.context = agent, fields["context_variables"]

    def _named(self, name: str) -> Agent:
        known = reachable(self._met)
        found = [agent for agent in known if agent.name == name]
        if not found:
            raise Failure(f"no agent is called {name!r}; known are {', '.join(sorted({agent.name for agent in known}))}")
        if len(found) > 1:
            raise Failure(f"{len(found)} agents are called {name!r}, so it is not clear which is meant; rename one")
        return found[0]


@contextmanager
def _ctrl_c_cancels() -> Generator[Callable[[Show], Show]]:
    """While a run goes on, Ctrl-C is thrown into it as its own way to end, so that the part of a reply that has arrived is kept.

    Gives a wrapper for what shows events: a Ctrl-C waits until it is done, since a terminal that is cut off in the middle of a line
    may stay silent.
    """
    showing = asked = False

    def cancel(number: int, frame: Any) -> None:
        nonlocal asked
        asked = True
        if not showing:
            raise Cancelled

    def shielded(show: Show) -> Show:
        def shown(event: Event) -> None:
            nonlocal showing
            showing = True
            try:
                show(event)
            finally:
                showing = False
            if asked:
                raise Cancelled

        return shown

    before = signal.signal(signal.SIGINT, cancel)
    try:
        yield shielded
    finally:
        signal.signal(signal.SIGINT, before)
