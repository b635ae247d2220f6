"""What the suites for models share: how the model under test is asked, and what any reply looks like."""

from __future__ import annotations

from typing import Any

from ...assembly import Assembler
from ...effects import CallModel, Reply
from ...types import Agent
from ..asking import aask, aread, ask, read
from .rules import as_json, require, run_async

WAYS = ("sync", "async")


class ModelSuite:
    """Asks the model under test.

    Attributes:
        agent: who asks; its `model` is the name in the requests.
        text: what the user says.
        is_deterministic: whether the same request gets the same answer, which some rules compare.
    """

    agent = Agent(name="Conformance")
    text = "Say hello."
    is_deterministic = True

    def make(self) -> Any:
        """A new model. What it does is said by the suite."""
        raise NotImplementedError(f"{type(self).__name__} needs a method make(self) that returns the model under test")

    def request(self) -> dict[str, Any]:
        """The keyword arguments of the request."""
        return {"model": self.agent.model, "messages": [{"role": "user", "content": self.text}]}

    def call(self, model: Any, stream: bool = False) -> CallModel:
        """A call as the loop makes it."""
        return CallModel(self.agent, model, {**self.request(), **({"stream": True} if stream else {})}, stream)

    def asked(self, way: str, model: Any) -> Reply:
        """The whole answer of a model, in one of WAYS."""
        call = self.call(model)
        return checked(ask(call) if way == "sync" else run_async(aask(call)))

    def streamed(self, way: str, model: Any) -> list[Any]:
        """The chunks of a model's answer, in one of WAYS."""
        call = self.call(model, stream=True)
        chunks = list(read(call)) if way == "sync" else run_async(_all(call))
        require(chunks, "stream() gives the answer in chunks.", "no chunk")
        return chunks


def checked(reply: Any) -> Reply:
    """What a model answered, if it is a Reply."""
    require(isinstance(reply, Reply), "complete() returns a swarm.effects.Reply, or something to await that gives one.", repr(reply))
    return reply


async def _all(call: CallModel) -> list[Any]:
    return [chunk async for chunk in aread(call)]


def check_message(message: Any) -> None:
    """The rules for the message of a reply."""
    require(isinstance(message, dict), "Reply.message is a dict.", repr(message))
    as_json(message, "Reply.message is plain JSON.")
    shown = repr(message)
    require(message.get("role") == "assistant", 'Reply.message has the role "assistant".', shown)
    require(isinstance(message.get("content"), str | list | None), "The content of a message is a text, a list of parts or null.", shown)
    require(isinstance(message.get("tool_calls"), list | None), "tool_calls is a list, null or absent.", shown)


def check_end(reply: Reply) -> None:
    """The rules for what a reply says of itself."""
    reason: Any = reply.finish_reason
    usage: Any = reply.usage
    require(isinstance(reason, str | None), "finish_reason is a text or None.", repr(reason))
    shown = repr(usage)
    require(isinstance(usage, dict | None), "usage is a dict as the API has it, or None.", shown)
    counts: dict[str, Any] = reply.usage or {}
    for name in ("prompt_tokens", "completion_tokens"):
        count = counts.get(name, 0)
        require(type(count) is int and count >= 0, f"usage[{name!r}] is a whole number of tokens.", shown)


def assembled(chunks: list[Any]) -> Reply:
    """What the chunks of a stream say together."""
    assembler = Assembler("Conformance")
    for chunk in chunks:
        assembler.feed(chunk)
    return assembler.reply()
