"""What turns texts into vectors: the model file that was measured, a bounded memory, the stand-in without it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from swarm.errors import ConfigError
from swarm.models.offline import embedder
from swarm.models.offline.embedder import Cached, MiniLM, Vector, WordOverlap, best_available, similarity


def test_similar_texts_are_close() -> None:
    cat, kitten, tax = MiniLM().embed(["a cat", "a kitten", "income tax"])
    assert similarity(cat, kitten) > 0.6 > 0.3 > similarity(cat, tax)
    assert similarity(cat, cat) == pytest.approx(1.0, abs=1e-5)


def test_vectors_do_not_depend_on_what_else_is_embedded() -> None:
    """Padding is off: a text has the same vector alone and beside a longer one."""
    minilm = MiniLM()
    assert minilm.embed(["hello"])[0] == minilm.embed(["hello", "a much longer text " * 10])[0]


def test_only_the_first_tokens_of_a_long_text_count() -> None:
    minilm = MiniLM()
    long = "word " * 2_000
    assert minilm.embed([long])[0] == minilm.embed([long + "something else"])[0]


def test_another_model_file_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "model.onnx"
    other.write_bytes(b"no model")
    with pytest.raises(ConfigError, match="is not the model this router was measured with"):
        MiniLM(other).embed(["hello"])


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(embedder.importlib, "import_module", missing)
    with pytest.raises(ConfigError, match=r'numpy: pip install "openswarm\[offline\]"'):
        MiniLM().embed(["hello"])


def test_without_the_packages_words_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedder, "PACKAGES", ("no_such_package",))
    assert isinstance(best_available(), Cached)
    assert isinstance(best_available().inner, WordOverlap)


def test_word_overlap_is_the_share_of_common_words() -> None:
    same, stemmed, other, nothing = WordOverlap().embed(["cancel the flight", "flights cancelled", "order pizza", "the of"])
    assert similarity(same, stemmed) == pytest.approx(1.0)
    assert similarity(same, other) == 0.0
    assert similarity(nothing, nothing) == 0.0
    assert math.isclose(similarity(same, same), 1.0)


class Counting:
    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.asked += texts
        return [[float(len(text))] for text in texts]


def test_a_text_is_embedded_once() -> None:
    inner = Counting()
    cached = Cached(inner)
    assert cached.embed(["a", "bb", "a"]) == [[1.0], [2.0], [1.0]]
    assert cached.embed(["bb", "ccc"]) == [[2.0], [3.0]]
    assert inner.asked == ["a", "bb", "ccc"]


def test_the_memory_is_bounded_and_forgets_what_was_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedder, "CACHED_TEXTS", 2)
    inner = Counting()
    cached = Cached(inner)
    for text in ("a", "b", "a", "c", "a", "b"):
        cached.embed([text])
    assert inner.asked == ["a", "b", "c", "b"]
