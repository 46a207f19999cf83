"""The report of an answer: one HTML file that needs nothing else and opens offline.

============  ========================================================================
``answer``    what a report is made of: the graph, what was found, and how
``contents``  what is said: sentences, the table of clusters, how to have it again
``drawings``  the pictures, in colours that change with the page
``page``      all of it on one page; how it looks is in ``templates`` and ``page_design``
============  ========================================================================

Needs ``leastcut[report]``.
"""
