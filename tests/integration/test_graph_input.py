"""Graphs of other libraries, directed graphs, isolated nodes, and distances."""

from __future__ import annotations

import inspect
import itertools
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import either, graphs, knn_graph
from hypothesis import given
from hypothesis import strategies as st
from imports import PUBLIC
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import kneighbors_graph

import leastcut
from leastcut.graph import Graph, as_graph
from leastcut.integrations.graphs import as_matrix, is_foreign

nx = pytest.importorskip("networkx")
igraph = pytest.importorskip("igraph")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

PATH = sp.csr_array(np.diag([3.0, 1.0, 3.0], 1) + np.diag([3.0, 1.0, 3.0], -1))
"""Two pairs of strongly connected nodes."""


def edges_of(S):
    """Return the edges of a matrix, each once, and their weights."""
    upper = sp.triu(sp.csr_array(S)).tocoo()
    return np.stack(upper.coords).astype(np.int64), upper.data


def networkx_of(S, names):
    rows, weights = edges_of(S)
    graph = nx.Graph()
    graph.add_nodes_from(names)
    ends = ((names[i], names[j]) for i, j in rows.T)
    graph.add_weighted_edges_from((u, v, w) for (u, v), w in zip(ends, weights, strict=True))
    return graph


def igraph_of(S, names):
    rows, weights = edges_of(S)
    result = igraph.Graph(n=len(names), edges=rows.T.tolist())
    result.es["weight"] = weights.tolist()
    result.vs["name"] = list(names)
    return result


def edge_index_of(S, names, array=np.asarray):
    full = sp.coo_array(S)
    return array(np.stack(full.coords).astype(np.int64)), array(full.data), len(names)


def tensors_of(S, names):
    torch = pytest.importorskip("torch")
    return edge_index_of(S, names, torch.tensor)


def data_of(S, names):
    edge_index, edge_attr, num_nodes = edge_index_of(S, names)
    return SimpleNamespace(
        edge_index=edge_index, edge_attr=edge_attr[:, None], num_nodes=num_nodes, x=np.ones(3)
    )


def torch_geometric_of(S, names):
    data = pytest.importorskip("torch_geometric.data")
    edge_index, edge_attr, num_nodes = tensors_of(S, names)
    return data.Data(edge_index=edge_index, edge_attr=edge_attr[:, None], num_nodes=num_nodes)


def anndata_of(S, names):
    anndata = pytest.importorskip("anndata")
    result = anndata.AnnData(np.ones((len(names), 1)))
    result.obs_names = [str(name) for name in names]
    result.obsp["connectivities"] = sp.csr_matrix(S)
    return result


def table_of(S, names):
    rows, weights = edges_of(S)
    named = np.array(names, dtype=object)[rows]
    return pd.DataFrame({"source": named[0], "target": named[1], "weight": weights})


FORMS = {
    "networkx": networkx_of,
    "igraph": igraph_of,
    "edge_index": edge_index_of,
    "tensors": tensors_of,
    "data": data_of,
    "torch_geometric": torch_geometric_of,
    "AnnData": anndata_of,
    "frame, square": lambda S, names: pd.DataFrame(S, index=names, columns=names),
    "edge list": table_of,
    "edge list, polars": lambda S, names: pl.from_pandas(table_of(S, names)),
    "edge list by position": lambda S, names: table_of(S, names).set_axis(list("abc"), axis=1),
    "edge list, both directions": lambda S, names: both_directions(table_of(S, names)),
}
NAMELESS = {"edge_index", "tensors", "data", "torch_geometric"}


def both_directions(table):
    other = table[table.source != table.target].rename(
        columns={"source": "target", "target": "source"}
    )
    return pd.concat([table, other])[["source", "target", "weight"]]


def same(a: Graph, b: Graph) -> bool:
    arrays = (a.indptr, b.indptr), (a.indices, b.indices), (a.weights, b.weights)
    return all(np.array_equal(x, y) for x, y in arrays)


@pytest.mark.parametrize("form", FORMS)
@given(S=graphs(min_nodes=4))
def test_every_form_gives_the_same_graph(form, S):
    names = [f"n{i:02}" for i in range(len(S))]
    given = FORMS[form](S, names)
    assert is_foreign(given)
    result = as_graph(given)
    assert same(result, as_graph(S))
    assert result.names == (None if form in NAMELESS else tuple(names))


