"""Reproduce the tables and figures of the paper and compare them with the printed numbers.

``python -m reproduction`` runs the experiments and writes the report. This package uses only the
public API of leastcut; it is in the repository but not in the wheel.

============  ======================================================================
``datasets``  datasets by name
``data``      the files of the datasets, their sources, the numbers printed in the paper
``runs``      experiments, and the records of their results
``report``    tables, figures and pages made from the records
============  ======================================================================

Runs write records; tables, figures and pages only read them. matplotlib, jinja2, pandas and tqdm
are imported when needed.

Reference: H. Zhang, X. Li, "Discretize relaxed solution of spectral clustering via a non-heuristic
algorithm", IEEE Transactions on Neural Networks and Learning Systems.
"""
