"""What both drivers do with a streamed reply that has gates: its text passes them before it is shown, everything else waits for the end.

Text that a gate keeps back, changes or cuts off is never shown, and the texts that are shown, joined, are the final message. Reasoning and
calls are told at the end in one delta, since a reply that is cut off has none.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any, TypeAlias, cast

from ..effects import CallModel, Cut, Flow, Message, Reply
from ..errors import StreamBroken
from ..events import Delta, Event, Nested, nested
from ..merging import merged

Work: TypeAlias = Generator[Event | Flow, Any, None]
"""Yields events to hand out, and flows to run: what a flow comes to is sent back."""


class Gating:
    """One streamed reply on its way through the gates of its call.

    Args:
        effect: the call.

    Attributes:
        is_cut: whether a gate ended the reply.
    """

    def __init__(self, effect: CallModel) -> None:
        self.is_cut = False
        self._effect = effect
        self._gates = [make() for make in effect.gates]
        self._shown: list[str] = []
        self._told = False
        self._rest: Message = {}

    def take(self, event: Event) -> Work:
        """A delta as it came."""
        while isinstance(event, Nested):
            event = event.event
        for key, value in cast("Delta", event).delta.items():
            if key == "content":
                yield from self._pass(0, [value])
            elif key == "tool_calls":
                self._rest[key] = [*self._rest.get(key, ()), *value]
            elif key not in ("role", "sender"):
                self._rest[key] = merged(key, self._rest.get(key), value)

    def end(self) -> Work:
        """The end of the stream: what the gates kept back, then what is no text."""
        for number, gate in enumerate(self._gates):
            yield from self._pass(number + 1, gate.end())
        if self._rest and not self.is_cut:
            yield self._event(self._rest)

    def reply(self, reply: Reply | None) -> Reply:
        """The reply as it was shown.

        Args:
            reply: as it came, or None if it was cut off.
        """
        text = "".join(self._shown)
        if reply is None or self.is_cut:
            usage = None if reply is None else reply.usage
            reply = Reply({"role": "assistant", "content": text}, usage, "cut")  # an end that no cache takes for a whole answer
            reply.cut = True
        else:
            content = reply.message.get("content")
            parts = [part for part in cast("list[Any]", content) if part.get("type") != "text"] if isinstance(content, list) else []
            whole: Any = [*parts, *([{"type": "text", "text": text}] if text else ())] if parts else text
            reply.message = {**reply.message, "content": whole or (content and whole)}
        reply.told = self._told
        return reply

    def partial(self) -> Message | None:
        """The text that was shown so far, as a message."""
        text = "".join(self._shown)
        return {"role": "assistant", "content": text} if text else None

    def failure(self, error: BaseException) -> BaseException:
        """The error as the loop should see it: with what was shown, not with what had come; as it was if nothing was shown."""
        if isinstance(error, StreamBroken) and not self._told and isinstance(error.__cause__, Exception):
            return error.__cause__
        if hasattr(error, "partial"):
            error.partial = self.partial()  # type: ignore[attr-defined]  # a CancelledError has it here too
        return error

    def _pass(self, number: int, items: Iterable[Any]) -> Work:
        """Let texts pass the gates from this number on."""
        for item in items:
            if self.is_cut:
                return
            came: Any = item if isinstance(item, str | Cut) else (yield item)
            text = came.text if isinstance(came, Cut) else came
            if text and number < len(self._gates):
                yield from self._pass(number + 1, self._gates[number].feed(text))
            elif text:
                self._shown.append(text)
                yield self._event({"content": text})
                if self._effect.partials is not None and (value := self._effect.partials.feed(text)) is not None:
                    yield nested(self._effect.path, value)
            if isinstance(came, Cut):
                for later, gate in enumerate(self._gates[number:], number):
                    yield from self._pass(later + 1, gate.end())
                self.is_cut = True

    def _event(self, delta: Message) -> Event:
        name = self._effect.agent.name
        if not self._told:
            self._told = True
            delta = {"role": "assistant", "sender": name, **delta}
        return nested(self._effect.path, Delta(name, delta))
