"""The whole way, over real HTTP on loopback: a consumer that leaves at any event leaves no open connection and asks nothing more."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from swarm import Agent, AsyncSwarm, ChatClient, Response, Swarm
from swarm.errors import StreamBroken
from tests.loopback import CUT, Loopback, chunk, completion, json_answer, sse, text_chunks, tool_call

CALL = {"index": 0, **tool_call("ping", {"n": 1})}
CALLING = [chunk({"role": "assistant", "content": None, "tool_calls": [CALL]}), chunk({}, "tool_calls")]


def ping(n: int) -> str:
    return f"pong {n}"


def server() -> Loopback:
    return Loopback(sse(*CALLING), sse(*text_chunks("one ", "two ", "three")))


EVENTS = 13
AGENT = Agent(functions=[ping])


def test_how_many_events_there_are() -> None:
    with server() as provider, ChatClient(provider.url) as client:
        assert len(list(Swarm(client).stream(AGENT, "go"))) == EVENTS


@pytest.mark.parametrize("stop_at", range(EVENTS + 1))
@pytest.mark.parametrize("way", ["close", "drop"])
def test_a_sync_consumer_leaves(stop_at: int, way: str) -> None:
    with server() as provider, ChatClient(provider.url) as client:
        stream = Swarm(client).stream(AGENT, "go")
        for _ in range(stop_at):
            next(stream)
        asked = len(provider.requests)
        if way == "close":
            stream.close()
        del stream
        client.close()
        provider.wait_until(lambda: provider.open_connections == 0)
        assert len(provider.requests) == asked


@pytest.mark.parametrize("stop_at", range(EVENTS + 1))
@pytest.mark.parametrize("way", ["close", "drop"])
def test_an_async_consumer_leaves(stop_at: int, way: str) -> None:
    async def main(provider: Loopback) -> int:
        client = ChatClient(provider.url)
        stream = AsyncSwarm(client).stream(AGENT, "go")
        for _ in range(stop_at):
            await anext(stream)
        asked = len(provider.requests)
        if way == "close":
            await stream.aclose()
        del stream
        gc.collect()
        return asked

    with server() as provider:
        asked = asyncio.run(main(provider))
        provider.wait_until(lambda: provider.open_connections == 0)
        assert len(provider.requests) == asked


def test_a_consumer_that_leaves_in_the_middle_of_a_reply_closes_its_connection_at_once() -> None:
    with Loopback(sse(*text_chunks("one ", "two "), 5.0, chunk({"content": "late"}))) as provider, ChatClient(provider.url) as client:
        with Swarm(client).stream(AGENT, "go") as stream:
            for _ in range(3):
                next(stream)
        provider.wait_until(lambda: provider.open_connections == 0)
        assert stream.response is not None
        assert stream.response.text == "one two "


@pytest.mark.parametrize("mode", ["sync", "async", "sync-stream", "async-stream"])
def test_a_run_in_every_mode(mode: str) -> None:
    """P13: a local endpoint by configuration only; the connection is used again."""
    whole = [json_answer(completion(None, [tool_call("ping", {"n": 1})])), json_answer(completion("done"))]
    streamed = [sse(*CALLING), sse(*text_chunks("do", "ne"))]
    with Loopback(*(streamed if mode.endswith("stream") else whole)) as provider:
        response = asyncio.run(finished(mode, provider.url)) if mode.startswith("async") else finished_sync(mode, provider.url)
        assert [m["content"] for m in response.messages] == [None, "pong 1", "done"]
        assert provider.connections == 1
        assert all("sender" not in m for r in provider.requests for m in r.json["messages"])
        assert "tool_calls" in provider.requests[1].json["messages"][2]


def finished_sync(mode: str, url: str) -> Response:
    with ChatClient(url) as client:
        if mode == "sync":
            return Swarm(client).run(AGENT, "go")
        return list(Swarm(client).run(AGENT, "go", stream=True))[-1]["response"]


async def finished(mode: str, url: str) -> Response:
    async with ChatClient(url) as client:
        if mode == "async":
            return await AsyncSwarm(client).run(AGENT, "go")
        items: list[dict[str, Any]] = [item async for item in AsyncSwarm(client).run(AGENT, "go", stream=True)]
        return items[-1]["response"]


def test_a_connection_cut_after_text_keeps_the_text() -> None:
    """S15, D12"""
    with Loopback(sse(*text_chunks("one ")[:2], CUT, done=False)) as provider, ChatClient(provider.url) as client:
        with pytest.raises(StreamBroken) as caught:
            list(Swarm(client).stream(AGENT, "go"))
        assert caught.value.partial is not None
        assert caught.value.partial["content"] == "one "
        assert caught.value.response is not None


def test_a_hundred_hard_cancels_over_http_leave_no_connection() -> None:
    """X03"""
    with Loopback(sse(*text_chunks("one ", "two ", "three"))) as provider, ChatClient(provider.url) as client:
        for number in range(100):
            stream = Swarm(client).stream(AGENT, "go")
            for _ in range(2 + number % 3):
                next(stream)
            stream.close()
        # An answer that had come whole has left its connection to the next call.
        provider.wait_until(lambda: provider.open_connections <= 1)
        client.close()
        provider.wait_until(lambda: provider.open_connections == 0)
