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
from reproduction.report.brief import SHORTENED, brief
from reproduction.report.contents import ORDER, contents
from reproduction.report.figures import FIGURES
from reproduction.report.formats import FORMATS, escaped, markdown
from reproduction.report.pages import write_html, write_markdown
from reproduction.report.table import Entry, Section, Table
from reproduction.report.tables import TABLES
from reproduction.runs.methods import METHODS, PARTITION
from reproduction.tests.helpers import ROOT, Texts, as_printed, measured_on_wine


@pytest.fixture
def measured():
    return measured_on_wine()


def test_records_equal_to_the_printed_values_have_no_differences():
    page = contents(as_printed())
    assert page.reasons == []
    assert {tally.table for tally in page.tallies} == {"tiny", "objective", "accuracy", "nmi"}
    for tally in page.tallies:
        assert tally.same == tally.of


def test_every_difference_above_two_percent_is_listed_with_a_reason():
    page = contents(as_printed(1.03))
    values = [
        place
        for reason in page.reasons
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
    texts = [reason.text for reason in page.reasons]
    assert all(texts)
    assert len(texts) == len(set(texts))


def test_a_bound_that_differs_is_listed():
    records = as_printed()
    wrong = next(r for r in records if (r["method"], r["dataset"]) == ("relax", "orl"))
    wrong["value"] *= 2.0
    (reason,) = contents(records).reasons
    (place,) = reason.places
    assert (place.row, place.column) == ("ORL", "OPT_r")


def test_a_row_with_partition_only_does_not_check_it():
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
        (0.09707, 0.0970, "same"),  # truncated
        (0.09707, 0.0971, "same"),  # rounded
        (0.0980, 0.0971, "near"),
        (0.0900, 0.0971, "better"),
        (0.1100, 0.0971, "worse"),
        (0.0900, None, ""),
    ],
)
def test_the_verdict_of_a_cell_depends_on_its_difference(ours, paper, expected):
    assert Entry((ours,), paper).verdict(larger_is_better=False) == expected
    swapped = {"better": "worse", "worse": "better"}.get(expected, expected)
    assert Entry((ours,), paper).verdict(larger_is_better=True) == swapped


def test_the_median_over_the_seeds_is_shown():
    assert Entry((3.0, 1.0, 2.0)).value == 2.0
    assert Entry().value is None


def test_tables_show_the_numbers_of_the_records(measured):
    table = TABLES["objective"](measured)
    section = table.sections[0]
    (label, row), *_ = section.rows
    assert label == "WINE"
    entries = dict(zip(section.heads, row, strict=True))
    assert entries["OPT_r"].agrees
    assert entries["KM"].paper == 0.0154
    assert len(entries["KM"].ours) == 2
    assert entries["partition"].paper is None
    assert entries["partition"].value <= min(
        entry.value for head, entry in entries.items() if head != "OPT_r"
    )


@pytest.mark.parametrize("name", [name for name in TABLES if name != "tiny"])
def test_every_table_has_every_format(name, measured):
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


def test_flaws_are_shown_with_the_tables_and_figures_they_name(measured):
    items = contents(as_printed() + measured).items
    assert [item.content.name for item in items] == [
        name for name in ORDER if name in {item.content.name for item in items}
    ]
    for item in items:
        for flaw in (*item.flaws, *item.see):
            assert item.content.name in flaw.where
            assert set(flaw.where) <= set(ORDER)


def test_tables_and_figures_of_the_paper_have_its_numbers():
    numbers = {name: build([]).number for name, build in TABLES.items()}
    assert {name: number for name, number in numbers.items() if number is not None} == {
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


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", TABLES)
def test_a_table_without_records_has_no_rows(name, kind):
    assert TABLES[name]([]).is_empty
    text = FORMATS[kind](TABLES[name]([]))
    if kind == "csv":
        assert text == "table,section,row,column,ours,smallest,largest,runs,paper"
    if kind == "latex":
        assert text.count("tabular") == 2 * len(TABLES[name]([]).sections)


NASTY = "<b>&amp;</b> \"quoted\" 'single' | 5 % of $x_1^2$ {#1} ~ \\ η, <script>alert(1)</script>"


def nasty_table(_=None):
    entries = (Entry((1.0, 2.0), 1.5, NASTY), Entry((3.0,), 2.5))
    section = Section(NASTY, (NASTY + " head", "plain"), ((NASTY + " row", entries),))
    return Table("datasets", NASTY, (section,), "Table <III>", NASTY, (NASTY,), "small")


def test_the_page_shows_any_text_literally(tmp_path, monkeypatch):
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
    # escaped once in the text and once by the page, so nothing is interpreted as markup
    assert "&amp;amp;" in html


def test_latex_and_csv_show_any_text_literally():
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


def test_the_html_page_is_self_contained(measured, tmp_path):
    page = tmp_path / "report.html"
    write_html(measured, page)
    html = page.read_text(encoding="utf-8")
    assert not re.search(r'(src|href)="(?!#)', html.replace("xlink:href", "xlink"))
    assert "@import" not in html
    assert "url(http" not in html
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))


