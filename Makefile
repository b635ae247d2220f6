# Each target prepares its own environment in .venv; nothing but Python 3.11 to 3.13 (with pip and venv), git and make has to be there.
#   make test PYTHON=python3.12 VENV=/tmp/venv-3.12     another Python, another place

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test check bench bench-quick bench-scale nightly api clean

help:  ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.demo  ## talk to the airline example, offline, without a key (or pipe lines into it)
	@$(BIN)/swarm demo airline --offline

test: $(VENV)/.dev  ## run the tests
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not check and not nightly"

check: $(VENV)/.dev  ## formatting, lint, types, import rules, budgets, and the longer tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m pytest -q tests/test_house.py tests/test_operations.py
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m check

bench: $(VENV)/.dev  ## this library, the raw clients and seven peers (each in an environment of its own, made at the first time)
	$(BIN)/python -m benchmarks.turn_cost
	$(BIN)/python -m benchmarks.import_cost
	$(BIN)/python -m benchmarks

bench-quick: $(VENV)/.dev  ## what a turn and an import cost, and a run over HTTP beside the raw clients
	$(BIN)/python -m benchmarks.turn_cost
	$(BIN)/python -m benchmarks.policy_cost
	$(BIN)/python -m benchmarks.import_cost
	$(BIN)/python -m benchmarks --without-peers

bench-scale: $(VENV)/.dev  ## 10,000 conversations at once in one process; an eval of 1,000, killed and resumed
	$(BIN)/python -m benchmarks.scale
	$(BIN)/python -m benchmarks.eval_cost

nightly: $(VENV)/.dev  ## every test, the slow ones too, with many more generated cases
	$(BIN)/python -m pytest -n 2 --dist worksteal --hypothesis-profile=nightly

api: $(VENV)/.dev  ## write the public signatures to tests/api.json
	$(BIN)/python -m tests.api

clean:  ## remove caches and build output (neither .venv nor .venv-bench)
	rm -rf build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# Standard input belongs to the demo, so no step of the preparation may read it.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; (3, 11) <= sys.version_info < (3, 14) or sys.exit("Python 3.11 to 3.13 is needed: make PYTHON=python3.12 ...")' </dev/null
	@$(PYTHON) -m venv $(VENV) </dev/null || { rm -rf $(VENV); exit 1; }

$(VENV)/.demo $(VENV)/.dev: $(VENV)/.%: requirements/%.txt pyproject.toml | $(BIN)/python
	@echo "Preparing $(VENV) from requirements/$*.txt ..." >&2
	@$(PIP) install --no-deps -r requirements/$*.txt </dev/null
	@$(PIP) install --no-deps --no-build-isolation -e . </dev/null
	@$(PIP) check </dev/null >&2
	@touch $@
