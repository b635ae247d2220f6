"""Gates: what a stream shows of a text that is checked does not depend on how it is cut, and is the final message."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm import Agent, AsyncSwarm, Response, Swarm
from swarm.effects import CallModel, Cut, Flow, Gate
from swarm.errors import ConnectionFailed, StreamBroken
from swarm.events import Delta, Event
from swarm.models.scripted import ScriptedModel, Turn, call
from swarm.policies import Block, Cache, Guardrail
from swarm.policies.checks import Pattern
from tests.modes import Drive, streaming


def shown(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Delta))


def streamed(policies: list[Any], pieces: list[str]) -> tuple[str, Response]:
    events = list(Swarm(ScriptedModel([Turn(chunks=pieces)]), policies=policies).stream(Agent(), "go"))
    return shown(events), events[-1].response  # type: ignore[attr-defined]


def whole(policies: list[Any], text: str) -> Response:
    return Swarm(ScriptedModel([text]), policies=policies).run(Agent(), "go")


def cut_up(text: str, places: list[int]) -> list[str]:
    ends = sorted({place % (len(text) + 1) for place in places} | {len(text)})
    return [piece for start, end in zip([0, *ends], ends, strict=False) if (piece := text[start:end])]


TEXTS = st.text(alphabet="ab1 ", min_size=1, max_size=60)
PLACES = st.lists(st.integers(0, 60), max_size=12)


def no_aab(text: str) -> Block | None:
    return Block("No.") if "aab" in text else None


def upper(text: str) -> str:
    return text.upper()


GUARDS: list[Callable[[], Guardrail]] = [
    lambda: Guardrail(Pattern(r"\d+", by="#", longest=3), "output"),
    lambda: Guardrail(Pattern(r"\ba1", longest=3), "output"),
    lambda: Guardrail(no_aab, "output", window=5),
    lambda: Guardrail(no_aab, "output"),
    lambda: Guardrail(upper, "output"),
]


@given(TEXTS, PLACES, st.sampled_from(range(len(GUARDS))), st.integers(0, len(GUARDS)))
def test_any_cut_of_a_text_shows_the_same(text: str, places: list[int], which: int, other: int) -> None:
    """D11, S18: one gate or two, whatever the chunks, in a stream as without."""
    policies = [guard() for guard in [GUARDS[which], *GUARDS[other : other + 1]]]
    expected = whole(policies, text)
    told, response = streamed(policies, cut_up(text, places))
    assert told == response.text == expected.text
    assert response.stop_reason == expected.stop_reason


@given(st.text(alphabet="ab1", max_size=40), PLACES)
def test_a_match_is_found_wherever_the_text_is_cut(text: str, places: list[int]) -> None:
    """D11: of matches up to `longest` all are found, as by the engine itself."""
    mask = [Guardrail(Pattern("a1b", by="-", longest=3), "output")]
    told, _ = streamed(mask, ["x", *cut_up(text, places)])
    assert told == re.sub("a1b", "-", "x" + text)


@given(st.text(alphabet="ab", max_size=60), PLACES, st.sampled_from([Pattern("aab", longest=3), no_aab]))
def test_nothing_of_what_is_blocked_is_shown(text: str, places: list[int], check: Any) -> None:
    """D11: not even the beginning of it."""
    told, response = streamed([Guardrail(check, "output", window=4, message="No.", name="g")], ["x", *cut_up(text, places)])
    at = f"x{text}".find("aab")
    assert (response.stop_reason == "guardrail:g") is (at >= 0)
    if at >= 0:
        before = told.removesuffix("No.").removesuffix("\n\n")
        assert told.endswith("No.") and f"x{text}".startswith(before) and len(before) <= at


@streaming
def test_text_is_released_as_soon_as_it_is_decided(drive: Drive) -> None:
    guard = Guardrail(Pattern("secret", by="*", longest=6), "output")
    words = ["one two three four five six seven eight ", "the sec", "ret is ", "out"]
    events = drive.events(Agent(), "go", [Turn(chunks=words)], swarm={"policies": [guard]})
    deltas = [event.text for event in events if isinstance(event, Delta)]
    assert len(deltas) > 2
    assert "".join(deltas) == "one two three four five six seven eight the * is out"


@streaming
def test_what_is_blocked_is_never_shown_and_nothing_more_is_read(drive: Drive) -> None:
    """D11, D12"""
    read: list[str] = []

    def pieces() -> Any:
        for word in ["all ", "is ", "well ", "damn ", "you ", "more ", "and ", "more "]:
            read.append(word)
            yield {"choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]}

    class Endless:
        blocking = False

        def complete(self, call: CallModel) -> Any:
            raise AssertionError("a stream was asked for")

        def stream(self, call: CallModel) -> Any:
            return pieces()

    guard = Guardrail(Pattern("damn", longest=4), "output", name="polite", message="Let us stay polite.")
    events = drive.events(Agent(), "go", Endless(), swarm={"policies": [guard]})
    response = events[-1].response  # type: ignore[attr-defined]
    assert shown(events) == response.text
    assert response.text.startswith("all is") and response.text.endswith("\n\nLet us stay polite.")
    assert "damn" not in response.text
    assert response.stop_reason == "guardrail:polite"
    assert "more " not in read[:-1], "the provider's stream was closed"
    assert response.usage.calls == 1 and response.usage.estimated, "what was read is paid for"


@streaming
def test_the_first_delta_has_role_and_sender_and_the_last_what_is_no_text(drive: Drive) -> None:
    """K18: calls and reasoning are told at the end, since a reply that is blocked has none."""

    def ping() -> str:
        return "pong"

    turn = Turn("Let me look it up for you.", [call("ping")], extra={"reasoning_content": "hm"})
    events = drive.events(Agent(name="A", functions=[ping]), "go", [turn, "done"], swarm={"policies": [Guardrail(upper, "output")]})
    deltas = [event.delta for event in events if isinstance(event, Delta)]
    assert deltas[0] == {"role": "assistant", "sender": "A", "content": "LET ME LOOK IT UP FOR YOU."}
    assert deltas[1]["reasoning_content"] == "hm"
    assert deltas[1]["tool_calls"][0]["function"]["name"] == "ping"
    messages = events[-1].response.messages  # type: ignore[attr-defined]
    assert messages[0]["reasoning_content"] == "hm"
    assert messages[1]["content"] == "pong"


def test_a_blocked_reply_calls_nothing(drive: Drive) -> None:
    ran: list[int] = []

    def ping() -> str:
        ran.append(1)
        return "pong"

    turn = Turn("aab: I look it up.", [call("ping")])
    response = drive(Agent(functions=[ping]), "go", [turn, "never"], swarm={"policies": [Guardrail(no_aab, "output")]})
    assert (response.text, response.stop_reason, ran) == ("No.", "guardrail:no_aab", [])
    assert response.messages[-1]["tool_calls"] is None


class Recording:
    """A gate of somebody's own: holds a piece back until the next, and asks a flow about the last."""

    def __init__(self) -> None:
        self.held = ""

    def feed(self, text: str) -> list[str | Cut | Flow]:
        ready, self.held = self.held, text
        return [ready] if ready else []

    def end(self) -> list[str | Cut | Flow]:
        return [self.last()]

    def last(self) -> Flow:
        return self.held.upper()
        yield