@given(S=graphs(), isolated=st.integers(1, 3))
def test_isolated_nodes_are_kept_by_forms_that_list_nodes(S, isolated):
    n = len(S) + isolated
    wider = np.zeros((n, n))
    wider[:-isolated, :-isolated] = S
    names = [f"n{i:02}" for i in range(n)]
    for form in ("networkx", "igraph", "edge_index", "data", "AnnData", "frame, square"):
        assert same(as_graph(FORMS[form](wider, names)), as_graph(wider))


@given(S=graphs(), seed=st.integers(0, 2**32 - 1))
def test_labels_keep_the_order_of_nodes(S, seed):
    order = np.random.default_rng(seed).permutation(len(S))
    names = [f"n{i}" for i in order]
    graph = networkx_of(S[order][:, order], names)
    result = leastcut.partition(graph, 2, "ratio", effort="fast", random_state=0)
    assert result.nodes == tuple(graph)
    assert result.by_node() == {node: result.labels[i] for i, node in enumerate(graph)}
    labels = [result.by_node()[f"n{i}"] for i in range(len(S))]
    assert leastcut.cut_value(S, labels, "ratio") == pytest.approx(result.cut_value, abs=1e-12)


def test_every_returned_partition_has_node_names():
    graph = nx.relabel_nodes(nx.path_graph(6), dict(enumerate("abcdef")))
    labels = [0, 0, 0, 1, 1, 1]
    for result in (
        leastcut.partition(graph, 2, random_state=0),
        leastcut.partition(graph, 2, must_link=[(0, 1)], random_state=0),
        leastcut.refine(graph, labels),
        leastcut.certify(graph, labels, random_state=0),
        leastcut.certify(graph, labels, cannot_link=[(0, 5)], random_state=0),
        leastcut.exact_partition(graph, 2),
    ):
        assert result.by_node() == dict.fromkeys("abc", 0) | dict.fromkeys("def", 1)
    assert leastcut.relax(graph, 2).n_nodes == leastcut.node_weights(graph).size == 6


def test_by_node_raises_without_names():
    with pytest.raises(ValueError, match=r"no names of nodes.*labels\[i\]"):
        leastcut.partition(PATH, 2, random_state=0).by_node()
    twice = igraph.Graph([(0, 1), (1, 2)])
    twice.vs["name"] = ["a", "b", "a"]
    with pytest.raises(ValueError, match="1 nodes share the name of another, such as 'a'"):
        leastcut.refine(twice, [0, 0, 1]).by_node()


def test_parallel_edges_add_up_and_self_loops_count_once():
    expected = np.array([[2.0, 4.0], [4.0, 0.0]])
    multigraph = nx.MultiGraph()
    multigraph.add_weighted_edges_from([(0, 1, 1.0), (1, 0, 3.0), (0, 0, 2.0)])
    of_igraph = igraph.Graph([(0, 1), (1, 0), (0, 0)])
    of_igraph.es["weight"] = [1.0, 3.0, 2.0]
    index = np.array([[0, 1, 0], [1, 0, 0]])
    listed = pd.DataFrame({"source": [0, 0], "target": [1, 0], "weight": [4.0, 2.0]})
    for graph in (multigraph, of_igraph, (index, [4.0, 4.0, 2.0]), listed):
        assert np.array_equal(as_graph(graph).matrix.toarray(), expected)


def test_without_weights_every_edge_is_one():
    ends = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
    one = pd.DataFrame({"source": [0, 1], "target": [1, 2]})
    for graph in (nx.path_graph(3), igraph.Graph([(0, 1), (1, 2)]), (ends, None), one):
        assert np.array_equal(as_graph(graph).degrees, [1.0, 2.0, 1.0])


def test_subclasses_and_views_are_recognized():
    class Network(nx.Graph):
        pass

    graph = Network(nx.path_graph(5))
    assert as_graph(graph).n_nodes == 5
    assert as_graph(graph.subgraph([0, 1, 2])).names == (0, 1, 2)


def test_matrices_are_not_of_another_library():
    for graph in ([[0, 1], [1, 0]], ((0, 1), (1, 0)), np.ones((2, 2)), PATH, sp.coo_matrix(PATH)):
        assert not is_foreign(graph)
    with pytest.raises(TypeError, match="graph is int, which is not"):
        as_matrix(5)


