"""Invariants of ``balance``: partitions, lower bounds and suggestions in errors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

import leastcut
from fuzz.cases import GraphCase
from fuzz.exact import MOST_ENUMERATED, partitions
from fuzz.outcome import RELATIVE, SMALLEST, assume, require, shown

ABOVE = (0.0, 0.03, 0.1, 0.5, 1.0, 2.0)
BELOW = (None, 0.0, 0.3, 0.9, 1.0)
"""Allowed deviations of cluster weights from their average; None is no lower limit."""

BALANCED_NODES = 40
"""Nodes up to which cases are checked with ``balance``."""

LIMIT_SLACK = Fraction(1, 10**9)
"""Rounding error of a limit, as a fraction of the average."""

SPANS = (0.0, 1.0, 6.0, 10.0, 14.0, 60.0)
"""Orders of magnitude that node weights span."""

SUGGESTED = re.compile(r"balance=(\([^)]*\)|[-+.\de]*\d)")


def balance_is_kept(case: GraphCase) -> None:
    """Partitions satisfy `balance` and `must_link`, which are rejected only if infeasible."""
    assume(case.n <= BALANCED_NODES)
    balance, must = _balance(case), _pairs(case)
    # With equal node weights, every other case counts edges.
    is_ratio = isinstance(case.cut, str) and case.cut == "ratio"
    cut = "edges" if is_ratio and case.number % 2 else case.cut
    argument = "'edges'" if isinstance(cut, str) and cut == "edges" else "cut"
    code = _code(argument, balance, must)
    result = _cut(case.matrix, case, cut, balance, must)
    if isinstance(result, str):
        # "were found" does not claim infeasibility.
        assume("were found" not in result and case.n <= MOST_ENUMERATED)
        feasible = next(_balanced(case.exact.b, case.n_clusters, balance, must), None)
        require(feasible is None, f"rejected, but {feasible} is feasible: {result}", code)
        return
    _check(result, case.exact.b, case, balance, must, code)


def balance_of_isolated_nodes_is_kept(case: GraphCase) -> None:
    """Partitions satisfy `balance` with `isolated="ignore"`, where isolated nodes weigh 0."""
    assume(case.n <= BALANCED_NODES and isinstance(case.cut, str) and case.cut == "normalized")
    balance, must = _balance(case), _pairs(case)
    # Append one to four isolated nodes.
    n = case.n + 1 + case.number % 4
    matrix = case.matrix.copy()
    matrix.resize((n, n))
    weights = case.exact.b + [0] * (n - case.n)
    code = _code("cut", balance, must, "isolated='ignore'")
    result = _cut(matrix, case, "normalized", balance, must, isolated="ignore")
    if not isinstance(result, str):
        _check(result, weights, case, balance, must, code)


def suggested_balance_is_accepted(case: GraphCase) -> None:
    """A `balance` suggested by an error is feasible, also with `must_link`."""
    assume(case.n <= BALANCED_NODES)
    weights, must = _wide_weights(case) if case.number % 2 else case.cut, _pairs(case)
    balance = _balance(case)
    error = _cut(case.matrix, case, weights, balance, must)
    assume(isinstance(error, str))
    match = SUGGESTED.search(error)
    require(match is not None, f"no balance is suggested: {error}", _code("b", balance, must))
    numbers = tuple(float(part) for part in match[1].strip("()").split(","))
    suggested = numbers if len(numbers) == 2 else numbers[0]
    again = _cut(case.matrix, case, weights, suggested, must)
    code = _code(f"{weights!r}", suggested, must)
    require(not isinstance(again, str), f"{balance} gave {error!r}, and then {again!r}", code)


def proofs_hold_within_balance(case: GraphCase) -> None:
    """A lower bound with `balance` is at most the optimum of all balanced partitions."""
    assume(case.n <= MOST_ENUMERATED)
    # Two of three cases have light nodes with light edges, which may be optimal clusters.
    case = _wide(case) if case.number % 3 else case
    balance, must = _balance(case), _pairs(case) if case.number % 4 == 0 else []
    if case.number % 2:  # no upper limit
        balance = (balance[0], float(case.n)) if isinstance(balance, tuple) else float(case.n)
    result = _cut(case.matrix, case, case.cut, balance, must, lower_bound=True)
    assume(not isinstance(result, str))
    feasible = _balanced(case.exact.b, case.n_clusters, balance, must)
    optimum = min(map(case.exact.value, feasible), default=None)
    # The partition may be feasible only up to rounding.
    assume(optimum is not None)
    code = _code("cut", balance, must, "lower_bound=True")
    if case.number % 3:
        code += f"  # S = {case.matrix.toarray().tolist()}, cut = {case.cut.tolist()}"
    most = optimum * (1 + RELATIVE) + 16 * SMALLEST
    require(
        Fraction(result.lower_bound) <= most,
        f"the bound is {result.lower_bound!r}, above the optimum {shown(optimum)}",
        code,
    )
    if result.gap == 0.0:
        value = Fraction(result.cut_value)
        message = f"{result.cut_value!r} is reported as optimal, but the optimum is"
        require(value <= most, f"{message} {shown(optimum)}", code)


def units_do_not_matter_to_a_search(case: GraphCase) -> None:
    """Scaling all weights by a power of two does not change labels, also with `balance`."""
    assume(case.n <= BALANCED_NODES)
    cut = case.cut
    numbers = case.weights if isinstance(cut, str) else np.append(case.weights, cut)
    # Stay away from the limits of the range of doubles.
    assume(numbers.min(initial=1.0) > 1e-50 and numbers.max(initial=1.0) < 1e50)
    # Rounding breaks ties of equal weights, and the square root of odd powers is rounded.
    assume(np.unique(case.weights).size == case.weights.size)
    rng = _generator(case, 4)
    edges, nodes = (int(k) for k in rng.choice([-200, -40, -4, 4, 60, 200], 2))
    balance = None if case.number % 3 == 0 else _balance(case)
    other = cut if isinstance(cut, str) else np.ldexp(cut, nodes)
    result = _cut(case.matrix, case, cut, balance, [])
    again = _cut(sp.csr_array(case.matrix * 2.0**edges), case, other, balance, [])
    assume(not isinstance(result, str) and not isinstance(again, str))
    code = _code("cut", balance, []) + f"  # S times 2^{edges}, node weights times 2^{nodes}"
    require(
        np.array_equal(result.labels, again.labels), f"{result.labels} and {again.labels}", code
    )


def _generator(case: GraphCase, stream: int) -> np.random.Generator:
    # Cases written by hand have the seed -1.
    return np.random.default_rng((case.seed % 2**32, case.number, stream))


def _balance(case: GraphCase) -> Any:
    below, above = BELOW[case.number // 6 % 5], ABOVE[case.number % 6]
    return above if below is None else (below, above)


def _pairs(case: GraphCase) -> list[tuple[int, int]]:
    """Return pairs of nodes to link, in every other case."""
    rng = _generator(case, 1)
    if case.n <= case.n_clusters or rng.random() < 0.5:
        return []
    count = int(rng.integers(1, case.n - case.n_clusters + 1))
    pairs = rng.integers(case.n, size=(min(count, 3), 2)).tolist()
    return [(i, j) for i, j in pairs if i != j]


def _wide_weights(case: GraphCase) -> np.ndarray:
    """Return node weights that span many orders of magnitude."""
    rng = _generator(case, 2)
    return 10.0 ** -(rng.random(case.n) * rng.choice(SPANS)).round(int(rng.integers(0, 3)))


def _wide(case: GraphCase) -> GraphCase:
    """Return the case with node and edge weights that span many orders of magnitude."""
    rng, b = _generator(case, 3), _wide_weights(case)
    edges = rng.uniform(0.05, 1.0, case.i.size) * np.minimum(b[case.i], b[case.j])
    return replace(case, weights=edges, cut=b)


def _cut(matrix: Any, case: GraphCase, cut: Any, balance: Any, must: list, **options: Any) -> Any:
    """Return a balanced partition, or the error message that rejects the balance."""
    try:
        return leastcut.partition(
            matrix, case.n_clusters, cut, balance=balance, must_link=must or None, effort="fast",
            random_state=0, **options,
        )  # fmt: skip
    except ValueError as error:
        if "Pass balance=" not in str(error):
            raise
        return str(error)


def _check(result: Any, b: list[int], case: GraphCase, balance: Any, must: list, code: str) -> None:
    c, labels = case.n_clusters, result.labels.tolist()
    require(sorted(set(labels)) == list(range(c)), f"clusters {sorted(set(labels))}", code)
    require(_is_balanced(b, labels, c, balance, LIMIT_SLACK), f"{labels} violates the limits", code)
    split = [(i, j) for i, j in must if labels[i] != labels[j]]
    require(not split, f"{split} are in different clusters", code)


def _is_balanced(
    b: list[int], labels: Sequence[int], c: int, balance: Any, slack: Fraction
) -> bool:
    """Whether labels satisfy a balance, in integer arithmetic."""
    below, above = balance if isinstance(balance, tuple) else (1.0, balance)
    loads = [0] * c
    for weight, label in zip(b, labels, strict=True):
        loads[label] += weight
    average = Fraction(sum(b), c)
    return (
        max(loads) <= average * (1 + Fraction(above) + slack)
        and min(loads) >= average * (1 - Fraction(below) - slack)
    )  # fmt: skip


def _balanced(b: list[int], c: int, balance: Any, must: list) -> Iterator[list[int]]:
    """Yield every partition that satisfies the balance and the links."""
    for labels in partitions(len(b), c):
        linked = all(labels[i] == labels[j] for i, j in must)
        if linked and _is_balanced(b, labels, c, balance, Fraction(0)):
            yield labels


def _code(cut: str, balance: Any, must: list, *more: str) -> str:
    options = [f"balance={balance}", "effort='fast'", "random_state=0", *more]
    if must:
        options.append(f"must_link={must}")
    return f"leastcut.partition(S, n_clusters, {cut}, {', '.join(options)})"
