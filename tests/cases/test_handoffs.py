"""Handoffs as people use them: names, filters, conditions, refusals, pauses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from swarm import Agent, AgentError, Handoff, Limits, Pending, Refuse, Response, Result, create_triage_agent, load_state, tool
from swarm.events import HandedOff, MessageDone, ToolDone, ToolStarted, TurnEnded, TurnStarted
from swarm.models.scripted import Turn, call
from tests.look import is_valid, outline, system_text, tool_names, tool_texts
from tests.modes import Drive

ROOT = Path(__file__).parent.parent.parent
HI = [{"role": "user", "content": "hi"}]


def search(q: str = "") -> str:
    return f"found {q}"


def switch(name: str, target: Agent) -> Any:
    """A function called `name` that hands over to `target`."""

    def to() -> Agent:
        return target

    to.__name__ = name
    return to


def roles(request: dict[str, Any]) -> list[str]:
    return [message["role"] for message in request["messages"]]


def test_what_tools_found_before_is_seen_by_the_next_agent(drive: Drive) -> None:
    """H03"""
    b = Agent(name="B")
    turns = [call("search", {"q": "bee"}), [call("search", {"q": "ant"}), call("to_b")], "ok"]
    drive(Agent(name="A", functions=[search, switch("to_b", b)]), HI, turns)
    texts = [message["content"] for message in drive.requests[2]["messages"] if message["role"] == "tool"]
    assert texts == ["found bee", "found ant", '{"assistant": "B"}']
    assert is_valid(drive.requests[2]["messages"])


@pytest.mark.parametrize("parallel", [False, True])
def test_events_name_the_agent_that_made_the_call(drive: Drive, parallel: bool) -> None:
    """H05"""
    b = Agent(name="B")
    a = Agent(name="A", functions=[search, switch("to_b", b)])
    events = drive.events(a, HI, [[call("to_b"), call("search")], "ok"], swarm={"parallel_tools": parallel})
    first = [event for event in events if isinstance(event, ToolStarted | ToolDone)]
    assert [event.agent for event in first] == ["A"] * 4
    handed = next(at for at, event in enumerate(events) if isinstance(event, HandedOff))
    assert all(events.index(event) < handed for event in first), "the switch comes after the batch"
    assert (events[handed].agent, events[handed].to) == ("A", "B")  # type: ignore[attr-defined]
    turns = [event.agent for event in events if isinstance(event, TurnStarted | MessageDone | TurnEnded)]
    assert turns == ["A", "A", "A", "B", "B", "B"]


@pytest.mark.parametrize(
    ("name", "wire"),
    [
        ("Graph Agent", "transfer_to_graph_agent"),
        ("Sales/Refunds (EU)", "transfer_to_sales_refunds_eu"),
        ("UPPER", "transfer_to_upper"),
        ("助手", "transfer_to_agent"),
        ("Élodie", "transfer_to_lodie"),
        ("x" * 100, "transfer_to_" + "x" * 52),
    ],
)
def test_names_of_transfer_tools(drive: Drive, name: str, wire: str, recwarn: pytest.WarningsRecorder) -> None:
    """H06, D21"""
    target = Agent(name=name, description="Knows things.")
    response = drive(Agent(handoffs=[target]), HI, [call(wire), "ok"])
    function = drive.requests[0]["tools"][0]["function"]
    assert function["name"] == wire
    assert name in function["description"]
    assert "Knows things." in function["description"]
    assert response.agent is target
    assert not recwarn.list


def test_names_that_clash_are_numbered_in_order(drive: Drive) -> None:
    """D21, H09"""
    first, second = Agent(name="Sales!"), Agent(name="sales")
    agent = Agent(handoffs=[first, second, Agent(name="助手"), Agent(name="客服")])
    assert drive(agent, HI, [call("transfer_to_sales_2"), "ok"]).agent is second
    assert tool_names(drive.requests[0]) == ["transfer_to_sales", "transfer_to_sales_2", "transfer_to_agent", "transfer_to_agent_2"]
    assert drive(agent, HI, [call("transfer_to_sales"), "ok"]).agent is first


def test_a_name_chosen_by_the_model(drive: Drive) -> None:
    """H08: the names are an enumeration; a wrong one is told, with those there are."""
    from typing import Literal

    agents = {name: Agent(name=name) for name in ("Billing", "Sales")}

    def transfer(target: Literal["Billing", "Sales"]) -> Agent:
        return agents[target]

    response = drive(
        Agent(functions=[transfer]), HI, [call("transfer", {"target": "BillingAgnt"}), call("transfer", {"target": "Billing"}), "ok"]
    )
    first = tool_texts(response)[0]
    assert first.startswith("Error: ")
    assert "Billing" in first
    assert "Sales" in first
    assert response.agent is agents["Billing"]
    assert drive.requests[0]["tools"][0]["function"]["parameters"]["properties"]["target"]["enum"] == ["Billing", "Sales"]


def test_a_transfer_to_nobody(drive: Drive) -> None:
    """H08"""
    response = drive(Agent(handoffs=[Agent(name="Billing")]), HI, [call("transfer_to_biling"), "ok"])
    assert tool_texts(response) == [
        "Error: Tool transfer_to_biling not found. Did you mean transfer_to_billing? Available tools: transfer_to_billing."
    ]


def test_two_agents_of_one_name(drive: Drive) -> None:
    """H09, D19"""
    first, second = Agent(name="Same", functions=[search]), Agent(name="Same", instructions="second")
    response = drive(Agent(name="A", functions=[switch("one", first), switch("two", second)]), HI, [call("two"), "ok"])
    assert response.agent is second
    assert system_text(drive.requests[1]) == "second"
    assert first != second
    with pytest.raises(ValueError, match="Same"):
        load_state(drive(Agent(name="A"), HI, ["ok"]).state(), agents=[first, second])


@pytest.mark.parametrize(
    ("given", "sent"), [({}, "You are a helpful agent."), ({"instructions": ""}, None), ({"instructions": None}, None)]
)
def test_an_agent_without_instructions(drive: Drive, given: dict[str, Any], sent: str | None) -> None:
    """H10"""
    b = Agent(name="B", **given)
    assert drive(Agent(handoffs=[b]), HI, [call("transfer_to_b"), "ok"]).agent is b
    assert system_text(drive.requests[1]) == sent


def test_instructions_that_return_nothing(drive: Drive) -> None:
    """H10"""
    drive(Agent(instructions=lambda: None), HI, ["ok"])
    assert system_text(drive.requests[0]) is None


@pytest.mark.parametrize("arguments", [{"message": "hi"}, {"prompt": 1, "user_request": None}, "{}", ""])
def test_made_up_arguments_of_a_transfer(drive: Drive, arguments: Any) -> None:
    """H11"""
    b = Agent(name="B")
    for agent, name in (
        (Agent(functions=[switch("to_b", b)]), "to_b"),
        (Agent(handoffs=[b]), "transfer_to_b"),
        (Agent(functions=[result_switch(b)]), "with_result"),
    ):
        assert drive(agent, HI, [call(name, arguments), "ok"]).agent is b


def result_switch(agent: Agent) -> Any:
    def with_result() -> Result:
        return Result(value="over to you", agent=agent)

    return with_result


def test_a_target_that_cannot_begin(drive: Drive) -> None:
    """H12: the error surfaces, and the history does not claim success."""

    def instructions(context_variables: dict[str, Any]) -> str:
        raise LookupError("no customer")

    a = Agent(name="A", functions=[search, switch("to_b", Agent(name="B", instructions=instructions))])
    with pytest.raises(LookupError, match="no customer") as caught:
        drive(a, HI, [[call("search"), call("to_b"), call("search")], "never"])
    response: Response = caught.value.response  # type: ignore[attr-defined]
    texts = tool_texts(response)
    assert texts[0] == texts[2] == "found "
    assert texts[1].startswith("Error: ")
    assert "B" in texts[1]
    assert is_valid(response.messages)


def test_a_target_whose_model_fails_has_begun(drive: Drive) -> None:
    """H12"""
    with pytest.raises(RuntimeError, match="down") as caught:
        drive(Agent(handoffs=[Agent(name="B")]), HI, [call("transfer_to_b"), RuntimeError("down")])
    response: Response = caught.value.response  # type: ignore[attr-defined]
    assert tool_texts(response) == ['{"assistant": "B"}']
    assert response.agent is not None
    assert response.agent.name == "B"


def test_a_forced_handoff(drive: Drive) -> None:
    """H13, D7"""
    b = Agent(name="B", functions=[search], tool_choice="required")
    choice = {"type": "function", "function": {"name": "transfer_to_b"}}
    drive(Agent(handoffs=[b], tool_choice=choice), HI, [call("transfer_to_b"), call("search"), "ok"])
    assert [request.get("tool_choice") for request in drive.requests] == [choice, "required", None]


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "search"}}])
def test_a_choice_is_forced_once_for_each_agent(drive: Drive, choice: Any) -> None:
    """H13, D7: coming back does not force it again, nor does a resumed run; "auto" and "none" are no force."""
    a, b = Agent(name="A", functions=[search], tool_choice=choice), Agent(name="B", functions=[search], tool_choice="none")
    a.handoffs, b.handoffs = [b], [a]
    first = drive(a, HI, [call("transfer_to_b"), call("transfer_to_a"), call("search"), "ok"])
    assert [request.get("tool_choice") for request in drive.requests] == [choice, "none", None, None]
    assert a.tool_choice == choice
    drive(a, HI, ["ok"])
    assert drive.requests[0]["tool_choice"] == choice, "another run forces it anew"
    saved = load_state(json.dumps(first.state()), agents=[a, b])
    drive.resume(saved.fork(messages=[*saved["messages"], *HI]), ["ok"])
    assert "tool_choice" not in drive.requests[0]


def test_a_new_agent_that_calls_an_old_agents_tool(drive: Drive) -> None:
    """H14"""
    b = Agent(name="B", handoffs=[Agent(name="C")])
    a = Agent(name="A", functions=[search, switch("to_b", b)])
    response = drive(a, HI, [call("search"), call("to_b"), call("search"), "ok"])
    assert tool_texts(response)[2] == "Error: Tool search not found. Available tools: transfer_to_c."


def without_tools(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        message for message in messages if message["role"] == "user" or (message["role"] == "assistant" and not message.get("tool_calls"))
    ]


def test_foreign_tool_traffic_can_be_filtered_out(drive: Drive) -> None:
    """H14, H15"""
    b = Agent(name="B", history_filter=without_tools)
    a = Agent(name="A", functions=[search, switch("to_b", b)])
    response = drive(a, HI, [call("search"), Turn("Over.", [call("to_b")]), "ok"])
    assert roles(drive.requests[2]) == ["system", "user"]
    assert [message["role"] for message in response.messages] == ["assistant", "tool", "assistant", "tool", "assistant"]


@pytest.mark.parametrize(
    ("keep", "sent"),
    [
        (lambda messages: [], ["system"]),
        (lambda messages: messages[-1:], ["system"]),
        (lambda messages: messages[:1], ["system", "user"]),
        (lambda messages: messages, ["system", "user", "assistant", "tool", "assistant", "tool"]),
        (lambda messages: messages[-2:], ["system", "assistant", "tool"]),
        (lambda messages: [{"role": "user", "content": "summary"}, *messages[-2:]], ["system", "user", "assistant", "tool"]),
        (lambda messages: (message for message in messages if message["role"] == "user"), ["system", "user"]),
        (lambda messages, context_variables: messages[: context_variables["keep"]], ["system", "user"]),
        (lambda messages, agent, run: [*messages[:1], {"role": "user", "content": f"{agent.name} {run.turn}"}], ["system", "user", "user"]),
    ],
)
def test_what_the_next_agent_sees(drive: Drive, keep: Any, sent: list[str]) -> None:
    """H15, D20, D52: what a filter leaves is valid, whatever it leaves; the response holds it all."""
    b = Agent(name="B", history_filter=keep)
    a = Agent(name="A", functions=[search, switch("to_b", b)])
    response = drive(a, HI, [call("search"), call("to_b"), "ok"], context_variables={"keep": 1})
    assert roles(drive.requests[2]) == sent
    assert is_valid(drive.requests[2]["messages"])
    assert len(response.messages) == 5


def test_a_filter_may_be_async(drive: Drive) -> None:
    """H15"""

    async def keep(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return messages[:1]

    drive(Agent(name="A", handoffs=[Agent(name="B", history_filter=keep)]), HI, [call("transfer_to_b"), "ok"])
    assert roles(drive.requests[1]) == ["system", "user"]


def test_the_handoffs_filter_comes_before_the_targets(drive: Drive) -> None:
    """H15, D20"""
    seen: list[tuple[str, int]] = []

    def note(name: str, keep: int) -> Any:
        def filter(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
            seen.append((name, len(messages)))
            return messages[:keep]

        return filter

    b = Agent(name="B", functions=[search], history_filter=note("agent", 1))
    b.handoffs = []
    drive(
        Agent(name="A", handoffs=[Handoff(b, history_filter=note("handoff", 2))]), [*HI, *HI], [call("transfer_to_b"), call("search"), "ok"]
    )
    assert seen == [("handoff", 4), ("agent", 2), ("handoff", 6), ("agent", 2)], "it lasts while that agent is active"


def test_the_handoffs_filter_ends_with_the_agent(drive: Drive) -> None:
    """D20, M07"""
    a, b = Agent(name="A"), Agent(name="B")
    a.handoffs = [Handoff(b, history_filter=lambda messages: messages[:1])]
    b.handoffs = [a]
    drive(a, HI, [call("transfer_to_b"), call("transfer_to_a"), "ok"])
    assert [len(request["messages"]) for request in drive.requests] == [2, 2, 6]


@pytest.mark.parametrize("keep", [lambda messages: None, lambda messages: 1 / 0, lambda messages: ["text"], lambda messages: "text"])
def test_a_filter_that_fails_is_reported(drive: Drive, keep: Any) -> None:
    """H15"""
    b = Agent(name="B", history_filter=keep)
    with pytest.raises((ValueError, ZeroDivisionError)) as caught:
        drive(Agent(name="A", handoffs=[b]), HI, [call("transfer_to_b"), "never"])
    assert len(drive.requests) == 1
    assert caught.value.response.agent is b  # type: ignore[union-attr]


def test_each_message_once_and_in_order(drive: Drive) -> None:
    """H16"""
    a, b = Agent(name="A", functions=[search]), Agent(name="B", functions=[search])
    a.handoffs, b.handoffs = [b], [a]
    turns = [
        call("search", {"q": "1"}),
        Turn("to B", [call("transfer_to_b")]),
        call("search", {"q": "2"}),
        Turn("to A", [call("transfer_to_a")]),
        "end",
    ]
    drive(a, [{"role": "user", "content": "first"}], turns)
    last = [message for message in drive.requests[-1]["messages"] if message["role"] != "system"]
    assert len(last) == len({json.dumps(message) for message in last}) == 9
    for earlier, later in zip(drive.requests, drive.requests[1:], strict=False):
        assert later["messages"][1 : len(earlier["messages"])] == earlier["messages"][1:]


def test_the_next_run_goes_on_with_the_active_agent(drive: Drive) -> None:
    """H18"""
    b = Agent(name="B")
    a = Agent(name="A", handoffs=[b])
    first = drive(a, HI, [call("transfer_to_b"), "B here"])
    assert first.messages[-1]["sender"] == "B"
    second = drive(first.agent, [*HI, *first.messages, *HI], ["still B"])  # type: ignore[arg-type]
    assert (second.agent, second.messages[-1]["sender"]) == (b, "B")


def test_the_repl_keeps_the_active_agent(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """H18"""
    from swarm import ScriptedModel, Swarm
    from swarm.repl import run_demo_loop

    model = ScriptedModel([call("transfer_to_b"), "B here", "still B"])
    monkeypatch.setattr("swarm.repl.repl.Swarm", lambda *args, **kwargs: Swarm(model))
    typed = iter(["one", "two"])

    def read(prompt: str = "") -> str:
        try:
            return next(typed)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", read)
    run_demo_loop(Agent(name="A", handoffs=[Agent(name="B", instructions="B")]))
    assert system_text(model.requests[2]) == "B"
    assert "still B" in capsys.readouterr().out


def test_every_example_can_be_imported() -> None:
    """H20"""
    files = [path for path in (ROOT / "examples").rglob("*.py") if path.name != "__main__.py"]
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in files]
    program = f"import importlib\nfor name in {names}: importlib.import_module(name)"
    environment = {"PYTHONPATH": "src", "SWARM_OFFLINE": "1"}
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=False, input="")
    assert len(names) > 10
    assert done.returncode == 0, done.stderr


def test_the_triage_helper_can_be_called_twice() -> None:
    """H20"""
    functions = [search]
    agents = [Agent(name="Sales", description="Sells.", functions=functions), Agent(name="Refunds", instructions="Refund.\nGently.")]
    given = list(agents)
    for _ in range(2):
        triage = create_triage_agent("Triage", "Find out who helps.", agents, add_backlinks=True)
    assert agents == given
    assert functions == [search]
    for agent in agents:
        assert len([entry for entry in agent.handoffs if entry.agent.name == "Triage"]) == 1
        assert agent.handoffs[-1].agent is triage
    assert "Sells." in str(triage.instructions)
    assert "Find out who helps." in str(triage.instructions)


def test_the_triage_helper_there_and_back(drive: Drive) -> None:
    """H20, H17"""
    sales = Agent(name="Sales", description="Sells.", functions=[search])
    triage = create_triage_agent("Triage", "Find out who helps.", [sales, Agent(name="Refunds")], add_backlinks=True)
    response = drive(triage, HI, [call("transfer_to_sales"), call("transfer_to_triage"), "Who are you?"])
    assert response.agent is triage
    assert tool_names(drive.requests[0]) == ["transfer_to_sales", "transfer_to_refunds"]
    assert tool_names(drive.requests[1]) == ["search", "transfer_to_triage"]


def test_the_triage_helper_without_a_way_back(drive: Drive) -> None:
    """H20"""
    sales = Agent(name="Sales")
    drive(create_triage_agent("Triage", "Ask.", [sales]), HI, [call("transfer_to_sales"), "ok"])
    assert sales.handoffs == []
    assert "tools" not in drive.requests[1]


@pytest.mark.parametrize("by", ["when", "enabled"])
def test_a_handoff_under_a_condition(drive: Drive, by: str) -> None:
    """H21"""

    def paid(context_variables: dict[str, Any]) -> bool:
        return bool(context_variables.get("paid"))

    def pay(context_variables: dict[str, Any]) -> str:
        context_variables["paid"] = True
        return "paid"

    b = Agent(name="B")
    a = Agent(name="A", functions=[pay])
    if by == "when":
        a.handoffs = [Handoff(b, when=paid)]
    else:
        a.functions.append(tool(switch("transfer_to_b", b), enabled=paid))
    response = drive(a, HI, [call("transfer_to_b"), call("pay"), call("transfer_to_b"), "ok"])
    assert [tool_names(request) for request in drive.requests[:3]] == [["pay"], ["pay"], ["pay", "transfer_to_b"]]
    assert tool_texts(response)[0] == "Error: Tool transfer_to_b not found. Available tools: pay."
    assert response.agent is b


def test_a_condition_may_be_async_and_see_the_messages(drive: Drive) -> None:
    """H21"""

    async def talkative(messages: list[dict[str, Any]], agent: Agent) -> bool:
        return len(messages) > 2 and agent.name == "A"

    a = Agent(name="A", functions=[search], handoffs=[Handoff(Agent(name="B"), when=talkative)])
    drive(a, HI, [call("search"), "ok"])
    assert [tool_names(request) for request in drive.requests] == [["search"], ["search", "transfer_to_b"]]


def test_a_condition_that_asks_for_something_else_is_refused() -> None:
    """H21, D18"""
    for handoff in (Handoff(Agent(), when=lambda customer: True), Handoff(Agent(), history_filter=lambda customer: [])):
        with pytest.raises(AgentError, match="customer"):
            Agent(handoffs=[handoff])


def test_a_function_may_end_the_run(drive: Drive) -> None:
    """H22"""

    def finish() -> Result:
        return Result(value={"total": 3}, stop=True, context_variables={"done": True})

    response = drive(Agent(functions=[finish, search]), HI, [[call("finish"), call("search")]])
    assert len(drive.requests) == 1
    assert response.stop_reason == "stopped"
    assert response.output == {"total": 3}
    assert response.context_variables == {"done": True}
    assert tool_texts(response) == ['{"total":3}', "found "]
    assert is_valid(response.messages)


def test_the_value_is_the_last_message(drive: Drive) -> None:
    """H22"""

    def finish() -> Result:
        return Result(value="done", stop=True)

    response = drive(Agent(functions=[finish]), HI, [call("finish")])
    assert response.messages[-1]["content"] == response.output == "done"


class Guard:
    """A policy that lets nobody through to B."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, str]] = []

    def handoff(self, effect: Any) -> Any:
        self.seen.append((effect.source.name, effect.target.name, effect.call_id))
        if effect.target.name == "B":
            return Refuse("B is closed on Sundays")
        return (yield effect)


