"""Simulated users: by a script, by a model, with agents that hand over in between."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from swarm import Agent, Limits, OfflineModel
from swarm.errors import ServerError
from swarm.evals import Case, CaseResult, EvalError, JudgeModel, Said, UserModel, load_cases, run_evals
from swarm.evals.simulating import STOP, seen_by_user
from swarm.testing import ScriptedModel, Turn, call
from tests.evals.shop import Rules, refunds, triage

REFUND = 'call refund {"item": 7} / It is refunded.'


def user(**fields: Any) -> Case:
    return Case(id="u", user=fields, state={})


def played(case: Case, client: Any = None, **options: Any) -> CaseResult:
    [result] = run_evals(triage, [case], client=client or Rules(), **options).results
    return result


def texts(result: CaseResult, role: str = "user") -> list[str]:
    return [message["content"] for message in result.messages if message["role"] == role and message["content"]]


# By a script


def test_a_script_is_said_text_by_text_and_goes_on_with_agent_and_variables() -> None:
    """D69"""
    case = Case(
        id="u",
        user={"script": ["call to_refunds / Welcome", REFUND, "call refund {} / Again?", "Bye"]},
        final_agent="Refunds",
        handoffs=["Refunds"],
        state={"refunds": 1, "orders": {"7": "refunded"}},
        text={"equals": "Bye"},
    )
    result = played(case)
    assert result.passed, result
    assert texts(result) == case.user["script"] if case.user else False
    assert (result.stop_reason, result.input, result.usage_apart) == ("complete", 0, {})
    assert [message["sender"] for message in result.messages if message["role"] == "assistant"][-1] == "Refunds"


def test_a_script_goes_on_after_a_conversation() -> None:
    """D69: a conversation that ends with the user is answered first, one that ends with an agent is not."""
    given = [{"role": "user", "content": "Hello"}]
    case = Case(id="u", conversation=given, user={"script": ["One", "Two"]}, state={})
    result = played(case)
    assert texts(result) == texts(result, "assistant") == ["Hello", "One", "Two"]
    assert result.input == 1
    case.conversation.append({"role": "assistant", "content": "Yes?"})
    result = played(case)
    assert (texts(result), texts(result, "assistant")) == (["Hello", "One", "Two"], ["Yes?", "One", "Two"])
    assert result.usage["model_calls"] == 2


def test_the_stop_word_ends_a_conversation_and_what_stands_before_it_is_kept() -> None:
    """D69"""
    result = played(user(script=["One", "Thanks, bye. [END] Or not?", "Three"]))
    assert (texts(result), result.stop_reason, result.usage["model_calls"]) == (["One", "Thanks, bye."], "complete", 1)
    result = played(user(script=["One", "Two DONE", "Three"], stop="DONE"))
    assert texts(result) == ["One", "Two"]


def test_no_more_is_said_than_max_messages() -> None:
    """D69"""
    result = played(user(script=["One", "Two", "Three"], max_messages=2))
    assert (texts(result), result.stop_reason, result.error) == (["One", "Two"], "max_messages", None)
    result = played(user(script=["One", "Two"], max_messages=2))
    assert (texts(result), result.stop_reason) == (["One", "Two"], "complete")


def test_a_run_that_stops_for_good_ends_the_conversation() -> None:
    """D69"""
    steps = "call to_refunds / call to_triage / call to_refunds"
    result = played(user(script=[steps, "Hello?"]), limits=Limits(model_calls=2))
    assert (result.stop_reason, texts(result)) == ("limit:model_calls", [steps])
    given = Case(id="u", conversation=[{"role": "user", "content": steps}], user={"script": ["Hello?"]}, state={})
    result = played(given, limits=Limits(model_calls=2))
    assert (result.stop_reason, texts(result)) == ("limit:model_calls", [steps])


# By a model


def test_a_model_plays_a_person_with_a_goal() -> None:
    """D69: it sees what is said from the other side, and no calls."""
    model = ScriptedModel(["call to_refunds / Which item?", REFUND, f"Thank you. {STOP}"])
    case = user(persona="An old man who writes short.", goal="You want your money back for item 7.")
    result = played(case, simulate=UserModel(model, model="user-1", settings={"temperature": 1}))
    assert (texts(result), result.stop_reason, result.error) == (
        ["call to_refunds / Which item?", REFUND, "Thank you."],
        "complete",
        None,
    )
    assert result.state == {"orders": {"7": "refunded"}, "refunds": 1}
    model.assert_done()
    system, *seen = model.requests[-1]["messages"]
    assert (
        "An old man who writes short." in system["content"] and "money back for item 7" in system["content"] and STOP in system["content"]
    )
    assert seen == [
        {"role": "user", "content": "(The conversation begins. Write your first message.)"},
        {"role": "assistant", "content": "call to_refunds / Which item?"},
        {"role": "user", "content": "Which item?"},
        {"role": "assistant", "content": REFUND},
        {"role": "user", "content": "It is refunded."},
    ]
    assert {(request["model"], request["temperature"], "seed" in request) for request in model.requests} == {("user-1", 1, False)}


def test_what_both_sides_take_is_kept_apart() -> None:
    """D69"""
    model = ScriptedModel([Turn("One", usage=(100, 3)), Turn("Two", usage=(200, 4)), Turn(STOP, usage=(300, 1))])
    result = played(user(goal="g"), simulate=UserModel(model))
    mine, theirs = result.usage, result.usage_apart["user"]
    assert (mine["input_tokens"], mine["model_calls"]) == (20, 2)
    assert (theirs["input_tokens"], theirs["output_tokens"], theirs["model_calls"]) == (600, 8, 3)


def test_both_sides_get_the_seed_of_the_conversation() -> None:
    """D69"""
    model, agents = ScriptedModel(["One", STOP]), Rules()
    played(user(goal="g"), agents, simulate=UserModel(model), seed=3)
    seeds = {request["seed"] for request in (*model.requests, *agents.requests)}
    assert len(seeds) == 1
    other = ScriptedModel(["One", STOP])
    played(user(goal="g"), simulate=UserModel(other), seed=4)
    assert {request["seed"] for request in other.requests}.isdisjoint(seeds)


def test_a_model_lets_a_script_speak() -> None:
    model = ScriptedModel([])
    assert texts(played(user(goal="g", script=["One", "Two"]), simulate=UserModel(model))) == ["One", "Two"]
    assert model.requests == []


@pytest.mark.parametrize(
    ("turn", "why"),
    [
        (Turn(error=ServerError("down")), "the model that plays the user failed: ServerError: down"),
        ("", "the simulated user said nothing"),
        (STOP, "the simulated user said nothing"),
    ],
)
def test_a_user_that_fails_is_an_error_and_none_of_the_agents(turn: Any, why: str) -> None:
    """D69, D62"""
    result = played(user(goal="g"), simulate=UserModel(ScriptedModel([turn])))
    assert (result.error, result.passed, result.messages) == ({"type": "EvalError", "message": why}, False, [])


def test_a_user_that_breaks_off_later_leaves_the_conversation() -> None:
    result = played(user(goal="g"), simulate=UserModel(ScriptedModel(["One", Turn(error=ServerError("down"))])))
    assert result.error is not None
    assert (texts(result), texts(result, "assistant")) == (["One"], ["One"])
    assert result.usage_apart["user"]["model_calls"] == 1


def test_an_answer_in_several_texts_is_one_for_the_user_and_silence_is_told() -> None:
    tool_call = {"id": "1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "One moment.", "sender": "Triage", "tool_calls": [tool_call]},
        {"role": "tool", "tool_call_id": "1", "content": "secret"},
        {"role": "user", "content": "Your last answer cannot be used", "sender": "Triage"},
        {"role": "assistant", "content": "Here it is.", "sender": "Refunds"},
        {"role": "user", "content": "Thanks"},
        {"role": "assistant", "content": None, "sender": "Refunds"},
    ]
    assert [(message["role"], message["content"]) for message in seen_by_user(messages)[1:]] == [
        ("assistant", "Hi"),
        ("user", "One moment.\n\nHere it is."),
        ("assistant", "Thanks"),
        ("user", "(There is no answer.)"),
    ]


def test_a_judge_sees_the_whole_conversation_of_a_model_and_a_swarm() -> None:
    """D69, D68"""
    judge = ScriptedModel(['{"reason": "It is refunded.", "passed": true}'])
    case = Case(id="u", user={"goal": "money back"}, judge="Did the user get what they want?")
    model = ScriptedModel([call("to_refunds"), "Which item?", call("refund", {"item": 7}), "It is refunded."])
    people = UserModel(ScriptedModel(["Money back!", "Item 7", STOP]))
    result = played(case, model, simulate=people, scorers=[JudgeModel(judge)])
    assert result.passed and set(result.usage_apart) == {"judge", "user"}
    lines = judge.requests[0]["messages"][1]["content"].split("\n")
    assert len(lines) == len(result.messages) + 2 and "It is refunded." in lines[-2]


# Users of one's own


def test_a_user_of_ones_own_may_say_what_it_took() -> None:
    async def people(case: Case, messages: list[dict[str, Any]], seed: int | None) -> Said | str:
        return Said("Bye", is_last=True) if messages else "Hi"

    result = played(user(goal="g"), simulate=people)
    assert (texts(result), texts(result, "assistant"), result.usage_apart) == (["Hi", "Bye"], ["Hi"], {})


def test_nobody_plays_a_goal_without_a_model() -> None:
    with pytest.raises(EvalError, match=r"the 'user' has no script, and nobody plays it; .*--user-model"):
        run_evals(triage, [user(goal="g")], client=Rules())
    with pytest.raises(EvalError, match="cannot be the user"):
        UserModel(OfflineModel())


# Users in files


def test_users_are_read_from_files(tmp_path: Path) -> None:
    """D60, D69"""
    file = tmp_path / "users.yaml"
    file.write_text(
        "- user: {persona: in a hurry, script: [Hello, Bye], max_messages: 3, stop: OVER}\n  text: {contains: Bye}\n"
        "- user: get the money back\n  judge: Did it work?\n"
    )
    one, two = load_cases(file)
    assert one.user == {"persona": "in a hurry", "script": ["Hello", "Bye"], "max_messages": 3, "stop": "OVER"}
    assert two.user == {"goal": "get the money back"}


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ('{"gaol": "x"}', "user has 'gaol', which no user has; there are persona, goal, script, max_messages, stop"),
        ('{"persona": "x"}', "user has neither a 'goal' for a model that plays it nor a 'script'"),
        ('{"script": "Hello"}', "user has script: 'Hello', not a list of texts"),
        ('{"script": []}', r"user has script: \[\], not a list of texts"),
        ('{"goal": "x", "max_messages": 0}', "user has max_messages: 0, not a number from 1 on"),
        ('{"goal": "x", "max_messages": true}', "user has max_messages: True, not a number from 1 on"),
        ('{"goal": " "}', "user has goal: ' ', not a text"),
    ],
)
def test_a_wrong_user_is_told_with_its_line(wrong: str, why: str, tmp_path: Path) -> None:
    """D60, D69"""
    file = tmp_path / "users.json"
    file.write_text(f'[\n {{"text": {{"contains": "x"}},\n  "user": {wrong}}}]')
    with pytest.raises(EvalError, match=rf"users\.json:3: {why}"):
        load_cases(file)


def test_agents_are_those_of_the_conversation_not_of_the_case() -> None:
    case = Case(id="u", agent="Refunds", user={"script": ["call to_triage / Hello", "Still here"]}, final_agent="Triage")
    assert played(case, agents=[refunds]).passed


def test_a_user_and_agents_with_one_client_do_not_mix() -> None:
    """D69: each request has the system message of who is asked."""
    model = ScriptedModel(["I want it.", "You have it.", STOP])
    desk = Agent(name="Desk", instructions="You are the desk.")
    [result] = run_evals(desk, [user(goal="g")], client=model, simulate=UserModel(model)).results
    assert result.error is None
    told = [request["messages"][0]["content"][:20] for request in model.requests]
    assert told == ["You play a person wh", "You are the desk.", "You play a person wh"]
