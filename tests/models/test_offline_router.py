"""How often the offline router is right, on the sets under tests/data/offline; and the rules it follows."""

from __future__ import annotations

import functools

import pytest

from benchmarks.offline_eval import load, route
from swarm.models.offline.embedder import Cached, WordOverlap, best_available
from swarm.models.offline.functions import Function, Hint, read
from swarm.models.offline.router import Router
from tests.models.offline_stage import ELSEWHERE, TEXT, Message, function


@functools.cache
def router() -> Router:
    return Router(best_available())


def share_right(name: str, by: Router) -> float:
    answers = route(by, load(name))
    return sum(label == chosen for *_, label, chosen in answers) / len(answers)


@pytest.mark.parametrize(
    ("name", "least"), [("routing_dev", 0.95), ("routing_own", 0.85), ("routing_heldout", 0.85), ("routing_last", 0.9)]
)
def test_it_chooses_the_right_function_or_none(name: str, least: float) -> None:
    assert share_right(name, router()) >= least


def test_no_function_is_recognised_too() -> None:
    """The weak class: not more than one in five is a wrong call."""
    wanted = [chosen for name in ("routing_dev", "routing_heldout") for *_, label, chosen in route(router(), load(name)) if label == "none"]
    assert wanted.count("none") / len(wanted) >= 0.8


def test_word_overlap_is_a_stand_in_only() -> None:
    assert 0.65 <= share_right("routing_dev", Router(Cached(WordOverlap()))) < share_right("routing_dev", router())


def chosen(text: str, tools: list[Message], hints: dict[str, Hint] | None = None) -> str:
    functions = read(tools, hints or {})
    scores = router().scores(text, functions)
    return [*(one.name for one in functions), "none"][scores.index(max(scores))]


SHOP = [function("initiate_refund", "Start a refund."), function("escalate", "Get a human."), function("close_case", "Close the case.")]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("how long does a refund take?", "none"),
        ("why was the refund so small?", "none"),
        ("can you refund that please", "initiate_refund"),
        ("hello", "none"),
        ("hey there", "none"),
        ("yes", "none"),
        ("I got a refund but now I want to speak to somebody in charge, a person", "escalate"),
        ("that is all, goodbye", "close_case"),
    ],
)
def test_the_form_of_a_sentence_counts(text: str, name: str) -> None:
    assert chosen(text, SHOP) == name


def test_names_alone_suffice() -> None:
    tools = [
        function("transfer_to_sales_agent"),
        function("transferToRepairs"),
        function("track_parcel", "", ("parcel_id",), parcel_id=TEXT),
    ]
    assert chosen("I'd like to buy a lamp", tools) == "transfer_to_sales_agent"
    assert chosen("the lamp is broken", tools) == "transferToRepairs"
    assert chosen("where is parcel 1Z99", tools) == "track_parcel"


def test_what_is_not_meant_does_not_attract() -> None:
    tools = [function("change_flight", "Change a flight."), function("transfer_to_triage", ELSEWHERE)]
    assert chosen("I need help with a hotel booking, not a flight", tools) == "transfer_to_triage"


@pytest.mark.parametrize("text", ["Hola, ¿puede ayudarme por favor?", "Hola. ¿Como estás?", "Necesito una factura, gracias"])
def test_another_language_finds_the_agent_that_speaks_it(text: str) -> None:
    tools = [function("transfer_to_spanish_agent", "Transfer Spanish speaking users immediately.")]
    assert chosen(text, tools) == "transfer_to_spanish_agent"
    assert chosen("Good morning, how are you?", tools) == "none"


def test_examples_outweigh_what_a_function_says_of_itself() -> None:
    tools = [function("f", "Do the thing."), function("g", "Do another thing.")]
    assert chosen("the moon is made of cheese", tools) == "none"
    assert chosen("the moon is made of cheese", tools, {"g": Hint(["the moon consists of cheese"])}) == "g"


@pytest.mark.parametrize(
    ("name", "description", "phrase", "role", "handoff"),
    [
        ("transfer_to_sales_agent", "", "sales", "", True),
        ("transferToSalesAgent", "", "sales", "", True),
        ("transfer_back_to_triage", "", "triage", "elsewhere", True),
        ("escalate_to_agent", "", "escalate to agent", "human", True),
        ("transfer_money", "Send money.", "transfer money", "", False),
        ("case_resolved", "", "case resolved", "closing", False),
        ("query_docs", "", "query docs", "answers", False),
    ],
)
def test_what_a_function_is_for_is_read_from_its_words(name: str, description: str, phrase: str, role: str, handoff: bool) -> None:
    read_as = Function(function(name, description))
    assert (read_as.phrase, read_as.role, read_as.handoff) == (phrase, role, handoff)
