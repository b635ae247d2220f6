"""A swarm as a LangChain runnable. Written against langchain-core 1 (https://python.langchain.com/api_reference/core/runnables.html)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Literal, cast

from langchain_core.messages import AIMessageChunk
from langchain_core.runnables import Runnable, RunnableConfig

from ...core import AsyncSwarm, Swarm
from ...effects import Message
from ...events import Delta, Event, TurnStarted
from ...records import Response
from ...types import Agent
from .messages import about, answer, ours, theirs, usage


class SwarmRunnable(Runnable[Any, Any]):
    """What `as_runnable` makes; its arguments are explained there."""

    def __init__(
        self,
        agent: Agent,
        client: Any,
        async_client: Any,
        policies: Sequence[Any],
        output: Literal["message", "state"],
        run_options: dict[str, Any],
    ) -> None:
        self.name = agent.name
        self._agent = agent
        self._output = output
        self._swarm: Any = Swarm(client, policies=policies)
        self._async_swarm: Any = AsyncSwarm(client if async_client is None else async_client, policies=policies)
        self._options = run_options

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run to the end."""
        # The helpers look at which parameters a function has; their types know only some of what they take.
        return self._call_with_config(cast("Any", self._run), input, config, run_type="chain", **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The same in async code."""
        return await self._acall_with_config(cast("Any", self._arun), input, config, run_type="chain", **kwargs)

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Run, and give the text as it comes."""
        yield from self._transform_stream_with_config(iter([input]), cast("Any", self._streamed), config, run_type="chain", **kwargs)

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """The same in async code."""
        chunks = self._atransform_stream_with_config(_once(input), cast("Any", self._astreamed), config, run_type="chain", **kwargs)
        async for chunk in chunks:
            yield chunk

    def _run(self, given: Any, config: RunnableConfig) -> Any:
        agent, messages, context = self._asked(given, config)
        return self._result(self._swarm.run(agent, messages, context, **self._options))

    async def _arun(self, given: Any, config: RunnableConfig) -> Any:
        agent, messages, context = self._asked(given, config)
        return self._result(await self._async_swarm.run(agent, messages, context, **self._options))

    def _streamed(self, given: Iterator[Any], config: RunnableConfig) -> Iterator[Any]:
        for one in given:
            if self._output == "state":
                yield self._run(one, config)
                continue
            agent, messages, context = self._asked(one, config)
            chunks = Chunks()
            with self._swarm.stream(agent, messages, context, **self._options) as stream:
                for event in stream:
                    yield from chunks.of(event)
            yield chunks.last(stream.response)

    async def _astreamed(self, given: AsyncIterator[Any], config: RunnableConfig) -> AsyncIterator[Any]:
        async for one in given:
            if self._output == "state":
                yield await self._arun(one, config)
                continue
            agent, messages, context = self._asked(one, config)
            chunks = Chunks()
            async with self._async_swarm.stream(agent, messages, context, **self._options) as stream:
                async for event in stream:
                    for chunk in chunks.of(event):
                        yield chunk
            yield chunks.last(stream.response)

    def _asked(self, given: Any, config: RunnableConfig) -> tuple[Agent, list[Message], dict[str, Any]]:
        """Who begins, with what."""
        state = cast("dict[str, Any]", given if isinstance(given, dict) and "messages" in given else {"messages": given})
        configured: dict[str, Any] = config.get("configurable") or {}
        context = {**configured.get("context_variables", {}), **state.get("context_variables", {})}
        return state.get("agent") or self._agent, ours(state["messages"]), context

    def _result(self, response: Response) -> Any:
        if self._output == "message":
            return answer(response)
        return {
            "messages": [theirs(message) for message in response.messages],
            "agent": response.agent,
            "context_variables": response.context_variables,
            "response": response,
        }


class Chunks:
    """The text of a run as LangChain's chunks, which put together give its message; between two turns' texts an empty line."""

    def __init__(self) -> None:
        self._is_new = self._is_said = False

    def of(self, event: Event) -> Iterator[AIMessageChunk]:
        """The chunk for an event, if it holds text."""
        if isinstance(event, TurnStarted):
            self._is_new = True
        elif isinstance(event, Delta) and event.text:
            gap = "\n\n" if self._is_new and self._is_said else ""
            self._is_new, self._is_said = False, True
            yield AIMessageChunk(content=gap + event.text, name=event.agent)

    def last(self, response: Response | None) -> AIMessageChunk:
        """What is known at the end: as in the message of `invoke`."""
        assert response is not None  # the stream was read to its end
        whole = answer(response)
        text = "" if self._is_said else whole.content  # a function may have ended the run with a value that no model wrote
        return AIMessageChunk(
            content=text,
            name=whole.name,
            additional_kwargs=whole.additional_kwargs,
            response_metadata=about(response),
            usage_metadata=usage(response.usage),
            chunk_position="last",
        )


async def _once(item: Any) -> AsyncIterator[Any]:
    yield item
