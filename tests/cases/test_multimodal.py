"""Images, sound and files in messages: on their way to a model through everything that stands between, and what a person sees of them."""

from __future__ import annotations

import base64
import copy
import json
from pathlib import Path
from typing import Any

import pytest

from swarm import Agent, Image, OfflineModel, Result, ScriptedModel, Swarm, load_state, tool
from swarm.attachments import Audio, user_message
from swarm.commands.display import Lines
from swarm.errors import HistoryError, ServerError
from swarm.events import Delta, Done, MessageAdded, MessageDone
from swarm.models.scripted import Turn, call
from swarm.parts import File, in_words
from swarm.policies import Cache, ContextWindow, Fallback, Guardrail, Summary
from swarm.policies.checks import Pattern
from swarm.repl import repl
from swarm.testing import Tape
from swarm.tokens import PER_PART, estimate
from tests.look import is_valid
from tests.modes import Drive
from tests.policies.test_fallback import Served

PIXEL = b"\x89PNG\r\n\x1a\n" + bytes(60)
LETTER = File(b"%PDF-1.7", "application/pdf", "letter.pdf")
ALL = user_message("What are these?", Image(PIXEL), Image(url="https://example.org/a.png"), Audio(b"RIFF"), LETTER)
DATA = base64.b64encode(PIXEL).decode()
OPENAI, DEEPSEEK = "https://api.openai.com/v1", "https://api.deepseek.com"


def look() -> Result:
    """Look at the screen."""
    return Result(value="Here.", parts=[Image(PIXEL), LETTER])


@tool(approval=True)
def pay() -> str:
    """Pay."""
    return "paid"


EYE = Agent(name="Eye", instructions="Look.", functions=[look])


def content(request: dict[str, Any], at: int = 1) -> Any:
    return request["messages"][at]["content"]


def types(parts: list[dict[str, Any]]) -> list[str]:
    return [part["type"] for part in parts]


# To the model


def test_parts_of_every_kind_go_to_the_model_as_they_are(drive: Drive) -> None:
    """O06, S16, K08"""
    given = copy.deepcopy(ALL)
    response = drive(EYE, [given], [call("look"), "A dot."])
    assert [content(request) for request in drive.requests] == [ALL["content"]] * 2
    assert given == ALL
    assert json.loads(json.dumps(response.messages)) == response.messages
    again = drive(EYE, [given, *response.messages, {"role": "user", "content": "And?"}], ["A dot still."])
    assert again.text == "A dot still."
    assert content(drive.requests[0]) == ALL["content"]
    assert is_valid(drive.requests[0]["messages"])


def test_who_takes_over_sees_what_the_provider_takes(drive: Drive) -> None:
    """O06, H17: an image early in the conversation does not keep a model that reads only from going on."""
    reader = Agent(name="Reader", client=Served(["I see words only."], DEEPSEEK))
    seer = Agent(name="Seer", handoffs=[reader], client=Served([call("transfer_to_reader")], OPENAI))
    response = drive(seer, [ALL], [])
    assert response.text == "I see words only."
    assert content(seer.client.requests[0]) == ALL["content"]
    assert [part["text"] for part in content(reader.client.requests[0])] == [
        "What are these?",
        "[image/png, 68 bytes] (not shown to you: this provider takes no image_url)",
        "[https://example.org/a.png] (not shown to you: this provider takes no image_url)",
        "[wav, 4 bytes] (not shown to you: this provider takes no input_audio)",
        "[letter.pdf, application/pdf, 8 bytes] (not shown to you: this provider takes no file)",
    ]


@pytest.mark.parametrize(("first", "second", "seen"), [(OPENAI, "https://api.x.ai/v1", True), (OPENAI, DEEPSEEK, False)])
def test_the_provider_that_stands_in_gets_it_in_its_own_form(drive: Drive, first: str, second: str, seen: bool) -> None:
    """O06"""
    spare = Served(["A dot."], second)
    response = drive(EYE, [ALL], Served([ServerError("down")], first), swarm={"policies": [Fallback(clients=[spare])]})
    assert response.text == "A dot."
    assert types(content(spare.requests[0])) == (types(ALL["content"]) if seen else ["text"] * 5)


