"""RateLimit: keeps to what a provider allows a minute, before the provider has to say no."""

from __future__ import annotations

from threading import Lock
from typing import Any

from ..effects import CallModel, Emit, Flow, Now, Reply, Sleep
from ..errors import RateLimitError, TransientError
from ..events import PolicyActed
from ..models.client import client_of
from ..run import base_url_of
from ..tokens import estimate
from .given import whole
from .sliding_window import MINUTE, SlidingWindow, Ticket


class RateLimit:
    """Lets no more requests and tokens through in any minute than a provider allows, for all runs that share this object.

    Runs in any thread or event loop wait in one line for each client, first come, first served; clients with the same `base_url` are one.
    Tokens are estimated before a call and corrected by what the answer took. A provider that refuses all the same and says for how long
    (`Retry-After`) is left alone that long by everybody. A wait that would not end before the run does is not begun.

    Args:
        requests_per_minute: how many calls may begin in any 60 seconds, or None for no limit.
        tokens_per_minute: how many tokens, input and output together, calls may take that begin in any 60 seconds, or None.
        wait: False raises RateLimitError instead of waiting, with `retry_after`, for a `Retry` or `Fallback` further out or for the caller.

    Raises:
        ValueError: neither limit, or one below 1.
        TypeError: one that is no whole number.
    """

    def __init__(self, requests_per_minute: int | None = None, tokens_per_minute: int | None = None, wait: bool = True) -> None:
        if requests_per_minute is None and tokens_per_minute is None:
            raise ValueError("RateLimit needs requests_per_minute=, tokens_per_minute= or both")
        for name, amount in (("requests_per_minute", requests_per_minute), ("tokens_per_minute", tokens_per_minute)):
            if amount is not None:
                whole(f"RateLimit({name}=...)", amount)
        self.requests_per_minute = requests_per_minute
        self.tokens_per_minute = tokens_per_minute
        self.wait = wait
        self._lock = Lock()
        self._windows: dict[Any, tuple[SlidingWindow, Any]] = {}  # with the client, whose id() is no other's as long as it is kept

    def model(self, call: CallModel) -> Flow:
        """Wait for a turn, ask, and note what it took."""
        now: float = yield Now()
        tokens = 0 if self.tokens_per_minute is None else estimate(call.request.get("messages", ()))
        window, ticket = self._enter(call, now, tokens)
        if not ticket.begun:
            yield from self._turn(call, window, ticket, now)
        try:
            reply: Reply = yield call
        except TransientError as error:
            if error.status is not None and error.retry_after is not None:  # a refusal of ours has no status
                window.pause((yield Now()) + error.retry_after)
            raise
        if reply.call is None:  # answered by a policy further in, without a request
            window.leave(ticket)
        elif self.tokens_per_minute is not None and reply.call.input_tokens is not None:
            window.settle(ticket, reply.call.input_tokens, reply.call.output_tokens or 0)
        return reply

    def _turn(self, call: CallModel, window: SlidingWindow, ticket: Ticket, now: float) -> Flow:
        """Wait until it is this call's turn."""
        try:
            self._check(call, ticket, now)
            yield Emit(PolicyActed(call.agent.name, "RateLimit", f"waits {ticket.start - now:.1f} s for its turn", ticket.why))
            while not ticket.begun:
                left = ticket.start - now
                # Others may have left the line by then or taken less, so it looks again on the way: a few times a minute.
                yield Sleep(left if left <= 1 else min(left / 2, MINUTE / 4))
                now = yield Now()
                window.look(ticket, now)
                self._check(call, ticket, now)
        except BaseException:
            window.leave(ticket)
            raise

    def _check(self, call: CallModel, ticket: Ticket, now: float) -> None:
        """Refuse a wait that is not wanted, or not over before the run is."""
        end = call.run.deadline if call.run is not None else None
        is_late = end is not None and ticket.start >= end
        if ticket.begun or (self.wait and not is_late):
            return
        wait = ticket.start - now
        why = f", and the run ends in {max(0.0, (end or 0.0) - now):.1f} s" if is_late else "; wait so long, or RateLimit(wait=True) does"
        place = base_url_of(client_of(call.client)) or type(client_of(call.client)).__name__
        error = RateLimitError(f"not sent to {place} yet: {ticket.why}; the next call may begin in {wait:.1f} s{why}")
        error.retry_after = wait
        raise error

    def _enter(self, call: CallModel, now: float, tokens: int) -> tuple[SlidingWindow, Ticket]:
        """Get in line for the call's client. In one step, so that no window is dropped as idle just before somebody enters it."""
        client = client_of(call.client)
        key = base_url_of(client) or id(client)
        with self._lock:
            if key not in self._windows:
                self._windows = {known: kept for known, kept in self._windows.items() if not kept[0].is_idle(now)}
                self._windows[key] = SlidingWindow(self.requests_per_minute, self.tokens_per_minute), client
            window = self._windows[key][0]
            return window, window.enter(now, tokens)
