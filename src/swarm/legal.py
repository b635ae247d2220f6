"""What every provider takes of one message or one tool call: a known role, typed content parts, a legal name, arguments that are text."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping
from functools import lru_cache
from typing import Any, TypeGuard, cast

from pydantic_core import to_json

from .effects import Message

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_DICT: Any = dict  # found before `is_dict` is called: each call of every history is looked at


def is_dict(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a value from outside is a dict."""
    return isinstance(value, dict)


def json_text(value: Any) -> str:
    """Compact, readable JSON text of any value; what JSON cannot hold is written as its `str()`."""
    try:
        return to_json(value, fallback=str, inf_nan_mode="null", bytes_mode="base64").decode()
    except ValueError:
        try:
            return json.dumps(value, default=str)  # half a surrogate pair, which UTF-8 cannot hold and an escape can
        except (ValueError, TypeError, RecursionError):  # it holds itself, or is nested too deeply
            return f'"a {type(value).__name__} that JSON cannot hold"'


@lru_cache(maxsize=1024)
def _is_legal(name: str) -> bool:
    return 0 < len(name) <= 64 and name.isascii() and (name.isidentifier() or re.fullmatch(r"[a-zA-Z0-9_-]+", name) is not None)


def legal_name(name: Any) -> str:
    """A function name that every provider takes back: what is not in [a-zA-Z0-9_-] becomes "_", at most 64 characters."""
    return re.sub(r"[^a-zA-Z0-9_-]+", "_", name)[:64] if isinstance(name, str) and name else "unnamed_function"


def unique_name(name: str, taken: Container[str]) -> str:
    """The name, or with the first number that makes it another than those taken; at most 64 characters then."""
    candidate, number = name, 2
    while candidate in taken:
        suffix = f"_{number}"
        candidate, number = name[: 64 - len(suffix)] + suffix, number + 1
    return candidate


def is_utf8(text: str) -> bool:
    """Whether a text can be written as UTF-8, which holds no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def call_name(call: Mapping[str, Any]) -> str:
    """The name of the function that a tool call asks for, or ""."""
    function: Any = call.get("function")
    return str(function.get("name") or "") if is_dict(function) else ""


def normal_call(call: Message) -> Message:
    """The call itself if nothing is wrong with it, else a copy whose id is text (maybe ""), type is set, name legal, and arguments text.

    Text of arguments is never rewritten, broken JSON included: the model must see what it wrote.
    """
    function: Any = call.get("function")
    id, kind = call.get("id"), call.get("type")
    if type(function) is not _DICT and not is_dict(function):
        if is_dict(call.get(str(kind))):  # another kind of tool, which only its provider understands
            if type(id) is str and "function" not in call:
                return call
            return {**{key: value for key, value in call.items() if key != "function"}, "id": "" if id is None else str(id)}
        function = {}
    name, arguments = function.get("name"), function.get("arguments")
    if type(id) is str and type(kind) is str and type(arguments) is str and type(name) is str and _is_legal(name):
        return call
    if not isinstance(arguments, str):
        arguments = "{}" if arguments is None else json_text(arguments)
    function = {**function, "name": legal_name(name), "arguments": arguments}
    settled: Message = {
        "id": "" if id is None else str(id),
        "type": kind if isinstance(kind, str) and kind else "function",
        "function": function,
    }
    return {**settled, **call, **settled}


def is_parts(content: Any) -> bool:
    """Whether a message's content is a list of parts that each have a type."""
    return isinstance(content, list) and all(map(is_part, cast("list[Any]", content)))


def is_part(part: Any) -> TypeGuard[Message]:
    """Whether a value is a part of a message's content."""
    return is_dict(part) and isinstance(part.get("type"), str)


def is_named(message: Message) -> bool:
    """Whether a message names its speaker."""
    return isinstance(message.get("name"), str) and message["name"] != ""
