"""Policies: what production asks for around a model call, a tool, a handoff or a whole run. One file and one class each.

A policy is given to `Swarm(policies=[...])`, the first outermost; its hooks are generators (see `swarm.effects`), so one implementation
serves sync, async and both kinds of streams. Each is loaded when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .fallback import Fallback as Fallback
    from .rate_limit import RateLimit as RateLimit
    from .retry import Retry as Retry
    from .router import Router as Router
    from .small_model import SmallModel as SmallModel

_MODULES = {
    "Fallback": "fallback",
    "RateLimit": "rate_limit",
    "Retry": "retry",
    "Router": "router",
    "SmallModel": "small_model",
}

__all__ = ["Fallback", "RateLimit", "Retry", "Router", "SmallModel"]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f".{_MODULES[name]}", __name__), name)
    raise AttributeError(f"module 'swarm.policies' has no attribute {name!r}; it has {', '.join(_MODULES)}")


def __dir__() -> list[str]:
    return sorted(_MODULES)
