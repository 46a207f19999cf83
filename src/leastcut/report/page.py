"""An answer on one page: an HTML file that needs nothing else and opens offline."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from leastcut.optional_packages import needed_for
from leastcut.plot.clusters import clusters_of
from leastcut.report import drawings
from leastcut.report.answer import Answer
from leastcut.report.contents import cluster_rows, method_rows, sentences, settings

if TYPE_CHECKING:
    from jinja2 import Template

__all__ = ["Answer", "report_html"]


def report_html(answer: Answer) -> str:
    """Return a page that shows an answer: in words, in numbers and in pictures.

    Parameters
    ----------
    answer : Answer
        What was found, and how.

    Returns
    -------
    str
        HTML that refers to nothing outside itself, for light and dark screens of any width.

    Examples
    --------
    >>> import leastcut
    >>> from leastcut.report.page import Answer, report_html
    >>> S = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]]
    >>> found = leastcut.partition(S, 2, lower_bound=True, random_state=0)
    >>> page = report_html(Answer("four nodes", S, "normalized", found))
    >>> "4 nodes in 2 clusters: each of 2 nodes." in page
    True
    """
    page = _template()
    clusters = clusters_of(answer.found, answer.graph, answer.cut)
    names = answer.names if answer.names is not None else clusters.node_names
    clusters = replace(clusters, node_names=names)
    if names is not None and len(names) != clusters.n_nodes:
        raise ValueError(
            f"names must be one for each of the {clusters.n_nodes} nodes, but are {len(names)}."
        )
    parts: dict[str, Any] = {
        "title": answer.title,
        "palette": drawings.COLORS,
        "sentences": sentences(answer, clusters),
        "rows": cluster_rows(clusters),
        "has_names": names is not None,
        "pictures": drawings.of_clusters(answer, clusters),
        "segments": None if answer.picture is None else drawings.of_segments(answer.picture),
        "path": answer.path,
        "path_pictures": [] if answer.path is None else drawings.of_path(answer),
        "comparison": answer.comparison,
        "methods": [] if answer.comparison is None else method_rows(answer.comparison),
        "methods_picture": None if answer.comparison is None else drawings.of_comparison(answer),
        "notes": answer.notes,
        "command": answer.command,
        "settings": settings(answer, clusters),
    }
    return page.render(**parts)


def _template() -> Template:
    """Return the template of the page, which escapes HTML and raises for unknown names."""
    with needed_for("Pages", "jinja2", drawings.EXTRA):
        from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("leastcut.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("report.html")
