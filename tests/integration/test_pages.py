"""The code on the pages runs as pasted, prints what the page shows, and links lead somewhere.

The Python blocks of a page, in order, make one script, which a new process runs in an empty folder;
nothing is defined or imported for it. If a ``text`` block follows a Python block, it is compared
with what the Python block prints; ``...`` there matches anything. Console lines that begin with
``$ leastcut`` run between the blocks, in the same folder, and the lines below them are compared.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path

import pytest
from docs import from_the_source, reference

import leastcut

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
    "on_dask.md": ("dask", "distributed", "pyarrow"),
    "metis.md": ("pymetis",),
    "plots.md": ("matplotlib",),
    "command_line.md": ("networkx", "pandas"),
    "start.md": ("matplotlib", "pandas"),
    "constraints.md": ("networkx",),
}
"""Packages that the code of a page needs besides leastcut and its dependencies."""

FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ leastcut ([^\n]*)\n((?:(?!\$ )[^\n]*\n)*)", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(?:#[^)]*)?\)")

FOLDERS = "src|tests|docs|benchmarks|reproduction|examples|packaging"
PLACE = re.compile(rf"\b(?:{FOLDERS})/[\w./*-]*[\w*]/?")
"""A file or folder of the repository that a page or a command mentions."""

BREAK = "---- end of block ----"  # printed between the outputs of blocks


def blocks_of(text: str) -> list[tuple[str, str | None, int]]:
    """Return the code of each block or command, the output expected of it, and its line number."""
    fences = list(FENCE.finditer(text))
    blocks: list[tuple[str, str | None, int]] = []
    for fence, following in zip_longest(fences, fences[1:]):
        line = text[: fence.start()].count("\n") + 1
        if fence[1] == "python":
            adjoins = following is not None and not text[fence.end() : following.start()].strip()
            has_output = following is not None and following[1] == "text" and adjoins
            blocks.append((fence[2], following[2] if has_output else None, line))
        elif fence[1] == "console":
            for command in COMMAND.finditer(fence[2]):
                call = f"{sys.executable} -m leastcut {command[1]}"
                code = f'__import__("subprocess").run({call!r}, shell=True, check=True)\n'
                blocks.append((code, command[2] or None, line))
    return blocks


def script_of(blocks: list[tuple[str, str | None, int]]) -> str:
    """Return the blocks as a script that prints a line after each of them."""
    # Dask workers import the script, and must not print.
    end = f'if __name__ == "__main__":\n    print({BREAK!r}, flush=True)\n'
    return "".join(code + end for code, _, _ in blocks)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_of_a_page_can_be_pasted(page, tmp_path):
    # Sources of the package are shown, not run.
    blocks = blocks_of(from_the_source.BLOCK.sub("", page.read_text(encoding="utf-8")))
    if not blocks:
        pytest.skip("no code")
    for library in LIBRARIES.get(page.name, ()):
        pytest.importorskip(library)
    if any("-m leastcut" in code for code, _, _ in blocks):
        pytest.importorskip("typer")
    script = tmp_path / "page.py"
    script.write_text(script_of(blocks), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", script.name],
        cwd=tmp_path,
        env=os.environ | {"MPLBACKEND": "Agg", "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    *outputs, rest = done.stdout.split(BREAK + "\n")
    assert rest == ""
    for (_, expected, line), printed in zip(blocks, outputs, strict=True):
        if expected is not None:
            same = doctest.OutputChecker().check_output(expected, printed, doctest.ELLIPSIS)
            assert same, f"line {line} prints\n{printed}instead of\n{expected}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_targets_of_links_exist(page):
    made = ("gallery/index", "reference/index", "../gallery/index", "../reference/index")
    for target in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        assert target in made or (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize(
    "page",
    [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "Makefile"],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_mentioned_files_exist(page):
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
"""Beginnings of row names on a page, and the method of each in the record."""


def measured(head: str, families: dict[str, dict[str, dict[str, float]]]) -> list[str] | None:
    """Return the recorded cells of a row of the comparison; None for other rows."""
    plain = re.sub(r"leastcut, |effort=|[*`\"]", "", head)
    (*_, name) = [None, *(method for words, method in MEASURED.items() if plain.startswith(words))]
    if name is None:
        return None
    cells = []
    for family in families.values():
        row = family.get(name)
        seconds = "" if not row or row["seconds"] is None else f", {row['seconds']:.2f} s"
        cells.append(f"{100 * (row['over_best'] - 1):.1f}%{seconds}" if row else "–")
    return cells


def test_the_reference_has_every_public_name_under_a_heading():
    page = reference.pages()["index.rst"]  # raises if a name is under no heading
    for name in (name for name in dir(leastcut) if not name.startswith("__")):
        assert re.search(
            rf"^ +{name}$|^(?:.. py:data:: |``)leastcut\.{name}\b", page, re.MULTILINE
        ), name


@pytest.mark.parametrize("page", ["README.md", "docs/choosing.md"])
def test_the_comparison_agrees_with_the_record(page):
    stored = ROOT / "benchmarks" / "results" / "real_graphs.json"
    families = json.loads(stored.read_text(encoding="utf-8"))["result"]["summary"]["curves"]
    text = (ROOT / page).read_text(encoding="utf-8")
    (table,) = re.findall(r"^\| \| meshes \(6\) .*\n\|[-:|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    for line in table.splitlines():
        head, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert [cell.replace("*", "") for cell in cells] == measured(head, families), line


def test_the_table_of_methods_agrees_with_the_record():
    pytest.importorskip("matplotlib")
    from docs import draw_methods

    page = (DOCS / "choosing.md").read_text(encoding="utf-8")
    assert draw_methods.markdown(draw_methods.rows()) in page
