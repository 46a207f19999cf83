"""Templates of pages: a page's own, and beside them the sheet of styles that all share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastcut.optional_packages import needed_for

if TYPE_CHECKING:
    from jinja2 import Template

SHARED = "leastcut.page_design"
"""The package whose templates every page may include."""


def template(package: str, name: str, extra: str) -> Template:
    """Return a template; what is put into an .html one is escaped, and a name must be known.

    Parameters
    ----------
    package : str
        Where it lies, in a folder ``templates``.
    name : str
        The name of the file.
    extra : str
        The extra that brings jinja2, should it be missing.

    Returns
    -------
    Template
    """
    with needed_for("Pages", "jinja2", extra):
        from jinja2 import (
            ChoiceLoader,
            Environment,
            PackageLoader,
            StrictUndefined,
            select_autoescape,
        )

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader(SHARED)]),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,  # a misspelt name is an error and not an empty place
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(name)
