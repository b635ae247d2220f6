"""Names of transfer tools, and what a handoff says."""

from __future__ import annotations

import re

import pytest

from swarm import Agent, AgentError, Handoff
from swarm.handoffs import message_for, transfer_name, transfer_tool
from swarm.models.scripted import call
from swarm.tools import Tool
from tests.look import tool_names
from tests.modes import Drive


@pytest.mark.parametrize(
    ("name", "wire"),
    [
        ("Sales", "transfer_to_sales"),
        ("__Sales__", "transfer_to_sales"),
        ("A  --  B", "transfer_to_a_b"),
        ("!?", "transfer_to_agent"),
        ("x" * 60, "transfer_to_" + "x" * 52),
        ("x" * 51 + " " + "y" * 20, "transfer_to_" + "x" * 51),
    ],
)
def test_the_name_of_a_transfer(name: str, wire: str) -> None:
    """H06, D21: a name that is cut does not end in the mark of what was cut."""
    assert transfer_name(name) == wire


def test_names_of_any_length_that_clash_stay_legal_and_apart(drive: Drive) -> None:
    """H06, D21"""
    targets = [Agent(name="x" * 80 + str(number)) for number in range(12)]
    drive(Agent(handoffs=targets), "go", ["ok"])
    names = tool_names(drive.requests[0])
    stem = "transfer_to_" + "x" * 52
    assert names == [stem, *(f"{stem[:-2]}_{number}" for number in range(2, 10)), *(f"{stem[:-3]}_{number}" for number in range(10, 13))]
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names)


def test_a_name_that_a_function_has_is_left_to_it(drive: Drive) -> None:
    """D21"""

    def transfer_to_b() -> str:
        return "mine"

    drive(Agent(functions=[transfer_to_b], handoffs=[Agent(name="B")]), "go", ["ok"])
    assert tool_names(drive.requests[0]) == ["transfer_to_b", "transfer_to_b_2"]


def test_a_name_that_was_chosen_twice_is_refused_with_advice() -> None:
    """D21, U07"""

    def over() -> str:
        return "mine"

    with pytest.raises(AgentError, match=r"two tools are called 'over'.*'B'.*Handoff\(\.\.\., name='over_2'\)"):
        Agent(functions=[over], handoffs=[Handoff(Agent(name="B"), name="over")])


@pytest.mark.parametrize(
    ("handoff", "description"),
    [
        (Handoff(Agent(name="B")), "Hand over to B."),
        (Handoff(Agent(name="B", description="Sells.")), "Hand over to B. Sells."),
        (Handoff(Agent(name="B", description="Sells."), returns=True), "Ask B. Sells."),
        (Handoff(Agent(name="B", description="Sells."), description="To B."), "To B."),
    ],
)
def test_what_a_transfer_is_said_to_do(handoff: Handoff, description: str) -> None:
    """D21"""
    made = transfer_tool(handoff, {})
    assert made.description == description
    assert made.handoff is handoff


def test_a_transfer_runs_where_the_loop_runs() -> None:
    """D55"""
    made = transfer_tool(Handoff(Agent(name="B")), {})
    assert made.inline
    taken: dict[str, Tool] = {made.name: made}
    assert transfer_tool(Handoff(Agent(name="b")), taken).name == "transfer_to_b_2"


def test_the_message_of_a_handoff_is_readable() -> None:
    """K13, D21"""
    assert message_for(Agent(name='助手 "A"')) == '{"assistant": "助手 \\"A\\""}'


def test_the_second_of_two_agents_whose_names_clash_is_reached(drive: Drive) -> None:
    """H09, D21"""
    one, two = Agent(name="x" * 80 + "1"), Agent(name="x" * 80 + "2")
    response = drive(Agent(handoffs=[one, two]), "go", [call("transfer_to_" + "x" * 50 + "_2"), "ok"])
    assert response.agent is two
