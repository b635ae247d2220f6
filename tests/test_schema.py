"""Types as JSON Schema, what can be made strict, and what docstrings say."""

from __future__ import annotations

import contextlib
import datetime
import enum
import json
import pathlib
import typing
import uuid
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, RootModel, WithJsonSchema, create_model
from pydantic import Json as JsonText

from swarm.arguments import Arguments
from swarm.errors import SchemaWarning
from swarm.schema import NotStrict, Schema, strictly
from swarm.signature import Signature


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Item(BaseModel):
    sku: str
    amount: int = 1


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


class Shades(RootModel[dict[Color, Item]]): ...


class Texts(BaseModel):
    item: JsonText[Item]
    by_color: dict[Color, Item] = {}


@dataclass
class Branch:
    branches: dict[Color, list[Branch]] = field(default_factory=dict)
    item: Item | None = None


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Weird:
    def __init__(self, a: int) -> None: ...


T = TypeVar("T")
ITEM = {
    "type": "object",
    "properties": {"sku": {"type": "string"}, "amount": {"type": "integer"}},
    "required": ["sku"],
}
POINT = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["x"],
}
FILTERS = {"type": "object", "properties": {"city": {"type": "string"}, "stars": {"type": "integer"}}, "required": ["city"]}
KIND = {"cat": {"kind": {"type": "string", "const": "cat"}}, "dog": {"kind": {"type": "string", "const": "dog"}}}
CAT_OR_DOG = {"anyOf": [{"type": "object", "properties": KIND[kind], "required": ["kind"]} for kind in ("cat", "dog")]}


def schema_of(fn: Callable[..., Any]) -> dict[str, Any]:
    return Schema(Signature(fn), "fn").parameters()


def schema_for(annotation: Any) -> dict[str, Any]:
    def fn(value: Any) -> None: ...

    fn.__annotations__["value"] = annotation
    return schema_of(fn)["properties"]["value"]


def null_or(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (dict, {"type": "object"}),
        (list, {"type": "array", "items": {}}),
        (typing.Dict, {"type": "object"}),  # noqa: UP006
        (typing.List, {"type": "array", "items": {}}),  # noqa: UP006
        (Any, {}),
        (object, {}),
        (T, {}),
        (Optional[int], null_or({"type": "integer"})),  # noqa: UP045
        (int | None, null_or({"type": "integer"})),
        ("int | None", null_or({"type": "integer"})),
        (None | list[int], null_or({"type": "array", "items": {"type": "integer"}})),
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (list[list[int] | None], {"type": "array", "items": null_or({"type": "array", "items": {"type": "integer"}})}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (dict[str, Any], {"type": "object"}),
        (set[int], {"type": "array", "uniqueItems": True, "items": {"type": "integer"}}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Color, {"type": "string", "enum": ["red", "blue"]}),
        (Level, {"type": "integer", "enum": [1, 2]}),
        (Color | None, null_or({"type": "string", "enum": ["red", "blue"]})),
        (datetime.date, {"type": "string", "format": "date"}),
        (uuid.UUID, {"type": "string", "format": "uuid"}),
        (Item, ITEM),
        (list[Item], {"type": "array", "items": ITEM}),
        (Item | None, null_or(ITEM)),
        (Point, POINT),
        (Filters, FILTERS),
        (list[Filters], {"type": "array", "items": FILTERS}),
        (dict[str, Filters | None], {"type": "object", "additionalProperties": null_or(FILTERS)}),
        (Annotated[Cat | Dog, Field(discriminator="kind")], CAT_OR_DOG),
        (Annotated[int, Field(ge=1, le=5)], {"type": "integer", "minimum": 1, "maximum": 5}),
        (Annotated[str, "a note", Field(pattern="^a")], {"type": "string", "pattern": "^a", "description": "a note"}),
    ],
)
def test_a_type_as_schema(annotation: Any, expected: dict[str, Any]) -> None:
    """K20, K21, D22, J05, T22, T23: no titles, no defaults, nothing referred to."""
    assert schema_for(annotation) == expected


def test_without_a_hint_a_parameter_is_a_string() -> None:
    """K20"""

    def f(city, unit="C"): ...  # type: ignore[no-untyped-def]

    assert schema_of(f) == {"type": "object", "properties": {"city": {"type": "string"}, "unit": {"type": "string"}}, "required": ["city"]}


def test_without_parameters_there_is_still_an_object() -> None:
    """J11"""

    def f() -> str: ...  # type: ignore[empty-body]

    assert schema_of(f) == {"type": "object", "properties": {}, "required": []}


def test_defaults_make_optional_and_are_not_shown() -> None:
    """J05, K20"""

    def f(a: Optional[int] = None, b: str = "x", c: "int" = 3, *, d: int) -> None: ...  # noqa: UP045, UP037

    schema = schema_of(f)
    assert schema["required"] == ["d"]
    assert schema["properties"]["a"] == null_or({"type": "integer"})
    assert "default" not in json.dumps(schema)


