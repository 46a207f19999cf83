"""How far a run is: a bar with the time left on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TextIO

WIDTH = 30
"""Characters of the bar."""

LINE_EVERY = 15.0
"""Seconds between lines where there is no terminal."""


class Progress:
    """Tells how far a run is, and how long it will take.

    Parameters
    ----------
    total : float
        What the run costs, in any unit.
    count : int
        How many things there are to do.
    stream : file, optional
        Where to tell it; by default the standard error.
    """

    def __init__(self, total: float, count: int, stream: TextIO | None = None) -> None:
        self.total, self.count = total, count
        self.stream = sys.stderr if stream is None else stream
        self.live = self.stream.isatty()
        self.done, self.finished = 0.0, 0
        self.begin = self.last = time.monotonic()

    def advance(self, cost: float, what: str) -> None:
        """Note that one more thing is done."""
        self.done += cost
        self.finished += 1
        now = time.monotonic()
        if self.live and now - self.last > 0.1:
            self.stream.write("\r\x1b[K" + self.text(now - self.begin, what))
            self.stream.flush()
            self.last = now
        elif not self.live and now - self.last > LINE_EVERY:
            self.stream.write(self.text(now - self.begin, what) + "\n")
            self.stream.flush()
            self.last = now

    def close(self) -> None:
        """End the line of the bar."""
        if self.live:
            self.stream.write("\r\x1b[K")
            self.stream.flush()

    def text(self, elapsed: float, what: str) -> str:
        """Return the bar as text."""
        share = min(self.done / self.total, 1.0) if self.total else 1.0
        left = elapsed * (1.0 - share) / share if share else 0.0
        filled = round(share * WIDTH)
        bar = "█" * filled + "░" * (WIDTH - filled)
        return f"{bar} {self.finished}/{self.count}, {clock(left)} left  {what}"


def clock(seconds: float) -> str:
    """Return a duration as minutes and seconds.

    >>> clock(83.2)
    '1:23'
    """
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
