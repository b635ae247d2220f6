"""Cases: what the three formats mean, and that what is wrong is named with its line and what to do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from swarm.evals import Case, EvalError, load_cases, state_hash
from swarm.evals.cases import check_ids, digest_of
from tests.examples.talk import ROOT

JSON = """
[
  {"conversation": "hi", "function": "None"},
  {
    "id": "refund", "agent": "Triage", "tags": ["money"],
    "conversation": [{"role": "user", "content": "my money back"}],
    "context_variables": {"user": 7},
    "calls": ["look_up", "...", {"function": "refund", "arguments": {"item": 7}}],
    "handoffs": ["Refunds"], "final_agent": "Refunds", "state": {"refunded": true},
    "text": {"contains": "refund", "not_contains": ["sorry", "no"], "matches": "^Done"},
    "user": "get the money back", "judge": "Was it polite?", "data": {"topic": "money"}
  }
]
"""
YAML = """
- conversation: hi
  function: None
- id: refund
  agent: Triage
  tags: [money]
  conversation:
    - {role: user, content: my money back}
  context_variables: {user: 7}
  calls: [look_up, "...", {function: refund, arguments: {item: 7}}]
  handoffs: [Refunds]
  final_agent: Refunds
  state: {refunded: true}
  text: {contains: refund, not_contains: [sorry, 'no'], matches: ^Done}
  user: get the money back
  judge: Was it polite?
  data: {topic: money}
"""
CSV = """\
id,agent,tags,conversation,context_variables,function,calls,handoffs,final_agent,state,text,user,judge,data
,,,hi,,None,,,,,,,,
refund,Triage,money,"[{""role"": ""user"", ""content"": ""my money back""}]","{""user"": 7}",,"[""look_up"", ""..."",
 {""function"": ""refund"", ""arguments"": {""item"": 7}}]",Refunds,Refunds,"{""refunded"": true}","{""contains"": ""refund"",
 ""not_contains"": [""sorry"", ""no""], ""matches"": ""^Done""}",get the money back,Was it polite?,"{""topic"": ""money""}"
"""
MEANT = Case(
    id="refund",
    agent="Triage",
    tags=["money"],
    conversation=[{"role": "user", "content": "my money back"}],
    context_variables={"user": 7},
    calls=[{"function": "look_up", "arguments": {}}, "...", {"function": "refund", "arguments": {"item": 7}}],
    handoffs=["Refunds"],
    final_agent="Refunds",
    state={"refunded": True},
    text={"contains": ["refund"], "not_contains": ["sorry", "no"], "matches": ["^Done"]},
    user={"goal": "get the money back"},
    judge="Was it polite?",
    data={"topic": "money"},
)


def loaded(folder: Path, name: str, text: str) -> list[Case]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return load_cases(path)


@pytest.mark.parametrize(
    ("name", "text", "lines"), [("a.json", JSON, (3, 4)), ("a.yaml", YAML, (2, 4)), ("a.yml", YAML, (2, 4)), ("a.csv", CSV, (2, 3))]
)
def test_three_formats_say_the_same(tmp_path: Path, name: str, text: str, lines: tuple[int, int]) -> None:
    """D60"""
    greeting, refund = loaded(tmp_path, name, text)
    said = [{"role": "user", "content": "hi"}]
    assert greeting == Case(id="a/1", conversation=said, function="None", place=f"{tmp_path / name}:{lines[0]}")
    assert greeting.is_first_reply_only and not refund.is_first_reply_only
    assert refund == replace(MEANT, place=f"{tmp_path / name}:{lines[1]}")


def test_the_shipped_cases_load_as_they_are() -> None:
    """D60, U04"""
    cases = load_cases(*(ROOT / "examples" / name / "evals" for name in ("airline", "triage_agent", "weather_agent")))
    assert sum(case.is_first_reply_only for case in cases) >= 70
    assert sum(bool(case.arguments) for case in cases) > 3
    assert all(case.place for case in cases)


def test_yaml_keeps_dates_as_texts(tmp_path: Path) -> None:
    """What is compared with a model's arguments must be what a model can write."""
    [case] = loaded(tmp_path, "a.yaml", "- conversation: hi\n  function: book\n  arguments: {day: 2027-05-21, seats: 2}\n")
    assert case.arguments == {"day": "2027-05-21", "seats": 2}


