"""Tables written down: for the terminal, as Markdown, CSV and LaTeX.

Every row of a table that the paper prints has two numbers a place, ours and the paper's: on the
terminal and in LaTeX the paper's are a line of their own, in Markdown they stand in brackets.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from leastcut.optional_packages import needed_for
from leastcut.page_design.numbers import number_text
from leastcut.paper.report.table import Entry, Section, Table


def shown(entry: Entry, digits: int) -> str:
    """Return our number as text."""
    if entry.text is not None:
        return entry.text
    return "–" if entry.value is None else f"{entry.value:.{digits}f}"


def shown_paper(entry: Entry, digits: int) -> str:
    """Return the paper's number as text, nothing where it has none."""
    if entry.paper is None:
        return ""
    return f"{entry.paper:,}" if digits == 0 else f"{entry.paper:.{digits}f}"


def shown_range(entry: Entry, digits: int) -> str:
    """Return from where to where ours is over the seeds, nothing where that is one number."""
    if not entry.ours:
        return ""

    def text(value: float) -> str:
        return f"{value:.{digits}f}" if entry.text is None else number_text(value)

    low, high = text(min(entry.ours)), text(max(entry.ours))
    return "" if low == high else f"{low}–{high}"


MARKS = {"same": "=", "near": "≈", "better": "▲", "worse": "▼"}
"""A sign for every verdict: nobody needs to see colours."""


