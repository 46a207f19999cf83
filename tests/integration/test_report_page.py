"""The HTML report of a partition: its content, structure and rendering in a browser."""

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
from leastcut.report.page import ReportContent, report_html, sentences

pytest.importorskip("jinja2")

COMMAND = "leastcut cluster 'a & b.csv' -k 3 --report out.html"
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
TEMPLATES = Path(leastcut.__file__).parent / "report" / "templates"
COLOR = re.compile(r"#(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{3})\b")
PHONE = 390
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
def content():
    """The content of a report with every optional part."""
    X, _ = make_blobs(150, centers=3, cluster_std=1.2, random_state=1)
    S = leastcut.adaptive_neighbors_graph(X, 8)
    return ReportContent(
        title="blobs <three>",
        graph=S,
        cut="normalized",
        partition=leastcut.partition(S, 3, lower_bound=True, random_state=0),
        points=X,
        names=[f"row {i} & <i>" for i in range(150)],
        path=leastcut.cut_path(S, range(1, 8), affinity="precomputed", random_state=0),
        comparison=leastcut.compare(S, 3, methods=["kmeans", "partition"], random_state=0),
        seconds={"reading": 0.012, "graph": 0.4, "cut": 71.2},
        command=COMMAND,
        notes=["2 rows had <empty> cells."],
        image=np.random.default_rng(0).random((20, 30, 3)),
        seed=7531,
    )


@pytest.fixture(scope="module")
def html(content):
    return report_html(content)


@pytest.fixture(scope="module")
def small():
    """The content of a report without optional parts, for a graph with node names."""
    graph = nx.karate_club_graph()
    partition = leastcut.partition(graph, 4, random_state=0)
    return ReportContent("karate", graph, "normalized", partition)


def text_of(html):
    """The text of a page, without its figures."""
    body = re.sub(r"<svg.*?</svg>|<style>.*?</style>", " ", html, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())


def cells_of(html, name):
    """The rows of a table as text."""
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
def test_text_and_lines_have_enough_contrast(screen):
    color = {name: pair[screen] for name, pair in PALETTE.items()}
    for text in ("ink", "soft", "blue", "orange", "teal"):
        assert contrast(color[text], color["page"]) >= 4.5, text
    assert contrast(color["ink"], color["near"]) >= 4.5
    assert contrast(color["rule"], color["page"]) >= 3.0


def test_templates_contain_no_colors_of_their_own():
    colors = [color for pair in PALETTE.values() for color in pair]
    assert len(colors) == len(set(colors))
    for path in TEMPLATES.iterdir():
        assert not COLOR.findall(path.read_text(encoding="utf-8")), path.name


NUMBER = r"−?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d{1,7})?(?: × 10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?"


@given(st.floats(-1e307, 1e307))
def test_numbers_of_any_magnitude_are_short_and_accurate(value):
    text = significant(value, 3)
    assert re.fullmatch(NUMBER, text)
    assert len(text.lstrip("−")) <= 13
    digits, _, tens = text.replace("−", "-").replace(",", "").partition(" × 10")
    exponent = tens.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")) or "0"
    # an error of half a unit of the third digit
    assert float(f"{digits}e{exponent}") == pytest.approx(value, rel=0.00501, abs=0.0)
    assert significant(-value, 3).lstrip("−") == text.lstrip("−")


def test_classes_in_the_page_and_in_the_style_sheet_agree(html):
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
    for name in set(re.findall(r"\.([a-z]+)\b(?=[^{}]*{)", style)):
        assert name in classes, name


# -- structure


def test_the_page_is_well_formed_and_self_contained(html):
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


def test_figures_use_the_colors_of_the_page(html):
    drawings = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    assert len(drawings) == 7  # points, graph, embedding, sizes, evidence, cut values, methods
    for drawing in drawings:
        assert not COLOR.findall(drawing)
        assert set(re.findall(r"var\(--([\w-]+)\)", drawing)) <= set(COLORS)
    # an image is stored for light and for dark screens
    assert html.count("prefers-color-scheme: dark") == 1 + html.count("<picture>")
    assert html.count("<picture>") == 1


def test_text_of_users_is_escaped(content, html):
    text = text_of(html)
    for written in (content.title, *content.notes, COMMAND):
        assert written in text
    assert "<three>" not in html
    assert "<empty>" not in html
    assert "row " in cells_of(html, "clusters")[0][-1]
    assert "& <i>" in cells_of(html, "clusters")[0][-1]


def test_equal_content_gives_an_equal_page(small):
    assert report_html(small) == report_html(small)


# -- content


def test_the_table_of_clusters_is_correct(content, html):
    labels, S = content.partition.labels, content.graph
    rows = cells_of(html, "clusters")
    assert len(rows) == 3
    degrees = np.asarray(S.sum(axis=1)).reshape(-1)
    for k, row in enumerate(rows):
        members = labels == k
        boundary = float(S[members][:, ~members].sum())
        volume = float(degrees[members].sum())
        assert row[0].split()[-1] == str(k)
        assert row[1] == str(members.sum())
        shown = [float(text.replace(",", "")) for text in row[3:6]]
        assert shown == pytest.approx([volume, boundary, boundary / volume], rel=0.05, abs=6e-3)
        share = boundary / volume / content.partition.cut_value
        assert float(row[6].strip("<%")) / 100 == pytest.approx(share, abs=0.006)
        named = re.findall(r"row (\d+)", row[7])
        assert len(named) == 5
        # no other node of the cluster has a larger fraction of its edges inside
        inside = np.asarray(S[:, members].sum(axis=1)).reshape(-1) - S.diagonal()
        fraction = inside / (degrees - S.diagonal())
        assert all(members[int(i)] for i in named)
        assert min(fraction[int(i)] for i in named) >= np.sort(fraction[members])[-5] - 1e-12


