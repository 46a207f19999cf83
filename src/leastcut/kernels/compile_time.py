"""A one-line message that compiling takes a while.

A first fit compiles about 25 kernels; nothing is reported if the code is on disk. The line is not a
warning, as nothing is wrong. It is logged to "leastcut" as INFO if that is enabled, and otherwise
written to the standard error if that is interactive (a terminal, a notebook) or progress is enabled
(``verbose``, a progress bar). Otherwise nothing is written.
"""

from __future__ import annotations

import logging
from time import monotonic

from leastcut.progress import error_stream, is_interactive, is_watched, write_line

REPORT_AFTER = 1.0  # seconds of compiling after which it is reported
FIRST_CALL_SECONDS = 5  # approximate; "compiling" in ``benchmarks/results/startup.json``
LINE = (
    f"leastcut: compiling for the first time, which takes about {FIRST_CALL_SECONDS} s; "
    "later calls load the compiled code from disk."
)


class CompileTime:
    """The time that Numba has spent compiling; reported once, when it becomes long.

    Compilations are nested: a kernel compiles the kernels it calls.
    """

    def __init__(self) -> None:
        self._elapsed, self._start, self._depth = 0.0, 0.0, 0
        self._is_reported = False

    def begin(self) -> None:
        """Record that compiling a kernel begins."""
        now = monotonic()
        if self._depth == 0:
            self._start = now
        self._depth += 1
        if not self._is_reported and self._elapsed + now - self._start > REPORT_AFTER:
            self._is_reported = True
            report_compiling()

    def end(self) -> None:
        """Record that a kernel was compiled."""
        self._depth = max(0, self._depth - 1)
        if self._depth == 0:
            self._elapsed += monotonic() - self._start


def report_compiling() -> None:
    """Log or print that compiling takes a while."""
    logger = logging.getLogger("leastcut")
    if logger.isEnabledFor(logging.INFO) and logger.hasHandlers():
        logger.info(LINE)
    elif is_interactive(error_stream()) or is_watched():
        write_line(LINE)
