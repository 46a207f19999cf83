"""The segments of a picture, coloured: clusters by hue, light and shade as they were."""

from __future__ import annotations

import io

import numpy as np

from leastcut.cli.outputs import Output
from leastcut.optional_packages import needed_for

COLOUR_SHARE = 0.6
"""How much of a pixel is the colour of its cluster; the rest is how bright the picture is there."""

FORMATS = {".jpg": "JPEG", ".jpeg": "JPEG", ".tif": "TIFF", ".tiff": "TIFF"}
"""What Pillow calls the formats whose names are not what files end in."""


def coloured(image: np.ndarray, segments: np.ndarray) -> np.ndarray:
    """Return the picture with every segment in a colour of its own, lines between them.

    Parameters
    ----------
    image : ndarray of shape (height, width) or (height, width, 3)
    segments : ndarray of shape (height, width)
        The cluster of every pixel.

    Returns
    -------
    uint8 ndarray of shape (height, width, 3)
    """
    from leastcut.plot.canvas import CLUSTER_COLORS

    palette = np.array(
        [[int(light[i : i + 2], 16) for i in (1, 3, 5)] for light, _ in CLUSTER_COLORS.values()],
        dtype=np.float64,
    )
    grey = image.astype(np.float64)
    grey = grey if grey.ndim == 2 else grey[:, :, :3].mean(axis=2)
    span = float(grey.max() - grey.min()) or 1.0
    grey = 255.0 * (grey - grey.min()) / span
    shown = COLOUR_SHARE * palette[segments % len(palette)] + (1 - COLOUR_SHARE) * grey[:, :, None]
    edge = np.zeros(segments.shape, dtype=bool)
    edge[:, 1:] |= segments[:, 1:] != segments[:, :-1]
    edge[1:] |= segments[1:] != segments[:-1]
    shown[edge] = 255.0
    return np.asarray(np.round(shown), dtype=np.uint8)


def write_image(output: Output, pixels: np.ndarray) -> None:
    """Write a picture, whole or not at all."""
    with needed_for("Pictures", "PIL", "cli"):
        from PIL import Image
    buffer = io.BytesIO()
    suffix = output.suffix
    Image.fromarray(pixels).save(buffer, FORMATS.get(suffix, suffix[1:].upper()))
    output.write_bytes(buffer.getvalue())
