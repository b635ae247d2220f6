"""What differs between the request that was made and the nearest recorded one, as a person would tell it."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Sequence
from difflib import unified_diff
from typing import Any

_WIDTH = 100
_MOST_LINES = 40


def nearest(asked: Any, recorded: Sequence[Any]) -> int | None:
    """The index of the recorded question that shares most lines with the one asked; None if there is none to choose from."""
    if not recorded:
        return None
    wanted = Counter(told(asked))
    shared = [(wanted & Counter(told(question))).total() for question in recorded]
    return max(range(len(shared)), key=lambda index: (shared[index], -index))


def difference(asked: Any, recorded: Any) -> str:
    """The lines that differ, with their surroundings: "-" was recorded, "+" is asked now."""
    lines = list(unified_diff(told(recorded), told(asked), n=2, lineterm=""))[2:]
    shown = [line for line in lines if not line.startswith("@@")]
    if len(shown) > _MOST_LINES:
        shown = [*shown[:_MOST_LINES], f"... and {len(shown) - _MOST_LINES} lines more"]
    return "\n".join(f"    {line}" for line in shown)


def told(question: dict[str, Any]) -> list[str]:
    """A request, or a tool call, as lines to read: its settings, the tools, then the conversation."""
    request: dict[str, Any] = question.get("request") or {}
    lines: list[str] = []
    for key, value in (question | request).items():
        if key not in ("messages", "request", "tools"):
            lines += _wrapped(f"{key}: {_plain(value)}")
    for entry in request.get("tools") or ():
        function: dict[str, Any] = entry.get("function") or entry
        lines += _wrapped(f"tool {function.get('name')}: {_plain({key: item for key, item in function.items() if key != 'name'})}")
    for message in request.get("messages") or ():
        lines += _message(message)
    return lines


def _message(message: dict[str, Any]) -> list[str]:
    who = message.get("role", "?") + (f" ({message['tool_call_id']})" if "tool_call_id" in message else "")
    lines = _wrapped(f"{who}: {_plain(message['content'])}") if message.get("content") is not None else [f"{who}:"]
    for call in message.get("tool_calls") or ():
        function: dict[str, Any] = call.get("function") or {}
        lines += _wrapped(f"  calls {function.get('name')}({function.get('arguments')}) ({call.get('id')})")
    known = ("content", "role", "tool_call_id", "tool_calls")
    for key, value in message.items():
        if key not in known:
            lines += _wrapped(f"  {key}: {_plain(value)}")
    return lines


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _wrapped(text: str) -> list[str]:
    """Short lines, so that a diff of a long text shows the place."""
    lines: list[str] = []
    for line in text.splitlines() or [""]:
        lines += textwrap.wrap(line, _WIDTH, subsequent_indent="    ", drop_whitespace=False, replace_whitespace=False) or [""]
    return lines