def test_a_tuple_also_says_what_its_items_may_be() -> None:
    schema = schema_for(tuple[int, str])
    assert schema["items"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert (schema["minItems"], schema["maxItems"]) == (2, 2)


def test_a_recursive_type_keeps_its_definition() -> None:
    def f(node: Node, other: Node | None = None, item: Item | None = None) -> None: ...

    schema = schema_of(f)
    reference = {"$ref": "#/$defs/Node"}
    assert schema["properties"] == {"node": reference, "other": null_or(reference), "item": null_or(ITEM)}
    assert list(schema["$defs"]) == ["Node"]
    assert schema["$defs"]["Node"]["properties"]["children"] == {"type": "array", "items": reference}


def keys_of(*names: str, **rest: Any) -> dict[str, Any]:
    return {"type": "object", "propertyNames": {"type": "string", "enum": list(names)}, **rest}


COLORS = keys_of("red", "blue", additionalProperties={"type": "integer"})


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (dict[Color, int], COLORS),
        (Mapping[Color, int], COLORS),
        (OrderedDict[Color, int], COLORS),
        (Counter[Color], COLORS),
        (dict[Level, int], keys_of("1", "2", additionalProperties={"type": "integer"})),
        (dict[Literal["a"], int], keys_of("a", additionalProperties={"type": "integer"})),
        (Shades, keys_of("red", "blue", additionalProperties=ITEM)),
        (JsonText[Item], {"type": "string", "contentMediaType": "application/json", "contentSchema": ITEM}),
        (Annotated[int, WithJsonSchema({"$ref": "https://example.com/a.json"})], {}),
    ],
)
def test_nothing_is_referred_to_wherever_a_schema_stands(annotation: Any, expected: dict[str, Any]) -> None:
    """K20, J05"""
    assert schema_for(annotation) == expected


def test_a_schema_written_by_hand_is_followed_too() -> None:
    def f(a: Annotated[Any, WithJsonSchema({"not": {"title": "A", "type": "null"}, "if": {"contains": {"default": 1}}})]) -> None: ...

    assert schema_of(f)["properties"]["a"] == {"not": {"type": "null"}, "if": {"contains": {}}}


KEYS = [str, int, Color, Level, Literal["a", "b"], Annotated[str, Field(pattern="^a")]]
LEAVES = [str, int, Any, Color, Level, Item, Point, Node, Branch, Shades, Texts, JsonText[Item], Literal[Color.RED], Cat]
TYPES = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(
        st.builds(lambda key, kind: dict[key, kind], st.sampled_from(KEYS), inner),
        st.builds(lambda kind, make: make[kind], inner, st.sampled_from([list, set, Optional, JsonText, typing.Sequence])),
        st.builds(lambda one, other: tuple[one, other], inner, inner),
        st.builds(lambda one, other: one | other, inner, inner),
        st.builds(lambda one, other: create_model("Made", one=(one, ...), other=(other | None, None)), inner, inner),
    ),
    max_leaves=4,
)


def unresolved(node: Any, names: Any) -> list[str]:
    if isinstance(node, list):
        return [name for part in node for name in unresolved(part, names)]
    if not isinstance(node, dict):
        return []
    here = [node["$ref"]] if isinstance(node.get("$ref"), str) and node["$ref"].removeprefix("#/$defs/") not in names else []
    return here + [name for part in node.values() for name in unresolved(part, names)]


@given(st.lists(TYPES, min_size=1, max_size=2))
def test_every_reference_leads_somewhere(kinds: list[Any]) -> None:
    """K20, J05, J07"""

    def f(a: Any, b: Any = None) -> None: ...

    f.__annotations__ = dict(zip("ab", kinds, strict=False))
    schema = schema_of(f)
    assert unresolved(schema, schema.get("$defs", ())) == []
    with contextlib.suppress(NotStrict):
        strict = strictly(schema)
        assert unresolved(strict, strict.get("$defs", ())) == []


def test_two_types_of_one_name_are_told_apart() -> None:
    def other() -> type[Any]:
        class Item(BaseModel):
            title: str

        return Item

    def f(a: Any, b: Any) -> None: ...

    f.__annotations__ = {"a": Item, "b": other()}
    properties = schema_of(f)["properties"]
    assert properties["a"] == ITEM
    assert list(properties["b"]["properties"]) == ["title"]


def test_properties_may_have_any_name() -> None:
    """A field called `title` or `default` is a field."""

    class Book(BaseModel):
        title: str
        default: int

    assert list(schema_for(Book)["properties"]) == ["title", "default"]


def test_classes_of_a_running_function_may_refer_to_each_other() -> None:
    """J02"""

    @dataclass
    class Inner:
        x: int

    @dataclass
    class Outer:
        inner: Inner
        more: list[Inner] | None = None

    def f(outer: Outer, plain: int) -> None: ...

    properties = schema_of(f)["properties"]
    assert properties["outer"]["properties"]["inner"]["properties"] == {"x": {"type": "integer"}}
    assert properties["plain"] == {"type": "integer"}


