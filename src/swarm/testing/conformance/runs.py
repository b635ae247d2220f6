"""One run in each of the four modes, for suites that compare them."""

from __future__ import annotations

from typing import Any

from ...core import AsyncSwarm, Swarm
from ...types import Agent, Response
from .rules import require, run_async

MODES = ("run", "stream", "async run", "async stream")


def run_in(mode: str, client: Any, agent: Agent, messages: Any, policies: list[Any]) -> Response:
    """Run an agent to its end.

    Args:
        mode: one of MODES.
        client, agent, messages, policies: as for a Swarm.
    """
    if mode == "run":
        return Swarm(client, policies=policies).run(agent, messages)
    if mode == "stream":
        return _last(list(Swarm(client, policies=policies).stream(agent, messages)), mode)
    if mode == "async run":
        return run_async(_finished(client, agent, messages, policies))
    return _last(run_async(_events(client, agent, messages, policies)), mode)


async def _finished(client: Any, agent: Agent, messages: Any, policies: list[Any]) -> Response:
    return await AsyncSwarm(client, policies=policies).run(agent, messages)


async def _events(client: Any, agent: Agent, messages: Any, policies: list[Any]) -> list[Any]:
    return [event async for event in AsyncSwarm(client, policies=policies).stream(agent, messages)]


def _last(events: list[Any], mode: str) -> Response:
    response = getattr(events[-1], "response", None) if events else None
    require(
        isinstance(response, Response),
        "The last event of a run is Done with its Response; an event hook passes it on with `yield emit`.",
        f"in the mode {mode!r} the last of {len(events)} events is {events[-1:]!r}",
    )
    assert response is not None
    return response
