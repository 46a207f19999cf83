"""Laws of ``balance``: what keeps to it, what is proven within it, what its errors suggest."""

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
from fuzz.outcome import RELATIVE, SMALLEST, only_if, require, shown

ABOVE = (0.0, 0.03, 0.1, 0.5, 1.0, 2.0)
BELOW = (None, 0.0, 0.3, 0.9, 1.0)
"""How far above and below the average clusters may weigh; None is no lower limit."""

BALANCED_NODES = 40
"""Nodes up to which cases are cut in balance."""

LIMIT_SLACK = Fraction(1, 10**9)
"""The part of the average by which rounding may pass a limit."""

SPANS = (0.0, 1.0, 6.0, 10.0, 14.0, 60.0)
"""Orders of magnitude that the node weights of a proof span."""

SUGGESTED = re.compile(r"balance=(\([^)]*\)|[-+.\de]*\d)")


def balance_is_kept(case: GraphCase) -> None:
    """Clusters keep to `balance`, with `must_link` as well, and it is refused only if none can."""
    only_if(case.n <= BALANCED_NODES)
    balance, must = _balance(case), _pairs(case)
    # Of nodes that weigh the same every other case counts edges.
    is_ratio = isinstance(case.cut, str) and case.cut == "ratio"
    cut = "edges" if is_ratio and case.number % 2 else case.cut
    named = "'edges'" if isinstance(cut, str) and cut == "edges" else "cut"
    code = _code(named, balance, must)
    found = _cut(case.matrix, case, cut, balance, must)
    if isinstance(found, str):
        # What was only not found is not called impossible.
        only_if("were found" not in found and case.n <= MOST_ENUMERATED)
        kept = next(_keeping(case.exact.b, case.n_clusters, balance, must), None)
        require(kept is None, f"refused, and {kept} keeps to it: {found}", code)
        return
    _check(found, case.exact.b, case, balance, must, code)


def balance_of_isolated_nodes_is_kept(case: GraphCase) -> None:
    """Clusters keep to `balance` with `isolated="ignore"`, where nodes without edges weigh 0."""
    only_if(case.n <= BALANCED_NODES and isinstance(case.cut, str) and case.cut == "normalized")
    balance, must = _balance(case), _pairs(case)
    # The same graph with as many nodes without edges behind it as the number of the case says.
    n = case.n + 1 + case.number % 4
    matrix = case.matrix.copy()
    matrix.resize((n, n))
    weights = case.exact.b + [0] * (n - case.n)
    code = _code("cut", balance, must, "isolated='ignore'")
    found = _cut(matrix, case, "normalized", balance, must, isolated="ignore")
    if not isinstance(found, str):
        _check(found, weights, case, balance, must, code)


def suggested_balance_is_accepted(case: GraphCase) -> None:
    """A `balance` that an error suggests is accepted, also with `must_link`."""
    only_if(case.n <= BALANCED_NODES)
    weights, must = _wide_weights(case) if case.number % 2 else case.cut, _pairs(case)
    balance = _balance(case)
    refused = _cut(case.matrix, case, weights, balance, must)
    only_if(isinstance(refused, str))
    said = SUGGESTED.search(refused)
    require(said is not None, f"no balance is suggested: {refused}", _code("b", balance, must))
    numbers = tuple(float(part) for part in said[1].strip("()").split(","))
    enough = numbers if len(numbers) == 2 else numbers[0]
    again = _cut(case.matrix, case, weights, enough, must)
    code = _code(f"{weights!r}", enough, must)
    require(not isinstance(again, str), f"{balance} gave {refused!r}, and then {again!r}", code)


def proofs_hold_within_balance(case: GraphCase) -> None:
    """No lower bound within `balance` is above the optimum of all partitions that keep to it."""
    only_if(case.n <= MOST_ENUMERATED)
    # Two of three cases have light nodes with light edges, which may be best by themselves.
    case = _wide(case) if case.number % 3 else case
    balance, must = _balance(case), _pairs(case) if case.number % 4 == 0 else []
    if case.number % 2:  # every weight is allowed but for the limit below
        balance = (balance[0], float(case.n)) if isinstance(balance, tuple) else float(case.n)
    found = _cut(case.matrix, case, case.cut, balance, must, lower_bound=True)
    only_if(not isinstance(found, str))
    every = _keeping(case.exact.b, case.n_clusters, balance, must)
    optimum = min(map(case.exact.value, every), default=None)
    # Where rounding alone lets the partition through, no other need be.
    only_if(optimum is not None)
    code = _code("cut", balance, must, "lower_bound=True")
    if case.number % 3:
        code += f"  # S = {case.matrix.toarray().tolist()}, cut = {case.cut.tolist()}"
    most = optimum * (1 + RELATIVE) + 16 * SMALLEST
    require(
        Fraction(found.lower_bound) <= most,
        f"a bound of {found.lower_bound!r}, and {shown(optimum)} is within the limit",
        code,
    )
    if found.gap == 0.0:
        value = Fraction(found.cut_value)
        require(value <= most, f"{found.cut_value!r} is called optimal: {shown(optimum)}", code)


