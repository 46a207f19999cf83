"""Graphs of images: pixels are similar unless a contour lies between them.

The affinity of two pixels is exp(−(e/σ)²), where e is the strongest contour on the straight line
between them (the intervening contours of Malik, Belongie, Leung and Shi): two patches of one red
are separate if something lies between them, and slow shading is no border. The strength of a
contour is the gradient of the smoothed color, relative to what is usual around it, so that a
texture does not outweigh a faint outline. Only half of what is usual is local, so that noise in a
plain background does not become contours. A thousandth of the affinity depends on the colors of the
two pixels.

Every pixel has edges to the eight around it and to sixteen in a circle. The far edges keep a plain
background in one piece: a split of it cuts all edges that cross the line, while a contour has cut
them already. Superpixels add these edges up, so that a cut of regions has the value of the same cut
of pixels.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.ndimage import gaussian_filter, gaussian_gradient_magnitude

from leastcut.formatting import one_line
from leastcut.optional_packages import needed_for
from leastcut.validation import as_floats, as_plain, check_count, check_number, index_type

DIRECTIONS = 16  # far neighbors of a pixel: no straight border falls between them
SURROUNDINGS = 10.0  # pixels, standard deviation of the window that says what contours are usual
LOCAL_SHARE = 0.5  # of that window; the rest is the mean over the whole image
COMPACTNESS = 0.3  # of superpixels: round shapes against even colors, in scikit-image's units

# The share of colors in an affinity decides for pixels on a contour, which is some pixels wide. The
# least of it, for unrelated colors, keeps the graph connected.
BY_COLOR, LEAST_BY_COLOR = 1e-3, 0.1

LEAST_CONTRAST = 0.01  # below, even rounding would count as a contour
LEAST_SMOOTHING = 0.5  # pixels; a narrower Gaussian misses what lies between two pixels
CHANNELS_AT_MOST = 16  # length of a last axis up to which it may be that of the channels

# The primaries of sRGB under daylight (D65), by the CIE's tristimulus values.
SRGB_TO_XYZ = np.array(
    [[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]]
)


class ImageGraph(sp.csr_array):  # type: ignore[misc]
    """The graph of an image: a ``csr_array`` with the node of every pixel.

    Attributes
    ----------
    regions : ndarray of shape (height, width)
        The node of every pixel.

    Examples
    --------
    >>> import numpy as np
    >>> import leastcut
    >>> graph = leastcut.image_graph(np.eye(3))
    >>> graph.shape, graph.regions[1].tolist()
    ((9, 9), [3, 4, 5])
    """

    regions: np.ndarray

    def __repr__(self) -> str:
        # A matrix that was computed from the graph of an image has no pixels.
        pixels = getattr(getattr(self, "regions", None), "shape", None)
        return one_line(self, n_nodes=self.shape[0], n_stored=self.nnz, pixels=pixels)

    def to_image(self, labels: npt.ArrayLike) -> np.ndarray:
        """Return the value of its node for every pixel: labels in, segments out.

        Parameters
        ----------
        labels : array-like of shape (n_nodes,)
            A label, or any other value, for every node.

        Returns
        -------
        ndarray of shape (height, width)

        Examples
        --------
        >>> import leastcut
        >>> graph = leastcut.image_graph([[0.0, 0.1, 0.9, 1.0]])
        >>> graph.to_image(leastcut.partition(graph, 2, random_state=0).labels)
        array([[0, 0, 1, 1]])
        """
        regions = getattr(self, "regions", None)
        if regions is None:
            raise AttributeError(
                "This matrix was computed from the graph of an image and no longer knows its "
                "pixels; call to_image on what leastcut.image_graph returned."
            )
        values = np.asarray(labels)
        if values.shape[:1] != (self.shape[0],):
            raise ValueError(
                f"labels must have one entry for each of the {self.shape[0]} nodes, but its "
                f"shape is {values.shape}."
            )
        return np.asarray(values[regions])


def image_graph(
    image: npt.ArrayLike,
    *,
    radius: int = 5,
    contrast: float = 0.6,
    smoothing: float = 1.5,
    superpixels: int | None = None,
    value_range: tuple[float, float] | None = None,
) -> ImageGraph:
    """Return a graph of the pixels of an image whose smallest cuts run along contours.

    Ask for about as many clusters as there are things to see, the background included; "auto" says
    1 for most images. For the pixels of a photograph, ``effort="fast"`` avoids eigenvectors, which
    take several times as long; a cut of superpixels, passed as ``init``, can improve its result.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, n_channels)
        Gray or with several channels. Three channels are red, green and blue, compared as the eye
        does (CIE Lab); any other number is compared as it is.
    radius : int, default=5
        Reach of the edges, in pixels: to the eight pixels around each, and if it is more than 1 to
        sixteen at this distance. A larger radius splits plain areas less, and misses narrow things.
    contrast : float, default=0.6
        The strength of a contour that leaves an affinity of 1/e, in units of what is usual in the
        image. The smaller, the fainter the contours that count.
    smoothing : float, default=1.5
        Standard deviation, in pixels, of the Gaussian that smooths the colors.
    superpixels : int, optional
        About how many regions to take as nodes instead of pixels; SLIC computes them, which needs
        scikit-image. The edges between their pixels add up: a cut of regions has the value of the
        same cut of pixels.
    value_range : (float, float), optional
        The values of black and white. By default those of the type for booleans and unsigned
        integers; for other numbers 0 and 1 if none is beyond, else the smallest and the largest.

    Returns
    -------
    ImageGraph
        A ``csr_array`` of shape (n_nodes, n_nodes). Its nodes are the pixels row by row, or the
        superpixels; its ``to_image`` converts their labels to segments.

    References
    ----------
    J. Malik, S. Belongie, T. Leung and J. Shi, "Contour and texture analysis for image
    segmentation", International Journal of Computer Vision 43, 2001.

    R. Achanta et al., "SLIC superpixels compared to state-of-the-art superpixel methods", IEEE
    Transactions on Pattern Analysis and Machine Intelligence 34, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> import leastcut
    >>> image = np.zeros((40, 60))
    >>> image[10:30, 20:40] = 1.0
    >>> graph = leastcut.image_graph(image)
    >>> found = leastcut.partition(graph, 2, random_state=0)
    >>> segments = graph.to_image(found.labels)
    >>> bool((segments == image).mean() > 0.95)
    True
    """
    radius = check_count("radius", radius)
    contrast = check_number("contrast", contrast, LEAST_CONTRAST)
    smoothing = check_number("smoothing", smoothing, LEAST_SMOOTHING)
    colors = _colors(_scaled(image, value_range))
    n_pixels = colors.shape[0] * colors.shape[1]
    regions = np.arange(n_pixels).reshape(colors.shape[:2])
    if superpixels is not None:
        if check_count("superpixels", superpixels) > n_pixels:
            raise ValueError(
                f"superpixels={superpixels} is more than the {n_pixels} pixels there are; choose "
                "fewer, or None for the graph of the pixels themselves."
            )
        regions = _superpixels(colors, superpixels)
    matrix = _pixel_graph(colors, _contours(colors, smoothing) / contrast, radius)
    graph = ImageGraph(matrix if superpixels is None else _contracted(matrix, regions))
    graph.regions = regions
    return graph


# -- colors


def _scaled(image: npt.ArrayLike, value_range: tuple[float, float] | None) -> np.ndarray:
    """Return an image as (height, width, channels), from 0 for black to 1 for white."""
    plain = as_plain("image", image)
    kind, values = plain.dtype, as_floats("image", plain)
    if values.ndim not in (2, 3) or 0 in values.shape:
        raise ValueError(
            "image must be of shape (height, width) or (height, width, n_channels), none of them "
            f"0, but its shape is {values.shape}."
        )
    if values.ndim == 3 and values.shape[0] in (1, 3) and values.shape[2] > CHANNELS_AT_MOST:
        raise ValueError(
            f"image has shape {values.shape}, which looks like channels before pixels; pass "
            "numpy.moveaxis(image, 0, -1)."
        )
    if not np.isfinite(values).all():
        raise ValueError("image holds NaN or infinity; every pixel must be finite.")
    low, high = float(values.min()), float(values.max())
    if value_range is not None:
        black, white = _check_range(value_range)
    elif kind.kind == "u":
        black, white = 0.0, float(np.iinfo(kind).max)
    else:
        black, white = (0.0, 1.0) if low >= 0.0 and high <= 1.0 else (low, high)
    if low < black or high > white:
        raise ValueError(
            f"image has values from {low:g} to {high:g}, beyond value_range=({black:g}, "
            f"{white:g}); widen it, or clip the image."
        )
    # Halved first, as a difference could overflow; an image of one value is black.
    span = white / 2 - black / 2
    scaled = (values / 2 - black / 2) / (span if span > 0 else 1.0)
    return scaled if scaled.ndim == 3 else scaled[:, :, np.newaxis]


def _check_range(value_range: Any) -> tuple[float, float]:
    try:
        black, white = map(float, value_range)
    except (TypeError, ValueError):
        raise TypeError(
            f"value_range={value_range!r} must be two numbers, the values of black and white."
        ) from None
    if not -math.inf < black < white < math.inf:
        raise ValueError(
            f"value_range={value_range!r} must be two finite numbers, the smaller first."
        )
    return black, white


def _colors(scaled: np.ndarray) -> np.ndarray:
    """Return red, green and blue as CIE Lab, and other channels times 100, like its lightness."""
    if scaled.shape[2] != 3:
        return np.asarray(100.0 * scaled)
    linear = np.where(scaled > 0.04045, ((scaled + 0.055) / 1.055) ** 2.4, scaled / 12.92)
    # White has the tristimulus values of the three primaries together.
    relative = linear @ (SRGB_TO_XYZ / SRGB_TO_XYZ.sum(axis=1, keepdims=True)).T
    dark = relative * (29 / 6) ** 2 / 3 + 4 / 29
    x, y, z = np.moveaxis(np.where(relative > (6 / 29) ** 3, np.cbrt(relative), dark), 2, 0)
    return np.stack((116 * y - 16, 500 * (x - y), 200 * (y - z)), axis=2)


def _contours(colors: np.ndarray, smoothing: float) -> np.ndarray:
    """Return the strength of the contour at every pixel, in units of what is usual there."""
    squared = np.zeros(colors.shape[:2])
    for channel in np.moveaxis(colors, 2, 0):
        squared += gaussian_gradient_magnitude(channel, smoothing, mode="nearest") ** 2
    usual = LOCAL_SHARE * gaussian_filter(squared, SURROUNDINGS, mode="nearest")
    usual += (1 - LOCAL_SHARE) * squared.mean()
    # An image of one color has no contours.
    return np.asarray(np.sqrt(squared / np.where(usual > 0, usual, 1.0)))


# -- edges


def _pixel_graph(colors: np.ndarray, strength: np.ndarray, radius: int) -> sp.csr_array:
    """Return the affinities of pixels, row by row; every kind of edge is a shift of the image."""
    height, width = strength.shape
    # 1. The affinities along every step, and the same in the opposite direction. Colors are in
    #    units of the root mean square difference of adjacent pixels, if they differ at all.
    squares = [np.sum(np.diff(colors, axis=axis) ** 2) for axis in (0, 1)]
    usual = math.sqrt(sum(squares) / strength.size) or 1.0
    planes = np.ascontiguousarray(np.moveaxis(colors / usual, 2, 0))
    affinities = {}
    for down, right in _steps(radius):
        if down < height and abs(right) < width:
            affinities[down, right] = _affinities(planes, strength, down, right)
            affinities[-down, -right] = affinities[down, right]
    # 2. The first entry of every pixel.
    shape, n_pixels = (height, width), height * width
    counts = np.zeros(shape, dtype=np.int64)
    for step in affinities:
        counts[_inside(*step)] += 1
    indptr = np.concatenate(([0], np.cumsum(counts)))
    # 3. The entries, in the order of their columns, each at the next place of its row.
    index = index_type(max(int(indptr[-1]), n_pixels))
    indices, weights = np.empty(indptr[-1], dtype=index), np.empty(indptr[-1])
    nodes = np.arange(n_pixels, dtype=index).reshape(shape)
    following = indptr[:-1].reshape(shape).copy()
    for down, right in sorted(affinities):
        here = _inside(down, right)
        places = following[here]
        indices[places] = nodes[here] + (down * width + right)
        weights[places] = affinities[down, right]
        following[here] += 1
    return sp.csr_array((weights, indices, indptr.astype(index)), shape=(n_pixels, n_pixels))


def _steps(radius: int) -> list[tuple[int, int]]:
    """Return the steps (down, right) to half of a pixel's neighbors; the others are opposite."""
    steps = [(0, 1), (1, -1), (1, 0), (1, 1)]
    for number in range(DIRECTIONS // 2 if radius > 1 else 0):
        angle = 2 * math.pi * number / DIRECTIONS
        steps.append((round(radius * math.sin(angle)), round(radius * math.cos(angle))))
    return list(dict.fromkeys(steps))


def _inside(down: int, right: int) -> tuple[slice, slice]:
    """Return the pixels from which a step stays inside the image."""
    return (
        slice(max(0, -down), -down if down > 0 else None),
        slice(max(0, -right), -right if right > 0 else None),
    )


def _affinities(planes: np.ndarray, strength: np.ndarray, down: int, right: int) -> np.ndarray:
    """Return the affinity of every pixel and the one a step away."""
    here, there = _inside(down, right), _inside(-down, -right)
    # 1. By the strongest contour on the line, which passes both pixels if it runs between two.
    top, left = here[0].start, here[1].start
    tall, wide = strength[here].shape
    strongest = np.zeros((tall, wide))
    length = max(abs(down), abs(right))
    for part in range(length + 1):
        rows, columns = (
            {math.floor(way * part / length + 0.5), math.ceil(way * part / length - 0.5)}
            for way in (down, right)
        )
        for y in rows:
            for x in columns:
                passed = strength[top + y : top + y + tall, left + x : left + x + wide]
                np.maximum(strongest, passed, out=strongest)
    # 2. To a small part, by the difference of the two colors.
    differing = np.zeros((tall, wide))
    for plane in planes:
        differing += (plane[here] - plane[there]) ** 2
    by_color = LEAST_BY_COLOR + (1 - LEAST_BY_COLOR) * np.exp(-differing)
    return np.asarray((1 - BY_COLOR) * np.exp(-(strongest**2)) + BY_COLOR * by_color)


# -- superpixels


def _superpixels(colors: np.ndarray, count: int) -> np.ndarray:
    """Return the superpixel of every pixel, 0, 1, 2, ..."""
    with needed_for("Superpixels", "skimage", "image"):
        from skimage.segmentation import slic
    options = {"convert2lab": False, "channel_axis": 2, "start_label": 0}
    regions = slic(colors, n_segments=count, compactness=COMPACTNESS, **options)
    # It may leave numbers out.
    return np.unique(regions, return_inverse=True)[1].reshape(regions.shape)


def _contracted(pixels: sp.csr_array, regions: np.ndarray) -> sp.csr_array:
    """Return the graph of regions: the sums of their pixels' affinities, inside a region a loop."""
    n_pixels = regions.size
    one_each = np.ones(n_pixels), regions.reshape(-1), np.arange(n_pixels + 1)
    belongs = sp.csr_array(one_each, shape=(n_pixels, int(regions.max()) + 1))
    graph = sp.csr_array(belongs.T @ pixels @ belongs)
    # Both directions are summed in different orders, and rounded differently.
    return sp.csr_array((graph + graph.T) / 2)
