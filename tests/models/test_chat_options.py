"""The arguments of a call that are no fields of the body, and those that cannot be sent at all."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from pydantic import BaseModel

from swarm.errors import ConfigError, HistoryError, ModelTimeout, SwarmError
from swarm.models.chat import ChatClient, Timeout
from tests.loopback import HANG, completion, json_answer, sse, text_chunks
from tests.models.conftest import HELLO, Ask

KEY = "sk-test-0123456789"
PLAIN: dict[str, Any] = {"model": "gpt-4o", "messages": HELLO}


@pytest.mark.parametrize("stream", [False, True])
def test_the_options_of_a_call_go_where_the_official_client_puts_them(ask: Ask, serve: Any, stream: bool) -> None:
    server = serve(sse(*text_chunks("a")) if stream else json_answer(completion()))
    request: dict[str, Any] = {
        "extra_body": {"top_k": 5, "thinking": None},
        "extra_headers": {"X-Title": "test", "accept": "*/*"},
        "extra_query": {"v": "1", "n": 2, "ok": True, "none": None},
        "timeout": 20,
    }
    (ask.stream if stream else ask.complete)(ChatClient(server.url, KEY, query={"v": "0", "w": "ü"}), settings=request)
    sent = server.requests[0]
    assert sent.json == PLAIN | {"top_k": 5, "thinking": None} | ({"stream": True} if stream else {})
    assert (sent.headers["x-title"], sent.headers["accept"]) == ("test", "*/*")
    assert sent.target == "/v1/chat/completions?w=%C3%BC&v=1&n=2&ok=true"
    assert set(request) == {"extra_body", "extra_headers", "extra_query", "timeout"}


def test_options_hold_for_one_call_only(ask: Ask, serve: Any) -> None:
    server = serve(json_answer(completion()))
    client = ChatClient(server.url, KEY)
    ask.complete(client, extra_query={"v": "1"}, extra_headers={"X-Title": "test"})
    ask.complete(client)
    assert server.requests[1].target == "/v1/chat/completions"
    assert "x-title" not in server.requests[1].headers
    assert server.connections == 1


def test_the_query_reads_like_the_official_client_s(serve: Any) -> None:
    server = serve(json_answer(completion()))
    query: Any = {"a": "x y&ü", "b": 1.5, "c": False, "d": None}
    with openai.OpenAI(base_url=server.url, api_key=KEY, max_retries=0) as official, ChatClient(server.url, KEY) as ours:
        official.chat.completions.create(**PLAIN, extra_query=query)
        ours.chat.completions.create(**PLAIN, extra_query=query)
    assert server.requests[0].target == server.requests[1].target


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("timeout", [0.15, Timeout(total=0.15)])
def test_a_time_limit_among_the_arguments_holds_for_the_call(ask: Ask, serve: Any, timeout: Any, stream: bool) -> None:
    server = serve(HANG)
    with pytest.raises(ModelTimeout, match=r"0\.15 s"):
        (ask.stream if stream else ask.complete)(ChatClient(server.url, KEY), settings={"timeout": timeout})


def test_a_time_limit_among_the_arguments_may_be_longer_than_the_client_s(serve: Any) -> None:
    server = serve(sse(0.3, *text_chunks("a")))
    client = ChatClient(server.url, KEY, timeout=0.1)
    create = client.chat.completions.create
    assert len(list(create(**PLAIN, stream=True, timeout=20))) == 3
    with pytest.raises(ModelTimeout):
        list(create(**PLAIN, stream=True))


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"timeout": "5"}, "timeout must be a number of seconds above 0"),
    ({"timeout": 0}, "timeout must be a number of seconds above 0"),
    ({"timeout": float("nan")}, "timeout must be a number of seconds above 0"),
    ({"timeout": True}, "timeout must be a number of seconds above 0"),
    ({"extra_headers": {"X": 5}}, "the value of the header X must be text, not int"),
    ({"extra_headers": {5: "x"}}, "5 is no name for an HTTP header"),
    ({"extra_headers": ["X"]}, "extra_headers must be a dict, not list"),
    ({"extra_query": {"v": [1]}}, r"extra_query\['v'\] must be text or a number, not list"),
    ({"extra_query": "v=1"}, "extra_query must be a dict, not str"),
    ({"extra_body": [1]}, "extra_body must be a dict, not list"),
    ({"temperature": float("nan")}, "temperature is nan, which JSON cannot hold; give it a number or leave it out"),
    ({"logit_bias": {"5": float("-inf")}}, r"logit_bias\['5'\] is -inf"),
    ({"extra_body": {"a": [{"b": float("inf")}]}}, r"a\[0\]\['b'\] is inf"),
    ({"metadata": object()}, "metadata cannot be sent as JSON: .*object.*give it text, numbers"),
    ({"metadata": {"a": [1, {2}, {"b": b"\xff"}]}}, r"metadata\['a'\]\[2\]\['b'\] cannot be sent"),
    ({"temperature": openai.NOT_GIVEN}, "temperature cannot be sent as JSON: .*NotGiven.*; leave it out"),
    ({"stop": openai.omit}, "stop cannot be sent as JSON: .*Omit.*; leave it out"),
    ({"user": "\udcff", "metadata": object()}, "metadata cannot be sent"),
    ({"tools": [{"type": "function", "function": print}]}, r"tools\[0\]\['function'\] cannot be sent"),
]


class Weather(BaseModel):
    city: str


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("request_", "words"),
    [*REFUSED, ({"response_format": Weather}, r"response_format .*: it is the class Weather; pass .*Weather\.model_json_schema\(\)")],
)
def test_an_argument_that_cannot_be_sent_is_named(ask: Ask, serve: Any, request_: dict[str, Any], words: str, stream: bool) -> None:
    server = serve(json_answer(completion()))
    with pytest.raises(ConfigError, match=words):
        (ask.stream if stream else ask.complete)(ChatClient(server.url, KEY), settings=request_)
    assert server.connections == 0


def circle() -> list[Any]:
    ring: list[Any] = []
    ring.append({"again": ring})
    return ring


def deep() -> list[Any]:
    nested: list[Any] = []
    for _ in range(5_000):
        nested = [nested]
    return nested


@pytest.mark.parametrize(
    ("messages", "words", "index"),
    [
        ([*HELLO, {"role": "user", "content": [{"type": "text", "text": print}]}], r"messages\[1\]\['content'\]\[0\]\['text'\]", 1),
        ([*HELLO, {"role": "user", "content": "\udcff", "extra": {1}, "more": object()}], r"messages\[1\]\['more'\]", 1),
        ([object()], r"messages\[0\]", 0),
        (object(), "messages of the request", None),
        ([*HELLO, {"role": "user", "content": circle()}], r"messages\[1\]\['content'\]", 1),
        ([*HELLO, {"role": "user", "content": deep()}], r"messages\[1\]\['content'\]", 1),
    ],
)
def test_a_message_that_cannot_be_sent_is_named(ask: Ask, serve: Any, messages: Any, words: str, index: int | None) -> None:
    server = serve(json_answer(completion()))
    with pytest.raises(HistoryError, match=words) as caught:
        ask.complete(ChatClient(server.url, KEY), messages=messages)
    assert caught.value.index == index
    assert isinstance(caught.value, SwarmError)
    assert server.connections == 0


@pytest.mark.parametrize(
    "nothing",
    [
        {"tools": []},
        {"tools": [], "tool_choice": "auto", "parallel_tool_calls": False},
        {"tools": None, "tool_choice": None, "stop": None, "extra_body": None, "extra_headers": None, "extra_query": None, "timeout": None},
    ],
)
def test_what_says_nothing_is_never_sent(ask: Ask, serve: Any, nothing: dict[str, Any]) -> None:
    server = serve(json_answer(completion()))
    ask.complete(ChatClient(server.url, KEY), settings=nothing)
    assert server.requests[0].json == PLAIN


def test_words_that_look_like_no_number_are_words(ask: Ask, serve: Any) -> None:
    server = serve(json_answer(completion()))
    ask.complete(ChatClient(server.url, KEY), user="NaN", stop=["Infinity"])
    assert server.requests[0].json == PLAIN | {"user": "NaN", "stop": ["Infinity"]}
