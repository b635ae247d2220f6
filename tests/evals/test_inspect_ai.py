"""A swarm as a solver of inspect-ai, evaluated by inspect-ai itself, without a network; its logs are read back."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    ContentData,
    ContentImage,
    ContentReasoning,
    ContentText,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.scorer import includes
from inspect_ai.tool import ToolCall
from pydantic import BaseModel

import swarm.evals
from swarm import Agent, AsyncSwarm, tool
from swarm.effects import CallModel, Reply
from swarm.evals import EvalError
from swarm.evals import inspect_ai as solving
from swarm.evals.inspect_ai import swarm_solver
from swarm.prices import Price
from swarm.testing import ScriptedModel, Turn, call

pytestmark = [
    # inspect-ai leaves streams of its own to the garbage collector
    pytest.mark.filterwarnings("ignore:Unclosed <MemoryObject:ResourceWarning"),
    # and calls tenacity with an argument that tenacity has renamed
    pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated, use 'multiplier':DeprecationWarning"),
]


class Order(BaseModel):
    number: int
    parts: list[Order] = []


def refund(order: Order, context_variables: dict[str, Any]) -> str:
    """Refund an order."""
    context_variables["refunded"] = order.number
    return "paid back"


def to_refunds() -> Agent:
    """Hand over to refunds."""
    return refunds


SOURCE = Path(swarm.evals.__file__).parents[2]

triage = Agent(name="Triage", instructions="Find out who helps.", functions=[to_refunds])
refunds = Agent(name="Refunds", instructions="Pay back.", functions=[refund], model_settings={"temperature": 0.5})


def evaluated(tmp_path: Path, solver: Any, sample: Any, outputs: Sequence[ModelOutput] = (), **options: Any) -> EvalLog:
    """One sample, evaluated; the log as it was written."""
    task = Task(dataset=[sample if isinstance(sample, Sample) else Sample(input=sample, target="paid")], solver=solver, scorer=includes())
    model = get_model("mockllm/model", custom_outputs=list(outputs), memoize=False)
    [log] = eval(task, model=model, log_dir=str(tmp_path / "logs"), display="none", **options)
    return read_eval_log(log.location)


def said(text: str, name: str = "", arguments: dict[str, Any] | None = None, usage: ModelUsage | None = None, **more: Any) -> ModelOutput:
    calls = [ToolCall(f"{name}_1", name, arguments or {}, **more)] if name else None
    output = ModelOutput.from_message(ChatMessageAssistant(content=text, tool_calls=calls), "tool_calls" if name else "stop")
    output.usage = usage or ModelUsage(input_tokens=10, output_tokens=2, total_tokens=12)
    return output


def only(log: EvalLog) -> Any:
    assert log.status == "success" and log.samples is not None, log.error
    [sample] = log.samples
    return sample


def test_agents_speak_with_the_model_that_is_evaluated(tmp_path: Path) -> None:
    """D66"""
    outputs = [said("", "to_refunds"), said("", "refund", {"order": {"number": 7}}), said("It is paid back.")]
    log = evaluated(tmp_path, swarm_solver(triage, context_variables={"user": 1}), "Money back for 7", outputs)
    sample = only(log)
    assert log.results is not None and log.results.scores[0].metrics["accuracy"].value == 1
    assert [(message.role, message.text, (message.metadata or {}).get("sender")) for message in sample.messages] == [
        ("user", "Money back for 7", None),
        ("assistant", "", "Triage"),
        ("tool", '{"assistant": "Refunds"}', None),
        ("assistant", "", "Refunds"),
        ("tool", "paid back", None),
        ("assistant", "It is paid back.", "Refunds"),
    ]
    assert (sample.messages[3].tool_calls[0].arguments, sample.messages[4].function) == ({"order": {"number": 7}}, "refund")
    assert sample.output.completion == "It is paid back." and sample.output.stop_reason == "stop"
    assert (sample.output.usage.input_tokens, sample.output.usage.output_tokens, sample.output.usage.total_tokens) == (30, 6, 36)
    assert sample.model_usage["mockllm/model"].total_tokens == 36
    assert sample.store["swarm"] == {
        "agent": "Refunds",
        "handoffs": [["Triage", "Refunds"]],
        "stop_reason": "complete",
        "context_variables": {"user": 1, "refunded": 7},
    }


def test_its_log_holds_each_request_with_instructions_tools_and_settings(tmp_path: Path) -> None:
    """D66"""
    outputs = [said("", "to_refunds"), said("Paid.")]
    log = evaluated(tmp_path, swarm_solver(triage), [ChatMessageSystem(content="A test."), ChatMessageUser(content="Hi")], outputs)
    first, second = [event for event in only(log).events if event.event == "model"]
    assert [(message.role, message.text) for message in first.input] == [
        ("system", "Find out who helps."),
        ("system", "A test."),
        ("user", "Hi"),
    ]
    assert [tool.name for tool in first.tools] == ["to_refunds"] and first.config.temperature is None
    assert second.input[0].text == "Pay back." and second.config.temperature == 0.5
    number = second.tools[0].parameters.properties["order"].properties["number"]
    assert second.tools[0].name == "refund" and number.type == "integer"


def test_a_client_of_ones_own_and_what_it_took(tmp_path: Path) -> None:
    """D66"""
    model = ScriptedModel([Turn(calls=[call("to_refunds")], usage=(1000, 10)), Turn("paid", usage=(2000, 20), finish_reason="length")])
    solver = swarm_solver(triage, client=model, model="mine", prices={"mine": Price(1, 0)}, context_variables=lambda state: state.metadata)
    sample = only(evaluated(tmp_path, solver, Sample(input="Hi", target="paid", metadata={"user": 5})))
    assert (sample.output.model, sample.output.stop_reason) == ("mine", "max_tokens")
    assert (sample.output.usage.input_tokens, sample.output.usage.total_cost) == (3000, pytest.approx(0.003))
    assert sample.store["swarm"]["context_variables"] == {"user": 5} and sample.store["swarm"]["stop_reason"] == "length"
    assert {request["model"] for request in model.requests} == {"mine"}


def test_reasoning_goes_back_to_the_model_it_came_from(tmp_path: Path) -> None:
    """D66: as it was sent, and with the tokens from its cache."""
    content = [ContentReasoning(reasoning="a refund", signature="s1"), ContentText(text="One moment.")]
    thinking = said("", "to_refunds", usage=ModelUsage(input_tokens=10, input_tokens_cache_read=90, output_tokens=5, total_tokens=105))
    thinking.choices[0].message.content = content
    log = evaluated(tmp_path, swarm_solver(triage), "Hi", [thinking, said("paid")])
    _, second = [event for event in only(log).events if event.event == "model"]
    [reply] = [message for message in second.input if message.role == "assistant"]
    assert reply.content == content and reply.tool_calls[0].function == "to_refunds"
    usage = only(log).output.usage
    assert (usage.input_tokens, usage.input_tokens_cache_read) == (20, 90)


def test_arguments_that_inspect_ai_could_not_read_run_nothing(tmp_path: Path) -> None:
    outputs = [said("", "refund", {}, parse_error="Error parsing: {order: "), said("paid, or not")]
    sample = only(evaluated(tmp_path, swarm_solver(refunds), "Hi", outputs))
    assert sample.store["swarm"]["context_variables"] == {}
    assert sample.messages[2].text.startswith("Error: ")
    assert sample.messages[1].tool_calls[0].parse_error


def test_limits_of_inspect_ai_hold_inside_a_run(tmp_path: Path) -> None:
    """D66"""
    outputs = [said("", "to_refunds"), said("", "refund", {"order": {"number": 7}}), said("paid")]
    log = evaluated(tmp_path, swarm_solver(triage), "Hi", outputs, token_limit=20)
    assert log.status == "success" and log.samples is not None
    assert log.samples[0].limit is not None and log.samples[0].limit.type == "token"


def test_images_are_passed_on_and_other_content_is_refused(tmp_path: Path) -> None:
    data = "data:image/png;base64,iVBORw0KGgo="
    parts: list[Any] = [ContentText(text="Look"), ContentImage(image=data)]
    log = evaluated(tmp_path, swarm_solver(triage), [ChatMessageUser(content=parts)], [said("paid")])
    [event] = [event for event in only(log).events if event.event == "model"]
    assert [part.type for part in event.input[-1].content] == ["text", "image"]
    log = evaluated(tmp_path, swarm_solver(triage), [ChatMessageUser(content=[ContentData(data={"a": 1})])], [said("paid")])
    assert log.status == "error" and log.error is not None
    assert "the sample holds content of the type 'data'; agents are given text and images only" in log.error.message


def test_a_conversation_is_gone_on_with(tmp_path: Path) -> None:
    conversation = [
        ChatMessageUser(content="Refund 7"),
        ChatMessageAssistant(content="", tool_calls=[ToolCall("c1", "refund", {"order": {"number": 7}})]),
        ChatMessageTool(content="paid back", tool_call_id="c1", function="refund"),
        ChatMessageAssistant(content="Done."),
        ChatMessageUser(content="Really?"),
    ]
    model = ScriptedModel(["paid, yes"])
    sample = only(evaluated(tmp_path, swarm_solver(refunds, client=model), list(conversation)))
    assert [message["role"] for message in model.requests[0]["messages"]] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert len(sample.messages) == 6


def test_a_forced_choice_is_passed_on(tmp_path: Path) -> None:
    forced = refunds.copy(tool_choice={"type": "function", "function": {"name": "refund"}}, functions=[tool(refund)])
    outputs = [said("", "refund", {"order": {"number": 7}}), said("paid")]
    first, second = [event for event in only(evaluated(tmp_path, swarm_solver(forced), "Hi", outputs)).events if event.event == "model"]
    assert first.tool_choice.name == "refund" and second.tool_choice in (None, "auto")


def test_a_model_without_a_client_is_refused() -> None:
    with pytest.raises(EvalError, match="model='gpt-4o' needs a client; without one the agents speak with the model that inspect-ai"):
        swarm_solver(triage, model="gpt-4o")
    with pytest.raises(TypeError, match="polices"):
        swarm_solver(triage, polices=[])


def test_without_the_extra_it_is_named_and_evals_do_without() -> None:
    """D66"""
    code = """
import sys
sys.modules["inspect_ai"] = None
import swarm.evals
try:
    import swarm.evals.inspect_ai
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(SOURCE)})
    assert done.stdout == "ConfigError a solver for inspect-ai needs an extra: pip install 'openswarm[inspect]'\n"


def test_an_answer_is_one_chunk_where_a_stream_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy may stream a judge of its own through the model that is evaluated."""

    async def complete(self: Any, call: CallModel) -> Reply:
        return Reply({"role": "assistant", "content": "whole"}, finish_reason="stop")

    monkeypatch.setattr(solving._InspectModel, "complete", complete)

    async def main() -> list[Any]:
        return [item async for item in AsyncSwarm(solving._InspectModel()).run(Agent(), "hi", stream=True)]

    items = asyncio.run(main())
    assert [item["content"] for item in items if "content" in item] == ["whole"]
    assert items[-1]["response"].text == "whole"
