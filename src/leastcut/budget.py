"""The budget of long work: time, a callback that may stop it, and what Ctrl-C does.

A public function that takes ``time_limit`` or ``callback`` makes a :class:`Budget` first, which
checks them and starts the clock, and passes it down. Work asks :attr:`Budget.is_exhausted`, reports
its progress by :meth:`Budget.report`, and gives a part of its work a :meth:`Budget.share`.
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

LOOK_SECONDS = 0.1  # time between two looks for Ctrl-C, if the system does not end a wait by itself


class Budget:
    """What limits and watches long work: seconds from now on, a callback, and what Ctrl-C does.

    The callback is called with the progress of the work, and stops it by returning True; ``"tqdm"``
    is a progress bar, which :meth:`shown` opens. With ``on_interrupt="return"`` Ctrl-C returns what
    there is. ``began`` and ``deadline`` are on the monotonic clock.

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
        """Open a context in which ``callback="tqdm"`` is a progress bar.

        ``reading`` returns what the bar reads the progress by; it is only called for a bar.
        """
        if not isinstance(self.callback, str):
            yield
            return
        bar = ProgressBar(title, reading())
        self.callback = bar.show
        try:
            yield
        finally:
            # Also after an error or Ctrl-C: a bar that stays open would be drawn over.
            bar.close()
            self.callback = None

    @property
    def time_limit(self) -> float | None:
        """The seconds from the beginning to the deadline, None without a limit."""
        return None if self.deadline == math.inf else self.deadline - self.began

    @property
    def seconds(self) -> float:
        """The seconds since the beginning."""
        return time.monotonic() - self.began

    @property
    def seconds_left(self) -> float:
        """The seconds until the deadline, negative after it."""
        # Asked often, and clocks take time.
        return math.inf if self.deadline == math.inf else self.deadline - time.monotonic()

    @property
    def is_stopped(self) -> bool:
        """Whether the callback, or the owner of the whole, has stopped the work."""
        return self._is_stopped or (self._parent is not None and self._parent.is_stopped)

    @property
    def is_exhausted(self) -> bool:
        """Whether the work was stopped, or its time is up."""
        return self.is_stopped or self.seconds_left <= 0.0

    def require(self, seconds: float = 0.0) -> None:
        """Raise TimeoutError unless a step of this estimated duration can end by the deadline."""
        if seconds >= self.seconds_left:
            raise TimeoutError(f"A step of {seconds:.2g} s cannot end by the deadline.")

    def stop(self) -> None:
        """Stop the work as if its time were up."""
        self._is_stopped = True

    def report(self, progress: Any) -> bool:
        """Call the callback, unless it has stopped the work before; return whether it has.

        The call is made in the thread that waits for the work, if there is one.
        """
        if self.callback is not None and not self.is_stopped:
            if self._waiting is None:
                self._ask(progress)
            else:
                self._waiting.call(lambda: self._ask(progress))
        return self.is_stopped

    def _ask(self, progress: Any) -> None:
        if is_true(self.callback(progress)):
            self.stop()

    def share(self, fraction: float = 1.0, translate: Callable[[Any], Any] | None = None) -> Budget:
        """Return the budget of a part of the work, which ends at this fraction of the time limit.

        ``translate`` makes of the part's progress what is reported: None is nothing.
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
        """Return the budget of a part of the work, of this fraction of the time that is left."""
        part = self.share(1.0, translate)
        part.began = time.monotonic()
        if self.deadline != math.inf:
            part.deadline = part.began + fraction * max(0.0, self.deadline - part.began)
        return part

    # -- a thread that is waited for

    def run_in_thread(self, work: Callable[[], Result]) -> Result:
        """Run work in another thread, so that Ctrl-C need not wait for a compiled loop to end."""
        self._waiting = Waiting()
        return self._waiting.run(work, self.stop)

    @property
    def is_waited_for(self) -> bool:
        """Whether another thread waits for the work."""
        return self._waiting is not None

    def check_waited_for(self) -> None:
        """Raise in the thread that works if nobody waits for it any more."""
        if self._waiting is not None:
            self._waiting.go_on()


class Stopped(Exception):
    """Ends work that nobody waits for any more; raised in the thread that does it."""


class Waiting:
    """A caller who waits for work in another thread, and makes the calls that belong in its own.

    Python handles Ctrl-C between two of its own steps, and a compiled loop over a hundred million
    edges is one step. The main thread has nothing to do but wait while another works: it receives
    Ctrl-C within a tenth of a second, tells the other to stop, and does not wait until it has.
    """

    def __init__(self) -> None:
        self._messages: SimpleQueue[tuple[Call | None, Any]] = SimpleQueue()
        self._worker: threading.Thread | None = None
        self._is_over = False

    def run(self, work: Callable[[], Result], stop: Call) -> Result:
        """Do ``work`` in another thread and return what it does, or raise what it raises.

        Where the wait ends early, as by Ctrl-C or an error of a call, ``stop`` is called, and the
        thread ends by itself later. Only the main thread hears Ctrl-C: in others, it is they that
        do the work.
        """
        if threading.current_thread() is not threading.main_thread():
            return work()
        results: list[Result] = []

        def do() -> None:
            error = None
            try:
                results.append(work())
            except BaseException as raised:  # which is the caller's, whatever it is
                error = raised
            self._messages.put((None, error))

        # In the context of the caller, as of NumPy's errstate. A daemon: a process that was told to
        # end does not wait either.
        context = contextvars.copy_context()
        self._worker = threading.Thread(target=context.run, args=(do,), daemon=True)
        try:
            self._worker.start()
            while True:
                try:
                    call, said = self._messages.get(timeout=LOOK_SECONDS)
                except Empty:
                    continue
                if call is None:
                    break
                try:
                    call()
                except BaseException:
                    self._is_over = True  # before the other goes on
                    raise
                finally:
                    said.set()
        except BaseException:
            self._is_over = True
            stop()
            raise
        if said is not None:
            raise said
        return results[0]

    def go_on(self) -> None:
        """Do nothing, but raise in the thread that works where nobody waits for it any more."""
        if self._is_over:
            raise Stopped

    def call(self, call: Call) -> None:
        """Make a call in the thread that waits, and return when it has been made."""
        if threading.current_thread() is not self._worker:
            call()
            return
        made = threading.Event()
        if not self._is_over:
            self._messages.put((call, made))
            while not made.wait(LOOK_SECONDS) and not self._is_over:
                pass
        self.go_on()
