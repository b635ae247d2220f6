"""The outbox: `python -m examples.support_bot.outbox` hands what waits in it to the mail server, and shows what became of each mail."""

from __future__ import annotations

import sys

from swarm.errors import ConfigError

from .mail import deliver
from .tools import desk_of


def main() -> None:
    """The command."""
    desk = desk_of({})
    try:
        for mail in desk.mails():
            mail = deliver(desk, mail.id) if mail.state == "queued" else mail
            print(f"{mail.id} to {mail.recipient}: {mail.state}{f', {mail.reason}' if mail.reason else ''}")
    except ConfigError as error:
        sys.exit(f"Error: {error}")


if __name__ == "__main__":
    main()
