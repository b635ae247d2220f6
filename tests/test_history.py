"""A history from outside comes out valid, or is refused with an error that says where."""

from __future__ import annotations

import copy
import re
import sys
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel

from swarm import Agent, Limits, ScriptedModel, Swarm
from swarm.errors import HistoryError
from swarm.history import NOT_EXECUTED, open_calls, repaired, tool_message, unique_ids, used_ids
from swarm.legal import call_name, json_text, legal_name, normal_call
from swarm.messages import text_of
from swarm.models.scripted import Turn

USER = {"role": "user", "content": "Hi"}


def call(id: Any = "a", name: Any = "f", arguments: Any = "{}", **more: Any) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def asks(*calls: Any, content: Any = None) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def answer(id: Any, content: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content, **more}


def is_function(function: dict[str, Any]) -> bool:
    name = function.get("name")
    return isinstance(function.get("arguments"), str) and isinstance(name, str) and bool(re.fullmatch("[a-zA-Z0-9_-]{1,64}", name))


def flaws(messages: list[Any], open_tail: bool = False) -> list[str]:
    """What a provider would refuse; written apart from the code under test, from the rules of the API reference."""
    found: list[str] = []
    seen: set[str] = set()
    expected: list[str] = []
    for at, message in enumerate(messages):
        if not isinstance(message, dict):
            return [*found, f"{at}: no dict"]
        role, content = message.get("role"), message.get("content")
        if role not in ("system", "developer", "user", "assistant", "tool", "function"):
            found.append(f"{at}: role {role!r}")
        parts = isinstance(content, list) and all(isinstance(part, dict) and isinstance(part.get("type"), str) for part in content)
        older = message.get("function_call") if role == "assistant" else None
        if older is not None and not (isinstance(older, dict) and is_function(older)):
            found.append(f"{at}: function_call {older!r}")
        if role == "function" and not (isinstance(message.get("name"), str) and message["name"]):
            found.append(f"{at}: no name")
        if not isinstance(content, str) and not parts and not (content is None and role in ("assistant", "function")):
            found.append(f"{at}: content {content!r}")
        if role == "tool":
            tail = open_tail and all(isinstance(later, dict) and later.get("role") == "tool" for later in messages[at:])
            while tail and expected and expected[0] != message.get("tool_call_id"):
                expected.pop(0)
            if not expected or message.get("tool_call_id") != expected.pop(0):
                found.append(f"{at}: an answer where none is due")
            continue
        if expected:
            found.append(f"{at}: {expected} not answered")
        expected = []
        calls = (message.get("tool_calls") or []) if role == "assistant" else []
        if not isinstance(calls, list) or not all(isinstance(entry, dict) for entry in calls):
            return [*found, f"{at}: calls {calls!r}"]
        for entry in calls:
            id, function = entry.get("id"), entry.get("function") or {}
            if not isinstance(id, str) or not id or id in seen:
                found.append(f"{at}: id {id!r}")
            custom = entry.get("type") != "function" and isinstance(entry.get(entry.get("type")), dict)
            if not custom and not is_function(function):
                found.append(f"{at}: function {function!r}")
            if not isinstance(entry.get("type"), str):
                found.append(f"{at}: type")
            seen.add(id)
            expected.append(id)
    if expected and not open_tail:
        found.append(f"the end: {expected} not answered")
    return found


class Part(BaseModel):
    type: str = "text"
    text: str = "x"


class Said(BaseModel):
    """Like a message object of the official client."""

    role: str = "assistant"
    content: Any = None
    tool_calls: Any = None


class Attributes:
    """Has what a message has, but says nothing of itself."""

    role, content = "user", "x"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    __hash__ = None  # type: ignore[assignment]


class Broken:
    """Cannot be dumped."""

    def model_dump(self, **options: Any) -> Any:
        raise RuntimeError("half-made")

    __eq__, __hash__ = Attributes.__eq__, None  # type: ignore[assignment]


