"""How well agents do on cases: what is said to whom, what should come of it, and how often it does. See docs/evals.md."""

from .cases import Case, load_cases, state_hash
from .problems import EvalError
from .records import CaseResult, Header, Results, Score, read_results

__all__ = ["Case", "CaseResult", "EvalError", "Header", "Results", "Score", "load_cases", "read_results", "state_hash"]
