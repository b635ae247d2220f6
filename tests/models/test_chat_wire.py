"""What goes to the server and what is made of its answer, when all goes well."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest

from swarm.errors import ConfigError
from swarm.models.chat import ChatClient
from swarm.models.client import Model, model_for
from tests.loopback import Answer, Loopback, chunk, completion, event, json_answer, sse, text_chunks, tool_call
from tests.models.conftest import HELLO, Ask, call

KEY = "sk-test-0123456789"


def test_a_request_is_posted_as_json_with_the_key(ask: Ask, serve: Any) -> None:
    """P13"""
    server = serve(json_answer(completion("Hello")))
    reply = ask.complete(ChatClient(server.url, KEY), temperature=0.5)
    request = server.requests[0]
    assert (request.method, request.target) == ("POST", "/v1/chat/completions")
    assert request.json == {"model": "gpt-4o", "messages": HELLO, "temperature": 0.5}
    assert request.headers["content-type"] == "application/json"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["user-agent"] == "openswarm"
    assert (reply.message["content"], reply.finish_reason, reply.model, reply.id) == ("Hello", "stop", "gpt-4o", "chatcmpl-1")
    assert reply.usage is not None
    assert reply.usage["total_tokens"] == 21
    assert not reply.told


def test_text_goes_out_as_utf_8_and_comes_back_whole(ask: Ask, serve: Any) -> None:
    words = "Grüße, 世界 😀"
    server = serve(json_answer(completion(words)))
    messages = [{"role": "user", "content": words}]
    assert ask.complete(ChatClient(server.url, KEY), messages=messages).message["content"] == words
    assert words.encode() in server.requests[0].body


def test_a_request_of_several_megabytes_arrives(ask: Ask, serve: Any) -> None:
    """aiohttp warns about large bodies given as bytes; a warning would fail this test."""
    server = serve(json_answer(completion()))
    messages = [{"role": "user", "content": "x" * 3_000_000}]
    assert ask.complete(ChatClient(server.url, KEY), messages=messages).message["content"] == "Hello"
    assert server.requests[0].json["messages"] == messages


def test_tool_calls_and_unknown_fields_come_through(ask: Ask, serve: Any) -> None:
    call_ = tool_call("look", {"q": "ü"}) | {"extra_content": {"google": {"thought_signature": "abc"}}}
    body = completion(None, [call_])
    body["choices"][0]["message"]["reasoning_content"] = "hm"
    reply = ask.complete(ChatClient(serve(json_answer(body)).url, KEY))
    assert reply.message["tool_calls"] == [call_]
    assert reply.message["reasoning_content"] == "hm"


def test_the_environment_of_the_official_client_is_read(ask: Ask, serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(json_answer(completion()))
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")
    ask.complete(ChatClient())
    headers = server.requests[0].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["openai-organization"] == "org-1"
    assert headers["openai-project"] == "proj-1"


def test_arguments_win_over_the_environment(ask: Ask, serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(json_answer(completion()))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-environment")
    ask.complete(ChatClient(server.url, KEY))
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_local_server_needs_no_key(ask: Ask, serve: Any) -> None:
    """P13"""
    server = serve(json_answer(completion()))
    ask.complete(ChatClient(server.url))
    assert "authorization" not in server.requests[0].headers


def test_without_key_and_endpoint_there_is_one_error_with_the_ways_out() -> None:
    """D30"""
    with pytest.raises(ConfigError, match=r"OPENAI_API_KEY.*OPENAI_BASE_URL.*ChatClient.*SWARM_OFFLINE=1"):
        ChatClient()


def test_a_key_alone_means_the_official_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """D30: the client itself never goes offline"""
    monkeypatch.setenv("SWARM_OFFLINE", "1")
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    assert ChatClient(api_key=KEY).base_url == "https://api.openai.com/v1"


CANNOT_WORK = [
    "localhost:11434",
    "ftp://x/v1",
    "http://",
    "http://user:pa55word@host/v1",
    "http://exa mple/v1",
    "http://exa\x00mple/v1",
    "http://.x/v1",
    "http://x..y/v1",
    f"http://{'a' * 64}.example/v1",
    f"http://{'a.' * 130}example/v1",
    f"http://{'ü' * 64}.example/v1",
    "http://a$b/v1",
    "http://[::1/v1",
    "http://[::zz]/v1",
    "http://host:port/v1",
    "http://host:0/v1",
    "http://host:65536/v1",
    "http://host:-1/v1",
    "http://host:1 2/v1",
]


@pytest.mark.parametrize("url", CANNOT_WORK)
def test_a_base_url_that_cannot_work_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="base_url") as caught:
        ChatClient(url, KEY)
    assert "pa55word" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("http://my_service.local:8000/v1", "my_service.local", 8000),
        ("https://models.example./v1", "models.example.", 443),
        ("http://Bücher.example/v1", "xn--bcher-kva.example", 80),
        ("http://[::1]:1234/v1", "::1", 1234),
        (f"http://{'a' * 63}/v1", "a" * 63, 80),
        ("http://host:/v1", "host", 80),
        (" http://host/v1\n", "host", 80),
    ],
)
def test_a_base_url_that_can_work_is_taken(url: str, host: str, port: int) -> None:
    endpoint = ChatClient(url, KEY)._endpoint  # pyright: ignore[reportPrivateUsage]  # nobody answers there
    assert (endpoint.host, endpoint.port) == (host, port)


def test_a_query_in_the_base_url_goes_out_as_http_allows(ask: Ask, serve: Any) -> None:
    server = serve(json_answer(completion()))
    ask.complete(ChatClient(f"{server.url}/?a=b c&d=ü&e=%20+1", KEY, query={"a": "new", "n": 5, "none": None}))  # type: ignore[dict-item]
    assert server.requests[0].target == "/v1/chat/completions?d=%C3%BC&e=%20+1&a=new&n=5"


@pytest.mark.parametrize("limit", [0, -1, float("nan")])
def test_limits_must_be_above_zero(limit: float) -> None:
    with pytest.raises(ValueError, match="more than 0"):
        ChatClient(api_key=KEY, timeout=limit)
    with pytest.raises(ValueError, match="at least 1"):
        ChatClient(api_key=KEY, max_connections=0)


def test_headers_and_query_are_added(ask: Ask, serve: Any) -> None:
    """P12: Azure is a base URL, a header and a query argument."""
    server = serve(json_answer(completion()))
    client = ChatClient(
        server.url + "/deployments/gpt 4o/",
        headers={"api-key": "azure-secret-1", "user-agent": "mine"},
        query={"api-version": "2026-01-01"},
    )
    ask.complete(client)
    request = server.requests[0]
    assert request.target == "/v1/deployments/gpt%204o/chat/completions?api-version=2026-01-01"
    assert request.headers["api-key"] == "azure-secret-1"
    assert request.headers["user-agent"] == "mine"


def test_stream_is_set_by_the_method_that_is_called(ask: Ask, serve: Any) -> None:
    server = serve(json_answer(completion()), sse(*text_chunks("a")))
    client = ChatClient(server.url, KEY)
    ask.complete(client, stream=True, stream_options={"include_usage": True})
    ask.stream(client)
    assert [request.json for request in server.requests] == [
        {"model": "gpt-4o", "messages": HELLO},
        {"model": "gpt-4o", "messages": HELLO, "stream": True},
    ]


def test_stream_options_are_passed(ask: Ask, serve: Any) -> None:
    server = serve(sse(*text_chunks("a")))
    ask.stream(ChatClient(server.url, KEY), stream=True, stream_options={"include_usage": True})
    assert server.requests[0].json["stream_options"] == {"include_usage": True}


def test_a_request_is_never_changed(ask: Ask, serve: Any) -> None:
    client = ChatClient(serve(json_answer(completion()), sse(*text_chunks("a"))).url, KEY)
    effect = call(stream=True, extra_body={"a": 1}, extra_query={"b": 2}, extra_headers={"c": "d"}, timeout=9, tools=[], stop=None)
    before = json.dumps(effect.request)
    client.complete(effect)
    list(client.stream(effect))
    assert json.dumps(effect.request) == before


def test_the_client_is_a_model() -> None:
    """P14"""
    client = ChatClient(api_key=KEY)
    assert isinstance(client, Model)
    assert model_for(client) is client


def both_clients(server: Loopback, **request: Any) -> tuple[Any, Any]:
    """The same call through the official client and through ours."""
    official = openai.OpenAI(base_url=server.url, api_key=KEY, max_retries=0)
    with official, ChatClient(server.url, KEY) as ours:
        theirs: Any = official.chat.completions.create(model="gpt-4o", messages=HELLO, **request)  # type: ignore[call-overload]
        if request.get("stream"):
            theirs = [piece.model_dump(exclude_unset=True) for piece in theirs]
        return theirs, ours.chat.completions.create(model="gpt-4o", messages=HELLO, **request)


def test_a_whole_answer_reads_like_the_official_client_s(serve: Any) -> None:
    logprob = {"token": "H", "logprob": -0.1, "bytes": [72], "top_logprobs": []}
    body = completion("Hi", [tool_call("look", {"q": 1})], service_tier="default", system_fingerprint="fp_1")
    body["choices"][0]["logprobs"] = {"content": [logprob], "refusal": None}
    server = serve(json_answer(body))
    theirs, ours = both_clients(server, temperature=0, tools=[{"type": "function", "function": {"name": "look", "parameters": {}}}])
    assert ours.model_dump() == theirs.model_dump(exclude_unset=True)
    assert ours.choices[0].message.tool_calls[0].function.name == theirs.choices[0].message.tool_calls[0].function.name
    assert server.requests[0].json == server.requests[1].json


def test_a_stream_reads_like_the_official_client_s(serve: Any) -> None:
    """S01"""
    first = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "look", "arguments": ""}}
    pieces = [
        chunk({"role": "assistant", "content": None, "refusal": None}, service_tier="default", obfuscation="x9"),
        chunk({"tool_calls": [first]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}),
        chunk({}, "tool_calls"),
        chunk({}) | {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}},
    ]
    server = serve(sse(*pieces))
    theirs, ours = both_clients(server, stream=True, stream_options={"include_usage": True})
    assert [piece.model_dump() for piece in ours] == theirs == pieces
    assert server.requests[0].json == server.requests[1].json


def test_any_framing_of_the_body_is_read(ask: Ask, serve: Any) -> None:
    body = json.dumps(completion("Hi")).encode()
    server = serve(*(Answer(body[:40], body[40:], framing=framing) for framing in ("chunked", "length", "close")))
    client = ChatClient(server.url, KEY)
    assert [ask.complete(client).message["content"] for _ in range(3)] == ["Hi"] * 3


@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
def test_any_framing_of_a_stream_is_read(ask: Ask, serve: Any, framing: str) -> None:
    server = serve(sse(*text_chunks("a", "b"), framing=framing))
    assert ask.stream(ChatClient(server.url, KEY)) == text_chunks("a", "b")


def test_many_events_in_one_piece_and_one_event_in_many_pieces(ask: Ask, serve: Any) -> None:
    raw = b"".join(map(event, text_chunks("ü", "😀"))) + event("[DONE]")
    server = serve(sse(raw, done=False), sse(*(raw[at : at + 1] for at in range(len(raw))), done=False))
    client = ChatClient(server.url, KEY)
    assert ask.stream(client) == ask.stream(client) == text_chunks("ü", "😀")
