"""What a store tells of a session, and the texts in which it keeps one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ...legal import call_name, is_utf8
from .keeping import Status


@dataclass(frozen=True)
class SessionInfo:
    """One session in a listing.

    Attributes:
        id: its id.
        user: whose it is, or None.
        tags: its tags, sorted.
        agent: the name of the agent that is active.
        status: "idle", "waiting" for decisions about calls, or "running": a run is at work on it, or was cut off.
        messages: how many there are.
        created, updated: when the first and the last step were saved.
        expires: when it goes, or None.
    """

    id: str
    user: str | None
    tags: tuple[str, ...]
    agent: str
    status: Status
    messages: int
    created: datetime
    updated: datetime
    expires: datetime | None

    def as_dict(self) -> dict[str, Any]:
        """The same as plain JSON, times in ISO 8601."""
        return vars(self) | {"tags": list(self.tags)} | {name: _iso(getattr(self, name)) for name in ("created", "updated", "expires")}


def info_of(row: Any, tags: tuple[str, ...]) -> SessionInfo:
    """What a row of the table of sessions says."""
    times = (row.created, row.updated, row.expires)
    created, updated, expires = (None if seconds is None else datetime.fromtimestamp(seconds, UTC) for seconds in times)
    assert created is not None and updated is not None
    return SessionInfo(row.id, row.user_id, tags, row.agent, row.status, row.messages, created, updated, expires)


def kept_text(value: Any) -> str:
    """JSON as a store keeps it: readable, unless it holds half a character, which no database takes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if is_utf8(text) else json.dumps(value, separators=(",", ":"))


def searched(message: dict[str, Any]) -> str:
    """What of a message a search finds, in the case that `folded` gives: its text, and the names and arguments of its calls."""
    content = message.get("content")
    parts: list[Any] = [content] if isinstance(content, str) else [part.get("text") for part in content or ()]
    for call in message.get("tool_calls") or ():
        function: dict[str, Any] = call.get("function") or {}
        parts += [call_name(call), function.get("arguments")]
    return folded("\n".join(part for part in parts if isinstance(part, str)))


def folded(text: str) -> str:
    """A text without regard to case, and without what databases do not take."""
    text = text.casefold().replace("\0", " ")
    return text if is_utf8(text) else text.encode("utf-8", "replace").decode()


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="milliseconds")
