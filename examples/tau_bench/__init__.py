"""tau-bench's airline and retail domains: agents whose tools work on a database, and the benchmark's tasks played through them.

Tools, agents and instructions are written for this example; the databases, the tools' schemas and the tasks are the benchmark's
(`data/NOTICE.md`). In the terminal: `python -m examples.tau_bench airline 8`.
"""
