"""Cases as tests of pytest, in test suites of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import swarm.evals.suite
import swarm.testing  # all of them, since an inner run forgets what it was the first to import
from swarm.evals import CaseResult, Results, Score
from swarm.evals.suite import why_not
from tests.evals.making import a_header, a_result

pytest_plugins = ["pytester"]

DESK = """
from swarm import Agent
from swarm.effects import Reply

class Echo:
    blocking = False
    asked = 0
    def complete(self, call):
        Echo.asked += 1
        return Reply({"role": "assistant", "content": call.request["messages"][-1]["content"]}, None, "stop")
    def stream(self, call):
        raise NotImplementedError

def context_variables():
    return {"made": True}

day = Agent(name="Day", client=Echo())
night = Agent(name="Night", client=Echo())
"""

CASES = [
    {"id": "greet/1", "conversation": "hello", "text": {"equals": "hello"}, "state": {"made": True}},
    {"id": "greet/2", "conversation": "bye", "text": {"equals": "bye"}, "agent": "Night"},
    {"id": "wrong", "conversation": "hello", "text": {"equals": "good morning"}, "tags": ["hard"]},
]


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder with an agent and cases."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "SWARM_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    pytester.makeini("[pytest]\naddopts = -p no:cacheprovider\n")
    pytester.makepyfile(desk=DESK)
    pytester.syspathinsert()
    folder = pytester.mkdir("evals")
    (folder / "all.json").write_text(json.dumps(CASES))
    (folder / "good.json").write_text(json.dumps(CASES[:2]))
    return pytester


def with_test(suite: pytest.Pytester, mark: str, body: str = "pass", more: str = "") -> None:
    suite.makepyfile(
        f"import pytest\n{more}\n@pytest.fixture\ndef eval_client():\n    from desk import Echo\n    return Echo()\n"
        f"@pytest.mark.swarm_eval({mark})\ndef test_desk(eval_results):\n    {body}\n"
    )


def test_each_case_is_a_test_with_its_id(suite: pytest.Pytester) -> None:
    """D67"""
    with_test(suite, "'evals/all.json', agent='desk:day'")
    result = suite.runpytest("-v")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*::test_desk[[]greet/1[]] PASSED*",
            "*::test_desk[[]greet/2[]] PASSED*",
            "*::test_desk[[]wrong[]] FAILED*",
            "evals/all.json:1 wrong",
            "  text: not met: equals 'good morning'*",
            "the conversation:",
            "  user: hello",
            "  Day: hello",
            "*= evals =*",
            "*::test_desk: 2 of 3 conversations passed, 66.7%",
        ]
    )


def test_a_share_of_them_may_be_asked_for(suite: pytest.Pytester) -> None:
    """D67: one that fails is no failure of the suite, until too many do."""
    with_test(suite, "'evals/a*.json', agent='desk:day', min_accuracy=0.6")
    result = suite.runpytest("-rx")
    result.assert_outcomes(passed=2, xfailed=1)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*2 of 3 *, 66.7%, at least 60.0%", "XFAIL *test_desk[[]wrong[]] - evals/all.json:1 wrong*"])
    with_test(suite, "'evals/all.json', agent='desk:day', min_accuracy=0.7")
    result = suite.runpytest()
    result.assert_outcomes(passed=2, xfailed=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*2 of 3 conversations passed, 66.7%, below 70.0%"])
    assert suite.runpytest("-k", "greet").ret == 0


def test_a_share_counts_over_all_processes(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """D67"""
    monkeypatch.setenv("PYTHONPATH", str(Path(swarm.evals.suite.__file__).parents[2]))
    with_test(suite, "'evals/all.json', agent='desk:day', min_accuracy=0.7")
    result = suite.runpytest_subprocess("-n", "2", "-p", "xdist")
    assert result.ret == 1
    result.assert_outcomes(passed=2, xfailed=1)
    result.stdout.fnmatch_lines(["*::test_desk: 2 of 3 conversations passed, 66.7%, below 70.0%"])


def test_results_are_there_for_more_to_assert_and_options_are_those_of_evaluate(suite: pytest.Pytester) -> None:
    """D67"""
    scorer = "def polite(case, outcome):\n    return 'please' in outcome.text\n"
    with_test(
        suite,
        "'evals/good.json', agent='desk:day', repeat=2, scorers=[polite], min_accuracy=0",
        "assert [result.repetition for result in eval_results.results] == [0, 1] and eval_results.header.target == 'desk:day'\n"
        "    assert eval_results.results[0].case != 'greet/2', 'my own reason'",
        scorer,
    )
    result = suite.runpytest()
    result.assert_outcomes(xfailed=1, failed=1)
    result.stdout.fnmatch_lines(["*AssertionError: my own reason*", "*0 of 4 conversations passed, 0.0%, at least 0.0%"])


def test_an_agent_may_be_given_itself_and_a_module_is_not_read(suite: pytest.Pytester) -> None:
    with_test(suite, "'evals', agent=Agent(name='Mine')", more="from swarm import Agent")
    (suite.path / "evals/all.json").unlink()
    result = suite.runpytest()
    result.assert_outcomes(failed=1, errors=1)
    result.stdout.fnmatch_lines(["*there is no agent called 'Night'*", "*made is missing*"])


@pytest.mark.parametrize(
    ("mark", "says"),
    [
        ("'evals/all.json'", "*agent=None) names no agent; give agent='module:agent', or an Agent*"),
        ("'evals/all.json', agent='desk'", "*names no agent*"),
        ("'nothing/*.json', agent='desk:day'", "*no file is called 'nothing/[*].json' in *"),
        ("'nothing.json', agent='desk:day'", "*there is no file or folder 'nothing.json'*"),
        ("'evals/good.json', agent='desk:day', min_accuracy=90", "*min_accuracy=90) is no share from 0 to 1*"),
    ],
)
def test_a_wrong_marker_is_told_when_tests_are_collected(suite: pytest.Pytester, mark: str, says: str) -> None:
    """D67"""
    with_test(suite, mark)
    result = suite.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([says])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_marker_and_fixture_belong_together(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        test_mark="import pytest\n@pytest.mark.swarm_eval('evals/all.json', agent='desk:day')\ndef test_it():\n    pass\n",
        test_fixture="def test_it(eval_results):\n    pass\n",
    )
    result = suite.runpytest("--continue-on-collection-errors")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*plays no case; give it the parameter eval_results*", "*eval_results needs a marker*"])


def test_without_a_client_it_says_how_to_get_one(suite: pytest.Pytester) -> None:
    """D30"""
    suite.makepyfile(
        "import pytest\n@pytest.mark.swarm_eval('evals/good.json', agent='desk:day')\ndef test_it(eval_results):\n    pass\n",
    )
    result = suite.runpytest()
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*ConfigError: no model to talk to*"])


def test_a_suite_without_evals_hears_nothing_of_them(suite: pytest.Pytester) -> None:
    suite.makepyfile("import sys\ndef test_it():\n    assert True\n")
    result = suite.runpytest()
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("=* evals =*")


def test_the_conversation_of_a_failure_shows_calls() -> None:
    failed: CaseResult = a_result(passed=False)
    failed.scores["function"] = Score(False, 0.0, "a", "b")
    failed.messages[-1]["content"] = "\x1b[2JWhich order is it?"
    told: Any = why_not(Results(a_header(), [a_result(), failed]))
    assert told.splitlines() == [
        "evals/triage.json:9 triage/1 failed 1 of 2",
        "  function: expected a, got b",
        "the conversation:",
        "  user: I want my money back",
        '  Triage calls transfer_to_sales(reason="späť")',
        '  result of transfer_to_sales: {"assistant": "Refunds"}',
        "  Refunds: �[2JWhich order is it?",
    ]
    assert why_not(Results(a_header(), [a_result()])) == ""
