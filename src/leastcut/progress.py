"""Progress bars for long computations.

``callback="tqdm"`` is a bar on the standard error, drawn by tqdm in a terminal or a notebook; in a
log, or without tqdm, it is a line now and then. Work that ends within a second shows nothing. A bar
must not go backwards, and the time left must be realistic, so progress is measured in seconds: the
seconds that have passed, of the estimated total (:class:`TimeEstimate`).
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from shutil import get_terminal_size
from typing import Any, NamedTuple, TextIO

from leastcut.optional_packages import install_command

BAR = "tqdm"  # the value of ``callback`` that asks for a progress bar
DELAY = 1.0  # seconds of work before anything is shown
LIVE_SECONDS = 0.1  # between updates of a bar
LINE_SECONDS = 5.0  # between lines in a log, which should stay short
WIDTH = 120  # characters of a bar in a notebook, which has no terminal to ask
LEAST_FRACTION = 0.05  # of a stage, from which on its pace is a better estimate than a listed time

# Estimates for the later stages of a search: at least so many seconds, and so many times the
# seconds of all stages before it.
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
_said: set[str] = set()  # notes, each of which is printed once in a process


class Shown(NamedTuple):
    """What a bar shows: the fraction that is done, the seconds left if known, and a text."""

    done: float
    left: float | None
    words: str


# Translates the progress that a computation reports into what a bar shows.
Reading = Callable[[Any], Shown]


def error_stream() -> TextIO | None:
    """Return the standard error, or None if it is closed or missing, as under pythonw."""
    stream = sys.stderr
    return None if stream is None or getattr(stream, "closed", False) else stream


def is_interactive(stream: TextIO | None) -> bool:
    """Return whether a person sees at once what is written: in a terminal or a session."""
    # A notebook's streams are no terminals, but like every session it has prompts.
    return stream is not None and (_is_terminal(stream) or hasattr(sys, "ps1"))


def _is_terminal(stream: TextIO | None) -> bool:
    # An object that replaces a stream may have no more than ``write``.
    return bool(getattr(stream, "isatty", lambda: False)())


def watch() -> None:
    """Report long compilation from now on, as the user has asked for verbose output."""
    _count_watching(1)


def is_watched() -> bool:
    """Return whether a bar is open, or :func:`watch` was called."""
    return _watching > 0


def _count_watching(change: int) -> None:
    global _watching
    with _count_lock:
        _watching += change


def write_line(line: str) -> None:
    """Write a line to the standard error, above the bars that are open there."""
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
    """Fraction of a search that is done, and the seconds left.

    1. The current stage takes the time it has taken, divided by the fraction of it that is done.
    2. Later stages take the times that are listed in ``later``, such as :data:`SEARCH_STAGES`.
    3. A time limit ends whatever would take longer.

    The fraction never falls, and is 1 only after the last stage.
    """

    def __init__(
        self, stages: Sequence[str], later: Times, time_limit: float | None = None
    ) -> None:
        self._stages, self._later, self._limit = list(stages), later, time_limit
        self._stage, self._began = self._stages[0], 0.0
        self._seconds = self._done = 0.0

    def __call__(self, progress: Any) -> Shown:
        """Return the state of a search from its progress."""
        seconds, fraction = progress.seconds, progress.fraction
        if progress.stage != self._stage:
            self._stage, self._began = progress.stage, self._seconds
            if self._stage not in self._stages:  # an unexpected stage comes last
                self._stages.append(self._stage)
        # 1. The current stage.
        taken = seconds - self._began
        is_paced = fraction >= LEAST_FRACTION
        here = taken / fraction if is_paced else self._listed(self._stage, self._began)
        total = self._began + max(here, taken)
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
        # The first pass over a large graph reports before it has any partition.
        if progress.cut_value < float("inf"):
            words += f", cut value {progress.cut_value:.4g}"
        return Shown(self._done, max(0.0, total - seconds), words)

    def _listed(self, stage: str, before: float) -> float:
        least, times = self._later.get(stage, (0.0, 1.0))
        return max(least, times * before)


class ProofReading:
    """State of a proof: the bound as a fraction of the value, which does not predict time.

    With a time limit, the text has the seconds left until it.
    """

    def __init__(self, time_limit: float | None = None) -> None:
        self._limit, self._done = time_limit, 0.0

    def __call__(self, progress: Any) -> Shown:
        """Return the state of a proof from its progress."""
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
    """A bar of tqdm where somebody looks, else a line every :data:`LINE_SECONDS`."""

    def __init__(self, title: str, reading: Reading) -> None:
        self._title, self._reading = title, reading
        self._bar: Any = None
        self._note = self._line = ""
        self._began = time.monotonic()
        self._next = self._began + DELAY
        try:
            from tqdm import tqdm
        except ModuleNotFoundError:
            self._note = f"tqdm is not installed; {install_command('progress')} brings it."
        else:
            stream = error_stream()
            if is_interactive(stream):
                size = get_terminal_size()
                self._bar = tqdm(
                    total=1.0,
                    # Passed, as a terminal may report size 0, and tqdm would then show nothing.
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
        if self._note and self._note not in _said:
            _said.add(self._note)
            write_line(self._note)
        write_line(self._line)
        self._line = ""

    def close(self) -> None:
        """Leave the bar, or write the last line, above what is written next."""
        _count_watching(-1)
        if self._bar is not None:
            self._bar.close()
        elif self._line and time.monotonic() >= self._began + DELAY:
            self._write_line()
