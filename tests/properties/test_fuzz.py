"""The fuzz tests: one minute of cases, and checks of the test code itself."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import HERE
from fuzz import counts, regressions
from fuzz.cases import GraphCase, PointsCase, case_of
from fuzz.checking import VIOLATED, check_invariant
from fuzz.exact import Exact, partitions
from fuzz.invariants import descriptions
from fuzz.writing import MOST_WRITTEN, as_code, as_json, from_json, size

import leastcut


@pytest.mark.slow
def test_a_minute_of_cases_violates_no_invariant():
    command = [sys.executable, "-m", "fuzz", "--minutes", "1", "--seed", "0", "--processes", "1"]
    child = subprocess.run(
        [*command, "--dry"],
        cwd=HERE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stdout[-20_000:] + child.stderr[-5_000:]


def test_the_page_shows_the_recorded_counts():
    page = counts.PAGE.read_text(encoding="utf-8")
    assert page == counts.renewed(page, counts.read())


def test_the_description_of_an_invariant_is_one_sentence():
    for name, text in descriptions().items():
        assert text.endswith("."), name
        assert text.count(". ") == 0, name


@pytest.mark.parametrize("number", range(30))
def test_a_case_is_a_function_of_two_integers(number):
    first, again = (as_json(case_of(3, number)) for _ in range(2))
    assert first == again
    assert as_json(from_json(first)) == first


def test_stored_regressions_can_be_built():
    for entry in regressions.read():
        assert regressions.stored_case(entry).n >= 1
        assert entry["law"] in descriptions()


def test_the_printed_code_builds_the_case():
    for case in (case_of(0, number) for number in range(50)):
        if size(case) <= MOST_WRITTEN:
            names: dict[str, Any] = {}
            exec(as_code(case, "invariant", "message", ""), names)
            name, expected = (
                ("X", sp.csr_array(case.X)) if isinstance(case, PointsCase) else ("S", case.matrix)
            )
            np.testing.assert_array_equal(sp.csr_array(names[name]).toarray(), expected.toarray())


def path_case(**changes) -> GraphCase:
    """A path with edge weights 2, 1 and 2, in two clusters."""
    fields = {
        "seed": 0, "number": 0, "shape": "path", "n": 4, "i": np.arange(3), "j": np.arange(1, 4),
        "weights": np.array([2.0, 1.0, 2.0]), "cut": "ratio", "n_clusters": 2,
        "labels": np.array([0, 0, 1, 1]),
        "settings": {"effort": "fast", "random_state": 0, "init": False, "time_limit": 0.1},
    }  # fmt: skip
    return GraphCase(**{**fields, **changes})


def test_exact_arithmetic_is_correct():
    exact = Exact(path_case())
    assert exact.value([0, 0, 1, 1]) == 1
    assert exact.optimum == 1
    values = np.linalg.eigvalsh(leastcut.operator(path_case().matrix, "ratio").toarray())
    assert abs(exact.eigenvalue_sum - Fraction(values[:2].sum())) < Fraction(1, 10**12)
    assert [sum(1 for _ in partitions(7, c)) for c in range(1, 8)] == [1, 63, 301, 350, 140, 21, 1]


WORSE = leastcut.Partition(np.array([0, 1, 1, 1]), 2 / 1 + 2 / 3, lower_bound=2 / 1 + 2 / 3)

FAULTS = {
    "bound": ("lower_bound", 1.0 + 1e-6),
    "bound and optimum": ("lower_bound", float("nan")),
    "bound and eigenvalues": ("lower_bound", 0.9),
    "value": ("cut_value", 1.0 + 1e-9),
    "exact": ("exact_partition", WORSE),
    "refine": ("refine", WORSE),
    "optimum": ("partition", WORSE),
    "balance": ("partition", WORSE),
    "clusters": ("partition", leastcut.Partition(np.array([1, 1, 0, 0]), 1.0)),
}
"""By invariant, a function and an incorrect result of it for the path."""


@pytest.mark.parametrize("invariant", FAULTS)
def test_an_incorrect_result_violates_its_invariant(invariant, monkeypatch):
    assert check_invariant(path_case(), invariant).outcome != VIOLATED
    name, result = FAULTS[invariant]
    monkeypatch.setattr(leastcut, name, lambda *args, **kwargs: result)
    assert check_invariant(path_case(), invariant).outcome == VIOLATED
