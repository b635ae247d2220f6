"""What a list of rules comes to: in which order they are looked at, and what the first that applies says."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any, cast

from ..effects import Flow
from .asked import Asked
from .rules import Rule

logger = logging.getLogger("swarm.audit")


def ordered(rules: Any) -> list[Rule]:
    """Rules in the order in which they are looked at: a Deny first, since it wins.

    Raises:
        TypeError: something else than rules.
    """
    given = list(cast("Iterable[Any]", rules)) if isinstance(rules, Iterable) else [rules]
    for rule in given:
        if not isinstance(rule, Rule) or isinstance(rules, Rule):
            raise TypeError(f"Permission(rules=...) takes Allow(...) and Deny(...), in a list, not {rule!r}")
    return sorted(given, key=lambda rule: rule.allows)


def decided(rules: Sequence[Rule], default: bool, asked: Asked) -> Flow:
    """Whether it is allowed, or may be once the arguments are known; and the rule that says so, None for the default.

    A rule that cannot be told, since its condition raised, is taken against the call.
    """
    may_be = False
    for rule in rules:
        if not rule.fits(asked):
            continue
        try:
            applies = rule.when is None or (yield from rule.holds(asked))
        except Exception as error:
            logger.warning("a rule could not be told, so it is taken against the call: %r: %s", rule, type(error).__name__)
            applies = not rule.allows
        if applies:
            return rule.allows, rule
        may_be = may_be or (applies is None and rule.allows)
    return may_be or default, None
