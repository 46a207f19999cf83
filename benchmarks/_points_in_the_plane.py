"""Synthetic points in the plane with curved clusters, generated in blocks of any number.

The datasets resemble those of the U-SPEC paper (Huang et al., IEEE TKDE 32(6), 2020) in shape and
number of clusters. Points are in random order, in single precision. Each block of 2¹⁶ points has
its own seed, so a larger dataset begins with the points of a smaller one, and writing a file holds
one block in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

STRETCH = 2**16
"""Number of points per seed."""


class Arc(NamedTuple):
    """An arc with radial noise; a full circle unless angles are given."""

    share: float
    x: float
    y: float
    radius: float
    blur: float
    begins: float = 0.0
    ends: float = 2.0

    def points(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Sample points; angles are in units of π."""
        angle = rng.random(count, dtype=np.float32) * np.float32(np.pi * (self.ends - self.begins))
        angle += np.float32(np.pi * self.begins)
        radius = self.radius + self.blur * rng.standard_normal(count, dtype=np.float32)
        return np.column_stack(
            (self.x + radius * np.cos(angle), self.y + radius * np.sin(angle))
        ).astype(np.float32, copy=False)


class Cloud(NamedTuple):
    """A Gaussian, optionally elongated in one direction."""

    share: float
    x: float
    y: float
    along: float
    across: float
    turned: float = 0.0

    def points(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Sample points; the direction is in units of π."""
        cos, sin = np.cos(np.pi * self.turned), np.sin(np.pi * self.turned)
        axes = np.array([[cos, sin], [-sin, cos]]) * [[self.along], [self.across]]
        sampled_points = rng.standard_normal((count, 2), dtype=np.float32) @ axes.astype(np.float32)
        return sampled_points + np.array([self.x, self.y], dtype=np.float32)


def _around(count: int, radius: float) -> list[tuple[float, float, float]]:
    """Return x, y and direction, in units of π, of positions around the origin."""
    turns = [2 * k / count for k in range(count)]
    return [(radius * np.cos(np.pi * t), radius * np.sin(np.pi * t), t) for t in turns]


SETS: dict[str, list[Arc | Cloud]] = {
    "two bananas": [
        Arc(1, 0, 0, 1, 0.11, 0, 1),
        Arc(1, 1, 0.4, 1, 0.11, 1, 2),
    ],
    "smiling face": [
        Arc(6, 0, 0, 1, 0.05),
        Arc(3, 0, 0, 0.55, 0.05, 1.2, 1.8),
        Cloud(1, -0.35, 0.3, 0.08, 0.08),
        Cloud(1, 0.35, 0.3, 0.08, 0.08),
    ],
    "concentric circles": [
        Arc(1, 0, 0, 1, 0.12),
        Arc(2, 0, 0, 2, 0.12),
        Arc(3, 0, 0, 3, 0.12),
    ],
    "circles and clouds": [
        Cloud(1, 0, 0, 0.4, 0.4),
        Arc(2, 0, 0, 2, 0.12),
        Arc(4, 0, 0, 3.4, 0.12),
        *(Cloud(1, x, y, 0.35, 0.35) for x, y, _ in _around(8, 5.4)),
    ],
    "flower": [
        Cloud(2, 0, 0, 0.35, 0.35),
        *(Cloud(1, x, y, 0.45, 0.15, t) for x, y, t in _around(12, 2.6)),
    ],
}
"""The clusters of each dataset, each with its fraction of the points."""


def sampled_points(name: str, n: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield blocks of points (float32) and their clusters (int8)."""
    shapes = SETS[name]
    ends = np.cumsum([shape.share for shape in shapes])
    ends = (ends / ends[-1]).astype(np.float32)
    for number, start in enumerate(range(0, n, STRETCH)):
        rng = np.random.default_rng([list(SETS).index(name), number])
        of = np.searchsorted(ends[:-1], rng.random(STRETCH, dtype=np.float32), side="right")
        points = np.empty((STRETCH, 2), dtype=np.float32)
        for k, shape in enumerate(shapes):
            inside = np.flatnonzero(of == k)
            points[inside] = shape.points(rng, inside.size)
        count = min(STRETCH, n - start)
        yield points[:count], of[:count].astype(np.int8)


def in_memory(name: str, n: int) -> np.ndarray:
    """Return points without their clusters, which can be generated again."""
    points = np.empty((n, 2), dtype=np.float32)
    start = 0
    for part, _ in sampled_points(name, n):
        points[start : start + len(part)] = part
        start += len(part)
    return points


def in_file(name: str, n: int, path: Path) -> None:
    """Write points into a ``.npy`` file, block by block."""
    written = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, 2))
    start = 0
    for part, _ in sampled_points(name, n):
        written[start : start + len(part)] = part
        start += len(part)
    written.flush()


def agreement(name: str, labels: np.ndarray) -> dict[str, float]:
    """Return the agreement of labels with the true clusters; see :func:`of_table`."""
    c = len(SETS[name])
    n_found = int(labels.max()) + 1
    table = np.zeros((c, n_found), dtype=np.int64)
    start = 0
    for _, of in sampled_points(name, labels.size):
        pairs = of.astype(np.int64) * n_found + labels[start : start + of.size]
        table += np.bincount(pairs, minlength=c * n_found).reshape(c, n_found)
        start += of.size
    return of_table(table)


def of_table(table: np.ndarray) -> dict[str, float]:
    """Return the mutual information over the larger entropy, as leastcut does, and over the mean.

    Both are computed from the contingency table, because there may be too many points.
    """
    shares = table / table.sum()
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    positive = shares > 0
    mutual = (shares[positive] * np.log(shares[positive] / np.outer(rows, columns)[positive])).sum()
    entropies = [-(part[part > 0] * np.log(part[part > 0])).sum() for part in (rows, columns)]
    if max(entropies) == 0:
        return {"nmi": 1.0, "nmi_by_the_mean": 1.0}
    return {
        "nmi": round(float(mutual / max(entropies)), 4),
        "nmi_by_the_mean": round(float(2 * mutual / sum(entropies)), 4),
    }
