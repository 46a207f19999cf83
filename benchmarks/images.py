"""Image segmentation: quality of segments and cuts, compared with scikit-image and scikit-learn.

The constants of :mod:`leastcut.integrations.images` were chosen on the images ``TUNED``;
``HELD_OUT`` were evaluated after the constants were fixed. All images come with scikit-image and
scikit-learn.

``pixels``: the graph of all pixels and its cut, with effort "fast". ``on_contour`` is the fraction
of the segments' border pixels within two pixels of a strong contour (the top 15% of the Sobel
gradient, which the graph does not use); ``by_chance`` is that fraction of all pixels.
``contours_met`` is the fraction of the strongest 5% within two pixels of a border.
``median_segment`` is the size of the median segment as a fraction of the image. ``foreground`` is
the intersection over union of a mask, if thresholding gives one, and the segments that lie mostly
in it. ``numbers`` has ``on_contour`` for other numbers of segments. ``begun_...``: the same for a
search on pixels with the partition of superpixels as ``init``; the seconds include the superpixels.
``gradient_...``: the same for the graph of scikit-learn's ``img_to_graph`` with the weights of its
example, exp(−10 g / std) + 1e-6.

``regions``: one graph of superpixels cut by leastcut, ``skimage.graph.cut_normalized`` and
scikit-learn's ``spectral_clustering``, into the number of segments that scikit-image returns; and
the same for scikit-image's own graph ``rag_mean_color`` (similarity). Seconds are CPU seconds of
the cut alone.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.ndimage as ndi
import scipy.sparse as sp

import leastcut

TUNED = {"astronaut": 8, "chelsea": 8, "coins": 25, "rocket": 8, "cell": 8, "flower": 8}
HELD_OUT = {
    "coffee": 8, "camera": 8, "horse": 2, "retina": 8, "china": 8, "clock": 8,
    "immunohistochemistry": 8,
}  # fmt: skip
"""Images, with their numbers of segments."""

LARGEST = 400_000
"""Most pixels: larger images are downsampled by averaging blocks of 2 × 2 or 4 × 4 pixels."""

NUMBERS = (2, 32)
SUPERPIXELS = 600
MEANS = (
    "by_chance", "on_contour", "contours_met", "median_segment", "begun_on_contour",
    "begun_contours_met", "gradient_on_contour", "gradient_contours_met",
    "gradient_median_segment",
)  # fmt: skip
NEAR = 2
"""Largest distance in pixels at which a border matches a contour."""


def run(quick: bool = False) -> dict[str, Any]:
    """Return the rows of both parts, and the means over tuned and held-out images."""
    warnings.simplefilter("ignore")
    images = {"coins": 25} if quick else {**TUNED, **HELD_OUT}
    leastcut.partition(leastcut.image_graph(np.eye(20)), 2, random_state=0)  # compiles
    pixels = [_pixels(name, k) for name, k in images.items()]
    regions = [row for name in images for row in _regions(name)]
    return {
        "size": _size(200 if quick else 1024),
        "pixels": pixels,
        "regions": regions,
        "means": {
            part: {
                key: float(np.mean([row[key] for row in pixels if row["image"] in names]))
                for key in MEANS
            }
            for part, names in (("tuned", TUNED), ("held out", HELD_OUT))
            if names.keys() & images.keys()
        },
        "on_contour_by_number": {
            str(k): float(np.mean([row["numbers"][str(k)] for row in pixels])) for k in NUMBERS
        },
    }


def _pixels(name: str, n_clusters: int) -> dict[str, Any]:
    """Return the quality of the segments of one image."""
    image = _image(name)
    begin = time.perf_counter()
    graph = leastcut.image_graph(image)
    graph_s = time.perf_counter() - begin
    begin = time.perf_counter()
    result = leastcut.partition(graph, n_clusters, effort="fast", random_state=0)
    cut_s = time.perf_counter() - begin
    segments = graph.to_image(result.labels)
    strength = _strength(image)
    numbers = {
        str(k): _on_contour(
            graph.to_image(leastcut.partition(graph, k, effort="fast", random_state=0).labels),
            strength,
        )
        for k in NUMBERS
    }
    begin = time.perf_counter()
    regions = leastcut.image_graph(image, superpixels=SUPERPIXELS)
    rough = regions.to_image(leastcut.partition(regions, n_clusters, random_state=0).labels)
    begun = leastcut.partition(
        graph, n_clusters, effort="fast", init=rough.reshape(-1), random_state=0
    )
    begun_s = time.perf_counter() - begin
    mask = _foreground(name, image)
    plain = leastcut.partition(_gradient_graph(image), n_clusters, effort="fast", random_state=0)
    row = {
        "image": name,
        "tuned": name in TUNED,
        "shape": list(image.shape[:2]),
        "n_clusters": n_clusters,
        "entries": int(graph.nnz),
        "graph_s": graph_s,
        "cut_s": cut_s,
        "cut_value": result.cut_value,
        "median_segment": float(np.median(np.bincount(result.labels)) / segments.size),
        "gradient_median_segment": float(np.median(np.bincount(plain.labels)) / segments.size),
        "on_contour": _on_contour(segments, strength),
        "by_chance": float(_near(strength > np.quantile(strength, 0.85)).mean()),
        "contours_met": _contours_met(segments, strength),
        "begun_s": begun_s,
        "begun_cut_value": begun.cut_value,
        "begun_on_contour": _on_contour(begun.labels.reshape(segments.shape), strength),
        "begun_contours_met": _contours_met(begun.labels.reshape(segments.shape), strength),
        "gradient_on_contour": _on_contour(plain.labels.reshape(segments.shape), strength),
        "gradient_contours_met": _contours_met(plain.labels.reshape(segments.shape), strength),
        "numbers": numbers,
    }
    if mask is not None:
        row["foreground"] = _overlap(segments, mask)
        row["begun_foreground"] = _overlap(begun.labels.reshape(segments.shape), mask)
        row["gradient_foreground"] = _overlap(plain.labels.reshape(segments.shape), mask)
    print(row, flush=True)
    return row


def _regions(name: str) -> list[dict[str, Any]]:
    """Cut two graphs of superpixels with three libraries."""
    from skimage import graph as skimage_graph
    from sklearn.cluster import spectral_clustering

    image = _image(name)
    graph = leastcut.image_graph(image, superpixels=SUPERPIXELS)
    colors = image if image.ndim == 3 else np.repeat(image[:, :, None], 3, axis=2)
    theirs = skimage_graph.rag_mean_color(colors * 255.0, graph.regions, mode="similarity")
    strength = _strength(image)
    rows = []
    for title, matrix, rag in (
        ("leastcut", graph, _as_rag(graph)),
        ("rag_mean_color", _as_matrix(theirs), theirs),
    ):

        def cut_normalized(rag: Any = rag) -> np.ndarray:
            return np.asarray(skimage_graph.cut_normalized(graph.regions, rag, rng=0))

        result, seconds = _timed(cut_normalized)
        labels = _label_of_region(result, graph.regions)
        k = int(labels.max()) + 1
        row: dict[str, Any] = {
            "image": name,
            "graph": title,
            "n": matrix.shape[0],
            "n_clusters": k,
            "skimage": _judged(matrix, labels, graph, strength, seconds),
        }
        if k > 1:
            ours, seconds = _timed(
                lambda matrix=matrix, k=k: (
                    leastcut.partition(matrix, k, isolated="ignore", random_state=0).labels
                )
            )
            row["leastcut"] = _judged(matrix, ours, graph, strength, seconds)
            spectral, seconds = _timed(
                lambda matrix=matrix, k=k: spectral_clustering(
                    sp.csr_matrix(matrix), n_clusters=k, random_state=0
                )
            )
            row["sklearn"] = _judged(matrix, spectral, graph, strength, seconds)
        print(row, flush=True)
        rows.append(row)
    return rows


def _judged(
    matrix: sp.csr_array, labels: np.ndarray, graph: Any, strength: np.ndarray, seconds: float
) -> dict[str, float]:
    return {
        "cut_value": leastcut.cut_value(matrix, labels, isolated="ignore"),
        "on_contour": _on_contour(graph.to_image(labels), strength),
        "seconds": seconds,
    }


def _size(side: int) -> dict[str, Any]:
    """Return the time and size of the graphs of an enlarged photograph."""
    image = _image("astronaut")
    image = ndi.zoom(image, (side / image.shape[0], side / image.shape[1], 1), order=1)
    rows: dict[str, Any] = {"pixels": int(image.shape[0] * image.shape[1])}
    for title, settings in (("pixels_s", {}), ("superpixels_s", {"superpixels": SUPERPIXELS})):
        begin = time.perf_counter()
        graph = leastcut.image_graph(np.clip(image, 0, 1), **settings)
        rows[title] = time.perf_counter() - begin
        rows[f"{title[:-2]}_entries"] = int(graph.nnz)
    return rows


# -- images and measures


def _image(name: str) -> np.ndarray:
    """Return an image with values from 0 to 1."""
    if name in ("china", "flower"):
        from sklearn.datasets import load_sample_image

        image = load_sample_image(f"{name}.jpg")
    else:
        from skimage import data

        image = getattr(data, name)()
    image = image.astype(float) / (1 if image.dtype == bool else 255)
    by = 1
    while image.shape[0] * image.shape[1] > LARGEST * by**2:
        by *= 2
    height, width = image.shape[0] // by * by, image.shape[1] // by * by
    squares = image[:height, :width].reshape(height // by, by, width // by, by, -1)
    return squares.mean(axis=(1, 3)) if image.ndim == 3 else squares.mean(axis=(1, 3))[:, :, 0]


def _strength(image: np.ndarray) -> np.ndarray:
    """Return the Sobel gradient of the image, over all channels."""
    channels = image if image.ndim == 3 else image[:, :, None]
    squared = [
        ndi.sobel(channels[:, :, c], axis) ** 2 for c in range(channels.shape[2]) for axis in (0, 1)
    ]
    return ndi.gaussian_filter(np.sqrt(np.sum(squared, axis=0)), 0.7)


def _borders(segments: np.ndarray) -> np.ndarray:
    borders = np.zeros(segments.shape, dtype=bool)
    borders[:-1] |= segments[:-1] != segments[1:]
    borders[:, :-1] |= segments[:, :-1] != segments[:, 1:]
    return borders


def _near(pixels: np.ndarray) -> np.ndarray:
    """Return the pixels within distance ``NEAR`` of the given ones."""
    if not pixels.any():
        return pixels
    return ndi.distance_transform_edt(~pixels) <= NEAR


def _on_contour(segments: np.ndarray, strength: np.ndarray) -> float:
    borders = _borders(segments)
    if not borders.any():
        return float("nan")
    return float(_near(strength > np.quantile(strength, 0.85))[borders].mean())


def _contours_met(segments: np.ndarray, strength: np.ndarray) -> float:
    strongest = strength > np.quantile(strength, 0.95)
    return float(_near(_borders(segments))[strongest].mean())


def _foreground(name: str, image: np.ndarray) -> np.ndarray | None:
    """Return a mask of the foreground if thresholding finds it, else None."""
    from skimage.filters import threshold_otsu

    if name == "horse":
        return image < 0.5
    if name == "coins":
        # Subtract the background, which is brighter at the top.
        flat = image - ndi.minimum_filter(ndi.gaussian_filter(image, 4), 50)
        filled = ndi.binary_fill_holes(ndi.gaussian_filter(flat, 1) > threshold_otsu(flat))
        return np.asarray(ndi.binary_opening(filled, iterations=4))
    if name == "cell":
        return np.asarray(ndi.binary_fill_holes(image > threshold_otsu(image)))
    return None


def _overlap(segments: np.ndarray, mask: np.ndarray) -> float:
    """Return intersection over union of a mask and the segments that lie mostly in it."""
    share = np.bincount(segments.reshape(-1), mask.reshape(-1)) / np.bincount(segments.reshape(-1))
    inside = (share > 0.5)[segments]
    return float((inside & mask).sum() / (inside | mask).sum())


def _gradient_graph(image: np.ndarray) -> sp.csr_array:
    """Return scikit-learn's graph of an image with the weights of its coins example."""
    from sklearn.feature_extraction.image import img_to_graph

    gray = image if image.ndim == 2 else image.mean(axis=2)
    graph = sp.coo_array(img_to_graph(gray))
    row, column = graph.coords
    graph.data = np.exp(-10 * np.abs(graph.data) / graph.data.std()) + 1e-6
    off = row != column
    return sp.csr_array((graph.data[off], (row[off], column[off])), shape=graph.shape)


