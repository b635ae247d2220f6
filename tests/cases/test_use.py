"""Using and watching a run: what is printed, events, usage, scripted models, definitions, agents inside agents."""

from __future__ import annotations

import asyncio
import logging
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from swarm import Agent, AgentError, AsyncSwarm, Limits, RunInfo, ScriptedModel, Swarm, SwarmError, tool
from swarm.events import Delta, Done, Event, HandedOff, MessageDone, Nested, ToolDone, ToolStarted, TurnEnded, TurnStarted
from swarm.models.scripted import Turn, call
from tests.look import is_valid, outline, system_text, tool_names, tool_texts
from tests.modes import Drive, names

HI = [{"role": "user", "content": "hi"}]


def search(q: str = "") -> str:
    return f"found {q}"


def login(api_key: str) -> str:
    return f"welcome {api_key}"


def test_nothing_is_shown_of_what_tools_get(
    drive: Drive, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, recwarn: pytest.WarningsRecorder
) -> None:
    """U01"""
    with caplog.at_level(logging.INFO):
        drive(Agent(functions=[login]), HI, [call("login", {"api_key": "sk-1"}), "ok"])
    assert capfd.readouterr() == ("", "")
    assert [record for record in caplog.records if record.name.startswith("swarm")] == []
    assert not recwarn.list


@pytest.mark.parametrize(
    "made",
    [
        call("login", '{"api_key": "sk-1"'),
        call("login", {"api_key": "sk-1", "other": "sk-1"}),
        call("logout", {"api_key": "sk-1"}),
        call("refuse", {"api_key": "sk-1"}),
        call("slow", {"api_key": "sk-1"}),
    ],
)
def test_nor_of_what_fails(
    drive: Drive, made: Any, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, recwarn: pytest.WarningsRecorder
) -> None:
    """U01, T10: broken, unknown, refused or late: the model is told, the terminal and the log are not."""

    def refuse(api_key: str) -> str:
        raise PermissionError(f"{api_key} is not allowed")

    async def wait(api_key: str) -> str:
        await asyncio.sleep(60)
        return api_key

    agent = Agent(functions=[login, refuse, tool(wait, name="slow", timeout=0.01)])
    with caplog.at_level(logging.INFO):
        response = drive(agent, HI, [made, "ok"])
    assert tool_texts(response)[0].startswith("Error: ")
    assert capfd.readouterr() == ("", "")
    assert "sk-1" not in caplog.text
    assert not recwarn.list


def test_events_are_complete_and_in_order(drive: Drive) -> None:
    """U02"""
    b = Agent(name="B")
    a = Agent(name="A", functions=[search], handoffs=[b])
    events = drive.events(a, HI, [[call("search", {"q": "x"}, id="c1"), call("transfer_to_b", id="c2")], "ok"])
    assert names(events) == [
        "TurnStarted",
        "MessageDone",
        "ToolStarted",
        "ToolDone",
        "ToolStarted",
        "ToolDone",
        "HandedOff",
        "TurnEnded",
        "TurnStarted",
        "MessageDone",
        "TurnEnded",
        "Done",
    ]
    found = {
        kind: [event for event in events if isinstance(event, kind)]
        for kind in (TurnStarted, MessageDone, ToolStarted, ToolDone, HandedOff, TurnEnded, Done)
    }
    response = found[Done][0].response  # type: ignore[attr-defined]
    assert [event.turn for event in found[TurnStarted]] == [1, 2]  # type: ignore[attr-defined]
    assert [event.turn for event in found[TurnEnded]] == [1, 2]  # type: ignore[attr-defined]
    assert [(event.id, event.name, event.arguments) for event in found[ToolStarted]] == [
        ("c1", "search", {"q": "x"}),
        ("c2", "transfer_to_b", {}),
    ]  # type: ignore[attr-defined]
    assert [event.call for event in found[ToolDone]] == response.calls  # type: ignore[attr-defined]
    told = [event.message for event in [*found[MessageDone], *found[ToolDone]]]  # type: ignore[attr-defined]
    assert all(message in response.messages for message in told)
    assert len(told) == len(response.messages)
    assert (found[HandedOff][0].agent, found[HandedOff][0].to, found[HandedOff][0].call_id) == ("A", "B", "c2")  # type: ignore[attr-defined]


def test_every_event_names_its_agent(drive: Drive) -> None:
    """U02"""
    events = drive.events(Agent(name="A", functions=[search]), HI, [call("search"), "ok"])
    assert {event.agent for event in events} == {"A"}


