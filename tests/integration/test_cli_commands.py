"""The commands ``cluster``, ``compare``, ``cut``, ``certify`` and ``info``."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
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
from leastcut.cli.information import EXTRAS
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
"""Keys of every record of ``cluster --json``."""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working directory with iris as a table and the karate club as an edge list."""
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
    """The karate club with its nodes in the order of ``names``."""
    networkx = pytest.importorskip("networkx")
    club = networkx.karate_club_graph()
    return networkx.to_scipy_sparse_array(club, nodelist=[int(name[1:]) for name in names])


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


def run(capsys, arguments, status=0):
    """Run a command, check its exit status, and return its output."""
    assert main(arguments) == status
    return capsys.readouterr()


# -- cluster


def test_labels_equal_those_of_the_library(here, capsys):
    run(capsys, [*CLUB, "-o", "labels.csv"])
    rows = list(csv.reader((here / "labels.csv").open()))
    assert rows[0] == ["node", "cluster"]
    names = [name for name, _ in rows[1:]]
    S = club_graph(names)
    partition = leastcut.partition(S, 2, effort="fast", random_state=0)
    assert [int(cluster) for _, cluster in rows[1:]] == partition.labels.tolist()


def test_affinity_options_equal_the_functions_of_the_library(here, capsys):
    out = run(capsys, [*FLOWERS, "--affinity", "nearest_neighbors", "--neighbors", "8", "--json"])
    record = json.loads(out.out)
    S = leastcut.nearest_neighbors_graph(IRIS.data, 8)
    partition = leastcut.partition(S, 3, effort="fast", random_state=0)
    assert record["labels"] == partition.labels.tolist()
    assert record["cut_value"] == partition.cut_value
    assert record["scores"] == {
        "accuracy": leastcut.clustering_accuracy(SPECIES, partition.labels),
        "nmi": leastcut.normalized_mutual_info(SPECIES, partition.labels),
    }
    learned = json.loads(run(capsys, [*FLOWERS, "--affinity", "learned", "--json"]).out)
    S = leastcut.learned_graph(IRIS.data, 3, random_state=0).graph
    partition = leastcut.partition(S, 3, effort="fast", random_state=0)
    assert learned["labels"] == partition.labels.tolist()
    cosine = json.loads(run(capsys, [*FLOWERS, "--metric", "cosine", "--json"]).out)
    S = leastcut.adaptive_neighbors_graph(IRIS.data, metric="cosine")
    assert cosine["cut_value"] == leastcut.partition(S, 3, effort="fast", random_state=0).cut_value


@pytest.mark.parametrize("form", ["npy", "parquet", "csv"])
def test_anchor_options_equal_anchor_graph_for_every_format(here, capsys, form, monkeypatch):
    np.save("x.npy", IRIS.data)
    if form == "csv":
        np.savetxt("x.csv", IRIS.data, delimiter=",")
    elif form == "parquet":
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet

        columns = {str(i): column for i, column in enumerate(IRIS.data.T)}
        pyarrow.parquet.write_table(pa.table(columns), "x.parquet")
    if form != "csv":  # which is loaded completely
        monkeypatch.setattr("leastcut.io.read", None)
    options = ["--affinity", "anchors", "--n-anchors", "30", "--neighbors", "4"]
    command = ["cluster", f"x.{form}", "-k", "3", "--effort", "fast", *options]
    record = json.loads(run(capsys, [*command, "--max-memory", "20GiB", "--json"]).out)
    graph = leastcut.anchor_graph(IRIS.data, 30, 4, random_state=0)
    partition = leastcut.partition(graph, 3, effort="fast", random_state=0)
    assert record["labels"] == partition.labels.tolist()
    assert record["cut_value"] == partition.cut_value
    assert record["n_edges"] is None
    shown = run(capsys, command)
    assert "150 points with 4 features; graph of 30 anchors" in shown.out
    assert "--report" not in shown.out
    boundaries = graph.problem.table_of_labels(partition.labels).boundaries
    assert all(f"{boundary:.6g}" in shown.out for boundary in boundaries)


