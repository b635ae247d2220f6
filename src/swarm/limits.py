"""How much a run may do: budgets, and the detection of loops that go nowhere. Pure rules, no clock.

A run stands in scopes, one in another: the whole run, and each call with limits of its own around what happens inside it. What is used is
counted in all of them, and the outermost is looked at first, so that an inner one cannot hide that the whole is used up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from .errors import GuardrailTripped, LimitExceeded

if TYPE_CHECKING:
    from .run import Run

WARN_AFTER = 10
"""Replies in a row with the same calls and results before a warning is logged."""

_AMOUNTS = ("model_calls", "handoffs", "tool_calls", "tokens", "cost", "seconds", "repeats")
_ON_LIMIT = ("return", "answer", "raise")


class Limits:
    """What may be used in one scope, with everything nested in it. None means no limit.

    Given to `Swarm(limits=)` they hold for each of its runs, given to `run(limits=)` for that run, the smaller amount of the two; given to
    `agent.as_tool(limits=)` or `Handoff(returns=True, limits=)` for what happens inside one call, which the outer scopes count as well.

    Args:
        model_calls: answers of a model.
        handoffs: changes of the active agent; handing over to oneself does not count.
        tool_calls: calls that are run; a reply that would pass the limit runs none of its calls.
        tokens: input and output tokens together.
        cost: US dollars, by the prices of `swarm.prices`; looked at before each turn. A model whose price is not known is a ConfigError
            before it is asked.
        seconds: looked at before each turn and each call, so what runs is finished; `run(timeout=...)` interrupts instead.
        repeats: replies in a row with the same calls and the same results, or handoffs with nothing else between, before the run
            stops with "loop"; None switches that off.
        on_limit: "return" returns what was done; "answer" asks once more without tools and returns that; "raise" raises
            LimitExceeded, with the response on it. Inside a call this is what the call comes to.

    Attributes are the arguments, and `bounded`: whether any amount but `repeats` is limited.

    Raises:
        TypeError: an amount that is no number.
        ValueError: a negative amount, or an unknown `on_limit`.
    """

    __slots__ = (*_AMOUNTS, "bounded", "on_limit")

    def __init__(
        self,
        model_calls: int | None = None,
        handoffs: int | None = None,
        tool_calls: int | None = None,
        tokens: int | None = None,
        cost: float | None = None,
        seconds: float | None = None,
        repeats: int | None = 50,
        on_limit: Literal["return", "answer", "raise"] = "return",
    ) -> None:
        self.model_calls = model_calls
        self.handoffs = handoffs
        self.tool_calls = tool_calls
        self.tokens = tokens
        self.cost = cost
        self.seconds = seconds
        self.repeats = repeats
        self.on_limit: Literal["return", "answer", "raise"] = on_limit
        self.bounded = any(amount is not None for amount in (model_calls, handoffs, tool_calls, tokens, cost, seconds))
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
        amounts = {name: smaller(getattr(self, name), getattr(other, name)) for name in _AMOUNTS}
        return Limits(**amounts, on_limit=self.on_limit if other.on_limit == "return" else other.on_limit)

    def __repr__(self) -> str:
        given = [f"{name}={getattr(self, name)!r}" for name in _AMOUNTS if getattr(self, name) is not None]
        return f"Limits({', '.join([*given, f'on_limit={self.on_limit!r}'])})"


def checked(limits: Limits | None) -> Limits | None:
    """The limits given, or None.

    Raises:
        TypeError: something else.
    """
    if limits is not None and not isinstance(limits, Limits):  # type: ignore[redundant-expr]  # callers without a type checker
        raise TypeError(f"limits must be a Limits, not {limits!r}: limits=Limits(model_calls=10)")
    return limits


NO_LIMITS = Limits()
"""What a run may do by default: anything but go in circles."""


def smaller(one: Any, other: Any) -> Any:
    """The smaller of two amounts, of which None is the largest."""
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


class Scope:
    """What one scope has used: a whole run, or what happened inside one call that has limits of its own.

    Args:
        limits: what may be used in it.

    Attributes:
        limits: as given.
        model_calls, handoffs, tool_calls, tokens: used so far.
        cost: US dollars spent so far, where somebody limits them.
        started: monotonic time at which it began, where somebody limits time, or None.
        seconds: how long it had lasted when the clock was last looked at, before a turn or a call.
    """

    __slots__ = ("cost", "handoffs", "limits", "model_calls", "seconds", "started", "tokens", "tool_calls")

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.model_calls = self.handoffs = self.tool_calls = self.tokens = 0
        self.started: float | None = None
        self.seconds = self.cost = 0.0

    @property
    def used(self) -> dict[str, float]:
        """The amounts used so far by name; "cost" and "seconds" only where somebody limits them."""
        amounts: dict[str, float] = {name: getattr(self, name) for name in COUNTED}
        if self.cost or self.limits.cost is not None:
            amounts["cost"] = self.cost
        if self.started is not None:
            amounts["seconds"] = self.seconds
        return amounts

    @property
    def remaining(self) -> dict[str, float]:
        """What is left of each amount that is limited, by name; never below 0."""
        allowed = {name: getattr(self.limits, name) for name in (*COUNTED, "cost", "seconds")}
        return {name: max(0, amount - getattr(self, name)) for name, amount in allowed.items() if amount is not None}


COUNTED = ("model_calls", "handoffs", "tool_calls", "tokens")
"""The amounts that a scope always counts."""

Scopes: TypeAlias = tuple[Scope, ...]
"""The scopes that a run stands in, outermost first."""


class Hit(NamedTuple):
    """A limit that was hit: its name, what was used of what was allowed, and the scope it belongs to."""

    name: str
    why: str
    scope: Scope | None


def remaining(scopes: Scopes) -> dict[str, float]:
    """What is left before the first limit of any scope, by name; no key for what nobody limits."""
    left: dict[str, float] = {}
    for scope in scopes:
        for name, amount in scope.remaining.items():
            left[name] = min(amount, left.get(name, amount))
    return left


def begin(scopes: Scopes, now: float) -> None:
    """Let the time begin of every scope whose time has not."""
    for scope in scopes:
        scope.started = now if scope.started is None else scope.started


def is_timed(scopes: Scopes) -> bool:
    """Whether a scope limits seconds."""
    return any(scope.limits.seconds is not None for scope in scopes)


def needs_tokens(scopes: Scopes) -> bool:
    """Whether a scope limits tokens, or what they cost."""
    return any(scope.limits.tokens is not None or scope.limits.cost is not None for scope in scopes)


def needs_cost(scopes: Scopes) -> bool:
    """Whether a scope limits cost."""
    return any(scope.limits.cost is not None for scope in scopes)


class Circles:
    """How often one run, without those nested in it, has repeated itself, or only handed over."""

    __slots__ = ("bounces", "executed", "repeats")

    def __init__(self) -> None:
        self.repeats = 1
        self.bounces = 0
        self.executed: list[Any] = []


def before(run: Run, now: float) -> str | None:
    """Whether another turn of a run may begin: None, or the reason to stop.

    Args:
        run: the run; its `limit` is set.
        now: monotonic time, 0 if no scope limits seconds.
    """
    if (added := len(run.history) - run.new_from) >= run.options.max_turns:
        run.limit = Hit("max_turns", f"{added} messages added, {run.options.max_turns} allowed", run.scope)
        return "max_turns"
    if run.signal.after_turn and not run.path:
        run.cause = "cancel"
        return "cancelled"
    if not run.bounded:
        return None
    run.limit = passed("model_calls", run.scopes) or passed("tokens", run.scopes) or spent(run.scopes) or late(run.scopes, now)
    return reason_of(run.limit.name) if run.limit is not None else None


def passed(name: str, scopes: Scopes, wanted: int = 1) -> Hit | None:
    """The limit that forbids using so much more of an amount, or None."""
    for scope in scopes:
        allowed, used = getattr(scope.limits, name), getattr(scope, name)
        if allowed is not None and used + wanted > allowed:
            more = f", {wanted} more wanted" if name == "tool_calls" else ""
            return Hit(name, f"{used} of {allowed} {name.replace('_', ' ')} used{more}", scope)
    return None


def spent(scopes: Scopes) -> Hit | None:
    """The limit on cost that is used up, or None."""
    for scope in scopes:
        allowed = scope.limits.cost
        if allowed is not None and scope.cost >= allowed:
            return Hit("cost", f"${scope.cost:,.4f} of ${allowed:,.4f} used", scope)
    return None


def late(scopes: Scopes, now: float) -> Hit | None:
    """The limit on seconds that is over, or None; `now` is the monotonic time."""
    for scope in scopes:
        allowed = scope.limits.seconds
        if allowed is not None:
            scope.seconds = now - (scope.started or 0.0)
            if scope.seconds >= allowed:
                return Hit("seconds", f"{scope.seconds:.1f} of {allowed} seconds used", scope)
    return None


def reason_of(limit: str) -> str:
    """The stop reason for a limit."""
    return limit if limit in ("max_turns", "loop") else f"limit:{limit}"


def reason_for(error: Exception) -> str:
    """The stop reason of a run that an error ended."""
    if isinstance(error, LimitExceeded):
        return reason_of(error.limit)
    return f"guardrail:{error.guardrail}" if isinstance(error, GuardrailTripped) else "error"


def last_words(message: dict[str, Any], finish: str | None) -> str:
    """The reason to stop after a message that calls nothing."""
    cut = finish if finish is not None and finish.startswith(("length", "content_filter", "guardrail:")) else None
    return "refusal" if message.get("refusal") else cut or "complete"


LASTING = ("handoffs", "tool_calls", "loop")
"""Limits that cannot be told again from what was used: a run that went on after one would do more than it was allowed."""


def hit_again(before: tuple[str, str, float], scopes: Scopes, own: Scope | None, repeats: float | None) -> Hit | None:
    """The limit that ended a run before it was saved, unless it may do more now than it might then.

    Args:
        before: the limit's name, what it said, and the amount that was allowed.
        scopes: what may be used now.
        own: the scope of the run itself, if it has one.
        repeats: how often it may repeat itself now.
    """
    name, why, amount = before
    if name == "loop":
        return Hit(name, why, own) if repeats is not None and repeats <= amount else None
    for scope in scopes:
        allowed = getattr(scope.limits, name)
        if allowed is not None and allowed <= amount:
            return Hit(name, why, scope)
    return None


def repeated(circles: Circles, executed: list[Any], only_handoffs: bool) -> int:
    """Note one executed reply; returns how often in a row the run has now done the same.

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
