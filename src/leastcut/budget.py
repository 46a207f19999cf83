"""Budgets of long computations: a time limit, a progress callback and the handling of Ctrl-C.

Public functions with ``time_limit`` or ``callback`` create a :class:`Budget` first, which validates
them and starts the clock. Computations check :attr:`Budget.is_exhausted`, call
:meth:`Budget.report` with their progress, and pass :meth:`Budget.share` to their steps.
"""

from __future__ import annotations

import contextvars
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from leastcut.progress import BAR, ProgressBar, Reading
from leastcut.validation import check_callback, check_choice, check_number, is_true

Result = TypeVar("Result")
Call = Callable[[], object]
Callback = Callable[[Any], object]

POLL_SECONDS = 0.1  # interval of checks for Ctrl-C on systems where it does not end a wait


class Budget:
    """A time limit, a progress callback and the handling of Ctrl-C for a long computation.

    The callback receives the progress of the computation, and stops it by returning True;
    ``"tqdm"`` is a progress bar, which :meth:`shown` opens. With ``on_interrupt="return"`` Ctrl-C
    returns the best result so far. ``began`` and ``deadline`` are times of the monotonic clock.

    >>> budget = Budget(callback=lambda fraction: fraction > 0.5)
    >>> budget.report(0.5), budget.report(0.6), budget.is_exhausted
    (False, True, True)
    """

    def __init__(
        self,
        time_limit: float | None = None,
        callback: Callback | str | None = None,
        on_interrupt: str = "raise",
    ) -> None:
        self.began = time.monotonic()
        if time_limit is not None:
            time_limit = check_number("time_limit", time_limit, allow_infinite=True)
        if isinstance(callback, str):
            if callback != BAR:
                raise TypeError(
                    f"callback={callback!r} cannot be called; pass a function of one argument, "
                    f"callback={BAR!r} for a progress bar, or None."
                )
        else:
            check_callback(callback)
        self.deadline = math.inf if time_limit is None else self.began + time_limit
        self.callback: Any = callback
        self.on_interrupt = check_choice("on_interrupt", on_interrupt, ("raise", "return"))
        self._parent: Budget | None = None
        self._waiting: Waiting | None = None
        self._is_stopped = False

    @contextmanager
    def shown(self, title: str, reading: Callable[[], Reading]) -> Iterator[None]:
        """Return a context in which ``callback="tqdm"`` is a progress bar.

        ``reading`` returns the function that interprets progress; it is called for a bar only.
        """
        if not isinstance(self.callback, str):
            yield
            return
        bar = ProgressBar(title, reading())
        self.callback = bar.show
        try:
            yield
        finally:
            bar.close()
            self.callback = None

    @property
    def time_limit(self) -> float | None:
        """The seconds from the start to the deadline; None without a limit."""
        return None if self.deadline == math.inf else self.deadline - self.began

    @property
    def seconds(self) -> float:
        """The seconds since the start."""
        return time.monotonic() - self.began

    @property
    def seconds_left(self) -> float:
        """The seconds until the deadline, negative after it."""
        # Called often: read the clock only if there is a deadline.
        return math.inf if self.deadline == math.inf else self.deadline - time.monotonic()

    @property
    def is_stopped(self) -> bool:
        """Whether this computation or its parent was stopped."""
        return self._is_stopped or (self._parent is not None and self._parent.is_stopped)

    @property
    def is_exhausted(self) -> bool:
        """Whether the computation was stopped or its time is up."""
        return self.is_stopped or self.seconds_left <= 0.0

    def require(self, seconds: float = 0.0) -> None:
        """Raise TimeoutError unless a step of this estimated duration can end by the deadline."""
        if seconds >= self.seconds_left:
            raise TimeoutError(f"A step of {seconds:.2g} s cannot end by the deadline.")

    def stop(self) -> None:
        """Stop the computation as if its time were up."""
        self._is_stopped = True

    def report(self, progress: Any) -> bool:
        """Call the callback unless the computation is stopped; return whether it is stopped.

        The callback runs in the thread that waits for the computation, if there is one.
        """
        if self.callback is not None and not self.is_stopped:
            if self._waiting is None:
                self._call_back(progress)
            else:
                self._waiting.call(lambda: self._call_back(progress))
        return self.is_stopped

    def _call_back(self, progress: Any) -> None:
        if is_true(self.callback(progress)):
            self.stop()

    def share(self, fraction: float = 1.0, translate: Callable[[Any], Any] | None = None) -> Budget:
        """Return the budget of a step that must end at this fraction of the time limit.

        ``translate`` converts the progress of the step before it is reported; None is not reported.
        """
        part = Budget(on_interrupt=self.on_interrupt)
        part.began, part._parent = self.began, self
        if self.deadline != math.inf:
            part.deadline = self.began + fraction * (self.deadline - self.began)
        if self.callback is not None:
            part.callback = (
                self.report if translate is None else partial(self._report_as, translate)
            )
        return part

    def _report_as(self, translate: Callable[[Any], Any], progress: Any) -> bool:
        translated = translate(progress)
        return self.is_stopped if translated is None else self.report(translated)

    def part(self, fraction: float = 1.0, translate: Callable[[Any], Any] | None = None) -> Budget:
        """Return the budget of a step that may use this fraction of the remaining time."""
        part = self.share(1.0, translate)
        part.began = time.monotonic()
        if self.deadline != math.inf:
            part.deadline = part.began + fraction * max(0.0, self.deadline - part.began)
        return part

    # -- computations in another thread

    def run_in_thread(self, work: Callable[[], Result]) -> Result:
        """Run ``work`` in another thread, so that Ctrl-C does not wait for a compiled loop."""
        self._waiting = Waiting()
        return self._waiting.run(work, self.stop)

    @property
    def is_waited_for(self) -> bool:
        """Whether another thread waits for the computation."""
        return self._waiting is not None

    def check_waited_for(self) -> None:
        """Raise :class:`Stopped` in the worker thread if its caller no longer waits."""
        if self._waiting is not None:
            self._waiting.check()


