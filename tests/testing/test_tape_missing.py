"""What a tape says that does not hold what is asked, or more than is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from swarm import Agent, Swarm, SwarmError
from swarm.models.scripted import ScriptedModel, call
from swarm.testing import Tape, TapeError
from tests.modes import Drive


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "one.jsonl"


def echo(text: str) -> str:
    """Say it again."""
    return text


agent = Agent(name="Parrot", instructions="Repeat.\nBe kind.", functions=[echo])
TURNS = [call("echo", {"text": "hello"}), "done"]


def record(path: Path, turns: Any = TURNS, agent: Agent = agent) -> None:
    tape = Tape(path, ScriptedModel(turns), record=True)
    Swarm(tape, policies=[tape]).run(agent, "go")


def test_a_request_that_differs_is_shown_beside_the_nearest(drive: Drive, path: Path) -> None:
    record(path)

    def echo(text: str) -> str:
        """Shout."""
        return text + "!"

    changed = agent.copy(instructions="Repeat.\nBe quick.", functions=[echo])
    with pytest.raises(TapeError) as caught:
        drive(changed, "go", Tape(path))
    text = str(caught.value)
    assert text.startswith(f"{path} holds no answer to this request of agent 'Parrot'.\nThe nearest is line 2 (not used yet)")
    assert "\n    -Be kind.\n    +Be quick.\n" in text
    assert '-tool echo: {"description": "Say it again.", ' in text
    assert "     user: go" not in text.split("Be quick.")[0]
    assert text.endswith("or with Tape(..., record=True).")


def test_the_nearest_shows_what_a_tool_returned(drive: Drive, path: Path) -> None:
    record(path)

    def echo(text: str) -> str:
        """Say it again."""
        return f"{text}, {text}"

    with pytest.raises(TapeError) as caught:
        drive(agent.copy(functions=[echo]), "go", Tape(path))
    assert "The nearest is line 4 (not used yet)" in str(caught.value)
    assert '      calls echo({"text":"hello"}) (call_1)\n    -tool (call_1): hello\n    +tool (call_1): hello, hello\n' in str(caught.value)


def test_a_call_that_differs_is_shown(drive: Drive, path: Path) -> None:
    record(path)
    lines = path.read_text(encoding="utf-8").replace('"arguments": {"text": "hello"}', '"arguments": {"text": "hallo"}')
    path.write_text(lines, encoding="utf-8")
    tape = Tape(path)
    with pytest.raises(TapeError) as caught:
        drive(agent, "go", tape, swarm={"policies": [tape]})
    text = str(caught.value)
    assert "holds no answer to the call echo (call_1) of agent 'Parrot'" in text
    assert '-arguments: {"text": "hallo"}\n    +arguments: {"text": "hello"}' in text


def test_a_tool_that_is_missing_fails_the_run_though_tools_may_fail(drive: Drive, path: Path) -> None:
    """What a tool raises is told to the model; that a tape has no answer is not the model's business."""
    tape = Tape(path, ScriptedModel(TURNS), record=True)
    Swarm(tape).run(agent, "go")
    again = Tape(path)
    with pytest.raises(TapeError, match=r"the call echo \(call_1\) .*: nothing of the kind was recorded") as caught:
        drive(agent, "go", again, swarm={"policies": [again]})
    assert caught.value.response is not None
    assert caught.value.response.calls[0].name == "echo"


def test_an_error_that_was_caught_is_raised_again(drive: Drive, path: Path) -> None:
    """An agent used as a tool turns a failure inside into a message; the run fails all the same."""
    outer = Agent(functions=[agent.as_tool()])
    record(path, [call("parrot", {"input": "one"}), "inner", "outer"], outer)
    mute = Agent(functions=[agent.copy(instructions="Be mute.").as_tool()])
    tape = Tape(path)
    with pytest.raises(TapeError, match=r"-system: Repeat.\n(.*\n)*.*\+system: Be mute."):
        drive(mute, "go", tape)
    with pytest.raises(TapeError, match="Be mute"):
        tape.assert_done()
    with pytest.raises(TapeError, match="Be mute"):
        drive(outer, "go", tape)


def test_one_more_of_the_same_is_told_as_such(drive: Drive, path: Path) -> None:
    Swarm(Tape(path, ScriptedModel(["one"]), record=True)).run(Agent(), "go")
    tape = Tape(path)
    assert drive(Agent(), "go", tape).text == "one"
    with pytest.raises(TapeError, match=r"it was recorded once \(line 2\) and is asked for once more"):
        drive(Agent(), "go", tape)


def test_the_same_request_twice_gives_the_answers_in_order(drive: Drive, path: Path) -> None:
    tape = Tape(path, ScriptedModel(["one", "two"]), record=True)
    assert [Swarm(tape).run(Agent(), "go").text for _ in "12"] == ["one", "two"]
    with Tape(path) as again:
        assert [drive(Agent(), "go", again).text for _ in "12"] == ["one", "two"]


def test_a_long_difference_is_cut(path: Path) -> None:
    Swarm(Tape(path, ScriptedModel(["one"]), record=True)).run(Agent(), "a\n" * 100)
    with pytest.raises(TapeError, match=r"\.\.\. and \d+ lines more") as caught:
        Swarm(Tape(path)).run(Agent(), "b\n" * 100)
    assert len(str(caught.value).splitlines()) < 50


def test_a_long_text_is_wrapped_so_that_the_place_shows(path: Path) -> None:
    words = "word " * 200
    Swarm(Tape(path, ScriptedModel(["one"]), record=True)).run(Agent(), words + "old" + " word" * 200)
    with pytest.raises(TapeError) as caught:
        Swarm(Tape(path)).run(Agent(), words + "new" + " word" * 200)
    shown = [line.strip() for line in str(caught.value).splitlines() if line.strip()[:1] in ("-", "+")]
    assert len(shown) == 2
    assert "old" in shown[0] and "new" in shown[1]


def test_messages_of_any_form_are_shown(path: Path) -> None:
    parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:,x"}}]
    message = {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": [{"id": "1", "type": "custom", "custom": {}}]}
    history = [{"role": "user", "content": parts}, message, {"role": "tool", "tool_call_id": "1", "content": "x"}]
    Swarm(Tape(path, ScriptedModel(["one"]), record=True)).run(Agent(), history)
    with pytest.raises(TapeError, match=r"\+tool \(1\): y"):
        Swarm(Tape(path)).run(Agent(), [*history[:2], {**history[2], "content": "y"}])


def test_what_was_not_asked_for_is_named(path: Path) -> None:
    record(path)
    with pytest.raises(AssertionError) as caught, Tape(path):
        pass
    assert str(caught.value).splitlines() == [
        f"2 lines of {path} were not asked for:",
        "  line 2: an answer after user: 'go'",
        "  line 4: an answer after tool: 'hello'",
    ]
    tape = Tape(path)
    with pytest.raises(TapeError):
        Swarm(tape, policies=[tape]).run(agent, "go away")
    assert tape.unused[1] == "line 3: echo (call_1)"
    with pytest.raises(ZeroDivisionError), Tape(path):
        _ = 1 / 0


def test_it_is_one_of_our_errors() -> None:
    assert issubclass(TapeError, SwarmError)
