"""Finds the agent that a recorded call handed over to, among those that its function can reach. Nothing is called."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import CodeType, ModuleType
from typing import Any

from ...tools import Tool
from ...types import Agent, Handoff
from .lines import TapeError


def find_agent(name: str, tool: Tool, agent: Agent) -> Agent:
    """The agent of that name.

    Args:
        name: as it was recorded.
        tool: the tool that handed over.
        agent: the agent that called it.

    Raises:
        TapeError: none is found, or several.
    """
    if tool.handoff is not None:
        return tool.handoff.agent
    for start in (tool.fn, agent):  # what the function itself names comes before what can be reached from its agent
        found = [other for other in _reachable(start) if other.name == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise TapeError(f"{tool.name} handed over to {name!r}, and several agents are called so; rename one to replay this tape")
    raise TapeError(
        f"{tool.name} handed over to {name!r}, and no agent of that name can be found to replay it: "
        f"let the function refer to the agent by a global name or a closure, or put it into {agent.name}'s handoffs"
    )


def _reachable(start: Any) -> list[Agent]:
    """The agents that can be reached, each once, nearest first."""
    agents: list[Agent] = []
    seen: set[int] = set()
    waiting: list[Any] = [start]
    while waiting:
        thing = waiting.pop(0)
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, Agent):
            agents.append(thing)
        waiting += _named_by(thing)
    return agents


def _named_by(thing: Any) -> Iterator[Any]:
    """The agents, and the functions and boxes that may hold agents, which a thing names."""
    if isinstance(thing, Agent):
        yield from thing.handoffs
        yield from thing.functions
    elif isinstance(thing, Handoff):
        yield thing.agent
    elif isinstance(thing, Tool):
        yield thing.fn
    elif isinstance(thing, functools.partial):
        yield from (thing.func, *thing.args, *thing.keywords.values())
    elif isinstance(thing, dict | list | tuple | set | frozenset):
        yield from _agents_in(thing)
    elif hasattr(thing, "__self__"):
        yield thing.__func__ if hasattr(thing, "__func__") else None
        own: dict[str, Any] = getattr(thing.__self__, "__dict__", {})
        yield from (value for value in own.values() if isinstance(value, Agent | dict | list | tuple))
    elif hasattr(thing, "__code__"):
        yield from (cell.cell_contents for cell in thing.__closure__ or () if _is_filled(cell))
        yield from thing.__defaults__ or ()
        yield from _globals_of(thing)


def _agents_in(box: Any) -> Iterator[Any]:
    yield from (value for value in (box.values() if hasattr(box, "values") else box) if isinstance(value, Agent))


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _globals_of(function: Any) -> Iterator[Any]:
    names = set(_names_in(function.__code__))
    for name in names:
        value = function.__globals__.get(name)
        if isinstance(value, ModuleType):
            yield from (other for other in (vars(value).get(attribute) for attribute in names) if isinstance(other, Agent))
        else:
            yield value


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)
