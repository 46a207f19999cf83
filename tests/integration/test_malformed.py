"""Malformed matrices and files raise errors and never crash the process."""

from __future__ import annotations

import itertools
import subprocess
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from fuzz.malformed_invariants import CHANGES, FORMATS, changed, malformed_is_rejected
from fuzz.malformed_invariants import read as entries_of

import leastcut
from leastcut.io import read
from leastcut.io.labels import read_labels
from leastcut.io.loaded import ReadOptions
from leastcut.io.source import PER_BYTE
from leastcut.sparse_check import check_sparse

N = 24
rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(0, 1, (N // 2, 3)), rng.normal(8, 1, (N // 2, 3))])
DENSE = np.exp(-np.square(X[:, None] - X).sum(axis=2) / 8)

# -- sparse matrices

CRASHES = """
import sys
import numpy as np
import scipy.sparse as sp
import leastcut

n = 2000
rows = np.arange(n).repeat(6)
columns = (rows + np.tile([-3, -2, -1, 1, 2, 3], n)) % n
good = sp.csr_array((np.ones(rows.size), (rows, columns)), shape=(n, n))
model = leastcut.SpectralClustering(2, affinity="precomputed", random_state=0)
calls = {
    "partition": lambda S: leastcut.partition(S, 2, effort="fast", random_state=0),
    "symmetrize": lambda S: leastcut.cut_value(S, np.arange(n) % 2, symmetrize="mean"),
    "views": lambda S: leastcut.partition_views([good, S], 2, effort="fast"),
    "fit": lambda S: model.fit(S),
    "samples": lambda S: leastcut.nearest_neighbors_graph(S, n_neighbors=3),
    "distances": lambda S: leastcut.SpectralClustering(
        2, affinity="precomputed_nearest_neighbors", n_neighbors=3).fit(S),
}
for name, call in calls.items():
    for array, position, value in [
        ("indptr", 3, 10**9), ("indptr", 0, -7), ("indptr", n, 10**9),
        ("indices", 0, 10**8), ("indices", 0, -1), ("indices", 5, -(2**31)),
    ]:
        for form in ("csr", "csc"):
            bad = good.asformat(form).copy()
            getattr(bad, array)[position] = value
            try:
                call(bad)
            except ValueError as error:
                assert f"malformed {form.upper()} matrix: {array}" in str(error), error
                assert str(value) in str(error), error
            else:
                sys.exit(f"{name} answered {array}[{position}] = {value}")
print("all refused")
"""


def test_indices_out_of_bounds_do_not_crash_the_process():
    command = [sys.executable, "-c", CRASHES]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["all", "refused"]


def test_modified_arrays_are_read_correctly_or_rejected():
    seen = dict.fromkeys(itertools.product(FORMATS, [True, False]), 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(60):
            malformed_is_rejected(SimpleNamespace(seed=17, number=number, n=number % 12 + 1))
    # Count the cases of the same draws.
    for number in range(60):
        draws = np.random.default_rng(number)
        for _ in range(CHANGES):
            matrix, _, _ = changed(draws, number % 12 + 1)
            seen[matrix.format, entries_of(matrix) is None] += 1
    assert min(seen.values()) >= 20, seen


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("form", FORMATS)
def test_valid_matrices_of_every_format_are_accepted(form, kind):
    good = sp.csr_array(np.where(DENSE > 0.5, DENSE, 0.0)).asformat(form)
    for array in ("indptr", "indices", "offsets"):
        if hasattr(good, array):
            setattr(good, array, getattr(good, array).astype(kind))
    check_sparse("graph", good)
    for empty in (sp.csr_array((3, 3)), sp.csr_array((0, 3)), sp.csr_array((3, 0))):
        check_sparse("graph", empty.asformat(form) if form != "bsr" or empty.shape[0] else empty)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indptr": [1, 1, 2]}, r"indptr\[0\] is 1, but must be 0"),
        ({"indptr": [0, 2, 1]}, r"indptr\[2\] is 1, which is less than indptr\[1\], 2"),
        ({"indptr": [0, 1, 3]}, r"indptr\[2\] is 3, but indices has only 2 entries"),
        ({"indptr": [0, 1, 1]}, r"indices has 2 entries, but indptr ends at 1.*prune"),
        ({"indptr": [0, 2]}, r"indptr has 2 entries, but must have 3 for shape \(2, 2\)"),
        ({"indices": [0, 2]}, r"indices\[1\] is 2, but must be from 0 to 1"),
        ({"indices": [-1, 0]}, r"indices\[0\] is -1, but must be from 0 to 1"),
        ({"indices": [0]}, r"indices has 1 entries and data 2"),
        ({"data": [1.0]}, r"indices has 2 entries and data 1"),
        ({"data": [[1.0, 2.0]]}, r"data has shape \(1, 2\), but must have 1 dimension"),
        ({"indices": [[0, 1]]}, r"indices has shape \(1, 2\), but must have one dimension"),
        ({"indices": [0.0, 1.0]}, r"indices must be an array of int32 or int64, but it is float64"),
        ({"data": [1j, 1j]}, r"real numbers, but its dtype is complex128"),
        ({"data": np.array([1.0, 1.0], dtype=">f8")}, r"dtype >f8.*astype\(np\.float64\)"),
        ({"data": np.array([1.0, 1.0], dtype=np.float16)}, r"dtype float16, which SciPy does not"),
        ({"data": ["1", "1"]}, r"real numbers, but its dtype is <U1"),
    ],
)
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array])
def test_errors_report_array_position_and_value(change, message, kind):
    matrix = kind(np.array([[0.0, 1.0], [1.0, 0.0]]))
    for array, values in change.items():
        setattr(matrix, array, np.array(values))
    with pytest.raises((ValueError, TypeError), match=message):
        leastcut.cut_value(matrix, [0, 1])
    with pytest.raises((ValueError, TypeError), match=message):
        leastcut.SpectralClustering(2, affinity="precomputed").fit(matrix)


