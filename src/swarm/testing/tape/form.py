"""What a line of a tape must hold, checked when the tape is read: such files are edited by hand and merged by git."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from ...models.profiles import Profile


class _Form(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class _Head(_Form):
    base_url: str | None = None
    profile: str | dict[str, Any] | None = None


class _Function(_Form):
    name: str | None = None
    arguments: Any = None


class _Call(_Form):
    function: _Function | None = None


class _Message(_Form):
    role: str | None = None
    content: str | list[dict[str, Any]] | None = None
    tool_calls: list[_Call] | None = None
    function_call: dict[str, Any] | None = None


class _Tool(_Form):
    function: dict[str, Any] | None = None


class _Asked(_Form):
    messages: list[_Message] = []
    tools: list[_Tool] | None = None


class _Reply(_Form):
    message: _Message
    finish_reason: str | None = None
    model: str | None = None
    usage: dict[str, Any] | None = None


class _Failure(_Form):
    kind: str
    text: str
    status: int | None = None
    retry_after: float | None = None


class _Answer(_Form):
    agent: str | None = None
    request: _Asked
    reply: _Reply | None = None
    chunks: list[dict[str, Any]] = []
    error: _Failure | None = None


class _ToolCall(_Form):
    tool: str
    call: str
    text: str
    next: str = ""
    failed: Literal["error", "timeout"] = "error"
    parts: list[dict[str, Any]] = []
    variables: dict[str, Any] = {}
    context: dict[str, Any] = {}
    removed: list[str] = []


def wrong_in(line: dict[str, Any], is_first: bool) -> str:
    """What is wrong with a line, or "".

    Args:
        line: the line, its request whole.
        is_first: whether it is the one that says what the file is.
    """
    form = _Head if is_first else _ToolCall if "tool" in line else _Answer
    try:
        form.model_validate(line)
        if is_first and isinstance(line.get("profile"), dict):
            TypeAdapter(Profile).validate_python(line["profile"])
    except ValidationError as error:
        return "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg'].lower()}" for item in error.errors(include_url=False))
    except RecursionError:
        return "it is nested too deeply"
    null = [name for name in ("reply", "error") if name in line and line[name] is None]
    return f"{null[0]}: must not be null" if null and not is_first else ""
