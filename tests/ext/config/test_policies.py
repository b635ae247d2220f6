"""Policies in data: each of `swarm.policies` can be said, with its arguments and its defaults."""

from __future__ import annotations

import inspect
from typing import Any, get_args

import pytest

from swarm import policies
from swarm.ext.config import policy_forms as forms
from swarm.ext.config.document import Document
from swarm.ext.config.form import LimitsForm
from swarm.limits import Limits
from swarm.models.scripted import call
from swarm.nesting import hooks_of
from swarm.policies import checks
from tests.ext.config import shop
from tests.ext.config.conftest import Load
from tests.modes import Drive

POLICIES = {get_args(form.model_fields["type"].annotation)[0]: form for form in get_args(get_args(forms.PolicyForm)[0])}
CHECKS = {get_args(form.model_fields["type"].annotation)[0]: form for form in get_args(get_args(forms.CheckForm)[0])}
NO_DATA = {
    ("ContextWindow", "strategy"): "a Summary is a table",
    ("Guardrail", "check"): "a table",
    ("Length", "count"): "a function",
    ("Permission", "audit_arguments"): "a function",
    ("Permission", "rules"): "said as allow and deny",
    ("Retry", "random"): "a function",
    ("Router", "embed"): "said once, for all",
    ("SmallModel", "embed"): "said once, for all",
}
PAIRS = [
    *((name, getattr(policies, name), form) for name, form in POLICIES.items()),
    *((name, getattr(checks, name), form) for name, form in CHECKS.items() if name != "function"),
    ("Summary", policies.Summary, forms.SummaryForm),
    ("Allow", policies.Allow, forms.RuleForm),
    ("Limits", Limits, LimitsForm),
]


def test_every_policy_can_be_said() -> None:
    """D73"""
    parts = {"Allow", "Block", "Deny", "Summary"}
    assert set(POLICIES) == set(policies.__all__) - parts
    assert set(CHECKS) == {*checks.__all__, "function"}


@pytest.mark.parametrize(("name", "kind", "form"), PAIRS, ids=[pair[0] for pair in PAIRS])
def test_every_argument_can_be_said(name: str, kind: Any, form: Any) -> None:
    """D73: and what is left out is what the class takes then."""
    arguments = inspect.signature(kind).parameters
    said = {field.alias or key: field for key, field in form.model_fields.items() if key != "type"}
    assert {key for key in arguments if key not in said and (name, key) not in NO_DATA} == set()
    assert set(said) - set(arguments) == ({"allow", "deny"} if name == "Permission" else set())
    for key, parameter in arguments.items():
        is_empty = parameter.default in ((), parameter.empty, None)
        if key in said and (name, key) not in NO_DATA and not is_empty:
            default = said[key].get_default(call_default_factory=True)
            assert default == parameter.default or default is None, key  # None: whatever the class takes


ALL = """
functions_from = ["shop"]
agent = "a"
embed = "shop.embed"
[clients.spare]
base_url = "http://127.0.0.1:1/v1"
[agents.a]
functions = ["shop.look_up", "shop.refund"]
handoffs = ["b"]
[agents.b]
[[policies]]
type = "Permission"
allow = [{ roles = ["clerk"] }, { to = "*" }]
deny = [{ tools = "refund", when = "has(arguments.amount) && arguments.amount > 50", reason = "Too much." }]
secrets = { password = "look_up" }
[[policies]]
type = "Approval"
ask = "shop.ask"
when = "tool == 'look_up' && arguments.order > 99"
[[policies]]
type = "Approval"
[[policies]]
type = "Guardrail"
check = { type = "Pattern", pattern = '\\d{16}', by = "[card]" }
on = ["input", "output"]
[[policies]]
type = "Guardrail"
check = { type = "function", use = "shop.no_swearing" }
name = "manners"
[[policies]]
type = "Guardrail"
check = { type = "Length", characters = 500 }
[[policies]]
type = "Guardrail"
check = { type = "Hosts", allowed = ["example.com"] }
[[policies]]
type = "Guardrail"
on = "arguments"
check = { type = "JsonSchema", schema = { type = "object" } }
[[policies]]
type = "Guardrail"
on = "result"
check = { type = "Judge", rule = "Be kind.", client = "spare", settings = { temperature = 0 } }
beside = false
[[policies]]
type = "SmallModel"
tools = 3
agents = ["b"]
[[policies]]
type = "ContextWindow"
max_tokens = 9000
[[policies]]
type = "ContextWindow"
max_tokens = 9000
strategy = { type = "Summary", client = "spare", words = 50 }
[[policies]]
type = "Fallback"
models = ["other"]
[[policies]]
type = "Fallback"
clients = [{ client = "spare", model = "m" }, { client = "spare" }]
[[policies]]
type = "Cache"
path = "cache.sqlite"
[[policies]]
type = "Router"
start = "a"
routes.b = ["money"]
threshold = 0.9
[[policies]]
type = "Retry"
tools = ["look_up"]
[[policies]]
type = "RateLimit"
requests_per_minute = 60
"""


