"""Who may speak next, and what the next agent sees. Pure rules: an agent's tool table, transfer tools, names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from .effects import Call, Flow
from .errors import AgentError
from .tools import Tool, callback_parameters, tool_of
from .types import Agent, Handoff


class Table:
    """The tools of one agent, as of the lists it was made from.

    Attributes:
        tools: by wire name, in the order of the agent's functions, then its handoffs.
        changing: whether a tool is offered or described by a function of the moment.
    """

    __slots__ = ("_wire", "changing", "key", "tools")

    def __init__(self, key: tuple[Any, ...], tools: dict[str, Tool]) -> None:
        self.key = key
        self.tools = tools
        self.changing = False
        for tool in tools.values():
            if tool.changing or (tool.handoff is not None and tool.handoff.when is not None):
                self.changing = True
        self._wire: list[dict[str, Any]] | None = None

    @property
    def wire(self) -> list[dict[str, Any]]:
        """The entries of the request's `tools` where none depends on the moment; made when they are first sent."""
        if self._wire is None:
            self._wire = [tool.wire for tool in self.tools.values()]
        return self._wire


def table_of(agent: Agent) -> Table:
    """The agent's tools; made again when its lists have changed since.

    Raises:
        AgentError: a function no model could call, or two tools of one name.
    """
    key = (*agent.functions, None, *agent.handoffs)
    table: Table | None = getattr(agent, "_table", None)
    return table if table is not None and table.key == key else _new_table(agent, key)


def _new_table(agent: Agent, key: tuple[Any, ...]) -> Table:
    table = Table(key, _tools(agent))
    object.__setattr__(agent, "_table", table)
    return table


def _tools(agent: Agent) -> dict[str, Tool]:
    tools: dict[str, Tool] = {}
    for function in agent.functions:
        tool = tool_of(function)
        if tool.name in tools:
            raise AgentError(
                f"Agent {agent.name!r} has two functions called {tool.name!r}; "
                f"rename one with @tool(name={tool.name + '_2'!r}), or leave one out"
            )
        tools[tool.name] = tool
    for entry in agent.handoffs:
        handoff = entry if isinstance(entry, Handoff) else Handoff(entry)
        tool = transfer_tool(handoff, taken=tools)
        tools[tool.name] = tool
    return tools


def transfer_tool(handoff: Handoff, taken: dict[str, Tool]) -> Tool:
    """The tool that hands over to `handoff.agent`; its name is made legal and unique among `taken`."""
    target = handoff.agent
    name = handoff.name or _unique(transfer_name(target.name), taken)
    if name in taken:
        raise AgentError(f"two tools are called {name!r}; give this handoff another: Handoff(..., name={name + '_2'!r})")
    for callback in (handoff.when, handoff.history_filter):
        if callback is not None:
            callback_parameters(callback, CALLBACK_NAMES)

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


def _unique(name: str, taken: dict[str, Tool]) -> str:
    candidate, number = name, 2
    while candidate in taken:
        suffix = f"_{number}"
        candidate, number = name[: 64 - len(suffix)] + suffix, number + 1
    return candidate


def message_for(target: Agent) -> str:
    """The default text of a handoff's tool message, readable in any script."""
    return json.dumps({"assistant": target.name}, ensure_ascii=False)


def offered(table: Table, about: Callable[[str], Any]) -> Flow:
    """The tools on offer at this moment, by name, and their wire entries.

    Args:
        table: the agent's tools.
        about: gives what a predicate may ask for, by parameter name.
    """
    if not table.changing:
        return table.tools, table.wire
    tools: dict[str, Tool] = {}
    wire: list[dict[str, Any]] = []
    for name, tool in table.tools.items():
        when = tool.handoff.when if tool.handoff is not None and tool.handoff.when is not None else tool.enabled
        if not ((yield from ask(when, about)) if callable(when) else when):
            continue
        entry = tool.wire
        if callable(tool.description):
            text = yield from ask(tool.description, about)
            entry = {**entry, "function": {**entry["function"], "description": str(text)}}
        tools[name] = tool
        wire.append(entry)
    return tools, wire


CALLBACK_NAMES = ("context_variables", "messages", "arguments", "agent", "run")


def ask(fn: Callable[..., Any], about: Callable[[str], Any]) -> Flow:
    """Call a user's callback with what its parameters ask for."""
    return (yield Call(fn, (), {name: about(name) for name in callback_parameters(fn, CALLBACK_NAMES) or ()}))


def check_agent(agent: Agent) -> None:
    """Refuse at construction what could only fail later.

    Raises:
        AgentError: handoffs that are none, functions no model could call, callbacks with parameters nobody fills.
    """
    for entry in agent.handoffs:
        if not isinstance(entry, Agent | Handoff):
            raise AgentError(f"Agent {agent.name!r}: handoffs holds {entry!r}; give an Agent or a Handoff")
    _new_table(agent, (*agent.functions, None, *agent.handoffs))
    if callable(agent.instructions):
        callback_parameters(agent.instructions, CALLBACK_NAMES, single_positional=True)
    if agent.history_filter is not None:
        callback_parameters(agent.history_filter, CALLBACK_NAMES)
