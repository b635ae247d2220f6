"""What `swarm demo` needs of an example, from a checkout and from an installed package, and the conversations it must be able to hold."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from swarm import Agent, OfflineModel
from tests.examples.talk import ROOT, environment, script
from tests.modes import Drive

EXAMPLES = ("airline", "basic", "configured", "routines", "support_bot", "triage_agent", "weather_agent")


@pytest.fixture(scope="module")
def offline() -> OfflineModel:
    return OfflineModel()


def test_these_are_the_examples() -> None:
    found = {path.parent.name for path in (ROOT / "examples").glob("*/demo.py")}
    assert found >= set(EXAMPLES)


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_demo_has_an_agent_its_context_and_a_line_about_it(example: str) -> None:
    demo = importlib.import_module(f"examples.{example}.demo")
    assert isinstance(demo.agent, Agent)
    assert demo.agent is demo.agents[0]
    assert demo.about.endswith(".")
    assert "\n" not in demo.about
    assert len(demo.about) < 120
    assert json.loads(json.dumps(demo.context_variables)) == demo.context_variables


def test_the_examples_can_be_imported_from_an_installed_package(tmp_path: Path) -> None:
    """H20: in the wheel they are swarm/_examples, so they must not name themselves."""
    shutil.copytree(ROOT / "src" / "swarm", tmp_path / "swarm", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "examples", tmp_path / "swarm" / "_examples", ignore=shutil.ignore_patterns("__pycache__"))
    modules = [f"swarm._examples.{example}.demo" for example in EXAMPLES]
    modules += [
        "swarm._examples.airline.main",
        "swarm._examples.bank.demo",
        "swarm._examples.bank.main",
        "swarm._examples.personal_shopper.demo",
        "swarm._examples.personal_shopper.main",
        "swarm._examples.support_bot.main",
        "swarm._examples.support_bot.outbox",
        "swarm._examples.support_bot.prep",
        "swarm._examples.support_bot.retrieval",
        "swarm._examples.triage_agent.run",
        "swarm._examples.weather_agent.run",
    ]
    code = (
        f"import importlib, sys\nfor name in {modules}: importlib.import_module(name)\nassert 'examples' not in sys.modules\nprint('fine')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment(PYTHONPATH=str(tmp_path)), capture_output=True, text=True, timeout=50
    )
    assert (done.stdout, done.stderr) == ("fine\n", "")


@pytest.mark.parametrize("module", ["airline.main", "triage_agent.run", "weather_agent.run"])
def test_the_plain_loop_offline(module: str) -> None:
    """K23, H20"""
    done = script("-m", f"examples.{module}", said="hello\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Starting Swarm CLI 🐝\n")
    assert "I can help with this" in done.stdout


def converse(drive: Drive, offline: OfflineModel, example: str, *said: str) -> tuple[list[str], list[tuple[str, str]], str]:
    """The functions called, who handed over to whom, and the last text."""
    demo: Any = importlib.import_module(f"examples.{example}.demo")
    agent, messages, context = demo.agent, list[Any](), demo.context_variables
    called: list[str] = []
    handed: list[tuple[str, str]] = []
    text = ""
    for words in said:
        messages.append({"role": "user", "content": words})
        response = drive(agent, messages, offline, context_variables=context)
        messages += response.messages
        agent, context, text = response.agent or agent, response.context_variables, response.text
        called += [entry.name for entry in response.calls]
        handed += response.handoffs
    return called, handed, text


def test_cancelling_a_flight_offline(drive: Drive, offline: OfflineModel) -> None:
    """D30: the conversation that a fresh machine must be able to hold."""
    said = ("I want to cancel my flight", "yes, flight 1919", "a refund please", "no, that's all")
    called, handed, text = converse(drive, offline, "airline", *said)
    assert called == ["transfer_to_flight_modification", "transfer_to_flight_cancel", "initiate_refund", "case_resolved"]
    assert handed == [("Triage Agent", "Flight Modification Agent"), ("Flight Modification Agent", "Flight Cancel Agent")]
    assert text == "The case is closed. Have a good flight."


def test_changing_a_flight_offline(drive: Drive, offline: OfflineModel) -> None:
    said = ("can I take another flight?", "is my fare changeable?", "I agree, put me on the earlier flight", "no")
    called, _, _ = converse(drive, offline, "airline", *said)
    assert called[1:] == ["transfer_to_flight_change", "valid_to_change_flight", "change_flight", "case_resolved"]


def test_finding_a_bag_offline(drive: Drive, offline: OfflineModel) -> None:
    called, _, _ = converse(drive, offline, "airline", "I lost my bag", "no")
    assert called == ["transfer_to_lost_baggage", "initiate_baggage_search", "case_resolved"]


def test_a_refund_offline(drive: Drive, offline: OfflineModel) -> None:
    called, _, text = converse(drive, offline, "triage_agent", "I want to return the shoes", "item 4711")
    assert called == ["transfer_to_refunds", "process_refund"]
    assert text.startswith("Item 4711 is refunded.")


def test_the_weather_offline(drive: Drive, offline: OfflineModel) -> None:
    called, _, text = converse(drive, offline, "weather_agent", "How is the weather in Rome tomorrow?")
    assert called == ["get_weather"]
    assert "Rome" in text


def test_spanish_offline(drive: Drive, offline: OfflineModel) -> None:
    _, handed, _ = converse(drive, offline, "basic", "Hola, ¿cómo estás?")
    assert handed == [("English Agent", "Spanish Agent")]
