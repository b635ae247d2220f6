"""Playing cases: side by side, each by itself, whatever fails; and going on with what is missing."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swarm import Agent, Limits
from swarm.errors import ConfigError
from swarm.evals import Case, CaseResult, EvalError, evaluate, load_cases, read_results, run_evals
from swarm.evals.playing import seed_of
from swarm.prices import Price
from swarm.testing import ScriptedModel
from tests.evals.shop import Rules, case, refunds, triage

STEPS = 'call to_refunds / call refund {"item": 7} / Done'


class Thrifty(Rules):
    """A model that waits in the thread that asks it, as a synchronous client does."""

    blocking = True

    def __init__(self, together: int) -> None:
        super().__init__()
        self._all = threading.Barrier(together)

    def complete(self, call: Any) -> Any:
        self._all.wait(20)
        return self.answer(call.request["messages"])


def played(*cases: Case, client: Any = None, **options: Any) -> list[CaseResult]:
    return run_evals(triage, cases, client=client or Rules(), **options).results


# What a result holds


def test_a_result_holds_the_whole_conversation() -> None:
    """D61, D62"""
    model = Rules()
    [result] = played(
        case(STEPS, "r/1", final_agent="Refunds", tags=["money"], place="r.json:3"), client=model, prices={"gpt-4o": Price(1, 2)}
    )
    assert (result.case, result.repetition, result.place, result.tags, result.agent) == ("r/1", 0, "r.json:3", ["money"], "Triage")
    assert [(message["role"], message.get("sender")) for message in result.messages] == [
        ("user", None),
        ("assistant", "Triage"),
        ("tool", None),
        ("assistant", "Refunds"),
        ("tool", None),
        ("assistant", "Refunds"),
    ]
    assert result.input == 1
    assert result.calls[1] == {"name": "refund", "arguments": {"item": 7}, "agent": "Refunds", "outcome": "ok"}
    assert (result.handoffs, result.final_agent, result.stop_reason) == ([["Triage", "Refunds"]], "Refunds", "complete")
    assert result.state == {"orders": {"7": "refunded"}, "refunds": 1}
    tokens = {"input_tokens": 30, "output_tokens": 6, "cached_tokens": 0, "reasoning_tokens": 0, "model_calls": 3}
    assert result.usage == {**tokens, "cost": pytest.approx(42e-6)}
    assert result.seconds > 0 and result.started.endswith("Z") and result.error is None
    assert json.loads(json.dumps(result.messages)) == result.messages


def test_a_cost_that_is_not_known_is_none() -> None:
    [result] = played(case("Hi", function="None"), model="somebody's-own")
    assert result.usage["cost"] is None


def test_the_header_says_what_was_measured(tmp_path: Path) -> None:
    """D63"""
    (tmp_path / "a.json").write_text('[{"conversation": "Hi", "function": "None"}]')

    def polite(case: Case, outcome: Any) -> bool:
        return True

    options: dict[str, Any] = {"client": Rules(), "repeat": 2, "seed": 7, "scorers": [polite], "target": "shop:triage"}
    header = run_evals(triage, load_cases(tmp_path), **options, model="gpt-5").header
    assert (header.target, header.files, header.cases, header.repeat, header.seed) == ("shop:triage", [str(tmp_path / "a.json")], 1, 2, 7)
    assert (header.model, header.scorers[0], header.scorers[-1]) == ("gpt-5", "function", "polite")
    assert run_evals(triage, [case("Hi", function="None")], client=Rules()).header.target == "Triage"


# Which agent, with what


def test_a_case_names_its_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    """D62: one that can be reached, or one that was given."""
    other = Agent(name="Other")
    cases = [case("a", agent="Refunds", function="None"), case("b", agent="Other", function="None"), case("c", function="None")]
    assert [result.agent for result in played(*cases, agents=[other], concurrency=1)] == ["Refunds", "Other", "Triage"]
    with pytest.raises(EvalError, match=r"c\.json:1: there is no agent called 'Sales'; there are Triage, Refunds"):
        played(case("a", agent="Sales", function="None", place="c.json:1"))
    with pytest.raises(EvalError, match="case 'a': there are several agents called 'Refunds'"):
        played(case("a", agent="Refunds", function="None"), agents=[Agent(name="Refunds"), refunds])


def test_each_conversation_has_its_own_variables() -> None:
    """D17, D62"""
    given = {"orders": {"1": "open"}, "user": 1}
    cases = [case(STEPS, "a", state={"refunds": 1}), case(STEPS, "b", state={"refunds": 1}, context_variables={"user": 2})]
    one, other = played(*cases, context_variables=given, concurrency=1)
    assert one.passed and other.passed
    assert one.state == {"orders": {"1": "open", "7": "refunded"}, "user": 1, "refunds": 1}
    assert other.state["user"] == 2
    assert given == {"orders": {"1": "open"}, "user": 1}


def test_a_function_makes_fresh_variables_for_each_conversation() -> None:
    """D62: for what cannot be copied, such as a database."""
    made: list[Any] = []

    def fresh() -> dict[str, Any]:
        made.append({"lock": threading.Lock()})
        return made[-1]

    seen: list[Any] = []
    played(case(STEPS, final_agent="Refunds"), context_variables=fresh, repeat=3, state=lambda variables: seen.append(variables["lock"]))
    assert len(made) == 3 and {id(each) for each in seen} == {id(each["lock"]) for each in made}


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "nothing to check; give the case one of function, calls"),
        ({"user": {"goal": "x"}, "function": "None"}, r"the 'user' has no script, and nobody plays it; .* evaluate\(simulate="),
        ({"judge": "Polite?", "function": "None"}, "asks a 'judge', and there is none"),
    ],
)
def test_a_case_that_cannot_be_played_is_refused_before_any_is(tmp_path: Path, fields: dict[str, Any], says: str) -> None:
    """D62"""
    model = Rules()
    with pytest.raises(EvalError, match=f"case 'b': .*{says}"):
        played(case("a", function="None"), case("b", **fields), client=model, out=tmp_path / "out.jsonl")
    assert model.requests == [] and not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("wrong", [{"repeat": 0}, {"concurrency": 0}])
def test_amounts_are_at_least_one(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        played(case("a", function="None"), **wrong)


def test_an_argument_that_there_is_not_is_told_before_anything_is_played() -> None:
    model = Rules()
    with pytest.raises(TypeError, match="concurency"):
        played(case("a", function="None"), client=model, concurency=3)
    with pytest.raises(TypeError, match="policy"):
        played(case("a", function="None"), client=model, policies=["Retry"])
    assert model.requests == []


def test_without_a_client_the_environment_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """D30"""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "SWARM_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match="no model to talk to"):
        run_evals(triage, [case("a", function="None")])
    monkeypatch.setenv("SWARM_OFFLINE", "1")
    results = run_evals(triage, [case("a", function="None")])
    assert (results.header.model, len(results.results)) == ("offline", 1)


# Side by side


def test_as_many_at_once_as_were_asked_for_and_no_more() -> None:
    """D62"""
    model = Rules(pause=0.01)
    results = played(*(case(f"Hi {number}", function="None") for number in range(20)), client=model, concurrency=4, repeat=2)
    assert model.most_at_once == 4
    assert len(results) == len({result.key for result in results}) == 40
    assert all(result.passed for result in results)


def test_a_synchronous_model_holds_up_nobody() -> None:
    """D62: eight that wait for each other."""
    results = played(*(case(f"Hi {number}", function="None") for number in range(8)), client=Thrifty(together=8), concurrency=8)
    assert [result.error for result in results] == [None] * 8


def test_repetitions_come_after_all_cases_were_played_once() -> None:
    results = played(case("a", function="None"), case("b", function="None"), repeat=2, concurrency=1)
    assert [result.key for result in results] == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]


def test_what_fails_is_a_result_and_ends_no_other() -> None:
    """D62, K11: a model that raises, in the first turn or later; a function that wants to end the process."""
    cases = [
        case("fail", function="None"),
        case("call to_refunds / fail", final_agent="Refunds"),
        case("call leaves", final_agent="Triage"),
        case("Hi", function="None"),
    ]
    first, later, leaves, fine = sorted(played(*cases, concurrency=4), key=lambda result: [each.id for each in cases].index(result.case))
    assert first.error == {"type": "ValueError", "message": "the model is out of order"}
    assert (first.passed, first.scores, first.stop_reason, len(first.messages)) == (False, {}, "error", 1)
    assert (later.error, later.final_agent, later.handoffs) == (first.error, "Refunds", [["Triage", "Refunds"]])
    assert len(later.messages) == 3 and later.usage["model_calls"] == 1
    assert leaves.error == {"type": "SystemExit", "message": "3"}
    assert fine.passed


def test_a_function_that_makes_variables_or_the_state_and_fails_is_a_result_too() -> None:
    """D62"""

    def fails(*_: Any) -> Any:
        raise OSError("no database")

    for options in ({"context_variables": fails}, {"state": fails}):
        [result] = played(case("Hi", final_agent="Triage"), **options)
        assert (result.error, result.passed) == ({"type": "OSError", "message": "no database"}, False)


def test_limits_and_max_turns_hold_for_each_conversation() -> None:
    """D6"""
    [stopped] = played(case(STEPS, final_agent="Refunds"), limits=Limits(model_calls=1))
    assert (stopped.stop_reason, stopped.passed) == ("limit:model_calls", True)
    [short] = played(case(STEPS, calls=[]), max_turns=1)
    assert (short.stop_reason, short.passed) == ("max_turns", True)


def test_a_call_that_waits_for_an_approval_is_called() -> None:
    """D61"""
    from swarm import tool

    @tool(approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        raise AssertionError("nobody approved")

    agent = Agent(name="Cashier", functions=[pay])
    cases = [case('call pay {"amount": 5}', calls=[{"function": "pay", "arguments": {"amount": 5}}])]
    [result] = run_evals(agent, cases, client=Rules()).results
    assert (result.passed, result.stop_reason, result.calls[0]["outcome"]) == (True, "approval", "pending")


# The seed


def test_a_seed_reaches_the_model_another_for_each_conversation() -> None:
    """D62"""
    seeds: list[Any] = []
    for _ in range(2):
        model = Rules()
        played(case("a", function="None"), case("b", function="None"), client=model, repeat=2, seed=7, concurrency=1)
        seeds.append([request["seed"] for request in model.requests])
    assert seeds[0] == seeds[1] == [seed_of(7, name, repetition) for repetition in (0, 1) for name in "ab"]
    assert len(set(seeds[0])) == 4 and all(0 <= seed < 2**31 for seed in seeds[0])
    model = Rules()
    played(case("a", function="None"), client=model)
    assert "seed" not in model.requests[0]


def test_what_is_made_for_a_conversation_may_be_made_async() -> None:
    """D60"""

    async def fresh() -> dict[str, Any]:
        return {"rows": [1]}

    async def rows(variables: dict[str, Any]) -> dict[str, Any]:
        return {"count": len(variables["rows"])}

    [result] = played(case("Hi", state={"count": 1}), context_variables=fresh, state=rows)
    assert result.passed and result.state == {"count": 1}
    [result] = played(case("Hi", state={}), context_variables=lambda: [1])
    assert result.error == {"type": "EvalError", "message": "the function that makes context variables returned [1], not a dict"}


def test_what_is_no_case_is_refused() -> None:
    """D62"""
    with pytest.raises(TypeError, match=r"as load_cases\('cases.json'\) returns them, not 'a'"):
        run_evals(triage, "a.json", client=Rules())  # type: ignore[arg-type]
    with pytest.raises(EvalError, match="case 'a': a case needs a 'conversation'"):
        run_evals(triage, [Case(id="a", function="None")], client=Rules())


# The simulated user


def test_a_user_that_says_what_is_no_text_is_an_error() -> None:
    """D62"""

    async def user(case: Case, messages: list[dict[str, Any]], seed: int) -> Any:
        return 5

    [result] = played(Case(id="u", user={"goal": "money"}, state={}), simulate=user)
    assert result.error is not None and "the simulated user said 5, not a text" in result.error["message"]


def test_a_simulated_user_goes_on_until_there_is_nothing_to_say() -> None:
    """D62"""
    heard: list[tuple[int, int]] = []

    async def user(case: Case, messages: list[dict[str, Any]], seed: int) -> str | None:
        heard.append((len(messages), seed))
        return ["Hi", STEPS, "Bye", None][len(heard) - 1]

    made = Case(id="u", user={"goal": "money"}, final_agent="Refunds", text={"equals": "Bye"}, state={"refunds": 1})
    [result] = played(made, simulate=user, seed=3)
    assert result.passed and result.usage["model_calls"] == 5
    assert [size for size, _ in heard] == [0, 2, 8, 10] and {seed for _, seed in heard} == {seed_of(3, "u", 0)}
    assert result.messages[-1]["sender"] == "Refunds"


def test_a_conversation_that_cannot_go_on_ends() -> None:
    async def user(case: Case, messages: list[dict[str, Any]], seed: int) -> str | None:
        return "call to_refunds / call to_triage / call to_refunds"

    [result] = played(Case(id="u", user={"goal": "money"}, final_agent="Triage"), simulate=user, limits=Limits(model_calls=2))
    assert (result.stop_reason, result.usage["model_calls"]) == ("limit:model_calls", 2)


# Resuming


def test_a_run_is_resumed_without_repeating_what_is_there(tmp_path: Path) -> None:
    """D63: what failed is played again."""
    path, model, told = tmp_path / "out.jsonl", Rules(), list[str]()
    cases = [case(name, function="None") for name in ("a", "b", "fail")]
    first = run_evals(triage, cases, client=model, out=path, repeat=2, concurrency=1)
    assert read_results(path).results == first.results
    kept = path.read_text().splitlines(keepends=True)
    path.write_text("".join(kept[:3]) + kept[3][:20])  # the header, a, b, and the third one half
    model.requests.clear()
    again = run_evals(
        triage, cases, client=model, out=path, repeat=2, concurrency=1, resume=True, on_result=lambda one: told.append(one.case)
    )
    assert [request["messages"][-1]["content"] for request in model.requests] == ["fail", "a", "b", "fail"]
    assert told == ["a", "b", "fail", "a", "b", "fail"]
    assert (again.header, {one.key for one in again.results}) == (first.header, {one.key for one in first.results})
    assert len(read_results(path).results) == 6
    with pytest.raises(EvalError, match="the cases are not the same"):
        run_evals(triage, cases[:2], client=model, out=path, repeat=2, resume=True)
    with pytest.raises(EvalError, match="is there already"):
        run_evals(triage, cases, client=model, out=path, repeat=2)


def test_resuming_what_is_not_there_begins(tmp_path: Path) -> None:
    results = run_evals(triage, [case("a", function="None")], client=Rules(), out=tmp_path / "new.jsonl", resume=True)
    assert read_results(tmp_path / "new.jsonl") == results


def test_a_watcher_that_fails_ends_the_run_and_leaves_a_file_to_resume(tmp_path: Path) -> None:
    """D63: so does a full disk."""

    def watch(result: CaseResult) -> None:
        if result.case == "2":
            raise OSError("no space left")

    cases = [case(f"{number}", function="None") for number in range(6)]
    with pytest.raises(OSError, match="no space left"):
        run_evals(triage, cases, client=Rules(pause=0.001), out=tmp_path / "out.jsonl", concurrency=2, on_result=watch)
    done = {result.case for result in read_results(tmp_path / "out.jsonl").results}
    assert "2" in done and len(done) < 6


def test_cancelling_leaves_a_file_to_resume(tmp_path: Path) -> None:
    """D63, D16"""
    path = tmp_path / "out.jsonl"
    cases = [case("Hi", function="None"), case("wait", function="None")]

    class Slow(Rules):
        async def complete(self, call: Any) -> Any:
            if call.request["messages"][-1]["content"] == "wait":
                await asyncio.Event().wait()
            return self.answer(call.request["messages"])

    async def cancelled() -> None:
        over = asyncio.Event()
        task = asyncio.create_task(evaluate(triage, cases, client=Slow(), out=path, on_result=lambda _: over.set()))
        await over.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(asyncio.all_tasks()) == 1  # this one

    asyncio.run(cancelled())
    assert [result.case for result in read_results(path).results] == ["Hi"]


def test_a_scripted_model_serves_one_conversation_after_the_other() -> None:
    """U04"""
    results = run_evals(
        refunds, [case("a", text={"equals": "1"}), case("b", text={"equals": "2"})], client=ScriptedModel(["1", "2"]), concurrency=1
    )
    assert results.accuracy == 1


@given(st.integers(0, 10_000))
@settings(max_examples=30)
def test_wherever_a_file_was_cut_off_what_is_whole_in_it_is_not_played_again(cut: int) -> None:
    """D63"""
    cases = [case(f"case {number} ü", function="None") for number in range(4)]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "out.jsonl"
        run_evals(triage, cases, client=Rules(), out=path)
        data = path.read_bytes()
        path.write_bytes(data[: cut % (len(data) + 1)])
        whole = max(0, path.read_bytes().count(b"\n") - 1)
        model = Rules()
        results = run_evals(triage, cases, client=model, out=path, resume=True)
        assert len(model.requests) == 4 - whole
        assert sorted(result.case for result in results.results) == [each.id for each in cases]
        assert read_results(path) == results
