"""A configuration: read, checked, and made into agents and what stands around them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...core import AsyncSwarm, Swarm
from ...errors import ConfigError
from ...limits import Limits
from ...models.profiles import checked as known_profile
from ...prices import Price
from ...types import Agent
from .agents import make_agents
from .checking import checked
from .document import read_document
from .form import ConfigurationForm
from .functions import Functions, Modules
from .overrides import put_overrides
from .parts import Parts
from .policies import make_policies
from .problems import ConfigFileError


class _Made(NamedTuple):
    """What was made of a file. What `needs` names are, for the key of a client, variables that should hold an API key and do not."""

    files: list[Path]
    agents: dict[str, Agent]
    policies: list[Any]
    limits: Limits | None
    client: Any
    client_needs: dict[str, str]
    rest_needs: dict[str, str]


class Configuration:
    """What a file says, ready to run. It is not changed by runs, nor by a change of the file.

    Attributes:
        path: the file.
        files: the file, and all others that were read for it.
        agents: by their keys.
        agent: the one that begins.
        policies: in order.
        limits: for each run, or None.
        prices: by model.
        context_variables: what a conversation on the command line begins with.
    """

    def __init__(self, path: Path, form: ConfigurationForm, made: _Made) -> None:
        self.path = path
        self.files = tuple(made.files)
        self.agents = made.agents
        self.agent = made.agents[form.agent or next(iter(made.agents))]
        self.policies = made.policies
        self.limits = made.limits
        self.prices = {model: Price(price.input, price.output, price.cached) for model, price in form.prices.items()}
        self.context_variables: dict[str, Any] = form.context_variables
        self._client = made.client
        self._client_needs, self._rest_needs = made.client_needs, made.rest_needs
        self._options = {"profile": form.profile, "parallel_tools": form.parallel_tools, "tool_errors": form.tool_errors}

    @property
    def client(self) -> Any:
        """The client for all agents that have none of their own; None is the one that the environment names.

        Raises:
            ConfigError: the environment variable with its key is not set.
        """
        self._check_keys(self._client_needs)
        return self._client

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of `Swarm(client, **options)`.

        Raises:
            ConfigError: the environment variable with the key of an agent's or a policy's client is not set.
        """
        self._check_keys(self._rest_needs)
        return {**self._options, "policies": self.policies, "limits": self.limits, "prices": self.prices}

    def swarm(self, client: Any = None) -> Swarm:
        """A Swarm with the client, policies and limits of the file.

        Args:
            client: in the place of the file's.

        Raises:
            ConfigError: an environment variable with a key is not set.
        """
        return Swarm(self.client if client is None else client, **self.options)

    def async_swarm(self, client: Any = None) -> AsyncSwarm:
        """The same as an AsyncSwarm."""
        return AsyncSwarm(self.client if client is None else client, **self.options)

    def _check_keys(self, needs: Mapping[str, str]) -> None:
        if needs:
            names = ", ".join(f"{variable} (for clients.{key})" for key, variable in needs.items())
            raise ConfigError(f"{self.path} needs keys from the environment: set {names}")

    def __repr__(self) -> str:
        return f"Configuration({str(self.path)!r})"


def load_config(
    path: str | os.PathLike[str],
    *,
    modules: Modules = (),
    folders: Sequence[str | os.PathLike[str]] = (),
    environ: Mapping[str, str] | None = None,
) -> Configuration:
    """Read a configuration from a file in TOML or YAML.

    The file holds data. The only code it can name are public functions of modules that are in its `functions_from` and in `modules` too
    (they are imported, so they are trusted), and conditions in CEL.

    Args:
        path: a `.toml`, `.yaml` or `.yml` file.
        modules: the dotted names of modules whose functions it may use; or a dict from such a name to the module.
        folders: further folders that files it names may lie in, beside its own.
        environ: what stands in the place of values (`SWARM_LIMITS__MODEL_CALLS=5`) and holds API keys; by default the environment.

    Raises:
        ConfigFileError: there is something wrong in it; says all that is, with lines.
        ConfigError: an extra that it needs is not installed.
        TypeError: `modules` or `folders` is a single text.
    """
    for name, value in (("modules", modules), ("folders", folders)):
        if isinstance(value, str):
            raise TypeError(f"load_config({name}={value!r}) must be a list: {name}=[{value!r}]")
    return read(Path(path), modules, [Path(folder) for folder in folders], os.environ if environ is None else environ, [])


def read(path: Path, modules: Modules, folders: Sequence[Path], environ: Mapping[str, str], files: list[Path]) -> Configuration:
    """The same, with every file that is read added to `files`, whether or not it comes to an end."""
    files.append(path)
    document = read_document(path)
    put_overrides(document, environ)
    form = checked(document)
    functions = Functions(form.functions_from, modules)
    parts = Parts(form, document, path.parent, functions, environ, folders, files)
    for number, module in enumerate(form.functions_from):
        if (why := functions.refused(module)) is not None:
            parts.problems.append(document.problem(("functions_from", number), why))
    _check_start(parts, form)
    if parts.problems:
        raise ConfigFileError(parts.problems)
    made = _made(parts, files)
    if parts.problems:
        raise ConfigFileError(parts.problems)
    return Configuration(path, form, made)


def _made(parts: Parts, files: list[Path]) -> _Made:
    form = parts.form
    embed = parts.function(("embed",), form.embed)
    agents = make_agents(parts, embed)
    policies = make_policies(parts, agents, embed)
    rest_needs = dict(parts.missing)
    client = parts.client(("client",), form.client)
    client_needs = {key: parts.missing[key] for key in (form.client,) if key in parts.missing}
    for key in form.clients:  # the others, for what is wrong with them
        parts.client(("clients", key), key)
    parts.attempt(("profile",), lambda: known_profile(form.profile))
    return _Made(files, agents, policies, parts.limits(("limits",), form.limits), client, client_needs, rest_needs)


def _check_start(parts: Parts, form: ConfigurationForm) -> None:
    if form.agent is not None and form.agent not in form.agents:
        parts.unknown(("agent",), form.agent, list(form.agents), "agents")
    if form.agent is None and len(form.agents) > 1:
        text = f"is missing: there are several agents, so say which begins: {', '.join(form.agents)}"
        parts.problems.append(parts.document.problem(("agent",), text))
