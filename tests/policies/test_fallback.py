"""Fallback: which failures another model is asked after, what it is sent, and what is told."""

from __future__ import annotations

from typing import Any

import pytest

from swarm import Agent, ScriptedModel, Swarm
from swarm.effects import CallModel, Flow
from swarm.errors import (
    AgentError,
    AuthenticationError,
    ConfigError,
    ConnectionFailed,
    ContextLengthExceeded,
    InvalidReply,
    ModelError,
    ModelTimeout,
    QuotaExceeded,
    RateLimitError,
    RequestError,
    ServerError,
    StreamBroken,
    status_error,
)
from swarm.events import PolicyActed
from swarm.models.profiles import Profile
from swarm.models.scripted import Turn, call
from swarm.policies import Fallback, Retry
from swarm.testing.conformance import PolicyConformance
from tests.clients import ForeignClient
from tests.look import is_valid, system_text
from tests.modes import Drive, streaming
from tests.policies.virtual import Clock


class TestFallback(PolicyConformance):
    def make(self) -> Fallback:
        return Fallback(["second", "third"])


class Served(ScriptedModel):
    """A scripted model behind an address, with a profile."""

    def __init__(self, turns: list[Any], base_url: str, profile: Profile | str | None = None) -> None:
        super().__init__(turns)
        self.base_url = base_url
        self.profile = profile


def acted(events: list[Any]) -> list[tuple[str, str]]:
    return [(event.what, event.reason) for event in events if isinstance(event, PolicyActed)]


def models(requests: list[dict[str, Any]]) -> list[str]:
    return [request["model"] for request in requests]


HELPS = [
    RateLimitError("429: slow down"),
    ServerError("503: overloaded"),
    ConnectionFailed("no connection"),
    ModelTimeout("too late"),
    QuotaExceeded("429: nothing left"),
    ContextLengthExceeded("400: too long"),
    InvalidReply("no choices"),
    status_error(404, "The model `gpt-9` does not exist"),
    status_error(403, "m", body={"error": {"code": "model_not_found"}}),
    status_error(400, "Model Not Exist"),
    status_error(400, "gpt-9 is not a valid model ID"),
]


@pytest.mark.parametrize("error", HELPS, ids=lambda error: type(error).__name__)
def test_another_model_is_asked_where_it_may_help(drive: Drive, error: ModelError) -> None:
    """X07, D9: in order, with the reason told; only the answer is counted."""
    agent = Agent(name="Helper", model="first")
    turns = [error, ServerError("500: down"), "done"]
    events = drive.events(agent, "hi", turns, swarm={"policies": [Fallback(["second", "third"])]})
    response = events[-1].response
    assert (response.text, response.usage.calls, response.usage.input_tokens) == ("done", 1, 10)
    assert models(drive.requests) == ["first", "second", "third"]
    assert acted(events) == [
        ("asks second (ScriptedModel) instead of first (ScriptedModel)", f"{type(error).__name__}: {error}"),
        ("asks third (ScriptedModel) instead of second (ScriptedModel)", "ServerError: 500: down"),
    ]


@pytest.mark.parametrize("error", [RequestError("400: no"), AuthenticationError("401: who?"), status_error(422, "no"), ValueError("a bug")])
def test_a_mistake_is_not_hidden(drive: Drive, error: Exception) -> None:
    with pytest.raises(type(error)):
        drive(Agent(), "hi", [error], swarm={"policies": [Fallback(["second"])]})
    assert len(drive.requests) == 1


def test_if_all_fail_the_last_error_tells_of_the_others(drive: Drive) -> None:
    turns = [RateLimitError("429: slow down"), QuotaExceeded("429: nothing left")]
    with pytest.raises(QuotaExceeded) as caught:
        drive(Agent(model="first"), "hi", turns, swarm={"policies": [Fallback(["second"])]})
    assert caught.value.__notes__ == ["Fallback asked after first (ScriptedModel) had failed: RateLimitError: 429: slow down"]


def test_the_next_turn_begins_with_the_first(drive: Drive) -> None:
    turns = [ServerError("503: overloaded"), call("look_up"), "done"]

    def look_up() -> str:
        return "found"

    drive(Agent(model="first", functions=[look_up]), "hi", turns, swarm={"policies": [Fallback(["second"])]})
    assert models(drive.requests) == ["first", "second", "first"]


def test_a_model_is_not_asked_twice_for_one_reply(drive: Drive) -> None:
    """An agent may have one of the others already."""
    with pytest.raises(ServerError):
        drive(Agent(model="second"), "hi", [ServerError("a"), ServerError("b")], swarm={"policies": [Fallback(["second", "third"])]})
    assert models(drive.requests) == ["second", "third"]


