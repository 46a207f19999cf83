"""Anchors on a GPU: the same weights as on the CPU, and anchors of the same quality.

Tests that do not need a GPU run on the CPU device of PyTorch.
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
def test_weights_equal_those_of_the_cpu(device, name, n_neighbors):
    X = SETS[name]
    anchors = choose_anchors(X, 60, 0)
    on_cpu = NearestAnchors(anchors, n_neighbors, 1).block(X)
    on_gpu = NearestOnGpu(anchors, n_neighbors, device).block(X)
    assert (on_gpu.weights.sum(axis=1, dtype=np.float64) == 1.0).all()
    # The rounding of sums differs, so that two equidistant anchors may be exchanged.
    assert (on_cpu.anchors == on_gpu.anchors).mean() > 0.999
    assert np.abs(on_cpu.weights - on_gpu.weights).max() < 1e-3


@pytest.mark.parametrize("device", DEVICES)
def test_equidistant_anchors_have_equal_weights(device):
    anchors, origin = np.concatenate([np.eye(10), -np.eye(10)]), np.zeros((3, 10))
    for nearest in (NearestAnchors(anchors, 4, 1), NearestOnGpu(anchors, 4, device)):
        assert (nearest.block(origin).weights == 0.25).all()


@pytest.mark.parametrize("device", DEVICES)
def test_anchors_are_as_good_as_those_of_the_cpu(device):
    X = SETS["digits"]
    on_cpu, on_gpu = choose_anchors(X, 80, 0), choose_on_gpu(X, 80, 0, device)
    nearest = [NearestAnchors(a, 1, 1).block(X).anchors[:, 0] for a in (on_cpu, on_gpu)]
    errors = [
        np.square(X - a[near]).sum() for a, near in zip((on_cpu, on_gpu), nearest, strict=True)
    ]
    assert errors[1] == pytest.approx(errors[0], rel=0.05)
    assert np.array_equal(on_gpu, choose_on_gpu(X, 80, 0, device))


@pytest.mark.parametrize("device", DEVICES)
def test_a_single_anchor_has_all_weights(device):
    block = NearestOnGpu(np.zeros((1, 2)), 1, device).block(np.ones((3, 2)))
    assert (block.weights == 1.0).all()


@needs_gpu
@pytest.mark.parametrize("location", ["host", "gpu", "half precision"])
def test_graphs_built_on_the_gpu_are_reproducible_and_as_good(location):
    X = DIGITS.astype(np.float32)
    points = X if location == "host" else torch.as_tensor(X, device="cuda")
    points = points.half() if location == "half precision" else points
    graphs = [leastcut.anchor_graph(points, 150, random_state=0, device="cuda") for _ in range(2)]
    partitions = [leastcut.partition(graph, 10, random_state=0) for graph in graphs]
    assert np.array_equal(partitions[0].labels, partitions[1].labels)
    on_cpu = leastcut.partition(leastcut.anchor_graph(X, 150, random_state=0), 10, random_state=0)
    assert partitions[0].cut_value < 1.5 * on_cpu.cut_value


@needs_gpu
def test_non_finite_values_are_reported_with_their_position():
    X = torch.as_tensor(DIGITS, device="cuda").clone()
    X[1234, 5] = torch.nan
    with pytest.raises(ValueError, match=r"nan at \(1234, 5\)"):
        leastcut.anchor_graph(X, 50, random_state=1, device="cuda")
    host = DIGITS.copy()
    host[1234, 5] = np.inf
    with pytest.raises(ValueError, match=r"inf at \(1234, 5\)"):
        leastcut.anchor_graph(host, 50, random_state=1, device="cuda")


@needs_gpu
def test_samples_on_the_gpu_can_be_used_on_the_cpu():
    X = torch.as_tensor(DIGITS, device="cuda")
    from_gpu = leastcut.anchor_graph(X, 50, random_state=0, device="cpu")
    from_host = leastcut.anchor_graph(DIGITS, 50, random_state=0, device="cpu")
    assert np.array_equal(from_gpu.anchors, from_host.anchors)
    assert (from_gpu.weights != from_host.weights).nnz == 0


@needs_gpu
def test_the_estimator_gives_equal_labels_for_samples_on_both_devices():
    X = torch.from_numpy(DIGITS).cuda()
    options = {"n_anchors": 100, "effort": "fast", "random_state": 0}
    model = leastcut.AnchorSpectralClustering(10, **options).fit(X)
    assert (model.n_features_in_, model.labels_.shape) == (64, (1797,))
    assert model.cut_value_ == leastcut.cut_value(model.affinity_matrix_, model.labels_)
    assert np.array_equal(model.predict(X), model.predict(DIGITS))
    from_host = leastcut.AnchorSpectralClustering(10, device="cuda", **options).fit(DIGITS)
    assert np.array_equal(from_host.labels_, model.labels_)


@needs_gpu
@pytest.mark.parametrize("on_gpu", [False, True])
def test_a_folder_has_the_graph_of_the_gpu_and_is_rejected_for_other_samples(
    on_gpu, tmp_path, monkeypatch
):
    # Few rows are sampled, so that most changes are detected only by checksums of blocks.
    monkeypatch.setattr("leastcut.anchors.choose.FEWEST_SAMPLED", 300)
    monkeypatch.setattr("leastcut.anchors.choose.SAMPLED", 6)
    X = SETS["in the plane"].astype(np.float32)
    options = {"n_anchors": 50, "n_neighbors": 3, "random_state": 0, "block_rows": 700}

    def build(array, **more):
        samples = torch.as_tensor(array, device="cuda") if on_gpu else array
        return leastcut.anchor_graph(samples, **options, **more)

    graph = build(X, device="cuda")
    for device in ("cuda", "cuda", "auto"):  # "auto" is the device of the folder
        from_folder = build(X, device=device, folder=tmp_path)
        assert np.array_equal(graph.anchors, from_folder.anchors)
        assert np.array_equal(graph.masses, from_folder.masses)
        assert (graph.weights != from_folder.weights).nnz == 0
    with pytest.raises(ValueError, match='has another run: its device is "cuda"'):
        build(X, device="cpu", folder=tmp_path)
    sampled = np.concatenate(
        [700 * b + part for b, part in enumerate(sampled_rows((700,) * 4 + (200,), 50, 0))]
    )
    row = int(np.setdiff1d(np.arange(1400, 2100), sampled)[0])
    changed = X.copy()
    changed[row] += 1
    with pytest.raises(
        ValueError, match=r"rows 1400 to 2099 of X \(block 2\) differ from the samples"
    ):
        build(changed, device="cuda", folder=tmp_path)
