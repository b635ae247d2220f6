"""One tool `route(agent)` in the place of many transfer tools: a weak model chooses a name more surely than a function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ..calls import Outcome, read
from ..effects import Message
from ..history import open_calls
from ..legal import call_name
from ..offers import table_of
from ..tools import Tool

if TYPE_CHECKING:
    from ..run import Run

ROUTE = "route"


class RouteTool(Tool):
    """A tool that does nothing but hand over, to an agent that it is told."""


def only_hands_over(tool: Tool) -> bool:
    """Whether a call of the tool is a handoff and nothing else."""
    return isinstance(tool, RouteTool) or (tool.handoff is not None and tool.nested is None)


def transfers(tools: dict[str, Any]) -> dict[str, Tool]:
    """The transfer tools among these that one tool may stand for, by the agent's name; none where names or agents are not apart."""
    found: dict[str, Tool] = {}
    for tool in tools.values():
        if only_hands_over(tool):
            if tool.handoff.agent.name in found:
                return {}
            found[tool.handoff.agent.name] = tool
    return found if len(found) > 1 and ROUTE not in tools else {}


def route_tool(targets: dict[str, Tool], said: dict[str, str]) -> RouteTool:
    """The tool that stands for others.

    Args:
        targets: the transfer tools by the agent's name.
        said: what each says of itself, by the same names.
    """

    def route(agent: str) -> Outcome:
        tool = targets[agent]
        return read(tool.fn(), tool)

    route.__annotations__["agent"] = Literal[tuple(targets)]
    lines = [f"- {name}: {said[name]}" for name in targets]
    tool = RouteTool(route, description="\n".join(["Hand the conversation over to another agent:", *lines]), inline=True)
    tool.loose = True
    return tool


def merged(offers: list[Message], targets: dict[str, Tool], tool: Tool) -> list[Message]:
    """The offers with one in the place of the first of many."""
    names = {target.name for target in targets.values()}
    first = next(index for index, offer in enumerate(offers) if offer["function"]["name"] in names)
    kept = [offer for offer in offers if offer["function"]["name"] not in names]
    return [*kept[:first], tool.wire, *kept[first:]]


def put_back(run: Run) -> None:
    """Let calls of the tool be resolved that a saved run, or one inside it, left open."""
    for inner in run.nested.values():
        put_back(inner)
    if any(call_name(call) == ROUTE for call in open_calls(run.history)):
        targets = transfers(table_of(run.agent).tools)
        if targets:
            run.offered = {ROUTE: route_tool(targets, dict.fromkeys(targets, ""))}