class Heard:
    """Keeps the replies."""

    def __init__(self) -> None:
        self.models: list[str | None] = []

    def model(self, call: CallModel) -> Flow:
        reply = yield call
        self.models.append(reply.model)
        return reply


def test_the_reply_says_which_model_answered(drive: Drive) -> None:
    """In the provider's words, or, where it has none, as it was asked for."""
    heard = Heard()
    turns = [ServerError("503: m"), Turn(chunks=["done"])] if drive.streams else [ServerError("503: m"), "done"]
    drive(Agent(model="first"), "hi", turns, swarm={"policies": [heard, Fallback(["second"])]})
    assert heard.models == ["second"]


@streaming
def test_a_stream_falls_over_before_its_first_delta_only(drive: Drive) -> None:
    """S15, D12"""
    policies = {"policies": [Fallback(["second"])]}
    assert drive(Agent(), "hi", [Turn(chunks=[ConnectionFailed("lost")]), "Hello"], swarm=policies).text == "Hello"
    with pytest.raises(StreamBroken):
        drive(Agent(), "hi", [Turn(chunks=["Hel", ConnectionFailed("lost")]), "Hello"], swarm=policies)
    assert len(drive.requests) == 1


def test_retry_inside_gives_up_first(drive: Drive, clock: Clock) -> None:
    """X07: the first model is tried again before another one is asked."""
    turns = [*[ServerError("503: m")] * 2, "done"]
    drive(Agent(model="first"), "hi", turns, swarm={"policies": [Fallback(["second"]), Retry(2)]})
    assert models(drive.requests) == ["first", "first", "second"]


def test_retry_outside_tries_all_of_them_again(drive: Drive, clock: Clock) -> None:
    turns = [*[ServerError("503: m")] * 3, "done"]
    drive(Agent(model="first"), "hi", turns, swarm={"policies": [Retry(2), Fallback(["second"])]})
    assert models(drive.requests) == ["first", "second", "first", "second"]


# The content filter

FILTERED = status_error(400, "filtered", body={"error": {"code": "content_filter"}})


def test_a_filtered_request_falls_over_if_asked(drive: Drive) -> None:
    with pytest.raises(RequestError):
        drive(Agent(), "hi", [FILTERED, "never"], swarm={"policies": [Fallback(["second"])]})
    assert drive(Agent(), "hi", [FILTERED, "done"], swarm={"policies": [Fallback(["second"], content_filter=True)]}).text == "done"


def test_a_filtered_reply_falls_over_if_nothing_was_shown(drive: Drive) -> None:
    """D12: and it is counted, since it was paid."""
    empty = {"choices": [{"index": 0, "delta": {}, "finish_reason": "content_filter"}]}
    stopped = Turn(chunks=[empty]) if drive.streams else Turn("", finish_reason="content_filter")
    wanted: dict[str, Any] = {"policies": [Fallback(["second"], content_filter=True)]}
    response = drive(Agent(), "hi", [stopped, "done"], swarm=wanted)
    assert (response.text, response.stop_reason, response.usage.calls) == ("done", "complete", 2)
    response = drive(Agent(), "hi", [stopped, stopped], swarm=wanted)
    assert (response.stop_reason, response.usage.calls) == ("content_filter", 2)
    response = drive(Agent(), "hi", [stopped], swarm={"policies": [Fallback(["second"])]})
    assert response.stop_reason == "content_filter"


@streaming
def test_a_filtered_reply_that_was_shown_stays(drive: Drive) -> None:
    """D12"""
    turns = [Turn("Once upon", finish_reason="content_filter"), "never"]
    response = drive(Agent(), "hi", turns, swarm={"policies": [Fallback(["second"], content_filter=True)]})
    assert (response.text, response.stop_reason) == ("Once upon", "content_filter")


# Other clients

THERE = "https://there.test/v1"


@pytest.mark.parametrize("shape", ["openai", "namespace", "dict"])
def test_another_client_is_asked_with_its_own_model(drive: Drive, shape: str) -> None:
    """P12"""
    other = ForeignClient(["done"], shape, is_async=drive.mode.startswith("async"))
    events = drive.events(Agent(model="gpt-4o"), "hi", [ServerError("503: m")], swarm={"policies": [Fallback(clients=[(other, "claude")])]})
    assert events[-1].response.text == "done"
    assert models(other.requests) == ["claude"]
    assert acted(events)[0][0] == "asks claude (ForeignClient) instead of gpt-4o (ScriptedModel)"


def test_a_client_without_a_model_is_asked_for_the_same(drive: Drive) -> None:
    other = Served(["done"], THERE)
    drive(Agent(model="gpt-4o"), "hi", [ServerError("503: m")], swarm={"policies": [Fallback(clients=[other])]})
    assert models(other.requests) == ["gpt-4o"]


