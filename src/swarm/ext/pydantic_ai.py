"""Function tools of pydantic-ai (https://ai.pydantic.dev/tools/) as functions of agents.

Nothing of it is loaded here but by a call of a tool that takes a RunContext, whose module is then loaded already.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

from ..errors import AgentError, ToolError
from ..parts import File, Image
from ..tools import Tool, result_text
from ..types import Result
from .foreign import Given, foreign_tool, seen, unfit

__all__ = ["from_pydantic_ai"]

_SAID = frozenset(("ModelRetry", "ToolFailed"))
"""Exceptions whose text is for the model."""


def from_pydantic_ai(tool: Any, *, deps: Callable[[dict[str, Any]], Any] | None = None, name: str | None = None) -> Tool:
    """A pydantic-ai tool as a function: `Agent(functions=[from_pydantic_ai(Tool(look_up))])`.

    Its schema is sent as it is, and it checks the arguments itself. `requires_approval`, `sequential` and `timeout` mean `approval`,
    `exclusive` and `timeout`; `strict` is not sent, and how often a model may try again is for the limits of the run. `ModelRetry` and
    `ToolFailed` are errors of the call. Of a `ToolReturn` the model gets value and content; images and files are for it to see. A function
    without a RunContext needs none of this: it is a function of an agent as it stands.

    Args:
        tool: a `pydantic_ai.Tool`.
        deps: makes the `deps` of the RunContext from the run's context variables; needed by a tool that takes one. The context also has
            the id and the name of the call, and no model or messages.
        name: what the model calls it; by default the tool's own name.

    Raises:
        AgentError: something else than a tool; one with `prepare`, `args_validator` or `defer_loading`, which need pydantic-ai's own run;
            one that takes a RunContext, without `deps`; a name that no provider takes.
    """
    if isinstance(tool, type) or not (hasattr(tool, "function_schema") and hasattr(tool, "takes_ctx")):
        raise AgentError(
            f"from_pydantic_ai({tool!r}): that is no pydantic-ai tool; give Tool(function). A plain function needs no wrapping"
        )
    for option in ("prepare", "args_validator", "defer_loading"):
        if getattr(tool, option, None):
            raise AgentError(f"{tool.name}: {option} needs a run of pydantic-ai; make the tool without it, or write a function of your own")
    if tool.takes_ctx and deps is None:
        raise AgentError(f"{tool.name} takes a RunContext: say what its deps are, such as deps=lambda context_variables: context_variables")
    options = {"exclusive": tool.sequential, "approval": tool.requires_approval, "timeout": tool.timeout}
    perform = partial(_perform, tool, deps)
    return foreign_tool(perform, name or tool.name, tool.description or "", tool.function_schema.json_schema, **options)


async def _perform(tool: Any, deps: Callable[[dict[str, Any]], Any] | None, given: Given) -> Any:
    schema = tool.function_schema
    context = None if deps is None or not tool.takes_ctx else _context(tool, deps(given.context_variables), given)
    try:
        arguments = schema.validator.validate_python(given.arguments)
    except ValueError as error:
        raise (unfit(cast("Any", error).errors()) if hasattr(error, "errors") else error) from None
    try:
        return _outcome(await schema.call(arguments, context))
    except Exception as error:
        if type(error).__name__ in _SAID:
            raise ToolError(str(cast("Any", error).message)) from None
        raise


def _context(tool: Any, deps: Any, given: Given) -> Any:
    from pydantic_ai import RunContext
    from pydantic_ai.usage import RunUsage

    used = given.run.usage
    return RunContext(
        deps=deps,
        model=cast("Any", None),  # there is none of pydantic-ai's
        usage=RunUsage(requests=used.calls, input_tokens=used.input_tokens, output_tokens=used.output_tokens),
        tool_call_id=given.run.call_id,
        tool_name=tool.name,
        run_step=given.run.turn,
    )


def _outcome(value: Any) -> Any:
    items = _items(value)
    if len(items) == 1 and items[0] is value:
        return value
    parts = [item for item in items if isinstance(item, File)]
    return Result(value="\n".join(result_text(item) for item in items if not isinstance(item, File)), parts=parts)


def _items(value: Any) -> list[Any]:
    """The pieces of a value, each an Image or a File, or something with a text form."""
    if getattr(value, "kind", None) == "tool-return":
        more: Any = value.content
        return [item for part in (value.return_value, *([more] if isinstance(more, str) else more or ())) for item in _items(part)]
    if isinstance(value, list) and any(hasattr(item, "kind") for item in cast("list[Any]", value)):
        return [_item(item) for item in cast("list[Any]", value)]
    return [_item(value)]


def _item(value: Any) -> Any:
    kind: Any = getattr(value, "kind", None)
    if kind == "binary":
        return seen(value.data, value.media_type)
    if kind == "image-url":
        return Image(url=value.url)
    if kind in ("document-url", "audio-url", "video-url"):
        return f"[{kind.removesuffix('-url')}: {value.url}]"
    return value.content if kind in ("text-content", "structured-content") else value
