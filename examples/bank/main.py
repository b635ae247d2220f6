"""The bank in the terminal, with its rules: `python -m examples.bank.main [clerk]`.

OPENAI_API_KEY or OPENAI_BASE_URL name the model; without them, and wherever it fails, the offline model answers.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from swarm import ChatClient, OfflineModel, Pending
from swarm.repl.repl import pretty_print_messages

from .agents import front_desk
from .desk import service
from .ledger import Ledger


def lines() -> Iterator[str]:
    """What the person says, until an empty line or the end of input."""
    with suppress(EOFError, KeyboardInterrupt):
        while line := input("You: "):
            yield line


def ask(call: Pending) -> bool:
    """Ask whoever sits at the terminal."""
    return input(f"{call.name} {call.arguments}: do it? (y/n) ").strip().lower() in ("y", "yes")


def main(role: str) -> None:
    """Talk to the bank, as its customer Ada or as a clerk who serves her."""
    offline = OfflineModel()
    model = ChatClient() if os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL") else offline
    context = {"ledger": Ledger("bank.sqlite"), "user": "Ada" if role == "customer" else "Carol", "roles": role, "customer": "Ada"}
    client, agent, messages = service(model, offline, ask), front_desk, list[dict[str, Any]]()
    for line in lines():
        messages.append({"role": "user", "content": line})
        response = client.run(agent, messages, context_variables=context)
        pretty_print_messages(response.messages)
        messages += response.messages
        agent = response.agent or agent


if __name__ == "__main__":
    main("clerk" if sys.argv[1:] == ["clerk"] else "customer")
