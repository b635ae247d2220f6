"""The JSON Schema for editors: it is the one in docs/, takes what is right and refuses what is wrong."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import jsonschema_rs
import pytest

from swarm.ext.config import json_schema
from tests.examples.talk import ROOT
from tests.ext.config.test_loading import WHOLE
from tests.ext.config.test_policies import ALL

FILES = sorted((ROOT / "examples").rglob("*.toml"))


def test_the_schema_in_the_docs_is_the_one_of_the_code() -> None:
    """Written by `swarm config schema -o docs/configuration.schema.json`."""
    assert json.loads((ROOT / "docs" / "configuration.schema.json").read_text(encoding="utf-8")) == json_schema()


@pytest.mark.parametrize("text", [WHOLE, ALL, *(path.read_text(encoding="utf-8") for path in FILES)])
def test_it_takes_what_is_right(text: str) -> None:
    """D73"""
    assert FILES
    jsonschema_rs.validator_for(json_schema()).validate(tomllib.loads(text))


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"agents": {}},
        {"agents": {"a": {}}, "agnet": "a"},
        {"agents": {"a": {"functions": ["look_up"]}}},
        {"agents": {"a": {"handoffs": [{"when": "true"}]}}},
        {"agents": {"a": {}}, "limits": {"tokens": "1"}},
        {"agents": {"a": {}}, "policies": [{"type": "Retri"}]},
        {"agents": {"a": {}}, "clients": {"x": {"base_url": "http://x", "api_key_env": "sk-123"}}},
    ],
)
def test_it_refuses_what_is_wrong(wrong: dict[str, Any]) -> None:
    assert not jsonschema_rs.validator_for(json_schema()).is_valid(wrong)


def test_every_form_is_described() -> None:
    schema = json_schema()
    assert [name for name, form in schema["$defs"].items() if not form.get("description") and name != "JsonValue"] == []
