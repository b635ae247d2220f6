"""The whole way, over real HTTP on loopback: a consumer that leaves at any event leaves no open connection and asks nothing more."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import Any

import pytest

from swarm import Agent, AsyncSwarm, ChatClient, Response, Swarm
from swarm.drivers.threads import POOL
from swarm.errors import ModelTimeout, StreamBroken
from swarm.events import ToolStarted
from tests.look import is_valid
from tests.loopback import CUT, HANG, WAIT, Answer, Loopback, Request, chunk, completion, json_answer, sse, text_chunks, tool_call
from tests.modes import Drive

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


def busy_workers() -> int:
    """Worker threads of the library that have something to do."""
    return sum(thread.name == "swarm-worker" for thread in threading.enumerate()) - POOL._idle


HALF = [chunk({"role": "assistant", "content": ""}), chunk({"content": "one "})]


@pytest.mark.parametrize("way", ["aclose", "break", "cancel", "task", "whole"])
@pytest.mark.parametrize("parallel", [False, True])
def test_a_hundred_hard_cancels_leave_no_connection_no_task_and_no_busy_thread(way: str, parallel: bool) -> None:
    """X03, D48, D49: in the middle of a reply, of an answer that never comes, or of two agents that are asked side by side."""
    inner = Agent(name="Inner", instructions="inner")
    outer = Agent(name="Outer", functions=[inner.as_tool()])
    ask = {"id": "", "type": "function", "function": {"name": "inner", "arguments": '{"input": "q"}'}}
    both = [chunk({"role": "assistant", "content": None, "tool_calls": [{**ask, "index": 0, "id": "a"}, {**ask, "index": 1, "id": "b"}]})]

    def script(request: Request) -> Answer:
        is_inner = request.json["messages"][0]["content"] == "inner"
        if not parallel or is_inner:
            return sse(*HALF, WAIT) if request.json.get("stream") else HANG
        if request.json.get("stream"):
            return sse(*both, chunk({}, "tool_calls"))
        return json_answer(completion(None, [{**ask, "id": "a"}, {**ask, "id": "b"}]))

    async def one(swarm: AsyncSwarm, provider: Loopback, expected: int) -> Response | None:
        if way in ("task", "whole"):
            stream: Any = None
            run: Any = swarm.run(outer, "go") if way == "whole" else drained(stream := swarm.stream(outer, "go"))
            task = asyncio.create_task(run)
            while len(provider.requests) < expected:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
            return stream.response if stream is not None else caught.value.response  # type: ignore[attr-defined]
        stream = swarm.stream(outer, "go")
        async with stream:
            async for _ in stream:
                if len(provider.requests) >= expected:
                    if way == "aclose":
                        await stream.aclose()
                    elif way == "cancel":
                        stream.cancel()
                    else:
                        break
        return stream.response

    async def main(provider: Loopback) -> None:
        async with ChatClient(provider.url) as client:
            swarm = AsyncSwarm(client, parallel_tools=parallel)
            for number in range(20 if parallel else 100):
                before = len(provider.requests)
                response = await one(swarm, provider, before + (3 if parallel else 1))
                assert response is not None and response.stop_reason == "cancelled", number
                assert is_valid(response.messages)
            assert asyncio.all_tasks() == {asyncio.current_task()}
            await asyncio.to_thread(provider.wait_until, lambda: provider.open_connections <= int(parallel))  # one is kept for the next
        assert asyncio.all_tasks() == {asyncio.current_task()}

    with Loopback(script) as provider:
        asyncio.run(main(provider))
        provider.wait_until(lambda: provider.open_connections == 0)
        assert busy_workers() == 0


async def drained(stream: Any) -> None:
    async for _ in stream:
        pass


def test_a_graceful_cancel_of_an_async_stream_completes_its_turn() -> None:
    """X03: the tool that runs is answered, nothing more is asked, and the connection is kept for the next run."""

    async def main(provider: Loopback) -> Response:
        async with ChatClient(provider.url) as client:
            stream = AsyncSwarm(client).stream(AGENT, "go")
            async for event in stream:
                if isinstance(event, ToolStarted):
                    stream.cancel(after_turn=True)
            assert provider.open_connections == 1
            assert stream.response is not None
            return stream.response

    with server() as provider:
        response = asyncio.run(main(provider))
        assert [message["content"] for message in response.messages] == [None, "pong 1"]
        assert (response.stop_reason, len(provider.requests)) == ("cancelled", 1)


@pytest.mark.parametrize("mode", ["sync", "async", "sync-stream", "async-stream"])
def test_an_agents_model_calls_may_have_a_time_limit(mode: str) -> None:
    """X06: `model_settings` reaches our client as it reaches any other; what was done before is kept."""
    slow = Agent(functions=[ping], model_settings={"timeout": 0.15})
    first = sse(*CALLING) if mode.endswith("stream") else json_answer(completion(None, [tool_call("ping", {"n": 1})]))
    with Loopback(first, HANG) as provider, ChatClient(provider.url) as client, pytest.raises(ModelTimeout) as caught:
        Drive(mode)(slow, "go", client)
    assert caught.value.response is not None
    assert [message["content"] for message in caught.value.response.messages] == [None, "pong 1"]
    assert "timeout" not in provider.requests[0].json
