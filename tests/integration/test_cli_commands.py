"""``cluster``, ``compare``, ``cut``, ``certify`` and ``info``: files in, true answers out."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

import leastcut
from leastcut.cli import main
from leastcut.cli.information import PARTS
from leastcut.io.labels import read_labels

pytest.importorskip("typer")
pytest.importorskip("rich")

IRIS = load_iris()
SPECIES = IRIS.target_names[IRIS.target]
KEYS = {
    "command",
    "file",
    "kind",
    "n_nodes",
    "n_edges",
    "cut",
    "n_clusters",
    "cut_value",
    "lower_bound",
    "gap",
    "sizes",
    "labels_path",
    "scores",
    "outputs",
    "seconds",
    "versions",
}
"""What every object of ``cluster --json`` has."""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to be in, with iris as a table and the karate club as a list of edges."""
    monkeypatch.chdir(tmp_path)
    rows = [",".join([*map(str, row), name]) for row, name in zip(IRIS.data, SPECIES, strict=True)]
    (tmp_path / "iris.csv").write_text("\n".join(["a,b,c,d,species", *rows]) + "\n")
    networkx = pytest.importorskip("networkx")
    club = networkx.karate_club_graph()
    names = {i: f"m{i}" for i in club}
    networkx.write_weighted_edgelist(networkx.relabel_nodes(club, names), "karate.edges")
    return tmp_path


CLUB = ["cluster", "karate.edges", "-k", "2", "--effort", "fast"]
FLOWERS = ["cluster", "iris.csv", "-k", "3", "--effort", "fast", "--label-column", "species"]


def club_graph(names):
    """The karate club, its members in the order of names."""
    networkx = pytest.importorskip("networkx")
    club = networkx.karate_club_graph()
    return networkx.to_scipy_sparse_array(club, nodelist=[int(name[1:]) for name in names])


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


def told(capsys, arguments, status=0):
    """Run a command, hold its status, and return what it said on both outputs."""
    assert main(arguments) == status
    return capsys.readouterr()


# -- cluster


def test_labels_are_what_the_library_finds(here, capsys):
    told(capsys, [*CLUB, "-o", "labels.csv"])
    rows = list(csv.reader((here / "labels.csv").open()))
    assert rows[0] == ["node", "cluster"]
    names = [name for name, _ in rows[1:]]
    S = club_graph(names)
    found = leastcut.partition(S, 2, effort="fast", random_state=0)
    assert [int(cluster) for _, cluster in rows[1:]] == found.labels.tolist()


def test_points_go_through_the_affinity_that_is_named(here, capsys):
    out = told(capsys, [*FLOWERS, "--affinity", "nearest_neighbors", "--neighbors", "8", "--json"])
    record = json.loads(out.out)
    S = leastcut.nearest_neighbors_graph(IRIS.data, 8)
    found = leastcut.partition(S, 3, effort="fast", random_state=0)
    assert record["labels"] == found.labels.tolist()
    assert record["cut_value"] == found.cut_value
    assert record["scores"] == {
        "accuracy": leastcut.clustering_accuracy(SPECIES, found.labels),
        "nmi": leastcut.normalized_mutual_info(SPECIES, found.labels),
    }
    learned = json.loads(told(capsys, [*FLOWERS, "--affinity", "learned", "--json"]).out)
    S = leastcut.learned_graph(IRIS.data, 3, random_state=0).graph
    found = leastcut.partition(S, 3, effort="fast", random_state=0)
    assert learned["labels"] == found.labels.tolist()
    cosine = json.loads(told(capsys, [*FLOWERS, "--metric", "cosine", "--json"]).out)
    S = leastcut.adaptive_neighbors_graph(IRIS.data, metric="cosine")
    assert cosine["cut_value"] == leastcut.partition(S, 3, effort="fast", random_state=0).cut_value


