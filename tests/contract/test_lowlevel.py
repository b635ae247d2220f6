"""The single steps of a run, called by hand or overridden in a subclass."""

from __future__ import annotations

import json
from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pytest

from swarm import Agent, Response, Result, Swarm
from swarm.models.scripted import ScriptedModel, call
from swarm.util import merge_chunk
from tests.clients import SHAPES, ForeignClient, as_openai, completion, mock_client
from tests.look import is_valid

HI = [{"role": "user", "content": "hi"}]
CALLS = [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}]


def add(a: int, b: int, context_variables: dict[str, Any]) -> str:
    context_variables["sum"] = a + b
    return str(a + b)


def other() -> Agent:
    return OTHER


OTHER = Agent(name="Other")


@pytest.mark.parametrize("shape", SHAPES)
def test_one_completion(shape: str) -> None:
    """K02, K04, K06"""
    client = ForeignClient([call("add", {"a": 1, "b": 2}, id="c1")], shape)
    agent = Agent(instructions=lambda context_variables: f"Help {context_variables['name']}.", functions=[add])
    answer = Swarm(client).get_chat_completion(agent, HI, {"name": "Ann"}, None, False, False)
    message = answer.choices[0].message
    assert message.content is None
    assert message.tool_calls[0].id == "c1"
    assert message.tool_calls[0].function.name == "add"
    assert json.loads(message.tool_calls[0].function.arguments) == {"a": 1, "b": 2}
    assert message.model_dump()["role"] == "assistant"
    assert client.requests[0]["messages"] == [{"role": "system", "content": "Help Ann."}, *HI]
    assert "context_variables" not in json.dumps(client.requests[0]["tools"])


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_one_completion_as_a_stream(shape: str, is_async: bool) -> None:
    """K02"""
    client = ForeignClient(["Hello you"], shape, is_async)
    chunks = Swarm(client).get_chat_completion(
        agent=Agent(), history=HI, context_variables={}, model_override="m", stream=True, debug=False
    )
    texts = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
    assert "".join(text or "" for text in texts) == "Hello you"
    assert client.requests[0]["model"] == "m"
    assert client.open_streams == 0


def test_what_a_result_means() -> None:
    """K09, K13, K14"""
    swarm = Swarm(ScriptedModel([]))
    given = Result(value="v", context_variables={"a": 1})
    assert swarm.handle_function_result(given, False) is given
    handed = swarm.handle_function_result(OTHER, False)
    assert handed.agent is OTHER
    assert json.loads(handed.value) == {"assistant": "Other"}
    assert swarm.handle_function_result(5, False).value == "5"
    assert swarm.handle_function_result(None, False).value == "None"
    assert swarm.handle_function_result("text", debug=True).value == "text"


def test_a_result_without_a_text_form() -> None:
    """K11"""

    class Mute:
        def __str__(self) -> str:
            raise RuntimeError("no words")

    with pytest.raises(TypeError, match="no words"):
        Swarm(ScriptedModel([])).handle_function_result(Mute(), False)


@pytest.mark.parametrize("as_calls", [lambda calls: calls, as_openai, SimpleNamespace])
def test_a_batch_of_calls(as_calls: Any) -> None:
    """K02, K07, K10, K14"""
    calls: Any = CALLS
    if as_calls is as_openai:
        calls = as_openai(completion({"role": "assistant", "content": None, "tool_calls": CALLS})).choices[0].message.tool_calls
    elif as_calls is SimpleNamespace:
        function = SimpleNamespace(**CALLS[0]["function"])  # type: ignore[arg-type]
        calls = [SimpleNamespace(id="c1", type="function", function=function)]
    variables: dict[str, Any] = {}
    partial = Swarm(ScriptedModel([])).handle_tool_calls(calls, [add], variables, False)
    assert partial.messages == [{"role": "tool", "tool_call_id": "c1", "tool_name": "add", "content": "3"}]
    assert partial.agent is None
    assert partial.context_variables == {}
    assert variables == {"sum": 3}


