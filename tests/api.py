"""The public signatures, frozen in api.json, so that no change of them goes unseen in a review.

`python -m tests.api` (or `make api`) rewrites the file; test_house.py compares it with the code.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

MODULES = (
    "swarm",
    "swarm.attachments",
    "swarm.causes",
    "swarm.errors",
    "swarm.evals",
    "swarm.events",
    "swarm.ext.a2a",
    "swarm.ext.config",
    "swarm.ext.langchain",
    "swarm.ext.mcp",
    "swarm.ext.mcp.agents",
    "swarm.ext.openai_agents",
    "swarm.ext.pydantic_ai",
    "swarm.ext.sessions",
    "swarm.ext.training",
    "swarm.policies",
    "swarm.policies.checks",
    "swarm.prices",
    "swarm.projections",
    "swarm.testing",
    "swarm.testing.conformance",
)
FILE = Path(__file__).with_name("api.json")


def public_api() -> dict[str, str]:
    """Every public name of MODULES and every public member of the classes among them, with its signature."""
    lines: dict[str, str] = {}
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in _names(module):
            value: Any = getattr(module, name)
            lines[f"{module_name}.{name}"] = _signature(value)
            if inspect.isclass(value):
                lines |= {f"{module_name}.{name}.{member}": _signature(found) for member, found in _members(value).items()}
    return dict(sorted(lines.items()))


def _names(module: ModuleType) -> list[str]:
    """`__all__` where there is one, else the public names that the module itself defines."""
    listed: list[str] | None = getattr(module, "__all__", None)
    if listed is not None:
        return listed
    return [
        name for name, value in vars(module).items() if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


def _members(cls: type) -> dict[str, Any]:
    """Public methods and properties, inherited ones included as far as they are ours."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("swarm"):
            found |= {name: value for name, value in vars(base).items() if not name.startswith("_") and _is_member(value)}
    return found


def _is_member(value: Any) -> bool:
    """A property or a function of ours; pydantic puts functions of its own into our classes."""
    function = getattr(value, "__func__", value)
    return isinstance(value, property) or (inspect.isfunction(function) and function.__module__.startswith("swarm"))


def _signature(value: Any) -> str:
    value = getattr(value, "__func__", value)  # of a classmethod or staticmethod
    if not callable(value):
        return type(value).__name__
    try:
        return re.sub(r" at 0x[0-9a-f]+", "", str(inspect.signature(value, follow_wrapped=False)))
    except ValueError:  # an exception without a constructor of its own
        return "(*args)"


def main() -> None:
    lines = public_api()
    FILE.write_text(json.dumps(lines, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sys.stdout.write(f"{len(lines)} signatures written to {FILE.name}\n")


if __name__ == "__main__":
    main()
