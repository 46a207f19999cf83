"""The datasets of the paper and some of scikit-learn, by name.

None of them is in the repository: wine, digits, iris and breast cancer come from scikit-learn, the
others from files in a folder or from OpenML. As several versions of some datasets exist, their
shapes are compared with the paper's table of datasets.
"""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reproduction.data import sources
from reproduction.data.printed import dataset_labels, dataset_shape
from reproduction.data.readers import READERS, as_samples, read
from reproduction.data.sources import BUNDLED, OPENML, WHERE

__all__ = ["ENVIRONMENT", "Dataset", "cache_folder", "folders", "load", "names"]

ENVIRONMENT = "LEASTCUT_DATA"
"""The environment variable that names a folder of datasets."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Samples and their classes.

    Attributes
    ----------
    name : str
    X : ndarray of shape (n, n_features)
        float64, not scaled.
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

    def __repr__(self) -> str:
        n_samples, n_features = self.X.shape
        return (
            f"Dataset({self.name!r}, n_samples={n_samples}, n_features={n_features}, "
            f"n_classes={self.n_classes})"
        )


def names() -> list[str]:
    """Return the names of all datasets, the paper's first."""
    return [*dataset_labels(), *(name for name in BUNDLED if name not in dataset_labels())]


def cache_folder() -> Path:
    """Return the absolute path of the folder for datasets in the user's cache.

    Without a home folder, it is in the folder for temporary files.
    """
    if sys.platform == "win32":
        variable, below = "LOCALAPPDATA", "AppData/Local"
    elif sys.platform == "darwin":
        variable, below = "", "Library/Caches"
    else:
        variable, below = "XDG_CACHE_HOME", ".cache"
    bases = [Path(os.environ.get(variable, "")), Path("~", below), Path(tempfile.gettempdir())]
    for base in bases:
        try:
            folder = base.expanduser()
        except RuntimeError:  # there is no home folder
            continue
        if folder.is_absolute():
            return folder / "leastcut"
    raise AssertionError("the folder for temporary files is absolute")


def folders(data: str | os.PathLike[str] | None = None) -> list[Path]:
    """Return the folders to search, in order: ``data``, LEASTCUT_DATA, the user's cache."""
    listed = [data, os.environ.get(ENVIRONMENT), cache_folder()]
    return list(dict.fromkeys(Path(folder) for folder in listed if folder))


def load(
    name: str, *, data: str | os.PathLike[str] | None = None, download: bool = True
) -> Dataset:
    """Load a dataset by name.

    Parameters
    ----------
    name : str
        One of the paper's ("jaffe", "umist", "orl", "yale", "coil20", "msra", "wine", "glass",
        "segment", "usps", "fashion") or "digits", "iris", "breast_cancer"; case is ignored.
    data : path, optional
        The first folder to search, before the folder given by the environment variable
        LEASTCUT_DATA and the user's cache. A file is ``<name>.npz`` (X, y), ``<name>.mat`` (fea and
        gnd, or X and Y, transposed or not) or ``<name>.csv`` (the class in the last column).
    download : bool, default=True
        Whether to download a dataset that is in no folder from OpenML, which has "glass",
        "segment", "usps" and "fashion". Downloads are kept in the folder ``openml`` of the user's
        cache. The values of these versions have not been compared with the paper's, as a warning
        states.

    Returns
    -------
    Dataset

    Raises
    ------
    FileNotFoundError
        If the dataset is in no folder; the message lists the folders and the source.
    ValueError
        If the file is damaged, if it does not contain finite real numbers with a class for every
        sample, or if its shape or number of classes differs from the paper's table of datasets.

    Warns
    -----
    UserWarning
        If the dataset is from OpenML and has not been compared with the paper's version.

    Examples
    --------
    >>> from reproduction import datasets
    >>> datasets.load("wine")
    Dataset('wine', n_samples=178, n_features=13, n_classes=3)
    """
    key = str(name).lower()
    if key not in names():
        raise ValueError(
            f"The dataset {name!r} is not known; choose one of {', '.join(map(repr, names()))}."
        )
    # 1. from scikit-learn
    if key in BUNDLED:
        return _from_sklearn(key)
    # 2. from a file, in the order of folders and then of suffixes
    searched = folders(data)
    for folder in searched:
        for suffix in READERS:
            path = _find(folder, key + suffix)
            if path is not None:
                return _from_file(key, path)
    # 3. from OpenML
    if key in OPENML and download:
        return _from_openml(key, searched)
    failure = "It was not downloaded from OpenML (download=False). " if key in OPENML else ""
    raise _not_found(key, searched, failure)


def _not_found(name: str, searched: list[Path], failure: str) -> FileNotFoundError:
    """Return the error for a missing dataset, with the folders searched and its source."""
    return FileNotFoundError(
        f"The dataset {name!r} was not found: no {' or '.join(name + end for end in READERS)} in "
        f"{' or '.join(map(str, searched))}. {failure}Put the file into one of them, or pass its "
        f"folder as {ENVIRONMENT} or --data. Source: {WHERE[name]}."
    )


def _from_file(name: str, path: Path) -> Dataset:
    shape = dataset_shape(name)
    return _checked(name, *read(path, None if shape is None else shape[1]), str(path))


def _from_sklearn(name: str) -> Dataset:
    import sklearn.datasets

    X, y = getattr(sklearn.datasets, BUNDLED[name])(return_X_y=True)
    return _checked(name, *as_samples(X, y, "scikit-learn"), "scikit-learn")


def _find(folder: Path, file: str) -> Path | None:
    """Return the file with a name in a folder, ignoring case, or None."""
    if (folder / file).is_file():
        return folder / file
    if folder.is_dir():
        # sorted, so that the choice between jaffe.mat and JAFFE.mat does not vary
        for path in sorted(folder.iterdir()):
            if path.name.lower() == file and path.is_file():
                return path
    return None


def _from_openml(name: str, searched: list[Path]) -> Dataset:
    """Return OpenML's version of a dataset, from the user's cache if possible."""
    source = OPENML[name]
    kept = cache_folder() / "openml" / f"{name}.npz"
    if kept.is_file():
        dataset = _from_file(name, kept)
    else:
        try:
            samples = sources.fetch(source)
        except Exception as error:  # no network, an unknown id, a damaged answer, a full disk
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            untried = "" if source.tried else ", an id that has not been tested,"
            failure = f"OpenML {source.data_id}{untried} failed ({reason}). "
            raise _not_found(name, searched, failure) from error
        # only datasets with the paper's shape are kept
        dataset = _checked(name, *samples, f"OpenML {source.data_id}")
        sources.keep(kept, dataset.X, dataset.y)
    if not source.tried:
        sources.warn_untried(name, source)
    return dataset


def _checked(name: str, X: np.ndarray, y: np.ndarray, source: str) -> Dataset:
    """Return the dataset, or raise if its shape differs from the paper's table of datasets."""
    shape = (*X.shape, int(y.max()) + 1)
    expected = dataset_shape(name)
    if expected is not None and shape != expected:
        raise ValueError(
            f"The dataset {name!r} from {source} has {shape[0]} samples, {shape[1]} features and "
            f"{shape[2]} classes, but the paper's version has {expected[0]}, {expected[1]} and "
            f"{expected[2]}. Source of the paper's version: {WHERE.get(name, 'scikit-learn')}."
        )
    return Dataset(name, X, y)
