"""The pytest plugin of `swarm.testing`: scripted models and tapes as fixtures, cases of evals as tests, and a switch that forbids calls to
real models.

It is a module of its own, outside the package, since pytest imports it at every start in every project that has the package installed, and
importing anything inside `swarm` would import all of it. So `swarm` is imported where a fixture, or the switch, needs it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest

if TYPE_CHECKING:
    from swarm.evals import Case, Results
    from swarm.evals.suite import Suite
    from swarm.testing import ScriptedModel, Tape

_FAILED = pytest.StashKey[bool]()
_PLAYED = pytest.StashKey["tuple[Suite, Results]"]()
_RECORD = "SWARM_RECORD"
_REPORTED = "swarm_eval"  # an attribute of a report, which pytest-xdist sends along if it is JSON


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("swarm", "agents (openswarm)")
    group.addoption("--swarm-record", action="store_true", help="record the tapes of the tests that run, over what is there")
    group.addoption("--swarm-no-live", action="store_true", help="fail a test that calls a real model")
    parser.addini("swarm_live_calls", 'whether tests may call real models: "allow" or "forbid"', default="allow")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "swarm_live: this test may call a real model, even if swarm_live_calls = forbid")
    config.addinivalue_line(
        "markers",
        "swarm_eval(*files, agent, min_accuracy=None, **options): one test for each case in the files, options as of swarm.evals.evaluate",
    )
    if not hasattr(config, "workerinput"):  # under pytest-xdist only the controller sees all tests
        config.pluginmanager.register(_Accuracies(), "swarm_eval")
    wanted, records = config.getini("swarm_live_calls"), config.getoption("swarm_record")
    if wanted not in ("allow", "forbid"):
        raise pytest.UsageError(f'swarm_live_calls must be "allow" or "forbid", not {wanted!r}')
    if records and config.getoption("swarm_no_live"):
        raise pytest.UsageError("--swarm-record asks real models, which --swarm-no-live forbids")
    if records:
        before = os.environ.get(_RECORD)
        os.environ[_RECORD] = "1"
        config.add_cleanup(lambda: _set_record(before))
    if not records and (wanted == "forbid" or config.getoption("swarm_no_live")):
        config.pluginmanager.register(_NoLiveCalls(config), "swarm_no_live")


def _set_record(value: str | None) -> None:
    os.environ.pop(_RECORD, None)
    if value is not None:
        os.environ[_RECORD] = value


class _NoLiveCalls:
    """Fails whoever calls a real model, from the collection of the tests on."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._where = "outside of any test"
        self._is_allowed = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        from swarm.testing.live import forbid_live_calls

        self._config.add_cleanup(forbid_live_calls(self._refuse))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        where, allowed = self._where, self._is_allowed
        self._where, self._is_allowed = f"in {item.nodeid}", item.get_closest_marker("swarm_live") is not None
        try:
            return (yield)
        finally:
            self._where, self._is_allowed = where, allowed

    def _refuse(self, base_url: str) -> None:
        """A failure of pytest is no Exception, so no agent or policy takes it for a failure of its own."""
        if not self._is_allowed:
            pytest.fail(
                f"{self._where}: a call to the real model at {base_url}, which this test run forbids (swarm_live_calls = forbid, or "
                "--swarm-no-live). Give the Swarm a ScriptedModel or a Tape, or mark the test with @pytest.mark.swarm_live",
                pytrace=False,
            )


