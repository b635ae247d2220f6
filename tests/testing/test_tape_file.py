"""The file of a tape: readable, the same each time, whole or not there, and without secrets."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm import Agent, Response, Swarm
from swarm.errors import RequestError
from swarm.models.scripted import ScriptedModel, Turn, call
from swarm.testing import Tape, TapeError
from swarm.testing.tape.lines import read_tape, write_tape
from swarm.testing.tape.redaction import MARK, Redaction
from tests.modes import MODES, Drive

KEY = "sk-proj-AbCdEf0123456789"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "one.jsonl"


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text_of(path).splitlines()]


def echo(text: str, pin: int = 0) -> str:
    """Say it again."""
    return f"{text} {pin}"


def to_other() -> Agent:
    """Hand over."""
    return other


other = Agent(name="Other", instructions="Be other.", functions=[echo])
agent = Agent(name="First", instructions="Be first.", functions=[echo, to_other], tool_choice="required")


# The form


def test_a_line_holds_what_is_new(path: Path) -> None:
    turns = [call("echo", {"text": "x"}), call("to_other"), "done"]
    Swarm(Tape(path, ScriptedModel(turns), record=True)).run(agent, "go")
    head, first, second, third = lines_of(path)
    assert head == {"tape": 1}
    assert [message["role"] for message in first["request"]["messages"]] == ["system", "user"]
    assert first["reply"]["message"]["tool_calls"][0]["function"] == {"name": "echo", "arguments": '{"text":"x"}'}
    assert (second["like"], third["like"]) == (2, 3)
    assert [message["role"] for message in second["more"]] == ["assistant", "tool"]
    assert second["without"] == ["tool_choice"]
    assert "request" not in second and "instructions" not in second
    assert third["instructions"] == [{"role": "system", "content": "Be other."}]
    assert list(third["request"]) == ["tools"]


def test_a_changed_word_changes_one_line(tmp_path: Path) -> None:
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for path, word in zip(paths, ("one", "two"), strict=True):
        Swarm(Tape(path, ScriptedModel([call("echo", {"text": "x"}), call("to_other"), word]), record=True)).run(agent, "go")
    before, after = (text_of(path).splitlines() for path in paths)
    assert [number for number, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]] == [3]


@pytest.mark.parametrize("mode", MODES)
def test_recording_again_changes_nothing(mode: str, tmp_path: Path) -> None:
    """No id, time or padding of the provider's is kept."""
    texts: list[str] = []
    for number in (1, 2):

        class Noisy(ScriptedModel):
            def complete(self, call: Any) -> Any:
                reply = super().complete(call)
                reply.id = f"chatcmpl-{number}"  # noqa: B023
                return reply

            def stream(self, call: Any) -> Any:
                noise = {"id": f"chatcmpl-{number}", "created": number, "obfuscation": "x" * number, "system_fingerprint": f"fp_{number}"}  # noqa: B023
                return ({**piece, **noise} for piece in super().stream(call))

        path = tmp_path / f"{number}.jsonl"
        turns = [[call("echo", {"text": "x"}, id=f"call_{number}_abc")], "done"]
        Drive(mode)(agent, "go", Tape(path, Noisy(turns), record=True))
        texts.append(text_of(path))
    assert texts[0] == texts[1]


def test_a_history_that_does_not_go_on_is_written_whole(path: Path) -> None:
    tape = Tape(path, ScriptedModel(["a", "b", "c"]), record=True)
    for words in ("one", "two"):
        Swarm(tape).run(other, words)
    Swarm(tape).run(other, [{"role": "user", "content": "two"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "on"}])
    assert ["like" in line for line in lines_of(path)] == [False, False, False, True]
    assert lines_of(path)[3]["like"] == 3
    with Tape(path) as again:
        assert Swarm(again).run(other, "two").text == "b"
        assert Swarm(again).run(other, "one").text == "a"
        messages = [{"role": "user", "content": "two"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "on"}]
        assert Swarm(again).run(other, messages).text == "c"


def test_what_json_cannot_hold_is_named_by_its_type(path: Path) -> None:
    class Shape:
        pass

    strange = Agent(model_settings={"response_format": Shape, "metadata": {"shape": Shape()}})
    Swarm(Tape(path, ScriptedModel(["done"]), record=True)).run(strange, "go")
    request = lines_of(path)[1]["request"]
    assert request["response_format"] == request["metadata"]["shape"]
    assert request["response_format"].endswith(".Shape>") and "0x" not in text_of(path)
    with Tape(path) as tape:
        Swarm(tape).run(strange, "go")


