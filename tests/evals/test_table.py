"""The results of an eval in the terminal."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from swarm.evals.comparing import compare
from swarm.evals.page import render_page
from swarm.evals.records import Results, Score
from swarm.evals.table import as_text, print_results
from tests.evals.making import USAGE, a_header, a_result, a_run


def printed(results: Results, width: int, *, terminal: bool = True, colour: bool = True) -> str:
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=terminal, no_color=not colour, legacy_windows=False, _environ={})
    print_results(results, console)
    return file.getvalue()


def some_run() -> Results:
    run = a_run({"triage/1": [True, True], "triage/2": [False, True], "triage/10": [False, False]})
    run.results[-1].usage = USAGE | {"cost": None}
    return run


def test_the_whole_text() -> None:
    """E05, E06, E07"""
    assert as_text(some_run()) == "\n".join(
        [
            "shop:triage, 3 cases, 2 repetitions, model gpt-4o-mini",
            "",
            "            passed  accuracy   95 % interval",
            "all         3 of 6    50.0 %  16.1 to 83.9 %",
            "by scorer",
            "  function  3 of 6    50.0 %  16.1 to 83.9 %",
            "",
            "pass^1 50.0 %, pass^2 33.3 %",
            "time: median 250 ms, 95 % below 250 ms, most 250 ms",
            "tokens: 720; cost: $0.01000, not known for 1 of 6",
            "called instead of what was expected: transfer_to_sales for transfer_to_refunds (3)",
            "",
            "2 cases failed",
            "evals/triage.json:16 triage/2 failed 1 of 2",
            "  function: expected transfer_to_refunds, got transfer_to_sales",
            "evals/triage.json:72 triage/10 failed 2 of 2",
            "  function: expected transfer_to_refunds, got transfer_to_sales",
        ]
    )


def test_what_is_no_terminal_gets_plain_text() -> None:
    assert printed(some_run(), 30, terminal=False) == as_text(some_run()) + "\n"


@pytest.mark.parametrize("width", [24, 40, 80, 200])
def test_a_terminal_of_any_width(width: int) -> None:
    told = re.sub(r"\x1b\[\d*m", "", printed(some_run(), width))
    places = [line for line in told.splitlines() if line.startswith("evals/triage.json:")]
    assert places == ["evals/triage.json:16 triage/2 failed 1 of 2", "evals/triage.json:72 triage/10 failed 2 of 2"]
    assert all(len(line.rstrip()) <= width for line in told.splitlines() if line not in places)
    assert ("95 % interval" in told) == (width >= 64)


def test_colours_are_left_out_where_they_are_not_wanted() -> None:
    assert "\x1b[33m" in printed(some_run(), 80)
    assert "\x1b[3" not in printed(some_run(), 80, colour=False)


def test_texts_are_no_markup_and_move_no_cursor() -> None:
    """E09"""
    score = Score(False, 0.0, "[red]a[/red]", "b\x1b[2J\nforged", "why [/bold] \u202eright to left")
    run = Results(a_header(target="[b]x[/b]"), [a_result(passed=False, scores={"[i]": score}, tags=["[u]", "b"], place="a\x07.json:1")])
    for told in (as_text(run), printed(run, 200, colour=False)):
        assert "[b]x[/b], 1 case" in told
        assert "  [i]: why [/bold] \ufffdright to left; expected [red]a[/red], got b\ufffd[2J forged" in told
        assert "[u]" in told
        assert "\x07" not in told


def test_failures_are_in_the_order_of_the_file_and_some_of_many() -> None:
    told = as_text(a_run({f"triage/{number}": [False] for number in range(200, 0, -1)}))
    assert "200 cases failed, of which 20 are shown" in told
    assert [line.split()[1] for line in told.splitlines() if line.startswith("evals/")] == [f"triage/{n}" for n in range(1, 21)]


def test_errors_and_long_reasons() -> None:
    error = {"type": "RateLimitError", "message": "429 " + "x" * 400}
    told = as_text(Results(a_header(), [a_result(passed=False, scores={}, error=error)]))
    assert "errors: 1, which count as failed" in told
    (line,) = (line for line in told.splitlines() if line.startswith("  RateLimitError: 429 xxx"))
    assert len(line) == 302
    assert line.endswith("…")


def test_why_comes_first_and_the_rest_in_short() -> None:
    score = Score(False, 0.0, ["find", "refund"], "y" * 400, "call 2 is missing")
    told = as_text(Results(a_header(), [a_result(passed=False, scores={"calls": score})]))
    assert f'  calls: call 2 is missing; expected ["find", "refund"], got {"y" * 99}…' in told


def test_a_run_that_is_not_over() -> None:
    assert as_text(Results(a_header(cases=3), [a_result()])).splitlines()[0] == (
        "shop:triage, 3 cases, model gpt-4o-mini, not finished: 1 of 3 results"
    )
    assert as_text(Results(a_header(), [])).splitlines()[3] == "all  0 of 0         -  0.0 to 100.0 %"


def test_a_comparison_is_told() -> None:
    """E08"""
    new = a_run({f"t/{n}": [n > 6] for n in range(9)})
    told = as_text(new, compared=compare(a_run({f"t/{n}": [True] for n in range(9)}), new)).splitlines()
    assert "Worse: -77.8 points over 9 shared cases (95 % interval -97.2 to -30.1), 0 cases fixed, 7 broken; p = 0.0078, one-sided" in told
    assert "broken: t/0 (100% to 0%), t/1 (100% to 0%), t/2 (100% to 0%), t/3 (100% to 0%)," in "\n".join(told)
    assert not any(line.startswith("fixed") for line in told)


def test_what_only_measures_stands_apart() -> None:
    """D68, D69"""
    apart = {"judge": USAGE | {"cost": None}, "user": USAGE}
    lines = as_text(Results(a_header(), [a_result("t/1", usage_apart=apart)])).splitlines()
    at = lines.index("tokens: 120; cost: $0.00200")
    assert lines[at + 1 : at + 3] == [
        "tokens of the judge, apart: 120; cost: not known",
        "tokens of the user, apart: 120; cost: $0.00200",
    ]
    page = render_page(Results(a_header(), [a_result("t/1", usage_apart=apart)]))
    assert "the judge took 120 tokens; cost: not known" in page
    assert "apart from that the user: 120 tokens, cost $0.00200" in page
