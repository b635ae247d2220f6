"""A conversation of several runs: what the user says, and the script of what the model answers to it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from swarm import Agent, Response
from tests.modes import Drive

ROOT = Path(__file__).parents[2]


class Talk:
    """Says one thing after another and keeps messages, agent and context variables, as any front end does.

    Attributes:
        agent: who is active.
        context: the context variables.
        messages: the whole conversation.
        called: names of all functions called so far, in order.
        told: what the functions said, in order.
        requests: all requests that the model got.
    """

    def __init__(self, drive: Drive, agent: Agent, context: dict[str, Any] | None = None, policies: Sequence[Any] = ()) -> None:
        self.drive = drive
        self.swarm = {"policies": policies}
        self.agent = agent
        self.context = context or {}
        self.messages: list[dict[str, Any]] = []
        self.called: list[str] = []
        self.told: list[str] = []
        self.requests: list[dict[str, Any]] = []

    def say(self, text: str, *turns: Any) -> Response:
        """One message of the user's; the model answers with `turns`, all of which must be used."""
        self.messages.append({"role": "user", "content": text})
        response = self.drive(self.agent, self.messages, list(turns), context_variables=self.context, swarm=self.swarm)
        self.drive.model.assert_done()
        self.requests += self.drive.requests
        self.messages += response.messages
        self.called += [call.name for call in response.calls]
        self.told += [message["content"] for message in response.messages if message["role"] == "tool"]
        self.agent, self.context = response.agent or self.agent, response.context_variables
        assert all(call.outcome in ("ok", "refused") for call in response.calls), response.calls
        return response


def environment(**changes: str) -> dict[str, str]:
    """The environment for a script in a process of its own: this checkout, no key, no server, offline unless `changes` say otherwise."""
    services = ("EMBEDDINGS_", "MAIL_", "OPENAI_", "QDRANT_", "SMTP_", "SUPPORT_BOT_", "SWARM_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(services)}
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    bin_first = os.pathsep.join([str(Path(sys.executable).parent), kept.get("PATH", "")])
    return {**kept, "PATH": bin_first, "PYTHONPATH": paths, "PYTHONWARNINGS": "error", "PYTHONIOENCODING": "utf-8", **changes}


def script(*arguments: str, said: str = "", **changes: str) -> subprocess.CompletedProcess[str]:
    """Run `python ...` in the checkout, offline, with `said` as its input."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment(**(changes or {"SWARM_OFFLINE": "1"})),
        input=said,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=50,
    )
