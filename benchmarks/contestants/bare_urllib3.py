"""urllib3 by hand: the bare transport of sync code."""

from __future__ import annotations

from collections.abc import Callable

import urllib3
from pydantic_core import from_json, to_json

from benchmarks.contestants.by_hand import CANNOT, HEADERS, Conversation, calls_of, read_events
from benchmarks.scenarios import USUAL, setting

__all__ = ["CANNOT"]

DISTRIBUTION = "urllib3"
IMPORT = "import urllib3"
IS_ASYNC = False
DIALECT = USUAL


def conversation(scenario: str, base: str) -> Callable[[], str]:
    pool = urllib3.PoolManager(maxsize=1000)
    url = f"{base}/chat/completions"
    history = setting(scenario, False).history

    def stream(talk: Conversation) -> str:
        pieces: list[str] = []
        pending = b""
        response = pool.request("POST", url, body=to_json(talk.request(stream=True)), headers=HEADERS, preload_content=False)
        for data in response.stream(65536):
            pending = read_events(pending + data, pieces)
        response.release_conn()
        return "".join(pieces)

    def run() -> str:
        talk = Conversation(scenario, history)
        if scenario == "stream":
            return stream(talk)
        while True:
            response = pool.request("POST", url, body=to_json(talk.request()), headers=HEADERS)
            message = from_json(response.data)["choices"][0]["message"]
            talk.messages.append(message)
            if talk.perform(calls_of(message)):
                return message["content"]

    return run


def agent(base: str) -> Callable[[], object]:
    raise NotImplementedError(CANNOT["agent"])
