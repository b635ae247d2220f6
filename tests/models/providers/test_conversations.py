"""A whole conversation under each provider's rules: system messages, two tools, a handoff, private fields, streams."""

from __future__ import annotations

import copy
from dataclasses import fields, replace
from typing import Any

import pytest

from swarm import Agent, ChatClient, Response
from swarm.errors import AgentError, RequestError
from swarm.models.profiles import PROFILES, Profile
from swarm.models.scripted import Turn, call
from tests.look import system_text
from tests.loopback import Loopback
from tests.models.providers.fakes import MODELS, ROUGH, SCRIPT, SEND_USAGE_NEVER, FakeProvider, agents, look_up
from tests.models.providers.rules import RULES
from tests.modes import Drive


def converse(drive: Drive, client: Any, provider: str, **swarm: Any) -> Response:
    return drive(agents(MODELS.get(provider, "some-model")), ROUGH, client, swarm=swarm)


def check(response: Response, provider: str, streams: bool) -> None:
    assert response.text == "Done."
    assert [(made.name, made.outcome) for made in response.calls] == [("look_up", "ok"), ("note", "error"), ("transfer_to_b", "ok")]
    assert response.handoffs == [("A", "B")]
    assert response.usage.total_tokens == (0 if streams and provider in SEND_USAGE_NEVER else 45)


def test_there_are_rules_for_each_profile() -> None:
    assert RULES.keys() == PROFILES.keys()


@pytest.mark.parametrize("provider", RULES)
def test_a_conversation_passes_in_process(drive: Drive, provider: str) -> None:
    """P01, P02, P03, P05, P07, P11, P16, D26: the form is told by base URL, or by the name a local server was given."""
    client, before = FakeProvider(provider, SCRIPT), copy.deepcopy(ROUGH)
    check(converse(drive, client, provider), provider, drive.streams)
    assert len(client.requests) == len(SCRIPT)
    assert before == ROUGH


@pytest.mark.parametrize("provider", RULES)
def test_a_conversation_passes_over_http(drive: Drive, provider: str) -> None:
    """P13, D28"""
    with Loopback(FakeProvider(provider, SCRIPT).over_http) as server:
        check(converse(drive, ChatClient(server.url, "key", profile=provider), provider), provider, drive.streams)


@pytest.mark.parametrize("provider", sorted(RULES.keys() - {"default"}))
def test_the_same_conversation_in_the_usual_form_is_refused(drive: Drive, provider: str) -> None:
    """The providers' rules bite."""
    client = FakeProvider(provider, SCRIPT, profile="default")
    with pytest.raises(RequestError) as caught:
        converse(drive, client, provider)
    assert caught.value.status == 400
    assert caught.value.response is not None


@pytest.mark.parametrize("provider", sorted(RULES.keys() - {"default"}))
def test_over_http_it_is_refused_too(provider: str) -> None:
    with Loopback(FakeProvider(provider, SCRIPT).over_http) as server, pytest.raises(RequestError, match="400"):
        converse(Drive("sync"), ChatClient(server.url, "key", profile="default"), provider)


USUAL = Profile()
# On the safe side: an absent content is taken everywhere, and no source says that Anthropic refuses null.
UNTESTED = {("anthropic", "empty_content")}
SETTINGS = [
    (name, field.name)
    for name, profile in PROFILES.items()
    for field in fields(Profile)
    if field.name not in ("name", "response_format", "strict_tools")
    and getattr(profile, field.name) != getattr(USUAL, field.name)
    and (name, field.name) not in UNTESTED
]


@pytest.mark.parametrize(("provider", "field"), SETTINGS)
def test_no_setting_of_a_profile_stands_there_for_nothing(provider: str, field: str) -> None:
    """Each alone, put back to what is usual, makes the provider refuse, or keep its usage to itself."""
    profile = replace(PROFILES[provider], call_signature="signed" if provider == "gemini" else None)
    client = FakeProvider(provider, SCRIPT, profile=replace(profile, **{field: getattr(USUAL, field)}))
    if field == "stream_usage":
        assert converse(Drive("sync-stream"), client, provider).usage.total_tokens == 0
    else:
        with pytest.raises(RequestError):
            converse(Drive("sync"), client, provider)


def test_calls_without_a_signature_are_refused_by_gemini(drive: Drive) -> None:
    """P11"""
    with pytest.raises(RequestError, match="thought_signature"):
        converse(drive, FakeProvider("gemini", SCRIPT, profile=PROFILES["gemini"]), "gemini")


