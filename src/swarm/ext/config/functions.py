"""From a dotted path in a configuration to a function: only of modules that both the file and whoever reads it name.

What is trusted: the modules on both lists (importing one runs its code, and that of the packages it lies in), and of those only public
names that are their own. A name that a module merely imported from elsewhere, such as `system` of `os`, is none of its own.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Collection, Mapping
from types import ModuleType
from typing import Any, TypeAlias, cast

from ...errors import AgentError
from .problems import nearest

Modules: TypeAlias = Mapping[str, ModuleType] | Collection[str]
"""The names of modules that may be imported; or modules that are there already, by the names that files give them."""


class Functions:
    """What the paths of one file may lead to.

    Args:
        listed: the modules that the file names.
        allowed: the modules that the caller allows; see Modules.
    """

    def __init__(self, listed: Collection[str], allowed: Modules) -> None:
        self._listed = listed
        self._allowed: dict[str, ModuleType | None] = dict.fromkeys(allowed)
        if isinstance(allowed, Mapping):
            self._allowed |= cast("Mapping[str, ModuleType]", allowed)

    def refused(self, module: str) -> str | None:
        """Why a module on the file's list is not imported, or None."""
        if any(not part.isidentifier() or part.startswith("_") for part in module.split(".")):
            return f"{module!r} is no public module; give its dotted name"
        if module not in self._allowed:
            return (
                f"{module!r} is not allowed to be imported for a configuration; if you trust it, "
                f"load_config(..., modules=[{module!r}]), or --allow {module} or SWARM_ALLOW={module} on the command line"
            )
        return None

    def function(self, path: str) -> Any:
        """A function, or a Tool.

        Raises:
            AgentError: it is not allowed, not there, or none; says what to do.
        """
        found = self._found(path)
        if isinstance(found, type) or not callable(found):
            kind = "a class" if isinstance(found, type) else f"of type {type(found).__name__}"
            raise AgentError(f"{path!r} is {kind}, not a function")
        return found

    def kind(self, path: str) -> Any:
        """A type, as for `Agent(output_type=...)`.

        Raises:
            AgentError: it is not allowed, not there, or none; says what to do.
        """
        found = self._found(path)
        if inspect.isroutine(found) or isinstance(found, ModuleType):
            raise AgentError(f"{path!r} is no type")
        return found

    def _found(self, path: str) -> Any:
        module, _, name = path.rpartition(".")
        if not module:
            raise AgentError(f"{path!r} must be a dotted path: module.name")
        if name.startswith("_"):
            raise AgentError(f"{path!r} is not public: names that begin with an underscore are never taken")
        if module not in self._listed:
            listed = ", ".join(self._listed) or "none"
            raise AgentError(f"{module!r} is not in functions_from, whose modules are: {listed}; a path is module.function")
        if (why := self.refused(module)) is not None:
            raise AgentError(why)
        loaded = self._allowed[module] or _imported(module)
        own = _own(loaded)
        if name not in own:
            if hasattr(loaded, name):
                raise AgentError(f"{path!r} is not defined there; name the module that it comes from, or list it in its __all__")
            raise AgentError(f"{module} has no {name!r}{nearest(name, own, 'names')}")
        return getattr(loaded, name)


def _imported(module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and f"{module}.".startswith(f"{error.name}."):
            raise AgentError(f"there is no module {error.name!r}; is it installed, or in the folder where this runs?") from None
        raise AgentError(f"{module} cannot be imported: {error}") from error
    except Exception as error:
        raise AgentError(f"{module} cannot be imported: {type(error).__name__}: {error}") from error


def _own(module: ModuleType) -> list[str]:
    """The public names that are the module's own: those in its `__all__`, else what says that it was made there."""
    listed: Any = getattr(module, "__all__", None)
    if listed is not None:
        return [name for name in listed if not name.startswith("_")]
    return [name for name, value in vars(module).items() if not name.startswith("_") and _home(value) == module.__name__]


def _home(value: Any) -> str | None:
    """The name of the module in which something was made."""
    function = getattr(value, "fn", value)  # of a Tool
    return getattr(function, "__module__", None)
