"""The copy of the caller's context variables that a run works on."""

from __future__ import annotations

import copy
from typing import Any, cast

from .types import SHARE_AGENTS, Agent

_ATOMS = frozenset((type(None), bool, int, float, complex, str, bytes))


def copied(value: Any, memo: dict[Any, Any] | None = None) -> Any:
    """A deep copy, value by value, so that what cannot be copied is shared and the rest is not.

    One memo serves all values, so two names for one list stay two names for one list, also inside objects. Agents and callables are
    shared, and so is a leaf whose copy fails: a lock, a connection, an open file.

    Args:
        value: what to copy.
        memo: copies made so far, by the id of the original, in the form of `copy.deepcopy`.
    """
    kind = cast("Any", type(value))
    if kind in _ATOMS:
        return value
    memo = {SHARE_AGENTS: True} if memo is None else memo
    if id(value) in memo:
        return memo[id(value)]
    made: Any
    if kind is dict:
        made = memo[id(value)] = {}
        for key, item in cast("dict[Any, Any]", value).items():
            made[copied(key, memo)] = copied(item, memo)
    elif kind is list:
        made = memo[id(value)] = []
        made.extend(copied(item, memo) for item in cast("list[Any]", value))
    elif kind in (tuple, set, frozenset):
        made = cast("Any", kind(copied(item, memo) for item in value))
    elif issubclass(kind, dict):  # a defaultdict, an OrderedDict
        original: dict[Any, Any] = value
        try:
            made = copy.copy(original)
        except Exception:
            return original
        memo[id(original)] = made
        made.clear()
        made.update({copied(key, memo): copied(item, memo) for key, item in original.items()})
    elif isinstance(value, Agent) or callable(value):
        return value
    else:
        known = len(memo)
        try:
            made = copy.deepcopy(value, memo)
        except Exception:
            while len(memo) > known:  # half-made copies
                memo.popitem()
            return value
    memo[id(value)] = made
    return made


def own(arguments: dict[str, Any]) -> dict[str, Any]:
    """A call's arguments for the function alone: what it changes in place stays out of events, records and the next try.

    The same dict if nothing in it can be changed.
    """
    return arguments if _ATOMS.issuperset(map(type, arguments.values())) else {name: copied(value) for name, value in arguments.items()}
