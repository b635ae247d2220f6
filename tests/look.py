"""What tests look at in a response and in what was sent."""

from __future__ import annotations

from typing import Any

from swarm import Response

ALLOWED_KEYS = {
    "system": {"role", "content"},
    "developer": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls"},
    "tool": {"role", "tool_call_id", "content"},
}
"""The keys that a strict server takes in a message that holds nothing special."""


def tool_texts(response: Response) -> list[str]:
    """The contents of the tool messages, in order."""
    return [message["content"] for message in response.messages if message["role"] == "tool"]


def outline(response: Response) -> list[tuple[str, Any, Any]]:
    """Each message as role, sender or tool, content."""
    return [(m["role"], m.get("sender") or m.get("tool_name"), m["content"]) for m in response.messages]


def tool_names(request: dict[str, Any]) -> list[str]:
    """The names of the tools that a request offers, in order."""
    return [entry["function"]["name"] for entry in request.get("tools", [])]


def system_text(request: dict[str, Any]) -> str | None:
    """The instructions in a request, or None."""
    first = request["messages"][0]
    return first["content"] if first["role"] == "system" else None


def is_valid(messages: list[dict[str, Any]]) -> bool:
    """Whether each call is answered once, in call order, directly behind its message, with ids that are not empty and used once."""
    waiting: list[str] = []
    seen: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if not waiting or message["tool_call_id"] != waiting.pop(0):
                return False
            continue
        ids = [call["id"] for call in message.get("tool_calls") or ()]
        if waiting or not all(ids) or len(set(ids)) < len(ids) or seen & set(ids):
            return False
        seen.update(ids)
        waiting = ids
    return not waiting


def sent_unknown_keys(requests: list[dict[str, Any]]) -> set[str]:
    """Keys of sent messages that a strict server would refuse, and keys that are null without need."""
    wrong: set[str] = set()
    for request in requests:
        for message in request["messages"]:
            wrong |= message.keys() - ALLOWED_KEYS[message["role"]]
            wrong |= {
                f"null {key}" for key, value in message.items() if value is None and not (key == "content" and "tool_calls" in message)
            }
    return wrong
