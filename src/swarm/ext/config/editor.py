"""The form of a configuration as a JSON Schema, with which editors complete keys and underline mistakes while they are typed."""

from __future__ import annotations

from typing import Any

from .form import ConfigurationForm


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a configuration, for a file in TOML or YAML."""
    schema = ConfigurationForm.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "A configuration of openswarm"}
