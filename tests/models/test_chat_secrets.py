"""The key is never shown: not by a repr, not in an error or its cause, not in a traceback with local variables, not in a log."""

from __future__ import annotations

import logging
import socket
import traceback
from typing import Any
from urllib.parse import quote

import pytest

from swarm.errors import ConfigError, ModelError
from swarm.models.chat import ChatClient, Timeout
from tests.loopback import CUT, DROP, HANG, RESET, Answer, completion, event, json_answer, sse, text_chunks
from tests.models.conftest import Ask

KEY = "sk-proj-Abcdef0123456789_very-secret"
AZURE_KEY = "0123456789abcdef-azure-secret"
URL_KEY = "AIzaSy-url-secret-0123"
SECRETS = (KEY, AZURE_KEY, URL_KEY)


def everything_about(error: BaseException, with_locals: bool = True) -> str:
    """Whatever a crash reporter might print about an error in the client."""
    error.__traceback__ = own_frames(error)  # those of the tests hold the secrets
    texts = [str(error), repr(error), str(vars(error))]
    texts += traceback.TracebackException.from_exception(error, capture_locals=with_locals).format()
    cause = getattr(error, "cause", None)
    if cause is not None:
        texts += [str(cause), repr(cause), str(vars(cause)), *traceback.format_exception(cause)]
    return "\n".join(texts)


def client_for(url: str, **options: Any) -> ChatClient:
    return ChatClient(url, KEY, headers={"api-key": AZURE_KEY}, query={"key": URL_KEY}, **options)


def test_a_repr_shows_the_endpoint_only() -> None:
    client = client_for("https://models.example/v1")
    assert repr(client) == "ChatClient(base_url='https://models.example/v1')"
    assert not any(secret in f"{client!r} {client} {vars(client)} {vars(client._endpoint)['headers']}" for secret in SECRETS)  # type: ignore[reportPrivateUsage]


