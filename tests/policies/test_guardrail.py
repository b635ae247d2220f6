"""Guardrails: what they look at, what verdicts do, and that nothing is shown or run before a check beside the model call has passed."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from itertools import permutations
from typing import Any

import pytest
from pydantic import BaseModel

from swarm import Agent, AsyncSwarm, Result, RunInfo, Swarm, load_state
from swarm.effects import CallModel, Flow, Sleep
from swarm.errors import AgentError, GuardrailTripped
from swarm.events import Delta, Nested, PolicyActed
from swarm.models.profiles import Profile
from swarm.models.scripted import ScriptedModel, Turn, call
from swarm.policies import Block, Guardrail, Retry
from swarm.policies.checks import Hosts, JsonSchema, Judge, Length, Pattern
from swarm.policies.patterns import nests_repeats
from swarm.testing.conformance import PolicyConformance
from tests.modes import Drive, streaming


def polite(text: str) -> Block | None:
    return Block("Let us stay polite.", "swearing") if "damn" in text else None


async def polite_async(text: str) -> Block | None:
    await asyncio.sleep(0)
    return polite(text)


def polite_flow(text: str) -> Flow:
    yield Sleep(0)
    return polite(text)


CHECKS = [polite, polite_async, polite_flow]


def guard(check: Any, on: Any, **options: Any) -> dict[str, Any]:
    return {"policies": [Guardrail(check, on, **options)]}


class TestConformance(PolicyConformance):
    def make(self) -> Any:
        return Guardrail(polite_async, ("input", "output", "arguments", "result"))


class TestConformanceOfAGuardrailThatActs(PolicyConformance):
    def make(self) -> Any:
        return Guardrail(Pattern(r"item \d", by="it", longest=8), ("input", "output", "arguments", "result"))


# What is blocked


@pytest.mark.parametrize("check", CHECKS)
def test_a_blocked_input_ends_the_run(drive: Drive, check: Any) -> None:
    """D5"""
    response = drive(Agent(), "damn you", ["never shown"], swarm=guard(check, "input", name="polite"))
    assert (response.text, response.stop_reason) == ("Let us stay polite.", "guardrail:polite")
    assert [message["role"] for message in response.messages] == ["assistant"]
    assert drive(Agent(), "hello", ["hi"], swarm=guard(check, "input")).text == "hi"


@pytest.mark.parametrize("check", CHECKS)
def test_a_blocked_output_ends_the_run_and_keeps_what_was_done(drive: Drive, check: Any) -> None:
    """D5"""

    def ping() -> str:
        return "pong"

    response = drive(Agent(functions=[ping]), "go", [call("ping"), "oh damn"], swarm=guard(check, "output", name="polite"))
    assert (response.text, response.stop_reason) == ("Let us stay polite.", "guardrail:polite")
    assert [call.outcome for call in response.calls] == ["ok"]
    assert response.usage.calls == 2


def test_a_blocked_call_is_told_to_the_model_and_the_run_goes_on(drive: Drive) -> None:
    ran: list[str] = []

    def search(query: str) -> str:
        ran.append(query)
        return f"found {query}"

    turns = [[call("search", {"query": "damn"}), call("search", {"query": "tea"})], "done"]
    response = drive(Agent(functions=[search]), "go", turns, swarm=guard(polite, "arguments"))
    assert response.stop_reason == "complete"
    assert ran == ["tea"]
    assert [m["content"] for m in response.messages if m["role"] == "tool"] == ["Let us stay polite.", "found tea"]
    assert [c.outcome for c in response.calls] == ["refused", "ok"]

    response = drive(Agent(functions=[search]), "go", turns, swarm=guard(lambda text: "damn" not in text, "result"))
    assert ran == ["tea", "damn", "tea"]
    assert [m["content"] for m in response.messages if m["role"] == "tool"] == ["The result is withheld.", "found tea"]


def test_a_blocked_call_may_end_the_run(drive: Drive) -> None:
    """The whole batch is answered all the same."""

    def search(query: str) -> str:
        return f"found {query}"

    turns = [[call("search", {"query": "damn"}), call("search", {"query": "tea"})], "never"]
    for place in ("arguments", "result"):
        response = drive(Agent(functions=[search]), "go", turns, swarm=guard(polite, place, on_block="end"))
        assert (response.stop_reason, response.output) == ("guardrail:polite", "Let us stay polite.")
        assert [c.outcome for c in response.calls] == ["refused", "ok"]


@pytest.mark.parametrize("place", ["input", "output", "arguments", "result"])
def test_a_block_may_be_raised_with_the_response(drive: Drive, place: Any) -> None:
    def echo(word: str) -> str:
        return f"{word}!"

    turns = [[call("echo", {"word": "tea"}), call("echo", {"word": "damn"})], "oh damn"]
    with pytest.raises(GuardrailTripped, match=r"the guardrail .polite. blocked the .*: swearing") as caught:
        drive(Agent(functions=[echo]), "damn you", turns, swarm=guard(polite, place, on_block="raise"))
    response = caught.value.response
    assert response is not None
    assert (caught.value.guardrail, response.stop_reason) == ("polite", "guardrail:polite")
    assert len(response.calls) == (0 if place == "input" else 2)
    assert all("damn" not in str(message["content"]) for message in response.messages if message["role"] == "assistant")


def test_a_block_inside_an_agent_used_as_a_tool_is_raised_too(drive: Drive) -> None:
    def echo(word: str) -> str:
        return word

    helper = Agent(name="Helper", functions=[echo])
    turns = [call("helper", {"input": "go"}), call("echo", {"word": "damn"})]
    with pytest.raises(GuardrailTripped):
        drive(Agent(functions=[helper.as_tool()]), "go", turns, swarm=guard(polite, "arguments", on_block="raise"))


def test_what_an_inner_agent_says_is_no_output(drive: Drive) -> None:
    helper = Agent(name="Helper")
    turns = [call("helper", {"input": "go"}), "damn it", "fine"]
    response = drive(Agent(functions=[helper.as_tool()]), "go", turns, swarm=guard(polite, "output"))
    assert (response.text, response.messages[1]["content"]) == ("fine", "damn it")


# What is rewritten


def test_a_text_in_its_place(drive: Drive) -> None:
    """The user's words are rewritten in what is sent, on every turn; the record stays."""
    seen: list[str] = []

    def look_up(card: str) -> str:
        seen.append(card)
        return "card 1234567812345678"

    mask = Guardrail(Pattern(r"\d{16}", by="[card]", longest=20), ("input", "output", "result"))
    history = [{"role": "user", "content": "old 1111222233334444"}, {"role": "assistant", "content": "ok"}]
    history += [{"role": "user", "content": "mine is 1234567812345678"}]
    response = drive(
        Agent(functions=[look_up]), history, [call("look_up", {"card": "x"}), "It is 8765432187654321."], swarm={"policies": [mask]}
    )
    for request in drive.requests:
        assert [m["content"] for m in request["messages"] if m["role"] == "user"] == ["old [card]", "mine is [card]"]
    assert response.messages[1]["content"] == "card [card]"
    assert response.text == "It is [card]."
    assert history[2]["content"] == "mine is 1234567812345678"