def test_the_profile_of_an_agent_says_what_is_not_shown(drive: Drive) -> None:
    """O06"""
    drive(Agent(profile="vllm"), [ALL], ["ok"])
    assert types(content(drive.requests[0])) == ["text", "image_url", "image_url", "input_audio", "text"]


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        (["look", {"type": "image_url"}], r"messages\[0\].content\[0\]"),
        ([{"image_url": {"url": "x"}}], r"messages\[0\].content\[0\]"),
        (Image(PIXEL), r"messages\[0\] \(role user\) has content of type Image"),
    ],
)
def test_what_is_no_part_is_refused_with_its_place(drive: Drive, parts: Any, told: str) -> None:
    """O06, C08"""
    with pytest.raises(HistoryError, match=told):
        drive(EYE, [{"role": "user", "content": parts}], ["ok"])


def test_a_broken_history_is_repaired_around_it(drive: Drive) -> None:
    """O06: an orphan answer goes, an unnamed call gets its id, and the image stays."""
    asked = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "look", "arguments": "{}"}}]}
    shown = {"role": "user", "content": [Image(PIXEL).part]}
    orphan = {"role": "tool", "tool_call_id": "?", "content": "x"}
    drive(EYE, [ALL, asked, shown, orphan, {"role": "user", "content": "Well?"}], ["A dot."])
    sent = drive.requests[0]["messages"]
    assert is_valid(sent)
    assert [message["content"] for message in sent if isinstance(message["content"], list)] == [ALL["content"], shown["content"]]


def test_the_offline_model_reads_the_words_beside_it(drive: Drive) -> None:
    """O06, D30"""
    offline = OfflineModel()
    assert "weather" in drive(Agent(functions=[get_weather]), [user_message("Weather in Rome?", Image(PIXEL))], offline).text
    assert drive(Agent(functions=[get_weather]), [user_message(Image(PIXEL))], offline).text


def get_weather(city: str) -> str:
    """Get the weather in a city."""
    return f"The weather in {city} is fine."


# Through policies


def test_an_image_counts_as_what_it_costs_and_not_by_its_data(drive: Drive) -> None:
    """O06"""
    large = user_message("Look", Image(bytes(3_000_000)))
    assert PER_PART < estimate([large]) < PER_PART + 20
    talk: list[Any] = [message for _ in range(5) for message in (large, {"role": "assistant", "content": "A dot."})]
    drive(EYE, [*talk, large], ["A dot."], swarm={"policies": [ContextWindow(3 * PER_PART)]})
    assert sum(isinstance(message["content"], list) for message in drive.requests[0]["messages"]) == 2
    drive(EYE, [large], ["A dot."], swarm={"policies": [ContextWindow(2 * PER_PART)]})
    assert content(drive.requests[0]) == large["content"]


def test_a_summary_is_made_of_placeholders(drive: Drive) -> None:
    """O06"""
    picture = user_message(Image(PIXEL))
    talk: list[Any] = [message for _ in range(5) for message in (picture, {"role": "assistant", "content": "A dot."})]
    drive(EYE, [*talk, picture], ["Five dots.", "A dot."], swarm={"policies": [ContextWindow(3 * PER_PART, Summary())]})
    asked = drive.requests[0]["messages"][0]["content"]
    assert "user: [image/png, 68 bytes]\nassistant: A dot." in asked
    assert DATA not in asked


def test_another_image_is_another_question(drive: Drive) -> None:
    """O06"""
    cache = Cache()
    pictures = [user_message("What?", Image(data)) for data in (b"a", b"b", b"a")]
    model = ScriptedModel(["An a.", "A b."])
    assert [drive(EYE, [picture], model, swarm={"policies": [cache]}).text for picture in pictures] == ["An a.", "A b.", "An a."]
    model.assert_done()


def test_a_guardrail_changes_the_words_beside_it(drive: Drive) -> None:
    """O06"""
    guard = Guardrail(Pattern(r"\d{4}", by="[number]", longest=4), on="input")
    drive(EYE, [user_message("Is 1234 in it?", Image(PIXEL))], ["Yes."], swarm={"policies": [guard]})
    assert content(drive.requests[0]) == [{"type": "text", "text": "Is [number] in it?"}, Image(PIXEL).part]


def test_it_is_saved_with_a_run_and_goes_on(drive: Drive) -> None:
    """O06, D4"""
    agent = Agent(name="Till", functions=[look, pay])
    paused = drive(agent, [ALL], [call("look"), call("pay", id="c2")])
    assert paused.stop_reason == "approval"
    state = load_state(json.dumps(paused.state()), agents=[agent])
    assert drive.resume(state, ["Paid."], approvals={"c2": True}).text == "Paid."
    assert content(drive.requests[0]) == ALL["content"]


