PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo paper test test-rest test-all test-gpu fuzz lint bench pages docs package

help:  ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST)

# One stamp per set of extras: .venv/.plot, .venv/.paper, .venv/.docs, .venv/.test, .venv/.bench
.venv/.%: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) --editable '.[$*]'
	touch $@

demo: .venv/.plot  ## set up, then compare every method on real data (tables and a picture)
	$(BIN)/python examples/compare_methods.py

paper: .venv/.paper  ## set up, then reproduce the paper in small into out/paper, with a report
	$(BIN)/python -m reproduction run --quick --out out/paper
	$(BIN)/python -m reproduction report --out out/paper

# One thread of BLAS for every worker: more of them would wait for each other.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist worksteal

test: .venv/.test  ## set up, then run the quick tests
	$(PYTEST) -m "not slow"

test-rest: .venv/.test  ## set up, then run the slow tests, and all properties at many draws
	LEASTCUT_TESTS=all $(PYTEST) -m "slow or hypothesis"

test-all: .venv/.test  ## set up, then run every test at many draws, and measure the coverage
	LEASTCUT_TESTS=all $(PYTEST) --cov --cov-report term

test-gpu:  ## run the tests that need a GPU with the PYTHON=python3 that has PyTorch, and record them
	PYTHONPATH=src $(PYTHON) -m tests.gpu_record

MINUTES ?= 10
fuzz: .venv/.test  ## set up, then try random cases for MINUTES=10 and add the counts to docs/invariants.md
	cd tests && ../$(BIN)/python -m fuzz --minutes $(MINUTES)

lint: .venv/.test  ## set up, then check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/.bench  ## set up with the peers, then run the benchmarks into benchmarks/results
	$(BIN)/python -m benchmarks

pages: .venv/.docs  ## write docs/results.md from the records beside it, and sources, names and figures into the other pages
	$(BIN)/python -m reproduction report --out docs/results --markdown docs/results.md
	$(BIN)/python docs/from_the_source.py
	for script in docs/draw_*.py; do $(BIN)/python -m docs.$$(basename $$script .py) || exit 1; done

docs: pages  ## renew the pages, run the examples and build the site into docs/_build/html
	$(BIN)/python -m sphinx --fail-on-warning --keep-going -b html docs docs/_build/html

package: .venv/.test  ## build wheel and source archive into dist, and check what is in them
	$(BIN)/python -m hatchling build --directory dist
	$(BIN)/python -m pytest -q -n 0 tests/integration/test_packaging.py
