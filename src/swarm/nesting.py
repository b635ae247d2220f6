"""How policies nest around an effect: like middleware, the first outermost.

One generator holds the stack of hooks, so depth costs no recursion. It runs for every effect that has a policy, so it makes nothing but the
hooks themselves: a layer is a tuple, and the innermost flow is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import isgeneratorfunction
from typing import TYPE_CHECKING, Any, TypeAlias

from .effects import EFFECTS, KINDS, CallModel, Emit, Flow, Reply, Together
from .events import Event, Nested, PolicyActed
from .types import Agent, Approve, Refuse, Response

if TYPE_CHECKING:
    from .run import Run

Hooks: TypeAlias = dict[str, list[tuple[Any, Callable[[Any], Flow]]]]
"""By kind of effect, outermost first: each policy that has a hook for it, and the hook."""

_Layer: TypeAlias = tuple[Flow, Any, Any, int, frozenset[int]]
"""A hook that runs: its flow, its policy, the effect it stands around, its place among the hooks of that kind, and the id() of every policy
with a hook of another kind from which the effect came."""

_EFFECTS = frozenset(EFFECTS)
_NOTHING = frozenset[int]()

RETURNS: dict[str, tuple[str, tuple[type, ...]]] = {
    "run": ("a Response", (Response,)),
    "model": ("a Reply", (Reply,)),
    "approval": ("True, an Approve, a Refuse or None", (bool, Approve, Refuse, type(None))),
    "handoff": ("an Agent or a Refuse", (Agent, Refuse)),
}
"""What a hook must return; a tool's may return anything, and what an event's returns is not looked at."""


def hooks_of(policies: Sequence[Any]) -> Hooks:
    """The policies by the kind of effect they have a hook for, outermost first.

    Raises:
        TypeError: no sequence, a class instead of an instance, a policy without a hook, or a hook that is no generator function.
    """
    if not isinstance(policies, Sequence) or isinstance(policies, str):  # type: ignore[redundant-expr]  # callers without a type checker
        raise TypeError(f"policies must be a list of policies, the first outermost, not {policies!r}")
    hooks: Hooks = {}
    for policy in policies:
        if isinstance(policy, type):
            raise TypeError(f"a policy must be an instance, not a class: policies=[{policy.__name__}(...)]")
        found = {kind: hook for kind in KINDS if (hook := getattr(policy, kind, None)) is not None}
        if not found:
            raise TypeError(f"{policy!r} is no policy: it has none of the methods {', '.join(KINDS)}")
        for kind, hook in found.items():
            if not isgeneratorfunction(hook):
                raise TypeError(f"{type(policy).__name__}.{kind} must be a generator function: `return (yield effect)` passes an effect on")
            others = hooks.setdefault(kind, [])
            if not any(policy is other for other, _ in others):  # an effect passes a policy once
                others.append((policy, hook))
    return hooks


def through(effect: Any, run: Run) -> Flow:
    """Pass an effect through the policies of its kind, and return what comes back.

    An effect that a hook yields goes one layer in if it is of the hook's own kind. One of another kind passes the whole stack of that
    kind, except every policy it has passed on its way (two judges would otherwise call each other for ever). Whatever no policy
    takes, and all that the innermost flow yields, goes to the driver.

    Args:
        effect: what is asked for.
        run: whose policies they are.

    Raises:
        TypeError: a hook returned what no effect of its kind comes to, or yielded what is no effect; the latter is raised at its `yield`.
    """
    options = run.options
    first = _layer(effect, 0, _NOTHING, options.hooks)
    return options.innermost(run, effect) if first is None else _composed(first, run)


def _layer(effect: Any, start: int, passed: frozenset[int], hooks: Hooks) -> _Layer | None:
    """The first hook from `start` on that takes an effect, begun; None if no policy does."""
    found = hooks.get(effect.kind, ())
    while start < len(found):
        policy, hook = found[start]
        if not passed or id(policy) not in passed:
            return hook(effect), policy, effect, start, passed
        start += 1
    return None


def _under(layer: _Layer, asked: Any, hooks: Hooks) -> _Layer | None:
    """The hook that takes an effect which another one asks for, or None."""
    _, _, effect, place, passed = layer
    if asked.kind == effect.kind:
        return _layer(asked, place + 1, passed, hooks) if place + 1 < len(hooks[asked.kind]) else None
    if type(asked) is Emit:
        _explain(asked.event, effect)
    if asked.kind not in hooks:
        return None
    return _layer(asked, 0, passed.union(id(policy) for policy, _ in hooks[effect.kind][: place + 1]), hooks)


def _composed(first: _Layer, run: Run) -> Flow:
    layer = first
    outer: list[_Layer] = []
    flow, _, effect, place, passed = layer
    hooks, innermost = run.options.hooks, run.options.innermost
    answer: Any = None
    failure: BaseException | None = None
    try:
        while True:
            try:
                asked = flow.send(answer) if failure is None else flow.throw(failure)
            except StopIteration as stop:
                answer = stop.value
                failure = None if type(answer) is Reply and type(effect) is CallModel else _misfit(layer, answer)
            except BaseException as error:
                answer, failure = None, error
            else:
                answer = failure = None
                if type(asked) not in _EFFECTS and not isinstance(asked, EFFECTS):
                    failure = TypeError(f"{_name(layer)} yielded {asked!r}, which is no effect (swarm.effects)")
                    continue
                kind = asked.kind
                if kind is not None:
                    if passed or kind != effect.kind:
                        taken = _under(layer, asked, hooks)
                    elif place + 1 < len(found := hooks[kind]):  # the usual way, and so without a call
                        policy, hook = found[place + 1]
                        taken = (hook(asked), policy, asked, place + 1, passed)
                    else:
                        taken = None
                    if taken is not None:
                        outer.append(layer)
                        flow, _, effect, place, passed = layer = taken
                        continue
                elif type(asked) is Together:
                    flows = [_alone(entry, layer, run) if isinstance(entry, EFFECTS) else entry for entry in asked.flows]
                    asked = Together(flows, asked.limit, asked.decides)
                try:
                    answer = (yield asked) if kind is None else (yield from innermost(run, asked))
                except BaseException as error:
                    failure = error
                continue
            if outer:
                flow, _, effect, place, passed = layer = outer.pop()
            elif failure is not None:
                raise failure
            else:
                return answer
    finally:
        failure = None  # a frame that kept its exception would be a reference cycle


def _alone(effect: Any, layer: _Layer, run: Run) -> Flow:
    """An effect of a hook as a flow that others may run beside. It comes to its error, if it fails."""
    try:
        if effect.kind is None:
            return (yield effect)
        taken = _under(layer, effect, run.options.hooks)
        return (yield from (run.options.innermost(run, effect) if taken is None else _composed(taken, run)))
    except Exception as error:
        return error


def _misfit(layer: _Layer, value: Any) -> TypeError | None:
    """What to say of a hook that returns what its kind of effect cannot come to, usually because it forgot to return."""
    kind = layer[2].kind
    wanted = RETURNS.get(kind)
    if wanted is None or isinstance(value, wanted[1]):
        return None
    words, _ = wanted
    a = "an" if kind == "approval" else "a"
    return TypeError(
        f"{_name(layer)} returned {value!r}, but {a} {kind} hook returns {words}: write `return (yield effect)` to pass its effect on"
    )


def _name(layer: _Layer) -> str:
    return f"{type(layer[1]).__name__}.{layer[2].kind}"


def _explain(event: Event, effect: Any) -> None:
    """Note in an event of a hook's what the hook stands around, if it does not say so itself."""
    while isinstance(event, Nested):
        event = event.event
    if event.cause is None and isinstance(event, PolicyActed):
        call_id = getattr(effect, "id", None) or getattr(effect, "call_id", None)
        turn = effect.run.turn if getattr(effect, "run", None) is not None else 0
        event.cause = f"call:{call_id}" if call_id else f"turn:{turn}" if turn else "input"
