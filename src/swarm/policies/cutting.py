"""What one agent's conversation is cut down to, for ContextWindow: counting, and where to cut.

A cut stays where it is until the rest no longer fits either, so that the beginning of the request, which providers keep in a cache, stays
the same for many turns. Kept for a run, per agent and model, by position; a request that does not continue the one before is counted anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..effects import Message
from ..legal import json_text
from ..parts import shortened
from ..steps import begins_step, begins_turn, in_short, is_system
from ..tokens import Counter, estimate, size_of

MARK = 100
"""Characters at most of the mark that says what was left out; what is hardly longer than it would be with one is left alone."""


class Window:
    """One conversation, as far as it is known, and what of it is left out.

    Args:
        count: counts the tokens of a text.

    Attributes:
        summary: what stands for the messages that are left out, or "".
        gone: those that were left out and neither told nor summed up yet.
    """

    def __init__(self, count: Counter) -> None:
        self.summary = ""
        self.gone: list[Message] = []
        self._cut = 0  # how many messages of the body, which is what follows the instructions, are left out
        self._pinned: list[Message] = []  # those of them that stay all the same: system texts, and the user's message of the turn
        self._lead: list[Message] = []  # these and the summary, as they are sent
        self._short: dict[int, Message] = {}
        self._count = count
        self._head: list[Message] = []
        self._body: Sequence[Message] = ()
        self._sizes: list[int] = []
        self._head_size = self._tools_size = self._body_size = self._lead_size = 0
        self._tools: Any = None

    def take(self, request: dict[str, Any], is_folded: bool) -> bool:
        """Look at the next request. Returns whether it continues the one before; if it does not, nothing was looked at.

        Args:
            request: the request.
            is_folded: whether the instructions stand in the user's first message, if they are no message of their own.
        """
        messages: list[Message] = request["messages"]
        at, known, cut = len(self._head), len(self._sizes), self._cut
        is_like = known and len(messages) > at and messages[at] is self._body[0] and messages[:at] == self._head
        if not is_like:
            at = _head_of(messages, is_folded)
        body = messages[at:]
        if known > len(body) or (known and (body[known - 1] != self._body[-1] or (cut and body[cut] != self._body[cut]))):
            return False
        if not is_like and self._head != messages[:at]:
            self._head = messages[:at]
            self._head_size = self._size(self._head)
        if self._tools is not request.get("tools"):
            self._tools = request.get("tools")
            self._tools_size = self._count(json_text(self._tools)) if self._tools else 0
        for message in body[known:]:
            size = size_of(message, self._count)
            self._sizes.append(size)
            self._body_size += size
        self._body = body
        return True

    def _size(self, messages: Sequence[Message]) -> int:
        return estimate(messages, self._count)

    @property
    def tokens(self) -> int:
        """The tokens of the request as it would be sent now, before they are corrected by what the provider counted."""
        return self._head_size + self._tools_size + self._lead_size + self._body_size

    @property
    def is_changed(self) -> bool:
        """Whether anything is left out."""
        return bool(self._cut or self._short)

    @property
    def messages(self) -> list[Message]:
        """The messages to send."""
        rest = list(self._body[self._cut :])
        for index, message in self._short.items():
            if index >= self._cut:
                rest[index - self._cut] = message
        return [*self._head, *self._lead, *rest]

    def drop(self, most: float) -> None:
        """Leave out whole turns from the beginning, and of the last turn its first steps, until at most so many tokens are there beside a
        summary, or no more may go. The user's last message stays, as do system texts and the last step.
        """
        body, first, size = self._body, self._cut, self._body_size
        last_turn, last_step = _last(body, begins_turn), _last(body, begins_step)
        most -= self._head_size + self._tools_size
        pinned = [message for message in self._pinned if is_system(message)]
        asked = self._pinned[len(pinned) :]
        best, lead, left = first, self._pinned, size
        for at in range(first, last_step + 1):
            is_turn = begins_turn(body, at)
            if at > first and (is_turn or (at > last_turn and begins_step(body, at))):
                best, left, lead = at, size, pinned if is_turn else [*pinned, *asked]
                if self._size(lead) + size <= most:
                    break
            size -= self._sizes[at]
            if is_system(body[at]):
                pinned = [*pinned, body[at]]
            elif is_turn:
                asked = [body[at]]
        self.gone += [message for message in (*self._pinned, *body[first:best]) if not any(message is kept for kept in lead)]
        self._cut, self._pinned, self._body_size = best, lead, left
        self.settle(self.summary)

    def settle(self, summary: str = "") -> None:
        """Put a summary, if there is one, in the place of what is left out."""
        fixed = [message for message in self._pinned if is_system(message)]
        self.summary, self._lead = summary, [*fixed, *in_short(summary), *self._pinned[len(fixed) :]]
        self._lead_size = self._size(self._lead)

    def shorten(self, chars: int, *, last: bool) -> int:
        """Shorten results of tools, those of the last step or those before it, to so many characters. Returns how many were longer."""
        number, last_step = 0, max(0, _last(self._body, begins_step))
        for at in range(last_step, len(self._body)) if last else range(self._cut, last_step):
            message = self._body[at]
            now = self._short.get(at, message).get("content")
            if message["role"] == "tool" and isinstance(now, str) and len(now) > chars + MARK:
                short = self._short[at] = {**message, "content": shortened(message["content"], chars)}
                size = self._size([short])
                self._body_size, self._sizes[at], number = self._body_size - self._sizes[at] + size, size, number + 1
        return number


def _head_of(messages: list[Message], is_folded: bool) -> int:
    """How many messages hold the instructions."""
    at = next((at for at, message in enumerate(messages) if not is_system(message)), len(messages))
    if at or not is_folded:
        return at
    return 1 + next((at for at, message in enumerate(messages) if message["role"] == "user"), 0)


def _last(body: Sequence[Message], begins: Callable[[Sequence[Message], int], bool]) -> int:
    return next((at for at in range(len(body) - 1, -1, -1) if begins(body, at)), -1)
