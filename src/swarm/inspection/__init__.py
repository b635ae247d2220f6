"""A swarm as it is written: who can hand over to whom, and what is wrong with it. Read, never run."""

from .check import RULES, check
from .findings import Finding, Report
from .graph import Edge, Graph, read_graph

__all__ = ["RULES", "Edge", "Finding", "Graph", "Report", "check", "read_graph"]
