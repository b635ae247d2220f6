"""What a module that holds agents gives to an eval, on the command line and in a test suite alike."""

from __future__ import annotations

from types import ModuleType
from typing import Any, cast

from ..types import Agent


def options_of(module: ModuleType) -> dict[str, Any]:
    """Arguments of `evaluate` from a module: every agent that it holds, by name or in a list `agents`, and its `context_variables` if that
    is a dict or a function.

    Args:
        module: where the agent comes from.
    """
    listed: Any = getattr(module, "agents", ())
    items = [*vars(module).values(), *(cast("list[Any]", listed) if isinstance(listed, list | tuple) else ())]
    given: Any = getattr(module, "context_variables", None)
    return {
        "agents": [item for item in items if isinstance(item, Agent)],
        "context_variables": given if isinstance(given, dict) or callable(given) else None,
    }
