PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1 	\2/'

$(READY): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

demo: $(READY)  ## set up, then compare every method on real data (table and picture)
	$(BIN)/python examples/compare_methods.py

test: $(READY)  ## set up, then run the tests
	$(BIN)/python -m pytest -q -n auto

lint: $(READY)  ## set up, then check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)  ## set up, then run the benchmarks; results go to benchmarks/results
	$(BIN)/python -m benchmarks