def test_deltas_add_up_to_the_message(drive: Drive) -> None:
    """U02, S18"""
    events = drive.events(Agent(functions=[search]), HI, [Turn("One two three.", [call("search")]), "four five"])
    texts, text = [], ""
    for event in events:
        if isinstance(event, Delta):
            text += event.text
        elif isinstance(event, MessageDone):
            texts.append(text)
            text = ""
    assert texts == ["One two three.", "four five"]


def test_a_listener_that_raises_does_not_break_the_run(drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    """U02"""
    seen: list[Event] = []

    def bad(event: Event) -> None:
        raise RuntimeError("listener")

    response = drive(Agent(functions=[search]), HI, [call("search"), "ok"], swarm={"on_event": [bad, seen.append]})
    assert response.text == "ok"
    assert isinstance(seen[-1], Done)
    assert "listener" in caplog.text


def test_a_listener_may_be_async(drive: Drive) -> None:
    """U02"""
    seen: list[str] = []

    async def note(event: Event) -> None:
        await asyncio.sleep(0)
        seen.append(type(event).__name__)

    drive(Agent(), HI, ["ok"], swarm={"on_event": note})
    assert [name for name in seen if name != "Delta"] == ["TurnStarted", "MessageDone", "TurnEnded", "Done"]


def test_listeners_and_streams_see_the_same(drive: Drive) -> None:
    """U02"""
    seen: list[Event] = []
    events = drive.events(
        Agent(functions=[search]), HI, [call("search"), "ok"], **({"swarm": {"on_event": seen.append}} if drive.streams else {})
    )
    if drive.streams:
        assert seen == events
    assert names(events)[-1] == "Done"


def test_usage_is_summed_and_split(drive: Drive) -> None:
    """U03, S12"""
    turns = [Turn(calls=[call("transfer_to_b")], usage=(10, 1)), Turn("ok", usage=(5, 2))]
    usage = drive(Agent(name="A", handoffs=[Agent(name="B")]), HI, turns).usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens, usage.calls) == (15, 3, 18, 2)
    shares = {name: (share.input_tokens, share.output_tokens, share.calls) for name, share in usage.by_agent.items()}
    assert shares == {"A": (10, 1, 1), "B": (5, 2, 1)}
    assert usage.estimated is False


def test_usage_without_counts(drive: Drive) -> None:
    """U03, S12, D28"""
    usage = drive(Agent(), HI, [Turn("ok", usage=None)]).usage
    assert (usage.total_tokens, usage.calls, usage.cost, usage.estimated) == (0, 1, None, False)
    usage = drive(Agent(), HI, [Turn("ok " * 50, usage=None)], limits=Limits(tokens=10_000)).usage
    assert usage.total_tokens > 10
    assert usage.estimated is True


def test_a_script_that_is_used_up_says_so(drive: Drive) -> None:
    """U04"""
    with pytest.raises(TypeError, match=r"a script is a list of turns: \['Hello'\]"):
        ScriptedModel("Hello")
    with pytest.raises(SwarmError, match="the script has 1 turn and was asked for one more"):
        drive(Agent(functions=[search]), HI, [call("search")])


def test_a_script_names_what_was_left_over() -> None:
    """U04"""
    with pytest.raises(AssertionError, match="second"), ScriptedModel(["first", "second"]) as model:
        Swarm(model).run(Agent(), HI)


def test_a_script_can_be_written_in_chunks() -> None:
    """U04, S01"""
    model = ScriptedModel([Turn(chunks=[{"choices": []}, "a", {"content": "b"}, {"choices": [], "usage": {"prompt_tokens": 3}}])])
    items = list(Swarm(model).run(Agent(), HI, stream=True))
    assert items[-1]["response"].text == "ab"
    assert items[-1]["response"].usage.input_tokens == 3


def test_which_model_is_used(drive: Drive) -> None:
    """U06, K05"""
    b = Agent(name="B", model="model-b")
    drive(Agent(handoffs=[b]), HI, [call("transfer_to_b"), "ok"])
    assert [request["model"] for request in drive.requests] == ["gpt-4o", "model-b"]
    drive(Agent(handoffs=[b]), HI, [call("transfer_to_b"), "ok"], model_override="mine")
    assert [request["model"] for request in drive.requests] == ["mine", "mine"]


def test_the_readme_says_first_what_to_install() -> None:
    """P19: before anything else, since the name of the import belongs to another project."""
    text = (Path(__file__).parent.parent.parent / "README.md").read_text(encoding="utf-8")
    first = text.split("```")[0]
    assert "`openswarm`" in first
    assert "unrelated" in first
    assert first.index("openswarm") < first.index("swarm` on the package index")


