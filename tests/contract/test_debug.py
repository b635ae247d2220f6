"""What is printed: a trace with debug=True, and nothing at all without."""

from __future__ import annotations

import logging
import re
from typing import Any

import pytest

from swarm import Agent, Limits
from swarm.models.scripted import call
from tests.modes import Drive

HI = [{"role": "user", "content": "hi"}]


def login(api_key: str) -> str:
    return f"token for {api_key}"


def fail() -> str:
    raise ValueError("password=hunter2")


def to_b() -> Agent:
    return Agent(name="B")


AGENT = Agent(name="A", functions=[login, fail, to_b])
TURNS = [[call("login", {"api_key": "sk-1"}), call("fail")], call("to_b"), "done"]


def test_debug_prints_a_time_stamped_trace(drive: Drive, capsys: pytest.CaptureFixture[str]) -> None:
    """K16"""
    drive(AGENT, HI, TURNS, debug=True)
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert all(re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", line) for line in lines)
    for word in ("login", "sk-1", "token for sk-1", "A -> B", "done"):
        assert word in printed.out
    assert printed.err == ""


def test_the_trace_is_redacted(drive: Drive, capsys: pytest.CaptureFixture[str]) -> None:
    """K16, D32, U01"""

    def redact(value: Any) -> str:
        return re.sub(r"sk-\w+|hunter2", "***", str(value))

    drive(AGENT, HI, TURNS, swarm={"redact": redact}, debug=True)
    printed = capsys.readouterr().out
    assert "***" in printed
    assert "sk-1" not in printed
    assert "hunter2" not in printed


def test_without_debug_nothing_is_printed_or_logged(
    drive: Drive, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """K16, U01"""
    drive(AGENT, HI, TURNS)
    assert capfd.readouterr() == ("", "")
    assert "sk-1" not in caplog.text
    assert "hunter2" not in caplog.text


def test_a_trace_is_for_its_run_only(drive: Drive, capsys: pytest.CaptureFixture[str]) -> None:
    """D32"""
    drive(AGENT, HI, TURNS, debug=True)
    capsys.readouterr()
    drive(AGENT, HI, TURNS)
    assert capsys.readouterr().out == ""


def test_limits_are_traced(drive: Drive, capsys: pytest.CaptureFixture[str]) -> None:
    """K16"""
    drive(AGENT, HI, TURNS, limits=Limits(model_calls=1), debug=True)
    assert "model_calls" in capsys.readouterr().out


def test_the_level_of_the_logger_is_the_users(drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    """D32, U01: the library sets no level; what it logs, it logs at debug."""
    assert logging.getLogger("swarm").level == logging.NOTSET
    with caplog.at_level(logging.DEBUG, logger="swarm"):
        drive(AGENT, HI, TURNS)
    assert caplog.records
    assert {record.levelname for record in caplog.records if record.name == "swarm"} == {"DEBUG"}


def test_a_failing_function_is_logged_in_full_at_debug(drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    """T10: what the model is told holds no traceback; a developer finds it in the log."""
    with caplog.at_level(logging.DEBUG, logger="swarm"):
        drive(AGENT, HI, [call("fail"), "done"])
    assert "Traceback" in caplog.text
    assert "in fail" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.DEBUG, logger="swarm"):
        drive(AGENT, HI, [call("fail"), "done"], swarm={"redact": lambda value: "something went wrong"})
    assert "a call failed: something went wrong" in caplog.text
    assert "hunter2" not in caplog.text


def test_what_is_logged_is_redacted(drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    """U01, T10: arguments and results pass the redaction hook."""
    with caplog.at_level(logging.DEBUG, logger="swarm"):
        drive(AGENT, HI, TURNS, swarm={"redact": lambda value: re.sub(r"sk-\w+|hunter2", "***", str(value))})
    assert "sk-1" not in caplog.text
    assert "hunter2" not in caplog.text
