"""Training data: what an example holds, what is learned from it, and that it is what was said."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm import Agent, Image, Result, Swarm
from swarm.effects import Reply
from swarm.evals import Case, run_evals
from swarm.ext.sessions import SessionStore
from swarm.ext.training import TrainingError, examples_of, export, problems_of, read_examples, read_source
from swarm.ext.training.form import fault_of
from swarm.ext.training.turns import Turn, asked_again
from swarm.models.scripted import ScriptedModel, call
from swarm.testing import Tape


def refund(item: int) -> str:
    """Pay an item back."""
    return f"{item} refunded"


def back() -> Agent:
    """Hand back to triage."""
    return triage


refunds = Agent(name="Refunds", instructions="Refund.", functions=[refund, back])
triage = Agent(name="Triage", instructions="Find out who can help.", handoffs=[refunds])
SCRIPT = [call("transfer_to_refunds"), call("refund", {"item": 7}), "Done.", call("back"), "Good bye."]


def taped(path: Path, script: list[Any] = SCRIPT, agent: Agent = triage, **options: Any) -> Path:
    """Two messages of a user on a tape."""
    client = Swarm(Tape(path, ScriptedModel(script), record=True), **options)
    first = client.run(agent, "Refund item 7")
    history = [{"role": "user", "content": "Refund item 7"}, *first.messages, {"role": "user", "content": "Thanks"}]
    client.run(first.agent or agent, history)
    return path


def lines_of(path: Path) -> list[dict[str, Any]]:
    read = list(read_examples(path))
    assert [problems for _, _, problems in read] == [[]] * len(read)
    return [line for _, line, _ in read]


def spoken(lines: list[dict[str, Any]], weight: int = 1) -> list[Any]:
    """The answers with a weight."""
    return [
        message.get("content") or message["tool_calls"][0]["function"]["name"]
        for line in lines
        for message in line["messages"]
        if message["role"] == "assistant" and message.get("weight", 1) == weight
    ]


def test_each_answer_is_learned_once_with_what_its_agent_was_told(tmp_path: Path) -> None:
    """D74"""
    done = export([taped(tmp_path / "tape.jsonl")], tmp_path / "train.jsonl")
    lines = lines_of(tmp_path / "train.jsonl")
    assert (done.examples, done.learned, done.conversations, done.left_out) == (2, 5, 1, {})
    assert [line["messages"][0]["content"] for line in lines] == ["Find out who can help.", "Refund."]
    assert [[tool["function"]["name"] for tool in line["tools"]] for line in lines] == [["transfer_to_refunds"], ["refund", "back"]]
    assert spoken(lines[:1]) == ["transfer_to_refunds", "Good bye."]
    assert spoken(lines[:1], 0) == ["refund", "Done.", "back"]
    assert spoken(lines[1:]) == ["refund", "Done.", "back"]
    assert spoken(lines[1:], 0) == ["transfer_to_refunds"]
    assert not any({"sender", "tool_name"} & message.keys() for line in lines for message in line["messages"])


def test_one_agent_is_learned_from(tmp_path: Path) -> None:
    done = export([taped(tmp_path / "tape.jsonl")], tmp_path / "train.jsonl", learn=["Refunds"])
    assert done.learned == 3
    assert spoken(lines_of(tmp_path / "train.jsonl")) == ["refund", "Done.", "back"]
    with pytest.raises(TrainingError, match="no agent is called 'Nobody'; there are Triage"):
        export([], tmp_path / "x.jsonl", agents=[triage], learn=["Nobody"])


def test_a_stream_on_a_tape_is_the_same_example(tmp_path: Path) -> None:
    agent = Agent(name="Solo", instructions="Be kind.", functions=[refund])
    list(Swarm(Tape(tmp_path / "a.jsonl", ScriptedModel([call("refund", {"item": 1}), "Ok."]), record=True)).run(agent, "hi", stream=True))
    Swarm(Tape(tmp_path / "b.jsonl", ScriptedModel([call("refund", {"item": 1}), "Ok."]), record=True)).run(agent, "hi")
    done = export([tmp_path / "a.jsonl", tmp_path / "b.jsonl"], tmp_path / "train.jsonl")
    assert (done.examples, dict(done.left_out)) == (1, {"the same as another example": 1})


@pytest.mark.parametrize("kind", ["database", "file"])
def test_sessions_are_the_same_data_as_a_tape(tmp_path: Path, kind: str) -> None:
    """D74"""
    with SessionStore(str(tmp_path / "s.db")) as store:
        tape = Tape(tmp_path / "tape.jsonl", ScriptedModel(SCRIPT), record=True)
        Swarm(tape).run(triage, "Refund item 7", session=store.session("a"))
        Swarm(tape).run(triage, "Thanks", session=store.session("a"))
        (tmp_path / "s.jsonl").write_text("".join(json.dumps(one) + "\n" for one in store.export()))
    source = tmp_path / ("s.db" if kind == "database" else "s.jsonl")
    export([source], tmp_path / "one.jsonl", agents=[triage, refunds])
    export([tmp_path / "tape.jsonl"], tmp_path / "two.jsonl")
    assert lines_of(tmp_path / "one.jsonl") == lines_of(tmp_path / "two.jsonl")


def test_instructions_that_are_a_function_get_what_the_session_keeps(tmp_path: Path) -> None:
    agent = Agent(name="Desk", instructions=lambda context_variables: f"Help {context_variables['name']}.")
    with SessionStore(str(tmp_path / "s.db")) as store:
        Swarm(ScriptedModel(["Hello Ann"])).run(agent, "hi", {"name": "Ann"}, session=store.session("a"))
    export([tmp_path / "s.db"], tmp_path / "train.jsonl", agents=[agent])
    assert lines_of(tmp_path / "train.jsonl")[0]["messages"][0] == {"role": "system", "content": "Help Ann."}


def test_evals_are_learned_from_only_where_they_passed(tmp_path: Path) -> None:
    """D74"""
    cases = [Case(id=name, conversation=[{"role": "user", "content": f"Refund {name}"}], text={"contains": "right"}) for name in ("a", "b")]
    model = ScriptedModel([call("refund", {"item": 1}), "right", call("refund", {"item": 2}), "wrong"])
    run_evals(refunds, cases, client=model, concurrency=1, out=tmp_path / "r.jsonl")
    everything = export([tmp_path / "r.jsonl"], tmp_path / "all.jsonl", agents=[refunds])
    good = export([tmp_path / "r.jsonl"], tmp_path / "good.jsonl", agents=[refunds], passed=True)
    assert (everything.examples, good.examples) == (2, 1)
    assert spoken(lines_of(tmp_path / "good.jsonl")) == ["refund", "right"]
    assert good.left_out == {"the conversation did not pass": 1}


def test_what_is_not_known_is_left_out_and_counted(tmp_path: Path) -> None:
    vague = Agent(name="Vague", instructions=lambda context_variables: "Who knows.")
    cases = [Case(id="a", conversation=[{"role": "user", "content": "hi"}], text={"contains": "x"})]
    run_evals(vague, cases, client=ScriptedModel(["x"]), out=tmp_path / "r.jsonl")
    done = export([tmp_path / "r.jsonl"], tmp_path / "train.jsonl", agents=[vague])
    assert done.examples == 0
    assert list(done.left_out) == ["the instructions of 'Vague' are a function, and with which context variables it was asked is not known"]
    assert list(export([tmp_path / "r.jsonl"], tmp_path / "t.jsonl").left_out) == ["the agent 'Vague' is not among those that were given"]


def test_no_client_is_asked_and_no_tool_runs(tmp_path: Path) -> None:
    ran: list[int] = []

    def pay(amount: int) -> str:
        """Pay."""
        ran.append(amount)
        return "paid"

    model = ScriptedModel([call("pay", {"amount": 1}), "Paid."])
    agent = Agent(name="Own", functions=[pay], client=model)
    with SessionStore(str(tmp_path / "s.db")) as store:
        Swarm(model).run(agent, "hi", session=store.session("a"))
    export([tmp_path / "s.db"], tmp_path / "train.jsonl", agents=[agent])
    assert (ran, len(model.requests)) == ([1], 2)
    assert spoken(lines_of(tmp_path / "train.jsonl")) == ["pay", "Paid."]


def test_what_cannot_be_trained_on_is_left_out(tmp_path: Path) -> None:
    broken = [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "refund", "arguments": "{"}}],
        }
    ]

    class Broken:
        def complete(self, call: Any) -> Reply:
            return Reply(broken.pop(), finish_reason="tool_calls") if broken else Reply({"role": "assistant", "content": "sorry"})

        def stream(self, call: Any) -> Any:
            return iter(())

    Swarm(Tape(tmp_path / "tape.jsonl", Broken(), record=True)).run(refunds, "hi")
    done = export([tmp_path / "tape.jsonl"], tmp_path / "train.jsonl")
    assert (done.examples, list(done.left_out)) == (1, ["not learned from, the arguments of 'refund' are no JSON object"])


def test_secrets_are_hidden_in_texts_arguments_and_results(tmp_path: Path) -> None:
    def note(mail: str) -> Result:
        """Note an address."""
        return Result(value=f"{mail} noted")

    agent = Agent(name="Desk", functions=[note])
    script = [call("note", {"mail": "ann@bee.example"}), "I noted ann@bee.example."]
    Swarm(Tape(tmp_path / "tape.jsonl", ScriptedModel(script), record=True)).run(agent, "I am ann@bee.example")
    export([tmp_path / "tape.jsonl"], tmp_path / "train.jsonl", redact=[r"[\w.]+@[\w.]+\w"])
    text = (tmp_path / "train.jsonl").read_text()
    assert "ann@" not in text
    assert text.count("[redacted]") == 4
    lines_of(tmp_path / "train.jsonl")
    with pytest.raises(TrainingError, match="is no regular expression"):
        export([], tmp_path / "x.jsonl", redact=["("])


def test_secrets_are_hidden_in_arguments_whatever_their_names_and_types(tmp_path: Path) -> None:
    def note(name: str, url: str, id: str, type: str, card: int, more: dict[str, Any]) -> str:
        """Note something."""
        return "noted"

    arguments = {
        "name": "sesame",
        "url": "http://sesame",
        "id": "sesame",
        "type": "sesame",
        "card": 4111,
        "more": {"sesame": [True, 4111.5]},
    }
    agent = Agent(name="Desk", functions=[note])
    Swarm(Tape(tmp_path / "tape.jsonl", ScriptedModel([call("note", arguments), "Noted."]), record=True)).run(agent, "hi")
    export([tmp_path / "tape.jsonl"], tmp_path / "train.jsonl", redact=["sesame", "4111"])
    [line] = lines_of(tmp_path / "train.jsonl")
    [made] = [call for message in line["messages"] for call in message.get("tool_calls", ())]
    hidden = "[redacted]"
    assert made["function"]["name"] == "note"
    assert json.loads(made["function"]["arguments"]) == {
        "name": hidden,
        "url": f"http://{hidden}",
        "id": hidden,
        "type": hidden,
        "card": hidden,
        "more": {hidden: [True, f"{hidden}.5"]},
    }


@pytest.mark.parametrize("calls", [[{"id": "1"}], [{"id": "1", "function": "f"}], ["f"], 5])
def test_a_call_that_is_none_is_not_learned_from(calls: Any) -> None:
    assert fault_of({"role": "assistant", "tool_calls": calls}, []) == "a tool call without id, name or arguments"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"\xff", "no JSON"),
        (b"[" * 200_000, "no JSON"),
        (b'{"messages": [{"role": ["user"], "content": "hi"}]}', "role ['user'] is none of"),
        (
            b'{"messages": [{"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "'
            + b"[" * 200_000
            + b'"}}]}]}',
            "no JSON object",
        ),
    ],
)
def test_a_file_of_anything_is_read_to_its_end(tmp_path: Path, text: bytes, says: str) -> None:
    (tmp_path / "bad.jsonl").write_bytes(text + b'\n{"messages": [{"role": "assistant", "content": "Hello."}]}\n')
    (first, _, problems), (second, _, none) = read_examples(tmp_path / "bad.jsonl")
    assert (first, second, none) == (1, 2, [])
    assert says in " ".join(problems)


def test_images_stay_and_files_cannot_be_learned_from(tmp_path: Path) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    for name, part in (("image", picture), ("file", {"type": "file", "file": {"file_data": "x"}})):
        said = [{"role": "user", "content": [{"type": "text", "text": "Look"}, part]}]
        Swarm(Tape(tmp_path / f"{name}.jsonl", ScriptedModel(["I see."]), record=True)).run(Agent(), said)
    export([tmp_path / "image.jsonl"], tmp_path / "a.jsonl")
    assert lines_of(tmp_path / "a.jsonl")[0]["messages"][1]["content"][1] == picture
    assert list(export([tmp_path / "file.jsonl"], tmp_path / "b.jsonl").left_out) == [
        "no valid example, a part of kind 'file'; text and images can be trained on"
    ]


def test_a_picture_that_a_tool_shows(tmp_path: Path) -> None:
    def look() -> Image:
        """Look."""
        return Image(b"\x89PNG", mime="image/png")

    Swarm(Tape(tmp_path / "tape.jsonl", ScriptedModel([call("look"), "A bee."]), record=True)).run(Agent(functions=[look]), "hi")
    export([tmp_path / "tape.jsonl"], tmp_path / "train.jsonl")
    assert spoken(lines_of(tmp_path / "train.jsonl")) == ["look", "A bee."]


def test_the_split_keeps_conversations_whole_and_the_same(tmp_path: Path) -> None:
    with SessionStore(str(tmp_path / "s.db")) as store:
        for number in range(40):
            client = Swarm(ScriptedModel([call("transfer_to_refunds"), f"Answer {number}."]))
            client.run(triage, f"Question {number}", session=store.session(str(number)))
    both: list[list[set[str]]] = []
    for run in ("a", "b"):
        done = export([tmp_path / "s.db"], tmp_path / f"{run}.jsonl", agents=[triage, refunds], split=0.75, seed=3)
        files = [tmp_path / f"{run}.jsonl", tmp_path / f"{run}.test.jsonl"]
        assert list(done.files) == [str(file) for file in files]
        asked = [{line["messages"][1]["content"] for line in lines_of(file)} for file in files]
        assert not asked[0] & asked[1]
        assert len(asked[0] | asked[1]) == 40
        both.append(asked)
    assert both[0] == both[1]
    assert 20 < len(both[0][0]) < 38
    with pytest.raises(TrainingError, match="must be a share"):
        export([], tmp_path / "x.jsonl", split=1.0)


def test_a_source_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"some": "thing"}\n')
    with pytest.raises(Exception, match=r"x\.jsonl is no tape, no results of an eval and no sessions"):
        export([tmp_path / "x.jsonl"], tmp_path / "train.jsonl")
    (tmp_path / "s.jsonl").write_text('{"session": "a", "messages": []}\nbroken\n')
    with pytest.raises(Exception, match=r"s\.jsonl:2: no JSON"):
        export([tmp_path / "s.jsonl"], tmp_path / "train.jsonl")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.jsonl", "x.jsonl"]
    with pytest.raises(Exception, match="two agents are called 'Triage'"):
        list(read_source(tmp_path / "s.jsonl", [triage, triage.copy()]))


VALID: dict[str, Any] = {
    "messages": [
        {"role": "system", "content": "Help."},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "1"},
        {"role": "assistant", "content": "One."},
    ],
    "tools": [{"type": "function", "function": {"name": "f"}}],
}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda line: line.update(extra=1), "unknown field 'extra'"),
        (lambda line: line.update(messages=[]), "no messages"),
        (lambda line: line["messages"].pop(), "the last message is not the assistant's"),
        (lambda line: line["messages"].pop(3), "the call 'c' before it is not answered"),
        (lambda line: line["messages"].pop(2), "answers no call"),
        (lambda line: line["messages"][4].update(weight=2), "weight 2 is neither"),
        (lambda line: [line["messages"][at].update(weight=0) for at in (2, 4)], "nothing to learn"),
        (lambda line: line["messages"][4].update(sender="A"), "unknown field 'sender'"),
        (lambda line: line["messages"][4].update(content=""), "says nothing"),
        (lambda line: line["messages"][1].update(role="bee"), "role 'bee'"),
        (lambda line: line["messages"][1].update(content=None), "content is no text"),
        (lambda line: line["tools"].clear(), "none of the tools"),
        (lambda line: line["tools"].append(line["tools"][0]), "another tool is called 'f'"),
        (lambda line: line["messages"][2]["tool_calls"][0]["function"].update(arguments="[]"), "no JSON object"),
    ],
)
def test_the_check_says_what_is_wrong(change: Any, says: str) -> None:
    assert problems_of(VALID) == []
    line = copy.deepcopy(VALID)
    change(line)
    assert says in " ".join(problems_of(line))


steps = st.sampled_from(["over", "refund", "back", "two"])


@given(st.lists(steps, max_size=6), st.lists(st.text(max_size=8), min_size=1, max_size=3))
def test_whatever_is_said_comes_back(plan: list[str], questions: list[str]) -> None:
    """D74: read back, what is learned is what was said, each answer once, but for calls that could not run; and every example is valid."""
    turns: list[Any] = {
        "over": lambda: call("transfer_to_refunds"),
        "refund": lambda: call("refund", {"item": 1}),
        "back": lambda: call("back"),
        "two": lambda: [call("refund", {"item": 1}), call("refund", {"item": 2})],
    }
    history: list[dict[str, Any]] = []
    for question in questions:
        history.append({"role": "user", "content": question})
        here = [*(turns[step]() for step in plan), "End."]
        start = next((m["sender"] for m in reversed(history) if m.get("sender")), "Refunds")
        response = Swarm(ScriptedModel(here)).run({"Refunds": refunds, "Triage": triage}[start], history, max_turns=30)
        history += response.messages
    made = list(asked_again(history, {"Refunds": refunds, "Triage": triage}, {}))
    assert all(isinstance(turn, Turn) for turn in made)
    examples = examples_of([turn for turn in made if isinstance(turn, Turn)])
    lines = [example.as_line() for example in examples]
    assert [problems_of(line) for line in lines] == [[]] * len(lines)
    able = {"Triage": ("transfer_to_refunds",), "Refunds": ("refund", "back")}
    said = [
        _plain(message)
        for message in history
        if message["role"] == "assistant"
        and all(one["function"]["name"] in able[message["sender"]] for one in message.get("tool_calls") or ())
    ]
    learned = [_plain(example.messages[at]) for example in examples for at in example.learned]
    assert sorted(map(repr, learned)) == sorted(map(repr, said))


def _plain(message: dict[str, Any]) -> Any:
    calls = [(one["function"]["name"], one["function"]["arguments"]) for one in message.get("tool_calls") or ()]
    return message.get("content") or "", calls


@pytest.mark.parametrize("split", [None, 0.9])
def test_a_source_is_never_written_over(tmp_path: Path, split: float | None) -> None:
    tape = taped(tmp_path / ("train.jsonl" if split is None else "train.test.jsonl"))
    before = tape.read_bytes()
    (tmp_path / "here").symlink_to(tmp_path)
    with pytest.raises(TrainingError, match="is one of the sources"):
        export(iter([tape]), tmp_path / "here" / "train.jsonl", split=split)
    assert tape.read_bytes() == before


def test_a_database_that_a_url_names_is_never_written_over(tmp_path: Path) -> None:
    database = tmp_path / "sessions.db"
    with SessionStore(str(database)) as store:
        Swarm(ScriptedModel(["Hello."])).run(triage, "hi", session=store.session("a"))
    with pytest.raises(TrainingError, match="is one of the sources"):
        export([f"sqlite:///{database}"], database, agents=[triage])
    assert database.read_bytes().startswith(b"SQLite format 3")
