"""The official client by hand, sync."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from openai import OpenAI

from benchmarks.contestants.by_hand import CANNOT, Conversation, calls_of_object
from benchmarks.scenarios import TIMEOUT, USUAL, setting

__all__ = ["CANNOT"]

DISTRIBUTION = "openai"
IMPORT = "from openai import OpenAI"
IS_ASYNC = False
DIALECT = USUAL


def conversation(scenario: str, base: str) -> Callable[[], str]:
    client = OpenAI(base_url=base, api_key="benchmark", max_retries=0, timeout=TIMEOUT)
    create: Any = client.chat.completions.create
    history = setting(scenario, False).history

    def run() -> str:
        talk = Conversation(scenario, history)
        if scenario == "stream":
            return "".join(chunk.choices[0].delta.content or "" for chunk in create(**talk.request(stream=True)))
        while True:
            message = create(**talk.request()).choices[0].message
            talk.messages.append(message)
            if talk.perform(calls_of_object(message)):
                return message.content

    return run


def agent(base: str) -> Callable[[], object]:
    raise NotImplementedError(CANNOT["agent"])
