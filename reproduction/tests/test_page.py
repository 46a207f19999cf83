"""The pages: distinct colors, readable text, and a layout for screens of any width."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduction.data import printed
from reproduction.report.contents import contents
from reproduction.report.drawing import PALETTE, inline_panels, save
from reproduction.report.figures import FIGURES
from reproduction.report.formats import MARKS, escaped, number_text
from reproduction.report.pages import write_html, write_markdown
from reproduction.tests.helpers import ROOT, as_printed, measured_on_wine

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
TEMPLATES = ROOT / "reproduction" / "report" / "templates"
COLOR = re.compile(r"#(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{3})\b")
PHONE = 390


@pytest.fixture(scope="module")
def records():
    return as_printed(1.03) + measured_on_wine()


@pytest.fixture(scope="module")
def content(records):
    return contents(records)


@pytest.fixture(scope="module")
def html(records, content, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_html(records, path, content)
    return path.read_text(encoding="utf-8")


# -- colors


def luminance(color):
    """Return the luminance of a color #rrggbb as defined by WCAG 2."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_and_lines_contrast_with_their_backgrounds(scheme):
    color = {name: pair[scheme] for name, pair in PALETTE.items()}
    for text in ("ink", "soft", "blue", "orange", "teal"):
        assert contrast(color[text], color["page"]) >= 4.5, text
    for background in MARKS:
        for text in ("ink", "soft"):
            assert contrast(color[text], color[background]) >= 4.5, (text, background)
    assert contrast(color["rule"], color["page"]) >= 3.0


def test_the_palette_is_the_only_place_with_colors(records, tmp_path):
    colors = [color for pair in PALETTE.values() for color in pair]
    assert len(colors) == len(set(colors))
    for path in TEMPLATES.iterdir():
        assert not COLOR.findall(path.read_text(encoding="utf-8")), path.name
    light = {light for light, _ in PALETTE.values()}
    for figure in FIGURES.values():
        (path,) = (path for path in save(figure, records, tmp_path) if path.suffix == ".svg")
        svg = path.read_text(encoding="utf-8")
        assert set(COLOR.findall(svg)) <= light
        # a file has its own background, for pages of any color
        assert f"fill: {PALETTE['page'][0]}" in re.search(r"<path[^>]*>", svg)[0]
        for inline in inline_panels(figure, records):
            assert not COLOR.findall(inline)
            assert set(re.findall(r"var\(--(\w+)\)", inline)) <= set(PALETTE)


# -- structure


VOID = {"meta", "br", "hr", "img", "input", "link", "source"}


class Outline(HTMLParser):
    """The tags of a page with their attributes and the tags around them."""

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