def test_a_tape_gives_the_same_again(drive: Drive, tmp_path: Path) -> None:
    """O06"""
    path = tmp_path / "tape.jsonl"
    recorded = drive(EYE, [ALL], Tape(path, ScriptedModel([call("look"), "A dot."]), record=True))
    with Tape(path) as tape:
        assert drive(EYE, [ALL], tape).messages == recorded.messages


# For people


def test_redacted_observers_get_placeholders(drive: Drive) -> None:
    """O06, T10: nobody can tell by its data what an image shows. The model, and who gets the Response, have it all."""
    events: list[Any] = []

    def redact(text: str) -> str:
        return text.replace("letter", "[...]")

    swarm: dict[str, Any] = {"redact": redact, "on_event": events.append}
    response = drive(EYE, [ALL], [call("look"), "A dot."], swarm=swarm)
    assert DATA in json.dumps(response.messages)
    assert DATA in json.dumps(drive.requests[1])
    [added] = [event.message for event in events if isinstance(event, MessageAdded)]
    assert [part["text"] for part in added["content"]][1:] == ["[image/png, 68 bytes]", "[[...].pdf, application/pdf, 8 bytes]"]
    [done] = [event.response for event in events if isinstance(event, Done)]
    assert DATA not in json.dumps(done.messages)


def test_the_trace_has_placeholders(drive: Drive, capsys: pytest.CaptureFixture[str]) -> None:
    """O06, K16, D32"""
    spoken = Turn("A dot.", extra={"audio": {"id": "a1", "data": DATA, "transcript": "A dot."}})
    drive(EYE, [ALL], [call("look"), spoken], debug=True)
    trace = capsys.readouterr().out
    assert "Added for Eye: From look" in trace
    assert "[image/png, 68 bytes] [letter.pdf, application/pdf, 8 bytes]" in trace
    assert DATA not in trace


def test_a_picture_from_a_model_in_the_trace(drive: Drive, capsys: pytest.CaptureFixture[str]) -> None:
    """O06: some answer in parts."""
    parts = [{"type": "text", "text": "Here:"}, Image(PIXEL).part]
    drive(EYE, "Draw", [Turn(None, extra={"content": parts})], debug=True)
    trace = capsys.readouterr().out
    assert "'content': 'Here: [image/png, 68 bytes]'" in trace
    assert DATA not in trace


def test_the_terminal_shows_placeholders(drive: Drive, capsys: pytest.CaptureFixture[str]) -> None:
    """O06: what `swarm run` and `swarm chat` print."""
    lines = Lines()
    for event in drive.events(EYE, [ALL], [call("look"), "A dot."]):
        lines.event(event)
    printed = capsys.readouterr().out
    assert "  <- Here.\n  <- [image/png, 68 bytes] [letter.pdf, application/pdf, 8 bytes]\n" in printed
    assert DATA not in printed


@pytest.mark.parametrize(("text", "shown"), [("", "Eye: [image/png, 68 bytes]\n"), ("Here:", "Eye: Here: [image/png, 68 bytes]\n")])
def test_a_picture_from_a_model_in_the_terminal(text: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    """O06"""
    lines, parts = Lines(), [{"type": "text", "text": text}, Image(PIXEL).part]
    lines.event(Delta("Eye", {"content": text}))
    lines.event(MessageDone("Eye", {"role": "assistant", "content": parts, "sender": "Eye"}))
    assert capsys.readouterr().out == shown


def test_the_plain_loop_prints_them_too(capsys: pytest.CaptureFixture[str]) -> None:
    """O06, K24"""
    repl.pretty_print_messages([{"role": "assistant", "sender": "Eye", "content": [Image(PIXEL).part, Audio(b"RIFF").part]}])
    assert capsys.readouterr().out == "\033[94mEye\033[0m: [image/png, 68 bytes] [wav, 4 bytes]\n"
    repl.pretty_print_messages(Swarm(ScriptedModel(["A dot."])).run(EYE, [ALL]).messages)
    assert capsys.readouterr().out == "\033[94mEye\033[0m: A dot.\n"


def test_a_message_in_words() -> None:
    """O06"""
    assert in_words(ALL) == (
        "What are these? [image/png, 68 bytes] [https://example.org/a.png] [wav, 4 bytes] [letter.pdf, application/pdf, 8 bytes]"
    )
    assert [in_words({"content": content}) for content in ("Hi", None, [], ["odd"])] == ["Hi", "", "", ""]