def test_the_users_words_are_found_in_a_longer_message(drive: Drive) -> None:
    """P07: some providers want the instructions in front of them; parts are looked at one by one."""
    mask = guard(Pattern("secret", by="*"), "input")
    parts = [{"role": "user", "content": [{"type": "text", "text": "a secret"}]}]
    drive(Agent(), parts, ["ok"], swarm=mask)
    assert drive.requests[0]["messages"][-1]["content"] == [{"type": "text", "text": "a *"}]


@pytest.mark.parametrize("role", ["system", "user"])
def test_only_what_was_checked_is_rewritten(drive: Drive, role: Any) -> None:
    """P07: a short text stands in many others: in what the user said before, and in instructions in front of it."""
    history = [{"role": "user", "content": "nothing, no"}, {"role": "assistant", "content": "no?"}, {"role": "user", "content": "no"}]
    agent = Agent(instructions="Take no for an answer.", profile=Profile(instruction_role=role))
    for messages, sent in ((history, ["nothing, no", "No!"]), (history[2:], ["No!"])):
        drive(agent, messages, ["ok"], swarm=guard(lambda text: "No!" if text == "no" else None, "input"))
        users = [message["content"] for message in drive.requests[-1]["messages"] if message["role"] == "user"]
        in_front = "Take no for an answer.\n\n" if role == "user" else ""
        assert users == [in_front + sent[0], *sent[1:]]


