"""How Sphinx builds the site: ``make docs``, with warnings as errors and nothing from the network.

Pages are Markdown that reads well unbuilt; ``_for_sphinx`` turns the few things that only a plain
reader understands into what Sphinx does. The reference is made of the public names
(``docs/reference.py``), the gallery of the scripts in ``examples``.
"""

from __future__ import annotations

import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))
os.environ.setdefault("MPLBACKEND", "Agg")

import reference  # noqa: E402

import leastcut  # noqa: E402

project = "leastcut"
author = "The leastcut developers"
copyright = author
release = version = leastcut.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]

# -- pages

source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "results/**"]
myst_enable_extensions = ["deflist", "colon_fence", "attrs_inline"]
myst_heading_anchors = 3
suppress_warnings = [
    "config.cache",  # the gallery's settings hold a function, which is not kept between builds
]
nitpicky = False

# -- the reference

reference.write(DOCS / "reference")  # now: Sphinx looks for pages before it sets anything up
autosummary_generate = True
autodoc_default_options = {"member-order": "bysource"}
autodoc_typehints = "none"  # numpydoc shows the types, as the docstrings say them
numpydoc_show_class_members = False
templates_path = ["_templates"]

# -- the gallery

# What needs PyTorch is left out where it is not there: it is large, and one page needs it.
WITHOUT = "" if find_spec("torch") else r"|(^|[\\/])plot_torch\w*\.py$"
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"[\\/]plot_",
    "ignore_pattern": r"(^|[\\/])(?!plot_)[^\\/]*\.py$" + WITHOUT,
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "capture_repr": ("_repr_html_",),  # tables that notebooks show, and no Axes(...)
    "show_memory": False,
    "write_computation_times": False,
    "min_reported_time": 0,
    "remove_config_comments": True,
    "abort_on_example_error": False,
    "only_warn_on_example_error": True,
    "matplotlib_animations": False,
}

# -- what it looks like

html_theme = "pydata_sphinx_theme"
html_title = "leastcut"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["results/report.html"]
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_theme_options: dict[str, Any] = {
    "show_prev_next": True,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

ANCHOR = re.compile(r'^<a id="([\w-]+)"></a>$', re.MULTILINE)
REPORT = re.compile(r"\[([^\]]+)\]\(results/report\.html\)")
FOLDERS = re.compile(r"\[([^\]]+)\]\(results(?:/records)?\)")


def _for_sphinx(app: Any, name: str, source: list[str]) -> None:
    """Turn anchors into targets, the page in colours into a plain link, and folders into words."""
    text = ANCHOR.sub(r"(\1)=", source[0])
    text = REPORT.sub(r'<a href="report.html">\1</a>', text)
    source[0] = FOLDERS.sub(r"\1", text)


def setup(app: Any) -> None:
    """Read pages our way."""
    app.connect("source-read", _for_sphinx)
