"""One run in four ways: sync, async, sync stream, async stream. A behaviour test takes the fixture `drive` and so runs in all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from swarm import Agent, AsyncSwarm, Response, Swarm
from swarm.events import Event
from swarm.models.scripted import ScriptedModel

MODES = ("sync", "async", "sync-stream", "async-stream")
streaming = pytest.mark.parametrize("drive", [mode for mode in MODES if mode.endswith("stream")], indirect=True)
"""For a test of what only streams can do."""


class Drive:
    """Runs an agent in one mode: `drive(agent, messages, turns, ...)`.

    Attributes:
        mode: one of MODES.
        model: the ScriptedModel of the last run that was given turns.
    """

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.model = ScriptedModel([])

    @property
    def streams(self) -> bool:
        return self.mode.endswith("stream")

    @property
    def requests(self) -> list[dict[str, Any]]:
        return self.model.requests

    def client(self, turns: Any) -> Any:
        """A ScriptedModel for a list of turns; any other client as it is."""
        if not isinstance(turns, list):
            return turns
        self.model = ScriptedModel(turns)
        return self.model

    def __call__(self, agent: Agent, messages: Any, turns: Any, *, swarm: dict[str, Any] | None = None, **options: Any) -> Response:
        """Run to the end.

        Args:
            agent, messages, options: as for `Swarm.run`.
            turns: a script, or a client.
            swarm: keyword arguments for the Swarm.
        """
        client, kind = self.client(turns), AsyncSwarm if self.mode.startswith("async") else Swarm
        swarmed: Any = kind(client, **(swarm or {}))
        if self.mode == "sync":
            return swarmed.run(agent, messages, **options)
        if self.mode == "async":
            return asyncio.run(_finished(swarmed, agent, messages, options))
        if self.mode == "sync-stream":
            return list(swarmed.run(agent, messages, stream=True, **options))[-1]["response"]
        return asyncio.run(_last(swarmed, agent, messages, options))

    def events(self, agent: Agent, messages: Any, turns: Any, *, swarm: dict[str, Any] | None = None, **options: Any) -> list[Event]:
        """The events of the run, as an observer sees them (without streaming) or as `stream()` gives them."""
        if not self.streams:
            seen: list[Event] = []
            self(agent, messages, turns, swarm={**(swarm or {}), "on_event": seen.append}, **options)
            return seen
        client = self.client(turns)
        if self.mode == "sync-stream":
            return list(Swarm(client, **(swarm or {})).stream(agent, messages, **options))
        return asyncio.run(_all(AsyncSwarm(client, **(swarm or {})), agent, messages, options))

    def resume(self, state: Any, turns: Any, *, swarm: dict[str, Any] | None = None, **options: Any) -> Response:
        """Go on with a saved state; streaming makes no difference here."""
        client = self.client(turns)
        if self.mode.startswith("async"):
            return asyncio.run(AsyncSwarm(client, **(swarm or {})).resume(state, **options))
        return Swarm(client, **(swarm or {})).resume(state, **options)


async def _finished(swarm: AsyncSwarm, agent: Agent, messages: Any, options: dict[str, Any]) -> Response:
    return await swarm.run(agent, messages, **options)


async def _last(swarm: AsyncSwarm, agent: Agent, messages: Any, options: dict[str, Any]) -> Response:
    items = [item async for item in swarm.run(agent, messages, stream=True, **options)]
    return items[-1]["response"]


async def _all(swarm: AsyncSwarm, agent: Agent, messages: Any, options: dict[str, Any]) -> list[Event]:
    return [event async for event in swarm.stream(agent, messages, **options)]


def names(events: Sequence[Event], without: tuple[str, ...] = ("Delta", "PartialOutput")) -> list[str]:
    """The kinds of events in order, deltas left out since a reply that is not streamed is told as one."""
    return [kind for event in events if (kind := type(event).__name__) not in without]
