"""Typed answers together with policies: what is tried again, kept, asked elsewhere or rewritten, is read into the type all the same."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from swarm import Agent
from swarm.errors import OutputError, ServerError
from swarm.events import PartialOutput
from swarm.models.profiles import Profile
from swarm.models.scripted import ScriptedModel, call
from swarm.policies import Block, Cache, Fallback, Guardrail, Retry
from tests.modes import Drive
from tests.policies.test_fallback import THERE, Served


class Order(BaseModel):
    item: str
    price: float


LAMP = '{"item": "lamp", "price": 49.9}'
ORDER = Order(item="lamp", price=49.9)


def shop(**options: Any) -> Agent:
    def look_up(item: str) -> str:
        return f"{item}: 49.90"

    return Agent(name="Shop", model="m", functions=[look_up], output_type=Order, **options)


def partials(events: list[Any]) -> list[Any]:
    return [event.value for event in events if isinstance(event, PartialOutput)]


@pytest.mark.parametrize("fails_at", [0, 1, 2])
def test_each_question_is_tried_again_by_itself(drive: Drive, fails_at: int) -> None:
    """O01: the one for a better answer too, which stays the same and without tools."""
    script: list[Any] = [call("look_up", {"item": "lamp"}), "It costs 49.90.", LAMP]
    script.insert(fails_at, ServerError("503: overloaded"))
    response = drive(shop(), "A lamp", script, swarm={"policies": [Retry(random=lambda: 0.0)]})
    assert response.output == ORDER
    assert [message["role"] for message in response.messages] == ["assistant", "tool", "assistant", "user", "assistant"]
    assert drive.requests[fails_at] == drive.requests[fails_at + 1]
    assert ["tools" in request for request in drive.requests] == [True] * (3 if fails_at < 2 else 2) + [False] * (1 if fails_at < 2 else 2)


def test_what_is_kept_is_read_anew_and_what_did_not_fit_is_asked_again_from_there(drive: Drive) -> None:
    """O01: a cache holds both answers, and the second run costs no call."""
    swarm = {"policies": [Cache()]}
    first = drive(shop(), "A lamp", ["49.90", LAMP], swarm=swarm)
    again = drive(shop(), "A lamp", [], swarm=swarm)
    assert first.output == again.output == ORDER
    assert again.usage.calls == 0
    assert [message["content"] for message in again.messages] == [message["content"] for message in first.messages]


@pytest.mark.parametrize("ways", [(None, "json_schema_with_tools"), ("json_schema_with_tools", None), ("json_object", "json_schema")])
def test_the_better_answer_may_come_from_another_provider(drive: Drive, ways: tuple[Any, Any]) -> None:
    """O01: asked in its own way, without tools."""
    first = Served(["49.90", ServerError("503: m")], "https://here.test/v1", Profile("here", response_format=ways[0]))
    other = Served([LAMP], THERE, Profile("there", response_format=ways[1]))
    events = drive.events(shop(), "A lamp", first, swarm={"policies": [Fallback(clients=[other])]})
    response: Any = events[-1]
    assert response.response.output == ORDER
    assert ("response_format" in other.requests[0]) == (ways[1] is not None)
    assert "tools" not in other.requests[0]
    if drive.streams:
        assert partials(events)[-1] == {"item": "lamp", "price": 49.9}


def test_the_text_that_a_guardrail_made_is_the_answer(drive: Drive) -> None:
    """O01"""
    rewrites = Guardrail(lambda text: text.replace("lamp", "rug"), "output")
    response = drive(shop(), "A lamp", [LAMP], swarm={"policies": [rewrites]})
    assert response.output == Order(item="rug", price=49.9)


def test_a_text_that_a_guardrail_broke_is_asked_for_once_more(drive: Drive) -> None:
    """O01"""
    rewrites = Guardrail(lambda text: "I cannot say." if "lamp" in text else None, "output")
    response = drive(shop(), "A lamp", [LAMP, '{"item": "rug", "price": 1}'], swarm={"policies": [rewrites]})
    assert response.output == Order(item="rug", price=1.0)
    with pytest.raises(OutputError, match="holds no JSON") as caught:
        drive(shop(), "A lamp", [LAMP, LAMP], swarm={"policies": [rewrites]})
    assert caught.value.response is not None
    assert [message["content"] for message in caught.value.response.messages][::2] == ["I cannot say."] * 2


def test_a_blocked_answer_is_no_failure_of_the_type(drive: Drive) -> None:
    """O01: what a guardrail says in its place is read, and asked about no more."""
    blocks = Guardrail(lambda text: Block("I cannot say that."), "output", name="quiet")
    response = drive(shop(), "A lamp", [LAMP], swarm={"policies": [blocks]})
    assert (response.stop_reason, response.output, response.text) == ("guardrail:quiet", None, "I cannot say that.")


def test_all_of_them_around_one_answer(drive: Drive) -> None:
    """O01, O02"""
    policies: list[Any] = [
        Guardrail(lambda text: text.replace("lamp", "rug"), "output"),
        Fallback(clients=[Served([LAMP], THERE, Profile("there", response_format="json_schema"))]),
        Cache(),
        Retry(tries=2, random=lambda: 0.0),
    ]
    model = ScriptedModel([call("look_up", {"item": "lamp"}), ServerError("503: m"), ServerError("503: m")])
    response = drive(shop(), "A lamp", model, swarm={"policies": policies})
    assert response.output == Order(item="rug", price=49.9)
    assert [made.outcome for made in response.calls] == ["ok"]
