"""LangChain's tools as functions, in all four modes."""

from __future__ import annotations

import subprocess
import sys
from typing import Annotated, Any

import pytest
from langchain_core.tools import BaseTool, InjectedToolArg, InjectedToolCallId, StructuredTool, ToolException
from langchain_core.tools import Tool as LangChainTool
from langchain_core.tools import tool as langchain_tool
from pydantic import BaseModel, v1

from swarm import Agent, AgentError, Response, tool
from swarm.ext.langchain import from_langchain
from swarm.models.scripted import call
from tests.modes import Drive

PIXEL = "iVBORw0KGgo="


@langchain_tool
def multiply(left: int, right: int = 2) -> int:
    """Multiply two numbers."""
    return left * right


@langchain_tool
async def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello, {name}"


@langchain_tool
def orders(
    status: str,
    user_id: Annotated[str, InjectedToolArg],
    call_id: Annotated[str, InjectedToolCallId],
    key: Annotated[str, InjectedToolArg] = "k",
) -> str:
    """List orders."""
    return f"{status} orders of {user_id} ({call_id}, {key})"


@langchain_tool(response_format="content_and_artifact")
def chart() -> tuple[list[Any], dict[str, int]]:
    """Draw a chart."""
    shown = [
        "It rises.",
        {"type": "image", "base64": PIXEL, "mime_type": "image/png"},
        {"type": "image", "source_type": "base64", "data": PIXEL, "mime_type": "image/png"},
        {"type": "file", "base64": PIXEL, "mime_type": "application/pdf"},
        {"type": "text", "text": "And falls."},
        {"type": "json", "rows": 3},
    ]
    return shown, {"rows": 3}


@langchain_tool
def fragile(kind: str) -> str:
    """Fail in one way or another."""
    if kind == "said":
        raise ToolException("no such customer")
    raise RuntimeError("boom")


class SyncOnly(BaseTool):
    """As LangChain's own guide had it for years."""

    name: str = "sync_only"
    description: str = "Works."

    def _run(self, text: str) -> str:
        return f"sync {text}"

    async def _arun(self, text: str) -> str:
        raise NotImplementedError("sync_only does not support async")


class AsyncOnly(BaseTool):
    name: str = "async_only"
    description: str = "Works."

    def _run(self, text: str) -> str:
        raise NotImplementedError

    async def _arun(self, text: str) -> str:
        return f"async {text}"


def told(response: Response) -> list[str]:
    return [message["content"] for message in response.messages if message["role"] == "tool"]


def test_sync_and_async_tools_are_functions(drive: Drive) -> None:
    """D95: results of both kinds, arguments converted by the tool, text for what does not fit."""
    agent = Agent(functions=[from_langchain(multiply), from_langchain(greet), from_langchain(SyncOnly()), from_langchain(AsyncOnly())])
    calls = [call("multiply", {"left": "21"}), call("greet", {"name": "Ana"}), call("multiply", {"left": "many"})]
    calls += [call("sync_only", {"text": "a"}), call("async_only", {"text": "b"})]
    said = told(drive(agent, "Go", [*calls, "Done."]))
    assert said[:2] == ["42", "Hello, Ana"]
    assert said[2] == "Error: left: Input should be a valid integer, unable to parse string as an integer"
    assert said[3:] == ["sync a", "async b"]


def test_the_schema_is_the_tools_own(drive: Drive) -> None:
    """D95: as LangChain sends it, without what it injects."""
    drive(Agent(functions=[from_langchain(orders, name="list_orders")]), "Go", ["Hi."])
    function = drive.requests[0]["tools"][0]["function"]
    assert function["name"] == "list_orders"
    assert function["description"] == "List orders."
    assert list(function["parameters"]["properties"]) == ["status"]
    assert function["parameters"]["required"] == ["status"]


