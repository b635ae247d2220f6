"""A minute of requests to one client: who may begin when. Pure rules behind a lock, without a clock; `RateLimit` asks them.

A sliding window, so that in no 60 seconds, wherever they begin, more is begun than allowed. The bucket that is usual for this lets twice as
much through in the minute after it was full.
"""

from __future__ import annotations

from threading import Lock

MINUTE = 60.0


class Ticket:
    """One request's place.

    Attributes:
        start: when it began or, while it waits, when it may by what is known now; monotonic seconds.
        tokens: what it is thought to take, or took.
        begun: whether it has begun.
        why: what it waits for.
    """

    __slots__ = ("begun", "start", "tokens", "why")

    def __init__(self, tokens: int) -> None:
        self.start = 0.0
        self.tokens = tokens
        self.begun = False
        self.why = ""


class SlidingWindow:
    """The requests of the last minute, and those that wait, first come, first served.

    Args:
        requests: how many may begin in a minute, or None.
        tokens: how many tokens those may take, or None; one that takes more by itself is alone in its minute.
    """

    def __init__(self, requests: int | None, tokens: int | None) -> None:
        self._requests = requests
        self._tokens = tokens
        self._lock = Lock()
        self._begun: list[Ticket] = []  # in the order of their start
        self._waiting: list[Ticket] = []  # in the order they came
        self._paused_until = 0.0
        self._output = 0.0

    def enter(self, now: float, tokens: int) -> Ticket:
        """Get in line; if nothing is in the way, the request has begun.

        Args:
            now: the monotonic time.
            tokens: about how many tokens the request has; what answers took so far on average is added.
        """
        with self._lock:
            self._forget(now)
            ticket = Ticket(tokens + round(self._output))
            if not self._waiting and self._paused_until <= now and self._has_room(ticket):
                self._begin(ticket, now)
            else:
                self._waiting.append(ticket)
                self._plan(ticket, now)
            return ticket

    def look(self, ticket: Ticket, now: float) -> None:
        """Begin if it is this one's turn, else plan anew: what others took less or left may bring it forward, a pause puts it back."""
        with self._lock:
            self._forget(now)
            if ticket not in self._waiting:  # it slept so long that nobody counted on it any more
                self._waiting.append(ticket)
            self._plan(ticket, now)

    def leave(self, ticket: Ticket) -> None:
        """Take a request out that will not be made, or was none."""
        with self._lock:
            for tickets in (self._waiting, self._begun):
                if ticket in tickets:
                    tickets.remove(ticket)

    def settle(self, ticket: Ticket, inputs: int, outputs: int) -> None:
        """Correct what was estimated by what the answer took."""
        with self._lock:
            ticket.tokens = inputs + outputs
            self._output += 0.2 * (outputs - self._output) if self._output else outputs

    def pause(self, until: float) -> None:
        """Let nobody begin before a time, since the provider said so."""
        with self._lock:
            self._paused_until = max(self._paused_until, until)

    def is_idle(self, now: float) -> bool:
        """Whether nothing is known that matters any more."""
        with self._lock:
            self._forget(now)
            return not self._begun and not self._waiting and self._paused_until <= now

    def _forget(self, now: float) -> None:
        """Drop what began a minute ago, and who should have begun then and never came back."""
        if self._begun and self._begun[0].start + MINUTE <= now:
            old = next((at for at, ticket in enumerate(self._begun) if ticket.start + MINUTE > now), len(self._begun))
            del self._begun[:old]
        if self._waiting and self._waiting[0].start + MINUTE <= now:
            self._waiting = [ticket for ticket in self._waiting if ticket.start + MINUTE > now]

    def _plan(self, ticket: Ticket, now: float) -> None:
        before = self._waiting[: self._waiting.index(ticket)]
        reasons = [*self._after_requests(before), *self._after_tokens(before, ticket), (self._paused_until, "the provider asked to wait")]
        start, why = max(reasons)
        if before and before[-1].start > start:
            start, why = before[-1].start, before[-1].why
        ticket.start, ticket.why = max(start, now), why
        if start <= now:
            self._waiting.remove(ticket)
            self._begin(ticket, now)

    def _has_room(self, ticket: Ticket) -> bool:
        """Whether a request may begin at once, when nobody waits."""
        if self._requests is not None and len(self._begun) >= self._requests:
            return False
        return self._tokens is None or not self._after_tokens([], ticket)

    def _begin(self, ticket: Ticket, now: float) -> None:
        ticket.start, ticket.begun = now, True
        self._begun.append(ticket)

    def _after_requests(self, before: list[Ticket]) -> list[tuple[float, str]]:
        """When there is room for one request more."""
        if self._requests is None or len(before) + len(self._begun) < self._requests:
            return []
        last = before[-self._requests] if len(before) >= self._requests else self._begun[len(before) - self._requests]
        return [(last.start + MINUTE, f"{self._requests} requests a minute")]

    def _after_tokens(self, before: list[Ticket], ticket: Ticket) -> list[tuple[float, str]]:
        """When there is room for its tokens."""
        if self._tokens is None:
            return []
        room = self._tokens - min(ticket.tokens, self._tokens)
        for other in (*reversed(before), *reversed(self._begun)):
            room -= other.tokens
            if room < 0:
                return [(other.start + MINUTE, f"{self._tokens} tokens a minute")]
        return []
