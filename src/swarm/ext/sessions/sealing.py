"""Encryption of what a store keeps: AES-256-GCM (NIST SP 800-38D), one nonce a text, bound to the place where the text stands, so that
whoever can write to the database cannot move a text to another session unseen.
"""

from __future__ import annotations

import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from ...errors import ConfigError
from .errors import StoreError

_MARK = "sealed:"
_KEY_BYTES, _NONCE_BYTES = 32, 12


def new_key() -> str:
    """A new random key for `SessionStore(keys=[...])`: keep it in a secret store, and apart from backups of the database."""
    return urlsafe_b64encode(os.urandom(_KEY_BYTES)).decode()


class Sealer:
    """Seals and opens texts.

    Args:
        keys: as `new_key` makes them; the first seals, all open. None: texts are kept as they are.

    Raises:
        ConfigError: something that is no key, or the extra is missing.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        if isinstance(keys, str):
            raise ConfigError("keys must be a list of keys, the newest first: SessionStore(keys=[key])")
        self._ciphers: dict[str, Any] = dict(map(_cipher, keys))
        self._first = next(iter(self._ciphers), None)

    @property
    def seals(self) -> bool:
        """Whether there is a key."""
        return self._first is not None

    def seal(self, text: str, place: str) -> str:
        """A text as it is kept at a place."""
        if self._first is None:
            return text
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._ciphers[self._first].encrypt(nonce, text.encode(), place.encode())
        return f"{_MARK}{self._first}:{urlsafe_b64encode(nonce + sealed).decode()}"

    def opened(self, kept: str, place: str) -> str:
        """The text that is kept at a place.

        Raises:
            StoreError: no key fits, or it was changed or moved.
        """
        if not kept.startswith(_MARK):
            return kept
        name, _, sealed = kept.removeprefix(_MARK).partition(":")
        if name not in self._ciphers:
            raise StoreError(
                f"{place} is encrypted with the key {name!r}, which was not given: SessionStore(keys=[..., that key]), "
                "or SWARM_SESSION_KEYS on the command line"
            )
        from cryptography.exceptions import InvalidTag

        try:
            raw = urlsafe_b64decode(sealed)
            return self._ciphers[name].decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], place.encode()).decode()
        except (InvalidTag, ValueError):
            raise StoreError(f"{place} cannot be decrypted: it was changed, or stood elsewhere; put a backup in its place") from None


def _cipher(key: str) -> tuple[str, Any]:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ModuleNotFoundError:
        raise ConfigError('encryption needs cryptography, which is not installed: pip install "openswarm[encryption]"') from None
    try:
        raw = urlsafe_b64decode(key)
    except (ValueError, TypeError):
        raw = b""
    if len(raw) != _KEY_BYTES:
        raise ConfigError("one of the keys is no key: make one with swarm.ext.sessions.new_key()")
    return sha256(raw).hexdigest()[:8], AESGCM(raw)
