"""Cases of an eval: what is said to whom, and what should come of it. Read from JSON, YAML or CSV with the line of each.

`files.py` knows the formats; this file knows what a case is.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, cast

from ..legal import ROLES, is_dict
from .conditions import Conditions, checked_conditions
from .files import Entry, entries_in, files_in
from .problems import EvalError
from .records import as_json

ANY_CALLS = "..."
"""In `calls`: any number of other calls may be made here."""

NO_CONVERSATION = "a case needs a 'conversation', a text or a list of messages; or a 'user' who begins one"
_HASH = "sha256:"
_MAY_BE_EMPTY = ("conversation", "context_variables", "arguments", "tags")
_WHOLE = ("calls", "handoffs", "final_agent", "state", "text", "judge", "user", "data")


@dataclass(slots=True, kw_only=True)
class Case:
    """One conversation, and what should come of it. What is left out is not looked at. Each field may be written as in a file: a text for
    a conversation, names for calls, a goal for a user.

    Attributes:
        id: unique among the cases of a run.
        agent: name of the agent that hears it; None for the one that the run is given.
        conversation: messages in the form of Chat Completions.
        context_variables: for this case, over those of the run by name.
        function: the function that the first reply calls, "None" if it must call none.
        arguments: arguments that this call must have, among others.
        calls: the calls of the whole run in order, each `{"function": name, "arguments": {...}}` with arguments that it must have among
            others, or "..." where any others may come between. Calls that only hand over count where the list names them.
        handoffs: names of the agents that take over, in order; empty if none must.
        final_agent: name of the agent that is active at the end.
        state: what the context variables must hold at the end, among others; or "sha256:..." of them, see `state_hash`.
        text: conditions on the last text of the agents.
        judge: a question about the conversation, for a judge model.
        user: the simulated user, `{"persona", "goal", "script", "max_messages", "stop"}`; then the conversation goes on until it ends it.
        tags: words to tell kinds of cases apart in the results.
        data: what your own scorers want to know about the case.
        place: `file:line`, or "".

    Raises:
        EvalError: a field that is not as a file may have it.
    """

    id: str
    agent: str | None = None
    conversation: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    context_variables: dict[str, Any] = field(default_factory=dict[str, Any])
    function: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    calls: list[dict[str, Any] | str] | None = None
    handoffs: list[str] | None = None
    final_agent: str | None = None
    state: dict[str, Any] | str | None = None
    text: Conditions | None = None
    judge: str | None = None
    user: dict[str, Any] | None = None
    tags: list[str] = field(default_factory=list[str])
    data: dict[str, Any] | None = None
    place: str = ""

    def __post_init__(self) -> None:
        for name, read in _READERS.items():
            value = getattr(self, name)
            if value is not None and not (name in _MAY_BE_EMPTY and value in ([], {})):
                try:
                    setattr(self, name, read(value))
                except ValueError as error:
                    raise EvalError(f"{self.place or f'case {self.id!r}'}: {name} {error}") from None

    @property
    def is_first_reply_only(self) -> bool:
        """Whether nothing but the first reply is asked about, so that its functions need not run."""
        return self.function is not None and all(getattr(self, name) is None for name in _WHOLE)


def load_cases(*paths: str | os.PathLike[str]) -> list[Case]:
    """Read cases.

    Args:
        paths: files that end in .json, .yaml, .yml or .csv; of a folder, all such files in it and in its folders, sorted by name.

    Raises:
        EvalError: a file that is none of these or cannot be understood, a field that there is not or that is wrong, an id used twice, no
            case at all; as `file:line: what is wrong, and what to do`.
        ConfigError: a YAML file, and the extra `config` is not installed.
        OSError: a file cannot be read.
    """
    files = [file for path in paths for file in files_in(Path(path))]
    names = _short_names(files)
    cases = [_case(entry, f"{names[file]}/{number}") for file in dict.fromkeys(files) for number, entry in enumerate(entries_in(file), 1)]
    if not cases:
        raise EvalError(f"there is no case in {', '.join(map(str, paths)) or 'no file'}; name a .json, .yaml or .csv file that holds some")
    check_ids(cases)
    return cases


def check_ids(cases: Sequence[Case]) -> None:
    """Make sure that no id is used twice.

    Raises:
        EvalError: one is.
    """
    places: dict[str, str] = {}
    for case in cases:
        if case.id in places:
            raise EvalError(f"{case.place or 'a case'}: the id {case.id!r} is used by {places[case.id]} too; give each case its own")
        places[case.id] = case.place or "another case"


def digest_of(cases: Iterable[Case]) -> str:
    """A hash of everything in the cases but their places."""
    plain = [{item.name: as_json(getattr(case, item.name)) for item in fields(case)} | {"place": ""} for case in cases]
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def _short_names(files: Sequence[Path]) -> dict[Path, str]:
    """What the ids of a file's cases begin with: its name, with its folder if another has the same."""
    stems = [file.stem for file in dict.fromkeys(files)]
    return {file: file.stem if stems.count(file.stem) == 1 else file.with_suffix("").as_posix() for file in files}