def test_outdated_flags_of_a_matrix_are_not_trusted():
    """SciPy does not update the flags of a matrix when its arrays are changed."""
    indices = np.array([1, 2, 0, 2, 0, 1], dtype=np.int32)
    stale = sp.csr_array((np.full(6, 100, dtype=np.uint8), indices, [0, 2, 4, 6]), shape=(3, 3))
    assert stale.has_canonical_format
    stale.indices[:] = [1, 1, 0, 0, 2, 2]
    assert stale.has_canonical_format
    value = leastcut.cut_value(stale, [0, 1, 1], "ratio")
    assert value == 200.0 / 1 + 200.0 / 2


def test_matrices_in_anndata_are_checked():
    anndata = pytest.importorskip("anndata")
    data = anndata.AnnData(X.copy())
    data.obsp["connectivities"] = sp.csr_matrix(DENSE)
    data.obsp["connectivities"].indices[0] = 10**8
    for call in (
        lambda: leastcut.partition(data, 2),
        lambda: leastcut.SpectralClustering(2, affinity="precomputed").fit(data),
        lambda: leastcut.MultiViewSpectralClustering(2, affinity="precomputed").fit([data, data]),
    ):
        with pytest.raises(ValueError, match=r"malformed CSR matrix: indices\[0\] is 100000000"):
            call()


@pytest.mark.parametrize("has_weights", [False, True])
@pytest.mark.parametrize("library", ["networkx", "igraph"])
def test_self_loops_and_parallel_edges_count_as_in_the_library(library, has_weights):
    """In igraph, loops count twice without weights and once with weights."""
    module = pytest.importorskip(library)
    draws = np.random.default_rng(5)
    n_loops = 0
    for _ in range(30):
        n = int(draws.integers(2, 9))
        pairs = draws.integers(0, n, (int(draws.integers(1, 25)), 2)).tolist()
        weights = draws.integers(1, 9, len(pairs)).astype(float).tolist()
        n_loops += sum(u == v for u, v in pairs)
        if library == "igraph":
            graph = module.Graph(n, pairs)
            if has_weights:
                graph.es["weight"] = weights
            expected = (
                graph.get_adjacency_sparse("weight") if has_weights else graph.get_adjacency()
            )
            expected = sp.csr_array(expected if has_weights else np.array(expected.data))
        else:
            graph = module.MultiGraph()
            graph.add_nodes_from(range(n))
            for (u, v), w in zip(pairs, weights, strict=True):
                graph.add_edge(u, v, **({"weight": w} if has_weights else {}))
            expected = module.to_scipy_sparse_array(graph)
        result = leastcut.graph.as_graph(graph).matrix
        assert np.array_equal(result.toarray(), expected.toarray())
    assert n_loops > 30


# -- samples that are not numeric