def test_the_markdown_page_has_every_table_and_figure_on_it_or_as_a_file(measured, tmp_path):
    page, folder = tmp_path / "docs" / "page.md", tmp_path / "results"
    write_markdown(measured, page, folder)
    text = page.read_text(encoding="utf-8")
    assert text.count("\n\n\n") == 0
    assert not re.search(r"\{[{%]", text)
    for name, build in TABLES.items():
        table = build(measured)
        if not table.is_empty:
            short = brief(table)
            assert f"## {table.heading}\n" in text
            assert f"](../results/{name}.csv)" in text or short == table or not table.notes
            assert short is None or markdown(short, brief=True) in text
            assert all(escaped(note) in text for note in table.notes)
        assert (folder / f"{name}.csv").exists() != table.is_empty
        assert (folder / f"{name}.tex").exists() != table.is_empty
    for name, figure in FIGURES.items():
        assert f"![{figure.title}](../results/{name}.svg)" in text
        assert (folder / f"{name}.svg").exists()
        assert (folder / f"{name}.png").exists()
    rows = list(csv.DictReader((folder / "differences.csv").open(encoding="utf-8")))
    reasons = contents(measured).reasons
    assert [row["reason"] for row in rows] == [r.text for r in reasons for _ in r.places]
    assert "export LEASTCUT_DATA=" in text
    assert f"python -m reproduction report --out {folder} --markdown {page}" in text


def test_short_tables_have_every_printed_value_and_every_row():
    records = as_printed(1.03)
    for name in ("tiny", "objective", "accuracy", "nmi"):
        table = TABLES[name](records)
        short = brief(table)
        assert printed_values(short) == printed_values(table)
        for section, before in zip(short.sections, table.sections, strict=True):
            assert [label for label, _ in section.rows] == [label for label, _ in before.rows]
    assert "partition" in brief(TABLES["objective"](measured_on_wine())).sections[0].heads


def printed_values(table):
    """Return the printed values of a table in order."""
    return [e.paper for s in table.sections for _, row in s.rows for e in row if e.paper]


def test_the_short_forms_of_other_tables_summarize_their_rows(measured):
    assert set(SHORTENED) <= set(TABLES)
    traces = TABLES["traces"](measured)
    (section,) = brief(traces).sections
    for label, row in section.rows:
        rows = [dict(part.rows)[label] for part in traces.sections if label in dict(part.rows)]
        sums = [sum(entry.value for entry in column) for column in zip(*rows, strict=True)]
        assert [entry.text for entry in row] == [f"{total:g}" for total in sums]
    seeds = TABLES["seeds"](measured)
    (section,) = brief(seeds).sections
    ((label, row),) = section.rows
    reached = [
        f"{entry.value:g}"
        for part in seeds.sections
        for head, entry in zip(part.heads, dict(part.rows)[label], strict=True)
        if head.endswith("reached")
    ]
    assert (label, [entry.text for entry in row]) == ("WINE", reached)
    (section,) = brief(TABLES["certificates"](measured)).sections
    assert [label for label, _ in section.rows] == ["WINE"]
    (section,) = brief(TABLES["seconds"](measured)).sections
    assert all(m.value <= most.value for m, most in zip(*dict(section.rows).values(), strict=True))


AGREEMENT = re.compile(
    r"Of (\d+) printed values, (\d+) agree in all digits and (\d+) within 2%; (\d+) differ by more,"
    r" of which (\d+) occur in other runs of ours and (\d+) are unexplained"
)


def test_agreement_counts_the_cells_of_a_table():
    sentences = {item.agreement for item in contents(as_printed()).items}
    assert "Of 65 printed values, 65 agree in all digits and 0 within 2%." in sentences
    page = contents(as_printed(1.03))
    # accuracy and NMI are as printed
    for item in page.items:
        if item.content.name in ("tiny", "objective"):
            counts = AGREEMENT.match(item.agreement)
            of, same, near, more, other, unexplained = map(int, counts.groups())
            tallies = [tally for tally in page.tallies if tally.table == item.content.name]
            assert of == sum(tally.of for tally in tallies) == same + near + more
            assert same == sum(tally.same for tally in tallies)
            assert more == other + unexplained


@pytest.mark.slow
def test_the_committed_page_and_files_are_made_from_the_committed_records(tmp_path, monkeypatch):
    folder, page = Path("docs", "results"), Path("docs", "results.md")
    shutil.copytree(ROOT / folder / "records", tmp_path / folder / "records")
    monkeypatch.chdir(tmp_path)
    assert main(["report", "--out", str(folder), "--markdown", str(page)]) == 0
    for path in (page, *folder.glob("*.csv")):
        text = path.read_text(encoding="utf-8")
        assert text == (ROOT / path).read_text(encoding="utf-8"), path
