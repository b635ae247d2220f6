"""What is measured: each scenario as the turns of a model, and what each request must hold for its turn to be due.

Server, driver and all contestants read this one description, so nobody can be asked for less than the others. Only the standard library is
imported here: every peer's own environment loads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from benchmarks.tools import FIFTY, asynchronous

Message: TypeAlias = dict[str, Any]

QUESTION = "What is the weather in Reykjavik?"
ANSWER = "It is 19 degrees in Reykjavik."
CITIES = ["Reykjavik", "Oslo", "Lima", "Cairo", "Hanoi", "Quito", "Turin", "Perth", "Dakar", "Osaka"]
CHUNKS = 500
TIMEOUT = 300.0
"""Seconds that every client is given: a thousand connections at once can take longer than the five that some allow for connecting."""
WORD = "word "

ASSISTANT = "You are a helpful agent."
TELLER = "You tell the weather."
DESK = "You are the front desk."
PING = "You are Ping and hand over to Pong."
PONG = "You are Pong and hand over to Ping."
HANDOFFS = 20


@dataclass(frozen=True)
class Turn:
    """One reply of the model.

    Attributes:
        needs: what must stand in the request.
        text: the reply's text.
        calls: names and arguments of the functions it calls.
        hands_to: the agent it hands over to; which function says so, and with which arguments, is the contestant's `Dialect`.
        pieces: in how many chunks the text comes when it is streamed.
    """

    needs: tuple[str, ...]
    text: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    hands_to: str = ""
    pieces: int = 1


@dataclass(frozen=True)
class Dialect:
    """What a contestant's model has to say where libraries differ.

    Attributes:
        transfers: for an agent's name, the function that hands over to it and its arguments.
        final: the function that gives the answer, or "" if a plain text does.
        farewell: whether an agent that has handed over is asked once more before the other begins.
    """

    transfers: Mapping[str, tuple[str, dict[str, Any]]]
    final: str = ""
    farewell: bool = False


USUAL = Dialect({"Weather": ("transfer_to_weather", {}), "Ping": ("transfer_to_ping", {}), "Pong": ("transfer_to_pong", {})})


@dataclass(frozen=True)
class Scenario:
    """What one run of a contestant does.

    Attributes:
        title: how the table calls it.
        turns: the model's replies.
        expected: the text that every run must come to.
        at_once: how many conversations go on at once; 0 is one after the other.
        delay: seconds the server takes for a reply.
    """

    title: str
    turns: tuple[Turn, ...]
    expected: str = ANSWER
    at_once: int = 0
    delay: float = 0.0


def turns_for(scenario: Scenario, dialect: Dialect) -> list[Turn]:
    """The turns, with a word of farewell after each handoff where a library asks for one."""
    farewell = [Turn((), "I have handed over.")]
    return [part for turn in scenario.turns for part in [turn, *(farewell if turn.hands_to and dialect.farewell else [])]]


def weather(city: str) -> tuple[str, dict[str, Any]]:
    return "get_weather", {"location": city}


def degrees(city: str) -> str:
    """What `get_weather` comes to."""
    return f"19 degrees in {city}"


def get_weather(location: str) -> str:
    """The weather at a place.

    Args:
        location: Name of the place.
    """
    return degrees(location)


async def get_weather_async(location: str) -> str:
    """The weather at a place.

    Args:
        location: Name of the place.
    """
    return degrees(location)


get_weather_async.__name__ = "get_weather"


def history(count: int) -> list[Message]:
    """A conversation of `count` messages so far, the user's first."""
    text = "message {} of a long conversation about the weather, here and elsewhere, now and then"
    return [{"role": ("user", "assistant")[number % 2], "content": text.format(number)} for number in range(count)]


class Setting(NamedTuple):
    """What a scenario without handoffs begins with: the agent's instructions and functions, and the history before the question."""

    instructions: str
    functions: list[Callable[..., Any]]
    history: list[Message]


def setting(name: str, is_async: bool) -> Setting:
    """The setting of a scenario, with functions that are awaited or not: a plain one costs asyncio code a hop to a thread and back."""
    if name in ("answer", "stream") or name.startswith("history"):
        return Setting(ASSISTANT, [], history(int(name.removeprefix("history"))) if name.startswith("history") else [])
    if name == "fifty":
        return Setting(TELLER, [asynchronous(function) for function in FIFTY] if is_async else list(FIFTY), [])
    return Setting(TELLER, [get_weather_async if is_async else get_weather], [])


def _after(count: int) -> tuple[Turn, ...]:
    marks = tuple(f"message {number} of" for number in (0, count // 2, count - 1))
    return (Turn((ASSISTANT, *marks, QUESTION), ANSWER),)


def _table(fifty: tuple[str, ...]) -> dict[str, Scenario]:
    one_tool = (Turn((QUESTION, TELLER, "get_weather"), calls=(weather("Reykjavik"),)), Turn((degrees("Reykjavik"),), ANSWER))
    sequence = [
        Turn((degrees(before),) if before else (QUESTION,), calls=(weather(city),))
        for before, city in zip(["", *CITIES], CITIES, strict=False)
    ]
    eight = CITIES[:8]
    pingpong = [Turn((PONG if number % 2 else PING,), hands_to="Ping" if number % 2 else "Pong") for number in range(HANDOFFS)]
    parcel = ("track_parcel", {"parcel": "P77", "carrier": "courier"})
    return {
        "answer": Scenario("one answer", (Turn((ASSISTANT, QUESTION), ANSWER),)),
        "tool": Scenario("one tool call, then the answer", one_tool),
        "handoff": Scenario("handoff, then the answer", (Turn((QUESTION, DESK), hands_to="Weather"), Turn((TELLER,), ANSWER))),
        "sequence": Scenario("10 tool calls in sequence", (*sequence, Turn((degrees(CITIES[-1]),), ANSWER))),
        "parallel": Scenario(
            "8 tool calls in parallel", (Turn((QUESTION,), calls=tuple(map(weather, eight))), Turn(tuple(map(degrees, eight)), ANSWER))
        ),
        "stream": Scenario(f"stream of {CHUNKS} chunks", (Turn((QUESTION,), WORD * CHUNKS, pieces=CHUNKS),), WORD * CHUNKS),
        "pingpong": Scenario(f"{HANDOFFS} ping-pong handoffs", (*pingpong, Turn((PING,), ANSWER))),
        "history200": Scenario("answer after 200 messages", _after(200)),
        "history2000": Scenario("answer after 2,000 messages", _after(2000)),
        "fifty": Scenario(
            "agent with 50 tools", (Turn((QUESTION, *fifty), calls=(parcel,)), Turn(("track_parcel P77 courier", *fifty), ANSWER))
        ),
        "crowd200": Scenario("200 conversations at once", one_tool, at_once=200, delay=0.2),
        "crowd1000": Scenario("1,000 conversations at once", one_tool, at_once=1000, delay=0.2),
    }


SCENARIOS = _table(tuple(function.__name__ for function in FIFTY))
"""What goes over HTTP, by name."""

IN_PROCESS = SCENARIOS["sequence"]
"""The turns of the scenario "inprocess", whose model is no server but an object of each library's own kind."""
