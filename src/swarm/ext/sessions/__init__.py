"""Conversations that outlive their runs, in SQLite or PostgreSQL (extra `sessions`). See docs/sessions.md.

store = SessionStore("sessions.db")
client.run(agent, "Hello", session=store.session("user-42"))
"""

from .errors import SessionConflict, SessionError, StoreError
from .keeping import BaseSession, Hold, Status
from .records import SessionInfo
from .sealing import new_key
from .store import SessionStore
from .stored import StoredSession

__all__ = [
    "BaseSession",
    "Hold",
    "SessionConflict",
    "SessionError",
    "SessionInfo",
    "SessionStore",
    "Status",
    "StoreError",
    "StoredSession",
    "new_key",
]
