"""Files of results: written line by line, read back, cut off and resumed, and refused where they are of another run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from swarm.evals import CaseResult, EvalError, Header, Results, Score, read_results
from swarm.evals.records import Writer

HEADER = Header(
    id="1",
    target="shop:triage",
    files=["cases.json"],
    cases=2,
    digest="d",
    repeat=1,
    seed=None,
    model="gpt-4o",
    swarm="0.1.0",
    started="2026-11-30T23:00:00Z",
    scorers=["function"],
)


def result(case: str = "cases/1", **changes: Any) -> CaseResult:
    made = CaseResult(
        case=case,
        repetition=0,
        place="cases.json:1",
        tags=["greeting"],
        agent="Triage",
        passed=True,
        scores={"function": Score(True, 1.0, "None", "None")},
        messages=[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello", "sender": "Triage"}],
        input=1,
        final_agent="Triage",
        calls=[],
        handoffs=[],
        stop_reason="complete",
        state={},
        usage={"input_tokens": 10, "output_tokens": 5, "cached_tokens": 0, "reasoning_tokens": 0, "model_calls": 1, "cost": None},
        seconds=0.5,
        error=None,
        started="2026-11-30T23:00:01Z",
    )
    return replace(made, **changes)


def written(path: Path, *results: CaseResult) -> None:
    with Writer(path, HEADER) as writer:
        for each in results:
            writer.write(each)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    """D63"""
    path = tmp_path / "out.jsonl"
    written(path, result(), result("cases/2", passed=False, error={"type": "ValueError", "message": "no"}))
    found = read_results(path)
    assert found == Results(HEADER, [result(), result("cases/2", passed=False, error={"type": "ValueError", "message": "no"})])
    assert (found.passed, found.accuracy) == (1, 0.5)


def test_a_line_is_in_the_file_before_the_writer_is_closed(tmp_path: Path) -> None:
    """D63"""
    path = tmp_path / "out.jsonl"
    writer = Writer(path, HEADER)
    writer.write(result())
    assert read_results(path).results == [result()]
    writer.__exit__(None, None, None)


def test_texts_that_utf8_and_json_cannot_hold_are_written_all_the_same(tmp_path: Path) -> None:
    circle: list[Any] = []
    circle.append(circle)
    written(tmp_path / "out.jsonl", result(case="\ud800 ü 你", state={"lock": object(), "nan": float("nan")}, usage={"loop": circle}))
    [found] = read_results(tmp_path / "out.jsonl").results
    assert (found.case, found.state, found.usage) == ("\ud800 ü 你", {"lock": "<builtins.object>", "nan": None}, "<builtins.dict>")


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_half_written_line_is_cut_off_when_resumed(tmp_path: Path, cut: int) -> None:
    """D63"""
    path = tmp_path / "out.jsonl"
    written(path, result(), result("cases/2"))
    path.write_bytes(path.read_bytes()[:-cut])
    with Writer(path, HEADER, resume=True) as writer:
        assert writer.before == [result()]
        writer.write(result("cases/2"))
    assert read_results(path).results == [result(), result("cases/2")]


@pytest.mark.parametrize("size", [0, 5, 40])
def test_a_header_that_was_cut_off_begins_again(tmp_path: Path, size: int) -> None:
    path = tmp_path / "out.jsonl"
    written(path)
    path.write_bytes(path.read_bytes()[:size])
    with Writer(path, HEADER, resume=True) as writer:
        writer.write(result())
    assert read_results(path) == Results(HEADER, [result()])


def test_a_result_that_failed_is_tried_again_and_the_later_line_counts(tmp_path: Path) -> None:
    """D63"""
    path = tmp_path / "out.jsonl"
    written(path, result(passed=False, error={"type": "ServerError", "message": "503"}), result("cases/2"))
    with Writer(path, HEADER, resume=True) as writer:
        assert writer.before == [result("cases/2")]
        writer.write(result())
    assert read_results(path).results == [result("cases/2"), result()]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"digest": "other"}, "the cases are not the same"),
        ({"target": "shop:sales"}, "target is 'shop:triage' there and 'shop:sales' now"),
        ({"model": "gpt-5"}, "model is 'gpt-4o' there"),
        ({"repeat": 3}, "repeat is 1 there and 3 now"),
        ({"seed": 7}, "seed is None there"),
        ({"scorers": ["text"]}, "scorers is"),
    ],
)
def test_another_run_is_not_resumed(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    """D63"""
    path = tmp_path / "out.jsonl"
    written(path, result())
    before = path.read_bytes()
    with pytest.raises(EvalError, match=says):
        Writer(path, replace(HEADER, **changes), resume=True)
    assert path.read_bytes() == before


def test_the_time_and_the_id_do_not_matter_to_resuming(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    written(path, result())
    with Writer(path, replace(HEADER, id="2", started="later", swarm="0.2"), resume=True) as writer:
        assert writer.header == HEADER


@pytest.mark.parametrize("text", ["shopping list", "1\n", "shopping\nlist\n", '{"kind": "eval", "version": 2}\n', '{"tape": 1}\n'])
def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises(EvalError, match=r"notes\.txt:1: no"):
        Writer(path, HEADER, resume=True)
    with pytest.raises(EvalError, match="is there already: resume it"):
        Writer(path, HEADER)
    assert path.read_text() == text


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    written(path, result())
    path.write_bytes(path.read_bytes() + b'{"kind": "result"}\n')
    with pytest.raises(EvalError, match=r"out\.jsonl:3: no line of eval results"):
        read_results(path)


def test_two_runs_do_not_write_one_file(tmp_path: Path) -> None:
    """D63: the second is refused, and the first goes on as if nothing had been."""
    path = tmp_path / "out.jsonl"
    with Writer(path, HEADER) as first:
        first.write(result("cases/1"))
        with pytest.raises(EvalError, match=r"another process writes .*out\.jsonl: wait"):
            Writer(path, HEADER, resume=True)
        first.write(result("cases/2"))
    with Writer(path, HEADER, resume=True) as again:
        assert [there.case for there in again.before] == ["cases/1", "cases/2"]
        again.write(result("cases/3"))
    assert [there.case for there in read_results(path).results] == ["cases/1", "cases/2", "cases/3"]
