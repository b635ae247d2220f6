"""What tools give a model to see, and results that are long or no text."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm import Agent, AgentError, File, Image, Limits, Result, Swarm, load_state, tool
from swarm.events import MessageAdded
from swarm.models.profiles import PROFILES
from swarm.models.scripted import ScriptedModel, call
from swarm.parts import placeholder, shortened, told
from swarm.repl import repl
from tests.look import is_valid
from tests.models.providers.fakes import MODELS, FakeProvider
from tests.models.providers.rules import RULES
from tests.modes import Drive, names

PIXEL = b"\x89PNG\r\n\x1a\n" + bytes(60)
URL = f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}"
IMAGE = {"type": "image_url", "image_url": {"url": URL}}


def screenshot() -> Image:
    """A picture of the screen."""
    return Image(PIXEL)


def report() -> Result:
    """The monthly report."""
    return Result(value="The report.", parts=[File(b"%PDF", "application/pdf", "report.pdf")])


def weather() -> str:
    """The weather."""
    return "sunny"


def agent(**options: Any) -> Agent:
    return Agent(name="Eye", functions=[screenshot, report, weather], **options)


def seen(response: Any) -> list[dict[str, Any]]:
    return [message for message in response.messages if message["role"] == "user"]


# Parts


def test_an_image_follows_its_answer(drive: Drive) -> None:
    """O03"""
    response = drive(agent(), "Look", [call("screenshot", id="c1"), "A dot."])
    assert [message["role"] for message in response.messages] == ["assistant", "tool", "user", "assistant"]
    assert response.messages[1]["content"] == "[image/png, 68 bytes] (see below)"
    content = [{"type": "text", "text": "From screenshot (c1):"}, IMAGE]
    assert response.messages[2] == {"role": "user", "content": content, "sender": "Eye"}
    assert drive.requests[1]["messages"][-1] == {"role": "user", "content": content}
    assert json.loads(json.dumps(response.messages)) == response.messages


@pytest.mark.parametrize("parallel", [False, True])
def test_one_message_follows_the_whole_batch_in_call_order(drive: Drive, parallel: bool) -> None:
    """O03: pairs are not broken."""
    batch = [call("report", id="c1"), call("weather", id="c2"), call("screenshot", id="c3")]
    response = drive(agent(), "Look", [batch, "Done."], swarm={"parallel_tools": parallel})
    assert [message["role"] for message in response.messages] == ["assistant", "tool", "tool", "tool", "user", "assistant"]
    assert [message["content"] for message in response.messages[1:4]] == ["The report.", "sunny", "[image/png, 68 bytes] (see below)"]
    file = {"type": "file", "file": {"filename": "report.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}}
    assert seen(response)[0]["content"] == [
        {"type": "text", "text": "From report (c1):"},
        file,
        {"type": "text", "text": "From screenshot (c3):"},
        IMAGE,
    ]
    assert is_valid(drive.requests[1]["messages"])


def test_the_conversation_goes_on_with_what_was_seen(drive: Drive) -> None:
    """O03"""
    first = drive(agent(), "Look", [call("screenshot"), "A dot."])
    again = [{"role": "user", "content": "Look"}, *first.messages, {"role": "user", "content": "And now?"}]
    assert drive(agent(), again, [call("screenshot"), "Still a dot."]).text == "Still a dot."
    assert is_valid(drive.requests[1]["messages"])
    assert sum(message["role"] == "user" for message in drive.requests[1]["messages"]) == 4


def test_across_a_handoff(drive: Drive) -> None:
    """O03: the next agent sees it."""
    response = drive(agent(handoffs=[Agent(name="B")]), "Look", [[call("transfer_to_b"), call("screenshot")], "A dot."])
    assert response.agent is not None
    assert response.agent.name == "B"
    assert seen(response)[0]["sender"] == "Eye"
    assert drive.requests[1]["messages"][-1]["content"][1] == IMAGE


def test_a_handoff_after_which_nothing_can_begin_is_noted_at_its_own_answer(drive: Drive) -> None:
    """O03"""

    def broken() -> str:
        raise RuntimeError("no instructions")

    with pytest.raises(RuntimeError) as caught:
        drive(agent(handoffs=[Agent(name="B", instructions=broken)]), "Look", [[call("screenshot"), call("transfer_to_b")]])
    messages: list[dict[str, Any]] = caught.value.response.messages  # type: ignore[attr-defined]
    assert messages[2]["content"].startswith("Error: handed over to B")
    assert messages[3]["content"][1] == IMAGE


def test_a_tool_may_hand_over_and_show(drive: Drive) -> None:
    """O03"""
    target = Agent(name="B")

    def hand_over() -> Result:
        return Result(agent=target, parts=[Image(PIXEL)])

    response = drive(Agent(functions=[hand_over]), "Look", [call("hand_over"), "A dot."])
    assert response.messages[1]["content"] == '{"assistant": "B"}'
    assert drive.requests[1]["messages"][-1]["content"][1] == IMAGE


def test_across_an_approval_and_a_saved_state(drive: Drive) -> None:
    """O03: what was seen before an agent inside the batch paused is kept."""

    @tool(approval=True)
    def pay() -> str:
        return "paid"

    inner = Agent(name="Inner", functions=[pay])
    outer = Agent(name="Outer", functions=[screenshot, inner.as_tool("ask")])
    paused = drive(outer, "Look", [[call("screenshot"), call("ask", {"input": "pay"})], call("pay")])
    assert paused.stop_reason == "approval"
    state = load_state(json.dumps(paused.state()), agents=[outer, inner])
    response = drive.resume(state, ["Paid.", "A dot."], approvals={paused.pending[0].id: True})
    assert response.text == "A dot."
    assert [message["role"] for message in drive.requests[1]["messages"]][-4:] == ["assistant", "tool", "tool", "user"]
    assert drive.requests[1]["messages"][-1]["content"][1] == IMAGE


def test_a_held_part_that_is_none_is_refused(drive: Drive) -> None:
    """O03, M08"""

    @tool(approval=True)
    def pay() -> str:
        return "paid"

    outer = Agent(name="Outer", functions=[screenshot, Agent(name="Inner", functions=[pay]).as_tool("ask")])
    state = json.loads(json.dumps(drive(outer, "Look", [[call("screenshot"), call("ask", {"input": "pay"})], call("pay")]).state()))
    held = next(iter(state["held"].values()))
    assert held["parts"] == [IMAGE]
    held["parts"] = ["x"]
    with pytest.raises(ValueError, match="parts"):
        load_state(state, agents=[outer, Agent(name="Inner", functions=[pay])])


def test_through_history_filters(drive: Drive) -> None:
    """O03: with its batch or without it."""
    for count in (1, 2, 9):

        def last(messages: list[Any], count: int = count) -> list[Any]:
            return messages[-count:]

        response = drive(agent(history_filter=last), "Look", [call("screenshot"), "A dot."])
        assert response.text == "A dot."
        assert is_valid(drive.requests[1]["messages"])
        assert drive.requests[1]["messages"][-1]["content"][1] == IMAGE


@pytest.mark.parametrize("provider", RULES)
def test_each_provider_takes_it(drive: Drive, provider: str) -> None:
    """O03, O06: or words in the place of it."""
    turns = [[call("screenshot", id="abcdef001"), call("report", id="abcdef002")], "A dot."]
    client = FakeProvider(provider, ScriptedModel(turns).unused)
    response = drive(agent(model=MODELS.get(provider, "some-model")), "Look", client)
    assert response.text == "A dot."
    words = {"type": "text", "text": "[image/png, 68 bytes] (not shown to you: this provider takes no image_url)"}
    assert client.requests[1]["messages"][-1]["content"][1] == (words if provider == "deepseek" else IMAGE)
    assert PROFILES[provider].answer_after_tools == (client.requests[1]["messages"][-2]["role"] == "assistant")


def test_watchers_see_the_message(drive: Drive) -> None:
    """O03: the history is the messages of the events."""
    events = drive.events(agent(), "Look", [call("screenshot"), "A dot."])
    assert names(events)[:6] == ["TurnStarted", "MessageDone", "ToolStarted", "ToolDone", "MessageAdded", "TurnEnded"]
    told = next(event for event in events if isinstance(event, MessageAdded))
    assert (told.agent, told.message["content"][1]) == ("Eye", IMAGE)


def test_a_run_that_fails_after_the_batch_has_it(drive: Drive) -> None:
    """O03"""

    def broken() -> str:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError) as caught:
        drive(Agent(functions=[screenshot, broken]), "Look", [[call("screenshot"), call("broken")]], swarm={"tool_errors": "raise"})
    response: Any = caught.value.response  # type: ignore[attr-defined]
    assert [message["role"] for message in response.messages] == ["assistant", "tool", "tool", "user"]


def test_it_counts_as_a_message_and_ends_a_run_validly(drive: Drive) -> None:
    """O03"""
    response = drive(agent(), "Look", [call("screenshot")], max_turns=1)
    assert [message["role"] for message in response.messages] == ["assistant", "tool", "user"]
    assert response.text == ""
    assert drive(agent(), [{"role": "user", "content": "Look"}, *response.messages], ["A dot."]).text == "A dot."


def test_new_images_are_no_circle(drive: Drive) -> None:
    """O03, D6: the same words about other pictures."""
    shots = iter(range(100))

    def look() -> Result:
        return Result(value="Done.", parts=[Image(bytes([next(shots)]))])

    turns = [*[call("look") for _ in range(5)], "Enough."]
    assert drive(Agent(functions=[look]), "Look", turns, limits=Limits(repeats=3)).stop_reason == "complete"
    shots = iter([0] * 100)
    assert drive(Agent(functions=[look]), "Look", turns, limits=Limits(repeats=3)).stop_reason == "loop"


TOLD: list[tuple[Any, str, list[dict[str, Any]]]] = [
    (Image(PIXEL), "[image/png, 68 bytes] (see below)", [IMAGE]),
    ([Image(PIXEL), "A dot."], "A dot.", [IMAGE]),
    (["One.", Image(PIXEL), {"n": 2}, Image(PIXEL)], 'One.\n{"n":2}', [IMAGE, IMAGE]),
    (
        Image(url="https://example.org/a.png"),
        "[https://example.org/a.png] (see below)",
        [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}],
    ),
    ("text", "text", []),
    (["a", "b"], '["a","b"]', []),
    ([], "[]", []),
    ("", "", []),
    ({"shot": Image(b"abc")}, '{"shot":"Image([image/png, 3 bytes])"}', []),
]


@pytest.mark.parametrize(("value", "text", "parts"), TOLD)
def test_what_a_value_says_and_shows(value: Any, text: str, parts: list[dict[str, Any]]) -> None:
    """O03"""
    assert told(value) == (text, parts)


def test_a_result_takes_content_parts_of_any_kind(drive: Drive) -> None:
    """O03"""
    sound = {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}}

    def listen() -> Result:
        return Result(value=Image(PIXEL), parts=[sound])

    response = drive(Agent(functions=[listen]), "Listen", [call("listen"), "A beep."])
    assert response.messages[1]["content"] == "[image/png, 68 bytes] (see below) [wav, 3 bytes] (see below)"
    assert seen(response)[0]["content"][1:] == [IMAGE, sound]


@pytest.mark.parametrize("part", ["x", {"text": "x"}, b"x", None])
def test_a_part_that_is_none_is_told_like_any_mistake_of_a_tool(drive: Drive, part: Any) -> None:
    """O03"""

    def look() -> Result:
        return Result(value="x", parts=[part])

    response = drive(Agent(functions=[look]), "Look", [call("look"), "Hm."])
    assert response.messages[1]["content"].startswith("Error: TypeError: Result(parts=...) holds")
    assert seen(response) == []


def test_what_is_no_image_and_no_file() -> None:
    """O03"""
    text: Any = "x"
    for make in (Image, lambda: Image(b"x", url="y")):
        with pytest.raises(ValueError, match="one of the two"):
            make()
    for make in (lambda: Image(text), lambda: File(text, "text/plain")):
        with pytest.raises(TypeError, match="must be bytes, not str"):
            make()


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (IMAGE, "[image/png, 68 bytes]"),
        (Image(b"abcd", mime="image/jpeg").part, "[image/jpeg, 4 bytes]"),
        (File(bytes(5000), "application/pdf", "a.pdf").part, "[a.pdf, application/pdf, 5,000 bytes]"),
        ({"type": "file", "file": {"file_id": "f1"}}, "[file]"),
        ({"type": "input_audio", "input_audio": {"data": "UklG", "format": "mp3"}}, "[mp3, 3 bytes]"),
        ({"type": "input_audio", "input_audio": {}}, "[input_audio]"),
        ({"type": "image_url", "image_url": "x"}, "[image_url]"),
        ({}, "[None]"),
    ],
)
def test_a_placeholder(part: dict[str, Any], text: str) -> None:
    """O03"""
    assert placeholder(part) == text


def test_the_single_steps_give_it_too() -> None:
    """O03, K02"""
    swarm = Swarm(ScriptedModel([]))
    calls = [{"id": "c1", "type": "function", "function": {"name": "screenshot", "arguments": "{}"}}]
    partial = swarm.handle_tool_calls(calls, [screenshot], {}, False)
    assert [message["role"] for message in partial.messages] == ["tool", "user"]
    assert swarm.handle_function_result(Image(PIXEL), False).parts == [IMAGE]


def test_a_subclass_that_does_steps_its_own_way_keeps_it() -> None:
    """O03, D25"""

    class Calls(Swarm):
        def handle_tool_calls(self, *args: Any, **kwargs: Any) -> Any:
            return super().handle_tool_calls(*args, **kwargs)

    class Results(Swarm):
        def handle_function_result(self, result: Any, debug: bool) -> Any:
            return super().handle_function_result(result, debug)

    for kind in (Calls, Results):
        response = kind(ScriptedModel([[call("weather"), call("screenshot")], "A dot."])).run(agent(), "Look")
        assert [message["role"] for message in response.messages] == ["assistant", "tool", "tool", "user", "assistant"]
        assert seen(response)[0]["content"][-1] == IMAGE


@pytest.mark.parametrize("stream", [False, True])
def test_the_repl_prints_a_placeholder(stream: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """O03"""
    lines = iter(["Look"])

    def typed(prompt: str) -> str:
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", typed)
    monkeypatch.setattr(repl, "Swarm", lambda: Swarm(ScriptedModel([call("screenshot", id="c1"), "A dot."])))
    repl.run_demo_loop(agent(), stream=stream)
    printed = capsys.readouterr().out
    assert "\033[94mEye\033[0m: From screenshot (c1): [image/png, 68 bytes]\n" in printed
    assert "base64" not in printed


def test_the_repl_prints_no_other_message_of_a_user(capsys: pytest.CaptureFixture[str]) -> None:
    """O03, K24"""
    repl.pretty_print_messages([{"role": "user", "content": [IMAGE]}, {"role": "user", "content": "x", "sender": "Eye"}])
    assert capsys.readouterr().out == ""
    repl.pretty_print_messages([{"role": "assistant", "content": [{"type": "text", "text": "Here:"}, IMAGE], "sender": "Eye"}])
    assert capsys.readouterr().out == "\033[94mEye\033[0m: Here: [image/png, 68 bytes]\n"


# Long results, and such that are no text


def test_a_long_result_is_cut_where_its_tool_says_so_with_a_mark(drive: Drive) -> None:
    """O04"""

    @tool(max_chars=11)
    def book() -> str:
        return f"begin{'x' * 5_000_000}the end"

    response = drive(Agent(functions=[book]), "Read", [call("book"), "Done."])
    assert response.messages[1]["content"] == "beginx\n[... 5,000,001 of 5,000,012 characters left out ...]\ne end"


def test_a_long_result_is_whole_by_default(drive: Drive) -> None:
    """O04"""
    response = drive(Agent(functions=[lambda_book]), "Read", [call("lambda_book"), "Done."])
    assert response.messages[1]["content"] == "x" * 500_000


def lambda_book() -> str:
    """A long book."""
    return "x" * 500_000


def test_errors_and_agents_are_cut_too(drive: Drive) -> None:
    """O04"""

    @tool(max_chars=20)
    def broken() -> str:
        raise ValueError("y" * 1000)

    expert = tool(Agent(name="Expert").as_tool("ask"), max_chars=4)
    response = drive(Agent(functions=[broken, expert]), "Go", [[call("broken"), call("ask", {"input": "?"})], "a long answer", "Done."])
    assert [message["content"] for message in response.messages[1:3]] == [
        "Error: Val\n[... 999 of 1,019 characters left out ...]\nyyyyyyyyyy",
        "a \n[... 9 of 13 characters left out ...]\ner",
    ]


def test_the_value_that_ends_a_run_is_never_cut(drive: Drive) -> None:
    """O04"""

    @tool(max_chars=1)
    def stop() -> Result:
        return Result(value="whole", stop=True)

    assert drive(Agent(functions=[stop]), "Go", [call("stop")]).output == "whole"


def test_what_is_encoded_is_left_out_as_a_whole_and_never_cut(drive: Drive) -> None:
    """O04"""
    encoded = base64.b64encode(bytes(range(256)) * 20).decode()

    @tool(max_chars=500)
    def page() -> dict[str, str]:
        return {"title": "Dot", "icon": f"data:image/png;base64,{'A' * 400}", "file": encoded}

    response = drive(Agent(functions=[page]), "Read", [call("page"), "Done."])
    assert json.loads(response.messages[1]["content"]) == {
        "title": "Dot",
        "icon": "[422 characters of base64 left out]",
        "file": "[6,828 characters of base64 left out]",
    }


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_base64_in_lines_is_left_out_whole(end: str) -> None:
    """O04: as in mails and certificates."""
    lines = base64.encodebytes(bytes(range(256)) * 20).decode().replace("\n", end)
    short = shortened(f"-----BEGIN-----{end}{lines}-----END-----", 200)
    assert short.startswith(f"-----BEGIN-----{end}[")
    assert short.endswith(" characters of base64 left out]" + end + "-----END-----")


def test_bytes_are_their_text_or_their_number(drive: Drive) -> None:
    """O04: never b'...'."""

    def output() -> bytes:
        return "grün\n".encode()

    def dump() -> bytes:
        return bytes(range(256)) * 20_000

    response = drive(Agent(functions=[output, dump]), "Go", [[call("output"), call("dump")], "Done."])
    assert [message["content"] for message in response.messages[1:3]] == ["grün\n", "(5,120,000 bytes that are no text)"]


@pytest.mark.parametrize("size", [0, -1, "10", 1.5])
def test_a_limit_that_is_none(size: Any) -> None:
    """O04"""
    with pytest.raises(AgentError, match="max_chars"):
        tool(weather, max_chars=size)


@given(st.text(max_size=300), st.integers(1, 200))
def test_a_cut_text_says_what_it_lacks(text: str, limit: int) -> None:
    """O04"""
    cut = shortened(text, limit)
    if len(text) <= limit:
        assert cut == text
    elif "left out" in cut:
        head, _, rest = cut.partition("\n[... ")
        mark, _, tail = rest.partition(" ...]\n")
        assert mark == f"{len(text) - limit:,} of {len(text):,} characters left out"
        assert text.startswith(head)
        assert text.endswith(tail)
        assert len(head) + len(tail) == limit
        assert 0 <= len(head) - len(tail) <= 1
    else:
        raise AssertionError("cut without a mark")
