"""The datasets of the paper and the numbers printed in it.

===========  =======================================================
``sources``  where each dataset comes from, and downloads from OpenML
``readers``  readers of .npz, .mat and .csv files
``printed``  the numbers in the paper (``printed.json``)
===========  =======================================================
"""
