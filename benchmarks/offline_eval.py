"""How well the offline model routes and fills arguments: `python -m benchmarks.offline_eval [--words] [--wrong] [set ...]`.

Sets are files of tests/data/offline without `offline_` and `.json`; by default all of them. `--words` uses the stand-in without the
embedding model, `--wrong` also lists what went wrong.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

from swarm.models.offline.arguments import fill
from swarm.models.offline.embedder import Cached, WordOverlap, best_available
from swarm.models.offline.functions import Function, as_dict, read
from swarm.models.offline.router import Router

DATA = Path(__file__).parent.parent / "tests" / "data" / "offline"


def load(name: str) -> dict[str, Any]:
    return json.loads((DATA / f"offline_{name}.json").read_text(encoding="utf-8"))


def route(router: Router, data: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Graph, utterance, expected function and chosen function of each item."""
    answers: list[tuple[str, str, str, str]] = []
    for item in data["items"]:
        functions = read(data["graphs"][item["graph"]]["tools"], {})
        scores = router.scores(item["text"], functions)
        names = [function.name for function in functions] + ["none"]
        answers.append((item["graph"], item["text"], item["label"], names[scores.index(max(scores))]))
    return answers


def matches(expected: Any, got: Any) -> bool:
    """Whether an argument is as expected: the value, one of `any`, or a text with all the words of `kw`."""
    rule = as_dict(expected)
    if "any" in rule:
        return any(matches(option, got) for option in rule["any"])
    if "kw" in rule:
        return got is not None and all(str(word).lower() in str(got).lower() for word in rule["kw"])
    return got == expected


def wrong_arguments(data: dict[str, Any]) -> list[tuple[str, str, dict[str, Any], dict[str, Any]]]:
    """Function, utterance, expected and found arguments of each case that is not right."""
    wrong: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = []
    for case in data["cases"]:
        found = fill(Function(data["schemas"][case["function"]]), case["text"])
        if not all(matches(value, found.get(name)) for name, value in case["expect"].items()):
            wrong.append((case["function"], case["text"], case["expect"], found))
    return wrong


def report_routing(name: str, router: Router, show: bool) -> None:
    started = time.perf_counter()
    answers = route(router, load(name))
    spent = (time.perf_counter() - started) / len(answers)
    right = sum(label == chosen for *_, label, chosen in answers)
    print(f"{name}: {right} of {len(answers)} right ({right / len(answers):.3f}), {spent * 1000:.1f} ms an utterance")
    said, hit, called = Counter[str](), Counter[str](), Counter[str]()
    for *_, label, chosen in answers:
        said[label] += 1
        called[chosen] += 1
        hit[label] += label == chosen
    print(f"    {'function':34}{'asked for':>10}{'chosen':>8}{'right':>7}")
    for label in sorted(said | called):
        print(f"    {label:34}{said[label]:>10}{called[label]:>8}{hit[label]:>7}")
    for graph, text, label, chosen in answers if show else ():
        if label != chosen:
            print(f"    wrong, {graph}: {text!r} is {label}, got {chosen}")


def report_arguments(name: str, show: bool) -> None:
    data = load(name)
    wrong = wrong_arguments(data)
    total = len(data["cases"])
    print(f"{name}: {total - len(wrong)} of {total} right ({1 - len(wrong) / total:.3f})")
    for function, text, expected, found in wrong if show else ():
        print(f"    wrong, {function}: {text!r}\n        expected {expected}\n        found    {found}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", action="store_true")
    parser.add_argument("--wrong", action="store_true")
    parser.add_argument("sets", nargs="*")
    options = parser.parse_args()
    router = Router(Cached(WordOverlap()) if options.words else best_available())
    for name in options.sets or sorted(path.stem.removeprefix("offline_") for path in DATA.glob("offline_*.json")):
        if name.startswith("arguments"):
            report_arguments(name, options.wrong)
        else:
            report_routing(name, router, options.wrong)


if __name__ == "__main__":
    main()
