"""From targets on a command line to the agents with whom a conversation may begin, for commands that look at a swarm as a whole."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import Annotated, Any, TypeAlias, cast

import typer

from ..types import Agent
from .failure import Failure, describe
from .target import find

Targets: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="MODULE:AGENT...",
        help="Where conversations begin: module:agent, path/to/file.py:agent, or a configuration: shop.toml. A module's name may also "
        "be that of a list of agents, or of a function without parameters that returns one agent or several.",
    ),
]

Debug: TypeAlias = Annotated[bool, typer.Option("--debug", help="Print the traceback of an error.")]


def load_starts(targets: Sequence[str], allow: Sequence[str] | None = None) -> tuple[list[Agent], dict[str, Agent]]:
    """The agents that targets name, and every agent of their modules by the name it has there.

    What a module prints when it is imported goes to standard error.

    Args:
        targets: `module:name`, `path/to/file.py:name`, or a configuration each.
        allow: the modules whose functions a configuration may use.

    Raises:
        Failure: a target that names nothing, something that is no agent, or a module or function that fails.
    """
    starts: list[Agent] = []
    known: dict[str, Agent] = {}
    for target in targets:
        with redirect_stdout(sys.stderr):
            found, place, value = find(target, allow)
            agents = _agents(place, value)
        if not agents:
            raise Failure(f"{place} is {_kind(value)}. Agents in it: {', '.join(found) or 'none'}", 2)
        starts += agents
        known |= {name: agent for name, agent in found.items() if agent not in known.values()}
    return starts, known


def _agents(place: str, value: Any) -> list[Agent]:
    if inspect.isfunction(value):
        value = _called(place, value)
    if isinstance(value, Agent):
        return [value]
    items: list[Any] = list(cast("Any", value)) if isinstance(value, list | tuple) else []
    items = list(cast("dict[Any, Any]", value).values()) if isinstance(value, dict) else items
    return items if all(isinstance(item, Agent) for item in items) else []


def _called(place: str, function: Any) -> Any:
    """What a function that was named as a target returns. No other function is ever called."""
    needed = [name for name, parameter in inspect.signature(function).parameters.items() if _is_needed(parameter)]
    if needed:
        raise Failure(f"{place} is a function that needs {', '.join(needed)}; name an agent, or a function without parameters", 2)
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise Failure(f"{place} is no plain function; name an agent, or a function that returns one", 2)
    try:
        return function()
    except (Exception, SystemExit) as error:
        raise Failure(f"{place}() failed: {describe(error)}") from error


def _is_needed(parameter: inspect.Parameter) -> bool:
    return parameter.default is parameter.empty and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)


def _kind(value: Any) -> str:
    if inspect.isfunction(value):
        return "a function that returns no agent"
    if not isinstance(value, list | tuple | dict):
        return f"of type {type(value).__name__}, not an Agent"
    return "a list that holds something else than agents" if value else "an empty list"
