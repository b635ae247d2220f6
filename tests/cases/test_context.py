"""Context variables and isolation: what leaks, what is shared, what is asked again."""

from __future__ import annotations

import asyncio
import copy
import pickle
import threading
from collections import OrderedDict
from typing import Any

import pytest

from swarm import Agent, AsyncSwarm, Handoff, Result, Swarm, tool
from swarm.models.scripted import ScriptedModel, Turn, call
from tests.look import system_text, tool_names, tool_texts
from tests.modes import Drive

HI = [{"role": "user", "content": "hi"}]


def fine() -> str:
    return "fine"


def count(context_variables: dict[str, Any]) -> str:
    context_variables["n"] = context_variables.get("n", 0) + 1
    return str(context_variables["n"])


def test_nothing_leaks_between_agents_or_runs(drive: Drive) -> None:
    """C03, K03"""
    one, other = Agent(), Agent()
    one.functions.append(count)
    assert other.functions == []
    for _ in range(2):
        assert drive(one, HI, [call("count"), "ok"]).context_variables == {"n": 1}
    defaults: dict[str, Any] = {}
    drive(one, HI, [call("count"), "ok"], context_variables=defaults)
    assert defaults == {}


def test_nothing_leaks_between_runs_of_one_swarm_at_once() -> None:
    """C03, K08: three runs are in the middle of their first call at the same time."""
    arrived: list[int] = []

    async def meet(context_variables: dict[str, Any]) -> str:
        arrived.append(context_variables["who"])
        while len(arrived) < 3:
            await asyncio.sleep(0)
        return count(context_variables)

    async def main() -> list[dict[str, Any]]:
        swarm = AsyncSwarm(ScriptedModel([call("meet")] * 3 + ["ok"] * 3))
        agent = Agent(functions=[meet])
        responses = await asyncio.gather(*(swarm.run(agent, HI, {"who": number}) for number in range(3)))
        return [response.context_variables for response in responses]

    assert asyncio.run(main()) == [{"who": number, "n": 1} for number in range(3)]


def test_a_copy_has_lists_of_its_own() -> None:
    """C04"""
    functions, handoffs, settings = [fine], [Agent()], {"temperature": 0}
    a = Agent(functions=functions, handoffs=handoffs, model_settings=settings)
    b = a.copy(name="B")
    b.functions.append(count)
    b.handoffs.append(a)
    b.model_settings["top_p"] = 1
    assert (a.functions, len(a.handoffs), a.model_settings) == ([fine], 1, {"temperature": 0})
    assert (b.name, a.name, b.model) == ("B", "Agent", a.model)
    functions.append(count)
    handoffs.clear()
    settings["seed"] = 1
    assert (a.functions, len(a.handoffs), a.model_settings) == ([fine], 1, {"temperature": 0})


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda agent: agent.model_copy(deep=True), lambda agent: agent.copy()])
def test_a_deep_copy_of_a_used_agent_works(drive: Drive, duplicate: Any) -> None:
    """C04"""
    b = Agent(name="B")
    agent = Agent(name="A", functions=[fine, tool(count, name="counted")], handoffs=[Handoff(b)], instructions=lambda: "A")
    drive(agent, HI, [call("fine"), "ok"])
    other = duplicate(agent)
    other.functions.append(count)
    drive(other, HI, [call("counted"), "ok"])
    assert tool_names(drive.requests[0]) == ["fine", "counted", "count", "transfer_to_b"]
    drive(agent, HI, ["ok"])
    assert tool_names(drive.requests[0]) == ["fine", "counted", "transfer_to_b"]


def test_a_copy_remembers_what_was_given(drive: Drive) -> None:
    """C04, D33"""
    given = Agent(functions=[fine], parallel_tool_calls=False).copy(name="B")
    drive(given, HI, ["ok"])
    assert drive.requests[0]["parallel_tool_calls"] is False
    plain = Agent(functions=[fine]).copy(tools=[count])
    drive(plain, HI, ["ok"])
    assert "parallel_tool_calls" not in drive.requests[0]
    assert tool_names(drive.requests[0]) == ["count"]


@pytest.mark.parametrize(
    "text",
    [
        'Reply as {"city": "{{name}}"} and ${expr}',
        "query { user(id: $id) { name } }",
        "{context_variables[secret]}",
        "100 % {",
        "\\{ \\n }",
    ],
)
def test_braces_are_no_templates(drive: Drive, text: str) -> None:
    """C06"""
    drive(Agent(instructions=text), HI, ["ok"], context_variables={"name": "Ann", "secret": "x"})
    assert system_text(drive.requests[0]) == text
    drive(Agent(instructions=lambda context_variables: text), HI, ["ok"])
    assert system_text(drive.requests[0]) == text