@pytest.mark.parametrize("form", ["npy", "parquet", "csv"])
def test_anchors_are_those_of_the_library_wherever_points_lie(here, capsys, form, monkeypatch):
    np.save("x.npy", IRIS.data)
    if form == "csv":
        np.savetxt("x.csv", IRIS.data, delimiter=",")
    elif form == "parquet":
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet

        columns = {str(i): column for i, column in enumerate(IRIS.data.T)}
        pyarrow.parquet.write_table(pa.table(columns), "x.parquet")
    if form != "csv":  # which is read whole
        monkeypatch.setattr("leastcut.io.read", None)
    given = ["--affinity", "anchors", "--n-anchors", "30", "--neighbors", "4"]
    command = ["cluster", f"x.{form}", "-k", "3", "--effort", "fast", *given]
    record = json.loads(told(capsys, [*command, "--max-memory", "20GiB", "--json"]).out)
    graph = leastcut.anchor_graph(IRIS.data, 30, 4, random_state=0)
    found = leastcut.partition(graph, 3, effort="fast", random_state=0)
    assert record["labels"] == found.labels.tolist()
    assert record["cut_value"] == found.cut_value
    assert record["n_edges"] is None
    shown = told(capsys, command)
    assert "150 points of 4 numbers, joined through" in shown.out
    assert "--report" not in shown.out
    boundaries = graph.problem.table_of_labels(found.labels).boundaries
    assert all(f"{boundary:.6g}" in shown.out for boundary in boundaries)


def test_anchors_are_drawn_where_that_needs_no_edges(here, capsys):
    pytest.importorskip("matplotlib")
    np.save("x.npy", IRIS.data)
    command = ["cluster", "x.npy", "-k", "3", "--effort", "fast", "--affinity", "anchors"]
    told(capsys, [*command, "--n-anchors", "30", "--plot", "x.svg", "--picture", "sizes"])
    assert b"<svg" in (here / "x.svg").read_bytes()


def test_the_object_of_json_has_its_keys_and_tells_the_truth(here, capsys):
    record = json.loads(told(capsys, [*CLUB, "--json"]).out)
    assert set(record) == KEYS | {"labels", "nodes"}
    S = club_graph(record["nodes"])
    assert record["cut_value"] == pytest.approx(leastcut.cut_value(S, record["labels"]))
    assert record["sizes"] == np.bincount(record["labels"]).tolist()
    assert record["lower_bound"] <= record["cut_value"]
    assert record["command"] == [*CLUB, "--json"]
    assert (record["n_nodes"], record["n_edges"], record["n_clusters"]) == (34, 78, 2)
    assert record["versions"]["leastcut"] == leastcut.__version__
    assert set(record["seconds"]) == {"read", "graph", "cut"}
    # with a file of labels they are not in the object as well
    record = json.loads(told(capsys, [*CLUB, "--json", "-o", "labels.npy"]).out)
    assert set(record) == KEYS
    assert record["labels_path"] == "labels.npy"
    assert np.load("labels.npy").shape == (34,)


def test_the_number_of_clusters_can_be_left_to_the_graph(here, capsys):
    record = json.loads(
        told(capsys, ["cluster", "iris.csv", "-k", "auto", *FLOWERS[4:], "--json"]).out
    )
    S = leastcut.adaptive_neighbors_graph(IRIS.data)
    assert record["n_clusters"] == leastcut.partition(S, "auto", random_state=0).labels.max() + 1


def test_standard_input_and_output(here, capsysbinary, monkeypatch):
    content = (here / "karate.edges").read_bytes()
    for packed in (content, gzip.compress(content)):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(packed)))
        assert main(["cluster", "-", *CLUB[2:], "-o", "-"]) == 0
        out, error = capsysbinary.readouterr()
        lines = out.decode().splitlines()
        assert lines[0] == "node,cluster"
        assert len(lines) == 35
        # what is for people is out of the way
        assert b"2 clusters" in error
    assert files_in(here) == ["iris.csv", "karate.edges"]


def test_people_are_shown_the_value_the_bound_and_every_cluster(here, capsys):
    out, error = told(capsys, [*FLOWERS, "-o", "labels.csv"])
    assert error == ""
    assert "150 points of 4 numbers" in out
    assert "3 clusters: normalized cut 0.0277" in out
    assert "no partition is more than" in out
    assert "accuracy 0.9" in out
    assert out.endswith("Labels in labels.csv\n")
    sizes = [
        int(line.split()[1])
        for line in out.splitlines()
        if line.split()[:1] in (["0"], ["1"], ["2"])
    ]
    assert sum(sizes) == 150


