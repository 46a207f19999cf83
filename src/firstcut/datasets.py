"""The paper's datasets, and a few that come with scikit-learn, by name.

None of them is shipped: WINE, digits, iris and breast cancer come from scikit-learn, the others
from files in a folder, or from OpenML where it has them and the network is there.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firstcut.inputs import check_choice
from firstcut.paper.files import READERS, as_samples
from firstcut.paper.printed import dataset_labels, dataset_shape

ENVIRONMENT = "FIRSTCUT_DATA"
"""The environment variable that names a folder of datasets."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples and their classes.

    Attributes
    ----------
    name : str
    X : ndarray of shape (n, n_features)
        float64, as the source has it: nothing is scaled.
    y : ndarray of shape (n,)
        Classes 0..c-1.
    """

    name: str
    X: np.ndarray
    y: np.ndarray

    @property
    def n_classes(self) -> int:
        """Number of classes c."""
        return int(self.y.max()) + 1


@dataclass(frozen=True)
class OpenML:
    """Where OpenML keeps a dataset, and what to do to get the paper's version of it."""

    data_id: int
    prepare: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]] | None = None


def _standardized(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return z-scored features, constant ones as zeros: the paper's SEGMENT is so."""
    spread = X.std(axis=0, ddof=1)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0), y


def _last_ten_thousand(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
"""Datasets that OpenML has with the paper's shape."""

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
    "2007 rows, on the LIBSVM page (OpenML 41082 has the same shape)",
    "fashion": "the test set of Fashion-MNIST (zalandoresearch/fashion-mnist) or OpenML 40996",
}
"""Where people get the datasets that must be brought."""


def names() -> list[str]:
    """Return every name that :func:`load` knows, the paper's first."""
    return [*dataset_labels(), *(name for name in BUNDLED if name not in dataset_labels())]


def cache_folder() -> Path:
    """Return the folder in the user's cache where datasets are looked for."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "firstcut"


def folders(data: str | os.PathLike[str] | None = None) -> list[Path]:
    """Return the folders that are searched, in order: ``data``, FIRSTCUT_DATA, the user's cache."""
    given = [data, os.environ.get(ENVIRONMENT), cache_folder()]
    return list(dict.fromkeys(Path(folder) for folder in given if folder))


def load(
    name: str, *, data: str | os.PathLike[str] | None = None, download: bool = True
) -> Dataset:
    """Return a dataset by name.

    Parameters
    ----------
    name : str
        One of the paper's ("jaffe", "umist", "orl", "yale", "coil20", "msra", "wine", "glass",
        "segment", "usps", "fashion") or "digits", "iris", "breast_cancer"; in any case.
    data : path, optional
        The first folder to look in; then come the one that the environment variable FIRSTCUT_DATA
        names and the user's cache folder. A file is ``<name>.npz`` (X, y), ``<name>.mat`` (fea and
        gnd, or X and Y, transposed or not) or ``<name>.csv`` (the class in the last column).
    download : bool, default=True
        Whether OpenML may be asked for what is in no folder.

    Returns
    -------
    Dataset

    Raises
    ------
    FileNotFoundError
        If it is nowhere; the message says where it was looked for and where people get it.
    ValueError
        If its shape or number of classes is not what the paper's table of datasets says.

    Examples
    --------
    >>> import firstcut.datasets
    >>> wine = firstcut.datasets.load("wine")
    >>> wine.X.shape, wine.n_classes
    ((178, 13), 3)
    """
    key = check_choice("name", name.lower() if isinstance(name, str) else name, names())
    if key in BUNDLED:
        import sklearn.datasets

        X, y = getattr(sklearn.datasets, BUNDLED[key])(return_X_y=True)
        return _checked(key, *as_samples(X, y), "scikit-learn")
    searched = folders(data)
    for folder in searched:
        for suffix, read in READERS.items():
            path = _find(folder, key + suffix)
            if path is not None:
                shape = dataset_shape(key)
                return _checked(key, *read(path, None if shape is None else shape[1]), str(path))
    failure = ""
    if key in OPENML:
        if download:
            try:
                return _checked(key, *_from_openml(OPENML[key]), "OpenML")
            except OSError as error:
                failure = f"OpenML has it but could not be reached ({error}). "
        else:
            failure = "OpenML has it but was not asked (download=False). "
    listed = "\n".join(f"  {folder}" for folder in searched)
    raise FileNotFoundError(
        f"The dataset {key!r} is not here: no {' or '.join(key + end for end in READERS)} in\n"
        f"{listed}\n{failure}Put the file into one of them, or name its folder with {ENVIRONMENT} "
        f"or --data. Where people get it: {WHERE[key]}."
    )


def _find(folder: Path, file: str) -> Path | None:
    """Return the file of that name in a folder, whatever the case of its letters."""
    if (folder / file).is_file():
        return folder / file
    if folder.is_dir():
        for path in sorted(folder.iterdir()):
            if path.name.lower() == file:
                return path
    return None


def _from_openml(source: OpenML) -> tuple[np.ndarray, np.ndarray]:
    import sklearn.datasets

    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(30.0)  # fetch_openml has no limit of its own
    try:
        fetched: Any = sklearn.datasets.fetch_openml(
            data_id=source.data_id, as_frame=False, parser="liac-arff", n_retries=0
        )
    finally:
        socket.setdefaulttimeout(before)
    X, y = as_samples(fetched.data, fetched.target)
    return (X, y) if source.prepare is None else as_samples(*source.prepare(X, y))


def _checked(name: str, X: np.ndarray, y: np.ndarray, source: str) -> Dataset:
    """Return the dataset if it is as large as the paper says."""
    found = (*X.shape, int(y.max()) + 1)
    wanted = dataset_shape(name)
    if wanted is not None and found != wanted:
        raise ValueError(
            f"The dataset {name!r} from {source} has {found[0]} samples, {found[1]} features and "
            f"{found[2]} classes, where the paper's table says {wanted[0]}, {wanted[1]} and "
            f"{wanted[2]}: it is another version of it. Where people get the right one: "
            f"{WHERE.get(name, 'scikit-learn')}."
        )
    return Dataset(name, X, y)
