"""Kernels without Numba: code runs for the arguments it was made for, and for no others."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from firstcut.kernels.code_files import CodeFiles, MachineCode
from firstcut.kernels.machine_code import Linked, choice_of
from firstcut.kernels.signatures import kind_of, kind_of_type

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere Numba runs kernels")

# -- what is told apart

ELEMENTS = [
    "?",
    "i1",
    "u1",
    "i4",
    "u4",
    "i8",
    "u8",
    "f4",
    "f8",
    ">f8",
    ">i4",
    "c16",
    "q",
    "f2",
    "O",
]


@st.composite
def arrays(draw):
    dtype = np.dtype(draw(st.sampled_from(ELEMENTS)))
    shape = draw(npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
    array = np.zeros(shape, dtype=dtype, order=draw(st.sampled_from("CF")))
    if array.ndim and draw(st.booleans()):
        array = np.zeros([2 * side for side in array.shape], dtype=dtype)[::2]
    if draw(st.booleans()):
        array.flags.writeable = False
    if array.ndim == 2 and draw(st.booleans()):
        array = array.view(draw(st.sampled_from([np.memmap, np.matrix])))
    return array


@st.composite
def unaligned(draw):
    return np.zeros(17, dtype=np.uint8)[1:].view(draw(st.sampled_from(["f8", "i4"])))


scalars = st.one_of(
    st.booleans(),
    st.none(),
    st.floats(),
    st.integers(-(2**65), 2**65),
    st.sampled_from([2**63 - 1, 2**63, -(2**63), -(2**63) - 1]),
    st.sampled_from([np.int64, np.int32, np.uint8, np.float64, np.float32, np.bool_]).map(
        lambda cls: cls(1)
    ),
    st.sampled_from(["a", b"a", 1j, [1], {}]),
)
values = st.recursive(
    st.one_of(arrays(), unaligned(), scalars), lambda inner: st.lists(inner, max_size=3).map(tuple)
)


@given(values)
def test_a_kind_is_what_numba_tells_apart(value):
    import numba

    kind = kind_of(value)
    if kind is not None:
        assert kind == kind_of_type(numba.typeof(value))


@given(st.lists(values, max_size=3).map(tuple), st.lists(values, max_size=3).map(tuple))
def test_a_choice_is_made_by_kinds(made_for, called_with):
    kinds = kind_of(made_for)
    if kinds is None:
        return
    entered = []

    @ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    def wrapper(itself, arguments, named):
        entered.append(arguments)
        return "the code"

    address = ctypes.cast(wrapper, ctypes.c_void_p).value
    choice = choice_of(
        {kinds: Linked(address, None)}, lambda *arguments, **named: (arguments, named)
    )
    for arguments in (made_for, called_with):
        fits = kind_of(arguments) == kinds
        found = choice(*arguments)
        if fits:
            assert found == "the code"
            assert all(a is b for a, b in zip(entered.pop(), arguments, strict=True))
        else:
            assert not entered
            assert all(a is b for a, b in zip(found[0], arguments, strict=True))
            assert found[1] == {}
    assert choice(*made_for, named=1)[1] == {"named": 1}


def test_the_code_of_every_kind_is_found():
    @ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    def wrapper(itself, arguments, named):
        return "the code"

    cases = [(1,), (1.0,), (True,), (None,), (np.zeros(1),), ((1, np.zeros((1, 2))),), ((),), ()]
    address = ctypes.cast(wrapper, ctypes.c_void_p).value
    linked = {kind_of(case): Linked(address, None) for case in cases}
    assert len(linked) == len(cases)
    choice = choice_of(linked, lambda *arguments: "none")
    assert [choice(*case) for case in cases] == ["the code"] * len(cases)
    assert choice(np.zeros(1, dtype=np.float32)) == "none"


# -- fresh processes

MODULE = '''
import math
from firstcut.kernels import kernel

@kernel
def added(total, terms, factor):
    """Add the terms, which is any array, to the total; return it."""
    for term in terms.ravel():
        total[0] += factor * term
    return total[0], factor

@kernel
def twice(total, terms, factor):
    first, _ = added(total, terms, factor)
    if first > 1e6:
        raise ValueError("too large")
    return added(total, terms, factor)[0]

@kernel
def pair(both, scale):
    a, b = both
    for i in range(a.size):
        a[i] += scale * b[i]

@kernel
def waves(values):
    for i in range(values.size):
        x = values[i]
        values[i] = math.exp(-x) + math.log(x) + math.sin(x) * x ** 1.7 + math.hypot(x, 2.0) % 0.3

@kernel
def slow(progress, done, rounds):
    for r in range(rounds):
        for i in range(progress.size):
            progress[i] += 1.0 / (1.0 + progress[i])
    done[0] = 1
'''

USE = """
import sys, pickle
sys.path.insert(0, {folder!r})
import numpy as np
from module import added, pair, slow, twice, waves
assert "numba" not in sys.modules
terms = np.arange(6.0)
"""

COMMON = "print(float(added(np.zeros(1), terms, 2)[0]), twice(np.zeros(1), terms, 1.5))\n"


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a program, after the lines of USE, in a fresh process."""
    (tmp_path / "module.py").write_text(MODULE)

    def answer(program, **settings):
        cleared = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", USE.format(folder=str(tmp_path)) + program],
            # Python itself would keep the module it knows, by its time and size.
            env={
                **cleared,
                "PYTHONDONTWRITEBYTECODE": "1",
                "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
                **settings,
            },
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout.strip()

    return answer


