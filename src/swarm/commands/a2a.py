"""`swarm a2a`: an agent offered to A2A clients."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from ..errors import ConfigError
from .failure import reporting
from .options import Allow, BaseUrl, MaxTurns, Model, Offline, Target, run_options
from .sessions import open_store
from .setup import Setup, load_setup
from .starts import Debug

Host = Annotated[str, typer.Option("--host", metavar="HOST", help="The address to listen on.")]
Port = Annotated[int, typer.Option("--port", min=1, max=65_535, metavar="PORT", help="The port to listen on.")]
Url = Annotated[str | None, typer.Option("--url", metavar="URL", help="Where clients reach it, if that is not http://HOST:PORT/.")]
Store = Annotated[
    str | None,
    typer.Option("--store", metavar="URL", help="Keep the conversations in a session store: an SQLite file, or postgresql://..."),
]


def a2a(
    target: Target,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    url: Url = None,
    store: Store = None,
    model: Model = None,
    base_url: BaseUrl = None,
    offline: Offline = False,
    max_turns: MaxTurns = None,
    allow: Allow = None,
    debug: Debug = False,
) -> None:
    """Offer an agent, and whoever it hands over to, to clients of the Agent2Agent protocol. The agent card is at
    /.well-known/agent-card.json.

    \b
    Examples:
      swarm a2a shop:triage
      swarm a2a agents/shop.py:triage --port 9000 --offline
      swarm a2a shop:triage --host 0.0.0.0 --url https://agents.example.com/
      swarm a2a shop.toml --allow shop.tools --store sessions.db

    The exit code is 2 if there is no such agent.
    """
    with reporting(debug):
        setup = load_setup(target, allow)
        client = setup.client(offline, base_url)
        try:
            _serve(setup, client, run_options(model, max_turns), host, port, url, store)
        except ModuleNotFoundError as error:
            if error.name != "uvicorn":
                raise
            raise ConfigError('swarm a2a needs uvicorn, which is not installed: pip install "openswarm[a2a]"') from None


def _serve(setup: Setup, client: Any, options: dict[str, Any], host: str, port: int, url: str | None, store: str | None) -> None:
    import uvicorn

    from ..core import AsyncSwarm
    from ..ext.a2a import A2AServer

    place = url or f"http://{f'[{host}]' if ':' in host else host}:{port}/"
    given = {name: value for name, value in options.items() if value is not None}
    swarm = AsyncSwarm(client, **setup.swarm)
    kept = None if store is None else open_store(store, may_be_new=True)
    server = A2AServer(setup.agent, swarm, url=place, context_variables=setup.context_variables, store=kept, **given)
    print(f"Serving {setup.agent.name} at {place}", file=sys.stderr)
    uvicorn.run(server.app(), host=host, port=port, log_level="warning")
