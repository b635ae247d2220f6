"""The audit of permissions: an event for each decision, and a line of the logger "swarm.audit"."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ..effects import Emit
from ..events import PolicyActed
from .rules import Asked

logger = logging.getLogger("swarm.audit")


def told(asked: Asked, shown: Callable[[dict[str, Any]], Any], decision: str, rule: str, why: str, call_id: str | None = None) -> Emit:
    """Write a decision down, and tell of it.

    Args:
        asked: what was decided.
        shown: what of the arguments is written down.
        decision: "allowed", "refused", or "withheld" of a tool that was not offered.
        rule: the rule that decided, or "default".
        why: what the rule says.
        call_id: the id of the call, if it was made.
    """
    arguments = None if asked.arguments is None else shown(asked.arguments)
    detail = {"decision": decision, "user": asked.user, "roles": list(asked.roles), "agent": asked.agent, "call_id": call_id, "rule": rule}
    detail |= {"to": asked.to} if asked.to else {"tool": asked.tool, "arguments": arguments}
    logger.info("%s", detail, extra={"audit": detail})
    event = PolicyActed(asked.agent, "Permission", f"{decision} {asked.to or asked.tool}", why or rule, detail)
    return Emit(event)
