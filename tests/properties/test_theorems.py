"""The example, lemma and theorems of the paper, on its 4-node graph and on random graphs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from conftest import graphs
from hypothesis import assume, given
from hypothesis import strategies as st

import leastcut

EXAMPLE = np.array([[0, 0.5, 0.1, 0.8], [0.5, 0, 0.4, 0.2], [0.1, 0.4, 0, 0.5], [0.8, 0.2, 0.5, 0]])


def partitions(n: int, c: int):
    """Yield all partitions of n nodes into exactly c clusters, each once."""
    for labels in product(range(c), repeat=n):
        seen = list(dict.fromkeys(labels))
        if seen == list(range(c)):
            yield np.array(labels)


def indicator(labels: np.ndarray, c: int) -> np.ndarray:
    return np.eye(c)[labels] / np.sqrt(np.bincount(labels, minlength=c))


def singular_values(F: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return np.linalg.svd(F.T @ indicator(labels, F.shape[1]), compute_uv=False)


def epsilon_of(sigma: np.ndarray) -> float:
    """Return the ε of the proof of Theorem 1; σ ≤ 1 by Lemma 1, up to rounding."""
    inner = max(0.0, float(np.max((1 - sigma) / (1 + sigma))))
    return inner + 2 * inner**0.5


def losses(F: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Return J_kmeans and J_ISR of a partition, from their definitions."""
    c = F.shape[1]
    G = indicator(labels, c)
    left, _, right = np.linalg.svd(F.T @ G)
    return (
        float(np.sum((F - G @ (G.T @ F)) ** 2)),
        float(np.sum((F @ (left @ right) - G) ** 2)),
    )


def relaxed(S: np.ndarray, c: int) -> np.ndarray:
    return leastcut.relax(S, c, "ratio", random_state=0).eigenvectors


def test_the_papers_example():
    """The optimum is {1,4},{2,3} at 1.3; the closest discrete solution is {1,2,4},{3}.

    The paper's text prints {1,2,3},{4} as the closest one; it is not.
    """
    optimum = leastcut.exact_partition(EXAMPLE, 2, cut="ratio")
    assert optimum.cut_value == pytest.approx(1.3)
    assert np.array_equal(optimum.labels == optimum.labels[0], [True, False, False, True])

    F = relaxed(EXAMPLE, 2)
    np.testing.assert_allclose(np.abs(F[:, 0]), 0.5)
    second = F[:, 1] * np.sign(F[0, 1])
    np.testing.assert_allclose(second, [0.5556, 0.0629, -0.8073, 0.1888], atol=5e-5)

    distance = {tuple(labels): losses(F, labels)[1] for labels in partitions(4, 2)}
    assert min(distance, key=distance.get) == (0, 0, 1, 0)
    assert distance[0, 0, 1, 0] < distance[0, 0, 0, 1]
    result = leastcut.discretize(
        leastcut.relax(EXAMPLE, 2, "ratio", random_state=0), "improved_rotation", random_state=0
    )
    assert result.loss == pytest.approx(distance[0, 0, 1, 0])


@given(n=st.integers(2, 12), c=st.integers(1, 5), seed=st.integers(0, 10**6))
def test_lemma_1(n, c, seed):
    """Singular values of AᵀB are at most 1 for orthonormal A and B."""
    rng = np.random.default_rng(seed)
    c = min(c, n)
    A, B = (np.linalg.qr(rng.standard_normal((n, c)))[0] for _ in range(2))
    assert np.linalg.svd(A.T @ B, compute_uv=False).max() <= 1 + 1e-12


@given(S=graphs(min_nodes=3), c=st.integers(1, 4), seed=st.integers(0, 10**6))
def test_theorem_1(S, c, seed):
    """J_kmeans ≤ J_ISR ≤ (1+ε) J_kmeans, ε = ε' + 2√ε', ε' = max (1−σ)/(1+σ) < 1."""
    n = len(S)
    c = min(c, n)
    F = relaxed(S, c)
    labels = np.random.default_rng(seed).permutation(np.arange(n) % c)
    kmeans, rotation = losses(F, labels)
    sigma = singular_values(F, labels)
    epsilon = epsilon_of(sigma)
    assert epsilon <= 3
    assert kmeans <= rotation + 1e-9
    assert rotation <= (1 + epsilon) * kmeans + 1e-9
    # The discretizers report these two losses.
    given_labels = leastcut.Relaxation(
        eigenvalues=np.zeros(c), eigenvectors=F, node_weights=np.ones(n)
    )
    start = leastcut.discretize(given_labels, "improved_rotation", init=labels, max_iter=1)
    assert start.loss <= rotation + 1e-9


@given(S=graphs(min_nodes=4, max_nodes=7), seed=st.integers(0, 10**6))
def test_corollary_1(S, seed):
    """(1+ε) J_kmeans(Y1) ≤ J_kmeans(Y2) implies J_ISR(Y1) ≤ J_ISR(Y2), for all pairs."""
    F = relaxed(S, 2)
    table = []
    for labels in partitions(len(S), 2):
        table.append((*losses(F, labels), epsilon_of(singular_values(F, labels))))
    kmeans, rotation, epsilon = np.array(table).T
    premise = (1 + epsilon)[:, None] * kmeans[:, None] <= kmeans[None, :]
    assume(premise.any())
    conclusion = rotation[:, None] <= rotation[None, :] + 1e-9
    assert np.all(conclusion[premise])


@given(S=graphs(min_nodes=4, max_nodes=7, connected=True), c=st.integers(2, 3))
def test_theorem_2(S, c):
    """ρ²(Δ*) ≤ (λ_max/λ_min) ρ²(Δ†) + 2 Σλ / λ_min, with the O(1) term of its proof."""
    values, vectors = np.linalg.eigh(np.diag(S.sum(axis=1)) - S)
    positive = values > 1e-9 * values.max()
    assume(positive.sum() == len(S) - 1)
    F, normal = vectors[:, :c], vectors[:, positive]
    smallest, largest = values[positive].min(), values[positive].max()

    def rho_squared(labels):
        G = indicator(labels, c)
        left, _, right = np.linalg.svd(F.T @ G)
        return np.sum((normal.T @ (G - F @ (left @ right))) ** 2)

    every = list(partitions(len(S), c))
    optimum = min(every, key=lambda labels: leastcut.cut_value(S, labels, "ratio"))
    closest = min(every, key=lambda labels: losses(F, labels)[1])
    bound = largest / smallest * rho_squared(closest) + 2 * values[:c].sum() / smallest
    assert rho_squared(optimum) <= bound + 1e-9
