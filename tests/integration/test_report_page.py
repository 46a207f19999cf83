"""The report of an answer: what it says is computed, and a browser shows it on any screen."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

import leastcut
from leastcut.formatting import significant
from leastcut.plot.canvas import PALETTE, luminance
from leastcut.plot.clusters import clusters_of
from leastcut.report.figures import COLORS
from leastcut.report.page import Answer, report_html, sentences

pytest.importorskip("jinja2")

COMMAND = "leastcut cluster 'a & b.csv' -k 3 --report out.html"
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
TEMPLATES = Path(leastcut.__file__).parent / "report" / "templates"
COLOR = re.compile(r"#(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{3})\b")
TELEPHONE = 390
VOID = {"meta", "br", "hr", "img", "input", "link", "source"}


class Outline(HTMLParser):
    """The tags of a page with their attributes, all opened and closed in order."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.open = [], []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes), tuple(self.open)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes), tuple(self.open)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def answer():
    """An answer with all that there can be."""
    X, _ = make_blobs(150, centers=3, cluster_std=1.2, random_state=1)
    S = leastcut.adaptive_neighbors_graph(X, 8)
    return Answer(
        title="blobs <three>",
        graph=S,
        cut="normalized",
        found=leastcut.partition(S, 3, lower_bound=True, random_state=0),
        points=X,
        names=[f"row {i} & <i>" for i in range(150)],
        path=leastcut.cut_path(S, range(1, 8), affinity="precomputed", random_state=0),
        comparison=leastcut.compare(S, 3, methods=["kmeans", "partition"], random_state=0),
        seconds={"reading": 0.012, "graph": 0.4, "cut": 71.2},
        command=COMMAND,
        notes=["2 rows had <empty> cells."],
        picture=np.random.default_rng(0).random((20, 30, 3)),
        seed=7531,
    )


@pytest.fixture(scope="module")
def html(answer):
    return report_html(answer)


@pytest.fixture(scope="module")
def small():
    """As little as an answer may have, on a graph with names."""
    graph = nx.karate_club_graph()
    found = leastcut.partition(graph, 4, random_state=0)
    return Answer("karate", graph, "normalized", found)


def text_of(html):
    """The words of a page, without its drawings."""
    body = re.sub(r"<svg.*?</svg>|<style>.*?</style>", " ", html, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())


def cells_of(html, name):
    """The rows of a table, as texts."""
    table = re.search(rf'<table class="[^"]*\b{name}".*?</table>', html, re.DOTALL)[0]
    rows = re.findall(r"<tr>(.*?)</tr>", table.partition("<tbody>")[2], re.DOTALL)
    return [
        [text_of(cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)] for row in rows
    ]


# -- colors and numbers


def contrast(one, other):
    """The contrast of two colors as WCAG 2 defines it."""
    parts = ([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)] for color in (one, other))
    low, high = sorted(luminance(*part) for part in parts)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("screen", [0, 1], ids=["light", "dark"])
def test_text_and_lines_stand_out_from_what_is_behind_them(screen):
    color = {name: pair[screen] for name, pair in PALETTE.items()}
    for text in ("ink", "soft", "blue", "orange", "teal"):
        assert contrast(color[text], color["page"]) >= 4.5, text
    assert contrast(color["ink"], color["near"]) >= 4.5
    assert contrast(color["rule"], color["page"]) >= 3.0


def test_the_palette_is_the_only_place_with_colors():
    colors = [color for pair in PALETTE.values() for color in pair]
    assert len(colors) == len(set(colors))
    for path in TEMPLATES.iterdir():
        assert not COLOR.findall(path.read_text(encoding="utf-8")), path.name


NUMBER = r"−?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d{1,7})?(?: × 10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?"


@given(st.floats(-1e307, 1e307))
def test_a_number_of_any_size_is_short_and_near_itself(value):
    text = significant(value, 3)
    assert re.fullmatch(NUMBER, text)
    assert len(text.lstrip("−")) <= 13
    digits, _, tens = text.replace("−", "-").replace(",", "").partition(" × 10")
    exponent = tens.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")) or "0"
    # half a unit of the third digit
    assert float(f"{digits}e{exponent}") == pytest.approx(value, rel=0.00501, abs=0.0)
    assert significant(-value, 3).lstrip("−") == text.lstrip("−")


def test_every_class_of_the_page_has_rules(html):
    style = html[html.index("<style>") : html.index("</style>")]
    classes = {
        name
        for _, attributes, inside in Outline(html).tags
        if "svg" not in inside
        for name in attributes.get("class", "").split()
    }
    assert classes
    for name in classes:
        assert re.search(rf"\.{name}\b", style), name
    # and the page has every class that a rule is for
    for name in set(re.findall(r"\.([a-z]+)\b(?=[^{}]*{)", style)):
        assert name in classes, name


# -- structure


