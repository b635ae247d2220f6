"""`swarm demo`: the examples that are shipped, offline unless a model is at hand."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from . import gallery
from .conversation import Conversation
from .failure import reporting
from .options import AsJson, BaseUrl, Debug, MaxTurns, Model, Offline, Say, about_model, client_for, run_options
from .talk import Talk, displaying
from .target import agents_in


def demo(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The example; without it, they are listed.")] = None,
    say: Say = None,
    model: Model = None,
    base_url: BaseUrl = None,
    offline: Offline = False,
    max_turns: MaxTurns = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Talk to one of the examples.

    The offline model answers, unless OPENAI_API_KEY or OPENAI_BASE_URL is set, or --model or --base-url is given.

    \b
    Examples:
      swarm demo
      swarm demo airline
      swarm demo airline --say "I lost my bag" --say "no, that is all"
      printf 'I lost my bag\\n' | swarm demo airline --offline
      swarm demo triage_agent --model gpt-4o-mini
    """
    with reporting(debug), displaying(as_json) as display:
        if name is None:
            _list()
            return
        module = gallery.load(name)
        at_hand = model or base_url or os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL")
        offline = offline or not at_hand
        client = client_for(offline, base_url)
        options = run_options(model, max_turns)
        display.note(f"{name}: {module.about}")
        if prepare := getattr(module, "prepare", None):
            prepare(offline, display.note)
        around = getattr(module, "options", None)
        conversation = Conversation(client, module.agent, module.context_variables, options, agents_in(module).values(), around)
        display.note(about_model(conversation.client, module.agent, model))
        Talk(conversation, display, debug).hold(say or ())


def _list() -> None:
    for name in gallery.names():
        print(f"  {name:<18} {gallery.about(name)}")
    print('\nswarm demo NAME starts one; swarm demo NAME --say "..." runs it without a person.')
