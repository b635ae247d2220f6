"""Permissions: who may call what, what is offered because of it, what the audit says, and which tools get secrets."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm import Agent, Handoff, Result, Swarm, tool
from swarm.effects import CallModel, Flow
from swarm.errors import AgentError
from swarm.events import Nested, PolicyActed
from swarm.models.scripted import ScriptedModel, call
from swarm.policies import Allow, Deny, Permission
from swarm.policies.expressions import MOST_CHARACTERS
from swarm.policies.rules import Rule
from swarm.testing.conformance import PolicyConformance
from tests.modes import Drive


def look_up(order: int) -> str:
    """Look an order up."""
    return f"order {order}"


def refund(amount: int) -> str:
    """Refund an order."""
    return f"refunded {amount}"


CLERK = {"user": "ada", "roles": ["clerk"]}
MANAGER = {"user": "bob", "roles": ["clerk", "manager"]}


def desk() -> Agent:
    return Agent(name="Desk", functions=[look_up, refund], handoffs=[Agent(name="Sales"), Agent(name="Vault")])


def under(*rules: Rule, **options: Any) -> dict[str, Any]:
    return {"policies": [Permission(rules, **options)]}


def offered(request: dict[str, Any]) -> list[str]:
    return [entry["function"]["name"] for entry in request.get("tools", ())]


class TestConformance(PolicyConformance):
    def make(self) -> Any:
        return Permission([Allow()])


class TestConformanceOfOneThatRefuses(PolicyConformance):
    def make(self) -> Any:
        return Permission([Allow(), Deny(when=lambda arguments: arguments["item"] == 2), Deny(to="Second")], secrets={"password": "none"})

    def turns(self) -> list[Any]:
        return [[call("look_up", {"item": 1}), call("look_up", {"item": 2})], call("transfer_to_second"), "Done."]


# What is offered, and what runs


def test_only_what_is_allowed_is_offered(drive: Drive) -> None:
    """H21: tools and handoffs, by role."""
    rules = [Allow(tools="look_*"), Allow(to="Sales"), Allow(roles="manager")]
    drive(desk(), "go", ["done"], swarm=under(*rules), context_variables=CLERK)
    assert offered(drive.requests[0]) == ["look_up", "transfer_to_sales"]
    drive(desk(), "go", ["done"], swarm=under(*rules), context_variables=MANAGER)
    assert offered(drive.requests[0]) == ["look_up", "refund", "transfer_to_sales", "transfer_to_vault"]


def test_what_is_not_allowed_is_not_run_and_not_named(drive: Drive) -> None:
    """The model reads it like any answer; other tools that are withheld are not listed."""
    turns = [[call("refund", {"amount": 5}), call("look_up", {"order": 1}), call("nothing")], "done"]
    response = drive(desk(), "go", turns, swarm=under(Allow(tools="look_up")), context_variables=CLERK)
    told = [message["content"] for message in response.messages if message["role"] == "tool"]
    assert told == ["This is not permitted here.", "order 1", "Error: Tool nothing not found. Available tools: look_up."]
    assert [c.outcome for c in response.calls] == ["refused", "ok", "error"]


def test_a_deny_wins(drive: Drive) -> None:
    rules = [Allow(), Deny(tools="refund", agents="Des?", users="ada", reason="Ask a manager to refund."), Allow(tools="refund")]
    response = drive(desk(), "go", [call("refund", {"amount": 5}), "done"], swarm=under(*rules), context_variables=CLERK)
    assert response.messages[1]["content"] == "Ask a manager to refund."
    response = drive(desk(), "go", [call("refund", {"amount": 5}), "done"], swarm=under(*rules), context_variables=MANAGER)
    assert response.messages[1]["content"] == "refunded 5"


def test_what_no_rule_names_is_refused_or_allowed(drive: Drive) -> None:
    drive(desk(), "go", ["done"], swarm=under())
    assert "tools" not in drive.requests[0]
    drive(desk(), "go", ["done"], swarm=under(Deny(tools="refund"), default="allow"))
    assert offered(drive.requests[0]) == ["look_up", "transfer_to_sales", "transfer_to_vault"]


def test_a_request_without_tools_forces_none(drive: Drive) -> None:
    """P04"""
    agent = Agent(functions=[refund], tool_choice="required", parallel_tool_calls=True)
    drive(agent, "go", ["done"], swarm=under())
    assert drive.requests[0].keys().isdisjoint({"tools", "tool_choice", "parallel_tool_calls"})
    forced = Agent(functions=[refund, look_up], tool_choice={"type": "function", "function": {"name": "refund"}})
    drive(forced, "go", ["done"], swarm=under(Allow(tools="look_up")))
    assert offered(drive.requests[0]) == ["look_up"]
    assert "tool_choice" not in drive.requests[0]


LARGE: list[Any] = [lambda arguments, roles: arguments["amount"] > 100 and "manager" not in roles]
LARGE.append("arguments.amount > 100 && !('manager' in roles)")


@pytest.mark.parametrize("large", LARGE)
def test_a_rule_about_arguments_is_asked_about_calls(drive: Drive, large: Any) -> None:
    """D18: such a tool is offered, since it may be called."""
    rules = [Allow(), Deny(tools="refund", when=large, reason="Too much.")]
    turns = [[call("refund", {"amount": 100}), call("refund", {"amount": 101})], "done"]
    response = drive(desk(), "go", turns, swarm=under(*rules), context_variables=CLERK)
    assert "refund" in offered(drive.requests[0])
    assert [m["content"] for m in response.messages if m["role"] == "tool"] == ["refunded 100", "Too much."]
    response = drive(desk(), "go", turns, swarm=under(*rules), context_variables=MANAGER)
    assert response.messages[2]["content"] == "refunded 101"


def _first(arguments: dict[str, Any]) -> bool:
    return arguments["order"] == 1


def test_what_only_its_arguments_may_allow_is_offered(drive: Drive) -> None:
    turns = [[call("look_up", {"order": 1}), call("look_up", {"order": 2})], "done"]
    response = drive(desk(), "go", turns, swarm=under(Allow(tools="look_up", when=_first)))
    assert offered(drive.requests[0]) == ["look_up"]
    assert [c.outcome for c in response.calls] == ["ok", "refused"]


async def _of_legal_age(context_variables: dict[str, Any], user: str, agent: Agent) -> bool:
    return context_variables["age"] >= 18 and user == "ada" and agent.name == "Desk"


@pytest.mark.parametrize("when", [_of_legal_age, "context_variables.age >= 18 && user == 'ada' && agent == 'Desk' && tool != ''"])
def test_a_condition_gets_what_it_asks_for(drive: Drive, when: Any) -> None:
    for age in (17, 18):
        drive(desk(), "go", ["done"], swarm=under(Allow(when=when, tools="*")), context_variables={"age": age, "user": "ada"})
        assert offered(drive.requests[0]) == (["look_up", "refund"] if age == 18 else [])


@pytest.mark.parametrize("when", [lambda context_variables: context_variables["no_such"], "context_variables.no_such", "user"])
def test_a_rule_that_cannot_be_told_is_taken_against_the_call(drive: Drive, when: Any, caplog: pytest.LogCaptureFixture) -> None:
    for rules in ([Allow(when=when)], [Allow(), Deny(when=when)]):
        response = drive(desk(), "go", [call("refund", {"amount": 1}), "done"], swarm=under(*rules), context_variables={"user": "ada"})
        assert response.calls[0].outcome == "refused"
    assert "a rule could not be told" in caplog.text


def test_a_name_that_no_rule_sees_is_told_at_once() -> None:
    """A misspelt one could never be told, and would refuse each call."""
    with pytest.raises(AgentError, match="names 'argument', 'nobody', which it does not see; it sees user, roles, tool, to, arguments"):
        Allow(when="nobody || argument.amount > 1")
    values = "arguments.all(n, n > 1) && arguments . exists_one( m, type(m) == int) && {'nobody': 'argument'}.nobody == user"
    assert Allow(when=values).when is not None


# Handoffs


def test_handoffs_are_permitted_like_calls(drive: Drive) -> None:
    """H23: by a handoff, by a function that returns an agent, and back."""
    vault = Agent(name="Vault")

    def open_vault() -> Result:
        return Result(agent=vault)

    agent = Agent(name="Desk", functions=[open_vault], handoffs=[vault])
    for name in ("open_vault", "transfer_to_vault"):
        rules = [Allow(), Deny(to="Vault", roles="clerk", reason="Not for clerks.")]
        response = drive(agent, "go", [call(name), "done"], swarm=under(*rules), context_variables=CLERK)
        assert response.agent is agent
        assert response.messages[1]["content"] == "Not for clerks."
        response = drive(agent, "go", [call(name), "done"], swarm=under(*rules), context_variables={"roles": "guard"})
        assert response.agent is vault


def test_a_handoff_that_comes_back_is_one_too(drive: Drive) -> None:
    """D24"""
    agent = Agent(name="Desk", handoffs=[Handoff(Agent(name="Vault"), returns=True)])
    turns = [call("transfer_to_vault", {"input": "open"}), "done"]
    response = drive(agent, "go", turns, swarm=under(Allow(), Deny(to="Vault")))
    assert (response.calls[0].outcome, response.text) == ("refused", "done")
    response = drive(agent, "go", [turns[0], "opened", "done"], swarm=under(Allow(to="Vault")))
    assert (response.calls[0].outcome, response.text) == ("ok", "done")


def test_rules_hold_inside_agents_used_as_tools(drive: Drive) -> None:
    helper = Agent(name="Helper", functions=[refund])
    agent = Agent(name="Desk", functions=[helper.as_tool()])
    turns = [call("helper", {"input": "go"}), call("refund", {"amount": 1}), "inner", "done"]
    swarm = under(Allow(), Deny(tools="refund", agents="Helper"))
    events = drive.events(agent, "go", turns, swarm=swarm)
    acted = [event.event for event in events if isinstance(event, Nested) and isinstance(event.event, PolicyActed)]
    assert [event.what for event in acted] == ["withheld refund", "refused refund"]


# The audit


def test_every_decision_is_told_and_logged(drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    """U01: of the arguments only their names, unless more is asked for."""
    caplog.set_level(logging.INFO, "swarm.audit")
    rules = [Allow(roles="clerk", tools="look_up"), Allow(to="Sales"), Deny(tools="refund", reason="Managers only.")]
    turns = [[call("look_up", {"order": 7}), call("refund", {"amount": 5}), call("transfer_to_sales")], "done"]
    events = drive.events(desk(), "go", turns, swarm=under(*rules), context_variables=CLERK)
    acted = [event for event in events if isinstance(event, PolicyActed)]
    assert [(event.what, event.reason) for event in acted] == [
        ("withheld refund", "Managers only."),
        ("withheld Vault", "default"),
        ("allowed look_up", "Allow(tools='look_up', roles='clerk')"),
        ("refused refund", "Managers only."),
        ("allowed Sales", "Allow(to='Sales')"),
    ]
    assert acted[2].detail == {
        "decision": "allowed",
        "user": "ada",
        "roles": ["clerk"],
        "agent": "Desk",
        "call_id": "call_1_1",
        "rule": "Allow(tools='look_up', roles='clerk')",
        "tool": "look_up",
        "arguments": ["order"],
    }
    assert [record.audit for record in caplog.records] == [event.detail for event in acted]  # type: ignore[attr-defined]
    swarm = under(*rules, audit_arguments=dict)
    acted = [event for event in drive.events(desk(), "go", turns, swarm=swarm, context_variables=CLERK) if isinstance(event, PolicyActed)]
    assert acted[2].detail is not None and acted[2].detail["arguments"] == {"order": 7}


# Secrets


def test_secrets_reach_the_tools_that_may_have_them_and_nothing_else(drive: Drive) -> None:
    seen: dict[str, list[str]] = {}

    def note(name: str, context_variables: dict[str, Any]) -> str:
        seen.setdefault(name, []).append(" ".join(sorted(context_variables)))
        return "ok"

    @tool(enabled=lambda context_variables: bool(note("enabled", context_variables)))
    def query(context_variables: dict[str, Any]) -> str:
        return note("query", context_variables)

    def search(context_variables: dict[str, Any]) -> str:
        return note("search", context_variables)

    def instructions(context_variables: dict[str, Any]) -> str:
        return note("instructions", context_variables) + context_variables["db_password"]

    agent = Agent(instructions=instructions, functions=[query, search])
    inner = Agent(name="Outer", functions=[agent.as_tool(name="helper")])
    given = {"db_password": "hunter2", "user": "ada"}
    turns = [[call("query"), call("search")], "done"]
    swarm = under(Allow(), secrets={"db_password": ["que*"]})
    response = drive(agent, "go", turns, swarm=swarm, context_variables=given)
    assert response.context_variables == given
    drive(inner, "go", [call("helper", {"input": "go"}), *turns, "done"], swarm=swarm, context_variables=given)
    assert seen.pop("query") == ["db_password user"] * 2
    assert {name: set(kept) for name, kept in seen.items()} == {"enabled": {"user"}, "instructions": {"user"}, "search": {"user"}}
    assert "hunter2" not in str(drive.requests)


def test_what_a_tool_changes_in_its_view_is_changed(drive: Drive) -> None:
    """K10: also by a tool that fails afterwards, and by several side by side."""

    def change(context_variables: dict[str, Any]) -> str:
        assert "password" not in context_variables
        context_variables["new"] = 1
        context_variables["list"].append(2)
        del context_variables["old"]
        context_variables["password"] = "set anew"
        raise ValueError("too late")

    def other(context_variables: dict[str, Any]) -> Result:
        context_variables["other"] = 1
        return Result(value="ok", context_variables={"merged": 1})

    given = {"password": "p", "old": 1, "list": [1], "same": 3}
    turns = [[call("change"), call("other")], "done"]
    for parallel in (False, True):
        swarm = {**under(Allow(), secrets={"password": ()}), "parallel_tools": parallel}
        response = drive(Agent(functions=[change, other]), "go", turns, swarm=swarm, context_variables=given)
        expected = {"password": "set anew", "list": [1, 2], "same": 3, "new": 1, "other": 1, "merged": 1}
        assert response.context_variables == expected


def test_a_rule_sees_what_is_secret(drive: Drive) -> None:
    swarm = under(Allow(when=lambda context_variables: context_variables["token"] == "t"), secrets={"token": "none"})
    drive(desk(), "go", ["done"], swarm=swarm, context_variables={"token": "t"})
    assert "refund" in offered(drive.requests[0])


# How rules are written


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: Permission(["refund"]), TypeError, r"takes Allow\(...\) and Deny\(...\)"),
        (lambda: Permission(default="ask"), ValueError, "must be 'allow' or 'deny'"),  # type: ignore[arg-type]
        (lambda: Allow(when=lambda amount: True), AgentError, "asks for 'amount'"),
        (lambda: Allow(when="arguments.amount >"), AgentError, "is no expression in CEL"),
        (lambda: Allow(when="1 == 1 || " * 200 + "true"), AgentError, f"may have {MOST_CHARACTERS:,} characters"),
    ],
)
def test_what_cannot_work_is_refused_when_it_is_made(make: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        make()


def test_an_expression_goes_over_lists_of_a_bounded_size(drive: Drive) -> None:
    """Too much to go over is a rule that cannot be told."""
    agent = Agent(functions=[count])
    rules = under(Allow(when="arguments.items.all(x, arguments.items.exists(y, y == x))"))
    for size, outcome in ((10, "ok"), (1_000, "refused")):
        turns = [call("count", {"items": list(range(size))}), "done"]
        assert drive(agent, "go", turns, swarm=rules).calls[0].outcome == outcome


def count(items: list[int]) -> str:
    return str(len(items))


RULES = st.lists(
    st.tuples(st.booleans(), st.sampled_from([None, "look_up", "refund", "*"]), st.sampled_from([None, "clerk", "manager"])), max_size=6
)


@given(RULES, st.booleans(), st.sets(st.sampled_from(["clerk", "manager"])))
def test_order_does_not_matter(written: list[tuple[bool, str | None, str | None]], default: bool, roles: set[str]) -> None:
    """A call is allowed if an Allow fits, or nothing does and the default allows, and no Deny fits; what is offered is what runs."""
    rules = [(Allow if allows else Deny)(tools=tools, roles=role) for allows, tools, role in written]

    def fits(tools: str | None, role: str | None, name: str) -> bool:
        return tools in (None, "*", name) and (role is None or role in roles)

    def expected(name: str) -> bool:
        found = {allows for allows, tools, role in written if fits(tools, role, name)}
        return False not in found and (True in found or default)

    model = ScriptedModel([[call("look_up", {"order": 1}), call("refund", {"amount": 1})], "done"])
    policy = Permission(rules, default="allow" if default else "deny")
    agent = Agent(functions=[look_up, refund])
    response = Swarm(model, policies=[policy]).run(agent, "go", context_variables={"roles": sorted(roles)})
    may = [name for name in ("look_up", "refund") if expected(name)]
    assert offered(model.requests[0]) == may
    assert [c.name for c in response.calls if c.outcome == "ok"] == may


class Judging:
    """A policy that asks a model itself."""

    def model(self, call: CallModel) -> Flow:
        other = {"model": "m", "messages": [{"role": "user", "content": "?"}]}
        yield CallModel(Agent(name="own"), ScriptedModel(["hm"]), other, run=call.run)
        return (yield call)


def test_what_policies_ask_is_left_alone(drive: Drive) -> None:
    drive(desk(), "go", ["done"], swarm={"policies": [Judging(), Permission([Allow(tools="refund")])]})
    assert offered(drive.requests[0]) == ["refund"]