def units_do_not_matter_to_a_search(case: GraphCase) -> None:
    """Powers of two times all weights leave the labels of a search as they are, in balance too."""
    only_if(case.n <= BALANCED_NODES)
    cut = case.cut
    numbers = case.weights if isinstance(cut, str) else np.append(case.weights, cut)
    # Multiplied, nothing is to come near the ends of the doubles.
    only_if(numbers.min(initial=1.0) > 1e-50 and numbers.max(initial=1.0) < 1e50)
    # Where values are equal, rounding decides; and the square root of odd powers rounds.
    only_if(np.unique(case.weights).size == case.weights.size)
    rng = _generator(case, 4)
    edges, nodes = (int(k) for k in rng.choice([-200, -40, -4, 4, 60, 200], 2))
    balance = None if case.number % 3 == 0 else _balance(case)
    other = cut if isinstance(cut, str) else np.ldexp(cut, nodes)
    found = _cut(case.matrix, case, cut, balance, [])
    again = _cut(sp.csr_array(case.matrix * 2.0**edges), case, other, balance, [])
    only_if(not isinstance(found, str) and not isinstance(again, str))
    code = _code("cut", balance, []) + f"  # S times 2^{edges}, node weights times 2^{nodes}"
    require(np.array_equal(found.labels, again.labels), f"{found.labels} and {again.labels}", code)


def _generator(case: GraphCase, stream: int) -> np.random.Generator:
    # Cases that were written down by hand have the seed -1.
    return np.random.default_rng((case.seed % 2**32, case.number, stream))


def _balance(case: GraphCase) -> Any:
    below, above = BELOW[case.number // 6 % 5], ABOVE[case.number % 6]
    return above if below is None else (below, above)


def _pairs(case: GraphCase) -> list[tuple[int, int]]:
    """Return pairs of nodes that every other case has in one cluster."""
    rng = _generator(case, 1)
    if case.n <= case.n_clusters or rng.random() < 0.5:
        return []
    count = int(rng.integers(1, case.n - case.n_clusters + 1))
    pairs = rng.integers(case.n, size=(min(count, 3), 2)).tolist()
    return [(i, j) for i, j in pairs if i != j]


def _wide_weights(case: GraphCase) -> np.ndarray:
    """Return node weights over many orders of magnitude."""
    rng = _generator(case, 2)
    return 10.0 ** -(rng.random(case.n) * rng.choice(SPANS)).round(int(rng.integers(0, 3)))


def _wide(case: GraphCase) -> GraphCase:
    """Return the case with node weights over many orders of magnitude, and edges to match."""
    rng, b = _generator(case, 3), _wide_weights(case)
    edges = rng.uniform(0.05, 1.0, case.i.size) * np.minimum(b[case.i], b[case.j])
    return replace(case, weights=edges, cut=b)


def _cut(matrix: Any, case: GraphCase, cut: Any, balance: Any, must: list, **options: Any) -> Any:
    """Return a balanced partition, or the error by which the balance is refused."""
    try:
        return leastcut.partition(
            matrix, case.n_clusters, cut, balance=balance, must_link=must or None, effort="fast",
            random_state=0, **options,
        )  # fmt: skip
    except ValueError as error:
        if "Pass balance=" not in str(error):
            raise
        return str(error)


def _check(found: Any, b: list[int], case: GraphCase, balance: Any, must: list, code: str) -> None:
    c, labels = case.n_clusters, found.labels.tolist()
    require(sorted(set(labels)) == list(range(c)), f"clusters {sorted(set(labels))}", code)
    require(_keeps(b, labels, c, balance, LIMIT_SLACK), f"{labels} exceeds the limits", code)
    parted = [(i, j) for i, j in must if labels[i] != labels[j]]
    require(not parted, f"{parted} are in different clusters", code)


def _keeps(b: list[int], labels: Sequence[int], c: int, balance: Any, slack: Fraction) -> bool:
    """Whether labels keep to a balance, in whole numbers."""
    below, above = balance if isinstance(balance, tuple) else (1.0, balance)
    loads = [0] * c
    for weight, label in zip(b, labels, strict=True):
        loads[label] += weight
    average = Fraction(sum(b), c)
    return (
        max(loads) <= average * (1 + Fraction(above) + slack)
        and min(loads) >= average * (1 - Fraction(below) - slack)
    )  # fmt: skip


def _keeping(b: list[int], c: int, balance: Any, must: list) -> Iterator[list[int]]:
    """Yield every partition that keeps to a balance and to the links."""
    for labels in partitions(len(b), c):
        linked = all(labels[i] == labels[j] for i, j in must)
        if linked and _keeps(b, labels, c, balance, Fraction(0)):
            yield labels


def _code(cut: str, balance: Any, must: list, *more: str) -> str:
    options = [f"balance={balance}", "effort='fast'", "random_state=0", *more]
    if must:
        options.append(f"must_link={must}")
    return f"leastcut.partition(S, n_clusters, {cut}, {', '.join(options)})"
