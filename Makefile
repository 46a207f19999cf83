PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo paper test test-rest test-all test-gpu fuzz lint bench pages docs package

help:  ## show this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST)

# Each stamp .venv/.EXTRA installs an extra: plot, paper, docs, test or bench
.venv/.%: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) --editable '.[$*]'
	touch $@

demo: .venv/.plot  ## compare methods on real data, with tables and a figure
	$(BIN)/python examples/compare_methods.py

paper: .venv/.paper  ## run a small reproduction of the paper, with a report in out/paper
	$(BIN)/python -m reproduction run --quick --out out/paper
	$(BIN)/python -m reproduction report --out out/paper

# One BLAS thread per worker avoids oversubscription.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist worksteal

test: .venv/.test  ## run the quick tests
	$(PYTEST) -m "not slow"

test-rest: .venv/.test  ## run the slow tests, and property tests with all examples
	LEASTCUT_TESTS=all $(PYTEST) -m "slow or hypothesis"

test-all: .venv/.test  ## run all tests with all examples, and measure coverage
	LEASTCUT_TESTS=all $(PYTEST) --cov --cov-report term

test-gpu:  ## run the GPU tests and record them (PYTHON=python3 must have PyTorch)
	PYTHONPATH=src $(PYTHON) -m tests.gpu_record

MINUTES ?= 10
fuzz: .venv/.test  ## run fuzz tests for MINUTES=10 and add the counts to docs/invariants.md
	cd tests && ../$(BIN)/python -m fuzz --minutes $(MINUTES)

lint: .venv/.test  ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/.bench  ## run the benchmarks, with records in benchmarks/results
	$(BIN)/python -m benchmarks

pages: .venv/.docs  ## update tables, sources and figures of the documentation from records
	$(BIN)/python -m reproduction report --out docs/results --markdown docs/results.md
	$(BIN)/python docs/from_the_source.py
	for script in docs/draw_*.py; do $(BIN)/python -m docs.$$(basename $$script .py) || exit 1; done

docs: pages  ## update the pages, run the examples and build the site in docs/_build/html
	$(BIN)/python -m sphinx --fail-on-warning --keep-going -b html docs docs/_build/html

package: .venv/.test  ## build wheel and source archive in dist
	$(BIN)/python -m hatchling build --directory dist
	$(BIN)/python -m pytest -q -n 0 tests/integration/test_packaging.py
