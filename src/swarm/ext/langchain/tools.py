"""A LangChain tool as a function of an agent. It is known by what it can do, so nothing of LangChain is loaded for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any, cast

from ...errors import AgentError, ToolError
from ...parts import SEEN
from ...tools import Tool, result_text
from ...types import Result
from ..foreign import Given, foreign_tool, unfit

_CALL_ID = "InjectedToolCallId"


def from_langchain(tool: Any, *, name: str | None = None, artifact: str | None = None) -> Tool:
    """A LangChain tool as a function: `Agent(functions=[from_langchain(search)])`.

    The model sees the tool's own description and schema, without what LangChain injects. Of that, the tool gets the context variables of
    the same names, whatever the model sends, and the id of the call. An async tool is awaited, a sync one runs in a worker where the run is
    async. Texts, images and files of its content are for the model to see. `ToolException`, or a handled error, is an error of the call;
    `return_direct` ends the run with the tool's text as `Response.output`. For more options: `tool(from_langchain(search), timeout=5)`.

    Args:
        tool: a `BaseTool`, which `@tool` of LangChain makes.
        name: what the model calls it; by default the tool's own name.
        artifact: the context variable that is set to the artifact of each call, for a tool that returns content and artifact. None: the
            artifact is dropped. A run with one that JSON cannot hold cannot be saved.

    Raises:
        AgentError: something else than a tool, or a name that no provider takes.
    """
    if isinstance(tool, type) or not all(hasattr(tool, part) for part in ("tool_call_schema", "ainvoke", "invoke", "name")):
        raise AgentError(f"from_langchain({tool!r}): that is no LangChain tool; give a BaseTool. A plain function needs no wrapping")
    parameters = _parameters(tool)
    perform = partial(_perform_async if _is_async(tool) else _perform, tool, _injected(tool), artifact)
    return foreign_tool(perform, name or tool.name, tool.description or "", parameters)


def _parameters(tool: Any) -> dict[str, Any]:
    if _takes_one_text(tool):
        return {"type": "object", "properties": tool.args, "required": [*tool.args]}
    shown: Any = tool.tool_call_schema
    if not isinstance(shown, dict):
        shown = shown.model_json_schema() if hasattr(shown, "model_json_schema") else shown.schema()  # the latter of pydantic.v1
    # The description is that of the tool, which is sent beside the schema.
    return {key: value for key, value in cast("dict[str, Any]", shown).items() if key not in ("title", "description")}


def _takes_one_text(tool: Any) -> bool:
    """Whether it is LangChain's plain `Tool` without a schema: the one that would be made for it describes its internals."""
    return tool.args_schema is None and any(kind.__module__ == "langchain_core.tools.simple" for kind in type(tool).__mro__)


def _injected(tool: Any) -> dict[str, bool | None]:
    """Names of what the model must not fill, and whether the tool needs it; None for what gets the id of the call."""
    found: dict[str, bool | None] = {}
    if not isinstance(tool.args_schema, dict) and not _takes_one_text(tool):
        shown = _fields(tool.tool_call_schema)
        hidden = {name: field for name, field in _fields(tool.get_input_schema()).items() if name not in shown}
        found = {name: None if _is_call_id(name, field) else _is_required(field) for name, field in hidden.items()}
    parameters = signature(getattr(tool, "func", None) or getattr(tool, "coroutine", None) or tool._run).parameters
    for name in getattr(tool, "_injected_args_keys", ()):  # a schema of the tool's own may leave them out
        parameter = parameters.get(name)
        needed = parameter is not None and parameter.default is parameter.empty
        found.setdefault(name, None if _is_call_id(name, parameter) else needed)
    return found


def _fields(model: Any) -> dict[str, Any]:
    return model.model_fields if hasattr(model, "model_fields") else model.__fields__


def _is_required(field: Any) -> bool:
    return bool(field.is_required() if hasattr(field, "is_required") else field.required)


def _is_call_id(name: str, field: Any) -> bool:
    return name == "tool_call_id" or _CALL_ID in repr([getattr(field, "metadata", None), getattr(field, "annotation", None)])


