"""Graphs of images: properties, cuts, and types of images."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import leastcut

IMAGES = hnp.arrays(
    np.float64,
    st.one_of(
        st.tuples(st.integers(1, 12), st.integers(1, 12)),
        st.tuples(st.integers(1, 12), st.integers(1, 12), st.integers(1, 4)),
    ),
    elements=st.floats(0, 1),
)


def square(height: int = 40, width: int = 60) -> np.ndarray:
    image = np.zeros((height, width))
    image[height // 4 : -height // 4, width // 3 : -width // 3] = 1.0
    return image


def equal(one: sp.csr_array, other: sp.csr_array) -> bool:
    return one.shape == other.shape and bool((one != other).nnz == 0)


@given(IMAGES, st.integers(1, 15))
@settings(max_examples=draws(60), deadline=None)
def test_a_graph_is_symmetric_sorted_positive_and_connected(image, radius):
    graph = leastcut.image_graph(image, radius=radius)
    assert isinstance(graph, sp.csr_array)
    assert graph.shape == (image.shape[0] * image.shape[1],) * 2
    assert equal(graph, graph.T.tocsr())
    assert graph.has_canonical_format
    assert graph.nnz == 0 or 0 < graph.data.min() <= graph.data.max() <= 1
    assert graph.diagonal().sum() == 0
    assert sp.csgraph.connected_components(graph)[0] == 1


@given(IMAGES, st.integers(1, 6))
@settings(max_examples=draws(40), deadline=None)
def test_rotating_the_image_permutes_the_graph(image, radius):
    graph = leastcut.image_graph(image, radius=radius)
    for axis in (0, 1):
        turned = leastcut.image_graph(np.flip(image, axis), radius=radius)
        order = np.flip(graph.regions, axis).reshape(-1)
        assert abs(graph[order][:, order] - turned).max() < 1e-9


@given(IMAGES, st.floats(1e-3, 1e3), st.floats(-10, 10))
@settings(max_examples=draws(40), deadline=None)
def test_the_graph_does_not_depend_on_brightness_and_contrast(image, factor, offset):
    gray = image if image.ndim == 2 else image[:, :, 0]
    # Without differences that are lost by rounding.
    gray = np.round(gray, 3)
    other = leastcut.image_graph(
        offset + factor * gray, value_range=(offset - factor, offset + 3 * factor)
    )
    assert abs(leastcut.image_graph(gray) - other).max() < 1e-6


def test_pixels_have_eight_near_and_sixteen_distant_neighbors():
    for radius, count in ((1, 8), (5, 24)):
        graph = leastcut.image_graph(np.zeros((30, 30)), radius=radius)
        neighbors = graph.indices[graph.indptr[465] : graph.indptr[466]]
        y, x = np.divmod(neighbors, 30)
        distances = np.hypot(y - 15, x - 15)
        assert len(neighbors) == count
        assert distances.max() < radius + 1
        assert np.count_nonzero(distances < 1.5) == 8


def test_affinities_are_high_in_uniform_areas_and_low_across_contours():
    image = square()
    graph = leastcut.image_graph(image)
    inside, outside = graph.regions[20, 30], graph.regions[20, 5]
    assert graph[inside, inside + 1] > 0.99
    assert graph[outside, outside + 1] > 0.99
    edge = graph.regions[20, 19]
    assert image[20, 19] != image[20, 20]
    assert graph[edge, edge + 1] < 0.01
    # Two pixels at a distance of five, on different sides of the contour.
    assert graph[graph.regions[20, 17], graph.regions[20, 22]] < 0.01


def test_the_smallest_cut_is_the_exact_outline():
    image = square()
    graph = leastcut.image_graph(image)
    result = leastcut.partition(graph, 2, random_state=0)
    assert (graph.to_image(result.labels) == image).all()


def test_types_and_memory_layouts_give_the_same_graph():
    gray = (square() * 200 + 20).astype(np.uint8)
    reference = leastcut.image_graph(gray)
    for other in (
        gray / 255,
        (gray / 255).astype(np.float32),
        gray.astype(np.uint16) * 257,
        np.asfortranarray(gray),
        gray[:, :, np.newaxis],
        gray.tolist(),
    ):
        assert abs(leastcut.image_graph(other) - reference).max() < 1e-4
    mask = square().astype(bool)
    assert equal(leastcut.image_graph(mask), leastcut.image_graph(mask.astype(float)))


def test_the_image_is_not_changed():
    image = np.random.default_rng(0).integers(0, 256, (9, 11, 3), dtype=np.uint8)
    before = image.copy()
    image.flags.writeable = False
    leastcut.image_graph(image)
    assert (image == before).all()


def test_colors_of_the_same_lightness_differ():
    # Red and green of the same lightness, L = 46.2 in CIE Lab.
    image = np.zeros((20, 20, 3))
    image[:, :10], image[:, 10:] = (0.8667, 0.0, 0.0), (0.0, 0.4962, 0.0)
    graph = leastcut.image_graph(image)
    assert graph[graph.regions[10, 9], graph.regions[10, 10]] < 0.01


def test_colors_agree_with_scikit_image():
    color = pytest.importorskip("skimage.color")
    from leastcut.integrations.images import _colors

    image = np.random.default_rng(0).random((20, 20, 3)) ** 3
    assert np.abs(_colors(image) - color.rgb2lab(image)).max() < 0.05


def test_cuts_of_superpixels_have_the_value_of_cuts_of_pixels():
    pytest.importorskip("skimage")
    image = np.random.default_rng(0).random((30, 40, 3)) * 0.2 + square(30, 40)[:, :, None] * 0.8
    pixels, regions = leastcut.image_graph(image), leastcut.image_graph(image, superpixels=60)
    assert regions.shape[0] == regions.regions.max() + 1 < 100
    assert equal(regions, regions.T.tocsr())
    result = leastcut.partition(regions, 4, random_state=0)
    segments = regions.to_image(result.labels)
    assert segments.shape == (30, 40)
    value = leastcut.cut_value(pixels, segments.reshape(-1))
    assert value == pytest.approx(result.cut_value, rel=1e-9)
    assert leastcut.refine(pixels, segments.reshape(-1)).cut_value <= value * (1 + 1e-12)


def test_superpixels_without_scikit_image_name_the_command_to_install_it():
    code = (
        "import sys; sys.modules['skimage'] = None\n"
        "import leastcut\n"
        "leastcut.image_graph([[0.0, 1.0]] * 4)\n"
        "try: leastcut.image_graph([[0.0, 1.0]] * 4, superpixels=2)\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'leastcut[image]'" in done.stdout


@pytest.mark.parametrize(
    ("image", "settings", "error", "message"),
    [
        (np.zeros(5), {}, ValueError, r"shape is \(5,\)"),
        (np.zeros((0, 3)), {}, ValueError, r"shape is \(0, 3\)"),
        (np.zeros((3, 40, 50)), {}, ValueError, "moveaxis"),
        (np.array([[0.0, np.nan]]), {}, ValueError, "NaN"),
        (np.ma.masked_equal([[0, 1]], 1), {}, ValueError, "masked"),
        (np.array([["a", "b"]]), {}, TypeError, "real numbers"),
        (np.eye(3), {"radius": 0}, ValueError, "radius=0"),
        (np.eye(3), {"radius": 2.5}, TypeError, "radius=2.5"),
        (np.eye(3), {"contrast": 0}, ValueError, "contrast=0"),
        (np.eye(3), {"smoothing": 0.1}, ValueError, "smoothing=0.1"),
        (np.eye(3), {"superpixels": 0}, ValueError, "superpixels=0"),
        (np.eye(3), {"superpixels": 10}, ValueError, "9 pixels"),
        (np.eye(3), {"value_range": (0, 0.5)}, ValueError, "from 0 to 1"),
        (np.eye(3), {"value_range": (1, 0)}, ValueError, "smaller first"),
        (np.eye(3), {"value_range": 255}, TypeError, "two numbers"),
    ],
)
def test_invalid_images_are_rejected(image, settings, error, message):
    with pytest.raises(error, match=message):
        leastcut.image_graph(image, **settings)


def test_labels_of_wrong_length_are_rejected():
    graph = leastcut.image_graph(np.eye(3))
    with pytest.raises(ValueError, match="each of the 9 nodes"):
        graph.to_image([0, 1])
    with pytest.raises(AttributeError, match=r"what leastcut\.image_graph returned"):
        (2 * graph).to_image(np.zeros(9))


def test_values_at_the_ends_of_the_range_of_floats():
    for low, high in ((-1e308, 1e308), (0.0, 5e-324), (1e15, 1e15 + 1)):
        graph = leastcut.image_graph(np.where(square() > 0, high, low))
        assert np.isfinite(graph.data).all()
        assert sp.csgraph.connected_components(graph)[0] == 1
