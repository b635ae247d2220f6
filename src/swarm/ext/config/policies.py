"""From what a configuration says of its policies to the policies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import policies
from ...policies import checks
from ...types import Agent
from . import policy_forms as forms
from .answers import check_references
from .conditions import NeedsApprovalToo, later
from .form import Form
from .parts import Parts, given
from .problems import KeyPath


def make_policies(parts: Parts, agents: dict[str, Agent], embed: Any) -> list[Any]:
    """The policies, in order. What cannot be made is missing, and told in `parts.problems`.

    Args:
        parts: what the file says.
        agents: by their keys.
        embed: makes vectors of texts, or None.
    """
    makers = _Makers(parts, agents, embed)
    made = [makers.made(("policies", number), form) for number, form in enumerate(parts.form.policies)]
    return [policy for policy in made if policy is not None]


class _Makers:
    """Makes one policy of each kind."""

    def __init__(self, parts: Parts, agents: dict[str, Agent], embed: Any) -> None:
        self._parts = parts
        self._agents = agents
        self._embed = {} if embed is None else {"embed": embed}

    def made(self, path: KeyPath, form: Any) -> Any:
        """The policy of a form, or None."""
        makers: dict[type[Form], Callable[[KeyPath, Any], Any]] = {
            forms.ApprovalForm: self._approval,
            forms.CacheForm: self._cache,
            forms.ContextWindowForm: self._context_window,
            forms.FallbackForm: self._fallback,
            forms.GuardrailForm: self._guardrail,
            forms.PermissionForm: self._permission,
            forms.RouterForm: self._router,
            forms.SmallModelForm: self._small_model,
        }
        before = len(self._parts.problems)
        found = next((maker for kind, maker in makers.items() if isinstance(form, kind)), self._plain)
        made = self._parts.attempt(path, lambda: found(path, form))
        return made if len(self._parts.problems) == before else None

    def _plain(self, path: KeyPath, form: Any) -> Any:
        return getattr(policies, form.type)(**given(form, "type"))

    def _approval(self, path: KeyPath, form: forms.ApprovalForm) -> Any:
        ask = self._parts.function((*path, "ask"), form.ask)
        when = None if form.when is None else NeedsApprovalToo(form.when)
        return policies.Approval(ask or later, when=when)

    def _cache(self, path: KeyPath, form: forms.CacheForm) -> Any:
        options = given(form, "type")
        if form.path is not None:
            name = form.path
            options["path"] = self._parts.attempt((*path, "path"), lambda: self._parts.file(name))
        return policies.Cache(**options)

    def _context_window(self, path: KeyPath, form: forms.ContextWindowForm) -> Any:
        if isinstance(form.strategy, str):
            return policies.ContextWindow(form.max_tokens, form.strategy)
        options = given(form.strategy, "type", "client")
        client = self._parts.client((*path, "strategy", "client"), form.strategy.client)
        return policies.ContextWindow(form.max_tokens, policies.Summary(client=client, **options))

    def _fallback(self, path: KeyPath, form: forms.FallbackForm) -> Any:
        clients: list[Any] = []
        for number, other in enumerate(form.clients):
            client = self._parts.client((*path, "clients", number, "client"), other.client)
            clients.append(client if other.model is None else (client, other.model))
        if any(client is None or (isinstance(client, tuple) and client[0] is None) for client in clients):
            return None
        return policies.Fallback(form.models, clients, content_filter=form.content_filter)

    def _guardrail(self, path: KeyPath, form: forms.GuardrailForm) -> Any:
        check = self._check((*path, "check"), form.check)
        return None if check is None else policies.Guardrail(check, **given(form, "type", "check"))

    def _check(self, path: KeyPath, form: Any) -> Any:
        match form:
            case forms.FunctionCheckForm():
                return self._parts.function((*path, "use"), form.use)
            case forms.JudgeForm():
                client = self._parts.client((*path, "client"), form.client)
                return self._parts.attempt(path, lambda: checks.Judge(client=client, **given(form, "type", "client")))
            case forms.JsonSchemaForm():
                return self._parts.attempt((*path, "schema"), lambda: _json_schema(form.json_schema))
            case _:
                return self._parts.attempt(path, lambda: getattr(checks, form.type)(**given(form, "type")))

    def _permission(self, path: KeyPath, form: forms.PermissionForm) -> Any:
        rules = [
            rule
            for kind, listed, name in ((policies.Allow, form.allow, "allow"), (policies.Deny, form.deny, "deny"))
            for number, rule_form in enumerate(listed)
            if (rule := self._parts.attempt((*path, name, number), lambda kind=kind, one=rule_form: kind(**given(one)))) is not None
        ]
        return policies.Permission(rules, **given(form, "type", "allow", "deny"))

    def _router(self, path: KeyPath, form: forms.RouterForm) -> Any:
        start = self._agent((*path, "start"), form.start)
        routes = {self._agent((*path, "routes", key), key): examples for key, examples in form.routes.items()}
        if start is None or None in routes:
            return None
        numbers = {name: value for name, value in given(form, "type", "start", "routes").items() if value is not None}
        return policies.Router(start, routes, **numbers, **self._embed)  # type: ignore[arg-type]  # None is none of the keys

    def _small_model(self, path: KeyPath, form: forms.SmallModelForm) -> Any:
        options = given(form, "type", "agents")
        if form.agents is not None:
            options["agents"] = [self._agent((*path, "agents", number), key) for number, key in enumerate(form.agents)]
            if None in options["agents"]:
                return None
        return policies.SmallModel(**options, **self._embed)

    def _agent(self, path: KeyPath, key: str) -> Agent | None:
        if key not in self._parts.form.agents:
            self._parts.unknown(path, key, list(self._parts.form.agents), "agents")
        return self._agents.get(key)


def _json_schema(schema: dict[str, Any]) -> Any:
    check_references(schema)
    return checks.JsonSchema(schema)