def look_up(item: int) -> str:
    """Look an item up."""
    return f"item {item}"


HISTORY = [
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": "", "tool_calls": [call("look_up", {"item": 1}, id="a-long-id")], "reasoning_content": "secret"},
    {"role": "tool", "tool_call_id": "a-long-id", "content": "item 1"},
    {"role": "user", "content": "two"},
]
STRICT = Profile(
    "there",
    instruction_role="developer",
    empty_content="absent",
    parallel_flag=False,
    answer_after_tools=True,
    id_pattern="[a-z0-9]{9}",
    max_tokens="max_completion_tokens",
)


def test_the_request_is_written_as_the_other_provider_wants_it(drive: Drive) -> None:
    """P02, P06, P07, D26: the ids still pair, and nothing that is private to the first goes along."""
    other = Served(["done"], THERE, STRICT)
    agent = Agent(
        model="first",
        instructions="Be brief.",
        functions=[look_up],
        parallel_tool_calls=False,
        model_settings={"max_tokens": 9, "temperature": 0.5},
    )
    first = Served([ServerError("503: m")], "https://here.test/v1")
    drive(agent, HISTORY, first, swarm={"policies": [Fallback(clients=[(other, "second")])]})
    (request,) = other.requests
    system, *messages = request["messages"]
    assert system == {"role": "developer", "content": "Be brief."}
    (made,) = messages[1]["tool_calls"]
    assert messages[1].keys() == {"role", "tool_calls"}
    assert messages[2] == {"role": "tool", "tool_call_id": made["id"], "content": "item 1"}
    assert (len(made["id"]), messages[3]["role"]) == (9, "assistant")
    assert is_valid(messages)
    assert (request["max_completion_tokens"], request["temperature"], request["tools"]) == (9, 0.5, first.requests[0]["tools"])
    assert "parallel_tool_calls" not in request
    assert "max_tokens" not in request
    assert first.requests[0]["messages"][2]["reasoning_content"] == "secret"
    assert first.requests[0]["parallel_tool_calls"] is False


def test_what_the_first_provider_does_not_take_comes_back(drive: Drive) -> None:
    """P06, D28"""
    other = Served(["done"], THERE, Profile("there", stream_usage=True))
    first = Served([ServerError("503: m")], "https://here.test/v1", STRICT)
    agent = Agent(model="first", functions=[look_up], parallel_tool_calls=False)
    drive(agent, "hi", first, swarm={"policies": [Fallback(clients=[other])]})
    (request,) = other.requests
    assert request["parallel_tool_calls"] is False
    assert request.get("stream_options") == ({"include_usage": True} if drive.streams else None)
    assert "stream_options" not in first.requests[0]
    back = Served(["done"], "https://here.test/v1", STRICT)
    failing = Served([ServerError("503: m")], THERE, Profile("there", stream_usage=True))
    drive(agent, "hi", failing, swarm={"policies": [Fallback(clients=[back])]})
    assert "stream_options" not in back.requests[0]


@pytest.mark.parametrize(
    "ways",
    [
        ("json_schema_with_tools", None),
        (None, "json_schema_with_tools"),
        ("json_object", "json_schema"),
        ("json_schema", "json_object"),
        (None, None),
    ],
)
def test_a_typed_answer_is_asked_for_as_the_other_provider_takes_it(drive: Drive, ways: tuple[Any, Any]) -> None:
    """O01"""
    first = Served([ServerError("503: m")], "https://here.test/v1", Profile("here", response_format=ways[0]))
    other = Served(["[1, 2]"], THERE, Profile("there", response_format=ways[1]))
    agent = Agent(model="m", instructions="Count.", output_type=list[int])
    assert drive(agent, "hi", first, swarm={"policies": [Fallback(clients=[other])]}).output == [1, 2]
    alone = Served(["[1, 2]"], THERE, Profile("there", response_format=ways[1]))
    drive(agent, "hi", alone)
    assert other.requests == alone.requests


@pytest.mark.parametrize("roles", [("system", "user"), ("user", "system"), ("system", "developer")])
def test_instructions_are_told_once_wherever_they_stand(drive: Drive, roles: tuple[Any, Any]) -> None:
    """P07"""
    first = Served([ServerError("503: m")], "https://here.test/v1", Profile("here", instruction_role=roles[0]))
    other = Served(["done"], THERE, Profile("there", instruction_role=roles[1]))
    drive(Agent(model="m", instructions="Be brief."), "hi", first, swarm={"policies": [Fallback(clients=[other])]})
    assert str(other.requests[0]["messages"]).count("Be brief.") == 1


