"""A model's JSON as Python values: exact types, near misses, and errors that say what to do."""

from __future__ import annotations

import datetime
import decimal
import enum
import functools
import json
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import AfterValidator, AnyWebsocketUrl, BaseModel, ConfigDict, Field
from pydantic import Json as JsonText
from pydantic_core import to_json

from swarm.arguments import arguments_of, read_object
from swarm.errors import ToolArgumentsError


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Mood(enum.StrEnum):
    CALM = "calm"
    ONE = "1"


class Add(BaseModel):
    x: int
    note: str = "n"


@dataclass
class Point:
    x: int
    tags: list[str] = field(default_factory=list)


class Filters(TypedDict):
    city: str
    stars: NotRequired[int]


class Node(BaseModel):
    value: int
    children: list[Node] = []


class Deep(BaseModel):
    x: Annotated[float, Field(allow_inf_nan=True)] = 0.0


class Exact(BaseModel):
    model_config = ConfigDict(strict=True)
    day: datetime.date


def values(fn: Callable[..., Any], raw: Any) -> dict[str, Any]:
    return arguments_of(fn).values(raw, "fn")


def value_for(annotation: Any, sent: Any) -> Any:
    def fn(value: Any) -> None: ...

    fn.__annotations__["value"] = annotation
    return values(fn, json.dumps({"value": sent}))["value"]


def complaint(fn: Callable[..., Any], raw: Any) -> str:
    with pytest.raises(ToolArgumentsError) as caught:
        values(fn, raw)
    return str(caught.value)


def reject(value: str) -> str:
    if value == "value":
        raise ValueError("no such city")
    if value == "key":
        raise KeyError("city")
    if value == "key phrase":
        raise ValueError("No keys here")
    return value.title()


def nothing() -> None: ...
def city(city: str) -> None: ...
def both(reason: str, count: int = 1) -> None: ...
def rest(**kwargs: Any) -> None: ...


# What arrives


@pytest.mark.parametrize("raw", ["", "   ", None, "null", "{}", {}, '""', '"{}"'])
def test_no_arguments(raw: Any) -> None:
    """T02, T03, T04, K12"""
    assert values(nothing, raw) == {}


@pytest.mark.parametrize("raw", ['{"city": "Rome"}', {"city": "Rome"}, '"{\\"city\\": \\"Rome\\"}"', ' {"city":"Rome"}\n'])
def test_text_objects_and_text_in_text(raw: Any) -> None:
    """T06"""
    assert values(city, raw) == {"city": "Rome"}


def test_an_object_that_was_sent_is_not_changed() -> None:
    """T06"""

    def f(d: dict[str, Any]) -> None: ...

    raw = {"d": '{"k": 1}', "context_variables": {}}
    assert values(f, raw) == {"d": {"k": 1}}
    assert raw == {"d": '{"k": 1}', "context_variables": {}}


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ('{"city": 1', "EOF while parsing an object at line 1 column 10"),
        ('{"city": 1}}', "trailing characters at line 1 column 12"),
        ("{'city': 1}", "key must be a string at line 1 column 2"),
        ("[" * 5_000, "recursion limit exceeded"),
        ('{"city": "\\ud800"}', "line 1"),
        ("\ud800", "JSON"),
        ({"city": "\ud800"}, "JSON"),
    ],
)
def test_broken_json_says_where(raw: Any, said: str) -> None:
    """T01, K11"""
    text = complaint(city, raw)
    assert text.startswith("The arguments of fn are not valid JSON")
    assert said in text
    assert text.endswith("Send one complete JSON object.")


LOOP: list[Any] = []
LOOP.append(LOOP)


@pytest.mark.parametrize("raw", ["[1]", "3", '"x"', "true", [1], 3, ["\ud83d"], LOOP, (1,)])
def test_json_that_is_no_object(raw: Any) -> None:
    """K11"""
    assert complaint(city, raw).startswith("The arguments of fn must be a JSON object like {}, got ")


