"""Reference values: cut values in rational arithmetic, optima by enumeration, and eigenvalues to
hundreds of digits. Independent of leastcut, and simple rather than fast.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fuzz.cases import GraphCase

MOST_ENUMERATED = 7
"""Nodes up to which all partitions are enumerated, at most 350 for one number of clusters."""

MOST_DECIMAL = 9
"""Nodes up to which eigenvalues are computed in decimal arithmetic."""

ROTATIONS = 40
"""Maximum number of sweeps of Jacobi's method, which usually needs a dozen."""


class Exact:
    """A case in integer arithmetic: every double is an integer times a power of two."""

    def __init__(self, case: GraphCase) -> None:
        self.case = case
        weights, shift = _integers(case.weights)
        self.edges = list(zip(case.i.tolist(), case.j.tolist(), weights, strict=True))
        if isinstance(case.cut, str) and case.cut == "normalized":
            self.b, b_shift = [0] * case.n, shift
            for i, j, w in self.edges:
                self.b[i] += w
                if i != j:
                    self.b[j] += w
        else:
            self.b, b_shift = _integers(np.ones(case.n) if isinstance(case.cut, str) else case.cut)
        # The factor from a quotient of these integers to a cut value.
        self.unit = Fraction(2**b_shift, 2**shift)

    def value(self, labels: Sequence[int] | np.ndarray) -> Fraction:
        """Return the cut value of labels 0..k-1."""
        labels = labels.tolist() if isinstance(labels, np.ndarray) else labels
        count = max(labels) + 1
        boundary, weight = [0] * count, [0] * count
        for i, j, w in self.edges:
            a, b = labels[i], labels[j]
            if a != b:
                boundary[a] += w
                boundary[b] += w
        for node, label in enumerate(labels):
            weight[label] += self.b[node]
        terms = (Fraction(a, b) for a, b in zip(boundary, weight, strict=True) if a)
        return sum(terms, Fraction(0)) * self.unit

    @cached_property
    def optimum(self) -> Fraction:
        """The smallest cut value of all partitions into n_clusters clusters."""
        return min(map(self.value, partitions(self.case.n, self.case.n_clusters)))

    def best_move(self, labels: np.ndarray) -> tuple[Fraction, int, int]:
        """Return the smallest value after a single move, the moved node and its new cluster."""
        best, sizes = (self.value(labels), -1, -1), np.bincount(labels)
        for node in range(self.case.n):
            if sizes[labels[node]] == 1:
                continue
            for to in range(sizes.size):
                moved = labels.copy()
                moved[node] = to
                best = min(best, (self.value(moved), node, to))
        return best

    @cached_property
    def eigenvalue_sum(self) -> Fraction:
        """The sum of the c smallest eigenvalues of A, from Jacobi's method in decimal arithmetic.

        The number of digits covers the range of the entries, so small eigenvalues are accurate.
        """
        n = self.case.n
        edges = [edge for edge in self.edges if edge[0] != edge[1]]
        if not edges:
            return Fraction(0)
        sizes = [0.302 * w.bit_length() for _, _, w in edges]
        loads = [0.302 * b.bit_length() for b in self.b]
        span = max(sizes) - min(sizes) + max(loads) - min(loads)
        with localcontext() as context:
            context.prec = 60 + 2 * int(span)
            context.Emax, context.Emin = 10**9, -(10**9)
            root = [Decimal(b).sqrt() for b in self.b]
            a = [[Decimal(0)] * n for _ in range(n)]
            for i, j, w in edges:
                a[i][i] += Decimal(w) / self.b[i]
                a[j][j] += Decimal(w) / self.b[j]
                a[i][j] = a[j][i] = -Decimal(w) / root[i] / root[j]
            values = sorted(_jacobi(a, context.prec))
            total = sum(values[: self.case.n_clusters], Decimal(0))
            return max(Fraction(0), Fraction(total)) * self.unit


def _integers(values: np.ndarray) -> tuple[list[int], int]:
    """Return integers and s such that the values are the integers divided by 2^s."""
    ratios = [float(value).as_integer_ratio() for value in values]
    # Denominators are powers of two, so the largest is a multiple of all.
    most = max((below for _, below in ratios), default=1)
    return [above * (most // below) for above, below in ratios], most.bit_length() - 1


def _jacobi(a: list[list[Decimal]], digits: int) -> list[Decimal]:
    """Return the eigenvalues of a symmetric matrix, which is changed in place."""
    n, one = len(a), Decimal(1)
    for _ in range(ROTATIONS):
        largest = max(abs(a[i][i]) for i in range(n))
        off = max((abs(a[i][j]) for i in range(n) for j in range(i)), default=Decimal(0))
        if off <= largest.scaleb(-digits + 10):
            break
        for p in range(n - 1):
            for q in range(p + 1, n):
                if a[p][q] == 0:
                    continue
                theta = (a[q][q] - a[p][p]) / (2 * a[p][q])
                t = one / (abs(theta) + (theta * theta + 1).sqrt())
                t = t if theta >= 0 else -t
                c = one / (t * t + 1).sqrt()
                s = t * c
                for k in range(n):
                    a[k][p], a[k][q] = c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]
                for k in range(n):
                    a[p][k], a[q][k] = c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]
    return [a[i][i] for i in range(n)]


def partitions(n: int, c: int) -> Iterator[list[int]]:
    """Yield every partition of n nodes into c clusters, numbered by first appearance."""

    def extend(labels: list[int], used: int) -> Iterator[list[int]]:
        left = n - len(labels)
        if left == 0:
            yield labels
            return
        if used + left > c:
            for label in range(used):
                yield from extend([*labels, label], used)
        if used < c:
            yield from extend([*labels, used], used + 1)

    yield from extend([], 0)


def frame_sum(case: GraphCase, labels: np.ndarray) -> float:
    """Return an upper bound on the sum of the c smallest eigenvalues from at least c clusters.

    Restricted to the span of the indicators of the clusters, A is a small matrix of sums of
    positive numbers, which are accurate even if edges inside clusters are much heavier.
    """
    matrix, k = case.matrix, int(labels.max()) + 1
    b = node_weights(case)
    weight = np.bincount(labels, b, minlength=k)
    coo = matrix.tocoo()
    row, column = labels[coo.coords[0]], labels[coo.coords[1]]
    across = row != column
    small = np.zeros((k, k))
    np.add.at(small, (row[across], column[across]), coo.data[across])
    root = np.sqrt(weight)
    compressed = np.diag(small.sum(axis=1) / weight) - small / root[:, None] / root[None, :]
    values = np.linalg.eigvalsh(compressed)
    margin = 8 * k * np.finfo(float).eps * np.abs(compressed).sum(axis=1).max()
    return float(values[: case.n_clusters].clip(0).sum() + case.n_clusters * margin)


def node_weights(case: GraphCase) -> np.ndarray:
    """Return the node weights b of a case."""
    if not isinstance(case.cut, str):
        return case.cut
    degrees = np.asarray(case.matrix.sum(axis=1)).reshape(-1)
    return degrees if case.cut == "normalized" else np.ones(case.n)