def test_the_page_is_well_formed_and_needs_nothing_else(html):
    outline = Outline(html)
    names = [tag for tag, _, _ in outline.tags]
    assert names.count("h1") == names.count("main") == names.count("nav") == 1
    assert "script" not in names
    levels = [int(name[1]) for name in names if re.fullmatch(r"h[1-6]", name)]
    assert all(after - before <= 1 for before, after in pairwise(levels))
    ids = [attributes["id"] for _, attributes, _ in outline.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes, inside in outline.tags:
        for name in ("src", "srcset", "href"):
            value = attributes.get(name, "#")
            assert value.startswith(("data:", "#")), (tag, value[:80])
        if tag == "a":
            assert attributes["href"].removeprefix("#") in ids
        if tag == "img":
            assert attributes["alt"]
            assert "figure" in inside
        if tag == "svg":
            assert attributes["role"] == "img"
            assert attributes["aria-label"]
            assert "figure" in inside
        if tag == "th":
            assert attributes["scope"] in ("row", "col")
    assert not re.search(r"url\((?!#)", html)
    assert "@import" not in html


def test_drawings_have_the_colours_of_the_page(html):
    drawings = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    assert len(drawings) == 7  # points, graph, embedding, sizes, evidence, cut values, methods
    for drawing in drawings:
        assert not COLOR.findall(drawing)
        assert set(re.findall(r"var\(--([\w-]+)\)", drawing)) <= set(COLORS)
    # What cannot change its colours is there for light and for dark screens.
    assert html.count("prefers-color-scheme: dark") == 1 + html.count("<picture>")
    assert html.count("<picture>") == 1


def test_what_users_wrote_is_shown_as_it_is(answer, html):
    text = text_of(html)
    for written in (answer.title, *answer.notes, COMMAND):
        assert written in text
    assert "<three>" not in html
    assert "<empty>" not in html
    assert "row " in cells_of(html, "clusters")[0][-1]
    assert "& <i>" in cells_of(html, "clusters")[0][-1]


def test_the_same_answer_is_the_same_page(small):
    assert report_html(small) == report_html(small)


# -- what it says


def test_the_table_of_clusters_is_computed(answer, html):
    labels, S = answer.found.labels, answer.graph
    rows = cells_of(html, "clusters")
    assert len(rows) == 3
    degrees = np.asarray(S.sum(axis=1)).reshape(-1)
    for k, row in enumerate(rows):
        own = labels == k
        boundary = float(S[own][:, ~own].sum())
        volume = float(degrees[own].sum())
        assert row[0].split()[-1] == str(k)
        assert row[1] == str(own.sum())
        shown = [float(text.replace(",", "")) for text in row[3:6]]
        assert shown == pytest.approx([volume, boundary, boundary / volume], rel=0.05, abs=6e-3)
        share = boundary / volume / answer.found.cut_value
        assert float(row[6].strip("<%")) / 100 == pytest.approx(share, abs=0.006)
        named = re.findall(r"row (\d+)", row[7])
        assert len(named) == 5
        # No other node of the cluster has a larger part of its edges inside.
        inside = np.asarray(S[:, own].sum(axis=1)).reshape(-1) - S.diagonal()
        part = inside / (degrees - S.diagonal())
        assert all(own[int(i)] for i in named)
        assert min(part[int(i)] for i in named) >= np.sort(part[own])[-5] - 1e-12


def test_names_of_the_graph_are_used_and_numbers_otherwise(small):
    named = nx.relabel_nodes(nx.karate_club_graph(), lambda i: f"member {i}")
    rows = cells_of(report_html(replace(small, graph=named)), "clusters")
    assert "member" in rows[0][-1]
    plain = leastcut.Partition(small.found.labels, small.found.cut_value)
    without = replace(small, graph=nx.to_numpy_array(nx.karate_club_graph()), found=plain)
    assert "which count from 0" in text_of(report_html(without))
    with pytest.raises(ValueError, match="each of the 34 nodes, but are 2"):
        report_html(replace(small, names=["a", "b"]))


def said_of(answer):
    """The sentences of a report, without the page around them."""
    return " ".join(sentences(answer, clusters_of(answer.found, answer.graph, answer.cut)))


def test_what_is_proven_is_said_and_no_more(small):
    value = small.found.cut_value
    said = {
        None: "How much smaller it could be was not computed.",
        value: "proven: no partition is smaller.",
        0.75 * value: "no partition is more than 25% smaller.",
    }
    for bound, sentence in said.items():
        text = said_of(replace(small, found=replace(small.found, lower_bound=bound)))
        assert sentence in text
        assert sum(other in text for other in said.values()) == 1


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        ("normalized", "of a cluster's edge weight goes to others"),
        ("ratio", "leave a cluster per node"),
        (np.arange(1.0, 35.0), "leave a cluster per unit of its weight"),
    ],
    ids=["normalized", "ratio", "given"],
)
def test_the_cut_value_is_said_in_words_of_its_cut(cut, words, small):
    text = said_of(replace(small, cut=cut))
    value = leastcut.cut_value(small.graph, small.found.labels, cut)
    assert words in text
    assert f"cut value is {value:.4g}" in text