def test_a_batch_with_an_unknown_tool_a_handoff_and_a_result() -> None:
    """K11, K13, K14"""

    def remember() -> Result:
        return Result(value="ok", context_variables={"a": 1})

    calls = [call("nothing", id="1"), call("other", id="2"), call("remember", id="3")]
    partial = Swarm(ScriptedModel([])).handle_tool_calls(calls, [other, remember], {}, False)
    texts = [message["content"] for message in partial.messages]
    assert texts[0].startswith("Error: Tool nothing not found.")
    assert json.loads(texts[1]) == {"assistant": "Other"}
    assert texts[2] == "ok"
    assert partial.agent is OTHER
    assert partial.context_variables == {"a": 1}


def test_run_and_stream() -> None:
    """K02, K17"""
    items = list(Swarm(ScriptedModel(["hi"])).run_and_stream(Agent(), HI, {"a": 1}, None, False, float("inf"), True))
    assert items[0] == {"delim": "start"}
    assert items[-1]["response"].context_variables == {"a": 1}


# A subclass


class Counting(Swarm):
    """Overrides each step, and leaves the work to the original."""

    def __init__(self, client: Any) -> None:
        super().__init__(client)
        self.seen: list[str] = []

    def get_chat_completion(
        self, agent: Agent, history: Any, context_variables: Any, model_override: Any, stream: bool, debug: bool
    ) -> Any:
        self.seen.append(f"ask {agent.name}")
        return super().get_chat_completion(agent, history, context_variables, model_override, stream, debug)

    def handle_function_result(self, result: Any, debug: bool) -> Result:
        self.seen.append(f"result {result}")
        return super().handle_function_result(result, debug)

    def handle_tool_calls(self, tool_calls: Any, functions: Any, context_variables: Any, debug: bool) -> Response:
        self.seen.append(f"calls {[entry.function.name for entry in tool_calls]}")
        return super().handle_tool_calls(tool_calls, functions, context_variables, debug)