def test_in_a_terminal_there_are_bars_and_tables(here, capsys, monkeypatch):
    monkeypatch.setattr("leastcut.cli.outputs.is_terminal", lambda file: True)
    monkeypatch.setattr("leastcut.progress.DELAY", 0.0)
    out, error = told(capsys, CLUB)
    assert "partition:" in error
    assert "boundary/weight" in out
    assert "─────" in out
    out, error = told(capsys, ["certify", "karate.edges", "-k", "2"])
    assert "certify:" in error
    assert "proven: no partition is smaller" in out


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_a_picture_is_drawn(here, capsys, suffix):
    pytest.importorskip("matplotlib")
    told(capsys, [*CLUB, "--plot", f"club.{suffix}"])
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    assert (here / f"club.{suffix}").read_bytes().startswith(start)
    assert files_in(here) == [f"club.{suffix}", "iris.csv", "karate.edges"]


def test_pictures_of_every_kind_that_an_answer_has(here, capsys):
    plot = pytest.importorskip("leastcut.plot")
    pytest.importorskip("matplotlib")
    kinds = [name for name, kind in plot.PLOTS.items() if kind.shows in ("path", "clusters")]
    for kind in kinds:
        told(capsys, [*CLUB, "--plot", f"{kind}.png", "--picture", kind])
        assert (here / f"{kind}.png").stat().st_size > 1000


def test_a_report_explains_the_answer(here, capsys):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    command = ["cluster", "iris.csv", "-k", "3", *FLOWERS[4:], "--report", "page.html"]
    told(capsys, command)
    page = (here / "page.html").read_text(encoding="utf-8")
    assert "Other methods" in page
    assert "iris.csv" in page
    assert "leastcut cluster iris.csv -k 3" in page
    assert "accuracy 0.9" in page
    assert "0.0277" in page


def test_a_picture_is_cut_into_coloured_segments(here, capsys):
    image = pytest.importorskip("PIL.Image")
    pixels = np.full((24, 30, 3), 30, dtype=np.uint8)
    pixels[:, 15:] = 200, 180, 40
    image.fromarray(pixels).save("photo.png")
    command = ["cluster", "photo.png", "-k", "2", "--effort", "fast"]
    told(capsys, [*command, "-o", "segments.png"])
    found = np.asarray(image.open("segments.png"))
    assert found.shape == (24, 30, 3)
    assert (found[:, 2:12] != found[:, 18:28]).any(axis=2).all()
    told(capsys, [*command, "-o", "segments.npy"])
    segments = np.load("segments.npy")
    assert segments.shape == (24, 30)
    assert len(np.unique(segments[:, :15])) == len(np.unique(segments[:, 15:])) == 1
    told(capsys, [*command, "-o", "segments.csv", "--plot", "drawn.png"])
    assert len((here / "segments.csv").read_text().splitlines()) == 24 * 30 + 1


def test_a_large_picture_is_cut_by_superpixels_unless_told_otherwise(here, capsys):
    image = pytest.importorskip("PIL.Image")
    pytest.importorskip("skimage")
    pixels = np.full((210, 200), 30, dtype=np.uint8)
    pixels[:, 100:] = 200
    image.fromarray(pixels).save("photo.png")
    command = ["cluster", "photo.png", "-k", "2", "--effort", "fast", "--json", "-o"]
    out, error = told(capsys, [*command, "x.npy"])
    assert "--superpixels 0 cuts the pixels themselves" in error
    assert json.loads(out)["n_nodes"] < 4000
    assert np.load("x.npy").shape == (210, 200)
    out, error = told(capsys, [*command, "y.npy", "--superpixels", "100"])
    assert error == ""
    assert json.loads(out)["n_nodes"] < 200


def test_columns_are_standardized_where_that_is_asked_for(here, capsys):
    rows = [f"{row[0]},{1000 * row[2]}" for row in IRIS.data]
    (here / "x.csv").write_text("\n".join(["short,long", *rows]))
    command = ["cluster", "x.csv", "-k", "3", "--effort", "fast", "--json"]
    error = told(capsys, command).err
    assert "'long' varies by 1.76e+03 and 'short' by 0.825" in error
    out, error = told(capsys, [*command, "--standardize"])
    assert error == ""
    X = np.array([[float(v) for v in row.split(",")] for row in rows])
    S = leastcut.adaptive_neighbors_graph((X - X.mean(axis=0)) / X.std(axis=0))
    found = leastcut.partition(S, 3, effort="fast", random_state=0)
    assert json.loads(out)["labels"] == found.labels.tolist()