IDS = st.sampled_from(["", None, "a", "b", "a_2", "call_1_0", "call_2_0", 7])
ARGUMENTS = st.sampled_from(["{}", '{"a": 1', "", None, {"a": 1}, [1], 3])
CALLS = st.builds(call, IDS, st.sampled_from(["f", "g-1", "f.g", "é", "", None, 3]), ARGUMENTS) | st.sampled_from(
    [{}, {"id": "a"}, {"id": "a", "function": None}, {"id": "c", "type": "custom", "custom": {"name": "g", "input": "x"}}]
)
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
CONTENTS = st.sampled_from(["x", "", None, [{"type": "text", "text": "x"}, IMAGE], [], {"a": 1}, 3, ["x"], [{}], [{"type": 1}]])
GOOD_CONTENTS = st.sampled_from(["x", "", [{"type": "text", "text": "x"}], [IMAGE]])
FOUND_CONTENTS = GOOD_CONTENTS | st.sampled_from([({"type": "text", "text": "x"},), [Part()]])
ASKS = st.builds(lambda calls, content: asks(*calls, content=content), st.lists(CALLS, max_size=3), st.sampled_from([None, "x", ""]))
ANSWERS = st.builds(answer, IDS, GOOD_CONTENTS | st.none()) | st.builds(
    lambda name: {"role": "tool", "name": name, "content": "named"}, st.sampled_from(["f", "g-1", "f.g"])
)
SAID = st.builds(
    lambda role, content: {"role": role, "content": content},
    st.sampled_from(["user", "assistant", "system", "developer"]),
    FOUND_CONTENTS,
)
OLDER = st.builds(
    lambda name, arguments: {"role": "assistant", "content": None, "function_call": {"name": name, "arguments": arguments}},
    st.sampled_from(["f", "f.g", None]),
    ARGUMENTS,
) | st.sampled_from([{"role": "function", "name": "f", "content": "x"}, {"role": "function", "name": "f", "content": None}])
OBJECTS = st.builds(lambda calls: Said(tool_calls=calls), st.lists(CALLS, max_size=2) | st.lists(CALLS, max_size=2).map(tuple)) | st.just(
    Said(content="x")
)
ODD = st.sampled_from(
    [
        None,
        "text",
        {},
        {"role": "robot", "content": "x"},
        {"role": ["user"], "content": "x"},
        {"role": "user"},
        {"role": "assistant", "content": None, "tool_calls": {"a": 1}},
        {"role": "assistant", "content": None, "tool_calls": ["a"]},
        {"role": "assistant", "content": None, "function_call": "f"},
        {"role": "function", "content": "x"},
        Attributes(),
        Broken(),
    ]
) | st.builds(lambda role, content: {"role": role, "content": content}, st.sampled_from(["user", "tool", "developer"]), CONTENTS)
USUAL = ASKS | ANSWERS | SAID | OLDER | OBJECTS
HISTORIES = st.lists(USUAL, max_size=9) | st.lists(USUAL | ODD, max_size=9)


@given(HISTORIES, st.booleans())
@example([USER, asks(call("a")), asks(call("b")), answer("a"), answer("b")], False)
def test_whatever_comes_in_is_valid_or_refused_and_never_changed(messages: list[Any], open_tail: bool) -> None:
    """DESIGN: history is always valid. K08"""
    before = copy.deepcopy(messages)
    try:
        result = repaired(messages, allow_open_tail=open_tail)
    except HistoryError as error:
        assert error.index is not None
        assert f"messages[{error.index}]" in str(error)
        assert flaws(messages, open_tail)
        result = None
    assert messages == before
    if result is None:
        return
    assert flaws(result, open_tail) == []
    assert result is not messages
    again = repaired(result, allow_open_tail=open_tail)
    assert again == result
    assert all(mine is theirs for mine, theirs in zip(again, result, strict=True))
    if not flaws(messages, open_tail):
        assert all(mine is theirs for mine, theirs in zip(result, messages, strict=True))


