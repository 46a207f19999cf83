"""HTML reports of partitions, and HTML tables of results for notebooks.

============  =====================================================
``page``      the report, one offline file; needs ``leastcut[report]``
``figures``   figures of the report, in light and dark colors
``notebook``  tables for notebooks, without optional dependencies
============  =====================================================
"""
