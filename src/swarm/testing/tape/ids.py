"""Numbers the tool calls of a recorded run, since most providers give them random ids.

The run gets the numbers while it is recorded too, so it is the same run when it is replayed. The provider gets its own ids back: some keep
state in them (https://github.com/BerriAI/litellm/pull/16895).
"""

from __future__ import annotations

from threading import Lock
from typing import Any, cast

from ...legal import is_dict
from .lines import Line


class CallIds:
    """The ids of the tool calls on one tape."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._own: dict[str, str] = {}

    def numbered(self, message: Line, known: dict[str, str]) -> Line:
        """A message of the provider's, or a delta, as the run gets it.

        Args:
            message: left as it is.
            known: the numbers given in this reply so far, by the provider's ids.
        """
        calls: Any = message.get("tool_calls")
        if not isinstance(calls, list):
            return message
        return {**message, "tool_calls": [self._numbered_call(call, known) for call in cast("list[Any]", calls)]}

    def numbered_chunk(self, chunk: Line, known: dict[str, str]) -> Line:
        """The same for a chunk of a stream."""
        choices: Any = chunk.get("choices")
        if not isinstance(choices, list):
            return chunk
        return {**chunk, "choices": [self._numbered_choice(choice, known) for choice in cast("list[Any]", choices)]}

    def _numbered_choice(self, choice: Any, known: dict[str, str]) -> Any:
        if not is_dict(choice):
            return choice
        parts = {name: part for name in ("delta", "message") if is_dict(part := choice.get(name))}
        return {**choice, **{name: self.numbered(part, known) for name, part in parts.items()}}

    def _numbered_call(self, call: Any, known: dict[str, str]) -> Any:
        own: Any = call.get("id") if is_dict(call) else None
        if not (isinstance(own, str) and own):
            return call
        if own not in known:
            with self._lock:
                known[own] = f"call_{len(self._own) + 1}"
                self._own[known[own]] = own
        return {**call, "id": known[own]}

    def own(self, message: Line) -> Line:
        """A message of a request as the provider gets it."""
        answered, calls = message.get("tool_call_id"), message.get("tool_calls")
        if answered in self._own:
            return {**message, "tool_call_id": self._own[answered]}
        if not calls:
            return message
        return {**message, "tool_calls": [{**call, "id": self._own.get(call["id"], call["id"])} for call in calls]}