def sent_flaws(messages: list[Any]) -> list[str]:
    """What a provider would refuse of a request, beyond what it would of a history."""
    found = flaws(messages)
    for at, message in enumerate(messages):
        if message.keys() - {"role", "content", "name", "tool_calls", "tool_call_id", "function_call"}:
            found.append(f"{at}: keys {list(message)}")
        content = message.get("content")
        if content is None and not (message.get("tool_calls") or message.get("function_call")):
            found.append(f"{at}: no content")
        if content == [] or message.get("tool_calls") == []:
            found.append(f"{at}: an empty list")
    return found


@given(HISTORIES, st.sampled_from([{}, {"approvals": {}}, {"max_turns": 0}, {"execute_tools": False}]))
def test_what_is_sent_is_valid_or_nothing_is_sent(messages: list[Any], options: dict[str, Any]) -> None:
    """K08, P01, M03: and the caller's objects are as they were."""
    before = copy.deepcopy(messages)
    model = ScriptedModel(["done"])
    try:
        response = Swarm(model).run(Agent(functions=[f]), messages, **options)
    except HistoryError as error:
        assert f"messages[{error.index}]" in str(error)
        assert model.requests == []
        return
    finally:
        assert messages == before
    for request in model.requests:
        assert sent_flaws(request["messages"]) == []
    whole = response.state()["messages"]
    assert flaws(whole, open_tail=True) == []


def f(a: int = 0) -> str:
    return f"f {a}"


@given(HISTORIES)
def test_no_text_is_lost_by_a_repair_but_that_of_spare_answers(messages: list[Any]) -> None:
    try:
        result = repaired(messages, allow_open_tail=True)
    except HistoryError:
        return
    kept = [message if isinstance(message, dict) else message.model_dump() for message in messages]
    told = [text_of(message) for message in kept if message["role"] != "tool"]
    assert [text_of(message) for message in result if message["role"] != "tool"] == [
        "".join(part.text if isinstance(part, Part) else part.get("text", "") for part in message["content"])
        if isinstance(message["content"], (list, tuple))
        else text
        for message, text in zip((message for message in kept if message["role"] != "tool"), told, strict=True)
    ]


def test_a_sound_history_keeps_every_object() -> None:
    messages = [
        {"role": "system", "content": "a"},
        {"role": "developer", "content": "b"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]},
        asks(call("a"), call("b"), content="text before calls"),
        answer("a"),
        answer("b", tool_name="f"),
        {"role": "assistant", "content": "done", "sender": "A", "tool_calls": None},
    ]
    result = repaired(messages, allow_open_tail=False)
    assert result is not messages
    assert all(mine is theirs for mine, theirs in zip(result, messages, strict=True))


def test_an_unanswered_call_in_the_middle_gets_a_neutral_answer() -> None:
    """M03"""
    result = repaired([asks(call("a"), call("b")), answer("a"), USER], allow_open_tail=False)
    assert result[2] == tool_message("b", "f", NOT_EXECUTED)
    assert result[3] is USER


def test_interleaved_batches_are_put_in_order() -> None:
    """M04"""
    first, second = asks(call("a")), asks(call("b"))
    result = repaired([USER, first, second, answer("a"), answer("b")], allow_open_tail=False)
    assert result == [USER, first, answer("a"), second, answer("b")]


def test_answers_out_of_order_or_late_are_put_behind_their_message() -> None:
    result = repaired([asks(call("a"), call("b")), USER, answer("b", "2"), answer("a", "1")], allow_open_tail=False)
    assert [m.get("content") for m in result[1:]] == ["1", "2", "Hi"]


def test_of_two_answers_the_first_counts_and_an_orphan_goes() -> None:
    result = repaired([answer("x"), asks(call("a")), answer("a", "1"), answer("a", "2"), answer("y")], allow_open_tail=False)
    assert result == [asks(call("a")), answer("a", "1")]


def test_an_id_that_repeats_in_a_later_turn_gets_a_number_with_its_answer() -> None:
    """D52"""
    result = repaired(
        [asks(call("a")), answer("a", "1"), USER, asks(call("a")), answer("a", "2"), asks(call("a")), answer("a", "3")],
        allow_open_tail=False,
    )
    assert [m["tool_calls"][0]["id"] for m in result if m.get("tool_calls")] == ["a", "a_2", "a_3"]
    assert [(m["tool_call_id"], m["content"]) for m in result if m["role"] == "tool"] == [("a", "1"), ("a_2", "2"), ("a_3", "3")]


