"""pydantic-ai's function tools as functions, in all four modes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic_ai import BinaryContent, ImageUrl, ModelRetry, RunContext, ToolReturn
from pydantic_ai import Tool as PydanticTool

from swarm import Agent, AgentError, Response
from swarm.ext.pydantic_ai import from_pydantic_ai
from swarm.models.scripted import call
from tests.modes import Drive


@dataclass
class Shop:
    customer: str


def orders(ctx: RunContext[Shop], status: str, limit: int = 5) -> str:
    """List orders.

    Args:
        status: open or closed
    """
    return f"{limit} {status} orders of {ctx.deps.customer} ({ctx.tool_name}, {ctx.tool_call_id}, step {ctx.run_step})"


async def fragile(kind: str) -> str:
    """Fail in one way or another."""
    if kind == "retry":
        raise ModelRetry("ask for another kind")
    raise RuntimeError("boom")


def chart() -> ToolReturn:
    """Draw."""
    return ToolReturn("It rises.", content=["Look:", BinaryContent(b"hi", media_type="image/png")], metadata={"secret": 1})


def pictures() -> list[Any]:
    """Show."""
    return [ImageUrl(url="https://example.com/a.png"), "a picture", BinaryContent(b"hi", media_type="application/pdf")]


def shop_of(context_variables: dict[str, Any]) -> Shop:
    return Shop(context_variables["user"])


def told(response: Response) -> list[str]:
    return [message["content"] for message in response.messages if message["role"] == "tool"]


def test_a_tool_gets_its_run_context(drive: Drive) -> None:
    """D97: deps made from the context variables; arguments checked and converted by the tool; its own schema is sent."""
    agent = Agent(functions=[from_pydantic_ai(PydanticTool(orders), deps=shop_of)])
    calls = [call("orders", {"status": "open", "limit": "3"}, id="c1"), call("orders", {})]
    response = drive(agent, "Go", [*calls, "Done."], context_variables={"user": "ana"})
    assert told(response) == ["3 open orders of ana (orders, c1, step 1)", "Error: status: Field required"]
    function = drive.requests[0]["tools"][0]["function"]
    assert function["description"] == "List orders."
    assert function["parameters"] == PydanticTool(orders).tool_def.parameters_json_schema
    assert "ctx" not in function["parameters"]["properties"]


def test_errors(drive: Drive) -> None:
    """D97: what is said to the model is said, other errors with their kind."""
    response = drive(
        Agent(functions=[from_pydantic_ai(PydanticTool(fragile))]),
        "Go",
        [call("fragile", {"kind": "retry"}), call("fragile", {"kind": ""}), "Done."],
    )
    assert told(response) == ["Error: ask for another kind", "Error: RuntimeError: boom"]


def test_texts_and_what_there_is_to_see(drive: Drive) -> None:
    """D97"""
    agent = Agent(functions=[from_pydantic_ai(PydanticTool(chart)), from_pydantic_ai(PydanticTool(pictures))])
    response = drive(agent, "Go", [call("chart"), call("pictures"), "Done."])
    assert told(response) == ["It rises.\nLook:", "a picture"]
    first, second = [message["content"] for message in response.messages if message["role"] == "user"]
    assert first[1] == {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    assert [part["type"] for part in second[1:]] == ["image_url", "file"]


def test_options_are_ours() -> None:
    """D97"""
    made = from_pydantic_ai(PydanticTool(fragile, requires_approval=True, sequential=True, timeout=3), name="other")
    assert (made.name, made.approval, made.exclusive, made.timeout) == ("other", True, True, 3)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (print, "no pydantic-ai tool"),
        (PydanticTool, "no pydantic-ai tool"),
        (PydanticTool(orders), "say what its deps are"),
        (PydanticTool(fragile, prepare=lambda ctx, definition: definition), "prepare needs a run of pydantic-ai"),
        (PydanticTool(fragile, args_validator=lambda ctx, **_: None), "args_validator needs a run of pydantic-ai"),
    ],
)
def test_what_cannot_be_is_refused(wrong: Any, words: str) -> None:
    """D97: when it is given, not when it is called."""
    with pytest.raises(AgentError, match=words):
        from_pydantic_ai(wrong)


def test_nothing_is_loaded_by_the_modules() -> None:
    """D97"""
    program = "import sys, swarm.ext.pydantic_ai, swarm.ext.openai_agents; sys.exit(bool({'pydantic_ai', 'agents'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], check=False, env={"PYTHONPATH": ":".join(sys.path)}).returncode == 0