def test_no_library_is_imported_to_recognize_a_graph():
    code = textwrap.dedent(
        """
        import sys, leastcut
        S = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
        leastcut.cut_value(S, [0, 0, 1, 1])
        leastcut.cut_value(([[0, 1], [1, 0]], None), [0, 1])
        others = ["networkx", "igraph", "pandas", "polars", "anndata", "torch", "sklearn"]
        print([name for name in others if name in sys.modules])
        """
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# -- edge lists


def table(*rows, columns=("source", "target", "weight")):
    return pd.DataFrame(list(rows), columns=list(columns)[: len(rows[0])])


def test_edge_lists_in_both_directions_are_not_doubled():
    once = table(("a", "b", 2.0), ("b", "c", 1.0))
    both = table(("a", "b", 2.0), ("b", "c", 1.0), ("b", "a", 2.0), ("c", "b", 1.0))
    assert same(as_graph(once), as_graph(both))
    # With some pairs in one direction only, or different weights, the graph is directed.
    some = table(("a", "b", 2.0), ("b", "c", 1.0), ("b", "a", 2.0))
    other = table(("a", "b", 2.0), ("b", "a", 3.0))
    for directed in (some, other):
        assert as_matrix(directed).is_directed
        with pytest.raises(ValueError, match=r"directed.*symmetrize='mean'.*symmetrize='max'"):
            as_graph(directed)
    assert as_graph(other, "mean").weights.tolist() == [2.5, 2.5]
    assert as_graph(other, "max").weights.tolist() == [3.0, 3.0]
    assert as_graph(some, "mean").weights.tolist() == [2.0, 2.0, 0.5, 0.5]


def test_nodes_of_an_edge_list_are_sorted_if_possible():
    assert as_graph(table((5, 2), (2, 0))).names == (0, 2, 5)
    assert as_graph(table(("b", "c"), ("a", "b"))).names == ("a", "b", "c")
    assert as_graph(table(("b", 1), (1, "a"))).names == ("b", 1, "a")
    days = pd.to_datetime(["2026-01-02", "2026-01-01"])
    assert as_graph(table((days[0], days[1]))).names == (days[1], days[0])


def test_other_columns_are_ignored_if_columns_are_named():
    more = table(("a", "b", 2.0, "x"), columns=("source", "target", "weight", "note"))
    assert as_graph(more).weights.tolist() == [2.0, 2.0]
    assert as_graph(more[["note", "weight", "target", "source"]]).names == ("a", "b")


WRONG = {
    "a pair twice": (table(("a", "b", 1.0), ("a", "b", 2.0)), r"\('a', 'b'\) in row 1.*groupby"),
    "no source": (table(("a", "b"), (None, "c")), "Column 'source'.* is missing in row 1"),
    "no weight": (table(("a", "b", 1.0), ("b", "c", np.nan)), "Column 'weight'.*missing in row 1"),
    "negative": (table(("a", "b", -2.0)), r"first is -2.0 of edge \('a', 'b'\) in row 0.*clip"),
    "infinite": (table(("a", "b", np.inf)), "first is inf of edge"),
    "strings": (table(("a", "b", "heavy")), "Column 'weight' of the graph must hold real numbers"),
    "points": (pd.DataFrame(load_iris().data[:, :2]), "holds 5.1 in row 0, which is not a node"),
    "samples": (pd.DataFrame(load_iris().data), r"square matrix.*\(150, 4\).*adaptive_neighbors"),
    "another column": (
        table(("a", "b", 7), columns=("source", "target", "since")),
        "Rename the last to 'weight'",
    ),
    "no names of columns": (
        table(("a", "b", 1.0, 2), columns=("from", "to", "w", "x")),
        "Name the columns of its nodes 'source' and 'target'",
    ),
    "a file": ("edges.csv", "Pass a matrix, or a graph of networkx"),
    "polars, missing": (pl.DataFrame({"a": ["x", None], "b": ["y", "z"]}), "missing in row 1"),
    "rows in another order": (
        pd.DataFrame(np.ones((2, 2)), index=["a", "b"], columns=["b", "a"]),
        r"different labels: 'a' and 'b' at position 0.*frame\.loc",
    ),
    "edge without weight": (nx.Graph([(0, 1, {"weight": 1}), (1, 2)]), r"1 of 2 edges .*\(1, 2\)"),
    "weight NaN": (nx.Graph([("a", "b", {"weight": np.nan})]), r"nan of edge \('a', 'b'\)"),
    "weight negative": (nx.Graph([("a", "b", {"weight": -1})]), r"-1.0 of edge \('a', 'b'\)"),
    "weight a string": (nx.Graph([("a", "b", {"weight": "x"})]), "edge weights of the graph must"),
    "no nodes": (nx.Graph(), "no nodes"),
    "an edge twice": ((np.array([[0, 1, 0], [1, 0, 1]]), None), r"the first is \(0, 1\).*coalesce"),
    "pairs": ((np.ones((5, 2), dtype=int), None), r"shape \(2, m\).*Transpose"),
    "fractions": ((np.ones((2, 2)), None), "integers, but its dtype is float64"),
    "node -1": ((np.array([[0], [-1]]), None), "edge 0 from 0 to -1, but .* 0 to 0"),
    "too few nodes": ((np.array([[0, 5], [5, 0]]), None, 5), "numbered from 0 to 4"),
    "features": ((np.array([[0, 1], [1, 0]]), np.ones((2, 3))), r"\(2, 3\); pass one weight"),
    "a bare index": (np.array([[0, 1, 2], [1, 2, 0]]), r"Pass \(edge_index, None\)"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_invalid_graphs_raise_with_the_remedy(kind):
    graph, message = WRONG[kind]
    with pytest.raises((TypeError, ValueError), match=message):
        leastcut.cut_value(graph, [0, 1])


def test_an_anndata_without_neighbors_raises_with_the_remedy():
    anndata = pytest.importorskip("anndata")
    with pytest.raises(ValueError, match=r"no 'connectivities'.*scanpy\.pp\.neighbors"):
        leastcut.partition(anndata.AnnData(np.ones((4, 2))), 2)


# -- directed graphs


DIRECTED = np.array([[0.0, 3.0, 0.0, 1.0], [1.0, 0, 2, 0], [0, 2, 0, 3], [0, 0, 0, 0]])


def directed_forms():
    rows, columns = np.nonzero(DIRECTED)
    weights = DIRECTED[rows, columns]
    graph = nx.DiGraph()
    graph.add_nodes_from(range(4))
    graph.add_weighted_edges_from(zip(rows.tolist(), columns.tolist(), weights, strict=True))
    of_igraph = igraph.Graph(list(zip(rows, columns, strict=True)), directed=True)
    of_igraph.es["weight"] = weights.tolist()
    return {
        "array": DIRECTED,
        "sparse": sp.csc_array(DIRECTED),
        "networkx": graph,
        "igraph": of_igraph,
        "edge_index": (np.stack([rows, columns]), weights),
        "edge list": pd.DataFrame({"source": rows, "target": columns, "weight": weights}),
        "frame": pd.DataFrame(DIRECTED),
    }


@pytest.mark.parametrize("form", directed_forms())
def test_a_directed_graph_raises_or_is_symmetrized(form):
    graph = directed_forms()[form]
    with pytest.raises(ValueError, match=r"symmetrize='mean'.*symmetrize='max'"):
        as_graph(graph)
    mean, larger = (DIRECTED + DIRECTED.T) / 2, np.maximum(DIRECTED, DIRECTED.T)
    assert np.array_equal(as_graph(graph, "mean").matrix.toarray(), mean)
    assert np.array_equal(as_graph(graph, "max").matrix.toarray(), larger)


def test_an_error_names_the_nodes_of_a_directed_graph():
    with pytest.raises(ValueError, match=r"directed: entries \('a', 'b'\) and \('b', 'a'\)"):
        leastcut.partition(nx.DiGraph([("a", "b")]), 2)
    # With equal weights in both directions, there is no error.
    assert same(as_graph(nx.DiGraph(nx.path_graph(4))), as_graph(nx.path_graph(4)))


@given(S=graphs())
def test_symmetrizing_a_symmetric_graph_changes_nothing(S):
    for how in ("mean", "max"):
        assert same(as_graph(S, how), as_graph(S))


CALLS = {
    "partition": lambda f, S, **k: f(S, 2, random_state=0, **k).labels,
    "constrained_rank_graph": lambda f, S, **k: f(S, 2, **k).graph.toarray(),
    "refine": lambda f, S, **k: f(S, [0, 0, 1, 1], **k).labels,
    "cut_value": lambda f, S, **k: f(S, [0, 0, 1, 1], **k),
    "certify": lambda f, S, **k: f(S, [0, 0, 1, 1], random_state=0, **k).lower_bound,
    "exact_partition": lambda f, S, **k: f(S, 2, **k).cut_value,
    "direct_cut": lambda f, S, **k: f(S, 2, random_state=0, **k).labels,
    "relax": lambda f, S, **k: f(S, 2, **k).eigenvalues,
    "lower_bound": lambda f, S, **k: f(S, 2, **k),
    "node_weights": lambda f, S, **k: f(S, **k),
    "operator": lambda f, S, **k: f(S, **k).toarray(),
    "compare": lambda f, S, **k: [one.cut_value for one in f(S, 2, random_state=0, **k).compared],
    "discretize": lambda f, S, **k: (
        f(leastcut.relax((DIRECTED + DIRECTED.T) / 2, 2), graph=S, random_state=0, **k).cut_value
    ),
}


@pytest.mark.parametrize("function_name", CALLS)
def test_every_function_symmetrizes(function_name):
    function, call = getattr(leastcut, function_name), CALLS[function_name]
    with pytest.raises(ValueError, match="symmetrize='mean'"):
        call(function, DIRECTED)
    partition = call(function, DIRECTED, symmetrize="mean")
    assert np.array_equal(partition, call(function, (DIRECTED + DIRECTED.T) / 2))


def test_every_function_of_graphs_is_covered():
    for name in PUBLIC:
        function = getattr(leastcut, name)
        if inspect.isfunction(function) and "graph" in inspect.signature(function).parameters:
            assert name in CALLS


def test_anchor_graphs_are_cut_or_rejected():
    graph = leastcut.anchor_graph([[0.0], [0.1], [5.0], [5.1]], 4, 1, random_state=0)
    S = graph.to_sparse()
    takes = ("partition", "refine", "cut_value", "relax", "lower_bound")
    for function_name, call in CALLS.items():
        function = getattr(leastcut, function_name)
        if function_name in takes:
            np.testing.assert_allclose(call(function, graph), call(function, S), atol=1e-12)
        else:
            with pytest.raises(TypeError, match=r"stores no edges.*graph\.to_sparse"):
                call(function, graph)
    with pytest.raises(TypeError, match="stores no edges"):
        leastcut.cut_path(graph, [2], affinity="precomputed")
    with pytest.raises(TypeError, match="stores no edges"):
        leastcut.plot.affinity([0, 0, 1, 1], graph)


@pytest.mark.filterwarnings("error")
def test_a_path_symmetrizes():
    mean, larger = (DIRECTED + DIRECTED.T) / 2, np.maximum(DIRECTED, DIRECTED.T)
    for how, matrix in (("mean", mean), ("max", larger)):
        paths = [
            leastcut.cut_path(S, [2], affinity="precomputed", random_state=0, symmetrize=how)
            for S in (DIRECTED, directed_forms()["networkx"], matrix)
        ]
        assert paths[0][2].cut_value == paths[1][2].cut_value == paths[2][2].cut_value
    with pytest.raises(ValueError, match="symmetrize='sum' is not known"):
        leastcut.cut_path(DIRECTED, [2], affinity="precomputed", symmetrize="sum")
    with pytest.raises(ValueError, match="symmetrize='max' has no effect"):
        leastcut.cut_path(DIRECTED, [2], symmetrize="max")


# -- isolated nodes


@st.composite
def with_isolated(draw, min_nodes=3, max_nodes=9):
    """Draw a graph, the same graph with isolated nodes, and the numbers of the original nodes."""
    S = draw(graphs(min_nodes=min_nodes, max_nodes=max_nodes))
    count = draw(st.integers(1, 4))
    n = len(S) + count
    nodes = np.sort(np.random.default_rng(draw(st.integers(0, 2**32 - 1))).permutation(n)[:-count])
    wider = np.zeros((n, n))
    wider[np.ix_(nodes, nodes)] = S
    return S, wider, nodes


@given(drawn=with_isolated(), data=st.data())
def test_isolated_nodes_do_not_change_the_cut_of_the_others(drawn, data):
    S, wider, nodes = drawn
    k = data.draw(st.integers(1, len(S)))
    with pytest.raises(ValueError, match="isolated='ignore'"):
        leastcut.partition(wider, k)
    alone = leastcut.partition(S, k, lower_bound=True, random_state=0)
    result = leastcut.partition(wider, k, isolated="ignore", lower_bound=True, random_state=0)
    assert np.array_equal(np.unique(result.labels), np.arange(k))
    together = result.labels[nodes][:, None] == result.labels[nodes]
    assert np.array_equal(together, alone.labels[:, None] == alone.labels)
    assert result.cut_value == leastcut.cut_value(wider, result.labels, isolated="ignore")
    assert result.cut_value == pytest.approx(alone.cut_value, rel=1e-12)
    assert result.lower_bound == pytest.approx(alone.lower_bound, rel=1e-9, abs=1e-12)
    assert result.lower_bound <= result.cut_value


@given(drawn=with_isolated(), data=st.data())
def test_isolated_nodes_are_clusters_if_the_others_are_too_few(drawn, data):
    S, wider, nodes = drawn
    k = data.draw(st.integers(len(S), len(wider)))
    result = leastcut.partition(wider, k, isolated="ignore", random_state=0)
    assert np.array_equal(np.unique(result.labels), np.arange(k))
    if k == len(wider):
        assert np.unique(result.labels[nodes]).size == len(S)


@given(drawn=with_isolated(), data=st.data())
def test_refining_does_not_move_isolated_nodes(drawn, data):
    _, wider, nodes = drawn
    labels = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(wider))))[: len(wider)]
    before = leastcut.cut_value(wider, labels, isolated="ignore")
    result = leastcut.refine(wider, labels, isolated="ignore")
    again = np.unique(labels, return_inverse=True)[1]
    others = np.setdiff1d(np.arange(len(wider)), nodes)
    assert result.cut_value <= before
    assert np.array_equal(result.labels[others], again[others])
    assert np.array_equal(np.unique(result.labels), np.unique(again))
    assert np.array_equal(np.unique(result.labels[nodes]), np.unique(again[nodes]))
    assert result.cut_value == leastcut.cut_value(wider, result.labels, isolated="ignore")


