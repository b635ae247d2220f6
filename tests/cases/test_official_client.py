"""The official package's own clients, over HTTP, in every mode; their errors as ours."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import openai
import pytest

from swarm import Agent, AsyncSwarm, Swarm
from swarm.errors import (
    AuthenticationError,
    ConnectionFailed,
    ModelError,
    ModelTimeout,
    RateLimitError,
    RequestError,
    RunTimeout,
    ServerError,
    StreamBroken,
)
from swarm.models.scripted import Turn, call
from tests.clients import chunk, served
from tests.look import outline, sent_unknown_keys
from tests.loopback import CUT, DROP, HANG, Answer, Loopback, json_answer, sse
from tests.modes import Drive

CLOSE = {"Connection": "close"}  # a client's pool may outlive the event loop of a test
HI = [{"role": "user", "content": "hi"}]


def ping(text: str) -> str:
    return f"pong {text}"


def to_b() -> Agent:
    return Agent(name="B")


def closed(client: Any) -> None:
    """Close a client of either kind; each async one was used in an event loop that is gone by now."""
    if isinstance(client, openai.OpenAI):
        client.close()


@pytest.fixture(params=["OpenAI", "AsyncOpenAI"])
def kind(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Makes a client for a server; closes it afterwards."""
    made: list[Any] = []

    def make(server: Loopback) -> Any:
        made.append(getattr(openai, request.param)(base_url=server.url, api_key="sk-test", max_retries=0))
        return made[-1]

    yield make
    for client in made:
        closed(client)


def test_calls_and_a_handoff(drive: Drive, kind: Any) -> None:
    """P12, U09, K19, P01"""
    turns = [[call("ping", {"text": "é"}, id="c1"), call("to_b", id="c2")], Turn("Done.", usage=(7, 3))]
    with Loopback(served(turns)) as server:
        response = drive(Agent(name="A", functions=[ping, to_b]), HI, kind(server))
        requests = [request.json for request in server.requests]
    assert outline(response) == [
        ("assistant", "A", None),
        ("tool", "ping", "pong é"),
        ("tool", "to_b", '{"assistant": "B"}'),
        ("assistant", "B", "Done."),
    ]
    assert set(response.messages[0]) == {"role", "content", "sender", "tool_calls"}
    assert set(response.messages[0]["tool_calls"][0]) == {"id", "type", "function"}
    assert sent_unknown_keys(requests) == set()
    assert response.usage.total_tokens == 25


def test_azure(drive: Drive) -> None:
    """P12"""
    with Loopback(served(["hello"])) as server:
        address = server.url.removesuffix("/v1")
        with openai.AzureOpenAI(azure_endpoint=address, api_key="key", api_version="2024-10-21", max_retries=0) as client:
            assert drive(Agent(model="my-deployment"), HI, client).text == "hello"
        assert "/deployments/my-deployment/" in server.requests[0].target


