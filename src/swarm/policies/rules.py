"""Rules about who may call what: Allow and Deny."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

from ..effects import Call, Flow
from ..offers import OFFER_NAMES
from ..tools import callback_parameters
from .asked import Asked
from .expressions import Expression
from .given import names

RULE_NAMES = ("user", "roles", "tool", "to", "arguments", *OFFER_NAMES)
"""What a condition in Python may ask for by parameter name."""
CEL_NAMES = ("user", "roles", "tool", "to", "arguments", "context_variables", "agent")
"""What a condition in CEL may use; `agent` is the agent's name."""

Names: TypeAlias = str | Iterable[str] | None


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
        ValueError: both `tools` and `to`.
        TypeError: names that are no texts.

    Attributes:
        allows: whether what it applies to is allowed.
        when, reason: as given.
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
        if tools is not None and to is not None:
            raise ValueError(f"{type(self).__name__}(tools={tools!r}, to={to!r}) fits nothing: calls and handoffs need a rule each")
        self._named = {
            name: names(f"{type(self).__name__}({name}=...)", value, name if name != "to" else "agents")
            for name, value in given.items()
            if value is not None
        }
        self.when = Expression(when, CEL_NAMES) if isinstance(when, str) else when
        self._wanted = () if when is None else self.when.names if isinstance(self.when, Expression) else _asked_for(when)
        self.reason = reason

    def fits(self, asked: Asked) -> bool:
        """Whether all that the rule names fits."""
        named = self._named
        if not named:
            return True
        if ("tools" in named and asked.to) or ("to" in named and not asked.to):
            return False
        return all(any(like(name, asked.named(what)) for name in those) for what, those in named.items())

    def holds(self, asked: Asked) -> Flow:
        """Whether the condition holds: True, False, or None if that depends on arguments which are not there yet.

        Raises:
            Exception: what the condition raised.
        """
        if "arguments" in self._wanted and asked.arguments is None:
            return False if asked.to else None
        values = {name: asked.value(name) for name in self._wanted}
        if isinstance(self.when, Expression):
            return self.when.holds({**values, "agent": asked.agent} if "agent" in values else values)
        assert self.when is not None
        return bool((yield Call(self.when, (), values)))

    def __repr__(self) -> str:
        parts = [f"{what}={', '.join(those)!r}" for what, those in self._named.items()]
        if self.when is not None:
            name = self.when.source if isinstance(self.when, Expression) else getattr(self.when, "__name__", type(self.when).__name__)
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


def like(name: str, those: tuple[str, ...]) -> bool:
    """Whether a name of a rule, in which `*` and `?` may stand, is one of those."""
    return name in those or (("*" in name or "?" in name) and any(fnmatchcase(one, name.replace("[", "[[]")) for one in those))