@given(drawn=with_isolated(max_nodes=6), data=st.data())
def test_certify_proves_the_optimum_of_the_connected_nodes(drawn, data):
    S, wider, nodes = drawn
    labels = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(wider))))[: len(wider)]
    k = np.unique(labels[nodes]).size
    best = leastcut.exact_partition(S, k).cut_value
    result = leastcut.certify(wider, labels, isolated="ignore", random_state=0)
    assert np.unique(result.labels).size == np.unique(labels).size
    assert np.unique(result.labels[nodes]).size == k
    assert result.cut_value == pytest.approx(best, rel=1e-6, abs=1e-12)
    assert result.lower_bound <= best * (1 + 1e-9)
    assert result.gap is not None
    assert result.gap < 1e-6


@given(drawn=with_isolated(min_nodes=4), data=st.data())
def test_links_hold_with_isolated_nodes_too(drawn, data):
    _, wider, nodes = drawn
    k, n = 3, len(wider)
    pair = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    must = data.draw(st.lists(pair, max_size=2))
    cannot = data.draw(st.lists(pair.filter(lambda p: p[0] != p[1]), min_size=1, max_size=5))
    links = {"must_link": must, "cannot_link": cannot}
    allowed = [
        labels
        for labels in itertools.product(range(k), repeat=n if n <= 8 else 0)
        if len(set(labels)) == k
        and all(labels[i] == labels[j] for i, j in must)
        and all(labels[i] != labels[j] for i, j in cannot)
    ]
    try:
        result = leastcut.partition(wider, k, isolated="ignore", random_state=0, **links)
    except ValueError:
        result = None
    if not either(result, "answered", "refused"):
        assert not allowed
        return
    labels = result.labels
    assert np.array_equal(np.unique(labels), np.arange(k))
    assert all(labels[i] == labels[j] for i, j in must)
    assert all(labels[i] != labels[j] for i, j in cannot)
    assert result.cut_value == leastcut.cut_value(wider, labels, isolated="ignore")
    assert result.lower_bound is None or result.lower_bound <= result.cut_value
    proven = leastcut.certify(wider, labels, isolated="ignore", random_state=0, **links)
    assert proven.lower_bound <= proven.cut_value <= result.cut_value * (1 + 1e-12)
    assert all(proven.labels[i] == proven.labels[j] for i, j in must)
    assert all(proven.labels[i] != proven.labels[j] for i, j in cannot)
    # A search from the result is never worse.
    if np.unique(labels[nodes]).size == k:
        again = leastcut.partition(
            wider, k, init=labels, isolated="ignore", effort="fast", random_state=1, **links
        )
        assert again.cut_value <= result.cut_value * (1 + 1e-12)


