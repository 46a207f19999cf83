"""Reprs, HTML of notebooks, and public names."""

from __future__ import annotations

import builtins
import importlib
import inspect
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec

import numpy as np
import pytest
from conftest import either, graphs, points_graph
from hypothesis import given
from hypothesis import strategies as st
from imports import PUBLIC
from sklearn.datasets import make_blobs

import leastcut
from leastcut.formatting import LONGEST, PROVEN, gap_in_words, one_line, shown
from leastcut.graph import as_graph
from leastcut.problem import as_problem
from leastcut.report import notebook
from leastcut.results import Columns

X, _ = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9], [9, 9]], random_state=0)
S = points_graph(300)


def objects() -> dict[str, object]:
    """Return an object of every public class."""
    proofs, searches, passes, steps = [], [], [], []
    path = leastcut.cut_path(X, range(1, 31), effort="fast", random_state=0, callback=steps.append)
    fitted = leastcut.SpectralClustering("auto", random_state=0).fit(X)
    options = {"n_anchors": 30, "effort": "fast", "random_state": 0}
    anchored = leastcut.AnchorSpectralClustering("auto", **options).fit(X)
    relaxation = leastcut.relax(S, 25, random_state=0)
    result = leastcut.partition(S, 5, effort="fast", callback=passes.append, random_state=0)
    leastcut.nearest_neighbors_graph(X, callback=searches.append)
    leastcut.certify(S, result.labels, time_limit=0.1, callback=proofs.append, random_state=0)
    weights = np.linspace(1, 2, 300)
    compared = leastcut.compare(S, 3, methods=["cluster_qr", "partition"], random_state=0)
    return {
        "partition": result,
        "without a bound": leastcut.refine(S, result.labels),
        "of views": leastcut.partition_views([S] * 9, 5, effort="fast", random_state=0),
        "many clusters": leastcut.partition(S, 60, effort="fast", random_state=0),
        "exact": leastcut.partition(np.ones((4, 4)), 2),
        "by hand": leastcut.Partition(np.array(["a", "b", "a"]), 0.5),
        "path": path,
        "choice": path.choice,
        "source": path.source,
        "table": path.table(),
        "fitted path": fitted.cut_path_,
        "fitted source": fitted.cut_path_.source,
        "anchor graph": anchored.affinity_matrix_,
        "learned graph": leastcut.learned_graph(X, 3),
        "path of anchors": anchored.cut_path_,
        "source of anchors": anchored.cut_path_.source,
        "relaxation": relaxation,
        "discretization": leastcut.discretize(relaxation.leading(5), graph=S, random_state=0),
        "graph": as_graph(S),
        "comparison": compared,
        "compared": compared.compared[0],
        "image graph": leastcut.image_graph(np.eye(12)),
        "problem": as_problem(S, weights),
        "progress": passes[-1],
        "progress of a path": steps[-1],
        "proof": proofs[-1],
        "neighbors": searches[-1],
        **{
            f"{registry}[{name!r}]": member
            for registry in ("AFFINITIES", "CUTS", "DISCRETIZERS", "EFFORTS", "EIGENSOLVERS")
            for name, member in getattr(leastcut, registry).items()
        },
    }


OBJECTS = objects()
SHOWN = [name for name, one in OBJECTS.items() if hasattr(one, "_repr_html_")]


@pytest.mark.parametrize("name", OBJECTS)
def test_a_repr_is_one_short_line_without_arrays(name):
    text = repr(OBJECTS[name])
    assert "\n" not in text
    assert len(text) <= LONGEST
    assert "array(" not in text
    assert type(OBJECTS[name]).__name__ in text


def test_every_public_result_class_is_covered():
    seen = {type(one).__name__ for one in OBJECTS.values()}
    classes = {name for name in PUBLIC if inspect.isclass(getattr(leastcut, name))}
    assert {name for name in classes if not name.endswith("SpectralClustering")} <= seen


def test_reprs_contain_the_main_values():
    result = leastcut.Partition(np.array([0, 0, 1, 1]), cut_value=1.0, lower_bound=0.75)
    assert repr(result) == (
        "Partition(n_nodes=4, n_clusters=2, cut_value=1.0, lower_bound=0.75, gap=0.25)"
    )
    assert repr(leastcut.Progress("fast", 1 / 3, 0.1234567, 2.0)) == (
        "Progress(stage='fast', fraction=0.3333, cut_value=0.1235, seconds=2.0)"
    )
    path = OBJECTS["path"]
    assert repr(path) == f"CutPath(n_clusters=[1, 2, 3, ..., 30], best={path.best})"


@given(st.floats(), st.text(max_size=300), st.integers(0, 10**40))
def test_lines_are_short_for_any_contents(number, text, count):
    line = one_line(text, number, text, count=count, values=[number] * 50, inside={text: text})
    assert len(line) <= LONGEST
    assert "\n" not in line
    if np.isfinite(number):
        assert float(shown(number)) == pytest.approx(number, rel=1e-3)


def test_a_table_prints_aligned_and_converts_to_pandas():
    pandas = pytest.importorskip("pandas")
    table = OBJECTS["table"]
    assert isinstance(table, dict)
    assert repr(table).startswith("Columns(30 rows of n_clusters, evidence")
    assert len(str(table).splitlines()) == 31
    frame = pandas.DataFrame(table)
    np.testing.assert_array_equal(frame["n_clusters"], np.arange(1, 31))
    assert str(Columns()) == ""