def test_what_others_made_of_the_users_words_is_searched(drive: Drive) -> None:
    """A filter that quotes the user must not show what a mask hides; what only looks alike stays."""

    def quoting(messages: list[Any]) -> list[Any]:
        return [{"role": "user", "content": f"They said: {messages[-1]['content']}, in Annapolis."}]

    drive(Agent(history_filter=quoting), "Anna", ["ok"], swarm=guard(Pattern("Anna", by="[name]"), "input"))
    assert drive.requests[0]["messages"][-1]["content"] == "They said: [name], in Annapolis."


def test_a_message_in_parts_is_rewritten_as_a_whole(drive: Drive) -> None:
    """O03: the check sees its texts joined, so what it says stands for all of them; pictures stay where they are."""
    picture = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    parts = [{"type": "text", "text": "my sec"}, picture, {"type": "text", "text": "ret"}]
    drive(Agent(), [{"role": "user", "content": parts}], ["ok"], swarm=guard(Pattern("secret", by="*"), "input"))
    assert drive.requests[0]["messages"][-1]["content"] == [{"type": "text", "text": "my *"}, picture]


def test_a_check_beside_the_call_may_rewrite_too(drive: Drive) -> None:
    async def soften(text: str) -> str:
        await asyncio.sleep(0)
        return text.replace("damn", "dear")

    response = drive(Agent(), "damn you", ["first", "second"], swarm=guard(soften, "input"))
    assert drive.requests[-1]["messages"][-1]["content"] == "dear you"
    assert response.text in ("first", "second")
    assert len(response.messages) == 1


async def kinder(text: str) -> str:
    await asyncio.sleep(0)
    return text.replace("damn", "dear")


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_several_that_rewrite_each_see_what_those_before_left(drive: Drive, order: Any, beside: bool) -> None:
    """Of two masks the inner one finds what it hides, though the outer one has changed the text; on every turn."""
    seen: list[str] = []

    def ping() -> str:
        return "pong"

    made = [Pattern(r"\d{16}", by="[card]"), Pattern(r"\S+@\S+", by="[mail]"), kinder]
    policies = [Guardrail(made[which], "input", beside=beside) for which in order]
    policies.append(Guardrail(lambda text: seen.append(text), "input"))
    history = [{"role": "user", "content": "ann@example.com"}, {"role": "assistant", "content": "ok"}]
    history += [{"role": "user", "content": "damn 1234567812345678 of bob@example.com"}]
    turns = ["a call that is given up", "done"] if beside else [call("ping"), "done"]
    drive(Agent(functions=[ping]), history, turns, swarm={"policies": policies})
    for request in drive.requests[-1:] if beside else drive.requests:
        users = [message["content"] for message in request["messages"] if message["role"] == "user"]
        assert users == ["[mail]", "dear [card] of [mail]"]
    assert seen[-1] == "dear [card] of [mail]"


def test_a_mask_stands_in_front_of_the_call(drive: Drive) -> None:
    """It looks at every message of the user, and the model is asked once."""
    history = [{"role": "user", "content": text} for text in ("secret 1", "secret 2")]
    response = drive(Agent(), history, ["ok"], swarm=guard(Pattern("secret", by="*"), "input", beside=True))
    assert response.usage.calls == 1
    assert "secret" not in str(drive.requests)


def test_arguments_are_rewritten_and_checked_again(drive: Drive) -> None:
    seen: list[int] = []

    def pay(amount: int) -> str:
        seen.append(amount)
        return "paid"

    def cap(arguments: dict[str, Any], tool: str) -> dict[str, Any]:
        assert tool == "pay"
        return {"amount": min(arguments["amount"], 10)}

    def spoil(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"amount": "much"}

    turns = [call("pay", {"amount": 50}), "done"]
    drive(Agent(functions=[pay]), "go", turns, swarm=guard(cap, "arguments"))
    response = drive(Agent(functions=[pay]), "go", turns, swarm=guard(spoil, "arguments"))
    assert seen == [10]
    assert response.messages[1]["content"].startswith("Error: ")