def test_an_isolated_node_that_no_cluster_accepts_is_part_of_the_cut():
    wider = sp.block_diag([PATH, np.zeros((2, 2))], format="csr")
    # Without node 4, the cut is between nodes 1 and 2; node 4 must not be with nodes 0 and 3.
    links = {"cannot_link": [(0, 4), (3, 4), (4, 5)]}
    result = leastcut.partition(
        wider, 2, isolated="ignore", lower_bound="tight", random_state=0, **links
    )
    labels = result.labels
    assert labels[0] == labels[3] == labels[5] != labels[4]
    assert result.cut_value == leastcut.cut_value(wider, labels, isolated="ignore")
    assert 0.0 <= result.lower_bound <= result.cut_value
    init = [0, 1, 1, 0, 1, 0]
    again = leastcut.partition(
        wider, 2, init=init, isolated="ignore", effort="fast", random_state=0, **links
    )
    assert again.cut_value <= leastcut.cut_value(wider, init, isolated="ignore")
    proven = leastcut.certify(wider, init, isolated="ignore", random_state=0, **links)
    assert proven.lower_bound <= proven.cut_value
    assert proven.labels[0] == proven.labels[3] == proven.labels[5] != proven.labels[4]


def test_an_initial_partition_needs_the_clusters_of_the_result():
    wider = sp.block_diag([PATH, np.zeros((2, 2))], format="csr")
    with pytest.raises(
        ValueError, match=r"init has nodes with edges in 2 of its 3 clusters, .* in 3:"
    ):
        leastcut.partition(wider, 3, isolated="ignore", init=[0, 0, 1, 1, 2, 2])
    init = [0, 0, 1, 1, 0, 1]
    value = leastcut.cut_value(wider, init, isolated="ignore")
    result = leastcut.partition(wider, 2, isolated="ignore", init=init, random_state=0)
    assert result.cut_value <= value


