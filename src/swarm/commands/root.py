"""`swarm` itself: what it is, and its version."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer


def _tell(wanted: bool) -> None:
    if not wanted:
        return
    try:
        number = version("openswarm")
    except PackageNotFoundError:  # run from a directory that was never installed
        number = "of an unknown version"
    print(f"openswarm {number}")
    raise typer.Exit


def root(
    _version: Annotated[bool, typer.Option("--version", callback=_tell, is_eager=True, help="Show the version and leave.")] = False,
) -> None:
    """Agents and handoffs over Chat Completions.

    \b
    Examples:
      swarm demo airline
      swarm chat shop:triage
      swarm run shop:triage "I want my money back" --json
    """
