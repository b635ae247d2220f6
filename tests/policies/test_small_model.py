"""SmallModel: fewer tools, one for all handoffs, strict schemas, and one nudge."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from benchmarks.router_eval import kept
from swarm import Agent, Handoff, Result, ScriptedModel, Swarm, load_state, tool
from swarm.errors import RateLimitError
from swarm.events import Delta, HandedOff, Nested, PolicyActed
from swarm.meaning import sentence_model
from swarm.models.scripted import Turn, call
from swarm.policies import Allow, Approval, Permission, Retry, Router, SmallModel
from swarm.testing.conformance import PolicyConformance
from tests.look import is_valid, tool_names, tool_texts
from tests.modes import Drive
from tests.vectors import Words

SAYS = "I'll transfer you to sales."
SALES, REFUNDS = Agent(name="Sales", description="Sells bees."), Agent(name="Refunds")
TRIAGE = Agent(name="Triage", handoffs=[SALES, REFUNDS])


class TestSmallModel(PolicyConformance):
    def make(self) -> SmallModel:
        return SmallModel(tools=1, embed=Words("look"))


class TestSmallModelThatNudges(PolicyConformance):
    def make(self) -> SmallModel:
        return SmallModel()

    def turns(self) -> list[Any]:
        return ["I'll transfer you to my colleague.", call("transfer_to_second"), "Done."]


def small(**options: Any) -> dict[str, Any]:
    return {"policies": [SmallModel(**{"route": False, **options})]}


def acted(events: list[Any]) -> list[str]:
    return [event.what for event in events if isinstance(event, PolicyActed)]


# One tool for all handoffs


def test_one_tool_stands_for_the_handoffs(drive: Drive) -> None:
    """H08"""
    response = drive(TRIAGE, "a bee", [call("route", {"agent": "Sales"}), "Which one?"], swarm={"policies": [SmallModel()]})
    assert response.agent is SALES
    assert tool_texts(response) == ['{"assistant": "Sales"}']
    assert response.calls[0].handoff_to == "Sales"
    (offer,) = drive.requests[0]["tools"]
    assert offer["function"]["parameters"]["properties"]["agent"]["enum"] == ["Sales", "Refunds"]
    assert "- Sales: Hand over to Sales. Sells bees." in offer["function"]["description"]
    assert "tools" not in drive.requests[1]


@pytest.mark.parametrize("arguments", [{"agent": "Billing"}, {}, {"agent": 3}])
def test_a_wrong_agent_is_told_with_those_there_are(drive: Drive, arguments: Any) -> None:
    """H08"""
    turns = [call("route", arguments), call("route", {"agent": "Refunds", "message": "made up"}), "ok"]
    response = drive(TRIAGE, "go", turns, swarm={"policies": [SmallModel()]})
    assert response.calls[0].outcome == "error"
    assert response.agent is REFUNDS
    if arguments:
        assert "Sales" in tool_texts(response)[0]


def test_what_a_handoff_says_and_filters_holds_through_it(drive: Drive) -> None:
    """H15, D20, C10: also after the run was saved."""

    def of_user(messages: list[Any]) -> list[Any]:
        return [message for message in messages if message["role"] == "user"]

    triage = Agent(name="Triage", handoffs=[SALES, Handoff(REFUNDS, history_filter=of_user, message="over to you")])
    response = drive(triage, "go", [call("route", {"agent": "Refunds"}), "ok"], swarm={"policies": [SmallModel()]})
    assert tool_texts(response) == ["over to you"]
    assert [message["role"] for message in drive.requests[1]["messages"]] == ["system", "user"]
    state = json.loads(json.dumps(response.state()))
    assert state["handoff"] == {"agent": "Triage", "tool": "transfer_to_refunds"}
    assert drive.resume(load_state(state, agents=[triage, SALES, REFUNDS]), []).agent is REFUNDS


@pytest.mark.parametrize(
    ("handoffs", "functions", "names"),
    [
        ([SALES], [], ["transfer_to_sales"]),
        ([SALES, Agent(name="Sales")], [], ["transfer_to_sales", "transfer_to_sales_2"]),
        ([SALES, Handoff(REFUNDS, returns=True)], [], ["transfer_to_sales", "transfer_to_refunds"]),
        ([SALES, REFUNDS, Handoff(Agent(name="Expert"), returns=True)], [], ["route", "transfer_to_expert"]),
        ([SALES, Handoff(REFUNDS, when=lambda: False)], [], ["transfer_to_sales"]),
        ([SALES, REFUNDS], ["look", "route"], ["look", "route", "transfer_to_sales", "transfer_to_refunds"]),
        ([SALES, REFUNDS], ["look"], ["look", "route"]),
    ],
)
def test_where_it_stands_for_nothing(drive: Drive, handoffs: list[Any], functions: list[str], names: list[str]) -> None:
    made = [tool(lambda: "x", name=name) for name in functions]
    drive(Agent(name="A", functions=made, handoffs=handoffs), "go", ["ok"], swarm={"policies": [SmallModel()]})
    assert tool_names(drive.requests[0]) == names


def test_a_forced_handoff_is_offered_by_its_name(drive: Drive) -> None:
    """H13"""
    choice = {"type": "function", "function": {"name": "transfer_to_sales"}}
    triage = Agent(name="Triage", handoffs=[SALES, REFUNDS], tool_choice=choice)
    response = drive(triage, "go", [call("transfer_to_sales"), "ok"], swarm={"policies": [SmallModel(tools=1, embed=Words("a"))]})
    assert tool_names(drive.requests[0]) == ["transfer_to_sales", "transfer_to_refunds"]
    assert response.agent is SALES


@pytest.mark.parametrize("inside", [False, True])
def test_a_call_of_it_that_waited_is_known_after_a_pause(drive: Drive, inside: bool) -> None:
    """D1, D44, X09: the reply is executed whole, in another process, inside another agent."""

    @tool(approval=True)
    def pay() -> str:
        return "paid"

    triage = Agent(name="Triage", functions=[pay], handoffs=[SALES, REFUNDS])
    start = Agent(name="Start", functions=[triage.as_tool()]) if inside else triage
    first = [call("triage", {"input": "go"})] if inside else []
    policies = [SmallModel()]
    paused = drive(start, "go", [*first, [call("pay"), call("route", {"agent": "Sales"})]], swarm={"policies": policies})
    assert paused.stop_reason == "approval"
    state = load_state(json.dumps(paused.state()), agents=[start, triage, SALES, REFUNDS])
    response = drive.resume(state, ["from sales", "end"], approvals={paused.pending[0].id: True}, swarm={"policies": policies})
    if inside:
        assert tool_texts(response) == ["from sales"]
    else:
        assert tool_texts(response) == ["paid", '{"assistant": "Sales"}']
        assert response.agent is SALES


def test_permissions_decide_about_the_agents_behind_it(drive: Drive) -> None:
    """H23: Permission before SmallModel: who may not be handed to is not in the list, and the call itself needs no rule."""
    other = Agent(name="Other")
    triage = Agent(name="Triage", handoffs=[SALES, REFUNDS, other])
    asking = Approval(lambda: True, when=lambda: True)
    policies = [Permission([Allow(to=["Sales", "Refunds"])]), asking, SmallModel()]
    turns = [call("route", {"agent": "Other"}), call("transfer_to_other"), call("route", {"agent": "Sales"}), "ok"]
    response = drive(triage, "go", turns, swarm={"policies": policies})
    (offer,) = drive.requests[0]["tools"]
    assert offer["function"]["parameters"]["properties"]["agent"]["enum"] == ["Sales", "Refunds"]
    assert [made.outcome for made in response.calls] == ["error", "refused", "ok"]
    assert response.agent is SALES


def test_a_wrong_name_is_answered_with_what_was_sent(drive: Drive) -> None:
    """K11"""
    response = drive(TRIAGE, "go", [call("rout"), "ok"], swarm={"policies": [SmallModel()]})
    assert tool_texts(response) == ["Error: Tool rout not found. Did you mean route? Available tools: route."]


# A handoff in words only


def test_a_handoff_in_words_only_costs_one_more_question(drive: Drive) -> None:
    """H19: the reply keeps its text and gets the call; the question is not in the history."""
    events = drive.events(TRIAGE, "a bee", [SAYS, call("transfer_to_sales"), "Which one?"], swarm=small())
    response = events[-1].response  # type: ignore[attr-defined]
    assert response.agent is SALES
    assert is_valid(response.messages)
    assert [message["content"] for message in response.messages] == [SAYS, '{"assistant": "Sales"}', "Which one?"]
    assert [message["role"] for message in drive.requests[1]["messages"]] == ["system", "user", "assistant", "user"]
    assert "call transfer_to_sales or transfer_to_refunds now" in drive.requests[1]["messages"][-1]["content"]
    assert acted(events) == ["asks once more, since the reply hands over in words only"]
    assert response.usage.calls == 3


def test_what_is_shown_is_what_is_kept(drive: Drive) -> None:
    """K18: the deltas of the reply and of the calls that were added make the message."""
    events = drive.events(TRIAGE, "a bee", [SAYS, Turn("thinking aloud", [call("transfer_to_sales")]), "Which one?"], swarm=small())
    at = next(number for number, event in enumerate(events) if isinstance(event, HandedOff))
    deltas = [event.delta for event in events[:at] if isinstance(event, Delta)]
    assert "".join(delta.get("content") or "" for delta in deltas) == SAYS
    calls = [made for delta in deltas for made in delta.get("tool_calls") or ()]
    assert [made["function"]["name"] for made in calls] == ["transfer_to_sales"]


@pytest.mark.parametrize(
    "second", ["I'll transfer you now, promised.", "It is Monday.", RateLimitError("429: slow down"), Turn("", finish_reason="length")]
)
def test_if_that_does_not_help_the_reply_stays(drive: Drive, second: Any) -> None:
    """H19: and the run ends with it; a failure of the question is no failure of the run."""
    events = drive.events(TRIAGE, "a bee", [SAYS, second], swarm=small())
    response = events[-1].response  # type: ignore[attr-defined]
    assert (response.text, response.agent, response.stop_reason, len(response.messages)) == (SAYS, TRIAGE, "complete", 1)
    assert len(acted(events)) == (2 if isinstance(second, Exception) else 1)


@pytest.mark.parametrize(
    ("agent", "turn"),
    [
        (TRIAGE, "Shall I transfer you to sales?"),
        (TRIAGE, Turn(SAYS, finish_reason="length")),
        (Agent(name="Alone"), SAYS),
        (Agent(name="Asks", functions=[SALES.as_tool()], handoffs=[Handoff(REFUNDS, returns=True)]), SAYS),
    ],
)
def test_where_there_is_nothing_to_ask(drive: Drive, agent: Agent, turn: Any) -> None:
    response = drive(agent, "a bee", [turn], swarm=small())
    assert len(drive.requests) == 1
    assert response.agent is agent


def test_a_reply_that_calls_is_left_alone(drive: Drive) -> None:
    response = drive(TRIAGE, "a bee", [Turn(SAYS, [call("transfer_to_refunds")]), "Which one?"], swarm=small())
    assert response.agent is REFUNDS
    assert len(drive.requests) == 2


def test_an_agent_is_asked_once_in_a_run(drive: Drive) -> None:
    """And again in the next."""

    def look() -> str:
        return "nothing"

    triage = Agent(name="Triage", functions=[look], handoffs=[SALES, REFUNDS])
    policies = small()
    for _ in range(2):
        drive(triage, "a bee", [SAYS, call("look"), SAYS], swarm=policies)
        assert len(drive.requests) == 3


def test_functions_that_hand_over_count_as_handoffs(drive: Drive) -> None:
    def transfer_to_sales():  # type: ignore[no-untyped-def]
        return SALES

    def over() -> Result:
        return Result(agent=SALES)

    for function in (transfer_to_sales, over):
        agent = Agent(name="Seed", functions=[function])
        assert drive(agent, "a bee", [SAYS, call(function.__name__), "ok"], swarm=small()).agent is SALES


def test_inside_another_agent_it_is_told_as_nested(drive: Drive) -> None:
    """D45"""
    start = Agent(name="Start", functions=[TRIAGE.as_tool()])
    turns = [call("triage", {"input": "a bee"}), SAYS, call("transfer_to_sales"), "from sales", "end"]
    events = drive.events(start, "go", turns, swarm=small())
    inner = [event.event for event in events if isinstance(event, Nested)]
    assert acted(inner) == ["asks once more, since the reply hands over in words only"]
    assert tool_texts(events[-1].response) == ["from sales"]  # type: ignore[attr-defined]


# Strict schemas


def pick(colour: str, size: int = 3) -> str:
    return f"{colour} {size}"


@pytest.mark.parametrize(("profile", "is_strict"), [("vllm", True), ("sglang", True), ("openai", True), ("ollama", False), (None, False)])
def test_schemas_are_strict_where_the_server_knows_it(drive: Drive, profile: str | None, is_strict: bool) -> None:
    """J05, J07"""
    agent = Agent(name="A", functions=[pick], profile=profile)
    turns = [call("pick", {"colour": "red", "size": None}), "ok"]
    response = drive(agent, "go", turns, swarm=small())
    function = drive.requests[0]["tools"][0]["function"]
    assert function.get("strict", False) is is_strict
    assert function["parameters"]["required"] == (["colour", "size"] if is_strict else ["colour"])
    assert tool_texts(response) == ["red 3"]


def test_what_cannot_be_strict_stays_as_it_is(drive: Drive) -> None:
    """J06: and one that says no keeps its no."""

    def free(filters: dict[str, Any]) -> str:
        return "x"

    def more(**kwargs: str) -> str:
        return "x"

    agent = Agent(name="A", functions=[free, more, tool(pick, strict=False)], profile="vllm")
    drive(agent, "go", ["ok"], swarm=small())
    assert [offer["function"].get("strict") for offer in drive.requests[0]["tools"]] == [None, None, False]


# Fewer tools


def named(name: str, **options: Any) -> Any:
    return tool(lambda: f"{name} done", name=name, description=f"About {name}.", **options)


MANY = [named(name) for name in ("rain", "snow", "wind", "sun")]
WORDS = Words("rain", "snow", "wind", "sun")


@pytest.mark.parametrize("is_async", [False, True])
def test_the_nearest_are_offered_in_their_order(drive: Drive, is_async: bool) -> None:
    agent = Agent(name="A", functions=MANY, handoffs=[SALES])
    drive(agent, "sun and rain rain", ["ok"], swarm=small(tools=3, embed=WORDS.later if is_async else WORDS))
    assert tool_names(drive.requests[0]) == ["rain", "sun", "transfer_to_sales"]


def test_those_that_were_called_stay(drive: Drive) -> None:
    """And the list is the same all through a run."""
    agent = Agent(name="A", functions=MANY)
    history = [{"role": "user", "content": "snow"}]
    policies = small(tools=2, embed=WORDS)
    first = drive(agent, history, [call("snow"), "It snows."], swarm=policies)
    assert [tool_names(request) for request in drive.requests] == [["rain", "snow"]] * 2
    history += [*first.messages, {"role": "user", "content": "wind wind"}]
    drive(agent, history, ["ok"], swarm=policies)
    assert tool_names(drive.requests[0]) == ["snow", "wind"]


def test_more_than_may_be_stay_if_they_must(drive: Drive) -> None:
    agent = Agent(name="A", functions=MANY[:1], handoffs=[SALES, REFUNDS])
    drive(agent, "rain", ["ok"], swarm=small(tools=1, embed=WORDS))
    assert tool_names(drive.requests[0]) == ["transfer_to_sales", "transfer_to_refunds"]


def test_what_is_not_offered_may_be_called_all_the_same(drive: Drive) -> None:
    """It is the agent's, and allowed: it was only kept from a crowded request, and is offered from then on."""
    agent = Agent(name="A", functions=MANY)
    response = drive(agent, "rain", [call("sun"), "ok"], swarm=small(tools=1, embed=WORDS))
    assert tool_texts(response) == ["sun done"]
    assert [tool_names(request) for request in drive.requests] == [["rain"], ["sun"]]


