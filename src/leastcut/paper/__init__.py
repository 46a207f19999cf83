"""The paper, reproduced: every table and figure from one command, beside the printed numbers.

Three rooms, each of which imports only from those above it here:

==========  ========================================================================
``data``    datasets by name, the files they come in, the numbers the paper prints
``runs``    what there is to run, one cell measured, records, many cells in parallel
``report``  records to tables, figures, findings, and the pages that show them
==========  ========================================================================

Runs write records; tables, figures and pages only read them. The packages that only this part
needs (matplotlib, jinja2, pandas, tqdm) are imported when they are used, see
``leastcut.optional_packages``.
"""