def _is_async(tool: Any) -> bool:
    """Whether it has a way of its own to be awaited; else LangChain would only put its sync one into a thread."""
    if hasattr(tool, "coroutine"):
        return tool.coroutine is not None
    return not tool._arun.__module__.startswith("langchain_core.")


def _perform(tool: Any, injected: dict[str, bool | None], artifact: str | None, given: Given) -> Any:
    call = _call(tool, injected, given)
    try:
        return _outcome(tool, tool.invoke(call), artifact)
    except Exception as error:
        raise _told(error) from None


async def _perform_async(tool: Any, injected: dict[str, bool | None], artifact: str | None, given: Given) -> Any:
    call = _call(tool, injected, given)
    try:
        try:
            answer = await tool.ainvoke(call)
        except NotImplementedError:  # how many tools say that they are sync only
            answer = await asyncio.to_thread(tool.invoke, call)
        return _outcome(tool, answer, artifact)
    except Exception as error:
        raise _told(error) from None


def _call(tool: Any, injected: dict[str, bool | None], given: Given) -> dict[str, Any]:
    """The call in LangChain's form, which has it answer with a ToolMessage."""
    arguments = {key: value for key, value in given.arguments.items() if key not in injected}
    for name, needed in injected.items():
        if needed is None:
            arguments[name] = given.run.call_id
        elif name in given.context_variables:
            arguments[name] = given.context_variables[name]
        elif needed:
            raise ToolError(f"{tool.name} cannot be used: the context variable {name!r}, which it needs, is not set in this run")
    return {"type": "tool_call", "id": given.run.call_id, "name": tool.name, "args": arguments}


def _told(error: Exception) -> Exception:
    """The error with the text that the model should see: of ToolException its own, and of wrong arguments never their values, since
    what was injected is among them."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if "ToolException" in kinds:
        return ToolError(str(error) or "the tool failed, and does not say why")
    if "ValidationError" in kinds and hasattr(error, "errors"):
        return unfit(cast("Any", error).errors())
    return error


def _outcome(tool: Any, answer: Any, artifact: str | None) -> Any:
    if not hasattr(answer, "tool_call_id"):
        return _unread(tool, answer)
    text, parts = _read(answer.content)
    if answer.status == "error":
        raise ToolError(text)
    variables = {artifact: answer.artifact} if artifact is not None and answer.artifact is not None else {}
    if not (parts or variables or tool.return_direct):
        return text
    return Result(value=text, parts=parts, context_variables=variables, stop=bool(tool.return_direct))


def _unread(tool: Any, answer: Any) -> str:
    if hasattr(answer, "goto"):
        raise ToolError(f"{tool.name} returned a LangGraph Command, which has no meaning outside of a graph")
    return result_text(answer)


def _read(content: str | list[Any]) -> tuple[str, list[dict[str, Any]]]:
    """The texts of a message's content, one a line, and its other parts in Chat Completions form."""
    if isinstance(content, str):
        return content, []
    texts: list[str] = []
    parts: list[dict[str, Any]] = []
    convert = _converter()
    for block in content:
        part = {"type": "text", "text": block} if isinstance(block, str) else convert(block)
        if part.get("type") == "text":
            texts.append(part["text"])
        elif part.get("type") in SEEN:
            parts.append(part)
        else:
            texts.append(result_text(part))
    return "\n".join(texts), parts


def _converter() -> Callable[[dict[str, Any]], dict[str, Any]]:
    from langchain_core.messages import HumanMessage, convert_to_openai_messages  # loaded already, by the tool

    def convert(block: dict[str, Any]) -> dict[str, Any]:
        if block.get("type") == "file" and "filename" not in block:
            block = {**block, "filename": "file"}  # it would be asked for in a warning
        try:
            converted: Any = convert_to_openai_messages(HumanMessage(content=[block]), text_format="block")
        except ValueError:
            return {"type": "text", "text": json.dumps(block, ensure_ascii=False, default=str)}
        return cast("dict[str, Any]", converted["content"][0])

    return convert
