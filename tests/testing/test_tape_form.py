"""Tapes that somebody edited: what is wrong is named with its line, before anything runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from swarm import Agent, ScriptedModel, Swarm
from swarm.testing import Tape, TapeError

HEAD = {"tape": 1}
ASKED = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}
ANSWER = {"request": ASKED, "reply": {"message": {"role": "assistant", "content": "ok"}}}
CALL = {"tool": "f", "call": "c1", "arguments": {}, "text": "x"}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([{"tape": 2}], "no tape of version 1"),
        ([{**HEAD, "profile": {"name": 5}}, ANSWER], "line 1: name"),
        ([HEAD, {**ANSWER, "reply": None}], "line 2: reply: must not be null"),
        ([HEAD, {**ANSWER, "reply": {"message": "ok"}}], "line 2: reply.message"),
        ([HEAD, {**ANSWER, "reply": {"message": {"content": 5}}}], r"line 2: reply.message.content"),
        ([HEAD, {**ANSWER, "reply": {"message": {"tool_calls": [5]}}}], r"line 2: reply.message.tool_calls.0"),
        ([HEAD, {"request": ASKED, "chunks": [5]}], r"line 2: chunks.0"),
        ([HEAD, {"request": ASKED, "error": {"kind": "RateLimitError"}}], r"line 2: error.text: field required"),
        ([HEAD, {**ANSWER, "request": {"messages": [5]}}], r"line 2: request.messages.0"),
        ([HEAD, ANSWER, {"like": 2, "more": "x", "reply": ANSWER["reply"]}], r"line 3: request.messages.1"),
        ([HEAD, ANSWER, {"like": 9, "more": [], "reply": ANSWER["reply"]}], 'line 3: "like" must be the number'),
        ([HEAD, {**CALL, "text": None}], "line 2: text"),
        ([HEAD, {**CALL, "removed": [1]}], r"line 2: removed.0"),
        ([HEAD, {**CALL, "failed": "maybe"}], "line 2: failed"),
        ([HEAD, {**CALL, "parts": ["x"]}], r"line 2: parts.0"),
    ],
)
def test_a_line_that_is_wrong_is_named(tmp_path: Path, lines: list[dict[str, Any]], said: str) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    with pytest.raises(TapeError, match=said) as caught:
        Swarm(Tape(path)).run(Agent(instructions=None), "hi")
    assert "one.jsonl" in str(caught.value)
    assert "SWARM_RECORD=1" in str(caught.value)


@pytest.mark.parametrize("text", [b"\xff\xfe", b'{"tape": 1}\n' + b"[" * 100_000, b'{"tape": 1}\n{"reply"'])
def test_a_file_that_is_none_is_said_to_be_none(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "one.jsonl"
    path.write_bytes(text)
    with pytest.raises(TapeError, match=r"one\.jsonl"):
        Swarm(Tape(path)).run(Agent(), "hi")


def test_what_a_tape_records_has_the_form(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    Swarm(Tape(path, ScriptedModel(["ok"]), record=True)).run(Agent(), "hi")
    assert Swarm(Tape(path)).run(Agent(), "hi").text == "ok"