def test_a_repeated_id_answers_the_turn_it_stands_behind() -> None:
    result = repaired([asks(call("a")), USER, asks(call("a")), answer("a", "second")], allow_open_tail=False)
    assert [m["content"] for m in result if m["role"] == "tool"] == [NOT_EXECUTED, "second"]


def test_missing_ids_are_made_from_the_position() -> None:
    """D3: never random."""
    messages = [USER, asks(call(""), call(None)), answer("", "1"), {"role": "tool", "content": "2"}]
    result = repaired(messages, allow_open_tail=False)
    assert [c["id"] for c in result[1]["tool_calls"]] == ["call_1_0", "call_1_1"]
    assert [(m["tool_call_id"], m["content"]) for m in result[2:]] == [("call_1_0", "1"), ("call_1_1", "2")]
    assert result == repaired(messages, allow_open_tail=False)


def test_an_answer_without_id_finds_its_call_by_name() -> None:
    messages = [asks(call("a", "f"), call("b", "g")), {"role": "tool", "name": "g", "content": "2"}, {"role": "tool", "content": "1"}]
    assert [m["content"] for m in repaired(messages, allow_open_tail=False)[1:]] == ["1", "2"]


@pytest.mark.parametrize(("given_", "text"), [({"a": "é"}, '{"a":"é"}'), (None, "{}"), ("", ""), ("{broken", "{broken"), ([1], "[1]")])
def test_arguments_become_text_and_text_is_left_alone(given_: Any, text: str) -> None:
    """T06, D27"""
    result = repaired([asks(call("a", arguments=given_)), answer("a")], allow_open_tail=False)
    assert result[0]["tool_calls"][0]["function"]["arguments"] == text


def test_private_fields_of_a_call_survive_a_repair() -> None:
    """P11"""
    signed = call("", extra_content={"google": {"thought_signature": "s"}})
    result = repaired([asks(signed), answer("")], allow_open_tail=False)
    assert result[0]["tool_calls"][0]["extra_content"] is signed["extra_content"]


def test_a_call_of_another_kind_is_left_alone() -> None:
    custom = {"id": "c", "type": "custom", "custom": {"name": "grammar", "input": "x"}}
    messages = [asks(custom), answer("c")]
    assert repaired(messages, allow_open_tail=False)[0] is messages[0]


def test_a_tail_of_open_calls_is_refused_with_both_ways_out() -> None:
    """D2, M03"""
    with pytest.raises(ValueError, match=r"messages\[1\].*f \(id 'a'\).*approvals=.*resume\(state") as caught:
        repaired([USER, asks(call("a"), call("b")), answer("b")], allow_open_tail=False)
    assert isinstance(caught.value, HistoryError)
    assert caught.value.index == 1
    assert "'b'" not in str(caught.value)


def test_a_partly_answered_tail_keeps_its_answers_in_call_order() -> None:
    """D44"""
    messages = [asks(call("a"), call("b"), call("c")), answer("c"), answer("a")]
    result = repaired(messages, allow_open_tail=True)
    assert result == [messages[0], answer("a"), answer("c")]
    assert [c["id"] for c in open_calls(result)] == ["b"]


def test_only_the_last_turn_stays_open() -> None:
    result = repaired([asks(call("a")), asks(call("b"))], allow_open_tail=True)
    assert result == [asks(call("a")), tool_message("a", "f", NOT_EXECUTED), asks(call("b"))]
    assert open_calls(result) == [call("b")]


@pytest.mark.parametrize("calls", [[{}], "f", None, [], [call("a")], 3])
@pytest.mark.parametrize("role", ["user", "system", "tool"])
def test_calls_of_anyone_but_an_assistant_are_dropped(role: str, calls: Any) -> None:
    before = [asks(call("a")), {**answer("a")}, {**USER}, {"role": "system", "content": "S"}]
    messages = [{**message, "tool_calls": calls} if message["role"] == role else message for message in before]
    assert repaired(messages, allow_open_tail=False) == before


