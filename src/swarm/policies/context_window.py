"""ContextWindow: keeps each request within a number of tokens, so that a long conversation does not end in a refusal.

Only the request gets shorter; the run's history and `Response.messages` stay whole. Cutting a little before every call would change the
beginning of every request, which is what providers keep in their caches: so when there is too much, it is cut to three quarters, and then
nothing changes until it is full again.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Literal

from ..effects import Call, CallModel, Emit, Flow, Reply
from ..errors import ContextLengthExceeded
from ..events import PolicyActed
from ..tokens import Counter
from .counting import KNOWN, counter_for
from .cutting import Window
from .given import whole
from .summary import Summary

KEPT = 3 / 4
"""How much of the window is filled after a cut."""
SHORT = 500
"""Characters that are left of a tool's result that the model has seen."""


class ContextWindow:
    """Keeps what is sent to a model within a number of tokens.

    Calls and their answers stay together. Instructions and other system texts, the user's last message, and the last step (what the model
    has not answered yet) always stay. What a provider refuses as too long is cut further and sent once more. A cut is told: PolicyActed.

    Args:
        max_tokens: of a request, its tools included. The window of a model holds the answer too, so leave room for that.
        strategy: "drop" leaves out the oldest turns, then the oldest steps of the last turn; "shorten" first shortens results of tools that
            the model has seen; a Summary drops, and puts a summary in their place.

    Raises:
        ValueError: `max_tokens` below 1, or an unknown strategy.
    """

    def __init__(self, max_tokens: int, strategy: Literal["drop", "shorten"] | Summary = "drop") -> None:
        whole("ContextWindow(max_tokens=...)", max_tokens)
        if strategy not in ("drop", "shorten") and not isinstance(strategy, Summary):  # type: ignore[redundant-expr]  # any caller
            raise ValueError(f"ContextWindow(strategy={strategy!r}) must be 'drop', 'shorten' or a Summary(...)")
        self.max_tokens = max_tokens
        self.strategy = strategy

    def model(self, call: CallModel) -> Flow:
        """Send no more than fits."""
        kept: dict[Any, Any] = call.run.state(self) if call.run is not None else {}
        model = call.request.get("model", "")
        count = KNOWN.get(model) or (yield Call(counter_for, (model,), worker=True))  # off the event loop, since it reads a file
        key = (call.agent, call.path, model)
        window = _window(call, kept.get(key), count)
        scale, limit = kept.get(("scale", model), 1.0), kept.get(("limit", model), self.max_tokens)
        if window.tokens * scale > limit or window.gone:
            kept[key] = window
            yield from self._shrink(call, window, scale, limit, limit * KEPT)
        elif key not in kept:
            kept[key] = window
        try:
            reply = yield _with(call, window)
        except ContextLengthExceeded:
            kept[key], sent = window, window.tokens * scale
            limit = kept["limit", model] = min(sent, limit) * KEPT
            with suppress(ContextLengthExceeded):  # it is for the provider to say
                yield from self._shrink(call, window, scale, limit, limit)
            if window.tokens * scale >= sent:
                raise
            reply = yield _with(call, window)
        _learn(kept, model, window, reply)
        return reply

    def _shrink(self, call: CallModel, window: Window, scale: float, limit: float, target: float) -> Flow:
        """Bring a window from what it has to at most `limit`, to `target` if something is dropped.

        Raises:
            ContextLengthExceeded: what has to stay is more.
        """
        had = window.tokens * scale
        done: list[str] = []
        if self.strategy == "shorten" and (number := window.shorten(SHORT, last=False)):
            done.append(f"shortened {number} results")
        summary = self.strategy if isinstance(self.strategy, Summary) else None
        room = min(summary.tokens, target / scale / 4) if summary is not None else 0
        if window.tokens * scale > limit:
            window.drop(target / scale - room)
        if gone := window.gone:
            text = (yield from summary.made(call, window.summary, gone, target / scale - room, room)) if summary is not None else ""
            window.settle(text)
            window.gone = []
            done.append(f"{'summed up' if text else 'dropped'} {len(gone)} messages")
        chars, new = int(limit * 4), 0
        while self.strategy == "shorten" and window.tokens * scale > limit and chars >= SHORT:
            new = max(new, window.shorten(chars, last=True))
            chars //= 2
        if new:
            done.append(f"shortened {new} new results")
        left = window.tokens * scale
        if done:
            why = f"{had:,.0f} tokens, {limit:,.0f} allowed, {left:,.0f} left"
            yield Emit(PolicyActed(call.agent.name, "ContextWindow", ", ".join(done), why))
        if left > limit:
            raise ContextLengthExceeded(_too_much(call, left, limit))


def _window(call: CallModel, window: Window | None, count: Counter) -> Window:
    is_folded = bool(vars(call.agent)["instructions"])
    if window is None or not window.take(call.request, is_folded):
        window = Window(count)
        window.take(call.request, is_folded)
    return window


def _with(call: CallModel, window: Window) -> CallModel:
    return call.replace(request={**call.request, "messages": window.messages}) if window.is_changed else call


def _learn(kept: dict[Any, Any], model: str, window: Window, reply: Reply) -> None:
    """Correct the estimate by what the provider counted. A number that cannot be right is not believed."""
    counted = reply.call.input_tokens if reply.call is not None and not reply.call.estimated else None
    if counted:
        scale = counted / window.tokens
        kept["scale", model] = scale if 0.5 <= scale <= 4.0 else 4.0 if scale > 4.0 else 0.5


def _too_much(call: CallModel, left: float, limit: float) -> str:
    return (
        f"the least that can be sent to {call.agent.name} has about {left:,.0f} tokens, {left - limit:,.0f} more than allowed: "
        "its instructions, its tools, the user's last message and what came last stay. Shorten these, give results of tools a limit "
        "(@tool(max_chars=...), or strategy='shorten'), or allow more"
    )
