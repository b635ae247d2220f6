"""`swarm run`: one message, and what comes of it."""

from __future__ import annotations

from typing import Annotated

import typer

from .failure import reporting
from .options import Allow, AsJson, BaseUrl, Debug, MaxTurns, Model, Offline, Target, run_options
from .setup import load_setup
from .talk import Talk, displaying, only_text


def run(
    target: Target,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="What to say; without it, standard input.")] = None,
    model: Model = None,
    base_url: BaseUrl = None,
    offline: Offline = False,
    max_turns: MaxTurns = None,
    allow: Allow = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Say one thing to an agent, and show everything that comes of it: who speaks, each call with its result, each handoff.

    \b
    Examples:
      swarm run shop:triage "I want my money back"
      swarm run agents/shop.py:triage "I want my money back" --offline
      swarm run shop:triage --json < mail.txt
      swarm run shop:triage "Hello" --base-url http://localhost:11434/v1 --model llama3.2
      swarm run shop.toml "I want my money back" --allow shop.tools

    The exit code is 1 if the run failed, 2 if there is no such agent.
    """
    with reporting(debug), displaying(as_json) as display:
        setup = load_setup(target, allow)
        said = only_text(text)
        conversation = setup.conversation(setup.client(offline, base_url), run_options(model, max_turns))
        Talk(conversation, display, debug).once(said)
