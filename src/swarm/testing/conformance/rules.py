"""How a check of a conformance suite fails: it says which rule was broken, by what, and what was found."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any


def require(holds: object, rule: str, found: str) -> None:
    """Fail unless something holds.

    Args:
        holds: whether it does.
        rule: the rule, as a sentence.
        found: what was found instead.

    Raises:
        AssertionError: it does not.
    """
    if not holds:
        raise AssertionError(f"{rule}\nFound: {found}")


def as_json(value: Any, rule: str) -> str:
    """A value as JSON text.

    Raises:
        AssertionError: JSON cannot hold it.
    """
    try:
        return json.dumps(value, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise AssertionError(f"{rule}\nFound: {error}, in {value!r}") from None


def run_async(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine in an event loop of its own, also where one runs already."""
    from threading import Thread

    came: list[Any] = []

    def run() -> None:
        try:
            came.append((asyncio.run(work), None))
        except BaseException as error:
            came.append((None, error))

    thread = Thread(target=run)
    thread.start()
    thread.join()
    value, error = came[0]
    if error is not None:
        raise error
    return value
