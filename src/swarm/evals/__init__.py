"""How well agents do on cases: what is said to whom, what should come of it, and how often it does. See docs/evals.md."""

from .cases import Case, load_cases, state_hash
from .outcome import Outcome
from .playing import Simulate
from .problems import EvalError
from .records import CaseResult, Header, Results, Score, read_results
from .running import evaluate, run_evals
from .scoring import Scorer

__all__ = [
    "Case",
    "CaseResult",
    "EvalError",
    "Header",
    "Outcome",
    "Results",
    "Score",
    "Scorer",
    "Simulate",
    "evaluate",
    "load_cases",
    "read_results",
    "run_evals",
    "state_hash",
]