class Own:
    def __init__(self) -> None:
        self.made = 0

    def gate(self) -> Gate:
        self.made += 1
        return Recording()

    def model(self, call: CallModel) -> Flow:
        return (yield call.replace(gates=(self.gate, *call.gates)))


@streaming
def test_a_gate_is_made_anew_for_each_try(drive: Drive) -> None:
    """D11, D12: nothing had been shown, so the stream that broke is a failure like any other, and may be tried again."""

    class Again:
        def model(self, call: CallModel) -> Flow:
            try:
                return (yield call)
            except ConnectionFailed:
                return (yield call)

    own = Own()
    turns = [Turn(chunks=["lost", ConnectionFailed("gone")]), Turn(chunks=["kept ", "text"])]
    events = drive.events(Agent(), "go", turns, swarm={"policies": [own, Again()]})
    assert shown(events) == "kept TEXT"
    assert own.made == 2


@pytest.mark.parametrize("outside", [True, False])
def test_a_cache_keeps_no_part_of_an_answer(drive: Drive, outside: bool) -> None:
    """An answer that is not streamed is whole inside of the guardrail, so it is kept there, and blocked each time."""
    guard, cache = Guardrail(Pattern("damn", longest=4), "output", name="g"), Cache()
    model = ScriptedModel(["all is well and damn you", "a good answer"])
    swarm = {"policies": [cache, guard] if outside else [guard, cache]}
    reasons = [drive(Agent(), "go", model, swarm=swarm).stop_reason for _ in range(3)]
    again = "complete" if outside or drive.streams else "guardrail:g"
    assert reasons == ["guardrail:g", again, again]


@streaming
def test_a_stream_that_breaks_keeps_what_was_shown_and_no_more(drive: Drive) -> None:
    """D12, S15"""
    turns = [Turn(chunks=["shown ", "held", ConnectionFailed("gone")])]
    with pytest.raises(StreamBroken) as caught:
        drive.events(Agent(), "go", turns, swarm={"policies": [Own()]})
    assert caught.value.partial == {"role": "assistant", "content": "shown "}


def closed_at_the_first_delta() -> Response:
    stream = Swarm(ScriptedModel([Turn(chunks=PIECES)]), policies=[Own()]).stream(Agent(), "go")
    for event in stream:
        if isinstance(event, Delta):
            stream.close()
    assert stream.response is not None
    return stream.response


async def closed_at_the_first_delta_async() -> Response:
    stream = AsyncSwarm(ScriptedModel([Turn(chunks=PIECES)]), policies=[Own()]).stream(Agent(), "go")
    async for event in stream:
        if isinstance(event, Delta):
            await stream.aclose()
    assert stream.response is not None
    return stream.response


PIECES = ["shown ", "held ", "held ", "more"]


def test_a_stream_that_is_closed_keeps_what_was_shown_and_no_more() -> None:
    """D13"""
    for response in (closed_at_the_first_delta(), asyncio.run(closed_at_the_first_delta_async())):
        assert (response.stop_reason, response.text) == ("cancelled", "shown ")


def test_a_check_in_windows_cannot_rewrite(drive: Drive) -> None:
    with pytest.raises(TypeError, match="has to see the whole of it: leave `window` out"):
        drive(Agent(), "go", ["some text"], swarm={"policies": [Guardrail(upper, "output", window=4)]})


def test_a_failure_of_a_check_is_not_taken_for_a_pass(drive: Drive) -> None:
    def broken(text: str) -> None:
        raise RuntimeError("no opinion")

    for options in ({}, {"window": 4}):
        with pytest.raises(RuntimeError, match="no opinion"):
            drive(Agent(), "go", ["some text"], swarm={"policies": [Guardrail(broken, "output", **options)]})