def test_numbers_that_are_none() -> None:
    """T01: RFC 8259, section 6."""

    def f(x: float, more: Any = None, deep: Deep | None = None) -> None: ...

    for text in ("NaN", "Infinity", "-Infinity"):
        for sent in (f'{{"x": {text}}}', f'{{"x": 1, "more": {{"a": [{text}]}}}}', {"x": float(text)}, json.dumps(f'{{"x": {text}}}')):
            said = complaint(f, sent)
            assert "JSON has no NaN and no Infinity" in said or said.startswith("The arguments of fn must be a JSON object")
        for sent in (f'"{text}"', "1e999"):
            assert "x should be a finite number, got" in complaint(f, f'{{"x": {sent}}}')
            assert "deep.x should be a finite number, got" in complaint(f, f'{{"x": 1, "deep": {{"x": {sent}}}}}')
    assert values(f, '{"x": 1, "more": "NaN, -Infinity"}') == {"x": 1.0, "more": "NaN, -Infinity"}


# Values have the annotated types


@pytest.mark.parametrize(
    ("annotation", "sent", "expected"),
    [
        (int, "42", 42),
        (int, 3.0, 3),
        (int, "-7", -7),
        (float, "3.5", 3.5),
        (float, 3, 3.0),
        (int | bool, True, True),
        (bool, 1, True),
        (bool, "true", True),
        (bool, "false", False),
        (bool, "False", False),
        (str, 42, "42"),
        (str, 4.5, "4.5"),
        (Optional[int], "42", 42),  # noqa: UP045
        (Optional[int], None, None),  # noqa: UP045
        (dict, '{"k": 1}', {"k": 1}),
        (list, "[1, 2]", [1, 2]),
        (list[int], '["1", 2]', [1, 2]),
        (list[str], [1, "a"], ["1", "a"]),
        (dict[str, Any] | None, '{"k": 1}', {"k": 1}),
        (int | list[int], "[1]", [1]),
        (str | int, "42", "42"),
        (str | dict[str, Any], '{"k": 1}', '{"k": 1}'),
        (dict[int, str], {"1": "a"}, {1: "a"}),
        (Iterable[int], ["1"], [1]),
        (Sequence[Add], [{"x": 1}], [Add(x=1)]),
        (set[int], [1, 1], {1}),
        (frozenset[int], "[1]", frozenset({1})),
        (tuple[int, str], [1, "a"], (1, "a")),
        (Color, 1, Color.RED),
        (Color, "2", Color.BLUE),
        (Color | None, 2, Color.BLUE),
        (Mood, "calm", Mood.CALM),
        (Mood, 1, Mood.ONE),
        (list[Color], [1, 2], [Color.RED, Color.BLUE]),
        (Literal["a", 1], 1, 1),
        (Literal[1, 2], "2", 2),
        (Literal["1", "2"], 2, "2"),
        (datetime.date, "2026-11-30", datetime.date(2026, 11, 30)),
        (decimal.Decimal, 0.1, decimal.Decimal("0.1")),
        (Add, {"x": 1}, Add(x=1)),
        (Add, {"x": "1", "note": 5}, Add(x=1, note="5")),
        (Add, '{"x": 1}', Add(x=1)),
        (list[Add], [{"x": 1}], [Add(x=1)]),
        (list[Add], '["{\\"x\\": 1}"]', [Add(x=1)]),
        (Add | None, {"x": 1}, Add(x=1)),
        (Add | Point, {"x": 1, "tags": ["a"]}, Point(1, ["a"])),
        (Point, {"x": 1, "tags": '["a"]'}, Point(1, ["a"])),
        (Point | None, None, None),
        (Filters, {"city": "Rome"}, {"city": "Rome"}),
        (list[Filters], [{"city": 5, "stars": "3"}], [{"city": "5", "stars": 3}]),
        (Node, {"value": 1, "children": [{"value": 2}]}, Node(value=1, children=[Node(value=2)])),
        (dict[str, Node], {"a": {"value": 1}}, {"a": Node(value=1)}),
        (Exact, {"day": "2026-11-30"}, Exact(day=datetime.date(2026, 11, 30))),
        (Any, {"k": None}, {"k": None}),
    ],
)
def test_values_arrive_as_the_annotated_type(annotation: Any, sent: Any, expected: Any) -> None:
    """T21, T22, T23, K09, D22"""
    value = value_for(annotation, sent)
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("annotation", "sent", "said"),
    [
        (int, "3.14", 'value should be a valid integer, unable to parse string as an integer, got "3.14"'),
        (int, 3.14, "value should be a valid integer, got a number with a fractional part, got 3.14"),
        (int, "abc", 'value should be a valid integer, unable to parse string as an integer, got "abc"'),
        (int, None, "value should be a valid integer, got null"),
        (int, True, "value should be a valid integer, got true"),
        (float, False, "value should be a valid number, got false"),
        (int | None, True, "value should be a valid integer, got true"),
        (list[int], [1, False], "value[1] should be a valid integer, got false"),
        (list[int], "[1, false]", "value[1] should be a valid integer, got false"),
        (Add, {"x": True}, "value.x should be a valid integer, got true"),
        (bool, "maybe", "value should be a valid boolean"),
        (bool, 2, "value should be a valid boolean"),
        (str, True, "value should be a valid string, got true"),
        (str, {"a": 1}, 'value should be a valid string, got {"a":1}'),
        (dict, "[1]", "value should be an object, got [1]"),
        (dict, "abc", 'value should be an object, got "abc"'),
        (int | list[int], "x", "value should be a valid integer, unable to parse string as an integer or should be a valid array"),
        (Color, 3, "value should be 1 or 2, got 3"),
        (Annotated[str, Field(min_length=2)], "s", 'value: string should have at least 2 characters, got "s"'),
        (Annotated[list[int], Field(min_length=1)], [], "value: list should have at least 1 item"),
        (Annotated[str, AfterValidator(reject)], "key phrase", "value: No keys here, got"),
        (AnyWebsocketUrl, "ftp://a", "value: URL scheme should be 'ws' or 'wss', got"),
        (JsonText, "{", "value: invalid JSON: EOF"),
        (Literal["a", "b"], "c", "value should be 'a' or 'b', got \"c\""),
        (Add, {"x": "q"}, "value.x should be a valid integer"),
        (Add, {}, "missing: value.x."),
        (list[Add], [{"x": 1}, {"note": "a"}], "missing: value[1].x."),
        (list[int], [1, None], "value[1] should be a valid integer, got null"),
        (Annotated[int, Field(gt=0)], -1, "value should be greater than 0, got -1"),
    ],
)
def test_what_does_not_fit_exactly_is_an_error(annotation: Any, sent: Any, said: str) -> None:
    """T21, T22, D22"""
    with pytest.raises(ToolArgumentsError) as caught:
        value_for(annotation, sent)
    assert said in str(caught.value)
    assert "http" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_long_value_is_shown_in_part() -> None:
    assert len(complaint(lambda n=0: None, "[" + "1," * 500 + "1]")) < 250


