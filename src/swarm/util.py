"""The helpers that code written against the small `swarm` API imports: schemas, a debug print, merging the chunks of a stream.

They are kept for that code. The library sends richer schemas (`tools.py`) and assembles streams with more care.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from datetime import datetime
from typing import Any, cast

from .arguments import arguments_of
from .signature import doc_of, name_of
from .tools import Tool


def function_to_json(func: Callable[..., Any]) -> dict[str, Any]:
    """The plain schema of a function, a fresh dict each time: one type word per parameter, the docstring as it stands.

    `context_variables` and a parameter annotated `RunInfo` are left out, since no model sets them.

    Args:
        func: the function, or a Tool.

    Raises:
        ValueError: there is no signature to be had, or no model could call it; the text names the function.
    """
    fn = func.fn if isinstance(func, Tool) else func
    name = func.name if isinstance(func, Tool) else name_of(func)
    arguments = arguments_of(fn)
    words = arguments.schema(name).words()
    required = [parameter.name for parameter in arguments.signature.parameters.values() if parameter.required]
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": doc_of(fn),
            "parameters": {
                "type": "object",
                "properties": {parameter: {"type": word} for parameter, word in words.items()},
                "required": required,
            },
        },
    }


function_to_schema = function_to_json


def debug_print(debug: bool, *args: object) -> None:
    """Print a line with the time in front of it, if `debug` is true."""
    if debug:
        stamp = datetime.now().strftime("%Y-%m-%d %H:%M:%S")
        print(f"\033[90m[{stamp}]\033[0m \033[1m{' '.join(map(str, args))}\033[0m")  # noqa: T201  # what it is for


def merge_fields(target: MutableMapping[Any, Any], source: Mapping[Any, Any]) -> None:
    """Add a piece of a streamed message to what has come before: text is appended, dicts are merged, None is skipped.

    Args:
        target: the message so far; changed in place.
        source: the piece.
    """
    for key, value in source.items():
        if isinstance(value, str):
            target[key] = (target.get(key) or "") + value
        elif isinstance(value, Mapping):
            try:
                inner: Any = target[key]  # a defaultdict makes its own
            except KeyError:
                inner = None
            if inner is None:
                inner = target[key] = cast("dict[Any, Any]", {})
            merge_fields(inner, cast("Mapping[Any, Any]", value))


def merge_chunk(final_response: MutableMapping[str, Any], delta: Mapping[str, Any]) -> None:
    """Add a delta of a streamed reply to the message so far. The role is left alone; of the tool calls the first is merged.

    Args:
        final_response: the message so far; its `tool_calls` are a dict by index. Changed in place.
        delta: the delta, as a dict; not changed.
    """
    merge_fields(final_response, {key: value for key, value in delta.items() if key != "role"})
    pieces: list[dict[str, Any]] = delta.get("tool_calls") or []
    if pieces:
        piece = {key: value for key, value in pieces[0].items() if key != "index"}
        merge_fields(final_response["tool_calls"], {pieces[0].get("index", 0): piece})
