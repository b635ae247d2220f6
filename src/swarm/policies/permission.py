"""Who may call what, which tools are offered because of it, and which of them may have secrets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from ..calls import Outcome
from ..effects import CallModel, CallTool, Decide, Flow, HandOff, Message, StartRun
from ..inside import inside
from ..run import Run
from ..tools import Tool
from ..types import Refuse
from .asked import Asked, roles_of
from .audit import is_wanted, told
from .deciding import decided, ordered
from .given import known_to
from .narrowing import merge_changes, without_tools
from .route_tool import RouteTool, only_hands_over
from .rules import Names, Rule, like

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
        TypeError: a rule that is none, names that are none.
        ValueError: another default.
    """

    only_marked = True  # the approvals that it looks at: of calls that somebody would be asked about

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
        for name, variable in (("user", user), ("roles", roles)):
            if not isinstance(variable, str):  # type: ignore[redundant-expr]  # callers without a type checker
                raise TypeError(f"Permission({name}={variable!r}) must be the name of a context variable")
        if default not in ("allow", "deny"):
            raise ValueError(f"Permission(default={default!r}) must be 'allow' or 'deny'")
        self._rules = ordered(rules)
        self._default = default == "allow"
        self._by_names = all(rule.when is None for rule in self._rules)
        self._user, self._roles = user, roles
        self._secrets = known_to(secrets or {})
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
        run, state, tools = inside(call.run), call.run.state(self), call.request.get("tools")
        about = (run.agent, run.context.get(self._user), run.context.get(self._roles))
        last: Any = state.get("last")
        if last is None or last[0] is not tools or last[1] != about or not self._by_names:
            found = yield from self._withheld(run, tools or (), state.setdefault("told", set()))
            last = state["last"] = (tools, about, *found)
        withheld, run.withheld = last[2:]
        return (yield call.replace(request=without_tools(call.request, withheld)) if withheld else call)

    def _withheld(self, run: Run, tools: Iterable[Message], known: set[tuple[str, str]]) -> Flow:
        """The names of the tools that are not offered because of a rule, and these with those that somebody else has taken off."""
        withheld = set[str]()
        sent = [entry["function"]["name"] for entry in tools if entry["function"]["name"] in run.offered]
        for name in sent:
            asked = self._about(run, run.offered[name])
            allowed, rule = yield from decided(self._rules, self._default, asked)
            if not allowed:
                withheld.add(name)
                if (asked.agent, name) not in known:
                    known.add((asked.agent, name))
                    yield from told(asked, self._audit_arguments, "withheld", rule)
        return frozenset(withheld), frozenset(withheld).union(run.offered).difference(set(sent) - withheld)

    def approval(self, call: Decide) -> Flow:
        """Refuse a call that is not allowed before anybody is asked about it."""
        if isinstance(call.tool, RouteTool):
            return (yield call)  # whom it hands over to is decided in `handoff`
        asked = self._about(inside(call.run), call.tool, call.arguments)
        allowed, rule = yield from decided(self._rules, self._default, asked)
        if allowed:
            return (yield call)
        yield from told(asked, self._audit_arguments, "refused", rule, call.id)
        return Refuse(_said(rule))

    def tool(self, call: CallTool) -> Flow:
        """Run the call if it is allowed, with the secrets that its tool may have."""
        run = inside(call.run)
        if not only_hands_over(call.tool):  # which is decided in `handoff`
            asked = self._about(run, call.tool, call.arguments)
            allowed, rule = yield from decided(self._rules, self._default, asked)
            if is_wanted(run):
                yield from told(asked, self._audit_arguments, "allowed" if allowed else "refused", rule, call.id)
            if not allowed:
                return Outcome("refused", _said(rule))
        if not self._secrets or not call.tool.context_parameter:
            return (yield call)
        kept = {name for name, tools in self._secrets.items() if not any(like(tool, (call.tool.name,)) for tool in tools)}
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
        allowed, rule = yield from decided(self._rules, self._default, asked)
        yield from told(asked, self._audit_arguments, "allowed" if allowed else "refused", rule, change.call_id)
        return (yield change) if allowed else Refuse(_said(rule))

    def _about(self, run: Run, tool: Tool, arguments: dict[str, Any] | None = None) -> Asked:
        return self._asked(run, "", tool.handoff.agent.name) if tool.handoff is not None else self._asked(run, tool.name, "", arguments)

    def _asked(self, run: Run, tool: str, to: str, arguments: dict[str, Any] | None = None) -> Asked:
        roles = roles_of(run.context.get(self._roles))
        return Asked(run, run.context.get(self._user), roles, run.fields["name"], tool, to, arguments)


def _said(rule: Rule | None) -> str:
    return (rule.reason if rule is not None else "") or _REFUSED
