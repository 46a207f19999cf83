"""Experiments, from a list of cells to a folder of records.

================  ==================================================================
``methods``       the columns of the tables: methods and their parameters
``experiments``   the cells of each experiment, and the experiments of each table
``protocol``      the graph of a dataset according to the paper
``small_graphs``  the paper's 4-node example and random graphs, by enumeration
``theorems``      the paper's theorems, measured
``labeling``      the methods that return labels, run once, for many seeds or for many signs
``measure``       the measurement of one cell
``record_lines``  the required fields of a record
``records``       the store of records, safe against interrupted writes
``progress``      a progress bar
``running``       runs cells in parallel, resumes, and records each result
================  ==================================================================
"""
