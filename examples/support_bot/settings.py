"""What the environment says: where things are kept, and which servers there are.

| variable | what it is | without it |
| --- | --- | --- |
| SUPPORT_BOT_HOME | the folder of index, tickets and outbox | `openswarm/support_bot` among the user's data |
| QDRANT_URL, QDRANT_API_KEY | a Qdrant server | the index is in the folder |
| EMBEDDINGS_MODEL | a model at the embeddings endpoint, or "offline" | DEFAULT_MODEL if OPENAI_API_KEY is set, else offline |
| OPENAI_API_KEY, OPENAI_BASE_URL | the endpoint | the model on this machine |
| SMTP_URL | smtp://user:password@host:port, or smtps:// | mail stays in the outbox |
| MAIL_FROM | the sender | SENDER |
"""

from __future__ import annotations

import os
from pathlib import Path

DEFAULT_MODEL = "text-embedding-3-small"
SENDER = "support@inkwharf.example"


def home() -> Path:
    """The folder of this application. It is among the user's data, since an installed package need not be writable."""
    named = os.environ.get("SUPPORT_BOT_HOME")
    if named:
        return Path(named).expanduser()
    data = os.environ.get("XDG_DATA_HOME") or os.environ.get("LOCALAPPDATA") or Path.home() / ".local" / "share"
    return Path(data) / "openswarm" / "support_bot"


def qdrant_url() -> str:
    """The server's address, or ""."""
    return os.environ.get("QDRANT_URL", "")


def embeddings_model() -> str:
    """The model at the endpoint, or "" for the one on this machine."""
    if os.environ.get("SWARM_OFFLINE", "").lower() not in ("", "0", "false", "no"):
        return ""
    named = os.environ.get("EMBEDDINGS_MODEL", "")
    if named:
        return "" if named == "offline" else named
    return DEFAULT_MODEL if os.environ.get("OPENAI_API_KEY") else ""


def smtp_url() -> str:
    """The mail server's address, or ""."""
    return os.environ.get("SMTP_URL", "")


def sender() -> str:
    """The address that mail comes from."""
    return os.environ.get("MAIL_FROM") or SENDER