class Stopped(Exception):
    """Raised in a worker thread whose caller no longer waits for its result."""


class Waiting:
    """The main thread waiting for a worker thread, and running callbacks on its behalf.

    Python handles Ctrl-C between bytecode instructions, so a compiled loop over a hundred million
    edges delays it. If the main thread only waits, it receives Ctrl-C within a tenth of a second,
    and stops the worker without waiting for it to end.
    """

    def __init__(self) -> None:
        self._messages: SimpleQueue[tuple[Call | None, Any]] = SimpleQueue()
        self._worker: threading.Thread | None = None
        self._is_over = False

    def run(self, work: Callable[[], Result], stop: Call) -> Result:
        """Run ``work`` in another thread; return its result or raise its exception.

        If the wait ends early, by Ctrl-C or an exception of a callback, ``stop`` is called and the
        worker ends later. Only the main thread receives Ctrl-C; other threads run ``work``
        themselves.
        """
        if threading.current_thread() is not threading.main_thread():
            return work()
        results: list[Result] = []

        def do() -> None:
            error = None
            try:
                results.append(work())
            except BaseException as raised:  # raised again in the main thread
                error = raised
            self._messages.put((None, error))

        # Use the caller's context, such as NumPy's errstate. A daemon thread does not delay the
        # end of the process.
        context = contextvars.copy_context()
        self._worker = threading.Thread(target=context.run, args=(do,), daemon=True)
        try:
            self._worker.start()
            while True:
                try:
                    call, message = self._messages.get(timeout=POLL_SECONDS)
                except Empty:
                    continue
                if call is None:
                    break
                try:
                    call()
                except BaseException:
                    self._is_over = True  # before the worker continues
                    raise
                finally:
                    message.set()
        except BaseException:
            self._is_over = True
            stop()
            raise
        if message is not None:
            raise message
        return results[0]

    def check(self) -> None:
        """Raise :class:`Stopped` if the caller no longer waits."""
        if self._is_over:
            raise Stopped

    def call(self, call: Call) -> None:
        """Run ``call`` in the waiting thread, and return when it has ended."""
        if threading.current_thread() is not self._worker:
            call()
            return
        made = threading.Event()
        if not self._is_over:
            self._messages.put((call, made))
            while not made.wait(POLL_SECONDS) and not self._is_over:
                pass
        self.check()
