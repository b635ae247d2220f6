"""Which function an utterance asks for, or none: a weighted sum of a few measured features per function, the highest wins."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from .embedder import Embedder, Vector, similarity
from .functions import Function
from .prototypes import GENERAL_KNOWLEDGE, KIND_THRESHOLD, KINDS, SMALL_TALK
from .spans import dates, numbers
from .words import (
    clauses,
    is_acknowledgement,
    is_question,
    language,
    stems,
    tells_a_number,
    wants_only_to_know,
    wants_somebody,
    without_negation,
)

Features: TypeAlias = dict[str, float]

WEIGHTS: Mapping[str, float] = {
    "best_part": 5.2,
    "closing": 4.7,
    "closing_like": 2.5,
    "elsewhere": 2.6,
    "elsewhere_like": 3.3,
    "evidence": 4.8,
    "human_named": 10.0,
    "kind_like": 7.8,
    "name": 4.2,
    "never": -100.0,
    "none": 1.2,
    "none_acknowledges": 2.7,
    "none_knowledge": 5.4,
    "none_question": 3.0,
    "none_small_talk": 5.5,
    "none_tells": 4.5,
    "overlap": 2.2,
    "question_acts": -4.3,
    "question_answers": 4.7,
    "question_looks": 0.7,
    "whole": 4.5,
}
"""Found by `python -m benchmarks.offline_fit`: multinomial logistic regression over 262 utterances to 31 agent graphs. With these weights
.91 of them go where they should, and .89 when each graph is judged by the weights that the others give. Only ratios matter.
Two are set by hand: "never", and "human_named" (1.4 by the fit), since a plain wish for a person should outrank everything."""

SMALL_TALK_FLOOR = 0.3
"""Similarity to small talk below which it says nothing: every short text has some. (Requests in the sets: .1 to .35.)"""

LIKE_FLOOR = 0.25
"""Similarity to example utterances below which they say nothing, so that a function gains nothing by merely having examples."""

CLOSING_FLOOR = 0.38
"""Similarity to closing words below which a case is not closed, whatever else fits worse.
(In the sets: closings .43 and more, others .34 and less.)"""

_EMAIL_PARAMETER = re.compile(r"mail|recipient|address|^to$", re.I)
_ID_PARAMETER = re.compile(r"(?:_id|number|_no|code|tag)$|^id$", re.I)
_PLACE_PARAMETER = re.compile(r"city|location|place|destination", re.I)
_DATE_PARAMETER = re.compile(r"date|day|time|when|start|check_in|month", re.I)
_ID = re.compile(r"\d")
_PLACE = re.compile(r"\b(?:in|to|for|at) [A-Z][a-z]")


class Router:
    """Chooses among functions.

    Args:
        embedder: turns texts into vectors; should remember them, since functions and prototypes come back with each request.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def scores(self, utterance: str, functions: Sequence[Function]) -> list[float]:
        """How well each function fits, in the order given, and at the end how well none does. Differences count, not sizes."""
        return [sum(WEIGHTS[name] * value for name, value in row.items()) for row in self.features(utterance, functions)]

    def features(self, utterance: str, functions: Sequence[Function]) -> list[Features]:
        """What is measured of each function, and at the end of "none"."""
        text = without_negation(utterance)
        parts = self._embedder.embed(clauses(text))
        said, question = set(stems(text)), is_question(text)
        only_to_know, acknowledges = wants_only_to_know(text), is_acknowledgement(text)
        small_talk = self._best(parts[:1], (*SMALL_TALK, *KINDS["closing"][1]))
        rows: list[Features] = []
        for function in functions:
            row = self._by_role(function, parts, small_talk) or self._by_meaning(function, parts, wants_somebody(text))
            if function.role not in ("closing", "elsewhere"):
                shared = (1 / sum(stem in other.stems for other in functions) for stem in said & function.stems)
                row["overlap"] = min(1.0, sum(shared) / 2)
                row["evidence"] = _evidence(function, utterance)
            row["question_answers"] = float(question and function.role == "answers")
            row["question_looks"] = float(question and function.looks and function.role != "answers")
            row["question_acts"] = float(question and function.acts and function.role != "answers")
            if (function.acts and only_to_know) or (acknowledges and function.role != "closing"):
                row["never"] = 1.0
            rows.append(row)
        rows.append(
            {
                "none": 1.0,
                "none_small_talk": max(0.0, small_talk - SMALL_TALK_FLOOR),
                "none_knowledge": self._best(parts[:1], GENERAL_KNOWLEDGE),
                "none_question": float(question),
                "none_acknowledges": float(acknowledges),
                "none_tells": float(tells_a_number(text)),
            }
        )
        return rows

    def _by_role(self, function: Function, parts: Sequence[Vector], small_talk: float) -> Features | None:
        """Functions that close a case or lead elsewhere are told by what people say to them; their own words mislead."""
        if function.role not in ("closing", "elsewhere"):
            return None
        likeness = self._best(parts, (*KINDS[function.role][1], *function.hint.examples))
        if function.role == "closing" and likeness < CLOSING_FLOOR:
            return {"never": 1.0}
        if function.role == "elsewhere":
            likeness -= max(0.0, small_talk - SMALL_TALK_FLOOR)
        return {function.role: 1.0, f"{function.role}_like": max(0.0, likeness)}

    def _by_meaning(self, function: Function, parts: Sequence[Vector], somebody: bool) -> Features:
        whole = parts[:1]
        row = {"whole": self._best(whole, (function.about,)), "name": self._best(whole, (function.phrase,))}
        row["best_part"] = self._best(parts, function.facets)
        if function.role == "human":
            row["human_named"] = float(somebody)
        row["kind_like"] = max(0.0, self._best(parts, function.hint.examples) - LIKE_FLOOR)
        for kind, (own_words, utterances) in KINDS.items():
            if kind in ("closing", "elsewhere") or (kind == "human") != (function.role == "human"):
                continue
            certainty = 1.0 if kind == function.role else self._best(self._embedder.embed((function.about, function.phrase)), own_words)
            if certainty >= KIND_THRESHOLD:
                row["kind_like"] = max(row["kind_like"], certainty * (self._best(parts, utterances) - LIKE_FLOOR))
        return row

    def _best(self, parts: Sequence[Vector], texts: Sequence[str]) -> float:
        return max((similarity(part, vector) for vector in self._embedder.embed(texts) for part in parts), default=0.0)


def _evidence(function: Function, utterance: str) -> float:
    """Whether the utterance holds what the function's parameters ask for, from -1 to 1."""
    names, score = function.properties, 0.0
    if "@" in utterance:
        score += any(_EMAIL_PARAMETER.search(name) for name in names)
    elif any(_EMAIL_PARAMETER.search(name) for name in function.required):
        score -= 0.3
    ids = [name for name in names if _ID_PARAMETER.search(name)]
    if _ID.search(utterance):
        score += 0.5 if ids else 0.0
    elif any(name in function.required for name in ids):
        score -= 0.5
    if _PLACE.search(utterance) and any(_PLACE_PARAMETER.search(name) for name in names):
        score += 0.5
    if any(_DATE_PARAMETER.search(name) for name in names) and dates(utterance):
        score += 0.5
    if any(schema.get("type") in ("integer", "number") for name, schema in names.items() if name not in ids) and numbers(utterance):
        score += 0.3
    options = (str(option) for schema in names.values() for option in schema.get("enum") or ())
    score += 0.5 * any(re.search(rf"\b{re.escape(option)}\b", utterance, re.I) for option in options)
    spoken = language(utterance)
    score += bool(spoken) and spoken in function.about.lower()
    return max(-1.0, min(1.0, score))
