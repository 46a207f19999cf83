"""The code on the pages runs as it stands, says what the page says, and links lead somewhere.

On a page all blocks of Python share their names, in the order in which they stand, and begin with
those of ``names``. What a block prints is compared with the block of text that follows it, if one
does; ``...`` there stands for anything. Lines of a console that begin with ``$ leastcut`` are run
in the same folder, in which ``points.csv`` lies, and compared with the lines below them, if any.
"""

from __future__ import annotations

import doctest
import io
import json
import re
import shlex
import warnings
from contextlib import redirect_stdout
from itertools import zip_longest
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from docs import from_the_source, reference
from sklearn.datasets import load_iris

import leastcut
from leastcut.cli import main

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GENERATED = ("_build", "reference", "gallery", "results")
PAGES = [
    ROOT / "README.md",
    *sorted(
        page for page in DOCS.rglob("*.md") if page.relative_to(DOCS).parts[0] not in GENERATED
    ),
]
LIBRARIES = {
    "networkx.md": ("networkx", "igraph"),
    "scanpy.md": ("scanpy",),
    "scikit_image.md": ("skimage",),
    "inputs.md": ("pandas",),
    "on_dask.md": ("dask", "distributed"),
    "large_data.md": ("dask",),
    "metis.md": ("pymetis",),
    "pictures.md": ("matplotlib",),
    "command_line.md": ("networkx", "pandas"),
    "start.md": ("matplotlib",),
}
"""What the code of a page needs beyond the package itself."""

FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ leastcut ([^\n]*)\n((?:(?!\$ )[^\n]*\n)*)", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(?:#[^)]*)?\)")

FOLDERS = "src|tests|docs|benchmarks|reproduction|examples|packaging"
PLACE = re.compile(rf"\b(?:{FOLDERS})/[\w./*-]*[\w*]/?")
"""A file or a folder of the repository, as a page or a command names it."""


def blocks_of(text: str) -> list[tuple[str, str, str | None, int]]:
    """Return kind and code of what is to be run, what each is to print, and where it begins."""
    fences = list(FENCE.finditer(text))
    found: list[tuple[str, str, str | None, int]] = []
    for fence, following in zip_longest(fences, fences[1:]):
        line = text[: fence.start()].count("\n") + 1
        if fence[1] == "python":
            adjoins = following is not None and not text[fence.end() : following.start()].strip()
            is_told = following is not None and following[1] == "text" and adjoins
            found.append(("python", fence[2], following[2] if is_told else None, line))
        elif fence[1] == "console":
            for command in COMMAND.finditer(fence[2]):
                found.append(("console", command[1], command[2] or None, line))
    return found


def run(kind: str, code: str, shared: dict[str, object], page: Path, line: int) -> None:
    """Run a block of Python, or a command."""
    if kind == "python":
        exec(compile("\n" * line + code, str(page), "exec"), shared)
    else:
        assert main(shlex.split(code)) == 0, code


def names() -> dict[str, object]:
    """Return what pages may speak of without having made it: irises, their graph and classes."""
    X, y = load_iris(return_X_y=True)
    S = leastcut.nearest_neighbors_graph(X)
    return {"leastcut": leastcut, "np": np, "X": X, "y": y, "S": S, "labels": y}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
@patch.dict(leastcut.DISCRETIZERS)  # what a page registers is forgotten after it
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    # Sources of the package are shown, not run.
    blocks = blocks_of(from_the_source.BLOCK.sub("", page.read_text(encoding="utf-8")))
    if not blocks:
        pytest.skip("no code")
    for library in LIBRARIES.get(page.name, ()):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    shared = names()
    np.savetxt("points.csv", shared["X"], delimiter=",")
    for kind, code, told, line in blocks:
        if kind == "console":
            pytest.importorskip("typer")
        printed = io.StringIO()
        with warnings.catch_warnings(), redirect_stdout(printed):
            warnings.simplefilter("ignore")
            run(kind, code, shared, page, line)
        if told is not None:
            same = doctest.OutputChecker().check_output(told, printed.getvalue(), doctest.ELLIPSIS)
            assert same, f"line {line} prints\n{printed.getvalue()}instead of\n{told}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    made = ("gallery/index", "reference/index", "../gallery/index", "../reference/index")
    for target in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        assert target in made or (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize(
    "page",
    [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "Makefile"],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_files_that_are_named_are_there(page):
    made = ("docs/_build", "docs/reference", "docs/gallery")
    for place in PLACE.findall(page.read_text(encoding="utf-8")):
        assert place.startswith(made) or list(ROOT.glob(place.rstrip("/"))), place


MEASURED = {
    "balanced": "balanced",
    "fast": "fast",
    "auto": "auto",
    "METIS": "METIS",
    "Graclus, local search": "Graclus, local search",
    "scikit-learn, k-means": "scikit-learn, kmeans",
    "scikit-learn, discretize": "scikit-learn, discretize",
    "k-means, refined": "k-means, refined",
}
"""What a row of the comparison is called on a page, or begins with, and in the results."""


def measured(head: str, families: dict[str, dict[str, dict[str, float]]]) -> list[str] | None:
    """Return the cells of a row of the comparison as they were measured, None of another row."""
    plain = re.sub(r"leastcut, |effort=|[*`\"]", "", head)
    (*_, name) = [None, *(known for words, known in MEASURED.items() if plain.startswith(words))]
    if name is None:
        return None
    cells = []
    for family in families.values():
        row = family.get(name)
        seconds = "" if not row or row["seconds"] is None else f", {row['seconds']:.2f} s"
        cells.append(f"{100 * (row['over_best'] - 1):.1f}%{seconds}" if row else "–")
    return cells


def test_the_reference_has_every_public_name_under_a_heading():
    page = reference.page()  # which raises if one is under none
    for name in (name for name in dir(leastcut) if not name.startswith("__")):
        assert re.search(rf"^ +{name}$|^``leastcut\.{name}``$", page, re.MULTILINE), name


@pytest.mark.parametrize("page", ["README.md", "docs/measured.md", "docs/choosing.md"])
def test_the_comparison_is_what_was_measured(page):
    stored = ROOT / "benchmarks" / "results" / "real_graphs.json"
    families = json.loads(stored.read_text(encoding="utf-8"))["result"]["summary"]["curves"]
    text = (ROOT / page).read_text(encoding="utf-8")
    (table,) = re.findall(r"^\| \| meshes \(6\) .*\n\|[-:|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    for line in table.splitlines():
        head, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert [cell.replace("*", "") for cell in cells] == measured(head, families), line


def test_the_methods_compared_are_those_on_record():
    pytest.importorskip("matplotlib")
    from docs import draw_methods

    page = (DOCS / "choosing.md").read_text(encoding="utf-8")
    assert draw_methods.markdown(draw_methods.rows()) in page


def test_the_tables_of_balance_are_those_on_record():
    from docs import draw_balance

    page = draw_balance.PAGE.read_text(encoding="utf-8")
    assert draw_balance.renewed(page) == page


def test_the_table_of_views_is_that_on_record():
    from docs import draw_views

    page = draw_views.PAGE.read_text(encoding="utf-8")
    assert draw_views.renewed(page) == page


def test_the_tables_of_anchor_graphs_are_those_on_record():
    from docs import draw_large_data

    page = draw_large_data.PAGE.read_text(encoding="utf-8")
    assert draw_large_data.renewed(page) == page


def test_the_tables_of_learned_graphs_are_those_on_record():
    from docs import draw_learned_graphs

    page = draw_learned_graphs.PAGE.read_text(encoding="utf-8")
    assert draw_learned_graphs.renewed(page) == page
