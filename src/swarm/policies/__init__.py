"""Policies: what production asks for around a model call, a tool, a handoff or a whole run. One file and one class each.

A policy is given to `Swarm(policies=[...])`, the first outermost; its hooks are generators (see `swarm.effects`), so one implementation
serves sync, async and both kinds of streams. Each is loaded when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .approval import Approval as Approval
    from .cache import Cache as Cache
    from .checking import Block as Block
    from .context_window import ContextWindow as ContextWindow
    from .fallback import Fallback as Fallback
    from .guardrail import Guardrail as Guardrail
    from .permission import Permission as Permission
    from .rate_limit import RateLimit as RateLimit
    from .retry import Retry as Retry
    from .router import Router as Router
    from .rules import Allow as Allow
    from .rules import Deny as Deny
    from .small_model import SmallModel as SmallModel
    from .summary import Summary as Summary

_MODULES = {
    "Allow": "rules",
    "Approval": "approval",
    "Block": "checking",
    "Cache": "cache",
    "ContextWindow": "context_window",
    "Deny": "rules",
    "Fallback": "fallback",
    "Guardrail": "guardrail",
    "Permission": "permission",
    "RateLimit": "rate_limit",
    "Retry": "retry",
    "Router": "router",
    "SmallModel": "small_model",
    "Summary": "summary",
}

__all__ = [
    "Allow",
    "Approval",
    "Block",
    "Cache",
    "ContextWindow",
    "Deny",
    "Fallback",
    "Guardrail",
    "Permission",
    "RateLimit",
    "Retry",
    "Router",
    "SmallModel",
    "Summary",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f".{_MODULES[name]}", __name__), name)
    raise AttributeError(f"module 'swarm.policies' has no attribute {name!r}; it has {', '.join(_MODULES)}")


def __dir__() -> list[str]:
    return sorted(_MODULES)
