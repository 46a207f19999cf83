"""Dask: the same labels on any number of workers, little data on the client, failing workers."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import leastcut
from leastcut.anchors.blocks import Block, LocalWorkers, tree_sum
from leastcut.anchors.problem import AnchorProblem
from leastcut.anchors.search import search_anchors
from leastcut.budget import Budget
from leastcut.integrations.dask import AnchorSpectralClustering
from leastcut.integrations.dask.workers import DaskWorkers, Scheduler
from leastcut.multilevel.efforts import SearchOptions

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

SIZES = (3, 1, 4, 2)


@pytest.fixture(scope="module")
def client():
    """Start two processes with one thread each; failed processes are restarted."""
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@contextmanager
def two_workers_without_nannies():
    """Start two processes that are not restarted."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-nanny", "--no-dashboard"]
    with (
        distributed.LocalCluster(
            n_workers=0, dashboard_address=None, silence_logs=logging.CRITICAL
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        command += ["--nthreads", "1", cluster.scheduler_address]
        where = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        workers = [
            subprocess.Popen(command, env=where, stderr=subprocess.DEVNULL) for _ in range(2)
        ]
        try:
            client.wait_for_workers(2, timeout=60)
            yield client
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()


# -- workers


def made(number: int) -> Block:
    size = SIZES[number]
    return Block(np.full((size, 1), number, np.int32), np.ones((size, 1), np.float32))


def count_up(block, labels, step):
    labels = (np.zeros(block.n_points, np.int32) if labels is None else labels) + step
    return labels, (int(block.anchors[0, 0]), int(labels.sum()), os.getpid())


def thirds(block, labels, by):
    return None, labels.sum() / by


def sizes(block, labels):
    return None, block.n_points


def sum_in_order(terms):
    total = terms[0]
    for term in terms[1:]:
        total = total + term * (1 + 1e-9)  # depends on the order
    return total


def both_workers(scheduler):
    blocks = [scheduler.task("leastcut-nearest", made, number) for number in range(len(SIZES))]
    return DaskWorkers(scheduler, scheduler.keep(blocks), SIZES), LocalWorkers(made, SIZES, 1)


@pytest.mark.sampled(1)
def test_workers_and_threads_give_the_same_results(client):
    with client.as_current():
        assert Scheduler().client is client
    for scheduler in (Scheduler(client), Scheduler()):
        results = []
        for workers in both_workers(scheduler):
            kept, first = workers.run("leastcut-test", count_up, None, 1)
            further, second = workers.run("leastcut-test", count_up, kept, 2)
            kept[3], kept[1] = further[3], further[1]
            _, third = workers.run("leastcut-test", count_up, kept, 0)
            results.append([t[:2] for t in (*first, *second, *third)])
            assert workers.once("leastcut-test", divmod, 7, 2) == (3, 1)
            rounded = workers.total("leastcut-test", thirds, kept, sum_in_order, 3.0)
            results[-1] += [
                rounded,
                workers.total("leastcut-test", sizes, None, sum, is_exact=True),
            ]
        assert results[0] == results[1]
        first, second = [(0, 3), (1, 1), (2, 4), (3, 2)], [(0, 9), (1, 3), (2, 12), (3, 6)]
        third = [(0, 3), (1, 3), (2, 4), (3, 6)]
        assert results[0][:-2] == [*first, *second, *third]
        assert results[0][-2:] == [tree_sum([1.0, 1.0, 4 / 3, 2.0], sum_in_order), 10]


def test_tasks_run_on_workers_with_readable_names(client):
    workers, _ = both_workers(Scheduler(client))
    kept, results = workers.run("leastcut-sweep", count_up, None, 1)
    assert {pid for _, _, pid in results} <= set(client.run(os.getpid).values())
    assert workers.once("leastcut-start", os.getpid) in client.run(os.getpid).values()
    names = {distributed.utils.key_split(key) for key in client.who_has()}
    assert all(name.startswith("leastcut-") for name in names)
    del kept


def dies_once(block, labels, folder):
    """Count up, and kill the process of the worker at the first call for block 2."""
    if block.anchors[0, 0] == 2:
        try:
            os.close(os.open(os.path.join(folder, "died"), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    return count_up(block, labels, 1)


@pytest.mark.slow
def test_results_of_a_failed_worker_are_recomputed(client, tmp_path):
    workers, threads = both_workers(Scheduler(client))
    expected, _ = threads.run("leastcut-test", count_up, None, 1)
    kept, _ = workers.run("leastcut-test", count_up, None, 1)
    kept, results = workers.run("leastcut-test", dies_once, kept, str(tmp_path))
    assert (tmp_path / "died").exists()
    _, expected = threads.run("leastcut-test", count_up, expected, 1)
    assert [t[:2] for t in results] == [t[:2] for t in expected]
    # If all workers fail, the labels are recomputed from the tasks alone.
    for pid in client.run(os.getpid).values():
        os.kill(pid, signal.SIGKILL)
    _, again = workers.run("leastcut-test", count_up, kept, 0)
    assert [t[:2] for t in again] == [t[:2] for t in expected]


# -- the estimator

CHUNKS = (700, 1, 0, 699, 600)
SETTINGS = {"n_clusters": 4, "n_anchors": 60, "random_state": 3, "effort": "fast"}


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(1)
    return 5.0 * rng.normal(size=(5, 3))[rng.integers(5, size=2000)] + rng.normal(size=(2000, 3))


@pytest.fixture(scope="module")
def one_machine(points):
    """Return the expected partition."""
    sizes = [size for size in CHUNKS if size]
    graph = leastcut.anchor_graph(points, 60, random_state=3, block_rows=sizes)
    return leastcut.partition(graph, 4, random_state=3, effort="fast")


def in_chunks(points):
    return da.from_array(points, chunks=(CHUNKS, (2, 1)))


def labels_of(model):
    return model.labels_.compute(scheduler=model.client)


def check_same(model, expected):
    assert model.labels_.chunks == (CHUNKS,)
    np.testing.assert_array_equal(labels_of(model), expected.labels)
    assert model.labels_.dtype == expected.labels.dtype
    assert model.cut_value_ == expected.cut_value
    assert model.n_clusters_ == expected.labels.max() + 1


@pytest.mark.parametrize("scheduler", ["threads", "sync"])
def test_labels_are_the_same_as_on_one_machine(points, one_machine, scheduler):
    with dask.config.set(scheduler=scheduler):
        check_same(AnchorSpectralClustering(**SETTINGS).fit(in_chunks(points)), one_machine)


def test_many_blocks_are_summed_in_the_same_order_as_on_one_machine(points):
    """The graph of the anchors is a sum of 134 terms, which depends on their order by rounding."""
    result = leastcut.partition(
        leastcut.anchor_graph(points, 60, random_state=3, block_rows=15), 4, effort="fast",
        random_state=3,
    )  # fmt: skip
    model = AnchorSpectralClustering(**SETTINGS).fit(da.from_array(points, chunks=(15, 3)))
    np.testing.assert_array_equal(labels_of(model), result.labels)
    assert model.cut_value_ == result.cut_value


@pytest.mark.parametrize("effort", ["auto", "balanced"])
def test_every_effort_gives_the_same_labels_as_on_one_machine(effort):
    X = np.random.default_rng(0).normal(size=(300, 2)).astype(np.float32)
    result = leastcut.partition(
        leastcut.anchor_graph(X, 20, 3, random_state=0, block_rows=100), 3, effort=effort,
        random_state=0,
    )  # fmt: skip
    model = AnchorSpectralClustering(3, n_anchors=20, n_neighbors=3, effort=effort, random_state=0)
    np.testing.assert_array_equal(model.fit_predict(da.from_array(X, chunks=100)), result.labels)
    assert model.cut_value_ == result.cut_value
    assert model.anchors_.dtype == np.float32


class KilledBefore(DaskWorkers):
    """Workers, one of which is killed before a round."""

    round = 3

    def run(self, name, *arguments, **options):
        if name == "leastcut-sweep":
            self.round -= 1
            if self.round == 0:
                os.kill(min(self._scheduler.client.run(os.getpid).values()), signal.SIGKILL)
        return super().run(name, *arguments, **options)


def test_a_failed_worker_does_not_change_labels(client, points, one_machine, monkeypatch):
    monkeypatch.setattr("leastcut.integrations.dask.estimator.DaskWorkers", KilledBefore)
    before = set(client.run(os.getpid).values())
    check_same(
        AnchorSpectralClustering(client=client, **SETTINGS).fit(in_chunks(points)), one_machine
    )
    client.wait_for_workers(2, timeout=60)
    assert set(client.run(os.getpid).values()) != before


@pytest.mark.slow
def test_a_failed_worker_that_is_not_restarted(points, one_machine, monkeypatch):
    monkeypatch.setattr("leastcut.integrations.dask.estimator.DaskWorkers", KilledBefore)
    with two_workers_without_nannies() as client:
        model = AnchorSpectralClustering(client=client, **SETTINGS).fit(in_chunks(points))
        assert len(client.scheduler_info()["workers"]) == 1
        check_same(model, one_machine)


def sample_points(size, seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(size, 2)) + 3.5 * rng.integers(3, size=(size, 1))
    return points.astype(np.float32)


@pytest.mark.slow
def test_no_data_of_the_size_of_the_samples_reaches_the_client(client, monkeypatch):
    from distributed.comm import tcp

    n, size = 400_000, 100_000
    parts = [dask.delayed(sample_points)(size, seed) for seed in range(n // size)]
    X = da.concatenate([da.from_delayed(part, (size, 2), np.float32) for part in parts])
    model = AnchorSpectralClustering(3, n_anchors=40, effort="fast", random_state=0, client=client)
    received, read = [], tcp.from_frames

    async def watched(frames, **options):
        received.append(sum(memoryview(frame).nbytes for frame in frames))
        return await read(frames, **options)

    # The scheduler is in the same process, so all data that it receives are counted as well.
    monkeypatch.setattr(tcp, "from_frames", watched)
    model.fit(X)
    assert 0 < max(received) < size
    assert sum(received) < 2 * n
    # Fetching the labels is counted.
    received.clear()
    assert labels_of(model).nbytes == 4 * n
    assert sum(received) > 4 * n


def test_data_frames_give_the_labels_of_arrays(points, one_machine):
    pandas = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    table = pandas.DataFrame(points, columns=["x", "y", "z"])
    X = frames.from_pandas(table, npartitions=3)
    model = AnchorSpectralClustering(**SETTINGS).fit(X)
    lengths = tuple(X.map_partitions(len).compute())
    array = X.to_dask_array(lengths=list(lengths))
    assert model.labels_.chunks == (lengths,)
    np.testing.assert_array_equal(
        model.labels_, AnchorSpectralClustering(**SETTINGS).fit(array).labels_
    )
    assert model.feature_names_in_.tolist() == ["x", "y", "z"]
    np.testing.assert_array_equal(model.predict(X), model.predict(points))
    np.testing.assert_array_equal(model.predict(table), model.predict(points))
    with pytest.raises(ValueError, match=r"\['y', 'x', 'z'\].*fitted on \['x', 'y', 'z'\]"):
        model.predict(X[["y", "x", "z"]])
    strings = X.assign(y="a")
    with pytest.raises(ValueError, match=r"Column 'y' of X holds .*; drop or encode it"):
        AnchorSpectralClustering().fit(strings)


def never(chunk):
    raise AssertionError("this must not be computed")


def test_predictions_are_lazy(points):
    X = in_chunks(points)
    model = AnchorSpectralClustering(**SETTINGS).fit(X)
    model.predict(X.map_blocks(never, dtype=X.dtype))
    for few in (X[X[:, 0] > 0], X[5:6]):  # also with unknown chunk sizes
        result = model.predict(few)
        assert result.dtype == np.int32
        np.testing.assert_array_equal(result.compute(), model.predict(few.compute()))
    assert model.predict(X).chunks == (CHUNKS,)
    assert model.predict(X[:0]).compute().shape == (0,)
    with pytest.raises(ValueError, match="2 features, but the model was fitted on 3"):
        model.predict(X[:, :2])


REFUSED = {
    "an array": (lambda X: np.ones((9, 2)), {}, TypeError, "not a collection of Dask"),
    "a bag": (lambda X: dask.delayed(never)(0), {}, TypeError, "pass a Dask array or data frame"),
    "a column": (lambda X: X[:, 0], {}, ValueError, r"two-dimensional.*reshape\(-1, 1\)"),
    "strings": (lambda X: X.astype("U3"), {}, ValueError, "its dtype is <U3"),
    "complex": (lambda X: X.astype(complex), {}, ValueError, "its dtype is complex"),
    "sparse": (
        lambda X: X.map_blocks(sp.csr_matrix, meta=sp.csr_matrix((0, 0))),
        {}, TypeError, r"are scipy\.sparse.*csr_matrix.*toarray",
    ),
    "selected": (lambda X: X[X[:, 0] > 0], {}, ValueError, r"X\.compute_chunk_sizes\(\)"),
    "no rows": (lambda X: X[:0], {}, ValueError, r"shape \(0, 3\)"),
    "clusters": (lambda X: X, {"n_clusters": 70}, ValueError, "70 is more than the 60 anchors"),
    "more": (lambda X: X, {"n_clusters": 2001}, ValueError, "2001 is more than the 2000"),
    "no number": (lambda X: X, {"n_clusters": "many"}, ValueError, "The 'n_clusters' parameter"),
    "neighbors": (lambda X: X, {"n_neighbors": 60}, ValueError, "must be less than n_anchors=60"),
    "effort": (lambda X: X, {"effort": "some"}, ValueError, "The 'effort' parameter"),
    "seed": (lambda X: X, {"random_state": -1}, ValueError, "The 'random_state' param"),
    "client": (lambda X: X, {"client": "here"}, TypeError, "client='here' is not a client"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_invalid_input_is_rejected_before_any_computation(points, name):
    change, settings, error, message = REFUSED[name]
    X = change(in_chunks(points).map_blocks(never, dtype=points.dtype))
    with pytest.raises(error, match=message):
        AnchorSpectralClustering(**(SETTINGS | settings)).fit(X)


@pytest.mark.filterwarnings("ignore:The evidence")
def test_bounds_and_the_number_of_clusters_are_the_same_as_on_one_machine(points):
    settings = SETTINGS | {"n_clusters": "auto", "max_clusters": 6}
    model = AnchorSpectralClustering(**settings).fit(in_chunks(points))
    sizes = [size for size in CHUNKS if size]
    graph = leastcut.anchor_graph(points, 60, random_state=3, block_rows=sizes)
    result = leastcut.partition(graph, "auto", random_state=3, effort="fast")
    assert model.n_clusters_ == result.labels.max() + 1
    assert model.lower_bound_ == pytest.approx(leastcut.lower_bound(graph, model.n_clusters_))
    assert 0.0 <= model.lower_bound_ <= model.cut_value_
    assert model.gap_ == pytest.approx(1.0 - model.lower_bound_ / model.cut_value_)


def test_the_warning_of_weak_evidence_names_cut_path():
    rng = np.random.default_rng(0)
    samples = 1.5 * rng.normal(size=(600, 2)) + rng.integers(0, 4, size=(600, 1)) * [3.0, 1.0]
    X = da.from_array(samples, chunks=(300, 2))
    model = AnchorSpectralClustering("auto", n_anchors=60, max_clusters=6, random_state=0)
    with pytest.warns(UserWarning, match="see leastcut.cut_path of some of the samples"):
        model.fit(X)
    assert not hasattr(model, "cut_path_")


def test_values_are_checked_by_the_workers(points):
    bad = points.copy()
    bad[705, 1] = np.nan
    with pytest.raises(ValueError, match=r"begins with row 701: .* first is nan at \(4, 1\)"):
        AnchorSpectralClustering(**SETTINGS).fit(in_chunks(bad))
    masked = in_chunks(points).map_blocks(np.ma.masked_less, -5.0)
    with pytest.raises(ValueError, match="masked entries"):
        AnchorSpectralClustering(**SETTINGS).fit(masked)
    hidden = in_chunks(points).rechunk(500).map_blocks(sp.csr_array, meta=np.empty((0, 0)))
    with pytest.raises(TypeError, match=r"begins with row \d+: it is csr_array"):
        AnchorSpectralClustering(**SETTINGS).fit(hidden)


def test_equal_samples_give_too_few_anchors():
    X = da.ones((50, 2), chunks=20)
    with pytest.raises(ValueError, match="n_clusters=2 is more than the 1 anchors"):
        AnchorSpectralClustering(2, n_anchors=10).fit(X)
    assert AnchorSpectralClustering(1, n_anchors=10).fit(X).cut_value_ == 0.0


def test_clones_share_the_client_and_pickles_do_not_contain_it(client, points):
    model = AnchorSpectralClustering(client=client, **SETTINGS)
    assert clone(model).client is client
    model.fit(in_chunks(points))
    again = pickle.loads(pickle.dumps(model))
    assert again.client is None
    np.testing.assert_array_equal(again.predict(points), model.predict(points))


def test_tasks_accept_read_only_arrays(points, one_machine):
    """Arrays received over a network may be read-only."""
    graph = leastcut.anchor_graph(points, 60, random_state=3, block_rows=[700, 1, 699, 600])

    def locked(value):
        if isinstance(value, Block):
            return Block(*map(locked, value))
        if isinstance(value, tuple):
            return tuple(map(locked, value))
        if isinstance(value, np.ndarray):
            value = value.view()
            value.flags.writeable = False
        return value

    class Locked(LocalWorkers):
        def _pairs(self, task, kept, shared, numbers):
            kept = None if kept is None else [locked(own) for own in kept]
            return super()._pairs(task, kept, tuple(map(locked, shared)), numbers)

    workers = Locked(lambda number: locked(graph.store.load(number)), graph.store.sizes, 1)
    problem = AnchorProblem(workers, graph.masses)
    result = search_anchors(problem, 4, [], SearchOptions("fast", False, 3), Budget())
    np.testing.assert_array_equal(np.concatenate(result.labels), one_machine.labels)


def test_the_estimator_is_documented():
    from numpydoc.validate import validate  # not imported by the workers

    for name in ("", ".fit", ".predict"):
        result = validate(f"leastcut.integrations.dask.AnchorSpectralClustering{name}")["errors"]
        assert not {"GL08", "SS01", "SS06", "PR01", "PR02", "PR03", "PR04", "PR07", "RT01"} & {
            code for code, _ in result
        }
