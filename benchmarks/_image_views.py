"""Views of images: several kinds of features of the same images, without learning or classes.

Images have shape (n, height, width), and each view has shape (n, n_features).
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial

import numpy as np

MOST_ORDER = 8
"""Largest order of the Zernike moments."""

N_ANGLES = 9
"""Number of bins of gradient directions."""

N_CELLS = 4
"""Number of histogram cells along each side of an image."""


def pixels(images: np.ndarray) -> np.ndarray:
    """Return the pixels."""
    return images.reshape(len(images), -1)


def fourier(images: np.ndarray) -> np.ndarray:
    """Return the magnitudes of the Fourier coefficients, which are invariant to cyclic shifts."""
    return np.abs(np.fft.rfft2(images)).reshape(len(images), -1)


def zernike(images: np.ndarray) -> np.ndarray:
    """Return the magnitudes of the Zernike moments, which are invariant to rotation."""
    height, width = images.shape[1:]
    y, x = np.meshgrid(np.linspace(-1, 1, height), np.linspace(-1, 1, width), indexing="ij")
    radius, angle = np.hypot(x, y), np.arctan2(y, x)
    inside = radius <= 1.0
    features = []
    for order in range(MOST_ORDER + 1):
        for turns in range(order % 2, order + 1, 2):
            polynomial = np.zeros_like(radius)
            for s in range((order - turns) // 2 + 1):
                ways = factorial(s) * factorial((order + turns) // 2 - s)
                ways *= factorial((order - turns) // 2 - s)
                polynomial += (-1) ** s * factorial(order - s) / ways * radius ** (order - 2 * s)
            basis = (order + 1) / np.pi * polynomial * np.exp(-1j * turns * angle) * inside
            features.append(np.abs(np.tensordot(images, basis, axes=2)))
    return np.stack(features, axis=1)


def binary_patterns(images: np.ndarray) -> np.ndarray:
    """Return histograms of local binary patterns (LBP) per cell."""
    from skimage.feature import local_binary_pattern

    features = []
    for image in images:
        scaled = np.round(255 * (image - image.min()) / max(float(np.ptp(image)), 1e-12))
        codes = local_binary_pattern(scaled.astype(np.uint8), 8, 1, method="uniform").astype(int)
        features.append(_histograms(codes, np.ones(codes.shape), 10))
    return np.sqrt(features)


def gradients(images: np.ndarray) -> np.ndarray:
    """Return histograms of oriented gradients (HOG) per cell."""
    features = []
    for image in images.astype(np.float64):
        down, right = np.gradient(image)
        angle = np.mod(np.arctan2(down, right), np.pi)
        bins = np.minimum((angle / np.pi * N_ANGLES).astype(int), N_ANGLES - 1)
        features.append(_histograms(bins, np.hypot(down, right), N_ANGLES))
    return np.sqrt(features)


def _histograms(bins: np.ndarray, weights: np.ndarray, n_bins: int) -> np.ndarray:
    """Return the histograms of all cells, each normalized to sum 1."""
    height, width = bins.shape
    rows = np.arange(height) * N_CELLS // height
    columns = np.arange(width) * N_CELLS // width
    cell = rows[:, None] * N_CELLS + columns
    counts = np.bincount((cell * n_bins + bins).ravel(), weights.ravel(), N_CELLS**2 * n_bins)
    table = counts.reshape(-1, n_bins)
    return (table / np.maximum(table.sum(axis=1, keepdims=True), 1e-12)).ravel()


VIEWS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "pixels": pixels,
    "Fourier": fourier,
    "Zernike": zernike,
    "LBP": binary_patterns,
    "HOG": gradients,
}
"""The views by name."""
