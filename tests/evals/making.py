"""Results of evals that never ran, for the tests of what is made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from swarm.evals.records import CaseResult, Header, Results, Score

USAGE = {"input_tokens": 100, "output_tokens": 20, "cached_tokens": 0, "reasoning_tokens": 0, "cost": 0.002, "model_calls": 2}


def a_result(case: str = "triage/1", repetition: int = 0, passed: bool = True, **changes: Any) -> CaseResult:
    """One result: a user asked for a refund, and the triage agent handed over, rightly or not."""
    called = "transfer_to_refunds" if passed else "transfer_to_sales"
    fields: dict[str, Any] = {
        "case": case,
        "repetition": repetition,
        "place": f"evals/{case.split('/')[0]}.json:{7 * int(case.split('/')[-1]) + 2}",
        "tags": [],
        "agent": "Triage",
        "passed": passed,
        "scores": {"function": Score(passed, float(passed), "transfer_to_refunds", called)},
        "messages": [
            {"role": "user", "content": "I want my money back"},
            {
                "role": "assistant",
                "content": None,
                "sender": "Triage",
                "tool_calls": [{"id": "1", "type": "function", "function": {"name": called, "arguments": '{"reason": "späť"}'}}],
            },
            {"role": "tool", "tool_call_id": "1", "tool_name": called, "content": '{"assistant": "Refunds"}'},
            {"role": "assistant", "content": "Which order is it?", "sender": "Refunds"},
        ],
        "input": 1,
        "final_agent": "Refunds",
        "calls": [{"name": called, "arguments": {"reason": "späť"}, "agent": "Triage", "outcome": "ok"}],
        "handoffs": [["Triage", "Refunds"]],
        "stop_reason": "complete",
        "state": {"order": 7},
        "usage": USAGE,
        "seconds": 0.25,
        "error": None,
        "started": "2026-01-02T03:04:05Z",
    }
    return CaseResult(**fields | changes)


def a_run(outcomes: Mapping[str, Sequence[bool]], **changes: Any) -> Results:
    """A run in which each case passed or failed as given, once for each repetition."""
    header = a_header(cases=len(outcomes), repeat=max(map(len, outcomes.values()), default=1))
    results = [a_result(case, number, passed, **changes) for case, passes in outcomes.items() for number, passed in enumerate(passes)]
    return Results(header, results)


def a_header(**changes: Any) -> Header:
    """What was measured."""
    fields: dict[str, Any] = {
        "id": "e1",
        "target": "shop:triage",
        "files": ["evals/triage.json"],
        "cases": 1,
        "digest": "",
        "repeat": 1,
        "seed": 0,
        "model": "gpt-4o-mini",
        "swarm": "0.1.0",
        "started": "2026-01-02T03:04:05Z",
        "scorers": ["function"],
    }
    return Header(**fields | changes)
