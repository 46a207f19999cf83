"""Numbers and tables as text: for the terminal, Markdown, CSV and LaTeX.

A cell may have two values, ours and the paper's. In the terminal and in LaTeX the paper's values
are in a separate row, in Markdown they follow in brackets.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import isfinite
from typing import Any

from reproduction.report.table import Entry, Section, Table

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
"""The characters of an exponent and their superscripts."""


def power_of_ten(exponent: int) -> str:
    """Return a power of ten as text.

    >>> power_of_ten(-3)
    '10⁻³'
    """
    return f"10{str(exponent).translate(SUPERSCRIPTS)}"


def number_text(value: float) -> str:
    """Return a number of any magnitude as short text.

    It has three significant digits, at most three decimals, and all digits before the point.
    Integers have no decimals. Numbers below 0.001 and from a million on have a power of ten.

    >>> [number_text(value) for value in (0, 0.00201, 0.0654, 0.9996, 7.834, 20, 299.4, 10416.7)]
    ['0', '0.002', '0.065', '1.00', '7.83', '20', '299', '10,417']
    >>> number_text(1.3156e10), number_text(-0.00042)
    ('1.32 × 10¹⁰', '−4.20 × 10⁻⁴')
    """
    if value == 0 or not isfinite(value):
        return str(value) if value else "0"
    # rounded first, so that 0.9996 has the digits of 1
    digits, _, tens = f"{abs(value):.2e}".partition("e")
    if -3 <= int(tens) < 6:
        decimals = 0 if value == round(value) else min(max(2 - int(tens), 0), 3)
        text = f"{abs(value):,.{decimals}f}"
    else:
        text = f"{digits} × {power_of_ten(int(tens))}"
    return f"−{text}" if value < 0 else text


def shown(entry: Entry, digits: int) -> str:
    """Return our value of an entry as text."""
    if entry.text is not None:
        return entry.text
    return "–" if entry.value is None else f"{entry.value:.{digits}f}"


def shown_paper(entry: Entry, digits: int) -> str:
    """Return the paper's value of an entry as text, or "" if it has none."""
    if entry.paper is None:
        return ""
    return f"{entry.paper:,}" if digits == 0 else f"{entry.paper:.{digits}f}"


def shown_range(entry: Entry, digits: int) -> str:
    """Return the range over the seeds as text, or "" if all seeds have the same value."""
    if not entry.ours:
        return ""

    def text(value: float) -> str:
        return f"{value:.{digits}f}" if entry.text is None else number_text(value)

    low, high = text(min(entry.ours)), text(max(entry.ours))
    return "" if low == high else f"{low}–{high}"


MARKS = {"same": "=", "near": "≈", "better": "▲", "worse": "▼"}
"""A sign for every verdict, in addition to its color."""


def terminal(table: Table) -> str:
    """Return a table in aligned columns, with an asterisk at the best value of a row."""
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
                # the space aligns the digits with values that have an asterisk
                paper = [shown_paper(entry, table.digits) + " " for entry in row]
                lines.append(["  paper", *paper])
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
        blocks.append("* our best value of the row. Medians over the seeds.")
    return "\n\n".join([*blocks, *table.notes])


MARKED_UP = re.compile(r"[\\`*\[\]<>|&~$!#]|(?<![^\W_])_|_(?![^\W_])")
"""Characters with a meaning in Markdown; an underscore between letters has none."""


def escaped(text: str) -> str:
    """Return text in one line, escaped for Markdown tables.

    >>> print(escaped("a|b <i> OPT_r\\n`c`"))
    a\\|b \\<i\\> OPT_r \\`c\\`
    """
    return MARKED_UP.sub(r"\\\g<0>", " ".join(text.split()))


def markdown(table: Table, *, brief: bool = False) -> str:
    """Return a table in Markdown, with the paper's values in brackets and our best in bold.

    With ``brief``, the notes are omitted, and the paper's values that agree with ours.
    """
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
                is_shown = paper and not (brief and entry.agrees)
                cells.append(f"{text} ({paper})" if is_shown else text)
            lines.append(f"| {escaped(label)} | " + " | ".join(cells) + " |")
        blocks.append("\n".join(lines))
    notes = () if brief else table.notes
    return "\n\n".join([*blocks, *map(escaped, notes)])


CSV_COLUMNS = ("table", "section", "row", "column", "ours", "smallest", "largest", "runs", "paper")
"""The header of every CSV file."""


def comma_separated(table: Table) -> str:
    """Return a table as CSV in long form, with one line per entry. Needs pandas."""
    import pandas as pd

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
"""pandas styles for our best value, the paper's value, and the label of its row."""

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
"""Letters that not every LaTeX font has; pandas escapes the special characters."""

RAISED = {letter: str(digit) for digit, letter in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")} | {"⁻": "-"}
"""Superscripts and their characters."""


def latex(table: Table) -> str:
    """Return a table in LaTeX for the packages booktabs and xcolor. Needs pandas and jinja2."""
    blocks = [_latex_section(table, section) for section in table.sections]
    return "\n\n".join([f"% {table.heading}", *blocks])


def _latex_section(table: Table, section: Section) -> str:
    import jinja2  # noqa: F401  (pandas needs it here)
    import pandas as pd

    # texts and styles, two tables of the same shape with the labels in the first column
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
    # escape= is applied before the function, whose result is not escaped
    styled = styled.format(_in_letters, escape="latex")
    styled = styled.format_index(_in_letters, escape="latex", axis="columns").hide(axis="index")
    text: str = styled.to_latex(column_format="l" + "r" * len(section.heads), hrules=True)
    return text.rstrip("\n")


def _in_letters(text: Any) -> str:
    """Return text with LaTeX commands for letters and exponents."""
    raised = re.sub(
        f"[{''.join(RAISED)}]+",
        lambda match: "$^{" + "".join(map(RAISED.__getitem__, match[0])) + "}$",
        str(text),
    )
    return raised.translate(LETTERS)


FORMATS: dict[str, Callable[[Table], str]] = {
    "terminal": terminal,
    "markdown": markdown,
    "csv": comma_separated,
    "latex": latex,
}
"""Every format of a table."""