def test_each_line_is_one_line_of_utf8(path: Path) -> None:
    words = "ünïcode \u2028 \x85 \ud83d half"
    Swarm(Tape(path, ScriptedModel(["é"]), record=True)).run(Agent(), "é")
    assert "é" in text_of(path)
    write_tape(path, {}, [{"request": {"messages": [{"role": "user", "content": words}]}, "error": {"kind": "X", "text": "x"}}])
    assert len(text_of(path).splitlines()) == 2
    assert read_tape(path)[1][0]["request"]["messages"][0]["content"] == words


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "user", "assistant", "tool"]), "content": st.sampled_from(["a", "b", ""])}),
    max_size=4,
)
REQUESTS = st.builds(
    lambda messages, settings: {**settings, "messages": messages},
    MESSAGES,
    st.dictionaries(st.sampled_from(["model", "metadata", "temperature", "like", "more", "without"]), JSON, max_size=3),
)


@given(st.lists(REQUESTS, max_size=6))
def test_every_request_comes_back_whole(tmp_path_factory: pytest.TempPathFactory, requests: list[dict[str, Any]]) -> None:
    path = tmp_path_factory.getbasetemp() / "whole.jsonl"
    write_tape(path, {}, [{"request": request, "chunks": []} for request in requests])
    assert [line["request"] for line in read_tape(path)[1]] == requests


def test_a_tape_is_written_whole_or_not_at_all(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Swarm(Tape(path, ScriptedModel(["old"]), record=True)).run(Agent(), "go")
    before = text_of(path)

    def full(*_: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="disk full"):
        Swarm(Tape(path, ScriptedModel(["new"]), record=True)).run(Agent(), "go")
    assert text_of(path) == before
    assert list(path.parent.iterdir()) == [path]


# What is no tape


def test_a_missing_tape_says_how_to_record_it(drive: Drive, path: Path) -> None:
    tape = Tape(path)
    tape.assert_done()
    with pytest.raises(TapeError, match=r"there is no tape .*one\.jsonl yet; record it with SWARM_RECORD=1 .*--swarm-record.*record=True"):
        drive(Agent(), "go", tape)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no tape of version 1: it is empty"),
        ('{"tape": 2}', "no tape of version 1: its first line says 2"),
        ('{"request": {}}', 'its first line is not {"tape": 1}'),
        ("no json", "line 1: it is no JSON"),
        ('{"tape": 1}\n[1]', "line 2: it is no JSON object"),
        ('{"tape": 1}\n{"request": {"messages": []}}', "line 2: it is no answer and no tool call"),
        ('{"tape": 1}\n{"tool": "a"}', "line 2: it is no answer and no tool call"),
        *(
            (f'{{"tape": 1}}\n{{"like": {like}, "more": [], "chunks": []}}', 'line 2: "like" must be the number of an earlier answer')
            for like in ("7", "2", "1", "0", "-1", '"1"', "true")
        ),
    ],
)
def test_a_file_that_is_no_tape_is_refused(text: str, why: str, path: Path) -> None:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TapeError, match=re.escape(why)):
        Swarm(Tape(path)).run(Agent(), "go")


def test_a_tape_may_have_windows_line_ends_and_marks(path: Path) -> None:
    Swarm(Tape(path, ScriptedModel(["done"]), record=True)).run(Agent(), "go")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert Swarm(Tape(path)).run(Agent(), "go").text == "done"


def test_an_editor_may_write_the_line_ends_of_unicode_as_they_are(path: Path) -> None:
    """U+2028 and U+0085 end no line of JSON."""
    Swarm(Tape(path, ScriptedModel(["one\u2028two\x85"]), record=True)).run(Agent(), "go")
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines_of(path)), encoding="utf-8")
    assert Swarm(Tape(path)).run(Agent(), "go").text == "one\u2028two\x85"


# Secrets


def test_what_looks_like_a_key_is_hidden_and_still_matches(drive: Drive, path: Path) -> None:
    def run(tape: Tape) -> Any:
        return drive(agent.copy(tool_choice=None), f"My key is {KEY}", tape)

    turns = [call("echo", {"text": f"Bearer {KEY[8:]}"}), f"I will not tell {KEY}"]
    assert run(Tape(path, ScriptedModel(turns), record=True)).text.endswith(KEY)
    assert KEY[8:] not in text_of(path)
    with Tape(path) as tape:
        response = run(tape)
    assert response.text == f"I will not tell {MARK}"
    assert response.messages[1]["content"] == f"{MARK} 0"