# Names


def test_unknown_names_list_the_accepted_ones() -> None:
    """T08"""
    text = complaint(both, {"reason": "x", "id": 7})
    assert text == "Wrong arguments for fn: unknown: id. It accepts: reason (required), count. Correct them and call it again."


@pytest.mark.parametrize(("sent", "shown"), [("", '""'), ("a b", '"a b"'), ("a.b", '"a.b"'), ("x-y", "x-y"), ("größe", "größe")])
def test_odd_names_can_be_told_from_the_text(sent: str, shown: str) -> None:
    """T08"""
    assert f"unknown: {shown}. It accepts" in complaint(city, {"city": "Rome", sent: 1})


def test_missing_names_are_named() -> None:
    """K11"""

    def f(a: int, b: int, c: int = 0) -> None: ...

    assert (
        complaint(f, {"a": 1})
        == "Wrong arguments for fn: missing: b. It accepts: a (required), b (required), c. Correct them and call it again."
    )


def test_everything_wrong_is_said_at_once() -> None:
    text = complaint(both, {"count": "x", "id": 7})
    assert "missing: reason; unknown: id; count should be a valid integer" in text


def test_a_function_without_parameters_takes_none() -> None:
    assert complaint(nothing, {"a": 1}) == "Wrong arguments for fn: unknown: a. It takes no arguments. Correct them and call it again."
    assert arguments_of(nothing).values({"a": 1}, "fn", loose=True) == {}


