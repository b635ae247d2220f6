"""What the report says of samples: which rows miss the goal, who is ahead."""

from __future__ import annotations

from benchmarks.contest import Entrant, Sample
from benchmarks.report import Results, goals, verdict

ENTRANTS = [
    Entrant(name, "", "", facts={"is_async": is_async})
    for name, is_async in [("urllib3", False), ("swarm", False), ("aiohttp", True), ("swarm-async", True), ("slow", True), ("fast", True)]
]


def results(**costs: float) -> Results:
    samples = [
        Sample(number, "tool", name.replace("_", "-"), 10, cost * (1 + number), 1.0, {"requests": 20.0, "bytes": 1.0, "most_at_once": 1.0})
        for name, cost in costs.items()
        for number in range(3)
    ]
    return Results(samples, ENTRANTS)


def test_all_is_well() -> None:
    found = results(urllib3=1.0, swarm=1.4, aiohttp=1.0, swarm_async=0.9, slow=7.0)
    assert verdict(found) == "Over the goal of 1.4: nothing.\nAhead of us: nobody."
    assert "1.40 (1.40 to 1.40)" in goals(found)


def test_a_row_over_the_goal_is_named() -> None:
    found = results(urllib3=1.0, swarm=1.2, aiohttp=1.0, swarm_async=1.5)
    assert verdict(found).startswith("Over the goal of 1.4: one tool call, then the answer, swarm-async: 1.50.")


def test_a_peer_is_ahead_if_it_beats_the_slower_of_our_modes() -> None:
    found = results(urllib3=1.0, swarm=1.2, aiohttp=1.0, swarm_async=1.0, fast=1.1, slow=1.3)
    assert verdict(found).endswith("Ahead of us: fast, one tool call, then the answer.")
