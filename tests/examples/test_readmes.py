"""Every command in a README of the examples does what the README shows; those for a real model reach it."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.routines import step3_handoffs
from tests.examples.readmes import READMES, as_it_is, blocks, commands, run
from tests.examples.talk import ROOT
from tests.loopback import Answer, Loopback, Request, completion, json_answer, sse, text_chunks

SHOWN = [(readme, number) for readme in READMES for number in range(len(blocks(readme, "console")))]
FOR_A_MODEL = [(readme, number) for readme in READMES for number in range(len(blocks(readme, "sh")))]
LOCAL = "http://localhost:11434/v1"


def place(value: object) -> str:
    return value.parent.name if isinstance(value, Path) else str(value)


def test_every_example_has_a_readme_with_commands() -> None:
    folders = {path.parent for path in (ROOT / "examples").glob("*/demo.py")}
    assert {readme.parent for readme in READMES} == folders | {ROOT / "examples"}
    for readme in READMES:
        assert all(commands(block) for block in blocks(readme, "console"))
        assert "console" in readme.read_text(encoding="utf-8")
    assert {readme.parent for readme, _ in FOR_A_MODEL} == folders, "each says how to use a real model"


@pytest.mark.timeout(180)  # some show a handful of commands that each load the offline model
@pytest.mark.parametrize(("readme", "number"), SHOWN, ids=place)
def test_a_command_prints_what_the_readme_shows(readme: Path, number: int) -> None:
    """H20, U05, D30"""
    block = blocks(readme, "console")[number]
    assert as_it_is(block) == block, "if the change is meant, run `python -m tests.examples.readmes` and commit the READMEs"


def answer(request: Request) -> Answer:
    if request.target.endswith("/embeddings"):
        return json_answer({"data": [{"index": number, "embedding": [1, 2]} for number, _ in enumerate(request.json["input"])]})
    return sse(*text_chunks("Hello", " there.")) if request.json.get("stream") else json_answer(completion("Hello there."))


@pytest.mark.parametrize(("readme", "number"), FOR_A_MODEL, ids=place)
def test_a_command_for_a_real_model_reaches_it(readme: Path, number: int, tmp_path: Path) -> None:
    """P13, U06"""
    block = blocks(readme, "sh")[number]
    with Loopback(answer) as server:
        done = run(block.replace(LOCAL, server.url), said="Hello\n", OPENAI_BASE_URL=server.url, XDG_DATA_HOME=str(tmp_path))
    assert done.returncode == ("swarm eval" in block), f"a model that only says hello fails at cases\n{done.stdout}"
    models = {request.json["model"] for request in server.requests if request.target.endswith("/chat/completions")}
    keys = {request.headers.get("authorization") for request in server.requests}
    assert (models, keys) == ({"llama3.1"}, {None}) if LOCAL in block else ({"gpt-4o"}, {"Bearer sk-..."})


def test_the_python_in_the_readme_on_routines_runs() -> None:
    """K13, K14"""
    [snippet] = blocks(ROOT / "examples" / "routines" / "README.md", "python")
    names = dict(vars(step3_handoffs))
    triage = eval(snippet.split("\n\n\n")[0], names)
    exec(snippet, names)
    assert [handoff.message for handoff in triage.handoffs] == [names["transfer_to_sales_agent"]().value]
    assert names["transfer_to_sales_agent"]().agent is step3_handoffs.sales_agent
