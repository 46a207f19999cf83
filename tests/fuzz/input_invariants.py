"""Invariants of input: equivalent input gives equal results, and invalid input raises."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

import leastcut
from fuzz.bound_invariants import VALUE_SLACK
from fuzz.cases import GraphCase
from fuzz.exact import MOST_ENUMERATED
from fuzz.outcome import assume, close, is_refusal, require, shown

WRONG_GRAPHS = (
    "S + np.nan",
    "S + np.inf",
    "S - S.max() - 1",
    "np.ma.masked_array(S, mask=np.eye(n, dtype=bool))",
    "S.astype(object)",
    "S.astype(str)",
    "S.astype(str).tolist()",
    "S.astype(str).astype(object)",
    "S.astype('timedelta64[s]')",
    "S.astype('datetime64[s]')",
    "S + 0j",
    "S[:-1]",
    "S[None]",
    "S + np.arange(n + 1)[1:, None] * (S.max() + 1) * (1 if n > 1 else np.nan)",
    "None",
    "5",
    "'S'",
)
WRONG_CUTS = (
    "'ncut'",
    "None",
    "np.zeros(n)",
    "np.full(n, np.nan)",
    "-np.ones(n)",
    "np.ones(n + 1)",
    "np.ones(n) + 0j",
    "np.ma.masked_array(np.ones(n), mask=np.arange(n) == 0)",
)
WRONG_LABELS = (
    "labels[:-1]",
    "[None, *labels[1:]]",
    "np.full(n, np.nan)",
    "np.full(n, 'NaT', dtype='datetime64[s]')",
    "np.ma.masked_array(labels, mask=np.arange(n) == 0)",
    "labels[None]",
    "None",
)
WRONG_COUNTS = ("0", "-1", "n + 1", "1.5", "'2'", "None", "True", "np.nan")
WRONG_SETTINGS = (
    "time_limit='1'",
    "time_limit=-1",
    "time_limit=np.nan",
    "callback=5",
    "effort='most'",
    "effort=None",
    "n_jobs=0",
    "n_jobs='2'",
    "random_state=-1",
    "random_state='0'",
    "on_interrupt='stop'",
    "init=labels[:-1]",
    "init=np.arange(n + 1)",
    "init=np.ma.masked_array(labels, mask=np.arange(n) == 0)",
)

WRONG_CALLS = (
    *(f"leastcut.cut_value({graph}, labels, 'ratio')" for graph in WRONG_GRAPHS),
    *(f"leastcut.refine({graph}, labels, 'ratio')" for graph in WRONG_GRAPHS),
    *(f"leastcut.partition({graph}, n_clusters, 'ratio')" for graph in WRONG_GRAPHS),
    *(f"leastcut.lower_bound({graph}, n_clusters, 'ratio')" for graph in WRONG_GRAPHS),
    *(f"leastcut.exact_partition({graph}, n_clusters, 'ratio')" for graph in WRONG_GRAPHS),
    *(f"leastcut.direct_cut({graph}, n_clusters, 'ratio')" for graph in WRONG_GRAPHS),
    *(f"leastcut.cut_value(S, labels, {cut})" for cut in WRONG_CUTS),
    *(f"leastcut.relax(S, n_clusters, {cut})" for cut in WRONG_CUTS),
    *(f"leastcut.partition(S, n_clusters, {cut})" for cut in WRONG_CUTS),
    *(f"leastcut.cut_value(S, {labels}, cut)" for labels in WRONG_LABELS),
    *(f"leastcut.refine(S, {labels}, cut)" for labels in WRONG_LABELS),
    *(f"leastcut.partition(S, {count}, cut)" for count in WRONG_COUNTS),
    *(f"leastcut.relax(S, {count}, cut)" for count in WRONG_COUNTS),
    *(f"leastcut.exact_partition(S, {count}, cut)" for count in WRONG_COUNTS),
    *(f"leastcut.direct_cut(S, {count}, cut)" for count in WRONG_COUNTS),
    *(f"leastcut.partition(S, n_clusters, cut, {setting})" for setting in WRONG_SETTINGS),
    *(f"leastcut.relax(S, n_clusters, cut, tol={tol})" for tol in ("'x'", "-1", "np.nan")),
    "leastcut.relax(S, n_clusters, cut, solver='best')",
    "leastcut.discretize(S)",
    "leastcut.cut_path(S, 5)",
)
"""Calls that must raise for every case."""


def order_does_not_matter(case: GraphCase) -> None:
    """Permuting the nodes changes neither `cut_value` nor the optimum."""
    order = np.random.default_rng(case.number).permutation(case.n)
    matrix = sp.csr_array(case.matrix[order][:, order])
    cut = case.cut if isinstance(case.cut, str) else case.cut[order]
    _check_invariance(case, matrix, cut, case.labels[order], 0, "in another order")


def units_do_not_matter(case: GraphCase) -> None:
    """Scaling all weights by a power of two scales cut values and the optimum accordingly."""
    exponent = int(np.random.default_rng(case.number).choice([-40, -3, 5, 60]))
    smallest = case.weights.min(initial=1.0)
    # Scaled weights must be normal doubles.
    assume(smallest > 1e-280 and case.weights.max(initial=1.0) < 1e280)
    matrix = sp.csr_array(case.matrix * 2.0**exponent)
    power = 0 if isinstance(case.cut, str) and case.cut == "normalized" else exponent
    _check_invariance(case, matrix, case.cut, case.labels, power, f"times 2^{exponent}")


def formats_do_not_matter(case: GraphCase) -> None:
    """Dense, sparse and list formats, duplicate entries and small dtypes give the same value."""
    assume(case.n <= 40)
    matrix = case.matrix
    expected = leastcut.cut_value(matrix, case.labels, case.cut)
    forms = {"toarray()": matrix.toarray(), "tocsc()": matrix.tocsc(), "tocoo()": matrix.tocoo()}
    forms["toarray().tolist()"] = matrix.toarray().tolist()
    halves = matrix.tocoo()
    rows, columns = (np.concatenate([place, place]) for place in halves.coords)
    if (matrix.data > 1e-300).all():
        twice = np.concatenate([halves.data, halves.data]) * 0.5
        forms["in halves"] = sp.coo_array((twice, (rows, columns)), shape=matrix.shape)
    if (matrix.data == np.round(matrix.data)).all() and matrix.data.max(initial=0) < 100:
        forms["astype(int8)"] = matrix.astype(np.int8)
        twice = np.full(rows.size, 130, dtype=np.uint8)
        split = sp.coo_array((twice, (rows, columns)), shape=matrix.shape)
        value = leastcut.cut_value(split, case.labels, "ratio")
        wide = leastcut.cut_value(split.astype(float), case.labels, "ratio")
        require(value == wide, f"duplicate uint8 entries give {value!r}, as floats {wide!r}")
    for name, form in forms.items():
        value = leastcut.cut_value(form, case.labels, case.cut)
        require(
            abs(value - expected) <= 1e-12 * expected,
            f"{value!r}, but {expected!r} as CSR",
            f"leastcut.cut_value(S.{name}, labels, cut)",
        )


def refusals_agree(case: GraphCase) -> None:
    """A graph or a cut whose range one function rejects is rejected by all functions."""
    assume(case.n <= 40)
    S, c, cut, labels = case.matrix, case.n_clusters, case.cut, case.labels
    calls = {
        "cut_value(S, labels, cut)": lambda: leastcut.cut_value(S, labels, cut),
        "refine(S, labels, cut)": lambda: leastcut.refine(S, labels, cut),
        "lower_bound(S, n_clusters, cut)": lambda: leastcut.lower_bound(S, c, cut),
        "relax(S, n_clusters, cut)": lambda: leastcut.relax(S, c, cut),
        "direct_cut(S, n_clusters, cut)": lambda: leastcut.direct_cut(S, c, cut, n_init=1),
        "partition(S, n_clusters, cut, effort='fast')": lambda: leastcut.partition(
            S, c, cut, effort="fast"
        ),
    }
    if case.n <= MOST_ENUMERATED:
        calls["exact_partition(S, n_clusters, cut)"] = lambda: leastcut.exact_partition(S, c, cut)
    rejected = {}
    for name, call in calls.items():
        try:
            call()
        except ValueError as error:
            if not is_refusal(error):
                raise
            rejected[name] = error
    if len(rejected) == len(calls):
        raise next(iter(rejected.values()))
    accepted = [name for name in calls if name not in rejected]
    require(
        not rejected,
        f"{', '.join(rejected)} raised: {next(iter(rejected.values()), '')} "
        f"But {', '.join(accepted)} did not.",
        "\n".join(f"leastcut.{name}" for name in [*rejected, *accepted]),
    )


def invalid_input_raises(case: GraphCase) -> None:
    """Invalid input raises ValueError or TypeError."""
    # The calls hardly depend on the case, so one in ten is enough.
    assume(case.n <= MOST_ENUMERATED and case.number % 10 == 0)
    names = {
        "np": np, "leastcut": leastcut, "S": case.matrix.toarray(), "n": case.n,
        "n_clusters": case.n_clusters, "cut": case.cut, "labels": case.labels,
    }  # fmt: skip
    failures = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a warning is not enough
        for call in WRONG_CALLS:
            try:
                eval(call, names)
            except (ValueError, TypeError):
                continue
            except Exception as error:
                failures.append(f"{call}  # {type(error).__name__}: {error}")
            else:
                failures.append(call)
    require(not failures, f"{len(failures)} invalid calls did not raise", "\n".join(failures))


def input_is_unchanged(case: GraphCase) -> None:
    """No call changes the caller's arrays."""
    fresh, matrix = replace(case).matrix, case.matrix
    for name in ("data", "indices", "indptr"):
        same = np.array_equal(getattr(matrix, name), getattr(fresh, name))
        require(same, f"S.{name} was changed")
    for name, before in case.originals.items():
        require(np.array_equal(getattr(case, name), before), f"{name} was changed")


def _check_invariance(
    case: GraphCase, matrix: sp.csr_array, cut: Any, labels: np.ndarray, power: int, words: str
) -> None:
    """Check the cut value and the optimum of a permuted or scaled case."""
    factor = Fraction(2) ** power
    expected = case.exact.value(case.labels) * factor
    value = leastcut.cut_value(matrix, labels, cut)
    require(
        close(value, expected, VALUE_SLACK, 2 * case.n_clusters),
        f"cut_value is {value!r} {words}, expected {shown(expected)}",
    )
    if case.n <= MOST_ENUMERATED:
        best = leastcut.exact_partition(matrix, case.n_clusters, cut)
        expected = case.exact.optimum * factor
        require(
            close(best.cut_value, expected, VALUE_SLACK, 2 * case.n_clusters),
            f"the optimum is {best.cut_value!r} {words}, expected {shown(expected)}",
            "leastcut.exact_partition(S, n_clusters, cut)",
        )
