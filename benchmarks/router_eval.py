"""How often `Router` is sure and right, what `similar_to` finds, what `SmallModel(tools=)` keeps: `python -m benchmarks.router_eval`.

The messages are those of tests/data/offline to six triage agents; the examples stand in route_examples.json beside them. Tools are
chosen for the messages of all sets, out of all their functions together.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from swarm.meaning import Embed, Known, sentence_model
from swarm.models.offline.embedder import WordOverlap
from swarm.policies.fewer import about

DATA = Path(__file__).parent.parent / "tests" / "data" / "offline"
SETS = ("dev", "own", "heldout", "last")


class Measured(NamedTuple):
    """What a router made of the messages."""

    threshold: float
    margin: float
    messages: int
    for_an_agent: int
    sure: int
    right: int

    def __str__(self) -> str:
        return (
            f"| {self.threshold} | {self.margin} | {self.sure} of {self.messages} | {self.right} | {self.right / self.for_an_agent:.2f} |"
        )


def _likeness() -> list[tuple[str, dict[str, float]]]:
    """Of each message the way that is right, and how near the nearest example of each way is."""
    examples: dict[str, dict[str, list[str]]] = json.loads((DATA / "route_examples.json").read_text(encoding="utf-8"))
    known = {(graph, way): Known(texts) for graph, ways in examples.items() for way, texts in ways.items()}
    rows: list[tuple[str, dict[str, float]]] = []
    for name in SETS:
        items: list[dict[str, Any]] = json.loads((DATA / f"offline_routing_{name}.json").read_text(encoding="utf-8"))["items"]
        for item in items:
            ways = {way: max(known[item["graph"], way].likeness(item["text"])) for way in examples.get(item["graph"], ())}
            if ways:
                rows.append((item["label"], ways))
    return rows


def measured(threshold: float, margin: float) -> Measured:
    """What a router with these settings makes of the messages."""
    rows = _likeness()
    sure = right = 0
    for label, ways in rows:
        (best, near), (_, second), *_ = sorted(ways.items(), key=lambda entry: -entry[1])
        if near >= threshold and near - second >= margin:
            sure += 1
            right += best == label
    return Measured(threshold, margin, len(rows), sum(label in ways for label, ways in rows), sure, right)


def kept(count: int, embed: Embed) -> tuple[int, int, int]:
    """Of how many functions, for how many messages, and for how many of those the right one is among the `count` nearest."""
    sets = [json.loads((DATA / f"offline_routing_{name}.json").read_text(encoding="utf-8")) for name in SETS]
    offers = {tool["function"]["name"]: tool for data in sets for graph in data["graphs"].values() for tool in graph["tools"]}
    offers = {name: tool for name, tool in offers.items() if not name.startswith(("transfer_to", "transfer_back", "escalate"))}
    known = Known([about(tool, None) for tool in offers.values()], embed)
    items = [item for data in sets for item in data["items"] if item["label"] in offers]
    found = 0
    for item in items:
        likeness = dict(zip(offers, known.likeness(item["text"]), strict=True))
        found += item["label"] in sorted(offers, key=lambda name: -likeness[name])[:count]
    return len(offers), len(items), found


def report() -> None:
    print("| threshold | margin | sure | right | of those for an agent |")
    for threshold in (0.3, 0.4, 0.5, 0.6):
        for margin in (0.0, 0.1, 0.2):
            print(measured(threshold, margin))
    rows = _likeness()
    print("| threshold of similar_to | holds rightly | wrongly | of those it should hold for |")
    wanted = sum(label in ways for label, ways in rows)
    for threshold in (0.3, 0.4, 0.5, 0.6):
        held = [way == label for label, ways in rows for way, near in ways.items() if near >= threshold]
        print(f"| {threshold} | {sum(held)} | {len(held) - sum(held)} | {sum(held) / wanted:.2f} |")
    print("| tools | by meaning | by words |")
    for count in (4, 8, 12, 16):
        shares = [found / messages for _, messages, found in (kept(count, sentence_model()), kept(count, WordOverlap().embed))]
        print(f"| {count} | {shares[0]:.2f} | {shares[1]:.2f} |")


if __name__ == "__main__":
    report()
