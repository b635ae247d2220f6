"""The audit of permissions: an event for each decision, and a line of the logger "swarm.audit"."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..effects import Emit, Flow
from ..events import PolicyActed
from .asked import Asked
from .rules import Rule

if TYPE_CHECKING:
    from ..run import Run

logger = logging.getLogger("swarm.audit")


def is_wanted(run: Run) -> bool:
    """Whether anybody gets to know of decisions."""
    return run.options.watched or logger.isEnabledFor(logging.INFO)


def told(asked: Asked, shown: Callable[[dict[str, Any]], Any], decision: str, rule: Rule | None, call_id: str | None = None) -> Flow:
    """Write a decision down, and tell whoever watches.

    Args:
        asked: what was decided.
        shown: what of the arguments is written down.
        decision: "allowed", "refused", or "withheld" of a tool that was not offered.
        rule: the rule that decided, or None for the default.
        call_id: the id of the call, if it was made.
    """
    if not is_wanted(asked.run):
        return
    by = "default" if rule is None else repr(rule)
    detail = {"decision": decision, "user": asked.user, "roles": list(asked.roles), "agent": asked.agent, "call_id": call_id, "rule": by}
    if asked.to:
        detail["to"] = asked.to
    else:
        detail |= {"tool": asked.tool, "arguments": None if asked.arguments is None else shown(asked.arguments)}
    logger.info("%s", detail, extra={"audit": detail})
    if asked.run.options.watched:
        why = by if rule is None or not rule.reason else rule.reason
        yield Emit(PolicyActed(asked.agent, "Permission", f"{decision} {asked.to or asked.tool}", why, detail))
