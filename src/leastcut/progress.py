"""Progress bars for long computations.

``callback="tqdm"`` shows a tqdm bar on the standard error in a terminal or a notebook, and writes a
line every few seconds in a log or without tqdm. Work that ends within a second shows nothing.
Progress is the elapsed fraction of the estimated total time (:class:`TimeEstimate`), so a bar never
goes backwards and its remaining time is realistic.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from shutil import get_terminal_size
from typing import Any, NamedTuple, TextIO

from leastcut.optional_packages import install_command

BAR = "tqdm"  # the value of ``callback`` that requests a progress bar
DELAY = 1.0  # seconds of work before anything is shown
LIVE_SECONDS = 0.1  # between updates of a bar
LINE_SECONDS = 5.0  # between lines in a log
WIDTH = 120  # characters of a bar in a notebook, which has no terminal width
LEAST_FRACTION = 0.05  # of a stage, after which its pace replaces the tabulated time

# Time of a stage by name: the minimum in seconds, and the multiple of the time of all stages before
# it.
Times = Mapping[str, tuple[float, float]]

# Measured on searches of 500 to 30,000 nodes; the time of a proof ("tight") is not predictable.
SEARCH_STAGES: Times = {
    "auto": (0.0, 0.5),
    "balanced": (1.0, 3.0),
    "thorough": (1.5, 1.5),
    "tight": (5.0, 1.0),
}
PATH_STAGES: Times = {"auto": (0.0, 1.5), "balanced": (3.0, 4.0), "thorough": (10.0, 5.0)}

_watching = 0  # open bars and calls of ``watch``
_count_lock = threading.Lock()
_written: set[str] = set()  # notes that have been written; each is written once per process


class Shown(NamedTuple):
    """Contents of a bar: the completed fraction, the seconds left if known, and a text."""

    done: float
    left: float | None
    words: str


# Converts the progress that a computation reports to the contents of a bar.
Reading = Callable[[Any], Shown]


def error_stream() -> TextIO | None:
    """Return the standard error, or None if it is closed or missing, as under pythonw."""
    stream = sys.stderr
    return None if stream is None or getattr(stream, "closed", False) else stream


def is_interactive(stream: TextIO | None) -> bool:
    """Return whether a stream belongs to a terminal or an interactive session."""
    # The streams of a notebook are not terminals, but the session has prompts.
    return stream is not None and (_is_terminal(stream) or hasattr(sys, "ps1"))


def _is_terminal(stream: TextIO | None) -> bool:
    # An object that replaces a stream may only have ``write``.
    return bool(getattr(stream, "isatty", lambda: False)())


def watch() -> None:
    """Report long compilation from now on, because the user requested verbose output."""
    _count_watching(1)


def is_watched() -> bool:
    """Return whether a bar is open, or :func:`watch` was called."""
    return _watching > 0


def _count_watching(change: int) -> None:
    global _watching
    with _count_lock:
        _watching += change


def write_line(line: str) -> None:
    """Write a line to the standard error, above open bars."""
    stream = error_stream()
    if stream is None:
        return
    tqdm = sys.modules.get("tqdm")
    if tqdm is None:
        stream.write(f"{line}\n")
    else:
        tqdm.tqdm.write(line, file=stream)
    stream.flush()


class TimeEstimate:
    """Estimate the completed fraction of a search and the seconds left.

    1. The current stage takes its elapsed time divided by its completed fraction.
    2. Later stages take the times in ``later``, such as :data:`SEARCH_STAGES`.
    3. A time limit bounds the total.

    The fraction never decreases, and is 1 only after the last stage.
    """

    def __init__(
        self, stages: Sequence[str], later: Times, time_limit: float | None = None
    ) -> None:
        self._stages, self._later, self._limit = list(stages), later, time_limit
        self._stage, self._began = self._stages[0], 0.0
        self._seconds = self._done = 0.0

    def __call__(self, progress: Any) -> Shown:
        """Return the contents of the bar for the progress of a search."""
        seconds, fraction = progress.seconds, progress.fraction
        if progress.stage != self._stage:
            self._stage, self._began = progress.stage, self._seconds
            if self._stage not in self._stages:  # an unexpected stage comes last
                self._stages.append(self._stage)
        # 1. The current stage.
        taken = seconds - self._began
        is_paced = fraction >= LEAST_FRACTION
        stage_seconds = taken / fraction if is_paced else self._listed(self._stage, self._began)
        total = self._began + max(stage_seconds, taken)
        # 2. The stages after it.
        later = self._stages[self._stages.index(self._stage) + 1 :]
        for stage in later:
            total += self._listed(stage, total)
        # 3. The limit.
        if self._limit is not None:
            total = max(seconds, min(total, self._limit))
        self._seconds = seconds
        is_last = not later and fraction >= 1.0
        done = 1.0 if is_last else min(seconds / total if total > 0.0 else 0.0, 0.99)
        self._done = max(self._done, done)
        # 4. The text.
        count = getattr(progress, "n_clusters", None)
        words = progress.stage if count is None else f"{progress.stage}, {count} clusters"
        # The first pass over a large graph reports progress before there is a partition.
        if progress.cut_value < float("inf"):
            words += f", cut value {progress.cut_value:.4g}"
        return Shown(self._done, max(0.0, total - seconds), words)

    def _listed(self, stage: str, before: float) -> float:
        least, times = self._later.get(stage, (0.0, 1.0))
        return max(least, times * before)


class ProofReading:
    """Progress of a proof: the lower bound as a fraction of the cut value.

    It does not predict time; the text shows the seconds left until the time limit, if any.
    """

    def __init__(self, time_limit: float | None = None) -> None:
        self._limit, self._done = time_limit, 0.0

    def __call__(self, progress: Any) -> Shown:
        """Return the contents of the bar for the progress of a proof."""
        done = progress.lower_bound / progress.cut_value if progress.n_open else 1.0
        # A bar is full only when the proof is complete.
        self._done = max(self._done, done if done == 1.0 else min(done, 0.99))
        words = f"cut value {progress.cut_value:.4g}, gap {1.0 - done:.2%}"
        if progress.n_open > 1:
            words += f", {progress.n_open} subproblems open"
        if self._limit is not None and done < 1.0:
            words = f"at most {max(0.0, self._limit - progress.seconds):.0f} s left, {words}"
        return Shown(self._done, None, words)


class ProgressBar:
    """A tqdm bar in an interactive session, else a line every :data:`LINE_SECONDS`."""

    def __init__(self, title: str, reading: Reading) -> None:
        self._title, self._reading = title, reading
        self._bar: Any = None
        self._note = self._line = ""
        self._began = time.monotonic()
        self._next = self._began + DELAY
        try:
            from tqdm import tqdm
        except ModuleNotFoundError:
            self._note = f"tqdm is not installed; {install_command('progress')} installs it."
        else:
            stream = error_stream()
            if is_interactive(stream):
                size = get_terminal_size()
                self._bar = tqdm(
                    total=1.0,
                    # Passed explicitly: a terminal may report size 0, and tqdm would show nothing.
                    ncols=size.columns if _is_terminal(stream) else WIDTH,
                    nrows=size.lines,
                    desc=title,
                    file=stream,
                    mininterval=LIVE_SECONDS,
                    miniters=0,  # updates by time only
                    delay=DELAY,
                    bar_format="{desc}: {percentage:3.0f}%|{bar:10}| {elapsed}{postfix}",
                )
        _count_watching(1)

    def show(self, progress: Any) -> None:
        """Show the progress of the work."""
        done, left, words = self._reading(progress)
        if self._bar is not None:
            words = words if left is None else f"{self._bar.format_interval(left)} left, {words}"
            self._bar.set_postfix_str(words, refresh=False)
            self._bar.update(done - self._bar.n)
            return
        words = words if left is None else f"about {left:.0f} s left, {words}"
        now = time.monotonic()
        self._line = f"{self._title}: {done:4.0%}, {now - self._began:.0f} s, {words}"
        if now >= self._next:
            self._write_line()
            self._next = now + LINE_SECONDS

    def _write_line(self) -> None:
        if self._note and self._note not in _written:
            _written.add(self._note)
            write_line(self._note)
        write_line(self._line)
        self._line = ""

    def close(self) -> None:
        """Close the bar, or write the last line."""
        _count_watching(-1)
        if self._bar is not None:
            self._bar.close()
        elif self._line and time.monotonic() >= self._began + DELAY:
            self._write_line()
