"""Sphinx configuration of the site: ``make docs``, without network access, warnings are errors.

Pages are Markdown that reads well unbuilt; ``_for_sphinx`` translates the few constructs that
Sphinx does not know. The API reference is generated from the public names (``reference.py``), the
gallery from the scripts in ``examples``.
"""

from __future__ import annotations

import os
import re
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))
os.environ.setdefault("MPLBACKEND", "Agg")

import inventories  # noqa: E402
import reference  # noqa: E402

import leastcut  # noqa: E402

project = "leastcut"
author = "The leastcut developers"
copyright = author
release = version = leastcut.__version__
PYPROJECT = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]

# -- Pages

source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "results/**"]
myst_enable_extensions = ["deflist", "colon_fence", "attrs_inline"]
myst_heading_anchors = 3
suppress_warnings = [
    "config.cache",  # the gallery's configuration holds a function, which Sphinx cannot store
]
copybutton_prompt_text = "$ "
intersphinx_mapping = inventories.write(DOCS / "_build" / "inventories")

# -- API reference

reference.write(DOCS / "reference")  # before Sphinx collects the pages
autosummary_generate = True
autodoc_default_options = {"member-order": "bysource"}
autodoc_typehints = "none"  # numpydoc shows the types of the docstrings
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"  # link the names below only
numpydoc_xref_aliases = {
    **{name: f"leastcut.{name}" for name in reference.classes()},
    "bool": ":class:`python:bool`",
    "Generator": "numpy.random.Generator",
    "csr_array": "scipy.sparse.csr_array",
    "AnnData": "anndata.AnnData",
    "Axes": "matplotlib.axes.Axes",
    "Path": "pathlib.Path",
}
templates_path = ["_templates"]

# -- Gallery

# The example that needs PyTorch is left out if PyTorch is not installed.
WITHOUT_TORCH = "" if find_spec("torch") else r"|(^|[\\/])plot_torch\w*\.py$"
FIRST_EXAMPLES = ("plot_digits", "plot_from_scikit_learn", "plot_social_graph", "plot_certificate")


class _ExampleOrder:
    """Order the gallery: the introductory examples, then the others by name."""

    def __init__(self, folder: str) -> None:
        pass

    def __call__(self, file: str) -> tuple[int, str]:
        name = file.removesuffix(".py")
        first = FIRST_EXAMPLES.index(name) if name in FIRST_EXAMPLES else len(FIRST_EXAMPLES)
        return first, name


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"[\\/]plot_",
    "ignore_pattern": r"(^|[\\/])(?!plot_)[^\\/]*\.py$" + WITHOUT_TORCH,
    "within_subsection_order": _ExampleOrder,
    "inspect_global_variables": False,  # link functions, but not variables to their types
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("leastcut",),
    "reference_url": {"leastcut": None},
    "download_all_examples": False,
    "capture_repr": ("_repr_html_",),  # the tables that notebooks show, but not Axes(...)
    "show_memory": False,
    "write_computation_times": False,
    "min_reported_time": 0,
    "remove_config_comments": True,
    "abort_on_example_error": False,
    "only_warn_on_example_error": True,
    "matplotlib_animations": False,
}

# -- Theme

html_theme = "pydata_sphinx_theme"
html_title = f"leastcut {version}"
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["results/report.html"]
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_sidebars = {"index": [], "when_to_use": [], "start": []}
html_theme_options: dict[str, Any] = {
    "logo": {"text": html_title, "alt_text": html_title},
    "header_links_before_dropdown": 6,
    "icon_links": [
        {
            "name": "Repository",
            "url": PYPROJECT["project"]["urls"]["Homepage"],
            "icon": "fa-brands fa-github",
            "type": "fontawesome",
        }
    ],
    "navbar_align": "left",
    "navbar_persistent": ["search-button-field"],
    "search_bar_text": "Search",
    "show_prev_next": True,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

# A public function or class in the text of a page; ``refine`` and ``operator`` are also parameters.
LINKED = sorted({*reference.functions_and_classes()} - {"operator", "refine"})
API_NAME = re.compile(rf"(?<![\[`])`((?:leastcut\.)?({'|'.join(LINKED)}))(?:\(\))?`(?!`)")
FENCED = re.compile(r"^```.*?^```$|^#[^\n]*$", re.MULTILINE | re.DOTALL)
ANCHOR = re.compile(r'^<a id="([\w-]+)"></a>$', re.MULTILINE)
REPORT = re.compile(r"\[([^\]]+)\]\(results/report\.html\)")
FOLDERS = re.compile(r"\[([^\]]+)\]\(results(?:/records)?\)")


def _for_sphinx(app: Any, name: str, source: list[str]) -> None:
    """Translate anchors and links to the report and folders; link names to the API reference."""
    text = ANCHOR.sub(r"(\1)=", source[0])
    if not name.startswith(("reference/", "gallery/")):
        kept = FENCED.findall(text)
        prose = [API_NAME.sub(r"{py:obj}`\1 <leastcut.\2>`", part) for part in FENCED.split(text)]
        text = "".join(x for pair in zip(prose, [*kept, ""], strict=True) for x in pair)
    text = REPORT.sub(r'<a href="report.html">\1</a>', text)
    source[0] = FOLDERS.sub(r"\1", text)


def _skip_member(app: Any, kind: str, name: str, member: Any, skip: bool, options: Any) -> bool:
    """Skip fields of named tuples, documented as attributes, and most inherited methods."""
    module = getattr(getattr(member, "fget", None) or member, "__module__", None) or ""
    is_field = type(member).__name__ == "_tuplegetter"
    is_ours = module.startswith("leastcut") or name == "fit_predict"
    return skip or is_field or name.endswith("_request") or not is_ours


def setup(app: Any) -> None:
    """Connect the translation of pages and the choice of members."""
    app.connect("source-read", _for_sphinx)
    app.connect("autodoc-skip-member", _skip_member)
