"""Whole conversations with the offline model: handoffs in one turn, questions back, answers over turns (D30)."""

from __future__ import annotations

import json

import pytest

from tests.models.offline_stage import TEXT, Stage, airline, ask, call_of, function

Message = dict[str, object]


def test_the_airline_cancels_a_flight_in_one_conversation() -> None:
    """D30: triage, modification and cancel in one turn; the flight number triggers nothing; refund and end when they are asked for."""
    stage = airline()
    called, said = stage.say("I want to cancel my flight")
    assert called == ["transfer_to_flight_modification", "transfer_to_flight_cancel"]
    assert said.startswith("This is Flight Cancel Agent.")
    assert "refund the cancelled flight" in said
    assert "flight credits" in said
    assert stage.say("yes, flight 1919")[0] == []
    assert stage.say("a refund please") == (["initiate_refund"], "Refund initiated. Anything else?")
    assert stage.say("no, that's all") == (["case_resolved"], "The case is closed.")


def test_a_topic_of_another_agent_goes_back_to_triage_and_on() -> None:
    stage = airline()
    called, _ = stage.say("my suitcase did not arrive")
    assert called[0] == "transfer_to_lost_baggage"
    assert stage.active == "Lost Baggage Agent"
    called, _ = stage.say("now I also want to cancel my flight")
    assert called == ["transfer_to_triage", "transfer_to_flight_modification", "transfer_to_flight_cancel"]


def test_a_wish_for_a_person_reaches_one() -> None:
    stage = airline()
    stage.say("I want to change my flight")
    assert stage.say("let me talk to somebody from your staff")[0] == ["escalate_to_agent"]


@pytest.mark.parametrize(
    "text", ["hello", "thanks a lot", "ok", "what is the capital of Peru?", "how long does a refund take?", "yes", "hm"]
)
def test_chatting_calls_nothing(text: str) -> None:
    stage = airline()
    stage.active = "Flight Cancel Agent"
    assert stage.say(text)[0] == []


def handed(first: str, last: str = "I want to buy a bike") -> list[Message]:
    """A conversation in which triage, named by an earlier handoff or not at all, has just handed over to sales."""
    call = {"id": "c9", "type": "function", "function": {"name": "transfer_to_sales", "arguments": "{}"}}
    return [
        *(before_triage() if first else []),
        {"role": "user", "content": last},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c9", "content": json.dumps({"assistant": "Sales Agent"})},
    ]


def before_triage() -> list[Message]:
    call = {"id": "c1", "type": "function", "function": {"name": "back", "arguments": "{}"}}
    return [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": json.dumps({"assistant": "Bike Shop"})},
        {"role": "assistant", "content": "Hello."},
    ]


def test_it_never_goes_back_to_an_agent_that_saw_the_utterance() -> None:
    """D30: the start agent is known from an earlier handoff; its function fits the words best and is not called."""
    tools = [function("transfer_to_bike_shop", "For everybody who wants to buy a bike."), function("transfer_to_sales", "Buy a bike.")]
    assert ask(handed("Bike Shop"), tools).tool_calls is None
    assert ask("I want to buy a bike", tools).tool_calls is not None


def test_it_does_not_go_back_to_triage_even_if_nothing_names_it() -> None:
    """D30"""
    tools = [function("transfer_back_to_triage", "For whatever is not handled by this agent, buying a bike too.")]
    assert ask(handed(""), tools).tool_calls is None


def test_it_goes_on_to_an_agent_that_has_not_seen_the_utterance() -> None:
    tools = [function("transfer_to_bike_sales", "For everybody who wants to buy a bike.")]
    assert call_of(ask(handed(""), tools)) == ("transfer_to_bike_sales", {})


def test_after_a_handoff_a_function_with_arguments_is_called_at_once() -> None:
    tools = [function("refund_item", "Refund an item.", ("item_id",), item_id=TEXT), function("apply_discount", "Give a discount.")]
    assert call_of(ask(handed("", "please refund item_99"), tools)) == ("refund_item", {"item_id": "item_99"})


def test_an_agent_without_functions_says_who_it_is() -> None:
    assert ask(handed("")).content.startswith("This is Sales Agent.")


