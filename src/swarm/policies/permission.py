"""Who may call what, which tools are offered because of it, and which of them may have secrets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal, cast

from ..calls import Outcome
from ..effects import CallModel, CallTool, Flow, HandOff, Message, StartRun
from ..run import Run
from ..tools import Tool
from ..types import Refuse
from .asked import Asked
from .audit import logger, told
from .inside import inside
from .narrowing import merge_changes, without_tools
from .route_tool import only_hands_over
from .rules import Names, Rule

_REFUSED = "This is not permitted here."


class Permission:
    """Lets only those tools be called, and only those handoffs be made, that the rules allow for the user of the run.

    A tool that is refused whatever its arguments is not offered to the model. One that is called all the same is not run: the model reads
    that it is not permitted. A rule that cannot be told, since its condition raised, is taken against the call. Each decision is an
    event `PolicyActed` whose `detail` says who asked for what and which rule decided, and a line at level INFO of the logger "swarm.audit".

    Args:
        rules: Allow and Deny, in any order: a Deny wins.
        default: what happens where no rule applies.
        user, roles: the context variables that say who the run is for; `roles` is a text or a list of them.
        secrets: names of context variables that only some tools get, each with names of those tools, in which `*` and `?` may stand. All
            other tools, instructions and conditions of agents see the context variables without them.
        audit_arguments: what of a call's arguments the audit holds; by default their names. `dict` is all of them.

    Raises:
        TypeError: a rule that is none.
        ValueError: another default.
    """

    def __init__(
        self,
        rules: Sequence[Rule] = (),
        *,
        default: Literal["allow", "deny"] = "deny",
        user: str = "user",
        roles: str = "roles",
        secrets: Mapping[str, Names] | None = None,
        audit_arguments: Callable[[dict[str, Any]], Any] = list,
    ) -> None:
        for rule in rules:
            if not isinstance(rule, Rule):  # type: ignore[redundant-expr]  # callers without a type checker
                raise TypeError(f"Permission(rules=...) takes Allow(...) and Deny(...), not {rule!r}")
        if default not in ("allow", "deny"):
            raise ValueError(f"Permission(default={default!r}) must be 'allow' or 'deny'")
        self._rules = sorted(rules, key=lambda rule: rule.allows)  # a Deny is looked at first, since it wins
        self._default = default == "allow"
        self._who = (user, roles)
        self._secrets = {name: (tools,) if isinstance(tools, str) else tuple(tools or ()) for name, tools in (secrets or {}).items()}
        self._audit_arguments = audit_arguments

    def run(self, start: StartRun) -> Flow:
        """Keep the secrets from everything but tools."""
        run = inside(start.run)
        run.hidden |= self._secrets.keys()
        return (yield start)

    def model(self, call: CallModel) -> Flow:
        """Offer only what is allowed."""
        if call.run is None or call.agent is not call.run.agent:
            return (yield call)  # asked by a policy, which has no tools
        run, withheld = inside(call.run), set[str]()
        offers = cast("list[Message]", call.request.get("tools") or [])
        sent = [entry["function"]["name"] for entry in offers if entry["function"]["name"] in run.offered]
        for name in sent:
            asked = self._about(run, run.offered[name])
            allowed, rule = yield from self._decided(asked)
            if not allowed:
                withheld.add(name)
                known = call.run.state(self).setdefault("withheld", set())
                if (asked.agent, name) not in known:
                    known.add((asked.agent, name))
                    yield from told(asked, self._audit_arguments, "withheld", rule)
        run.withheld = frozenset(run.offered) - frozenset(sent) | withheld
        return (yield call.replace(request=without_tools(call.request, withheld)) if withheld else call)

    def tool(self, call: CallTool) -> Flow:
        """Run the call if it is allowed, with the secrets that its tool may have."""
        run = inside(call.run)
        if not only_hands_over(call.tool):  # which is decided in `handoff`
            asked = self._about(run, call.tool, call.arguments)
            allowed, rule = yield from self._decided(asked)
            yield from told(asked, self._audit_arguments, "allowed" if allowed else "refused", rule, call.id)
            if not allowed:
                return Outcome("refused", _said(rule))
        if not self._secrets or not call.tool.context_parameter:
            return (yield call)
        kept = {name for name, tools in self._secrets.items() if not any(fnmatchcase(call.tool.name, tool) for tool in tools)}
        given = {name: value for name, value in run.context.items() if name not in kept}
        before = dict(given)
        try:
            return (yield call.replace(variables=given))
        finally:
            merge_changes(run.context, before, given)

    def handoff(self, change: HandOff) -> Flow:
        """Let the other agent take over if it is allowed."""
        run = inside(change.run)
        asked = self._asked(run, "", change.target.name)
        allowed, rule = yield from self._decided(asked)
        yield from told(asked, self._audit_arguments, "allowed" if allowed else "refused", rule, change.call_id)
        return (yield change) if allowed else Refuse(_said(rule))

    def _about(self, run: Run, tool: Tool, arguments: dict[str, Any] | None = None) -> Asked:
        return self._asked(run, "", tool.handoff.agent.name) if tool.handoff is not None else self._asked(run, tool.name, "", arguments)

    def _asked(self, run: Run, tool: str, to: str, arguments: dict[str, Any] | None = None) -> Asked:
        user, given = (run.context.get(name) for name in self._who)
        roles = (given,) if isinstance(given, str) else tuple(map(str, given or ()))
        return Asked(run, user, roles, run.agent.name, tool, to, arguments)

    def _decided(self, asked: Asked) -> Flow:
        """Whether it is allowed, or may be once the arguments are known; and the rule that says so, None for the default."""
        may_be = False
        for rule in self._rules:
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
        return may_be or self._default, None


def _said(rule: Rule | None) -> str:
    return (rule.reason if rule is not None else "") or _REFUSED