def test_anchor_graphs_have_plots_that_need_no_edges(here, capsys):
    pytest.importorskip("matplotlib")
    np.save("x.npy", IRIS.data)
    command = ["cluster", "x.npy", "-k", "3", "--effort", "fast", "--affinity", "anchors"]
    run(capsys, [*command, "--n-anchors", "30", "--plot", "x.svg", "--plot-kind", "sizes"])
    assert b"<svg" in (here / "x.svg").read_bytes()


def test_the_json_record_has_its_keys_and_correct_values(here, capsys):
    record = json.loads(run(capsys, [*CLUB, "--json"]).out)
    assert set(record) == KEYS | {"labels", "nodes"}
    S = club_graph(record["nodes"])
    assert record["cut_value"] == pytest.approx(leastcut.cut_value(S, record["labels"]))
    assert record["sizes"] == np.bincount(record["labels"]).tolist()
    assert record["lower_bound"] <= record["cut_value"]
    assert record["command"] == [*CLUB, "--json"]
    assert (record["n_nodes"], record["n_edges"], record["n_clusters"]) == (34, 78, 2)
    assert record["versions"]["leastcut"] == leastcut.__version__
    assert set(record["seconds"]) == {"read", "graph", "cut"}
    # the record has no labels if they are written to a file
    record = json.loads(run(capsys, [*CLUB, "--json", "-o", "labels.npy"]).out)
    assert set(record) == KEYS
    assert record["labels_path"] == "labels.npy"
    assert np.load("labels.npy").shape == (34,)


