"""`swarm eval`: how well agents do on cases."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ConfigError
from ..evals import (
    Case,
    Comparison,
    EvalError,
    JudgeModel,
    Results,
    UserModel,
    compare,
    load_cases,
    print_results,
    read_results,
    run_evals,
    write_page,
)
from ..evals.module import options_of
from ..policies import Retry
from ..types import Agent
from .failure import Failure, describe, reporting
from .options import Allow, BaseUrl, Debug, MaxTurns, Model, Offline, Target
from .progress import Progress
from .setup import Setup, load_setup
from .target import find, module_of

Files = Annotated[
    list[str],
    typer.Argument(metavar="FILE...", help="Cases: .json, .yaml or .csv files, or folders that hold some. docs/evals.md explains them."),
]
Repeat = Annotated[int, typer.Option("--repeat", min=1, metavar="N", help="Play each case N times.")]
Concurrency = Annotated[int, typer.Option("--concurrency", min=1, metavar="N", help="How many conversations go on at once.")]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", help="Send the model a seed made from N, another for each conversation.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="FILE.jsonl", help="Write each result there as it comes.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the file of --out: play what is missing, and what failed.")]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE.html", help="Write the results as one page, with the conversations.")]
Compare = Annotated[Path | None, typer.Option("--compare", metavar="OLD.jsonl", help="Compare with results of an earlier --out.")]
MinAccuracy = Annotated[
    float | None, typer.Option("--min-accuracy", min=0, max=1, metavar="X", help="The share of conversations that must pass, 0 to 1.")
]
Tag = Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="Only cases with this tag; may be repeated.")]
ScorerOption = Annotated[
    list[str] | None,
    typer.Option("--scorer", metavar="MODULE:FUNCTION", help="A scorer of your own: a function of (case, outcome); may be repeated."),
]
StateOption = Annotated[
    str | None,
    typer.Option(
        "--state", metavar="MODULE:FUNCTION", help="A function that makes of the context variables what 'state' is compared with."
    ),
]
JudgeOption = Annotated[
    str | None, typer.Option("--judge-model", metavar="NAME", help="The model that answers the question in 'judge' of a case.")
]
UserOption = Annotated[
    str | None, typer.Option("--user-model", metavar="NAME", help="The model that plays the 'user' of a case who has a goal and no script.")
]

_RETRYING = (Retry(tries=3),)


def evaluate(
    target: Target,
    files: Files,
    repeat: Repeat = 1,
    concurrency: Concurrency = 8,
    seed: Seed = None,
    out: Out = None,
    resume: Resume = False,
    html: Html = None,
    compare_with: Compare = None,
    min_accuracy: MinAccuracy = None,
    tag: Tag = None,
    scorer: ScorerOption = None,
    state: StateOption = None,
    judge_model: JudgeOption = None,
    user_model: UserOption = None,
    model: Model = None,
    base_url: BaseUrl = None,
    offline: Offline = False,
    max_turns: MaxTurns = None,
    allow: Allow = None,
    debug: Debug = False,
) -> None:
    """Play cases, and say how many come out as they should. Where the module of the agent has `context_variables`, a dict or a
    function that makes one, each conversation gets its own; cases may name every agent of the module, or that can be reached.

    \b
    Examples:
      swarm eval shop:triage cases.yaml
      swarm eval shop:triage evals/ --repeat 5 --concurrency 32 --out new.jsonl --html new.html
      swarm eval shop:triage evals/ --repeat 5 --concurrency 32 --out new.jsonl --resume
      swarm eval shop:triage evals/ --compare old.jsonl --min-accuracy 0.9
      swarm eval shop:triage calls.yaml --user-model gpt-4o --judge-model gpt-4o
      swarm eval shop:triage evals/ --scorer checks:is_polite --state shop:rows --tag refunds
      swarm eval shop.toml evals/ --allow shop.tools

    A model call that fails for the moment is tried three times. The exit code is 1 if fewer passed than --min-accuracy asks
    for, or significantly fewer than in the --compare file; without either, if any did not pass. It is 2 for cases or options
    that cannot be used.
    """
    with reporting(debug):
        _check_files(out, resume, html)
        try:
            cases, old = _read(files, tag, compare_with)
            setup = _setup(target, allow)
            options = {**_around(setup, target), "scorers": [_function(name) for name in scorer or ()], "target": target}
            options |= {"state": None if state is None else _function(state), "client": setup.client(offline, base_url), "model": model}
            options |= _measuring(options, judge_model, user_model) | {"repeat": repeat, "concurrency": concurrency}
            options |= {"seed": seed, "out": out, "resume": resume, "max_turns": float("inf") if max_turns is None else max_turns}
            results = _run(cases, options)
        except (EvalError, ConfigError) as error:
            raise Failure(describe(error), 2) from None
        compared = None if old is None else compare(old, results)
        print_results(results, compared=compared)
        if html is not None:
            write_page(results, html, compared=compared)
        if _is_below(results, compared, min_accuracy):
            raise typer.Exit(1)


def _check_files(out: Path | None, resume: bool, html: Path | None) -> None:
    if resume and out is None:
        raise Failure("--resume goes on with the file of --out, which is not given", 2)
    if html is not None and html.suffix.lower() not in (".html", ".htm"):  # so that it never overwrites cases or results
        raise Failure(f"--html writes a page, and {str(html)!r} does not end in .html", 2)
    if html is not None and not html.parent.is_dir():
        raise Failure(f"there is no folder {html.parent} for {html.name}; make it first", 2)


def _read(files: list[str], tag: list[str] | None, compare_with: Path | None) -> tuple[list[Case], Results | None]:
    try:
        cases = _tagged(load_cases(*files), tag)
        return cases, None if compare_with is None else _sharing(cases, compare_with)
    except OSError as error:
        raise Failure(f"{error.filename} cannot be read: {error.strerror}", 2) from None


def _tagged(cases: list[Case], tags: list[str] | None) -> list[Case]:
    if not tags:
        return cases
    if found := [case for case in cases if set(tags) & set(case.tags)]:
        return found
    there = sorted({tag for case in cases for tag in case.tags})
    raise Failure(f"no case has the tag {' or '.join(map(repr, tags))}; there are {', '.join(there) or 'no tags'}", 2)


def _sharing(cases: list[Case], path: Path) -> Results:
    """The earlier results, looked at before anything is played."""
    old = read_results(path)
    if not {case.id for case in cases} & {result.case for result in old.results}:
        raise Failure(f"{path} holds no result of any of these cases, so there is nothing to compare", 2)
    return old


def _setup(target: str, allow: list[str] | None) -> Setup:
    """What a target stands for. What its modules print goes to standard error."""
    with redirect_stdout(sys.stderr):
        return load_setup(target, allow)


def _around(setup: Setup, target: str) -> dict[str, Any]:
    """The agents and what belongs to them: as a configuration says, or as their module has it."""
    if setup.config is None:
        return {**options_of(module_of(target)), "agent": setup.agent, "policies": _RETRYING}
    around = {name: setup.swarm[name] for name in ("policies", "limits", "prices")}
    if not any(isinstance(policy, Retry) for policy in around["policies"]):
        around["policies"] = [*around["policies"], *_RETRYING]
    return {"agent": setup.agent, "agents": setup.known, "context_variables": setup.context_variables, **around}


def _measuring(options: dict[str, Any], judge: str | None, user: str | None) -> dict[str, Any]:
    """The models that measure, at the server where the agents' models are."""
    found: dict[str, Any] = {}
    if judge is not None:
        judging = JudgeModel(options["client"], model=judge, policies=_RETRYING)
        found["scorers"] = [*options["scorers"], judging]
    if user is not None:
        found["simulate"] = UserModel(options["client"], model=user, policies=_RETRYING)
    return found


def _function(name: str) -> Callable[..., Any]:
    if ":" not in name:
        raise Failure(f"{name!r} does not say which function; give module:function, or path/to/file.py:function", 2)
    with redirect_stdout(sys.stderr):
        _, place, value = find(name)
    if not callable(value) or isinstance(value, Agent):
        raise Failure(f"{place} is of type {type(value).__name__}, not a function", 2)
    return value


def _run(cases: list[Case], options: dict[str, Any]) -> Results:
    with Progress(len(cases) * options["repeat"]) as progress, redirect_stdout(sys.stderr):
        try:
            return run_evals(cases=cases, on_result=progress.note, **options)
        except KeyboardInterrupt:
            progress.stop()
            kept = (
                f"; the same command with --resume goes on with {options['out']}" if options["out"] else ", and kept nothing without --out"
            )
            print(f"Stopped after {progress.done} of {progress.total}{kept}", file=sys.stderr)
            raise


def _is_below(results: Results, compared: Comparison | None, min_accuracy: float | None) -> bool:
    if compared is None and min_accuracy is None:
        return results.passed < len(results.results)
    return (min_accuracy is not None and results.accuracy < min_accuracy) or (compared is not None and compared.is_worse)
