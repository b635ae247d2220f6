"""How a command fails: one message on standard error that says what to do, and an exit code. No traceback, unless `--debug` asks for it."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager

import typer

from ..errors import ConfigError, SwarmError

_WAYS_OF_THE_COMMAND_LINE = "  - on the command line: --offline, or --base-url URL"


class Failure(Exception):
    """A command that cannot go on. The text is for the person who typed it.

    Args:
        text: what is wrong, and what to do.
        code: the exit code: 1 for what went wrong, 2 for a command that was typed wrongly.
    """

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(text)
        self.code = code


def describe(error: BaseException) -> str:
    """An error in words: its text alone where the text was written for people, else with its type in front."""
    text = str(error)
    if isinstance(error, ConfigError) and text.startswith("no model to talk to"):
        return f"{text}\n{_WAYS_OF_THE_COMMAND_LINE}"
    if isinstance(error, SwarmError | Failure):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


@contextmanager
def reporting(debug: bool = False) -> Generator[None]:
    """Turn what ends a command into a message and an exit code.

    Args:
        debug: whether to print the traceback too.

    Raises:
        typer.Exit: in place of a Failure, an error of the library, or one of the system, such as a full disk.
    """
    try:
        yield
    except BrokenPipeError:  # typer leaves quietly
        raise
    except (Failure, SwarmError, OSError) as error:
        if debug:
            traceback.print_exception(error)
        print(f"Error: {describe(error)}", file=sys.stderr)
        raise typer.Exit(error.code if isinstance(error, Failure) else 1) from None
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
