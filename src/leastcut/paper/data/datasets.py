"""The paper's datasets, and a few that come with scikit-learn, by name.

None of them is shipped: WINE, digits, iris and breast cancer come from scikit-learn, the others
from files in a folder, or from OpenML where it has them and the network is there. What is found is
compared with the paper's table of datasets, as several versions of some of them circulate.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leastcut.paper.data import openml
from leastcut.paper.data.printed import dataset_labels, dataset_shape
from leastcut.paper.data.readers import READERS, as_samples, read
from leastcut.paper.data.sources import BUNDLED, OPENML, WHERE
from leastcut.short_reprs import one_line
from leastcut.validation import check_choice

ENVIRONMENT = "LEASTCUT_DATA"
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

    def __repr__(self) -> str:
        n_samples, n_features = self.X.shape
        return one_line(
            self,
            self.name,
            n_samples=n_samples,
            n_features=n_features,
            n_classes=self.n_classes,
        )

    def _repr_html_(self) -> str:
        from leastcut.notebook import dataset_html  # which only notebooks need

        return dataset_html(self)


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
    return Path(base) / "leastcut"


def folders(data: str | os.PathLike[str] | None = None) -> list[Path]:
    """Return the folders that are searched, in order: ``data``, LEASTCUT_DATA, the user's cache."""
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
        The first folder to look in; then come the one that the environment variable LEASTCUT_DATA
        names and the user's cache folder. A file is ``<name>.npz`` (X, y), ``<name>.mat`` (fea and
        gnd, or X and Y, transposed or not) or ``<name>.csv`` (the class in the last column).
    download : bool, default=True
        Whether what is in no folder may be OpenML's: asked for once, and kept in the folder
        ``openml`` of the user's cache. It has "glass", "segment", "usps" and "fashion" under
        numbers that could not be tried when leastcut was written, which a warning says.

    Returns
    -------
    Dataset

    Raises
    ------
    FileNotFoundError
        If it is nowhere; the message says where it was looked for and where people get it.
    ValueError
        If its file is damaged or holds anything but finite real numbers with a class for every
        sample, or if its shape or number of classes is not what the paper's table of datasets says.

    Warns
    -----
    UserWarning
        If it is OpenML's version, and nobody has compared that with the paper's.

    Examples
    --------
    >>> import leastcut.datasets
    >>> wine = leastcut.datasets.load("wine")
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
        for suffix in READERS:
            path = _find(folder, key + suffix)
            if path is not None:
                return _from_file(key, path)
    # 3. OpenML, where it has it and may be asked
    if key in OPENML and download:
        return _from_openml(key, searched)
    failure = "OpenML has it but was not asked (download=False). " if key in OPENML else ""
    raise _nowhere(key, searched, failure)


def _nowhere(name: str, searched: list[Path], failure: str) -> FileNotFoundError:
    """Return the error that says where a dataset was looked for, and where people get it."""
    return FileNotFoundError(
        f"The dataset {name!r} is not here: no {' or '.join(name + end for end in READERS)} in "
        f"{' or '.join(map(str, searched))}. {failure}Put the file into one of them, or name its "
        f"folder with {ENVIRONMENT} or --data. Where people get it: {WHERE[name]}."
    )


def _from_file(name: str, path: Path) -> Dataset:
    shape = dataset_shape(name)
    return _checked(name, *read(path, None if shape is None else shape[1]), str(path))


def _from_sklearn(name: str) -> Dataset:
    import sklearn.datasets

    X, y = getattr(sklearn.datasets, BUNDLED[name])(return_X_y=True)
    return _checked(name, *as_samples(X, y, "scikit-learn"), "scikit-learn")


def _find(folder: Path, file: str) -> Path | None:
    """Return the file of that name in a folder, whatever the case of its letters."""
    if (folder / file).is_file():
        return folder / file
    if folder.is_dir():
        # people have JAFFE.mat; in order, so that of two such files one is always taken
        for path in sorted(folder.iterdir()):
            if path.name.lower() == file and path.is_file():
                return path
    return None


def _from_openml(name: str, searched: list[Path]) -> Dataset:
    """Return OpenML's version of a dataset, from the user's cache if it was fetched before."""
    source = OPENML[name]
    kept = cache_folder() / "openml" / f"{name}.npz"
    if kept.is_file():
        found = _from_file(name, kept)
    else:
        try:
            samples = openml.fetch(source)
        except Exception as error:  # no network, no such number, a damaged answer, a full disk
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            untried = "" if source.tried else ", a number that could not be tried,"
            failure = f"OpenML {source.data_id}{untried} did not give it ({reason}). "
            raise _nowhere(name, searched, failure) from error
        # only what is as large as the paper says is kept
        found = _checked(name, *samples, f"OpenML {source.data_id}")
        openml.keep(kept, found.X, found.y)
    if not source.tried:
        openml.say_untried(name, source)
    return found


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