def _case(entry: Entry, id: str) -> Case:
    known = [item.name for item in fields(Case) if item.name != "place"]
    for name in entry.fields:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}."
            raise EvalError(f"{entry.place(str(name))}: a case has no field {name!r}; {hint} What your own scorers need goes into 'data'")
    given = {name: value for name, value in entry.fields.items() if value is not None}
    made: dict[str, Any] = {"id": id, "place": entry.place()}
    for name, value in given.items():
        try:
            made[name] = _READERS[name](value)
        except ValueError as error:
            raise EvalError(f"{entry.place(name)}: {name} {error}") from None
    case = Case(**made)
    if not case.conversation and case.user is None:
        raise EvalError(f"{entry.place()}: {NO_CONVERSATION}")
    if case.arguments and case.function in (None, "None"):
        raise EvalError(f"{entry.place('arguments')}: 'arguments' are those of 'function', which names none; name it, or use 'calls'")
    return case


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f'is {value!r}, not a text; put it in quotes ("None" for no function, null for not asked)')
    return value


def _function(value: Any) -> str:
    if _text(value) != "None" and value.lower() == "none":
        raise ValueError(f'is {value!r}; for no function it is "None"')
    return value


def _expected(value: Any) -> dict[str, Any]:
    """As JSON, since that is what it is compared with: YAML and Python have names that are numbers, Python has tuples and dates."""
    return _dict(as_json(_dict(value)))


def _dict(value: Any) -> dict[str, Any]:
    if not is_dict(value):
        raise ValueError(f"is {value!r}, not an object with names and values")
    return value


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in cast("list[Any]", value)):
        raise ValueError(f"is {value!r}, not a list of texts")
    return cast("list[str]", value)


def _conversation(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, str) and value:
        return [{"role": "user", "content": value}]
    if not isinstance(value, list) or not value:
        hint = "; put a text in quotes" if isinstance(value, int | float) else ""
        raise ValueError(f"is {value!r}, not a text or a list of messages{hint}")
    for number, message in enumerate(cast("list[Any]", value), 1):
        if not is_dict(message) or not isinstance(message.get("role"), str):
            raise ValueError(f'has as message {number} {message!r}, not an object like {{"role": "user", "content": "..."}}')
        if message["role"] not in ROLES:
            raise ValueError(f"has as message {number} one with the role {message['role']!r}; the roles are {', '.join(ROLES)}")
    return cast("list[dict[str, Any]]", value)


def _calls(value: Any) -> list[dict[str, Any] | str]:
    if not isinstance(value, list):
        raise ValueError(f"is {value!r}, not a list of calls")
    return [_call(item) for item in cast("list[Any]", value)]


def _call(item: Any) -> dict[str, Any] | str:
    if item == ANY_CALLS:
        return ANY_CALLS
    if isinstance(item, str):
        return {"function": item, "arguments": {}}
    if not is_dict(item) or not isinstance(item.get("function"), str) or not item.keys() <= {"function", "arguments"}:
        raise ValueError(f'holds {item!r}; a call is a name, {{"function": name, "arguments": {{...}}}}, or "..." for any others')
    if not is_dict(item.get("arguments", {})):
        raise ValueError(f"holds {item!r}, whose arguments are not an object with names and values")
    return {"function": item["function"], "arguments": _expected(item.get("arguments", {}))}


def _state(value: Any) -> dict[str, Any] | str:
    if isinstance(value, str):
        digits = value.removeprefix(_HASH)
        if value == digits or len(digits) != 64 or set(digits) - set("0123456789abcdef"):
            raise ValueError(f'is {value!r}; a hash is "{_HASH}" and 64 hexadecimal digits, as `swarm.evals.state_hash` makes it')
        return value
    return _expected(value)


def state_hash(state: Any) -> str:
    """The hash of a state, to be put in a case: "sha256:" and the SHA-256 of its JSON with sorted keys.

    Args:
        state: the context variables, or what the function of `evaluate(state=)` makes of them.
    """
    text = json.dumps(as_json(state), sort_keys=True, separators=(",", ":"))
    return f"{_HASH}{hashlib.sha256(text.encode()).hexdigest()}"


def _user(value: Any) -> dict[str, Any]:
    user = {"goal": value} if isinstance(value, str) and value else _dict(value)
    for name, given in user.items():
        if name not in _USER:
            raise ValueError(f"has {name!r}, which no user has; there are {', '.join(_USER)}. What your own code needs goes into 'data'")
        what, fits = _USER[name]
        if not fits(given):
            raise ValueError(f"has {name}: {given!r}, not {what}")
    if not user.get("goal") and not user.get("script"):
        raise ValueError("has neither a 'goal' for a model that plays it nor a 'script', a list of texts that it says one after the other")
    return user


def _says(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


_USER: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "persona": ("a text", _says),
    "goal": ("a text", _says),
    "script": ("a list of texts", lambda value: isinstance(value, list) and value != [] and all(map(_says, cast("list[Any]", value)))),
    "max_messages": ("a number from 1 on", lambda value: type(value) is int and value > 0),
    "stop": ("a text", _says),
}
"""The fields of a simulated user, each with what it must be."""

_READERS = {
    "id": _text,
    "agent": _text,
    "conversation": _conversation,
    "context_variables": _dict,
    "function": _function,
    "arguments": _expected,
    "calls": _calls,
    "handoffs": _texts,
    "final_agent": _text,
    "state": _state,
    "text": checked_conditions,
    "judge": _text,
    "user": _user,
    "tags": _texts,
    "data": _dict,
}
