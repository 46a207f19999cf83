"""Anchor graphs on Dask: compared with one process, and with dask-ml, and how they scale.

- ``workers``: the same chunks of points in one process and on a LocalCluster of one and of two
  single-threaded processes. When timing starts, the workers hold the points and compiled code is
  loaded. The labels must be equal.
- ``beside_dask_ml``: dask-ml's SpectralClustering on the same two processes and data, evaluated on
  the same 10-NN graph. Its default, k-means on the workers, fails with this version of Dask
  (a KeyError of the scheduler, or it never ends); so ``assign_labels="sklearn-kmeans"`` is set.
  Kernel widths are its default and that of the median distance, the number of components its
  default and ours.
- ``scaling``: the constants of the model in ``_scaling.py``, its predictions for the runs above,
and
  its estimate for a billion points on a hundred workers.

Each row is a separate process.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks import _scaling
from benchmarks._points_in_the_plane import SETS, agreement, in_memory
from benchmarks._processes import in_process, peak_gib

HERE = "benchmarks.anchors_dask"
DATA = "circles and clouds"
N_ANCHORS = 1000
EFFORT = "auto"
CHUNK = 2**20
"""Points per chunk: 8 MiB. Dask recommends larger chunks."""

WORKERS = ("one process, 1 thread", "one process, 2 threads", "1 worker", "2 workers")
DASK_ML = {
    "defaults": {},
    "median distance": {"gamma": None},
    "as many components": {"gamma": None, "n_components": N_ANCHORS},
}
"""Options of dask-ml's estimator; a gamma of None is 1 / the median of squared distances."""

MOST_FOR_ALL_OPTIONS = 100_000
"""Above this number of points, dask-ml runs with its defaults only."""

MOST_SECONDS = 600
"""Runs that take longer are stopped and recorded as such."""

SMALL_CHUNKS = 64
"""Chunks of few points, for measuring the overhead of tasks."""

FORECAST = {"n": 10**9, "n_workers": 100}
FORECAST_BLOCKS = (10**6, 10**7)
"""Points per block for which times are estimated."""


