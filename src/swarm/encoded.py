"""A list that may know its JSON text, so that what every request says again is encoded once: the tools on offer, the messages so far.

To everybody else it is an ordinary list, and whatever is made from it (a slice, a sum, a copy, a pickle) is a plain one that knows
nothing, so a policy that sends another list cannot send the text of this one. The text is compared with what the list holds before it is
used, which takes nanoseconds a message, since comparing looks at identity first. Only an entry that is itself changed in place goes
unseen; nobody may do that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex, TypeAlias

from pydantic_core import to_json

Pieces: TypeAlias = Sequence[bytes | memoryview]
"""A JSON text; joined, it is whole. In pieces, since a long one would be copied each time it is put together."""


class Encoded(list[Any]):
    """A list that may know its JSON text.

    Attributes:
        known: gives the text of a list if it knows it, else None; asked with the list as it is when it is sent.
    """

    known: Callable[[list[Any]], Pieces | None] | None = None

    def pieces(self) -> Pieces | None:
        """The JSON text, or None if it is not known.

        Raises:
            PydanticSerializationError: the list holds what JSON cannot.
        """
        return None if self.known is None else self.known(self)

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return list, (list(self),)


class Remembered:
    """Remembers the JSON text of the last list it was asked for. It may serve any number of threads."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: tuple[list[Any], bytes] | None = None

    def __call__(self, items: list[Any]) -> Pieces:
        last = self._last
        if last is None or last[0] != items:
            last = self._last = (list(items), to_json(items))
        return last[1:]


def remembering(items: list[Any]) -> Encoded:
    """A list of these entries that encodes them when it is first sent."""
    encoded = Encoded(items)
    encoded.known = Remembered()
    return encoded


def encode(fields: dict[str, Any]) -> bytes:
    """A JSON object, with the text of the lists that know theirs.

    Raises:
        PydanticSerializationError: it holds what JSON cannot.
    """
    known = {name: text for name, value in fields.items() if type(value) is Encoded and (text := value.pieces()) is not None}
    if not known:
        return to_json(fields)
    parts: list[bytes | memoryview] = []
    for name, value in fields.items():
        parts += (b"," if parts else b"{", to_json(name), b":")
        parts += known.get(name) or (to_json(value),)
    parts.append(b"}")
    return b"".join(parts)