def test_open_calls_of_a_finished_history_are_none() -> None:
    assert open_calls([]) == []
    assert open_calls([USER]) == []
    assert open_calls([asks(call("a")), answer("a")]) == []


@pytest.mark.parametrize(
    ("messages", "index", "words"),
    [
        ("Hi", None, "not a list"),
        ({"role": "user", "content": "Hi"}, None, "not a list"),
        (3, None, "not a list"),
        ([USER, "Hi"], 1, "is str, not a dict"),
        ([{"content": "Hi"}], 0, "role None"),
        ([{"role": ["user"], "content": "Hi"}], 0, "a role of type list"),
        ([{"role": "robot", "content": "Hi"}], 0, "'robot'; it must be one of system, developer, user"),
        ([USER, {"role": "user"}], 1, "no content"),
        ([{"role": "user", "content": 3}], 0, "content of type int"),
        ([{"role": "user", "content": ["Hi"]}], 0, r"messages\[0\].content\[0\] is str"),
        ([{"role": "user", "content": [{"type": "text", "text": "Hi"}, {}]}], 0, r"messages\[0\].content\[1\] has no type"),
        ([{"role": "function", "content": "Hi"}], 0, "no name"),
        ([{"role": "assistant", "content": None, "function_call": "f"}], 0, "function_call is str"),
        ([{"role": "assistant", "content": {"a": 1}}], 0, "content of type dict"),
        ([{"role": "assistant", "content": None, "tool_calls": "f"}], 0, "tool_calls is str, not a list"),
        ([{"role": "assistant", "content": None, "tool_calls": ["f"]}], 0, r"tool_calls\[0\] is str"),
    ],
)
def test_what_cannot_be_sent_is_refused_with_its_place(messages: Any, index: int | None, words: str) -> None:
    with pytest.raises(HistoryError, match=words) as caught:
        repaired(messages, allow_open_tail=False)
    assert caught.value.index == index


class Dumped:
    """Like a message object of the official client."""

    def __init__(self, message: dict[str, Any]) -> None:
        self.message = message

    def model_dump(self, *, exclude_unset: bool) -> dict[str, Any]:
        assert exclude_unset
        return dict(self.message)


def test_message_objects_of_a_client_become_dicts() -> None:
    """The tutorials append `response.choices[0].message` to the list."""
    result = repaired([USER, Dumped(asks(call("a"))), answer("a")], allow_open_tail=False)
    assert result == [USER, asks(call("a")), answer("a")]
    assert repaired([{"role": "assistant", "content": None, "tool_calls": [Dumped(call("a"))]}, answer("a")], allow_open_tail=False)[
        0
    ] == asks(call("a"))


def test_a_mock_that_answers_every_name_is_refused() -> None:
    class Mock:
        def __getattr__(self, name: str) -> Any:
            return lambda **_: self

    with pytest.raises(HistoryError, match=r"messages\[0\] is Mock"):
        repaired([Mock()], allow_open_tail=False)


def test_a_tool_message_without_content_becomes_empty_text() -> None:
    """T16"""
    assert repaired([asks(call("a")), answer("a", None)], allow_open_tail=False)[1] == answer("a", "")


def test_the_function_name_as_id_in_every_turn_costs_no_square() -> None:
    messages = [message for _ in range(5_000) for message in (asks(call("f")), answer("f"))]
    ids = used_ids(repaired(messages, allow_open_tail=False))
    assert len(ids) == 5_000
    assert {"f", "f_2", "f_5000"} <= ids


def test_unique_ids_leaves_a_good_message_alone_and_notes_its_ids() -> None:
    used = {"x"}
    message = asks(call("a"), call("b"))
    assert unique_ids(message, used, 3) is message
    assert used == {"x", "a", "b"}
    assert unique_ids(USER, used, 3) is USER


def test_unique_ids_numbers_known_ids_and_makes_missing_ones() -> None:
    """D3, D52"""
    used = {"a", "a_2", "call_3_1"}
    message = asks(call("a"), call(""), call("a"), call(None))
    before = copy.deepcopy(message)
    result = unique_ids(message, used, 3)
    assert [c["id"] for c in result["tool_calls"]] == ["a_3", "call_3_1_2", "a_4", "call_3_3"]
    assert message == before


