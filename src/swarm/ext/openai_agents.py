"""Function tools of openai-agents (https://openai.github.io/openai-agents-python/tools/) as functions of agents.

Its module is loaded at the first call of such a tool; it is loaded already then.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

from pydantic import BaseModel
from pydantic_core import to_json

from ..effects import Message
from ..errors import AgentError
from ..tools import Tool
from ..types import Result
from .foreign import Given, foreign_tool

__all__ = ["from_openai_agents"]

_REFUSED = {
    "tool_input_guardrails": "a guardrail of the Swarm, or check in the function",
    "tool_output_guardrails": "a guardrail of the Swarm, or check in the function",
    "is_enabled": "tool(from_openai_agents(...), name=..., enabled=function)",
    "needs_approval": "tool(from_openai_agents(...), name=..., approval=function)",
}
"""What only a Runner looks at, and what to use instead."""


def from_openai_agents(tool: Any, *, context: Callable[[dict[str, Any]], Any] | None = None, name: str | None = None) -> Tool:
    """A function tool of openai-agents as a function: `Agent(functions=[from_openai_agents(look_up)])`.

    Its schema is sent as it is, and it checks the arguments itself. `needs_approval`, `is_enabled` and `timeout_seconds` mean `approval`,
    `enabled` and `timeout`. What its `failure_error_function` says of an error is the result of the call; without one, the error is an
    error of the call. Texts, images and files of its output are for the model to see.

    Args:
        tool: a `FunctionTool`, which `@function_tool` makes. Hosted tools run at the provider and are none.
        context: makes the `context` of its ToolContext from the run's context variables; by default they are the context.
        name: what the model calls it; by default the tool's own name.

    Raises:
        AgentError: something else than a function tool; one with guardrails, or with a function as `is_enabled` or `needs_approval`, since
            only a Runner would heed them; a name that no provider takes.
    """
    if isinstance(tool, type) or not (hasattr(tool, "on_invoke_tool") and hasattr(tool, "params_json_schema")):
        raise AgentError(
            f"from_openai_agents({tool!r}): that is no function tool; give what @function_tool made. A plain function needs no wrapping"
        )
    for option, instead in _REFUSED.items():
        given: Any = getattr(tool, option)
        if given and given is not True:
            raise AgentError(f"{tool.name}: {option} is heeded by a Runner only; leave it out, and use {instead}")
    options = {
        "approval": tool.needs_approval,
        "enabled": tool.is_enabled,
        "timeout": tool.timeout_seconds,
        "strict": True if tool.strict_json_schema else None,
    }
    perform = partial(_perform, tool, context)
    return foreign_tool(perform, name or tool.name, tool.description or "", tool.params_json_schema, **options)


async def _perform(tool: Any, context: Callable[[dict[str, Any]], Any] | None, given: Given) -> Any:
    from agents.tool_context import ToolContext

    raw = to_json(given.arguments).decode()
    about = ToolContext(
        context=given.context_variables if context is None else context(given.context_variables),
        tool_name=tool.name,
        tool_call_id=given.run.call_id or "",
        tool_arguments=raw,
    )
    return _outcome(await tool.on_invoke_tool(about, raw))


def _outcome(value: Any) -> Any:
    given: list[Any] = list(cast("tuple[Any, ...]", value)) if isinstance(value, list | tuple) and value else [value]
    items = [_item(item) for item in given]
    if None in items:  # not of their types, so it is one value
        return cast("Any", value)
    texts = [item for item in items if isinstance(item, str)]
    return Result(value="\n".join(texts), parts=[item for item in items if isinstance(item, dict)])


def _item(output: Any) -> str | Message | None:
    """A text, or a content part in Chat Completions form; None for something else than one of their outputs."""
    dumped: Any = output.model_dump(exclude_none=True) if isinstance(output, BaseModel) else output
    fields = cast("dict[str, Any]", dumped) if isinstance(dumped, dict) else {}
    kind = fields.get("type")
    if kind == "text" and isinstance(fields.get("text"), str):
        return fields["text"]
    if kind == "image" and "image_url" in fields:
        return {"type": "image_url", "image_url": {"url": fields["image_url"]} | {key: fields[key] for key in ("detail",) if key in fields}}
    if kind == "file" and ("file_data" in fields or "file_id" in fields):
        return {"type": "file", "file": {key: fields[key] for key in ("filename", "file_data", "file_id") if key in fields}}
    if kind in ("image", "file") and ("file_id" in fields or "file_url" in fields):
        return f"[{kind}: {fields.get('file_url') or fields.get('file_id')}]"
    return None
