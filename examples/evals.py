"""Does each example call the right function? `python -m examples.evals airline` asks the model about each case and prints the share.

A case is what was said, who hears it, and the function that the reply should call, or "None"; `arguments`, where a case has them, must
be among those of the call. The functions are not run.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from swarm import Agent, Swarm

Case = dict[str, Any]


def load_cases(example: str) -> list[Case]:
    """The cases in `<example>/evals/*.json`."""
    files = sorted((Path(__file__).parent / example / "evals").glob("*.json"))
    return [case for file in files for case in json.loads(file.read_text(encoding="utf-8"))]


def asked_for(client: Swarm, agent: Agent, case: Case, context_variables: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The function that the reply calls, or "None", and its arguments."""
    response = client.run(agent, case["conversation"], context_variables, execute_tools=False)
    calls: list[dict[str, Any]] = response.messages[-1].get("tool_calls") or []
    if not calls:
        return "None", {}
    function = calls[0]["function"]
    return function["name"], json.loads(function["arguments"])


def misses(client: Swarm, agents: Sequence[Agent], cases: Sequence[Case], context_variables: dict[str, Any]) -> list[tuple[Case, str]]:
    """The cases that went wrong, each with what was called instead."""
    by_name = {agent.name: agent for agent in agents}
    wrong: list[tuple[Case, str]] = []
    for case in cases:
        name, arguments = asked_for(client, by_name[case["agent"]], case, context_variables)
        if name != case["function"] or not case.get("arguments", {}).items() <= arguments.items():
            wrong.append((case, name if name != case["function"] else f"{name} with {arguments}"))
    return wrong


def main(example: str) -> None:
    """Measure one example and print what went wrong."""
    demo: Any = import_module(f".{example}.demo", __package__)
    cases = load_cases(example)
    wrong = misses(Swarm(), demo.agents, cases, demo.context_variables)
    for case, called in wrong:
        print(f"{case['agent']} heard {case['conversation'][-1]['content']!r}: {called} instead of {case['function']}")
    print(f"{example}: {len(cases) - len(wrong)} of {len(cases)} right, accuracy {1 - len(wrong) / len(cases):.2f}")


def with_cases() -> list[str]:
    """The examples that have cases."""
    return sorted(folder.parent.name for folder in Path(__file__).parent.glob("*/evals"))


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in with_cases():
        sys.exit(f"usage: python -m examples.evals {' | '.join(with_cases())}")
    main(sys.argv[1])
