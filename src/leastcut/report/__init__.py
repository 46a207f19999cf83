"""HTML of results: the report of a partition, one file that opens offline, and notebook tables.

============  ===================================================================
``page``      the report: its sentences, tables and settings; needs ``leastcut[report]``
``figures``   its figures, in colors that change with the page
``notebook``  small tables of results, which need nothing
============  ===================================================================
"""