def test_nodes_are_listed_by_name_or_else_by_number(small):
    named = nx.relabel_nodes(nx.karate_club_graph(), lambda i: f"member {i}")
    rows = cells_of(report_html(replace(small, graph=named)), "clusters")
    assert "member" in rows[0][-1]
    plain = leastcut.Partition(small.partition.labels, small.partition.cut_value)
    without = replace(small, graph=nx.to_numpy_array(nx.karate_club_graph()), partition=plain)
    assert "numbered from 0" in text_of(report_html(without))
    with pytest.raises(ValueError, match="names must have one entry per node: expected 34, got 2"):
        report_html(replace(small, names=["a", "b"]))


def summary(content):
    """The sentences of the summary of a report."""
    clusters = clusters_of(content.partition, content.graph, content.cut)
    return " ".join(sentences(content, clusters))


def test_the_summary_reports_the_lower_bound(small):
    value = small.partition.cut_value
    expected = {
        None: "The lower bound was not computed.",
        value: "proven: no partition is smaller.",
        0.75 * value: "no partition is more than 25% smaller.",
    }
    for bound, sentence in expected.items():
        partition = replace(small.partition, lower_bound=bound)
        text = summary(replace(small, partition=partition))
        assert sentence in text
        assert sum(other in text for other in expected.values()) == 1


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        ("normalized", "of the edge weight of a cluster leads to other clusters"),
        ("ratio", "per node"),
        (np.arange(1.0, 35.0), "per unit of node weight"),
    ],
    ids=["normalized", "ratio", "given"],
)
def test_the_summary_explains_the_cut_value(cut, words, small):
    text = summary(replace(small, cut=cut))
    value = leastcut.cut_value(small.graph, small.partition.labels, cut)
    assert words in text
    assert f"cut value is {value:.4g}" in text


def test_optional_sections_appear_with_their_content(content, html, small):
    short = report_html(small)
    for name in ("number", "comparison", "notes"):
        assert f'<section id="{name}">' in html
        assert f'<section id="{name}">' not in short
        assert f'href="#{name}"' not in short
    assert content.path.reason in text_of(html)
    rows = cells_of(html, "methods")
    assert {row[0] for row in rows} == {"partition", "kmeans"}
    values = sorted(row.cut_value for row in content.comparison.compared)
    assert [float(row[1]) for row in rows] == pytest.approx(values, rel=1e-3)
    assert f"leastcut {leastcut.__version__}" in text_of(html)
    assert "reading 0.01 s, graph 0.40 s, cut 71.2 s" in text_of(html)
    assert "Seed 7531" in text_of(html)


def test_reports_of_one_cluster_of_no_edges_and_of_many_nodes():
    one = ReportContent(
        "one", np.ones((3, 3)), "normalized", leastcut.Partition(np.zeros(3, int), 0.0)
    )
    assert "All 3 nodes are in 1 cluster." in text_of(report_html(one))
    empty = leastcut.Partition(np.arange(4) % 2, 0.0, 0.0)
    text = text_of(report_html(ReportContent("none", np.zeros((4, 4)), "ratio", empty)))
    assert "The cut value is 0: no edge joins two clusters." in text
    X, _ = make_blobs(2100, centers=32, random_state=0)
    S = leastcut.adaptive_neighbors_graph(X)
    partition = leastcut.partition(S, 32, "ratio", effort="fast", random_state=0)
    page = report_html(ReportContent("many", S, "ratio", partition, X))
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
    background: frame.contentWindow.getComputedStyle(page.body).backgroundColor,
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
    """What a browser renders on screens of the given widths, and its console messages."""
    frames = "".join(f'<iframe width="{width}" height="900"></iframe>' for width in widths)
    source = json.dumps(html).replace("</", "<\\/")
    code = (
        f"const source = {source}; for (const frame of document.querySelectorAll('iframe')) "
        "{ frame.contentDocument.write(source); frame.contentDocument.close(); }"
    )
    page = folder / "frames.html"
    # read after all images have loaded
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
    messages = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return json.loads(unescape(text[1])), messages


def rgb(color):
    return f"rgb({', '.join(str(int(color[i : i + 2], 16)) for i in (1, 3, 5))})"


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_browser_renders_the_page_on_any_screen(dark, html, tmp_path):
    pages, messages = rendered(html, tmp_path, (PHONE, 1280), dark=dark)
    assert messages == []
    assert [page["width"] for page in pages] == [PHONE, 1280]
    for page in pages:
        assert page["dark"] is dark
        assert page["background"] == rgb(PALETTE["page"][dark])
        assert page["ink"] == rgb(PALETTE["ink"][dark])
        assert page["needed"] <= page["width"]  # the page never scrolls sideways
        assert page["outside"] == 0
        assert min(page["letters"]) >= 9.5
        assert max(page["letters"]) <= 20
        assert len(page["images"]) == 2
        for image in page["images"]:
            assert image["loaded"]
            assert image["other"] == (dark and image["twice"])
