"""What the reproduction starts from: datasets by name, their files, the paper's numbers.

===============  =============================================================
``datasets``     a dataset by name, wherever it is; public as leastcut.datasets
``sources``      where each dataset comes from
``openml``       a dataset fetched from OpenML, and kept once it was checked
``readers``      .npz, .mat and .csv files
``printed``      the numbers in the paper (``printed.json``)
===============  =============================================================
"""
