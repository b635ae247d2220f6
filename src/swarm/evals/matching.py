"""Whether a value holds what is expected of it, among other things."""

from __future__ import annotations

from typing import Any, cast

from ..legal import is_dict


def difference(expected: Any, actual: Any, path: str = "") -> str:
    """The first place where a value in JSON is not as expected, or "" if there is none.

    An object may have more names than are expected, at any depth; a list must have the same number of items. 1 and 1.0 are the same,
    1 and true are not.

    Args:
        expected: what to look for.
        actual: where.
        path: what to call it.
    """
    if is_dict(expected) and is_dict(actual):
        for name, value in expected.items():
            where = f"{path}.{name}" if path else name
            if name not in actual:
                return f"{where} is missing"
            if found := difference(value, actual[name], where):
                return found
        return ""
    if isinstance(expected, list) and isinstance(actual, list):
        wanted, given = cast("list[Any]", expected), cast("list[Any]", actual)
        if len(wanted) != len(given):
            return f"{path or 'it'} has {len(given)} items instead of {len(wanted)}"
        found = (difference(value, given[at], f"{path}[{at}]") for at, value in enumerate(wanted))
        return next(filter(None, found), "")
    is_same = expected == actual and isinstance(expected, bool) == isinstance(actual, bool)
    return "" if is_same else f"{path or 'it'} is {actual!r} instead of {expected!r}"