BAGGAGE = [
    function(
        "search_bag",
        "Search for a lost bag.",
        ("flight_number", "bag_tag"),
        flight_number=TEXT,
        bag_tag={"type": "string", "description": "The number on the tag of the bag."},
    ),
    function("change_address", "Change the address of a customer.", ("street",), street=TEXT),
]


def test_it_asks_for_what_is_missing_and_takes_the_next_texts_as_answers() -> None:
    stage = Stage({"Bags": BAGGAGE}, {"search_bag": "Bag was found!"}, "Bags")
    assert stage.say("I lost my bag") == ([], "To search bag, I need the flight number. What is it?")
    assert stage.say("it's LH 401") == ([], "To search bag, I need the number on the tag of the bag. What is it?")
    called, said = stage.say("0016AA55")
    assert (called, said) == (["search_bag"], "Bag was found! Anything else?")
    assert call_of_last(stage) == {"flight_number": "LH 401", "bag_tag": "0016AA55"}


def call_of_last(stage: Stage) -> object:
    return json.loads(next(m for m in reversed(stage.messages) if m.get("tool_calls"))["tool_calls"][0]["function"]["arguments"])


def test_several_answers_in_one_text_are_all_taken() -> None:
    stage = Stage({"Bags": BAGGAGE}, {"search_bag": "found"}, "Bags")
    stage.say("I lost my bag")
    assert stage.say("flight LH 401, the bag tag is 0016AA55")[0] == ["search_bag"]
    assert call_of_last(stage) == {"flight_number": "LH 401", "bag_tag": "0016AA55"}


def test_an_id_named_earlier_is_used() -> None:
    stage = Stage({"Bags": BAGGAGE}, {"search_bag": "found"}, "Bags")
    stage.say("hello, I am on flight LH 401")
    assert stage.say("I lost my bag, the tag is 0016AA55")[0] == ["search_bag"]
    assert call_of_last(stage) == {"flight_number": "LH 401", "bag_tag": "0016AA55"}


def test_an_id_that_a_function_has_used_is_not_used_again() -> None:
    tools = [function("refund_item", "Refund an item.", ("item_id",), item_id=TEXT)]
    stage = Stage({"Shop": tools}, {"refund_item": "Refunded."}, "Shop")
    assert stage.say("refund item 12")[0] == ["refund_item"]
    assert stage.say("refund another item please") == ([], "To refund item, I need the item id. What is it?")


def test_a_question_that_is_not_answered_is_asked_again_and_can_be_dropped() -> None:
    stage = Stage({"Bags": BAGGAGE}, {}, "Bags")
    question = stage.say("I lost my bag")[1]
    assert stage.say("I don't know") == ([], question)
    assert stage.say("never mind") == ([], "All right, I leave it at that. Anything else?")


def test_another_wish_instead_of_the_answer_is_followed() -> None:
    stage = Stage({"Bags": BAGGAGE}, {}, "Bags")
    stage.say("I lost my bag")
    assert stage.say("actually I have to change my address") == ([], "To change address, I need the street. What is it?")


def test_free_text_is_taken_as_it_is_said() -> None:
    tools = [function("submit_ticket", "Submit a ticket to the support team.", ("description",), description=TEXT)]
    stage = Stage({"Help": tools}, {"submit_ticket": "Ticket 7 is open."}, "Help")
    assert call_of(ask("open a ticket that the export is empty", tools)) == ("submit_ticket", {"description": "the export is empty"})
    assert stage.say("open a ticket, the invoice is wrong") == (["submit_ticket"], "Ticket 7 is open. Anything else?")


def test_a_short_request_is_read_with_what_it_points_back_to() -> None:
    stage = airline()
    stage.active = "Lost Baggage Agent"
    stage.say("my suitcase is gone, what now?")
    assert stage.say("can you look for it please?")[0] == ["initiate_baggage_search"]


def test_no_to_anything_else_ends_where_no_function_closes_the_case() -> None:
    stage = Stage({"Shop": [function("refund_order", "Refund an order.")]}, {"refund_order": "Refunded."}, "Shop")
    assert stage.say("please refund my order") == (["refund_order"], "Refunded. Anything else?")
    assert stage.say("no thanks") == ([], "Goodbye.")
