"""Tables written down: for the terminal, as Markdown, CSV and LaTeX.

Every row of a table that the paper prints has two lines, ours and the paper's below it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

from firstcut.paper.entries import Entry, Section, Table


def shown(entry: Entry, digits: int) -> str:
    """Return our number as text."""
    if entry.text is not None:
        return entry.text
    return "–" if entry.value is None else f"{entry.value:.{digits}f}"


def shown_paper(entry: Entry, digits: int) -> str:
    """Return the paper's number as text."""
    if entry.paper is None:
        return ""
    return f"{entry.paper:,}" if digits == 0 else f"{entry.paper:.{digits}f}"


def has_paper(section: Section) -> bool:
    """Whether the paper prints anything of a section."""
    return any(entry.paper is not None for _, row in section.rows for entry in row)


def terminal(table: Table) -> str:
    """Return a table in aligned columns; the best of a row has a star."""
    blocks = [table.title]
    for section in table.sections:
        lines = [[section.title, *section.heads]]
        for label, row in section.rows:
            ours = [
                shown(entry, table.digits) + ("*" if best else " ")
                for entry, best in zip(row, table.best_of(section, row), strict=True)
            ]
            lines.append([label, *ours])
            if any(entry.paper is not None for entry in row):
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
        blocks.append("* best of ours in its row. Medians over the seeds.")
    return "\n\n".join([*blocks, *table.notes])


def markdown(table: Table) -> str:
    """Return a table in Markdown: ours, the paper's in brackets, the best of ours in bold."""
    blocks = []
    for section in table.sections:
        lines = [
            f"| {section.title} | " + " | ".join(section.heads) + " |",
            "|---|" + "---:|" * len(section.heads),
        ]
        for label, row in section.rows:
            cells = []
            for entry, best in zip(row, table.best_of(section, row), strict=True):
                text = shown(entry, table.digits)
                if best:
                    text = f"**{text}**"
                paper = shown_paper(entry, table.digits)
                cells.append(f"{text} ({paper})" if paper else text)
            lines.append(f"| {label} | " + " | ".join(cells) + " |")
        blocks.append("\n".join(lines))
    return "\n\n".join([*blocks, *table.notes])


def comma_separated(table: Table) -> str:
    """Return a table as CSV, one line per cell."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(
        ["table", "section", "row", "column", "ours", "smallest", "largest", "runs", "paper"]
    )
    for section in table.sections:
        for label, row in section.rows:
            for head, entry in zip(section.heads, row, strict=True):
                ours = entry.ours
                bounds = [f"{min(ours):.9g}", f"{max(ours):.9g}"] if ours else ["", ""]
                value = f"{entry.value:.9g}" if entry.value is not None else entry.text or ""
                paper = "" if entry.paper is None else entry.paper
                writer.writerow(
                    [table.name, section.title, label, head, value, *bounds, len(ours), paper]
                )
    return buffer.getvalue().rstrip("\n")


def latex(table: Table) -> str:
    """Return a table in LaTeX, for the packages booktabs and xcolor."""
    blocks = []
    for section in table.sections:
        lines = [
            r"\begin{tabular}{l" + "r" * len(section.heads) + "}",
            r"\toprule",
            " & ".join([_escaped(section.title), *map(_escaped, section.heads)]) + r" \\",
            r"\midrule",
        ]
        for label, row in section.rows:
            cells = []
            for entry, best in zip(row, table.best_of(section, row), strict=True):
                text = _escaped(shown(entry, table.digits))
                cells.append(rf"\textbf{{{text}}}" if best else text)
            lines.append(" & ".join([_escaped(label), *cells]) + r" \\")
            if any(entry.paper is not None for entry in row):
                paper = [rf"\textcolor{{gray}}{{{shown_paper(e, table.digits)}}}" for e in row]
                lines.append(" & ".join([r"\quad paper", *paper]) + r" \\")
        lines += [r"\bottomrule", r"\end{tabular}"]
        blocks.append("\n".join(lines))
    return "\n\n".join([f"% {table.title}", *blocks])


LATEX = {
    "_": r"\_",
    "%": r"\%",
    "&": r"\&",
    "#": r"\#",
    "η": r"$\eta$",
    "ρ": r"$\rho$",
    "Δ": r"$\Delta$",
    "λ": r"$\lambda$",
    "²": r"$^2$",
    "†": r"$^\dagger$",
    "–": "--",
}
"""What LaTeX needs written differently."""


def _escaped(text: str) -> str:
    return "".join(LATEX.get(character, character) for character in text)


FORMATS: dict[str, Callable[[Table], str]] = {
    "terminal": terminal,
    "markdown": markdown,
    "csv": comma_separated,
    "latex": latex,
}
"""Every way to write a table down."""