def test_instructions_are_asked_before_each_reply(drive: Drive) -> None:
    """C07, K04"""

    def next_step(context_variables: dict[str, Any]) -> Result:
        return Result(value="ok", context_variables={"step": context_variables["step"] + 1})

    agent = Agent(instructions=lambda context_variables: f"Step {context_variables['step']}", functions=[next_step])
    drive(agent, HI, [call("next_step"), "ok"], context_variables={"step": 1})
    assert [system_text(request) for request in drive.requests] == ["Step 1", "Step 2"]


def test_instructions_of_the_new_agent_see_what_the_handoff_set(drive: Drive) -> None:
    """C07, K14"""
    b = Agent(name="B", instructions=lambda context_variables: f"Serve {context_variables['name']}")

    def to_b() -> Result:
        return Result(agent=b, context_variables={"name": "Ann"})

    drive(Agent(functions=[to_b]), HI, [call("to_b"), "ok"])
    assert system_text(drive.requests[1]) == "Serve Ann"


def test_a_text_and_a_list_both_reach_the_first_request(drive: Drive) -> None:
    """C08"""
    for messages in ("hi", HI):
        drive(Agent(instructions=None), messages, ["ok"])
        assert drive.requests[0]["messages"] == HI


@pytest.mark.parametrize("messages", [None, {"role": "user", "content": "hi"}, [["user", "hi"]], [{"content": "hi"}], 5, ["hi"]])
def test_other_forms_are_refused_clearly(drive: Drive, messages: Any) -> None:
    """C08"""
    with pytest.raises((ValueError, TypeError), match="messages"):
        drive(Agent(), messages, ["never"])


@pytest.mark.parametrize("variables", [{}, None])
def test_a_run_without_variables_still_has_them(drive: Drive, variables: Any) -> None:
    """C09, D17"""

    def put() -> Result:
        return Result(value="ok", context_variables={"a": 1})

    assert drive(Agent(functions=[put, count]), HI, [[call("put"), call("count")], "ok"]).context_variables == {"a": 1, "n": 1}
    response = drive(Agent(functions=[put, count]), HI, [[call("put"), call("count")], "ok"], context_variables=variables)
    assert response.context_variables == {"a": 1, "n": 1}


def test_one_function_with_two_faces(drive: Drive) -> None:
    """C11"""

    @tool(description="Looks things up.")
    def look(q: str) -> str:
        return q

    a = Agent(name="A", functions=[tool(look, name="find", description="Finds."), look, tool(fine, approval=True)])
    b = Agent(name="B", functions=[tool(look, name="search"), fine])
    a.handoffs = [b]
    response = drive(a, HI, [call("find", {"q": "1"}), call("transfer_to_b"), call("search", {"q": "2"}), call("fine"), "ok"])
    assert tool_names(drive.requests[0]) == ["find", "look", "fine", "transfer_to_b"]
    assert tool_names(drive.requests[2]) == ["search", "fine"]
    described = [entry["function"].get("description") for entry in drive.requests[0]["tools"]]
    assert described[:2] == ["Finds.", "Looks things up."]
    assert tool_texts(response) == ["1", '{"assistant": "B"}', "2", "fine"]
    assert response.stop_reason == "complete", "the approval of A's view of the function is not B's"


@pytest.mark.parametrize("parallel", [False, True, 2])
def test_the_last_handoff_by_call_order_wins(drive: Drive, parallel: Any) -> None:
    """C13, K13: the first one asked for finishes last when they run side by side."""
    b, c = Agent(name="B"), Agent(name="C")
    c_done = threading.Event()

    def to_b() -> Result:
        if parallel:
            assert c_done.wait(20)
        return Result(agent=b, context_variables={"winner": "b", "b": 1})

    def to_c() -> Result:
        c_done.set()
        return Result(agent=c, context_variables={"winner": "c", "c": 1})

    response = drive(Agent(functions=[to_b, to_c]), HI, [[call("to_b"), call("to_c")], "ok"], swarm={"parallel_tools": parallel})
    assert response.agent is c
    assert response.context_variables == {"winner": "c", "b": 1, "c": 1}
    assert tool_texts(response) == ['{"assistant": "B"}', '{"assistant": "C"}']
    assert response.handoffs == [("Agent", "C")]


class Wallet:
    """Something that can be copied."""

    def __init__(self) -> None:
        self.coins = [1]


