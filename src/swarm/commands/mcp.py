"""`swarm mcp`: agents offered to MCP clients."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import Annotated, Any

import typer

from ..errors import ConfigError
from ..ext.mcp.stdio import own_pipes
from ..types import Agent
from .failure import Failure, reporting
from .options import Allow, BaseUrl, MaxTurns, Model, Offline, client_for, run_options
from .setup import load_setup
from .starts import Debug, Targets, load_starts
from .target import is_configuration

Http = Annotated[
    str | None, typer.Option("--http", metavar="HOST:PORT", help="Serve streamable HTTP at http://HOST:PORT/mcp instead of one client.")
]


def mcp(
    targets: Targets,
    http: Http = None,
    model: Model = None,
    base_url: BaseUrl = None,
    offline: Offline = False,
    max_turns: MaxTurns = None,
    allow: Allow = None,
    debug: Debug = False,
) -> None:
    """Offer agents as a server of the Model Context Protocol: each is a tool ask_<name>, which takes a message, and the id
    of a conversation to go on with. One client is served on standard input and output, any number with --http.

    \b
    Examples:
      swarm mcp shop:triage
      swarm mcp agents/shop.py:triage agents/shop.py:night_desk --offline
      swarm mcp shop:triage --http 127.0.0.1:8000
      swarm mcp shop.toml --allow shop.tools

    What the agents' code prints goes to standard error. docs/mcp.md shows how clients are told of it. The exit code is 2 if
    there is no such agent.
    """
    with reporting(debug), own_pipes() as pipes:
        place = None if http is None else _place(http)
        agents, swarm, context = _offered(targets, allow, offline, base_url)
        try:
            _serve(agents, swarm, {**run_options(model, max_turns), "context_variables": context}, place, pipes)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "starlette", "uvicorn"):
                raise
            raise ConfigError(f'swarm mcp needs {error.name}, which is not installed: pip install "openswarm[mcp]"') from None


def _place(http: str) -> tuple[str, int]:
    host, _, port = http.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise Failure(f"--http {http!r} must be HOST:PORT, such as 127.0.0.1:8000", 2)
    return host.strip("[]"), int(port)


def _offered(
    targets: list[str], allow: list[str] | None, offline: bool, base_url: str | None
) -> tuple[list[Agent], dict[str, Any], dict[str, Any] | None]:
    """The agents, the arguments of the Swarm that runs them, and the context variables of each conversation.

    A configuration has policies of its own, so it is served alone.
    """
    if not any(map(is_configuration, targets)):
        return load_starts(targets)[0], {"client": client_for(offline, base_url)}, None
    if len(targets) > 1:
        raise Failure("a configuration is served alone, since its policies and limits hold for its own agents only", 2)
    with redirect_stdout(sys.stderr):
        setup = load_setup(targets[0], allow)
    return [setup.agent], {"client": setup.client(offline, base_url), **setup.swarm}, setup.context_variables


def _serve(
    agents: Sequence[Agent], swarm: dict[str, Any], options: dict[str, Any], place: tuple[str, int] | None, pipes: tuple[int, int]
) -> None:
    import asyncio

    from ..core import AsyncSwarm
    from ..ext.mcp.agents import AgentServer

    server = AgentServer(agents, AsyncSwarm(**swarm), **{name: value for name, value in options.items() if value is not None})
    if place is None:
        asyncio.run(server.run_stdio(*pipes))
        return
    import uvicorn

    host, port = place
    print(
        f"Serving {', '.join(agent.name for agent in agents)} at http://{f'[{host}]' if ':' in host else host}:{port}/mcp", file=sys.stderr
    )
    uvicorn.run(server.app(host), host=host, port=port, log_level="warning")
