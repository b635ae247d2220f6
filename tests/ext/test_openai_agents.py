"""openai-agents' function tools as functions, in all four modes."""

from __future__ import annotations

from typing import Any

import pytest
from agents import FunctionTool, RunContextWrapper, ToolOutputFileContent, ToolOutputImage, ToolOutputText, WebSearchTool, function_tool
from agents.tool_context import ToolContext
from agents.tool_guardrails import ToolGuardrailFunctionOutput, ToolInputGuardrail

from swarm import Agent, AgentError, Response
from swarm.ext.openai_agents import from_openai_agents
from swarm.models.scripted import call
from tests.modes import Drive


@function_tool
def orders(ctx: RunContextWrapper[Any], status: str, limit: int = 5) -> str:
    """List orders.

    Args:
        status: open or closed
    """
    assert isinstance(ctx, ToolContext)
    return f"{limit} {status} orders of {ctx.context['user']} ({ctx.tool_name}, {ctx.tool_call_id})"


@function_tool
async def fragile() -> str:
    """Fail."""
    raise RuntimeError("boom")


@function_tool
def charts() -> list[Any]:
    """Draw."""
    return [
        ToolOutputText(text="It rises."),
        ToolOutputImage(image_url="https://example.com/a.png", detail="low"),
        ToolOutputFileContent(file_data="data:application/pdf;base64,aGk=", filename="a.pdf"),
        {"type": "image", "file_id": "file-7"},
    ]


@function_tool
def rows() -> list[dict[str, Any]]:
    """Rows."""
    return [{"type": "row", "n": 1}]


def told(response: Response) -> list[str]:
    return [message["content"] for message in response.messages if message["role"] == "tool"]


def test_a_tool_gets_its_context(drive: Drive) -> None:
    """D97: the context variables, or what is made of them; its own strict schema is sent."""
    agent = Agent(functions=[from_openai_agents(orders)])
    asked = call("orders", {"status": "open", "limit": 3}, id="c1")
    response = drive(agent, "Go", [asked, "Done."], context_variables={"user": "ana"})
    assert told(response) == ["3 open orders of ana (orders, c1)"]
    function = drive.requests[0]["tools"][0]["function"]
    assert function == {
        "name": "orders",
        "description": "List orders.",
        "parameters": orders.params_json_schema,
        "strict": True,
    }
    other = Agent(functions=[from_openai_agents(orders, context=lambda variables: {"user": variables["user"].upper()}, name="mine")])
    response = drive(other, "Go", [call("mine", {"status": "open", "limit": 1}, id="c2"), "Done."], context_variables={"user": "ana"})
    assert told(response) == ["1 open orders of ANA (orders, c2)"]


def test_errors(drive: Drive) -> None:
    """D97: the tool's own words for an error, or an error of the call."""

    @function_tool(failure_error_function=None)
    def bare() -> str:
        """Fail."""
        raise RuntimeError("boom")

    @function_tool(failure_error_function=lambda ctx, error: f"sorry: {error}")
    def polite() -> str:
        """Fail."""
        raise RuntimeError("boom")

    agent = Agent(functions=[from_openai_agents(fragile), from_openai_agents(bare), from_openai_agents(polite)])
    response = drive(agent, "Go", [call("fragile"), call("bare"), call("polite"), "Done."])
    assert told(response)[0].startswith("An error occurred while running the tool")
    assert told(response)[1:] == ["Error: RuntimeError: boom", "sorry: boom"]


def test_texts_and_what_there_is_to_see(drive: Drive) -> None:
    """D97: of their own types; a list of something else is a value."""
    agent = Agent(functions=[from_openai_agents(charts), from_openai_agents(rows)])
    response = drive(agent, "Go", [call("charts"), call("rows"), "Done."])
    assert told(response) == ["It rises.\n[image: file-7]", '[{"type":"row","n":1}]']
    (shown,) = [message["content"] for message in response.messages if message["role"] == "user"]
    assert shown[1:] == [
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="}},
    ]


def _built(**options: Any) -> FunctionTool:
    def work() -> str:
        """Work."""
        return "done"

    return function_tool(work, **options)


def test_options_are_ours() -> None:
    """D97"""

    async def work() -> str:
        """Work."""
        return "done"

    made = from_openai_agents(function_tool(work, needs_approval=True, is_enabled=False, timeout=3))
    assert (made.approval, made.enabled, made.timeout, made.strict) == (True, False, 3, True)
    assert from_openai_agents(_built(strict_mode=False)).strict is None


async def _always(*_: Any) -> bool:
    return True


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (print, "no function tool"),
        (WebSearchTool(), "no function tool"),
        (_built(is_enabled=_always), "is_enabled is heeded by a Runner only"),
        (_built(needs_approval=_always), "needs_approval is heeded by a Runner only"),
        (
            _built(tool_input_guardrails=[ToolInputGuardrail(lambda data: ToolGuardrailFunctionOutput.allow())]),
            "tool_input_guardrails is heeded by a Runner only",
        ),
    ],
)
def test_what_cannot_be_is_refused(wrong: Any, words: str) -> None:
    """D97: when it is given, not when it is called."""
    with pytest.raises(AgentError, match=words):
        from_openai_agents(wrong)
