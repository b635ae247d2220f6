"""From `module:agent` on a command line to the Agent, and from one agent to those it can reach."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from ..offers import table_of
from ..types import Agent
from .failure import Failure

if TYPE_CHECKING:
    from ..ext.config import Configuration

_CONFIGURATIONS = (".toml", ".yaml", ".yml")  # as ext.config.document has them, which is loaded only where a target is one
_OURS = Path(__file__).parent.parent
_HOW = "give module:agent, or path/to/file.py:agent"


def load_target(target: str) -> tuple[Agent, list[Agent]]:
    """The agent that a command is for, and every agent of its module. Of a configuration this is not all; see `setup.load_setup`.

    The current directory is importable. The name may be left out where the module holds exactly one agent.

    Args:
        target: `module:agent` or `path/to/file.py:agent`.

    Raises:
        Failure: no such module, an error inside it, no such agent; says which, and what there is instead.
    """
    found, place, agent = find(target)
    if not isinstance(agent, Agent):
        raise Failure(f"{place} is of type {type(agent).__name__}, not an Agent. Agents in it: {', '.join(found) or 'none'}", 2)
    return agent, list(found.values())


def find(target: str, allow: Sequence[str] | None = None) -> tuple[dict[str, Agent], str, Any]:
    """What a target names, whatever it is: every agent of its module by name, the target in full, and the value.

    Args:
        target: `module:name`, `path/to/file.py:name`, or a configuration: `shop.toml` or `shop.toml:name`.
        allow: the modules whose functions a configuration may use.

    Raises:
        Failure: no such module, an error inside it, no such name; says which, and what there is instead.
    """
    configured = load_configured(target, allow)
    if configured is not None:
        config, agent = configured
        return config.agents, target, agent
    place, name = _split(target)
    module = module_of(target)
    found = agents_in(module)
    listed = ", ".join(found) or "none"
    if not name:
        if len(set(found.values())) != 1:
            raise Failure(f"{target!r} does not say which agent; {_HOW}. Agents in it: {listed}", 2)
        name = next(iter(found))
    if not hasattr(module, name):
        raise Failure(f"{place!r} has no {name!r}. Agents in it: {listed}", 2)
    return found, f"{place}:{name}", getattr(module, name)


def module_of(target: str) -> ModuleType:
    """The module of a target, imported once however often it is asked for.

    Args:
        target: `module:name` or `path/to/file.py:name`.

    Raises:
        Failure: no such module, or an error inside it.
    """
    place, _ = _split(target)
    return load_file(Path(place)) if place.endswith(".py") else load_module(place)


def _split(target: str) -> tuple[str, str]:
    place, colon, name = target.rpartition(":")
    if not colon or target.endswith(".py"):
        place, name = target, ""
    if not place.endswith(".py") and (not place or place.startswith(".")):
        raise Failure(f"{target!r} names no module; {_HOW}", 2)
    return place, name


def is_configuration(target: str) -> bool:
    """Whether a target names a configuration: `shop.toml` or `shop.toml:agent`."""
    return target.endswith(_CONFIGURATIONS) or target.rpartition(":")[0].endswith(_CONFIGURATIONS)


def load_configured(target: str, allow: Sequence[str] | None = None) -> tuple[Configuration, Agent] | None:
    """The configuration that a target names, and the agent of it; None if the target is something else.

    The current directory is importable. SWARM_ALLOW may name modules too, with spaces between them.

    Args:
        target: `shop.toml` or `shop.toml:agent`, with the agent's key; or `.yaml`, `.yml`.
        allow: the modules whose functions it may use.

    Raises:
        Failure: there is no such file, or no such agent in it.
        ConfigFileError: there is something wrong in it.
    """
    if not is_configuration(target):
        return None
    path, name = (target, "") if target.endswith(_CONFIGURATIONS) else target.rsplit(":", 1)
    if not Path(path).is_file():
        raise Failure(f"there is no file {path!r}", 2)
    from ..ext.config import load_config

    _importable(Path.cwd())
    config = load_config(path, modules=[*(allow or ()), *os.environ.get("SWARM_ALLOW", "").split()])
    if name and name not in config.agents:
        raise Failure(f"{path!r} has no {name!r}. Agents in it: {', '.join(config.agents)}", 2)
    return config, config.agents[name] if name else config.agent


def load_module(name: str) -> ModuleType:
    """Import a module by its dotted name, from the current directory first.

    Raises:
        Failure: there is none, or it failed; the two are told apart.
    """
    _importable(Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and f"{name}.".startswith(f"{error.name}."):
            raise Failure(
                f"there is no module {error.name!r}, neither in {Path.cwd()} nor installed; {_HOW}, and run this where it can be imported",
                2,
            ) from None
        raise _broken(name, error) from error
    except (Exception, SystemExit) as error:
        raise _broken(name, error) from error


def load_file(path: Path) -> ModuleType:
    """Import a Python file: as a module of its package if it lies in one, else by itself, with its own directory importable.

    Raises:
        Failure: there is no such file, or it failed.
    """
    if not path.is_file():
        raise Failure(f"there is no file {str(path)!r}; {_HOW}", 2)
    path = path.resolve()
    root, names = path.parent, [path.stem]
    while (root / "__init__.py").is_file():
        root, names = root.parent, [root.name, *names]
    _importable(root)
    if len(names) > 1:
        return load_module(".".join(names))
    name = path.stem
    if (loaded := sys.modules.get(name)) is not None:
        if getattr(loaded, "__file__", None) == str(path):
            return loaded
        name = f"{path.stem}_of_this_command"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # a .py file has a loader
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise _broken(path.name, error) from error
    return module


def _importable(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _broken(name: str, error: Exception | SystemExit) -> Failure:
    """Where: the innermost line of the person's own code, not of this package or an installed one."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_foreign(frame.filename)]
    where = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames and not isinstance(error, SyntaxError) else ""
    hint = '; put what should not run on import under `if __name__ == "__main__":`' if isinstance(error, SystemExit | EOFError) else ""
    return Failure(f"{name!r} cannot be imported: {type(error).__name__}: {error}{where}{hint}")


def _is_foreign(file: str) -> bool:
    return file.startswith("<frozen") or "site-packages" in file or Path(file).is_relative_to(_OURS) or "importlib" in Path(file).parts


def agents_in(module: ModuleType) -> dict[str, Agent]:
    """The agents that a module holds under its own names."""
    return {name: value for name, value in vars(module).items() if isinstance(value, Agent)}


def reachable(agents: Iterable[Agent]) -> list[Agent]:
    """These agents and every agent that a handoff or a function of theirs leads to, as far as that can be read without calling anything:
    `handoffs=`, and the globals and closures that functions refer to."""
    found: dict[Agent, None] = {}
    waiting = list(agents)
    while waiting:
        agent = waiting.pop(0)
        if agent in found:
            continue
        found[agent] = None
        for tool in table_of(agent).tools.values():
            waiting += [tool.handoff.agent] if tool.handoff is not None else _mentioned(tool.fn)
    return list(found)


def _mentioned(function: Any) -> list[Agent]:
    while isinstance(function, functools.partial):
        function = cast("functools.partial[Any]", function).func
    names: dict[str, Any] = {}
    with suppress(TypeError, ValueError):  # no Python function; a variable that is not set yet
        seen = inspect.getclosurevars(inspect.unwrap(function))
        names = {**seen.globals, **seen.nonlocals}
    return [value for value in names.values() if isinstance(value, Agent)]
