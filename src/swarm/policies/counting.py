"""Counts tokens with tiktoken where it is installed and has its vocabulary on this machine. It would download what it has not got, so it is
asked only for what its cache holds, whole.
"""

from __future__ import annotations

import os
from hashlib import sha1, sha256
from importlib import import_module
from pathlib import Path
from tempfile import gettempdir

from ..tokens import Counter, about

# Where tiktoken takes its vocabularies from, by which its cache names them, and what they are: https://github.com/openai/tiktoken
_PLACE = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
_HASHES = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}


KNOWN: dict[str, Counter] = {}
"""How texts are counted, by model, as far as it was asked."""


def counter_for(model: str) -> Counter:
    """How the texts of a model are counted best, without a network: by tiktoken, whose vocabulary takes a while to read, or by estimate."""
    KNOWN[model] = counter = _counter_for(model)
    return counter


def _counter_for(model: str) -> Counter:
    try:
        tiktoken = import_module("tiktoken")
        name = tiktoken.encoding_name_for_model(model)
        if not _is_here(name):
            return about
        encode = tiktoken.get_encoding(name).encode
    except Exception:  # not installed, a model that it does not know, a version that is different
        return about
    return lambda text: len(encode(text, disallowed_special=()))


def _is_here(encoding: str) -> bool:
    """Whether tiktoken has a vocabulary in its cache; a damaged file would be downloaded again, so it is looked at."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR", str(Path(gettempdir(), "data-gym-cache"))))
    path = Path(folder, sha1(_PLACE.format(encoding).encode()).hexdigest())
    return bool(folder) and path.is_file() and sha256(path.read_bytes()).hexdigest() == _HASHES.get(encoding)
