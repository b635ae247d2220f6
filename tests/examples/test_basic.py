"""The five basic scripts: each is run with a scripted model, and as a person would run it."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from typing import Any

import pytest

from swarm import Swarm
from swarm.models.scripted import ScriptedModel, call
from tests.examples.talk import ROOT, script

Run = Callable[..., tuple[str, ScriptedModel]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a script in this process: `run(name, *turns)` gives what it printed, and the model."""

    def run_script(name: str, *turns: Any) -> tuple[str, ScriptedModel]:
        model = ScriptedModel(turns)
        monkeypatch.setattr("swarm.Swarm", lambda: Swarm(model))
        runpy.run_path(str(ROOT / "examples" / "basic" / f"{name}.py"), run_name="__main__")
        model.assert_done()
        return capsys.readouterr().out, model

    return run_script


def test_bare_minimum(run: Run) -> None:
    out, model = run("bare_minimum", "Hello! How can I help?")
    assert out == "Hello! How can I help?\n"
    assert "tools" not in model.requests[0]


def test_agent_handoff(run: Run) -> None:
    """K13"""
    out, model = run("agent_handoff", call("transfer_to_spanish_agent"), "¡Hola! Estoy bien.")
    assert out == "Spanish Agent: ¡Hola! Estoy bien.\n"
    assert model.requests[1]["messages"][0]["content"].startswith("Hablas español")
    assert model.requests[1]["messages"][-1]["content"] == '{"assistant": "Spanish Agent"}'


def test_function_calling(run: Run) -> None:
    out, model = run("function_calling", call("get_weather", {"location": "New York"}), "It is 67 degrees.")
    assert out == "It is 67 degrees.\n"
    assert model.requests[1]["messages"][-1]["content"] == "{'temp':67, 'unit':'F'}"


def test_context_variables(run: Run) -> None:
    """K04, K06, C07"""
    out, model = run("context_variables", "Hi, James!", call("print_account_details"), "There you are.")
    assert out == "Hi, James!\nAccount of James, user 123\nThere you are.\n"
    assert model.requests[0]["messages"][0]["content"].endswith("Greet the user by name: James.")
    assert model.requests[0]["tools"][0]["function"]["parameters"]["properties"] == {}


def test_simple_loop_no_helpers(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """K08: the messages of the response continue the conversation."""
    said = iter(["hello", "and you?"])

    def answer(prompt: str) -> str:
        assert prompt == "> "
        try:
            return next(said)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", answer)
    out, model = run("simple_loop_no_helpers", "Hi.", "I am well.")
    assert out == "Agent: Hi.\nAgent: I am well.\n"
    assert [message["content"] for message in model.requests[1]["messages"][1:]] == ["hello", "Hi.", "and you?"]


EXPECTED = {
    "bare_minimum": "offline router",
    "agent_handoff": "Spanish Agent: ",
    "function_calling": "{'temp':67, 'unit':'F'}",
    "context_variables": "Account of James, user 123",
    "simple_loop_no_helpers": "> Agent: ",
}


@pytest.mark.parametrize("name", EXPECTED)
def test_the_script_offline_in_a_process_of_its_own(name: str) -> None:
    """D30, H20"""
    done = script(f"examples/basic/{name}.py", said="hello\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert EXPECTED[name] in done.stdout


def test_without_key_and_without_offline_the_ways_out_are_named() -> None:
    """D30"""
    done = script("examples/basic/bare_minimum.py", SWARM_OFFLINE="0")
    assert done.returncode != 0
    assert "OPENAI_API_KEY" in done.stderr
    assert "SWARM_OFFLINE=1" in done.stderr
