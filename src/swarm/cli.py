"""The command `swarm`. `commands/` holds what a command does, one a file; this registers them, or says what to install first."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer

_EXTRA = ("typer", "rich", "click", "shellingham")


def main() -> None:
    """Run the command line.

    Raises:
        SystemExit: always; with a message that names the extra if typer or rich are not installed.
    """
    try:
        app = build_app()
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRA:
            raise
        sys.exit(f'The command line needs {missing}, which is not installed: pip install "openswarm[cli]"')
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal or pipe that cannot say every character should not end a conversation
            stream.reconfigure(errors="replace")
    app(prog_name="swarm")


def build_app() -> typer.Typer:
    """The application with all its commands.

    Raises:
        ModuleNotFoundError: the extra `cli` is not installed.
    """
    import typer

    from .commands.a2a import a2a
    from .commands.chat import chat
    from .commands.check import check
    from .commands.config import config
    from .commands.demo import demo
    from .commands.evaluate import evaluate
    from .commands.export import export_data
    from .commands.graph import graph
    from .commands.mcp import mcp
    from .commands.root import root
    from .commands.run import run
    from .commands.sessions import sessions_app

    app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.callback()(root)
    for command in (run, chat, demo, check, graph):
        app.command()(command)
    app.command("eval")(evaluate)
    app.command("export")(export_data)
    app.command()(mcp)
    app.command()(a2a)
    app.add_typer(config, name="config")
    app.add_typer(sessions_app(), name="sessions")
    return app


if __name__ == "__main__":
    main()