def test_the_number_of_clusters_can_be_selected_automatically(here, capsys):
    record = json.loads(
        run(capsys, ["cluster", "iris.csv", "-k", "auto", *FLOWERS[4:], "--json"]).out
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
        # the summary goes to standard error
        assert b"2 clusters" in error
    assert files_in(here) == ["iris.csv", "karate.edges"]


def test_cluster_prints_the_cut_the_bound_and_every_cluster(here, capsys):
    out, error = run(capsys, [*FLOWERS, "-o", "labels.csv"])
    assert error == ""
    assert "150 points with 4 features" in out
    assert "3 clusters: normalized cut 0.0277" in out
    assert "no partition is more than" in out
    assert "accuracy 0.9" in out
    assert out.endswith("Saved labels to labels.csv.\n")
    sizes = [
        int(line.split()[1])
        for line in out.splitlines()
        if line.split()[:1] in (["0"], ["1"], ["2"])
    ]
    assert sum(sizes) == 150


def test_a_terminal_shows_progress_bars_and_tables(here, capsys, monkeypatch):
    monkeypatch.setattr("leastcut.cli.outputs.is_terminal", lambda file: True)
    monkeypatch.setattr("leastcut.progress.DELAY", 0.0)
    out, error = run(capsys, CLUB)
    assert "partition:" in error
    assert "boundary/weight" in out
    assert "─────" in out
    out, error = run(capsys, ["certify", "karate.edges", "-k", "2"])
    assert "certify:" in error
    assert "proven: no partition is smaller" in out


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_plots_are_saved_in_every_format(here, capsys, suffix):
    pytest.importorskip("matplotlib")
    run(capsys, [*CLUB, "--plot", f"club.{suffix}"])
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    assert (here / f"club.{suffix}").read_bytes().startswith(start)
    assert files_in(here) == [f"club.{suffix}", "iris.csv", "karate.edges"]


def test_plots_of_every_kind(here, capsys):
    plot = pytest.importorskip("leastcut.plot")
    pytest.importorskip("matplotlib")
    kinds = [name for name, kind in plot.PLOTS.items() if kind.shows in ("path", "clusters")]
    for kind in kinds:
        run(capsys, [*CLUB, "--plot", f"{kind}.png", "--plot-kind", kind])
        assert (here / f"{kind}.png").stat().st_size > 1000


def test_the_report_describes_the_result(here, capsys):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    command = ["cluster", "iris.csv", "-k", "3", *FLOWERS[4:], "--report", "page.html"]
    run(capsys, command)
    page = (here / "page.html").read_text(encoding="utf-8")
    assert "Other methods" in page
    assert "iris.csv" in page
    assert "leastcut cluster iris.csv -k 3" in page
    assert "accuracy 0.9" in page
    assert "0.0277" in page


def test_an_image_is_cut_into_colored_segments(here, capsys):
    image = pytest.importorskip("PIL.Image")
    pixels = np.full((24, 30, 3), 30, dtype=np.uint8)
    pixels[:, 15:] = 200, 180, 40
    image.fromarray(pixels).save("photo.png")
    command = ["cluster", "photo.png", "-k", "2", "--effort", "fast"]
    run(capsys, [*command, "-o", "segments.png"])
    saved = np.asarray(image.open("segments.png"))
    assert saved.shape == (24, 30, 3)
    assert (saved[:, 2:12] != saved[:, 18:28]).any(axis=2).all()
    run(capsys, [*command, "-o", "segments.npy"])
    segments = np.load("segments.npy")
    assert segments.shape == (24, 30)
    assert len(np.unique(segments[:, :15])) == len(np.unique(segments[:, 15:])) == 1
    run(capsys, [*command, "-o", "segments.csv", "--plot", "drawn.png"])
    assert len((here / "segments.csv").read_text().splitlines()) == 24 * 30 + 1


def test_a_large_image_is_cut_by_superpixels_by_default(here, capsys):
    image = pytest.importorskip("PIL.Image")
    pytest.importorskip("skimage")
    pixels = np.full((210, 200), 30, dtype=np.uint8)
    pixels[:, 100:] = 200
    image.fromarray(pixels).save("photo.png")
    command = ["cluster", "photo.png", "-k", "2", "--effort", "fast", "--json", "-o"]
    out, error = run(capsys, [*command, "x.npy"])
    assert "--superpixels 0 uses the pixels" in error
    assert json.loads(out)["n_nodes"] < 4000
    assert np.load("x.npy").shape == (210, 200)
    out, error = run(capsys, [*command, "y.npy", "--superpixels", "100"])
    assert error == ""
    assert json.loads(out)["n_nodes"] < 200


def test_columns_are_standardized_on_request(here, capsys):
    rows = [f"{row[0]},{1000 * row[2]}" for row in IRIS.data]
    (here / "x.csv").write_text("\n".join(["short,long", *rows]))
    command = ["cluster", "x.csv", "-k", "3", "--effort", "fast", "--json"]
    error = run(capsys, command).err
    assert "standard deviation of 'long' is 1.76e+03, of 'short' 0.825" in error
    out, error = run(capsys, [*command, "--standardize"])
    assert error == ""
    X = np.array([[float(v) for v in row.split(",")] for row in rows])
    S = leastcut.adaptive_neighbors_graph((X - X.mean(axis=0)) / X.std(axis=0))
    partition = leastcut.partition(S, 3, effort="fast", random_state=0)
    assert json.loads(out)["labels"] == partition.labels.tolist()


def test_directed_graphs_and_isolated_nodes_have_options(here, capsys):
    (here / "d.edges").write_text("a b 2\nb a 1\nb c 1\nc d 3\nd a 1\n")
    error = run(capsys, ["cluster", "d.edges", "-k", "2"], 2).err
    assert "--symmetrize mean or --symmetrize max" in error
    for how in ("mean", "max"):
        record = json.loads(
            run(capsys, ["cluster", "d.edges", "-k", "2", "--symmetrize", how, "--json"]).out
        )
        A = np.array([[0, 2, 0, 0], [1, 0, 1, 0], [0, 0, 0, 3], [1, 0, 0, 0]], dtype=float)
        S = (A + A.T) / 2 if how == "mean" else np.maximum(A, A.T)
        assert record["cut_value"] == leastcut.partition(S, 2, random_state=0).cut_value
    (here / "isolated.graph").write_text("5 3\n2 3\n1 3\n1 2\n\n\n")
    error = run(capsys, ["cluster", "isolated.graph", "-k", "2"], 2).err
    assert "--isolated ignore" in error
    command = ["cluster", "isolated.graph", "-k", "2", "--isolated", "ignore", "--json"]
    assert len(json.loads(run(capsys, command).out)["labels"]) == 5


@pytest.mark.parametrize("form", ["gml", "graphml"])
def test_gml_and_graphml_keep_names_and_directions(here, capsys, form):
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph()
    graph.add_weighted_edges_from([("a", "b", 2), ("b", "a", 1), ("b", "c", 1), ("c", "d", 3)])
    getattr(networkx, f"write_{form}")(graph, f"d.{form}")
    command = ["cluster", f"d.{form}", "-k", "2"]
    assert "--symmetrize mean or --symmetrize max" in run(capsys, command, 2).err
    record = json.loads(run(capsys, [*command, "--symmetrize", "max", "--json"]).out)
    A = networkx.to_numpy_array(graph)
    partition = leastcut.partition(np.maximum(A, A.T), 2, random_state=0)
    assert (record["nodes"], record["labels"]) == (list("abcd"), partition.labels.tolist())
    assert record["cut_value"] == partition.cut_value


# -- compare, cut, certify


def test_compare_reports_every_method(here, capsys):
    command = ["compare", "karate.edges", "-k", "2", "--effort", "fast"]
    record = json.loads(run(capsys, [*command, "--json"]).out)
    methods = [row["method"] for row in record["compared"]]
    assert methods == [*leastcut.DISCRETIZERS, "direct_cut", "partition"]
    assert all(row["cut_value"] >= record["lower_bound"] - 1e-12 for row in record["compared"])
    out = run(capsys, [*command, "-m", "kmeans", "-m", "partition", "--plot", "methods.png"]).out
    rows = [
        line.split()[0]
        for line in out.splitlines()
        if line.split()[:1] in (["kmeans"], ["partition"])
    ]
    assert sorted(rows) == ["kmeans", "partition"]
    assert (here / "methods.png").exists()
    out = run(capsys, ["compare", "iris.csv", *FLOWERS[2:], "-m", "kmeans"]).out
    assert "accuracy" in out
    assert "auto" in run(capsys, ["compare", "karate.edges", "-k", "auto"], 2).err


def test_cut_evaluates_and_refines_labels(here, capsys):
    record = json.loads(run(capsys, [*CLUB, "--json"]).out)
    names, S = record["nodes"], club_graph(record["nodes"])
    labels = (np.arange(34) % 2).tolist()
    contents = {
        "by_name.csv": "node,cluster\n"
        + "".join(f"{n},{g}\n" for n, g in list(zip(names, labels, strict=True))[::-1]),
        "by_line.part": "".join(f"{g}\n" for g in labels),
        "by_words.txt": "".join(f"{'even' if g == 0 else 'odd'}\n" for g in labels),
    }
    for name, text in contents.items():
        (here / name).write_text(text)
        out = json.loads(run(capsys, ["cut", "karate.edges", name, "--json"]).out)
        assert out["cut_value"] == leastcut.cut_value(S, labels)
        refined = leastcut.refine(S, labels)
        assert out["refined"]["cut_value"] == refined.cut_value
        assert out["refined"]["n_moved"] == np.count_nonzero(refined.labels != labels)
        shares = [cluster["share"] for cluster in out["clusters"]]
        assert sum(shares) == pytest.approx(out["cut_value"])
    run(capsys, ["cut", "karate.edges", "by_words.txt", "-o", "better.csv"])
    better = read_labels("better.csv", names)
    assert set(better) == {"even", "odd"}
    assert leastcut.cut_value(S, better) == refined.cut_value
    # refining again changes nothing
    assert (
        "Refinement does not change the labels"
        in run(capsys, ["cut", "karate.edges", "better.csv"]).out
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0\n1\n", "has 2 labels, but the graph has 34 nodes"),
        ("node,cluster\nm0,1\n", "has no label for"),
        ("node,cluster\nm0,1\nm0,2\n", "line 3: the name 'm0' already occurs in line 2"),
        ("", "is empty"),
    ],
)
def test_labels_that_do_not_match_the_nodes_raise(here, capsys, text, words):
    (here / "labels.csv").write_text(text)
    error = run(capsys, ["cut", "karate.edges", "labels.csv"], 2).err
    assert words in error
    assert error.count("\n") == 1


