"""Clients of other people's making, as a run meets them: objects of the official package, simple look-alikes, mocks, plain dicts.

Each is scripted like ScriptedModel and has nothing but `chat.completions.create`, sync or async:

    client = ForeignClient(["Hello"], "openai", is_async=True)
    Swarm(client).run(Agent(), "hi")
    client.requests[0]["messages"]
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

from openai.types.chat import ChatCompletion, ChatCompletionChunk

from swarm import Agent
from swarm.effects import CallModel
from swarm.models.scripted import ScriptedModel
from tests.loopback import Answer, Request, json_answer, sse


def completion(message: dict[str, Any] | None, finish_reason: str | None = "stop", **fields: Any) -> dict[str, Any]:
    """The body of a whole answer."""
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return {"id": "c-1", "object": "chat.completion", "created": 1, "model": "gpt-4o", "choices": [choice], **fields}


def chunk(delta: dict[str, Any], finish_reason: str | None = None, **fields: Any) -> dict[str, Any]:
    """The body of one chunk of a stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o", "choices": [choice], **fields}


def as_openai(body: dict[str, Any]) -> Any:
    """The object that the official package makes of a body."""
    kind = ChatCompletion if body["object"] == "chat.completion" else ChatCompletionChunk
    return kind.model_validate(
        {"id": "c-1", "created": 1, "model": "gpt-4o", **{key: item for key, item in body.items() if item is not None}}
    )


def as_namespace(body: Any) -> Any:
    """A simple object with the fields as attributes."""
    return json.loads(json.dumps(body), object_hook=lambda fields: SimpleNamespace(**fields))


def as_mock(body: Any) -> Any:
    """A MagicMock as people's tests build it: the fields that were set, and an answer for every other name."""
    if isinstance(body, list):
        return [as_mock(item) for item in body]
    if not isinstance(body, dict):
        return body
    mock = MagicMock()
    for name, value in body.items():
        setattr(mock, name, as_mock(value))
    return mock


SHAPES: dict[str, Callable[[Any], Any]] = {"openai": as_openai, "namespace": as_namespace, "mock": as_mock, "dict": lambda body: body}


class ForeignClient:
    """A client that answers with a script.

    Args:
        turns: as for ScriptedModel.
        shape: one of SHAPES, what its answers are made of.
        is_async: whether `create` returns an awaitable. It is a plain function then too, as that of the official client looks like one.

    Attributes:
        open_streams: streams that were begun and neither read to their end nor closed.
    """

    def __init__(self, turns: Sequence[Any], shape: str = "openai", is_async: bool = False) -> None:
        self._model = ScriptedModel(turns)
        self._shaped = SHAPES[shape]
        self.open_streams = 0
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self._acreate if is_async else self._create))

    @property
    def requests(self) -> list[dict[str, Any]]:
        """What was asked for."""
        return self._model.requests

    def _create(self, **request: Any) -> Any:
        call = CallModel(Agent(), self._model, request)
        if request.get("stream"):
            return Chunks(self, self._model.stream(call))
        reply = self._model.complete(call)
        return self._shaped(completion(reply.message, reply.finish_reason, usage=reply.usage))

    def _acreate(self, **request: Any) -> Any:
        async def answer() -> Any:
            answered = self._create(**request)
            return AsyncChunks(answered) if request.get("stream") else answered

        return answer()

    def shaped(self, body: dict[str, Any]) -> Any:
        """A chunk as this client hands it out."""
        return self._shaped({"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o", **body})


class Chunks:
    """A stream of a foreign client: iterable, and closed by `close`."""

    def __init__(self, client: ForeignClient, chunks: Any) -> None:
        self._client = client
        self._chunks = chunks
        self._open = True
        client.open_streams += 1

    def __iter__(self) -> Iterator[Any]:
        for body in self._chunks:
            yield self._client.shaped(body)
        self.close()

    def close(self) -> None:
        """Let go of the connection."""
        self._client.open_streams -= self._open
        self._open = False


class AsyncChunks:
    """The same, async; its `close` is a coroutine function, as the official client's is."""

    def __init__(self, chunks: Chunks) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[Any]:
        for body in self._chunks:
            yield body

    async def close(self) -> None:
        """Let go of the connection."""
        self._chunks.close()


def mock_client(*bodies: dict[str, Any], shape: str = "openai") -> Any:
    """A MagicMock client as tutorials write it: `create` is a mock that gives one answer after the other.

    Args:
        bodies: from `completion`; the last one is given again and again.
        shape: one of SHAPES.
    """
    answers = [SHAPES[shape](body) for body in bodies]
    client = MagicMock()
    client.chat.completions.create = MagicMock(side_effect=[*answers, *answers[-1:] * 20])
    return client


def served(turns: Sequence[Any]) -> Callable[[Request], Answer]:
    """A script for a Loopback server that answers like ScriptedModel, in one piece or as a stream, whatever is asked for.

    Each answer closes its connection, since a client's pool may outlive the event loop of a test.
    """
    model = ScriptedModel(turns)
    headers = {"Connection": "close"}

    def answer(request: Request) -> Answer:
        wanted = request.json
        call = CallModel(Agent(), model, wanted)
        if wanted.get("stream"):
            return sse(*[{"id": "c-1", "created": 1, "model": wanted["model"], **body} for body in model.stream(call)], headers=headers)
        reply = model.complete(call)
        return json_answer(completion(reply.message, reply.finish_reason, usage=reply.usage), headers=headers)

    return answer
