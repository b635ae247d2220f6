"""Forbids calls to real models: those of ChatClient, which is also what `Swarm()` uses, to any address but this machine's."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

from ..models.chat import ChatClient


def forbid_live_calls(refuse: Callable[[str], None]) -> Callable[[], None]:
    """From now on call a function before each connection of a ChatClient to another machine.

    A proxy on this machine, a server on it, scripted models, tapes and the offline model are left alone.

    Args:
        refuse: called with the endpoint's base URL; to forbid the call it raises.

    Returns:
        a function that allows such calls again.
    """
    # Every call asks for its transport first, and nothing has been opened by then.
    ways = {name: getattr(ChatClient, name) for name in ("_sync", "_async")}
    for name, way in ways.items():
        setattr(ChatClient, name, _guarded(way, refuse))

    def allow() -> None:
        for name, way in ways.items():
            setattr(ChatClient, name, way)

    return allow


def _guarded(way: Callable[[ChatClient], Any], refuse: Callable[[str], None]) -> Callable[[ChatClient], Any]:
    def transport(client: ChatClient) -> Any:
        endpoint = client._endpoint  # type: ignore[reportPrivateUsage]  # the house's own
        proxy = endpoint.proxy
        if not is_here(endpoint.host if proxy is None else proxy.host):
            refuse(client.base_url)
        return way(client)

    return transport


def is_here(host: str) -> bool:
    """Whether a host is this machine: a loopback address, or a name that stands for one (RFC 6761, section 6.3)."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
