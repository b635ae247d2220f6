"""A real process is killed at any moment, again and again: nothing that it had shown is lost, and the conversation comes to its end."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from swarm.ext.sessions import SessionStore
from swarm.testing import assert_valid_history
from tests.ext.sessions.talking import main

ROOT = Path(__file__).parents[3]
TALKING = Path(__file__).with_name("talking.py")
QUESTIONS = 3
UNKNOWN = "Error: it was started, but the run was cut off; whether it had an effect is not known"


def talk(url: str, log: Path, chance: random.Random | None) -> tuple[list[str], bool]:
    """One process, killed some time after it has shown something. Returns all that it showed, and whether it came to the end."""
    command = [sys.executable, str(TALKING), url, str(log), str(QUESTIONS)]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        shown: list[str] = []
        if chance is not None:
            for _ in range(chance.randrange(1, 6)):
                shown.append(child.stdout.readline())
            time.sleep(chance.random() * 0.02)
            child.kill()
        shown += child.stdout.readlines()
        errors = child.stderr.read()
        assert errors == ""
        return [line for line in shown if line.endswith("\n")], child.wait() == 0


def check(url: str, folder: Path, seed: int) -> None:
    chance, log, shown = random.Random(seed), folder / "log", []
    for _ in range(4):
        lines, ended = talk(url, log, chance)
        shown += lines
        if ended:
            break
    lines, ended = talk(url, log, None)
    assert ended
    with SessionStore(url) as store, SessionStore(folder / "calm.db") as calm:
        messages, info = store.messages("s"), store.info("s")
        assert info is not None
        assert (info.status, info.agent) == ("idle", "Second")
        assert_valid_history(messages)
        said = Counter(message["content"] for message in messages)
        assert {json.loads(line) for line in shown + lines} <= said.keys(), "what was shown is there"
        main(str(folder / "calm.db"), str(folder / "calm.log"), QUESTIONS)
        undisturbed = calm.messages("s")
        assert [known(message) for message in messages] == [known(message) for message in undisturbed]
        assert next(store.export())["context_variables"] == next(calm.export())["context_variables"]
    ran = Counter(log.read_text().split("\n")[:-1])
    assert {name for name, times in ran.items() if times > 1 and name.startswith("pay")} == set(), "what may run once never ran twice"


def known(message: dict[str, object]) -> dict[str, object]:
    """A message, without what a killed process may leave unknown: what its call of `pay` came to, which the answer repeats."""
    if message.get("tool_name") == "pay":
        assert message["content"] in ("pay done", UNKNOWN)
        return {**message, "content": ""}
    return message


def test_a_process_that_is_killed_at_any_moment(url: str, tmp_path: Path) -> None:
    """M09, C10, D80"""
    check(url, tmp_path, 1)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2, 22))
def test_many_more_moments(url: str, tmp_path: Path, seed: int) -> None:
    """M09"""
    check(url, tmp_path, seed)