def test_a_graph_without_any_edge():
    nothing = np.zeros((4, 4))
    result = leastcut.partition(nothing, 3, isolated="ignore", lower_bound="tight")
    assert np.unique(result.labels).size == 3
    assert result.cut_value == 0.0
    assert leastcut.refine(nothing, [0, 1, 1, 0], isolated="ignore").labels.tolist() == [0, 1, 1, 0]
    assert leastcut.certify(nothing, [0, 1, 1, 0], isolated="ignore").gap == 0.0
    assert leastcut.partition(nothing, "auto", isolated="ignore").labels.tolist() == [0] * 4


def test_other_cuts_include_isolated_nodes():
    wider = sp.block_diag([PATH, np.zeros((1, 1))], format="csr")
    for cut in ("ratio", np.arange(1.0, 6.0)):
        partition = leastcut.partition(wider, 2, cut, isolated="ignore", random_state=0)
        assert np.array_equal(
            partition.labels, leastcut.partition(wider, 2, cut, random_state=0).labels
        )


def test_the_estimator_assigns_isolated_nodes_like_partition():
    X, _ = make_blobs(60, centers=3, random_state=0)
    wider = sp.block_diag([knn_graph(X, 6), np.zeros((3, 3))], format="csr")
    with pytest.warns(UserWarning, match="no edges"):
        model = leastcut.SpectralClustering(3, affinity="precomputed", random_state=0).fit(wider)
    partition = leastcut.partition(wider, 3, isolated="ignore", effort="auto", random_state=0)
    assert np.array_equal(partition.labels, model.labels_)
    assert partition.cut_value == model.cut_value_


