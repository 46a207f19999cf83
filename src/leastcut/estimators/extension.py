"""The embedding of new samples: eigenvectors extended by the equation that they solve (Nyström).

The embedding E = B^-½ F solves L E = B E Λ, with L = diag(d) − S. Node by node, for every component
with its eigenvalue λ, that reads

    Σ_j S_ij e_j = (d_i − λ b_i) e_i.

A new sample with affinities s_j to the training samples has degree d = Σ_j s_j and weighs b as the
cut has it (given weights and sample weights count with their mean), and it is put where it solves
the same equation, the training samples staying where they are:

    e = Σ_j s_j e_j / (d − λ b).

For the normalized cut b = d, and this is the weighted mean of the e_j divided by 1 − λ; for the
ratio cut it is Σ_j s_j e_j / (d − λ). The equation has an answer where d > λ b: a sample that is
tied more weakly than a component varies is not told where it lies in it, and is put at 0 there.
Without any ties it lies at the origin, as nodes without edges do.

A training sample is where it was. In the graph its affinities are averaged with those that others
have to it, so that the formula alone would put it only nearby; for kernels it is the same place.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from leastcut.estimators.prediction import Prediction
from leastcut.validation import warn_caller

LEAST = 1e-3
"""Least that d − λ b may be, as a part of d: errors of the eigenvectors are divided by it."""

ROWS = 2**12
"""Samples that are looked up at once."""


class Extension:
    """The embedding of training samples, one row of ``embedding`` each, as new samples meet it."""

    def __init__(
        self, prediction: Prediction, embedding: np.ndarray, eigenvalues: np.ndarray
    ) -> None:
        self.prediction = prediction
        self.embedding, self.eigenvalues = embedding, eigenvalues

    def place(self, X: Any) -> np.ndarray:
        """Return the coordinates of samples, new ones and training samples."""
        embedding = self.embedding
        if self.prediction.is_training_data(X):
            return embedding.copy()
        # 1. Training samples are where they were.
        known = self._places(X)
        found: np.ndarray = embedding[np.maximum(known, 0)]
        new = np.flatnonzero(known < 0)
        if new.size == 0:
            return found
        # 2. The others are where they solve the equation.
        eigenvalues, cut = self.eigenvalues, self.prediction.clusters.cut
        is_lost = np.zeros((new.size, eigenvalues.size), dtype=bool)
        for block, affinities in self.prediction.affinities(X[new]):
            # As sparse ones, row by row: no row depends on those beside it.
            ties = sp.csr_array(affinities)
            degree = np.asarray(ties.sum(axis=1), dtype=np.float64).reshape(-1, 1)
            left = degree - cut.weight_of_new(degree) * eigenvalues
            # 3. Or at 0, where ties say nothing of a component.
            lost = is_lost[block] = left <= LEAST * degree
            found[new[block]] = np.where(lost, 0.0, (ties @ embedding) / np.where(lost, 1.0, left))
        self._warn(is_lost, new, X.shape[0])
        return found

    def _warn(self, is_lost: np.ndarray, new: np.ndarray, n_samples: int) -> None:
        """Warn of samples that have no place, or none in some components."""
        everywhere = is_lost.all(axis=1)
        if everywhere.any():
            warn_caller(
                f"{int(everywhere.sum())} of {n_samples} samples have no affinity to any training "
                f"sample (the first is {new[np.argmax(everywhere)]}). They are put at the origin, "
                "where nodes without edges lie; predict labels them all the same."
            )
        partly = is_lost.any(axis=1) & ~everywhere
        if partly.any():
            columns = np.flatnonzero(is_lost[partly].any(axis=0))
            warn_caller(
                f"{int(partly.sum())} of {n_samples} samples are tied too weakly to the training "
                f"samples for {columns.size} of {is_lost.shape[1]} components (the first is sample "
                f"{new[np.argmax(partly)]}, and component {columns[0]}), and are put at 0 there. "
                "Fit with fewer n_components, or with cut='normalized' if another was used."
            )

    @cached_property
    def _numbers(self) -> dict[int, int]:
        """The first training sample of every key; see :func:`row_keys`."""
        found: dict[int, int] = {}
        for number, key in enumerate(row_keys(self.prediction.known)):
            found.setdefault(key, number)
        return found

    def _places(self, X: Any) -> np.ndarray:
        """Return which training sample, the first of equal ones, every sample is; −1 for none."""
        known = self.prediction.known
        keys = _keys_in_form(X, known)
        found = np.array([self._numbers.get(key, -1) for key in keys], dtype=np.int64)
        there = np.flatnonzero(found >= 0)
        # Keys may collide; samples that are equal have no difference.
        for start in range(0, there.size, ROWS):
            rows = there[start : start + ROWS]
            apart = known[found[rows]] != _in_form(X[rows], known)
            differs = np.asarray(apart.sum(axis=1)).reshape(-1) > 0
            found[rows[differs]] = -1
        return found


def row_keys(X: Any) -> Iterator[int]:
    """Yield a number for every row, the same for equal rows of the same form."""
    for start in range(0, X.shape[0], ROWS):
        block = X[start : start + ROWS].astype(np.float64)
        if sp.issparse(block):
            block = sp.csr_array(block)
            block.sum_duplicates()
            block.eliminate_zeros()
            ends, indices = block.indptr, block.indices.astype(np.int64)
            for begin, end in pairwise(ends):
                yield _key(indices[begin:end].tobytes() + block.data[begin:end].tobytes())
        else:
            block += 0.0  # −0 becomes 0, which it equals
            yield from (_key(row.tobytes()) for row in np.ascontiguousarray(block))


def _key(row: bytes) -> int:
    # Not by hash(), which is another one in every process, and models are pickled.
    return int.from_bytes(blake2b(row, digest_size=8).digest())


def _keys_in_form(X: Any, known: Any) -> Iterator[int]:
    for start in range(0, X.shape[0], ROWS):
        yield from row_keys(_in_form(X[start : start + ROWS], known))


def _in_form(X: Any, known: Any) -> Any:
    """Return samples sparse or dense, as the known ones are."""
    if sp.issparse(known):
        return sp.csr_array(X)
    return X.toarray() if sp.issparse(X) else X
