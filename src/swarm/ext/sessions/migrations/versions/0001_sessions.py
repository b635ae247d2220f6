"""The first form of a session store."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "swarm_sessions",
        sa.Column("id", sa.String(255), primary_key=True),
        sa.Column("user_id", sa.String(255)),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("agent", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("messages", sa.Integer, nullable=False),
        sa.Column("holder", sa.String(255)),
        sa.Column("held_until", sa.Double),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("updated", sa.Double, nullable=False),
        sa.Column("expires", sa.Double),
        sa.Column("state", sa.Text, nullable=False),
    )
    op.create_index("swarm_sessions_user", "swarm_sessions", ["user_id", "updated"])
    op.create_index("swarm_sessions_updated", "swarm_sessions", ["updated"])
    op.create_table(
        "swarm_session_messages",
        sa.Column("session_id", sa.String(255), primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("text", sa.Text),
    )
    op.create_table(
        "swarm_session_tags",
        sa.Column("session_id", sa.String(255), primary_key=True),
        sa.Column("tag", sa.String(255), primary_key=True),
    )
    op.create_index("swarm_session_tags_tag", "swarm_session_tags", ["tag"])
