"""What can be made, and what each needs: the lists at the foot of ``--help``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from leastcut.optional_packages import install_command
from leastcut.paper.data.datasets import ENVIRONMENT, names
from leastcut.paper.data.printed import dataset_labels, split_name
from leastcut.paper.data.sources import BUNDLED, OPENML
from leastcut.paper.report.figures import FIGURES
from leastcut.paper.report.tables import TABLES
from leastcut.paper.runs.experiments import (
    EXPERIMENTS_OF_FIGURE,
    EXPERIMENTS_OF_TABLE,
    Scope,
    cells,
)

PACKAGES = {
    "run": "tqdm, to tell how far it is.",
    "table": "pandas for CSV, pandas and jinja2 for LaTeX, none for the terminal and Markdown.",
    "figure": "matplotlib.",
    "report": "jinja2 and matplotlib; with --markdown also pandas.",
}
"""What has to be installed for every action."""

DATASETS = (
    f"datasets: {', '.join(names())}. Looked for as NAME.npz, NAME.mat or NAME.csv in --data, then "
    f"in the folder that {ENVIRONMENT} names, then in the user's cache; {', '.join(BUNDLED)} come "
    f"with scikit-learn, and {', '.join(OPENML)} are asked of OpenML where they are in no folder."
)
"""Which datasets there are, and where they come from."""


def foot(action: str) -> list[str]:
    """Return what the help of an action ends with: lists of several lines, and paragraphs."""
    tables = _listed(
        "tables", {name: build([]).heading for name, build in TABLES.items()}, EXPERIMENTS_OF_TABLE
    )
    figures = _listed(
        "figures", {name: one.heading for name, one in FIGURES.items()}, EXPERIMENTS_OF_FIGURE
    )
    lists = {
        "run": [tables, figures, DATASETS],
        "table": [tables],
        "figure": [figures],
        "report": [],
    }
    return [*lists[action], f"packages: {PACKAGES[action]} {install_command('paper')} brings them."]


def datasets_needed(experiments: Iterable[str]) -> list[str]:
    """Return the paper's datasets that some experiments run on, in its order."""
    found = {split_name(cell.dataset)[0] for cell in cells(experiments, Scope())}
    return [name for name in dataset_labels() if name in found]


def needs(experiments: Iterable[str]) -> str:
    """Return which datasets some experiments need, as text."""
    names = datasets_needed(experiments)
    if not names:
        return "no dataset"
    return "any dataset" if len(names) == len(dataset_labels()) else ", ".join(names)


def _listed(
    kind: str, headings: dict[str, str], experiments_of: Mapping[str, tuple[str, ...]]
) -> str:
    """Return a list of tables or figures: what each shows, and what it needs."""
    width = max(map(len, headings)) + 4
    lines = [f"{kind}:"]
    for name, heading in headings.items():
        lines.append(f"  {name}".ljust(width) + heading)
        needed = f"experiments {', '.join(experiments_of[name])}; {needs(experiments_of[name])}"
        lines.append(" " * width + needed)
    return "\n".join(lines)
