"""How much a run may do: budgets, and the detection of loops that go nowhere. Pure rules, no clock."""

from __future__ import annotations

from typing import Any, Literal

from .types import Usage

WARN_AFTER = 10
"""Replies in a row with the same calls and results before a warning is logged."""

_AMOUNTS = ("model_calls", "handoffs", "tool_calls", "tokens", "seconds", "repeats")
_ON_LIMIT = ("return", "answer", "raise")


class Limits:
    """What one run, with everything nested in it, may use. None means no limit.

    Args:
        model_calls: answers of a model.
        handoffs: changes of the active agent; handing over to oneself does not count.
        tool_calls: calls that are run; a reply that would pass the limit runs none of its calls.
        tokens: input and output tokens together.
        seconds: looked at before each turn and each call, so what runs is finished; `run(timeout=...)` interrupts instead.
        repeats: replies in a row with the same calls and the same results, or handoffs with nothing else between, before the run
            stops with "loop"; None switches that off.
        on_limit: "return" returns what was done; "answer" asks once more without tools and returns that; "raise" raises
            LimitExceeded, with the response on it.

    Attributes are the arguments, and `bounded`: whether there is anything to look at before a model call.

    Raises:
        ValueError: a negative amount, or an unknown `on_limit`.
    """

    __slots__ = (*_AMOUNTS, "bounded", "on_limit")

    def __init__(
        self,
        model_calls: int | None = None,
        handoffs: int | None = None,
        tool_calls: int | None = None,
        tokens: int | None = None,
        seconds: float | None = None,
        repeats: int | None = 50,
        on_limit: Literal["return", "answer", "raise"] = "return",
    ) -> None:
        self.model_calls = model_calls
        self.handoffs = handoffs
        self.tool_calls = tool_calls
        self.tokens = tokens
        self.seconds = seconds
        self.repeats = repeats
        self.on_limit: Literal["return", "answer", "raise"] = on_limit
        self.bounded = any(amount is not None for amount in (model_calls, tokens, seconds))
        for name in _AMOUNTS:
            value = getattr(self, name)
            if value is not None and not isinstance(value, int | float):
                raise TypeError(f"Limits({name}={value!r}) must be a number")
            if value is not None and not value >= 0:  # NaN is neither
                raise ValueError(f"Limits({name}={value!r}) must not be negative; leave it out for no limit")
        if on_limit not in _ON_LIMIT:
            raise ValueError(f"Limits(on_limit={on_limit!r}) must be one of {', '.join(map(repr, _ON_LIMIT))}")

    def tighter(self, other: Limits) -> Limits:
        """The smaller of each amount; `on_limit` is that of `other`, the inner scope, unless that is the default."""
        amounts = {name: _smaller(getattr(self, name), getattr(other, name)) for name in _AMOUNTS}
        return Limits(**amounts, on_limit=self.on_limit if other.on_limit == "return" else other.on_limit)

    def __repr__(self) -> str:
        given = [f"{name}={getattr(self, name)!r}" for name in _AMOUNTS if getattr(self, name) is not None]
        return f"Limits({', '.join([*given, f'on_limit={self.on_limit!r}'])})"


NO_LIMITS = Limits()
"""What a run may do by default: anything but go in circles."""


def _smaller(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


class Counts:
    """What a run has used so far, shared with the runs nested in it."""

    __slots__ = ("handoffs", "model_calls", "tool_calls")

    def __init__(self, model_calls: int = 0, handoffs: int = 0, tool_calls: int = 0) -> None:
        self.model_calls = model_calls
        self.handoffs = handoffs
        self.tool_calls = tool_calls


class Circles:
    """How often one run, without those nested in it, has gone in place."""

    __slots__ = ("bounces", "executed", "repeats")

    def __init__(self) -> None:
        self.repeats = 1
        self.bounces = 0
        self.executed: list[Any] = []


def used_up(limits: Limits, counts: Counts, usage: Usage, elapsed: float, only_seconds: bool = False) -> tuple[str, str] | None:
    """The first limit that forbids going on, as (name, reason), or None.

    Args:
        limits: what is allowed.
        counts: what was done.
        usage: what models used.
        elapsed: seconds since the run began, 0 if nobody limits them.
        only_seconds: look at the time only, as between two calls of a reply.
    """
    for name, used in () if only_seconds else (("model_calls", counts.model_calls), ("tokens", usage.total_tokens)):
        allowed = getattr(limits, name)
        if allowed is not None and used >= allowed:
            return name, f"{used} of {allowed} {name.replace('_', ' ')} used"
    if limits.seconds is not None and elapsed >= limits.seconds:
        return "seconds", f"{elapsed:.1f} of {limits.seconds} seconds used"
    return None


def reason_of(limit: str) -> str:
    """The stop reason for a limit."""
    return limit if limit in ("max_turns", "loop") else f"limit:{limit}"


def last_words(message: dict[str, Any], finish: str | None) -> str:
    """The reason to stop after a message that calls nothing."""
    cut = finish if finish in ("length", "content_filter") else None
    return "refusal" if message.get("refusal") else cut or "complete"


def too_many_calls(limits: Limits, counts: Counts, wanted: int) -> tuple[str, str] | None:
    """The limit that forbids running the calls of a reply, as (name, reason), or None."""
    if limits.tool_calls is not None and counts.tool_calls + wanted > limits.tool_calls:
        return "tool_calls", f"{counts.tool_calls} of {limits.tool_calls} tool calls used, {wanted} more wanted"
    return None


def repeated(circles: Circles, executed: list[Any], only_handoffs: bool) -> int:
    """Note one executed reply; returns how often the run has now gone in place.

    Args:
        circles: updated.
        executed: name, result and arguments of each of the reply's calls, one after another; arguments are compared by value.
        only_handoffs: whether the reply changed the active agent and did nothing else.
    """
    circles.repeats = circles.repeats + 1 if _equal(executed, circles.executed) else 1
    circles.executed = executed
    circles.bounces = circles.bounces + 1 if only_handoffs else 0
    return max(circles.repeats, circles.bounces)


def _equal(one: list[Any], other: list[Any]) -> bool:
    try:
        return bool(one == other)
    except Exception:  # values with an == of their own, such as arrays
        return False
