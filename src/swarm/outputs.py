"""Typed answers, `Agent(output_type=T)`: how a model is asked for one, and how its final text is read.

Only the text that would end the run is read, by the type of the agent that wrote it. One that does not fit costs one more question, without
tools, so that nothing is done twice. The question stands in the history like any message, so a run that is saved and resumed in between,
or replayed, goes on the same way.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

from .arguments import complaint, fitted
from .effects import Flow, Message
from .errors import AgentError, OutputError
from .events import MessageAdded
from .legal import is_dict, json_text, legal_name
from .messages import text_of
from .models.profiles import Profile
from .run import Run
from .schema import Json, NotStrict, Schema, strictly
from .signature import Signature
from .types import Agent

VALUE = "value"  # the key of an answer that is no object by itself, since providers take only objects
_ASKED_AGAIN = "Your last answer cannot be used: "
_OPENING = re.compile(r"[{\[]")
BEGINS_JSON = re.compile(r"\{\s*\"|\[\s*[{\[\"\d]")  # and not words in brackets
_BRACKET_OR_STRING = re.compile(r'[{}\[\]]|"(?:[^"\\\n]|\\.)*"')
_FENCED = re.compile(r"^[ \t]*```\w*[ \t]*\r?\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE)
TRIES = 1000  # places in a text where JSON may begin


class Output:
    """What the final text of an agent has to be.

    Args:
        kind: the type.
        agent: the agent's name, for the error.

    Raises:
        AgentError: what `kind` is cannot be read from JSON.

    Attributes:
        kind: the type.
        bare: whether the value is an object, and not under the key "value" of one.
        wish: the answer's form, in words and as a JSON Schema.
        format: the same as a strict `response_format`, or None if it cannot be said so.
    """

    __slots__ = ("_validator", "bare", "format", "kind", "wish")

    def __init__(self, kind: Any, agent: str) -> None:
        from .adapters import nearest_adapter  # loads most of pydantic, which agents without a type do without

        def answer(value: Any) -> None:
            """Takes the value as a tool takes an argument, so that schema and reading are those of tools."""

        if nearest_adapter(kind, [])[1]:
            raise AgentError(
                f"Agent {agent!r}: output_type={kind!r} cannot be read from JSON; give a pydantic model, a dataclass, int, ..."
            )
        answer.__annotations__[VALUE] = kind
        made = Schema(Signature(answer), "output_type")
        schema = made.parameters()
        inner: Json = schema["properties"][VALUE]
        self.kind = kind
        self.bare = inner.get("type") == "object"
        if self.bare:
            schema = {**inner, **({"$defs": schema["$defs"]} if "$defs" in schema else {})}
        self._validator = made.validator
        self.wish = f"Your final answer must be one JSON object and nothing else. It must follow this JSON Schema:\n{json_text(schema)}"
        self.format: Json | None = None
        with suppress(NotStrict):
            form = {"name": legal_name(getattr(kind, "__name__", "answer")), "strict": True, "schema": strictly(schema)}
            self.format = {"type": "json_schema", "json_schema": form}

    def request(self, profile: Profile, beside_tools: bool, told: str | None) -> tuple[Json | None, str | None]:
        """What asks for the answer: the `response_format` if the provider takes one that helps, and the instructions.

        Args:
            profile: what the provider takes.
            beside_tools: whether the request offers tools.
            told: the agent's instructions.
        """
        way = profile.response_format if not beside_tools or profile.response_format == "json_schema_with_tools" else None
        if self.format is not None and way not in (None, "json_object"):
            return self.format, told
        wanted: Json | None = {"type": "json_object"} if way == "json_object" else None
        return wanted, f"{told}\n\n{self.wish}" if told else self.wish

    def read(self, text: str) -> Any:
        """The value in a text: in the text as a whole, or else in the last JSON in it that fits, in a fence or among other words.

        Raises:
            OutputError: no JSON in it fits; its text says what is wrong.
        """
        if self.kind is str:
            return text
        why = ""
        for found in values_in(text) if self.bare else [*values_in(text), text.strip()]:  # the text itself: a word, a date
            data: Json = found if not self.bare and is_dict(found) and found.keys() == {VALUE} else {VALUE: found}
            try:
                values, errors = fitted(self._validator, data, set())
            except (ValueError, RecursionError) as error:  # half a character; nested without end
                why = why or f"it cannot be read: {error}"
                continue
            if values is not None:
                return values[VALUE]
            why = why or complaint(data[VALUE], [{**error, "loc": error["loc"][1:]} for error in errors]).strip()
        raise OutputError(f"it {why}" if why.startswith("should ") else why or "it holds no JSON")


def output_of(agent: Agent) -> Output:
    """What the agent's final text has to be; made once for each agent.

    Raises:
        AgentError: its type cannot be read from JSON.
    """
    known: Output | None = getattr(agent, "_output", None)
    if known is None or known.kind is not agent.output_type:
        known = Output(agent.output_type, agent.name)
        object.__setattr__(agent, "_output", known)
    return known


def asked_again(message: Message) -> bool:
    """Whether a message asks a model once more for its final answer."""
    content = message.get("content")
    return "sender" in message and message["role"] == "user" and isinstance(content, str) and content.startswith(_ASKED_AGAIN)


def settled(run: Run, message: Message, reason: str | None) -> Flow:
    """Read the final text of a turn into `run.output`. Returns the reason to stop, or None to ask the model once more.

    Of a text that was cut off only an object counts, which shows that it is whole: half a number is a number.

    Args:
        run: the run.
        message: the turn's message.
        reason: why the run would end after it, or None.

    Raises:
        OutputError: the text does not fit, nor did the one before.
    """
    at = next(at for at in range(len(run.history) - 1, -1, -1) if run.history[at] is message)  # answers to its calls may follow it
    asked, calls, output = at > 0 and asked_again(run.history[at - 1]), message.get("tool_calls"), output_of(run.agent)
    if (calls and not asked) or (reason in ("length", "content_filter") and not output.bare and output.kind is not str):
        return reason
    try:
        if calls:
            raise OutputError("it calls functions")
        run.output = output.read(text_of(message))
        return reason
    except OutputError as error:
        why = str(error)
    if asked and (calls or reason == "complete"):
        kind = getattr(output.kind, "__name__", output.kind)
        raise OutputError(f"the final text of agent {run.agent.name!r} is no {kind}, also when asked for once more: {why} (see .response)")
    if reason != "complete":
        return reason
    content = f"{_ASKED_AGAIN}{why}. Do not call functions now. {output.wish}"
    run.history.append({"role": "user", "content": content, "sender": run.agent.name})
    run.over = None
    if run.options.watched:
        yield from run.tell(MessageAdded(run.agent.name, run.history[-1], run.cause))
    return None


def values_in(text: str) -> list[Any]:
    """The JSON values in a text: the whole of it, or else those in fences, then other objects and arrays in it, each the last first.

    What stands inside of broken JSON is none of them: a part of an answer may look like the whole, such as the last child of a tree.
    """
    decoder = json.JSONDecoder()
    with suppress(ValueError, RecursionError):
        return [decoder.decode(text.strip())]
    found, fenced = list[Any](), list[Any]()
    for block in _FENCED.findall(text):
        with suppress(ValueError, RecursionError):
            fenced.append(decoder.decode(block))
    at, tries = 0, 0
    while (opening := _OPENING.search(text, at)) is not None and (tries := tries + 1) < TRIES:
        try:
            value, at = decoder.raw_decode(text, opening.start())
            found.append(value)
        except (ValueError, RecursionError):
            at = end_of_broken(text, opening.start()) if BEGINS_JSON.match(text, opening.start()) else opening.end()
    return fenced[::-1] + found[::-1]


def end_of_broken(text: str, start: int) -> int:
    """Where broken JSON ends: behind the bracket that closes its first, or, if none does, at the end of the text."""
    depth = 0
    for token in _BRACKET_OR_STRING.finditer(text, start):
        depth += (token[0] in "{[") - (token[0] in "}]")
        if depth == 0:
            return token.end()
    return len(text)
