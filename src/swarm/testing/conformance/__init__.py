"""Suites of rules that the author of a model, a client, a policy or a store of sessions can run against theirs.

Each is a base class: make a test class of it, say in `make` how yours is made, and run it with pytest. A failure explains the rule.
"""

from .failures import FailureConformance
from .models import ModelConformance
from .policies import PolicyConformance
from .sessions import SessionConformance
from .toolcalls import ToolCallConformance

__all__ = ["FailureConformance", "ModelConformance", "PolicyConformance", "SessionConformance", "ToolCallConformance"]
