"""One line that says, where somebody would wonder, that compiling takes a while.

A first fit compiles some 25 kernels; nothing is said where the code is on disk. The line is no
warning, as nothing is wrong. It goes to the logger "leastcut" as INFO where that is listened to,
else to the standard error if a person looks at it (a terminal, a notebook) or has asked for
progress (``verbose``, a progress bar). Programs and logs get nothing.
"""

from __future__ import annotations

import logging
from time import monotonic

from leastcut.progress import error_stream, is_interactive, is_watched, write_line

MOMENT = 1.0  # seconds of compiling after which it is said
FIRST_CALL_SECONDS = 5  # about; see "compiling" in ``benchmarks/results/startup.json``
LINE = (
    f"leastcut: compiling, once; the first call takes about {FIRST_CALL_SECONDS} s longer, and "
    "later ones find the code on disk."
)


class CompileTime:
    """Adds up the time that Numba compiles, and reports it once when it has become long.

    Numba compiles one kernel at a time, and inside of one those that it calls.
    """

    def __init__(self) -> None:
        self._spent, self._began, self._depth = 0.0, 0.0, 0
        self._is_said = False

    def begin(self) -> None:
        """Note that a kernel is going to be compiled."""
        now = monotonic()
        if self._depth == 0:
            self._began = now
        self._depth += 1
        if not self._is_said and self._spent + now - self._began > MOMENT:
            self._is_said = True
            report_compiling()

    def end(self) -> None:
        """Note that a kernel was compiled."""
        self._depth = max(0, self._depth - 1)
        if self._depth == 0:
            self._spent += monotonic() - self._began


def report_compiling() -> None:
    """Report that compiling takes a while."""
    logger = logging.getLogger("leastcut")
    if logger.isEnabledFor(logging.INFO) and logger.hasHandlers():
        logger.info(LINE)
    elif is_interactive(error_stream()) or is_watched():
        write_line(LINE)
