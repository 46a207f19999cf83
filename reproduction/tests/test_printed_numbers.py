"""leastcut reproduces printed numbers of the paper."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import leastcut
from reproduction.data.printed import tables
from reproduction.runs.methods import ETA_GRID
from reproduction.runs.protocol import Problem, problem
from reproduction.tests.helpers import load_dataset

SR = [
    *((name, cut) for name in ("JAFFE", "COIL20", "MSRA", "SEGMENT") for cut in leastcut.CUTS),
    ("GLASS", "ratio"),
    ("USPS", "normalized"),
]
"""The cells whose printed SR is that of the unscaled rotation from the identity."""


def problem_of(name: str, cut: str) -> Problem:
    """Return the problem of a dataset, or skip the test if there is no file."""
    load_dataset(name.lower())
    return problem(name.lower(), cut, None)


@pytest.mark.parametrize(("name", "cut"), SR)
def test_the_printed_sr_is_reproduced_by_the_unscaled_rotation(name, cut):
    shared = problem_of(name, cut)
    result = leastcut.discretize(shared.relaxation, "unscaled_rotation", graph=shared.graph)
    assert round(result.cut_value, 4) == tables()["objective"][name][cut]["SR"]


def test_rotation_of_unit_rows_reproduces_fewer_printed_values():
    equal = 0
    for name, cut in SR[:6]:
        shared = problem_of(name, cut)
        result = leastcut.discretize(shared.relaxation, "rotation", random_state=0)
        value = leastcut.cut_value(shared.graph, result.labels, cut)
        equal += round(value, 4) == tables()["objective"][name][cut]["SR"]
    assert equal <= 3


def test_the_unscaled_rotation_depends_on_the_signs_of_the_eigenvectors():
    """On WINE some signs give the printed normalized cut and others do not."""
    shared = problem_of("WINE", "normalized")
    values = {
        round(
            leastcut.discretize(
                shared.relaxation,
                "unscaled_rotation",
                graph=shared.graph,
                rotation=np.diag([a, b, c]),
            ).cut_value,
            4,
        )
        for a in (1.0, -1.0)
        for b in (1.0, -1.0)
        for c in (1.0, -1.0)
    }
    assert len(values) > 1
    assert tables()["objective"]["WINE"]["normalized"]["SR"] in values


def test_improved_rotation_from_the_identity_reproduces_the_printed_value():
    """On SEGMENT, solving for labels with R = I first gives it from any initial labels."""
    shared = problem_of("SEGMENT", "normalized")
    rng = np.random.default_rng(0)
    for _ in range(5):
        result = leastcut.discretize(
            shared.relaxation,
            "improved_rotation",
            graph=shared.graph,
            init=rng.permutation(np.arange(shared.relaxation.n_nodes) % 7),
            rotation=np.eye(7),
        )
        assert round(result.cut_value, 4) == tables()["objective"]["SEGMENT"]["normalized"]["ISR"]


@pytest.mark.parametrize("n", [11, 12, 13, 14, 15])
@pytest.mark.parametrize("cut", ["ratio", "normalized"])
def test_the_enumerated_optima_equal_the_printed_ones(n, cut):
    load_dataset("usps")
    shared = problem(f"usps:{n}", cut, None)
    best = leastcut.exact_partition(shared.graph, 2, cut)
    assert round(best.cut_value, 4) == tables()["tiny_objective"][f"n={n}"][cut]["OPT"]


GOLDEN = Path(os.environ.get("LEASTCUT_DATA", ".")).parent / "golden"
"""The folder with results of the authors' program, if there is a copy next to the datasets."""


@pytest.mark.parametrize("eta", [0.001, 0.1, 1, 10])
@pytest.mark.parametrize("cut", leastcut.CUTS)
@pytest.mark.parametrize("dataset", ["iris", "wine"])
def test_labels_equal_those_of_the_authors_program(dataset, cut, eta):
    path = GOLDEN / f"{dataset}-{cut}-eta{eta}-0.npz"
    if not path.exists():
        pytest.skip(f"{path.name} of the authors' program is not next to LEASTCUT_DATA in 'golden'")
    with np.load(path) as file:
        case = dict(file)
    n, c = case["eigenvectors"].shape
    operator = sp.csr_array((case["op_data"], case["op_indices"], case["op_indptr"]), shape=(n, n))
    for product in (None, operator @ case["eigenvectors"]):
        relaxation = leastcut.Relaxation(
            eigenvalues=case["eigenvalues"],
            eigenvectors=case["eigenvectors"],
            node_weights=case["node_weights"],
            operator_product=product,
        )
        result = leastcut.discretize(
            relaxation,
            "first_order",
            eta=float(case["eta"]),
            init=case["init"],
            rotation=np.eye(c),
            max_iter=int(case["max_iter"]),
        )
        np.testing.assert_array_equal(result.labels, case["labels"])
    # S = D − B^½ A B^½ up to self-loops, which do not affect the cut value
    root = np.sqrt(case["node_weights"])
    S = -root[:, None] * operator.toarray() * root
    np.fill_diagonal(S, 0.0)
    value = leastcut.cut_value(S, result.labels, case["node_weights"])
    assert value == pytest.approx(float(case["cut_value"]), abs=1e-12)


REACHED = {
    "JAFFE": 1.01, "MSRA": 1.01, "WINE": 1.01, "GLASS": 1.01, "SEGMENT": 1.01, "USPS": 1.01,
    "Fashion": 1.01, "COIL20": 1.02,
}  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("cut", [*leastcut.CUTS])
@pytest.mark.parametrize("name", REACHED)
def test_first_order_reaches_the_printed_values(name, cut):
    shared = problem_of(name, cut)
    options = {"eta": ETA_GRID, "n_init": 10, "random_state": 0}
    result = leastcut.discretize(shared.relaxation, graph=shared.graph, **options)
    printed = tables()["objective"][name][cut]["Ours"] + 0.5e-4  # as printed, to 4 digits
    assert result.cut_value <= REACHED[name] * printed


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", list(tables()["objective"]))
@pytest.mark.parametrize("cut", leastcut.CUTS)
def test_the_relaxed_optima_equal_the_printed_ones(name, cut):
    shared = problem_of(name, cut)
    assert shared.relaxation.converged
    bound = round(shared.relaxation.lower_bound, 4)
    assert bound == pytest.approx(tables()["objective"][name][cut]["OPT_r"], abs=1e-9)