def _as_rag(graph: Any) -> Any:
    """Convert a graph to a RAG of scikit-image, with the node labels that its cut needs."""
    from skimage.graph import RAG

    rag = RAG()
    for node in range(graph.shape[0]):
        rag.add_node(node, labels=[node])
    entries = sp.coo_array(graph)
    for i, j, weight in zip(*entries.coords, entries.data, strict=True):
        if i <= j:
            rag.add_edge(int(i), int(j), weight=float(weight))
    return rag


def _as_matrix(rag: Any) -> sp.csr_array:
    """Convert a RAG of scikit-image to a matrix, without the self-loops that its cut adds."""
    import networkx

    matrix = networkx.to_scipy_sparse_array(rag, nodelist=sorted(rag.nodes), weight="weight")
    return sp.csr_array((matrix + matrix.T) / 2)


def _label_of_region(segments: np.ndarray, regions: np.ndarray) -> np.ndarray:
    """Return the labels 0..k-1 of regions whose pixels share a label."""
    first = np.unique(regions, return_index=True)[1]
    return np.unique(segments.reshape(-1)[first], return_inverse=True)[1]


def _timed(task: Callable[[], np.ndarray]) -> tuple[np.ndarray, float]:
    begin = time.process_time()
    return task(), time.process_time() - begin
