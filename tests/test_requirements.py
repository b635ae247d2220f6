"""Each promise is covered by a test that runs, and each id that a test names is a promise."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.covering import ids_of
from tests.requirements import PENDING, REQUIREMENTS

ROOT = Path(__file__).parent.parent


@pytest.mark.timeout(240)  # it collects every test, which takes 16 s of CPU, on machines that others use too
def test_promises_and_tests_name_each_other() -> None:
    """In one test, since collecting all tests takes some seconds; in a process of its own, since this one may hold a single file."""
    program = [sys.executable, "-m", "tests.covering", "--json"]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"the tests cannot be collected:\n{done.stdout}\n{done.stderr}"
    covered: dict[str, list[str]] = json.loads(done.stdout)
    print("pending:", ", ".join(PENDING) or "nothing", "| covered by now:", ", ".join(id for id in PENDING if id in covered) or "none")
    missing = {id: promise.text for id, promise in REQUIREMENTS.items() if id not in covered and id not in PENDING}
    assert missing == {}, "no test that runs names these ids in its docstring or name; skipped and nightly tests do not count"
    unknown = {id: tests[:3] for id, tests in covered.items() if id not in REQUIREMENTS}
    assert unknown == {}, "write these ids into tests/requirements.py, or correct them in the tests"


def test_no_test_skips_itself() -> None:
    """A test that skips while it runs would count as covering what it names."""
    leaves = re.compile(r"\bpytest\." + r"(skip|xfail|importorskip)\(")
    found = [path.name for path in (ROOT / "tests").rglob("*.py") if leaves.search(path.read_text(encoding="utf-8"))]
    assert found == []


def test_no_test_leaves_before_it_has_looked() -> None:
    """A test that returns at once in some modes would count as passed there; `tests.modes.streaming` runs it in the others only."""
    leaves = re.compile(r"^    if (not )?drive\.\w+.*:\n        return$", re.MULTILINE)
    found = [path.name for path in (ROOT / "tests").rglob("*.py") if leaves.search(path.read_text(encoding="utf-8"))]
    assert found == []


def test_what_is_pending_is_a_promise() -> None:
    assert [id for id in PENDING if id not in REQUIREMENTS] == []


def test_every_promise_has_a_text_and_those_of_others_a_source() -> None:
    for id, promise in REQUIREMENTS.items():
        assert promise.text, id
        assert len(promise.text) <= 140, id
        assert bool(promise.sources) == (not id.startswith("D")), id
        assert all(source.startswith("https://") for source in promise.sources), id


@pytest.mark.parametrize(
    ("name", "docstring", "ids"),
    [
        ("test_x", "T01, K11: a note", {"T01", "K11"}),
        ("test_x", "After D4 and D22.", {"D4", "D22"}),
        ("test_t01_broken_json", None, {"T01"}),
        ("test_broken_json_p03", "H12", {"P03", "H12"}),
        ("test_sha256_and_utf8", "Not UTF8, H264 or T1.", set()),
    ],
)
def test_where_ids_are_read(name: str, docstring: str | None, ids: set[str]) -> None:
    assert ids_of(name, docstring) == ids
