"""One tool of an MCP server as a function of an agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal

import mcp_types as types

from ...errors import ConfigError, ToolError
from ...tools import Tool
from .contents import outcome
from .thread import hand_over

if TYPE_CHECKING:
    from .connection import Link


def tool_for(
    name: str, spec: types.Tool, use: Callable[[], Awaitable[Link]], approval: bool | Literal["destructive"] | Callable[..., Any]
) -> Tool:
    """The function.

    Args:
        name: what the model calls it.
        spec: what the server says of it.
        use: gives the way to the server, on the loop of the sessions.
        approval: as for `McpServer`.
    """
    notes = spec.annotations or types.ToolAnnotations()
    # Unless a tool says otherwise, it changes things, destroys things, and must not be called twice:
    # modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations
    reads = bool(notes.read_only_hint)
    repeatable = reads or bool(notes.idempotent_hint)
    destroys = not reads and notes.destructive_hint is not False

    async def made(arguments: dict[str, Any]) -> types.CallToolResult:
        try:
            link = await use()
        except ConfigError as error:
            raise ToolError(str(error)) from None
        return await link.call(spec.name, arguments, repeatable)

    async def call(**arguments: Any) -> Any:
        return outcome(await hand_over(made(arguments)))

    return Tool(
        call,
        name=name,
        description=spec.description or spec.title or notes.title or "",
        parameters=spec.input_schema,
        approval=destroys if approval == "destructive" else approval,
        effect="repeatable" if repeatable else "once",
    )
