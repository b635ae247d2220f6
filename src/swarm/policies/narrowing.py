"""What permissions take away: tools from a request, and context variables from a tool, which may change those it has."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

from ..effects import Message


def without_tools(request: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    """A request that does not offer these tools."""
    tools = [entry for entry in request["tools"] if entry["function"]["name"] not in names]
    choice = request.get("tool_choice")
    forced = cast("Message", choice).get("function", {}).get("name") if isinstance(choice, dict) else None
    gone = {"tools", "tool_choice", "parallel_tool_calls"} if not tools else {"tool_choice"} if forced in names else set[str]()
    return {name: value for name, value in ({**request, "tools": tools}).items() if name not in gone}


def merge_changes(context: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> None:
    """Put into the context what a tool changed in its view of it."""
    for name in before.keys() - after.keys():
        context.pop(name, None)
    context.update({name: value for name, value in after.items() if name not in before or before[name] is not value})
