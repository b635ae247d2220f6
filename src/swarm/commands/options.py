"""The options that commands share, and what they say about the model."""

from __future__ import annotations

import os
from typing import Annotated, Any, TypeAlias

import typer

from ..run import base_url_of
from ..types import Agent
from .failure import Failure

Target: TypeAlias = Annotated[
    str, typer.Argument(metavar="MODULE:AGENT", help="The agent: module:agent, path/to/file.py:agent, or a configuration: shop.toml.")
]
Allow: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--allow", metavar="MODULE", help="A module whose functions a configuration may use; may be repeated. SWARM_ALLOW names more."
    ),
]
Model: TypeAlias = Annotated[str | None, typer.Option("--model", metavar="NAME", help="The model for every agent.")]
BaseUrl: TypeAlias = Annotated[
    str | None,
    typer.Option("--base-url", metavar="URL", help="A server that speaks Chat Completions, such as http://localhost:11434/v1."),
]
Offline: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--offline",
        help="Use the offline model, a semantic router: no key, no network, no language model. Agents with a client of their own keep it.",
    ),
]
MaxTurns: TypeAlias = Annotated[
    int | None, typer.Option("--max-turns", min=0, metavar="N", help="How many messages the agents may add for one of yours.")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print every event as one line of JSON, and nothing else.")]
Debug: TypeAlias = Annotated[bool, typer.Option("--debug", help="Print a trace of every run, and the traceback of an error.")]
Say: TypeAlias = Annotated[
    list[str] | None, typer.Option("--say", metavar="TEXT", help="Say this instead of asking a person; may be repeated.")
]


def client_for(offline: bool, base_url: str | None) -> Any:
    """The client that the options name, or None for the one that the environment names.

    Args:
        offline: whether the offline model was asked for.
        base_url: a server, or None.

    Raises:
        Failure: both.
        ConfigError: a base URL that is not a URL.
    """
    if offline and base_url is not None:
        raise Failure("--offline and --base-url exclude each other", 2)
    if offline:
        from ..models.offline import OfflineModel

        return OfflineModel()
    if base_url is not None:
        from ..models.chat import ChatClient

        return ChatClient(base_url=base_url)
    return None


def run_options(model: str | None, max_turns: int | None) -> dict[str, Any]:
    """The arguments that every run gets."""
    return {"model_override": model, "max_turns": max_turns}


def about_model(client: Any, agent: Agent, model: str | None) -> str:
    """One line that says who answers: what the offline model says of itself, or model and server.

    Args:
        client: who is asked.
        agent: who begins.
        model: `--model`.
    """
    announcement = getattr(client, "announcement", None)
    if isinstance(announcement, str):
        return announcement
    usual = agent.model if "model" in agent.model_fields_set else os.environ.get("SWARM_MODEL") or agent.model
    where = base_url_of(client) or type(client).__name__
    return f"Model: {model or usual} at {where}"
