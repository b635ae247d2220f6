"""A swarm as a LangChain runnable."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tools import tool as langchain_tool
from pydantic import BaseModel

from swarm import Agent, Limits, Result, ScriptedModel, tool
from swarm.effects import CallModel, Reply
from swarm.errors import ConfigError, ModelError
from swarm.ext.langchain import as_runnable, from_langchain
from swarm.models.scripted import Turn, call

PROMPT = ChatPromptTemplate([("system", "Be kind."), ("user", "{question}")])


@langchain_tool
def look_up(order: int) -> str:
    """Look up an order."""
    return f"Order {order} is on its way."


def to_refunds() -> Agent:
    """Hand over to refunds."""
    return Agent(name="Refunds")


def shop(*turns: Any) -> tuple[Agent, ScriptedModel]:
    return Agent(name="The Shop", functions=[from_langchain(look_up), to_refunds]), ScriptedModel(turns)


class Notes(BaseCallbackHandler):
    """What callbacks are told."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Any]] = []

    def on_chain_start(self, serialized: Any, inputs: Any, *, tags: Any = None, name: str = "", **_: Any) -> None:
        self.seen.append((name, "mine" in (tags or ())))

    def on_tool_start(self, serialized: Any, input_str: str, *, tags: Any = None, **_: Any) -> None:
        self.seen.append((serialized["name"], "mine" in (tags or ())))

    def on_chain_error(self, error: BaseException, **_: Any) -> None:
        self.seen.append(("error", str(error)))


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])
def test_in_a_chain(way: str) -> None:
    """D96: between a prompt and a parser, with callbacks and tags that reach the tools of LangChain."""
    agent, model = shop(call("look_up", {"order": 7}), "It is on its way.")
    notes = Notes()
    chain: Any = PROMPT | as_runnable(agent, model) | StrOutputParser()
    asked: Any = ({"question": "Where is it?"}, {"callbacks": [notes], "tags": ["mine"]})
    assert _ask(chain, way, *asked) == "It is on its way."
    assert [message["role"] for message in model.requests[0]["messages"]] == ["system", "system", "user"]
    assert ("The Shop", True) in notes.seen
    assert ("look_up", True) in notes.seen


def _ask(chain: Any, way: str, *asked: Any) -> Any:
    if way == "invoke":
        return chain.invoke(*asked)
    if way == "ainvoke":
        return asyncio.run(chain.ainvoke(*asked))
    if way == "stream":
        return "".join(chain.stream(*asked))

    async def read() -> str:
        return "".join([piece async for piece in chain.astream(*asked)])

    return asyncio.run(read())


def test_the_message_says_who_why_and_how_much() -> None:
    """D96"""
    message = as_runnable(*shop(call("to_refunds"), "Done.")).invoke("Money back")
    assert isinstance(message, AIMessage)
    assert (message.content, message.name) == ("Done.", "Refunds")
    assert message.response_metadata == {"agent": "Refunds", "stop_reason": "complete"}
    assert message.usage_metadata is not None
    assert message.usage_metadata["total_tokens"] > 0


@pytest.mark.parametrize("is_async", [False, True])
def test_chunks_put_together_are_the_message(is_async: bool) -> None:
    """D96: more than one piece; texts of two turns are apart; what is known at the end comes last."""
    agent, model = shop(Turn(text="Let me look.", calls=[call("look_up", {"order": 7})]), "It is on its way.")
    runnable = as_runnable(agent, model)

    async def read() -> list[AIMessageChunk]:
        return [chunk async for chunk in runnable.astream("Where?")]

    chunks: list[AIMessageChunk] = asyncio.run(read()) if is_async else list(runnable.stream("Where?"))
    assert len(chunks) > 3
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole = whole + chunk
    assert whole.content == "Let me look.\n\nIt is on its way."
    assert {chunk.name for chunk in chunks} == {"The Shop"}
    assert whole.response_metadata == {"agent": "The Shop", "stop_reason": "complete"}
    assert whole.usage_metadata is not None


def test_a_state_goes_in_and_comes_out() -> None:
    """D96: messages of LangChain, the agent and the context variables, to go on with."""
    agent, model = shop(call("look_up", {"order": 7}), call("to_refunds"), "Refunded.", "You are welcome.")
    runnable = as_runnable(agent, model, output="state")
    first = runnable.invoke({"messages": [("user", "Money back for 7")], "context_variables": {"user": "ana"}})
    looked, found, _, handed, last = first["messages"]
    assert isinstance(looked, AIMessage)
    assert (looked.name, looked.tool_calls[0]["args"]) == ("The Shop", {"order": 7})
    assert isinstance(found, ToolMessage)
    assert (found.content, found.name) == ("Order 7 is on its way.", "look_up")
    assert handed.content == '{"assistant": "Refunds"}'
    assert (last.content, first["agent"].name, first["context_variables"]) == ("Refunded.", "Refunds", {"user": "ana"})
    assert first["response"].stop_reason == "complete"

    second = runnable.invoke({**first, "messages": [HumanMessage("Money back for 7"), *first["messages"], HumanMessage("Thanks")]})
    sent = model.requests[-1]["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool", "assistant", "tool", "assistant", "user"]
    assert not any("name" in message for message in sent), "providers refuse names like 'The Shop'"
    assert second["messages"][-1].content == "You are welcome."