DATES = np.array(["2024-01-01", "2024-02-01"] * (N // 2), dtype="datetime64[s]")
NOT_NUMBERS = {
    "dates": DATES,
    "spans": DATES - DATES[0],
    "strings of numbers": np.char.mod("%.1f", X[:, 0]),
    "objects of strings": np.char.mod("%.1f", X[:, 0]).astype(object),
    "objects of dates": DATES.astype(object),
    "bytes": np.char.mod("%.1f", X[:, 0]).astype("S"),
}
SAMPLES = {
    "graph": lambda X: leastcut.nearest_neighbors_graph(X, n_neighbors=3),
    "fit": lambda X: leastcut.SpectralClustering(2, n_neighbors=3).fit(X),
    "rbf": lambda X: leastcut.SpectralClustering(2, affinity="rbf").fit(X),
    "anchors": lambda X: leastcut.AnchorSpectralClustering(2, n_anchors=6).fit(X),
    "anchor_graph": lambda X: leastcut.anchor_graph(X, 6),
    "cut_path": lambda X: leastcut.cut_path(X, [2], affinity="rbf"),
    "predict": lambda Y: leastcut.SpectralClustering(2, n_neighbors=3).fit(X).predict(Y),
}


@pytest.mark.parametrize("kind", NOT_NUMBERS)
@pytest.mark.parametrize("call", SAMPLES)
@pytest.mark.filterwarnings("ignore")
def test_samples_of_strings_and_dates_are_rejected_by_column(call, kind):
    pandas = pytest.importorskip("pandas")
    column = NOT_NUMBERS[kind]
    frame = pandas.DataFrame({"width": X[:, 1], "odd one": column, "length": X[:, 2]})
    with pytest.raises(ValueError, match=r"Column 'odd one' of X must hold real numbers"):
        SAMPLES[call](frame)
    # Errors for arrays do not name a column.
    for array in (np.stack([column] * 3, axis=1), np.stack([column] * 3, axis=1).tolist()):
        with pytest.raises((TypeError, ValueError), match=r"X must hold real numbers.* dtype"):
            SAMPLES[call](array)


@pytest.mark.filterwarnings("ignore")
def test_numbers_of_object_and_extension_types_are_accepted():
    pandas = pytest.importorskip("pandas")
    plain = leastcut.SpectralClustering(2, n_neighbors=3, random_state=0).fit_predict(X)
    frame = pandas.DataFrame(X)
    forms = [X.astype(object), frame.astype(object), frame.astype("Float64")]
    forms.append(pytest.importorskip("polars").DataFrame(X))
    for form in forms:
        model = leastcut.SpectralClustering(2, n_neighbors=3, random_state=0)
        assert np.array_equal(model.fit_predict(form), plain)


# -- refitting an estimator


def configurations():
    networkx, pandas = pytest.importorskip("networkx"), pytest.importorskip("pandas")
    graph = networkx.relabel_nodes(networkx.from_numpy_array(DENSE), "node {}".format)
    near, frame = {"n_neighbors": 4}, pandas.DataFrame(X, columns=["a", "b", "c"])
    one_graph = {
        "samples": (near, X),
        "frame": (near, frame),
        "sparse": ({"affinity": "rbf"}, sp.csr_array(X)),
        "graph": ({"affinity": "precomputed"}, graph),
        "auto": ({**near, "n_clusters": "auto", "max_clusters": 4}, X),
        "approximate": ({**near, "neighbors": "approximate"}, X),
        "learned": ({"affinity": "learned", "n_neighbors": 4}, X),
    }
    views = {
        "one": (near, X),
        "list": (near, [X, X[:, :2]]),
        "graphs": ({"affinity": "precomputed"}, [graph, graph]),
        "columns": ({**near, "views": [[0, 1], [2]]}, X),
        "affinities": ({**near, "affinity": ["rbf", "nearest_neighbors"]}, X),
        "frame": ({**near, "views": [["a"], ["b", "c"]]}, frame),
    }
    anchors = {
        "samples": ({"n_anchors": 6, "n_neighbors": 3}, X),
        "frame": ({"n_anchors": 6, "n_neighbors": 3}, frame),
        "auto": ({"n_anchors": 6, "n_clusters": "auto", "max_clusters": 4}, X),
        "mapped": ({"n_anchors": 6}, X.view(np.memmap)),
    }
    return {
        leastcut.SpectralClustering: one_graph,
        leastcut.MultiViewSpectralClustering: views,
        leastcut.AnchorSpectralClustering: anchors,
    }


ESTIMATORS = (
    leastcut.SpectralClustering,
    leastcut.MultiViewSpectralClustering,
    leastcut.AnchorSpectralClustering,
)


def same(one, other):
    if sp.issparse(one):
        return sp.issparse(other) and one.shape == other.shape and (one != other).nnz == 0
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and np.array_equal(one, other)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    plain = isinstance(one, str | int | float | tuple | type(None))
    return one == other if plain else type(one) is type(other)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_refitting_gives_the_state_of_a_first_fit(estimator):
    cases = configurations()[estimator]
    defaults = estimator(2, random_state=0).get_params(deep=False)
    fresh, names = {}, set()
    for name, (options, data) in cases.items():
        fresh[name] = estimator(**{**defaults, **options}).fit(data)
        names |= vars(fresh[name]).keys()
    # Some attributes must exist after some fits only, so that the test can fail.
    assert any(key not in vars(model) for model in fresh.values() for key in names)
    for first, second in itertools.permutations(cases, 2):
        model = estimator(**{**defaults, **cases[first][0]})
        model.fit(cases[first][1])
        options, data = cases[second]
        model.set_params(**{**defaults, **options}).fit(data)
        expected = vars(fresh[second])
        assert vars(model).keys() == expected.keys(), (first, second)
        different = [key for key in expected if not same(vars(model)[key], expected[key])]
        assert not different, (first, second, different)
        assert same(model.eigenvalues_, fresh[second].eigenvalues_)
        if second != "auto":
            assert np.array_equal(model.predict(data), fresh[second].predict(data))


def test_a_list_of_views_is_not_accepted_as_samples():
    model = leastcut.MultiViewSpectralClustering(2, affinity=["rbf", "linear"], random_state=0)
    model.fit(np.abs(X))
    with pytest.raises(ValueError, match="fitted to one X"):
        model.predict([np.abs(X), np.abs(X)])


# -- files


def npy_header(shape):
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117)
    return b"\x93NUMPY\x01\x00" + (len(text) + 1).to_bytes(2, "little") + text + b"\n"


def write_sparse(path, form="csr", **changes):
    matrix = sp.csr_array(np.ones((4, 4))).asformat(form)
    arrays = {"format": form.encode(), "shape": np.array([4, 4]), "data": matrix.data}
    if form == "coo":
        arrays |= {"row": matrix.row, "col": matrix.col}
    else:
        arrays |= {"indices": matrix.indices, "indptr": matrix.indptr}
    np.savez(path, **(arrays | changes))


def damaged(folder):
    """Write damaged files; return the expected error message of each."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    np.save(folder / "full.npy", X)
    np.savez(folder / "full.npz", X=X)
    parquet.write_table(pyarrow.table({"a": X[:, 0], "b": X[:, 1]}), folder / "full.parquet")
    messages = {}
    for ending in ("npy", "npz", "parquet"):
        full = (folder / f"full.{ending}").read_bytes()
        for fraction in (0.0, 0.1, 0.5, 0.99):
            name = f"short{fraction}.{ending}"
            (folder / name).write_bytes(full[: int(fraction * len(full))])
            messages[name] = "cannot be read"
    (folder / "huge.npy").write_bytes(npy_header((10**12, 3)) + b"0" * 100)
    messages["huge.npy"] = "24,000,000,000,000 bytes"
    texts = {
        "field.csv": ('a,b\n1,"' + "x" * 140_000 + '"\n2,"y"\n', "line 2 has a field of more than"),
        "word.csv": ("a,b\n1," + "x" * 140_000 + "\n2,y\n", "column 'b'"),
        "field.edges": ('u v\n"' + "x" * 140_000 + '" v\n', "line 2 has a field of more than"),
        "nodes.graph": ("1000000000000 3\n2\n1 3\n2\n", "declares 1,000,000,000,000 nodes"),
        "edges.graph": ("3 1000000000000\n2\n1 3\n2\n", "declares 1000000000000 edges"),
        "digits.graph": ("9" * 5000 + " 2\n2\n1 3\n2\n", "is not a METIS header"),
        "far.graph": ("3 2\n2\n1 " + "9" * 900 + "\n2\n", "unexpected '999"),
    }
    head = "%%MatrixMarket matrix coordinate real general\n"
    for number, sizes in enumerate(("{n} {n} 1", "{n} 4 1", "4 {n} 1")):
        text = head + sizes.format(n=10**12) + "\n1 1 1.0\n"
        texts[f"size{number}.mtx"] = text, "declares 1,000,000,000,000 rows or columns"
    texts["entries.mtx"] = head + "3 3 1000000000000\n1 1 1.0\n", "declares 1000000000000 entries"
    texts["digits.mtx"] = head + "9" * 5000 + " 3 1\n1 1 1.0\n", "is not the size of a"
    full = "%%MatrixMarket matrix array real general\n1000000 1000000\n1.0\n"
    texts["array.mtx"] = full, "declares 1,000,000 rows or columns"
    for name, (text, message) in texts.items():
        (folder / name).write_text(text)
        messages[name] = message
    bad = np.arange(16, dtype=np.int32) % 4
    bad[3] = 10**8
    sparse = {
        "indices.npz": ({"indices": bad}, "indices[3] is 100000000"),
        "indptr.npz": ({"indptr": np.array([0, 4, 8, 10**9, 16])}, "indptr[4] is 16"),
        "fractions.npz": ({"indices": bad + 0.5}, "'indices' must hold integers"),
        "col.npz": ({"form": "coo", "col": bad - 1}, ""),
        "shape.npz": ({"form": "coo", "shape": np.array([10**12] * 2)}, "declares"),
    }
    for name, (changes, message) in sparse.items():
        write_sparse(folder / name, **changes)
        messages[name] = message
    matlab = sp.csc_array(np.ones((4, 4)))
    matlab.indices[3] = 10**8
    scipy.io.savemat(folder / "indices.mat", {"S": matlab})
    messages["indices.mat"] = "S is a malformed CSC matrix: indices[3] is 100000000"
    np.savez(folder / "several.npz", first=X, second=X[:, :2])
    messages["several.npz"] = "'first' (24, 3), 'second' (24, 2)"
    return messages


def test_damaged_files_are_rejected(tmp_path):
    for name, message in damaged(tmp_path).items():
        with pytest.raises((ValueError, TypeError)) as caught:
            read(tmp_path / name)
        assert name in str(caught.value), caught.value
        assert message in str(caught.value), caught.value
        assert len(str(caught.value)) < 1000


def test_the_command_line_reports_damaged_files_in_one_line(tmp_path):
    messages = damaged(tmp_path)
    code = """
import sys
from leastcut.cli import main
for name in sys.argv[1:]:
    for more in ([], ["--affinity", "anchors", "--n-anchors", "6"]):
        if more and not name.endswith((".npy", ".parquet")):
            continue
        sys.argv = ["leastcut", "cluster", name, "-k", "2", *more]
        try:
            status = main()
        except SystemExit as ended:
            status = ended.code
        print(name, status)
"""
    names = sorted(messages)
    command = [sys.executable, "-c", code, *names]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Traceback" not in done.stderr
    statuses = [line.split() for line in done.stdout.splitlines()]
    assert {status for _, status in statuses} == {"2"}, statuses
    lines = [line for line in done.stderr.splitlines() if line.startswith("leastcut:")]
    assert len(lines) == len(done.stderr.splitlines()) == len(statuses)
    for (name, _), line in zip(statuses, lines, strict=True):
        assert name in line


def test_a_small_file_may_have_isolated_nodes(tmp_path):
    """The size of a file limits the number of nodes that it may declare."""
    text = "{} 1\n2\n1\n"
    path = tmp_path / "few.graph"
    for n in (3, 50, 9_000, 12_000, 13_000, 10**9):
        path.write_text(text.format(n))
        if n <= PER_BYTE * path.stat().st_size:
            assert read(path).data.shape == (n, n)
        else:
            with pytest.raises(ValueError, match=r"few\.graph declares .* nodes"):
                read(path)


def test_an_array_is_selected_by_name(tmp_path):
    path = tmp_path / "several.npz"
    np.savez(path, first=X, second=X[:, :2], y=np.arange(N) % 2)
    with pytest.raises(ValueError, match=r"'first' .*'second' .*--array"):
        read(path)
    for name, expected in (("first", X), ("second", X[:, :2])):
        result = read(path, ReadOptions(array=name))
        assert np.array_equal(result.data, expected)
        assert np.array_equal(result.classes, np.arange(N) % 2)
    with pytest.raises(ValueError, match=r"no array 'third'; it has 'first', 'second', 'y'"):
        read(path, ReadOptions(array="third"))


def test_labels_of_a_damaged_file_are_rejected(tmp_path):
    (tmp_path / "labels.npy").write_bytes(npy_header((10**12,)))
    with pytest.raises(ValueError, match=r"labels\.npy cannot be read"):
        read_labels(str(tmp_path / "labels.npy"), range(3))
    (tmp_path / "labels.csv").write_text('node,cluster\n"' + "x" * 140_000 + '",1\n')
    with pytest.raises(ValueError, match=r"labels\.csv, line 2 has a field of more than 131,072"):
        read_labels(str(tmp_path / "labels.csv"), range(1))
