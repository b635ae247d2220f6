"""How alembic runs the migrations of a session store: on the connection that the store opens, in its transaction."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"], version_table=context.config.attributes["version_table"])
context.run_migrations()
