"""What may go wrong with a session or its store."""

from __future__ import annotations

from ...errors import SwarmError

__all__ = ["SessionConflict", "SessionError", "StoreError"]


class SessionError(SwarmError):
    """A session cannot be used as it was asked for; the root of these errors."""


class SessionConflict(SessionError):
    """Another run is at work on the session, or was since this one read it. Nothing of what was to be kept now is kept."""


class StoreError(SessionError):
    """The store cannot be read or written: not reached, full, damaged, encrypted with another key, or made by a newer release."""
