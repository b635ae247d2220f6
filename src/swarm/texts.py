"""Texts of a stream that came together, on their way from a driver to a stream: what it costs to hand one out is paid once for all of them.

Apart from `events`, since nobody who watches a run ever sees this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from operator import length_hint
from typing import Any

from .events import Delta, Event, as_stream_item


class Texts(Event):
    """Deltas of text that came together. A driver hands them to a stream, which takes them one by one.

    Attributes:
        left: the deltas that have not been taken.
    """

    __slots__ = ("left",)

    def __init__(self, agent: str, deltas: list[dict[str, Any]]) -> None:
        self.agent = agent
        self.left = iter(deltas)

    def __len__(self) -> int:
        """How many are left."""
        return length_hint(self.left)


def items_of(item_of: Callable[[Event], Any]) -> Callable[[Texts], Iterator[Any]]:
    """What makes of texts the items that `item_of` makes of their events, each when it is taken.

    Args:
        item_of: `as_stream_item`, whose items these deltas are already, or what gives an event as it is.
    """
    return _as_they_are if item_of is as_stream_item else _as_deltas


def _as_they_are(texts: Texts) -> Iterator[dict[str, Any]]:
    return texts.left


def _as_deltas(texts: Texts) -> Iterator[Event]:
    return map(partial(Delta, texts.agent), texts.left)