def test_private_fields_come_back(drive: Drive, kind: Any) -> None:
    """P11"""
    entry = {**call("ping", {"text": "x"}, id="c1"), "extra_content": {"google": {"thought_signature": "s"}}}
    with Loopback(served([Turn(None, [entry], extra={"reasoning_content": "hm"}), "ok"])) as server:
        drive(Agent(functions=[ping]), HI, kind(server))
        message = server.requests[1].json["messages"][2]
    assert message["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "s"}}
    assert message["reasoning_content"] == "hm"


ERRORS = [
    (400, RequestError, openai.BadRequestError),
    (401, AuthenticationError, openai.AuthenticationError),
    (429, RateLimitError, openai.RateLimitError),
    (503, ServerError, openai.InternalServerError),
]


@pytest.mark.parametrize(("status", "ours", "theirs"), ERRORS)
def test_their_errors_as_ours(drive: Drive, kind: Any, status: int, ours: Any, theirs: Any) -> None:
    """P07, D31"""
    body = {"error": {"message": "the provider's own words", "type": "x", "code": "y"}}
    with (
        Loopback(json_answer(body, status, {"Retry-After": "7", "x-request-id": "req-1", **CLOSE})) as server,
        pytest.raises(ours) as caught,
    ):
        drive(Agent(), HI, kind(server))
    error = caught.value
    assert "the provider's own words" in str(error)
    assert error.status == status
    assert error.request_id == "req-1"
    assert isinstance(error.cause, theirs)
    assert error.response is not None
    assert error.response.messages == []
    if status in (429, 503):
        assert error.retry_after == 7.0


def test_no_connection(drive: Drive, kind: Any) -> None:
    """D31"""
    with Loopback(DROP) as server:
        client = kind(server)
        with pytest.raises(ConnectionFailed) as caught:
            drive(Agent(), HI, client)
    assert isinstance(caught.value.cause, openai.APIConnectionError)


def test_a_time_limit(drive: Drive, kind: Any) -> None:
    """D31, X06: the run's time limit reaches the client."""
    with Loopback(HANG) as server:
        client = kind(server)
        with pytest.raises((RunTimeout, ModelTimeout)):
            drive(Agent(), HI, client, timeout=0.3)


@pytest.mark.parametrize("mode", ["sync-stream", "async-stream"])
def test_a_stream_that_breaks_off(kind: Any, mode: str) -> None:
    """D12, D31"""
    pieces = sse(chunk({"role": "assistant", "content": "Hel"}), done=False)
    with Loopback(Answer(*pieces.steps, CUT, headers=pieces.headers)) as server:
        client = kind(server)
        with pytest.raises(StreamBroken) as caught:
            Drive(mode)(Agent(), HI, client)
    assert caught.value.partial is not None
    assert caught.value.partial["content"] == "Hel"


@pytest.mark.parametrize("mode", ["sync-stream", "async-stream"])
def test_an_error_in_the_middle_of_a_stream(kind: Any, mode: str) -> None:
    """P08, D12"""
    answer = sse(chunk({"role": "assistant", "content": "Hel"}), {"error": {"message": "overloaded, sorry"}}, headers=CLOSE)
    with Loopback(answer) as server:
        client = kind(server)
        with pytest.raises(ModelError, match="overloaded, sorry"):
            Drive(mode)(Agent(), HI, client)


def test_a_stream_left_early_frees_its_connection(kind: Any) -> None:
    """D13"""
    ready = sse(*(chunk({"content": f"{number} "}) for number in range(50)))
    with Loopback(Answer(*ready.steps[:2], 60.0, headers=ready.headers)) as server:
        client = kind(server)
        with Swarm(client).run(Agent(), HI, stream=True) as stream:
            assert next(stream) == {"delim": "start"}
            assert next(stream)["content"] == "0 "
        assert stream.response is not None
        assert stream.response.stop_reason == "cancelled"
        server.wait_until(lambda: server.open_connections == 0)


def test_an_async_stream_left_early_frees_its_connection(kind: Any) -> None:
    """D13"""
    ready = sse(*(chunk({"content": f"{number} "}) for number in range(50)))

    async def main(client: Any) -> Any:
        async with AsyncSwarm(client).run(Agent(), HI, stream=True) as stream:
            assert await anext(stream) == {"delim": "start"}
            assert (await anext(stream))["content"] == "0 "
        return stream.response

    with Loopback(Answer(*ready.steps[:2], 60.0, headers=ready.headers)) as server:
        response = asyncio.run(main(kind(server)))
        assert response.stop_reason == "cancelled"
        assert response.text == "0 "
        server.wait_until(lambda: server.open_connections == 0)


def test_many_runs_in_one_event_loop() -> None:
    """P12"""

    async def main(server: Loopback) -> list[str]:
        async with openai.AsyncOpenAI(base_url=server.url, api_key="sk-test", max_retries=0) as client:
            swarm = AsyncSwarm(client)
            responses = await asyncio.gather(*(swarm.run(Agent(), HI) for _ in range(5)))
        return [response.text for response in responses]

    with Loopback(served(["hello"] * 5)) as server:
        assert asyncio.run(main(server)) == ["hello"] * 5
