"""Anchors on a GPU: the same ties as on the processor, and answers of the same quality.

What needs no GPU runs on PyTorch's own processor device, where PyTorch is installed.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs

import leastcut
from leastcut.anchors.choose import choose_anchors, sampled_rows
from leastcut.anchors.nearest import NearestAnchors

torch = pytest.importorskip("torch")

from leastcut.anchors.gpu import NearestOnGpu, choose_on_gpu  # noqa: E402

DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

DIGITS = load_digits().data
SETS = {
    "digits": DIGITS,
    "single precision": DIGITS.astype(np.float32),
    "far from the origin": DIGITS + 1e6,
    "tiny": DIGITS * 1e-30,
    "with equal points": np.repeat(DIGITS[:100], 3, axis=0),
    "in the plane": make_blobs(3000, random_state=0)[0],
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("n_neighbors", [1, 5])
def test_ties_are_those_of_the_processor(device, name, n_neighbors):
    X = SETS[name]
    anchors = choose_anchors(X, 60, 0)
    here = NearestAnchors(anchors, n_neighbors, 1).block(X)
    there = NearestOnGpu(anchors, n_neighbors, device).block(X)
    assert (there.weights.sum(axis=1, dtype=np.float64) == 1.0).all()
    # Sums in another order differ in the last place; a tie there may swap two anchors.
    assert (here.anchors == there.anchors).mean() > 0.999
    assert np.abs(here.weights - there.weights).max() < 1e-3


@pytest.mark.parametrize("device", DEVICES)
def test_anchors_that_are_equally_far_have_equal_weights(device):
    anchors, origin = np.concatenate([np.eye(10), -np.eye(10)]), np.zeros((3, 10))
    for nearest in (NearestAnchors(anchors, 4, 1), NearestOnGpu(anchors, 4, device)):
        assert (nearest.block(origin).weights == 0.25).all()


@pytest.mark.parametrize("device", DEVICES)
def test_anchors_are_as_good(device):
    X = SETS["digits"]
    here, there = choose_anchors(X, 80, 0), choose_on_gpu(X, 80, 0, device)
    spread = [NearestAnchors(a, 1, 1).block(X).anchors[:, 0] for a in (here, there)]
    off = [np.square(X - a[near]).sum() for a, near in zip((here, there), spread, strict=True)]
    assert off[1] == pytest.approx(off[0], rel=0.05)
    assert np.array_equal(there, choose_on_gpu(X, 80, 0, device))


@pytest.mark.parametrize("device", DEVICES)
def test_a_single_anchor_ties_all(device):
    block = NearestOnGpu(np.zeros((1, 2)), 1, device).block(np.ones((3, 2)))
    assert (block.weights == 1.0).all()


@needs_gpu
@pytest.mark.parametrize("where", ["host", "gpu", "half precision"])
def test_a_fit_on_the_gpu_is_deterministic_and_as_good(where):
    X = DIGITS.astype(np.float32)
    points = X if where == "host" else torch.as_tensor(X, device="cuda")
    points = points.half() if where == "half precision" else points
    graphs = [leastcut.anchor_graph(points, 150, random_state=0, device="cuda") for _ in range(2)]
    found = [leastcut.partition(graph, 10, random_state=0) for graph in graphs]
    assert np.array_equal(found[0].labels, found[1].labels)
    here = leastcut.partition(leastcut.anchor_graph(X, 150, random_state=0), 10, random_state=0)
    assert found[0].cut_value < 1.5 * here.cut_value


@needs_gpu
def test_what_is_not_finite_is_named():
    X = torch.as_tensor(DIGITS, device="cuda").clone()
    X[1234, 5] = torch.nan
    with pytest.raises(ValueError, match=r"nan at \(1234, 5\)"):
        leastcut.anchor_graph(X, 50, random_state=1, device="cuda")
    host = DIGITS.copy()
    host[1234, 5] = np.inf
    with pytest.raises(ValueError, match=r"inf at \(1234, 5\)"):
        leastcut.anchor_graph(host, 50, random_state=1, device="cuda")


@needs_gpu
def test_samples_on_the_gpu_may_be_cut_on_the_processor():
    X = torch.as_tensor(DIGITS, device="cuda")
    there = leastcut.anchor_graph(X, 50, random_state=0, device="cpu")
    here = leastcut.anchor_graph(DIGITS, 50, random_state=0, device="cpu")
    assert np.array_equal(there.anchors, here.anchors)
    assert (there.weights != here.weights).nnz == 0


@needs_gpu
def test_the_estimator_leaves_samples_where_they_are():
    X = torch.from_numpy(DIGITS).cuda()
    options = {"n_anchors": 100, "effort": "fast", "random_state": 0}
    model = leastcut.AnchorSpectralClustering(10, **options).fit(X)
    assert (model.n_features_in_, model.labels_.shape) == (64, (1797,))
    assert model.cut_value_ == leastcut.cut_value(model.affinity_matrix_, model.labels_)
    assert np.array_equal(model.predict(X), model.predict(DIGITS))
    there = leastcut.AnchorSpectralClustering(10, device="cuda", **options).fit(DIGITS)
    assert np.array_equal(there.labels_, model.labels_)


@needs_gpu
@pytest.mark.parametrize("on_gpu", [False, True])
def test_a_folder_has_the_graph_of_the_gpu_and_is_refused_to_other_samples(
    on_gpu, tmp_path, monkeypatch
):
    # Few rows are sampled, so that most changes show in the check sums of blocks alone.
    monkeypatch.setattr("leastcut.anchors.choose.FEWEST_SAMPLED", 300)
    monkeypatch.setattr("leastcut.anchors.choose.SAMPLED", 6)
    X = SETS["in the plane"].astype(np.float32)
    options = {"n_anchors": 50, "n_neighbors": 3, "random_state": 0, "block_rows": 700}

    def build(array, **more):
        samples = torch.as_tensor(array, device="cuda") if on_gpu else array
        return leastcut.anchor_graph(samples, **options, **more)

    graph = build(X, device="cuda")
    for device in ("cuda", "cuda", "auto"):  # which is that of the folder
        filed = build(X, device=device, folder=tmp_path)
        assert np.array_equal(graph.anchors, filed.anchors)
        assert np.array_equal(graph.masses, filed.masses)
        assert (graph.weights != filed.weights).nnz == 0
    with pytest.raises(ValueError, match='holds another run: its device is "cuda"'):
        build(X, device="cpu", folder=tmp_path)
    sampled = np.concatenate(
        [700 * b + part for b, part in enumerate(sampled_rows((700,) * 4 + (200,), 50, 0))]
    )
    row = int(np.setdiff1d(np.arange(1400, 2100), sampled)[0])
    changed = X.copy()
    changed[row] += 1
    with pytest.raises(ValueError, match=r"rows 1400 to 2099 of X \(block 2\) are not those"):
        build(changed, device="cuda", folder=tmp_path)
