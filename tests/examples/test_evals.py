"""The shipped cases: enough, well formed, not among the functions' examples; and the offline model gets them right often enough."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

from examples.evals import asked_for, load_cases, misses
from swarm import Agent, OfflineModel, Swarm
from swarm.models.scripted import ScriptedModel, call
from swarm.offers import table_of
from swarm.tools import tool_of
from tests.examples.talk import ROOT

WITH_CASES = ("airline", "personal_shopper", "triage_agent", "weather_agent")


def demo_of(example: str) -> Any:
    return importlib.import_module(f"examples.{example}.demo")


def agents_of(example: str) -> dict[str, Agent]:
    return {agent.name: agent for agent in demo_of(example).agents}


def test_there_are_enough_cases() -> None:
    """U04: 40 or more, 25 or more for the airline, each of whose agents has some; at least a fifth calls for no function."""
    counts = {example: len(load_cases(example)) for example in WITH_CASES}
    assert counts["airline"] >= 25
    assert sum(counts.values()) >= 40
    functions = Counter(case["function"] for example in WITH_CASES for case in load_cases(example))
    assert functions["None"] >= sum(counts.values()) / 5


@pytest.mark.parametrize("example", WITH_CASES)
def test_every_agent_and_every_function_has_a_case(example: str) -> None:
    agents = agents_of(example)
    expected = {(name, tool) for name, agent in agents.items() for tool in table_of(agent).tools}
    found = {(case["agent"], case["function"]) for case in load_cases(example) if case["function"] != "None"}
    assert found == expected


@pytest.mark.parametrize("example", WITH_CASES)
def test_a_case_is_a_conversation_that_ends_with_the_user(example: str) -> None:
    for case in load_cases(example):
        assert set(case) in ({"agent", "conversation", "function"}, {"agent", "conversation", "function", "arguments"})
        assert case["conversation"][-1]["role"] == "user"
        assert all(set(message) == {"role", "content"} and message["content"] for message in case["conversation"])


@pytest.mark.parametrize("example", [*WITH_CASES, "basic", "routines"])
def test_no_case_is_among_the_examples_of_a_function(example: str) -> None:
    """What is measured must not be what was shown."""
    shown = {text.lower() for agent in demo_of(example).agents for function in agent.functions for text in tool_of(function).examples}
    said = {case["conversation"][-1]["content"].lower() for name in WITH_CASES for case in load_cases(name)}
    assert not shown & said


def test_the_offline_model_gets_85_in_100_right() -> None:
    """U04, D30"""
    client = Swarm(OfflineModel())
    cases = {example: load_cases(example) for example in WITH_CASES}
    wrong = {e: misses(client, list(agents_of(e).values()), cases[e], demo_of(e).context_variables) for e in WITH_CASES}
    right = 1 - sum(map(len, wrong.values())) / sum(map(len, cases.values()))
    assert right >= 0.85, [(case["conversation"][-1]["content"], called) for found in wrong.values() for case, called in found]


def test_a_miss_is_a_miss() -> None:
    """The measure itself: another function, no function, a function where none was due, and wrong arguments all count."""
    agent = agents_of("weather_agent")["Weather Agent"]
    case = {"agent": "Weather Agent", "conversation": [{"role": "user", "content": "Rome?"}], "function": "get_weather"}
    rome = call("get_weather", {"location": "Rome", "time": "now"})
    mail = call("send_email", {"recipient": "a@example.com", "subject": "x", "body": "y"})

    def missed(turn: Any, **changes: Any) -> list[str]:
        return [called for _, called in misses(Swarm(ScriptedModel([turn])), [agent], [{**case, **changes}], {})]

    assert missed(rome) == []
    assert missed(rome, arguments={"location": "Rome"}) == []
    assert missed("Hello.", function="None") == []
    assert missed(mail) == ["send_email"]
    assert missed("Hello.") == ["None"]
    assert missed(rome, function="None") == ["get_weather"]
    assert missed(rome, arguments={"location": "Lyon"}) == ["get_weather with {'location': 'Rome', 'time': 'now'}"]


def test_nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """K15"""
    ran: list[str] = []

    def initiate_refund() -> str:
        ran.append("refund")
        return "done"

    case = {"conversation": [{"role": "user", "content": "refund"}]}
    agent = Agent(functions=[initiate_refund])
    assert asked_for(Swarm(ScriptedModel([call("initiate_refund")])), agent, case, {}) == ("initiate_refund", {})
    assert ran == []


@pytest.mark.parametrize("arguments", [[], ["basic"], ["nothing"], ["airline", "more"]])
def test_an_example_without_cases_is_refused_with_those_that_have_some(arguments: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", "examples.evals", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"usage: python -m examples.evals {' | '.join(WITH_CASES)}\n")
