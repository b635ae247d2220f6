"""How often a question finds the article that answers it: `python -m examples.support_bot.retrieval`.

The questions of `questions.json` were written before anything was measured, in words that the articles mostly do not use; some ask for
what no article answers. Whoever changes how articles are found looks at the development half only.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from swarm.errors import ConfigError

from .help_center import HelpCenter, help_center

QUESTIONS = Path(__file__).parent / "questions.json"


class Found(NamedTuple):
    """What one half of the questions came to.

    Attributes:
        first, among: how many found their article as the best, and among the best five.
        answerable: how many have one.
        silent: how many of those without an article found none.
        others: how many have none.
    """

    first: int
    among: int
    answerable: int
    silent: int
    others: int

    def __str__(self) -> str:
        return (
            f"the best is right {self.first} of {self.answerable} ({self.first / self.answerable:.2f}), one of the best five "
            f"{self.among} of {self.answerable} ({self.among / self.answerable:.2f}); nothing found where there is nothing "
            f"{self.silent} of {self.others}"
        )


def questions(half: str) -> list[dict[str, Any]]:
    """The questions of "development" or "held_out": each with the id of its article, or None."""
    return json.loads(QUESTIONS.read_text(encoding="utf-8"))[half]


def measure(center: HelpCenter, half: str) -> Found:
    """Ask all questions of one half."""
    first = among = silent = 0
    asked = questions(half)
    for case in asked:
        ids = [hit.article.id for hit in center.search(case["question"])]
        silent += case["article"] is None and not ids
        first += ids[:1] == [case["article"]]
        among += case["article"] in ids
    answerable = sum(case["article"] is not None for case in asked)
    return Found(first, among, answerable, silent, len(asked) - answerable)


def main() -> None:
    """Print both halves."""
    try:
        center = help_center()
        for half in ("development", "held_out"):
            print(f"{half.replace('_', ' ')}: {measure(center, half)}")
    except ConfigError as error:
        sys.exit(f"Error: {error}")


if __name__ == "__main__":
    main()
