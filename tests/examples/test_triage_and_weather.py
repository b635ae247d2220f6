"""The triage agent and the weather agent, played through."""

from __future__ import annotations

import json

import pytest

from examples.triage_agent.agents import agents as triage_agents
from examples.triage_agent.agents import apply_discount, process_refund, refunds_agent, sales_agent, triage_agent
from examples.weather_agent.agents import get_weather, send_email, weather_agent
from swarm.models.scripted import call
from swarm.util import function_to_json
from tests.examples.talk import Talk
from tests.modes import Drive


def test_the_triage_agents_and_their_functions() -> None:
    assert {agent.name: [function.__name__ for function in agent.functions] for agent in triage_agents} == {
        "Triage Agent": ["transfer_to_sales", "transfer_to_refunds"],
        "Sales Agent": ["transfer_back_to_triage"],
        "Refunds Agent": ["process_refund", "apply_discount", "transfer_back_to_triage"],
    }


def test_the_functions_are_functions() -> None:
    assert process_refund("7") == process_refund(item_id="7", reason="NOT SPECIFIED") == "Item 7 is refunded. Reason: NOT SPECIFIED."
    assert apply_discount() == "A discount of 11 % is applied."
    assert json.loads(get_weather("Oslo")) == {"location": "Oslo", "temperature": "65", "time": "now"}
    assert send_email("a@example.com", "Rent", "Due.") == "The e-mail 'Rent' to a@example.com is sent."


def test_the_functions_as_a_model_sees_them() -> None:
    """K20"""
    assert function_to_json(process_refund)["function"]["parameters"]["required"] == ["item_id"]
    assert function_to_json(get_weather)["function"]["parameters"]["required"] == ["location"]
    assert function_to_json(send_email)["function"]["parameters"]["required"] == ["recipient", "subject", "body"]


def test_sales_sends_back_what_is_not_a_sale(drive: Drive) -> None:
    """H17, H18"""
    talk = Talk(drive, triage_agent)
    talk.say("do you have bees", call("transfer_to_sales"), "The best there are!")
    assert talk.agent is sales_agent
    talk.say("I want my money back", call("transfer_back_to_triage"), call("transfer_to_refunds"), "For which item?")
    assert talk.agent is refunds_agent
    talk.say("item 99", call("process_refund", {"item_id": "99", "reason": "too loud"}), "Done.")
    assert talk.told[-1] == "Item 99 is refunded. Reason: too loud."


def test_a_discount_instead_of_a_refund(drive: Drive) -> None:
    talk = Talk(drive, triage_agent)
    talk.say("it was too expensive", call("transfer_to_refunds"), call("apply_discount"), "Is that better?")
    assert talk.called == ["transfer_to_refunds", "apply_discount"]
    assert talk.agent is refunds_agent


@pytest.mark.parametrize(("arguments", "time"), [({"location": "Rome"}, "now"), ({"location": "Rome", "time": "tonight"}, "tonight")])
def test_the_weather(drive: Drive, arguments: dict[str, str], time: str) -> None:
    talk = Talk(drive, weather_agent)
    talk.say("the weather in Rome", call("get_weather", arguments), "65 degrees.")
    assert json.loads(talk.told[0]) == {"location": "Rome", "temperature": "65", "time": time}


def test_a_mail(drive: Drive) -> None:
    talk = Talk(drive, weather_agent)
    talk.say("tell Ann", call("send_email", {"recipient": "ann@example.com", "subject": "Noon", "body": "See you."}), "Sent.")
    assert talk.told == ["The e-mail 'Noon' to ann@example.com is sent."]
