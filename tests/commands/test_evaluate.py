"""`swarm eval`: what it prints and writes, its exit codes, and that it goes on where it was killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from swarm.evals import read_results
from tests.commands.conftest import Commands
from tests.examples.talk import ROOT
from tests.loopback import Answer, Loopback, Request, completion, json_answer, tool_call

DESK = '''
"""A desk whose model repeats what it hears, `fail` excepted, or calls what it is told to call."""
import asyncio
from swarm import Agent
from swarm.effects import Reply
from swarm.errors import RateLimitError
from swarm.testing import call

tried = []

class Echo:
    async def complete(self, call_):
        said = call_.request["messages"][-1]["content"]
        if said == "fail":
            raise ValueError("out of order")
        if said == "busy" and not tried:
            tried.append(said)
            raise RateLimitError("slow down")
        if said == "wait":
            await asyncio.sleep(60)
        if said.startswith("call "):
            return Reply({"role": "assistant", "content": None, "tool_calls": [call(said[5:], id="call_1")]}, None, "tool_calls")
        return Reply({"role": "assistant", "content": said}, None, "stop")

    def stream(self, call_):
        raise NotImplementedError

def count(context_variables: dict):
    """Count."""
    print("counting")
    context_variables["count"] = context_variables.get("count", 0) + 1
    return "counted"

def to_night() -> Agent:
    """Hand over."""
    return night

def context_variables():
    return {"made": True}

def doubled(variables):
    return {"doubled": variables["count"] * 2, **variables}

def polite(case, outcome):
    return "please" in outcome.text

day = Agent(name="Day", functions=[count, to_night], client=Echo())
night = Agent(name="Night", client=day.client)
agents = [day, night, Agent(name="Weekend", client=day.client)]
number = 5
print("imported")
'''
CASES = """
- {conversation: Hello, function: None, tags: [greeting]}
- {conversation: call count, function: count, tags: [work]}
- {conversation: call to_night, final_agent: Night, tags: [work]}
- {conversation: call count, state: {count: 1, made: true}, text: {equals: counted}}
- {agent: Weekend, conversation: closed, text: {contains: Closed}}
"""
WRONG = """
- {conversation: Hello, function: None}
- {conversation: Hello, function: count}
- {conversation: fail, function: None}
"""


@pytest.fixture
def desk(swarm: Commands) -> Commands:
    swarm.write("desk.py", DESK)
    swarm.write("cases.yaml", CASES)
    swarm.write("wrong.yaml", WRONG)
    swarm.write("bare.py", "from swarm import Agent\nagent = Agent()\n")
    return swarm


AIRLINE = ROOT / "examples" / "airline"
BASE = ("--base-url", "http://127.0.0.1:9/v1")  # nobody is asked there: the agents have a client of their own


def test_all_is_well(desk: Commands) -> None:
    """D64: what modules and functions print does not get among the results."""
    done = desk("eval", "desk:day", "cases.yaml", *BASE)
    assert done.exit_code == 0
    assert "5 of 5" in done.stdout and "counting" not in done.stdout
    assert "imported" in done.stderr and "counting" in done.stderr


def test_something_is_not(desk: Commands) -> None:
    """D64: it is told where, with what was expected and what there was."""
    done = desk("eval", "desk:day", "wrong.yaml", *BASE, "--out", "out.jsonl", "--html", "out.html")
    assert done.exit_code == 1
    for told in ("1 of 3", "wrong.yaml:3", "expected count, got None", "wrong.yaml:4", "out of order"):
        assert told in done.stdout
    results = read_results("out.jsonl")
    assert (results.header.target, results.passed, len(results.results)) == ("desk:day", 1, 3)
    assert "wrong.yaml:3" in Path("out.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("asked", "code"), [("0.33", 0), ("0.34", 1), ("0", 0), ("1", 1)])
def test_as_many_must_pass_as_were_asked_for(desk: Commands, asked: str, code: int) -> None:
    """D64"""
    assert desk("eval", "desk:day", "wrong.yaml", *BASE, "--min-accuracy", asked).exit_code == code


def test_worse_than_before_is_told_by_a_test_of_significance(desk: Commands) -> None:
    """D64: one case of three is not enough for a verdict, fifteen of fifteen are."""
    assert desk("eval", "desk:day", "wrong.yaml", *BASE, "--out", "old.jsonl").exit_code == 1
    assert desk("eval", "desk:day", "wrong.yaml", *BASE, "--compare", "old.jsonl").exit_code == 0
    desk.write("many.yaml", "".join(f"- {{conversation: '{number}', function: None}}\n" for number in range(15)))
    assert desk("eval", "desk:day", "many.yaml", *BASE, "--out", "good.jsonl").exit_code == 0
    desk.write("many.yaml", "".join(f"- {{conversation: '{number}', function: count}}\n" for number in range(15)))
    done = desk("eval", "desk:day", "many.yaml", *BASE, "--compare", "good.jsonl", "--min-accuracy", "0")
    assert done.exit_code == 1 and "15 broken" in done.stdout


def test_repetitions_tags_scorers_and_states(desk: Commands) -> None:
    """D64"""
    options = ("--tag", "work", "--repeat", "3", "--concurrency", "2", "--seed", "1", "--out", "o.jsonl")
    done = desk("eval", "desk:day", "cases.yaml", *BASE, *options)
    assert done.exit_code == 0
    results = read_results("o.jsonl")
    assert (results.header.cases, results.header.repeat, results.header.seed, len(results.results)) == (2, 3, 1, 6)
    desk.write("state.yaml", "- {conversation: call count, state: {doubled: 2}}\n")
    assert desk("eval", "desk:day", "state.yaml", *BASE, "--state", "desk:doubled").exit_code == 0
    assert desk("eval", "desk:day", "state.yaml", *BASE).exit_code == 1
    done = desk("eval", "desk:day", "cases.yaml", *BASE, "--scorer", "desk:polite")
    assert done.exit_code == 1 and "polite" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("desk:day", "none.yaml"), "there is no file or folder 'none.yaml'"),
        (("desk:evening", "cases.yaml"), "has no 'evening'"),
        (("desk:day", "cases.yaml", "--tag", "x"), "no case has the tag 'x'; there are greeting, work"),
        (("desk:day", "cases.yaml", "--resume"), "--resume goes on with the file of --out, which is not given"),
        (("desk:day", "cases.yaml", "--html", "no/out.html"), "there is no folder no for out.html; make it first"),
        (("desk:day", "cases.yaml", "--scorer", "desk"), "'desk' does not say which function; give module:function"),
        (("desk:day", "cases.yaml", "--scorer", "desk:number"), "desk:number is of type int, not a function"),
        (("desk:day", "cases.yaml", "--state", "desk:nothing"), "has no 'nothing'"),
        (("desk:day", "cases.yaml", "--compare", "cases.yaml"), "cases.yaml:1: no line of eval results"),
        (("desk:day", "cases.yaml", "--out", "cases.yaml"), "cases.yaml is there already: resume it (--resume), or name another file"),
        (("desk:day", "cases.yaml", "--out", "no/out.jsonl"), "no/out.jsonl cannot be written: No such file"),
        (("desk:day", "cases.yaml", "--out", "."), ". cannot be written: Is a directory"),
        (("desk:day", "cases.yaml", "--compare", "none.jsonl"), "none.jsonl cannot be read: No such file"),
        (("desk:day", "cases.yaml", "--html", "cases.yaml"), "--html writes a page, and 'cases.yaml' does not end in .html"),
        (("desk:day", "broken.yaml"), "broken.yaml:1: a case has no field 'functon'; did you mean 'function'?"),
        (("bare:agent", "agents.yaml"), "agents.yaml:1: there is no agent called 'Night'"),
    ],
)
def test_wrong_use_is_told_before_anything_is_played(desk: Commands, arguments: tuple[str, ...], says: str) -> None:
    """D64"""
    desk.write("broken.yaml", "- {conversation: Hello, functon: None}\n")
    desk.write("agents.yaml", "- {conversation: Hello, agent: Night, function: None}\n")
    done = desk("eval", *arguments, *BASE)
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr


def test_a_full_disk_is_named_with_its_file(desk: Commands) -> None:
    """D63"""
    done = desk("eval", "desk:day", "cases.yaml", *BASE, "--out", "/dev/full")
    assert done.exit_code == 1 and "No space left on device: '/dev/full'" in done.stderr


def test_results_of_other_cases_are_not_compared(desk: Commands) -> None:
    """D64"""
    assert desk("eval", "desk:day", "cases.yaml", *BASE, "--out", "old.jsonl").exit_code == 0
    done = desk("eval", "desk:day", "wrong.yaml", *BASE, "--compare", "old.jsonl")
    assert done.exit_code == 2 and "old.jsonl holds no result of any of these cases" in done.stderr


def test_a_module_without_variables_and_a_folder_of_cases(desk: Commands) -> None:
    desk.write("evals/a.csv", "conversation,function\nHello,None\n")
    done = desk("eval", str(desk.write("lone.py", DESK.replace("def context_variables", "def unused"))) + ":day", "evals", *BASE)
    assert (done.exit_code, "1 of 1" in done.stdout) == (0, True)


def test_the_airlines_cases_with_the_offline_model(desk: Commands) -> None:
    """D64, U04"""
    done = desk("eval", f"{AIRLINE}/demo.py:agent", f"{AIRLINE}/evals", "--offline", "--min-accuracy", "0.85")
    assert done.exit_code == 0, done.stdout + done.stderr


def test_a_model_that_is_busy_is_asked_again(desk: Commands) -> None:
    """D62: that is no answer of the agents."""
    desk.write("busy.yaml", "- {conversation: busy, function: None}\n")
    done = desk("eval", "desk:day", "busy.yaml", *BASE)
    assert (done.exit_code, "1 of 1" in done.stdout) == (0, True)


def test_without_a_model_it_says_how_to_get_one(desk: Commands) -> None:
    """D30"""
    done = desk("eval", "bare:agent", "cases.yaml", "--tag", "greeting")
    assert done.exit_code == 2 and "no model to talk to" in done.stderr and "--offline" in done.stderr


def test_a_terminal_shows_how_far_it_is_and_ctrl_c_says_how_to_go_on(desk: Commands) -> None:
    """D63, D16"""
    desk.write("slow.yaml", "- {conversation: Hello, function: None}\n- {conversation: wait, function: None}\n")
    command = ("eval", "desk:day", "slow.yaml", *BASE, "--out", "out.jsonl")
    code, screen = desk.terminal(*command, typed=[("100.0% passed", "\x03")])
    assert code == 130
    assert "1/2" in screen
    assert "Stopped after 1 of 2; the same command with --resume goes on with out.jsonl" in screen
    assert [result.passed for result in read_results(desk.folder / "out.jsonl").results] == [True]


def _answer(request: Request) -> Answer:
    """A call, then the answer, each after 5 ms."""
    messages = request.json["messages"]
    body = completion("It is open.") if messages[-1]["role"] == "tool" else completion(None, [tool_call("look_up", {"item": 7})])
    whole = json_answer(body)
    return Answer(0.005, *whole.steps, headers=whole.headers)


SHOP = '''
from swarm import Agent

def look_up(item: int):
    """Look up an item."""
    return f"item {item}"

clerk = Agent(name="Clerk", functions=[look_up])
'''


def test_a_killed_run_is_resumed_and_nothing_that_was_finished_is_asked_again(swarm: Commands) -> None:
    """D63: killed in the middle, twice, with no chance to tidy up."""
    swarm.write("shop.py", SHOP)
    cases = [{"conversation": f"order {number}", "calls": ["look_up"], "text": {"contains": "open"}} for number in range(60)]
    swarm.write("cases.json", json.dumps(cases))
    out = swarm.folder / "out.jsonl"
    with Loopback(_answer) as server:
        for run, lines in enumerate((20, 70, 1_000)):
            finished = Counter(_said(result.messages) for result in read_results(out).results) if run else Counter[str]()
            process = _resumed(swarm, f"{server.url}/{run}")
            while process.poll() is None and (not out.exists() or out.read_bytes().count(b"\n") <= lines):
                time.sleep(0.002)
            process.kill()
            _, errors = process.communicate()
            assert process.returncode == (0 if run == 2 else -signal.SIGKILL), errors
        asked = Counter(_said(request.json["messages"]) for request in server.requests if "/2/" in request.target)
    assert 70 <= sum(finished.values()) < 120
    assert asked == Counter({f"order {number}": 2 * left for number in range(60) if (left := 2 - finished[f"order {number}"])})
    results = read_results(out).results
    assert len(results) == 120 and all(result.passed for result in results)


def _resumed(swarm: Commands, url: str) -> subprocess.Popen[str]:
    command = [
        "eval",
        "shop:clerk",
        "cases.json",
        "--base-url",
        url,
        "--concurrency",
        "4",
        "--repeat",
        "2",
        "--out",
        "out.jsonl",
        "--resume",
    ]
    environment = {**swarm.environment(), "OPENAI_API_KEY": "key"}
    program = [sys.executable, "-m", "swarm", *command]
    return subprocess.Popen(program, cwd=swarm.folder, env=environment, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def _said(messages: list[dict[str, Any]]) -> str:
    return next(message["content"] for message in messages if message["role"] == "user")


def _shop(request: Request) -> Answer:
    """Who is asked answers: the agent, the model that plays the user, or the judge."""
    messages = request.json["messages"]
    match request.json["model"]:
        case "plays-the-user":
            return json_answer(completion("Is it open?" if len(messages) == 2 else "[END]"))
        case "judges":
            return json_answer(completion('{"reason": "It says so.", "passed": true}'))
        case _:
            return json_answer(completion("It is open."))


def test_models_play_the_user_and_judge(swarm: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    """D68, D69"""
    swarm.write("shop.py", SHOP)
    swarm.write("users.yaml", "- user: find out whether the shop is open\n  judge: Does the user know now?\n")
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    with Loopback(_shop) as server:
        options = ("--base-url", server.url, "--user-model", "plays-the-user", "--judge-model", "judges", "--out", "out.jsonl")
        done = swarm("eval", "shop:clerk", "users.yaml", *options)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "tokens of the judge, apart: " in done.stdout and "tokens of the user, apart: " in done.stdout
    results = read_results(swarm.folder / "out.jsonl")
    assert results.header.models_apart == {"judge": "judges", "user": "plays-the-user"}
    assert [message["content"] for message in results.results[0].messages] == ["Is it open?", "It is open."]


@pytest.mark.parametrize(
    ("case", "options", "says"),
    [
        ("user: be happy\n  judge: Is it?", (), "the 'user' has no script, and nobody plays it; give it one, or a model: --user-model"),
        ("user: {script: [Hi]}\n  judge: Is it?", (), "the case asks a 'judge', and there is none; name one: --judge-model"),
        (
            "user: {script: [Hi]}\n  judge: Is it?",
            ("--judge-model", "m"),
            "the offline model is no language model, so it cannot be the judge",
        ),
    ],
)
def test_a_user_or_judge_that_is_missing_is_told(swarm: Commands, case: str, options: tuple[str, ...], says: str) -> None:
    """D64, D68, D69"""
    swarm.write("shop.py", SHOP)
    swarm.write("users.yaml", f"- {case}\n")
    done = swarm("eval", "shop:clerk", "users.yaml", "--offline", *options)
    assert done.exit_code == 2 and says in done.stderr
