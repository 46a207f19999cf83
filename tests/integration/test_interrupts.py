"""Ctrl-C interrupts long computations, which need no special handling."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from leastcut.budget import Stopped, Waiting


def do_nothing() -> None:
    pass


def test_results_and_errors_are_passed_to_the_caller():
    assert Waiting().run(lambda: 5, do_nothing) == 5
    error = ValueError("no")

    def fail():
        raise error

    with pytest.raises(ValueError, match="no") as raised:
        Waiting().run(fail, do_nothing)
    assert raised.value is error


def test_calls_run_in_the_thread_of_the_caller_one_at_a_time():
    waiting, threads, order = Waiting(), [], []

    def call(number):
        threads.append(threading.get_ident())
        order.append(number)

    def work():
        for number in range(3):
            waiting.call(lambda number=number: call(number))
            order.append("after")
        return threading.get_ident()

    waiting.run(work, do_nothing)
    assert set(threads) == {threading.get_ident()}
    assert order == [0, "after", 1, "after", 2, "after"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_in_a_call_stops_the_work(error):
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


def test_work_runs_in_the_context_of_the_caller():
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        Waiting().run(lambda: np.ones(1) / np.zeros(1), do_nothing)


def test_a_thread_without_interrupts_works_itself():
    with ThreadPoolExecutor(1) as pool:
        worker = pool.submit(threading.get_ident).result()
        assert pool.submit(Waiting().run, threading.get_ident, do_nothing).result() == worker


def run_in_process(code: str) -> list[str]:
    run = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(run, capture_output=True, text=True, check=True).stdout.splitlines()


def test_an_interrupt_ends_the_wait_but_not_the_process():
    """A real signal, while the other thread is blocked."""
    output = run_in_process(
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
            Waiting().run(work, stop=lambda: print("stopped"))
        except KeyboardInterrupt:
            print("raised", go_on.is_set())
        """
    )
    assert output == ["stopped", "raised False"]


@pytest.mark.parametrize("on_interrupt", ["raise", "return"])
def test_an_interrupted_search_returns_the_best_partition(on_interrupt):
    output = run_in_process(
        f"""
        import signal, threading
        import numpy as np
        import leastcut
        from leastcut.multilevel import search, stages

        search.LONG_EDGES = stages.HUGE_NODES = 100
        stages.SEARCHED_NODES = 80
        S = np.kron(np.eye(60), np.ones((5, 5))) + np.eye(300, k=1) + np.eye(300, k=-1)
        main = threading.get_ident()

        def callback(progress):
            assert threading.get_ident() == main
            if progress.stage == "balanced":
                signal.raise_signal(signal.SIGINT)

        options = dict(random_state=0, lower_bound=False)
        reference = leastcut.partition(S, 3, effort="auto", **options)
        try:
            partition = leastcut.partition(
                S, 3, callback=callback, on_interrupt="{on_interrupt}", **options
            )
            print(partition.cut_value <= reference.cut_value)
        except KeyboardInterrupt:
            print("raised")
        """
    )
    assert output == ["raised" if on_interrupt == "raise" else "True"]
