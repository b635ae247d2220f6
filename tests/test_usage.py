"""What model calls took: tokens, cost and time, of each call, each agent and the run."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from swarm import Agent, Limits, OfflineModel, Swarm, Usage, load_state
from swarm import prices as price_list
from swarm.effects import CallModel, Flow, Reply
from swarm.errors import ConfigError, ConnectionFailed, LimitExceeded
from swarm.events import Done, MessageDone, Nested
from swarm.models.scripted import ScriptedModel, Turn, call
from swarm.policies import Cache
from swarm.prices import Price, checked, cost_of
from swarm.records import ModelCall
from tests.modes import Drive, streaming

OWN = {"prices": {"gpt-4o": Price(2, 8, cached=1)}}
"""Prices with which a thousand tokens in cost 0.002, out 0.008, cached 0.001."""


def ping() -> str:
    return "pong"


def reported(prompt: int, completion: int, **more: Any) -> dict[str, Any]:
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion, **more}


class Counted:
    """A model that answers with these usages, one after another."""

    blocking = False

    def __init__(self, *usages: dict[str, Any] | None, base_url: str | None = None, model: str | None = None) -> None:
        self.usages = list(usages)
        self.model = model
        if base_url is not None:
            self.base_url = base_url

    def complete(self, call: CallModel) -> Reply:
        return Reply({"role": "assistant", "content": "ok"}, self.usages.pop(0), "stop", self.model)

    def stream(self, call: CallModel) -> Any:
        yield {"model": self.model, "choices": [{"index": 0, "delta": {"content": "ok"}, "finish_reason": "stop"}]}
        yield {"choices": [], "usage": self.usages.pop(0)}


def a_call(**fields: Any) -> ModelCall:
    return ModelCall("A", **{"model": "gpt-4o", "input_tokens": 1_000, "output_tokens": 100, **fields})


def test_each_call_is_recorded(drive: Drive) -> None:
    """U03, S12, D8"""
    turns = [Turn(calls=[call("transfer_to_b")], usage=(1_000, 10)), Turn("ok", usage=(2_000, 20))]
    agent = Agent(name="A", handoffs=[Agent(name="B", model="other")])
    usage = drive(agent, "go", turns, swarm={"prices": {**OWN["prices"], "other": (1, 1)}}).usage
    assert [(c.agent, c.model, c.input_tokens, c.output_tokens, c.estimated) for c in usage.by_call] == [
        ("A", "gpt-4o", 1_000, 10, False),
        ("B", "other", 2_000, 20, False),
    ]
    assert [c.cost for c in usage.by_call] == pytest.approx([0.002_08, 0.002_02])
    assert usage.cost == pytest.approx(0.004_1)
    assert (usage.by_agent["B"].input_tokens, usage.by_agent["B"].cost) == (2_000, pytest.approx(0.002_02))
    assert (usage.calls, usage.total_tokens) == (2, 3_030)
    assert usage.seconds == sum(c.seconds for c in usage.by_call) > 0


def test_an_agent_used_as_a_tool_counts_for_itself_and_for_the_run(drive: Drive) -> None:
    """U10, D45"""
    inner = Agent(name="Inner")
    turns = [Turn(calls=[call("inner", {"input": "x"})], usage=(100, 10)), Turn("in", usage=(50, 5)), Turn("out", usage=(200, 20))]
    usage = drive(Agent(name="Outer", functions=[inner.as_tool()]), "go", turns, swarm=OWN).usage
    assert {name: share.total_tokens for name, share in usage.by_agent.items()} == {"Outer": 330, "Inner": 55}
    assert usage.cost == pytest.approx((350 * 2 + 35 * 8) / 1e6)


def test_cached_and_reasoning_tokens_are_priced_as_what_they_are(drive: Drive) -> None:
    """P18"""
    details = {"prompt_tokens_details": {"cached_tokens": 800}, "completion_tokens_details": {"reasoning_tokens": 60}}
    usage = drive(Agent(), "go", Counted(reported(1_000, 100, **details)), swarm=OWN).usage
    assert (usage.cached_tokens, usage.reasoning_tokens) == (800, 60)
    assert usage.cost == pytest.approx((200 * 2 + 800 * 1 + 100 * 8) / 1e6)


@pytest.mark.parametrize(
    ("sent", "counted"),
    [
        # xAI keeps reasoning out of completion_tokens, Gemini names it nowhere but in the total.
        (
            {"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 135, "completion_tokens_details": {"reasoning_tokens": 94}},
            (103, 94),
        ),
        ({"prompt_tokens": 20, "completion_tokens": 198, "total_tokens": 623}, (603, 405)),
        ({"prompt_tokens": 20, "completion_tokens": 198, "total_tokens": 200}, (198, 0)),
        ({"completion_tokens": 5, "total_tokens": 50}, (5, 0)),
        ({"prompt_tokens": 3, "completion_tokens": -5, "total_tokens": True}, (0, 0)),
    ],
)
def test_hidden_reasoning_is_output(drive: Drive, sent: dict[str, Any], counted: tuple[int, int]) -> None:
    """P18"""
    usage = drive(Agent(), "go", Counted(sent)).usage
    assert (usage.output_tokens, usage.reasoning_tokens) == counted


def test_the_time_of_a_call_is_told_with_its_message(drive: Drive) -> None:
    """D9, S12: and a stream says when it began to answer."""
    told = [e for e in drive.events(Agent(functions=[ping]), "go", [call("ping"), "done"]) if isinstance(e, MessageDone)]
    assert len(told) == 2
    for event in told:
        assert event.call is not None and event.call.seconds > 0
        first = event.call.time_to_first_delta
        assert (first is not None and 0 < first <= event.call.seconds) if drive.streams else first is None
        assert json.loads(json.dumps(event.as_dict()))["call"]["input_tokens"] == 10


@streaming
def test_a_try_that_failed_leaves_no_time(drive: Drive) -> None:
    """X07: the same effect is driven twice, and the second try never gave a delta."""

    class Again:
        def model(self, call: CallModel) -> Flow:
            yield call
            try:
                yield call
            except ConnectionFailed:
                times.append(call.time_to_first_delta)
                raise

    times: list[Any] = []
    with pytest.raises(ConnectionFailed):
        drive(Agent(), "go", ["one", Turn(error=ConnectionFailed("no"))], swarm={"policies": [Again()]})
    assert times == [None]


def test_what_a_policy_answers_itself_costs_nothing_and_is_told_so(drive: Drive) -> None:
    """D10, D46"""

    class Canned:
        def model(self, call: CallModel) -> Flow:
            return Reply({"role": "assistant", "content": "kept"}, reported(1_000, 1_000))
            yield

    events = drive.events(Agent(), "go", [], swarm={"policies": [Canned()], **OWN})
    assert [e.call for e in events if isinstance(e, MessageDone)] == [None]
    done = events[-1]
    assert isinstance(done, Done)
    assert (done.response.usage.cost, done.response.usage.calls) == (0.0, 0)


def test_a_hit_in_a_cache_costs_nothing(drive: Drive) -> None:
    """D10"""
    shared = {"policies": [Cache()], **OWN}
    paid = drive(Agent(), "go", [Turn("ok", usage=(1_000, 10))], swarm=shared)
    free = drive(Agent(), "go", drive.model, swarm=shared)
    assert (paid.usage.cost, paid.usage.calls) == (pytest.approx(0.002_08), 1)
    assert (free.text, free.usage.cost, free.usage.calls) == ("ok", 0.0, 0)


def test_a_policys_own_calls_are_paid_by_the_agent_it_works_for(drive: Drive) -> None:
    """D10"""

    class Judge:
        def model(self, call: CallModel) -> Flow:
            reply = yield call
            yield call.replace(request={"model": "judge", "messages": [{"role": "user", "content": "ok?"}]}, stream=False)
            return reply

    events = drive.events(Agent(name="A"), "go", ["answer", "fine"], swarm={"policies": [Judge()], "prices": {"judge": (1, 1)}})
    told = next(e for e in events if isinstance(e, MessageDone)).call
    done = events[-1]
    assert isinstance(done, Done) and told is not None
    assert [c.model for c in done.response.usage.by_call] == ["gpt-4o", "judge"]
    assert told is done.response.usage.by_call[0]
    assert list(done.response.usage.by_agent) == ["A"]


def test_a_nested_run_tells_its_calls_inside(drive: Drive) -> None:
    """D45"""
    agent = Agent(name="Outer", functions=[Agent(name="Inner").as_tool()])
    events = drive.events(agent, "go", [call("inner", {"input": "x"}), "in", "out"])
    inner = [e.event.call for e in events if isinstance(e, Nested) and isinstance(e.event, MessageDone)]
    assert [c.agent for c in inner if c] == ["Inner"]


# Prices


def test_a_known_model_has_the_price_of_the_tables() -> None:
    """U03"""
    plain, cached = a_call(), a_call(cached_tokens=500)
    assert plain.cost == pytest.approx(0.0035)
    assert cached.cost == pytest.approx(0.002_875)
    assert a_call(provider="https://api.openai.com/v1").cost == plain.cost
    assert a_call(model="openai/gpt-4o", provider="https://openrouter.ai/api/v1").cost == plain.cost


@pytest.mark.parametrize(
    "fields",
    [
        {"model": "no-such-model"},
        {"model": "gpt-4o", "provider": "http://localhost:8000/v1"},
        {"model": "llama3.1", "provider": "http://localhost:11434/v1"},
        {"input_tokens": None, "output_tokens": None},
    ],
)
def test_an_unknown_price_is_none_and_not_nothing(fields: dict[str, Any]) -> None:
    """U03"""
    assert a_call(**fields).cost is None
    assert Usage([a_call(), a_call(**fields)]).cost is None
    assert Usage([a_call()]).cost == a_call().cost


def test_a_deployment_is_priced_by_the_model_that_answered(drive: Drive) -> None:
    client = Counted(reported(1_000, 100), base_url="https://me.openai.azure.com/openai/deployments/mine", model="gpt-4o-2024-08-06")
    assert drive(Agent(model="mine"), "go", client).usage.cost == pytest.approx(0.0035)


def test_own_prices_go_before_the_tables() -> None:
    free = {"gpt-4o": Price(0, 0)}
    assert a_call(prices=free).cost == 0.0
    assert a_call(model="mine", response_model="gpt-4o", prices=free).cost == 0.0
    assert cost_of(a_call(cached_tokens=5_000), {"gpt-4o": Price(2, 8, cached=1)}) == pytest.approx(0.001_8)
    assert cost_of(a_call(cached_tokens=500), {"gpt-4o": Price(2, 8)}) == pytest.approx(0.002_8)


@pytest.mark.parametrize("wrong", [[("m", 1)], {"m": 3}, {"m": ("1", "2")}, {"m": (1,)}, {"m": (1, 2, 3, 4)}, {1: (1, 2)}, "m"])
def test_prices_of_a_wrong_form_are_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="prices"):
        Swarm(ScriptedModel([]), prices=wrong)
    with pytest.raises(ValueError, match="must not be negative"):
        Swarm(ScriptedModel([]), prices={"m": Price(1, -2)})
    assert checked({"m": (1, 2)}) == {"m": Price(1, 2)}  # type: ignore[arg-type]
    assert checked(None) == {}


def test_nothing_of_prices_is_loaded_until_a_cost_is_read() -> None:
    """P14: a run without a limit on cost does no work for it, whatever is printed of it."""
    code = """
