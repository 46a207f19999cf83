"""The sources of the datasets: scikit-learn, OpenML, or web pages and their owners.

scikit-learn caches everything that OpenML sends. Here downloads go to a temporary folder, so that
an incomplete, damaged or different dataset is downloaded again the next time. A dataset that passes
the checks is kept as an .npz file with its samples and classes.
"""

from __future__ import annotations

import socket
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.data.readers import Samples, as_samples
from reproduction.files import replacing

SILENT_SECONDS = 30.0
"""Timeout for an answer of OpenML, long enough for a slow connection."""

RETRIES = 1
"""Retries of a download, the minimum that scikit-learn accepts. It retries the description of a
dataset three times regardless of this value."""


@dataclass(frozen=True)
class OpenML:
    """A dataset of OpenML, and the function that converts it to the paper's version.

    ``tried`` is True if a download has been compared with the paper's dataset.
    """

    data_id: int
    prepare: Callable[[np.ndarray, np.ndarray], Samples] | None = None
    tried: bool = False


class UntriedSourceWarning(UserWarning):
    """A dataset is from a source that has not been compared with the paper's dataset."""


def _standardized(X: np.ndarray, y: np.ndarray) -> Samples:
    """Return z-scored features, as in the paper's SEGMENT; constant features are zeros."""
    deviation = X.std(axis=0, ddof=1)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0), y


def _last_ten_thousand(X: np.ndarray, y: np.ndarray) -> Samples:
    """Return the test set, which follows the training set in OpenML's version."""
    return X[-10_000:], y[-10_000:]


BUNDLED = {
    "wine": "load_wine",
    "digits": "load_digits",
    "iris": "load_iris",
    "breast_cancer": "load_breast_cancer",
}
"""Datasets of scikit-learn, and the functions that load them."""

OPENML = {
    "glass": OpenML(41),
    "segment": OpenML(36, _standardized),
    "usps": OpenML(41082),
    "fashion": OpenML(40996, _last_ten_thousand),
}
"""Datasets that OpenML should have with the paper's shape. They were not compared with the paper's
for lack of a network connection; set ``tried=True`` after doing so."""

WHERE = {
    "jaffe": "the JAFFE face database at 32 x 32 pixels; its terms require every user to register",
    "umist": "the UMIST (Sheffield) faces at 32 x 32 pixels, UMIST.mat in the data folder of the "
    "AdaGAE repository (hyzhang98/AdaGAE on GitHub)",
    "orl": "the ORL (AT&T) faces at 32 x 32 pixels, ORL_32x32.mat on Deng Cai's page of face data",
    "yale": "the Yale faces at 32 x 32 pixels, Yale_32x32.mat on Deng Cai's page of face data",
    "coil20": "Columbia's object images at 32 x 32 pixels, COIL20.mat on Deng Cai's page",
    "msra": "MSRA25_uni.mat, 1799 faces of 12 people at 16 x 16 pixels, in repositories of "
    "feature-selection papers",
    "glass": "the UCI repository (Glass Identification, without the Id column) or OpenML 41",
    "segment": "the UCI repository (Image Segmentation, all 2310 rows, z-scored) or OpenML 36",
    "usps": "the smoothed version (not the other one): usps and usps.t, 7291 + 2007 rows, on the "
    "LIBSVM page (OpenML 41082 should have the same shape)",
    "fashion": "the test set of Fashion-MNIST (zalandoresearch/fashion-mnist) or OpenML 40996",
}
"""The sources of the datasets that do not come with scikit-learn."""


def fetch(source: OpenML) -> Samples:
    """Download a dataset from OpenML.

    Parameters
    ----------
    source : OpenML

    Returns
    -------
    X, y : ndarray
        Samples and classes; not compared with the paper.

    Raises
    ------
    Exception
        If the network, the answer or the disk fails; scikit-learn raises errors of many types for
        a damaged answer.
    """
    import sklearn.datasets

    # the timeout applies to the whole process, so it is restored
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(SILENT_SECONDS)  # fetch_openml has no timeout of its own
    try:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            # ignore warnings of failed tries: the last try succeeds or raises the same message
            for message in ("A network error", "Invalid cache", "Downloaded file"):
                warnings.filterwarnings("ignore", message=message)
            # liac-arff does not need pandas
            fetched: Any = sklearn.datasets.fetch_openml(
                data_id=source.data_id,
                data_home=folder,
                as_frame=False,
                parser="liac-arff",
                n_retries=RETRIES,
            )
    finally:
        socket.setdefaulttimeout(before)
    origin = f"OpenML {source.data_id}"
    X, y = as_samples(fetched.data, fetched.target, origin)
    return (X, y) if source.prepare is None else as_samples(*source.prepare(X, y), origin)


def keep(path: Path, X: np.ndarray, y: np.ndarray) -> None:
    """Write samples and classes to an .npz file.

    Warns
    -----
    UserWarning
        If the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            np.savez_compressed(file, X=X, y=y)
    except OSError as error:
        warnings.warn(
            f"The download could not be kept in {path} ({error.strerror or error}); it will be "
            "downloaded again the next time.",
            stacklevel=4,
        )


def warn_untried(name: str, source: OpenML) -> None:
    """Warn that a dataset of OpenML has not been compared with the paper's."""
    warnings.warn(
        f"The dataset {name!r} is from OpenML {source.data_id}, which has not been compared with "
        "the paper's version: the shape and the number of classes agree, the values may differ.",
        UntriedSourceWarning,
        stacklevel=4,
    )