def test_a_result_keeps_what_else_it_says(drive: Drive) -> None:
    """A handoff and what waits for a person are left alone."""
    other = Agent(name="Other")

    def hand_over() -> Result:
        return Result(value="damn, over to you", agent=other, context_variables={"x": 1})

    def note() -> Result:
        return Result(value="damn", context_variables={"y": 2})

    response = drive(
        Agent(functions=[hand_over, note]),
        "go",
        [[call("hand_over"), call("note")], "hi"],
        swarm=guard(lambda text: text.upper(), "result"),
    )
    assert [m["content"] for m in response.messages if m["role"] == "tool"] == ["damn, over to you", "DAMN"]
    assert response.agent is other
    assert response.context_variables == {"x": 1, "y": 2}


# Checks


@pytest.mark.parametrize(
    ("value", "output"), [("card 1234567812345678", "card *"), ({"card": 1234567812345678}, {"card": 1234567812345678})]
)
def test_a_result_that_ends_the_run_is_rewritten_in_the_output_too(drive: Drive, value: Any, output: Any) -> None:
    """D8: where it is a text; of other values the message is."""

    def finish() -> Result:
        return Result(value=value, stop=True)

    response = drive(Agent(functions=[finish]), "go", [call("finish")], swarm=guard(Pattern(r"\d{16}", by="*"), "result"))
    assert response.output == output
    assert "1234567812345678" not in response.messages[-1]["content"]


def test_a_check_gets_what_it_asks_for(drive: Drive) -> None:
    """D18"""
    seen: list[Any] = []

    def check(messages: list[Any], context_variables: dict[str, Any], agent: Agent, run: RunInfo, text: str, *, loud: bool = False) -> bool:
        seen.append((len(messages), context_variables["user"], agent.name, run.turn, text, loud))
        return True

    drive(Agent(name="A"), "go", ["done"], swarm=guard(check, ("input", "output")), context_variables={"user": "ada"})
    assert seen == [(1, "ada", "A", 1, "go", False), (1, "ada", "A", 1, "done", False)]


def test_an_input_is_checked_once_in_a_run(drive: Drive) -> None:
    seen: list[str] = []

    def check(text: str) -> None:
        seen.append(text)

    def ping() -> str:
        return "pong"

    helper = Agent(name="Helper")
    turns = [call("ping"), call("helper", {"input": "inner"}), "inner answer", "done"]
    drive(Agent(functions=[ping, helper.as_tool()]), "go", turns, swarm=guard(check, "input"))
    assert seen == ["go"]


def test_what_a_check_may_not_return(drive: Drive) -> None:
    with pytest.raises(TypeError, match="the check of guardrail 'sum' returned 3; it returns None or True"):
        drive(Agent(), "go", ["done"], swarm=guard(lambda text: 3, "output", name="sum"))