# -- the number of clusters


@pytest.mark.filterwarnings("ignore:The evidence")
@pytest.mark.parametrize("cut", ["normalized", "ratio"])
@pytest.mark.parametrize("centers", [1, 2, 4])
def test_auto_chooses_the_same_number_as_the_estimator(cut, centers):
    X, _ = make_blobs(120, centers=centers, cluster_std=0.5, random_state=centers)
    S = knn_graph(X, 8)
    model = leastcut.SpectralClustering("auto", affinity="precomputed", cut=cut, random_state=0)
    result = leastcut.partition(S, "auto", cut, random_state=0)
    k = model.fit(S).n_clusters_
    assert result.labels.max() + 1 == k
    assert np.array_equal(result.labels, leastcut.partition(S, k, cut, random_state=0).labels)


def test_auto_warns_of_weak_evidence_and_respects_links():
    X, _ = make_blobs(90, centers=4, cluster_std=2.0, random_state=1)
    S = knn_graph(X, 8)
    with pytest.warns(UserWarning, match=r"evidence for n_clusters=.* is weak.*cut_path") as caught:
        leastcut.partition(S, "auto", random_state=0)
    assert caught[0].filename == __file__
    X, _ = make_blobs(90, centers=3, cluster_std=0.3, random_state=1)
    S = knn_graph(X, 6)
    result = leastcut.partition(S, "auto", cannot_link=[(0, 1)], random_state=0)
    assert result.labels[0] != result.labels[1]
    result = leastcut.partition(S, "auto", lower_bound="tight", time_limit=60, random_state=0)
    assert result.gap == 0.0
    with pytest.raises(ValueError, match="init cannot be combined with n_clusters='auto'"):
        leastcut.partition(S, "auto", init=np.arange(90) % 3)
    with pytest.raises(ValueError, match="separate 4 nodes from each other"):
        leastcut.partition(S, "auto", cannot_link=list(itertools.combinations(range(4), 2)))