def test_certify_proves_a_small_graph(here, capsys):
    (here / "small.edges").write_text("a b 2\nb c 2\na c 2\nc d 1\nd e 2\ne f 2\nd f 2\n")
    record = json.loads(run(capsys, ["certify", "small.edges", "-k", "2", "--json"]).out)
    assert record["is_proven"]
    assert record["gap"] <= 1e-7
    (here / "worse.part").write_text("0\n0\n1\n1\n1\n1\n")
    out = run(
        capsys, ["certify", "small.edges", "worse.part", "-o", "best.csv", "--cut", "ratio"]
    ).out
    assert "ratio cut 0.666667\n" in out
    assert "proven: no partition is smaller" in out
    assert read_labels("best.csv", list("abcdef")).tolist() in (
        [0, 0, 0, 1, 1, 1],
        [1, 1, 1, 0, 0, 0],
    )
    assert "LABELS" in run(capsys, ["certify", "small.edges"], 2).err


def packages_of(name, extras):
    """The packages of an extra, with those of the extras that it includes."""
    packages = set()
    for requirement in extras[name]:
        package, *included = re.match(r"([\w-]+)(?:\[([\w,]+)\])?", requirement).groups()
        if package != "leastcut":
            packages.add(package)
        else:
            packages.update(*(packages_of(other, extras) for other in included[0].split(",")))
    return packages


