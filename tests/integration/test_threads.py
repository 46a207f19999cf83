"""Single-threaded BLAS for reproducible results, and the restored number of threads."""

from __future__ import annotations

import dis
import os
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import sklearn.cluster  # noqa: F401 (its OpenMP is counted from the start)
from conftest import knn_graph
from threadpoolctl import threadpool_info, threadpool_limits

import leastcut
from leastcut import threads
from leastcut.threads import count_threads, in_blocks, single_threaded

N_THREADS = 8


def counts(*kinds: str) -> list[int]:
    """Return the numbers of threads of numerical libraries."""
    apis = kinds or ("blas", "openmp")
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] in apis]


@pytest.fixture(autouse=True)
def three_threads():
    """Use three threads, so that a limit of one is visible on any machine.

    A search that an earlier test interrupted may still be running in a thread, and would restore
    the number of threads from before.
    """
    deadline = time.monotonic() + 60
    while threads._blas.active and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not threads._blas.active, "a search of an earlier test has not ended"
    # Other tests load further libraries with threads, which are all counted below.
    threads._find_libraries.cache_clear()
    with threadpool_limits(3):
        assert set(counts()) == {3}
        yield


def at_once(tasks):
    """Run every task in its own thread, all starting at the same time."""
    barrier = threading.Barrier(len(tasks))

    def run(task):
        barrier.wait()
        return task()

    with ThreadPoolExecutor(len(tasks)) as pool:
        return [future.exception() for future in [pool.submit(run, task) for task in tasks]]


class Stop(Exception):
    pass


def stop(_):
    raise Stop


def test_overlapping_calls_restore_the_number_of_threads():
    graph = knn_graph(np.random.default_rng(0).normal(size=(80, 2)), 8)
    relaxation = leastcut.relax(graph, 4, random_state=0)
    tasks = [
        lambda: leastcut.relax(graph, 4, random_state=0, solver="lanczos"),
        lambda: leastcut.partition(graph, 4, random_state=0),
        lambda: leastcut.partition(graph, 4, random_state=0, callback=stop),
        lambda: leastcut.discretize(relaxation, "kmeans", random_state=0, init=3),
        lambda: leastcut.discretize(relaxation, random_state=0),
        lambda: leastcut.direct_cut(graph, 4, random_state=0),
        lambda: leastcut.relax(graph, 4, random_state=0, solver="lanczos", max_iter=1),
        lambda: leastcut.partition(graph, 3, lower_bound=True, random_state=0),
    ]
    for _ in range(3):
        errors = at_once(tasks)
        assert [type(error) for error in errors if error] == [Stop, TypeError]
        assert set(counts()) == {3}


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("order", ["first in, first out", "last in, first out"])
def test_blas_is_limited_until_the_last_context_ends(order, error):
    contexts = [single_threaded() for _ in range(N_THREADS)]
    for context in contexts:
        context.__enter__()
    for context in contexts if order == "first in, first out" else contexts[::-1]:
        assert set(counts("blas")) == {1}
        context.__exit__(error, error and error(), None)
    assert set(counts("blas")) == {3}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_restores_the_number_of_threads(error):
    def nested():
        with single_threaded(), single_threaded():
            assert set(counts()) == {1}, threadpool_info()
            raise error

    with pytest.raises(error):
        nested()
    assert set(counts()) == {3}
    # Errors that do not derive from Exception, too.
    errors = at_once([nested] * N_THREADS)
    assert {type(raised_error) for raised_error in errors} == {error}, errors
    assert set(counts()) == {3}


class InterruptAt:
    """Raises KeyboardInterrupt at a position in the module where Python checks for signals.

    Python checks after calls and at the start of functions, but not, for example, between acquiring
    a lock and the block that releases it.
    """

    def __init__(self, position: int) -> None:
        self.remaining = position
        self._last: dict[int, str] = {}  # by id, as a frame keeps its objects alive

    def __enter__(self):
        # Python 3.12 traces opcodes only if a frame requested it before tracing starts.
        sys._getframe().f_trace_opcodes = True
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_):
        sys.settrace(self._before)

    def _trace(self, frame, event, _):
        code = frame.f_code
        if code.co_filename != threads.__file__ or code.co_name == "__del__":
            return None
        frame.f_trace_opcodes = True
        if event == "call":
            self._last[id(frame)] = "RESUME"
        if event == "opcode":
            checks = self._last[id(frame)] in ("RESUME", "CALL", "CALL_KW")
            self._last[id(frame)] = dis.opname[code.co_code[frame.f_lasti]]
            self.remaining -= checks
            if checks and self.remaining == 0:
                raise KeyboardInterrupt
        return self._trace


def enter_and_leave():
    with single_threaded():
        pass


