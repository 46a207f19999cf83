"""The search for λ: enough for the graph to have c components, and no more."""

from __future__ import annotations

CLOSE = 1.02
"""Ratio of two λ from which it is not worth looking between them."""


class Penalty:
    """λ, between one with which there are too few components and one with too many.

    It is doubled, or halved, until both are known, and then is their geometric mean. The vectors
    move on, and with them what is enough: where both have met, doubling begins anew.

    Examples
    --------
    >>> from leastcut.affinity.learned.penalty import Penalty
    >>> penalty = Penalty(1.0)
    >>> penalty.more()
    >>> penalty.value
    2.0
    >>> penalty.less()
    >>> round(penalty.value, 4)
    1.4142
    """

    def __init__(self, value: float) -> None:
        self.value = value
        self._too_little: float | None = None
        self._too_much: float | None = None

    def more(self) -> None:
        """Go up: with this λ there are too few components."""
        self._too_little = self.value
        if not self._between():
            self._too_much = None
            self.value *= 2.0

    def less(self) -> None:
        """Go down: with this λ there are too many components."""
        self._too_much = self.value
        if not self._between():
            self._too_little = None
            self.value /= 2.0

    def _between(self) -> bool:
        """Go between both, if they are known and not yet close; say whether they are."""
        low, high = self._too_little, self._too_much
        if low is None or high is None or high <= CLOSE * low:
            return False
        self.value = (low * high) ** 0.5
        return True
