"""Any stream of a valid message gives the message back, whatever its server's habits; one that could mean several has a clear outcome.

S01, S02, S03, S07, S09, S12, S18, D27, D52, K18, K19.
"""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from swarm.assembly import Assembler
from swarm.effects import Reply
from swarm.errors import ModelError
from swarm.messages import text_of
from tests.streams.habits import HABITS, RANDOM, USAGE, Call, Chunk, Habits, calls, cut, packed, pieces_of, wrapped


def assembled(chunks: list[Chunk]) -> tuple[list[dict[str, Any]], Reply]:
    """The deltas that are handed on, and the reply. What went in is not changed."""
    before = copy.deepcopy(chunks)
    assembler = Assembler("A")
    deltas = [delta for chunk in chunks if (delta := assembler.feed(chunk)) is not None]
    assert chunks == before
    assert came_together(before, deltas)
    return deltas, assembler.reply()


def came_together(chunks: list[Chunk], deltas: list[dict[str, Any]]) -> bool:
    """Whether the same chunks, if they come together in threes, give the same deltas."""
    assembler, found = Assembler("A"), []
    for at in range(0, len(chunks), 3):
        for news in assembler.feed_all(chunks[at : at + 3]):
            found += news if isinstance(news, list) else [news]
    return found == deltas


def added_up(deltas: list[dict[str, Any]]) -> tuple[str, list[tuple[str, str, str]]]:
    """What a plain client makes of the deltas: strings joined by index."""
    found: dict[int, list[str]] = {}
    for delta in deltas:
        for entry in delta.get("tool_calls", ()):
            call = found.setdefault(entry["index"], ["", "", ""])
            function = entry.get("function", {})
            for at, text in enumerate((entry.get("id", ""), function.get("name", ""), function.get("arguments", ""))):
                call[at] += text
    return "".join(delta.get("content") or "" for delta in deltas), [(a, b, c) for _, (a, b, c) in sorted(found.items())]


def triples(reply: Reply) -> list[tuple[str, str, str]]:
    return [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in reply.message.get("tool_calls", ())]


def wanted(made: list[Call], habits: Habits) -> list[tuple[str, str, str]]:
    """The calls as they should come out: without an id where none was sent, an object as compact text."""
    found: list[tuple[str, str, str]] = []
    for call in made:
        text = json.dumps(call.arguments, ensure_ascii=False, separators=(",", ":")) if habits.arguments == "object" else call.text
        found.append((call.id if habits.ids not in ("none", "empty") else "", call.name, text))
    return found


def streamed(random: Random, reasoning: str, text: str, made: list[Call], habits: Habits) -> list[Chunk]:
    """What a server with these habits sends of a message."""
    deltas = [{"reasoning_content": piece} for piece in cut(random, reasoning)] + [{"content": piece} for piece in cut(random, text)]
    streams = [pieces_of(random, call, at, habits) for at, call in enumerate(made)]
    deltas += [{"tool_calls": entries} for entries in packed(random, streams, habits)]
    return wrapped(random, deltas, "tool_calls" if made else "stop")


TEXTS = st.text(max_size=12)


@given(TEXTS, TEXTS, calls(), HABITS.filter(lambda habits: habits.says_all), RANDOM)
def test_a_stream_gives_its_message_back(reasoning: str, text: str, made: list[Call], habits: Habits, random: Random) -> None:
    deltas, reply = assembled(streamed(random, reasoning, text, made, habits))
    expected = wanted(made, habits)
    is_ordered = not habits.mixed or (habits.has_right_index and (habits.has_id_at_once or not habits.trailing))
    assert triples(reply) == expected if is_ordered else sorted(triples(reply)) == sorted(expected)
    assert (reply.message["content"] or "") == text
    assert reply.message.get("reasoning_content", "") == reasoning
    assert reply.usage in (None, USAGE)
    joined, joined_calls = added_up(deltas)
    assert joined == text
    assert joined_calls == triples(reply)
    assert ["role" in delta for delta in deltas] == [True, *[False] * (len(deltas) - 1)][: len(deltas)]


@given(TEXTS, calls(), HABITS.filter(lambda habits: not habits.says_all), RANDOM)
def test_a_stream_that_could_mean_several_messages_has_a_clear_outcome(text: str, made: list[Call], habits: Habits, random: Random) -> None:
    """A ModelError, or calls of functions that were named, no more than there were names; and the deltas say the same.

    What such a stream makes of arguments may be no JSON, and then the model is told so; what it never makes is a name that was not said.
    """
    chunks = streamed(random, "", text, made, habits)
    try:
        deltas, reply = assembled(chunks)
    except ModelError:
        return
    assert text_of(reply.message) == added_up(deltas)[0] == text
    names = {call.name for call in made} | {""}
    if habits.names == "pieces":
        halves = [((len(name) + 1) // 2, name) for name in names]
        names |= {name[:half] for half, name in halves} | {name[half:] for half, name in halves}
    if not (habits.names == "pieces" and habits.index == "position"):  # numbers that lie about pieces of names cannot be found out
        assert {name for _, name, _ in triples(reply)} <= names
    assert sum(bool(name) for _, name, _ in triples(reply)) <= str(chunks).count("'name': '")
    json.dumps([reply.message, deltas])


@given(TEXTS, calls().filter(bool), st.booleans(), RANDOM)
def test_the_function_call_of_older_servers(text: str, made: list[Call], names_again: bool, random: Random) -> None:
    call = made[0]
    functions = [{"name": call.name, "arguments": random.choice(["", None])}, *({"arguments": piece} for piece in cut(random, call.text))]
    deltas: list[dict[str, Any]] = [{"content": piece} for piece in cut(random, text)]
    deltas += [{"function_call": {**({"name": call.name} if names_again else {}), **function}} for function in functions]
    handed_on, reply = assembled(wrapped(random, deltas, "function_call"))
    assert triples(reply) == [("", call.name, call.text)] == added_up(handed_on)[1]
    assert (reply.message["content"] or "") == text


@given(st.text(min_size=1, max_size=12), RANDOM)
def test_a_refusal_in_any_pieces(refusal: str, random: Random) -> None:
    handed_on, reply = assembled(wrapped(random, [{"refusal": piece} for piece in cut(random, refusal)], "stop"))
    assert reply.message["refusal"] == refusal == "".join(delta.get("refusal", "") for delta in handed_on)
    assert not reply.message["content"]