@pytest.mark.parametrize("others", [0, 1], ids=["alone", "with another"])
def test_an_interrupt_at_any_position_restores_the_number_of_threads(others):
    enter_and_leave()  # caches the libraries
    position, interrupted = 0, True
    while interrupted:
        position += 1
        contexts = [single_threaded() for _ in range(others)]
        for context in contexts:
            context.__enter__()
        interrupted = False
        try:
            with InterruptAt(position):
                enter_and_leave()
        except KeyboardInterrupt:
            interrupted = True
        for context in contexts:
            assert set(counts("blas")) == {1}
            context.__exit__(None, None, None)
        assert set(counts()) == {3}, f"interrupted at position {position}"
    assert position > 20  # in entering, updating and leaving


@pytest.mark.skipif(not hasattr(os, "fork"), reason="os.fork is not available")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_does_not_wait_for_threads_of_its_parent():
    entered, leave = threading.Event(), threading.Event()

    def stay():
        with single_threaded():
            entered.set()
            leave.wait()

    other = threading.Thread(target=stay)
    other.start()
    entered.wait()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        # Report as text and exit in any case: the child must not continue the tests.
        output = "nothing"
        try:
            before = counts()
            enter_and_leave()
            output = f"{set(before)} before, {set(counts())} after"
        except BaseException as error:
            output = repr(error)
        finally:
            os.write(write, output.encode())
            os._exit(0)
    leave.set()
    other.join()
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read) as output:
        assert output.read() == "{3} before, {3} after"
    assert set(counts()) == {3}


def test_modules_are_imported_by_one_thread_at_a_time():
    program = textwrap.dedent(
        """
        import itertools, sys, threading, time
        from concurrent.futures import ThreadPoolExecutor
        import leastcut

        importing = []

        class Recorder:
            def find_spec(name, path=None, target=None):
                if name.startswith("leastcut."):
                    importing.append(threading.get_ident())
                    time.sleep(0.02)  # long enough for other threads to import

        sys.meta_path.insert(0, Recorder)
        names = ["relax", "discretize", "partition", "direct_cut", "cut_value"]
        barrier = threading.Barrier(len(names))

        def load(name):
            barrier.wait()
            getattr(leastcut, name)

        with ThreadPoolExecutor(len(names)) as pool:
            list(pool.map(load, names))
        runs = [thread for thread, _ in itertools.groupby(importing)]
        print(len(runs) == len(set(runs)))
        """
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert process.stdout == b"True\n"


@pytest.mark.slow
def test_openmp_is_limited_in_the_call_that_loads_it():
    program = textwrap.dedent(
        """
        import sys
        import leastcut
        from threadpoolctl import threadpool_info

        relaxation = leastcut.relax([[0, 2, 0], [2, 0, 1], [0, 1, 0]], 2)
        assert "sklearn" not in sys.modules
        numbers = set()

        def profile(frame, event, _):
            if frame.f_code.co_name == "_init_centroids" and event == "call":
                numbers.update(library["num_threads"] for library in threadpool_info())

        sys.setprofile(profile)
        leastcut.discretize(relaxation, "kmeans", random_state=0)
        sys.setprofile(None)
        print(numbers)
        """
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "3", "OPENBLAS_NUM_THREADS": "3"}
    run = [sys.executable, "-c", program]
    process = subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
    assert process.stdout == "{1}\n"


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True, [1], np.nan])
def test_invalid_n_jobs_raises(n_jobs):
    with pytest.raises((TypeError, ValueError), match="n_jobs="):
        count_threads(n_jobs)


# -- blocks of rows


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize(("n_rows", "most_rows"), [(0, 3), (1, 3), (3, 3), (10, 3), (10, 0)])
def test_blocks_cover_all_rows_once_and_in_order(n_rows, most_rows, n_threads):
    parts = in_blocks(lambda start, stop: range(start, stop), n_rows, most_rows, n_threads)
    assert [row for part in parts for row in part] == list(range(n_rows))
    assert all(1 <= len(part) <= max(1, most_rows) for part in parts)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_in_a_block_cancels_waiting_blocks(error):
    started, event = [], threading.Event()

    def task(start, stop):
        started.append(start)
        if start == 0:
            raise error
        event.wait(0.05)

    with pytest.raises(error):
        in_blocks(task, 1000, 1, 2)
    event.set()
    assert len(started) < 20


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_ctrl_c_stops_a_search_and_its_threads():
    code = textwrap.dedent(
        """
        import os, signal, threading
        import numpy as np
        import leastcut.affinity.neighbors.tree as module
        from leastcut.affinity.neighbors.index import NeighborIndex

        X = np.random.default_rng(0).random((200_000, 2))
        index = NeighborIndex(X, 2)
        index.exact
        calls = []
        list_nearest = module.list_nearest

        def interrupted(*arguments):
            calls.append(1)
            if len(calls) == 3:
                os.kill(os.getpid(), signal.SIGINT)
            return list_nearest(*arguments)

        module.list_nearest = interrupted
        try:
            index.neighborhoods(100)
        except KeyboardInterrupt:
            print(len(calls) < 30, threading.active_count())
        """
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout.split() == ["True", "1"]
