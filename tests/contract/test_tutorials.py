"""Programs as tutorials write them, run unchanged against a model server on loopback."""

from __future__ import annotations

import io
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from swarm.models.scripted import Turn, call
from tests.clients import served
from tests.loopback import Loopback, Request

PROGRAMS = Path(__file__).with_name("tutorials")
Run = Callable[..., str]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a program with a scripted server behind `Swarm()`; returns what it printed. `run.requests` holds what was asked."""
    for name in ("SWARM_OFFLINE", "SWARM_MODEL", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    requests: list[Request] = []

    def go(program: str, turns: list[Any], typed: str = "") -> str:
        with Loopback(served(turns)) as server:
            monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            monkeypatch.setattr("sys.stdin", io.StringIO(typed))
            runpy.run_path(str(PROGRAMS / f"{program}.py"), run_name="__main__")
            requests.extend(server.requests)
        return capsys.readouterr().out

    go.requests = requests  # type: ignore[attr-defined]
    return go


def asked(run: Any) -> list[Any]:
    return [request.json for request in run.requests]


def test_every_program_is_run() -> None:
    """K01"""
    text = Path(__file__).read_text(encoding="utf-8")
    assert [path.stem for path in PROGRAMS.glob("*.py") if f'"{path.stem}"' not in text] == []


def test_bare_minimum(run: Run) -> None:
    """K01, K04, P13"""
    assert run("bare_minimum", ["Hello! How can I help?"]) == "Hello! How can I help?\n"
    assert asked(run)[0]["messages"][0] == {"role": "system", "content": "You are a helpful agent."}
    assert run.requests[0].headers["authorization"] == "Bearer sk-test"  # type: ignore[attr-defined]


def test_handing_off(run: Run) -> None:
    """K13, K21"""
    assert run("handing_off", [call("transfer_to_spanish_agent"), "¡Hola!"]) == "Spanish Agent\n¡Hola!\n"
    function = asked(run)[0]["tools"][0]["function"]
    assert function["name"] == "transfer_to_spanish_agent"
    assert function["description"] == "Transfer spanish speaking users immediately."
    assert asked(run)[1]["messages"][0]["content"] == "You only speak Spanish."
    assert "tools" not in asked(run)[1]


def test_variables(run: Run) -> None:
    """K04, K06, K08, K10, K14"""
    turns = [[call("print_account_details"), call("upgrade", {"plan": "gold"})], "Done, James."]
    assert run("variables", turns).splitlines() == [
        "Account Details: James 123",
        "Done, James.",
        "{'name': 'James', 'user_id': 123, 'asked': True, 'plan': 'gold'}",
        "{'name': 'James', 'user_id': 123}",
    ]
    assert "James" in asked(run)[0]["messages"][0]["content"]
    assert asked(run)[0]["tools"][1]["function"]["parameters"] == {
        "type": "object",
        "properties": {"plan": {"type": "string"}},
        "required": ["plan"],
    }


def test_streaming(run: Run) -> None:
    """K17, K18, K19, S19"""
    turns = [Turn("I look.", [call("get_weather", {"location": "NYC"})]), call("transfer_to_poet"), "It is sixty-seven", "Sun and heaven"]
    assert run("streaming", turns).splitlines() == [
        "Weather Agent: I look.Weather Agent: get_weather()",
        "",
        "Weather Agent: transfer_to_poet()",
        "Poet: It is sixty-seven",
        "Poet 5",
        "['start', 'Sun ', 'and ', 'heaven', 'end', 'Poet']",
    ]
    assert all(request["stream"] is True for request in asked(run))


def test_simple_loop(run: Run) -> None:
    """K07, K08, H18"""
    printed = run(
        "simple_loop", [call("look_up", {"item": "bee", "count": 2}), "Two bees.", "Bye."], typed="how many bees?\nthanks\nquit\n"
    )
    lines = printed.replace("> ", "").splitlines()
    assert lines == ['Agent: look_up("item"= "bee", "count"= 2)', "[look_up] 2 of bee", "Agent: Two bees.", "Agent: Bye.", "6"]


def test_triage_loop(run: Run) -> None:
    """K13, K14, H17, H18"""
    turns = [
        call("transfer_to_refunds"),
        "Why?",
        call("process_refund", {"item_id": "item_99", "reason": "broken"}),
        "Refunded.",
        call("transfer_back_to_triage"),
        "What is it?",
    ]
    assert run("triage_loop", turns).splitlines() == [
        "Refunds Agent: Why?",
        "[mock] Refunding item item_99 because broken...",
        "Refunds Agent: Refunded.",
        "Triage Agent: What is it?",
        "{'path': ['refunds']}",
        "['Transfered to Refunds Agent. Adopt persona immediately.', 'Success!', '{\"assistant\": \"Triage Agent\"}']",
    ]


def test_written_with_tools(run: Run) -> None:
    """D19"""
    printed = run(
        "written_with_tools", [call("transfer_to_sales_agent"), call("execute_order", {"product": "catapult", "price": 9}), "Sold."]
    )
    assert printed.splitlines() == ["Order: catapult at $9", "Sales Agent ['execute_order']", "Sold."]