def test_directed_and_isolated_are_options(here, capsys):
    (here / "d.edges").write_text("a b 2\nb a 1\nb c 1\nc d 3\nd a 1\n")
    error = told(capsys, ["cluster", "d.edges", "-k", "2"], 2).err
    assert "--symmetrize mean or --symmetrize max" in error
    for how in ("mean", "max"):
        record = json.loads(
            told(capsys, ["cluster", "d.edges", "-k", "2", "--symmetrize", how, "--json"]).out
        )
        A = np.array([[0, 2, 0, 0], [1, 0, 1, 0], [0, 0, 0, 3], [1, 0, 0, 0]], dtype=float)
        S = (A + A.T) / 2 if how == "mean" else np.maximum(A, A.T)
        assert record["cut_value"] == leastcut.partition(S, 2, random_state=0).cut_value
    (here / "lonely.graph").write_text("5 3\n2 3\n1 3\n1 2\n\n\n")
    error = told(capsys, ["cluster", "lonely.graph", "-k", "2"], 2).err
    assert "--isolated ignore" in error
    command = ["cluster", "lonely.graph", "-k", "2", "--isolated", "ignore", "--json"]
    assert len(json.loads(told(capsys, command).out)["labels"]) == 5


@pytest.mark.parametrize("form", ["gml", "graphml"])
def test_graphs_of_networkx_keep_their_names_and_directions(here, capsys, form):
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph()
    graph.add_weighted_edges_from([("a", "b", 2), ("b", "a", 1), ("b", "c", 1), ("c", "d", 3)])
    getattr(networkx, f"write_{form}")(graph, f"d.{form}")
    command = ["cluster", f"d.{form}", "-k", "2"]
    assert "--symmetrize mean or --symmetrize max" in told(capsys, command, 2).err
    record = json.loads(told(capsys, [*command, "--symmetrize", "max", "--json"]).out)
    A = networkx.to_numpy_array(graph)
    found = leastcut.partition(np.maximum(A, A.T), 2, random_state=0)
    assert (record["nodes"], record["labels"]) == (list("abcd"), found.labels.tolist())
    assert record["cut_value"] == found.cut_value


# -- compare, cut, certify


def test_compare_tells_every_method(here, capsys):
    command = ["compare", "karate.edges", "-k", "2", "--effort", "fast"]
    record = json.loads(told(capsys, [*command, "--json"]).out)
    methods = [row["method"] for row in record["compared"]]
    assert methods == [*leastcut.DISCRETIZERS, "direct_cut", "partition"]
    assert all(row["cut_value"] >= record["lower_bound"] - 1e-12 for row in record["compared"])
    out = told(capsys, [*command, "-m", "kmeans", "-m", "partition", "--plot", "methods.png"]).out
    rows = [
        line.split()[0]
        for line in out.splitlines()
        if line.split()[:1] in (["kmeans"], ["partition"])
    ]
    assert sorted(rows) == ["kmeans", "partition"]
    assert (here / "methods.png").exists()
    out = told(capsys, ["compare", "iris.csv", *FLOWERS[2:], "-m", "kmeans"]).out
    assert "accuracy" in out
    assert "auto" in told(capsys, ["compare", "karate.edges", "-k", "auto"], 2).err


def test_cut_tells_the_value_of_labels_from_anywhere_and_refines_them(here, capsys):
    record = json.loads(told(capsys, [*CLUB, "--json"]).out)
    names, S = record["nodes"], club_graph(record["nodes"])
    given = (np.arange(34) % 2).tolist()
    contents = {
        "by_name.csv": "node,cluster\n"
        + "".join(f"{n},{g}\n" for n, g in list(zip(names, given, strict=True))[::-1]),
        "by_line.part": "".join(f"{g}\n" for g in given),
        "by_words.txt": "".join(f"{'even' if g == 0 else 'odd'}\n" for g in given),
    }
    for name, text in contents.items():
        (here / name).write_text(text)
        out = json.loads(told(capsys, ["cut", "karate.edges", name, "--json"]).out)
        assert out["cut_value"] == leastcut.cut_value(S, given)
        refined = leastcut.refine(S, given)
        assert out["refined"]["cut_value"] == refined.cut_value
        assert out["refined"]["n_moved"] == np.count_nonzero(refined.labels != given)
        shares = [cluster["share"] for cluster in out["clusters"]]
        assert sum(shares) == pytest.approx(out["cut_value"])
    told(capsys, ["cut", "karate.edges", "by_words.txt", "-o", "better.csv"])
    better = read_labels("better.csv", names)
    assert set(better) == {"even", "odd"}
    assert leastcut.cut_value(S, better) == refined.cut_value
    # what is refined once is refined
    assert "gains nothing" in told(capsys, ["cut", "karate.edges", "better.csv"]).out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0\n1\n", "holds 2 labels, and there are 34 nodes"),
        ("node,cluster\nm0,1\n", "has no label of"),
        ("node,cluster\nm0,1\nm0,2\n", "line 3: the name 'm0' is there already"),
        ("", "is empty"),
    ],
)
def test_labels_that_do_not_fit_are_told(here, capsys, text, words):
    (here / "labels.csv").write_text(text)
    error = told(capsys, ["cut", "karate.edges", "labels.csv"], 2).err
    assert words in error
    assert error.count("\n") == 1


