"""What servers share that offer agents to clients of a protocol: what a client is told, and what becomes of calls that need a person."""

from __future__ import annotations

from typing import Any

from ..events import Event, HandedOff, ToolStarted, TurnStarted
from ..records import Refuse, Response
from ..tools import result_text

_NOBODY = "A person would have to agree to this call, and nobody can be asked here. Do without it, and say so."


def refusals(response: Response) -> dict[str, Any]:
    """A no to every call that waits for a person."""
    return {call.id: Refuse(_NOBODY) for call in response.pending}


def answer_text(response: Response) -> str:
    """What a run came to, as text: its last text, or the value of a function that ended it."""
    return result_text(response.output) if response.stop_reason == "stopped" else response.text or ""


def progress(event: Event) -> str | None:
    """What a watching client is told: who does what, but not with what."""
    if isinstance(event, TurnStarted):
        return f"{event.agent}: turn {event.turn}"
    if isinstance(event, ToolStarted):
        return f"{event.agent} calls {event.name}"
    if isinstance(event, HandedOff):
        return f"{event.agent} hands over to {event.to}"
    return None
