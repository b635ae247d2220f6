"""aiohttp by hand: the bare transport of asyncio code."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import aiohttp
from pydantic_core import from_json, to_json

from benchmarks.contestants.by_hand import CANNOT, HEADERS, Conversation, calls_of, read_events
from benchmarks.scenarios import USUAL, setting

__all__ = ["CANNOT"]

DISTRIBUTION = "aiohttp"
IMPORT = "import aiohttp"
IS_ASYNC = True
DIALECT = USUAL


def conversation(scenario: str, base: str) -> Callable[[], Awaitable[str]]:
    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1000))
    url = f"{base}/chat/completions"
    history = setting(scenario, False).history

    async def stream(talk: Conversation) -> str:
        pieces: list[str] = []
        pending = b""
        async with session.post(url, data=to_json(talk.request(stream=True)), headers=HEADERS) as response:
            async for data in response.content.iter_any():
                pending = read_events(pending + data, pieces)
        return "".join(pieces)

    async def run() -> str:
        talk = Conversation(scenario, history)
        if scenario == "stream":
            return await stream(talk)
        while True:
            async with session.post(url, data=to_json(talk.request()), headers=HEADERS) as response:
                message = from_json(await response.read())["choices"][0]["message"]
            talk.messages.append(message)
            if await talk.perform_async(calls_of(message)):
                return message["content"]

    return run


def agent(base: str) -> Callable[[], object]:
    raise NotImplementedError(CANNOT["agent"])
