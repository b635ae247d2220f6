"""What an agent may call: its table of tools, which of them are on offer at the moment, and the callbacks that decide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .effects import Call, Flow
from .encoded import Encoded, remembering
from .errors import AgentError
from .handoffs import transfer_tool
from .tools import Tool, callback_parameters, tool_of
from .types import Agent, Handoff

OFFER_NAMES = ("context_variables", "messages", "agent", "run")
"""What a callback about an agent or an offer may ask for by parameter name."""
CALL_NAMES = (*OFFER_NAMES, "arguments")
"""The same for a callback about one call."""


class Table:
    """The tools of one agent, as of the lists it was made from.

    Args:
        agent: the agent; its lists are remembered as they are now.
        tools: by wire name.

    Attributes:
        tools: by wire name, in the order of the agent's functions, then its handoffs.
        changing: whether a tool is offered or described by a function of the moment.
    """

    __slots__ = ("_functions", "_handoffs", "_wire", "changing", "tools")

    def __init__(self, agent: Agent, tools: dict[str, Tool]) -> None:
        self._functions = list(agent.functions)
        self._handoffs = list(agent.handoffs)
        self.tools = tools
        self.changing = False
        for tool in tools.values():
            if tool.changing or (tool.handoff is not None and tool.handoff.when is not None):
                self.changing = True
        self._wire: Encoded | None = None

    def fits(self, agent: Agent) -> bool:
        """Whether the agent's lists are still what they were."""
        return self._functions == vars(agent)["functions"] and self._handoffs == vars(agent)["handoffs"]

    @property
    def wire(self) -> list[dict[str, Any]]:
        """The entries of the request's `tools` where none depends on the moment; made when they are first sent."""
        if self._wire is None:
            self._wire = remembering([tool.wire for tool in self.tools.values()])
        return self._wire

    def of_the_moment(self, wire: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The entries on offer now; the list of last time if they are the same, since it knows its JSON text."""
        last = self._wire
        if last is None or last != wire:
            last = self._wire = remembering(wire)
        return last


def table_of(agent: Agent) -> Table:
    """The agent's tools; made again when its lists have changed since.

    Raises:
        AgentError: a function no model could call, or two tools of one name.
    """
    table: Table | None = getattr(agent, "_table", None)
    return table if table is not None and table.fits(agent) else _new_table(agent)


def _new_table(agent: Agent) -> Table:
    table = Table(agent, _tools(agent))
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
            entry = {**entry, "function": {**entry["function"], **({"description": str(text)} if text is not None else {})}}
        tools[name] = tool
        wire.append(entry)
    return tools, table.of_the_moment(wire)


def ask(fn: Callable[..., Any], about: Callable[[str], Any], names: tuple[str, ...] = OFFER_NAMES) -> Flow:
    """Call a user's callback with what its parameters ask for.

    Args:
        fn: the callback.
        about: gives what is asked for, by name.
        names: what may be asked for.
    """
    return (yield Call(fn, (), {name: about(name) for name in callback_parameters(fn, names) or ()}))


def check_agent(agent: Agent) -> None:
    """Refuse at construction what could only fail later.

    Raises:
        AgentError: an entry of `handoffs` that is neither Agent nor Handoff, functions no model could call, callbacks with parameters
            nobody fills.
    """
    for entry in agent.handoffs:
        if not isinstance(entry, Agent | Handoff):
            raise AgentError(f"Agent {agent.name!r}: handoffs holds {entry!r}; give an Agent or a Handoff")
        for callback in (entry.when, entry.history_filter) if isinstance(entry, Handoff) else ():
            if callback is not None:
                callback_parameters(callback, OFFER_NAMES)
    _new_table(agent)
    if callable(agent.instructions):
        callback_parameters(agent.instructions, OFFER_NAMES, single_positional=True)
    if agent.history_filter is not None:
        callback_parameters(agent.history_filter, OFFER_NAMES)
