"""Arguments found in what was said: shares on the sets under tests/data/offline, and one case for each kind of value."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.offline_eval import load, wrong_arguments
from swarm.models.offline.answers import answer_to, yes_or_no
from swarm.models.offline.arguments import fill
from swarm.models.offline.functions import Function
from swarm.models.offline.slots import slots_of
from tests.models.offline_stage import TEXT, function

INT, NUMBER, BOOL = {"type": "integer"}, {"type": "number"}, {"type": "boolean"}


@pytest.mark.parametrize(
    ("name", "least"), [("arguments_dev", 0.95), ("arguments_own", 0.95), ("arguments_heldout", 0.9), ("arguments_last", 0.9)]
)
def test_it_fills_the_right_arguments(name: str, least: float) -> None:
    data = load(name)
    assert 1 - len(wrong_arguments(data)) / len(data["cases"]) >= least


def found(text: str, name: str = "do_it", *required: str, **properties: Any) -> dict[str, Any]:
    return fill(Function(function(name, "", required, **properties)), text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("order 7", 7),
        ("take seven", 7),
        ("a dozen", 12),
        ("two hundred and fifty", 250),
        ("1,250 of them", 1250),
        ("minus 3", -3),
        ("forty-two", 42),
        ("some", None),
        ("2.5", None),
        ("item_7", None),
        ("at 7pm", None),
    ],
)
def test_whole_numbers(text: str, value: int | None) -> None:
    assert found(text, "take", "count", count=INT).get("count") == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("turn it on", True), ("switch it off", False), ("enable it", True), ("please don't", False), ("the thing", None)],
)
def test_switches(text: str, value: bool | None) -> None:
    assert found(text, "toggle", "enabled", enabled=BOOL).get("enabled") is value


def test_a_boolean_with_a_meaning_must_be_named() -> None:
    assert found("book it with breakfast", "book", breakfast=BOOL) == {"breakfast": True}
    assert found("book it without breakfast", "book", breakfast=BOOL) == {"breakfast": False}
    assert found("turn it on", "book", breakfast=BOOL) == {}


@pytest.mark.parametrize(
    "text",
    [
        "2025-03-04",
        "4 March",
        "March 4th",
        "the 4th of March",
        "tomorrow",
        "next Friday",
        "Sunday",
        "in two days",
        "tomorrow morning",
        "04.03.2025",
    ],
)
def test_dates_are_passed_on_as_they_are_said(text: str) -> None:
    assert found(f"move it to {text} please", "move", "date", date=TEXT) == {"date": text}


def test_two_of_a_kind_are_told_apart() -> None:
    places = {"origin": TEXT, "destination": TEXT}
    expected = {"origin": "New York", "destination": "Rio de Janeiro"}
    assert found("from New York to Rio de Janeiro", "fly", "origin", "destination", **places) == expected
    assert found("to Rio de Janeiro from New York", "fly", "origin", "destination", **places) == expected
    ids = {"user_id": INT, "item_id": TEXT}
    assert found("user 12 returns item 99", "refund", "item_id", **ids) == {"user_id": 12, "item_id": "99"}
    assert found("item 99, I am user 12", "refund", "item_id", **ids) == {"user_id": 12, "item_id": "99"}


def test_an_optional_id_is_not_guessed() -> None:
    assert found("refund item 99", "refund", user_id=INT) == {}
    assert found("order 12 was late", "refund", "item_id", item_id=TEXT) == {}


def test_nothing_is_made_up() -> None:
    every = {
        "email": TEXT,
        "phone": TEXT,
        "date": TEXT,
        "city": TEXT,
        "count": INT,
        "on": BOOL,
        "kind": {"enum": ["a1", "b1"]},
        "reason": TEXT,
    }
    assert found("please help me", "help", **every) == {}


def test_schemas_of_unions_and_lists() -> None:
    union = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert found("take 3", "take", "count", count=union) == {"count": 3}
    assert found("take 3", "take", "count", count={"type": ["null", "integer"]}) == {"count": 3}
    tags = {"type": "array", "items": TEXT}
    assert found("tag it with red, green and blue", "tag", "tags", tags=tags) == {"tags": ["red", "green", "blue"]}
    assert found("add 3 and 4", "add", "numbers", numbers={"type": "array", "items": INT}) == {"numbers": [3, 4]}


def test_limits_of_the_schema_are_kept() -> None:
    stars = {"type": "integer", "minimum": 1, "maximum": 5}
    assert found("4 stars", "rate", "stars", stars=stars) == {"stars": 4}
    assert found("9 stars", "rate", "stars", stars=stars) == {}


def test_a_pattern_of_the_schema_tells_a_value() -> None:
    four = {"type": "string", "pattern": r"^\d{4}$"}
    assert found("my card ending in 4821 was stolen", "block_card", "last_four", last_four=four) == {"last_four": "4821"}
    assert found("card 48210 was stolen (the blue one).", "block_card", "last_four", last_four=four) == {}
    wagon = {"type": "string", "pattern": "^[A-Z]{2}[0-9]+$"}
    assert found('move "AB12", please, not ab13', "move", "wagon", wagon=wagon) == {"wagon": "AB12"}
    word = {"type": "string", "pattern": "^[a-z]+$"}
    assert found("he lives in Lima", "find", "city", city={**word, "pattern": "^[A-Z][a-z]+$"}) == {"city": "Lima"}
    broken = {"type": "string", "pattern": r"^[\d"}
    assert found("go to Lima", "find", "city", city=broken) == {"city": "Lima"}


def test_an_option_that_is_set_aside_is_not_chosen() -> None:
    language = {"type": "string", "enum": ["english", "german"]}
    assert found("not english but german", "set_language", "language", language=language) == {"language": "german"}
    assert found("german instead of english", "set_language", "language", language=language) == {"language": "german"}


def test_free_text_is_what_the_others_leave() -> None:
    mail = {"recipient": TEXT, "subject": TEXT, "body": TEXT}
    assert found("email jo@x.org with subject Rain saying we stay inside", "send_email", "recipient", "body", **mail) == {
        "recipient": "jo@x.org",
        "subject": "Rain",
        "body": "we stay inside",
    }
    assert found("refund item_3 because it is torn", "refund", "item_id", item_id=TEXT, reason=TEXT) == {
        "item_id": "item_3",
        "reason": "it is torn",
    }


@pytest.mark.parametrize(
    ("about", "text", "value"),
    [
        ({"item_id": TEXT}, "it's item_42", "item_42"),
        ({"item_id": TEXT}, "XYZ", "XYZ"),
        ({"item_id": TEXT}, "I don't know it", None),
        ({"email": TEXT}, "my mail is a@b.org", "a@b.org"),
        ({"email": TEXT}, "later", None),
        ({"count": INT}, "three please", 3),
        ({"date": TEXT}, "on Friday", "Friday"),
        ({"city": TEXT}, "paris", "paris"),
        ({"name": TEXT}, "it's Ann Lee", "Ann Lee"),
        ({"confirmed": BOOL}, "yes", True),
        ({"body": TEXT}, "we meet at 7, bring cake", "we meet at 7, bring cake"),
        ({"method": {"type": "string", "enum": ["phone", "email"]}}, "by phone", "phone"),
        ({"method": {"type": "string", "enum": ["phone", "email"]}}, "pigeon", None),
    ],
)
def test_short_answers(about: dict[str, Any], text: str, value: Any) -> None:
    asked = Function(function("do_it", "", tuple(about), **about))
    (slot,) = slots_of(asked.properties, asked.required)
    assert answer_to(asked, slot, text) == value


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("yes", True),
        ("Yes, please do", True),
        ("ok go ahead", True),
        ("no", False),
        ("never mind", False),
        ("yes, but not today", None),
        ("flight 12", None),
        ("nobody knows", None),
    ],
)
def test_yes_and_no(text: str, meaning: bool | None) -> None:
    assert yes_or_no(text) is meaning
