"""`swarm chat`: a conversation with an agent."""

from __future__ import annotations

from typing import Annotated

import typer

from .failure import reporting
from .options import Allow, AsJson, BaseUrl, Debug, MaxTurns, Model, Offline, Say, Target, about_model, run_options
from .setup import load_setup
from .talk import Talk, displaying


def chat(
    target: Target,
    say: Say = None,
    model: Model = None,
    base_url: BaseUrl = None,
    offline: Offline = False,
    max_turns: MaxTurns = None,
    allow: Allow = None,
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="Keep the conversation, or go on with one that is kept.")
    ] = None,
    store: Annotated[
        str, typer.Option("--store", metavar="URL", envvar="SWARM_SESSIONS", help="Where --session keeps it: a file, or postgresql://...")
    ] = "sessions.db",
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Talk to an agent. It remembers what was said, who is active, and the context variables.

    Ctrl-C stops a reply, and leaves at the prompt; so does Ctrl-D. Lines that begin with "/" are commands; /help lists them.

    \b
    Examples:
      swarm chat shop:triage
      swarm chat shop:triage --offline --say "I want my money back" --say "item 99"
      printf 'I want my money back\\nitem 99\\n' | swarm chat shop:triage
      swarm chat shop:triage --max-turns 10 --debug
      swarm chat shop:triage --session user-42
      swarm chat shop.toml --allow shop.tools

    Where no person holds the conversation, the exit code is 1 if a reply failed, and calls that need approval are refused.
    """
    with reporting(debug), displaying(as_json) as display:
        setup = load_setup(target, allow)
        client, options = setup.client(offline, base_url), run_options(model, max_turns)
        if session is None:
            conversation = setup.conversation(client, options)
        else:
            from .kept import KeptConversation
            from .sessions import open_store

            kept = open_store(store, may_be_new=True).session(session, agents=setup.known)
            conversation = KeptConversation(client, setup.agent, kept, options, setup.known, setup.context_variables, setup.swarm)
        display.note(about_model(conversation.client, setup.agent, model))
        Talk(conversation, display, debug).hold(say or ())