def test_csv_of_a_spreadsheet_and_its_lists_of_names(tmp_path: Path) -> None:
    text = "\ufeffconversation,handoffs,tags\r\nhi,Sales; Refunds,\r\n\r\n,,\r\nbye,[],a;b\r\n"
    first, second = loaded(tmp_path, "a.csv", text)
    assert (first.handoffs, first.tags, first.place[-2:]) == (["Sales", "Refunds"], [], ":2")
    assert (second.handoffs, second.tags, second.id, second.place[-2:]) == ([], ["a", "b"], "a/2", ":5")


def test_a_folder_holds_files_and_folders_and_other_things(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    for name in ("b.yaml", "a.csv", "more/a.json", "README.md"):
        text = {"a.csv": "conversation,function\nhi,None\n", "b.yaml": "- {conversation: hi, function: None}"}.get(name, JSON)
        (tmp_path / name).write_text(text)
    cases = load_cases(tmp_path)
    assert [case.id for case in cases] == [f"{tmp_path.as_posix()}/a/1", "b/1", f"{tmp_path.as_posix()}/more/a/1", "refund"]
    assert load_cases(tmp_path, tmp_path / "b.yaml") == cases


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.json", '[\n {"conversation": "hi",\n  "functon": "x"}]', "3: a case has no field 'functon'; did you mean 'function'?"),
        ("a.json", '[{"conversation": "hi", "expected_topic": "x"}]', "1: a case has no field 'expected_topic'; there are id, agent"),
        ("a.json", '[{"conversation": "hi"}\n {"conversation": "hi"}]', "2: no JSON: a comma or the end of the list is missing"),
        ("a.json", '[{"conversation": "hi"},\n {"conversation": hi}]', "2: no JSON: Expecting value"),
        ("a.json", '[{"conversation": "hi"}', "1: no JSON: a comma or the end"),
        ("a.json", '[{"conversation": "hi"}]\n[]', "2: something follows the end of the list"),
        ("a.json", '{"conversation": "hi"}', "1: a file of cases is a list of objects"),
        ("a.json", "", "1: a file of cases is a list of objects"),
        ("a.json", '["hi"]', "1: a case is an object with names and values, not 'hi'"),
        ("a.json", '[\n\n {"function": "x"}]', "3: a case needs a 'conversation'"),
        ("a.json", '[{"conversation": []}]', r"1: conversation is \[\], not a text or a list"),
        ("a.json", '[{"conversation": [{"content": "hi"}]}]', "1: conversation has as message 1"),
        ("a.json", '[{"conversation": "hi", "arguments": {"a": 1}}]', "1: 'arguments' are those of 'function'"),
        ("a.json", '[{"conversation": "hi",\n "text": {"contain": "x"}}]', "2: text is .*, not an object with one or several of contains"),
        ("a.json", '[{"conversation": "hi",\n "text": {"equals": ["x"]}}]', r"2: text has equals: \['x'\], not a text$"),
        ("a.json", '[{"conversation": "hi",\n "text": {"matches": "("}}]', "2: text has the pattern '\\(', which is no regular expression"),
        (
            "a.json",
            '[{"conversation": "hi",\n "text": {"matches": "(a+)+$"}}]',
            "2: text has the pattern .* repeats what is repeated already",
        ),
        ("a.json", '[{"conversation": "hi",\n\n "state": "sha256:12"}]', '3: state is .*; a hash is "sha256:" and 64'),
        ("a.json", '[{"conversation": "hi", "calls": [{"name": "x"}]}]', "1: calls holds .*; a call is a name"),
        (
            "a.json",
            '[{"conversation": "hi", "calls": [{"function": "x", "arguments": 1}]}]',
            "1: calls holds .* arguments are not an object",
        ),
        ("a.json", '[{"conversation": "hi", "calls": "x"}]', "1: calls is 'x', not a list of calls"),
        ("a.json", '[{"conversation": "hi", "handoffs": "x"}]', "1: handoffs is 'x', not a list of texts"),
        ("a.json", '[{"conversation": "hi", "data": 1}]', "1: data is 1, not an object"),
        ("a.yaml", "- conversation: hi\n  function: false\n", "2: function is False, not a text; put it in quotes"),
        ("a.yaml", "- conversation: hi\n  1: no\n", "2: a case has no field 1"),
        ("a.yaml", "conversation: hi\n", "1: a file of cases is a list, each case begins with '- '"),
        ("a.yaml", "", "1: a file of cases is a list"),
        ("a.yaml", "- a: b\n- [1,\n", "3: no YAML: "),
        ("a.yaml", "- conversation: !!python/name:os.system\n", "1: no YAML: could not determine a constructor"),
        ("a.csv", "function\nx\n", "1: the first row must name the columns"),
        ("a.csv", "conversation,function\nhi, there,None\n", "2: 3 cells for 2 columns; put a cell with a comma in double quotes"),
        ("a.csv", "conversation,arguments\nhi,a=1\n", "2: the cell of arguments holds no JSON"),
        ("a.csv", 'conversation,function\n"hi\n', "2: no CSV: unexpected end of data"),
        ("a.csv", 'conversation,function\n"two\nlines",None\nhi,None,x\n', "4: 3 cells for 2 columns"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, name: str, text: str, says: str) -> None:
    """D60"""
    with pytest.raises(EvalError, match=rf"{name}:{says}"):
        loaded(tmp_path, name, text)


def test_files_that_are_none_of_ours(tmp_path: Path) -> None:
    """D60"""
    (tmp_path / "a.txt").write_text("hi")
    (tmp_path / "b.json").write_bytes(b"\xff\xfe")
    (tmp_path / "empty").mkdir()
    for name, says in [
        ("a.txt", r"cases are read from files that end in \.json"),
        ("b.json", r"b\.json:1: no text in UTF-8"),
        ("c.json", "there is no file or folder"),
        ("empty", "there is no case in"),
    ]:
        with pytest.raises(EvalError, match=says):
            load_cases(tmp_path / name)


def test_an_id_is_used_once(tmp_path: Path) -> None:
    with pytest.raises(EvalError, match=r"a\.json:2: the id 'x' is used by .*a\.json:1 too"):
        loaded(tmp_path, "a.json", '[{"id": "x", "conversation": "a"},\n{"id": "x", "conversation": "b"}]')
    with pytest.raises(EvalError, match="a case: the id 'x'"):
        check_ids([Case(id="x"), Case(id="x")])


def test_the_digest_knows_the_cases_and_not_their_places() -> None:
    def one(**changes: Any) -> str:
        return digest_of([Case(id="a", conversation=[{"role": "user", "content": "hi"}], **changes)])

    assert one() == one(place="elsewhere:7")
    assert len({one(), one(function="None"), one(tags=["x"]), one(context_variables={"a": 1})}) == 4


def test_the_hash_of_a_state_does_not_know_the_order_of_names() -> None:
    assert state_hash({"a": 1, "b": [1.5, None]}) == state_hash({"b": [1.5, None], "a": 1}) != state_hash({"a": 2, "b": [1.5, None]})
    assert state_hash({}) == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


def test_plain_words_in_yaml_are_those_of_yaml_1_2(tmp_path: Path) -> None:
    """What was meant as a time, a code or a country must not become a number or a truth value."""
    (tmp_path / "a.yaml").write_text(
        "- conversation: hi\n  function: f\n"
        "  arguments: {at: 12:30, code: 017, land: no, day: 2027-05-01, big: 1_000, n: 7, x: 1.5, yes: true, nothing: null, hex: 0x10}\n"
    )
    (case,) = load_cases(tmp_path / "a.yaml")
    assert case.arguments == {
        "at": "12:30",
        "code": 17,
        "land": "no",
        "day": "2027-05-01",
        "big": "1_000",
        "n": 7,
        "x": 1.5,
        "yes": True,
        "nothing": None,
        "hex": 16,
    }


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.json", '[\n {"conversation": "hi",\n  "function": "a",\n  "function": "b"}]', ":2: the name 'function' stands twice"),
        ("a.json", '[{"conversation": "hi", "data": {"a": 1, "b": {"c": 1, "c": 2}}}]', ":1: the name 'c' stands twice"),
        ("a.yaml", "- conversation: hi\n  function: a\n  function: b\n", ":3: the name 'function' stands twice"),
        ("a.yaml", "- conversation: hi\n  data: {b: [{c: 1,\n    c: 2}]}\n", ":3: the name 'c' stands twice"),
        ("a.csv", "conversation,function,function\nhi,a,b\n", ":1: there are two columns called 'function'"),
        ("a.csv", 'conversation,data\nhi,"{""a"": 1, ""a"": 2}"\n', ":2: the cell of data holds no JSON .the name 'a' stands twice"),
        ("a.json", '[{"conversation": "hi", "data": ' + "[" * 99_999 + "]" * 99_999 + "}]", ": lists and objects stand inside each other"),
        ("a.yaml", "- conversation: hi\n  data: " + "[" * 3000 + "]" * 3000, ": lists and objects stand inside each other"),
        ("a.json", '[{"conversation": "hi", "data": {"a": ' + "9" * 5000 + "}}]", ":1: Exceeds the limit"),
        ("a.json", '[{"conversation": "hi",\n "data": {"a": NaN}}]', ":1: NaN is no number in JSON"),
        ("a.csv", "conversation;function\nhi;None\n", ":1: .* with commas in between: .*; it is .'conversation;function'.$"),
        ("a.json", '[{"conversation": "hi", "function": "none"}]', ":1: function is 'none'; for no function it is \"None\""),
        ("a.json", '[{"conversation": "hi", "text": {"contains": []}}]', r":1: text has contains: \[\], not a text or"),
        ("a.json", '[{"conversation": "hi", "text": {"not_contains": ["a", ""]}}]', ":1: text has not_contains: .*, none of them empty"),
        (
            "a.json",
            '[{"conversation": [{"role": "usr", "content": "hi"}]}]',
            ":1: conversation has as message 1 one with the role 'usr'; the",
        ),
        ("a.yaml", "- conversation: false\n", ":1: conversation is False, .*; put a text in quotes"),
    ],
)
def test_no_mistake_is_taken_for_something_else(tmp_path: Path, name: str, text: str, says: str) -> None:
    """D60: neither passed over in silence nor an error of the decoder."""
    with pytest.raises(EvalError, match=rf"{name}{says}"):
        loaded(tmp_path, name, text)


