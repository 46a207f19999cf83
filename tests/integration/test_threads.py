"""One BLAS thread where an answer depends on it, and the threads there were ever after."""

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
    """Return the threads of libraries that compute; SciPy has a reader of files with some, too."""
    wanted = kinds or ("blas", "openmp")
    return [found["num_threads"] for found in threadpool_info() if found["user_api"] in wanted]


@pytest.fixture(autouse=True)
def three_threads():
    """Three threads everywhere, so that one is another number on any machine.

    A search that an earlier test interrupted may still be ending in a thread of its own. Whoever
    is inside then would set BLAS back to what it was before these three.
    """
    deadline = time.monotonic() + 60
    while threads._blas.inside and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not threads._blas.inside, "a search of an earlier test has not ended"
    # Other tests load libraries with threads that nothing here uses; below all are counted.
    threads._found.cache_clear()
    with threadpool_limits(3):
        assert set(counts()) == {3}
        yield


def at_once(tasks):
    """Run every task in a thread of its own, all begun at the same moment."""
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


def test_overlapping_calls_leave_blas_as_it_was():
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
        raised = at_once(tasks)
        assert [type(error) for error in raised if error] == [Stop, TypeError]
        assert set(counts()) == {3}


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("order", ["first in, first out", "last in, first out"])
def test_blas_is_limited_until_the_last_is_out(order, error):
    stays = [single_threaded() for _ in range(N_THREADS)]
    for stay in stays:
        stay.__enter__()
    for stay in stays if order == "first in, first out" else stays[::-1]:
        assert set(counts("blas")) == {1}
        stay.__exit__(error, error and error(), None)
    assert set(counts("blas")) == {3}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_inside_leaves_nothing_behind(error):
    def nested():
        with single_threaded(), single_threaded():
            assert set(counts()) == {1}, threadpool_info()
            raise error

    with pytest.raises(error):
        nested()
    assert set(counts()) == {3}
    # Errors that are no Exception end a thread as well.
    raised = at_once([nested] * N_THREADS)
    assert {type(one) for one in raised} == {error}, raised
    assert set(counts()) == {3}


class InterruptAt:
    """Raises KeyboardInterrupt at one of the places of the module where Python looks for signals.

    It looks after a call and where a function begins; not, for one, between taking a lock and the
    block that gives it back.
    """

    def __init__(self, place: int) -> None:
        self.left = place
        self._last: dict[int, str] = {}  # by id, as a frame would keep alive what is in it

    def __enter__(self):
        # Python 3.12 looks for single operations only if a frame has asked before tracing begins.
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
            looked = self._last[id(frame)] in ("RESUME", "CALL", "CALL_KW")
            self._last[id(frame)] = dis.opname[code.co_code[frame.f_lasti]]
            self.left -= looked
            if looked and self.left == 0:
                raise KeyboardInterrupt
        return self._trace


def stay_inside():
    with single_threaded():
        pass


@pytest.mark.parametrize("others", [0, 1], ids=["alone", "beside another"])
def test_an_interrupt_at_any_moment_leaves_nothing_behind(others):
    stay_inside()  # the libraries are found once
    place, interrupted = 0, True
    while interrupted:
        place += 1
        stays = [single_threaded() for _ in range(others)]
        for stay in stays:
            stay.__enter__()
        interrupted = False
        try:
            with InterruptAt(place):
                stay_inside()
        except KeyboardInterrupt:
            interrupted = True
        for stay in stays:
            assert set(counts("blas")) == {1}
            stay.__exit__(None, None, None)
        assert set(counts()) == {3}, f"interrupted at place {place}"
    assert place > 20  # of entering, settling and leaving


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_does_not_wait_for_threads_it_has_not_got():
    inside, go_on = threading.Event(), threading.Event()

    def stay():
        with single_threaded():
            inside.set()
            go_on.wait()

    other = threading.Thread(target=stay)
    other.start()
    inside.wait()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        # told in words, and ended here whatever happens: the child must not go on testing
        told = "nothing"
        try:
            before = counts()
            stay_inside()
            told = f"{set(before)} before, {set(counts())} after"
        except BaseException as error:
            told = repr(error)
        finally:
            os.write(write, told.encode())
            os._exit(0)
    go_on.set()
    other.join()
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read) as told:
        assert told.read() == "{3} before, {3} after"
    assert set(counts()) == {3}


def test_names_are_loaded_by_one_thread_at_a_time():
    program = textwrap.dedent(
        """
        import itertools, sys, threading, time
        from concurrent.futures import ThreadPoolExecutor
        import leastcut

        importing = []

        class Note:
            def find_spec(name, path=None, target=None):
                if name.startswith("leastcut."):
                    importing.append(threading.get_ident())
                    time.sleep(0.02)  # long enough for the others to begin, if they may

        sys.meta_path.insert(0, Note)
        names = ["relax", "discretize", "partition", "direct_cut", "cut_value"]
        begin = threading.Barrier(len(names))

        def load(name):
            begin.wait()
            getattr(leastcut, name)

        with ThreadPoolExecutor(len(names)) as pool:
            list(pool.map(load, names))
        runs = [thread for thread, _ in itertools.groupby(importing)]
        print(len(runs) == len(set(runs)))
        """
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert found.stdout == b"True\n"


@pytest.mark.slow
def test_openmp_is_limited_in_the_call_that_loads_it():
    program = textwrap.dedent(
        """
        import sys
        import leastcut
        from threadpoolctl import threadpool_info

        relaxation = leastcut.relax([[0, 2, 0], [2, 0, 1], [0, 1, 0]], 2)
        assert "sklearn" not in sys.modules
        inside = set()

        def note(frame, event, _):
            if frame.f_code.co_name == "_init_centroids" and event == "call":
                inside.update(library["num_threads"] for library in threadpool_info())

        sys.setprofile(note)
        leastcut.discretize(relaxation, "kmeans", random_state=0)
        sys.setprofile(None)
        print(inside)
        """
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "3", "OPENBLAS_NUM_THREADS": "3"}
    run = [sys.executable, "-c", program]
    found = subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
    assert found.stdout == "{1}\n"


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True, [1], np.nan])
def test_n_jobs_is_a_number_of_threads(n_jobs):
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
def test_an_error_in_a_block_cancels_those_that_wait(error):
    begun, free = [], threading.Event()

    def task(start, stop):
        begun.append(start)
        if start == 0:
            raise error
        free.wait(0.05)

    with pytest.raises(error):
        in_blocks(task, 1000, 1, 2)
    free.set()
    assert len(begun) < 20


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_ends_a_search_and_leaves_no_thread_behind():
    code = textwrap.dedent(
        """
        import os, signal, threading
        import numpy as np
        import leastcut.affinity.neighbors.tree as module
        from leastcut.affinity.neighbors.index import NeighborIndex

        X = np.random.default_rng(0).random((200_000, 2))
        index = NeighborIndex(X, 2)
        index.exact
        asked = []
        list_nearest = module.list_nearest

        def interrupted(*arguments):
            asked.append(1)
            if len(asked) == 3:
                os.kill(os.getpid(), signal.SIGINT)
            return list_nearest(*arguments)

        module.list_nearest = interrupted
        try:
            index.nearest_others(100)
        except KeyboardInterrupt:
            print(len(asked) < 30, threading.active_count())
        """
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "1"]
