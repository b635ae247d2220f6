"""The client used by hand, as people use the official one, and the objects it returns."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest

from swarm.errors import AuthenticationError, InvalidReply
from swarm.models.chat import ChatClient
from swarm.models.record import Chunks, Record
from tests.loopback import WAIT, completion, json_answer, sse, text_chunks, tool_call
from tests.models.conftest import HELLO

KEY = "sk-test-0123456789"


def test_create_returns_an_object_that_is_also_a_dict(serve: Any) -> None:
    server = serve(json_answer(completion("Hello", [tool_call("look", {"q": 1})])))
    answer = ChatClient(server.url, KEY).chat.completions.create(model="gpt-4o", messages=HELLO, temperature=0)
    assert isinstance(answer, Record)
    message = answer.choices[0].message
    assert message.content == message["content"] == answer["choices"][0]["message"]["content"] == "Hello"
    assert message.tool_calls[0].function.name == "look"
    assert answer.usage.total_tokens == 21
    assert server.requests[0].json == {"model": "gpt-4o", "messages": HELLO, "temperature": 0}
    assert answer.model_dump() == json.loads(answer.model_dump_json()) == completion("Hello", [tool_call("look", {"q": 1})])


def test_create_streams(serve: Any) -> None:
    server = serve(sse(*text_chunks("a", "b"), done=True))
    stream = ChatClient(server.url, KEY).chat.completions.create(model="gpt-4o", messages=HELLO, stream=True)
    assert isinstance(stream, Chunks)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == "ab"


@pytest.mark.parametrize("way", ["with", "close"])
def test_a_created_stream_can_be_left(serve: Any, way: str) -> None:
    server = serve(sse(*text_chunks("a"), WAIT, done=False))
    stream = ChatClient(server.url, KEY).chat.completions.create(model="gpt-4o", messages=HELLO, stream=True)
    assert isinstance(stream, Chunks)
    if way == "with":
        with stream as chunks:
            next(chunks)
    else:
        next(stream)
        stream.close()
    server.wait_until(lambda: server.open_connections == 0)
    assert list(stream) == []


def test_create_raises_what_the_model_methods_raise(serve: Any) -> None:
    """P08"""
    server = serve(json_answer({"error": {"message": "no"}}, 401), json_answer({"choices": None, "error": {"message": "rate limited"}}))
    create = ChatClient(server.url, KEY).chat.completions.create
    with pytest.raises(AuthenticationError, match="401: no"):
        create(model="gpt-4o", messages=HELLO)
    with pytest.raises(InvalidReply, match="rate limited"):
        create(model="gpt-4o", messages=HELLO)


def test_create_takes_a_time_limit(serve: Any) -> None:
    server = serve(sse(*text_chunks("a"), WAIT, done=False))
    with pytest.raises(TimeoutError, match=r"0\.1 s"):
        list(ChatClient(server.url, KEY).chat.completions.create(model="m", messages=HELLO, stream=True, timeout=0.1))
    assert "timeout" not in server.requests[0].json


def test_an_absent_field_of_the_api_reads_as_none_and_any_other_is_an_error() -> None:
    message = Record.of({"role": "assistant", "content": "Hi", "extra": {"signature": "s"}})
    assert message.tool_calls is None
    assert message.refusal is None
    assert message.extra.signature == "s"
    with pytest.raises(AttributeError, match=r"no field 'tool_cals'; there are role, content, extra"):
        _ = message.tool_cals
    assert not hasattr(message, "__deepcopy__")


def test_a_record_can_be_written_to_like_the_seed_does() -> None:
    """K07"""
    message = Record.of(completion("Hi")).choices[0].message
    message.sender = "Agent"
    assert json.loads(message.model_dump_json())["sender"] == message["sender"] == "Agent"


def test_a_record_shares_nothing_with_what_it_was_made_of() -> None:
    raw = completion("Hi")
    record = Record.of(raw)
    record.choices[0].message.content = "changed"
    record.choices.append({})
    assert raw == completion("Hi")
    dumped = record.model_dump()
    dumped["choices"][0]["message"]["content"] = "changed again"
    assert record.choices[0].message.content == "changed"
    assert type(dumped["choices"][0]["message"]) is dict


def test_nulls_can_be_left_out() -> None:
    record = Record.of({"a": None, "b": [{"c": None, "d": 1}]})
    assert record.model_dump(exclude_none=True) == {"b": [{"d": 1}]}
    assert record.model_dump(mode="json", exclude_unset=True) == {"a": None, "b": [{"c": None, "d": 1}]}
    assert record.model_dump_json(exclude_none=True) == '{"b":[{"d":1}]}'


def test_a_record_can_be_copied_and_pickled() -> None:
    record = Record.of(completion("Hi"))
    for other in (copy.deepcopy(record), pickle.loads(pickle.dumps(record))):
        assert other == record
        assert other.choices[0].message.content == "Hi"
