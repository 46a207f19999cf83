"""Graphs of images by intervening contours.

The affinity of two pixels is exp(−(e/σ)²), where e is the strongest contour on the straight line
between them (the intervening contours of Malik, Belongie, Leung and Shi). Regions of the same color
are therefore separate if there is a contour between them, and gradual shading is not a border. The
strength of a contour is the gradient of the smoothed color, relative to the mean gradient around
it, so that a texture does not outweigh a faint outline. Half of that mean is over the full image,
so that noise in a uniform background is not amplified. A fraction of 0.001 of the affinity depends
on the colors of the two pixels.

Every pixel has edges to its eight neighbors and to sixteen pixels on a circle. The long edges keep
a uniform background together: a split of it cuts all edges across the line, but the affinities
across a contour are small. The edges of superpixels are sums of these, so a cut of superpixels has
the value of the same cut of pixels.
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

DIRECTIONS = 16  # distant neighbors of a pixel
WINDOW = 10.0  # pixels, standard deviation of the window for the mean gradient
LOCAL_FRACTION = 0.5  # of the mean gradient in that window; the rest is the mean over the image
COMPACTNESS = 0.3  # of superpixels, as in scikit-image

# The fraction of an affinity that depends on colors, which decides for pixels on a contour. Its
# minimum, for different colors, keeps the graph connected.
BY_COLOR, LEAST_BY_COLOR = 1e-3, 0.1

LEAST_CONTRAST = 0.01  # below it, rounding errors would count as contours
LEAST_SMOOTHING = 0.5  # pixels; a narrower Gaussian misses contours between two pixels
CHANNELS_AT_MOST = 16  # largest number of channels

# The primaries of sRGB for D65, as CIE tristimulus values.
SRGB_TO_XYZ = np.array(
    [[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]]
)


class ImageGraph(sp.csr_array):  # type: ignore[misc]
    """Graph of an image: a ``csr_array`` that knows the node of every pixel.

    Attributes
    ----------
    regions : ndarray of shape (height, width)
        The node of every pixel.

    See Also
    --------
    image_graph : Construct the graph of an image.
    partition : Cut the graph.

    Notes
    -----
    Results of matrix operations have no ``regions``.

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
        pixels = getattr(getattr(self, "regions", None), "shape", None)
        return one_line(self, n_nodes=self.shape[0], n_stored=self.nnz, pixels=pixels)

    def to_image(self, labels: npt.ArrayLike) -> np.ndarray:
        """Return the label of every pixel from the labels of the nodes.

        Parameters
        ----------
        labels : array-like of shape (n_nodes,)
            The label, or another value, of every node.

        Returns
        -------
        ndarray of shape (height, width)
            The label of every pixel.

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
                "This matrix is the result of an operation and has no pixels; call to_image on "
                "what leastcut.image_graph returned."
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
    """Construct a graph of the pixels of an image, whose smallest cuts follow contours.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, n_channels)
        A gray image, or an image with several channels. Three channels are red, green and blue, and
        are compared in CIE Lab; other channels are compared by their values.
    radius : int, default=5
        Length of the edges in pixels. Every pixel is connected to its eight neighbors and, if
        ``radius`` is larger than 1, to sixteen pixels at this distance. A larger radius splits
        uniform regions less often, and misses narrow objects.
    contrast : float, default=0.6
        Strength of a contour, relative to the mean gradient, that reduces an affinity to 1/e.
        Smaller values make fainter contours count.
    smoothing : float, default=1.5
        Standard deviation, in pixels, of the Gaussian filter applied to the colors.
    superpixels : int, optional
        Approximate number of superpixels to use as nodes instead of pixels. They are computed by
        SLIC, which requires scikit-image (``leastcut[image]``).
    value_range : (float, float), optional
        The values of black and white. By default the range of the type for booleans and unsigned
        integers. For other types (0, 1) if all values are in it, else the smallest and the largest
        value.

    Returns
    -------
    ImageGraph
        A ``csr_array`` of shape (n_nodes, n_nodes). Its nodes are the pixels row by row, or the
        superpixels. Its method ``to_image`` returns the label of every pixel.

    See Also
    --------
    ImageGraph : The graph, with the node of every pixel.
    partition : Cut the graph.

    Notes
    -----
    Choose about as many clusters as there are objects, including the background; ``"auto"`` often
    chooses 1. For the pixels of a photograph, use ``effort="fast"``; a cut of superpixels, passed
    as ``init``, can improve its result. Edges between superpixels are sums of edges between pixels,
    so a cut of superpixels has the value of the same cut of pixels.

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
    >>> result = leastcut.partition(graph, 2, random_state=0)
    >>> segments = graph.to_image(result.labels)
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
                f"superpixels={superpixels} is more than the {n_pixels} pixels of the image; "
                "choose fewer, or None for a graph of pixels."
            )
        regions = _superpixels(colors, superpixels)
    matrix = _pixel_graph(colors, _contours(colors, smoothing) / contrast, radius)
    graph = ImageGraph(matrix if superpixels is None else _contracted(matrix, regions))
    graph.regions = regions
    return graph


# -- colors


