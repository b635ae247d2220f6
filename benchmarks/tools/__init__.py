"""Fifty functions for the agent with many tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from benchmarks.tools.shop import SHOP
from benchmarks.tools.travel import TRAVEL

FIFTY: list[Callable[..., str]] = [*TRAVEL, *SHOP]


def asynchronous(function: Callable[..., str]) -> Callable[..., Awaitable[str]]:
    """The same function for libraries that await their tools; a plain one would cost them a hop to a thread and back."""

    @wraps(function)
    async def call(*args: Any, **kwargs: Any) -> str:
        return function(*args, **kwargs)

    return call
