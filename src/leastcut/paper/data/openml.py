"""A dataset from OpenML, fetched as scikit-learn documents it, and kept once it was checked.

scikit-learn keeps whatever OpenML sends. Here it has a folder for one download only, so that what
is cut short, damaged or of another shape is fetched again the next time; what is kept is an .npz
file of the samples in the form in which they are used.
"""

from __future__ import annotations

import socket
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from leastcut.files.whole_files import written_whole
from leastcut.paper.data.readers import Samples, as_samples
from leastcut.paper.data.sources import OpenML

SILENT_SECONDS = 30.0
"""How long OpenML may be silent: long enough for a slow line, short enough to wait for in vain."""

RETRIES = 1
"""How often the data is asked for again, the fewest that scikit-learn takes: what OpenML says about
a dataset comes first, and is asked for three times more whatever stands here."""


class UntriedSourceWarning(UserWarning):
    """A dataset is from a place that was never compared with the paper's."""


def fetch(source: OpenML) -> Samples:
    """Fetch a dataset from OpenML.

    Parameters
    ----------
    source : OpenML

    Returns
    -------
    X, y : ndarray
        Nothing of them is compared with the paper.

    Raises
    ------
    Exception
        Of any kind, where the network, the answer or the disk is at fault: a damaged answer makes
        scikit-learn fail in many ways.
    """
    import sklearn.datasets

    # the limit holds for the whole process, so it is put back
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(SILENT_SECONDS)  # fetch_openml has no limit of its own
    try:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            # of tries that failed: the last one ends well, or with an error that says the same
            for told in ("A network error", "Invalid cache", "Downloaded file"):
                warnings.filterwarnings("ignore", message=told)
            # liac-arff is the parser that needs no pandas
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
    """Write samples to a file that is there whole or not at all; a disk that is full is told.

    Warns
    -----
    UserWarning
        If it cannot be written: the samples are at hand, and only the next time costs more.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(path) as file:
            np.savez_compressed(file, X=X, y=y)
    except OSError as error:
        warnings.warn(
            f"The download could not be kept in {path} ({error.strerror or error}); it will be "
            "fetched again the next time.",
            stacklevel=4,
        )


def say_untried(name: str, source: OpenML) -> None:
    """Warn that nobody has compared a dataset of OpenML with the paper's."""
    warnings.warn(
        f"The dataset {name!r} is from OpenML {source.data_id}, which could not be tried when "
        "leastcut was written: its shape and classes are the paper's, its values may be another "
        "version's.",
        UntriedSourceWarning,
        stacklevel=4,
    )