def test_loose_keeps_what_the_function_has() -> None:
    """H11"""
    assert arguments_of(both).values('{"reason": "x", "message": "hi"}', "fn", loose=True) == {"reason": "x"}


@pytest.mark.parametrize("raw", ['{"q": "x", "n": 1}', {"q": "x", "n": 1}])
def test_kwargs_get_every_name(raw: Any) -> None:
    """J04"""
    assert values(rest, raw) == {"q": "x", "n": 1}


def test_kwargs_of_one_type() -> None:
    """J04"""

    def f(a: str, **more: int) -> None: ...

    assert values(f, {"a": "x", "b": "2"}) == {"a": "x", "b": 2}
    assert "b should be a valid integer" in complaint(f, {"a": "x", "b": "y"})


@pytest.mark.parametrize("make", [json.dumps, dict])
def test_context_variables_from_a_model_are_ignored(make: Callable[[Any], Any]) -> None:
    """K10"""

    def f(city: str, context_variables: dict[str, Any]) -> None: ...

    sent = {"city": "Rome", "context_variables": {"user": "root"}}
    assert values(f, make(sent)) == {"city": "Rome"}
    assert values(city, make(sent)) == {"city": "Rome"}
    assert values(rest, make(sent)) == {"city": "Rome"}


def test_what_a_partial_has_bound_cannot_be_set() -> None:
    """J08"""

    def f(city: str, unit: str, **more: Any) -> None: ...

    bound = functools.partial(f, unit="C")
    assert values(bound, '{"city": "Rome", "unit": "F"}') == {"city": "Rome"}


# Null for "not given"


@pytest.mark.parametrize("raw", ['{"a": null, "b": null, "c": null, "d": null}', {"b": None}, "{}"])
def test_null_means_the_default(raw: Any) -> None:
    """J05"""

    def f(a: Optional[int] = None, b: str = "x", c: "int" = 3, d=4) -> tuple[Any, ...]:  # type: ignore[no-untyped-def]  # noqa: UP045, UP037
        return a, b, c, d

    assert f(**values(f, raw)) == (None, "x", 3, 4)


def test_null_inside_means_the_default_too() -> None:
    """J05: a strict schema lets a model leave nothing out."""
    assert value_for(Add, {"x": 1, "note": None}) == Add(x=1)
    assert value_for(list[Point], [{"x": 1, "tags": None}]) == [Point(1)]
    assert value_for(Filters, {"city": "Rome", "stars": None}) == {"city": "Rome"}


def test_null_for_a_required_parameter() -> None:
    def f(n: int, note) -> None: ...  # type: ignore[no-untyped-def]

    assert "n should be a valid integer, got null" in complaint(f, {"n": None, "note": None})
    assert values(f, {"n": 1, "note": None}) == {"n": 1, "note": None}


def test_defaults_given_by_a_field() -> None:
    def f(a: str = Field("C", description="unit"), b: list[int] = Field(default_factory=list)) -> tuple[Any, Any]:  # noqa: B008
        return a, b

    assert f(**values(f, "{}")) == ("C", [])
    assert f(**values(f, {"a": "F", "b": [1]})) == ("F", [1])


# A user's own validators


