"""The examples that are shipped: in a checkout under `examples/`, in an installed package under `swarm/_examples`.

Each is a folder with a `demo.py` that holds `agent` (who begins), `context_variables` (may be empty) and `about` (one line). It may also
hold `prepare(offline, note)`, called once before the talk: `offline` says whether the offline model answers, `note` tells the person.
`options` are further arguments of the Swarm, where policies or limits belong to it.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

from .failure import Failure, describe

_PACKAGE = Path(__file__).parent.parent


def folder() -> Path:
    """Where the examples are.

    Raises:
        Failure: they are not there.
    """
    installed, checkout = _PACKAGE / "_examples", _PACKAGE.parent.parent / "examples"
    if installed.is_dir():
        return installed
    if _PACKAGE.parent.name == "src" and checkout.is_dir():
        return checkout
    raise Failure(f"the examples are missing: neither {installed} nor {checkout} is there; install openswarm again")


def names() -> list[str]:
    """The names of the examples, in order."""
    return sorted(path.parent.name for path in folder().glob("*/demo.py"))


def load(name: str) -> ModuleType:
    """Import the `demo` module of an example.

    Raises:
        Failure: there is no such example; the text lists those that are there.
    """
    if name not in names():
        raise Failure(f"there is no example {name!r}; there are {', '.join(names()) or 'none'}", 2)
    place = folder()
    if place.parent == _PACKAGE:
        return importlib.import_module(f"swarm._examples.{name}.demo")
    if str(place.parent) not in sys.path:
        sys.path.insert(0, str(place.parent))
    return importlib.import_module(f"examples.{name}.demo")


def about(name: str) -> str:
    """What an example shows, in one line; what is wrong with it, if it cannot be imported."""
    try:
        return str(load(name).about)
    except Exception as error:
        return f"cannot be loaded: {describe(error)}"