def test_each_provider_gets_back_what_is_private_to_it(drive: Drive) -> None:
    """D26, P11: also where one answers in the place of the other in turn after turn."""
    first = Served(
        [ServerError("503: m"), Turn("", [call("look_up", {"item": 2}, id="b")], extra={"mark": "here"}), ServerError("503: m")],
        "https://here.test/v1",
    )
    signed = {**call("look_up", {"item": 1}, id="a"), "signature": "there"}
    other = Served([Turn(None, [signed], extra={"mark": "there"}), "done"], THERE)
    response = drive(Agent(model="m", functions=[look_up]), "hi", first, swarm={"policies": [Fallback(clients=[other])]})
    assert [message.get("mark") for message in response.messages if message["role"] == "assistant"] == ["there", "here", None]

    def marks(request: dict[str, Any]) -> list[Any]:
        asked = [message for message in request["messages"] if message["role"] == "assistant"]
        return [(message.get("mark"), message["tool_calls"][0].get("signature")) for message in asked]

    assert marks(first.requests[1]) == [(None, None)]
    assert marks(first.requests[2]) == [(None, None), ("here", None)]
    assert marks(other.requests[1]) == [("there", "there"), (None, None)]


def test_what_policies_outside_changed_goes_to_the_other_too(drive: Drive) -> None:
    class Adds:
        def model(self, call: CallModel) -> Flow:
            more = [*call.request["messages"], {"role": "user", "content": "added"}]
            return (yield call.replace(request={**call.request, "messages": more}))

    other = Served(["done"], THERE)
    asked: list[str] = []

    def told() -> str:
        asked.append("x")
        return "Be brief."

    drive(Agent(model="m", instructions=told), "hi", [ServerError("503: m")], swarm={"policies": [Adds(), Fallback(clients=[other])]})
    assert other.requests[0]["messages"][-1] == {"role": "user", "content": "added"}
    assert (system_text(other.requests[0]), len(asked)) == ("Be brief.", 1)


def test_an_agent_s_profile_is_that_of_its_client(drive: Drive) -> None:
    first = Served([ServerError("503: m"), "done"], "https://here.test/v1")
    other = Served(["done"], THERE, Profile("there", instruction_role="developer"))
    agent = Agent(model="m", client=first, profile=Profile("mine", empty_content="absent"))
    drive(agent, "hi", [], swarm={"policies": [Fallback(clients=[other])]})
    assert other.requests[0]["messages"][0]["role"] == "developer"
    drive(
        agent.copy(client=Served([ServerError("m"), "done"], "https://here.test/v1")), "hi", [], swarm={"policies": [Fallback(["second"])]}
    )


def test_a_tool_that_the_other_provider_refuses_is_named(drive: Drive) -> None:
    """P17: before it is asked."""
    other = Served(["never"], THERE, Profile("there", tool_name="tool_.*"))
    with pytest.raises(AgentError, match=r"offers the tool 'look_up'.*there"):
        drive(Agent(functions=[look_up]), "hi", [ServerError("503: m")], swarm={"policies": [Fallback(clients=[other])]})
    assert other.requests == []


def test_a_call_of_a_policy_s_own_falls_over_too(drive: Drive) -> None:
    """D10"""

    class Judge:
        def model(self, call: CallModel) -> Flow:
            reply = yield call
            question = [{"role": "user", "content": "Fine?"}]
            yield CallModel(call.agent, call.client, {"model": "judge", "messages": question}, run=call.run)
            return reply

    other = Served(["yes"], THERE)
    drive(Agent(model="m"), "hi", ["done", ServerError("503: m")], swarm={"policies": [Judge(), Fallback(clients=[other])]})
    assert [message["content"] for message in other.requests[0]["messages"]] == ["Fine?"]


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({}, ValueError, "needs models=.* or clients="),
        ({"models": ["a"], "clients": [ScriptedModel([])]}, ValueError, "one of the two"),
        ({"models": "a"}, TypeError, r"models=\['a'\]"),
        ({"models": [ScriptedModel([])]}, TypeError, "the name of a model must be a text"),
        ({"clients": ["gpt-4o"]}, ConfigError, "is no client"),
        ({"clients": [(ScriptedModel([]), "a", "b")]}, TypeError, r"pairs \(client, model\)"),
        ({"clients": [("a", ScriptedModel([]))]}, TypeError, "the name of a model must be a text"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        Fallback(**given)


def test_the_first_client_s_own_errors_keep_their_response() -> None:
    with pytest.raises(AuthenticationError) as caught:
        Swarm(ScriptedModel([ServerError("m"), AuthenticationError("401: who?")]), policies=[Fallback(["second"])]).run(Agent(), "hi")
    assert caught.value.response is not None
    assert caught.value.__notes__[0].startswith("Fallback asked after gpt-4o")