def test_all_of_them_are_made(load: Load) -> None:
    """D73"""
    config = load(ALL)
    assert [type(policy).__name__ for policy in config.policies] == [
        line.partition('"')[2].rstrip('"') for line in ALL.splitlines() if line.startswith("type")
    ]
    assert hooks_of(config.policies)
    assert not config.files[0].with_name("cache.sqlite").exists(), "nothing is opened before the first call"


def test_rules_and_approvals_hold_in_a_run(load: Load, drive: Drive) -> None:
    """D73"""
    config = load("[[policies]]\n".join(ALL.split("[[policies]]\n")[:6]))
    shop.calls.clear()
    turns = [[call("refund", {"order": 1, "amount": 80}), call("refund", {"order": 2, "amount": 13}), call("refund", {"order": 3})], "damn"]
    response = drive(config.agent, "1234123412341234", turns, swarm=config.options, context_variables={"roles": "clerk"})
    assert [done.outcome for done in response.calls] == ["refused", "refused", "ok"]
    assert response.messages[1]["content"].endswith("Too much.")
    assert response.stop_reason == "guardrail:manners"
    assert shop.calls == ["refund 3 10"]
    assert drive.requests[0]["messages"][-1]["content"] == "[card]"
    response = drive(config.agent, "hi", [call("look_up", {"order": 100}), "x"], swarm=config.options, context_variables={"roles": "clerk"})
    assert response.text == "x", "the inner Approval has no function, and the outer one agrees"


def test_an_approval_without_a_function_pauses(load: Load, drive: Drive) -> None:
    config = load(ALL.partition("[[policies]]")[0] + "[[policies]]\ntype = 'Approval'\nwhen = \"arguments.order > 99\"\n")
    response = drive(config.agent, "hi", [call("look_up", {"order": 100}), "x"], swarm=config.options)
    assert (response.stop_reason, [pending.name for pending in response.pending]) == ("approval", ["look_up"])
    assert drive(config.agent, "hi", [call("look_up", {"order": 9}), "x"], swarm=config.options).text == "x"


def test_a_document_knows_where_its_values_stand() -> None:
    document = Document("x.toml", {"a": [{"b": 1}]}, {("a",): 1, ("a", 0): 2, ("a", 0, "b"): 3})
    document.put(("a", 0, "b"), 2, "VARIABLE")
    document.put(("c", "d"), 3, "OTHER")
    assert document.data == {"a": [{"b": 2}], "c": {"d": 3}}
    assert str(document.problem(("a", 0, "b"), "no")) == "VARIABLE: a[0].b: no"
    assert str(document.problem(("c", "d"), "no")) == "OTHER: c.d: no"
    assert str(document.problem(("a", 0, "e"), "no")) == "x.toml:2: a[0].e: no"
    assert str(document.problem(("f",), "no")) == "x.toml:1: f: no"