def terminal(table: Table) -> str:
    """Return a table in aligned columns; the best of a row has a star."""
    blocks = [table.heading]
    for section in table.sections:
        lines = [[section.title, *section.heads]]
        for label, row in section.rows:
            ours = [
                shown(entry, table.digits) + ("*" if best else " ")
                for entry, best in zip(row, table.best_of(section, row), strict=True)
            ]
            lines.append([label, *ours])
            if any(entry.paper is not None for entry in row):
                # a space where ours may have a star keeps the digits below each other
                paper = [shown_paper(entry, table.digits) + " " for entry in row]
                lines.append(["  paper", *paper])
        # every column as wide as its widest cell, labels to the left and numbers to the right
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        text = [
            "  ".join(
                cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        text.insert(1, "─" * (sum(widths) + 2 * (len(widths) - 1)))
        blocks.append("\n".join(text))
    if table.best is not None:
        blocks.append("* best of ours in its row. Medians over the seeds.")
    return "\n\n".join([*blocks, *table.notes])


MARKED_UP = re.compile(r"[\\`*\[\]<>|&~$!#]|(?<![^\W_])_|_(?![^\W_])")
"""What Markdown takes as more than itself; an underscore between letters it does not."""


def escaped(text: str) -> str:
    """Return text in one line that Markdown shows as it is, also in a place of a table.

    >>> print(escaped("a|b <i> OPT_r\\n`c`"))
    a\\|b \\<i\\> OPT_r \\`c\\`
    """
    return MARKED_UP.sub(r"\\\g<0>", " ".join(text.split()))


def markdown(table: Table) -> str:
    """Return a table in Markdown: ours, the paper's in brackets, the best of ours in bold."""
    blocks = []
    for section in table.sections:
        lines = [
            f"| {escaped(section.title)} | " + " | ".join(map(escaped, section.heads)) + " |",
            "|---|" + "---:|" * len(section.heads),
        ]
        for label, row in section.rows:
            cells = []
            for entry, best in zip(row, table.best_of(section, row), strict=True):
                text = escaped(shown(entry, table.digits))
                if best:
                    text = f"**{text}**"
                paper = shown_paper(entry, table.digits)
                cells.append(f"{text} ({paper})" if paper else text)
            lines.append(f"| {escaped(label)} | " + " | ".join(cells) + " |")
        blocks.append("\n".join(lines))
    return "\n\n".join([*blocks, *map(escaped, table.notes)])


CSV_COLUMNS = ("table", "section", "row", "column", "ours", "smallest", "largest", "runs", "paper")
"""The first line of every CSV file, also of one without rows."""


def comma_separated(table: Table) -> str:
    """Return a table as CSV, one line per entry. Needs pandas."""
    with needed_for("Tables in CSV", "pandas", "paper"):
        import pandas as pd

    # the long form: a line per entry and not per row, so a column holds one kind of thing
    rows = []
    for section in table.sections:
        for label, row in section.rows:
            for head, entry in zip(section.heads, row, strict=True):
                ours = entry.ours
                value = f"{entry.value:.9g}" if ours else entry.text or ""
                bounds = [f"{min(ours):.9g}", f"{max(ours):.9g}"] if ours else ["", ""]
                paper = "" if entry.paper is None else str(entry.paper)
                where = [table.name, section.title, label, head]
                rows.append([*where, value, *bounds, len(ours), paper])
    text: str = pd.DataFrame(rows, columns=CSV_COLUMNS).to_csv(index=False, lineterminator="\n")
    return text.rstrip("\n")


BOLD, GRAY, INDENTED = "textbf:--rwrap;", "textcolor:{gray}--rwrap;", "quad: ;"
"""The best of ours, the paper's, and the label of the paper's line, as pandas wants them told."""

LETTERS = str.maketrans(
    {
        "η": r"$\eta$",
        "ρ": r"$\rho$",
        "Δ": r"$\Delta$",
        "λ": r"$\lambda$",
        "×": r"$\times$",
        "−": r"$-$",
        "†": r"$^\dagger$",
        "–": "--",
    }
)
"""Letters that LaTeX does not have in every font; what is special to it, pandas escapes."""


RAISED = {letter: str(digit) for digit, letter in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")} | {"⁻": "-"}
"""What is written above the line, and what it stands for."""


def latex(table: Table) -> str:
    """Return a table in LaTeX, for the packages booktabs and xcolor. Needs pandas and jinja2."""
    blocks = [_latex_section(table, section) for section in table.sections]
    return "\n\n".join([f"% {table.heading}", *blocks])


def _latex_section(table: Table, section: Section) -> str:
    with needed_for("Tables in LaTeX", "pandas", "paper"):
        import pandas as pd
    with needed_for("Tables in LaTeX", "jinja2", "paper"):
        import jinja2  # noqa: F401  (pandas writes LaTeX with it)

    # two tables of the same shape, what is written and how; the first column is the label
    texts, styles = [], []
    for label, row in section.rows:
        texts.append([label, *(shown(entry, table.digits) for entry in row)])
        styles.append(["", *(BOLD if best else "" for best in table.best_of(section, row))])
        if any(entry.paper is not None for entry in row):
            texts.append(["paper", *(shown_paper(entry, table.digits) for entry in row)])
            styles.append([INDENTED, *(GRAY if entry.paper is not None else "" for entry in row)])
    heads = [section.title, *section.heads]
    frame = pd.DataFrame(texts, columns=heads)
    styled = frame.style.apply(lambda _: pd.DataFrame(styles, columns=heads), axis=None)
    # escape= is done before the function is called, so what that writes stays as it is
    styled = styled.format(_in_letters, escape="latex")
    styled = styled.format_index(_in_letters, escape="latex", axis="columns").hide(axis="index")
    text: str = styled.to_latex(column_format="l" + "r" * len(section.heads), hrules=True)
    return text.rstrip("\n")


def _in_letters(text: Any) -> str:
    """Return text with the letters that LaTeX must be told by name."""
    raised = re.sub(
        f"[{''.join(RAISED)}]+",
        lambda found: "$^{" + "".join(map(RAISED.__getitem__, found[0])) + "}$",
        str(text),
    )
    return raised.translate(LETTERS)


FORMATS: dict[str, Callable[[Table], str]] = {
    "terminal": terminal,
    "markdown": markdown,
    "csv": comma_separated,
    "latex": latex,
}
"""Every way to write a table down."""
