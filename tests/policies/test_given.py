"""What a policy cannot be made with is said where it is made, with the argument's name, and not by a comparison deep in a run."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from swarm import Agent, ScriptedModel
from swarm.errors import AgentError, ConfigError
from swarm.policies import Allow, Cache, ContextWindow, Deny, Fallback, Guardrail, Permission, RateLimit, Retry, Summary
from swarm.policies.checks import Hosts, Judge, Length, Pattern
from tests.modes import Drive

WRONG: list[tuple[Any, type[Exception], str]] = [
    (lambda: Retry(tries="3"), TypeError, r"Retry\(tries='3'\) must be a whole number"),
    (lambda: Retry(tries=0), ValueError, r"Retry\(tries=0\) must be at least 1, which is no retry"),
    (lambda: Retry(seconds="60"), TypeError, r"Retry\(seconds='60'\) must be a number of seconds"),
    (lambda: Retry(tools=[len]), TypeError, r"must be the names of tools"),
    (lambda: RateLimit("60"), TypeError, r"RateLimit\(requests_per_minute='60'\) must be a whole number"),
    (lambda: RateLimit(tokens_per_minute=float("nan")), TypeError, r"tokens_per_minute=nan\) must be a whole number"),
    (lambda: Cache(ttl=timedelta(hours=1)), TypeError, "must be a number of seconds"),
    (lambda: Cache(""), ValueError, "names no file; None keeps replies in memory"),
    (lambda: Cache(max_entries=0.5), TypeError, r"Cache\(max_entries=0.5\) must be a whole number"),
    (lambda: ContextWindow("1000"), TypeError, r"ContextWindow\(max_tokens='1000'\) must be a whole number"),
    (lambda: Summary(words=0), ValueError, r"Summary\(words=0\) must be at least 1"),
    (lambda: Summary(client=3), ConfigError, "int is no client"),
    (lambda: Judge("x", client=3), ConfigError, "int is no client"),
    (lambda: Fallback(clients=ScriptedModel([])), TypeError, r"must be a list: clients=\[client\]"),
    (lambda: Guardrail(Length(9), window="9"), TypeError, r"Guardrail\(window='9'\) must be a whole number"),
    (lambda: Length(), ValueError, "Length needs characters=, tokens= or both"),
    (lambda: Length(tokens=-1), ValueError, r"Length\(tokens=-1\) must be at least 1"),
    (lambda: Pattern("a", longest=0), ValueError, r"Pattern\(longest=0\) must be at least 1"),
    (lambda: Pattern("("), AgentError, r"'\(' is no regular expression"),
    (lambda: Hosts(["https://example.com/"]), ValueError, "must be names of hosts"),
    (lambda: Hosts(["*.example.com"]), ValueError, "must be names of hosts"),
    (lambda: Permission(Allow()), TypeError, r"takes Allow\(...\) and Deny\(...\), in a list, not Allow\(\)"),
    (lambda: Permission(user=["ann"]), TypeError, r"Permission\(user=\['ann'\]\) must be the name of a context variable"),
    (lambda: Permission(secrets=["password"]), TypeError, r"must be \{context variable: names of tools\}"),
    (lambda: Permission(secrets={"password": [len]}), TypeError, "must be the names of tools"),
    (lambda: Deny(agents=[Agent()]), TypeError, "must be the names of agents"),
    (lambda: Deny(users=5), TypeError, r"Deny\(users=5\) must be the names of users"),
    (lambda: Deny(tools="pay", to="Vault"), ValueError, "fits nothing: calls and handoffs need a rule each"),
]


@pytest.mark.parametrize(("make", "error", "said"), WRONG)
def test_it_is_said_where_it_is_made(make: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        make()


def test_one_host_may_be_a_text(drive: Drive) -> None:
    """And not a list of its letters, which would block every link."""
    text = "See https://docs.example.com/x"
    policies = [Guardrail(Hosts("example.com"))]
    assert drive(Agent(), "go", [text], swarm={"policies": policies}).text == text


@pytest.mark.parametrize("rule", [Deny(to="Vault [A]"), Deny(to="Vault [?]"), Deny(to="*[A]")])
def test_only_stars_and_question_marks_stand_for_others_in_a_name(drive: Drive, rule: Deny) -> None:
    """An agent may have brackets in its name, and a rule about it must hold."""
    desk = Agent(name="Desk", handoffs=[Agent(name="Vault [A]"), Agent(name="Vault A")])
    drive(desk, "go", ["ok"], swarm={"policies": [Permission([Allow(), rule])]})
    assert [tool["function"]["name"] for tool in drive.requests[0]["tools"]] == ["transfer_to_vault_a_2"]


@pytest.mark.parametrize(("given", "may"), [(5, True), (["5", 6], True), ("", False), (None, False), ({"5": True}, True), (6, False)])
def test_roles_in_the_context_may_be_one_or_several(drive: Drive, given: Any, may: bool) -> None:
    desk = Agent(functions=[len_of])
    drive(desk, "go", ["ok"], context_variables={"roles": given}, swarm={"policies": [Permission([Allow(roles="5")])]})
    assert ("tools" in drive.requests[0]) is may


def len_of(text: str) -> int:
    """How long a text is."""
    return len(text)