def test_handoffs_can_be_refused(drive: Drive) -> None:
    """H23"""
    guard = Guard()
    a, b, c = Agent(name="A"), Agent(name="B"), Agent(name="C")
    a.handoffs = [b, c]
    events = drive.events(a, HI, [call("transfer_to_b", id="c1"), call("transfer_to_c", id="c2"), "ok"], swarm={"policies": [guard]})
    response = events[-1].response  # type: ignore[attr-defined]
    assert tool_texts(response) == ["B is closed on Sundays", '{"assistant": "C"}']
    assert response.agent is c
    assert [(made.outcome, made.handoff_to) for made in response.calls] == [("refused", None), ("ok", "C")]
    assert guard.seen == [("A", "B", "c1"), ("A", "C", "c2")]
    assert [(event.agent, event.to) for event in events if isinstance(event, HandedOff)] == [("A", "C")]
    assert response.handoffs == [("A", "C")]


def test_handoffs_can_be_redirected(drive: Drive) -> None:
    """H23, D10"""
    c = Agent(name="C")

    class Redirect:
        def handoff(self, effect: Any) -> Any:
            yield from ()
            return c

    response = drive(Agent(name="A", handoffs=[Agent(name="B")]), HI, [call("transfer_to_b"), "ok"], swarm={"policies": [Redirect()]})
    assert response.agent is c
    assert response.handoffs == [("A", "C")]
    assert tool_texts(response) == ['{"assistant": "C"}'], "the model is told who took over"


