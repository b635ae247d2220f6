"""The official client by hand, async."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from openai import AsyncOpenAI

from benchmarks.contestants.by_hand import CANNOT, Conversation, calls_of_object
from benchmarks.scenarios import TIMEOUT, USUAL, setting

__all__ = ["CANNOT"]

DISTRIBUTION = "openai"
IMPORT = "from openai import AsyncOpenAI"
IS_ASYNC = True
DIALECT = USUAL


def conversation(scenario: str, base: str) -> Callable[[], Awaitable[str]]:
    client = AsyncOpenAI(base_url=base, api_key="benchmark", max_retries=0, timeout=TIMEOUT)
    create: Any = client.chat.completions.create
    history = setting(scenario, False).history

    async def run() -> str:
        talk = Conversation(scenario, history)
        if scenario == "stream":
            return "".join([chunk.choices[0].delta.content or "" async for chunk in await create(**talk.request(stream=True))])
        while True:
            message = (await create(**talk.request())).choices[0].message
            talk.messages.append(message)
            if await talk.perform_async(calls_of_object(message)):
                return message.content

    return run


def agent(base: str) -> Callable[[], object]:
    raise NotImplementedError(CANNOT["agent"])
