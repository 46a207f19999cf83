"""The report of an answer: one HTML file that needs nothing else and opens offline.

============  ========================================================================
``answer``    what a report is made of: the graph, what was found, and how
``contents``  what is said: sentences, the table of clusters, how to have it again
``drawings``  the pictures, in colours that change with the page
``page``      all of it on one page; its layout and style are in ``templates``
============  ========================================================================

Needs ``leastcut[report]``.
"""
