"""The READMEs: their programs print what stands below them, and the translation says what the original says."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ENGLISH = (ROOT / "README.md").read_text(encoding="utf-8")
CHINESE = (ROOT / "README.zh-CN.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", ENGLISH, re.DOTALL)


def sections(text: str) -> list[str]:
    """The text before the first heading of the second level, then each heading with what follows it."""
    return re.split(r"^(?=## )", text, flags=re.MULTILINE)


def code(text: str) -> list[str]:
    return re.findall(r"```.*?```", text, re.DOTALL)


def fingerprint(section: str) -> str:
    return hashlib.sha256(section.strip().encode()).hexdigest()[:12]


@pytest.mark.parametrize(("program", "output"), PROGRAMS)
def test_a_program_prints_what_the_readme_says(program: str, output: str, tmp_path: Path) -> None:
    """U05, J13"""
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    env = {**os.environ, "SWARM_OFFLINE": "1", "PYTHONPATH": str(ROOT / "src")}
    run = subprocess.run([sys.executable, "-W", "error", "program.py"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert (run.stdout, run.stderr) == (output, "")


def test_every_program_has_its_output() -> None:
    assert len(PROGRAMS) == len(re.findall("```python", ENGLISH)) > 0


def test_the_translation_keeps_step() -> None:
    """Each section of README.zh-CN.md names the fingerprint of the English section that it translates.

    After a change of README.md: translate the change, then set the comment above the section to the fingerprint named below.
    """
    named = re.findall(r"<!-- en: ([0-9a-f]{12}) -->", CHINESE)
    wanted = [fingerprint(section) for section in sections(ENGLISH)]
    titles = [section.splitlines()[0] for section in sections(ENGLISH)]
    behind = [f"{title}: {print_}" for title, print_, known in zip(titles, wanted, [*named, *[""] * 99], strict=False) if print_ != known]
    assert behind == []
    assert len(named) == len(wanted)


def test_the_translation_shows_the_same_code_and_tables() -> None:
    assert code(CHINESE) == code(ENGLISH)
    for english, chinese in zip(sections(ENGLISH), sections(CHINESE), strict=True):
        assert english.count("\n|") == chinese.count("\n|"), english.splitlines()[0]


CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


GUIDE = list(zip(re.findall(r"```python\n(.*?)```", CONTRIBUTING, re.DOTALL), ["Hello\n", "hi\n"], strict=True))


@pytest.mark.parametrize(("program", "output"), GUIDE)
def test_a_program_of_the_contributors_guide_runs(program: str, output: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    run = subprocess.run([sys.executable, "-W", "error", "program.py"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert (run.stdout, run.stderr) == (output, "")
