"""How well agents do on cases: what is said to whom, what should come of it, and how often it does. See docs/evals.md."""

from .cases import Case, load_cases, state_hash
from .comparing import Change, Comparison, compare
from .judging import JudgeModel
from .outcome import Outcome
from .page import render_page, write_page
from .problems import EvalError
from .records import CaseResult, Header, Results, Score, read_results
from .running import evaluate, run_evals
from .scoring import Scorer
from .simulating import Said, Simulate, UserModel, UserScript
from .statistics import Share
from .summary import Confusion, Summary, Taken, summarize
from .table import as_text, print_results

__all__ = [
    "Case",
    "CaseResult",
    "Change",
    "Comparison",
    "Confusion",
    "EvalError",
    "Header",
    "JudgeModel",
    "Outcome",
    "Results",
    "Said",
    "Score",
    "Scorer",
    "Share",
    "Simulate",
    "Summary",
    "Taken",
    "UserModel",
    "UserScript",
    "as_text",
    "compare",
    "evaluate",
    "load_cases",
    "print_results",
    "read_results",
    "render_page",
    "run_evals",
    "state_hash",
    "summarize",
    "write_page",
]
