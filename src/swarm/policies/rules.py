"""Rules about who may call what: Allow and Deny."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TypeAlias

from ..effects import Call, Flow
from ..offers import OFFER_NAMES
from ..tools import callback_parameters
from .expressions import Expression

if TYPE_CHECKING:
    from ..run import Run

RULE_NAMES = ("user", "roles", "tool", "to", "arguments", *OFFER_NAMES)
"""What a condition in Python may ask for by parameter name."""
CEL_NAMES = ("user", "roles", "tool", "to", "arguments", "context_variables", "agent")
"""What a condition in CEL may use; `agent` is the agent's name."""

Names: TypeAlias = str | Iterable[str] | None


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


class Rule:
    """A rule applies if all that it names fits. Names may hold `*` and `?`.

    Args:
        tools: names of tools; the rule is not about handoffs then.
        to: names of agents that are handed over to; the rule is about handoffs only then.
        agents: names of agents that call or hand over.
        users, roles: who the run is for; one of several is enough.
        when: a condition: a function that asks by parameter name for `user`, `roles`, `tool`, `to`, `arguments`, `context_variables`,
            `agent`, `messages`, `run`, or an expression in CEL with the first six and the agent's name as `agent`. One that asks for
            `arguments` is asked about calls only, not about what is offered, and does not apply to handoffs.
        reason: what the model is told where the rule refuses, and what the audit says.

    Raises:
        AgentError: a condition with a parameter that nobody fills, or no expression.
    """

    allows: bool

    def __init__(
        self,
        *,
        tools: Names = None,
        to: Names = None,
        agents: Names = None,
        users: Names = None,
        roles: Names = None,
        when: Callable[..., Any] | str | None = None,
        reason: str = "",
    ) -> None:
        given = {"tools": tools, "to": to, "agents": agents, "users": users, "roles": roles}
        self._named = {name: (value,) if isinstance(value, str) else tuple(value) for name, value in given.items() if value is not None}
        self._when = Expression(when, CEL_NAMES) if isinstance(when, str) else when
        self._wanted = () if when is None else self._when.names if isinstance(self._when, Expression) else _asked_for(when)
        self.reason = reason

    def applies(self, asked: Asked) -> Flow:
        """Whether the rule applies: True, False, or None if that depends on arguments which are not there yet.

        Raises:
            Exception: what the condition raised.
        """
        if not self._fits(asked):
            return False
        if "arguments" in self._wanted and asked.arguments is None:
            return False if asked.to else None
        if self._when is None:
            return True
        values = {name: asked.value(name) for name in self._wanted}
        if isinstance(self._when, Expression):
            return self._when.holds({**values, "agent": asked.agent} if "agent" in values else values)
        return bool((yield Call(self._when, (), values)))

    def _fits(self, asked: Asked) -> bool:
        if ("tools" in self._named and asked.to) or ("to" in self._named and not asked.to):
            return False
        of = {"tools": (asked.tool,), "to": (asked.to,), "agents": (asked.agent,), "users": (str(asked.user),), "roles": asked.roles}
        return all(any(fnmatchcase(one, name) for one in of[what] for name in names) for what, names in self._named.items())

    def __repr__(self) -> str:
        parts = [f"{what}={', '.join(names)!r}" for what, names in self._named.items()]
        if self._when is not None:
            name = self._when.source if isinstance(self._when, Expression) else getattr(self._when, "__name__", type(self._when).__name__)
            parts.append(f"when={name!r}")
        return f"{type(self).__name__}({', '.join(parts)})"


class Allow(Rule):
    """Allows what it applies to, unless a Deny does too."""

    allows = True


class Deny(Rule):
    """Refuses what it applies to, whatever allows it."""

    allows = False


def _asked_for(when: Any) -> tuple[str, ...]:
    return callback_parameters(when, RULE_NAMES) or ()