def test_certify_proves_a_small_graph(here, capsys):
    (here / "small.edges").write_text("a b 2\nb c 2\na c 2\nc d 1\nd e 2\ne f 2\nd f 2\n")
    record = json.loads(told(capsys, ["certify", "small.edges", "-k", "2", "--json"]).out)
    assert record["is_proven"]
    assert record["gap"] <= 1e-7
    (here / "worse.part").write_text("0\n0\n1\n1\n1\n1\n")
    out = told(
        capsys, ["certify", "small.edges", "worse.part", "-o", "best.csv", "--cut", "ratio"]
    ).out
    assert "ratio cut 0.666667\n" in out
    assert "proven: no partition is smaller" in out
    assert read_labels("best.csv", list("abcdef")).tolist() in (
        [0, 0, 0, 1, 1, 1],
        [1, 1, 1, 0, 0, 0],
    )
    assert "LABELS" in told(capsys, ["certify", "small.edges"], 2).err


def test_info_tells_versions_and_how_to_install_what_is_missing(capsys, monkeypatch):
    found = json.loads(told(capsys, ["info", "--json"]).out)
    assert found["versions"]["leastcut"] == leastcut.__version__
    assert found["versions"]["numpy"] == np.__version__
    with (Path(__file__).parents[2] / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    assert set(PARTS) <= set(extras)
    monkeypatch.setitem(PARTS, "plot", ("pictures", ("no-such-package",)))
    out = told(capsys, ["info"]).out
    assert "missing: no-such-package" in out
    assert "pip install 'leastcut[plot]'" in out


# -- what is wrong is one line, before any work


WRONG = [
    "cluster",
    "cluster iris.csv",
    "cluster nowhere.csv -k 3",
    "cluster . -k 3",
    "cluster iris.csv -k 3",
    "cluster iris.csv -k many",
    "cluster iris.csv -k 0",
    "cluster iris.csv -k 3 --label-column nothing",
    "cluster iris.csv -k 999 --drop species",
    "cluster iris.csv -k 3 --drop species --cut round",
    "cluster iris.csv -k 3 --drop species --affinity nothing",
    "cluster iris.csv -k 3 --drop species --affinity precomputed",
    "cluster iris.csv -k auto --drop species --affinity learned",
    "cluster iris.csv -k 3 --drop species --affinity rbf --neighbors 3",
    "cluster iris.csv -k 3 --drop species --affinity rbf --metric cosine",
    "cluster iris.csv -k 3 --drop species --metric nothing",
    "cluster iris.csv -k 3 --drop species --n-anchors 20",
    "cluster iris.csv -k 3 --drop species --max-memory 4GiB",
    "cluster iris.csv -k 3 --drop species --affinity anchors --n-anchors 0",
    "cluster iris.csv -k 3 --drop species --affinity anchors --metric cosine",
    "cluster iris.csv -k 3 --drop species --affinity anchors --max-memory much",
    "cluster iris.csv -k 3 --drop species --affinity anchors --report x.html",
    "cluster iris.csv -k 3 --drop species --affinity anchors --plot x.png --picture graph",
    "cluster nowhere.npy -k 3 --affinity anchors",
    "cluster karate.edges -k 2 --affinity anchors",
    "compare iris.csv -k 3 --drop species --affinity anchors",
    "cluster iris.csv -k 3 --drop species --effort much",
    "cluster iris.csv -k 3 --drop species --neighbors 0",
    "cluster iris.csv -k 3 --drop species --seed -1",
    "cluster iris.csv -k 3 --drop species --as tree",
    "cluster iris.csv -k 3 --drop species --as graph",
    "cluster iris.csv -k 3 --drop species --format pdf",
    "cluster iris.csv -k 3 --drop species --format npy",
    "cluster iris.csv -k 3 --drop species --symmetrize mean",
    "cluster iris.csv -k 3 --drop species --superpixels 10",
    "cluster karate.edges -k 2 --standardize",
    "cluster iris.csv -k 3 --drop species --isolated maybe",
    "cluster iris.csv -k 3 --drop species --time-limit -1",
    "cluster iris.csv -k 3 --drop species -o iris.csv",
    "cluster iris.csv -k 3 --drop species -o labels.pdf",
    "cluster iris.csv -k 3 --drop species -o labels.png",
    "cluster iris.csv -k 3 --drop species -o nowhere/labels.csv",
    "cluster iris.csv -k 3 --drop species -o - --json",
    "cluster iris.csv -k 3 --drop species --plot -",
    "cluster iris.csv -k 3 --drop species --plot x.csv",
    "cluster iris.csv -k 3 --drop species --plot x.png --picture nothing",
    "cluster iris.csv -k 3 --drop species --picture sizes",
    "cluster iris.csv -k 3 --drop species --plot x.png --picture segments",
    "cluster iris.csv -k 3 --drop species --report x.png",
    "cluster iris.csv -k 3 --drop species -o x.png --plot x.png",
    "cluster karate.edges -k 2 --affinity rbf",
    "cluster karate.edges -k 2 --label-column 1",
    "cluster karate.edges -k 2 --nothing",
    "compare karate.edges",
    "compare karate.edges -k 2 -m nothing",
    "compare karate.edges -k 2 --plot iris.csv",
    "cut karate.edges",
    "cut karate.edges nowhere.csv",
    "cut karate.edges iris.csv",
    "cut - -",
    "certify karate.edges",
    "certify karate.edges -k 2 --gap 1",
    "certify karate.edges -k 2 --time-limit nan",
    "info more",
    "clust iris.csv",
]


@pytest.mark.parametrize("command", WRONG)
def test_what_is_wrong_is_one_line_and_nothing_is_written(here, capsys, command, monkeypatch):
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    out, error = told(capsys, command.split(), 2)
    assert out == ""
    assert error.startswith("leastcut: ")
    assert error.count("\n") == 1, error
    assert "should not" not in error  # which is said of errors of our own
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before


def test_outputs_are_checked_before_the_file_is_read(here, capsys):
    (here / "broken.csv").write_text("not,a\ntable\n")
    (here / "labels.csv").write_text("mine")
    error = told(capsys, ["cluster", "broken.csv", "-k", "2", "-o", "labels.csv"], 2).err
    assert "-o labels.csv is there already; say --force to overwrite it" in error
    assert (here / "labels.csv").read_text() == "mine"
    told(capsys, [*CLUB, "-o", "labels.csv", "--force"])
    assert (here / "labels.csv").read_text().startswith("node,cluster\n")


@pytest.mark.parametrize("command", [[*CLUB, "-o", "x.csv"], [*CLUB, "--plot", "x.png"]])
def test_a_write_that_fails_leaves_what_was_there_and_nothing_else(
    here, capsys, monkeypatch, command
):
    pytest.importorskip("matplotlib")
    (here / command[-1]).write_text("mine")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    error = told(capsys, [*command, "--force"], 2).err
    assert "No space left on device" in error
    assert error.count("\n") == 1
    assert (here / command[-1]).read_text() == "mine"
    assert files_in(here) == sorted([command[-1], "iris.csv", "karate.edges"])


def test_what_is_read_is_never_written_over(here, capsys):
    before = (here / "iris.csv").read_bytes()
    error = told(capsys, [*FLOWERS, "-o", "iris.csv", "--force"], 2).err
    assert "-o iris.csv is what is read" in error
    assert (here / "iris.csv").read_bytes() == before


def test_names_of_rows_need_not_differ(here, capsys):
    (here / "x.csv").write_text(
        "who,x,y\n" + "".join(f"{'ab'[i % 2]},{i // 5},{i}\n" for i in range(10))
    )
    command = ["x.csv", "--names", "who", "--neighbors", "3"]
    told(capsys, ["cluster", *command, "-k", "2", "-o", "labels.csv"])
    assert (here / "labels.csv").read_text().startswith("row,cluster\na,")
    assert "gains nothing" in told(capsys, ["cut", command[0], "labels.csv", *command[1:]]).out


def test_debug_shows_where_an_error_came_from(here, capsys):
    for command in (
        ["--debug", "cluster", "nowhere.csv", "-k", "2"],
        ["cluster", "nowhere.csv", "-k", "2", "--debug"],
    ):
        error = told(capsys, command, 2).err
        assert error.startswith("Traceback")
        assert error.splitlines()[-1].startswith("leastcut: There is no file nowhere.csv")


def test_an_error_of_our_own_is_a_line_too(here, capsys, monkeypatch):
    def broken(*_, **__):
        raise KeyError("nodes")

    monkeypatch.setattr("leastcut.io.source.Source.of", broken)
    error = told(capsys, CLUB, 2).err
    assert error.startswith("leastcut: Something went wrong that should not: KeyError: 'nodes'")
    assert error.count("\n") == 1


def test_warnings_are_a_line_each(here, capsys):
    D = np.abs(IRIS.data[:, :1] - IRIS.data[:, 0])
    np.save("distances.npy", D)
    out = told(capsys, ["cluster", "distances.npy", "-k", "2", "--as", "graph", "--effort", "fast"])
    (line,) = out.err.splitlines()
    assert line.startswith("leastcut: ")
    assert "distances" in line


def test_without_typer_there_is_one_line_with_the_command_that_installs_it(here):
    code = (
        "import sys; sys.modules['typer'] = None\n"
        "from leastcut.cli import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    for command in (CLUB, ["--help"]):
        ended = subprocess.run(
            [sys.executable, "-c", code, *command], capture_output=True, text=True
        )
        assert ended.returncode == 2
        (line,) = ended.stderr.splitlines()
        assert "need typer, which is not installed; pip install 'leastcut[cli]' brings it" in line


@pytest.mark.parametrize(
    ("option", "file", "package", "words"),
    [
        ("--plot", "x.png", "matplotlib", "Pictures need matplotlib, which is not installed; pip"),
        ("--report", "x.html", "jinja2", "Reports need jinja2, which is not installed; pip"),
    ],
)
def test_a_missing_package_is_told_before_any_work(
    here, capsys, monkeypatch, option, file, package, words
):
    monkeypatch.setitem(sys.modules, package, None)  # how Python marks what cannot be imported
    error = told(capsys, ["cluster", "nowhere.csv", "-k", "2", option, file], 2).err
    assert words in error


def test_help_loads_neither_numpy_nor_matplotlib():
    code = (
        "import sys; from leastcut.cli import main; main(['cluster', '--help']); "
        "print([name for name in ('numpy', 'scipy', 'numba', 'matplotlib', 'sklearn') "
        "if name in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("module", ["leastcut", "leastcut.cli"])
def test_it_is_a_module_to_run(module):
    command = [sys.executable, "-m", module, "--version"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout == f"leastcut {leastcut.__version__}\n"


def test_shells_can_complete_options():
    typed = {"COMP_WORDS": "leastcut cluster x --affinity ad", "COMP_CWORD": "4"}
    environment = {**os.environ, **typed, "_LEASTCUT_COMPLETE": "complete_bash"}
    command = [sys.executable, "-m", "leastcut"]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert ended.stdout.split() == ["adaptive_neighbors", "additive_chi2"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name here")
def test_ctrl_c_is_one_line_and_leaves_nothing(here):
    """The command waits for a file that never ends, and is interrupted there."""
    os.mkfifo("pipe.csv")
    command = [sys.executable, "-m", "leastcut", "cluster", "pipe.csv", "-k", "3", "-o", "x.csv"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with Path("pipe.csv").open("wb"):  # returns when the command has opened it to read
        time.sleep(0.2)
        os.kill(child.pid, signal.SIGINT)
        out, error = child.communicate(timeout=60)
    assert (child.returncode, out, error) == (130, "", "leastcut: Interrupted.\n")
    assert files_in(here) == ["iris.csv", "karate.edges", "pipe.csv"]


# -- real data


def test_digits(here, capsys):
    np.savez("digits.npz", X=load_digits().data, y=load_digits().target)
    out = told(capsys, ["cluster", "digits.npz", "-k", "10", "--effort", "fast", "--json"]).out
    record = json.loads(out)
    assert record["scores"]["nmi"] > 0.8
    assert record["kind"] == "points"