ECHO = f"Incorrect API key provided: {KEY}. Also {AZURE_KEY} and {URL_KEY}, or sk-otherKey123 by someone else."
MASKED = "Incorrect API key provided: ***. Also *** and ***, or *** by someone else."
ECHOES = {
    "a 401 that repeats the key": json_answer({"error": {"message": ECHO, "keys": list(SECRETS)}}, 401),
    "a text that repeats the key": Answer(ECHO.encode(), status=500),
    "an error with status 200": json_answer({"error": {"message": ECHO}}),
    "an error without message": json_answer({"choices": [], "note": "x" * 475 + ECHO}),
    "an error beside a message": json_answer({"choices": [{"message": {"content": ""}, "error": {"message": ECHO}}]}),
    "no JSON": Answer(ECHO.encode()),
}
FAILURES = ECHOES | {
    "a redirect": Answer(status=307, headers={"Location": f"http://elsewhere/v1?key={URL_KEY}"}),
    "no answer": DROP,
    "a reset": Answer(RESET, head=False),
    "half an answer": Answer(b"{", CUT),
    "no HTTP": Answer(b"Nonsense\r\n\r\n", CUT, head=False, framing="length"),
    "silence": HANG,
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", FAILURES)
def test_no_error_holds_a_secret(ask: Ask, serve: Any, name: str, stream: bool, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    client = client_for(serve(FAILURES[name]).url, timeout=Timeout(read=0.1))
    with pytest.raises(ModelError) as caught:
        (ask.stream if stream else ask.complete)(client)
    # What a server repeats is masked when it is read; as it came it is a local variable.
    text = everything_about(caught.value, with_locals=name not in ECHOES) + caplog.text
    assert [secret for secret in (*SECRETS, "sk-otherKey123") if secret in text] == []


def own_frames(error: BaseException) -> Any:
    """The part of a traceback that begins in the client."""
    link = error.__traceback__
    while link is not None and "swarm/models" not in link.tb_frame.f_code.co_filename:
        link = link.tb_next
    return link


def test_no_connection_holds_no_secret(ask: Ask) -> None:
    with pytest.raises(ModelError) as caught:
        ask.complete(client_for("http://127.0.0.1:1/v1"))
    assert [secret for secret in SECRETS if secret in everything_about(caught.value)] == []


def test_a_connection_that_takes_too_long_holds_no_secret(ask: Ask) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = client_for(f"https://127.0.0.1:{silent.getsockname()[1]}/v1", timeout=Timeout(connect=0.1))
        with pytest.raises(ModelError) as caught:
            ask.complete(client)
    assert [secret for secret in SECRETS if secret in everything_about(caught.value)] == []


SLASHED = "AbCd+/0123456789=="
ECHO_OF_URL = f"bad key={SLASHED} in ?key={quote(SLASHED, safe='')}"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("place", ["base_url", "query", "extra_query", "extra_headers", "headers"])
def test_a_secret_is_masked_wherever_it_is_given(ask: Ask, serve: Any, place: str, stream: bool) -> None:
    server = serve(json_answer({"error": {"message": ECHO_OF_URL}}, 401))
    url = f"{server.url}?key={quote(SLASHED, safe='')}" if place == "base_url" else server.url
    headers = {"X-Secret": f"Basic {SLASHED}"}
    mine: dict[str, Any] = {"query": {"query": {"key": SLASHED}}, "headers": {"headers": headers}}.get(place, {})
    call: dict[str, Any] = {"extra_query": {"extra_query": {"key": SLASHED}}, "extra_headers": {"extra_headers": headers}}.get(place, {})
    with pytest.raises(ModelError, match=r"401: bad key=\*\*\* in \?key=\*\*\*$"):
        (ask.stream if stream else ask.complete)(ChatClient(url, **mine), **call)


def test_the_place_of_a_redirect_is_masked(ask: Ask, serve: Any) -> None:
    server = serve(Answer(status=302, headers={"Location": f"http://elsewhere/{AZURE_KEY}/v1"}))
    with pytest.raises(ModelError, match=r"http://elsewhere/\*\*\*/v1"):
        ask.complete(client_for(server.url))


def test_an_error_in_a_stream_is_masked(ask: Ask, serve: Any) -> None:
    server = serve(sse(event({"error": {"message": ECHO}}), done=False))
    (piece,) = ask.stream(client_for(server.url))
    assert piece["error"]["message"] == MASKED


@pytest.mark.parametrize("form", ["event: error\ndata: %s\n\n", "error: %s\n\n", '{"error": "%s"}\n', 'data: {"detail": "%s"}\n\n'])
def test_an_error_told_in_any_way_is_masked(ask: Ask, serve: Any, form: str) -> None:
    (piece,) = ask.stream(client_for(serve(sse((form % ECHO).encode(), done=False)).url))
    assert MASKED in str(piece)


def test_an_error_in_a_choice_of_a_stream_is_masked_and_ends_it(ask: Ask, serve: Any) -> None:
    choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "error", "error": {"message": ECHO}}
    (piece,) = ask.stream(client_for(serve(sse({"choices": [choice]}, done=False)).url))
    assert piece["choices"][0]["error"]["message"] == MASKED


def test_a_model_that_speaks_of_keys_is_not_masked(ask: Ask, serve: Any) -> None:
    words = f"use sk-learn-contrib, not {KEY}"
    pieces = [piece | {"error": None} for piece in text_chunks(words, '"error"')]
    server = serve(json_answer(completion(words) | {"error": None}), sse(*pieces))
    client = client_for(server.url)
    assert ask.complete(client).message["content"] == words
    assert ask.stream(client) == pieces


@pytest.mark.parametrize("dummy", ["x", "none", "ollama"])
def test_the_dummy_keys_of_local_servers_are_no_secrets(ask: Ask, serve: Any, dummy: str) -> None:
    words = "the next model, none of ollama's, is not loaded"
    with pytest.raises(ModelError, match=words):
        ask.complete(ChatClient(serve(json_answer({"error": words}, 404)).url, dummy))


@pytest.mark.parametrize("key", ["sk-line\nbreak-secret", "“sk-quoted-secret”", "sk-\x00-secret"])
def test_a_key_that_http_does_not_allow_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(ConfigError, match="the header Authorization") as caught:
        ChatClient("http://127.0.0.1/v1", key)
    assert "secret" not in str(caught.value)


def test_blanks_around_a_key_do_no_harm(ask: Ask, serve: Any) -> None:
    server = serve(json_answer({"choices": [{"message": {"content": "Hi"}}]}))
    ask.complete(ChatClient(server.url, f" {KEY}\n"))
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("headers", [{"bad name": "x"}, {"X\r\n": "x"}, {"": "x"}, {"X-Ok": "a\r\nInjected: b"}])
def test_headers_that_http_does_not_allow_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="HTTP"):
        ChatClient("http://127.0.0.1/v1", KEY, headers=headers)
