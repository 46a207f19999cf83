"""The paper, reproduced: every table and figure from one command, beside the printed numbers.

Runs write records; tables, figures and the report only read them.

================  ==================================================================
``printed``       the numbers in the paper
``protocol``      how the paper turns a dataset into a graph
``experiments``   what there is to run, cell by cell
``measure``       one cell run
``records``       the store that a kill cannot hurt
``runs``          many cells, resumed and in parallel
``tables``        records to tables, made of ``entries``; ``rendering`` writes them down
``figures``       records to figures
``findings``      agreement, differences and their likely reasons; ``flaws``
``report``        all of it on one page
================  ==================================================================
"""
