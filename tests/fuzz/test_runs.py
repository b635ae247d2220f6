"""Whole runs against a client that says anything: a response with a valid history, or an error that carries one."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm import Agent, AsyncSwarm, Limits, Response, Swarm
from swarm.errors import ModelError, SwarmError
from swarm.events import Done
from tests.fuzz.material import FUZZ, chunks, completions, errors, garbage, outcome
from tests.look import is_valid

pytestmark = pytest.mark.check

ANSWERS = st.lists(completions | errors | garbage | st.just({"choices": [{"message": {"role": "assistant", "content": "ok"}}]}), max_size=3)
STREAMS = st.lists(st.lists(chunks | errors | garbage, max_size=5), max_size=3)


class Anything:
    """A client that gives one thing after another, and text at the end; sync or async, with or without streaming."""

    def __init__(self, whole: list[Any], streams: list[list[Any]], is_async: bool = False) -> None:
        self.whole = [*whole]
        self.streams = [*streams]
        self.chat = self.completions = self
        self.sent: list[Any] = []
        if is_async:
            self.create = self.acreate  # type: ignore[method-assign, assignment]

    def create(self, **request: Any) -> Any:
        self.sent.append(request["messages"])
        assert is_valid(request["messages"])
        if request.get("stream"):
            return iter(self.streams.pop(0) if self.streams else [{"choices": [{"delta": {"content": "ok"}, "finish_reason": "stop"}]}])
        return self.whole.pop(0) if self.whole else {"choices": [{"message": {"role": "assistant", "content": "ok"}}]}

    async def acreate(self, **request: Any) -> Any:
        answer = Anything.create(self, **request)
        return self.slowly(answer) if request.get("stream") else answer

    async def slowly(self, answer: Any) -> Any:
        for item in answer:
            yield item


def look_up(q: str = "") -> str:
    return f"found {q}"


def pay(amount: int) -> str:
    return f"paid {amount}"


OTHER = Agent(name="Other", functions=[look_up])
AGENT = Agent(name="A", functions=[look_up, pay], handoffs=[OTHER, Agent(name="B", handoffs=[OTHER])])
OPTIONS: dict[str, Any] = {"limits": Limits(model_calls=6), "context_variables": {"x": 1}}


def checked(run: Any) -> None:
    """The run ends with a response, or with an error of the model's that carries what was done."""
    found = outcome(run, SwarmError)
    response: Response | None = found.response if isinstance(found, SwarmError) else found
    if isinstance(found, SwarmError):
        assert isinstance(found, ModelError)
    assert response is not None
    assert is_valid(response.messages)
    assert all(message["role"] in ("assistant", "tool") for message in response.messages)
    assert len([message for message in response.messages if message["role"] == "tool"]) == len(response.calls)
    assert isinstance(response.text, str)
    assert all(type(count) is int for count in (response.usage.input_tokens, response.usage.output_tokens, response.usage.cached_tokens))


def as_object(value: Any) -> Any:
    if isinstance(value, dict):
        return SimpleNamespace(**{str(name): as_object(item) for name, item in value.items()})
    return [as_object(item) for item in value] if isinstance(value, list) else value


@FUZZ
@given(ANSWERS, st.booleans(), st.booleans())
def test_any_answers(answers: list[Any], is_async: bool, as_objects: bool) -> None:
    """P08, P09, T01, U09"""
    client = Anything([as_object(answer) if as_objects else answer for answer in answers], [], is_async)
    if is_async:
        checked(lambda: asyncio.run(AsyncSwarm(client).run(AGENT, "hi", **OPTIONS)))
    else:
        checked(lambda: Swarm(client).run(AGENT, "hi", **OPTIONS))


def streamed(client: Any) -> Response:
    *_, last = Swarm(client).stream(AGENT, "hi", **OPTIONS)
    assert isinstance(last, Done)
    return last.response


async def streamed_later(client: Any) -> Response:
    last = [event async for event in AsyncSwarm(client).stream(AGENT, "hi", **OPTIONS)][-1]
    assert isinstance(last, Done)
    return last.response


@FUZZ
@given(STREAMS, st.booleans(), st.booleans())
def test_any_streams(streams: list[list[Any]], is_async: bool, as_objects: bool) -> None:
    """S01, S02, S09, S11, S19"""
    client = Anything([], [[as_object(item) if as_objects else item for item in stream] for stream in streams], is_async)
    checked((lambda: asyncio.run(streamed_later(client))) if is_async else (lambda: streamed(client)))


@FUZZ
@given(STREAMS)
def test_what_a_stream_came_to_is_json_and_goes_on(streams: list[list[Any]]) -> None:
    """K07, K08, M03: the messages that come out of it can be saved and sent again."""
    try:
        response = streamed(Anything([], streams))
    except ModelError as error:
        assert error.response is not None
        response = error.response
    again = json.loads(json.dumps(response.messages))
    client = Anything([], [])
    assert Swarm(client).run(AGENT, [{"role": "user", "content": "hi"}, *again, {"role": "user", "content": "hi"}]).text == "ok"
