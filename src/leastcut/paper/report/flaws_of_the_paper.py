"""What is wrong in the paper, said where its numbers are shown.

What follows from the paper alone stands here: from its text, from its printed numbers, or by a
short proof. What runs show is in ``flaws_measured``, and what certificates prove in ``certified``.
"""

from __future__ import annotations

from dataclasses import dataclass

from leastcut.paper.data import printed
from leastcut.paper.runs.methods import FIRST_ORDER, METHODS


@dataclass(frozen=True)
class Flaw:
    """A flaw of the paper and the tables and figures in which it shows, the first of them first.

    ``name`` is a few words, by which a page links to it.
    """

    name: str
    where: tuple[str, ...]
    text: str


TWO_CLUSTERS = Flaw(
    "two clusters",
    ("motivation", "closest", "tiny"),
    "With two clusters the gradient term changes nothing: the paper's criterion ranks the discrete "
    "solutions by 2 (1 − |1 − ηλ₂| m) up to a constant, where m says how near each is to the "
    "relaxed optimum, so for every η (but 1/λ₂) its best is the closest one, ISR's. Where first "
    "order and ISR differ with c = 2, starts, sweeps and the choice between them do it.",
)

FIRST_ROWS = Flaw(
    "first rows",
    ("tiny",),
    "The text says that the first 10–15 samples are used, the table has 11–15: with k = 10 and 10 "
    "samples there is no 11th neighbour to scale by.",
)


def rows_not_smallest() -> list[tuple[str, str, str, float, float]]:
    """Return where the paper's own numbers contradict that its method is always the smallest.

    Returns
    -------
    list of (row, title of the cut, method, its value, the value of the paper's method)
        The smallest other method of every such row.
    """
    found = []
    for table, name, cut in rows_printed():
        own = printed.value(table, name, cut, FIRST_ORDER.printed)
        others = [
            (value, column.label)
            for column in METHODS
            if column is not FIRST_ORDER
            and (value := printed.value(table, name, cut, column.printed)) is not None
        ]
        assert own is not None
        value, label = min(others)
        if value < own:
            place = printed.row_label(name), printed.CUT_TITLES[cut]
            found.append((*place, label, value, own))
    return found


def rows_printed() -> list[tuple[str, str, str]]:
    """Return table, dataset and cut of every row of the two printed tables of cut values."""
    tiny = [f"usps:{label.partition('=')[2]}" for label in printed.tables()["tiny_objective"]]
    return [
        (table, name, cut)
        for table, names in (("tiny", tiny), ("objective", list(printed.dataset_labels())))
        for name in names
        for cut in printed.CUT_TITLES
    ]


def _not_smallest() -> Flaw:
    found = rows_not_smallest()
    listed = "; ".join(
        f"{label} on {row}, {cut} ({value:.4f} against {own:.4f})"
        for row, cut, label, value, own in found
    )
    return Flaw(
        "smallest",
        ("tiny", "objective"),
        "The paper says that its method finds the smallest value on all datasets, and sets it in "
        f"bold. In {len(found)} of its {len(rows_printed())} rows another of its own numbers is "
        f"smaller: {listed}.",
    )


FLAWS = (TWO_CLUSTERS, _not_smallest(), FIRST_ROWS)
"""The flaws for which nothing has to be run."""
