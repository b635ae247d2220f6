"""Asks the person at the terminal whether a call may run: yes, no, or with other arguments."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from ..errors import ToolArgumentsError
from ..offers import table_of
from ..types import Agent, Approve, Pending, Refuse
from .visible import call_text, json_line, visible

NOBODY = "nobody was there to approve it"


def ask_person(call: Pending, agent: Agent, say: Callable[[str], Any] = print, is_there: bool | None = None) -> bool | Approve | Refuse:
    """What the person at the terminal says about a call: y runs it, e changes its arguments first, all else does not run it.

    Args:
        call: the call that waits.
        agent: the agent that made it; its function says which arguments fit.
        say: prints a line.
        is_there: whether a person is there to be asked; by default if standard input is a terminal. If not, the call is refused.
    """
    wanted = call_text(call.name, call.arguments)
    if not (sys.stdin.isatty() if is_there is None else is_there):
        say(f"  ? {wanted} needs approval: refused, since {NOBODY}")
        return Refuse(NOBODY)
    try:
        while True:
            answer = input(f"  ? {wanted} needs approval. Run it? [y/N/edit] ").strip().lower()
            if answer not in ("e", "edit"):
                return answer in ("y", "yes")
            if (changed := _edited(call, agent, say)) is not None:
                return changed
    except EOFError:
        say("")
        return False
    except BaseException:  # Ctrl-C, however it is raised: what comes next begins a line
        say("")
        raise


def _edited(call: Pending, agent: Agent, say: Callable[[str], Any]) -> Approve | None:
    """Other arguments that fit, or None if the person gave none."""
    tool, line = table_of(agent).tools[call.name], json_line(call.arguments)
    while True:
        with _written(line):
            line = input("  arguments as JSON, empty to go back: ").strip()
        if not line:
            return None
        try:
            tool.arguments(line)
            return Approve(json.loads(line))
        except ToolArgumentsError as error:
            say(f"  ! {visible(str(error))}")


@contextmanager
def _written(text: str) -> Generator[None]:
    """Let the next line begin with a text that can be changed, where the system has readline; elsewhere it is shown above the line."""
    try:
        readline: Any = importlib.import_module("readline")
    except ImportError:
        print(f"  {visible(text)}")
        yield
        return
    readline.set_startup_hook(lambda: readline.insert_text(text))
    try:
        yield
    finally:
        readline.set_startup_hook(None)
