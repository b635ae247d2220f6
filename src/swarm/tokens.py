"""About how many tokens messages have, where no provider has counted them.

A provider's own count is the truth and comes with each answer; this is for what it has not seen yet. Four bytes of UTF-8 are about one
token in the scripts that were looked at: English, code and JSON, but also Chinese, whose characters have three bytes and take most of a
token each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, cast

from .legal import is_dict

Counter: TypeAlias = Callable[[str], int]
"""Counts the tokens of a text."""

PER_MESSAGE = 4
"""Tokens around a message: its role and its ends."""
PER_PART = 800
"""Tokens of an image, a file or a sound, whose data says nothing about it: what an image of 1024 x 1024 takes with large providers."""


def about(text: str) -> int:
    """About how many tokens a text has."""
    return (len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))) // 4


def estimate(messages: Iterable[dict[str, Any]], count: Counter = about) -> int:
    """About how many tokens messages have.

    Args:
        messages: in Chat Completions form.
        count: how a text is counted.
    """
    return sum([size_of(message, count) for message in messages])


def size_of(message: dict[str, Any], count: Counter = about) -> int:
    """The same of one message."""
    content: Any = message.get("content")
    total = PER_MESSAGE
    if isinstance(content, str):
        total += count(content)
    elif content is not None:
        total += _of_parts(content, count)
    for call in message.get("tool_calls") or ():
        function: Any = call.get("function") or {}
        total += PER_MESSAGE + count(f"{function.get('name')} {function.get('arguments')}")
    return total


def _of_parts(content: Any, count: Counter) -> int:
    parts = cast("list[Any]", content) if isinstance(content, list) else []
    return sum(count(part["text"]) if is_dict(part) and isinstance(part.get("text"), str) else PER_PART for part in parts)
