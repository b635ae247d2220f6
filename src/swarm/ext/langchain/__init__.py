"""LangChain (https://python.langchain.com): its tools as functions of agents, and a swarm as one of its runnables.

`langchain-core` is loaded when a runnable is made, or a tool shows more than text; it is in the extra `langchain`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from ...errors import ConfigError
from ...types import Agent
from .tools import from_langchain

if TYPE_CHECKING:
    from .runnable import SwarmRunnable

__all__ = ["as_runnable", "from_langchain"]


def as_runnable(
    agent: Agent,
    client: Any = None,
    *,
    async_client: Any = None,
    policies: Sequence[Any] = (),
    output: Literal["message", "state"] = "message",
    **run_options: Any,
) -> SwarmRunnable:
    """A swarm as a LangChain runnable: `prompt | as_runnable(agent) | StrOutputParser()`.

    It takes a text, a prompt, a message or messages, or a dict with `messages` and, if wanted, `agent` (who begins) and
    `context_variables`. The latter may also stand in the config, for a chain in which a prompt comes before:
    `{"configurable": {"context_variables": {...}}}`. Of the config the callbacks, tags, metadata, run name and `max_concurrency` have their
    usual meaning; a LangChain tool that is called sees them too. What a run raises is raised.

    Args:
        agent: who begins.
        client: who is asked, as for `Swarm`.
        async_client: who is asked by `ainvoke`, `astream` and `abatch`, where that is another than `client`.
        policies: as for `Swarm`.
        output: "message": the last text as an AIMessage, whose `response_metadata` says who wrote it and why the run ended; streamed as
            AIMessageChunks, those of all turns. "state": a dict with `messages`, the new ones, `agent`, who answers next,
            `context_variables` and `response`, the Response; streamed as one.
        run_options: keyword arguments for each run: `limits`, `max_turns`, `model_override`, `timeout`.

    Raises:
        ConfigError: the extra `langchain` is not installed.
        ValueError: another `output`.
    """
    if output not in ("message", "state"):
        raise ValueError(f"output={output!r} must be 'message' or 'state'")
    try:
        from .runnable import SwarmRunnable
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "langchain_core":
            raise
        raise ConfigError('as_runnable needs langchain_core, which is not installed: pip install "openswarm[langchain]"') from None
    return SwarmRunnable(agent, client, async_client, policies, output, run_options)
