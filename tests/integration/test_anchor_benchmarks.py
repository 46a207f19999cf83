"""Helpers of the benchmarks of anchor graphs: points, agreement, and the model of time."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import _points_in_the_plane as plane
from benchmarks import _scaling
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import normalized_mutual_info_score

import leastcut


@pytest.mark.parametrize("name", plane.SETS)
def test_larger_sets_begin_with_the_same_points(name, tmp_path):
    few, many = plane.in_memory(name, 700), plane.in_memory(name, 2000)
    assert many.dtype == np.float32
    np.testing.assert_array_equal(many[:700], few)
    plane.in_file(name, 2000, tmp_path / "points.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "points.npy"), many)


@pytest.mark.parametrize("name", plane.SETS)
def test_clusters_of_a_set_have_their_fraction_of_points(name):
    fractions = np.array([shape.share for shape in plane.SETS[name]])
    ((_, of),) = plane.sampled_points(name, 50_000)
    observed = np.bincount(of, minlength=fractions.size) / of.size
    # Within five standard deviations of a binomial fraction.
    expected = fractions / fractions.sum()
    assert np.all(np.abs(observed - expected) < 5 * np.sqrt(expected / of.size))


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_agreement_equals_normalized_mutual_information(seed, n_found):
    name = "smiling face"
    labels = np.random.default_rng(seed).integers(n_found, size=300)
    ((_, of),) = plane.sampled_points(name, 300)
    agreement = plane.agreement(name, labels)
    assert agreement["nmi"] == pytest.approx(leastcut.normalized_mutual_info(of, labels), abs=1e-4)
    mean = normalized_mutual_info_score(of, labels)
    assert agreement["nmi_by_the_mean"] == pytest.approx(mean, abs=1e-4)


def test_more_workers_reduce_the_time_of_points_but_not_of_scheduling():
    passes = {
        _scaling.NEAREST: _scaling.Pass(1, 2e-6),
        "leastcut-sweep: sweep_block": _scaling.Pass(4, 1e-7, 2e-2, 1e-3),
    }
    one = _scaling.forecast(passes, 5.0, 10**7, 100, 1)
    ten = _scaling.forecast(passes, 5.0, 10**7, 100, 10)
    assert one == {
        "seconds": 29.48,
        "nearest_anchors": 20.0,
        "other_passes": 4.0,
        "scheduling": 0.48,
        "once": 5.0,
    }
    assert ten["seconds"] == pytest.approx(5.0 + 2.4 + 0.48)


def test_constants_are_recovered_from_synthetic_runs():
    alone, few, many = _scaling.Tally(), _scaling.Tally(), _scaling.Tally()
    # Three passes of 1 µs per point, 10 ms on each worker and 2 ms for every task.
    alone.add("sweep", 3 * 1e-6 * 10**6, 3 * 10**6)
    few.add("sweep", 5 * (1e-6 * 1000 + 0.010 + 4 * 0.002), 5 * 1000)
    many.add("sweep", 2 * (1e-6 * 1000 + 0.010 + 64 * 0.002), 2 * 1000)
    runs = _scaling.Small(few, 4), _scaling.Small(many, 64)
    (constants,) = _scaling.passes_of(alone, 10**6, *runs, 1000, 64).values()
    assert constants == pytest.approx((3, 1e-6, 0.010, 0.002))


def test_a_tally_counts_the_work_and_restores_the_class():
    from leastcut.anchors.blocks import LocalWorkers
    from leastcut.anchors.nearest import NearestAnchors
    from leastcut.anchors.problem import masses_of

    X = plane.in_memory("flower", 300)
    nearest = NearestAnchors(X[:20], 3, 1)
    blocks = [nearest.block(X[:100]), nearest.block(X[100:])]
    workers, run = LocalWorkers(blocks.__getitem__, (100, 200), 1), LocalWorkers.run
    tally = _scaling.Tally(weighs=True)
    with tally.of(LocalWorkers):
        results = workers.run("masses", masses_of, None, 20)[1]
        total = workers.total("masses", masses_of, None, sum, 20)
        assert workers.once("nothing", sum, (1, 2)) == 3
    assert LocalWorkers.run is run
    np.testing.assert_array_equal(np.sum(results, axis=0), total)
    (name,) = tally.n_points
    assert tally.n_points[name] == 2 * 300
    assert tally.sent_bytes[name] > 3 * 20 * 8
    assert set(tally.once) == {"nothing"}
