"""Half characters: read from servers without harm, joined where both halves come, and never sent.

JSON spells a character beyond 16 bits as two escapes, a surrogate pair (RFC 8259, section 7). Servers that cut texts between tokens cut
such pairs, and Python gives half a pair for each byte of a file name that is no UTF-8. The JSON reader refuses halves and UTF-8 cannot
hold them. So what has been refused is looked at again here; a text without halves never comes here and costs nothing.
"""

from __future__ import annotations

import json
from typing import Any, TypeAlias, cast

from pydantic_core import from_json

from ..legal import is_dict

REPLACEMENT = "\ufffd"
_DEEPEST = 200  # as deep as pydantic_core reads
_Place: TypeAlias = tuple[Any, ...]


def parsed(raw: bytes) -> Any:
    """The value of a JSON text, in which U+FFFD stands for each half character and for bytes that are no UTF-8.

    Raises:
        ValueError: it is no JSON.
    """
    try:
        return from_json(raw)
    except ValueError as error:
        try:
            return whole(with_halves(raw))
        except (ValueError, RecursionError):
            raise error from None


def with_halves(raw: bytes) -> Any:
    """The value of a JSON text with its half characters as they are.

    Raises:
        ValueError: it is no JSON, or nested deeper than the JSON reader allows.
        RecursionError: it is nested deeper than Python allows.
    """
    value = json.loads(raw.decode("utf-8", "replace"))
    level: list[Any] = [value]
    for _ in range(_DEEPEST):
        inner = [item.values() if is_dict(item) else cast("list[Any]", item) for item in level if isinstance(item, dict | list)]
        level = [item for items in inner for item in items]
        if not level:
            return value
    raise ValueError(f"nested more than {_DEEPEST} deep")


def whole(value: Any) -> Any:
    """A copy of a JSON value in which two halves are one character, and U+FFFD stands for one that is alone."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if is_dict(value):
        return {whole(key): whole(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [whole(item) for item in cast("list[Any]", value)]
    return value


class Halves:
    """Joins the characters that a server has cut in two between the chunks of a stream.

    A half at the end of a piece of text waits for the next piece of the same text, so the pieces joined are the text.
    """

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: dict[_Place, str] = {}

    def settled(self, chunk: dict[str, Any]) -> list[dict[str, Any]]:
        """The chunk without halves; before it, if it ends its choice, what still waited.

        Args:
            chunk: changed in place.
        """
        lost: list[dict[str, Any]] = []
        choices: Any = chunk.get("choices")
        for choice in cast("list[Any]", choices) if isinstance(choices, list) else ():
            if is_dict(choice):
                last = bool(choice.get("finish_reason"))
                choice["delta"] = self._joined(choice.get("delta"), (choice.get("index") or 0,), not last)
                lost += self.rest() if last else ()
        return [*lost, whole(chunk)]

    def rest(self) -> list[dict[str, Any]]:
        """Chunks for the halves that nothing came for."""
        chunks: list[dict[str, Any]] = []
        for index, *steps in self._waiting:
            delta: Any = REPLACEMENT
            for step in reversed(steps):
                delta = {step: delta} if isinstance(step, str) else [{"index": step, **delta}]
            chunks.append({"choices": [{"index": index, "delta": delta, "finish_reason": None}]})
        self._waiting.clear()
        return chunks

    def _joined(self, value: Any, place: _Place, hold: bool) -> Any:
        if isinstance(value, str) and value:
            text = self._waiting.pop(place, "") + value
            if hold and "\ud800" <= text[-1] <= "\udbff":
                self._waiting[place] = text[-1]
                text = text[:-1]
            return text
        if is_dict(value):
            return {key: self._joined(item, (*place, key), hold) for key, item in value.items()}
        if isinstance(value, list) and place[-1] == "tool_calls":
            calls = cast("list[Any]", value)
            return [self._joined(call, (*place, call.get("index", at) if is_dict(call) else at), hold) for at, call in enumerate(calls)]
        return cast("Any", value)
