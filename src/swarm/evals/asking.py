"""A model that measures agents, and is none of them: the judge, the simulated user. It has a client and a count of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core import AsyncSwarm
from ..models.default import default_client
from ..types import Agent, Response
from .problems import EvalError


class Measurer:
    """Asks a model, one question at a time.

    Args:
        name: who it is in messages about it, such as "judge".
        client, swarm: as for `AsyncSwarm`.
        model: the model's name; None for that of the environment.
        settings: further keys of each request.
        output_type: as of `Agent`.

    Raises:
        EvalError: the client is the offline model, which understands no questions.
        ConfigError: no client was given and the environment names none.
        AgentError: settings that have a place of their own.
        TypeError: an argument that there is not.
    """

    def __init__(
        self, name: str, client: Any, model: str | None, settings: dict[str, Any] | None, swarm: dict[str, Any], output_type: Any = None
    ) -> None:
        asked = client if client is not None else default_client()
        if isinstance(getattr(asked, "announcement", None), str):
            raise EvalError(f"the offline model is no language model, so it cannot be the {name}: give a client, or leave those cases out")
        self._swarm = AsyncSwarm(asked, **swarm)
        named: dict[str, Any] = {} if model is None else {"model": model}
        self._agent = Agent(name=name, instructions=_told, model_settings=settings or {}, output_type=output_type, **named)

    async def ask(self, instructions: str, messages: Sequence[dict[str, Any]], seed: int | None = None) -> Response:
        """Ask once.

        Args:
            instructions: the system message.
            messages: what follows it.
            seed: sent with the request, or None.

        Raises:
            SwarmError: what a run raises.
        """
        agent = self._agent if seed is None else self._agent.copy(model_settings={**self._agent.model_settings, "seed": seed})
        return await self._swarm.run(agent, list(messages), {"instructions": instructions})


def _told(context_variables: dict[str, Any]) -> str:
    return context_variables["instructions"]