def test_yaml_may_say_a_thing_once_and_refer_to_it(tmp_path: Path) -> None:
    text = "- &first\n  conversation: hi\n  function: None\n  data: {a: &a {b: 1}, c: *a}\n- <<: *first\n  conversation: ho\n"
    first, second = loaded(tmp_path, "a.yaml", text)
    assert (second.function, second.data, first.conversation) == ("None", first.data, [{"role": "user", "content": "hi"}])


def test_a_case_made_by_hand_is_what_it_would_be_in_a_file() -> None:
    """D60"""
    given = Case(
        id="a",
        conversation="hi",  # pyright: ignore[reportArgumentType]
        calls=["look_up", "...", {"function": "refund"}],
        state={"items": (1, 2), "by_number": {7: "x"}},
        text={"contains": "done"},  # pyright: ignore[reportArgumentType]
        user="You want 7",  # pyright: ignore[reportArgumentType]
    )
    assert given.conversation == [{"role": "user", "content": "hi"}] and given.user == {"goal": "You want 7"}
    assert given.calls == [{"function": "look_up", "arguments": {}}, "...", {"function": "refund", "arguments": {}}]
    assert given.state == {"items": [1, 2], "by_number": {"7": "x"}} and given.text == {"contains": ["done"]}


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"conversation": ""}, "case 'a': conversation is ''"),
        ({"handoffs": "Refunds"}, "case 'a': handoffs is 'Refunds', not a list of texts"),
        ({"text": {"contain": "x"}}, "case 'a': text is .*, not an object with one or several"),
        ({"user": {}}, "case 'a': user has neither"),
        ({"calls": "refund", "place": "a.json:3"}, "a.json:3: calls is 'refund', not a list"),
    ],
)
def test_a_mistake_in_a_case_made_by_hand_is_named(fields: dict[str, Any], says: str) -> None:
    """D60"""
    with pytest.raises(EvalError, match=says):
        Case(id="a", **fields)


def test_the_digest_takes_what_python_has_and_json_has_not() -> None:
    """Resuming compares digests, so an object that is made anew must not change it."""

    def one() -> str:
        variables: Any = {"lock": Lock(), "mixed": {1: "a", "b": (2,)}, ("a", 1): object()}
        return digest_of([Case(id="a", conversation=[{"role": "user", "content": "hi"}], context_variables=variables)])

    assert one() == one()