def test_the_page_is_well_formed_and_accessible(html):
    outline = Outline(html)
    names = [tag for tag, _, _ in outline.tags]
    assert names.count("h1") == names.count("main") == names.count("nav") == 1
    levels = [int(name[1]) for name in names if re.fullmatch(r"h[1-6]", name)]
    assert all(after - before <= 1 for before, after in pairwise(levels))
    for tag, attributes, inside in outline.tags:
        if tag == "th":
            assert attributes["scope"] in ("row", "col")
        if tag == "svg":
            assert (attributes["role"], bool(attributes["aria-label"])) == ("img", True)
            assert "figure" in inside
        if attributes.get("role") == "region":
            assert attributes["aria-label"]
            assert attributes["tabindex"] == "0"
    assert "script" not in names
    ids = [attributes["id"] for _, attributes, _ in outline.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {attributes["href"] for tag, attributes, _ in outline.tags if tag == "a"}
    assert {link.removeprefix("#") for link in links} <= set(ids)


def test_every_flaw_is_described_once_on_both_pages_and_linked_elsewhere(
    records, content, html, tmp_path
):
    page = tmp_path / "page.md"
    write_markdown(records, page, tmp_path, content)
    markdown = page.read_text(encoding="utf-8")
    text = re.sub(r"<[^>]*>", "", html)
    plain = text.replace("&#39;", "'").replace("&lt;", "<").replace("&gt;", ">")
    plain = plain.replace("&#34;", '"').replace("&amp;", "&")
    flaws = [flaw for item in content.items for flaw in item.flaws]
    assert flaws
    for flaw in flaws:
        assert plain.count(flaw.text) == 1
        assert all(plain.count(cell) == 1 for cell in flaw.cells)
        assert markdown.count(escaped(flaw.text)) == 1
        assert html.count(f'data-flaw="{flaw.name}"') == 1
    for item in content.items:
        for flaw in item.see:
            assert flaw in flaws
            link = f"#flaw-{flaw.name.replace(' ', '-')}"
            section = html[html.index(f'<section id="{item.content.name}">') :]
            assert f'href="{link}"' in section[: section.index("</section>")]
            assert f"]({link})" in markdown


def test_the_first_screen_has_the_summary_and_every_tally(content, html):
    start = html[html.index('<section id="summary">') :]
    summary = start[: start.index("</section>")]
    assert len(re.findall(r"<li>", summary[: summary.index("</ol>")])) == len(content.summary)
    cells = re.findall(r"<td><b>(\d+)</b> of (\d+)", summary)
    expected = [(str(tally.same + tally.near), str(tally.of)) for tally in content.tallies]
    assert sorted(cells) == sorted(expected)


def test_every_difference_is_on_the_page_under_its_reason(content, html):
    assert html.count("<details>") == len(content.reasons)
    lists = re.findall(r"<details>.*?</details>", html, re.DOTALL)
    assert [part.count('<th scope="row">') for part in lists] == [
        len(reason.places) for reason in content.reasons
    ]


# -- numbers


NUMBER = r"−?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d{1,6})?(?: × 10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?%?"


def test_every_number_in_a_table_has_one_of_the_formats(html):
    cells = re.findall(r"<table class=\"values\".*?</table>", html, re.DOTALL)
    texts = re.findall(r"<(?:b|span)>([^<]*)</", " ".join(re.findall(r"<td.*?</td>", str(cells))))
    assert len(texts) > 500
    for text in texts:
        for word in text.replace(" × ", "×").split():
            assert re.fullmatch(rf"{NUMBER.replace(' × ', '×')}|–|[a-z]+", word), text


def test_cells_show_the_range_over_the_seeds(html):
    ranges = re.findall(r'<small class="seeds">([^<]*)</small>', html)
    assert ranges
    for text in ranges:
        assert re.fullmatch(rf"{NUMBER}–{NUMBER}", text), text
    assert 'title="' not in html  # no information is in tooltips only


@given(st.floats(-1e307, 1e307))
def test_the_text_of_a_number_is_short_and_accurate(value):
    text = number_text(value)
    assert re.fullmatch(NUMBER, text)
    assert len(text.lstrip("−")) <= 13
    digits, _, tens = text.replace("−", "-").replace(",", "").partition(" × 10")
    exponent = tens.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")) or "0"
    # half a unit of the third digit, or of the third decimal
    assert float(f"{digits}e{exponent}") == pytest.approx(value, rel=0.00501, abs=0.000501)
    assert number_text(-value).lstrip("−") == text.lstrip("−")


# -- screens


def test_only_scrolling_parts_are_wider_than_a_phone(html):
    style = html[html.index("<style>") : html.index("</style>")]
    for size, unit in re.findall(r"(?:^|[\s;{])(?:min-)?width:\s*([\d.]+)(px|rem|pt)", style):
        assert float(size) * {"px": 1, "rem": 16, "pt": 4 / 3}[unit] <= PHONE
    for tag, attributes, inside in Outline(html).tags:
        assert "width" not in attributes or tag not in ("table", "td", "th", "svg", "div", "img")
        if tag == "table" and "values" in attributes.get("class", ""):
            assert inside[-1] == "div"


READ = """
const pages = [...document.querySelectorAll("iframe")].map(frame => {
  const page = frame.contentDocument;
  const shown = element => getComputedStyle(element).backgroundColor;
  return {
    width: frame.clientWidth, needed: page.documentElement.scrollWidth,
    tables: [...page.querySelectorAll("table.values")].map(table => ({
      name: table.dataset.table, section: table.dataset.section,
      visible: table.getBoundingClientRect().width > 100,
      rows: [...table.rows].map(row => [...row.cells].map(cell => cell.innerText)),
      colors: [...table.querySelectorAll("td.same")].map(shown)})),
    letters: [...page.querySelectorAll("figure svg text")].map(text =>
      parseFloat(getComputedStyle(text).fontSize) *
      Math.hypot(text.getScreenCTM().a, text.getScreenCTM().b)),
    outside: [...page.querySelectorAll("figure svg")].filter(svg =>
      svg.getBoundingClientRect().right > frame.clientWidth).length,
  };
});
const out = document.createElement("pre");
out.id = "rendered";
out.textContent = JSON.stringify(pages);
document.body.append(out);
"""


def rendered(html, folder, widths):
    """Return what a browser shows of a page on screens of some widths."""
    frames = "".join(f'<iframe width="{width}" height="900"></iframe>' for width in widths)
    # written by a script, as scripts cannot read frames that are loaded from files
    source = json.dumps(html).replace("</", "<\\/")
    code = (
        f"const source = {source}; for (const frame of document.querySelectorAll('iframe')) "
        "{ frame.contentDocument.write(source); frame.contentDocument.close(); }"
    )
    page = folder / "frames.html"
    page.write_text(
        f"<!doctype html><meta charset=utf-8><body>{frames}<script>{code}{READ}</script>",
        encoding="utf-8",
    )
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking")
    shown = subprocess.run(
        [CHROMIUM, *options, f"--user-data-dir={folder / 'profile'}", "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    text = re.search(r'<pre id="rendered">(.*?)</pre>', shown, re.DOTALL)
    assert text is not None
    return json.loads(text[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_a_browser_shows_the_page_on_screens_of_any_width(tmp_path):
    path = tmp_path / "report.html"
    write_html(as_printed() + measured_on_wine(), path)
    pages = rendered(path.read_text(encoding="utf-8"), tmp_path, (PHONE, 820, 1440))
    for page in pages:
        assert page["needed"] <= page["width"]  # the page itself never scrolls sideways
        assert min(page["letters"]) >= 9.5
        assert max(page["letters"]) <= 20
        assert page["outside"] == 0
        assert all(table["visible"] for table in page["tables"])
    light = PALETTE["same"][0]
    same = f"rgb({', '.join(str(int(light[i : i + 2], 16)) for i in (1, 3, 5))})"
    tables = {(table["name"], table["section"]): table for table in pages[-1]["tables"]}
    for name in ("tiny", "objective", "accuracy", "nmi"):
        for cut, title in printed.CUT_TITLES.items():
            table = tables[name, title]
            head, *rows = table["rows"]
            for row in rows:
                for column, text in zip(head[1:], row[1:], strict=True):
                    key = "Ours" if column == "first order" else column
                    expected = printed.tables()["tiny_objective" if name == "tiny" else name]
                    number = expected.get(row[0], {}).get(cut, {}).get(key)
                    if number is not None:
                        # the last line: a sign, the printed value, and the change if above 2%
                        sign, paper = text.split("\n")[-1].split()[:2]
                        assert sign in MARKS.values()
                        assert paper == f"{number:.4f}", (name, cut, row[0], column)
            assert set(table["colors"]) == {same}


def test_the_page_on_the_paper_states_the_counts_of_the_results():
    results, about = ((ROOT / "docs" / name).read_text() for name in ("results.md", "paper.md"))
    agree = r"Of the (\d+) values in .*?(\d+) agree .*?and (\d+) more"
    rest = r"other (\d+).*?ours (?:being|are) better in (\d+)"
    for pattern in (agree, rest):
        first, second = (re.search(pattern, text.replace("\n", " ")) for text in (results, about))
        assert first.groups() == second.groups()
