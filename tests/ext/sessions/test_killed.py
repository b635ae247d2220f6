"""A real process is killed at any moment, again and again: nothing that it had shown is lost, and the conversation comes to its end."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from swarm.ext.sessions import SessionStore
from swarm.testing import assert_valid_history
from tests.ext.sessions.talking import main

ROOT = Path(__file__).parents[3]
TALKING = Path(__file__).with_name("talking.py")
QUESTIONS = 4
UNKNOWN = "Error: it was started, but the run was cut off; whether it had an effect is not known"


def processes(url: str, log: Path) -> subprocess.Popen[str]:
    """What begins one process after another, see talking.py."""
    command = [sys.executable, str(TALKING), url, str(log), str(QUESTIONS)]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def talk(begin: subprocess.Popen[str], chance: random.Random | None) -> tuple[list[Any], bool]:
    """One process, killed some time after it has shown something. Returns all that it showed, and whether it came to the end."""
    assert begin.stdin is not None
    assert begin.stdout is not None
    begin.stdin.write("go\n")
    begin.stdin.flush()
    pid: int = json.loads(begin.stdout.readline())
    shown: list[Any] = []
    wanted = None if chance is None else chance.randrange(1, 6)
    for line in begin.stdout:
        said = json.loads(line)
        if isinstance(said, dict):
            return shown, said["ended"] == 0
        shown.append(said)
        if chance is not None and len(shown) == wanted:
            time.sleep(chance.random() * 0.02)
            with suppress(ProcessLookupError):  # it came to its end meanwhile
                os.kill(pid, signal.SIGKILL)
    raise AssertionError("talking.py ended by itself")


def check(url: str, folder: Path, seed: int) -> None:
    chance, log, shown = random.Random(seed), folder / "log", []
    with processes(url, log) as begin:
        for attempt in range(7):
            said, ended = talk(begin, chance if attempt < 6 else None)
            shown += said
            if ended:
                break
        begin.stdin.close()  # type: ignore[union-attr]
    assert ended
    with SessionStore(url) as store, SessionStore(folder / "calm.db") as calm:
        messages, info = store.messages("s"), store.info("s")
        assert info is not None
        assert (info.status, info.agent) == ("idle", "Second")
        assert_valid_history(messages)
        assert set(shown) <= {message["content"] for message in messages}, "what was shown is there"
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
