"""Swarm and AsyncSwarm themselves: options, clients by the environment, observers, redaction, what is printed and what is kept."""

from __future__ import annotations

import asyncio
import gc
import logging
from typing import Any

import pytest

import swarm.errors
import swarm.events
from swarm import Agent, AsyncSwarm, Handoff, Limits, Response, Result, State, Swarm, tool
from swarm.errors import ConfigError, ConnectionFailed, LimitExceeded, StateError, ToolError
from swarm.events import Event
from swarm.models.profiles import Profile
from swarm.models.scripted import ScriptedModel, Turn, call
from tests.modes import Drive, names


def fail(secret: str) -> str:
    raise ValueError(f"no luck with {secret}")


def test_tool_errors_are_raised_after_the_whole_batch(drive: Drive) -> None:
    """T09, D41"""

    def work() -> str:
        return "worked"

    turns = [[call("fail", {"secret": "x"}), call("work")]]
    with pytest.raises(ValueError, match="no luck with x") as caught:
        drive(Agent(functions=[fail, work]), "go", turns, swarm={"tool_errors": "raise"})
    response: Response = caught.value.response  # type: ignore[attr-defined]
    assert [m["content"] for m in response.messages] == [None, "Error: ValueError: no luck with x", "worked"]
    assert response.stop_reason == "error"


@pytest.mark.parametrize("arguments", ["{", '{"secret": 1, "other": 2}'])
def test_a_call_that_cannot_run_is_raised_too(drive: Drive, arguments: str) -> None:
    with pytest.raises(ToolError) as caught:
        drive(Agent(functions=[fail]), "go", [call("fail", arguments)], swarm={"tool_errors": "raise"})
    assert caught.value.response is not None


def test_lazy_names_are_listed() -> None:
    """For completion in a shell: what is imported at first use is there all the same."""
    assert set(swarm.__all__) <= set(dir(swarm))
    assert "__getattr__" in dir(swarm)


@pytest.mark.parametrize("module", [swarm.errors, swarm.events])
def test_public_names_are_listed_in_order(module: Any) -> None:
    base = swarm.errors.SwarmError if module is swarm.errors else Event
    assert module.__all__ == sorted(module.__all__)
    kinds = {name for name, kind in vars(module).items() if isinstance(kind, type) and issubclass(kind, base)}
    assert kinds - set(module.__all__) <= {"OutOfTime"}
    assert all(hasattr(module, name) for name in module.__all__)


def test_every_public_exception_stands_in_the_tree() -> None:
    words = set(str(swarm.errors.__doc__).split())
    assert set(swarm.errors.__all__) - words == {"status_error"}


class Named:
    pass


@pytest.mark.parametrize("kind", [Swarm, AsyncSwarm])
@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"tool_errors": "ignore"}, ValueError, "tool_errors='ignore' must be 'report' or 'raise'"),
        ({"parallel_tools": 0}, ValueError, "parallel_tools=0 must be at least 1"),
        ({"parallel_tools": -2}, ValueError, "parallel_tools=-2"),
        ({"parallel_tools": "yes"}, TypeError, "parallel_tools must be True, False or how many"),
        ({"parallel_tools": 2.5}, TypeError, "parallel_tools"),
        ({"profile": "opennai"}, ConfigError, "no profile is named 'opennai'; there are: default, openai"),
        ({"profile": {"name": "openai"}}, TypeError, "profile must be a Profile or the name of one"),
        ({"on_event": 5}, TypeError, "on_event must be a function or a list of functions that take an event, not 5"),
        ({"on_event": None}, TypeError, "on_event"),
        ({"on_event": [print, "log"]}, TypeError, "on_event .* not 'log'"),
        ({"redact": "***"}, TypeError, "redact must be a function"),
        ({"client": "gpt-4o"}, ConfigError, r"'gpt-4o' is no client; a model's name goes on Agent\(model=\.\.\.\)"),
        ({"client": Named}, ConfigError, r"a class is no client: give an instance, Named\(\.\.\.\)"),
        ({"client": ScriptedModel}, ConfigError, "give an instance"),
    ],
)
def test_a_wrong_option_is_refused_at_construction(
    kind: type[Swarm | AsyncSwarm], options: dict[str, Any], error: type[Exception], said: str
) -> None:
    """U07"""
    with pytest.raises(error, match=said):
        kind(**options)


def test_a_client_that_is_none_is_refused_when_it_is_replaced() -> None:
    swarm = Swarm(ScriptedModel(["hi"]))
    with pytest.raises(ConfigError, match="Agent"):
        swarm.client = "gpt-4o"
    assert swarm.run(Agent(), "go").text == "hi"