def test_fields_are_hidden_wherever_json_stands(drive: Drive, path: Path) -> None:
    person = {"email": "ann@example.com", "pin": 4711, "vip": True}

    def profile(person: dict[str, Any], context_variables: dict[str, Any]) -> dict[str, Any]:
        """Look a person up."""
        context_variables["found"] = {"email": person["email"]}
        return {"E-mail": 1, "email": person["email"]}

    def run(tape: Tape) -> Any:
        mine = Agent(functions=[profile], model_settings={"metadata": {"email": "ann@example.com"}, "user": "ann"})
        return drive(mine, 'See {"email": "ann@example.com"}', tape, swarm={"policies": [tape]})

    hidden = ["email", "pin", "user"]
    run(Tape(path, ScriptedModel([call("profile", {"person": person}), "done"]), redact=hidden, record=True))
    assert "ann" not in text_of(path) and "4711" not in text_of(path)
    with Tape(path, redact=hidden) as tape:
        response = run(tape)
    arguments = response.calls[0].arguments
    assert arguments == {"person": {"email": MARK, "pin": 0, "vip": True}}
    assert response.context_variables == {"found": {"email": MARK}}


def test_patterns_are_hidden_in_any_text(drive: Drive, path: Path) -> None:
    redact = [re.compile(r"\d{4}-\d\d-\d\d")]

    def on(day: str, tape: Tape) -> Any:
        return drive(Agent(instructions=f"Today is {day}."), "go", tape)

    on("2031-01-01", Tape(path, ScriptedModel(["done"]), redact=redact, record=True))
    assert f"Today is {MARK}." in text_of(path)
    assert on("2031-12-31", Tape(path, redact=redact)).text == "done"
    with pytest.raises(TapeError):
        on("2031-12-31", Tape(path))


def test_patterns_are_hidden_in_names_numbers_and_schemas(drive: Drive, path: Path) -> None:
    """What is hidden is hidden in the names of fields and variables, in numbers, in a user's `name` and in a parameter called `name`;
    arguments stay JSON, so that the call can be replayed."""

    def save(name: str, card: int, people: dict[str, int], context_variables: dict[str, Any]) -> dict[str, int]:
        """Save.

        Args:
            name: such as ann@example.com
        """
        context_variables.pop("cy@example.com", None)
        context_variables["dan@example.com"] = {"eve@example.com": card}
        return people

    redact = [re.compile(r"[a-z]+@[a-z.]+"), re.compile(r"4111\d+")]
    arguments = {"name": "ann@example.com", "card": 4111111111111111, "people": {"bob@example.com": 7}}
    asked = [{"role": "user", "name": "fay@example.com", "content": "go"}]

    def run(tape: Tape) -> Response:
        swarm = {"policies": [tape]}
        return drive(Agent(functions=[save]), asked, tape, swarm=swarm, context_variables={"cy@example.com": 1})

    run(Tape(path, ScriptedModel([call("save", arguments), "done"]), redact=redact, record=True))
    assert "@" not in text_of(path) and "4111" not in text_of(path)
    with Tape(path, redact=redact) as tape:
        response = run(tape)
    assert response.calls[0].outcome == "ok"
    assert response.calls[0].arguments == {"name": MARK, "card": 0, "people": {MARK: 7}}
    assert response.context_variables[MARK] == {MARK: 0}


def test_the_status_of_a_failure_is_no_text(path: Path) -> None:
    error = RequestError("400: order 4711", status=400, body={"order": 4711})
    redact = [re.compile(r"\d+")]
    with pytest.raises(RequestError):
        Swarm(Tape(path, ScriptedModel([error]), redact=redact, record=True)).run(Agent(), "go")
    with pytest.raises(RequestError) as found:
        Swarm(Tape(path, redact=redact)).run(Agent(), "go")
    assert found.value.status == 400 and "4711" not in text_of(path)


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ('{"n": 4711, "m": 1}', '{"n": 0, "m": 1}'),
        ('\n {"n": 4711.5}', '{"n": 0.0}'),
        ('{"n": "4711", "yes": true}', '{"n": "[redacted]", "yes": true}'),
        ('{"4711": 1}', '{"[redacted]": 1}'),
        (r'{"n": "\u4711"}', r'{"n": "\u4711"}'),  # one character, no number
        ('{"n": "4711", "n": 1}', '{"n": "[redacted]", "n": 1}'),
        ('{"n": 4711', '{"n": [redacted]'),
        ('{"pin": "x"}', "{[redacted]}"),
    ],
)
def test_json_stays_json_where_a_pattern_is_hidden(text: str, hidden: str) -> None:
    assert Redaction([re.compile(r"47\d\d(\.5)?"), re.compile('"pin": "."')]).text(text) == hidden


def test_a_secret_that_a_stream_cuts_in_pieces_is_hidden(path: Path) -> None:
    turns = [call("echo", {"text": KEY}), Turn(chunks=["Use sk-pr", "oj-AbCdEf", "0123456789 now"])]
    for mode in ("sync-stream", "async-stream"):
        response = Drive(mode)(agent, "go", Tape(path, ScriptedModel(turns), record=True))
        assert response.text == f"Use {KEY} now"
        assert "oj-AbCdEf" not in text_of(path)
        assert Drive(mode)(agent, "go", Tape(path)).text == f"Use {MARK} now"


