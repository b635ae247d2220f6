"""Agents as they are made and copied, and the small records of a run."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from swarm import Agent, Approve, Handoff, Pending, Refuse, Response, Swarm, ToolCall
from swarm.errors import AgentError, StateError
from swarm.models.scripted import ScriptedModel, call


def one() -> str:
    return "1"


def two() -> str:
    return "2"


# Agents


def test_a_copy_has_what_was_changed_and_shares_the_rest() -> None:
    """D19"""
    agent = Agent(name="A", functions=[one], model_settings={"temperature": 0})
    other = agent.copy(name="B")
    assert (other.name, other.functions, other.model_settings) == ("B", [one], {"temperature": 0})
    assert other.functions is not agent.functions
    assert other != agent
    assert other.model_fields_set == agent.model_fields_set


@pytest.mark.parametrize("name", ["functions", "tools"])
def test_a_copy_takes_functions_under_both_names(name: str) -> None:
    agent = Agent(functions=[one])
    assert agent.copy(**{name: [two]}).functions == [two]
    assert Agent(tools=[one]).copy(**{name: []}).functions == []
    assert agent.functions == [one]


@pytest.mark.parametrize("make", [Agent, Agent(functions=[one]).copy])
def test_functions_and_tools_together_are_refused(make: Any) -> None:
    with pytest.raises(AgentError, match="tools: another name for functions; give one of the two"):
        make(tools=[one], functions=[two])


def test_a_copy_is_checked_like_a_new_agent() -> None:
    with pytest.raises(AgentError, match="there is no such field"):
        Agent().copy(tool=[one])
    with pytest.raises(AgentError, match="two functions called 'one'"):
        Agent().copy(tools=[one, one])


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("messages", "run(agent, messages)"),
        ("model", "Agent(model=...)"),
        ("stream", "run(..., stream=True)"),
        ("tool_choice", "Agent(tool_choice=...)"),
        ("tools", "Agent(functions=[...])"),
    ],
)
def test_model_settings_leave_what_has_a_place_of_its_own(name: str, way: str) -> None:
    """U07"""
    with pytest.raises(AgentError) as caught:
        Agent(name="A", model_settings={"temperature": 0, name: True})
    assert str(caught.value) == (
        f"Agent(name='A') cannot be made:\n  model_settings: holds what has a place of its own: {name} (use {way})"
    )


def test_model_settings_are_sent() -> None:
    model = ScriptedModel(["hi"])
    Swarm(model).run(Agent(model_settings={"temperature": 0, "stop": ["x"], "seed": None}), "go")
    assert {name: model.requests[0].get(name, "absent") for name in ("temperature", "stop", "seed")} == {
        "temperature": 0,
        "stop": ["x"],
        "seed": "absent",
    }


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"agent": "B"}, r"Handoff\(agent=\.\.\.\) needs an Agent, not str"),
        ({"when": True}, "when=.* needs a function, not bool"),
        ({"history_filter": 3}, "history_filter=.* needs a function, not int"),
    ],
)
def test_a_handoff_that_cannot_work_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(AgentError, match=said):
        Handoff(**{"agent": Agent(name="B"), **wrong})


# Records


@pytest.mark.parametrize(
    "record",
    [
        ToolCall("1", "one", {}, "A", seconds=0.5),
        Pending("1", "one", {"x": 1}, "A"),
        Approve({"x": 1}),
        Refuse("no"),
    ],
)
def test_a_record_is_equal_by_content_and_says_its_fields(record: Any) -> None:
    same = copy.deepcopy(record)
    assert same == record
    assert pickle.loads(pickle.dumps(record)) == record
    assert type(record)(**record.as_dict()) == record
    assert repr(record) == f"{type(record).__name__}({', '.join(f'{name}={value!r}' for name, value in record.as_dict().items())})"
    assert record != "something else"
    with pytest.raises(TypeError, match="unhashable"):
        hash(record)


def response() -> Response:
    return Swarm(ScriptedModel([call("one"), "done"])).run(Agent(name="A", functions=[one]), "go", {"x": [1]})


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_a_response_can_be_copied_and_pickled(copied: Any) -> None:
    """What `state()` is made from stays with the original."""
    original = response()
    other = copied(original)
    assert {**other.as_dict(), "agent": None} == {**original.as_dict(), "agent": None}
    assert (other.text, other.agent.name) == ("done", "A")
    assert original.state()["agent"] == "A"
    with pytest.raises(StateError, match="not made by a run"):
        other.state()


def test_a_response_as_a_dict() -> None:
    made = response()
    assert made.model_dump() == made.as_dict()
    assert set(made.as_dict()) == {"messages", "agent", "context_variables", "usage", "stop_reason", "calls", "pending", "output"}
    assert made.context_variables == {"x": [1]}