def run(quick: bool = False, points: list[int] | None = None) -> dict[str, Any]:
    """Return the rows of the three parts; ``points`` is the size of the first."""
    n = points[0] if points else 300_000 if quick else 10_000_000
    rows = []
    for workers in WORKERS:
        row = {"data": DATA, "n": n, "workers": workers, **_part("fit", workers, str(n))}
        rows.append(row)
        print(row, flush=True)
    peers = []
    for size in (5000,) if quick else (20_000, 100_000, 1_000_000):
        for name in (DATA,) if quick else ("two bananas", DATA):
            with TemporaryDirectory() as folder:
                results = {}
                few = quick or size > MOST_FOR_ALL_OPTIONS
                for method in ("leastcut", *DASK_ML)[: 2 if few else None]:
                    results[method] = _part("peer", method, name, str(size), folder)
                judged = _part("judge", name, str(size), folder)
            for method, row in results.items():
                record = {
                    "data": name,
                    "n": size,
                    "method": method,
                    **row,
                    **judged.get(method, {}),
                }
                peers.append(record)
                print(record, flush=True)
    scaling = _part("scaling", str(n // 10 if quick else min(n, 2_000_000)), json.dumps(rows))
    print(json.dumps(scaling, indent=1), flush=True)
    return {
        "n_anchors": N_ANCHORS,
        "effort": EFFORT,
        "points_per_chunk": CHUNK,
        "workers": rows,
        "dask_ml_options": DASK_ML,
        "beside_dask_ml": peers,
        "scaling": scaling,
    }


def _part(*arguments: str) -> dict[str, Any]:
    return in_process(HERE, *arguments, most_seconds=MOST_SECONDS)


def _chunk(n: int) -> int:
    """Return the points per chunk, for at least four chunks."""
    return min(CHUNK, -(-n // 4))


def cluster_of(n_workers: int) -> Any:
    """Return a cluster of single-threaded processes without a dashboard."""
    from distributed import LocalCluster

    return LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None)


def fit(workers: str, n: int) -> dict[str, Any]:
    """Time one kind of workers."""
    X = in_memory(DATA, n)
    seconds, labels, cut = _fit(workers, X)
    return {
        "seconds": round(seconds, 3),
        "cut_value": cut,
        "peak_gib_of_this_process": peak_gib(),
        "labels": hashlib.sha256(np.ascontiguousarray(labels, dtype=np.int32)).hexdigest()[:16],
        **agreement(DATA, labels),
    }


def _fit(workers: str, X: np.ndarray) -> tuple[float, np.ndarray, float]:
    return _one_process(workers, X) if "process" in workers else _cluster(workers, X)


def _one_process(workers: str, X: np.ndarray) -> tuple[float, np.ndarray, float]:
    import leastcut

    n_jobs = int(workers.split()[-2])

    def once(points: np.ndarray) -> Any:
        graph = leastcut.anchor_graph(
            points, N_ANCHORS, random_state=0, block_rows=_chunk(len(X)), n_jobs=n_jobs
        )
        return leastcut.partition(
            graph, len(SETS[DATA]), effort=EFFORT, random_state=0, lower_bound=False, n_jobs=n_jobs
        )

    once(X[:20_000])
    begin = perf_counter()
    result = once(X)
    return perf_counter() - begin, result.labels, result.cut_value


def _cluster(workers: str, X: np.ndarray) -> tuple[float, np.ndarray, float]:
    import dask.array as da
    from distributed import Client, wait

    from leastcut.integrations.dask import AnchorSpectralClustering

    with cluster_of(int(workers.split()[0])) as cluster, Client(cluster) as client:
        model = AnchorSpectralClustering(
            len(SETS[DATA]), n_anchors=N_ANCHORS, effort=EFFORT, random_state=0
        )
        model.fit(da.from_array(X[:20_000], chunks=(5000, 2)))
        points = client.persist(da.from_array(X, chunks=(_chunk(len(X)), 2)))
        wait(points)
        begin = perf_counter()
        model.fit(points)
        wait(model.labels_)
        seconds = perf_counter() - begin
        return seconds, model.labels_.compute(), model.cut_value_


def peer(method: str, name: str, n: int, folder: str) -> dict[str, Any]:
    """Time one estimator on two processes, and write its labels into a folder."""
    import dask.array as da
    from distributed import Client, wait

    X = in_memory(name, n)
    c = len(SETS[name])
    with cluster_of(2) as cluster, Client(cluster) as client:
        if method == "leastcut":
            from leastcut.integrations.dask import AnchorSpectralClustering

            model: Any = AnchorSpectralClustering(
                c, n_anchors=N_ANCHORS, effort=EFFORT, random_state=0
            )
            model.fit(da.from_array(X[:4000], chunks=(2000, 2)))  # loads
        else:
            from dask_ml.cluster import SpectralClustering

            options = dict(DASK_ML[method])
            if "gamma" in options:
                differences = X[:1000, None] - X[None, 1000:2000]
                options["gamma"] = 1 / float(np.median(np.square(differences).sum(axis=2)))
            model = SpectralClustering(c, assign_labels="sklearn-kmeans", random_state=0)
            model.fit(da.from_array(X[:4000], chunks=(2000, 2)))  # loads
            model.set_params(**options)
        points = client.persist(da.from_array(X, chunks=(_chunk(n), 2)))
        wait(points)
        begin = perf_counter()
        model.fit(points)
        labels = np.asarray(model.labels_)
        seconds = perf_counter() - begin
    np.save(Path(folder) / f"{method}.npy", labels)
    return {"seconds": round(seconds, 3), **agreement(name, labels)}


def judge(name: str, n: int, folder: str) -> dict[str, dict[str, float]]:
    """Return the cuts of all labels in a folder on the 10-NN graph."""
    import leastcut

    graph = leastcut.nearest_neighbors_graph(in_memory(name, n), 10, neighbors="exact")
    return {
        path.stem: {
            "cut_on_the_10_nn_graph": leastcut.cut_value(graph, labels),
            "n_clusters_found": len(np.unique(labels)),
        }
        for path in Path(folder).glob("*.npy")
        for labels in [np.load(path)]
    }


# -- scaling


def scaling(n: int, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the constants of the model, its checks and its estimates."""
    planar = _constants(in_memory(DATA, n), len(SETS[DATA]))
    wide = _constants(_mixture(min(n, 100_000), 784), 10)
    checks = []
    for row in rows:
        if "worker" not in row["workers"] or "seconds" not in row:
            continue
        n_workers = int(row["workers"].split()[0])
        said = _forecast(planar, row["n"], -(-row["n"] // _chunk(row["n"])), n_workers)
        checks.append({"n_workers": n_workers, "measured_seconds": row["seconds"], **said})
    return {
        "measured_on_points": n,
        "2 features": planar,
        "784 features": wide,
        "checks": checks,
        "forecast_of": FORECAST,
        "forecasts": [
            {
                "n_features": n_features,
                "points_per_block": size,
                **_forecast(constants, FORECAST["n"], FORECAST["n"] // size, FORECAST["n_workers"]),
            }
            for n_features, constants in ((2, planar), (784, wide))
            for size in FORECAST_BLOCKS
        ],
    }


def _forecast(constants: dict[str, Any], n: int, n_tasks: int, n_workers: int) -> dict[str, float]:
    passes = {name: _scaling.Pass(**kind) for name, kind in constants["passes"].items()}
    return _scaling.forecast(passes, constants["once_seconds"], n, n_tasks, n_workers)


def _constants(X: np.ndarray, c: int) -> dict[str, Any]:
    """Measure one thread on many points, then a cluster of one worker on few points."""
    n, small_n = len(X), min(len(X), 2**18)
    _alone(X[: n // 8], c)  # compiles
    alone, p = _alone(X, c)
    # Bytes are counted in an untimed run.
    weighed, _ = _alone(X, c, weighs=True)
    few, many = _one_worker(X[:small_n], c)
    passes = _scaling.passes_of(alone, n, few, many, small_n, SMALL_CHUNKS)
    sweep = next(name for name in passes if name.startswith("leastcut-sweep"))
    n_blocks = -(-n // _chunk(n))
    return {
        "n_clusters": c,
        "n_anchors": p,
        "points_per_second_and_core_nearest": round(1 / passes[_scaling.NEAREST].seconds_per_point),
        "points_per_second_and_core_sweep": round(1 / passes[sweep].seconds_per_point),
        "rounds": passes[sweep].passes,
        "table_bytes_to_a_worker_and_round": 8 * c * p,
        "told_bytes_of_a_block_and_sweep": round(
            weighed.sent_bytes[sweep] / (weighed.n_points[sweep] / n * n_blocks)
        ),
        "milliseconds_per_sweep": round(1e3 * passes[sweep].seconds_per_pass, 2),
        "milliseconds_per_task_and_sweep": round(1e3 * passes[sweep].seconds_per_task, 2),
        "once_seconds": round(sum(alone.once.values()), 3),
        "tasks_of_the_small_runs": [few.n_tasks, many.n_tasks],
        "passes": {name: kind._asdict() for name, kind in passes.items()},
    }


def _one_worker(X: np.ndarray, c: int) -> tuple[_scaling.Small, _scaling.Small]:
    """Measure a cluster of one worker on the same chunks, with few and with many tasks."""
    import dask.array as da
    from distributed import Client, wait

    from leastcut.integrations.dask import AnchorSpectralClustering, estimator, workers

    chunks, usual = (-(-len(X) // SMALL_CHUNKS), X.shape[1]), workers.BUNDLES_PER_THREAD
    workers_of = estimator.workers_of
    measurements = []
    with cluster_of(1) as cluster, Client(cluster) as client:
        model = AnchorSpectralClustering(c, n_anchors=N_ANCHORS, effort=EFFORT, random_state=0)
        points = client.persist(da.from_array(X, chunks=chunks))
        wait(points)
        model.fit(points)  # loads
        for per_thread in (usual, SMALL_CHUNKS):
            tally, n_tasks = _scaling.Tally(), []

            def count(*arguments: Any, tally: Any = tally, n_tasks: Any = n_tasks) -> Any:
                begin = perf_counter()
                made = workers_of(*arguments)
                wait([bundle.task for bundle in made._bundles])
                tally.add(_scaling.NEAREST, perf_counter() - begin, len(X))
                n_tasks.append(len(made._bundles))
                return made

            workers.BUNDLES_PER_THREAD, estimator.workers_of = per_thread, count
            try:
                with tally.of(workers.DaskWorkers):
                    model.fit(points)
            finally:
                workers.BUNDLES_PER_THREAD, estimator.workers_of = usual, workers_of
            measurements.append(_scaling.Small(tally, n_tasks[0]))
    return measurements[0], measurements[1]


def _alone(X: np.ndarray, c: int, weighs: bool = False) -> tuple[_scaling.Tally, int]:
    """Return the seconds of one thread, and the number of anchors."""
    from leastcut.anchors.blocks import LocalWorkers
    from leastcut.anchors.choose import choose_anchors, sampled_rows
    from leastcut.anchors.nearest import NearestAnchors
    from leastcut.anchors.problem import AnchorProblem, masses_of
    from leastcut.anchors.search import search_anchors
    from leastcut.budget import Budget
    from leastcut.multilevel.efforts import SearchOptions

    tally = _scaling.Tally(weighs)
    chunk = _chunk(len(X))
    starts = list(range(0, len(X), chunk))
    sizes = [min(chunk, len(X) - start) for start in starts]
    rows = sampled_rows(sizes, N_ANCHORS, 0)
    begin = perf_counter()
    sample = np.concatenate([X[start + part] for start, part in zip(starts, rows, strict=True)])
    anchors = choose_anchors(sample, N_ANCHORS, 0, 1)
    tally.add_once("leastcut-anchors", perf_counter() - begin)
    begin = perf_counter()
    nearest = NearestAnchors(anchors, 5, 1)
    blocks = [nearest.block(X[start : start + chunk]) for start in starts]
    tally.add(_scaling.NEAREST, perf_counter() - begin, len(X))
    with tally.of(LocalWorkers):
        workers = LocalWorkers(blocks.__getitem__, tuple(sizes), 1)
        masses = workers.total("leastcut-masses", masses_of, None, sum, len(anchors), is_exact=True)
        problem = AnchorProblem(workers, masses)
        search_anchors(problem, c, [], SearchOptions(EFFORT, False, 0), Budget())
    return tally, len(anchors)


def _mixture(n: int, n_features: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    centres = 0.6 * rng.standard_normal((10, n_features), dtype=np.float32)
    X = rng.standard_normal((n, n_features), dtype=np.float32)
    X += centres[rng.integers(10, size=n)]
    return X


PARTS = {
    "fit": lambda workers, n: fit(workers, int(n)),
    "peer": lambda method, name, n, folder: peer(method, name, int(n), folder),
    "judge": lambda name, n, folder: judge(name, int(n), folder),
    "scaling": lambda n, rows: scaling(int(n), json.loads(rows)),
}

if __name__ == "__main__":
    print(json.dumps(PARTS[sys.argv[1]](*sys.argv[2:])))
