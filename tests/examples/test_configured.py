"""The library's desk whose agents stand in a file: what each role may do, in each mode."""

from __future__ import annotations

from typing import Any

import pytest

from examples.configured.demo import config
from swarm import Response
from swarm.models.scripted import call
from swarm.policies import Router
from tests.modes import Drive

POLICIES = [policy for policy in config.policies if not isinstance(policy, Router)]  # which needs the sentence model


def desk(drive: Drive, agent: str, *turns: Any, **context: Any) -> Response:
    swarm = {**config.options, "policies": POLICIES}
    variables = {**config.context_variables, **context}
    return drive(config.agents[agent], "please", list(turns), swarm=swarm, context_variables=variables)


def test_the_file_is_what_it_says() -> None:
    """D73"""
    assert {key: (agent.name, len(agent.functions), len(agent.handoffs)) for key, agent in config.agents.items()} == {
        "desk": ("Desk", 0, 2),
        "loans": ("Loans", 2, 1),
        "fees": ("Fees", 2, 1),
    }
    assert "Hand back what is not about books." in config.agents["loans"].instructions
    assert len(config.policies) == len(POLICIES) + 1


def test_a_book_is_renewed(drive: Drive) -> None:
    """D73"""
    turns = [call("transfer_to_loans"), call("due_date", {"book": "Momo"}), call("renew", {"book": "Momo"}), "It is renewed."]
    response = desk(drive, "desk", *turns)
    assert response.agent is config.agents["loans"]
    assert [message["content"] for message in response.messages if message["role"] == "tool"][1:] == [
        "Momo is due on 2027-03-01.",
        "Momo is due on 2027-03-15 now.",
    ]
    assert response.context_variables["renewed"] == {"momo": "2027-03-15"}


@pytest.mark.parametrize(("weeks", "reason"), [(4, "complete"), (5, "approval")])
def test_a_long_renewal_needs_consent(drive: Drive, weeks: int, reason: str) -> None:
    response = desk(drive, "loans", call("renew", {"book": "Dune", "weeks": weeks}), "Done.")
    assert response.stop_reason == reason


@pytest.mark.parametrize(
    ("roles", "euros", "outcome"), [("reader", 5, "refused"), ("librarian", 5, "ok"), ("librarian", 30, "refused"), ([], 5, "refused")]
)
def test_who_may_waive_a_fee(drive: Drive, roles: Any, euros: float, outcome: str) -> None:
    response = desk(drive, "fees", call("waive_fee", {"euros": euros}), "Done.", roles=roles)
    assert [done.outcome for done in response.calls] == [outcome]
    offered = [tool["function"]["name"] for tool in drive.requests[0]["tools"]]
    assert ("waive_fee" in offered) == (roles == "librarian")


def test_the_number_of_a_card_is_kept_from_the_model(drive: Drive) -> None:
    response = drive(config.agent, "my card is 4111 1111 1111 1111", ["4111 1111 1111 1111?"], swarm={"policies": POLICIES})
    assert drive.requests[0]["messages"][-1]["content"] == "my card is [card number]"
    assert response.text == "[card number]?"
