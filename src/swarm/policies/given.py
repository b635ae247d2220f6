"""What a policy is made with: a number that is none is told where it was written, not by a comparison deep in a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast


def whole(what: str, value: Any, otherwise: str = "") -> None:
    """Check a number that counts something.

    Args:
        what: where it was given, such as "Retry(tries=...)".
        value: the number.
        otherwise: what is said of less than 1.

    Raises:
        TypeError: no whole number.
        ValueError: less than 1.
    """
    said = what.replace("...", repr(value))
    if not isinstance(value, int):
        raise TypeError(f"{said} must be a whole number")
    if value < 1:
        raise ValueError(f"{said} must be at least 1{otherwise}")


def a_time(what: str, value: Any) -> None:
    """Check that something is a number of seconds.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(value, int | float):
        raise TypeError(f"{what.replace('...', repr(value))} must be a number of seconds")


def names(what: str, value: Any, of: str) -> tuple[str, ...]:
    """One name or several, as a tuple.

    Args:
        what: where they were given.
        value: a text, or texts.
        of: of what they are names, for the error.

    Raises:
        TypeError: something that is no text.
    """
    given: tuple[Any, ...] = (value,)
    if isinstance(value, Iterable) and not isinstance(value, str):
        given = tuple(cast("Iterable[Any]", value))
    if not all(isinstance(name, str) for name in given):
        raise TypeError(f"{what.replace('...', repr(cast('Any', value)))} must be the names of {of}, as texts")
    return given


def known_to(secrets: Any) -> dict[str, tuple[str, ...]]:
    """For each secret the names of the tools that may have it.

    Raises:
        TypeError: no dict, or names that are no texts.
    """
    if not isinstance(secrets, Mapping):
        raise TypeError(f"Permission(secrets={secrets!r}) must be {{context variable: names of tools}}")
    given = cast("Mapping[str, Any]", secrets)
    return {name: names(f"Permission(secrets={{{name!r}: ...}})", tools or (), "tools") for name, tools in given.items()}
