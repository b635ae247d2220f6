"""Values from the environment: which variable is which value, and of which type."""

from __future__ import annotations

from typing import Any

import pytest

from swarm.ext.config import load_config
from tests.ext.config.conftest import Load, Problems, Write

TEXT = """
agent = "front-desk"
[clients.main]
base_url = "http://127.0.0.1:1/v1"
[agents.front-desk]
name = "Desk"
[agents.b]
[[policies]]
type = "Retry"
tries = 2
[[policies]]
type = "Permission"
deny = [{ tools = "x" }]
"""


def value(config: Any, path: str) -> Any:
    for name in path.split("."):
        config = config[int(name)] if name.isdecimal() else config[name] if isinstance(config, dict) else getattr(config, name)
    return config


@pytest.mark.parametrize(
    ("variable", "text", "path", "expected"),
    [
        ("SWARM_LIMITS__MODEL_CALLS", "5", "limits.model_calls", 5),
        ("SWARM_LIMITS__SECONDS", "0.5", "limits.seconds", 0.5),
        ("SWARM_LIMITS__REPEATS", "null", "limits.repeats", None),
        ("SWARM_LIMITS__ON_LIMIT", "raise", "limits.on_limit", "raise"),
        ("SWARM_AGENTS__FRONT_DESK__MODEL", "4", "agents.front-desk.model", "4"),
        ("SWARM_AGENTS__B__MODEL", "big", "agents.b.model", "big"),
        ("SWARM_AGENTS__B__INSTRUCTIONS", "Be kind.", "agents.b.instructions", "Be kind."),
        ("SWARM_AGENTS__B__PARALLEL_TOOL_CALLS", "false", "agents.b.parallel_tool_calls", False),
        ("SWARM_AGENTS__B__MODEL_SETTINGS__TEMPERATURE", "0.5", "agents.b.model_settings", {"temperature": 0.5}),
        ("SWARM_DEFAULTS__MODEL", "small", "agents.b.model", "small"),
        ("SWARM_DEFAULTS__MODEL_SETTINGS", '{"seed": 1}', "agents.b.model_settings", {"seed": 1}),
        ("SWARM_POLICIES__0__TRIES", "7", "policies.0.tries", 7),
        ("SWARM_CONTEXT_VARIABLES__ROLES", '["clerk"]', "context_variables.roles", ["clerk"]),
        ("SWARM_CONTEXT_VARIABLES__USER", "ada", "context_variables.user", "ada"),
        ("SWARM_CLIENTS__MAIN__TIMEOUT", "3", "agents.b.name", "b"),
    ],
)
def test_a_variable_is_a_value(load: Load, variable: str, text: str, path: str, expected: Any) -> None:
    """D76"""
    assert value(load(TEXT, environ={variable: text}), path) == expected


def test_what_has_no_two_underscores_is_something_else(load: Load) -> None:
    """SWARM_OFFLINE and SWARM_MODEL mean what they always mean."""
    config = load(TEXT, environ={"SWARM_OFFLINE": "1", "SWARM_MODEL": "x", "SWARM_AGENT": "b", "OTHER__AGENT": "b"})
    assert config.agent.name == "Desk"


def test_the_environment_of_the_process_is_taken(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWARM_LIMITS__TOKENS", "9")
    path = write("x.toml", TEXT)
    assert load_config(path).limits.tokens == 9  # type: ignore[union-attr]
    assert load_config(path, environ={}).limits is None


@pytest.mark.parametrize(
    ("variable", "text", "told"),
    [
        ("SWARM_LIMITS__TOKNES", "1", "names nothing: 'toknes' is no key of limits in"),
        ("SWARM_LIMITS__TOKNES", "1", "did you mean 'tokens'?"),
        ("SWARM_AGENTS__NOBODY__MODEL", "x", "'nobody' is no key of agents in"),
        ("SWARM_LIMTS__TOKENS", "1", "did you mean 'limits'?"),
        ("SWARM_POLICIES__2__TRIES", "1", "the keys are: 0, 1"),
        ("SWARM_POLICIES__X__TRIES", "1", "the keys are: 0, 1"),
        ("SWARM_LIMITS__TOKENS", "many", "does not fit limits.tokens"),
        ("SWARM_LIMITS__TOKENS", "", "does not fit limits.tokens"),
        ("SWARM_LIMITS__TOKENS", "1.5", "does not fit limits.tokens"),
        ("SWARM_AGENT__X", "1", "'x' is no key of agent in"),
        ("SWARM___", "1", "'' is no key of"),
        ("SWARM_LIMITS__TOKENS", "-1", "must be greater than or equal to 0"),
    ],
)
def test_a_variable_that_does_not_fit(problems: Problems, variable: str, text: str, told: str) -> None:
    """D76: it is named, as the place of the mistake."""
    (found,) = problems(TEXT, environ={variable: text})
    assert found.startswith(f"{variable}: ")
    assert told in found


def test_a_value_that_is_no_table_takes_none(problems: Problems) -> None:
    (found,) = problems("limits = 3\n[agents.a]\n", environ={"SWARM_LIMITS__TOKENS": "1"})
    assert found.startswith("SWARM_LIMITS__TOKENS: cannot be put into limits, which is no table in ")
