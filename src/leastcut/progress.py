"""Progress bars for long computations.

``callback="tqdm"`` is a bar on the standard error, by tqdm if it is installed and else a line now
and then. Work that ends within a second shows nothing. A bar must not go backwards, and the time
left must be realistic, so progress is measured in seconds: those that have passed, of the estimated
total (:class:`TimeEstimate`).
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping, Sequence
from shutil import get_terminal_size
from typing import Any, NamedTuple, Protocol, TextIO

BAR = "tqdm"
"""What ``callback`` is for a progress bar."""

INSTALL = "pip install 'leastcut[progress]'"
"""The command that brings tqdm."""

DELAY = 1.0
"""Seconds that work may take without a word."""

LIVE_SECONDS, LINE_SECONDS = 0.1, 5.0
"""How often it is told to a person, whose bars move, and in a log, which should stay short."""

SEARCH_STAGES: dict[str, tuple[float, float]] = {
    "auto": (0.0, 0.5),
    "balanced": (1.0, 3.0),
    "thorough": (1.5, 1.5),
    "tight": (5.0, 1.0),
}
"""What a later stage of a search takes, about: seconds at least, and times what all before it took.
Read off searches of 500 to 30,000 nodes; how long a proof takes nobody knows."""

PATH_STAGES: dict[str, tuple[float, float]] = {
    "auto": (0.0, 1.5),
    "balanced": (3.0, 4.0),
    "thorough": (10.0, 5.0),
}
"""The same of a path."""

LEAST_FRACTION = 0.05
"""The fraction of a stage from which on its pace says more than what is listed."""

WIDTH = 120
"""Characters of a bar where there is no terminal to ask."""

_watching = 0
"""Bars that are open, and calls of :func:`watch`: somebody wants to know what takes long."""

_count_lock = threading.Lock()

_said: set[str] = set()
"""What was said; each is said once in a process."""


class Shown(NamedTuple):
    """What a bar shows: the part that is done, from 0 to 1, the seconds left, and words."""

    done: float
    left: float | None
    words: str


class Reading(Protocol):
    """Makes of what work tells what a bar shows of it."""

    def __call__(self, progress: Any) -> Shown: ...


def error_stream() -> TextIO | None:
    """Return the standard error, or None where it is closed or there is none, as under pythonw."""
    stream = sys.stderr
    return None if stream is None or getattr(stream, "closed", False) else stream


def somebody_looks(stream: TextIO | None) -> bool:
    """Say whether a person sees what is written to a stream at once: a terminal, or a session.

    A notebook's streams are no terminals; but like every session it has prompts.
    """
    return stream is not None and (_is_terminal(stream) or hasattr(sys, "ps1"))


def _is_terminal(stream: TextIO | None) -> bool:
    # What stands in for a stream may have no more than ``write``.
    return bool(getattr(stream, "isatty", lambda: False)())


def watch() -> None:
    """Say what takes long from now on, in this process: somebody has asked for it."""
    global _watching
    with _count_lock:
        _watching += 1


def is_watched() -> bool:
    """Say whether a bar is open, or :func:`watch` was called."""
    return _watching > 0


def say_line(line: str, stream: TextIO | None = None) -> None:
    """Write a line to the standard error, above the bars that are drawn there."""
    stream = error_stream() if stream is None else stream
    if stream is None:
        return
    loaded = sys.modules.get("tqdm")
    if loaded is None:
        stream.write(f"{line}\n")
    else:
        loaded.tqdm.write(line, file=stream)
    stream.flush()


# -- how far it is


class TimeEstimate:
    """How much of a search is done, by the clock: the seconds passed, of those foreseen in all.

    1. The stage under way takes what it has taken, divided by the fraction of it that is done.
    2. Later ones take what they are listed with, or so many times what all before them take.
    3. A time limit ends whatever would take longer.

    The part that is done never falls, and is 1 only when the last stage is done.

    Parameters
    ----------
    stages : sequence of str
        The stages, in order.
    later : mapping of str to (float, float)
        What stages take, as in :data:`SEARCH_STAGES`.
    time_limit : float or None
        Seconds after which the search ends.
    """

    def __init__(
        self,
        stages: Sequence[str],
        later: Mapping[str, tuple[float, float]],
        time_limit: float | None = None,
    ) -> None:
        self._stages, self._later, self._limit = tuple(stages), later, time_limit
        self._stage, self._began = self._stages[0], 0.0
        self._seconds = self._done = 0.0

    def __call__(self, progress: Any) -> Shown:
        """Return how far a search is, by its progress."""
        seconds, fraction = progress.seconds, progress.fraction
        if progress.stage != self._stage:
            self._stage, self._began = progress.stage, self._seconds
            if self._stage not in self._stages:  # one that was not foreseen comes last
                self._stages = (*self._stages, self._stage)
        # 1. The stage under way.
        taken = seconds - self._began
        if fraction >= LEAST_FRACTION:
            here = taken / fraction
        else:
            here = self._listed(self._stage, self._began)
        total = self._began + max(here, taken)
        # 2. Those after it.
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
        return Shown(self._done, max(0.0, total - seconds), self._words(progress))

    def _listed(self, stage: str, before: float) -> float:
        least, times = self._later.get(stage, (0.0, 1.0))
        return max(least, times * before)

    def _words(self, progress: Any) -> str:
        value = progress.cut_value
        number = getattr(progress, "n_clusters", None)
        words = f"{progress.stage}" if number is None else f"{progress.stage}, {number} clusters"
        # The first pass over a large graph reports before it has found anything.
        words += f", cut value {value:.4g}" if value < float("inf") else ""
        return words


class ProofReading:
    """How far a proof is: the bound as a part of the value, which tells nothing about time.

    Parameters
    ----------
    time_limit : float or None
        Seconds after which the proof ends: what is left of them is left at most.
    """

    def __init__(self, time_limit: float | None = None) -> None:
        self._limit, self._done = time_limit, 0.0

    def __call__(self, progress: Any) -> Shown:
        """Return how far a proof is, by its progress."""
        bound, value = progress.lower_bound, progress.cut_value
        done = bound / value if progress.n_open else 1.0
        # Of a bound that is nearly there no bar is to be full.
        self._done = max(self._done, done if done == 1.0 else min(done, 0.99))
        words = f"cut value {value:.4g}, gap {1.0 - done:.2%}"
        if progress.n_open > 1:
            words += f", {progress.n_open} cases open"
        if self._limit is not None and done < 1.0:
            words = f"at most {max(0.0, self._limit - progress.seconds):.0f} s left, {words}"
        return Shown(self._done, None, words)


# -- the bar


class ProgressBar:
    """A bar, or lines where there is no tqdm."""

    def __init__(self, title: str, reading: Reading) -> None:
        self._reading, self._title = reading, title
        self._bar: Any = None
        stream = error_stream()
        self._live = somebody_looks(stream)
        self._next = time.monotonic() + DELAY
        try:
            from tqdm import tqdm
        except ModuleNotFoundError:
            pass
        else:
            is_terminal = _is_terminal(stream)
            self._bar = tqdm(
                total=1.0,
                # Asked here: a terminal may say it is of size 0, and tqdm would then show nothing.
                ncols=get_terminal_size().columns if is_terminal else WIDTH,
                nrows=get_terminal_size().lines,
                desc=title,
                # A log has no cursor to move: there the bar is a line now and then.
                file=stream if self._live or stream is None else LineByLine(stream),
                mininterval=LIVE_SECONDS if self._live else LINE_SECONDS,
                miniters=0,  # time alone decides when to tell
                delay=DELAY,
                disable=stream is None,
                bar_format="{desc}: {percentage:3.0f}%|{bar:10}| {elapsed}{postfix}",
            )
        watch()

    def show(self, progress: Any) -> None:
        """Show how far the work is."""
        shown = self._reading(progress)
        if self._bar is None:
            self._show_line(shown)
            return
        left = "" if shown.left is None else f"{self._bar.format_interval(shown.left)} left, "
        self._bar.set_postfix_str(left + shown.words, refresh=False)
        self._bar.update(shown.done - self._bar.n)

    def _show_line(self, shown: Shown) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + LINE_SECONDS
        if "tqdm" not in _said:
            _said.add("tqdm")
            say_line(f"tqdm is not installed; {INSTALL} brings it, and a bar in place of lines.")
        left = "" if shown.left is None else f"about {shown.left:.0f} s left, "
        say_line(f"{self._title}: {shown.done:4.0%}, {left}{shown.words}")

    def close(self) -> None:
        """Leave the bar as it is, below what is written next."""
        global _watching
        with _count_lock:
            _watching -= 1
        if self._bar is None:
            return
        # A log has a last line, also where there was no other.
        if not self._live and time.monotonic() > self._next and not self._bar.disable:
            self._bar.refresh()
        self._bar.leave = self._live
        self._bar.close()


class LineByLine:
    """A file to which a bar is written line by line, where tqdm would draw one over the other."""

    def __init__(self, file: TextIO) -> None:
        self.file, self.encoding = file, getattr(file, "encoding", None)

    def write(self, text: str) -> None:
        """Write a line; what only moves the cursor or wipes the bar away is left out."""
        if text.strip():
            self.file.write(text.strip() + "\n")

    def flush(self) -> None:
        """Let it be seen at once."""
        self.file.flush()