def test_a_secret_in_a_broken_stream_is_hidden(path: Path) -> None:
    turn = Turn(chunks=[f"Use {KEY[:12]}", f"{KEY[12:]} now", RequestError(f"400: not with {KEY}", status=400, body={"key": KEY})])
    for tape in (Tape(path, ScriptedModel([turn]), record=True), Tape(path)):
        with pytest.raises(Exception, match="400: not with"):
            Drive("sync-stream")(Agent(), "go", tape)
    assert KEY[12:] not in text_of(path)
    turn = Turn(chunks=[f"Use {KEY[:12]}", f"{KEY[12:]} now", {"error": {"message": "no", "code": 429}}])
    for tape in (Tape(path, ScriptedModel([turn]), record=True), Tape(path)):
        with pytest.raises(Exception, match="no"):
            Drive("sync-stream")(Agent(), "go", tape)
    assert KEY[12:] not in text_of(path)


def test_headers_are_never_written(path: Path) -> None:
    settings = {"extra_headers": {"Authorization": "Bearer abcdef", "X-Mine": "mine"}, "extra_query": {"code": "mine"}, "timeout": 3}
    Swarm(Tape(path, ScriptedModel(["done"]), record=True)).run(Agent(model_settings=settings), "go")
    assert "mine" not in text_of(path) and "abcdef" not in text_of(path)
    assert Swarm(Tape(path)).run(Agent(), "go").text == "done"


@pytest.mark.parametrize(
    "secret",
    [
        *(KEY, "sk-ant-api03-abcdefgh", "sk-or-v1-0123456789abcdef", "gsk_abcdefghij0123456789", "xai-abcdefghij0123456789"),
        *("hf_abcdefghijklmnopqrst", "ghp_abcdefghijklmnopqrst", "github_pat_abcdefghijklmnop", "xoxb-1234567890-abc", "Bearer abc.def"),
        *("AIzaSyA0123456789abcdefghijk", "AKIAABCDEFGHIJKLMNOP", "bearer  abcdef==", "eyJhbGciOiJI.eyJzdWIiOiIx.abc", "sk_live_123456789"),
    ],
)
def test_keys_are_known_by_their_look(secret: str) -> None:
    assert Redaction().text(f"a {secret}, b") == f"a {MARK}, b"
    assert Redaction().data({"text": [secret]}) == {"text": [MARK]}


@pytest.mark.parametrize(
    "text", ["a task-force of four people", "a risk-averse person", "desk-bound", "[1, 2]", "{}", '{"a":1}', '{"a"', "[" * 9]
)
def test_other_texts_are_left_as_they_are(text: str) -> None:
    assert Redaction(["b"]).text(text) == text


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ('see {"pin": 47.5e1, "b": 1}', 'see {"pin": 0, "b": 1}'),
        ('{"pin": "a\\"b", "b"', f'{{"pin": "{MARK}", "b"'),
        ('{"pin": "cut o', f'{{"pin": "{MARK}'),
        ("{'Pin': 'it\\'s', 'b': 1}", f"{{'Pin': '{MARK}', 'b': 1}}"),
        ('{"pin":"", "pins": "x"', '{"pin":"", "pins": "x"'),
    ],
)
def test_fields_are_hidden_in_what_is_not_quite_json(text: str, hidden: str) -> None:
    assert Redaction(["pin"]).text(text) == hidden


@pytest.mark.parametrize("name", ["Authorization", "api_key", "API-Key", "password", "x-api-key", "Set-Cookie"])
def test_secret_fields_are_known_by_their_names(name: str) -> None:
    assert Redaction().data({name: "open sesame", "n": {name: ["a", 1, None, True, ""]}}) == {
        name: MARK,
        "n": {name: [MARK, 0, None, True, ""]},
    }


def test_the_form_of_the_api_is_left_alone() -> None:
    message = {"role": "assistant", "content": [{"type": "text", "text": KEY}], "tool_calls": [{"id": KEY, "function": {"name": "name"}}]}
    hidden = Redaction(["name", "text", "role"]).said(message)
    assert hidden == {**message, "content": [{"type": "text", "text": MARK}]}


@given(st.text(alphabet='abk-s_[]{}":, redacted0123456789BearEr'), JSON)
def test_hiding_twice_changes_nothing(text: str, value: Any) -> None:
    redaction = Redaction(["a", "b", re.compile(r"\d+"), re.compile(r"[a-c]+")])
    once = redaction.text(text)
    assert redaction.text(once) == once
    hidden = redaction.data(value)
    assert redaction.data(hidden) == hidden


@pytest.mark.parametrize("wrong", ["email", [1], [b"x"]])
def test_redact_takes_names_and_patterns(wrong: Any) -> None:
    with pytest.raises(TypeError, match="list of field names and compiled patterns"):
        Tape("x.jsonl", redact=wrong)
