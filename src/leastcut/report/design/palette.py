"""Colours by name, each for a light and for a dark screen, and how clusters are told apart."""

from __future__ import annotations

PALETTE = {
    "page": ("#ffffff", "#14191f"),
    "ink": ("#1b2430", "#e4e9ee"),
    "soft": ("#52606d", "#a9b4c0"),
    "line": ("#dde3e9", "#313b46"),
    "rule": ("#87929e", "#74818e"),
    "blue": ("#1c5fa8", "#82b7f2"),
    "orange": ("#ad480e", "#f2a46c"),
    "teal": ("#19706c", "#62c4bc"),
    "near": ("#f1f3f5", "#212930"),
    "better": ("#dbe9fb", "#17324f"),
}
"""The colors of pages and figures by name, for light and dark screens. Blue, orange and teal can be
distinguished with color blindness, and have different markers too."""

CLUSTER_COLORS = {
    "cluster-0": ("#333fa4", "#2776bd"),
    "cluster-1": ("#b0410c", "#c97f1a"),
    "cluster-2": ("#2c7f86", "#41b49a"),
    "cluster-3": ("#c28b0e", "#d9cf45"),
    "cluster-4": ("#3398f9", "#9fd1f5"),
    "cluster-5": ("#752757", "#b3396d"),
    "cluster-6": ("#410000", "#b58ef7"),
}
"""The colours of clusters, in turn. They were searched for, so that any two of one screen are far
apart with every kind of colour blindness, and none is faint on its background."""

CLUSTER_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p")
"""The signs of clusters, in turn: one more than there are colours, so that cluster 7 differs from
cluster 0 in its sign, and 56 clusters differ from one another."""

INK, SOFT = (PALETTE[name][0] for name in ("ink", "soft"))
BLUE, ORANGE, TEAL = (PALETTE[name][0] for name in ("blue", "orange", "teal"))


def luminance(red: float, green: float, blue: float) -> float:
    """Return how bright a colour is, from 0 to 1, as WCAG 2 defines it.

    >>> luminance(0.0, 0.0, 0.0), round(luminance(1.0, 1.0, 1.0), 9)
    (0.0, 1.0)
    """
    parts = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (red, green, blue)
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