def _scaled(image: npt.ArrayLike, value_range: tuple[float, float] | None) -> np.ndarray:
    """Return an image of shape (height, width, channels), scaled to 0 for black and 1 for white."""
    plain = as_plain("image", image)
    kind, values = plain.dtype, as_floats("image", plain)
    if values.ndim not in (2, 3) or 0 in values.shape:
        raise ValueError(
            "image must have shape (height, width) or (height, width, n_channels) and must not be "
            f"empty, but its shape is {values.shape}."
        )
    if values.ndim == 3 and values.shape[0] in (1, 3) and values.shape[2] > CHANNELS_AT_MOST:
        raise ValueError(
            f"image has shape {values.shape}, in which the channels seem to come first; pass "
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
            f"image has values from {low:g} to {high:g}, outside of value_range=({black:g}, "
            f"{white:g}); widen it, or clip the image."
        )
    # Halved before the subtraction, which could overflow. An image of one value is black.
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
    """Return RGB images in CIE Lab, and other channels scaled to 100, the range of lightness."""
    if scaled.shape[2] != 3:
        return np.asarray(100.0 * scaled)
    linear = np.where(scaled > 0.04045, ((scaled + 0.055) / 1.055) ** 2.4, scaled / 12.92)
    # The tristimulus values of white are the sums over the primaries.
    relative = linear @ (SRGB_TO_XYZ / SRGB_TO_XYZ.sum(axis=1, keepdims=True)).T
    dark = relative * (29 / 6) ** 2 / 3 + 4 / 29
    x, y, z = np.moveaxis(np.where(relative > (6 / 29) ** 3, np.cbrt(relative), dark), 2, 0)
    return np.stack((116 * y - 16, 500 * (x - y), 200 * (y - z)), axis=2)


def _contours(colors: np.ndarray, smoothing: float) -> np.ndarray:
    """Return the strength of the contour at every pixel, relative to the mean gradient."""
    squared = np.zeros(colors.shape[:2])
    for channel in np.moveaxis(colors, 2, 0):
        squared += gaussian_gradient_magnitude(channel, smoothing, mode="nearest") ** 2
    mean = LOCAL_FRACTION * gaussian_filter(squared, WINDOW, mode="nearest")
    mean += (1 - LOCAL_FRACTION) * squared.mean()
    # The mean is 0 for an image of one color, which has no contours.
    return np.asarray(np.sqrt(squared / np.where(mean > 0, mean, 1.0)))


# -- edges


def _pixel_graph(colors: np.ndarray, strength: np.ndarray, radius: int) -> sp.csr_array:
    """Return the affinities of pixels as a CSR array."""
    height, width = strength.shape
    # 1. The affinities along every step, in both directions. Colors are scaled by the root mean
    #    square difference of adjacent pixels.
    squares = [np.sum(np.diff(colors, axis=axis) ** 2) for axis in (0, 1)]
    scale = math.sqrt(sum(squares) / strength.size) or 1.0
    planes = np.ascontiguousarray(np.moveaxis(colors / scale, 2, 0))
    affinities = {}
    for down, right in _steps(radius):
        if down < height and abs(right) < width:
            affinities[down, right] = _affinities(planes, strength, down, right)
            affinities[-down, -right] = affinities[down, right]
    # 2. The row pointers.
    shape, n_pixels = (height, width), height * width
    counts = np.zeros(shape, dtype=np.int64)
    for step in affinities:
        counts[_inside(*step)] += 1
    indptr = np.concatenate(([0], np.cumsum(counts)))
    # 3. The entries, in the order of their columns.
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
    """Return the pixels from which a step stays within the image."""
    return (
        slice(max(0, -down), -down if down > 0 else None),
        slice(max(0, -right), -right if right > 0 else None),
    )


def _affinities(planes: np.ndarray, strength: np.ndarray, down: int, right: int) -> np.ndarray:
    """Return the affinity of every pixel to the pixel one step away."""
    here, there = _inside(down, right), _inside(-down, -right)
    # 1. The strongest contour on the line; where it runs between two pixels, both count.
    top, left = here[0].start, here[1].start
    tall, wide = strength[here].shape
    strongest = np.zeros((tall, wide))
    length = max(abs(down), abs(right))
    for position in range(length + 1):
        rows, columns = (
            {math.floor(way * position / length + 0.5), math.ceil(way * position / length - 0.5)}
            for way in (down, right)
        )
        for y in rows:
            for x in columns:
                passed = strength[top + y : top + y + tall, left + x : left + x + wide]
                np.maximum(strongest, passed, out=strongest)
    # 2. The difference of the two colors.
    differing = np.zeros((tall, wide))
    for plane in planes:
        differing += (plane[here] - plane[there]) ** 2
    by_color = LEAST_BY_COLOR + (1 - LEAST_BY_COLOR) * np.exp(-differing)
    return np.asarray((1 - BY_COLOR) * np.exp(-(strongest**2)) + BY_COLOR * by_color)


# -- superpixels


def _superpixels(colors: np.ndarray, count: int) -> np.ndarray:
    """Return the superpixel of every pixel, numbered from 0 without gaps."""
    with needed_for("Superpixels", "skimage", "image"):
        from skimage.segmentation import slic
    options = {"convert2lab": False, "channel_axis": 2, "start_label": 0}
    regions = slic(colors, n_segments=count, compactness=COMPACTNESS, **options)
    return np.unique(regions, return_inverse=True)[1].reshape(regions.shape)


def _contracted(pixels: sp.csr_array, regions: np.ndarray) -> sp.csr_array:
    """Return the graph of regions by summing affinities of pixels; regions have self-loops."""
    n_pixels = regions.size
    one_each = np.ones(n_pixels), regions.reshape(-1), np.arange(n_pixels + 1)
    belongs = sp.csr_array(one_each, shape=(n_pixels, int(regions.max()) + 1))
    graph = sp.csr_array(belongs.T @ pixels @ belongs)
    # Symmetrized, as sums in both directions are rounded differently.
    return sp.csr_array((graph + graph.T) / 2)
