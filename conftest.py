"""Shared by all tests: numbers of random examples, datasets of the paper, and random graphs."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st

from leastcut.graph import Graph
from leastcut.problem import Problem
from reproduction import datasets

ROOT = Path(__file__).parent
HERE = ROOT / "tests"

THOROUGH = os.environ.get("LEASTCUT_TESTS") == "all"
"""Whether property tests use all their examples, as in ``make test-all`` and CI."""


def draws(count: int) -> int:
    """Return the number of examples of a property test: ``count``, or a fraction in quick runs."""
    return count if THOROUGH else max(min(count, 5), count // 8)


settings.register_profile(
    "leastcut",
    deadline=None,
    max_examples=draws(40),
    derandomize=True,
    suppress_health_check=[HealthCheck.differing_executors],
)
settings.load_profile("leastcut")

# A command that a shell starts in the background ignores SIGINT, and so do its child processes.
# With a handler, child processes start with the default.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

PAPER_DATASETS = ["jaffe", "umist", "orl", "yale", "coil20", "msra"]
PAPER_DATASETS += ["wine", "glass", "segment", "usps", "fashion"]

LEAST_HELD = 5 if THOROUGH else 0
"""Examples in which each premise and each case of a property must hold, or its test fails. Quick
runs have too few examples for this check."""

_held: dict[str, int] = {}
"""The number of examples of the current test in which each premise and case held."""


def premise(holds: object) -> None:
    """Reject an example unless the premise of the property holds, and count accepted examples."""
    saw("the premise", False)
    assume(holds)
    saw("the premise", True)


def either(holds: object, yes: str, no: str) -> bool:
    """Return whether the first of two cases holds, and count the examples of each."""
    saw(yes, bool(holds))
    saw(no, not holds)
    return bool(holds)


def saw(case: str, count: int) -> None:
    """Add to the count of a case."""
    _held[case] = _held.get(case, 0) + int(count)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, Any, Any]:
    """Fail a property test if its premise or one of its cases held too rarely."""
    _held.clear()
    outcome = yield
    for name, count in _held.items():
        assert count >= LEAST_HELD, f"{name} held in {count} examples, fewer than {LEAST_HELD}"
    return outcome


def pytest_runtest_teardown() -> None:
    """Close the figures of pyplot that a test or doctest has created."""
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all but a few, evenly spaced parameter sets of a ``sampled`` test as slow."""
    sampled: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled") and not item.get_closest_marker("slow"):
            sampled.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for some in sampled.values():
        count = some[0].get_closest_marker("sampled").args[0]
        kept = {len(some) * (2 * place + 1) // (2 * count) for place in range(count)}
        for number, item in enumerate(some):
            if number not in kept:
                item.add_marker("slow")


def load_dataset(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return X, scaled as in the paper, and y; skip the test if the file does not exist."""
    try:
        dataset = datasets.load(name, download=False)
    except FileNotFoundError:
        pytest.skip(f"dataset {name!r} of the paper not found; set LEASTCUT_DATA to its folder")
    return dataset.X / dataset.X.max(), dataset.y


@st.composite
def graphs(draw, min_nodes: int = 2, max_nodes: int = 12, connected: bool = False):
    """Draw a random symmetric graph without isolated nodes, as a dense array."""
    n = draw(st.integers(min_nodes, max_nodes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    density = draw(st.sampled_from([0.2, 0.5, 1.0]))
    weights = rng.random((n, n)) * (rng.random((n, n)) < density)
    loops = draw(st.booleans())
    weights = np.triu(weights, 0 if loops else 1)
    if connected:
        path = np.arange(n - 1)
        weights[path, path + 1] += 0.05
    else:
        isolated = np.flatnonzero(~((weights + weights.T) > 0).any(axis=1))
        weights[isolated, isolated] = 0.5
    return np.triu(weights, 1).T + weights


@pytest.fixture
def blobs() -> tuple[np.ndarray, np.ndarray]:
    """90 samples of two features in three well-separated clusters, and their labels."""
    from sklearn.datasets import make_blobs

    return make_blobs(90, centers=[[0, 0], [6, 0], [0, 6]], cluster_std=0.7, random_state=0)


def points_graph(n: int = 500, seed: int = 0) -> sp.csr_array:
    """The k-NN graph of normally distributed points in the plane, without clear clusters."""
    return knn_graph(np.random.default_rng(seed).normal(size=(n, 2)))


def knn_graph(X: np.ndarray, n_neighbors: int = 10) -> sp.csr_array:
    """A symmetric binary k-NN graph from scikit-learn."""
    from sklearn.neighbors import kneighbors_graph

    directed = sp.csr_array(kneighbors_graph(X, n_neighbors))
    return sp.csr_array(directed.maximum(directed.T))


def ring(n):
    """A ring with chords, where each node has ten neighbors."""
    near = np.concatenate([np.arange(-5, 0), np.arange(1, 6)])
    indices = np.sort((np.arange(n)[:, None] + near) % n, axis=1).astype(np.int32)
    graph = Graph(np.arange(0, 10 * n + 1, 10), indices.reshape(-1), np.ones(10 * n))
    return Problem(graph, np.ones(n))