@pytest.mark.parametrize("name", ["", "   ", "\n"])
def test_an_empty_name_is_refused(name: str) -> None:
    """U07"""
    with pytest.raises(AgentError, match="name"):
        Agent(name=name)


@pytest.mark.parametrize("name", [" A ", "Élodie", "助手", "Агент", "🐝", "a/b", "x" * 500])
def test_other_names_are_accepted(drive: Drive, name: str) -> None:
    """U07"""
    response = drive(Agent(name=name), HI, ["ok"])
    assert response.messages[0]["sender"] == name


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"functions": [42]}, "not callable"),
        ({"functions": search}, "functions"),
        ({"functions": [lambda x: x]}, "tool"),
        ({"functions": [search, search]}, "search"),
        ({"functions": [search], "tools": [login]}, "one of the two"),
        ({"handoffs": ["B"]}, "Handoff"),
        ({"instruction": "typo"}, "instructions"),
        ({"name": None}, "name"),
        ({"instructions": 5}, "instructions"),
        ({"model_settings": "x"}, "model_settings"),
        ({"history_filter": "x"}, "history_filter"),
    ],
)
def test_wrong_definitions_fail_at_once_with_advice(fields: dict[str, Any], words: str) -> None:
    """U07, D19, D22"""
    with pytest.raises(AgentError, match=words) as caught:
        Agent(**fields)
    assert isinstance(caught.value, ValueError)


def test_a_subclass_may_have_fields_of_its_own(drive: Drive) -> None:
    """U07, K13"""

    class TeamAgent(Agent):
        team: str = "none"

    b = TeamAgent(name="B", team="blue", instructions=lambda agent: f"Team {agent.team}")
    response = drive(TeamAgent(name="A", handoffs=[b]), HI, [call("transfer_to_b"), "ok"])
    assert response.agent is b
    assert system_text(drive.requests[1]) == "Team blue"
    assert b.copy(name="C").team == "blue"  # type: ignore[attr-defined]
    with pytest.raises(AgentError, match="team"):
        TeamAgent(name="A", taem="typo")  # type: ignore[call-arg]


def test_a_function_that_is_wrong_later_is_found_before_anything_is_sent(drive: Drive) -> None:
    """U07, D19"""
    agent = Agent()
    agent.functions.append(42)  # type: ignore[arg-type]
    with pytest.raises(AgentError, match="not callable"):
        drive(agent, HI, ["never"])
    assert drive.requests == []


@pytest.mark.parametrize("agent", [None, "Agent", {"name": "A"}, Agent])
def test_something_else_than_an_agent(drive: Drive, agent: Any) -> None:
    """U07"""
    with pytest.raises(TypeError, match="Agent"):
        drive(agent, HI, ["never"])


def test_thirty_agents_in_a_chain(drive: Drive) -> None:
    """U08"""
    agents = [Agent(name=f"Agent {number}") for number in range(30)]
    for one, following in pairwise(agents):
        one.handoffs = [following]
    turns = [call(f"transfer_to_agent_{number}") for number in range(1, 30)]
    response = drive(agents[0], HI, [*turns, "end"])
    assert response.agent is agents[-1]
    assert len(response.handoffs) == 29
    assert response.messages[-1]["sender"] == "Agent 29"
    assert response.stop_reason == "complete"


# Agents inside agents


def as_tool_of(inner: Agent, **more: Any) -> Agent:
    return Agent(name="Outer", instructions="outer", functions=[inner.as_tool(**more)])


def test_an_agent_as_a_function(drive: Drive) -> None:
    """U10, D24"""
    inner = Agent(name="Research Agent", instructions="inner", description="Knows everything.", functions=[search])
    outer = as_tool_of(inner)
    turns = [call("research_agent", {"input": "what is a bee?"}), call("search", {"q": "bee"}), "An insect.", "It is an insect."]
    response = drive(outer, HI, turns)
    assert outline(response) == [
        ("assistant", "Outer", None),
        ("tool", "research_agent", "An insect."),
        ("assistant", "Outer", "It is an insect."),
    ]
    assert response.agent is outer
    assert [system_text(request) for request in drive.requests] == ["outer", "inner", "inner", "outer"]
    assert drive.requests[1]["messages"][1:] == [{"role": "user", "content": "what is a bee?"}]
    function = drive.requests[0]["tools"][0]["function"]
    assert function["description"] == "Knows everything."
    assert list(function["parameters"]["properties"]) == ["input"]
    assert is_valid(drive.requests[3]["messages"])


def test_its_name_and_description_can_be_given(drive: Drive) -> None:
    """U10"""
    drive(as_tool_of(Agent(name="助手"), name="ask_helper", description="Ask."), HI, ["ok"])
    assert tool_names(drive.requests[0]) == ["ask_helper"]
    assert drive.requests[0]["tools"][0]["function"]["description"] == "Ask."


