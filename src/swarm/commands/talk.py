"""Holding a conversation: where the person's lines come from, and what is done with each."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress

import typer

from ..debug import trace
from ..events import Event
from ..repl.asking import ask_person
from ..types import Agent, Approve, Pending, Refuse
from .conversation import Conversation
from .display import Display, Json, Lines
from .failure import Failure, describe
from .slash import Slash

_STOPPED = 130


@contextmanager
def displaying(as_json: bool) -> Generator[Display]:
    """The display for a command. With JSON, what tools and traces print to standard output goes to standard error instead.

    Args:
        as_json: whether events are to be printed as JSON.
    """
    if not as_json:
        yield Lines()
        return
    display = Json(sys.stdout)
    with redirect_stdout(sys.stderr):
        yield display


class Talk:
    """One conversation, shown on one display.

    Args:
        conversation: who talks.
        display: where it is shown.
        debug: whether a trace of every run is shown, and the traceback of an error.
    """

    def __init__(self, conversation: Conversation, display: Display, debug: bool = False) -> None:
        self._conversation = conversation
        self._display = display
        self._debug = debug
        self._slash = Slash(conversation, display)
        self._person = False
        self._failed = False

    def hold(self, say: Sequence[str] = ()) -> None:
        """Talk until there is nothing more to say.

        Args:
            say: what is said; if nothing, lines are read from standard input, typed by a person if it is a terminal.

        Raises:
            typer.Exit: where no person holds the conversation: with code 1 if a reply failed, 130 after Ctrl-C.
        """
        self._person = not say and sys.stdin.isatty()
        if self._person and self._conversation.waits:
            self._say(None)
        for line in self._typed() if self._person else self._given(say or _piped()):
            if line.startswith("/"):
                if not self._slash.do(line):
                    break
            elif line.strip() and self._say(line) == _STOPPED and not self._person:
                raise typer.Exit(130)
        if self._failed and not self._person:
            raise typer.Exit(1)

    def once(self, text: str) -> None:
        """Say one thing and leave. A person who sits at the terminal is asked for approvals.

        Raises:
            typer.Exit: with code 1 if it failed, 130 after Ctrl-C.
        """
        self._person = sys.stdin.isatty()
        if code := self._say(text):
            raise typer.Exit(code)

    def _say(self, text: str | None) -> int:
        """Say something, or go on with what waits, and show what comes of it.

        Returns:
            an exit code: 0 if that went well, 1 if it failed, 130 if it was stopped.
        """
        try:
            response = self._conversation.reply(text, self._show, self._decide)
        except BrokenPipeError:  # whoever read the output is gone
            raise
        except Exception as error:
            if (partial := getattr(error, "response", None)) is not None:
                self._display.ended(partial)
            if self._debug:
                traceback.print_exception(error)
            self._display.error(describe(error))
            self._failed = True
            return 1
        self._display.ended(response)
        return _STOPPED if response is None or response.stop_reason == "cancelled" else 0

    def _show(self, event: Event) -> None:
        self._display.event(event)
        if self._debug:  # here and not by the run, so that it comes between the lines
            trace(event, None)

    def _typed(self) -> Iterator[str]:
        with suppress(ImportError):  # not on every system
            importlib.import_module("readline")  # gives input() a history and editing keys
        self._display.note(f"{self._conversation.agent.name} is listening. /help lists the commands, Ctrl-D leaves.")
        while True:
            try:
                yield input("User: ")
            except (EOFError, KeyboardInterrupt):
                self._display.note("")
                return

    def _given(self, texts: Iterator[str] | Sequence[str]) -> Iterator[str]:
        for text in texts:
            if text.strip():
                self._display.user(text)
            yield text

    def _decide(self, call: Pending, agent: Agent) -> bool | Approve | Refuse:
        return ask_person(call, agent, self._display.note, self._person)


def _piped() -> Iterator[str]:
    while line := sys.stdin.readline():
        yield line.rstrip("\r\n")


def only_text(text: str | None) -> str:
    """The text of a single message: as given, or all of standard input.

    Raises:
        Failure: there is neither.
    """
    if text is None and not sys.stdin.isatty():
        text = sys.stdin.read()
    if text is None or not text.strip():
        raise Failure('there is nothing to say: swarm run module:agent "text", or pipe the text in', 2)
    return text.strip()
