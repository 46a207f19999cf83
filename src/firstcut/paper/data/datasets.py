"""The paper's datasets, and a few that come with scikit-learn, by name.

None of them is shipped: WINE, digits, iris and breast cancer come from scikit-learn, the others
from files in a folder, or from OpenML where it has them and the network is there. What is found is
compared with the paper's table of datasets, as several versions of some of them circulate.
"""

from __future__ import annotations

import os
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firstcut.paper.data.printed import dataset_labels, dataset_shape
from firstcut.paper.data.readers import READERS, Samples, as_samples
from firstcut.paper.data.sources import BUNDLED, OPENML, WHERE, OpenML
from firstcut.validation import check_choice

ENVIRONMENT = "FIRSTCUT_DATA"
"""The environment variable that names a folder of datasets."""

OPENML_SECONDS = 30.0
"""How long OpenML may be silent: long enough for a slow line, short enough to wait for in vain."""


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
    # 1. what scikit-learn brings is always there
    if key in BUNDLED:
        return _from_sklearn(key)
    # 2. files in the folders, the first folder and the first kind of file that has it
    searched = folders(data)
    for folder in searched:
        for suffix, read in READERS.items():
            path = _find(folder, key + suffix)
            if path is not None:
                shape = dataset_shape(key)
                return _checked(key, *read(path, None if shape is None else shape[1]), str(path))
    # 3. OpenML, where it has it and may be asked
    failure = ""
    if key in OPENML and download:
        try:
            return _checked(key, *_from_openml(OPENML[key]), "OpenML")
        except OSError as error:  # the network's errors all are
            failure = f"OpenML has it but could not be reached ({error}). "
    elif key in OPENML:
        failure = "OpenML has it but was not asked (download=False). "
    # 4. say where it was looked for, why OpenML did not help, and where people get it
    listed = "\n".join(f"  {folder}" for folder in searched)
    raise FileNotFoundError(
        f"The dataset {key!r} is not here: no {' or '.join(key + end for end in READERS)} in\n"
        f"{listed}\n{failure}Put the file into one of them, or name its folder with {ENVIRONMENT} "
        f"or --data. Where people get it: {WHERE[key]}."
    )


def _from_sklearn(name: str) -> Dataset:
    import sklearn.datasets

    X, y = getattr(sklearn.datasets, BUNDLED[name])(return_X_y=True)
    return _checked(name, *as_samples(X, y), "scikit-learn")


def _find(folder: Path, file: str) -> Path | None:
    """Return the file of that name in a folder, whatever the case of its letters."""
    if (folder / file).is_file():
        return folder / file
    if folder.is_dir():
        # people have JAFFE.mat; in order, so that of two such files one is always taken
        for path in sorted(folder.iterdir()):
            if path.name.lower() == file:
                return path
    return None


def _from_openml(source: OpenML) -> Samples:
    """Fetch a dataset from OpenML; what is wrong with the network is an OSError."""
    import sklearn.datasets

    # the limit holds for the whole process, so it is put back
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(OPENML_SECONDS)  # fetch_openml has no limit of its own
    try:
        # liac-arff is the parser that needs no pandas; a retry would double the wait
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
