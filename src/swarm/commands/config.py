"""`swarm config`: a configuration checked, and its form for editors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from .failure import Failure, reporting
from .options import Allow
from .starts import Debug
from .target import load_configured

config = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
Files = Annotated[list[str], typer.Argument(metavar="FILE...", help="Configurations in TOML or YAML.")]
Json = Annotated[bool, typer.Option("--json", help="Print the mistakes as one JSON object.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to write it.")]


@config.callback()
def about() -> None:
    """Agents that stand in a file: check it, or get its form for an editor. docs/configuration.md explains what it may hold.

    \b
    Examples:
      swarm config check shop.toml --allow shop.tools
      swarm config schema -o swarm.schema.json
    """


@config.command()
def check(files: Files, allow: Allow = None, as_json: Json = False, debug: Debug = False) -> None:
    """Say all that is wrong with configurations, each with its file and line. Modules that are allowed are imported; none of
    their functions is called, no key is needed, no model is asked.

    \b
    Examples:
      swarm config check shop.toml --allow shop.tools
      swarm config check shop.toml night.yaml --allow shop.tools --allow shop.checks
      swarm config check shop.toml --json

    The exit code is 0 if nothing was found, 1 if something was, 2 if there is no such file.
    """
    from ..ext.config import ConfigFileError, Problem

    with reporting(debug):
        problems: list[Problem] = []
        lines: list[str] = []
        for file in files:
            try:
                lines.append(_checked(file, allow or ()))
            except ConfigFileError as error:
                problems += error.problems
        found = [problem._asdict() for problem in problems]
        text = json.dumps({"problems": found}, ensure_ascii=False, indent=1) if as_json else "\n".join([*map(str, problems), *lines])
        print(text)
        if problems:
            raise typer.Exit(1)


@config.command()
def schema(output: Output = None, debug: Debug = False) -> None:
    """Print the JSON Schema of a configuration, with which editors complete keys and underline mistakes.

    \b
    Examples:
      swarm config schema -o swarm.schema.json

    For Taplo and other editors of TOML, begin the file with the line `#:schema ./swarm.schema.json`; for YAML, with
    `# yaml-language-server: $schema=./swarm.schema.json`.
    """
    from ..ext.config import json_schema

    with reporting(debug):
        text = json.dumps(json_schema(), ensure_ascii=False, indent=1)
        if output is None:
            print(text)
        else:
            output.write_text(f"{text}\n", encoding="utf-8")


def _checked(file: str, allow: Sequence[str]) -> str:
    configured = load_configured(file, allow)
    if configured is None:
        raise Failure(f"{file!r} is no configuration: its name must end in .toml, .yaml or .yml", 2)
    made, agent = configured
    return f"{file}: nothing wrong. {agent.name} begins; agents: {len(made.agents)}, policies: {len(made.policies)}"
