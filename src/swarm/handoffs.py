"""Who may speak next: transfer tools, their names, and what a handoff's tool message says. Pure rules."""

from __future__ import annotations

import json
import re

from .errors import AgentError
from .legal import unique_name
from .tools import Tool
from .types import Agent, Handoff


def transfer_tool(handoff: Handoff, taken: dict[str, Tool]) -> Tool:
    """The tool that hands over to `handoff.agent`; its name is made legal and unique among `taken`."""
    target = handoff.agent
    name = handoff.name or unique_name(transfer_name(target.name), taken)
    if name in taken:
        raise AgentError(f"two tools are called {name!r}; give the handoff to {target.name!r} another: Handoff(..., name={name + '_2'!r})")

    def transfer() -> Agent:
        return target

    transfer.__name__ = name
    about = f" {target.description}" if target.description else ""
    description = handoff.description or f"{'Ask' if handoff.returns else 'Hand over to'} {target.name}.{about}"
    tool = Tool(transfer, name=name, description=description, inline=True, handoff=handoff)
    if handoff.returns:
        from .agents import returning

        tool.nested = returning(handoff)
    return tool


def transfer_name(agent_name: str) -> str:
    """`transfer_to_` and the name in lower case, other characters than [a-z0-9] as "_", at most 64 characters."""
    plain = re.sub(r"[^a-z0-9]+", "_", agent_name.lower()).strip("_") or "agent"
    return f"transfer_to_{plain}"[:64].rstrip("_")


def message_for(target: Agent) -> str:
    """The default text of a handoff's tool message, readable in any script."""
    return json.dumps({"assistant": target.name}, ensure_ascii=False)
