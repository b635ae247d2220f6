"""`swarm check`: mistakes in a swarm that show without running it."""

from __future__ import annotations

import json
from collections import Counter
from typing import Annotated

import typer

from .. import inspection
from ..inspection.drawing import plain
from .failure import Failure, reporting
from .options import Allow
from .starts import Debug, Targets, load_starts

Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="RULE", help='Leave a rule out; may be repeated. "warning" leaves out all that are no errors.'),
]
Json = Annotated[bool, typer.Option("--json", help="Print the findings as one JSON object.")]


def check(targets: Targets, allow: Allow = None, ignore: Ignore = None, as_json: Json = False, debug: Debug = False) -> None:
    """Look for mistakes in agents, their handoffs, tools and instructions. Their module is imported; none of their
    functions is called, no model is asked.

    \b
    Examples:
      swarm check shop:triage
      swarm check agents/shop.py:triage agents/shop.py:night_desk
      swarm check shop:triage --ignore no-way-back --ignore schema
      swarm check shop:triage --json > findings.json
      swarm check shop.toml --allow shop.tools

    The exit code is 0 if nothing was found, 1 if something was, 2 if there is no such agent. Name every agent that a
    conversation may begin with. docs/checking.md explains the rules.
    """
    with reporting(debug):
        starts, known = load_starts(targets, allow)
        try:
            report = inspection.check(*starts, known=known, ignore=ignore or ())
        except ValueError as error:
            raise Failure(str(error), 2) from None
        print(json.dumps({"targets": targets, **report.as_dict()}, ensure_ascii=False, indent=1) if as_json else _text(report))
        if report.findings:
            raise typer.Exit(1)


def _text(report: inspection.Report) -> str:
    lines = [plain(f"{finding}{f' ({finding.where})' if finding.where else ''}") for finding in report.findings]
    lines += [plain(f"note {line}") for line in report.unread]
    counted = Counter(finding.severity for finding in report.findings)
    found = ", ".join(_count(counted[kind], kind) for kind in ("error", "warning") if counted[kind]) or "nothing found"
    hint = f". To leave one out: --ignore {report.findings[0].rule}" if report.findings else f" by {_count(len(inspection.RULES), 'rule')}"
    return "\n".join([*lines, f"{_count(len(report.graph.agents), 'agent')}, {found}{hint}"])


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
