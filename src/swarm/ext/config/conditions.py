"""Conditions in CEL about one call, for approvals that stand in a configuration. What cannot be told needs an approval."""

from __future__ import annotations

from typing import Any

from ...policies.expressions import Expression
from ...run import logger
from ...types import Agent, Pending


class NeedsApproval:
    """Whether a call of one tool needs an approval.

    Args:
        source: in CEL, over `arguments`, `context_variables` and `agent` (the agent's name).
    """

    def __init__(self, source: str) -> None:
        self._expression = Expression(source, ("arguments", "context_variables", "agent"))

    def __call__(self, arguments: dict[str, Any], context_variables: dict[str, Any], agent: Agent) -> bool:
        """Whether it does."""
        return _holds(self._expression, {"arguments": arguments, "context_variables": context_variables, "agent": agent.name})


class NeedsApprovalToo:
    """The same for any tool, for `Approval(when=...)`.

    Args:
        source: in CEL, over `tool` (its name), `arguments`, `context_variables` and `agent` (the agent's name).
    """

    def __init__(self, source: str) -> None:
        self._expression = Expression(source, ("tool", "arguments", "context_variables", "agent"))

    def __call__(self, call: Pending, context_variables: dict[str, Any]) -> bool:
        """Whether it does."""
        values = {"tool": call.name, "arguments": call.arguments, "context_variables": context_variables, "agent": call.agent}
        return _holds(self._expression, values)


def _holds(expression: Expression, values: dict[str, Any]) -> bool:
    try:
        return expression.holds({name: values[name] for name in expression.names})
    except Exception as error:
        logger.warning("a condition could not be told, so an approval is asked for: %r: %s", expression.source, type(error).__name__)
        return True


def later() -> None:
    """Nobody decides now: the run pauses."""