def test_info_lists_versions_and_every_extra(capsys, monkeypatch):
    facts = json.loads(run(capsys, ["info", "--json"]).out)
    assert facts["versions"]["leastcut"] == leastcut.__version__
    assert facts["versions"]["numpy"] == np.__version__
    with (Path(__file__).parents[2] / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    assert set(EXTRAS) == set(extras) - {"docs", "bench", "test"}  # for developers
    for name, (_, packages) in EXTRAS.items():
        assert set(packages) == packages_of(name, extras)
    out = run(capsys, ["info"]).out
    for name in EXTRAS:
        (line,) = (line for line in out.splitlines() if line.startswith(f"{name} "))
        assert line.endswith(f"pip install 'leastcut[{name}]'")
    monkeypatch.setitem(EXTRAS, "plot", ("plots", ("no-such-package",)))
    assert "missing no-such-package" in run(capsys, ["info"]).out


def test_info_shows_the_folder_of_the_compiled_kernels(capsys, monkeypatch):
    from leastcut import kernels

    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    facts = json.loads(run(capsys, ["info", "--json"]).out)
    assert facts["code_cache"].startswith(str(Path(kernels.__file__).parent / "__pycache__"))


# -- errors are one line, before any computation


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
    "cluster iris.csv -k 3 --drop species --affinity anchors --plot x.png --plot-kind graph",
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
    "cluster iris.csv -k 3 --drop species --plot x.png --plot-kind nothing",
    "cluster iris.csv -k 3 --drop species --plot-kind sizes",
    "cluster iris.csv -k 3 --drop species --plot x.png --plot-kind segments",
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
def test_an_error_is_one_line_and_nothing_is_written(here, capsys, command, monkeypatch):
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    out, error = run(capsys, command.split(), 2)
    assert out == ""
    assert error.startswith("leastcut: ")
    assert error.count("\n") == 1, error
    assert "Internal error" not in error
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before


def test_outputs_are_checked_before_the_file_is_read(here, capsys):
    (here / "broken.csv").write_text("not,a\ntable\n")
    (here / "labels.csv").write_text("mine")
    error = run(capsys, ["cluster", "broken.csv", "-k", "2", "-o", "labels.csv"], 2).err
    assert "-o labels.csv already exists; pass --force to overwrite it" in error
    assert (here / "labels.csv").read_text() == "mine"
    run(capsys, [*CLUB, "-o", "labels.csv", "--force"])
    assert (here / "labels.csv").read_text().startswith("node,cluster\n")


@pytest.mark.parametrize("command", [[*CLUB, "-o", "x.csv"], [*CLUB, "--plot", "x.png"]])
def test_a_failed_write_leaves_the_existing_file(here, capsys, monkeypatch, command):
    pytest.importorskip("matplotlib")
    (here / command[-1]).write_text("mine")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    error = run(capsys, [*command, "--force"], 2).err
    assert "No space left on device" in error
    assert error.count("\n") == 1
    assert (here / command[-1]).read_text() == "mine"
    assert files_in(here) == sorted([command[-1], "iris.csv", "karate.edges"])


def test_an_input_file_is_never_overwritten(here, capsys):
    before = (here / "iris.csv").read_bytes()
    error = run(capsys, [*FLOWERS, "-o", "iris.csv", "--force"], 2).err
    assert "-o iris.csv is an input file" in error
    assert (here / "iris.csv").read_bytes() == before


def test_row_names_need_not_be_unique(here, capsys):
    (here / "x.csv").write_text(
        "who,x,y\n" + "".join(f"{'ab'[i % 2]},{i // 5},{i}\n" for i in range(10))
    )
    command = ["x.csv", "--names", "who", "--neighbors", "3"]
    run(capsys, ["cluster", *command, "-k", "2", "-o", "labels.csv"])
    assert (here / "labels.csv").read_text().startswith("row,cluster\na,")
    assert (
        "Refinement does not change the labels"
        in run(capsys, ["cut", command[0], "labels.csv", *command[1:]]).out
    )


def test_debug_shows_the_traceback(here, capsys):
    for command in (
        ["--debug", "cluster", "nowhere.csv", "-k", "2"],
        ["cluster", "nowhere.csv", "-k", "2", "--debug"],
    ):
        error = run(capsys, command, 2).err
        assert error.startswith("Traceback")
        assert error.splitlines()[-1].startswith("leastcut: There is no file nowhere.csv")


def test_an_internal_error_is_one_line(here, capsys, monkeypatch):
    def broken(*_, **__):
        raise KeyError("nodes")

    monkeypatch.setattr("leastcut.io.source.Source.of", broken)
    error = run(capsys, CLUB, 2).err
    assert error.startswith("leastcut: Internal error: KeyError: 'nodes'")
    assert error.count("\n") == 1


def test_a_warning_is_one_line(here, capsys):
    D = np.abs(IRIS.data[:, :1] - IRIS.data[:, 0])
    np.save("distances.npy", D)
    out = run(capsys, ["cluster", "distances.npy", "-k", "2", "--as", "graph", "--effort", "fast"])
    (line,) = out.err.splitlines()
    assert line.startswith("leastcut: ")
    assert "distances" in line


def test_without_typer_the_error_names_the_install_command(here):
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
        assert "need typer, which is not installed; pip install 'leastcut[cli]' installs it" in line


@pytest.mark.parametrize(
    ("option", "file", "package", "words"),
    [
        ("--plot", "x.png", "matplotlib", "Plots need matplotlib, which is not installed; pip"),
        ("--report", "x.html", "jinja2", "Reports need jinja2, which is not installed; pip"),
    ],
)
def test_a_missing_package_raises_before_any_computation(
    here, capsys, monkeypatch, option, file, package, words
):
    monkeypatch.setitem(sys.modules, package, None)  # makes its import fail
    error = run(capsys, ["cluster", "nowhere.csv", "-k", "2", option, file], 2).err
    assert words in error


def test_help_imports_neither_numpy_nor_matplotlib():
    code = (
        "import sys; from leastcut.cli import main; main(['cluster', '--help']); "
        "print([name for name in ('numpy', 'scipy', 'numba', 'matplotlib', 'sklearn') "
        "if name in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("module", ["leastcut", "leastcut.cli"])
def test_the_module_can_be_run(module):
    command = [sys.executable, "-m", module, "--version"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout == f"leastcut {leastcut.__version__}\n"


def test_shells_complete_options():
    typed = {"COMP_WORDS": "leastcut cluster x --affinity ad", "COMP_CWORD": "4"}
    environment = {**os.environ, **typed, "_LEASTCUT_COMPLETE": "complete_bash"}
    command = [sys.executable, "-m", "leastcut"]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert ended.stdout.split() == ["adaptive_neighbors", "additive_chi2"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_ctrl_c_prints_one_line_and_leaves_no_file(here):
    """Interrupt a command that waits for a file that never ends."""
    os.mkfifo("pipe.csv")
    command = [sys.executable, "-m", "leastcut", "cluster", "pipe.csv", "-k", "3", "-o", "x.csv"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with Path("pipe.csv").open("wb"):  # returns when the command has opened it for reading
        time.sleep(0.2)
        os.kill(child.pid, signal.SIGINT)
        out, error = child.communicate(timeout=60)
    assert (child.returncode, out, error) == (130, "", "leastcut: Interrupted.\n")
    assert files_in(here) == ["iris.csv", "karate.edges", "pipe.csv"]


# -- real data


def test_digits(here, capsys):
    np.savez("digits.npz", X=load_digits().data, y=load_digits().target)
    out = run(capsys, ["cluster", "digits.npz", "-k", "10", "--effort", "fast", "--json"]).out
    record = json.loads(out)
    assert record["scores"]["nmi"] > 0.8
    assert record["kind"] == "points"