class Connection:
    """Something that cannot."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.rows: list[int] = []


def test_values_of_every_kind(drive: Drive) -> None:
    """D17, K08"""
    wallet, connection = Wallet(), Connection()
    variables: dict[str, Any] = {
        "wallet": wallet,
        "connection": connection,
        "pair": ({"x": [1]}, wallet),
        "ordered": OrderedDict(a=[1]),
        "set": {1, 2},
        "model": ScriptedModel([]),
    }
    variables["self"] = variables

    def touch(context_variables: dict[str, Any]) -> str:
        context_variables["wallet"].coins.append(2)
        context_variables["pair"][0]["x"].append(2)
        context_variables["ordered"]["a"].append(2)
        context_variables["set"].add(3)
        context_variables["connection"].rows.append(1)
        same = context_variables["pair"][1] is context_variables["wallet"], context_variables["self"] is context_variables
        return f"{same} {context_variables['connection'] is connection}"

    response = drive(Agent(functions=[touch]), HI, [call("touch"), "ok"], context_variables=variables)
    assert tool_texts(response) == ["(True, True) True"]
    assert (wallet.coins, variables["pair"][0], variables["ordered"], variables["set"]) == ([1], {"x": [1]}, {"a": [1]}, {1, 2})
    assert connection.rows == [1], "what cannot be copied is shared"
    assert response.context_variables["wallet"].coins == [1, 2]


class Row:
    """An object that can be copied and holds what others hold too."""

    def __init__(self, shared: list[int], agent: Agent) -> None:
        self.shared = shared
        self.agent = agent


def test_what_objects_share_stays_shared_and_agents_are_not_copied(drive: Drive) -> None:
    """D17, D19"""
    target, shared = Agent(name="Target"), [1]
    variables = {"one": Row(shared, target), "two": Row(shared, target), "three": OrderedDict(shared=shared, agent=target)}

    def go(context_variables: dict[str, Any]) -> Agent:
        one, two, three = context_variables["one"], context_variables["two"], context_variables["three"]
        assert one.shared is two.shared is three["shared"]
        assert one.agent is two.agent is three["agent"]
        one.shared.append(2)
        return one.agent

    response = drive(Agent(functions=[go]), HI, [call("go"), "ok"], context_variables=variables)
    assert response.agent is target
    assert shared == [1]
    assert copy.deepcopy(target) is not target


def test_a_half_made_copy_is_not_used(drive: Drive) -> None:
    """D17: one object cannot be copied; what it holds is still copied where it stands by itself."""
    inner = Wallet()
    connection = Connection()
    connection.wallet = inner  # type: ignore[attr-defined]

    def look(context_variables: dict[str, Any]) -> str:
        context_variables["wallet"].coins.append(2)
        return str(context_variables["connection"] is connection)

    variables = {"connection": connection, "wallet": inner}
    response = drive(Agent(functions=[look]), HI, [call("look"), "ok"], context_variables=variables)
    assert tool_texts(response) == ["True"]
    assert inner.coins == [1]
    assert response.context_variables["wallet"].coins == [1, 2]


def test_variables_never_reach_the_model(drive: Drive) -> None:
    """K06"""
    secret = "s3cr3t"

    def use(context_variables: dict[str, Any]) -> str:
        return "used"

    turns = [Turn("a", [call("use", {"context_variables": {"x": 1}})]), "ok"]
    drive(Agent(functions=[use]), HI, turns, context_variables={"key": secret, secret: 1})
    assert secret not in str(drive.requests)


def test_an_agent_is_never_written_to(drive: Drive) -> None:
    """DESIGN: never written to during a run."""
    b = Agent(name="B", tool_choice="required", functions=[fine])
    a = Agent(name="A", tool_choice="required", functions=[fine], handoffs=[b], model_settings={"seed": 1})
    before = [agent.model_dump(exclude={"handoffs"}) for agent in (a, b)]
    drive(a, HI, [call("fine"), call("transfer_to_b"), call("fine"), "ok"], model_override="other")
    assert [agent.model_dump(exclude={"handoffs"}) for agent in (a, b)] == before


def test_the_run_of_a_swarm_in_a_tool_of_another(drive: Drive) -> None:
    """U10, C03: a function that runs another agent by itself keeps the two apart."""

    def research(topic: str, context_variables: dict[str, Any]) -> str:
        inner = Swarm(ScriptedModel([call("count"), f"all about {topic}"])).run(Agent(functions=[count]), topic, context_variables)
        return inner.messages[-1]["content"]

    response = drive(Agent(functions=[research]), HI, [call("research", {"topic": "bees"}), "ok"], context_variables={"n": 5})
    assert tool_texts(response) == ["all about bees"]
    assert response.context_variables == {"n": 5}


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda response: pickle.loads(pickle.dumps(response))])
def test_a_response_can_be_copied_and_pickled(drive: Drive, duplicate: Any) -> None:
    """K03: it holds no client and no lock, whatever the client was."""
    model = ScriptedModel([call("fine"), "ok"])
    model.lock = threading.Lock()  # type: ignore[attr-defined]
    response = drive(Agent(functions=[fine]), HI, model, context_variables={"a": [1]})
    other = duplicate(response)
    assert (other.text, other.messages, other.context_variables) == ("ok", response.messages, {"a": [1]})
    assert other.agent.name == "Agent"
    assert (other.usage, other.calls, other.stop_reason) == (response.usage, response.calls, "complete")