@pytest.mark.parametrize("parallel", [False, True, 1, 3])
def test_parallel_tools_is_a_switch_or_a_number(parallel: bool | int) -> None:
    """D23"""
    response = Swarm(ScriptedModel([[call("fail", {"secret": "x"})] * 2, "done"]), parallel_tools=parallel).run(
        Agent(functions=[fail]), "go"
    )
    assert response.text == "done"


@pytest.mark.parametrize("profile", ["openai", Profile("own", name_field=False)])
def test_a_profile_is_named_or_given(profile: Any) -> None:
    model = ScriptedModel(["hi"])
    Swarm(model, profile=profile).run(Agent(), [{"role": "user", "name": "ann", "content": "go"}])
    assert ("name" in model.requests[0]["messages"][1]) == (profile == "openai")


def test_redact_speaks_for_an_exception(drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    """T10"""
    with caplog.at_level(logging.INFO, logger="swarm"):
        response = drive(
            Agent(functions=[fail]),
            "go",
            [call("fail", {"secret": "hunter2"}), "done"],
            swarm={"redact": lambda value: "failed" if isinstance(value, Exception) else value},
        )
    assert response.messages[1]["content"] == "Error: failed"
    assert response.calls[0].error == "failed"
    assert "hunter2" not in caplog.text


def test_nothing_is_printed(drive: Drive, capfd: pytest.CaptureFixture[str]) -> None:
    """U01, K16"""
    drive(Agent(functions=[fail]), "go", [call("fail", {"secret": "hunter2"}), call("nowhere"), "done"])
    assert capfd.readouterr() == ("", "")


def test_debug_prints_a_trace_through_redact(drive: Drive, capsys: pytest.CaptureFixture[str]) -> None:
    """K16, D32"""

    def keep(value: Any) -> str:
        return str(value).replace("hunter2", "***")

    turns = [call("fail", {"secret": "hunter2"}), "done"]
    drive(Agent(functions=[fail]), "go", turns, swarm={"redact": keep}, debug=True)
    out = capsys.readouterr().out
    assert "Tool call: fail" in out
    assert "hunter2" not in out


def test_debug_logs_go_through_redact(drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    """U01: arguments and results are logged at debug only."""
    turns = [call("fail", {"secret": "hunter2"}), "done"]
    with caplog.at_level(logging.DEBUG, logger="swarm"):
        drive(Agent(functions=[fail]), "go", turns, swarm={"redact": lambda value: str(value).replace("hunter2", "***")})
    assert "fail({'secret': '***'}) came to error" in caplog.text
    assert "hunter2" not in caplog.text


def test_observers_see_every_event_and_cannot_break_a_run(drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    """U02"""
    seen: list[str] = []

    def broken(event: Event) -> None:
        raise RuntimeError("observer")

    async def waits(event: Event) -> None:
        await asyncio.sleep(0)
        seen.append(type(event).__name__)

    response = drive(Agent(), "go", ["done"], swarm={"on_event": [broken, waits]})
    assert response.text == "done"
    assert [name for name in seen if name != "Delta"] == ["TurnStarted", "MessageDone", "TurnEnded", "Done"]
    assert "an on_event observer failed" in caplog.text


def test_an_error_of_the_model_carries_the_response(drive: Drive) -> None:
    def ping() -> str:
        return "pong"

    with pytest.raises(ConnectionFailed) as caught:
        drive(Agent(functions=[ping]), "go", [call("ping"), Turn(error=ConnectionFailed("gone"))])
    assert caught.value.response is not None
    assert [m["content"] for m in caught.value.response.messages] == [None, "pong"]


def test_an_agent_that_cannot_begin(drive: Drive) -> None:
    """H12"""

    def broken(context_variables: dict[str, Any]) -> str:
        raise KeyError("customer")

    b = Agent(name="B", instructions=broken)
    with pytest.raises(KeyError) as caught:
        drive(Agent(name="A", handoffs=[b]), "go", [call("transfer_to_b")])
    response: Response = caught.value.response  # type: ignore[attr-defined]
    assert response.messages[-1]["content"] == "Error: handed over to B, which could not begin: KeyError"


def test_a_history_filter_of_handoff_and_agent(drive: Drive) -> None:
    """H15, D20: the Handoff's first, then the agent's; the full history stays in the Response."""

    def last_two(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return messages[-2:]

    def shout(messages: list[dict[str, Any]], context_variables: dict[str, Any]) -> list[dict[str, Any]]:
        return [{"role": "user", "content": f"{context_variables['name']}: {len(messages)} kept"}]

    b = Agent(name="B", instructions=None, history_filter=shout)
    a = Agent(name="A", handoffs=[Handoff(b, history_filter=last_two)])
    response = drive(a, "go", [call("transfer_to_b"), "done"], context_variables={"name": "Ann"})
    assert drive.requests[1]["messages"] == [{"role": "user", "content": "Ann: 2 kept"}]
    assert len(response.messages) == 3


def test_a_handoff_is_offered_while_its_condition_holds(drive: Drive) -> None:
    """H21"""
    b = Agent(name="B")

    def unlock() -> Result:
        return Result(value="unlocked", context_variables={"open": True})

    a = Agent(name="A", functions=[unlock], handoffs=[Handoff(b, when=lambda context_variables: context_variables.get("open", False))])
    response = drive(a, "go", [call("transfer_to_b"), call("unlock"), call("transfer_to_b"), "done"])
    offered = [[t["function"]["name"] for t in r["tools"]] for r in drive.requests[:3]]
    assert offered == [["unlock"], ["unlock"], ["unlock", "transfer_to_b"]]
    assert response.messages[1]["content"].startswith("Error: Tool transfer_to_b not found.")
    assert response.agent is b


def test_the_default_client_is_chosen_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """D29, D30, P13"""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "SWARM_OFFLINE", "SWARM_MODEL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match=r"OPENAI_API_KEY(.|\n)*OPENAI_BASE_URL(.|\n)*SWARM_OFFLINE"):
        Swarm().run(Agent(), "go")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert type(Swarm().client).__name__ == "ChatClient"
    monkeypatch.setenv("SWARM_OFFLINE", "1")
    assert type(Swarm().client).__name__ == "OfflineModel"
    monkeypatch.setenv("SWARM_OFFLINE", "0")
    assert type(AsyncSwarm().client).__name__ == "ChatClient"


def test_an_agent_with_its_own_client_needs_no_other(drive: Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    """D19, P12"""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("SWARM_OFFLINE", raising=False)
    own = ScriptedModel(["mine"])
    assert drive(Agent(client=own), "go", None).text == "mine"


@pytest.fixture
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "SWARM_OFFLINE", "SWARM_MODEL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("no_environment")
def test_a_missing_client_is_told_at_the_call() -> None:
    """P13: not when the first item of a stream is read, or the coroutine awaited; and nothing is awaited in vain."""
    state = Swarm(ScriptedModel(["hi"])).run(Agent(), "go").state()
    for each in (Swarm(), AsyncSwarm()):
        for start in (lambda s: s.run(Agent(), "go"), lambda s: s.run(Agent(), "go", stream=True), lambda s: s.stream(Agent(), "go")):
            with pytest.raises(ConfigError, match="no model to talk to"):
                start(each)
    with pytest.raises(ConfigError, match="no model to talk to"):
        Swarm().resume(state)


@pytest.mark.usefixtures("no_environment")
def test_what_asks_no_model_needs_no_client() -> None:
    """K02, D25"""
    wanted = [call("fail", {"secret": "x"}, id="1")]
    assert Swarm().handle_tool_calls(wanted, [fail], {}, False).messages[0]["content"] == "Error: ValueError: no luck with x"
    with pytest.raises(ConfigError, match="no model to talk to"):
        Swarm().get_chat_completion(Agent(), [{"role": "user", "content": "hi"}], {}, None, False, False)

    class Own(Swarm):
        def get_chat_completion(self, *args: Any, **kwargs: Any) -> Any:
            return {"choices": [{"message": {"role": "assistant", "content": "own"}}]}

    class Asks(Swarm):
        def get_chat_completion(self, *args: Any, **kwargs: Any) -> Any:
            return super().get_chat_completion(*args, **kwargs)

    assert Own().run(Agent(), "go").text == "own"
    with pytest.raises(ConfigError, match="no model to talk to"):
        Asks().run(Agent(), "go")


def test_what_is_no_client_is_refused(drive: Drive) -> None:
    with pytest.raises(ConfigError, match=r"chat\.completions\.create"):
        drive(Agent(), "go", object())
    with pytest.raises(ConfigError, match="a model's name goes on Agent"):
        drive(Agent(client="gpt-4o"), "go", ["done"])


@pytest.mark.parametrize(
    ("agent", "messages", "said"),
    [
        ("agent", "go", "agent must be an Agent, not str"),
        ("go", Agent(), r"the agent comes first: run\(agent, messages\)"),
        ([{"role": "user", "content": "go"}], Agent(), "the agent comes first"),
        (Agent, "go", r"not a class: give an instance, Agent\(\.\.\.\)"),
        (None, "go", "not NoneType"),
    ],
)
def test_what_is_no_agent_is_refused(drive: Drive, agent: Any, messages: Any, said: str) -> None:
    """U07"""
    with pytest.raises(TypeError, match=said):
        drive(agent, messages, ["done"])


def test_an_unknown_argument_is_refused(drive: Drive) -> None:
    """S17"""
    with pytest.raises(TypeError, match="steam"):
        drive(Agent(), "go", ["done"], steam=True)


def test_a_run_leaves_no_reference_cycle(drive: Drive) -> None:
    """D54"""
    if drive.mode.startswith("async"):  # asyncio makes cycles of its own when a loop is closed
        turns = [call("fail", {"secret": "x"}), "done"]
        model = ScriptedModel(turns)

        async def main() -> int:
            gc.collect()
            await AsyncSwarm(model).run(Agent(functions=[fail_inline]), "go")
            return gc.collect()

        assert asyncio.run(main()) == 0
        return
    agent = Agent(functions=[fail])
    drive(agent, "go", [call("fail", {"secret": "x"}), "done"])
    gc.collect()
    drive(agent, "go", [call("fail", {"secret": "x"}), call("nowhere"), "done"])
    assert gc.collect() == 0


async def fail_async(secret: str) -> str:
    raise ValueError(secret)


fail_inline = fail_async
fail_async.__name__ = "fail"


def test_the_events_are_equal_in_all_modes() -> None:
    """U02, D47: one script with a failure, an unknown tool, a handoff and parallel-free batches gives one sequence of events."""
    b = Agent(name="B")
    agent = Agent(name="A", functions=[fail], handoffs=[b])
    turns = [[call("fail", {"secret": "x"}), call("nowhere")], call("transfer_to_b"), Turn("three short words")]
    sequences: dict[str, list[Any]] = {}
    for mode in ("sync", "async", "sync-stream", "async-stream"):
        events = Drive(mode).events(agent, "go", turns)
        told = [(e.agent, {k: v for k, v in e.as_dict().items() if k not in ("usage", "call")}) for e in events]
        sequences[mode] = [item for item in told if item[1]["event"] != "Delta"]
        texts = "".join(e.text for e in events if type(e).__name__ == "Delta")  # type: ignore[attr-defined]
        assert texts == "three short words"
        assert names(events)[-1] == "Done"
    assert sequences["sync"] == sequences["async"] == sequences["sync-stream"] == sequences["async-stream"]
    streams = [
        [e.as_dict() for e in Drive(m).events(agent, "go", turns) if type(e).__name__ == "Delta"] for m in ("sync-stream", "async-stream")
    ]
    assert streams[0] == streams[1]


class Theirs(Exception):
    """An exception with a `.response` of its own, as HTTP libraries have."""

    def __init__(self) -> None:
        super().__init__("theirs")
        self.response = "their response"


class Frozen(Exception):
    """An exception that refuses further attributes."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(name)


@pytest.mark.parametrize("kind", [Theirs, Frozen])
def test_an_exception_keeps_what_is_its_own(drive: Drive, kind: type[Exception]) -> None:
    def tool() -> str:
        raise kind()

    with pytest.raises(kind) as caught:
        drive(Agent(functions=[tool]), "go", [call("tool")], swarm={"tool_errors": "raise"})
    if isinstance(caught.value, Theirs):
        assert caught.value.response == "their response"
        assert caught.value.swarm_response.stop_reason == "error"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_turns": "5"},
        {"timeout": "1"},
        {"limits": {"model_calls": 1}},
        {"context_variables": [1]},
        {"context_variables": "x"},
        {"approvals": ["call_1"]},
        {"approvals": True},
    ],
)
def test_an_argument_of_a_wrong_type_is_refused(drive: Drive, wrong: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=next(iter(wrong))):
        drive(Agent(), "go", ["done"], **wrong)


@pytest.mark.parametrize("wrong", [{"approvals": [1]}, {"context_variables": [1]}, {"max_turns": "5"}, {"timeout": "1"}])
def test_resume_refuses_an_argument_of_a_wrong_type(drive: Drive, wrong: dict[str, Any]) -> None:
    state = drive(Agent(), "go", ["done"]).state()
    with pytest.raises(TypeError, match=next(iter(wrong))):
        drive.resume(state, ["done"], **wrong)


def test_resume_looks_at_the_state_before_anything_else(drive: Drive) -> None:
    with pytest.raises(TypeError, match=r"resume takes a State, not dict: load_state"):
        drive.resume({}, ["done"])
    with pytest.raises(StateError, match="no saved state: it has no version"):
        drive.resume(State({}, {}), ["done"])
    state = State({**drive(Agent(name="A"), "go", ["done"]).state(), "agent": "B"}, {"A": Agent(name="A")})
    with pytest.raises(StateError, match=r"state\.agent names 'B', which is not among the agents given: 'A'"):
        drive.resume(state, ["done"])


def test_the_client_may_be_replaced() -> None:
    """K02"""
    swarm = Swarm(ScriptedModel([]))
    swarm.client = ScriptedModel(["hi"])
    assert swarm.run(Agent(), "go").text == "hi"


def test_a_result_that_no_request_could_carry(drive: Drive) -> None:
    def name() -> str:
        return "caf\udce9"

    response = drive(Agent(functions=[name]), "go", [call("name"), "done"])
    assert response.messages[1]["content"] == "caf?"


class Provider(ScriptedModel):
    """A scripted model at an address."""

    def __init__(self, base_url: str, turns: list[Any]) -> None:
        super().__init__(turns)
        self.base_url = base_url


def private_fields(request: dict[str, Any]) -> int:
    return sum("reasoning_content" in message for message in request["messages"])


@pytest.mark.parametrize("filtered", [False, True])
def test_private_fields_go_back_to_their_provider_only(drive: Drive, filtered: bool) -> None:
    """D26"""
    keep = (lambda messages: list(messages)) if filtered else None
    here = Provider("http://one/v1", [Turn("", [call("transfer_to_b")], extra={"reasoning_content": "secret"}), "back"])
    there = Provider("http://two/v1", [Turn("", [call("transfer_to_a")], extra={"reasoning_content": "other"})])
    a, b = Agent(name="A", client=here, history_filter=keep), Agent(name="B", client=there, history_filter=keep)
    a.handoffs, b.handoffs = [b], [a]
    drive(a, "go", None)
    assert [private_fields(r) for r in there.requests] == [0]
    assert [private_fields(r) for r in here.requests] == [0, 1]
    assert here.requests[1]["messages"][2]["reasoning_content"] == "secret"


def test_a_function_that_changes_its_arguments_changes_nothing_else(drive: Drive) -> None:
    """K19"""
    seen: list[list[int]] = []

    @tool(retries=1)
    def take(numbers: list[int]) -> str:
        seen.append(list(numbers))
        numbers.clear()
        if len(seen) == 1:
            raise ValueError("again")
        return "ok"

    response = drive(Agent(functions=[take]), "go", [call("take", {"numbers": [1, 2]}), "done"])
    assert seen == [[1, 2], [1, 2]]
    assert response.calls[0].arguments == {"numbers": [1, 2]}


@pytest.mark.parametrize("kind", ["defaultdict", "OrderedDict"])
def test_a_dict_of_another_kind_is_copied_value_by_value(drive: Drive, kind: str) -> None:
    """K08, D17"""
    import collections
    import threading

    lock = threading.Lock()
    made: Any = collections.defaultdict(list) if kind == "defaultdict" else collections.OrderedDict()
    made.update({"lock": lock, "items": [1]})

    def add(context_variables: dict[str, Any]) -> str:
        context_variables["items"].append(2)
        return "ok"

    response = drive(Agent(functions=[add]), "go", [call("add"), "done"], context_variables=made)
    assert made["items"] == [1]
    assert response.context_variables["items"] == [1, 2]
    assert response.context_variables["lock"] is lock


def test_a_limit_that_raises_leaves_a_handoff_as_it_was(drive: Drive) -> None:
    a, b = Agent(name="A"), Agent(name="B")
    a.handoffs = [b]
    with pytest.raises(LimitExceeded) as caught:
        drive(a, "go", [call("transfer_to_b")], max_turns=2, limits=Limits(on_limit="raise"))
    response = caught.value.response
    assert response is not None
    assert (response.messages[-1]["content"], response.stop_reason) == ('{"assistant": "B"}', "max_turns")


def test_a_model_override_is_a_name(drive: Drive) -> None:
    with pytest.raises(TypeError, match="model_override must be the name of a model, not 5"):
        drive(Agent(), "go", ["never"], model_override=5)
