"""Pictures: PNG, JPEG and what else Pillow opens."""

from __future__ import annotations

import numpy as np

from leastcut.io.loaded import Loaded, Wanted
from leastcut.io.source import Source, blamed
from leastcut.optional_packages import needed_for


def read_image(source: Source, wanted: Wanted) -> Loaded:
    """Read a picture as brightness, shape (height, width), or as colours, (height, width, 3).

    Values are from 0 to 255, or 65535 in pictures of 16 bits. Where it has several frames the first
    is read, and where it is transparent the colours are taken as they are.
    """
    if wanted.kind is not None or wanted.names_columns:
        raise ValueError(f"{source.name} is a picture, which holds no table of points or edges.")
    with needed_for("Pictures", "PIL", "cli"):
        from PIL import Image, ImageOps
    with blamed(source, "a picture"), source.opened() as file, Image.open(file) as picture:
        upright = ImageOps.exif_transpose(picture)  # as cameras say that they were held
        if upright.mode.startswith(("I", "F")):
            found = np.asarray(upright)
        else:
            grey = upright.mode in ("1", "L", "LA")
            found = np.asarray(upright.convert("L" if grey else "RGB"))
    return Loaded("image", found, source.name)
