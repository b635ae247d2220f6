"""Where the weights of the offline router come from: `python -m benchmarks.offline_fit` prints them, and how well they carry over.

Multinomial logistic regression: the option with the highest weighted sum of features should be the labelled one. It is fitted on the two
sets that may be used for that; each agent graph is also left out once and judged by the weights of the others, which is the honest number.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from swarm.models.offline.embedder import best_available
from swarm.models.offline.functions import read
from swarm.models.offline.router import Router

DATA = Path(__file__).parent.parent / "tests" / "data" / "offline"
SETS = ("offline_routing_dev.json", "offline_routing_own.json")
SHRINKAGE = 0.0005
"""Weight of the squared weights in the loss; the best of .0003, .001, .003, .01 when graphs are left out."""
STEPS, RATE = 600, 0.3


class Item:
    """One utterance: the features of each option, and which one is right."""

    def __init__(self, graph: str, rows: list[dict[str, float]], right: int) -> None:
        self.graph = graph
        self.rows = rows
        self.right = right

    def matrix(self, names: list[str]) -> Any:
        return np.array([[row.get(name, 0.0) for name in names] for row in self.rows])


def items(router: Router) -> list[Item]:
    found: list[Item] = []
    for name in SETS:
        data = json.loads((DATA / name).read_text(encoding="utf-8"))
        for item in data["items"]:
            functions = read(data["graphs"][item["graph"]]["tools"], {})
            options = [function.name for function in functions] + ["none"]
            found.append(Item(item["graph"], router.features(item["text"], functions), options.index(item["label"])))
    return found


def fit(sample: list[tuple[Any, int]], width: int) -> Any:
    """Adam on the mean log loss; deterministic."""
    weights, mean, square = np.zeros(width), np.zeros(width), np.zeros(width)
    for step in range(1, STEPS + 1):
        slope = SHRINKAGE * weights
        for rows, right in sample:
            odds = np.exp(rows @ weights - np.max(rows @ weights))
            odds /= odds.sum()
            odds[right] -= 1
            slope = slope + rows.T @ odds / len(sample)
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        rate = RATE if step <= STEPS / 2 else RATE / 3
        weights -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return weights


def share_right(sample: list[tuple[Any, int]], weights: Any) -> float:
    return sum(int(np.argmax(rows @ weights)) == right for rows, right in sample) / len(sample)


def main() -> None:
    found = items(Router(best_available()))
    names = sorted({name for item in found for row in item.rows for name in row} - {"never"})
    sample = {item: (item.matrix(names), item.right) for item in found}
    weights = fit(list(sample.values()), len(names))
    for name, weight in zip(names, weights, strict=True):
        print(f"    {name!r}: {weight:.1f},")
    print(f"# right on the sets themselves: {share_right(list(sample.values()), weights):.3f}")
    right = 0.0
    for graph in sorted({item.graph for item in found}):
        out = [pair for item, pair in sample.items() if item.graph == graph]
        right += len(out) * share_right(out, fit([pair for item, pair in sample.items() if item.graph != graph], len(names)))
    print(f"# right on graphs left out: {right / len(found):.3f}")


if __name__ == "__main__":
    main()