@pytest.mark.parametrize("stream", [False, True])
def test_a_subclass_may_override_each_step(stream: bool) -> None:
    """K02, D25"""
    swarm = Counting(ScriptedModel([[call("add", {"a": 1, "b": 2}), call("other")], "Done."]))
    agent = Agent(name="First", functions=[add, other])
    run = swarm.run(agent, HI, {"name": "Ann"}, stream=stream)
    response = list(run)[-1]["response"] if stream else run  # type: ignore[call-overload]
    assert [m["content"] for m in response.messages] == [None, "3", '{"assistant": "Other"}', "Done."]
    assert response.agent is OTHER
    assert response.context_variables == {"name": "Ann", "sum": 3}
    assert swarm.seen == ["ask First", "calls ['add', 'other']", "result 3", "result Agent(name='Other')", "ask Other"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_subclass_may_answer_by_itself(stream: bool) -> None:
    """K02, D25"""

    class Canned(Swarm):
        def get_chat_completion(
            self, agent: Agent, history: Any, context_variables: Any, model_override: Any, stream: bool, debug: bool
        ) -> Any:
            body = {"role": "assistant", "content": f"{len(history)} {context_variables['a']} {model_override}"}
            if stream:
                return iter(
                    [as_openai({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": body, "finish_reason": "stop"}]})]
                )
            return as_openai(completion(body))

    run = Canned(mock_client(completion({"role": "assistant", "content": "never"}))).run(Agent(), HI, {"a": 7}, "m", stream)
    response = list(run)[-1]["response"] if stream else run  # type: ignore[call-overload]
    assert response.text == "1 7 m"


def test_a_subclass_may_say_what_a_result_means() -> None:
    """K02, D25"""

    class Loud(Swarm):
        def handle_function_result(self, result: Any, debug: bool) -> Result:
            return Result(value=str(result).upper())

    def speak() -> str:
        return "quiet"

    response = Loud(ScriptedModel([call("speak"), "ok"])).run(Agent(functions=[speak]), HI)
    assert response.messages[1]["content"] == "QUIET"


@pytest.mark.parametrize("stream", [False, True])
def test_a_forcing_tool_choice_is_sent_once_by_an_overridden_step_too(stream: bool) -> None:
    """D7, D25: else it would never end."""
    model = ScriptedModel([call("other_one"), call("other_one"), "ok"])

    def other_one() -> str:
        return "1"

    agent = Agent(functions=[other_one], tool_choice="required")
    run = Counting(model).run(agent, HI, stream=stream)
    response = list(run)[-1]["response"] if stream else run  # type: ignore[call-overload]
    assert response.text == "ok"
    assert [request.get("tool_choice") for request in model.requests] == ["required", None, None]
    assert agent.tool_choice == "required"


def test_a_stream_of_an_overridden_step_is_closed_with_the_run() -> None:
    """D13, D25"""

    class Same(Swarm):
        def get_chat_completion(
            self, agent: Agent, history: Any, context_variables: Any, model_override: Any, stream: bool, debug: bool
        ) -> Any:
            return super().get_chat_completion(agent, history, context_variables, model_override, stream, debug)

    client = ForeignClient(["one two three four"])
    with Same(client).run(Agent(), HI, stream=True) as items:
        assert next(items) == {"delim": "start"}
        next(items)
        assert client.open_streams == 1
    assert client.open_streams == 0


# The loop, written out by hand


def by_hand(swarm: Swarm, agent: Agent, messages: list[Any], variables: dict[str, Any], stream: bool) -> Response:
    """A run as subclasses of the small class write it out: the steps one by one."""
    active, history = agent, list(messages)
    while True:
        completion = swarm.get_chat_completion(
            agent=active, history=history, context_variables=variables, model_override=None, stream=stream, debug=False
        )
        if stream:
            message: Any = {
                "content": "",
                "sender": active.name,
                "role": "assistant",
                "tool_calls": defaultdict(lambda: {"function": {"arguments": "", "name": ""}, "id": "", "type": ""}),
            }
            for chunk in completion:
                if chunk.choices:
                    delta = json.loads(chunk.choices[0].delta.json())
                    merge_chunk(message, delta)
            message["tool_calls"] = list(message["tool_calls"].values()) or None
            calls: Any = [
                SimpleNamespace(**{**call, "function": SimpleNamespace(**call["function"])}) for call in message["tool_calls"] or ()
            ]
        else:
            said = completion.choices[0].message
            said.sender = active.name
            message, calls = json.loads(said.model_dump_json()), said.tool_calls
        history.append(message)
        if not calls:
            return Response(messages=history[len(messages) :], agent=active, context_variables=variables)
        partial = swarm.handle_tool_calls(calls, active.functions, variables, False)
        history.extend(partial.messages)
        variables.update(partial.context_variables)
        if partial.agent:
            active = partial.agent


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_loop_written_out_by_hand(shape: str, stream: bool) -> None:
    """K01, K02, K07, K13, K14"""

    def to_other() -> Result:
        return Result(value="over", agent=OTHER, context_variables={"by": "hand"})

    agent = Agent(name="First", functions=[add, to_other])
    turns: list[Any] = [call("add", {"a": 1, "b": 2}), call("to_other"), "Done."]
    response = by_hand(Swarm(ForeignClient(turns, shape)), agent, HI, {"name": "Ann"}, stream)
    assert [message.get("content") or None for message in response.messages] == [None, "3", None, "over", "Done."]
    assert [message.get("sender") for message in response.messages if message["role"] == "assistant"] == ["First", "First", "Other"]
    assert response.agent is OTHER
    assert response.context_variables == {"name": "Ann", "sum": 3, "by": "hand"}


def test_a_batch_with_one_id_twice_is_answered_under_that_id() -> None:
    """K02, D52: a caller pairs answers with the calls it has."""
    calls = [call("add", {"a": n, "b": 0}, id="same") for n in (1, 2)]
    swarm = Swarm(model := ScriptedModel(["ok"]))
    partial = swarm.handle_tool_calls(calls, [add], {}, False)
    assert [(m["tool_call_id"], m["content"]) for m in partial.messages] == [("same", "1"), ("same", "2")]
    swarm.get_chat_completion(
        Agent(), [*HI, {"role": "assistant", "content": None, "tool_calls": calls}, *partial.messages], {}, None, False, False
    )
    sent = model.requests[0]["messages"]
    assert is_valid(sent)
    assert [m["content"] for m in sent if m["role"] == "tool"] == ["1", "2"]
