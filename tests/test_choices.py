"""Members of enumerations and literals: a model sends their values, a function gets them."""

from __future__ import annotations

import datetime
import enum
import json
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from swarm.arguments import arguments_of
from swarm.errors import ToolArgumentsError


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Season(enum.Enum):
    SPRING = datetime.date(2026, 3, 20)
    AUTUMN = datetime.date(2026, 9, 22)


class Place(enum.Enum):
    TOP = (0, 1)
    END = (9, 9)


class Loud(enum.Enum):
    YES = 1
    NO = 2

    @classmethod
    def _missing_(cls, value: object) -> Loud | None:
        return cls.YES if value == "yes" else None


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


class Mood(enum.StrEnum):
    CALM = "calm"
    ONE = "1"


class Paint(BaseModel):
    kind: Literal[Mood.CALM]
    color: Literal[Color.RED] = Color.RED


class Wash(BaseModel):
    kind: Literal[Mood.ONE]


def value_for(annotation: Any, sent: Any) -> Any:
    def fn(value: Any) -> None: ...

    fn.__annotations__["value"] = annotation
    return arguments_of(fn).values(json.dumps({"value": sent}), "fn")["value"]


@pytest.mark.parametrize(
    ("annotation", "sent", "expected"),
    [
        (Color, "RED", Color.RED),
        (Color, 2.0, Color.BLUE),
        (Loud, "yes", Loud.YES),
        (Loud, "NO", Loud.NO),
        (Rights, 3, Rights.READ | Rights.WRITE),
        (Season, "2026-03-20", Season.SPRING),
        (Place, [9, 9], Place.END),
        (Literal[Color.RED, Color.BLUE], 2, Color.BLUE),
        (Literal[Color.RED, Color.BLUE], "2", Color.BLUE),
        (Literal[Mood.CALM, "x"], "calm", Mood.CALM),
        (Literal[Mood.CALM, "x"], "x", "x"),
        (Literal[Level.LOW, 2], 1, Level.LOW),
        (Literal[b"raw"], "raw", b"raw"),
        (Literal[Color.RED] | None, 1, Color.RED),
        (list[Literal[Season.AUTUMN]], ["2026-09-22"], [Season.AUTUMN]),
        (dict[Color, int], {"1": 5, "BLUE": 6}, {Color.RED: 5, Color.BLUE: 6}),
        (dict[Level, int], {"2": 5}, {Level.HIGH: 5}),
        (dict[Literal[1, 2], int], {"2": 5}, {2: 5}),
        (dict[Mood, int], {"calm": 5}, {Mood.CALM: 5}),
        (Annotated[Paint | Wash, Field(discriminator="kind")], {"kind": "calm", "color": 1}, Paint(kind=Mood.CALM)),
    ],
)
def test_a_choice_is_made_by_value(annotation: Any, sent: Any, expected: Any) -> None:
    """T23, K09: by name only where the values are mere numbers, by text where a number is meant."""
    value = value_for(annotation, sent)
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("annotation", "sent", "said"),
    [
        (Color, "red", 'value should be 1 or 2, got "red"'),
        (Color, True, "value should be 1 or 2, got true"),
        (Level, "LOW", 'value should be 1 or 2, got "LOW"'),
        (Season, "SPRING", "value should be '2026-03-20' or '2026-09-22', got \"SPRING\""),
        (Place, [1], "value should be [0, 1] or [9, 9], got [1]"),
        (Literal[Mood.CALM, Color.BLUE], "CALM", "value should be 'calm' or 2, got \"CALM\""),
        (Literal[1, 2], True, "value should be 1 or 2, got true"),
        (dict[Color, int], {"3": 1}, 'value.3 should be 1 or 2, got "3"'),
        (Annotated[Paint | Wash, Field(discriminator="kind")], {"kind": "cow"}, "value: input tag 'cow' found using 'kind' does not match"),
    ],
)
def test_a_wrong_choice_is_told_the_values(annotation: Any, sent: Any, said: str) -> None:
    """T21, T23"""
    with pytest.raises(ToolArgumentsError) as caught:
        value_for(annotation, sent)
    assert said in str(caught.value)


def test_a_wrong_key_is_not_taken_for_its_value() -> None:
    with pytest.raises(ToolArgumentsError, match="should be 'a' or 'b', got \"1\"") as caught:
        value_for(dict[Literal["a", "b"], dict[str, int]], {"1": {"x": 1}})
    assert "object" not in str(caught.value)
