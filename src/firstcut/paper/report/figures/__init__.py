"""From records to figures. One file per figure."""

from __future__ import annotations

from firstcut.paper.report.drawing import Figure
from firstcut.paper.report.figures.bounds import BOUNDS
from firstcut.paper.report.figures.figure_1_closest import CLOSEST
from firstcut.paper.report.figures.figure_3_sensitivity import SENSITIVITY
from firstcut.paper.report.figures.figure_4_convergence import CONVERGENCE
from firstcut.paper.report.figures.motivation import MOTIVATION

FIGURES: dict[str, Figure] = {
    figure.name: figure for figure in (CLOSEST, MOTIVATION, BOUNDS, SENSITIVITY, CONVERGENCE)
}
"""Every figure by name."""
