"""The path of cuts that a picture is drawn from."""

from __future__ import annotations

from typing import Any


def path_of(found: Any) -> Any:
    """Return a path itself, or that of an estimator fitted with ``n_clusters="auto"``."""
    if hasattr(found, "choice"):
        return found
    if hasattr(found, "cut_path_"):
        return found.cut_path_
    if hasattr(found, "fit"):
        raise ValueError(
            f"This {type(found).__name__} has no cut_path_: it was not fitted with "
            "n_clusters='auto'. Fit it so, or draw what leastcut.cut_path returns."
        )
    raise TypeError(
        f"A picture over numbers of clusters needs a CutPath or an estimator fitted with "
        f"n_clusters='auto', not a {type(found).__name__}; leastcut.cut_path makes one."
    )
