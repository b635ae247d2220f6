"""The shipped cases: enough, well formed, not among the functions' examples; and the offline model gets them right often enough."""

from __future__ import annotations

import importlib
from collections import Counter
from typing import Any

import pytest

from swarm import OfflineModel
from swarm.evals import Case, CaseResult, load_cases, run_evals
from swarm.offers import table_of
from swarm.tools import tool_of
from tests.examples.talk import ROOT

WITH_CASES = ("airline", "personal_shopper", "support_bot", "triage_agent", "weather_agent")


def demo_of(example: str) -> Any:
    return importlib.import_module(f"examples.{example}.demo")


def cases_of(example: str) -> list[Case]:
    return load_cases(ROOT / "examples" / example / "evals")


def first_replies(example: str) -> list[Case]:
    return [case for case in cases_of(example) if case.is_first_reply_only]


def played(example: str, cases: list[Case], client: Any) -> list[CaseResult]:
    demo = demo_of(example)
    return run_evals(demo.agent, cases, agents=demo.agents, context_variables=demo.context_variables, client=client).results


@pytest.fixture(scope="module")
def offline() -> dict[str, list[CaseResult]]:
    client = OfflineModel()
    return {example: played(example, cases_of(example), client) for example in WITH_CASES}


def test_there_are_enough_cases() -> None:
    """U04: 40 or more, 25 or more for the airline, each of whose agents has some; at least a fifth calls for no function."""
    cases = {example: first_replies(example) for example in WITH_CASES}
    assert len(cases["airline"]) >= 25
    total = sum(map(len, cases.values()))
    assert total >= 40
    assert Counter(case.function for found in cases.values() for case in found)["None"] >= total / 5


@pytest.mark.parametrize("example", WITH_CASES)
def test_every_agent_and_every_function_has_a_case(example: str) -> None:
    expected = {(agent.name, tool) for agent in demo_of(example).agents for tool in table_of(agent).tools}
    assert {(case.agent, case.function) for case in first_replies(example) if case.function != "None"} == expected


@pytest.mark.parametrize("example", WITH_CASES)
def test_a_case_is_a_conversation_that_ends_with_the_user(example: str) -> None:
    for case in cases_of(example):
        assert case.conversation[-1]["role"] == "user"
        assert all(set(message) == {"role", "content"} and message["content"] for message in case.conversation)


@pytest.mark.parametrize("example", [*WITH_CASES, "basic", "routines"])
def test_no_case_is_among_the_examples_of_a_function(example: str) -> None:
    """What is measured must not be what was shown."""
    shown = {text.lower() for agent in demo_of(example).agents for function in agent.functions for text in tool_of(function).examples}
    said = {case.conversation[-1]["content"].lower() for name in WITH_CASES for case in cases_of(name)}
    assert not shown & said


def test_the_offline_model_gets_85_in_100_right(offline: dict[str, list[CaseResult]]) -> None:
    """U04, D30"""
    replies = [result for found in offline.values() for result in found if "function" in result.scores]
    wrong = [(result.place, result.scores["function"].actual) for result in replies if not result.passed]
    assert 1 - len(wrong) / len(replies) >= 0.85, wrong


def test_whole_conversations_with_the_airline_end_as_they_should(offline: dict[str, list[CaseResult]]) -> None:
    """U04: each on records of its own. The offline model reads no policy, so it calls nobody when a bag is not found."""
    whole = {result.case: result for result in offline["airline"] if "function" not in result.scores}
    assert len(whole) == 8
    assert [name for name, result in whole.items() if not result.passed] == ["whole/bag-not-found"]
    assert whole["whole/refund"].scores.keys() == {"handoffs", "calls", "final_agent", "state", "text"}
