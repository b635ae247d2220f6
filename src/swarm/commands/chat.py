"""`swarm chat`: a conversation with an agent."""

from __future__ import annotations

from .conversation import Conversation
from .failure import reporting
from .options import AsJson, BaseUrl, Debug, MaxTurns, Model, Offline, Say, Target, about_model, client_for, run_options
from .talk import Talk, displaying
from .target import load_target


def chat(
    target: Target,
    say: Say = None,
    model: Model = None,
    base_url: BaseUrl = None,
    offline: Offline = False,
    max_turns: MaxTurns = None,
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

    Where no person holds the conversation, the exit code is 1 if a reply failed, and calls that need approval are refused.
    """
    with reporting(debug), displaying(as_json) as display:
        agent, others = load_target(target)
        conversation = Conversation(client_for(offline, base_url), agent, options=run_options(model, max_turns), known=others)
        display.note(about_model(conversation.client, agent, model))
        Talk(conversation, display, debug).hold(say or ())
