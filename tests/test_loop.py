"""Turns, replies, tools and handoffs of one run, the same in every mode."""

from __future__ import annotations

from swarm import Agent
from swarm.models.scripted import call
from tests.modes import Drive, names


def test_a_tool_a_handoff_and_an_answer(drive: Drive) -> None:
    """K13, H03, H17, S11"""

    def lookup(item: str) -> str:
        return f"{item} is in stock"

    def to_sales() -> Agent:
        return sales

    sales = Agent(name="Sales", instructions="Sell.")
    triage = Agent(name="Triage", functions=[lookup, to_sales])
    response = drive(triage, "a bee?", [call("lookup", {"item": "bee"}), call("to_sales"), "Sold."])
    assert [(m["role"], m.get("sender"), m["content"]) for m in response.messages] == [
        ("assistant", "Triage", None),
        ("tool", None, "bee is in stock"),
        ("assistant", "Triage", None),
        ("tool", None, '{"assistant": "Sales"}'),
        ("assistant", "Sales", "Sold."),
    ]
    assert response.agent is sales
    assert response.handoffs == [("Triage", "Sales")]
    assert drive.requests[2]["messages"][0] == {"role": "system", "content": "Sell."}
    assert "bee is in stock" in [m["content"] for m in drive.requests[2]["messages"]]


def test_events_are_the_same_in_every_mode(drive: Drive) -> None:
    """U02"""

    def ping() -> str:
        return "pong"

    events = drive.events(Agent(functions=[ping]), "hi", [call("ping"), "done"])
    turn = ["TurnStarted", "MessageDone"]
    assert names(events) == [*turn, "ToolStarted", "ToolDone", "TurnEnded", *turn, "TurnEnded", "Done"]