def test_a_schema_given_as_json(drive: Drive) -> None:
    """D95"""
    schema = {"type": "object", "title": "X", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    weather = langchain_tool("weather", lambda city: f"Sun in {city}", args_schema=schema, description="Weather.")
    response = drive(Agent(functions=[from_langchain(weather)]), "Go", [call("weather", {"city": "Graz"}), "Done."])
    assert told(response) == ["Sun in Graz"]
    assert drive.requests[0]["tools"][0]["function"]["parameters"] == {key: schema[key] for key in ("type", "properties", "required")}


def test_a_plain_tool_takes_one_text(drive: Drive) -> None:
    """D95: LangChain's oldest kind, which has no schema."""
    shout = LangChainTool(name="shout", func=str.upper, description="Shout.")
    response = drive(Agent(functions=[from_langchain(shout)]), "Go", [call("shout", {"tool_input": "hey"}), "Done."])
    assert told(response) == ["HEY"]
    parameters = drive.requests[0]["tools"][0]["function"]["parameters"]
    assert parameters == {"type": "object", "properties": {"tool_input": {"type": "string"}}, "required": ["tool_input"]}


def test_schemas_of_the_old_pydantic(drive: Drive) -> None:
    """D95"""

    class Numbers(v1.BaseModel):
        left: int

    double = StructuredTool.from_function(lambda left: left * 2, name="double", description="Double.", args_schema=Numbers)
    response = drive(Agent(functions=[from_langchain(double)]), "Go", [call("double", {"left": "4"}), call("double", {}), "Done."])
    assert told(response) == ["8", "Error: left: field required"]


def test_what_is_injected_comes_from_the_context_variables(drive: Drive) -> None:
    """D95: never from the model, which may send it all the same; and no error shows it."""
    agent = Agent(functions=[from_langchain(orders)])
    forged = call("orders", {"status": "open", "user_id": "somebody else", "key": "forged", "call_id": "forged"}, id="c1")
    response = drive(agent, "Go", [forged, call("orders", {}), "Done."], context_variables={"user_id": "ana-secret"})
    assert told(response)[0] == "open orders of ana-secret (c1, k)"
    assert told(response)[1] == "Error: status: Field required"


class OnlyStatus(BaseModel):
    status: str


@pytest.mark.parametrize("schema", [OnlyStatus, OnlyStatus.model_json_schema()])
def test_a_schema_that_leaves_out_what_is_injected(drive: Drive, schema: Any) -> None:
    """D95: LangChain itself would take a model's value for it then."""
    made = StructuredTool.from_function(orders.func, name="orders", description="List.", args_schema=schema)
    agent = Agent(functions=[from_langchain(made)])
    forged = call("orders", {"status": "open", "user_id": "somebody else", "key": "forged", "call_id": "forged"}, id="c1")
    response = drive(agent, "Go", [forged, "Done."], context_variables={"user_id": "ana"})
    assert told(response) == ["open orders of ana (c1, k)"]
    assert told(drive(agent, "Go", [forged, "Done."])) == [
        "Error: orders cannot be used: the context variable 'user_id', which it needs, is not set in this run"
    ]


def test_a_context_variable_that_is_missing_is_named(drive: Drive) -> None:
    """D95"""
    response = drive(Agent(functions=[from_langchain(orders)]), "Go", [call("orders", {"status": "open", "user_id": "x"}), "Done."])
    assert told(response) == ["Error: orders cannot be used: the context variable 'user_id', which it needs, is not set in this run"]


def test_texts_images_files_and_artifacts(drive: Drive) -> None:
    """D95: texts, one a line; what there is to see follows; the artifact goes into a context variable that was named."""
    response = drive(Agent(functions=[from_langchain(chart, artifact="chart")]), "Go", [call("chart"), "Done."])
    assert told(response) == ['It rises.\nAnd falls.\n{"type": "json", "rows": 3}']
    (shown,) = [message for message in response.messages if message["role"] == "user"]
    assert [part["type"] for part in shown["content"]] == ["text", "image_url", "image_url", "file"]
    assert shown["content"][1]["image_url"]["url"] == f"data:image/png;base64,{PIXEL}"
    assert response.context_variables == {"chart": {"rows": 3}}
    assert drive(Agent(functions=[from_langchain(chart)]), "Go", [call("chart"), "Done."]).context_variables == {}


def test_errors(drive: Drive) -> None:
    """D95: a ToolException says its text, other errors their kind too; a handled one is an error of the call."""
    handled = fragile.model_copy(update={"handle_tool_error": lambda error: f"handled: {error}", "name": "handled"})
    agent = Agent(functions=[from_langchain(fragile), from_langchain(handled)])
    response = drive(
        agent, "Go", [call("fragile", {"kind": "said"}), call("fragile", {"kind": ""}), call("handled", {"kind": "said"}), "Done."]
    )
    assert told(response) == ["Error: no such customer", "Error: RuntimeError: boom", "Error: handled: no such customer"]
    assert [one.outcome for one in response.calls] == ["error"] * 3


def test_return_direct_ends_the_run(drive: Drive) -> None:
    """D95"""
    final = multiply.model_copy(update={"return_direct": True})
    response = drive(Agent(functions=[from_langchain(final)]), "Go", [call("multiply", {"left": 3})])
    assert response.stop_reason == "stopped"
    assert response.output == "6"


def test_more_options_by_tool(drive: Drive) -> None:
    """D95: wrapped once more, it keeps its schema and description."""
    careful = tool(from_langchain(multiply), name="product", approval=True)
    response = drive(Agent(functions=[careful]), "Go", [call("product", {"left": 3})])
    assert response.stop_reason == "approval"
    function = drive.requests[0]["tools"][0]["function"]
    assert (function["description"], list(function["parameters"]["properties"])) == ("Multiply two numbers.", ["left", "right"])


@pytest.mark.parametrize("wrong", [print, SyncOnly, "multiply", None])
def test_something_else_is_refused(wrong: Any) -> None:
    """D95"""
    with pytest.raises(AgentError, match="no LangChain tool"):
        from_langchain(wrong)


def test_nothing_of_langchain_is_loaded_by_the_module() -> None:
    """D95"""
    program = "import sys, swarm.ext.langchain; sys.exit(any(name.startswith('langchain') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", program], check=False, env={"PYTHONPATH": ":".join(sys.path)}).returncode == 0