@pytest.mark.parametrize(
    ("name", "legal"),
    [
        ("functions.get", "functions_get"),
        ("a b", "a_b"),
        ("東京", "_"),
        ("", "unnamed_function"),
        (None, "unnamed_function"),
        ("x" * 70, "x" * 64),
    ],
)
def test_names_are_legal(name: Any, legal: str) -> None:
    assert legal_name(name) == legal


@pytest.mark.parametrize(
    ("given", "id", "kind", "name", "arguments"),
    [
        ({}, "", "function", "unnamed_function", "{}"),
        ({"id": None, "type": None, "function": None}, "", "function", "unnamed_function", "{}"),
        ({"id": 5, "type": "", "function": {"name": "f", "arguments": "{}"}}, "5", "function", "f", "{}"),
        ({"id": "a", "type": 5, "function": {"name": "f", "arguments": ""}}, "a", "function", "f", ""),
        ({"id": "a", "type": "function", "function": {"name": "", "arguments": None}}, "a", "function", "unnamed_function", "{}"),
        ({"id": "a", "type": "function", "function": {"name": "x" * 64, "arguments": "{}"}}, "a", "function", "x" * 64, "{}"),
        ({"id": "a", "type": "function", "function": {"name": "x" * 65, "arguments": "{}"}}, "a", "function", "x" * 64, "{}"),
        ({"id": "a", "type": "function", "function": {"name": "a-b", "arguments": [1]}}, "a", "function", "a-b", "[1]"),
        ({"id": "a", "type": "function", "function": {"name": "é!b", "arguments": "{}"}}, "a", "function", "_b", "{}"),
        ({"id": "a", "type": "function", "function": {"name": "7", "arguments": "{}"}}, "a", "function", "7", "{}"),
    ],
)
def test_a_call_as_it_should_be(given: dict[str, Any], id: str, kind: str, name: str, arguments: str) -> None:
    """T03, T06, D52"""
    before = repr(given)
    made = normal_call(given)
    assert (made["id"], made["type"], made["function"]["name"], made["function"]["arguments"]) == (id, kind, name, arguments)
    assert repr(given) == before
    assert normal_call(made) is made
    assert call_name(made) == name


def test_a_call_of_another_kind_keeps_what_it_has() -> None:
    """P11: also one without an id, which gets one from its place."""
    custom = {"id": "c", "type": "custom", "custom": {"name": "grep"}}
    assert normal_call(custom) is custom
    assert call_name(custom) == call_name({"function": {"name": None}}) == call_name({"function": None}) == ""
    nameless = {"type": "custom", "id": None, "custom": {"name": "grep"}, "function": None}
    history = repaired([{"role": "assistant", "content": None, "tool_calls": [nameless]}], allow_open_tail=True)
    assert history[0]["tool_calls"] == [{"id": "call_0_0", "type": "custom", "custom": {"name": "grep"}}]


def test_a_message_whose_ids_are_free_is_left_alone() -> None:
    """D52"""
    message = asks(call("a"), call("b"))
    used = {"x"}
    assert unique_ids(message, used, 3) is message
    assert used == {"x", "a", "b"}
    again = unique_ids(message, used, 5)
    assert [entry["id"] for entry in again["tool_calls"]] == ["a_2", "b_2"]
    assert unique_ids({"role": "assistant", "content": "x"}, used, 7) == {"role": "assistant", "content": "x"}


def test_json_text_is_readable_and_never_fails() -> None:
    """T18"""
    assert json_text({"city": "東京", "n": [1, 2.5, None, True]}) == '{"city":"東京","n":[1,2.5,null,true]}'
    assert json_text({"a": float("nan"), "b": object}).startswith('{"a":null,"b":"')
    assert json_text({"a": "\ud800"}) == '{"a": "\\ud800"}'
    loop: list[Any] = []
    loop.append(loop)
    deep: list[Any] = []
    for _ in range(3_000):
        deep = [deep]
    assert json_text(loop) == json_text(deep) == '"a list that JSON cannot hold"'