def test_later_processes_do_without_numba(run):
    first = run(COMMON + "assert 'numba' in sys.modules")
    assert first == run(COMMON + "assert 'numba' not in sys.modules")


def test_results_are_those_of_numba_to_the_last_bit(run):
    program = """
    values = np.random.default_rng(0).random(1000) * 9
    waves(values)
    print(values.tobytes().hex(), "numba" in sys.modules)
    """
    first, second = (run(textwrap.dedent(program)).split() for _ in range(2))
    assert first == [second[0], "True"]
    assert second[1] == "False"


def test_a_kernel_is_pickled_by_name(run):
    run("assert pickle.loads(pickle.dumps(added)) is added")


def test_whatever_the_arguments_the_answer_is_that_of_the_function(run):
    run(COMMON)
    program = """
    class Sub(np.ndarray): pass
    big = np.arange(24.0).reshape(4, 6)
    cases = [terms, big, big.T, big[:, ::2], big[::-1], terms.astype("f4"), terms.astype("i4"),
             terms.astype("i8"), terms.astype("q"), terms > 2, terms[:0], np.array(3.0),
             pickle.loads(pickle.dumps(terms)), terms.view(Sub), np.frombuffer(terms.tobytes())]
    for again in range(2):
        for case in cases:
            for factor in (2, 2.0, True, np.float64(3), np.int64(3), np.float32(3), np.int32(2)):
                for function in (added, twice):
                    if case.ndim:
                        found = function(np.zeros(1), case, factor)
                        assert found == function.py_func(np.zeros(1), case, factor)
    a, b, c = np.ones(3), np.ones(3), np.ones(3)
    pair((a, b), 2.0); pair((a, b), scale=2); pair.py_func((c, b), 2.0); pair.py_func((c, b), 2)
    assert (a == c).all()
    print("numba" in sys.modules)
    """
    assert run(textwrap.dedent(program)) == "True"
    assert run(textwrap.dedent(program)) == "True"


def test_arguments_that_are_wrong_are_said_to_be(run):
    run(COMMON)
    program = """
    for wrong in ((terms,), (terms, terms, "a"), (terms, [1.0], 1), (terms, terms, 1, 1), ()):
        try:
            added(*wrong)
        except Exception as error:
            continue
        raise AssertionError(wrong)
    """
    run(textwrap.dedent(program))


def test_what_a_kernel_raises_arrives(run):
    run(COMMON)
    program = """
    try:
        twice(np.full(1, 1e7), terms, 1.5)
    except ValueError as error:
        print(error)
    """
    assert run(textwrap.dedent(program)) == "too large"


