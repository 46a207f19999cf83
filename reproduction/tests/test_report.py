"""Tables and pages show the content of the records."""

from __future__ import annotations

import csv
import io
import re
import shutil
from pathlib import Path

import pytest

from reproduction.__main__ import main
from reproduction.data import printed
from reproduction.report.contents import ORDER, contents
from reproduction.report.figures import FIGURES
from reproduction.report.formats import FORMATS
from reproduction.report.pages import write_html, write_markdown
from reproduction.report.table import Entry, Section, Table
from reproduction.report.tables import TABLES
from reproduction.runs.methods import METHODS, PARTITION
from reproduction.tests.helpers import ROOT, Texts, as_printed, measured_on_wine


@pytest.fixture
def measured():
    return measured_on_wine()


def test_where_everything_is_as_printed_nothing_differs():
    found = contents(as_printed())
    assert found.reasons == []
    assert {tally.table for tally in found.tallies} == {"tiny", "objective", "accuracy", "nmi"}
    for tally in found.tallies:
        assert tally.same == tally.of


def test_every_difference_over_two_percent_is_listed_with_a_reason():
    found = contents(as_printed(1.03))
    values = [
        place
        for reason in found.reasons
        for place in reason.places
        if place.table in ("tiny", "objective")
    ]
    count = sum(
        printed.value(table, name, cut, column.printed) * 0.03 >= 1e-4
        for table, names in (
            ("tiny", [f"usps:{n}" for n in range(11, 16)]),
            ("objective", printed.dataset_labels()),
        )
        for name in names
        for cut in printed.CUT_TITLES
        for column in METHODS
        if printed.value(table, name, cut, column.printed) is not None
    )
    assert len(values) == count
    assert all(place.relative == pytest.approx(0.03) for place in values)
    texts = [reason.text for reason in found.reasons]
    assert all(texts)
    assert len(texts) == len(set(texts))


def test_even_a_bound_that_differs_is_listed():
    records = as_printed()
    wrong = next(r for r in records if (r["method"], r["dataset"]) == ("relax", "orl"))
    wrong["value"] *= 2.0
    (reason,) = contents(records).reasons
    (place,) = reason.places
    assert (place.row, place.column) == ("ORL", "OPT_r")


def test_a_row_with_partition_alone_is_no_check_of_it():
    records = [
        {
            "experiment": "objective",
            "dataset": "wine",
            "cut": "ratio",
            "method": PARTITION.method,
            "parameters": dict(PARTITION.parameters),
            "seed": 0,
            "value": 0.1,
        }
    ]
    assert contents(records).checks == []


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
    assert Entry((ours,), paper).verdict(larger_is_better=False) == expected
    swapped = {"better": "worse", "worse": "better"}.get(expected, expected)
    assert Entry((ours,), paper).verdict(larger_is_better=True) == swapped


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


def test_every_flaw_has_its_place(measured):
    items = contents(as_printed() + measured).items
    assert [item.content.name for item in items] == [
        name for name in ORDER if name in {item.content.name for item in items}
    ]
    for item in items:
        for flaw in (*item.flaws, *item.see):
            assert item.content.name in flaw.where
            assert set(flaw.where) <= set(ORDER)


def test_the_papers_tables_have_its_numbers():
    """In the order in which they appear there: I and II, then the datasets, then IV and V."""
    found = {name: build([]).number for name, build in TABLES.items()}
    assert {name: number for name, number in found.items() if number is not None} == {
        "tiny": "Table I",
        "objective": "Table II",
        "datasets": "Table III",
        "accuracy": "Table IV",
        "nmi": "Table V",
    }
    numbers = {name: figure.number for name, figure in FIGURES.items()}
    assert numbers == {
        "closest": "Figure 1",
        "motivation": None,
        "bounds": None,
        "sensitivity": "Figure 3",
        "convergence": "Figure 4",
    }
    assert TABLES["objective"]([]).heading == "Objective values (the paper’s Table II)"
    assert TABLES["seconds"]([]).heading == TABLES["seconds"]([]).title


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", TABLES)
def test_a_table_without_records_has_no_rows(name, form):
    assert TABLES[name]([]).is_empty
    text = FORMATS[form](TABLES[name]([]))
    if form == "csv":
        assert text == "table,section,row,column,ours,smallest,largest,runs,paper"
    if form == "latex":
        assert text.count("tabular") == 2 * len(TABLES[name]([]).sections)


