"""What a person can type in a conversation besides talking: `/context`, `/save FILE`, ..."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from ..attachments import attachment
from ..errors import SwarmError
from ..offers import table_of
from ..parts import placeholder
from .conversation import Conversation
from .display import Display
from .failure import Failure


class Slash:
    """The slash commands of one conversation.

    Args:
        conversation: what they look at and change.
        display: where they answer.
    """

    def __init__(self, conversation: Conversation, display: Display) -> None:
        self._conversation = conversation
        self._display = display
        self._commands: dict[str, tuple[str, str, Callable[[str], None]]] = {
            "/context": ("", "show the context variables", self._context),
            "/agent": ("", "show the active agent and its tools", self._agent),
            "/attach": ("FILE", "send a file with what is said next", self._attach),
            "/reset": ("", "begin anew, with the first agent", self._reset),
            "/save": ("FILE", "write the conversation to a file", self._save),
            "/load": ("FILE", "go on with a conversation from a file", self._load),
            "/help": ("", "show this list", self._help),
            "/quit": ("", "leave; so does Ctrl-D", lambda _: None),
        }

    def do(self, line: str) -> bool:
        """Do what a line that begins with "/" says. What goes wrong is shown, and the conversation goes on.

        Returns:
            whether the conversation goes on.
        """
        name, _, argument = line.strip().partition(" ")
        if name not in self._commands:
            self._display.error(f"there is no command {name}")
            self._help()
            return True
        wanted, _, action = self._commands[name]
        argument = argument.strip()
        try:
            if bool(wanted) != bool(argument):
                raise Failure(f"type {name} {wanted}".rstrip())
            action(argument)
        except OSError as error:
            self._display.error(f"{name}: {error.strerror}: {error.filename}")
        except (Failure, SwarmError, ValueError) as error:
            self._display.error(f"{name}: {error}")
        return name != "/quit"

    def _help(self, _: str = "") -> None:
        for name, (wanted, about, _action) in self._commands.items():
            self._display.note(f"  {f'{name} {wanted}':<12} {about}")

    def _context(self, _: str) -> None:
        shown = to_jsonable_python(self._conversation.context, fallback=repr)
        self._display.note(json.dumps(shown, indent=2, ensure_ascii=False))

    def _agent(self, _: str) -> None:
        agent = self._conversation.agent
        self._display.note(agent.name)
        for tool in table_of(agent).tools.values():
            function: dict[str, Any] = tool.wire["function"]
            parameters = ", ".join(function["parameters"].get("properties", {}))
            first_line = str(function.get("description", "")).partition("\n")[0]
            self._display.note(f"  {tool.name}({parameters}) {first_line}".rstrip())

    def _attach(self, file: str) -> None:
        path = Path(file).expanduser()
        part = attachment(path)
        self._conversation.attached.append(part)
        self._display.note(f"attached {path.name}: {'its text' if part['type'] == 'text' else placeholder(part)}")

    def _reset(self, _: str) -> None:
        self._conversation.reset()
        self._display.note(f"begun anew with {self._conversation.agent.name}")

    def _save(self, file: str) -> None:
        saved = self._conversation.saved()
        for name, value in saved["context_variables"].items():
            try:
                same = json.loads(json.dumps(value)) == value
            except (TypeError, ValueError, RecursionError) as error:
                raise Failure(f"nothing saved, since JSON cannot hold the context variable {name!r}: {error}") from None
            if not same:
                raise Failure(f"nothing saved, since JSON would not give the context variable {name!r} back as it is: {value!r}")
        text = json.dumps(saved, indent=2, ensure_ascii=False)
        Path(file).expanduser().write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
        self._display.note(f"saved to {file}: {self._told()}")

    def _load(self, file: str) -> None:
        try:
            data = json.loads(Path(file).expanduser().read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise Failure(f"{file} is not JSON: {error}") from None
        try:
            self._conversation.load(data)
        except (Failure, SwarmError) as error:
            raise Failure(f"{file}: {error}") from None
        self._display.note(f"loaded {file}: {self._told()}")

    def _told(self) -> str:
        conversation = self._conversation
        return f"{len(conversation.messages)} messages, {conversation.agent.name} is active"
