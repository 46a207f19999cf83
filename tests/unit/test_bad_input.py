"""Invalid values of every argument of every public function raise errors that name the argument."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
from imports import PUBLIC

import leastcut
from leastcut.metrics import scores

N = 12
GRAPH = np.kron(np.eye(3), np.ones((4, 4))) + 0.1
X = np.random.default_rng(0).normal(size=(N, 2))
LABELS = np.repeat([0, 1, 2], 4)
RELAXATION = leastcut.relax(GRAPH, 3, random_state=0)


def without(values, *left_out):
    return {key: value for key, value in values.items() if key not in left_out}


NOT_ARRAYS = {
    "None": None,
    "a string": "1",
    "a number": 1.5,
    "an object": object(),
    "a set": {1, 2},
    "a function": len,
    "an empty list": [],
    "ragged": [[1.0], [1.0, 2.0]],
    "three dimensions": np.ones((2, 2, 2)),
}
NOT_NUMBERS = {
    "strings": np.full((N, N), "a"),
    "dates": np.full((N, N), np.datetime64("2020-01-01")),
    "complex": np.full((N, N), 1j),
    "objects": np.full((N, N), object()),
    "None inside": np.full((N, N), None),
    "beyond the range of floats": np.full((N, N), 10**400, dtype=object),
}
MATRICES = {
    **NOT_ARRAYS,
    **NOT_NUMBERS,
    "NaN inside": np.full((N, N), np.nan),
    "masked": np.ma.masked_array(GRAPH, mask=np.eye(N)),
    "masked rows": [np.ma.masked_array(row, mask=row > 1) for row in GRAPH],
}
LABELINGS = {
    **NOT_ARRAYS,
    "two dimensions": LABELS[:, None],
    "too few": LABELS[1:],
    "NaN": np.where(LABELS == 1, np.nan, LABELS),
    "complex NaN": np.where(LABELS == 1, np.nan, LABELS + 0j),
    "None inside": [None, *LABELS[1:]],
    "NaN among objects": np.array(["a", np.nan] * 6, dtype=object),
    "NaT": np.array(["NaT"] * N, dtype="M8[D]"),
    "mixed": np.array([1, "a"] * 6, dtype=object),
    "not sortable": np.array([object() for _ in range(N)]),
    "masked": np.ma.masked_array(LABELS, mask=LABELS == 1),
    "masked inside": [np.ma.masked, *LABELS[1:]],
}
WEIGHTS = {
    **NOT_ARRAYS,
    "too few": np.ones(N - 1),
    "an unknown cut": "modularity",
    "zero": np.zeros(N),
    "NaN": np.full(N, np.nan),
    "complex": np.ones(N) * 1j,
    "strings": np.full(N, "a"),
    "dates": np.full(N, np.datetime64("2020-01-01")),
    "None inside": [None] * N,
    "masked": np.ma.masked_array(np.ones(N), mask=np.arange(N) == 3),
}
COUNTS = {
    **NOT_ARRAYS,
    "a bool": True,
    "0": 0,
    "-1": -1,
    "NaN": np.nan,
    "infinity": np.inf,
    "beyond 64 bits": 10**400,
    "an array": np.array([1, 2]),
    "a date": np.datetime64("2020-01-01"),
}
SEEDS = {
    key: COUNTS[key]
    for key in ("a string", "a number", "an object", "an empty list", "-1", "NaN", "a bool")
}
LINKS = {
    **without(NOT_ARRAYS, "None", "an empty list"),
    "one pair, flat": [0, 1],
    "triples": [(0, 1, 2)],
    "floats": [(0.0, 1.0)],
    "strings": [("0", "1")],
    "bools": [(True, False)],
    "None inside": [(0, None)],
    "NaN": [(0, np.nan)],
    "negative": [(0, -1)],
    "beyond the nodes": [(0, N)],
    "beyond 64 bits": [(0, 10**400)],
    "masked": np.ma.masked_array([(0, 1), (2, 3)], mask=[(0, 0), (0, 1)]),
}
BALANCES = {
    **without(NOT_ARRAYS, "None", "a number"),
    "a bool": True,
    "negative": -0.1,
    "NaN": np.nan,
    "infinity": np.inf,
    "beyond the range of floats": 10**400,
    "a date": np.datetime64("2020-01-01"),
    "one in a pair": [0.1],
    "three in a pair": [0.1, 0.1, 0.1],
    "more than all below": (1.5, 0.1),
    "NaN in a pair": (0.1, np.nan),
    "None in a pair": (None, 0.1),
    "a word in a pair": ("0.1", 0.1),
    "masked": np.ma.masked_array([0.1, 0.1], mask=[True, False]),
}
NAMES = {**NOT_ARRAYS, "an unknown name": "first-order", "0": 0}


SYMMETRIZE = without(NAMES, "None")
GRAPH_AND_CUT = {"graph": MATRICES, "cut": WEIGHTS, "symmetrize": SYMMETRIZE}
FLAGS = {**NOT_ARRAYS, "0": 0, "1": 1, "an array": np.array([True, False])}
NUMBERS = {
    **without(NOT_ARRAYS, "a number"),
    **NOT_NUMBERS,
    "True": True,
    "-1": -1.0,
    "NaN": np.nan,
}
SAMPLES = {
    "X": MATRICES,
    "n_neighbors": COUNTS,
    "neighbors": NAMES,
    "device": NAMES,
    "random_state": SEEDS,
    "n_jobs": without(COUNTS, "None", "-1"),
    "callback": without(NOT_ARRAYS, "None", "a function"),
}
GIVEN = {"y_true": LABELINGS, "labels": LABELINGS}
BAD = {
    leastcut.adaptive_neighbors_graph: (
        {"X": X, "n_neighbors": 3},
        {
            **SAMPLES,
            "include_self": FLAGS,
            "offset": {**NUMBERS, "beyond the range of floats": 10**400},
        },
    ),
    leastcut.nearest_neighbors_graph: (
        {"X": X, "n_neighbors": 3},
        {**SAMPLES, "include_self": FLAGS},
    ),
    leastcut.self_tuning_graph: (
        {"X": X, "n_neighbors": 3, "scale_neighbor": 2},
        {**SAMPLES, "scale_neighbor": COUNTS},
    ),
    leastcut.learned_graph: (
        {"X": X, "n_clusters": 2, "n_neighbors": 3},
        {**SAMPLES, "n_clusters": COUNTS, "solver": NAMES, "max_iter": COUNTS},
    ),
    leastcut.constrained_rank_graph: (
        {"graph": GRAPH, "n_clusters": 3},
        {
            "graph": MATRICES,
            "symmetrize": SYMMETRIZE,
            "n_clusters": COUNTS,
            "norm": NAMES,
            "solver": NAMES,
            "max_iter": COUNTS,
            "random_state": SEEDS,
            "n_jobs": without(COUNTS, "None", "-1"),
        },
    ),
    leastcut.anchor_graph: (
        {"X": X, "n_anchors": 6, "n_neighbors": 3},
        {
            **without(SAMPLES, "neighbors"),
            "n_anchors": COUNTS,
            "max_memory": {**without(COUNTS, "None", "a string"), "no unit": "4XB", "1": "1"},
            "folder": without(NOT_ARRAYS, "None", "a string"),
            "block_rows": {
                **without(COUNTS, "None"),
                "too few": [N - 1],
                "an empty block": [0, N],
                "fractions": [N / 2, N / 2],
            },
        },
    ),
    leastcut.cut_value: (
        {"graph": GRAPH, "labels": LABELS},
        {**GRAPH_AND_CUT, "labels": LABELINGS, "isolated": NAMES},
    ),
    leastcut.node_weights: ({"graph": GRAPH}, GRAPH_AND_CUT),
    leastcut.operator: ({"graph": GRAPH}, GRAPH_AND_CUT),
    leastcut.lower_bound: (
        {"graph": GRAPH, "n_clusters": 3},
        {**GRAPH_AND_CUT, "n_clusters": COUNTS, "random_state": SEEDS},
    ),
    leastcut.relax: (
        {"graph": GRAPH, "n_clusters": 3},
        {
            **GRAPH_AND_CUT,
            "n_clusters": COUNTS,
            "random_state": SEEDS,
            "solver": NAMES,
            "tol": without(NUMBERS, "None"),
            "max_iter": without(COUNTS, "None"),
        },
    ),
    leastcut.Relaxation: (
        {
            "eigenvalues": np.zeros(2),
            "eigenvectors": np.eye(N)[:, :2],
            "node_weights": np.ones(N),
        },
        {
            "eigenvalues": without(MATRICES, "masked rows"),
            "eigenvectors": MATRICES,
            "node_weights": without(WEIGHTS, "an unknown cut"),
            "operator_product": without(MATRICES, "None"),
            "floors": without(MATRICES, "None"),
        },
    ),
    leastcut.discretize: (
        {"relaxation": RELAXATION},
        {
            "relaxation": {**MATRICES, "a graph": GRAPH},
            "method": NAMES,
            "graph": without(MATRICES, "None"),
            "symmetrize": SYMMETRIZE,
            "random_state": SEEDS,
            "eta": {**without(NOT_ARRAYS, "a number"), **NOT_NUMBERS, "NaN": np.nan, "-1": -1.0},
            "init": without(LABELINGS, "None"),
            "rotation": {**without(NOT_ARRAYS, "None"), **NOT_NUMBERS, "NaN": np.nan * np.eye(3)},
            "n_init": without(COUNTS, "None"),
            "max_iter": COUNTS,
        },
    ),
    leastcut.direct_cut: (
        {"graph": GRAPH, "n_clusters": 3},
        {
            **GRAPH_AND_CUT,
            "n_clusters": COUNTS,
            "init": without(LABELINGS, "None"),
            "n_init": without(COUNTS, "None"),
            "max_iter": COUNTS,
            "random_state": SEEDS,
        },
    ),
    leastcut.refine: (
        {"graph": GRAPH, "labels": LABELS},
        {**GRAPH_AND_CUT, "labels": LABELINGS, "isolated": NAMES},
    ),
    leastcut.exact_partition: (
        {"graph": GRAPH, "n_clusters": 3},
        {
            **GRAPH_AND_CUT,
            "n_clusters": COUNTS,
            "max_partitions": COUNTS,
            "time_limit": without(NUMBERS, "None"),
        },
    ),
    leastcut.certify: (
        {"graph": GRAPH, "labels": LABELS},
        {
            **GRAPH_AND_CUT,
            "labels": LABELINGS,
            "isolated": NAMES,
            "gap": {**without(NUMBERS, "a number"), "1": 1, "percent": 5.0, "infinity": np.inf},
            "time_limit": without(NUMBERS, "None"),
            "must_link": {**LINKS, "apart in the labels": [(0, 11)]},
            "cannot_link": {**LINKS, "itself": [(3, 3)], "together in the labels": [(0, 1)]},
            "callback": without(NOT_ARRAYS, "None", "a function"),
            "random_state": SEEDS,
        },
    ),
    leastcut.partition: (
        {"graph": GRAPH, "n_clusters": 3},
        {
            **GRAPH_AND_CUT,
            "n_clusters": COUNTS,
            "isolated": NAMES,
            "effort": NAMES,
            "init": without(LABELINGS, "None", "ragged", "three dimensions"),
            "must_link": LINKS,
            "cannot_link": {**LINKS, "itself": [(3, 3)]},
            "balance": BALANCES,
            "time_limit": without(NUMBERS, "None"),
            "lower_bound": {**without(FLAGS, "None"), "another word": "tightest"},
            "on_interrupt": NAMES,
            "random_state": SEEDS,
            "callback": without(NOT_ARRAYS, "None", "a function"),
            "n_jobs": without(COUNTS, "None", "-1"),
        },
    ),
    leastcut.partition_views: (
        {"graphs": [GRAPH, GRAPH], "n_clusters": 3},
        {
            "graphs": {
                **without(NOT_ARRAYS, "three dimensions"),
                "one graph": sp.csr_array(GRAPH),
                "other nodes": [GRAPH, GRAPH[1:, 1:]],
                **{f"{kind}, second": [GRAPH, value] for kind, value in MATRICES.items()},
            },
            "n_clusters": {**COUNTS, "auto": "auto"},
            "weights": {
                **without(NOT_ARRAYS, "a string"),
                "an unknown name": "loud",
                "too few": [1.0],
                "negative": [1.0, -1.0],
                "all zero": [0.0, 0.0],
                "NaN": [1.0, np.nan],
                "infinity": [1.0, np.inf],
                "strings": ["a", "b"],
            },
            "cut": WEIGHTS,
            "symmetrize": SYMMETRIZE,
            "isolated": NAMES,
            "effort": NAMES,
            "init": without(LABELINGS, "None", "ragged", "three dimensions"),
            "time_limit": without(NUMBERS, "None"),
            "lower_bound": {**without(FLAGS, "None"), "tight": "tight"},
            "random_state": SEEDS,
            "callback": without(NOT_ARRAYS, "None", "a function"),
            "n_jobs": without(COUNTS, "None", "-1"),
        },
    ),
    leastcut.compare: (
        {"graph": GRAPH, "n_clusters": 3},
        {
            **GRAPH_AND_CUT,
            "n_clusters": COUNTS,
            "methods": {
                **without(NOT_ARRAYS, "None"),
                "an unknown name": ["first-order"],
                "none": [],
            },
            "effort": NAMES,
            "random_state": SEEDS,
        },
    ),
    leastcut.image_graph: (
        {"image": np.eye(6)},
        {
            "image": {
                **without(NOT_ARRAYS, "three dimensions"),
                "a row": np.ones(6),
                "no pixels": np.ones((0, 6)),
                "NaN": np.full((6, 6), np.nan),
                "infinity": np.full((6, 6), np.inf),
                "complex": np.eye(6) * 1j,
                "strings": np.full((6, 6), "a"),
                "masked": np.ma.masked_array(np.eye(6), mask=np.eye(6) > 0),
            },
            "radius": COUNTS,
            "contrast": NUMBERS,
            "smoothing": NUMBERS,
            "superpixels": without(COUNTS, "None"),
            "value_range": {
                **without(NOT_ARRAYS, "None"),
                "one number": (1.0,),
                "upside down": (1.0, 0.0),
                "NaN": (0.0, np.nan),
            },
        },
    ),
    leastcut.clustering_accuracy: ({"y_true": LABELS, "labels": LABELS}, GIVEN),
    leastcut.normalized_mutual_info: ({"y_true": LABELS, "labels": LABELS}, GIVEN),
    scores: ({"y_true": LABELS, "labels": LABELS}, GIVEN),
}
"""Valid arguments of every function, and invalid values of every argument."""

CASES = [
    pytest.param(function, right, name, value, id=f"{function.__name__}-{name}-{kind}")
    for function, (right, arguments) in BAD.items()
    for name, values in arguments.items()
    for kind, value in values.items()
    # Functions are valid discretizers and eigensolvers.
    if not (callable(value) and name in ("method", "solver"))
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("function", "right", "name", "value"), CASES)
def test_invalid_values_raise_errors_that_name_the_argument(function, right, name, value):
    with pytest.raises((TypeError, ValueError)) as caught:
        function(**{**right, name: value})
    # The error for an array as cut may call it node weights.
    named = [name, "Node weights"] if name == "cut" else [name]
    assert any(word in str(caught.value) for word in named), caught.value


def test_every_public_function_is_in_the_table():
    elsewhere = {"cut_path"}  # its argument may be samples, a graph or a relaxation
    functions = {name for name in PUBLIC if inspect.isfunction(getattr(leastcut, name))}
    assert functions - elsewhere <= {function.__name__ for function in BAD}


# -- masked and missing values


@pytest.mark.parametrize("kind", [sp.csr_array, sp.coo_array, sp.csc_array])
def test_masked_stored_values_are_rejected(kind):
    graph = kind(GRAPH)
    graph.data = np.ma.masked_array(graph.data, mask=graph.data > 1)
    with pytest.raises(ValueError, match=r"graph is a masked array .*\.filled"):
        leastcut.cut_value(graph, LABELS)


def test_masked_arrays_without_masked_entries_are_accepted():
    def unmasked(array):
        return np.ma.masked_array(array, mask=np.zeros(array.shape, dtype=bool))

    value = leastcut.cut_value(GRAPH, LABELS, cut=np.ones(N))
    assert value == leastcut.cut_value(unmasked(GRAPH), unmasked(LABELS), unmasked(np.ones(N)))


def test_missing_values_of_pandas_are_rejected():
    pandas = pytest.importorskip("pandas")
    labels = [
        pandas.Series([None, *LABELS[1:]], dtype="Int64"),
        pandas.Series([None, *map(str, LABELS[1:])], dtype="string"),
        pandas.Series([None, *map(str, LABELS[1:])], dtype="category"),
        pandas.Series([pandas.NaT] * N),
    ]
    for given in labels:
        with pytest.raises(ValueError, match=r"labels (has missing|holds NaN)"):
            leastcut.cut_value(GRAPH, given)
    frame = pandas.DataFrame(X).astype("Float64")
    frame.iloc[2, 1] = pandas.NA
    with pytest.raises(ValueError, match="X has"):
        leastcut.nearest_neighbors_graph(frame, n_neighbors=3)
    full = pandas.Series(LABELS, dtype="Int64")
    assert leastcut.cut_value(GRAPH, full) == leastcut.cut_value(GRAPH, LABELS)


# -- numeric types


DTYPES = ["?", "i1", "u1", "i2", "i4", "i8", "u8", "f2", "f4", "f8", "g"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_graphs_of_all_numeric_types_have_the_same_values(dtype):
    graph = (GRAPH > 1).astype(dtype)
    assert leastcut.cut_value(graph, LABELS) == leastcut.cut_value(GRAPH > 1, LABELS)


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype != "f2"])
@pytest.mark.parametrize("form", ["coo", "csr", "csc"])
def test_duplicates_are_added_up_exactly(dtype, form):
    """Add up 200 copies of a large number of the type."""
    big = {"i": 100, "u": 200, "f": 2.0**24, "?": 1, "g": 2.0**24}[dtype[0]]
    if dtype in ("i8", "u8"):
        big = 2**62
    times = 200
    rows = np.tile([0, 1, 1, 2], times)
    columns = np.tile([1, 0, 2, 1], times)
    data = np.full(rows.size, big).astype(dtype)
    data[:4] = 1
    if form == "coo":
        graph = sp.coo_array((data, (rows, columns)), shape=(3, 3))
    else:
        # Constructed from arrays, so that SciPy does not add up the duplicates.
        order = np.argsort(rows if form == "csr" else columns, kind="stable")
        other = (columns if form == "csr" else rows)[order]
        start = np.array([0, times, 3 * times, 4 * times])
        kind = sp.csr_array if form == "csr" else sp.csc_array
        graph = kind((data[order], other, start), shape=(3, 3))
    expected = 1.0 + (times - 1) * float(big)
    before = graph.data.copy()
    assert leastcut.node_weights(graph).tolist() == [expected, 2 * expected, expected]
    assert np.array_equal(graph.data, before)


@pytest.mark.parametrize("dtype", ["u1", "i1"])
def test_duplicates_among_samples_do_not_overflow(dtype):
    rows, columns = np.arange(N), np.zeros(N, dtype=int)
    points = [np.concatenate([np.full(N, 100), np.full(N, 100), np.arange(N)])]
    indices = (np.tile(rows, 3), np.tile(columns, 3))
    given = sp.coo_array((points[0].astype(dtype), indices), shape=(N, 1))
    plain = (200.0 + np.arange(N))[:, None]
    result = leastcut.nearest_neighbors_graph(given, n_neighbors=3)
    assert (result != leastcut.nearest_neighbors_graph(sp.csr_array(plain), n_neighbors=3)).nnz == 0


@pytest.mark.parametrize("affinity", sorted(leastcut.AFFINITIES))
def test_every_affinity_rejects_masked_samples(affinity):
    samples = np.abs(GRAPH)
    masked = np.ma.masked_array(samples, mask=np.eye(N))
    model = leastcut.SpectralClustering(3, affinity=affinity, n_neighbors=3, random_state=0)
    with pytest.raises(ValueError, match="X is a masked array"):
        model.fit(masked)
    with pytest.raises(ValueError, match="X is a masked array"):
        leastcut.cut_path(masked, [2, 3], affinity=affinity, n_neighbors=3)


def test_duplicates_among_samples_of_the_estimator_do_not_overflow():
    rows = np.tile(np.arange(N), 3)
    values = np.concatenate([np.full(2 * N, 100), 5 * np.arange(N)]).astype(np.uint8)
    given = sp.coo_array((values, (rows, np.zeros(3 * N, dtype=int))), shape=(N, 1))
    plain = sp.csr_array((200.0 + 5 * np.arange(N))[:, None])
    model = leastcut.SpectralClustering(3, n_neighbors=3, random_state=0)
    assert np.array_equal(model.fit_predict(given), model.fit_predict(plain))
