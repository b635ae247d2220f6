"""What counts as a handoff in words only, in five languages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from swarm.policies.narration import MOST_CHARACTERS, narrates

DATA = Path(__file__).parent.parent / "data" / "narration"


@pytest.mark.parametrize(("name", "narrated", "ordinary", "found", "wrong"), [("dev", 46, 54, 46, 0), ("heldout", 30, 35, 30, 0)])
def test_what_was_measured(name: str, narrated: int, ordinary: int, found: int, wrong: int) -> None:
    """H19: the numbers that the module and the guide give."""
    texts = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    said = {kind: [text for group in texts[kind].values() for text in group] for kind in ("narrated", "ordinary")}
    assert {len(texts[kind]) for kind in texts} == {5}
    assert (len(said["narrated"]), len(said["ordinary"])) == (narrated, ordinary)
    assert (sum(map(narrates, said["narrated"])), sum(map(narrates, said["ordinary"]))) == (found, wrong)


def test_one_sentence_is_enough() -> None:
    assert narrates("I see. That is annoying.\n\nI'll transfer you to sales. Please wait!")
    assert narrates("Can I help? I'll transfer you to sales.")
    assert not narrates("")


def test_only_the_end_of_a_long_text_is_looked_at() -> None:
    assert not narrates("I'll transfer you to sales. " + "x" * MOST_CHARACTERS)
    assert narrates("x " * MOST_CHARACTERS + "\nI'll transfer you to sales.")
