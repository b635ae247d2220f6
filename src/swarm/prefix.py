"""Tells in the trace of `debug=True` when a turn breaks the prefix that the provider has cached, without need.

Providers keep what they have read of a prompt and charge less for it, and answer sooner, if the next prompt begins with exactly the same:
the tools and the system text first, from some 1,024 tokens on (https://platform.openai.com/docs/guides/prompt-caching,
https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching). A clock in the instructions, or tools in another order, and every turn
pays for the whole conversation; nothing else shows it. It is a policy that only debug adds, innermost, so that it sees what is really
sent, and so that a run without debug pays nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .effects import CallModel, Emit, Flow
from .events import PolicyActed
from .legal import call_name
from .messages import text_of
from .nesting import Hooks
from .types import Agent

_ADVICE = {
    "instructions": "the provider reads all that follows anew: put what changes at their end, or into a message",
    "tools": "the provider reads the whole prompt anew: offer the same tools in the same order each time",
}
_AROUND = 24  # characters shown on both sides of the first difference


class _Sent(NamedTuple):
    """What of a model call is compared."""

    agent: Agent
    client: Any
    request: dict[str, Any]


class PromptCache:
    """Compares each request of a run with the one before it. Each agent is told of once a run, for its instructions and for its tools."""

    def model(self, call: CallModel) -> Flow:
        if call.run is not None:
            kept = call.run.state(self)
            told: set[Any] = kept.setdefault("told", set())
            sent: dict[Any, _Sent] = kept.setdefault("sent", {})  # by the path of the run, since runs stand in calls of others
            before, now = sent.get(call.path), _Sent(call.agent, call.client, call.request)
            sent[call.path] = now
            for what, change in _changes(before, now) if before is not None else ():
                if (call.path, call.agent, what) not in told:
                    told.add((call.path, call.agent, what))
                    yield Emit(PolicyActed(call.agent.name, type(self).__name__, change, _ADVICE[what]))
        return (yield call)


_WATCH = PromptCache()


def watching_prefix(hooks: Hooks) -> Hooks:
    """The policies, and innermost of those around model calls this one."""
    return {**hooks, "model": [*hooks.get("model", ()), (_WATCH, _WATCH.model)]}


def _changes(before: _Sent, now: _Sent) -> Iterator[tuple[str, str]]:
    """What breaks the prefix that two requests could share: "instructions" or "tools", and how it changed."""
    old, new = before.request, now.request
    if before.agent is not now.agent or before.client is not now.client or old.get("model") != new.get("model"):
        return  # a handoff, or another provider
    earlier, later = old["messages"], new["messages"]
    if not earlier or not later or earlier[1:] != later[1 : len(earlier)] or earlier[0]["role"] != later[0]["role"]:
        return  # a filter or a policy has changed the history, and the prefix with it
    first, second = text_of(earlier[0]), text_of(later[0])
    if first != second:
        yield "instructions", _difference(first, second)
    if old.get("tools") and new.get("tools") and old["tools"] != new["tools"]:  # without any: a last word, or a question for a typed answer
        yield "tools", _other_tools(old["tools"], new["tools"])


def _difference(old: str, new: str) -> str:
    size = min(len(old), len(new))
    at = next((at for at in range(size) if old[at] != new[at]), size)
    return f"its instructions changed at character {at + 1}, from {_around(old, at)!r} to {_around(new, at)!r}"


def _around(text: str, at: int) -> str:
    start, end = max(0, at - _AROUND), at + _AROUND
    return f"{'...' if start else ''}{text[start:end]}{'...' if end < len(text) else ''}"


def _other_tools(earlier: list[Any], later: list[Any]) -> str:
    old, new = list(map(call_name, earlier)), list(map(call_name, later))
    changes = [f"{verb} {', '.join(names)}" for verb, names in (("lost", _only_in(old, new)), ("got", _only_in(new, old))) if names]
    if changes:
        return f"its tools changed: it {' and '.join(changes)}"
    if old != new:
        return f"its tools changed their order, from {', '.join(old)} to {', '.join(new)}"
    return f"its tools changed: {', '.join(name for name, one, other in zip(old, earlier, later, strict=True) if one != other)}"


def _only_in(names: list[str], others: list[str]) -> list[str]:
    return [name for name in names if name not in others]
