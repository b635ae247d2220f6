"""The short way that most messages take to the wire gives what the long way gives, for every provider."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm.history import repaired
from swarm.messages import WireHistory
from swarm.models.profiles import PROFILES

texts = st.sampled_from((None, "", "a", "é"))
ids = st.sampled_from(("c1", "call_2", "x" * 50, "a b", "abcdefgh9"))


@st.composite
def histories(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Histories as a run has them: the messages of one kind all have the same keys."""
    found: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(("user", "assistant", "calls", "calls", "system")))
        if kind in ("user", "system"):
            found.append({"role": kind, "content": draw(texts) or "u"})
        elif kind == "assistant":
            found.append({"role": "assistant", "content": draw(texts), "sender": "A", "tool_calls": None})
        else:
            entries = [
                {
                    "id": f"{draw(ids)}{number}{at}",
                    "type": "function",
                    "function": {"name": "f", "arguments": draw(st.sampled_from(("{}", "[1", "")))},
                }
                for at in range(draw(st.integers(1, 2)))
            ]
            found.append({"role": "assistant", "content": draw(texts), "sender": "A", "tool_calls": entries})
            found += [{"role": "tool", "tool_call_id": entry["id"], "tool_name": "f", "content": draw(texts) or ""} for entry in entries]
    return repaired(found, allow_open_tail=False)


def sent(history: list[dict[str, Any]], profile: str, own: bool) -> list[dict[str, Any]]:
    wired = WireHistory(PROFILES[profile])
    wired.add(history[:2], own)
    wired.add(history[2:], own)
    assert wired.count == len(history)
    return wired.with_system("Instructions.")


@pytest.mark.parametrize("profile", PROFILES)
@given(history=histories(), own=st.booleans())
def test_both_ways_give_the_same(profile: str, history: list[dict[str, Any]], own: bool) -> None:
    """P01, P02, P03, P07: a null field more is never sent, but makes a message one that takes the long way."""
    assert sent(history, profile, own) == sent([{**message, "odd": None} for message in history], profile, own)


@pytest.mark.parametrize("profile", PROFILES)
def test_what_is_plain_is_not_copied(profile: str) -> None:
    """A long history of plain messages costs a list: a user's message is the caller's own object."""
    user = {"role": "user", "content": "hi"}
    wired = WireHistory(PROFILES[profile])
    wired.add([user])
    assert wired.with_system(None)[0] is user
