"""Experiments, from a list of cells to a folder of records.

================  ==================================================================
``methods``       the columns of the tables: methods and their parameters
``experiments``   the cells of each experiment, and the experiments of each table
``protocol``      how the paper makes a graph of a dataset
``small_graphs``  the paper's 4-node example and random graphs, by enumeration
``theorems``      the paper's theorems, measured
``labeling``      the methods that give labels, run once, for many seeds or for many signs
``measure``       the measurement of one cell
``record_lines``  the fields that a record must have
``records``       the store of records, which survives a kill
``progress``      a progress bar
``running``       runs many cells in parallel, resumes, and records each result
================  ==================================================================
"""
