"""A list that may know its JSON text, so that what every request says again is encoded once: the tools on offer, the messages so far.

To everybody else it is an ordinary list, and whatever is made from it (a slice, a sum, a copy, a pickle) is a plain one that knows
nothing, so a policy that sends another list cannot send the text of this one. The text is compared with what the list holds before it is
used, which takes nanoseconds a message, since comparing looks at identity first. Only an entry that is itself changed in place goes
unseen; nobody may do that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, SupportsIndex, TypeAlias

from pydantic_core import to_json

Pieces: TypeAlias = Sequence[bytes | memoryview]
"""A JSON text; joined, it is whole. In pieces, since a long one would be copied each time it is put together."""


class Text(Protocol):
    """Knows the JSON text of a list."""

    def pieces(self, items: list[Any]) -> Pieces | None:
        """The text of the list as it is when it is sent, or None if it is not known.

        Raises:
            PydanticSerializationError: the list holds what JSON cannot.
        """
        ...

    def keep(self, sent: memoryview) -> None:
        """The same text again, where it stands in what is sent. Whoever remembers it holds on to this, so that it is not there twice."""
        ...


class Encoded(list[Any]):
    """A list that may know its JSON text.

    Attributes:
        text: who knows it, or None.
    """

    text: Text | None = None

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return list, (list(self),)


class Remembered:
    """Remembers the JSON text of the last list it was asked for. It may serve any number of threads."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: tuple[list[Any], bytes] | None = None

    def pieces(self, items: list[Any]) -> Pieces:
        """The text, made now if the list is another."""
        last = self._last
        if last is None or last[0] != items:
            last = self._last = (list(items), to_json(items))
        return last[1:]

    def keep(self, sent: memoryview) -> None:
        """Nothing is kept of a request, since this text outlives it."""


def remembering(items: list[Any]) -> Encoded:
    """A list of these entries that encodes them when it is first sent."""
    encoded = Encoded(items)
    encoded.text = Remembered()
    return encoded


def encode(fields: dict[str, Any]) -> bytes:
    """A JSON object, with the text of the lists that know theirs.

    Raises:
        PydanticSerializationError: it holds what JSON cannot.
    """
    known: dict[str, tuple[Text, Pieces]] = {}
    for name, value in fields.items():
        if type(value) is Encoded and value.text is not None and (pieces := value.text.pieces(value)) is not None:
            known[name] = value.text, pieces
    return _joined(fields, known) if known else to_json(fields)


def _joined(fields: dict[str, Any], known: dict[str, tuple[Text, Pieces]]) -> bytes:
    parts: list[bytes | memoryview] = []
    places: list[tuple[Text, int, int]] = []
    for name, value in fields.items():
        parts += (b"," if parts else b"{", to_json(name), b":")
        if name in known:
            text, pieces = known[name]
            begin = sum(map(len, parts))
            parts += pieces
            places.append((text, begin, sum(map(len, parts))))
        else:
            parts.append(to_json(value))
    parts.append(b"}")
    body = b"".join(parts)
    for text, begin, end in places:
        text.keep(memoryview(body)[begin:end])
    return body