@tool(approval=True)
def ask_human(question: str) -> str:
    return "asked"


def test_a_pause_is_saved_and_resumed(drive: Drive) -> None:
    """H24, D3, D4"""
    b = Agent(name="B", functions=[ask_human])
    a = Agent(name="A", handoffs=[b])
    response = drive(a, HI, [call("transfer_to_b"), call("ask_human", {"question": "may I?"}, id="q1")], context_variables={"user": 1})
    assert response.stop_reason == "approval"
    assert response.pending == [Pending("q1", "ask_human", {"question": "may I?"}, "B")]
    assert response.agent is b
    saved = json.dumps(response.state())
    state = load_state(saved, agents=[a, b])
    resumed = drive.resume(state, ["thanks"], approvals={"q1": True})
    assert outline(resumed)[-2:] == [("tool", "ask_human", "asked"), ("assistant", "B", "thanks")]
    assert len(resumed.messages) == 5
    assert resumed.context_variables == {"user": 1}
    refused = drive.resume(load_state(saved, agents=[a, b]), ["a pity"], approvals={"q1": Refuse("not today")})
    assert outline(refused)[-2] == ("tool", "ask_human", "The call was not approved. not today")


def test_self_handoffs_change_nothing(drive: Drive) -> None:
    """L07"""
    a = Agent(name="A")
    a.handoffs = [a]
    response = drive(a, HI, [call("transfer_to_a")] * 3 + ["ok"], limits=Limits(handoffs=0))
    assert response.agent is a
    assert response.handoffs == []
    assert response.text == "ok"


def test_a_handoffs_own_message_and_name(drive: Drive) -> None:
    """CONTRACT, the shop: the tool message of a handoff can be said otherwise."""
    b = Agent(name="Sales Agent")
    handoff = Handoff(b, name="to_sales", description="Sell things.", message="Transfered to Sales Agent. Adopt persona immediately.")
    response = drive(Agent(handoffs=[handoff]), HI, [call("to_sales"), "ok"])
    assert tool_texts(response) == ["Transfered to Sales Agent. Adopt persona immediately."]
    assert drive.requests[0]["tools"][0]["function"]["description"] == "Sell things."


def test_control_and_a_value_come_back(drive: Drive) -> None:
    """D24, U10"""
    b = Agent(name="B", instructions="B")
    a = Agent(name="A", instructions="A", handoffs=[Handoff(b, returns=True)])
    response = drive(a, HI, [call("transfer_to_b"), "from B", "from A"])
    assert response.agent is a
    assert outline(response) == [("assistant", "A", None), ("tool", "transfer_to_b", "from B"), ("assistant", "A", "from A")]
    assert [system_text(request) for request in drive.requests] == ["A", "B", "A"]
    assert roles(drive.requests[1]) == ["system", "user"]
    assert is_valid(drive.requests[1]["messages"])