class _Accuracies:
    """Counts the conversations of each test that is marked with `swarm_eval`, wherever its cases ran."""

    def __init__(self) -> None:
        self._counts: dict[str, tuple[int, int, float | None]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if (played := getattr(report, _REPORTED, None)) is not None:
            test, passed, count, least = played
            before = self._counts.get(test, (0, 0, None))
            self._counts[test] = (before[0] + passed, before[1] + count, least)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        done = yield
        session.testsfailed += sum(_is_below(*counts) for counts in self._counts.values())
        return done

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._counts:
            terminalreporter.section("evals")
        for test, (passed, count, least) in self._counts.items():
            told = f"{test}: {passed} of {count} conversations passed, {passed / count:.1%}"
            if least is not None:
                told += f", {'below' if _is_below(passed, count, least) else 'at least'} {least:.1%}"
            terminalreporter.write_line(told, red=_is_below(passed, count, least))


def _is_below(passed: int, count: int, least: float | None) -> bool:
    return least is not None and passed / count < least


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call":
        item.stash[_FAILED] = not report.passed
        if (played := item.stash.get(_PLAYED, None)) is not None:
            suite, results = played
            test, _, _ = item.nodeid.partition("[")
            setattr(report, _REPORTED, (test, results.passed, len(results.results), suite.min_accuracy))
    return report


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mark = metafunc.definition.get_closest_marker("swarm_eval")
    if mark is None:
        return
    from swarm.errors import SwarmError
    from swarm.evals.suite import Suite

    if "eval_results" not in metafunc.fixturenames:
        raise pytest.Collector.CollectError(
            f"{metafunc.definition.nodeid} is marked with swarm_eval, and plays no case; give it the parameter eval_results"
        )
    try:
        suite = Suite(mark.args, metafunc.config.rootpath, **mark.kwargs)
    except (SwarmError, OSError) as error:
        raise pytest.Collector.CollectError(str(error)) from error
    metafunc.parametrize("eval_results", [(suite, case) for case in suite.cases], indirect=True, ids=[case.id for case in suite.cases])


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
    """What the test itself asserts comes first; then its case must have passed, unless a share of them is asked for."""
    done = yield
    if (played := pyfuncitem.stash.get(_PLAYED, None)) is not None:
        from swarm.evals.suite import why_not

        suite, results = played
        if why := why_not(results):
            pytest.fail(why, pytrace=False) if suite.min_accuracy is None else pytest.xfail(why)
    return done


@pytest.fixture
def eval_client() -> Any:
    """The client of the agents in tests that are marked with `swarm_eval`; override it to name one. By default that of `Swarm()`."""
    return None


@pytest.fixture
def eval_results(request: pytest.FixtureRequest, eval_client: Any) -> Results:
    """The results of the case that this test is for, a `swarm.evals.Results`; needs the marker `swarm_eval`."""
    asked: tuple[Suite, Case] | None = getattr(request, "param", None)
    if asked is None:
        pytest.fail("eval_results needs a marker: @pytest.mark.swarm_eval('evals/*.json', agent='module:agent')", pytrace=False)
    suite, case = asked
    results = suite.play(case, eval_client)
    request.node.stash[_PLAYED] = suite, results
    return results


@pytest.fixture
def scripted_model(request: pytest.FixtureRequest) -> Iterator[Callable[[Sequence[Any]], ScriptedModel]]:
    """Makes scripted models, `scripted_model(["Hello", call("refund", {"item_id": 7}), "Done"])`.

    A test that passes fails after all if turns are left over; the failure names them.
    """
    from swarm.testing import ScriptedModel

    models: list[ScriptedModel] = []

    def make(turns: Sequence[Any]) -> ScriptedModel:
        models.append(ScriptedModel(turns))
        return models[-1]

    yield make
    if not request.node.stash.get(_FAILED, True):
        for model in models:
            model.assert_done()


@pytest.fixture
def tape_client() -> Any:
    """The client that the fixture `tape` records; override it to name one, or a function that makes one. By default that of `Swarm()`."""
    return None


@pytest.fixture
def tape_redact() -> Sequence[str | re.Pattern[str]]:
    """What must not stand in the files of the fixture `tape`, besides keys; override it to name fields and patterns."""
    return ()


@pytest.fixture
def tape(request: pytest.FixtureRequest, tape_client: Any, tape_redact: Sequence[str | re.Pattern[str]]) -> Iterator[Tape]:
    """The tape of this test, `tapes/<file>/<test>.jsonl` beside the test's file; `pytest --swarm-record` records it.

    A test that passes fails after all if recorded answers are left over; the failure names them.
    """
    from swarm.testing import Tape

    mine = Tape(_path_for(request), tape_client, redact=tape_redact)
    yield mine
    if not request.node.stash.get(_FAILED, True):
        mine.assert_done()


def _path_for(request: pytest.FixtureRequest) -> Path:
    """The file for a test: its name, with its class, as far as every file system takes it."""
    file: Path = request.path
    node: pytest.Item = request.node
    within = node.getparent(pytest.Class)
    name = node.name if within is None else f"{within.name}.{node.name}"
    plain = re.sub(r"[^\w.\[\]-]+", "_", name, flags=re.ASCII)[:100]
    if plain != name:
        plain = f"{plain}-{crc32(name.encode()):08x}"
    return file.parent / "tapes" / file.stem / f"{plain}.jsonl"
