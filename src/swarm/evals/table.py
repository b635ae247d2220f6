"""The results of an eval in the terminal: what share passed, by scorer, agent, file and tag, and then what failed and where.

Names and texts come from models, tools and files of cases; each is put on one line, without characters that do something instead of being
seen, and never read as markup.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from ..inspection.drawing import plain, width
from . import figures
from .conversations import text_for
from .statistics import Share, percentile
from .summary import Confusion, Summary, in_file, summarize

if TYPE_CHECKING:
    from rich.console import Console

    from .comparing import Comparison
    from .records import CaseResult, Results, Score

_FAILURES = 20
"""So many cases that failed are listed; the page and the file of results have them all."""
_CONFUSED = 3
_CHANGED = 10
_LONGEST, _BRIEF = 300, 100
_NARROW = 64

_Row = tuple[str, Share | None]


def print_results(results: Results, console: Console | None = None, *, compared: Comparison | None = None) -> None:
    """Print the results of an eval: a table on a terminal, plain text elsewhere.

    Args:
        results: those of one run, whole or not.
        console: where to; standard output if it is None.
        compared: what came of comparing them with an earlier run, to be printed too.

    Raises:
        ModuleNotFoundError: the extra `cli` is not installed; `as_text` does without it.
    """
    from rich.console import Console

    out = console or Console()
    if out.is_terminal:
        _print_table(results, out, compared)
    else:
        out.out(as_text(results, compared=compared), highlight=False)


def as_text(results: Results, *, compared: Comparison | None = None) -> str:
    """The results of an eval as plain text, its lines as long as they need to be.

    Args:
        results: those of one run, whole or not.
        compared: what came of comparing them with an earlier run, to be shown too.
    """
    summary = summarize(results)
    rows = [(name, *_cells(share)) for name, share in _rows(summary)]
    rows.insert(0, ("", "passed", "accuracy", "95 % interval"))
    widths = [max(width(row[column]) for row in rows) for column in range(4)]
    lines = [_title(results, summary), ""]
    for name, *cells in rows:
        padded = [" " * (size - width(cell)) + cell for cell, size in zip(cells, widths[1:], strict=True)]
        lines.append("  ".join([name + " " * (widths[0] - width(name)), *padded]).rstrip())
    lines += ["", *_notes(summary, compared)]
    failed = list(failures(results.results))
    if failed:
        lines += ["", _failed_title(results.results)]
        for head, why in failed:
            lines += [head, *(f"  {reason}" for reason in why)]
    return "\n".join(lines)


def _print_table(results: Results, out: Console, compared: Comparison | None) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    summary = summarize(results)
    roomy = out.width >= _NARROW
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=Text(_title(results, summary)), title_justify="left", title_style="bold")
    table.add_column("", overflow="fold")
    for head in ("passed", "accuracy", "95 % interval")[: 3 if roomy else 2]:
        table.add_column(head, justify="right", no_wrap=True)
    for name, share in _rows(summary):
        cells = [Text(cell) for cell in _cells(share)[: 3 if roomy else 2]]
        cells[1].stylize("" if share is None else "green" if share.passed == share.tried else "yellow")
        table.add_row(Text(name, style="dim" if share is None else ""), *cells)
    out.print(table)
    for note in _notes(summary, compared):
        style = "bold red" if compared and compared.is_worse and note.startswith("Worse") else ""
        out.print(Text(note, style=style))
    failed = list(failures(results.results))
    if failed:
        out.print(Text(f"\n{_failed_title(results.results)}", style="bold"))
        for head, why in failed:
            out.print(Text(head, style="red"), soft_wrap=True)  # a terminal makes a link of file:line only if it is whole
            for reason in why:
                out.print(Text(f"  {reason}"))


def _title(results: Results, summary: Summary) -> str:
    header = results.header
    facts = [header.target, figures.counted(header.cases, "case"), f"model {header.model}" if header.model else ""]
    facts.insert(2, f"{header.repeat} repetitions" if header.repeat > 1 else "")
    wanted = header.cases * header.repeat
    facts.append(f"not finished: {summary.overall.tried:,} of {wanted:,} results" if summary.overall.tried < wanted else "")
    return plain(", ".join(filter(None, facts)))


def _rows(summary: Summary) -> list[_Row]:
    """The names of the groups stand in rows of their own, without a share."""
    rows: list[_Row] = [("all", summary.overall)]
    for kind, shares in summary.groups.items():
        if len(shares) > (kind != "scorer"):  # one agent, file or tag is the same as all, or stands beside results without any
            rows.append((f"by {kind}", None))
            rows += [(f"  {plain(name)}", share) for name, share in shares.items()]
    return rows


def _cells(share: Share | None) -> tuple[str, str, str]:
    return (figures.tried(share), figures.percent(share.value), figures.span(share.interval)) if share else ("", "", "")


def _notes(summary: Summary, compared: Comparison | None) -> Iterator[str]:
    if len(summary.reliability) > 1:
        yield figures.reliability(summary.reliability)
    if summary.seconds:
        half, most = percentile(summary.seconds, 50), percentile(summary.seconds, 95)
        yield f"time: median {figures.seconds(half)}, 95 % below {figures.seconds(most)}, most {figures.seconds(max(summary.seconds))}"
    yield f"tokens: {figures.tokens(summary.tokens)}; cost: {figures.cost(summary.cost)}"
    for name, taken in summary.apart.items():
        yield f"tokens of the {plain(name)}, apart: {figures.tokens(taken.tokens)}; cost: {figures.cost(taken.cost)}"
    if summary.errors:
        yield f"errors: {summary.errors:,}, which count as failed"
    if summary.confusion and (mixed := _mixed_up(summary.confusion)):
        yield f"called instead of what was expected: {mixed}"
    if compared:
        yield figures.verdict(compared)
        for name, changes in (("broken", compared.broken), ("fixed", compared.fixed)):
            shown = [f"{plain(change.case)} ({change.before:.0%} to {change.after:.0%})" for change in changes[:_CHANGED]]
            if shown:
                yield f"{name}: {', '.join(shown)}{_rest(len(changes), _CHANGED)}"


def _mixed_up(confusion: Confusion) -> str:
    """The functions that were taken for others most often."""
    wrong = sorted((-count, pair) for pair, count in confusion.counts.items() if pair[0] != pair[1])
    told = [f"{plain(called)} for {plain(expected)} ({-count:,})" for count, (expected, called) in wrong[:_CONFUSED]]
    return "; ".join(told) + _rest(len(wrong), _CONFUSED) if told else ""


def _rest(many: int, shown: int) -> str:
    return f" and {many - shown:,} more" if many > shown else ""


def _failed_title(results: Sequence[CaseResult]) -> str:
    cases = len({result.case for result in results if not result.passed})
    return f"{figures.counted(cases, 'case')} failed" + (f", of which {_FAILURES} are shown" if cases > _FAILURES else "")


def failures(results: Sequence[CaseResult]) -> Iterator[tuple[str, list[str]]]:
    """Of the first cases that failed: where each stands and how often it failed, and why it did the first time."""
    ordered = sorted(results, key=in_file)
    shown = 0
    for case, group in groupby(ordered, key=lambda result: result.case):
        tries = list(group)
        failed = [result for result in tries if not result.passed]
        if failed and shown < _FAILURES:
            shown += 1
            often = f" failed {len(failed)} of {len(tries)}" if len(tries) > 1 else ""
            yield plain(f"{failed[0].place} {case}{often}"), list(_why(failed[0]))


def _why(result: CaseResult) -> Iterator[str]:
    if result.error:
        yield _short(f"{result.error['type']}: {result.error['message']}")
    for name, score in result.scores.items():
        if not score.passed:
            yield _short(f"{name}: {_reason(score)}")


def _reason(score: Score) -> str:
    told = [("expected ", text_for(score.expected)), ("got ", text_for(score.actual))]
    return "; ".join(filter(None, [score.reason, ", ".join(name + _short(text, _BRIEF) for name, text in told if text)]))


def _short(text: str, limit: int = _LONGEST) -> str:
    line = plain(text)
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