def test_other_inputs() -> None:
    """D96: a message, a list, images; a system message among them stays one."""
    agent, model = shop("1", "2", "3")
    runnable = as_runnable(agent, model)
    picture = {"type": "image", "base64": "aGk=", "mime_type": "image/png"}
    runnable.invoke(HumanMessage("Hello"))
    runnable.invoke([SystemMessage("Short."), HumanMessage([{"type": "text", "text": "What is it?"}, picture])])
    runnable.invoke({"messages": "Hello"})
    assert [request["messages"][-1]["content"] for request in model.requests[::2]] == ["Hello", "Hello"]
    seen = model.requests[1]["messages"]
    assert seen[1] == {"role": "system", "content": "Short."}
    assert seen[2]["content"][1] == {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    with pytest.raises((ValueError, NotImplementedError)):
        runnable.invoke(7)


def test_context_variables_of_the_config() -> None:
    """D96: for a chain in which a prompt comes before."""

    def whoami(context_variables: dict[str, Any]) -> str:
        """Say who."""
        return context_variables["user"]

    runnable = as_runnable(Agent(functions=[whoami]), ScriptedModel([call("whoami"), "Ana."]), output="state")
    state = (PROMPT | runnable).invoke({"question": "Who?"}, {"configurable": {"context_variables": {"user": "ana"}}})
    assert state["messages"][1].content == "ana"


class Counting:
    """Repeats what it is asked, and counts how many ask at once; two must, or nobody is answered."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self._lock = threading.Lock()
        self._two = threading.Barrier(2)

    def begin(self) -> None:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)

    def end(self, asked: CallModel) -> Reply:
        with self._lock:
            self.now -= 1
        return Reply({"role": "assistant", "content": asked.request["messages"][-1]["content"]}, finish_reason="stop")

    def complete(self, call: CallModel) -> Any:
        self.begin()
        self._two.wait(20)
        return self.end(call)

    def stream(self, call: CallModel) -> Any:
        raise AssertionError("nobody streams here")


class AsyncCounting(Counting):
    async def complete(self, call: CallModel) -> Reply:
        self.begin()
        while self.most < 2:
            await asyncio.sleep(0)
        return self.end(call)


@pytest.mark.parametrize("model", [Counting(), AsyncCounting()])
def test_batches_with_a_limit(model: Counting) -> None:
    """D96: `max_concurrency` bounds how many run at once."""
    runnable = as_runnable(Agent(), model) | StrOutputParser()
    asked = [str(number) for number in range(6)]
    config: Any = {"max_concurrency": 2}
    if isinstance(model, AsyncCounting):
        assert asyncio.run(runnable.abatch(asked, config)) == asked
    else:
        assert runnable.batch(asked, config) == asked
    assert model.most == 2


def test_what_a_run_raises_is_raised() -> None:
    """D96: to the caller and to callbacks."""
    notes = Notes()
    with pytest.raises(ModelError):
        as_runnable(Agent(), ScriptedModel([ModelError("gone")])).invoke("Hi", {"callbacks": [notes]})
    assert notes.seen[-1] == ("error", "gone")


def test_typed_answers_and_values_that_end_a_run() -> None:
    """D96: as LangChain has them."""

    class City(BaseModel):
        name: str

    @tool
    def finish() -> Result:
        """End it."""
        return Result(value="It is over.", stop=True)

    message = as_runnable(Agent(output_type=City), ScriptedModel(['{"name": "Graz"}'])).invoke("Where?")
    assert message.additional_kwargs["parsed"] == City(name="Graz")
    runnable = as_runnable(Agent(functions=[finish]), ScriptedModel([call("finish"), call("finish")]))
    assert runnable.invoke("Go").content == "It is over."
    assert "".join(chunk.content for chunk in runnable.stream("Go")) == "It is over."


def test_limits_hold() -> None:
    """D96: run options are those of a run."""
    agent, model = shop(*[call("look_up", {"order": number}) for number in range(9)])
    message = as_runnable(agent, model, limits=Limits(model_calls=2)).invoke("Go")
    assert message.response_metadata["stop_reason"] == "limit:model_calls"


def test_a_wrong_output_is_refused() -> None:
    """D96"""
    wrong: Any = "text"
    with pytest.raises(ValueError, match="'message' or 'state'"):
        as_runnable(Agent(), ScriptedModel([]), output=wrong)


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """D96"""
    monkeypatch.setitem(sys.modules, "langchain_core.messages", None)
    monkeypatch.delitem(sys.modules, "swarm.ext.langchain.runnable", raising=False)
    monkeypatch.delitem(sys.modules, "swarm.ext.langchain.messages", raising=False)
    with pytest.raises(ConfigError, match=r"openswarm\[langchain\]"):
        as_runnable(Agent(), ScriptedModel([]))
