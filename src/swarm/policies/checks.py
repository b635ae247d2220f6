"""Ready-made checks for a Guardrail: length and JSON Schema here; regular expressions, links and judges in files of their own."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

from ..errors import ConfigError
from ..tokens import about
from .checking import Block
from .given import whole
from .judge import Judge
from .links import Hosts
from .patterns import Pattern

__all__ = ["Hosts", "JsonSchema", "Judge", "Length", "Pattern"]


class Length:
    """Blocks a text that is too long.

    Args:
        characters: how many there may be, or None.
        tokens: the same in tokens.
        count: counts the tokens of a text; by default an estimate.

    Raises:
        ValueError: neither, or less than 1.
        TypeError: one that is no whole number.
    """

    def __init__(self, characters: int | None = None, tokens: int | None = None, count: Callable[[str], int] = about) -> None:
        if characters is None and tokens is None:
            raise ValueError("Length needs characters=, tokens= or both")
        for name, amount in (("characters", characters), ("tokens", tokens)):
            if amount is not None:
                whole(f"Length({name}=...)", amount)
        self._characters = characters
        self._tokens = tokens
        self._count = count

    def __call__(self, text: str) -> Block | None:
        """A Block that says how long it is."""
        if self._characters is not None and len(text) > self._characters:
            return Block(reason=f"{len(text):,} characters, {self._characters:,} allowed")
        if self._tokens is not None and (tokens := self._count(text)) > self._tokens:
            return Block(reason=f"{tokens:,} tokens, {self._tokens:,} allowed")
        return None


class JsonSchema:
    """Blocks a text that is no JSON, or JSON that does not follow a schema.

    Args:
        schema: a JSON Schema, or a type that has one: a pydantic model, a dataclass, ...

    Raises:
        ConfigError: the extra is not installed.
        ValueError: the schema is none.
    """

    def __init__(self, schema: Any) -> None:
        try:
            import jsonschema_rs
        except ImportError as error:
            raise ConfigError("JsonSchema needs an extra: pip install 'openswarm[schema]'") from error
        if not isinstance(schema, dict):
            from pydantic import TypeAdapter

            schema = TypeAdapter(schema).json_schema()
        self._validator: Any = jsonschema_rs.validator_for(cast("Any", schema), pattern_options=jsonschema_rs.RegexOptions())

    def __call__(self, text: str) -> Block | None:
        """A Block that says what does not fit."""
        try:
            found = next(iter(self._validator.iter_errors(json.loads(text))), None)
        except (ValueError, RecursionError) as error:
            return Block(reason=f"no JSON: {error}")
        where = "/".join(map(str, found.instance_path)) if found is not None else ""
        return None if found is None else Block(reason=f"{where}: {found.message}" if where else found.message)
