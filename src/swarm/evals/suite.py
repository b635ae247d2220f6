"""Cases as tests of pytest: what the marker `swarm_eval` asks for. The plugin `pytest_openswarm` imports this where the marker is used."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from ..inspection.drawing import plain
from ..types import Agent
from .cases import Case, load_cases
from .conversations import views
from .module import options_of
from .problems import EvalError
from .records import CaseResult, Results
from .running import run_evals
from .table import failures


class Suite:
    """What one marker asks for.

    Args:
        files: files of cases, folders, or patterns such as "evals/*.json", seen from the root.
        root: the folder of pytest's configuration.
        agent: `module:agent`, or an Agent.
        min_accuracy: the share of all conversations that must pass; by default each must.
        options: further arguments of `evaluate`.

    Raises:
        EvalError: no agent, no file or no case; a number that is no share.

    Attributes:
        cases: those of all files.
        min_accuracy: as given.
    """

    def __init__(
        self, files: Sequence[str], root: Path, agent: str | Agent | None = None, min_accuracy: float | None = None, **options: Any
    ) -> None:
        if not isinstance(agent, Agent) and ":" not in (agent or ""):
            raise EvalError(f"@pytest.mark.swarm_eval(agent={agent!r}) names no agent; give agent='module:agent', or an Agent")
        if min_accuracy is not None and not 0 <= min_accuracy <= 1:
            raise EvalError(f"@pytest.mark.swarm_eval(min_accuracy={min_accuracy!r}) is no share from 0 to 1")
        self.cases: list[Case] = load_cases(*_found(files, root))
        self.min_accuracy = min_accuracy
        self._agent, self._options = agent, options

    def play(self, case: Case, client: Any) -> Results:
        """Play one case, as often as the marker says.

        Raises:
            EvalError, ConfigError: as for `evaluate`.
            ImportError, AttributeError: there is no such module or agent.
        """
        if isinstance(self._agent, Agent):
            given: dict[str, Any] = {"agent": self._agent}
        else:
            name, _, attribute = (self._agent or "").partition(":")
            module = importlib.import_module(name)
            given = {**options_of(module), "agent": getattr(module, attribute), "target": self._agent}
        return run_evals(cases=[case], **{"client": client, **given, **self._options})


def _found(files: Sequence[str], root: Path) -> Iterator[Path]:
    here = Path.cwd()
    for name in files:
        found = sorted(glob(str(root / name), recursive=True)) if has_magic(name) else [str(root / name)]
        if not found:
            raise EvalError(f"no file is called {name!r} in {root}, where @pytest.mark.swarm_eval looks for cases")
        yield from (path.relative_to(here) if path.is_relative_to(here) else path for path in map(Path, found))


def why_not(results: Results) -> str:
    """Why a case did not pass, and the first conversation in which it did not; "" if it passed."""
    failed = [result for result in results.results if not result.passed]
    if not failed:
        return ""
    told = [line for title, reasons in failures(results.results) for line in (title, *(f"  {reason}" for reason in reasons))]
    return "\n".join([*told, "the conversation:", *_conversation(failed[0])])


def _conversation(result: CaseResult) -> Iterator[str]:
    for message in views([result])[0]["messages"]:
        if message["text"] or message["shown"]:
            yield "  " + plain(f"{message['who']}: {' '.join([message['text'], *message['shown']])}")
        for call in message["calls"]:
            yield "  " + plain(f"{message['who']} calls {call['name']}({call['arguments']})")
