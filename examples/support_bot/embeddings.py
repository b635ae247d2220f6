"""Texts to vectors: by the sentence model on this machine, or by an endpoint that speaks OpenAI's embeddings API."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from typing import Any, Protocol, cast

from swarm.meaning import sentence_model
from swarm.models.offline.embedder import MODEL_SHA256

from .errors import HelpCenterError

USUAL_URL = "https://api.openai.com/v1"
SECONDS = 30.0
TRIES = 3
LONGEST = 3.4e38
"""Above it 32-bit floats end, in which an index keeps its vectors."""


class Embedder(Protocol):
    """Turns texts into vectors.

    Attributes:
        model: names the model so that another one has another name; recorded with an index.
        floor: the cosine below which an article does not answer a question; 0.0 where that was not measured.
    """

    model: str
    floor: float

    def embed(self, texts: Sequence[str]) -> list[list[float]]: ...


class Offline:
    """The sentence model of the extra `offline`; its file is known by its hash.

    Raises:
        ConfigError: the extra is not installed.
    """

    model = f"all-MiniLM-L6-v2 int8, sha256 {MODEL_SHA256[:12]}"
    floor = 0.21
    """Chosen on the development half of `questions.json`: of its questions about something else 7 of 8 find nothing nearer than .205,
    and of the 32 that an article answers 3 do not either, none of which would have been answered rightly."""

    def __init__(self) -> None:
        self._embed = sentence_model()

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [list(vector) for vector in self._embed(texts)]


class Endpoint:
    """An embeddings endpoint (platform.openai.com/docs/api-reference/embeddings). Refusals that may pass are tried again.

    Args:
        model: the model's name.
        base_url: up to and without "/embeddings"; else OPENAI_BASE_URL, else OpenAI's.
        api_key: else OPENAI_API_KEY; none is sent where there is none.
    """

    floor = 0.0

    def __init__(self, model: str, base_url: str | None = None, api_key: str | None = None) -> None:
        self._name = model
        self._url = f"{(base_url or os.environ.get('OPENAI_BASE_URL') or USUAL_URL).rstrip('/')}/embeddings"
        self._key = api_key if api_key is not None else os.environ.get("OPENAI_API_KEY", "")
        self.model = f"{model} at {self._url.removesuffix('/embeddings')}"

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text.

        Raises:
            HelpCenterError: the endpoint cannot be reached, refuses, or answers something else.
        """
        body = self._post({"model": self._name, "input": list(texts), "encoding_format": "float"})
        try:
            data = cast("list[dict[str, Any]]", json.loads(body)["data"])
            vectors = [[float(number) for number in entry["embedding"]] for entry in sorted(data, key=lambda entry: entry["index"])]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise HelpCenterError(f"{self._url} answered no embeddings: {_beginning(body)!r}; is it an embeddings endpoint?") from None
        sizes = {len(vector) for vector in vectors}
        if len(vectors) != len(texts) or len(sizes) != 1 or 0 in sizes:
            raise HelpCenterError(f"{self._url} answered {len(vectors)} vectors of the sizes {sorted(sizes)} for {len(texts)} texts")
        if not all(0 < math.hypot(*vector) < LONGEST for vector in vectors):
            raise HelpCenterError(f"{self._url} answered a vector that has no direction: its numbers are all 0, too large, or none")
        return vectors

    def _post(self, request: dict[str, Any]) -> bytes:
        import urllib3

        if not (self._key.isascii() and self._key.isprintable()):
            raise HelpCenterError("OPENAI_API_KEY cannot be sent: it holds a line break, or a letter that is not ASCII")
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self._key}"} if self._key else {})
        retry = urllib3.Retry(TRIES, status_forcelist=(429, 500, 502, 503), allowed_methods=None, backoff_factor=0.2, raise_on_status=False)
        try:
            with urllib3.PoolManager(timeout=SECONDS, retries=retry) as http:
                answer = http.request("POST", self._url, body=json.dumps(request), headers=headers)
                status, body = answer.status, answer.data
        except urllib3.exceptions.HTTPError as error:
            reason = getattr(error, "reason", None) or error
            raise HelpCenterError(f"the embeddings endpoint {self._url} cannot be reached: {reason}") from None
        if status != 200:
            said = _beginning(body).replace(self._key, "***") if self._key else _beginning(body)
            raise HelpCenterError(
                f"{self._url} refused with status {status}: {said!r}; check OPENAI_API_KEY and EMBEDDINGS_MODEL, or set "
                "EMBEDDINGS_MODEL=offline for the model on this machine"
            )
        return body


def _beginning(body: bytes) -> str:
    return " ".join(body[:200].decode("utf-8", "replace").split())
