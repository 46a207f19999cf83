"""Small graphs whose weights span many orders of magnitude, and their exact cut values."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
from hypothesis import strategies as st

SPANS = (0, 3, 8, 14, 20, 36, 60, 150, 300)
"""Orders of magnitude between the largest and the smallest number."""

SMALLEST = Fraction(float(np.finfo(np.float64).smallest_subnormal))
"""The absolute error of doubles that underflow, about 5e-324."""


def edges_of(shape: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return the edges i < j of a shape with n nodes, as a boolean matrix."""
    i, j = np.indices((n, n))
    half = n // 2
    edges = {
        "complete": i < j,
        "path": j == i + 1,
        "cycle": (j == i + 1) | ((i == 0) & (j == n - 1)),
        "star": (i == 0) & (j > 0),
        "tree": (i == (j - 1) // 2) & (j > 0),
        "bipartite": (i < half) & (j >= half),
        "cliques": ((i < half) == (j < half)) | ((i == half - 1) & (j == half)),
        "random": rng.random((n, n)) < 0.5,
    }[shape]
    return edges & (i < j)


SHAPES = ("complete", "path", "cycle", "star", "tree", "bipartite", "cliques", "random")


def numbers(rng: np.random.Generator, size: tuple[int, ...], low: float, span: float, steps: int):
    """Return small integers times ``steps + 1`` powers of ten from 10^low to 10^(low + span)."""
    exponents = low + span * rng.integers(steps + 1, size=size) / steps
    return rng.integers(1, 6, size=size) * 10.0**exponents


@st.composite
def wide_problems(draw, max_nodes: int = 7):
    """Draw an affinity matrix, a cut and labels, with weights from 1e-300 to 5e300.

    Cut values are at most 1e305.
    """
    n = draw(st.integers(3, max_nodes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    spans = st.sampled_from(SPANS)
    span, steps = draw(spans), draw(st.sampled_from([1, 2, 3, 10]))
    low = draw(st.sampled_from([0, -span // 2, -span]))
    S = edges_of(draw(st.sampled_from(SHAPES)), n, rng) * numbers(rng, (n, n), low, span, steps)
    order = rng.permutation(n)
    S = (S + S.T)[np.ix_(order, order)]
    cut = draw(st.sampled_from(["ratio", "normalized", "given"]))
    if draw(st.booleans()) or cut == "normalized":
        loops = numbers(rng, (n,), low, span, steps)
        some = rng.random(n) < draw(st.sampled_from([0.2, 0.6]))
        # Every node needs an edge or a loop for the normalized cut.
        S[np.diag_indices(n)] = np.where(some | ~S.any(axis=1), loops, 0.0)
    c = draw(st.integers(2, min(n - 1, 4)))
    labels = rng.integers(c, size=n)
    labels[rng.permutation(n)[:c]] = np.arange(c)
    if cut != "given":
        return S, cut, labels
    # Quotients of affinities and node weights must neither overflow nor all underflow.
    span, top = draw(spans), np.log10(S.max() + 1e-300)
    low = max(draw(st.sampled_from([0, -span // 2, -span])), top - 303)
    high = min(low + span, 300, top + 300)
    low = min(low, high)
    return S, numbers(rng, (n,), low, high - low, steps), labels


def rational_weights(S: np.ndarray, cut) -> list[Fraction]:
    """Return the exact node weights of a cut."""
    if isinstance(cut, str) and cut == "normalized":
        return [sum(map(Fraction, row)) for row in S.tolist()]
    weights = 1.0 if isinstance(cut, str) else cut
    return [Fraction(float(b)) for b in np.broadcast_to(weights, len(S))]


class Rational:
    """A problem in rational arithmetic, with exact cut values."""

    def __init__(self, S: np.ndarray, cut) -> None:
        self.S = [[Fraction(s) for s in row] for row in S.tolist()]
        self.node_weights = rational_weights(S, cut)

    def value(self, labels) -> Fraction:
        """Return Σ_k boundary(C_k) / b(C_k)."""
        n, total = len(self.S), Fraction(0)
        for k in set(labels):
            inside = [i for i in range(n) if labels[i] == k]
            outside = [j for j in range(n) if labels[j] != k]
            boundary = sum((self.S[i][j] for i in inside for j in outside), Fraction(0))
            total += boundary / sum(self.node_weights[i] for i in inside)
        return total

    def optimum(self, c: int) -> Fraction:
        """Return the smallest value of all partitions into c clusters."""
        n = len(self.S)
        # Each partition once: labels numbered by first appearance.
        return min(
            self.value(labels)
            for labels in product(range(c), repeat=n)
            if tuple(dict.fromkeys(labels)) == tuple(range(c))
        )

    def best_move(self, labels) -> Fraction:
        """Return the smallest value of the labels and all their single moves."""
        labels = list(labels)
        best = self.value(labels)
        for i, label in enumerate(labels):
            if labels.count(label) == 1:
                continue
            for k in set(labels) - {label}:
                best = min(best, self.value([*labels[:i], k, *labels[i + 1 :]]))
        return best
