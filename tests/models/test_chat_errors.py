"""What goes wrong: every failure is an error of the tree that says what happened, in the provider's words, and what to do."""

from __future__ import annotations

import json
import socket
import ssl
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from swarm.errors import (
    AuthenticationError,
    ConnectionFailed,
    InvalidReply,
    ModelError,
    RateLimitError,
    RequestError,
    ServerError,
    TransientError,
)
from swarm.models.chat import ChatClient
from tests.loopback import CUT, DROP, RESET, Answer, completion, json_answer
from tests.models.conftest import Ask

KEY = "sk-test-0123456789"
CERTIFICATE = Path(__file__).with_name("loopback.pem")


def openai_error(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": "some_error", "param": None, "code": None, **fields}}


def failure(ask: Ask, server: Any, stream: bool = False, **options: Any) -> ModelError:
    """The error that a call comes to."""
    client = ChatClient(server.url, options.pop("key", KEY), **options)
    with pytest.raises(ModelError) as caught:
        (ask.stream if stream else ask.complete)(client)
    return caught.value


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, RequestError),
        (401, AuthenticationError),
        (403, AuthenticationError),
        (404, RequestError),
        (408, ServerError),
        (409, ServerError),
        (422, RequestError),
        (429, RateLimitError),
        (500, ServerError),
        (503, ServerError),
        (529, ServerError),
    ],
)
def test_a_status_becomes_the_error_of_its_kind(ask: Ask, serve: Any, status: int, kind: type[ModelError], stream: bool) -> None:
    body = openai_error("the provider's own words")
    error = failure(ask, serve(json_answer(body, status, {"x-request-id": "req_1"})), stream)
    assert type(error) is kind
    assert f"{status}: the provider's own words" in str(error)
    assert (error.status, error.body, error.request_id) == (status, body, "req_1")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error": {"message": "too long"}}', "too long"),
        (b'{"error": "model not found"}', "model not found"),
        (b'[{"error": {"message": "from Gemini", "status": "INVALID_ARGUMENT"}}]', "from Gemini"),
        (b'{"message": "from a gateway"}', "from a gateway"),
        (b'{"object": "error", "message": "from vLLM", "type": "BadRequestError", "code": 400}', "from vLLM"),
        (b'{"detail": "from FastAPI"}', "from FastAPI"),
        (b'{"detail": [{"loc": ["body", "messages"], "msg": "field required"}]}', "field required"),
        (b'{"error": {"code": "odd"}}', "odd"),
        (b"<html><body>\n<h1>Bad\n Request</h1></body></html>", "<h1>Bad Request</h1>"),
        ("Grüße".encode("latin-1"), "Gr"),
        (b"", "400: empty answer"),
        (b" \r\n", "400: empty answer"),
    ],
)
def test_the_provider_s_words_are_found_in_any_body(ask: Ask, serve: Any, body: bytes, words: str) -> None:
    error = failure(ask, serve(Answer(body, status=400)))
    assert type(error) is RequestError
    assert str(error).startswith("400: ")
    assert words in str(error)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "Retry-After": "2"}, 1.5),
        ({"Retry-After": "Mon, 30 Nov 2015 10:00:00 GMT"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-1"}, None),
        ({"Retry-After": "nan"}, None),
        ({}, None),
    ],
)
def test_the_wait_that_a_provider_asks_for(ask: Ask, serve: Any, headers: dict[str, str], seconds: float | None) -> None:
    error = failure(ask, serve(json_answer(openai_error("slow down"), 429, headers)))
    assert isinstance(error, RateLimitError)
    assert error.retry_after == seconds


def test_the_wait_may_be_a_date(ask: Ask, serve: Any) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    error = failure(ask, serve(json_answer(openai_error("overloaded"), 503, {"Retry-After": date, "request-id": "req_2"})))
    assert isinstance(error, ServerError)
    assert error.retry_after is not None
    assert 3000 < error.retry_after <= 3600
    assert error.request_id == "req_2"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "body",
    [
        {"choices": None, **openai_error("upstream is rate limited")},
        {"choices": [], **openai_error("upstream is rate limited")},
        openai_error("upstream is rate limited"),
        {"choices": [{"index": 0, "message": None, "finish_reason": "stop"}], "message": "upstream is rate limited"},
    ],
)
def test_an_error_body_with_status_200_is_an_error(ask: Ask, serve: Any, body: dict[str, Any], stream: bool) -> None:
    """P08 P09"""
    error = failure(ask, serve(json_answer(body, headers={"x-request-id": "req_3"})), stream)
    assert "upstream is rate limited" in str(error)
    assert error.request_id == "req_3"


def test_an_error_body_with_status_200_keeps_its_kind(ask: Ask, serve: Any) -> None:
    """P08"""
    body = openai_error("slow down", code=429)
    error = failure(ask, serve(json_answer(body, headers={"Retry-After": "3"})))
    assert isinstance(error, RateLimitError)
    assert error.retry_after == 3.0


@pytest.mark.parametrize("body", [b"<html>Welcome to the hotel WiFi</html>", b"", b"[1, 2]", b'{"choices": [', b'"text"', b"\xff\xfe"])
def test_an_answer_that_is_no_json_object_is_quoted(ask: Ask, serve: Any, body: bytes) -> None:
    error = failure(ask, serve(Answer(body)))
    assert type(error) is InvalidReply
    assert ("is no JSON" if body else "is empty") in str(error)
    assert repr(body.decode("utf-8", "replace")) in str(error)


