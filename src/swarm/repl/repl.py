"""The loop that tutorials end with: a person types, agents answer. `print` and `input`, nothing else.

`swarm chat` is the richer one. This one is called from people's own scripts, so what it prints is kept to the letter.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ..core import Swarm
from ..errors import ModelError
from ..messages import text_of
from ..parts import in_words, placeholders
from ..types import Agent, Response
from .asking import ask_person

_BLUE, _MAGENTA, _GREY, _PLAIN = "\033[94m", "\033[95m", "\033[90m", "\033[0m"


def run_demo_loop(
    starting_agent: Agent,
    context_variables: dict[str, Any] | None = None,
    stream: bool = False,
    debug: bool = False,
    max_turns: float | None = None,
) -> None:
    """Talk to agents in the terminal, until the end of input or Ctrl-C.

    History, active agent and context variables are kept from one message to the next. When the model fails, the error is printed and
    what was done until then is kept. A person at the terminal is asked about calls that need an approval; what runs after an approval is
    printed when it is done. Where nobody is there, such calls are refused.

    Args:
        starting_agent: who answers the first message.
        context_variables: what functions and instructions see.
        stream: print the answers while they arrive.
        debug: print a trace of each run.
        max_turns: how many messages the agents may add for one message of the person's; None is no limit.

    Raises:
        ConfigError: there is no model to talk to.
    """
    client: Any = Swarm()
    print("Starting Swarm CLI 🐝")
    messages: list[dict[str, Any]] = []
    agent, context = starting_agent, context_variables or {}
    options: dict[str, Any] = {"debug": debug} if max_turns is None else {"debug": debug, "max_turns": max_turns}
    while (text := _asked()) is not None:
        if not text.strip():
            continue
        said = [*messages, {"role": "user", "content": text}]
        try:
            response, failure = _answered(client, agent, said, context, stream, options)
        except KeyboardInterrupt:
            print()
            return
        if failure is not None:
            print(f"Error: {failure}")
        if response is not None and (response.messages or failure is None):  # where nothing came, the person can simply ask again
            messages = [*said, *response.messages]
            agent, context = response.agent or agent, response.context_variables


def _answered(
    client: Any, agent: Agent, said: list[dict[str, Any]], context: dict[str, Any], stream: bool, options: dict[str, Any]
) -> tuple[Response | None, ModelError | None]:
    """The answer to what was said, printed, and what went wrong; the person is asked for approvals on the way."""
    response, failure, shown = None, None, 0
    try:
        answer = client.run(agent=agent, messages=said, context_variables=context, stream=stream, **options)
        response = process_and_print_streaming_response(answer) if stream else answer
        while response is not None and response.stop_reason == "approval":
            _print_rest(response, shown, stream)
            shown, stream, state = len(response.messages), False, response.state()
            approvals = {call.id: ask_person(call, state.agents[call.agent]) for call in response.pending}
            response = client.resume(state, approvals, response.context_variables, **options)
    except ModelError as error:
        response, failure = error.response, error
    if response is not None:
        _print_rest(response, shown, stream)
    return response, failure


def _print_rest(response: Response, shown: int, streamed: bool) -> None:
    """Print the messages that were not printed yet: all from `shown` on; of a stream what tools gave to see."""
    rest = response.messages[shown:]
    pretty_print_messages([message for message in rest if message["role"] == "user"] if streamed else rest)


def _asked() -> str | None:
    try:
        return input(f"{_GREY}User{_PLAIN}: ")
    except (EOFError, KeyboardInterrupt):
        print()
        return None


def pretty_print_messages(messages: Iterable[Mapping[str, Any]]) -> None:
    """Print what the assistants among these messages said and called, and placeholders for images and files that tools gave them to see;
    other messages are passed over.

    Args:
        messages: message dicts, as in `Response.messages`.
    """
    for message in messages:
        text = in_words(message)
        calls: list[dict[str, Any]] = message.get("tool_calls") or []
        by_tools = "sender" in message and bool(placeholders(message))
        if (message.get("role") != "assistant" and not by_tools) or not (text or calls):
            continue
        print(f"{_BLUE}{_sender(message)}{_PLAIN}:", end=" ")
        if text:
            print(text)
        if len(calls) > 1 and not text:
            print()
        for call in calls:
            function: dict[str, Any] = call.get("function") or {}  # another kind of call has none
            print(f"{_MAGENTA}{function.get('name') or call.get('type')}{_PLAIN}({_arguments(function.get('arguments'))})")


def process_and_print_streaming_response(response: Iterable[Mapping[str, Any]]) -> Response | None:
    """Print a streamed run as it arrives.

    Args:
        response: what `Swarm().run(..., stream=True)` gives.

    Returns:
        the Response at its end, or None if the stream ended without one.
    """
    sender, writing = "", False
    try:
        for chunk in response:
            sender = chunk.get("sender") or sender
            if text := text_of(chunk):
                if not writing:
                    print(f"{_BLUE}{sender}:{_PLAIN}", end=" ")
                print(text, end="", flush=True)
                writing = True
            names = _names(chunk)
            if writing and (names or chunk.get("delim") == "end"):
                print()
                writing = False
            for name in names:
                print(f"{_BLUE}{sender}: {_MAGENTA}{name}{_PLAIN}()")
            if "response" in chunk:
                return chunk["response"]
        return None
    finally:
        if writing:  # it broke off in the middle of a text
            print()


def _names(delta: Mapping[str, Any]) -> list[str]:
    calls: list[dict[str, Any]] = delta.get("tool_calls") or []
    functions: list[dict[str, Any]] = [call.get("function") or {} for call in calls]
    return [function["name"] for function in functions if function.get("name")]


def _sender(message: Mapping[str, Any]) -> str:
    return message.get("sender") or "Assistant"


def _arguments(raw: Any) -> str:
    """The arguments as `"name"= value, ...`; text that is no JSON object as it came."""
    try:
        values: Any = json.loads(raw or "{}")
        written = json.dumps(values, ensure_ascii=False, separators=(", ", "= "))
    except (TypeError, ValueError, RecursionError):
        return str(raw)
    if not written.isascii():
        written = written.encode(errors="backslashreplace").decode()  # a terminal takes no half characters
    return written[1:-1] if isinstance(values, dict) else written