def test_the_repr_of_a_fitted_path_computes_nothing():
    path = leastcut.SpectralClustering("auto", random_state=0).fit(X).cut_path_
    before = dict(vars(path.source))
    assert str(path.best) in repr(path) + repr(path.source) + path._repr_html_()
    assert vars(path.source) == before
    assert "cut value" not in path._repr_html_()
    assert path.cut_values.size == 20
    assert "cut value" in path._repr_html_()


# -- notebooks


class PageParser(HTMLParser):
    """Records the open tags, all tags and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open, self.text, self.tags = [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.parametrize("name", SHOWN)
def test_html_is_small_complete_and_self_contained(name):
    page = OBJECTS[name]._repr_html_()
    read = PageParser(page)
    assert read.open == []
    assert len(page) < 60_000
    tags = {tag for tag, _ in read.tags}
    assert tags <= {"div", "b", "table", "thead", "tbody", "tr", "th", "td"}
    for _, attributes in read.tags:
        assert set(attributes) <= {"style", "scope"}
        assert "url(" not in attributes.get("style", "")
    # The text inherits its color from the page.
    colors = {
        value
        for _, attributes in read.tags
        for name, _, value in (
            rule.partition(":") for rule in attributes.get("style", "").split(";")
        )
        if name == "color"
    }
    assert colors <= {"inherit"}


def test_classes_with_html():
    assert {"partition", "path", "relaxation"} <= set(SHOWN)


def test_html_shows_value_bound_gap_and_sizes():
    result = OBJECTS["partition"]
    text = PageParser(result._repr_html_()).text
    assert f"{result.cut_value:.4g}" in text
    assert f"{result.lower_bound:.4g}" in text
    assert gap_in_words(result.gap) in text
    for size in np.bincount(result.labels):
        assert str(size) in text


def test_html_of_many_clusters_counts_every_node():
    result = OBJECTS["many clusters"]
    read = PageParser(result._repr_html_())
    sizes = sorted(np.bincount(result.labels), reverse=True)
    assert f"and 40 smaller, with {sum(sizes[20:])} nodes in total" in read.text


def test_html_of_a_path_marks_the_choice_and_its_reason():
    path = OBJECTS["path"]
    read = PageParser(path._repr_html_())
    assert read.text.count("◀ chosen") == 1
    assert path.reason in read.text
    assert "rows" not in " ".join(read.text)


def test_html_of_a_long_path_shows_the_rows_around_its_choice(monkeypatch):
    monkeypatch.setattr(notebook, "MOST_ROWS", 10)
    text = PageParser(OBJECTS["path"]._repr_html_()).text
    assert "10 of 30 rows; path.table() has all of them." in text
    assert "◀ chosen" in text


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", 'a"&b', "日本"])
def test_names_of_users_are_escaped(name):
    page = leastcut.Partition(np.array([name, "b"]), 0.5)._repr_html_()
    assert "<script" not in page
    assert name in PageParser(page).text


@given(st.one_of(st.floats(1e-12, 2e-7), st.floats(1e-7, 1.0)))
def test_a_gap_in_words_is_rounded_up(gap):
    text = gap_in_words(gap)
    if not either(gap > PROVEN, "a gap", "rounding"):
        assert text == "proven: no partition is smaller"
        return
    percent = float(text.removeprefix("no partition is more than ").removesuffix("% smaller"))
    assert gap * (1 - 1e-12) <= percent / 100 <= gap * 1.011


def test_gaps_of_none_and_zero():
    assert gap_in_words(0.0) == "proven: no partition is smaller"
    assert "lower_bound=True" in gap_in_words(None)
    assert "wrong" in gap_in_words(-0.5)


@given(graphs(max_nodes=8, connected=True), st.integers(1, 8))
def test_any_partition_can_be_shown(graph, n_clusters):
    result = leastcut.partition(graph, min(n_clusters, len(graph)), random_state=0)
    assert len(repr(result)) <= LONGEST
    assert PageParser(result._repr_html_()).open == []


# -- the names of the package


def test_dir_lists_public_names_and_module_attributes():
    leastcut.SpectralClustering(2, random_state=0).fit(X[:50])
    importlib.import_module("leastcut.threads")
    names = [name for name in dir(leastcut) if not name.startswith("__")]
    assert set(names) == PUBLIC
    dunders = set(dir(leastcut)) - PUBLIC
    assert {"__version__", "__doc__", "__name__", "__file__", "__path__", "__all__"} <= dunders
    assert all(name.startswith("__") and name.endswith("__") for name in dunders)


def test_a_star_import_shadows_nothing():
    taken = {*sys.stdlib_module_names, *dir(builtins)}
    assert not taken & set(leastcut.__all__)
    # Names that would shadow others are omitted, and available as attributes.
    left_out = PUBLIC - set(leastcut.__all__)
    assert left_out <= taken | {"scanpy", "dask"}
    assert "operator" in left_out
    assert leastcut.operator.__module__ == "leastcut.problem"
    # Modules do not shadow installed packages.
    modules = {name for name in leastcut.__all__ if inspect.ismodule(getattr(leastcut, name))}
    assert not [name for name in modules if find_spec(name) is not None]


def test_a_star_import_does_not_change_the_standard_library():
    code = (
        "import sys, builtins, operator, types\n"
        "before = dict(globals())\n"
        "from leastcut import *\n"
        "print([name for name in before if globals()[name] is not before[name]], partition)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("[] <function partition")


def test_the_html_module_is_loaded_on_demand():
    code = (
        "import sys, leastcut; leastcut.Partition; print('leastcut.report.notebook' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
