"""Configurations in a folder of their own, which may use the functions of `shop`."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from swarm.ext.config import ConfigFileError, Configuration, load_config
from tests.ext.config import shop

MODULES = {"shop": shop}
Write = Callable[[str, str], Path]
Load = Callable[..., Configuration]
Problems = Callable[..., list[str]]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file into the folder."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    return write


@pytest.fixture
def load(write: Write) -> Load:
    """Loads a text as a configuration."""

    def load(text: str, name: str = "shop.toml", **options: Any) -> Configuration:
        return load_config(write(name, text), **{"modules": MODULES, "environ": {}, **options})

    return load


@pytest.fixture
def problems(load: Load) -> Problems:
    """All that is wrong with a text: `line: key: text`, without the name of the file."""

    def problems(text: str, name: str = "shop.toml", **options: Any) -> list[str]:
        with pytest.raises(ConfigFileError) as caught:
            load(text, name, **options)
        assert str(caught.value) == "\n".join(map(str, caught.value.problems))
        return [
            f"{found.line}: {found.key}: {found.text}" if found.line else f"{found.source}: {found.text}" for found in caught.value.problems
        ]

    return problems


def escaped(text: str) -> str:
    """JSON as YAML takes it: what is not printable is written as an escape."""
    return "".join(one if one.isprintable() or one == "\n" else f"\\U{ord(one):08x}" for one in text)
