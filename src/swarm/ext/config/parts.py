"""What agents and policies of a configuration are made with: functions, files, clients, and a list of all that went wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ...errors import AgentError, ConfigError
from .document import Document, read_text
from .form import ConfigurationForm, Form, LimitsForm
from .functions import Functions
from .problems import ConfigFileError, KeyPath, Problem, nearest

Made = TypeVar("Made")


class Parts:
    """What one file is built with.

    Args:
        form: what the file says.
        document: the file, for the places of mistakes.
        folder: the folder of the file.
        functions: what its dotted paths may lead to.
        environ: where keys are looked up.
        folders: further folders whose files it may name.
        files: gets every file that is read.

    Attributes:
        form, document, functions: as given.
        problems: all that went wrong.
        missing: for the client of each key, the variable that should hold the API key and does not.
    """

    def __init__(
        self,
        form: ConfigurationForm,
        document: Document,
        folder: Path,
        functions: Functions,
        environ: Mapping[str, str],
        folders: Sequence[Path],
        files: list[Path],
    ) -> None:
        self.form = form
        self.document = document
        self.functions = functions
        self.problems: list[Problem] = []
        self.missing: dict[str, str] = {}
        self._folder = folder.resolve()
        self._folders = [self._folder, *(one.resolve() for one in folders)]
        self._environ = environ
        self._files = files
        self._clients: dict[str, Any] = {}

    def attempt(self, path: KeyPath, make: Callable[[], Made]) -> Made | None:
        """What `make` makes, or None and a problem.

        Args:
            path: the value that is to blame if it fails.
            make: makes it.
        """
        try:
            return make()
        except ConfigFileError as error:
            self.problems += error.problems
        except (AgentError, ConfigError, ValueError, TypeError) as error:
            self.problems.append(self.document.problem(path, " ".join(str(error).split())))
        return None

    def function(self, path: KeyPath, name: str | None) -> Any:
        """The function of a dotted path; None if there is none, or it is refused."""
        return None if name is None else self.attempt(path, lambda: self.functions.function(name))

    def file(self, name: str) -> Path:
        """A file that the configuration names.

        Raises:
            AgentError: it lies outside of the folders that it may name.
        """
        path = (self._folder / name).resolve()
        if not any(path.is_relative_to(folder) for folder in self._folders):
            raise AgentError(f"{name!r} lies outside of the folder of this file; move it there, or load_config(..., folders=[...])")
        return path

    def text(self, name: str) -> str:
        """What a file holds.

        Raises:
            AgentError: as for `file`, or it cannot be read.
        """
        path = self.file(name)
        self._files.append(path)
        try:
            return read_text(path)
        except ConfigFileError as error:
            raise AgentError("; ".join(f"{problem.source}: {problem.text}" for problem in error.problems)) from None

    def client(self, path: KeyPath, key: str | None) -> Any:
        """The client of a key, made once; None if none is named, or it cannot be made."""
        if key is None:
            return None
        if key not in self.form.clients:
            self.unknown(path, key, list(self.form.clients), "clients")
            return None
        if key not in self._clients:
            self._clients[key] = self.attempt(("clients", key), lambda: self._made_client(key))
        return self._clients[key]

    def _made_client(self, key: str) -> Any:
        from ...models.chat import ChatClient

        form = self.form.clients[key]
        secret = self._environ.get(form.api_key_env, "") if form.api_key_env is not None else ""
        if form.api_key_env is not None and not secret:
            self.missing[key] = form.api_key_env
        # An empty key is none: the client would otherwise take that of OPENAI_API_KEY, and send it to a server that it is not for.
        options = given(form, "base_url", "api_key_env")
        return ChatClient(form.base_url, secret, **options)

    def unknown(self, path: KeyPath, key: str, known: Sequence[str], kind: str) -> None:
        """Tell that something is named which is not there."""
        self.problems.append(self.document.problem(path, f"there is no {key!r}{nearest(key, known, kind)}"))

    def limits(self, path: KeyPath, form: LimitsForm | None) -> Any:
        """The limits that a form says; None if there is none."""
        from ...limits import Limits

        return None if form is None else self.attempt(path, lambda: Limits(**given(form)))


def given(form: Form, *without: str) -> dict[str, Any]:
    """What was written, by name, as the arguments of what the form stands for."""
    return {name: getattr(form, name) for name in form.model_fields_set if name not in without}