@pytest.mark.parametrize(
    ("annotation", "expected", "named"),
    [
        (Weird, {"type": "string"}, "Weird"),
        ("Missing", {"type": "string"}, "Missing"),
        (list["Missing"], {"type": "array", "items": {"type": "string"}}, "Missing"),  # type: ignore[name-defined]  # noqa: F821
        (list[Weird], {"type": "array", "items": {"type": "string"}}, "Weird"),
        (Weird | None, null_or({"type": "string"}), "Weird"),
        (dict[str, list[Weird]], {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}}, "Weird"),
        (Annotated[Weird, Field(description="odd")], {"type": "string", "description": "odd"}, "Weird"),
        (Callable[[int], str], {"type": "string"}, "Callable"),
        (Iterator[int], {"type": "string"}, "Iterator"),
        (5, {"type": "string"}, "5"),
    ],
)
def test_a_type_that_cannot_be_said_is_a_string_with_a_warning(annotation: Any, expected: dict[str, Any], named: str) -> None:
    """K20, D22, J02"""

    def send_it(first: int, value: Any) -> None: ...

    send_it.__annotations__["value"] = annotation
    with pytest.warns(SchemaWarning, match=f"send_it: the parameter 'value' has the type .*{named}") as caught:
        schema = Schema(Signature(send_it), "send_it").parameters()
    assert len(caught) == 1
    assert schema["properties"] == {"first": {"type": "integer"}, "value": expected}


def test_the_warning_comes_once_for_a_function() -> None:
    def f(value: Weird) -> None: ...

    arguments = Arguments(f)
    with pytest.warns(SchemaWarning):
        first = arguments.schema("f")
    assert arguments.schema("f") is first
    assert arguments.values({"value": {"a": [1]}}, "f") == {"value": {"a": [1]}}


def test_each_schema_is_a_fresh_dict() -> None:
    def f(city: str) -> None: ...

    schema = Schema(Signature(f), "f")
    schema.parameters()["properties"]["city"]["description"] = "changed"
    assert schema.parameters()["properties"]["city"] == {"type": "string"}


def test_type_words() -> None:
    """K20"""

    def f(a: Item, b: int | None, c: Level, d: Node, e: Literal["x", 1], g: Any, h: dict[str, int], i: Filters) -> None: ...  # type: ignore[valid-type]

    words = Schema(Signature(f), "f").words()
    assert list(words.values()) == ["object", "integer", "integer", "object", "string", "string", "object", "object"]


# Strict


def test_strict_closes_every_object_on_a_copy() -> None:
    """J05, J07"""

    def f(item: Item, note: Annotated[str, "a note"] = "", flag: bool | None = None, points: list[Point] | None = None) -> None: ...

    plain = schema_of(f)
    before = json.dumps(plain)
    strict = strictly(plain)
    assert json.dumps(plain) == before
    assert strict["required"] == ["item", "note", "flag", "points"]
    assert strict["additionalProperties"] is False
    item = strict["properties"]["item"]
    assert (item["required"], item["additionalProperties"]) == (["sku", "amount"], False)
    assert item["properties"]["amount"] == null_or({"type": "integer"})
    assert strict["properties"]["flag"] == null_or({"type": "boolean"})
    assert strict["properties"]["note"] == null_or({"type": "string", "description": "a note"}) | {"description": "a note"}
    assert strict["properties"]["points"]["anyOf"][0]["items"]["additionalProperties"] is False


def test_strict_reaches_definitions() -> None:
    def f(node: Node) -> None: ...

    node = strictly(schema_of(f))["$defs"]["Node"]
    assert node["additionalProperties"] is False
    assert node["required"] == ["value", "children"]


def test_strict_leaves_out_what_strict_mode_refuses() -> None:
    def f(a: Annotated[str, Field(max_length=3)], b: set[int], c: pathlib.Path, d: datetime.date) -> None: ...

    properties = strictly(schema_of(f))["properties"]
    assert properties["a"] == {"type": "string"}
    assert properties["b"] == {"type": "array", "items": {"type": "integer"}}
    assert properties["c"] == {"type": "string"}
    assert properties["d"] == {"type": "string", "format": "date"}


@pytest.mark.parametrize(
    ("annotation", "why"),
    [
        (dict[str, Any], "value is an object with free keys"),
        (list[dict[str, Any]], r"value\[\] is an object with free keys"),
        (dict[str, int], "free keys"),
        (Any, "value may be anything"),
        (list, r"value\[\] may be anything"),
        (tuple[int, str], "type for each place"),
    ],
)
def test_what_cannot_be_strict(annotation: Any, why: str) -> None:
    """J06"""

    def f(value: Any) -> None: ...

    f.__annotations__["value"] = annotation
    with pytest.raises(NotStrict, match=why):
        strictly(schema_of(f))


def test_an_open_model_can_be_closed() -> None:
    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")
        x: int

    def f(value: Open) -> None: ...

    assert strictly(schema_of(f))["properties"]["value"]["additionalProperties"] is False


def test_an_annotation_goes_before_the_docstring() -> None:
    """J10"""

    def f(a: Annotated[str, "from the hint"], b: Annotated[int, Field(description="from the field")], c: str) -> None: ...

    properties = Schema(Signature(f), "f").parameters({"a": "doc", "b": "doc", "c": "doc"})["properties"]
    assert [node["description"] for node in properties.values()] == ["from the hint", "from the field", "doc"]
