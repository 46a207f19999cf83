"""Tables hold what the records say, and the report shows it in a real browser."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess

import pytest

from firstcut.paper import printed
from firstcut.paper.entries import Entry
from firstcut.paper.experiments import EXPERIMENTS, METHODS, OPTIMUM, RELAXED, Scope, cells
from firstcut.paper.findings import checks, differences
from firstcut.paper.flaws import FLAWS
from firstcut.paper.records import Store
from firstcut.paper.rendering import FORMATS
from firstcut.paper.report import ORDER, verdict, write_html
from firstcut.paper.runs import run
from firstcut.paper.tables import TABLES

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A small run of every experiment on WINE."""
    store = Store(tmp_path_factory.mktemp("records"))
    scope = Scope(("wine",), n_seeds=2, n_batches=1, batch=5)
    summary = run(cells(EXPERIMENTS, scope), store, progress=False)
    assert not summary.failed
    return list(store)


def as_printed(factor=1.0):
    """Records in which every number of ours is the paper's times a factor."""
    records = []
    for table, experiment, bound in (
        ("tiny", "tiny", OPTIMUM),
        ("objective", "objective", RELAXED),
    ):
        names = (
            [f"usps:{n}" for n in range(11, 16)] if table == "tiny" else printed.dataset_labels()
        )
        for name in names:
            for cut in printed.CUT_TITLES:
                for column in (bound, *METHODS):
                    value = printed.value(table, name, cut, column.printed or "")
                    if value is None:
                        continue
                    record = {
                        "experiment": experiment,
                        "dataset": name,
                        "cut": cut,
                        "method": column.method,
                        "parameters": dict(column.parameters),
                        "seed": 0,
                        "value": value * (1.0 if column is bound else factor),
                    }
                    for field in ("accuracy", "nmi"):
                        record[field] = printed.value(field, name, cut, column.printed) or 0.5
                    records.append(record)
    return records


def test_where_everything_is_as_printed_nothing_differs():
    records = as_printed()
    assert differences(records) == []
    found = {check.text: (check.met, check.of) for check in checks(records)}
    assert found["OPT_r is the paper's to the digits it prints"] == (22, 22)
    assert found["The enumerated optima of the tiny table are the paper's"] == (10, 10)
    assert all(check.holds for check in checks(records))


def test_every_difference_over_two_percent_is_listed_with_a_reason():
    records = as_printed(1.03)
    values = [d for d in differences(records) if d.table in ("tiny", "objective")]
    count = sum(
        printed.value(table, name, cut, column.printed) * 0.03 >= 1e-4
        for table, names in (
            ("tiny", [f"usps:{n}" for n in range(11, 16)]),
            ("objective", printed.dataset_labels()),
        )
        for name in names
        for cut in printed.CUT_TITLES
        for column in METHODS
        if printed.value(table, name, cut, column.printed or "") is not None
    )
    assert len(values) == count
    for difference in values:
        assert difference.relative == pytest.approx(0.03)
        assert difference.reason


@pytest.mark.parametrize(
    ("ours", "paper", "expected"),
    [
        (0.09707, 0.0970, "same"),  # cut off
        (0.09707, 0.0971, "same"),  # rounded
        (0.0980, 0.0971, "near"),
        (0.0900, 0.0971, "better"),
        (0.1100, 0.0971, "worse"),
        (0.0900, None, ""),
    ],
)
def test_a_cell_is_coloured_by_its_difference(ours, paper, expected):
    assert verdict(Entry((ours,), paper), larger_is_better=False) == expected
    swapped = {"better": "worse", "worse": "better"}.get(expected, expected)
    assert verdict(Entry((ours,), paper), larger_is_better=True) == swapped


def test_the_median_over_the_seeds_is_shown():
    assert Entry((3.0, 1.0, 2.0)).value == 2.0
    assert Entry().value is None


def test_tables_show_what_the_records_say(measured):
    table = TABLES["objective"](measured)
    section = table.sections[0]
    (label, row), *_ = section.rows
    assert label == "WINE"
    found = dict(zip(section.heads, row, strict=True))
    assert found["OPT_r"].agrees
    assert found["KM"].paper == 0.0154
    assert len(found["KM"].ours) == 2
    assert found["partition"].paper is None
    assert found["partition"].value <= min(
        entry.value for head, entry in found.items() if head != "OPT_r"
    )


@pytest.mark.parametrize("name", [name for name in TABLES if name != "tiny"])
def test_every_table_in_every_form(name, measured):
    table = TABLES[name](measured)
    assert any(section.rows for section in table.sections)
    for head in table.sections[0].heads:
        assert head in FORMATS["terminal"](table)
    markdown = FORMATS["markdown"](table)
    widths = {line.count("|") for line in markdown.splitlines() if line.startswith("|")}
    assert widths == {len(table.sections[0].heads) + 2}
    rows = list(csv.DictReader(io.StringIO(FORMATS["csv"](table))))
    assert len(rows) == sum(len(s.heads) * len(s.rows) for s in table.sections)
    latex = FORMATS["latex"](table)
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == len(table.sections)
    assert not re.search(r"(?<!\\)_", latex)


def test_the_page_needs_nothing_else(measured, tmp_path):
    page = tmp_path / "report.html"
    write_html(measured, page)
    html = page.read_text(encoding="utf-8")
    assert not re.search(r'(src|href)="(?!#)', html.replace("xlink:href", "xlink"))
    assert "@import" not in html
    assert "url(http" not in html
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))


def test_every_flaw_has_its_place():
    for flaw in FLAWS:
        assert set(flaw.where) <= set(ORDER)


READ = """<script>
const tables = [...document.querySelectorAll("table.values")].map(table => ({
  name: table.dataset.table, section: table.dataset.section,
  visible: table.getBoundingClientRect().width > 100,
  rows: [...table.rows].map(row => [...row.cells].map(cell => cell.innerText)),
  colors: [...table.querySelectorAll("td")].map(cell => getComputedStyle(cell).backgroundColor)
}));
const figures = [...document.querySelectorAll("figure svg")].map(
  svg => svg.getBoundingClientRect().width);
const out = document.createElement("pre");
out.id = "rendered";
out.textContent = JSON.stringify({tables, figures});
document.body.append(out);
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine to look at the page with")
def test_a_browser_shows_the_tables(measured, tmp_path):
    page = tmp_path / "report.html"
    write_html(as_printed() + measured, page)
    html = page.read_text(encoding="utf-8")
    page.write_text(html.replace("</body>", READ + "</body>"), encoding="utf-8")
    shown = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={tmp_path / 'profile'}",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    text = re.search(r'<pre id="rendered">(.*?)</pre>', shown, re.S)
    assert text is not None
    rendered = json.loads(text[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    tables = {(table["name"], table["section"]): table for table in rendered["tables"]}
    assert all(table["visible"] for table in rendered["tables"])
    assert len(rendered["figures"]) == 4
    assert min(rendered["figures"]) > 300
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
                        assert text.split()[1] == f"{number:.4f}", (name, cut, row[0], column)
            assert "rgb(238, 247, 238)" in table["colors"]  # cells that agree are coloured