def test_sections_are_there_for_what_there_is(answer, html, small):
    little = report_html(small)
    for name in ("number", "comparison", "notes"):
        assert f'<section id="{name}">' in html
        assert f'<section id="{name}">' not in little
        assert f'href="#{name}"' not in little
    assert answer.path.reason in text_of(html)
    rows = cells_of(html, "methods")
    assert {row[0] for row in rows} == {"partition", "kmeans"}
    values = sorted(row.cut_value for row in answer.comparison.compared)
    assert [float(row[1]) for row in rows] == pytest.approx(values, rel=1e-3)
    assert f"leastcut {leastcut.__version__}" in text_of(html)
    assert "reading 0.01 s, graph 0.40 s, cut 71.2 s" in text_of(html)
    assert "Seed 7531" in text_of(html)


def test_graphs_of_one_cluster_without_edges_and_of_many_nodes_have_a_page():
    one = Answer("one", np.ones((3, 3)), "normalized", leastcut.Partition(np.zeros(3, int), 0.0))
    assert "All 3 nodes are in 1 cluster." in text_of(report_html(one))
    empty = leastcut.Partition(np.arange(4) % 2, 0.0, 0.0)
    text = text_of(report_html(Answer("none", np.zeros((4, 4)), "ratio", empty)))
    assert "The cut value is 0: no edge joins two clusters." in text
    X, _ = make_blobs(2100, centers=32, random_state=0)
    S = leastcut.adaptive_neighbors_graph(X)
    found = leastcut.partition(S, 32, "ratio", effort="fast", random_state=0)
    many = Answer("many", S, "ratio", found, X)
    page = report_html(many)
    assert page.count("<picture>") == 3  # points, embedding, affinities
    assert len(page) < 3e6
    assert len(cells_of(page, "clusters")) == 32


# -- screens

READ = """
const pages = [...document.querySelectorAll("iframe")].map(frame => {
  const page = frame.contentDocument;
  return {
    width: frame.clientWidth, needed: page.documentElement.scrollWidth,
    dark: frame.contentWindow.matchMedia("(prefers-color-scheme: dark)").matches,
    behind: frame.contentWindow.getComputedStyle(page.body).backgroundColor,
    ink: frame.contentWindow.getComputedStyle(page.body).color,
    letters: [...page.querySelectorAll("figure svg text")].map(text =>
      parseFloat(getComputedStyle(text).fontSize) *
      Math.hypot(text.getScreenCTM().a, text.getScreenCTM().b)),
    images: [...page.querySelectorAll("img")].map(image => ({
      loaded: image.complete && image.naturalWidth > 0,
      other: image.currentSrc !== image.src,
      twice: image.parentElement.tagName === "PICTURE"})),
    outside: [...page.querySelectorAll("figure svg, figure img, table, pre, figcaption")]
      .filter(part => !part.closest(".wide") &&
        part.getBoundingClientRect().right > frame.clientWidth + 1).length,
  };
});
const out = document.createElement("pre");
out.id = "rendered";
out.textContent = JSON.stringify(pages);
document.body.append(out);
"""


def rendered(html, folder, widths, *, dark):
    """What a browser shows of a page on screens of some widths, and what it complains of."""
    frames = "".join(f'<iframe width="{width}" height="900"></iframe>' for width in widths)
    source = json.dumps(html).replace("</", "<\\/")
    code = (
        f"const source = {source}; for (const frame of document.querySelectorAll('iframe')) "
        "{ frame.contentDocument.write(source); frame.contentDocument.close(); }"
    )
    page = folder / "frames.html"
    # once all images are there
    page.write_text(
        f"<!doctype html><meta charset=utf-8><link rel=icon href='data:,'><body>{frames}"
        f"<script>{code} addEventListener('load', () => {{{READ}}})</script>",
        encoding="utf-8",
    )
    options = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--enable-logging=stderr",
        "--virtual-time-budget=3000",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        f"--user-data-dir={folder / 'profile'}",
    )
    done = subprocess.run(
        [CHROMIUM, *options, "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    text = re.search(r'<pre id="rendered">(.*?)</pre>', done.stdout, re.DOTALL)
    assert text is not None
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return json.loads(unescape(text[1])), complaints


def rgb(color):
    return f"rgb({', '.join(str(int(color[i : i + 2], 16)) for i in (1, 3, 5))})"


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine to look at the page with")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_browser_shows_the_page_on_any_screen(dark, html, tmp_path):
    pages, complaints = rendered(html, tmp_path, (TELEPHONE, 1280), dark=dark)
    assert complaints == []
    assert [page["width"] for page in pages] == [TELEPHONE, 1280]
    for page in pages:
        assert page["dark"] is dark
        assert page["behind"] == rgb(PALETTE["page"][dark])
        assert page["ink"] == rgb(PALETTE["ink"][dark])
        assert page["needed"] <= page["width"]  # the page itself never scrolls sideways
        assert page["outside"] == 0
        assert min(page["letters"]) >= 9.5
        assert max(page["letters"]) <= 20
        assert len(page["images"]) == 2
        for image in page["images"]:
            assert image["loaded"]
            assert image["other"] == (dark and image["twice"])
