"""From records to figures. One file per figure."""

from __future__ import annotations

from leastcut.paper.report.drawing import Figure
from leastcut.paper.report.figures.bounds import BOUNDS
from leastcut.paper.report.figures.figure_1_closest import CLOSEST
from leastcut.paper.report.figures.figure_3_sensitivity import SENSITIVITY
from leastcut.paper.report.figures.figure_4_convergence import CONVERGENCE
from leastcut.paper.report.figures.motivation import MOTIVATION

FIGURES: dict[str, Figure] = {
    figure.name: figure for figure in (CLOSEST, MOTIVATION, BOUNDS, SENSITIVITY, CONVERGENCE)
}
"""Every figure by name."""
