"""How often the chosen number of clusters is correct, compared with peers on the same datasets.

The datasets are those of ``_sets_of_known_number``; the half used for developing the rule is
reported separately. Graphs are the estimator's default, also for peers that take a graph. Peers
that need samples are not run on graphs.

- eigengap, relative eigengap: the k of 2 to 20 with the largest λ_(k+1) − λ_k, or λ_(k+1) / λ_k;
- growth: the k of 1 to 20 with the largest d log(λ + ε) / d log k, with ε = λ_21 / 1000;
- NME (Park et al. 2019): the eigengap of the neighbor graph with the largest normalized maximum
  eigengap relative to its number of neighbors;
- silhouette: the k of 2 to 20 whose k-means has the largest silhouette, on 500 samples;
- Leiden: the communities of largest modularity; HDBSCAN: scikit-learn's, with its defaults.

Datasets with class labels are in ``real``; they were not used for any choice.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.metrics import silhouette_score
from sklearn.preprocessing import scale

import leastcut
from benchmarks._graphs import PAPER_CLUSTERS
from benchmarks._sets_of_known_number import Case, cases
from leastcut.multilevel.number_of_clusters import ROUGH, Choice, choose_number, pairs_needed
from leastcut.problem import as_problem
from leastcut.spectral.relax import relax_problem
from reproduction import datasets

MOST = 20
"""Largest number considered; the smallest is 1, or 2 for some peers."""

NEIGHBORS = (5, 10, 20, 40)
"""Numbers of neighbors among which NME chooses."""


def ours(graph: Any, cut: str = "normalized", most: int = MOST) -> tuple[Choice, np.ndarray]:
    """Return the choice of the estimator, and the eigenvalues."""
    problem = as_problem(graph, cut)
    count = pairs_needed(most, problem.n_nodes)
    relaxation = relax_problem(problem, count, random_state=0, tol=ROUGH)
    numbers = range(1, min(most, problem.n_nodes) + 1)
    choice = choose_number(problem, relaxation, numbers, random_state=0)
    return choice, relaxation.eigenvalues


def eigengap(values: np.ndarray) -> int:
    return int(np.argmax(np.diff(values[1 : MOST + 1]))) + 2


def relative_eigengap(values: np.ndarray) -> int:
    values = np.maximum(values[1 : MOST + 1], 1e-12)
    return int(np.argmax(values[1:] / values[:-1])) + 2


def growth(values: np.ndarray) -> int:
    values = values[: MOST + 1]
    level = np.log(np.maximum(values, 0.0) + 1e-3 * values[-1])
    return int(np.argmax(np.diff(level) / np.diff(np.log(np.arange(1, values.size + 1))))) + 1


def nme(data: Any) -> int:
    """Choose by the normalized maximum eigengap, on Laplacians of 0/1 graphs."""
    best = np.inf, 0
    for p in (1,) if sp.issparse(data) else NEIGHBORS:
        if p >= data.shape[0]:
            continue
        graph = data if sp.issparse(data) else leastcut.nearest_neighbors_graph(data, p)
        degrees = np.asarray(graph.sum(axis=1)).reshape(-1)
        count = min(MOST + 1, data.shape[0])
        values = leastcut.relax(graph, count, cut="ratio", random_state=0, tol=1e-5).eigenvalues
        gaps = np.diff(values)
        # Use its upper bound, twice the largest degree, for the largest eigenvalue.
        ratio = p / max(float(gaps.max()) / (2.0 * degrees.max()), 1e-12)
        best = min(best, (ratio, int(np.argmax(gaps)) + 1))
    return int(best[1])


def silhouette(X: np.ndarray) -> int:
    """Choose by the silhouette of k-means on at most 500 samples."""
    seen = np.random.default_rng(0).permutation(len(X))[:500]
    scores = []
    for k in range(2, min(MOST, len(seen) - 1) + 1):
        labels = KMeans(k, n_init=1, random_state=0).fit_predict(X)[seen]
        # A cluster may contain none of these samples.
        several = 1 < np.unique(labels).size < seen.size
        scores.append(silhouette_score(X[seen], labels) if several else -1.0)
    return int(np.argmax(scores)) + 2


def leiden(graph: Any) -> int:
    import igraph
    import leidenalg

    upper = sp.coo_array(sp.triu(graph, 1))
    made = igraph.Graph(graph.shape[0], np.stack([upper.row, upper.col], axis=1).tolist())
    partition = leidenalg.find_partition(
        made, leidenalg.ModularityVertexPartition, weights=upper.data.tolist(), seed=0
    )
    return len(partition)


def hdbscan(X: np.ndarray) -> int:
    return max(int(HDBSCAN(copy=True).fit(X).labels_.max()) + 1, 1)


RULES: tuple[str, ...] = (
    "leastcut", "eigengap", "relative eigengap", "growth", "NME", "silhouette", "Leiden", "HDBSCAN",
)  # fmt: skip


def answers(data: Any) -> dict[str, Any]:
    """Return the choice of each rule for samples or a graph; None if it does not apply."""
    is_graph = sp.issparse(data)
    graph = data if is_graph else leastcut.adaptive_neighbors_graph(data, _neighbors(data))
    choice, values = ours(graph)
    return {
        "leastcut": choice.n_clusters,
        "is_weak": choice.is_weak,
        "runners_up": list(choice.runners_up),
        "eigengap": eigengap(values),
        "relative eigengap": relative_eigengap(values),
        "growth": growth(values),
        "NME": nme(data),
        "silhouette": None if is_graph else silhouette(data),
        "Leiden": leiden(graph),
        "HDBSCAN": None if is_graph else hdbscan(data),
    }


def _neighbors(X: np.ndarray) -> int:
    return min(10, len(X) - 1)


def run(quick: bool = False) -> dict[str, Any]:
    """Return the choices on all datasets, the percentages of correct ones, and the cost."""
    warnings.simplefilter("ignore")
    rows = []
    for case in list(cases())[:: 40 if quick else 1]:
        row = {
            "family": case.family,
            "name": case.name,
            "number": case.number,
            "is_plain": case.is_plain,
            "was_looked_at": case.was_looked_at,
        }
        rows.append({**row, **answers(case.data()), "ratio": ratio_cut(case)})
    return {
        "tables": {
            "reported": table([row for row in rows if not row["was_looked_at"]]),
            "looked_at": table([row for row in rows if row["was_looked_at"]]),
        },
        "real": [{"name": n, "number": k, **answers(X)} for n, k, X in real_sets(quick)],
        "cost": {**cost(2000), **({} if quick else cost(20_000))},
        "rows": rows,
    }


def ratio_cut(case: Case) -> int:
    """Return the choice for the ratio cut."""
    data = case.data()
    graph = data if sp.issparse(data) else leastcut.adaptive_neighbors_graph(data, _neighbors(data))
    return ours(graph, "ratio")[0].n_clusters


def table(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the percentages of correct choices, and of those off by at most one, by family."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["family"], []).append(row)
    groups["all"] = rows
    groups["plain"] = [row for row in rows if row["is_plain"]]
    groups["not plain"] = [row for row in rows if not row["is_plain"]]
    groups["points"] = [row for row in rows if row["HDBSCAN"] is not None]
    groups["surely told"] = [row for row in rows if not row["is_weak"]]
    return {
        name: {"sets": len(group), **{rule: _right(group, rule) for rule in (*RULES, "ratio")}}
        for name, group in groups.items()
    }


def _right(rows: list[dict[str, Any]], rule: str) -> list[float] | None:
    off = [abs(row[rule] - row["number"]) for row in rows if row[rule] is not None]
    if not off:
        return None
    return [round(100.0 * float(np.mean([d <= most for d in off])), 1) for most in (0, 1)]


def real_sets(quick: bool) -> list[tuple[str, int, np.ndarray]]:
    """Return datasets with classes: scikit-learn's, and those of the paper if available."""
    loaders: dict[str, Callable[..., Any]] = {
        "iris": load_iris,
        "wine": load_wine,
        "breast cancer": load_breast_cancer,
        "digits": load_digits,
    }
    samples = []
    for name, load in loaders.items():
        data = load()
        X = data.data / 16.0 if name == "digits" else scale(data.data)
        samples.append((name, int(np.unique(data.target).size), X))
    if quick:
        return samples[:1]
    for name, number in PAPER_CLUSTERS.items():
        try:
            X = datasets.load(name, download=False).X
        except FileNotFoundError:
            continue
        # 40 classes exceed the largest number considered.
        if number <= MOST:
            samples.append((f"{name}, as in the paper", number, X / X.max()))
    return samples


def cost(n: int) -> dict[str, Any]:
    """Return CPU seconds of a fit with a given number and of a fit that chooses it."""
    rows = {}
    for n_features in (2, 20):
        X, _ = make_blobs(
            n, n_features, centers=10, cluster_std=1.0 * n_features**0.5, random_state=0
        )
        for effort in ("fast", None, "balanced"):
            seconds, chosen = {}, 10
            for n_clusters in ("auto", "given"):
                number = chosen if n_clusters == "given" else n_clusters
                model = leastcut.SpectralClustering(number, effort=effort, random_state=0)
                model.fit(X[:500])  # imports and compiles
                began = time.process_time()
                chosen = model.fit(X).n_clusters_
                seconds[n_clusters] = time.process_time() - began
            rows[f"{n} x {n_features}, {effort or 'by default'}"] = {
                "chosen": chosen,
                "fit_s": round(seconds["given"], 3),
                "choosing_fit_s": round(seconds["auto"], 3),
                "ratio": round(seconds["auto"] / seconds["given"], 2),
            }
    return rows
