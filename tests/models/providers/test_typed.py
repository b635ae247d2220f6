"""Typed answers under each provider's rules: what asks for them, with tools and without."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel

from swarm import Agent
from swarm.errors import ConfigError, RequestError
from swarm.models.profiles import PROFILES, Profile
from swarm.models.scripted import Turn, call
from tests.look import system_text
from tests.models.providers.fakes import MODELS, FakeProvider, look_up
from tests.models.providers.rules import RULES
from tests.modes import Drive


class Found(BaseModel):
    name: str
    price: float = 0.0


SCRIPT = [Turn(None, [call("look_up", {"item": 1}, id="abcdef001")]), Turn("It is a lamp."), Turn('{"name": "lamp", "price": null}')]


def ask(drive: Drive, client: FakeProvider, provider: str) -> Any:
    agent = Agent(model=MODELS.get(provider, "some-model"), functions=[look_up], output_type=Found)
    return drive(agent, "What is item 1?", client).output


@pytest.mark.parametrize("provider", RULES)
def test_each_is_asked_in_the_way_it_takes(drive: Drive, provider: str) -> None:
    """O01, O02: a format where it helps, else the instructions; and in the question for a better answer always the schema."""
    client, way = FakeProvider(provider, SCRIPT), PROFILES[provider].response_format
    assert ask(drive, client, provider) == Found(name="lamp")
    with_tools, _, without = client.requests
    assert ("response_format" in with_tools) == (way == "json_schema_with_tools")
    assert ("response_format" in without) == (way is not None)
    assert ("JSON Schema" in str(system_text(with_tools))) == (way != "json_schema_with_tools")
    assert "tools" in with_tools
    assert "tools" not in without
    assert "JSON Schema" in without["messages"][-1]["content"]


@pytest.mark.parametrize("provider", [name for name, profile in PROFILES.items() if profile.response_format != "json_schema_with_tools"])
def test_a_format_beside_tools_is_refused(provider: str) -> None:
    """The rules bite."""
    profile = replace(PROFILES[provider], response_format="json_schema_with_tools")
    client = FakeProvider(provider, SCRIPT, profile=replace(profile, call_signature="signed" if provider == "gemini" else None))
    with pytest.raises(RequestError, match="response"):
        ask(Drive("sync"), client, provider)


def test_a_way_that_there_is_not() -> None:
    with pytest.raises(ConfigError, match="response_format"):
        Profile(response_format="xml")  # type: ignore[arg-type]
