"""The templates of the pages, which lie in the folder ``templates``. Needs jinja2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastcut.optional_packages import needed_for

if TYPE_CHECKING:
    from jinja2 import Template


def template(name: str) -> Template:
    """Return a template; what is put into an .html one is escaped, and a name must be known."""
    with needed_for("Pages", "jinja2", "paper"):
        from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=PackageLoader("leastcut.paper.report", "templates"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,  # a misspelt name is an error and not an empty place
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(name)
