"""Points in the plane whose clusters are curved, as many as wanted, any stretch of them at a time.

The sets are like those that U-SPEC's authors measured it on (Huang et al., IEEE TKDE 32(6), 2020),
with as many clusters, drawn by shapes of our own. Points come in random order, in single precision.
They are drawn in stretches of 2¹⁶ with a seed of their own each, so that a set of more points
begins with the same points, and no more than a stretch is in memory while a file is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

STRETCH = 2**16
"""Points that are drawn with one seed."""


class Arc(NamedTuple):
    """A part of a circle, blurred across it; a whole circle unless angles say otherwise."""

    share: float
    x: float
    y: float
    radius: float
    blur: float
    begins: float = 0.0
    ends: float = 2.0

    def points(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Draw points; angles are given in half turns."""
        angle = rng.random(count, dtype=np.float32) * np.float32(np.pi * (self.ends - self.begins))
        angle += np.float32(np.pi * self.begins)
        radius = self.radius + self.blur * rng.standard_normal(count, dtype=np.float32)
        return np.column_stack(
            (self.x + radius * np.cos(angle), self.y + radius * np.sin(angle))
        ).astype(np.float32, copy=False)


class Cloud(NamedTuple):
    """A Gaussian, longer along one direction where that is wanted."""

    share: float
    x: float
    y: float
    along: float
    across: float
    turned: float = 0.0

    def points(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Draw points; the direction is given in half turns."""
        cos, sin = np.cos(np.pi * self.turned), np.sin(np.pi * self.turned)
        axes = np.array([[cos, sin], [-sin, cos]]) * [[self.along], [self.across]]
        drawn = rng.standard_normal((count, 2), dtype=np.float32) @ axes.astype(np.float32)
        return drawn + np.array([self.x, self.y], dtype=np.float32)


def _around(count: int, radius: float) -> list[tuple[float, float, float]]:
    """Return x, y and direction in half turns of places around the origin."""
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
"""Every set: its clusters, each with its share of the points."""


def drawn(name: str, n: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield points (float32) and the clusters that they are of (int8), stretch by stretch."""
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
    """Return points alone; their clusters are drawn again where they are needed."""
    points = np.empty((n, 2), dtype=np.float32)
    start = 0
    for part, _ in drawn(name, n):
        points[start : start + len(part)] = part
        start += len(part)
    return points


def in_file(name: str, n: int, path: Path) -> None:
    """Write points into a ``.npy`` file, stretch by stretch."""
    written = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, 2))
    start = 0
    for part, _ in drawn(name, n):
        written[start : start + len(part)] = part
        start += len(part)
    written.flush()


def agreement(name: str, labels: np.ndarray) -> dict[str, float]:
    """Return how labels agree with the clusters that points are of; see :func:`of_table`."""
    c = len(SETS[name])
    n_found = int(labels.max()) + 1
    table = np.zeros((c, n_found), dtype=np.int64)
    start = 0
    for _, of in drawn(name, labels.size):
        pairs = of.astype(np.int64) * n_found + labels[start : start + of.size]
        table += np.bincount(pairs, minlength=c * n_found).reshape(c, n_found)
        start += of.size
    return of_table(table)


def of_table(table: np.ndarray) -> dict[str, float]:
    """Return mutual information over the larger entropy, as the package has it, and over the mean.

    From how many points of each class are in each cluster, and not from the points: there may be
    too many of them.
    """
    shares = table / table.sum()
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    there = shares > 0
    mutual = (shares[there] * np.log(shares[there] / np.outer(rows, columns)[there])).sum()
    entropies = [-(part[part > 0] * np.log(part[part > 0])).sum() for part in (rows, columns)]
    if max(entropies) == 0:
        return {"nmi": 1.0, "nmi_by_the_mean": 1.0}
    return {
        "nmi": round(float(mutual / max(entropies)), 4),
        "nmi_by_the_mean": round(float(2 * mutual / sum(entropies)), 4),
    }