@pytest.mark.parametrize("place", ["arguments", "result"])
def test_a_check_that_fails_about_a_call_fails_the_run(drive: Drive, place: Any) -> None:
    """No answer is not taken for a yes; nor for a failure of the tool, which a Retry further out would run again."""
    ran: list[int] = []

    def pay(amount: int) -> str:
        ran.append(amount)
        return "paid"

    def unreachable(text: str) -> None:
        raise ConnectionError("no route to the judge")

    policies = [Retry(tools=True, random=lambda: 0.0), Guardrail(unreachable, place)]
    with pytest.raises(GuardrailTripped, match=rf"blocked the {place}: its check failed, ConnectionError: no route") as caught:
        drive(Agent(functions=[pay]), "go", [call("pay", {"amount": 5}), "done"], swarm={"policies": policies})
    assert ran == ([5] if place == "result" else [])
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert caught.value.response is not None
    assert [message["role"] for message in caught.value.response.messages] == ["assistant", "tool"]


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: Guardrail(lambda words: None), AgentError, "asks for 'words'"),
        (lambda: Guardrail("polite"), TypeError, "must be a function"),  # type: ignore[arg-type]
        (lambda: Guardrail(polite, "everything"), ValueError, "must name one or more of input, output, arguments, result"),  # type: ignore[arg-type]
        (lambda: Guardrail(polite, ()), ValueError, "must name one or more"),
        (lambda: Guardrail(polite, on_block="stop"), ValueError, "'tell', 'end' or 'raise'"),  # type: ignore[arg-type]
        (lambda: Guardrail(polite, window=0), ValueError, "number of characters"),
        (lambda: Pattern(r"(\w+\.)+com"), AgentError, "exponential time"),
    ],
)
def test_what_cannot_work_is_refused_when_it_is_made(make: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        make()


def test_what_was_done_is_told(drive: Drive) -> None:
    """D9: with the reason, which the user is not told; inside an agent used as a tool, nested."""

    def echo(word: str) -> str:
        return word

    helper = Agent(name="Helper", functions=[echo])
    turns = [call("helper", {"input": "go"}), call("echo", {"word": "damn"}), "inner", "oh damn"]
    events = drive.events(Agent(name="A", functions=[helper.as_tool()]), "go", turns, swarm=guard(polite, ("arguments", "output")))
    inner = [event.event for event in events if isinstance(event, Nested) and isinstance(event.event, PolicyActed)]
    outer = [event for event in events if isinstance(event, PolicyActed)]
    assert [(e.agent, e.policy, e.what, e.reason) for e in inner] == [
        ("Helper", "Guardrail", "blocked the arguments of echo", "polite: swearing")
    ]
    assert [(e.agent, e.what, e.reason) for e in outer] == [("A", "blocked the output", "polite: swearing")]


# Beside the model call


class Waits:
    """A model that says when it was asked, and goes on until it is closed."""

    blocking = False

    def __init__(self, words: int = 10**9) -> None:
        self.asked = threading.Event()
        self.closed = False
        self.words = words

    def complete(self, call: CallModel) -> Any:
        raise AssertionError("a stream was asked for")

    async def stream(self, call: CallModel) -> AsyncIterator[dict[str, Any]]:
        self.asked.set()
        try:
            for number in range(self.words):
                await asyncio.sleep(0)
                yield {"choices": [{"index": 0, "delta": {"content": f"{number} "}, "finish_reason": None}]}
        finally:
            self.closed = True


@streaming
def test_nothing_is_shown_before_the_check_beside_it_has_passed(drive: Drive) -> None:
    """The model is asked before the check has answered, so the check adds no time."""
    order: list[str] = []
    model = Waits(words=3)

    async def check(text: str) -> None:
        while not model.asked.is_set():
            await asyncio.sleep(0)
        order.append("passed")

    def note(event: Any) -> None:
        if isinstance(event, Delta):
            order.append(event.text)

    drive.events(Agent(), "go", model, swarm={**guard(check, "input"), "on_event": note})
    assert order == ["passed", "0 ", "1 ", "2 "]


@streaming
def test_a_call_beside_a_check_that_blocks_is_given_up(drive: Drive) -> None:
    """Nothing of it is shown, its stream is closed, no thread outlives the run, and what it cost is estimated."""
    model, before = Waits(), threading.active_count()

    async def check(text: str) -> Block:
        while not model.asked.is_set():
            await asyncio.sleep(0)
        return Block("No.")

    events = drive.events(Agent(), "go", model, swarm=guard(check, "input"))
    response = events[-1].response  # type: ignore[attr-defined]
    assert [event.text for event in events if isinstance(event, Delta)] == ["No."]
    assert model.closed
    assert (response.usage.calls, response.usage.estimated) == (1, True)
    busy = [thread.name for thread in threading.enumerate() if thread.name == "swarm-worker"]
    assert len(busy) <= max(2, before)


def test_no_tool_runs_before_the_check_has_passed(drive: Drive) -> None:
    ran: list[int] = []

    def ping() -> str:
        ran.append(1)
        return "pong"

    async def check(text: str) -> Block:
        for _ in range(20):
            await asyncio.sleep(0)
        return Block("No.")

    response = drive(Agent(functions=[ping]), "go", [call("ping"), "done"], swarm=guard(check, "input"))
    assert (ran, response.text) == ([], "No.")


def test_a_check_may_stand_in_front_of_the_call(drive: Drive) -> None:
    """`beside=False`: a model that must not see what is blocked."""
    response = drive(Agent(), "damn", ["never"], swarm=guard(polite_async, "input", beside=False))
    assert response.stop_reason == "guardrail:polite_async"
    assert drive.requests == []
    assert response.usage.calls == 0


def test_a_model_that_fails_beside_a_check_fails_as_ever(drive: Drive) -> None:
    with pytest.raises(RuntimeError, match="no model"):
        drive(Agent(), "go", [Turn(error=RuntimeError("no model"))], swarm=guard(polite_async, "input"))


def test_a_check_that_fails_beside_a_call_fails_the_run(drive: Drive) -> None:
    async def broken(text: str) -> None:
        raise RuntimeError("no opinion")

    with pytest.raises(RuntimeError, match="no opinion"):
        drive(Agent(), "go", ["never shown"], swarm=guard(broken, "input"))


# Ready-made


def test_length() -> None:
    assert Length(characters=3)("abc") is None
    blocked = Length(characters=3)("abcd")
    assert blocked is not None and blocked.reason == "4 characters, 3 allowed"
    assert Length(tokens=10)("word " * 8) is None
    blocked = Length(tokens=2, count=lambda text: len(text.split()))("one two three")
    assert blocked is not None and blocked.reason == "3 tokens, 2 allowed"


@pytest.mark.parametrize(
    ("pattern", "nests"),
    [
        (r"(a+)+", True),
        (r"(\w+\s?)*$", True),
        (r"((ab)*c)+", True),
        (r"(?:x|[(]a{2,})+", True),
        (r"(?P<n>a*){3,}", True),
        (r"(a++)+", False),
        (r"[\w.+-]+@[\w-]+\.[\w.-]+", False),
        (r"(?:\d[ -]?){13,19}", False),
        (r"\(a+\)+", False),
        (r"[(a+)]+", False),
        (r"(a+){3}", False),
        (r"(a|b)+c*", False),
        (r"(?=a+)b", False),
    ],
)
def test_repeats_in_repeats_are_seen(pattern: str, nests: bool) -> None:
    assert nests_repeats(pattern) is nests


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("see https://example.com/a and www.docs.example.com.", True),
        ("nothing to see: a/b, c://, // a comment", True),
        ("see http://evil.net", False),
        ("see HTTPS://EVIL.NET", False),
        ("https://example.com@evil.net/", False),
        ("https://example.com.evil.net/", False),
        ("https://notexample.com", False),
        (r"https://evil.net\@example.com", False),
        ("https:evil.net", False),
        ("https:///evil.net", False),
        ("[link](//evil.net/x)", False),
        ("ftp://evil.net", False),
        ("https://evil。net", False),
        ("www.evil.net", False),
        ("![x](https://evil.net/?q=secret)", False),
        ("https://[::1", False),
        ("https://example.com./x", True),
    ],
)
def test_links_lead_to_hosts_on_the_list_only(text: str, passes: bool) -> None:
    verdict = Hosts(["example.com"])(text)
    assert isinstance(verdict, Block) is not passes
    replaced = Hosts(["example.com"], by="[link]")(text)
    assert ("[link]" in str(replaced)) is not passes


