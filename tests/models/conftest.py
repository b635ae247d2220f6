"""Each test of the client runs twice: through its sync half and through its async half."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import aclosing
from typing import Any

import pytest

from swarm.effects import CallModel, Reply
from swarm.models.chat import ChatClient
from tests.loopback import Answer, Loopback

HELLO = [{"role": "user", "content": "Hi"}]
VARIABLES = ["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "SSL_CERT_FILE", "SSL_CERT_DIR"]
PROXIES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"]


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing from the machine that runs the tests."""
    for name in [*VARIABLES, *PROXIES, *map(str.lower, PROXIES)]:
        monkeypatch.delenv(name, raising=False)


def call(client: Any = None, timeout: float | None = None, settings: dict[str, Any] | None = None, **request: Any) -> CallModel:
    """A model call as a driver makes it; `settings` are further arguments of the request, of any name."""
    agent: Any = None
    return CallModel(agent, client, {"model": "gpt-4o", "messages": HELLO, **request, **(settings or {})}, timeout=timeout)


class Ask:
    """Calls a client in one of the two ways; in the async way all calls of a test run in one event loop.

    Attributes:
        mode: "sync" or "async".
    """

    def __init__(self, mode: str, runner: asyncio.Runner) -> None:
        self.mode = mode
        self._runner = runner

    def complete(self, client: ChatClient, timeout: float | None = None, **request: Any) -> Reply:
        """One whole answer."""
        effect = call(client, timeout, **request)
        return client.complete(effect) if self.mode == "sync" else self._runner.run(client.acomplete(effect))

    def stream(
        self,
        client: ChatClient,
        watch: Callable[[dict[str, Any]], Any] = lambda _: None,
        take: int | None = None,
        timeout: float | None = None,
        **request: Any,
    ) -> list[dict[str, Any]]:
        """The chunks of an answer.

        Args:
            client: who is asked.
            watch: sees each chunk as it comes.
            take: close the stream after so many.
            timeout: seconds for the call.
            request: further arguments of `create`.
        """
        effect = call(client, timeout, **request)
        if self.mode == "async":
            return self._runner.run(self._astream(client, effect, watch, take))
        chunks: list[dict[str, Any]] = []
        source = client.stream(effect)
        for chunk in source:
            watch(chunk)
            chunks.append(chunk)
            if len(chunks) == take:
                source.close()
        return chunks

    async def _astream(self, client: ChatClient, effect: CallModel, watch: Callable[[Any], Any], take: int | None) -> list[dict[str, Any]]:
        chunks: list[dict[str, Any]] = []
        async with aclosing(client.astream(effect)) as source:
            async for chunk in source:
                watch(chunk)
                chunks.append(chunk)
                if len(chunks) == take:
                    break
        return chunks

    def close(self, client: ChatClient) -> None:
        """Close the client's connections."""
        if self.mode == "sync":
            client.close()
        else:
            self._runner.run(client.aclose())


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Iterator[Ask]:
    """Calls a client, sync and async."""
    with asyncio.Runner() as runner:
        yield Ask(request.param, runner)


@pytest.fixture
def serve() -> Iterator[Callable[..., Loopback]]:
    """Starts loopback servers with the answers given, and stops them when the test ends."""
    servers: list[Loopback] = []

    def start(*script: Answer | Callable[..., Answer], **options: Any) -> Loopback:
        servers.append(Loopback(*script, **options).__enter__())
        return servers[-1]

    yield start
    for server in servers:
        server.__exit__(None, None, None)
