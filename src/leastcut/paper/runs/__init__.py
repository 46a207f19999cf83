"""What the reproduction runs: from a list of cells to a folder of records.

================  ==================================================================
``methods``       the columns of the tables: methods and their parameters
``experiments``   what there is to run, cell by cell, and which table needs what
``protocol``      how the paper turns a dataset into a graph
``small_graphs``  the paper's 4-node example and its random graphs, by enumeration
``theorems``      what the paper proves, measured
``implication``   what its gradient promises, tried on every pair of small partitions
``certificates``  our cut and the bound that no labels can pass
``labellers``     the methods that give labels, by name
``repeated``      a method run for many seeds, or for many signs of the eigenvectors
``measure``       one cell run
``record_lines``  what a line of the store must hold
``records``       the store that a kill cannot hurt
``workers``       cells measured by several processes
``progress``      how far a run is
``running``       many cells: resumed, in parallel, recorded one by one
================  ==================================================================
"""
