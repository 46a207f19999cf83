"""Long work in a thread of its own, so that Ctrl-C ends the wait for it at once.

Python handles Ctrl-C between two of its own steps, and a compiled loop over a hundred million edges
is one step. The main thread has nothing to do but wait while another works: it hears Ctrl-C within
a tenth of a second, tells the other to stop, and does not wait until it has.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

Result = TypeVar("Result")
Call = Callable[[], object]

LOOK_SECONDS = 0.1
"""Time between two looks for Ctrl-C, where the system does not end a wait by itself."""


class Stopped(Exception):
    """Ends work that nobody waits for any more; raised in the thread that does it."""


class Waiting:
    """A caller who waits for work in another thread, and makes the calls that belong in its own.

    Examples
    --------
    >>> from leastcut.interrupts import Waiting
    >>> seen = []
    >>> waiting = Waiting()
    >>> waiting.run(lambda: waiting.call(lambda: seen.append(1)), stop=lambda: None)
    >>> seen
    [1]
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