# -- distances passed as affinities


POINTS = load_iris().data[::2]
"""Samples in four dimensions, some of them equal."""


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "sqeuclidean", "cosine"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.coo_array, pd.DataFrame])
def test_distances_give_a_warning_in_every_form(metric, form):
    D = form(pairwise_distances(POINTS, metric=metric))
    with pytest.warns(UserWarning, match="looks like a distance matrix.*exp") as caught:
        leastcut.cut_value(D, np.arange(len(POINTS)) % 2)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_distances_of_neighbors_give_a_warning():
    X = np.random.default_rng(0).normal(size=(150, 2))
    D = kneighbors_graph(X, 8, mode="distance")
    for graph in (D, nx.from_scipy_sparse_array(D.maximum(D.T))):
        with pytest.warns(UserWarning, match="looks like a distance matrix"):
            leastcut.node_weights(graph, symmetrize="max")


def test_distances_give_one_warning_in_every_function():
    D = pairwise_distances(POINTS[:12])
    labels = np.arange(12) % 2
    relaxation = leastcut.relax(np.exp(-D), 2)
    for call in (
        lambda: leastcut.partition(D, 2, effort="fast", random_state=0),
        lambda: leastcut.refine(D, labels),
        lambda: leastcut.certify(D, labels, random_state=0),
        lambda: leastcut.exact_partition(D, 2),
        lambda: leastcut.direct_cut(D, 2, random_state=0),
        lambda: leastcut.relax(D, 2),
        lambda: leastcut.lower_bound(D, 2),
        lambda: leastcut.node_weights(D),
        lambda: leastcut.operator(D),
        lambda: leastcut.discretize(relaxation, graph=D, random_state=0),
        lambda: leastcut.cut_path(D, [2], affinity="precomputed", random_state=0),
    ):
        with pytest.warns(UserWarning, match="looks like a distance matrix") as caught:
            call()
        assert len(caught) == 1


AFFINITIES = {
    "adaptive": leastcut.adaptive_neighbors_graph(POINTS),
    "nearest": leastcut.nearest_neighbors_graph(POINTS, 5),
    "self-tuning": leastcut.self_tuning_graph(POINTS),
    "neighbors": knn_graph(POINTS, 5),
    "rbf": np.exp(-(pairwise_distances(POINTS) ** 2)) - np.eye(len(POINTS)),
    "inverse": 1 / (1 + pairwise_distances(POINTS)) - np.eye(len(POINTS)),
    "karate": nx.karate_club_graph(),
    "novel": nx.les_miserables_graph(),
    "grid": nx.grid_2d_graph(8, 9),
    "blocks": nx.planted_partition_graph(3, 20, 0.5, 0.05, seed=0),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", AFFINITIES)
def test_affinities_give_no_warning(kind):
    assert leastcut.node_weights(AFFINITIES[kind], "ratio").min() == 1.0
