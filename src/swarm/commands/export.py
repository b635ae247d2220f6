"""`swarm export`: conversations as data to fine-tune a model with."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from ..evals.figures import counted
from ..ext.training import Export, export, read_examples
from ..inspection import read_graph
from ..types import Agent
from .failure import Failure, reporting
from .options import Allow
from .sessions import keys_at_hand
from .starts import Debug, load_starts

_FEWEST = 10


class Form(Enum):
    """How the data is written."""

    CHAT_JSONL = "chat-jsonl"


def export_data(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="SOURCE...", help="Tapes, results of swarm eval, files or databases of sessions, or a URL postgresql://..."),
    ],
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to write the examples.")] = None,
    form: Annotated[Form, typer.Option("--format", help="The form: JSON lines of chats.")] = Form.CHAT_JSONL,
    agents: Annotated[
        list[str] | None,
        typer.Option("--agents", metavar="MODULE:AGENT", help="The agents that spoke: what each was told, and which tools it has."),
    ] = None,
    learn: Annotated[
        list[str] | None, typer.Option("--learn", metavar="NAME", help="Learn from the answers of this agent only; may be repeated.")
    ] = None,
    passed: Annotated[bool, typer.Option("--passed", help="Of evals, only conversations that passed.")] = False,
    redact: Annotated[
        list[str] | None, typer.Option("--redact", metavar="REGEX", help="Hide what fits in every text; may be repeated.")
    ] = None,
    split: Annotated[float | None, typer.Option("--split", metavar="X", help="This share for FILE, the rest for FILE.test.")] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Split in another way.")] = 0,
    allow: Allow = None,
    check: Annotated[bool, typer.Option("--check", help="Write nothing: read training data, and say what is wrong with it.")] = False,
    debug: Debug = False,
) -> None:
    """Write conversations as data to fine-tune a model with: the chat format, one example a line, with instructions, tools, calls and their
    results.

    A tape holds what the model was sent. Sessions and results of evals hold what was said; instructions and tools are made from --agents.
    What could not be trained on is left out, and counted.

    \b
    Examples:
      swarm export tapes/*.jsonl -o train.jsonl
      swarm export results.jsonl --agents shop:triage --passed -o train.jsonl
      swarm export sessions.db --agents shop:triage --learn Refunds --split 0.9 -o train.jsonl
      swarm export sessions.db --agents shop:triage --redact '[\\w.]+@[\\w.]+' -o train.jsonl
      swarm export train.jsonl --check
    """
    with reporting(debug):
        if check:
            _check(sources)
            return
        if output is None:
            raise Failure("say where to write the examples, with -o FILE; or check a file with --check", 2)
        missing = [source for source in sources if "://" not in source and not Path(source).is_file()]
        if missing:
            raise Failure(f"there is no file {missing[0]!r}", 2)
        done = export(
            sources,
            output,
            agents=_agents(agents or (), allow),
            learn=learn,
            passed=passed,
            redact=redact or (),
            split=split,
            seed=seed,
            keys=keys_at_hand(),
        )
        _tell(done)


def _agents(targets: Sequence[str], allow: Sequence[str] | None) -> list[Agent]:
    starts, known = load_starts(targets, allow)
    return list(dict.fromkeys([*starts, *known.values(), *read_graph(*starts, *known.values()).agents])) if starts else []


def _tell(done: Export) -> None:
    for file, count in done.files.items():
        print(f"{file}: {counted(count, 'example')}")
    print(f"{counted(done.conversations, 'conversation')}, {counted(done.learned, 'answer')} to learn from")
    for reason, count in done.left_out.most_common():
        print(f"left out, {counted(count, 'time')}: {reason}", file=sys.stderr)
    if not done.examples:
        raise Failure("nothing is left to train on")
    if done.examples < _FEWEST:
        print(f"only {counted(done.examples, 'example')}: OpenAI's API asks for {_FEWEST}", file=sys.stderr)


def _check(sources: Sequence[str]) -> None:
    examples = wrong = 0
    for source in sources:
        for number, _, problems in read_examples(source):
            examples += 1
            wrong += bool(problems)
            for problem in problems:
                print(f"{source}:{number}: {problem}")
    print(f"{counted(examples, 'example')}, {wrong or 'none'} of them wrong")
    if wrong or not examples:
        raise typer.Exit(1)
