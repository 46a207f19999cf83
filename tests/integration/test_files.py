"""Readers: files of other programs are read correctly, and errors name the place."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from conftest import draws, graphs, knn_graph, premise
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris

from leastcut.io import FORMATS, SNIFFED, SUFFIXES, UNSUPPORTED, read
from leastcut.io.labels import read_labels
from leastcut.io.loaded import ReadOptions

IRIS = load_iris()
IRIS_NAMES = ("sepal_length", "sepal_width", "petal_length", "petal_width")
SPECIES = IRIS.target_names[IRIS.target]
GRAPH = knn_graph(IRIS.data)
WITH_FILES = settings(
    max_examples=draws(25), suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def written(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def iris_csv(delimiter=",", header=True, species=True):
    lines = [delimiter.join([*IRIS_NAMES, "species"][: 5 if species else 4])] if header else []
    for row, name in zip(IRIS.data, SPECIES, strict=True):
        lines.append(delimiter.join([*map(str, row), name][: 5 if species else 4]))
    return "\n".join(lines) + "\n"


# -- tables


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|", " "])
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_tables_of_any_delimiter_with_and_without_a_header(tmp_path, delimiter, header, suffix):
    path = written(tmp_path, f"iris{suffix}", iris_csv(delimiter, header))
    loaded = read(path, ReadOptions(label_column="species" if header else "5"))
    assert loaded.kind == "points"
    np.testing.assert_array_equal(loaded.data, IRIS.data)
    np.testing.assert_array_equal(loaded.classes, SPECIES)
    assert loaded.columns == (IRIS_NAMES if header else ("1", "2", "3", "4"))
    assert list(loaded.names) == list(range(1, 151))
    # columns can be numbered from the end, and the format detected from the content
    again = read(
        written(tmp_path, "iris.txt", iris_csv(delimiter, header)), ReadOptions(None, "-1")
    )
    np.testing.assert_array_equal(again.data, IRIS.data)


@WITH_FILES
@given(
    st.lists(
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from([",", "\t", ";"]),
    st.booleans(),
)
def test_numbers_are_read_exactly(tmp_path, rows, delimiter, header):
    lines = [delimiter.join(map(repr, row)) for row in rows]
    text = "\n".join([*(["a" + delimiter + "b" + delimiter + "c"] if header else []), *lines])
    options = ReadOptions(kind="points", header=header)
    loaded = read(written(tmp_path, "x.csv", text), options)
    np.testing.assert_array_equal(loaded.data, np.array(rows))


def test_files_of_pandas(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(IRIS.data, columns=IRIS_NAMES)
    frame.to_csv(tmp_path / "index.csv")
    loaded = read(tmp_path / "index.csv")
    np.testing.assert_array_equal(loaded.data, IRIS.data)
    assert list(loaded.names) == [str(i) for i in range(150)]
    assert "numbers the rows" in loaded.notes[0]
    frame.index = [f"flower {i}, white" for i in range(150)]
    frame.to_csv(tmp_path / "named.csv")
    assert read(tmp_path / "named.csv").names[7] == "flower 7, white"
    pandas.DataFrame(IRIS.data).to_csv(tmp_path / "counted.csv", index=False)
    np.testing.assert_array_equal(read(tmp_path / "counted.csv").data, IRIS.data)
    frame.to_csv(tmp_path / "packed.csv.gz", index=False)
    np.testing.assert_array_equal(read(tmp_path / "packed.csv.gz").data, IRIS.data)
    frame.to_csv(tmp_path / "comma.csv", sep=";", decimal=",", index=False)
    np.testing.assert_array_equal(read(tmp_path / "comma.csv").data, IRIS.data)


def test_files_of_numpy_r_and_spreadsheets(tmp_path):
    np.savetxt(tmp_path / "a.csv", IRIS.data, delimiter=",", header="made by numpy")
    np.testing.assert_array_equal(read(tmp_path / "a.csv").data, IRIS.data)
    # R omits the name of the column of row names
    rows = [f'"r{i}" {row[0]} {row[1]}' for i, row in enumerate(IRIS.data)]
    loaded = read(written(tmp_path, "r.txt", "\n".join(['"x" "y"', *rows])))
    np.testing.assert_array_equal(loaded.data, IRIS.data[:, :2])
    assert loaded.names[3] == "r3"
    # byte order mark, CRLF, trailing delimiters, empty lines
    text = "\ufeffx,y,\r\n1,2,\r\n\r\n3,4,\r\n\r\n"
    np.testing.assert_array_equal(read(written(tmp_path, "s.csv", text)).data, [[1, 2], [3, 4]])


def test_a_numeric_column_that_may_hold_classes_is_noted(tmp_path):
    text = "a,b,target\n0.5,1,0\n0.25,3,1\n9,8,1\n"
    loaded = read(written(tmp_path, "x.csv", text))
    assert loaded.data.shape == (3, 3)
    assert "--label-column target" in loaded.notes[0]
    assert read(tmp_path / "x.csv", ReadOptions(label_column="TARGET")).notes == ()


def test_columns_can_be_dropped_and_used_as_row_names(tmp_path):
    path = written(tmp_path, "x.csv", "x,city,why,y\n1,Rome,a,2\n3,Oslo,b,4\n5,Rome,a,6\n")
    loaded = read(path, ReadOptions(name_column="city", drop=("why",)))
    np.testing.assert_array_equal(loaded.data, [[1, 2], [3, 4], [5, 6]])
    assert loaded.names == ["Rome", "Oslo", "Rome"]


BAD_TABLES = {
    "x,y\n1,2\n3,abc\n4,5\n": "x.csv, line 3, column 'y': 'abc' is not a finite number",
    "x,y\n1,2\n3,inf\n4,5\n": "x.csv, line 3, column 'y': 'inf' is not a finite number",
    "x,y\n1,2\n\n3,\n4,NA\n": "line 4, column 'y': the value is missing ('')",
    "x,y\n1,2\n3,4,5\n": "x.csv, line 3 has 3 fields, but there are 2 columns: '3,4,5'",
    "x,y\n1,2\n3\n": "x.csv, line 3 has 1 field, but there are 2 columns: '3'",
    "x,kind\n1,a\n2,b\n3,a\n": "column 'kind' ('a', 'b', ...) contains text, but features must be",
    "x,y\n": "has a header but no rows",
    "# nothing\n": "has no rows",
    "   \n": "is empty",
    "\n1,2\n3,4\n5,x\n": "x.csv, line 4, column '2': 'x' is not a finite number",
}


@pytest.mark.parametrize("text", BAD_TABLES)
def test_errors_in_tables_name_the_place(tmp_path, text):
    with pytest.raises(ValueError, match=r"^[^\n]*$") as raised:
        read(written(tmp_path, "x.csv", text))
    assert BAD_TABLES[text] in str(raised.value)
    assert str(tmp_path / "x.csv") in str(raised.value)


def test_missing_values_are_counted_and_their_columns_listed(tmp_path):
    path = written(tmp_path, "x.csv", "x,y,z\n1,?,3\n4,5,6\n7,,nan\n8,9,1\n")
    with pytest.raises(
        ValueError, match=r"3 values missing in total, in columns 'y', 'z'\..*--drop y --drop z"
    ):
        read(path)
    np.testing.assert_array_equal(
        read(path, ReadOptions(drop=("y", "z"))).data.ravel(), [1, 4, 7, 8]
    )


def test_an_unknown_column_raises_with_the_known_columns(tmp_path):
    path = written(tmp_path, "x.csv", "x,y\n1,2\n")
    for options in ({"label_column": "k"}, {"name_column": "k"}, {"drop": ("k",)}):
        with pytest.raises(ValueError, match="no column 'k'; it has 'x', 'y'"):
            read(path, ReadOptions(**options))
    with pytest.raises(ValueError, match=r"class in column 'y' is missing \(1 of 2"):
        read(written(tmp_path, "y.csv", "x,y\n1,a\n2,\n"), ReadOptions(label_column="y"))
    with pytest.raises(ValueError, match="no feature columns left"):
        read(path, ReadOptions(drop=("x", "y")))


def test_bytes_that_are_not_text_raise(tmp_path):
    with pytest.raises(ValueError, match="line 2 has an invalid byte 0xe9"):
        read(written(tmp_path, "x.csv", "a,b\n1,é\n".encode("latin-1")))
    with pytest.raises(ValueError, match="not a text file: line 1"):
        read(written(tmp_path, "x.csv", b"a\0,b\n1,2\n"))
    with pytest.raises(ValueError, match="cannot be decompressed"):
        read(written(tmp_path, "x.csv.gz", gzip.compress(iris_csv().encode())[:200]))


# -- graphs


def edge_lines(S, names=None, both=False):
    edges = sp.coo_array(S if both else sp.triu(S))
    names = range(S.shape[0]) if names is None else names
    return [
        f"{names[i]} {names[j]} {float(w)!r}"
        for i, j, w in zip(edges.row, edges.col, edges.data, strict=True)
    ]


@WITH_FILES
@given(graphs(), st.booleans(), st.booleans(), st.sampled_from([" ", "\t", ",", ";"]))
def test_a_graph_equals_its_edge_list(tmp_path, S, named, both, delimiter):
    names = [f"node{i}" for i in range(S.shape[0])] if named else list(range(S.shape[0]))
    lines = [line.replace(" ", delimiter) for line in edge_lines(S, names, both)]
    text = "\n".join(["# a comment", "% another", "", *lines]) + "\n"
    loaded = read(written(tmp_path, "g.edges", text))
    order = [loaded.names.index(name) for name in names]
    np.testing.assert_array_equal(loaded.data.toarray()[np.ix_(order, order)], S)
    assert loaded.kind == "graph"
    if not named:
        assert loaded.names == names


def test_edges_without_weights_compressed_and_with_large_numbers(tmp_path):
    text = "10 7\n7 2000000000000\n10 7\n"
    path = written(tmp_path, "g.txt.gz", gzip.compress(text.encode()))
    loaded = read(path)
    assert loaded.names == [7, 10, 2000000000000]
    np.testing.assert_array_equal(loaded.data.toarray(), [[0, 2, 1], [2, 0, 0], [1, 0, 0]])
    assert "--as points" in loaded.notes[0]
    assert "1 lines repeat an edge" in loaded.notes[1]
    assert read(path, ReadOptions(kind="points")).data.shape == (3, 2)


@pytest.mark.parametrize("weighted", [True, False])
def test_edge_lists_of_networkx(tmp_path, weighted):
    networkx = pytest.importorskip("networkx")
    graph = networkx.karate_club_graph()
    if not weighted:
        for _, _, data in graph.edges(data=True):
            data.clear()
    expected = networkx.to_scipy_sparse_array(graph, nodelist=range(34)).toarray()
    networkx.write_edgelist(graph, tmp_path / "a.edgelist")
    networkx.write_weighted_edgelist(graph, tmp_path / "b.edgelist.gz")
    for name in ("a.edgelist", "b.edgelist.gz"):
        loaded = read(tmp_path / name)
        assert loaded.names == list(range(34))
        if weighted or name.startswith("a"):
            np.testing.assert_array_equal(loaded.data.toarray(), expected)


@pytest.mark.parametrize("header", ["source,target,weight", "Source,Target", "from,to,w"])
def test_a_table_of_edges_is_recognized_by_its_header(tmp_path, header):
    weight = ",2" if header.count(",") == 2 else ""
    path = written(tmp_path, "g.csv", f"{header}\na,b{weight}\nb,c{weight}\n")
    loaded = read(path)
    assert (loaded.kind, loaded.names) == ("graph", ["a", "b", "c"])
    assert loaded.data.sum() == (8 if weight else 4)
    assert "--as points" in loaded.notes[0]
    assert read(path, ReadOptions(kind="graph")).notes == ()


def test_different_weights_of_two_directions_raise_unless_directed(tmp_path):
    path = written(tmp_path, "g.edges", "a b 2\nb a 1\nb c 1\n")
    with pytest.raises(ValueError, match=r"from a to b has weight 2, the reverse edge 1 .*max"):
        read(path)
    matrix = read(path, ReadOptions(directed=True)).data.toarray()
    np.testing.assert_array_equal(matrix, [[0, 2, 0], [1, 0, 1], [0, 0, 0]])
    loaded = read(written(tmp_path, "h.edges", "a b\nb a\nb c\n"))
    assert loaded.data.sum() == 4
    assert "1 edges are listed in both directions and 1 in one" in loaded.notes[0]


BAD_EDGES = {
    "1 2 0.5\n2 3 x\n": "g.edges, line 2: the weight 'x' is not a finite number",
    "1 2 0.5\n2 3\n": "g.edges, line 2 has 2 fields, but there are 3 columns: '2 3'",
    "1 2 0.5\n\n2 3 -4\n": "g.edges, line 3: the weight '-4.0' is not a finite number >= 0",
    "1 2 0.5\n2 3 nan\n": "line 2: the weight",
    "1\n2\n": "g.edges, line 1: '1' has 1 field;",
    "# 1 2\n": "has no edges",
    "ann bob best friends\n": "line 1: the weight 'best' is not a finite number",
}


@pytest.mark.parametrize("text", BAD_EDGES)
def test_errors_in_edge_lists_name_the_place(tmp_path, text):
    with pytest.raises(ValueError, match=r"^[^\n]*$") as raised:
        read(written(tmp_path, "g.edges", text))
    assert BAD_EDGES[text] in str(raised.value)


def metis_text(S, weighted):
    S = sp.csr_array(S)
    lines = [f"{S.shape[0]} {S.nnz // 2}" + (" 1" if weighted else ""), "% a comment"]
    for i in range(S.shape[0]):
        span = slice(S.indptr[i], S.indptr[i + 1])
        pairs = zip(S.indices[span] + 1, S.data[span], strict=True)
        lines.append(" ".join(f"{j} {float(w)!r}" if weighted else f"{j}" for j, w in pairs))
    return "\n".join(lines) + "\n"


@WITH_FILES
@given(graphs(), st.booleans(), st.sampled_from(["g.graph", "g.metis", "g.txt"]))
def test_a_graph_equals_its_metis_file(tmp_path, S, weighted, name):
    S = S - np.diag(np.diag(S))
    if not weighted:
        S = (S > 0).astype(float)
    premise(S.any() or name != "g.txt")
    loaded = read(written(tmp_path, name, metis_text(S, weighted)))
    np.testing.assert_array_equal(loaded.data.toarray(), S)
    assert list(loaded.names) == list(range(1, S.shape[0] + 1))


def test_node_weights_of_metis_files_are_ignored_and_noted(tmp_path):
    loaded = read(written(tmp_path, "g.graph", "2 1 011\n7 2 0.5\n8 1 0.5\n"))
    np.testing.assert_array_equal(loaded.data.toarray(), [[0, 0.5], [0.5, 0]])
    assert "node weights, which are ignored" in loaded.notes[0]


BAD_METIS = {
    "3 2\n2\n1 3\n": "ends after 2 of 3 nodes, at line 3",
    "3 2\n2\n1 3\n2\n1\n": "declares 3 nodes but has 4 lines",
    "3 2\n2\n1 4\n2\n": "line 3: unexpected '4'; a line lists nodes from 1 to 3",
    "3 2\n2\n1 x\n2\n": "g.graph, line 3: unexpected 'x'",
    "3 5\n2\n1 3\n2\n": "declares 5 edges, that is 10 neighbors, but lists 4",
    "3 2\n2 3\n1\n2\n": "the edge from 1 to 3 has weight 1, the reverse edge 0",
    "3 2 1\n2 1\n1 1 3\n2 1\n": "line 3: unexpected '3'",
    "3 2 1\n2 1\n1 1 3 x\n2 x\n": "line 3: unexpected 'x'",
    "words\n": "is not a METIS header",
}


@pytest.mark.parametrize("text", BAD_METIS)
def test_errors_in_metis_files_name_the_place(tmp_path, text):
    with pytest.raises(ValueError, match=r"^[^\n]*$") as raised:
        read(written(tmp_path, "g.graph", text))
    assert BAD_METIS[text] in str(raised.value)


@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
def test_matrix_market(tmp_path, symmetry):
    scipy.io.mmwrite(tmp_path / "g.mtx", sp.coo_matrix(GRAPH), symmetry=symmetry)
    scipy.io.mmwrite(tmp_path / "d.mtx", GRAPH.toarray(), symmetry=symmetry)
    for name in ("g.mtx", "d.mtx"):
        loaded = read(tmp_path / name)
        assert (loaded.kind, loaded.names[0]) == ("graph", 1)
        assert abs(loaded.data - GRAPH).max() == 0
    X = load_digits().data[:50]
    for matrix in (sp.coo_matrix(X), X):
        scipy.io.mmwrite(tmp_path / "x.mtx", matrix)
        points = read(tmp_path / "x.mtx")
        assert points.kind == "points"
        data = points.data.toarray() if sp.issparse(points.data) else points.data
        np.testing.assert_array_equal(data, X)


@WITH_FILES
@given(graphs(), st.sampled_from(["real", "pattern", "integer"]))
def test_a_graph_equals_its_matrix_market_file_as_scipy_reads_it(tmp_path, S, field):
    S = S if field == "real" else np.ceil(S)
    path = tmp_path / "g.mtx"
    scipy.io.mmwrite(path, sp.coo_matrix(S), field=field, precision=17)
    np.testing.assert_array_equal(read(path).data.toarray(), scipy.io.mmread(path).toarray())


MARKET = "%%MatrixMarket matrix coordinate real general\n"
BAD_MARKETS = {
    "1 x\n": "line 1: '1 x' is not a supported Matrix Market header; expected %%MatrixMarket",
    MARKET + "% only\n": "line 2: '' is not the size of a general matrix",
    MARKET + "2 x 1\n": "line 2: '2 x 1' is not the size of a general matrix",
    MARKET + "2 2 2\n1 2 1\n": "declares 2 entries but has 1; it may be truncated",
    MARKET + "2 2 1\n1 3 1\n": "line 3: '1 3 1' is not an entry of a matrix with 2 rows",
    MARKET + "2 2 1\n1 2 x\n": "line 3: '1 2 x' is not an entry",
    MARKET.replace("real", "complex"): "is not a supported Matrix Market header",
    MARKET.replace("general", "symmetric") + "2 3 0\n": "'2 3 0' is not the size of a symm",
}


@pytest.mark.parametrize("text", BAD_MARKETS)
def test_errors_in_matrix_market_files_name_the_place(tmp_path, text):
    with pytest.raises(ValueError, match=r"^[^\n]*$") as raised:
        read(written(tmp_path, "g.mtx", text))
    assert BAD_MARKETS[text] in str(raised.value)


@pytest.mark.parametrize("form", ["gml", "graphml"])
def test_gml_and_graphml_files_of_networkx(tmp_path, form):
    networkx = pytest.importorskip("networkx")
    graph = networkx.relabel_nodes(networkx.karate_club_graph(), "member {}".format)
    path = tmp_path / f"karate.{form}"
    getattr(networkx, f"write_{form}")(graph, path)
    expected = networkx.to_scipy_sparse_array(graph).toarray()
    packed = written(tmp_path, f"packed.{form}.gz", gzip.compress(path.read_bytes()))
    for file in (path, packed, written(tmp_path, "x.xyz", path.read_bytes())):
        loaded = read(file, format=form)
        assert loaded.kind == "graph"
        assert list(loaded.names) == list(graph)
        assert loaded.notes == ()
        np.testing.assert_array_equal(loaded.data.toarray(), expected)
    for data in (data for _, _, data in graph.edges(data=True)):
        data["value"] = data.pop("weight")
    getattr(networkx, f"write_{form}")(graph, path)
    loaded = read(path)
    assert "have no attribute 'weight'" in loaded.notes[0]
    assert "'value'" in loaded.notes[0]
    np.testing.assert_array_equal(loaded.data.toarray(), expected > 0)
    with pytest.raises(ValueError, match="has no points or columns"):
        read(path, ReadOptions("points"))


def test_nodes_without_labels_are_named_by_their_ids(tmp_path):
    pytest.importorskip("networkx")
    nodes = "".join(f"node [ id {i} ]\n" for i in (7, 3, 5))
    edges = "edge [ source 7 target 3 ]\nedge [ source 3 target 5 ]\n"
    loaded = read(written(tmp_path, "g.gml", f"graph [\n{nodes}{edges}]\n"))
    assert list(loaded.names) == [7, 3, 5]
    np.testing.assert_array_equal(loaded.data.toarray(), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])


BOMB = """<?xml version="1.0"?>
<!DOCTYPE graphml [<!ENTITY a0 "{text}">{entities}]>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">
<node id="&a9;"/></graph></graphml>
"""
BAD_GRAPHS = {
    "x.gml": "graph [ node [ id 1 ]",
    "empty.gml": "words",
    "deep.gml": "graph " * 50 + "[ a " * 20_000,
    "twice.gml": 'graph [ node [ id 1 label "a" ] node [ id 2 label "a" ] ]',
    "weight.gml": 'graph [ node [ id 1 ] node [ id 2 ] edge [ source 1 target 2 weight "x" ] ]',
    "x.graphml": "<graphml><graph>",
    "other.graphml": "<html></html>",
    "bomb.graphml": BOMB.format(
        text="x" * 1000,
        entities="".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10)),
    ),
    "file.graphml": (
        '<?xml version="1.0"?><!DOCTYPE g [<!ENTITY f SYSTEM "file:///etc/passwd">]>'
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">'
        '<node id="&f;"/></graph></graphml>'
    ),
}


@pytest.mark.parametrize("name", BAD_GRAPHS)
def test_damaged_and_malicious_graphs_raise_one_line_with_the_file_name(tmp_path, name):
    pytest.importorskip("networkx")
    with pytest.raises(ValueError, match=rf"^[^\n]*{name}[^\n]*cannot be read as") as raised:
        read(written(tmp_path, name, BAD_GRAPHS[name]))
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 1000
    assert "root:" not in str(raised.value)


@pytest.mark.parametrize("form", ["gml", "graphml"])
def test_without_networkx_the_error_names_the_install_command(tmp_path, monkeypatch, form):
    monkeypatch.setitem(sys.modules, "networkx", None)  # makes its import fail
    with pytest.raises(ImportError, match="need networkx, which is not installed; pip install"):
        read(written(tmp_path, f"g.{form}", "graph [ ]"))


# -- arrays


def test_arrays_of_numpy(tmp_path):
    np.save(tmp_path / "x.npy", IRIS.data.astype(np.float32))
    np.savez(tmp_path / "xy.npz", X=IRIS.data, y=SPECIES)
    sp.save_npz(tmp_path / "s.npz", GRAPH)
    sp.save_npz(tmp_path / "t.npz", sp.csr_array(load_digits().data[:50]))
    assert read(tmp_path / "x.npy").data.dtype == np.float32
    loaded = read(tmp_path / "xy.npz")
    np.testing.assert_array_equal(loaded.data, IRIS.data)
    np.testing.assert_array_equal(loaded.classes, SPECIES)
    assert abs(read(tmp_path / "s.npz").data - GRAPH).max() == 0
    assert read(tmp_path / "s.npz").kind == "graph"
    assert read(tmp_path / "t.npz").kind == "points"
    np.save(tmp_path / "s.npy", GRAPH.toarray())
    assert read(tmp_path / "s.npy").kind == "points"
    assert read(tmp_path / "s.npy", ReadOptions(kind="graph")).kind == "graph"
    with pytest.raises(ValueError, match="150 rows and 4 columns and cannot be read as a graph"):
        read(tmp_path / "x.npy", ReadOptions(kind="graph"))
    # columns are numbered, and integers can be classes
    np.save(tmp_path / "with.npy", np.column_stack([IRIS.data, IRIS.target]))
    np.testing.assert_array_equal(
        read(tmp_path / "with.npy", ReadOptions(label_column="-1")).classes, IRIS.target
    )


def test_arrays_of_matlab(tmp_path):
    scipy.io.savemat(tmp_path / "a.mat", {"fea": IRIS.data, "gnd": IRIS.target[:, None] + 1})
    scipy.io.savemat(tmp_path / "b.mat", {"X": IRIS.data.T, "Y": IRIS.target})
    for name in ("a.mat", "b.mat"):
        loaded = read(tmp_path / name)
        np.testing.assert_array_equal(loaded.data, IRIS.data)
        assert len(np.unique(loaded.classes)) == 3
    scipy.io.savemat(tmp_path / "g.mat", {"Problem": {"A": sp.csc_matrix(GRAPH), "name": "iris"}})
    loaded = read(tmp_path / "g.mat")
    assert loaded.kind == "graph"
    assert abs(loaded.data - GRAPH).max() == 0


def test_no_module_of_the_working_directory_is_imported(tmp_path, monkeypatch):
    scipy.io.savemat(tmp_path / "a.mat", {"X": IRIS.data})
    for module in ("pickle", "scipy", "numpy"):
        (tmp_path / f"{module}.py").write_text("open('mark', 'w').close()")
    monkeypatch.chdir(tmp_path)
    np.testing.assert_array_equal(read("a.mat").data, IRIS.data)
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"X": np.array([[1.0, np.nan]])}, "1 NaN or infinite value (first: row 1, column 2)"),
        ({"X": np.array([[1j]])}, "complex numbers"),
        ({"X": np.array([["a"]])}, "entries of type"),
        ({"X": IRIS.data, "y": IRIS.target[:9]}, "150 rows in 'X' but 9 classes in 'y'"),
        ({"one": IRIS.data, "two": IRIS.data}, "expected points as X"),
        ({"A": IRIS.data, "B": IRIS.data}, "--array NAME to select one"),
        ({"one": np.zeros((2, 2, 2))}, "contains 'one' (2, 2, 2)"),
    ],
)
def test_errors_in_arrays_raise_one_line(tmp_path, arrays, words):
    np.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises(ValueError, match=r"^[^\n]*$") as raised:
        read(tmp_path / "x.npz")
    assert words in str(raised.value)


@pytest.mark.parametrize("name", ["x.npy", "x.npz", "x.mat", "x.parquet", "x.png"])
def test_damaged_files_of_any_format_raise_one_line(tmp_path, name):
    contents = [b"damaged", b"PK\x03\x04 but not quite", b"\x89PNG\r\n\x1a\n", b"PAR1PAR1"]
    for content in contents[:1] if name == "x.mat" else contents:
        with pytest.raises(ValueError, match=r"^[^\n]*cannot be read as[^\n]*$"):
            read(written(tmp_path, name, content))


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(IRIS.data.copy(), columns=IRIS_NAMES)
    frame["species"] = SPECIES
    frame.to_parquet(tmp_path / "x.parquet")
    loaded = read(tmp_path / "x.parquet", ReadOptions(label_column="species"))
    np.testing.assert_array_equal(loaded.data, IRIS.data)
    np.testing.assert_array_equal(loaded.classes, SPECIES)
    assert loaded.columns == IRIS_NAMES
    with pytest.raises(ValueError, match=r"'species' \('setosa', .*\) contains text, but features"):
        read(tmp_path / "x.parquet")
    frame.index = [f"f{i}" for i in range(150)]
    frame.to_parquet(tmp_path / "named.parquet")
    assert read(tmp_path / "named.parquet", ReadOptions(drop=("species",))).names[2] == "f2"
    frame.loc["f3", "sepal_width"] = np.nan
    frame.to_parquet(tmp_path / "hole.parquet")
    with pytest.raises(ValueError, match="row 4, column 'sepal_width': the value is missing"):
        read(tmp_path / "hole.parquet", ReadOptions(drop=("species",)))


@pytest.mark.parametrize("name", ["x.png", "x.jpg", "x.bmp", "image"])
def test_images(tmp_path, name):
    image = pytest.importorskip("PIL.Image")
    colors = np.zeros((4, 6, 3), dtype=np.uint8)
    colors[:, 3:] = 200, 10, 30
    buffer = io.BytesIO()
    kinds = {"x.jpg": "JPEG", "x.bmp": "BMP"}
    image.fromarray(colors).save(buffer, kinds.get(name, "PNG"))
    loaded = read(written(tmp_path, name, buffer.getvalue()))
    assert (loaded.kind, loaded.data.shape, loaded.n_items) == ("image", (4, 6, 3), 24)
    image.fromarray(colors[:, :, 0]).save(tmp_path / "gray.png")
    assert read(tmp_path / "gray.png").data.shape == (4, 6)


# -- detection of the format


def test_every_suffix_has_a_reader():
    assert set(FORMATS) == set(SUFFIXES.values())
    suffixes = [*SUFFIXES, *SNIFFED, *UNSUPPORTED]
    assert len(set(suffixes)) == len(suffixes)


def test_the_format_is_detected_without_a_file_extension(tmp_path, monkeypatch):
    contents = {
        "points": iris_csv(species=False).encode(),
        "graph": "\n".join(edge_lines(GRAPH)).encode(),
    }
    for array, kind in ((IRIS.data, "points"),):
        buffer = io.BytesIO()
        np.save(buffer, array)
        contents[f"{kind} in an array"] = buffer.getvalue()
    buffer = io.BytesIO()
    scipy.io.mmwrite(buffer, sp.coo_matrix(GRAPH))
    contents["graph in a matrix"] = buffer.getvalue()
    contents["graph of METIS"] = metis_text((GRAPH > 0).astype(float), False).encode()
    for name, content in contents.items():
        for packed in (content, gzip.compress(content)):
            standard = io.TextIOWrapper(io.BytesIO(packed))
            monkeypatch.setattr("sys.stdin", standard)
            loaded = read("-")
            assert loaded.kind == name.split()[0], name
            assert loaded.n_items == 150
            assert read(written(tmp_path, "nameless", packed)).kind == loaded.kind


def test_unsupported_files_raise_with_a_remedy(tmp_path):
    for suffix, remedy in UNSUPPORTED.items():
        with pytest.raises(ValueError, match=r"files are not supported") as raised:
            read(written(tmp_path, f"x{suffix}", "1"))
        assert remedy in str(raised.value)
    with pytest.raises(ValueError, match="--format"):
        read(written(tmp_path, "x.xyz", "1"))
    written(tmp_path, "iris.csv", "1,2\n")
    with pytest.raises(FileNotFoundError, match=r"no file .*iris.cvs; did you mean .*iris.csv\?"):
        read(tmp_path / "iris.cvs")
    with pytest.raises(ValueError, match="is a folder"):
        read(tmp_path)
    np.testing.assert_array_equal(read(tmp_path / "x.xyz", format="csv").data, [[1]])
    with pytest.raises(ValueError, match="--format='pdf' is not known; choose one of 'csv'"):
        read(tmp_path / "x.xyz", format="pdf")
    with pytest.raises(ValueError, match="--as='tree' is not known"):
        read(tmp_path / "x.xyz", ReadOptions(kind="tree"))


def test_a_square_table_can_be_read_as_a_graph(tmp_path):
    path = written(tmp_path, "s.csv", ",a,b,c\na,0,1,2\nb,1,0,0\nc,2,0,0\n")
    loaded = read(path, ReadOptions(kind="graph"))
    assert (loaded.kind, list(loaded.names)) == ("graph", ["a", "b", "c"])
    np.testing.assert_array_equal(loaded.data, [[0, 1, 2], [1, 0, 0], [2, 0, 0]])
    path = written(tmp_path, "t.csv", "a,b,c\n0,1,2\n1,0,0\n2,0,0\n")
    assert list(read(path, ReadOptions(kind="graph")).names) == ["a", "b", "c"]


def test_reading_does_not_change_the_file(tmp_path):
    path = written(tmp_path, "x.csv", iris_csv())
    before = path.stat().st_mtime_ns
    read(path, ReadOptions(label_column="species"))
    assert path.stat().st_mtime_ns == before
    assert list(tmp_path.iterdir()) == [path]


FIELDS = st.sampled_from(
    ["1", "2", "0.5", "-3", "1e400", "a", "b c", '"', "", "nan", "#", "%", "{"]
)
LINES = st.lists(st.lists(FIELDS, max_size=4), max_size=6)
TEXTS = st.text(max_size=40) | st.builds(
    lambda rows, mark, end: end.join(mark.join(row) for row in rows),
    LINES,
    st.sampled_from([",", " ", "\t", ";"]),
    st.sampled_from(["\n", "\r\n", "\r"]),
)


def error_of(attempt) -> str | None:
    """Return the message of a ValueError, or None if there is no error."""
    try:
        attempt()
    except ValueError as error:
        return str(error)
    return None


@settings(max_examples=draws(300), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    TEXTS,
    st.sampled_from(["csv", "tsv", "edges", "metis", "mtx", "gml", "graphml", "txt", "npy", "npz"]),
)
def test_any_content_is_read_or_raises_one_line(tmp_path, text, suffix):
    if suffix == "txt":
        path = written(tmp_path, "x.txt", text.encode("utf-8", "surrogatepass"))
        attempts = [
            lambda kind=kind: read(path, ReadOptions(kind)) for kind in (None, "points", "graph")
        ]
        attempts.append(lambda: read_labels(str(path), ["a", "b"]))
    else:
        path = written(tmp_path, "x", text.encode("utf-8", "surrogatepass"))
        kinds = (None, "points", "graph")
        attempts = [lambda kind=kind: read(path, ReadOptions(kind), suffix) for kind in kinds]
    for attempt in attempts:
        error = error_of(attempt)
        assert error is None or (str(path) in error and "\n" not in error)