NASTY = "<b>&amp;</b> \"quoted\" 'single' | 5 % of $x_1^2$ {#1} ~ \\ η, <script>alert(1)</script>"


def nasty_table(_=None):
    entries = (Entry((1.0, 2.0), 1.5, NASTY), Entry((3.0,), 2.5))
    section = Section(NASTY, (NASTY + " head", "plain"), ((NASTY + " row", entries),))
    return Table("datasets", NASTY, (section,), "Table <III>", NASTY, (NASTY,), "small")


def test_whatever_a_value_holds_the_page_shows_it_as_text(tmp_path, monkeypatch):
    monkeypatch.setitem(TABLES, "datasets", nasty_table)
    machine = dict.fromkeys(("system", "architecture", "processor", "cores"), NASTY)
    records = as_printed(1.03)
    for record in records:
        record |= {"versions": {"python": NASTY}, "machine": machine}
    odd = "odd <i>name</i>"
    records.append({**records[-1], "dataset": odd, "seed": 0})
    write_html(records, tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    page = Texts(html)
    assert not {"script", "i"} & set(page.tags)
    for place in (("h2", NASTY + " (the paper’s Table <III>)"), ("a", NASTY), ("p", NASTY)):
        assert place in page.texts
    for place in (("span", NASTY), ("th", NASTY + " head"), ("th", NASTY + " row"), ("th", odd)):
        assert place in page.texts
    assert ("b", NASTY) in page.texts
    assert ("data-section", NASTY) in page.attributes
    assert any(tag == "dd" and NASTY in text for tag, text in page.texts)
    assert (
        "&amp;amp;" in html
    )  # once for the text, once for the page: nothing is taken as marked up


def test_whatever_a_value_holds_latex_and_csv_have_it_as_text():
    latex = FORMATS["latex"](nasty_table())
    body = latex.partition("\n")[2]
    for special in "%#_&":
        plain = re.findall(rf"(?<!\\){re.escape(special)}", body.replace(" & ", " "))
        assert not plain, special
    assert r"$\eta$" in body
    assert r"\textbackslash" in body
    (first, second) = csv.DictReader(io.StringIO(FORMATS["csv"](nasty_table())))
    assert first["section"] == NASTY
    assert first["row"] == NASTY + " row"
    assert first["column"] == NASTY + " head"
    assert (second["ours"], second["paper"], second["runs"]) == ("3", "2.5", "1")


def test_the_page_needs_nothing_else(measured, tmp_path):
    page = tmp_path / "report.html"
    write_html(measured, page)
    html = page.read_text(encoding="utf-8")
    assert not re.search(r'(src|href)="(?!#)', html.replace("xlink:href", "xlink"))
    assert "@import" not in html
    assert "url(http" not in html
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))


def test_the_markdown_page_has_its_tables_and_figures_beside_it(measured, tmp_path):
    page, folder = tmp_path / "docs" / "page.md", tmp_path / "results"
    write_markdown(measured, page, folder)
    text = page.read_text(encoding="utf-8")
    assert text.count("\n\n\n") == 0
    assert not re.search(r"\{[{%]", text)
    for name, build in TABLES.items():
        table = build(measured)
        assert (FORMATS["markdown"](table) in text) != table.is_empty
        assert (folder / f"{name}.csv").exists() != table.is_empty
        assert (folder / f"{name}.tex").exists() != table.is_empty
    for name, figure in FIGURES.items():
        assert f"![{figure.title}](../results/{name}.svg)" in text
        assert (folder / f"{name}.svg").exists()
        assert (folder / f"{name}.png").exists()
    assert "export LEASTCUT_DATA=" in text
    assert f"python -m reproduction report --out {folder} --markdown {page}" in text


@pytest.mark.slow
def test_the_committed_page_is_what_its_records_render(tmp_path, monkeypatch):
    folder, page = Path("docs", "results"), Path("docs", "results.md")
    shutil.copytree(ROOT / folder / "records", tmp_path / folder / "records")
    monkeypatch.chdir(tmp_path)
    assert main(["report", "--out", str(folder), "--markdown", str(page)]) == 0
    for path in (page, *folder.glob("*.csv")):
        text = path.read_text(encoding="utf-8")
        assert text == (ROOT / path).read_text(encoding="utf-8"), path