import sys
from swarm import Agent, ScriptedModel, Swarm
response = Swarm(ScriptedModel(["hi"])).run(Agent(), "hi")
repr(response), response.usage == response.usage, response.state()
assert "genai_prices" not in sys.modules
assert response.usage.cost > 0
assert "genai_prices" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent.parent / "src", check=True)


@pytest.fixture
def no_tables(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    price_list._tables.cache_clear()  # type: ignore[reportPrivateUsage]
    yield
    monkeypatch.undo()
    price_list._tables.cache_clear()  # type: ignore[reportPrivateUsage]


def test_without_the_extra_a_cost_is_unknown(drive: Drive, no_tables: Any) -> None:
    assert drive(Agent(), "go", ["ok"]).usage.cost is None
    assert drive(Agent(), "go", ["ok"], swarm=OWN).usage.cost == pytest.approx((10 * 2 + 5 * 8) / 1e6)
    with pytest.raises(ConfigError, match=r"is not installed.*pip install 'openswarm\[prices\]'"):
        drive(Agent(), "go", ["ok"], limits=Limits(cost=1))
    assert drive(Agent(), "go", ["ok"], limits=Limits(cost=1), swarm=OWN).stop_reason == "complete"


# Sums and forms


def test_usage_adds_up_and_can_be_written_down() -> None:
    both = Usage([a_call()]) + Usage([a_call(model="no-such-model")])
    assert (both.calls, both.input_tokens, both.cost) == (2, 2_000, None)
    written = json.loads(json.dumps(Usage([a_call()]).as_dict()))
    assert (written["input_tokens"], written["cost"], written["by_agent"]["A"]["calls"]) == (1_000, pytest.approx(0.0035), 1)
    assert written["by_call"][0]["model"] == "gpt-4o"
    assert pickle.loads(pickle.dumps(both)) == both
    assert Usage() == Usage() and Usage().cost == 0.0 and Usage([a_call()]) != Usage()
    assert "input_tokens=1000" in repr(Usage([a_call()]))


def test_a_resumed_run_knows_what_it_cost(drive: Drive) -> None:
    """D4, M09"""
    agent = Agent(functions=[ping])
    first = drive(agent, "go", [call("ping")], execute_tools=False, swarm=OWN)
    state = load_state(json.loads(json.dumps(first.state())), agents=[agent])
    whole = drive.resume(state, ["done"], approvals={}, swarm=OWN)
    assert (whole.usage.calls, whole.usage.cost) == (2, pytest.approx(2 * (10 * 2 + 5 * 8) / 1e6))
    again = drive.resume(state, [], approvals={}, swarm=OWN, limits=Limits(cost=0.000_01))
    assert again.stop_reason == "limit:cost", "what was spent before the limit was set counts"


# Limits on cost

DEAR = Agent(functions=[ping])


def dear(count: int) -> list[Any]:
    """Turns of half a dollar each, by OWN."""
    return [Turn(calls=[call("ping")], usage=(250_000, 0))] * count


def test_a_limit_on_cost_stops_the_run(drive: Drive) -> None:
    """L05, D6"""
    response = drive(DEAR, "go", dear(9), limits=Limits(cost=1.2), swarm=OWN)
    assert (response.stop_reason, response.usage.calls) == ("limit:cost", 3)
    assert response.used["cost"] == response.usage.cost == pytest.approx(1.5)
    assert response.remaining["cost"] == 0
    assert drive(DEAR, "go", [*dear(2), "done"], limits=Limits(cost=1.2), swarm=OWN).remaining == {"cost": pytest.approx(0.2, abs=0.001)}
    assert drive(DEAR, "go", [], limits=Limits(cost=0), swarm=OWN).stop_reason == "limit:cost"


def test_a_limit_on_cost_may_raise_or_answer(drive: Drive) -> None:
    """L05"""
    with pytest.raises(LimitExceeded, match=r"\$1\.0000 of \$1\.0000 used"):
        drive(DEAR, "go", dear(9), limits=Limits(cost=1, on_limit="raise"), swarm=OWN)
    answered = drive(DEAR, "go", [*dear(2), "so far"], limits=Limits(cost=1, on_limit="answer"), swarm=OWN)
    assert (answered.stop_reason, answered.text) == ("limit:cost", "so far")


def test_a_limit_on_cost_holds_inside_a_call(drive: Drive) -> None:
    """D45, U10"""
    inner = Agent(name="Inner", functions=[ping])
    outer = Agent(name="Outer", functions=[inner.as_tool(limits=Limits(cost=0.8))])
    turns = [Turn(calls=[call("inner", {"input": "x"})], usage=(0, 1)), *dear(2), Turn("done", usage=(0, 1))]
    response = drive(outer, "go", turns, swarm=OWN, limits=Limits(cost=5))
    assert "stopped early (limit:cost)" in response.messages[1]["content"]
    assert response.used["cost"] == pytest.approx(1.0, abs=0.001)


def test_a_limit_on_cost_needs_a_price_before_anything_is_asked(drive: Drive) -> None:
    """L05, U07"""
    client = ScriptedModel(["never"])
    with pytest.raises(ConfigError, match=r"needs the price of the model 'mine'.*prices=\{'mine': Price\(input, output\)\}") as caught:
        drive(Agent(model="mine"), "go", client, limits=Limits(cost=1))
    assert client.requests == []
    assert caught.value.response is not None
    with pytest.raises(ConfigError, match="at http://localhost:8000/v1"):
        drive(Agent(), "go", Counted(reported(1, 1), base_url="http://localhost:8000/v1"), limits=Limits(cost=1))


def test_a_limit_on_cost_needs_the_price_of_what_policies_ask_too(drive: Drive) -> None:
    """D10"""

    class Judge:
        def model(self, call: CallModel) -> Flow:
            reply = yield call
            yield call.replace(request={"model": "judge", "messages": []}, stream=False)
            return reply

    with pytest.raises(ConfigError, match="'judge'"):
        drive(Agent(), "go", ["ok", "never"], limits=Limits(cost=1), swarm={"policies": [Judge()], **OWN})


def test_a_limit_on_cost_counts_an_estimate_where_there_is_no_count(drive: Drive) -> None:
    """D28"""
    response = drive(Agent(), "go " * 400, [Turn("ok " * 400, usage=None)], limits=Limits(cost=1), swarm=OWN)
    assert response.usage.estimated
    assert response.usage.cost == response.used["cost"] > 0.001


def test_the_offline_model_has_no_cost() -> None:
    """D30"""
    assert Swarm(OfflineModel()).run(Agent(), "hi").usage.cost is None