def test_examples_of_a_tool_count(drive: Drive) -> None:
    agent = Agent(name="A", functions=[*MANY, named("other", examples=["umbrella"])])
    drive(agent, "umbrella", ["ok"], swarm=small(tools=1, embed=Words("umbrella", "rain")))
    assert tool_names(drive.requests[0]) == ["other"]


@pytest.mark.parametrize("messages", [[{"role": "user", "content": ""}], [{"role": "assistant", "content": "rain?"}], "rain"])
def test_without_a_wish_or_with_few_tools_all_are_offered(drive: Drive, messages: Any) -> None:
    drive(Agent(name="A", functions=MANY), messages, ["ok"], swarm=small(tools=4 if messages == "rain" else 1, embed=WORDS))
    assert len(tool_names(drive.requests[0])) == 4


def test_the_measured_choice() -> None:
    """The numbers of the guide are those of the code."""
    functions, messages, found = kept(8, sentence_model())
    text = (Path(__file__).parent.parent.parent / "docs" / "small-models.md").read_text(encoding="utf-8")
    assert f"Of {functions} functions of many applications together, the right one for {messages} messages" in text
    assert f"| 8 | {found / messages:.2f} |" in text


# Whom it helps


def test_others_are_left_alone(drive: Drive) -> None:
    policies = {"policies": [SmallModel(agents=[SALES])]}
    drive(TRIAGE, "a bee", [SAYS], swarm=policies)
    assert tool_names(drive.requests[0]) == ["transfer_to_sales", "transfer_to_refunds"]


