"""The tables of a store, as the newest migration leaves them. A change here needs a migration; a test compares the two."""

from __future__ import annotations

from sqlalchemy import Column, Double, Index, Integer, MetaData, String, Table, Text

METADATA = MetaData()

SESSIONS = Table(
    "swarm_sessions",
    METADATA,
    Column("id", String(255), primary_key=True),
    Column("user_id", String(255)),
    Column("status", String(16), nullable=False),
    Column("agent", Text, nullable=False),
    Column("version", Integer, nullable=False),  # counts the steps that were saved
    Column("messages", Integer, nullable=False),  # how many there are
    Column("holder", String(255)),  # the run that is at work
    Column("held_until", Double),
    Column("created", Double, nullable=False),  # seconds since 1970, as all times here
    Column("updated", Double, nullable=False),
    Column("expires", Double),
    Column("state", Text, nullable=False),  # JSON of the run without its messages, or sealed
    Index("swarm_sessions_user", "user_id", "updated"),
    Index("swarm_sessions_updated", "updated"),
)

MESSAGES = Table(
    "swarm_session_messages",
    METADATA,
    Column("session_id", String(255), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("created", Double, nullable=False),
    Column("body", Text, nullable=False),  # JSON of the message, or sealed
    Column("text", Text),  # what of it is searched, in lower case; nothing if it is sealed
)

TAGS = Table(
    "swarm_session_tags",
    METADATA,
    Column("session_id", String(255), primary_key=True),
    Column("tag", String(255), primary_key=True),
    Index("swarm_session_tags_tag", "tag"),
)
