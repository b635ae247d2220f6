"""Multi-agent orchestration over Chat Completions: agents, and handoffs between them."""

from typing import TYPE_CHECKING, Any

from .agents import create_triage_agent
from .core import AsyncSwarm, Swarm
from .errors import AgentError, RunTimeout, SwarmError
from .limits import Limits
from .models.client import Model
from .parts import File, Image
from .run import RunInfo
from .state import State, load_state
from .tools import Tool, tool
from .types import Agent, Approve, Handoff, Pending, Refuse, Response, Result, ToolCall, Usage

if TYPE_CHECKING:
    from .conditions import similar_to
    from .models.chat import ChatClient
    from .models.offline import OfflineModel
    from .models.scripted import ScriptedModel

__all__ = [
    "Agent",
    "AgentError",
    "Approve",
    "AsyncSwarm",
    "ChatClient",
    "File",
    "Handoff",
    "Image",
    "Limits",
    "Model",
    "OfflineModel",
    "Pending",
    "Refuse",
    "Response",
    "Result",
    "RunInfo",
    "RunTimeout",
    "ScriptedModel",
    "State",
    "Swarm",
    "SwarmError",
    "Tool",
    "ToolCall",
    "Usage",
    "create_triage_agent",
    "load_state",
    "similar_to",
    "tool",
]

_LAZY = {
    "ChatClient": "models.chat",
    "OfflineModel": "models.offline",
    "ScriptedModel": "models.scripted",
    "similar_to": "conditions",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(f".{_LAZY[name]}", __name__), name)
    raise AttributeError(f"module 'swarm' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