def test_an_older_azure_is_not_asked_for_usage(drive: Drive) -> None:
    """S12, D28"""
    client = FakeProvider("azure", SCRIPT, profile="azure-v1")
    if drive.streams:
        with pytest.raises(RequestError, match="stream_options"):
            converse(drive, client, "azure")
    else:
        assert converse(drive, client, "azure").text == "Done."


def chain(*providers: str) -> tuple[Agent, dict[str, FakeProvider]]:
    """One agent at each provider, each handing over to the next and the last to the first, which hands to the second once more."""
    ids = iter(f"abcdef{number:03}" for number in range(100))
    names = [provider.replace(".", "") for provider in providers]
    after = dict(zip(names, [*names[1:], names[0]], strict=True))
    fakes: dict[str, FakeProvider] = {}
    made: list[Agent] = []
    for provider, name in zip(providers, names, strict=True):
        turns = [
            Turn(None, [call("look_up", {"item": 1}, id=next(ids))]),
            Turn(None, [call(f"transfer_to_{after[name]}", id=next(ids))]),
            *([Turn("Back again.", [call("look_up", {"item": 0}, id=next(ids))]), Turn("Done.")] if name == names[0] else []),
        ]
        fakes[provider] = FakeProvider(provider, turns)
        made.append(Agent(name=name, model=MODELS.get(provider, "some-model"), functions=[look_up], client=fakes[provider]))
    for at, agent in enumerate(made):
        agent.handoffs = [made[(at + 1) % len(made)]]
    return made[0], fakes


@pytest.mark.parametrize(
    "providers",
    [
        ("deepseek", "groq", "gemini"),
        ("gemini", "deepseek", "mistral"),
        ("cerebras", "openrouter", "anthropic"),
        ("mistral", "vllm", "xai"),
        ("openai", "llama.cpp", "cerebras"),
    ],
)
def test_strict_and_demanding_providers_in_one_run(drive: Drive, providers: tuple[str, ...]) -> None:
    """P11, D26: each gets its own fields back, and nobody another's; calls that others made pass with each."""
    first, fakes = chain(*providers)
    response = drive(first, ROUGH, FakeProvider("default", []))
    assert response.text == "Done."
    assert len(response.handoffs) == len(providers)
    assert all(client.requests for client in fakes.values())


def test_an_agent_names_its_profile(drive: Drive) -> None:
    """P07: its own before its client's, its client's before what the URL tells; the Swarm's is for the Swarm's client."""
    mine = Profile("mine", instruction_role="developer")
    client = FakeProvider("default", [Turn("ok")] * 6)
    for agent, swarm, role in [
        (Agent(), None, "system"),
        (Agent(), mine, "developer"),
        (Agent(profile="openai"), mine, "system"),
        (Agent(profile=mine), "openai", "developer"),
        (Agent(client=client), mine, "developer"),
        (Agent(client=FakeProvider("default", [Turn("ok")])), mine, "system"),
    ]:
        drive(agent, "hi", client, swarm={"profile": swarm})
        asked = client if agent.client is None else agent.client
        assert asked.requests[-1]["messages"][0]["role"] == role
    other = FakeProvider("default", [Turn("ok")], profile=mine)
    drive(Agent(client=other), "hi", client, swarm={"profile": "openai"})
    assert system_text(other.requests[0]) is None


@pytest.mark.parametrize(
    ("wrong", "words"), [("opnai", "'opnai'; there are: default, openai"), (3, "must be a Profile or the name of one")]
)
def test_an_agent_with_a_profile_that_there_is_not(wrong: Any, words: str) -> None:
    with pytest.raises(AgentError, match=rf"profile: .*{words}"):
        Agent(profile=wrong)


def test_a_client_with_a_profile_that_there_is_not() -> None:
    with pytest.raises(TypeError, match="must be a Profile"):
        ChatClient("http://localhost:8000/v1", profile=3)  # type: ignore[arg-type]


def three_d(item: int) -> str:
    return "a view"


def test_a_tool_name_is_refused_before_the_request(drive: Drive) -> None:
    """P16, D21: with the agent, the tool, the provider, and the way out."""
    from swarm import tool

    client = FakeProvider("gemini", [Turn("ok")])
    with pytest.raises(AgentError, match=r"agent 'V' offers the tool '3d'.*gemini.*@tool\(name=\"tool_3d\"\)"):
        drive(Agent(name="V", functions=[tool(three_d, name="3d")]), "hi", client)
    assert client.requests == []
    assert drive(Agent(name="V", functions=[tool(three_d, name="tool_3d")]), "hi", client).text == "ok"