class Order(BaseModel):
    item: str
    count: int


def test_json_that_follows_a_schema(drive: Drive) -> None:
    schema = {"type": "object", "properties": {"count": {"type": "integer", "maximum": 5}}, "required": ["count"]}
    response = drive(Agent(), "go", ['{"count": 7}'], swarm=guard(JsonSchema(schema), "output"))
    assert response.stop_reason == "guardrail:jsonschema"
    assert drive(Agent(), "go", ['{"count": 3}'], swarm=guard(JsonSchema(schema), "output")).stop_reason == "complete"
    for wrong, reason in (
        ("no", "no JSON"),
        ('{"item": 1, "count": 1}', "item: 1 is not of type"),
        ('{"item": "x"}', '"count" is a required'),
    ):
        blocked = JsonSchema(Order)(wrong)
        assert blocked is not None and reason in blocked.reason


class Count:
    """A policy around model calls that counts them by agent."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def model(self, call: CallModel) -> Flow:
        self.seen.append(call.agent.name)
        return (yield call)


@pytest.mark.parametrize("place", ["input", "output", "arguments", "result"])
def test_a_judge_is_asked_like_any_model(drive: Drive, place: Any) -> None:
    """D10: its calls pass the policies outside and inside, and count under its name; two judges do not judge each other."""

    def echo(word: str) -> str:
        return word

    yes, no = '{"allowed": true, "reason": ""}', '{"allowed": false, "reason": "It is about money."}'
    judges = [ScriptedModel([yes]), ScriptedModel([no])]
    if place in ("output", "result"):  # what comes back passes the inner one first
        judges.reverse()
    policies = [Guardrail(Judge("No money talk.", client=client, model="small"), place, message="Not that.") for client in judges]
    counts = [Count(), Count()]
    agent = Agent(name="A", functions=[echo])
    turns = [call("echo", {"word": "cash"}), "done"] if place in ("arguments", "result") else ["cash"]
    response = drive(agent, "cash?", turns, swarm={"policies": [counts[0], *policies, counts[1]]})
    told = response.messages[1]["content"] if place in ("arguments", "result") else response.text
    assert told == "Not that."
    for count in counts:
        assert count.seen.count("judge") == sum(len(client.requests) for client in judges) == 2
    assert response.usage.by_agent["judge"].calls == 2
    asked = judges[0].requests[0]
    assert asked["model"] == "small"
    assert "<text>" in asked["messages"][1]["content"]
    assert "JSON" in asked["messages"][0]["content"], "a provider that nobody knows is asked in words"


def test_a_judge_that_cannot_be_understood_blocks(drive: Drive) -> None:
    response = drive(Agent(), "go", ["hello", "I would say so"], swarm=guard(Judge("Be kind."), "output"))
    assert response.stop_reason == "guardrail:judge"
    assert response.usage.calls == 2


def test_a_judge_looks_at_a_stream_window_by_window() -> None:
    yes, no = '{"allowed": true}', '{"allowed": false}'
    judge = ScriptedModel([yes, yes, no])
    policy = Guardrail(Judge("Be kind.", client=judge), "output", window=5, message="Stop.")
    events = list(Swarm(ScriptedModel([Turn(chunks=["I am", " kin", "d. You", " are not."])]), policies=[policy]).stream(Agent(), "go"))
    assert [event.text for event in events if isinstance(event, Delta)] == ["I am ", "\n\nStop."]
    asked = [request["messages"][1]["content"] for request in judge.requests]
    assert asked == [f"<text>\n{text}\n</text>" for text in ("I am ", "I am kind.", "kind. You ")]


def test_without_a_guardrail_at_a_place_nothing_is_asked() -> None:
    """A policy that has nothing to look at asks for nothing."""

    def never(text: str) -> None:
        raise AssertionError(text)

    async def run() -> str:
        return (await AsyncSwarm(ScriptedModel(["done"]), policies=[Guardrail(never, "result")]).run(Agent(), "go")).text

    assert asyncio.run(run()) == "done"


@pytest.mark.parametrize("place", ["input", "output", "arguments"])
def test_the_state_of_a_blocked_run_gives_its_response_again(drive: Drive, place: Any) -> None:
    """D4: nothing is asked and nothing runs again."""

    def echo(word: str) -> str:
        return word

    agent = Agent(name="A", functions=[echo])
    turns = [call("echo", {"word": "damn"})] if place == "arguments" else ["oh damn"]
    swarm = guard(polite, place, on_block="end")
    response = drive(agent, "damn", turns, swarm=swarm)
    state = load_state(json.loads(json.dumps(response.state())), agents=[agent])
    again = drive.resume(state, [], swarm=swarm)
    assert (again.stop_reason, again.text, again.messages) == (response.stop_reason, response.text, response.messages)
    assert response.stop_reason == "guardrail:polite"
