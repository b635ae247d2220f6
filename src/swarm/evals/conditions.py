"""Conditions on a text: what it contains, what it does not, what it matches, what it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypedDict, cast

from ..legal import is_dict
from ..policies.patterns import nests_repeats


class Conditions(TypedDict, total=False):
    """All of them must hold. `contains` and `not_contains` do not tell capitals from small letters; `matches` are regular expressions that
    are searched for; `equals` compares without white space at both ends."""

    contains: list[str]
    not_contains: list[str]
    matches: list[str]
    equals: str


def checked_conditions(value: Any) -> Conditions:
    """The conditions that a case gives, with a text where a list is meant made a list of it.

    Raises:
        ValueError: no such condition, a value of a wrong type, or a pattern that is none or that some texts make Python's engine search for
            ever.
    """
    if not is_dict(value) or not value or not value.keys() <= _HOLDS.keys():
        raise ValueError(f"is {value!r}, not an object with one or several of {', '.join(_HOLDS)}")
    made: dict[str, Any] = {}
    for name, given in value.items():
        texts = [given] if isinstance(given, str) else given
        if (
            not isinstance(texts, list)
            or not all(isinstance(text, str) for text in cast("list[Any]", texts))
            or (name == "equals" and texts is given)
            or (name != "equals" and not (texts and all(cast("list[str]", texts))))
        ):
            raise ValueError(f"has {name}: {given!r}, not a text{'' if name == 'equals' else ' or a list of texts, none of them empty'}")
        made[name] = given if name == "equals" else texts
    for pattern in made.get("matches", ()):
        _check_pattern(pattern)
    return cast("Conditions", made)


def _check_pattern(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"has the pattern {pattern!r}, which is no regular expression: {error}") from None
    if nests_repeats(pattern):
        raise ValueError(f"has the pattern {pattern!r}, which repeats what is repeated already and may take for ever; unnest it")


def broken_conditions(conditions: Conditions, text: str) -> list[str]:
    """The conditions that a text does not meet, in words."""
    return [f"{name} {item!r}" for name, item in _each(conditions) if not _HOLDS[name](item, text)]


def count_of(conditions: Conditions) -> int:
    """How many conditions there are."""
    return len(_each(conditions))


def _each(conditions: Conditions) -> list[tuple[str, str]]:
    lists = {name: [wanted] if isinstance(wanted, str) else cast("list[str]", wanted) for name, wanted in conditions.items()}
    return [(name, item) for name, items in lists.items() for item in items]


_HOLDS: dict[str, Callable[[str, str], bool]] = {
    "contains": lambda item, text: item.casefold() in text.casefold(),
    "not_contains": lambda item, text: item.casefold() not in text.casefold(),
    "matches": lambda item, text: re.search(item, text) is not None,
    "equals": lambda item, text: item.strip() == text.strip(),
}
