"""Every program of the guides runs, and prints what stands below it.

The ```python blocks of one page of docs/ are run in order, in one namespace. A block that is directly followed by a ```text block must
print exactly that; one that is not may print what it likes. Nothing is in the environment, and no network is there.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parent.parent.parent / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
PAGES = sorted(page.name for page in DOCS.glob("*.md") if BLOCK.search(page.read_text(encoding="utf-8")))
NOT_OURS = re.compile("OPENAI_|SWARM_|(HTTPS?|ALL|NO)_PROXY$", re.IGNORECASE)


@pytest.fixture
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """An empty folder to work in, and nothing from the machine that runs the tests; a page may set what it wants."""
    before = dict(os.environ)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in filter(NOT_OURS.match, before):
        del os.environ[name]
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.usefixtures("bare_environment")
def test_the_programs_of_a_page_print_what_it_says(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    """U05"""
    text = (DOCS / page).read_text(encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": page.removesuffix(".md")}
    for found in BLOCK.finditer(text):
        program, output = found.groups()
        above = text.count("\n", 0, found.start(1))  # so that a traceback names the line of the page
        exec(compile("\n" * above + program, str(DOCS / page), "exec"), namespace)
        printed = capsys.readouterr().out
        if output is not None:
            assert printed == output, f"{page}:{above + 1}"