def test_a_long_answer_is_quoted_in_part(ask: Ask, serve: Any) -> None:
    assert len(str(failure(ask, serve(Answer(b"x" * 1_000_000))))) < 1_000


def test_a_redirect_is_not_followed(ask: Ask, serve: Any) -> None:
    target = serve(json_answer(completion()))
    server = serve(Answer(status=308, headers={"Location": f"{target.url}/chat/completions?key=abc"}))
    error = failure(ask, server)
    assert str(error).startswith("308: empty answer (the server redirects to")
    assert f"redirects to {target.url}/chat/completions;" in str(error)
    assert "set base_url" in str(error)
    assert target.requests == []


def test_a_missing_page_says_what_was_asked(ask: Ask, serve: Any) -> None:
    server = serve(Answer(b"404 page not found", status=404))
    assert f"404: 404 page not found (asked: {server.url}/chat/completions; does base_url end" in str(failure(ask, server))


def test_a_missing_key_says_so(ask: Ask, serve: Any) -> None:
    assert "set OPENAI_API_KEY" in str(failure(ask, serve(json_answer(openai_error("no"), 401)), key=None))
    assert "set OPENAI_API_KEY" not in str(failure(ask, serve(json_answer(openai_error("no"), 401))))
    azure = failure(ask, serve(json_answer(openai_error("no"), 401)), key=None, headers={"api-key": "wrong"})
    assert "set OPENAI_API_KEY" not in str(azure)
    in_url = failure(ask, serve(json_answer(openai_error("no"), 401)), key=None, query={"key": "0123456789"})
    assert "set OPENAI_API_KEY" not in str(in_url)


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


@pytest.mark.parametrize("stream", [False, True])
def test_a_server_that_is_not_there(ask: Ask, stream: bool) -> None:
    url = f"http://127.0.0.1:{free_port()}/v1"
    with pytest.raises(ConnectionFailed, match=r"no connection to .*Errno 111.*is the server running, and is base_url") as caught:
        (ask.stream if stream else ask.complete)(ChatClient(url, KEY))
    assert url in str(caught.value)
    assert caught.value.cause is not None
    assert caught.value.cause.__traceback__ is None


@pytest.mark.swarm_live  # its name is looked up and not found
def test_a_host_that_does_not_exist(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    def getaddrinfo(*_: Any, **__: Any) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    with pytest.raises(ConnectionFailed, match=r"no connection to http://models\.test/v1: .*Name or service not known"):
        ask.complete(ChatClient("http://models.test/v1", KEY))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (DROP, "before an answer came"),
        (Answer(RESET, head=False), "Connection reset by peer"),
        (Answer(b'{"id": ', CUT), "in the middle of the answer"),
        (Answer(b'{"id": ', CUT, b"}", framing="length"), "in the middle of the answer"),
        (Answer(b'{"id": ', 0.05, RESET), ""),
    ],
)
def test_a_connection_that_breaks(ask: Ask, serve: Any, answer: Answer, words: str) -> None:
    server = serve(answer)
    error = failure(ask, server)
    assert type(error) is ConnectionFailed
    assert f"the connection to {server.url} broke: " in str(error)
    assert words in str(error)
    assert len(server.requests) == 1


def test_what_is_no_http(ask: Ask, serve: Any) -> None:
    error = failure(ask, serve(Answer(f"SSH-2.0-OpenSSH_9.2 {KEY}\r\n".encode(), CUT, head=False, framing="length")))
    assert type(error) is ConnectionFailed
    assert "what came is no HTTP: " in str(error)
    assert "SSH-2.0-OpenSSH_9.2 ***" in str(error)
    assert "\n" not in str(error)
    assert KEY not in repr(error.cause)


def test_an_answer_before_the_whole_request_was_read(ask: Ask, serve: Any) -> None:
    """A gateway that refuses a body that is too large answers and closes without reading it."""
    body = json.dumps(openai_error("too large")).encode()
    server = serve(Answer(body, status=413, framing="close"))
    client = ChatClient(server.url, KEY)
    with pytest.raises(RequestError, match="413: too large"):
        ask.complete(client, messages=[{"role": "user", "content": "x" * 5_000_000}])


@pytest.fixture
def tls_server(serve: Any) -> Any:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    return serve(json_answer(completion("secure")), tls=context)


def test_an_unknown_certificate(ask: Ask, tls_server: Any) -> None:
    error = failure(ask, tls_server)
    assert type(error) is ConnectionFailed
    assert f"no secure connection to {tls_server.url}: " in str(error)
    assert "certificate verify failed" in str(error)
    assert "SSL_CERT_FILE" in str(error)


def test_a_certificate_in_ssl_cert_file(ask: Ask, tls_server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """D29"""
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    assert ask.complete(ChatClient(tls_server.url, KEY)).message["content"] == "secure"


def test_an_ssl_context_of_one_s_own(ask: Ask, tls_server: Any) -> None:
    """D29"""
    context = ssl.create_default_context(cafile=CERTIFICATE)
    client = ChatClient(tls_server.url, KEY, ssl_context=context)
    assert [ask.complete(client).message["content"] for _ in range(2)] == ["secure"] * 2
    assert tls_server.connections == 1


def test_a_plain_server_called_over_tls(ask: Ask, serve: Any) -> None:
    url = serve(json_answer(completion())).url.replace("http:", "https:")
    with pytest.raises(ConnectionFailed, match=r"no (secure )?connection to https"):
        ask.complete(ChatClient(url, KEY))


def test_only_what_may_pass_is_transient() -> None:
    assert issubclass(ConnectionFailed, TransientError)
    assert not issubclass(InvalidReply, TransientError)
