"""What `debug=True` prints: a time-stamped trace of one run on standard output, redacted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .effects import Message
from .events import Event, HandedOff, LimitHit, MessageAdded, MessageDone, Paused, PolicyActed, ToolDone, ToolStarted, TurnStarted
from .parts import in_words, placeholder
from .util import debug_print


def trace(event: Event, redact: Callable[[Any], Any] | None) -> None:
    """Print the line for an event, if it has one."""
    line = _line(event)
    if line:
        debug_print(True, line if redact is None else str(redact(line)))


def _line(event: Event) -> str | None:
    match event:
        case TurnStarted():
            return f"Turn {event.turn}: asking {event.agent}"
        case MessageDone():
            return f"Reply of {event.agent}: {_without_data(event.message)}"
        case MessageAdded():
            return f"Added for {event.agent}: {in_words(event.message)}"
        case ToolStarted():
            return f"Tool call: {event.name} with arguments {event.arguments}"
        case ToolDone():
            return f"Tool result of {event.call.name} ({event.call.outcome}): {event.message['content']}"
        case HandedOff():
            return f"Handoff: {event.agent} -> {event.to}"
        case LimitHit():
            return f"Limit {event.limit}: {event.reason}"
        case PolicyActed():
            return f"{event.policy} for {event.agent}: {event.what}{f' ({event.reason})' if event.reason else ''}"
        case Paused():
            return f"Paused for approval: {event.pending}"
        case _:
            return None


def _without_data(message: Message) -> Message:
    """A message with placeholders for what would fill the screen: images, and the sound of a spoken reply."""
    shown = {**message}
    if isinstance(message.get("content"), list):
        shown["content"] = in_words(message)
    if message.get("audio"):
        shown["audio"] = placeholder({"type": "audio", "audio": message["audio"]})
    return shown
