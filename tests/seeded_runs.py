"""Seeded runs over the public API, with recorded cut values.

``python -m tests.seeded_runs --labels FILE`` writes the labels and values of all runs, to compare
two versions. ``--write`` updates ``seeded_runs.json``, the cut values with which
``test_quality.py`` compares. A value that increases is a defect: update the record only if values
have decreased, or to add runs.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from benchmarks import _graphs as generated
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs, make_moons
from sklearn.preprocessing import scale

import leastcut

RECORD = Path(__file__).with_name("seeded_runs.json")
EFFORTS = ("fast", "balanced", "thorough")
METHODS = (
    "first_order",
    "kmeans",
    "kmeans_norm",
    "rotation",
    "unscaled_rotation",
    "improved_rotation",
    "cluster_qr",
)
CUTS = ("normalized", "ratio", "weights")

Result = tuple[np.ndarray, float]
"""Labels and their cut value."""


@cache
def graph(name: str) -> sp.csr_array:
    """Return a graph of :data:`GRAPHS`."""
    return sp.csr_array(GRAPHS[name]())


def _complete(n: int, seed: int) -> np.ndarray:
    weights = np.triu(np.random.default_rng(seed).random((n, n)), 1)
    return weights + weights.T


def _ring_of_cliques(count: int, size: int) -> sp.csr_array:
    blocks = sp.block_diag([np.ones((size, size)) - np.eye(size)] * count, format="lil")
    for k in range(count):
        i, j = k * size, ((k + 1) % count) * size + 1
        blocks[i, j] = blocks[j, i] = 0.5
    return sp.csr_array(blocks)


def _weighted(pattern: sp.csr_array, low: float, high: float, loops: bool = False) -> sp.csr_array:
    """Return the graph with weights that span several orders of magnitude, and heavy self-loops."""
    rng = np.random.default_rng(3)
    upper = sp.triu(pattern, 1).tocsr()
    upper.data = 10.0 ** rng.uniform(low, high, upper.nnz)
    both = upper + upper.T
    return both + sp.diags_array(rng.uniform(0, 50, pattern.shape[0])) if loops else both


def _components() -> sp.csr_array:
    """Return a graph with five components."""
    parts = [generated.grid(9, 8), _ring_of_cliques(4, 6), generated.grid(5, 5), _complete(12, 5)]
    return sp.block_diag([*parts, _complete(3, 1)], format="csr")


def _digits() -> sp.csr_array:
    return leastcut.adaptive_neighbors_graph(load_digits().data / 16.0, offset=1e-6)


GRAPHS: dict[str, Callable[[], sp.csr_array | np.ndarray]] = {
    "points": lambda: generated.points_graph(1500),
    "many points": lambda: generated.points_graph(9000),
    "very many points": lambda: generated.points_graph(100_000),
    "huge": lambda: generated.points_graph(310_000),
    "huge, in order": lambda: generated.points_graph(310_000, order="spatial"),
    "grid": lambda: generated.grid(30, 20),
    "planted": lambda: generated.planted(1600, 8, 8, 4),
    "planted, hard": lambda: generated.planted(1200, 4, 7, 5),
    "power law": lambda: generated.power_law(1500, 3),
    "uneven": lambda: generated.uneven(4000),
    "cliques": lambda: _ring_of_cliques(12, 9),
    "complete": lambda: _complete(60, 0),
    "tiny": lambda: _complete(11, 2),
    "weighted": lambda: _weighted(generated.grid(25, 24), -3, 3),
    "loops": lambda: _weighted(generated.points_graph(700), -1, 1, loops=True),
    "components": _components,
    "digits": _digits,
}


@cache
def samples(name: str) -> np.ndarray:
    """Return the samples of :data:`SAMPLES`."""
    return SAMPLES[name]()


SAMPLES: dict[str, Callable[[], np.ndarray]] = {
    "iris": lambda: load_iris().data,
    "wine": lambda: scale(load_wine().data),
    "digits": lambda: load_digits().data[:700],
    "moons": lambda: make_moons(600, noise=0.09, random_state=0)[0],
    "blobs": lambda: make_blobs(900, centers=7, cluster_std=1.6, random_state=4)[0],
    "wide blobs": lambda: make_blobs(2600, 20, centers=9, cluster_std=6.0, random_state=1)[0],
}


def cut_of(name: str, cut: str) -> str | np.ndarray:
    """Return a named cut, or random node weights."""
    if cut != "weights":
        return cut
    return np.random.default_rng(7).uniform(0.5, 2.0, graph(name).shape[0])


def _searched(name: str, c: int, cut: str, seed: int, **options: object) -> Result:
    result = leastcut.partition(graph(name), c, cut_of(name, cut), random_state=seed, **options)
    return result.labels, result.cut_value


def _discretized(name: str, c: int, cut: str, method: str, has_graph: bool, **options) -> Result:
    S, b = graph(name), cut_of(name, cut)
    relaxation = leastcut.relax(S, c, b, random_state=0)
    if has_graph:
        options["graph"] = S
    result = leastcut.discretize(relaxation, method, random_state=1, **options)
    return result.labels, leastcut.cut_value(S, result.labels, b)


def _refined(name: str, c: int, cut: str) -> Result:
    S, b = graph(name), cut_of(name, cut)
    labels = np.random.default_rng(2).integers(c, size=S.shape[0])
    labels[:c] = np.arange(c)
    result = leastcut.refine(S, labels, b)
    return result.labels, result.cut_value


def _direct(name: str, c: int, cut: str) -> Result:
    result = leastcut.direct_cut(graph(name), c, cut_of(name, cut), n_init=3, random_state=0)
    return result.labels, result.cut_value


def _exact(name: str, c: int, cut: str) -> Result:
    result = leastcut.exact_partition(graph(name), c, cut_of(name, cut))
    return result.labels, result.cut_value


def _relaxed(name: str, c: int, cut: str, solver: str) -> Result:
    result = leastcut.relax(graph(name), c, cut_of(name, cut), solver=solver, random_state=0)
    return np.zeros(0, dtype=np.int64), float(result.eigenvalues.sum())


def _fitted(name: str, c: int | str, **options) -> Result:
    X = graph(name) if options.get("affinity") == "precomputed" else samples(name)
    model = leastcut.SpectralClustering(c, random_state=0, **options).fit(X)
    return model.labels_, model.cut_value_


def _distances(name: str, c: int) -> Result:
    X = samples(name)
    squared = np.square(X[:, None] - X[None]).sum(axis=2)
    options = {"affinity": "precomputed_nearest_neighbors", "random_state": 0}
    model = leastcut.SpectralClustering(c, **options).fit(np.sqrt(squared))
    return model.labels_, model.cut_value_


def _predicted(name: str, c: int, **options) -> Result:
    X = samples(name)
    model = leastcut.SpectralClustering(c, random_state=0, **options).fit(X[::2])
    return model.predict(X[1::2]), -model.score(X[1::2])


def _with_isolated(c: int, cut: str, solver: str) -> Result:
    S = sp.block_diag([graph("cliques"), sp.csr_array((3, 3))], format="csr")
    options = {"affinity": "precomputed", "cut": cut, "solver": solver, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = leastcut.SpectralClustering(c, **options).fit(S)
    return model.labels_, model.cut_value_


def _pathed(name: str, numbers: range, **options) -> Result:
    X = graph(name) if options.get("affinity") == "precomputed" else samples(name)
    result = leastcut.cut_path(X, numbers, random_state=0, **options)
    return result.labels.reshape(-1), float(result.cut_values.sum())


def runs() -> Iterator[tuple[str, Callable[[], Result]]]:
    """Yield all runs with their names."""
    for cut in CUTS:
        for effort in EFFORTS:
            yield (
                f"partition cliques {cut} {effort}",
                partial(_searched, "cliques", 7, cut, 0, effort=effort),
            )
            yield (
                f"partition grid {cut} {effort}",
                partial(_searched, "grid", 9, cut, 1, effort=effort),
            )
    for name, c in (
        ("points", 12),
        ("planted", 8),
        ("planted, hard", 4),
        ("power law", 8),
        ("weighted", 6),
        ("loops", 10),
        ("components", 9),
        ("complete", 5),
        ("digits", 10),
    ):
        for effort in EFFORTS[:2]:
            yield (
                f"partition {name} {effort}",
                partial(_searched, name, c, "normalized", 2, effort=effort),
            )
    yield "partition power law ratio", partial(_searched, "power law", 3, "ratio", 0)
    yield (
        "partition many points fast",
        partial(_searched, "many points", 25, "normalized", 0, effort="fast"),
    )
    yield "partition many points", partial(_searched, "many points", 25, "normalized", 0)
    yield "partition very many points", partial(_searched, "very many points", 12, "normalized", 0)
    for name in ("huge", "huge, in order"):
        for effort in ("fast", "auto"):
            yield (
                f"partition {name} {effort}",
                partial(_searched, name, 10, "normalized", 0, effort=effort),
            )
    yield "partition uneven fast", partial(_searched, "uneven", 6, "ratio", 3, effort="fast")
    yield "partition uneven", partial(_searched, "uneven", 6, "ratio", 3)
    yield (
        "partition complete thorough",
        partial(_searched, "complete", 6, "ratio", 5, effort="thorough"),
    )
    start = np.arange(600) % 9
    yield (
        "partition from labels",
        partial(_searched, "grid", 9, "ratio", 4, effort="fast", init=start),
    )
    for method in METHODS:
        for name, c in (("digits", 10), ("loops", 6)):
            for cut in CUTS[:2]:
                yield (
                    f"discretize {name} {cut} {method}",
                    partial(_discretized, name, c, cut, method, True),
                )
        yield (
            f"discretize components {method}",
            partial(_discretized, "components", 8, "normalized", method, False),
        )
    yield (
        "discretize digits eta auto",
        partial(_discretized, "digits", 10, "normalized", "first_order", True, eta="auto"),
    )
    for cut in CUTS:
        yield f"refine planted {cut}", partial(_refined, "planted", 8, cut)
        yield f"direct cut loops {cut}", partial(_direct, "loops", 5, cut)
        yield f"exact tiny {cut}", partial(_exact, "tiny", 3, cut)
    yield "exact tiny 7", partial(_exact, "tiny", 7, "normalized")
    for solver in ("auto", "dense", "lanczos", "shift_invert", "cg_invert"):
        yield f"relax digits {solver}", partial(_relaxed, "digits", 10, "normalized", solver)
        yield f"relax power law ratio {solver}", partial(_relaxed, "power law", 4, "ratio", solver)
    yield "relax components weights", partial(_relaxed, "components", 9, "weights", "auto")
    for affinity in ("adaptive_neighbors", "nearest_neighbors", "self_tuning"):
        for name, c in (("digits", 10), ("moons", 2), ("wide blobs", 9)):
            yield f"fit {name} {affinity}", partial(_fitted, name, c, affinity=affinity)
    for affinity in ("rbf", "laplacian", "cosine", "polynomial"):
        options = {"gamma": 0.5} if affinity != "cosine" else {}
        yield f"fit iris {affinity}", partial(_fitted, "iris", 3, affinity=affinity, **options)
    for method in (*METHODS, "discretize"):
        yield (
            f"fit wine {method}",
            partial(_fitted, "wine", 3, assign_labels=method, solver="spectral"),
        )
    for eigen_solver in ("arpack", "lobpcg", "amg"):
        yield f"fit blobs {eigen_solver}", partial(_fitted, "blobs", 7, eigen_solver=eigen_solver)
    for n_components in (4, 12):
        for method in ("kmeans", "first_order", "rotation"):
            yield (
                f"fit blobs {method} {n_components}",
                partial(_fitted, "blobs", 7, n_components=n_components, assign_labels=method),
            )
    yield "fit digits unrefined", partial(_fitted, "digits", 10, solver="spectral", refine=False)
    yield (
        "fit digits balanced ratio",
        partial(_fitted, "digits", 10, effort="balanced", cut="ratio"),
    )
    yield "fit precomputed", partial(_fitted, "loops", 6, affinity="precomputed")
    yield (
        "fit precomputed spectral",
        partial(_fitted, "loops", 6, affinity="precomputed", solver="spectral", cut="ratio"),
    )
    yield "fit distances", partial(_distances, "iris", 3)
    yield "fit blobs auto", partial(_fitted, "blobs", "auto")
    for solver in ("multilevel", "spectral"):
        for cut in CUTS[:2]:
            yield f"fit isolated {solver} {cut}", partial(_with_isolated, 5, cut, solver)
    for affinity in ("adaptive_neighbors", "nearest_neighbors", "self_tuning", "rbf"):
        yield f"predict blobs {affinity}", partial(_predicted, "blobs", 7, affinity=affinity)
    yield "predict digits ratio", partial(_predicted, "digits", 10, cut="ratio")
    yield "path wine", partial(_pathed, "wine", range(2, 9))
    yield (
        "path grid ratio",
        partial(_pathed, "grid", range(2, 7), affinity="precomputed", cut="ratio"),
    )
    yield "path components", partial(_pathed, "components", range(2, 9), affinity="precomputed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=Path, help="file for the labels and values of all runs")
    parser.add_argument("--write", action="store_true", help="update the record of cut values")
    options = parser.parse_args()
    results = {name: run() for name, run in runs()}
    if options.labels is not None:
        arrays = {name: labels for name, (labels, _) in results.items()}
        arrays |= {f"value of {name}": np.array(value) for name, (_, value) in results.items()}
        np.savez_compressed(options.labels, **arrays)
    if options.write:
        values = {name: value for name, (_, value) in results.items()}
        RECORD.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    print(f"{len(results)} runs, with leastcut from {Path(leastcut.__file__).parent}")


if __name__ == "__main__":
    main()