def test_numba_can_follow(run):
    run(COMMON)
    program = """
    from numba import njit
    @njit
    def mine(total, terms): return added(total, terms, 2)[0]
    assert mine(np.zeros(1), terms) == 30 == added(np.zeros(1), terms, 2)[0]
    assert added(np.zeros(1), terms.astype("f4"), 2)[0] == 30 == added(np.zeros(1), terms, 2)[0]
    """
    run(COMMON + "assert 'numba' not in sys.modules" + textwrap.dedent(program))
    run(textwrap.dedent(program))


def test_threads_may_call_a_kernel_first_at_the_same_time(run):
    program = """
    import threading
    from concurrent.futures import ThreadPoolExecutor
    together = threading.Barrier(8)
    def call(i):
        together.wait()
        return twice(np.zeros(1), terms, 1.5), added(np.zeros(1), terms, 2)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(call, range(8))) == {(45.0, (30.0, 2))}
    print("numba" in sys.modules)
    """
    assert [run(textwrap.dedent(program)) for _ in range(3)] == ["True", "False", "False"]


def test_a_forked_process_runs_kernels(run):
    run(COMMON)
    program = """
    import os
    def forked():
        child = os.fork()
        if not child:
            os._exit(twice(np.zeros(1), terms, 1.5) != 45)
        return os.waitpid(child, 0)[1]
    assert forked() == 0
    assert twice(np.zeros(1), terms, 1.5) == 45
    assert forked() == 0
    assert "numba" not in sys.modules
    """
    run(textwrap.dedent(program))


def test_the_interpreter_goes_on_while_a_kernel_runs(run):
    program = """
    import threading
    progress, done = np.zeros(1000), np.zeros(1, dtype=np.int64)
    slow(progress, done, 1)
    progress[:], done[0] = 0, 0
    thread = threading.Thread(target=slow, args=(progress, done, 100_000))
    thread.start()
    while not progress[0]:
        pass
    print(int(done[0]), "numba" in sys.modules)
    thread.join()
    """
    assert run(textwrap.dedent(program)) == "0 True"
    assert run(textwrap.dedent(program)) == "0 False"


def test_processes_may_write_at_the_same_time(run):
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(run, [COMMON] * 4))) == 1
    run(COMMON + "assert 'numba' not in sys.modules")


def test_code_of_changed_sources_is_not_run(run, tmp_path):
    before = run(COMMON)
    source = tmp_path / "module.py"
    times = source.stat().st_atime_ns, source.stat().st_mtime_ns
    source.write_text(MODULE.replace("factor * term", "factor + term"))
    os.utime(source, ns=times)
    program = COMMON + "assert added(np.zeros(1), terms, 2)[0] == 27"
    assert run(program) == run(program) != before
    run(program + "\nassert 'numba' not in sys.modules")


@pytest.mark.parametrize("setting", ["NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK", "NUMBA_OPT"])
def test_settings_of_numba_are_numbas_to_follow(run, setting):
    first = run(COMMON)
    assert run(COMMON + "assert 'numba' in sys.modules", **{setting: "1"}) == first


def test_a_missing_symbol_is_noticed_before_code_is_linked(run, tmp_path):
    first = run(COMMON)
    program = f"""
    from firstcut.kernels import compiled
    original = compiled.CodeFiles.machine_code
    def needing_more(self, kinds):
        code = original(self, kinds)
        return code._replace(needed=(*code.needed, "no_such_symbol"))
    compiled.CodeFiles.machine_code = needing_more
    {COMMON}
    assert "numba" in sys.modules
    """
    assert run(textwrap.dedent(program)) == first


def test_what_a_file_holds_comes_back(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    files = CodeFiles(test_what_a_file_holds_comes_back)
    code = MachineCode(b"code", "wrapper", ("environment",), ("symbol",))
    files.save(("kinds",), "target", code, b"rest")
    files.save(("other",), "target", None, b"")
    assert files.load(("kinds",), "target") == (code, b"rest")
    assert files.load(("other",), "target") == (None, b"")
    assert files.load(("kinds",), "elsewhere") is None
    files.delete()
    assert files.load(("kinds",), "target") is None
