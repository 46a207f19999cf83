"""Ctrl-C does not wait for long work, and the work knows no difference."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from leastcut.budget import Stopped, Waiting


def nothing() -> None:
    pass


def test_what_work_returns_or_raises_is_the_callers():
    assert Waiting().run(lambda: 5, nothing) == 5
    error = ValueError("no")

    def fail():
        raise error

    with pytest.raises(ValueError, match="no") as raised:
        Waiting().run(fail, nothing)
    assert raised.value is error


def test_calls_are_made_in_the_callers_thread_one_at_a_time():
    waiting, threads, order = Waiting(), [], []

    def call(number):
        threads.append(threading.get_ident())
        order.append(number)

    def work():
        for number in range(3):
            waiting.call(lambda number=number: call(number))
            order.append("after")
        return threading.get_ident()

    waiting.run(work, nothing)
    assert set(threads) == {threading.get_ident()}
    assert order == [0, "after", 1, "after", 2, "after"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_of_a_call_stops_the_work(error):
    waiting, ended, stopped = Waiting(), threading.Event(), []

    def fail():
        raise error

    def work():
        try:
            waiting.call(fail)
        except Stopped:
            ended.set()
            raise

    with pytest.raises(error):
        waiting.run(work, lambda: stopped.append(True))
    assert stopped == [True]
    assert ended.wait(10)
    with pytest.raises(Stopped):
        waiting.check()


def test_work_is_done_in_the_callers_context():
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        Waiting().run(lambda: np.ones(1) / np.zeros(1), nothing)


def test_a_thread_that_never_hears_an_interrupt_works_itself():
    with ThreadPoolExecutor(1) as pool:
        there = pool.submit(threading.get_ident).result()
        assert pool.submit(Waiting().run, threading.get_ident, nothing).result() == there


def in_a_process(code: str) -> list[str]:
    run = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(run, capture_output=True, text=True, check=True).stdout.splitlines()


def test_an_interrupt_ends_the_wait_and_not_the_process():
    """A real signal, while the other thread is in the middle of something that it cannot leave."""
    said = in_a_process(
        """
        import signal, threading
        from leastcut.budget import Waiting

        begun, go_on = threading.Event(), threading.Event()

        def work():
            begun.set()
            go_on.wait()

        def interrupt():
            begun.wait()
            signal.raise_signal(signal.SIGINT)

        threading.Thread(target=interrupt).start()
        try:
            Waiting().run(work, stop=lambda: print("told"))
        except KeyboardInterrupt:
            print("raised", go_on.is_set())
        """
    )
    assert said == ["told", "raised False"]


@pytest.mark.parametrize("on_interrupt", ["raise", "return"])
def test_an_interrupted_search_returns_what_it_has(on_interrupt):
    said = in_a_process(
        f"""
        import signal, threading
        import numpy as np
        import leastcut
        from leastcut.multilevel import search, stages

        search.LONG_EDGES = stages.HUGE_NODES = 100
        stages.SEARCHED_NODES = 80
        S = np.kron(np.eye(60), np.ones((5, 5))) + np.eye(300, k=1) + np.eye(300, k=-1)
        main = threading.get_ident()

        def listen(progress):
            assert threading.get_ident() == main
            if progress.stage == "balanced":
                signal.raise_signal(signal.SIGINT)

        options = dict(random_state=0, lower_bound=False)
        whole = leastcut.partition(S, 3, effort="auto", **options)
        try:
            found = leastcut.partition(
                S, 3, callback=listen, on_interrupt="{on_interrupt}", **options
            )
            print(found.cut_value <= whole.cut_value)
        except KeyboardInterrupt:
            print("raised")
        """
    )
    assert said == ["raised" if on_interrupt == "raise" else "True"]
