"""Numbered routines, as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm.inspection.routines import references, routines_in

WRITTEN = [
    ("1. Ask.\n2. Tell.", [["1", "2"]]),
    ("1) Ask.\n2) Tell.", [["1", "2"]]),
    ("(1) Ask.\n(2) Tell.", [["1", "2"]]),
    ("Step 1: Ask.\nStep 2: Tell.", [["1", "2"]]),
    ("**Step 1**: Ask.\n**Step 2:** Tell.\n### Step 3: End", [["1", "2", "3"]]),
    ("- 1. Ask.\n- 2. Tell.", [["1", "2"]]),
    ("Do this: 1. Ask. 2. Tell. 3. End.", [["1", "2", "3"]]),
    ("Follow:\n1. Ask\n - unless told\n 2. Tell\n 3. End", [["1", "2", "3"]]),
    ("1. Ask.\n   1a. Yes.\n   1B) No.\n2. Tell.", [["1", "1a", "1b", "2"]]),
    ("1. Ask.\n   a. Yes.\n   b) No.\n2. Tell.", [["1", "1a", "1b", "2"]]),
    ("1. Ask for\n   1. the name\n   2. the number\n2. Tell.\n3. End.", [["1", "2", "3"], ["1", "2"]]),
    ("Refund:\n1. Ask.\n2. Pay.\n\nSale:\n1. Ask.\n2. Sell.", [["1", "2"], ["1", "2"]]),
    ("In version 2. it takes 3 to 5 days, since 2024. Then 4. more", []),
    ("It costs 3.50. Pay 2.5 of it.", []),
    ("1. Ask, and nothing else.", []),
    ("a. one\n b. two", []),
]


@pytest.mark.parametrize(("text", "steps"), WRITTEN)
def test_the_steps_of_a_text(text: str, steps: list[list[str]]) -> None:
    assert [[step.name for step in routine.steps] for routine in routines_in(text)] == steps


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("go to step 4", ["4"]),
        ("Go back to 2a.", ["2a"]),
        ("repeat steps 2 to 4, and see step 7", ["2", "4", "7"]),
        ("steps 1, 3 and 5b", ["1", "3", "5b"]),
        ("go to 5 stores; back to 10 percent", []),
        ("Step 1: wait 3 to 5 days", []),
        ("for example 2a or 2b", []),
    ],
)
def test_references(text: str, expected: list[str]) -> None:
    assert references(text) == expected


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("1. Ask.\n2. Tell.", True),
        ("1. Ask.\n2. Go to step 1.", False),
        ("1. Ask.\n2. Start over.", False),
        ("1. Ask.\n2. If they want more, go to step 1.", True),
        ("1. Ask.\n2. Say goodbye, then go to step 1.", True),
        ("1. Ask.\n2. Call case_resolved, then go to step 1.", True),
        ("1. Ask.\n  1a. Yes: go to step 2.\n  1b. No: go to step 1.\n2. Start over.", False),
        ("1. Ask.\n  1a. Yes: go to step 2.\n  1b. No: take note.\n2. Tell.", True),
        ("1. Go to step 3.\n2. End it.\n3. Go to step 1.", False),
    ],
)
def test_whether_a_routine_ends(text: str, ends: bool) -> None:
    (routine,) = routines_in(text)
    assert routine.ends() is ends


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("1. a\n2. b\n3. c", []),
        ("3. a\n4. b", []),
        ("1. a\n3. c", ["there is no step 2, but a step 3"]),
        ("1. a\n2. b\n2. c", ["step 2 stands 2 times"]),
        ("1. a\n2a. b\n3. c", ["step 2a has no step 2"]),
        ("1. a\n 1a. b\n 1c. c", ["step 1c comes without step 1b"]),
    ],
)
def test_faults(text: str, faults: list[str]) -> None:
    (routine,) = routines_in(text)
    assert list(routine.faults()) == faults


PIECES = st.sampled_from(
    ["1", "2", "3a", "12", ". ", ") ", "\n", "  ", "Step ", "go to step ", "if ", "a. ", "- ", "**", "x", "\ufffc\n", "١."]
)


@given(st.lists(PIECES, max_size=30).map("".join))
def test_any_text_can_be_read(text: str) -> None:
    for routine in routines_in(text):
        assert isinstance(routine.ends(), bool)
        assert all(isinstance(fault, str) for fault in routine.faults())
    assert len(set(references(text))) == len(references(text))


@given(st.lists(st.booleans(), min_size=2, max_size=9), st.sampled_from(["{}. ", "{}) ", "Step {}: ", "**{}.** "]))
def test_a_routine_written_in_order_has_no_faults(branches: list[bool], form: str) -> None:
    lines: list[str] = []
    names: list[str] = []
    for number, branch in enumerate(branches, 1):
        lines.append(form.format(number) + "Do it.")
        names.append(str(number))
        if branch:
            lines += [f"   {number}a. Yes.", f"   {number}b. No."]
            names += [f"{number}a", f"{number}b"]
    (routine,) = routines_in("\n".join(lines))
    assert ([step.name for step in routine.steps], list(routine.faults()), routine.ends()) == (names, [], True)
