"""Where every dataset comes from: scikit-learn, OpenML, or people who must be asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from leastcut.paper.data.readers import Samples


@dataclass(frozen=True)
class OpenML:
    """Where OpenML keeps a dataset, and what to do to get the paper's version of it.

    ``tried`` says whether a download by this number was ever compared with the paper's dataset.
    """

    data_id: int
    prepare: Callable[[np.ndarray, np.ndarray], Samples] | None = None
    tried: bool = False


def _standardized(X: np.ndarray, y: np.ndarray) -> Samples:
    """Return z-scored features, constant ones as zeros: the paper's SEGMENT is so."""
    deviation = X.std(axis=0, ddof=1)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0), y


def _last_ten_thousand(X: np.ndarray, y: np.ndarray) -> Samples:
    """Return the test set, which OpenML has behind the training set."""
    return X[-10_000:], y[-10_000:]


BUNDLED = {
    "wine": "load_wine",
    "digits": "load_digits",
    "iris": "load_iris",
    "breast_cancer": "load_breast_cancer",
}
"""Datasets that come with scikit-learn, and the function there that loads them."""

OPENML = {
    "glass": OpenML(41),
    "segment": OpenML(36, _standardized),
    "usps": OpenML(41082),
    "fashion": OpenML(40996, _last_ten_thousand),
}
"""Datasets that OpenML is said to have with the paper's shape. None of the numbers could be tried
when this was written, for want of a network: whoever has compared one says ``tried=True``."""

WHERE = {
    "jaffe": "the JAFFE face database at 32 x 32 pixels; its terms ask every user to register",
    "umist": "the UMIST (Sheffield) faces at 32 x 32 pixels, as JAFFE.mat's neighbour UMIST.mat in "
    "the data folder of the AdaGAE repository (hyzhang98/AdaGAE on GitHub)",
    "orl": "the ORL (AT&T) faces at 32 x 32 pixels, ORL_32x32.mat on Deng Cai's page of face data",
    "yale": "the Yale faces at 32 x 32 pixels, Yale_32x32.mat on Deng Cai's page of face data",
    "coil20": "Columbia's object images at 32 x 32 pixels, COIL20.mat on Deng Cai's page",
    "msra": "MSRA25_uni.mat, 1799 faces of 12 people at 16 x 16 pixels, in repositories of "
    "feature-selection papers",
    "glass": "the UCI repository (Glass Identification, without the Id column) or OpenML 41",
    "segment": "the UCI repository (Image Segmentation, all 2310 rows, z-scored) or OpenML 36",
    "usps": "two versions circulate, and the paper's is the smoothed one: usps and usps.t, 7291 + "
    "2007 rows, on the LIBSVM page (OpenML 41082 should have the same shape)",
    "fashion": "the test set of Fashion-MNIST (zalandoresearch/fashion-mnist) or OpenML 40996",
}
"""Where people get the datasets that must be brought."""