def work_of(do: Any) -> int:
    """How many lines of Python run: what something costs, whatever the machine does beside it."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        do()
    finally:
        sys.settrace(before)
    return count


def conversation(turns: int, id: str | None = None) -> list[Any]:
    one = [
        [USER, asks(call(id or f"c{at}")), answer(id or f"c{at}"), {"role": "assistant", "content": "done", "tool_calls": None}]
        for at in range(turns)
    ]
    return [message for turn in one for message in turn]


NUMBERS = [str(number) for number in range(5_000)]
WORK = [
    ("a sound history", conversation(2_500), 18),
    ("an orphan at its end", [*conversation(2_500), answer("x")], 20),
    ("no answers at all", [m for m in conversation(3_333) if m["role"] != "tool"], 70),
    ("one id in every turn", conversation(2_500, "f"), 70),
    ("no ids at all", [{k: v for k, v in m.items() if k != "tool_call_id"} for m in conversation(2_500, "")], 70),
    ("one huge batch, answered without ids", [asks(*[call(f"c{at}") for at in range(5_000)]), *[answer(None)] * 5_000], 70),
    (
        "one huge batch, answered backwards",
        [asks(*[call(str(at)) for at in range(5_000)]), *[answer(str(4_999 - at)) for at in range(5_000)]],
        50,
    ),
    ("one huge batch of one id", [asks(*[call("f") for _ in range(5_000)]), *[answer("f")] * 5_000], 70),
    # All of it is looked at for plain messages first, so that the usual history needs no second look.
    ("ten thousand open turns", [asks(call("f")) for _ in range(5_000)] + [answer("f")] * 5_000, 76),
]


@pytest.mark.parametrize(("messages", "budget"), [entry[1:] for entry in WORK], ids=[entry[0] for entry in WORK])
def test_ten_thousand_messages_cost_little(messages: list[Any], budget: int) -> None:
    """Counted in lines of Python; benchmarks/history_cost.py takes the time. No case costs the square of its length."""
    assert work_of(lambda: repaired(messages, allow_open_tail=True)) < budget * 10_000


def test_a_run_whose_model_repeats_its_ids_costs_no_square() -> None:
    """D52: a provider that uses the function's name as id in every turn."""
    used: set[str] = set()
    numbers: dict[str, int] = {}

    def turns() -> None:
        for at in range(3_000):
            unique_ids(asks(call("f")), used, at, numbers)

    assert work_of(turns) < 30 * 3_000
    response = Swarm(ScriptedModel([*[Turn(calls=[call("f")]) for _ in range(300)], "done"])).run(
        Agent(functions=[f]), "go", limits=Limits(repeats=None)
    )
    assert [made.id for made in response.calls] == ["f", *[f"f_{number}" for number in range(2, 301)]]


def test_only_the_part_with_the_flaw_is_made_anew() -> None:
    messages = [*conversation(3), USER, asks(call("late")), USER, answer("late", "here")]
    result = repaired(messages, allow_open_tail=False)
    assert all(mine is theirs for mine, theirs in zip(result[:14], messages[:14], strict=True))
    assert [message["content"] for message in result[13:]] == [None, "here", "Hi"]


def test_an_id_used_in_the_sound_part_is_not_used_again() -> None:
    """D52"""
    result = repaired(
        [*conversation(1, "a"), USER, asks(call("a"), call("a_2")), answer("a_2", "2"), answer("a", "1")], allow_open_tail=False
    )
    assert [entry["id"] for entry in result[5]["tool_calls"]] == ["a_2", "a_2_2"]
    assert [message["content"] for message in result[6:]] == ["1", "2"]


def test_the_older_form_of_a_call_keeps_its_text() -> None:
    older = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a": 1'}}
    assert repaired([older], allow_open_tail=False)[0] is older
    made = repaired([{**older, "function_call": {"name": "f.g", "arguments": {"a": 1}}}], allow_open_tail=False)[0]
    assert made["function_call"] == {"name": "f_g", "arguments": '{"a":1}'}
