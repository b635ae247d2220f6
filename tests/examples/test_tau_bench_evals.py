"""The tasks as cases of an eval: played by their gold actions all pass, and whatever else is done is found out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from examples.tau_bench import evals
from examples.tau_bench.database import Domain
from examples.tau_bench.gold import script
from examples.tau_bench.tasks import tasks_of
from swarm.effects import CallModel, Reply
from swarm.evals import Case, CaseResult, UserModel, evaluate, load_cases
from tests.examples.talk import script as run_script
from tests.examples.test_tau_bench import DOMAINS, SAMPLE


class Gold:
    """A model that knows the gold actions of the task whose customer speaks, and leaves out the steps that it is told to.

    Args:
        domain: whose tasks.
        without: names of functions that it does not call.
    """

    blocking = False

    def __init__(self, domain: Domain, without: tuple[str, ...] = ()) -> None:
        agent = getattr(evals, domain)
        self._turns: dict[str, list[Any]] = {}
        for task in tasks_of(domain).values():
            turns = script(task, agent)
            self._turns[task["user"].strip()] = [
                turn for turn in turns if isinstance(turn, str) or turn[0]["function"]["name"] not in without
            ]

    def complete(self, call: CallModel) -> Reply:
        messages = call.request["messages"]
        turns = self._turns[next(message["content"] for message in messages if message["role"] == "user").strip()]
        turn = turns[sum(message["role"] == "assistant" for message in messages)]
        if isinstance(turn, str):
            return Reply({"role": "assistant", "content": turn}, finish_reason="stop")
        return Reply({"role": "assistant", "content": None, "tool_calls": turn}, finish_reason="tool_calls")

    def stream(self, call: CallModel) -> Iterator[dict[str, Any]]:
        raise NotImplementedError  # evals do not stream


async def customer(case: Case, messages: list[dict[str, Any]], seed: int) -> str | None:
    """Says all that they want at once, and then no more."""
    assert case.user is not None
    return None if messages else case.user["goal"]


class People:
    """A model that plays customers: says the goal that it is told, word for word, and then that it is done."""

    blocking = False

    def complete(self, call: CallModel) -> Reply:
        told, *said = call.request["messages"]
        _, _, goal = told["content"].partition("What you want:\n\n")
        goal, _, _ = goal.partition("\n\nHow to write:")
        text = goal if len(said) == 1 else "Thank you. [END]"
        return Reply({"role": "assistant", "content": text}, {"prompt_tokens": 7, "completion_tokens": 3}, finish_reason="stop")

    def stream(self, call: CallModel) -> Iterator[dict[str, Any]]:
        raise NotImplementedError  # evals do not stream


def played(domain: Domain, cases: list[Case], without: tuple[str, ...] = ()) -> dict[str, CaseResult]:
    run = evaluate(
        getattr(evals, domain), cases, client=Gold(domain, without), simulate=customer, state=evals.state, scorers=[evals.told], repeat=2
    )
    return {f"{result.case} {result.repetition}": result for result in asyncio.run(run).results}


def some(domain: Domain) -> list[Case]:
    return [case for case in evals.cases(domain) if int(case.id[-3:]) in SAMPLE[domain]]


def failed(results: dict[str, CaseResult]) -> dict[str, Any]:
    return {id: (result.error, result.scores) for id, result in results.items() if not result.passed}


@pytest.mark.parametrize("domain", DOMAINS)
def test_gold_actions_pass_and_each_repetition_has_a_database_of_its_own(domain: Domain) -> None:
    """U04, D71"""
    results = played(domain, some(domain))
    assert len(results) == 2 * len(SAMPLE[domain])
    assert failed(results) == {}
    assert all("state" in result.scores for result in results.values())


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_model_plays_the_customer_to_the_end(domain: Domain) -> None:
    """D71, D69: from the instructions of a task to the database that must come of it."""
    cases = some(domain)
    run = evaluate(
        getattr(evals, domain), cases, client=Gold(domain), simulate=UserModel(People()), state=evals.state, scorers=[evals.told], seed=1
    )
    results = asyncio.run(run).results
    assert failed({result.case: result for result in results}) == {}
    tasks = tasks_of(domain)
    for result in results:
        said = [message["content"] for message in result.messages if message["role"] == "user"]
        assert said == [tasks[result.case]["user"].strip(), "Thank you."]
        assert result.usage_apart["user"]["model_calls"] == 2
        assert result.state["database"] == tasks[result.case]["full_hash"]


@pytest.mark.check
@pytest.mark.parametrize("domain", DOMAINS)
def test_gold_actions_of_all_tasks_pass(domain: Domain) -> None:
    """U04, D71"""
    results = played(domain, evals.cases(domain))
    assert len(results) == 2 * {"airline": 50, "retail": 115}[domain]
    assert failed(results) == {}


def test_a_change_that_was_not_made_is_found_out() -> None:
    """D71"""
    writes = ("book_reservation", "cancel_reservation", "update_reservation_flights", "update_reservation_baggages", "send_certificate")
    cases = some("airline")
    results = played("airline", cases, (*writes, "update_reservation_passengers"))
    wrong = {result.case for result in results.values() if not result.scores["state"].passed}
    assert wrong == {case.id for case in cases if "changes" in case.tags} != set()


def test_what_the_customer_was_not_told_is_found_out() -> None:
    [case] = [case for case in evals.cases("retail") if case.id == next(id for id, task in tasks_of("retail").items() if task["outputs"])]
    assert case.data is not None
    [result] = [result for id, result in played("retail", [case]).items() if id.endswith(" 0")]
    assert result.scores["told"].passed
    case.data["outputs"].append("a number that nobody says")
    [result] = [result for id, result in played("retail", [case]).items() if id.endswith(" 0")]
    assert not result.passed
    assert 0 < result.scores["told"].value < 1
    assert result.scores["told"].reason == "never said: a number that nobody says"


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_cases_can_be_written_to_a_file(domain: Domain, tmp_path: Path) -> None:
    done = run_script("-m", "examples.tau_bench.evals", domain)
    assert (done.returncode, done.stderr) == (0, "")
    file = tmp_path / f"{domain}.json"
    file.write_text(done.stdout, encoding="utf-8")
    cases = load_cases(file)
    for case in cases:
        case.place = ""
    assert cases == evals.cases(domain)
    assert len(json.loads(done.stdout)) == len(tasks_of(domain))


@pytest.mark.parametrize("arguments", [[], ["bank"], ["airline", "retail"]])
def test_a_domain_that_there_is_not_is_refused(arguments: list[str]) -> None:
    done = run_script("-m", "examples.tau_bench.evals", *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "usage: python -m examples.tau_bench.evals airline | retail\n")
