"""What permissions are asked: may this agent, in a run for this user, call this tool, or hand over to that agent?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from ..run import Run


class Asked:
    """What is to be decided: whether an agent may call a tool, or hand over to another.

    Attributes:
        user, roles: who the run is for.
        agent: the agent's name.
        tool: the tool's name, or "" for a handoff; to: the name of the agent that is to take over, or "".
        arguments: of the call, or None while the model has not made it.
        context: all the context variables.
    """

    __slots__ = ("agent", "arguments", "context", "roles", "run", "to", "tool", "user")

    def __init__(
        self, run: Run, user: Any, roles: tuple[str, ...], agent: str, tool: str, to: str, arguments: dict[str, Any] | None
    ) -> None:
        self.run = run
        self.user = user
        self.roles = roles
        self.agent = agent
        self.tool = tool
        self.to = to
        self.arguments = arguments
        self.context = run.context

    def value(self, name: str) -> Any:
        """What a condition gets under a name."""
        if name == "context_variables":
            return self.context
        return getattr(self, name) if name in ("user", "roles", "tool", "to", "arguments") else self.run.about(name)

    def named(self, what: str) -> tuple[str, ...]:
        """What a rule's names of a kind are compared with."""
        match what:
            case "tools":
                return (self.tool,)
            case "to":
                return (self.to,)
            case "agents":
                return (self.agent,)
            case "users":
                return () if self.user is None else (str(self.user),)
            case _:
                return self.roles


def roles_of(given: Any) -> tuple[str, ...]:
    """The roles that a context variable holds: one, or several."""
    if given is None or given == "":
        return ()
    return tuple(map(str, cast("Any", given))) if isinstance(given, Iterable) and not isinstance(given, str) else (str(given),)
