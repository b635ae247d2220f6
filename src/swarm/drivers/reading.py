"""A streamed reply while it is read: events out of chunks, the same in both drivers.

Texts that came together are handed out as one, since a trip through the generator of a driver costs more than all else that a chunk needs
behind its JSON. What the holder of the run had not taken of them when it was ended is no part of what came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import Any

from ..assembly import Assembler
from ..effects import CallModel, Message
from ..events import Delta, Event, nested
from ..partials import Partials
from ..run import Signal
from ..texts import Texts


class Reading:
    """The reading of one streamed reply.

    Args:
        effect: what it answers; gets the seconds that it takes, and those until the first delta.
        grouped: whether the holder of the run takes texts that came together as Texts; gates take them one by one.
        signal: how the holder asks the run to end; looked at behind each event.
        look_for_an_end: called when it says so; raises Cancelled if that is to be now.

    Attributes:
        assembler: what came so far.
        partials: finds the partial values that are told, or None; gates find them in what they let through.
    """

    __slots__ = ("_agent", "_began", "_effect", "_grouped", "_look_for_an_end", "_path", "_signal", "_texts", "assembler", "partials")

    def __init__(self, effect: CallModel, grouped: bool, signal: Signal, look_for_an_end: Callable[[], None]) -> None:
        self.assembler = Assembler(effect.agent.name)
        self._effect = effect
        self._agent = effect.agent.name
        self._path = effect.path
        self._grouped = grouped and not effect.path and not effect.gates
        self._signal = signal
        self._look_for_an_end = look_for_an_end
        self._texts: Texts | None = None
        self._began = perf_counter()
        effect.time_to_first_delta = None  # of the try before
        self.partials = None if effect.gates else effect.partials
        if effect.partials is not None:
            effect.partials.begin()

    def event(self, chunk: Any) -> Event | None:
        """The event for a chunk that came by itself, or None."""
        delta = self.assembler.feed(chunk)
        if delta is None:
            return None
        if self._effect.time_to_first_delta is None:
            self._effect.time_to_first_delta = perf_counter() - self._began
        return nested(self._path, Delta(self._agent, delta)) if self._path else Delta(self._agent, delta)

    def events(self, chunks: Iterable[Any]) -> Iterator[Event]:
        """The events for chunks that came together, each made when it is asked for."""
        return self._events(self.assembler.feed_all(chunks))

    def events_of(self, chunk: Any) -> Iterator[Event]:
        """The events for a chunk that came by itself, where partial values are told."""
        delta = self.assembler.feed(chunk)
        return self._events(() if delta is None else (delta,))

    def _events(self, came: Iterable[Message | list[Message]]) -> Iterator[Event]:
        for news in came:
            if self._effect.time_to_first_delta is None:
                self._effect.time_to_first_delta = perf_counter() - self._began
            told = self._told(news) if isinstance(news, list) else (Delta(self._agent, news),)
            for event in told if self.partials is None else _with_value(told, self.partials, _text(news)):
                yield nested(self._path, event) if self._path else event
                if self._signal.cancelled:
                    self._look_for_an_end()

    def _told(self, deltas: list[Message]) -> Iterator[Event]:
        texts = self._texts = Texts(self._agent, deltas)
        if not self._grouped:
            yield from (Delta(self._agent, delta) for delta in texts.left)
        while len(texts):
            yield texts

    def partial(self) -> Message | None:
        """What was shown of the reply, as `Assembler.partial` has it, once the reading has ended before its time."""
        if self._texts is not None:
            self.assembler.take_back(len(self._texts))
            self._texts = None
        return self.assembler.partial()

    def ended(self) -> None:
        """Note on the effect how long it took."""
        self._effect.seconds = perf_counter() - self._began


def _text(news: Message | list[Message]) -> str:
    return "".join([delta.get("content") or "" for delta in (news if isinstance(news, list) else (news,))])


def _with_value(told: Iterable[Event], partials: Partials, text: str) -> Iterator[Event]:
    """Events for a text, and then for the partial value that it adds to."""
    yield from told
    if text and (value := partials.feed(text)) is not None:
        yield value