def test_usage_and_limits_add_up(drive: Drive) -> None:
    """U10"""
    inner = Agent(name="Inner", functions=[search])
    turns = [call("inner", {"input": "x"}), call("search"), "found", "ok"]
    response = drive(as_tool_of(inner), HI, turns)
    assert response.usage.calls == 4
    assert response.usage.by_agent["Inner"].calls == 2
    assert [made.name for made in response.calls] == ["inner"]
    limited = drive(as_tool_of(inner), HI, turns[:2], limits=Limits(model_calls=2))
    assert limited.stop_reason == "limit:model_calls"
    assert is_valid(limited.messages)
    assert limited.usage.calls == 2


def test_context_is_shared_with_the_inner_run(drive: Drive) -> None:
    """U10, D24"""

    def put(context_variables: dict[str, Any]) -> str:
        context_variables["inner"] = context_variables["outer"] + 1
        return "ok"

    inner = Agent(name="Inner", functions=[put])
    response = drive(as_tool_of(inner), HI, [call("inner", {"input": "x"}), call("put"), "done", "ok"], context_variables={"outer": 1})
    assert response.context_variables == {"outer": 1, "inner": 2}


def test_inner_events_are_told_as_nested(drive: Drive) -> None:
    """U10, D45"""
    inner = Agent(name="Inner", functions=[search])
    events = drive.events(as_tool_of(inner), HI, [call("inner", {"input": "x"}, id="c1"), call("search"), "done", "ok"])
    nested = [event for event in events if isinstance(event, Nested)]
    assert {event.call_id for event in nested} == {"c1"}
    assert names([event.event for event in nested]) == [
        *("TurnStarted", "MessageDone", "ToolStarted", "ToolDone", "TurnEnded"),
        *("TurnStarted", "MessageDone", "TurnEnded"),
    ]
    assert [event.message["content"] for event in events if isinstance(event, MessageDone)] == [None, "ok"]


@pytest.mark.parametrize("kind", [Swarm, AsyncSwarm])
def test_the_dict_form_leaves_inner_events_out(kind: Any) -> None:
    """U10, D45"""
    inner = Agent(name="Inner")
    swarm = kind(ScriptedModel([call("inner", {"input": "x"}), "inner text", "outer text"]))

    async def read() -> list[Any]:
        return [item async for item in swarm.run(as_tool_of(inner), HI, stream=True)]

    items = list(swarm.run(as_tool_of(inner), HI, stream=True)) if kind is Swarm else asyncio.run(read())
    assert [item["delim"] for item in items if "delim" in item] == ["start", "end"] * 2
    assert "inner text" not in "".join(item.get("content") or "" for item in items)


def test_an_inner_failure_is_a_failed_call(drive: Drive) -> None:
    """U10, K11"""
    response = drive(as_tool_of(Agent(name="Inner")), HI, [call("inner", {"input": "x"}), RuntimeError("inner model is down"), "sorry"])
    assert tool_texts(response)[0].startswith("Error: ")
    assert "inner model is down" in tool_texts(response)[0]
    assert response.text == "sorry"
    assert response.calls[0].outcome == "error"


def test_an_inner_handoff_stays_inside(drive: Drive) -> None:
    """U10"""
    helper = Agent(name="Helper", instructions="helper")
    inner = Agent(name="Inner", handoffs=[helper])
    outer = as_tool_of(inner)
    response = drive(outer, HI, [call("inner", {"input": "x"}), call("transfer_to_helper"), "from helper", "ok"])
    assert response.agent is outer
    assert tool_texts(response) == ["from helper"]
    assert response.handoffs == []


def test_two_inner_runs_side_by_side(drive: Drive) -> None:
    """U10, X08"""

    @tool(inline=True)
    def who(run: RunInfo) -> str:
        return str(run.agent.name)

    agents = [Agent(name=name, functions=[who]).as_tool() for name in ("One", "Two")]
    calls = [call("one", {"input": "x"}), call("two", {"input": "y"})]

    class Echo(ScriptedModel):
        """Answers an inner run with what its agent was asked."""

        def _take(self, call: Any) -> Any:
            if call.agent.name in ("One", "Two"):
                return Turn(f"{call.agent.name} got {call.request['messages'][-1]['content']}"), 0
            return super()._take(call)

    response = drive(Agent(functions=agents), HI, Echo([calls, "ok"]), swarm={"parallel_tools": True})
    assert tool_texts(response) == ["One got x", "Two got y"]