def test_what_was_hidden_from_one_agent_is_named_to_another(drive: Drive) -> None:
    """K11"""
    shop = Agent(name="Shop", functions=MANY)
    small_agent = Agent(name="A", functions=MANY, handoffs=[shop])
    turns = [call("transfer_to_shop"), call("snowy"), "ok"]
    response = drive(small_agent, "rain", turns, swarm={"policies": [SmallModel(tools=2, agents=[small_agent], embed=WORDS)]})
    assert tool_texts(response)[1] == "Error: Tool snowy not found. Did you mean snow? Available tools: rain, snow, wind, sun."


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_in_any_order_the_conversation_is_the_same(order: tuple[int, ...]) -> None:
    """X07, D10: around and inside of retries, a router, and permissions that allow everything."""
    busy = RateLimitError("429: slow down")
    made = [SmallModel(), Retry(random=lambda: 0.0), Router(TRIAGE, {SALES: ["other"]}, embed=WORDS), Permission(default="allow")]
    model = ScriptedModel([busy, SAYS, call("route", {"agent": "Sales"}), busy, "Which one?"])
    response = Swarm(model, policies=[made[index] for index in order]).run(TRIAGE, "rain")
    assert (response.agent, [message["content"] for message in response.messages]) == (
        SALES,
        [SAYS, '{"assistant": "Sales"}', "Which one?"],
    )


def test_each_help_can_be_switched_off(drive: Drive) -> None:
    off = {"policies": [SmallModel(route=False, strict=False, nudge=False)]}
    agent = Agent(name="A", functions=[pick], handoffs=[SALES, REFUNDS], profile="vllm")
    drive(agent, "a bee", [SAYS], swarm=off)
    sent = drive.requests
    drive(agent, "a bee", [SAYS])
    assert sent == drive.requests


def test_what_is_wrong_is_said() -> None:
    """U07"""
    with pytest.raises(ValueError, match=r"SmallModel\(tools=0\) must be at least 1"):
        SmallModel(tools=0)
    with pytest.raises(TypeError, match="takes a list of Agents, not Agent"):
        SmallModel(agents=Agent())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="takes a list of Agents, not 'Sales'"):
        SmallModel(agents=["Sales"])  # type: ignore[list-item]