def test_validators_speak_for_themselves() -> None:
    """K11"""

    def f(city: Annotated[str, AfterValidator(reject)]) -> None: ...

    assert values(f, {"city": "rome"}) == {"city": "Rome"}
    assert 'city: no such city, got "value"' in complaint(f, {"city": "value"})
    assert "Wrong arguments for fn: could not be converted, KeyError: 'city'. It accepts: city (required)." in complaint(f, {"city": "key"})


# Properties

TYPES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (annotation, st.from_type(annotation))
    for annotation in (
        bool,
        datetime.date,
        datetime.datetime,
        uuid.UUID,
        Color,
        Mood,
        Literal["a", 1, None],
        list[int],
        dict[str, bool],
        Optional[Color],  # noqa: UP045
        int | str | None,
        Add,
        Point,
    )
]
TYPES += [
    (int, st.integers(-(10**18), 10**18)),
    (str, st.text()),
    (float, st.floats(allow_nan=False)),
    (list[str | int], st.lists(st.text() | st.integers(-(10**18), 10**18))),
    (dict[str, list[Add]], st.dictionaries(st.text(), st.lists(st.from_type(Add)))),
    (Filters, st.fixed_dictionaries({"city": st.text()}, optional={"stars": st.integers(0, 5)})),
    (tuple[int, Color], st.tuples(st.integers(0, 9), st.sampled_from(Color))),
    (Node, st.recursive(st.builds(Node, value=st.integers(0, 9)), lambda kids: st.builds(Node, value=st.just(1), children=st.lists(kids)))),
]


@given(st.lists(st.sampled_from(TYPES), max_size=4), st.data())
def test_any_value_of_an_annotated_type_arrives_as_it_was(kinds: list[tuple[Any, st.SearchStrategy[Any]]], data: st.DataObject) -> None:
    """T22, T23, K09"""
    names = [f"p{index}" for index in range(len(kinds))]
    namespace: dict[str, Any] = {}
    exec(f"def f({', '.join(names)}): ...", namespace)
    fn = namespace["f"]
    fn.__annotations__ = {name: annotation for name, (annotation, _) in zip(names, kinds, strict=True)}
    sent = {name: data.draw(strategy) for name, (_, strategy) in zip(names, kinds, strict=True)}
    got = values(fn, to_json(sent).decode())
    assert got == sent
    assert {name: type(value) for name, value in got.items()} == {name: type(value) for name, value in sent.items()}


def everything(
    a: int,
    b: str | None = None,
    c: list[Add] | None = None,
    d: dict[str, int] | Color = Color.RED,
    e: Literal["x", 1] = "x",
    f: tuple[int, ...] | set[str] | bool = False,
    g: Point | Filters | None = None,
    h=None,  # type: ignore[no-untyped-def]
    i: Annotated[str, AfterValidator(reject)] = "",
    **more: float,
) -> None: ...


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["[1]", "{}", "1", '{"x": 1}', "key", "value"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*"abcdefghix", "city", "tags"]), inner, max_size=4),
    max_leaves=8,
)
NAMED = st.dictionaries(st.sampled_from([*"abcdefghijk", "context_variables"]), JSON)


@given(st.one_of(st.text(), NAMED.map(json.dumps), NAMED, JSON.map(json.dumps), JSON))
@example('{"a": 1, "a": "\\ud800"}')
@example('{"a": 1e999}')
@example('{"a": ' + "1" * 5_000 + "}")
def test_whatever_a_model_sends_there_are_values_or_an_error_text(raw: Any) -> None:
    """K11, T01"""
    try:
        got = values(everything, raw)
    except ToolArgumentsError as error:
        assert str(error)
    else:
        everything(**got)
        assert isinstance(got["a"], int)


@given(st.text())
def test_any_text_is_an_object_or_an_error(raw: str) -> None:
    try:
        assert isinstance(read_object(raw, "fn"), dict)
    except ToolArgumentsError as error:
        assert "fn" in str(error)
