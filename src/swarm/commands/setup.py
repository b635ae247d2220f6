"""What a command needs that runs agents: who begins, and what stands around them if they come from a configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..types import Agent
from .conversation import Conversation
from .options import client_for
from .target import load_configured, load_target

if TYPE_CHECKING:
    from ..ext.config import Configuration


class Setup(NamedTuple):
    """Where a conversation begins, and with what.

    Attributes:
        agent: who begins.
        known: every agent of the module or file.
        config: the file, or None for a module.
    """

    agent: Agent
    known: list[Agent]
    config: Configuration | None

    def client(self, offline: bool, base_url: str | None) -> Any:
        """Who is asked: what the options of the command name, else what the file does, else None.

        Raises:
            Failure, ConfigError: as for `client_for`; a key that the file's client needs is not in the environment.
        """
        named = client_for(offline, base_url)
        return named if named is not None or self.config is None else self.config.client

    @property
    def swarm(self) -> dict[str, Any]:
        """The arguments of `Swarm(client, **swarm)`: policies, limits and the rest.

        Raises:
            ConfigError: a key that the client of an agent or a policy needs is not in the environment.
        """
        return {} if self.config is None else self.config.options

    @property
    def context_variables(self) -> dict[str, Any]:
        """What a conversation begins with."""
        return {} if self.config is None else self.config.context_variables

    def conversation(self, client: Any, options: dict[str, Any]) -> Conversation:
        """A conversation with the agent.

        Args:
            client: who is asked.
            options: further arguments of every run.

        Raises:
            ConfigError: as for `swarm`.
        """
        return Conversation(client, self.agent, self.context_variables, options, self.known, self.swarm)


def load_setup(target: str, allow: Sequence[str] | None = None) -> Setup:
    """What a target stands for.

    Args:
        target: `module:agent`, `path/to/file.py:agent`, or a configuration: `shop.toml`, `shop.toml:agent`.
        allow: the modules whose functions a configuration may use.

    Raises:
        Failure, ConfigFileError: it cannot be had; says why.
    """
    configured = load_configured(target, allow)
    if configured is not None:
        config, agent = configured
        return Setup(agent, list(config.agents.values()), config)
    return Setup(*load_target(target), None)
