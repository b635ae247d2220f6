"""Typed answers: what asks for them, how their text is read, and what becomes of one that does not fit."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from swarm import Agent, AgentError, Handoff, Limits, Refuse, Result, Swarm, load_state, tool
from swarm.errors import OutputError
from swarm.events import MessageAdded
from swarm.models.scripted import ScriptedModel, Turn, call
from swarm.outputs import Output, values_in
from tests.look import is_valid, system_text
from tests.modes import Drive, names


class Model(BaseModel):
    n: int


class Node(BaseModel):
    name: str
    children: list[Node] = []


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Movie(TypedDict):
    title: str
    year: int


class Pair(NamedTuple):
    left: int
    right: str


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


OPENAI: dict[str, Any] = {"profile": "openai"}


class Till:
    """An agent that counts what its function did."""

    def __init__(self, output_type: Any = Model, **options: Any) -> None:
        self.paid: list[int] = []

        def pay(amount: int) -> str:
            self.paid.append(amount)
            return f"paid {amount}"

        self.agent = Agent(name="Till", functions=[pay], output_type=output_type, **options)


# A text that fits, and one that does not


def test_the_final_text_is_read(drive: Drive) -> None:
    """O01"""
    response = drive(Agent(output_type=Model), "How many?", ['{"n": 3}'])
    assert response.output == Model(n=3)
    assert response.stop_reason == "complete"
    assert response.text == '{"n": 3}'
    assert len(drive.requests) == 1


def test_a_text_in_parts_is_read() -> None:
    """O01"""
    parts = [{"type": "text", "text": '{"n": '}, {"type": "text", "text": "3}"}]
    assert Swarm(ScriptedModel([Turn(None, extra={"content": parts})])).run(Agent(output_type=Model), "How many?").output == Model(n=3)


def test_a_text_that_does_not_fit_is_asked_for_once_more_and_no_tool_runs_again(drive: Drive) -> None:
    """O01, O02"""
    till = Till()
    response = drive(till.agent, "Pay 3", [call("pay", {"amount": 3}), "n is 3", 'Sorry.\n```json\n{"n": 3}\n```'], swarm=OPENAI)
    assert response.output == Model(n=3)
    assert response.stop_reason == "complete"
    assert till.paid == [3]
    assert ["tools" in request for request in drive.requests] == [True, True, False]
    assert ["response_format" in request for request in drive.requests] == [True, True, True]
    assert [message["role"] for message in response.messages] == ["assistant", "tool", "assistant", "user", "assistant"]
    question = response.messages[3]
    assert question["sender"] == "Till"
    assert "no JSON" in question["content"]
    assert '"required":["n"]' in question["content"]
    assert drive.requests[2]["messages"][-1] == {"role": "user", "content": question["content"]}
    assert is_valid(response.messages)


def test_a_second_text_that_does_not_fit_is_an_error_with_the_whole_run(drive: Drive) -> None:
    """O01"""
    till = Till()
    with pytest.raises(OutputError, match=r"'Till' is no Model.*n should be a valid integer.*got \"x\"") as caught:
        drive(till.agent, "Pay 3", [call("pay", {"amount": 3}), "n is 3", '{"n": "x"}'])
    response = caught.value.response
    assert response is not None
    assert response.text == '{"n": "x"}'
    assert [made.outcome for made in response.calls] == ["ok"]
    assert response.output is None
    assert response.usage.calls == 3
    assert till.paid == [3]


def test_a_model_that_calls_instead_of_answering_better_runs_nothing(drive: Drive) -> None:
    """O01"""
    till = Till()
    with pytest.raises(OutputError, match="calls functions") as caught:
        drive(till.agent, "Pay 3", [call("pay", {"amount": 3}), "n is 3", call("pay", {"amount": 3})])
    assert till.paid == [3]
    assert caught.value.response is not None
    assert [made.outcome for made in caught.value.response.calls] == ["ok", "error"]
    assert is_valid(caught.value.response.messages)


def test_the_next_answer_is_asked_for_with_tools_again(drive: Drive) -> None:
    """O01: the question of an earlier run is history."""
    till = Till()
    first = drive(till.agent, "Pay 3", ["n is 3", '{"n": 3}'])
    drive(till.agent, [*first.messages, {"role": "user", "content": "and 4"}], ["n is 4", '{"n": 4}'])
    assert ["tools" in request for request in drive.requests] == [True, False]


def test_watchers_see_the_question(drive: Drive) -> None:
    """O01"""
    events = drive.events(Agent(output_type=Model), "How many?", ["three", '{"n": 3}'])
    turn = ["TurnStarted", "MessageDone", "TurnEnded"]
    assert names(events) == [*turn, "MessageAdded", *turn, "Done"]
    added = next(event for event in events if isinstance(event, MessageAdded))
    assert added.message["content"].startswith("Your last answer cannot be used")


def test_intermediate_turns_are_not_read(drive: Drive) -> None:
    """O02"""
    till = Till()
    response = drive(till.agent, "Pay 3", [Turn("Let me pay. n is 7", [call("pay", {"amount": 3})]), '{"n": 3}'])
    assert response.output == Model(n=3)
    assert len(drive.requests) == 2


# How a run ends otherwise


@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_a_text_that_was_cut_off_is_no_failure_of_the_type(drive: Drive, finish: str) -> None:
    """O01: the stop reason says what happened."""
    response = drive(Agent(output_type=Model), "How many?", [Turn('{"n": ', finish_reason=finish)])
    assert (response.stop_reason, response.output) == (finish, None)


@pytest.mark.parametrize(
    ("kind", "text", "output"), [(int, "42", None), (list[int], "[1]", None), (Model, '{"n": 3}', Model(n=3)), (str, "4", "4")]
)
def test_half_a_value_is_none(drive: Drive, kind: Any, text: str, output: Any) -> None:
    """O01: a number that was cut off is still a number, an object is not."""
    response = drive(Agent(output_type=kind), "How many?", [Turn(text, finish_reason="length")])
    assert (response.stop_reason, response.output) == ("length", output)


def test_a_refusal_is_no_failure_of_the_type(drive: Drive) -> None:
    """O01"""
    response = drive(Agent(output_type=Model), "How many?", [Turn(None, extra={"refusal": "No."})])
    assert (response.stop_reason, response.output) == ("refusal", None)


def test_a_tool_that_ends_the_run_gives_its_own_value(drive: Drive) -> None:
    """O01"""

    def stop() -> Result:
        return Result(value={"any": "thing"}, stop=True)

    response = drive(Agent(functions=[stop], output_type=Model), "Go", [call("stop")])
    assert (response.stop_reason, response.output) == ("stopped", {"any": "thing"})


def test_limits_count_the_second_question(drive: Drive) -> None:
    """O01"""
    response = drive(Agent(output_type=Model), "How many?", ["three"], limits=Limits(model_calls=1))
    assert (response.stop_reason, response.output) == ("limit:model_calls", None)


@pytest.mark.parametrize(("text", "output"), [('{"n": 3}', Model(n=3)), ("three", None)])
def test_the_last_words_at_a_limit_are_read_but_not_asked_for_again(drive: Drive, text: str, output: Any) -> None:
    """O01"""
    till = Till()
    response = drive(till.agent, "Pay 3", [call("pay", {"amount": 3}), text], limits=Limits(model_calls=1, on_limit="answer"))
    assert (response.stop_reason, response.output) == ("limit:model_calls", output)


def test_without_a_type_nothing_is_asked_or_read(drive: Drive) -> None:
    response = drive(Agent(), "How many?", ['{"n": 3}'], swarm=OPENAI)
    assert response.output is None
    assert "response_format" not in drive.requests[0]


# With handoffs, nested runs, pauses


def test_the_type_of_the_agent_that_speaks_last_counts(drive: Drive) -> None:
    """O02"""
    sales = Agent(name="Sales", output_type=Point)
    triage = Agent(name="Triage", handoffs=[sales], output_type=Model)
    response = drive(triage, "Where?", [call("transfer_to_sales"), '{"x": 1}'], swarm=OPENAI)
    assert response.output == Point(1)
    asked = [request["response_format"]["json_schema"]["name"] for request in drive.requests]
    assert asked == ["Model", "Point"]


def test_a_handoff_to_an_agent_without_a_type_gives_text(drive: Drive) -> None:
    """O02"""
    triage = Agent(name="Triage", handoffs=[Agent(name="Sales")], output_type=Model)
    response = drive(triage, "Where?", [call("transfer_to_sales"), "There."])
    assert (response.output, response.text) == (None, "There.")


@pytest.mark.parametrize("inner", ["tool", "returns"])
def test_agents_inside_agents_answer_to_their_own_type(drive: Drive, inner: str) -> None:
    """O02"""
    expert = Agent(name="Expert", output_type=Model)
    outer = Agent(
        functions=[expert.as_tool("ask")] if inner == "tool" else [],
        handoffs=[] if inner == "tool" else [Handoff(expert, name="ask", returns=True)],
        output_type=Point,
    )
    asked = call("ask", {"input": "n?"} if inner == "tool" else {})
    response = drive(outer, "Where?", [asked, "n is 3", '{"n": 3}', '{"x": 3}'])
    assert response.output == Point(3)
    assert response.messages[1]["content"] == '{"n": 3}'


def test_an_inner_answer_that_never_fits_is_told_to_the_outer_model(drive: Drive) -> None:
    """O01"""
    outer = Agent(functions=[Agent(name="Expert", output_type=Model).as_tool("ask")])
    response = drive(outer, "n?", [call("ask", {"input": "n?"}), "three", "still three", "I do not know."])
    assert response.text == "I do not know."
    assert response.messages[1]["content"].startswith("Error: OutputError: the final text of agent 'Expert' is no Model")


def test_through_a_pause_and_a_saved_state(drive: Drive) -> None:
    """O02"""
    paid: list[int] = []

    @tool(approval=True)
    def pay(amount: int) -> str:
        paid.append(amount)
        return "paid"

    agent = Agent(functions=[pay], output_type=Model)
    paused = drive(agent, "Pay 3", [call("pay", {"amount": 3})])
    state = load_state(json.dumps(paused.state()), agents=[agent])
    response = drive.resume(state, ["n is 3", '{"n": 3}'], approvals={paused.pending[0].id: Refuse("no")})
    assert response.output == Model(n=3)
    assert paid == []


def test_a_run_that_failed_before_the_better_answer_is_resumed_with_that_question(drive: Drive) -> None:
    """O01: the question is in the history, so no tool is offered then either."""
    till = Till()
    with pytest.raises(Exception, match="gone") as caught:
        drive(till.agent, "Pay 3", ["n is 3", ConnectionError("gone")])
    before: Any = caught.value
    state = load_state(json.dumps(before.response.state()), agents=[till.agent])
    assert drive.resume(state, ['{"n": 3}']).output == Model(n=3)
    assert ["tools" in request for request in drive.requests] == [False]
    with pytest.raises(OutputError):
        drive.resume(state, ["three"])


# What asks for it


def test_the_schema_is_strict_and_the_instructions_stay_as_they_are(drive: Drive) -> None:
    """O02"""
    drive(Agent(output_type=Point, instructions="Be brief."), "Where?", ['{"x": 1, "y": 2}'], swarm=OPENAI)
    schema = {
        "type": "object",
        "properties": {"x": {"type": "integer"}, "y": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
        "required": ["x", "y"],
        "additionalProperties": False,
    }
    format = drive.requests[0]["response_format"]
    assert format == {"type": "json_schema", "json_schema": {"name": "Point", "strict": True, "schema": schema}}
    assert system_text(drive.requests[0]) == "Be brief."


@pytest.mark.parametrize(
    ("instructions", "begins"), [("Be brief.", "Be brief.\n\nYour final"), (None, "Your final"), (lambda: "Hm.", "Hm.")]
)
def test_where_there_is_no_format_the_instructions_say_it(drive: Drive, instructions: Any, begins: str) -> None:
    """O02"""
    drive(Agent(output_type=Model, instructions=instructions), "How many?", ['{"n": 3}'])
    told = system_text(drive.requests[0])
    assert told is not None
    assert told.startswith(begins)
    assert '"n":{"type":"integer"}' in told
    assert "response_format" not in drive.requests[0]


def test_a_type_that_cannot_be_strict_is_asked_for_in_the_instructions(drive: Drive) -> None:
    """O02"""
    response = drive(Agent(output_type=dict[str, int]), "Count", ['{"a": 1}'], swarm=OPENAI)
    assert response.output == {"a": 1}
    assert "response_format" not in drive.requests[0]
    assert "JSON Schema" in str(system_text(drive.requests[0]))


def test_a_format_of_the_users_own_is_sent(drive: Drive) -> None:
    agent = Agent(output_type=Model, model_settings={"response_format": {"type": "json_object"}})
    assert drive(agent, "How many?", ['{"n": 3}'], swarm=OPENAI).output == Model(n=3)
    assert drive.requests[0]["response_format"] == {"type": "json_object"}


def test_text_as_a_type_is_the_text_and_costs_nothing(drive: Drive) -> None:
    response = drive(Agent(output_type=str, instructions="Be brief."), "Hi", ["three"], swarm=OPENAI)
    assert response.output == "three"
    assert drive.requests[0].keys() & {"response_format"} == set()
    assert system_text(drive.requests[0]) == "Be brief."


def test_a_type_may_be_changed_between_runs() -> None:
    agent = Agent(output_type=Model)
    assert Swarm(ScriptedModel(['{"n": 3}'])).run(agent, "x").output == Model(n=3)
    agent.output_type = list[int]
    assert Swarm(ScriptedModel(['{"value": [3]}'])).run(agent, "x").output == [3]
    assert Swarm(ScriptedModel(['{"x": 1}'])).run(agent.copy(output_type=Point), "x").output == Point(1)


@pytest.mark.parametrize("kind", [Till, type(call), {"type": "object"}, 3, "Model", list[Till]])
def test_a_type_that_json_cannot_hold_is_refused_at_construction(kind: Any) -> None:
    with pytest.raises(AgentError, match=r"output_type=.* cannot be read from JSON; give"):
        Agent(name="Shop", output_type=kind)


# How a text is read

READ: list[tuple[Any, str, Any]] = [
    (Model, '{"n": 3}', Model(n=3)),
    (Model, ' \n{"n": 3}\n', Model(n=3)),
    (Model, '```json\n{"n": 3}\n```', Model(n=3)),
    (Model, '```\n{"n": 3}\n```\nHope that helps {really}!', Model(n=3)),
    (Model, 'Sure [1]: {"n": 3}.', Model(n=3)),
    (Model, '<think>{"n": 1}? No, {"n": 2}.</think>{"n": 3}', Model(n=3)),
    (Model, '{"n": "3"}', Model(n=3)),
    (Model, '"{\\"n\\": 3}"', Model(n=3)),
    (Model, '{"n": 3} is what {"m": 4} is not', Model(n=3)),
    (Node, '{"name": "a", "children": [{"name": "b"}]}', Node(name="a", children=[Node(name="b")])),
    (Node, '{"value": {"name": "a"}}', Node(name="a")),
    (Point, '{"x": 1, "y": null}', Point(1)),
    (Movie, '{"title": "Alien", "year": 1979}', {"title": "Alien", "year": 1979}),
    (list[Model], '{"value": [{"n": 3}]}', [Model(n=3)]),
    (list[Model], 'Here: [{"n": 3}]', [Model(n=3)]),
    (Model | Point, '{"value": {"x": 3}}', Point(3)),
    (Model | Point, '{"x": 3}', Point(3)),
    (Model | None, '{"value": null}', None),
    (Model | None, "null", None),
    (int, '{"value": 3}', 3),
    (int, "3", 3),
    (float, "3.5", 3.5),
    (bool, "true", True),
    (Literal["yes", "no"], "yes", "yes"),
    (Colour, 'The colour?\n```json\n{"value": "red"}\n```', Colour.RED),
    (Colour, "red", Colour.RED),
    (datetime.date, "2026-11-30", datetime.date(2026, 11, 30)),
    (str | int, "three", "three"),
    (Pair, '{"value": [1, "a"]}', Pair(1, "a")),
    (dict[str, int], '{"value": 1}', {"value": 1}),
    (Annotated[int, Field(gt=2)], "3", 3),
    (Any, '{"value": [1, "a"]}', [1, "a"]),
]


@pytest.mark.parametrize(("kind", "text", "value"), READ)
def test_a_text_is_read_leniently(kind: Any, text: str, value: Any) -> None:
    """O01"""
    read = Output(kind, "A").read(text)
    assert read == value
    assert type(read) is type(value)


UNREAD: list[tuple[Any, str, str]] = [
    (Model, "n is 3", "no JSON"),
    (Model, "", "no JSON"),
    (Model, '{"n": 3', "no JSON"),
    (Model, '{"m": 3}', "missing: n"),
    (Model, '{"n": NaN}', "n should be a .*, got NaN"),
    (Model, '{"n": "\\ud83d"}', "cannot be read"),
    (Model, "[" * 3000, "no JSON"),
    (Model, '{"n": true}', "n should be a valid integer, got true"),
    (Model, "[3]", r"it should be .*, got \[3\]"),
    (list[int], '{"value": [1, "x"]}', r"\[1\] should be a valid integer, .*, got \"x\""),
    (list[int], "none", 'it should be a valid array, got "none"'),
    (Literal["yes", "no"], "perhaps", "should be 'yes' or 'no'"),
    (Annotated[int, Field(gt=2)], "1", "greater than 2"),
]


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "a", "children": [{"name": "b"}, {"name": "c"},]}',
        'Here: {"name": "a", "children": [{"name": "b"}',
        '[{"name": "a"}, {"name": "b"},]',
        '```json\n{"name": "a", "children": [{"name": "}"}, // and so on\n]}\n```',
    ],
)
def test_a_part_of_a_broken_answer_is_no_answer(text: str) -> None:
    """O01"""
    assert values_in(text) == []
    with pytest.raises(OutputError):
        Output(Node, "A").read(text)


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"n": 3}\n```\nIf there are none, it would be `{}`.',
        'It may be {} or\r\n```json\r\n{"n": 3}\r\n```\r\nsee [1] and {}',
        '```\n{"n": 1}\n```\nno, rather\n```\n{"n": 3}\n```\nand not {"n": 4}',
    ],
)
def test_what_stands_in_a_fence_is_meant(text: str) -> None:
    """O01"""
    assert Output(dict[str, int], "A").read(text) == {"n": 3}


@pytest.mark.parametrize(("kind", "text", "why"), UNREAD)
def test_what_is_wrong_with_a_text_is_said(kind: Any, text: str, why: str) -> None:
    """O01"""
    with pytest.raises(OutputError, match=why):
        Output(kind, "A").read(text)


CHARACTERS = st.characters(exclude_categories=["Cs"])
LEAF = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.text(CHARACTERS)
JSON: st.SearchStrategy[Any] = st.deferred(
    lambda: LEAF | st.lists(JSON, max_size=2) | st.dictionaries(st.text(CHARACTERS, max_size=5), JSON, max_size=2)
)
WORDS = st.text(st.characters(exclude_characters="[]{}", exclude_categories=["Cs"]), max_size=20)


@given(JSON, WORDS, WORDS, st.sampled_from(["{}", "```json\n{}\n```", "```{}```", "<think>[x {{</think>{}", "{{a}} [b] {}"]), st.booleans())
def test_any_json_object_is_found_in_any_talk(value: Any, before: str, after: str, form: str, pretty: bool) -> None:
    """O01"""
    written = json.dumps({"n": value}, indent=2 if pretty else None, ensure_ascii=pretty)
    text = before + form.replace("{}", written) + after
    assert {"n": value} in values_in(text)
    assert Output(dict[str, Any], "A").read(text) == {"n": value}


@given(st.text(max_size=60) | st.text('[]{}":,\\n 1', max_size=60))
def test_no_text_breaks_the_reading(text: str) -> None:
    """O01: it fits, or there is one kind of error."""
    for kind in (Model, list[int]):
        try:
            read: Any = Output(kind, "A").read(text)
        except OutputError as error:
            assert str(error)
        else:
            assert isinstance(read, Model | list)
