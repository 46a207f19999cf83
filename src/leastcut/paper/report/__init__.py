"""What the records say: tables, figures and findings, and the pages that show them all.

=======================  ==================================================================
``table``                what a table is made of: entries, sections
``record_selection``     which records belong in which place
``certified``            what the certificates prove, of our cuts and of the printed ones
``tables``               every table, one file each; the paper's have its numbers, I to V
``formats``              tables written down: terminal, Markdown, CSV, LaTeX
``drawing``              what all figures share
``figures``              every figure, one file each
``evidence``             all runs on record: which partitions were found, by what, how often
``tallies``              how many printed numbers are ours, column by column
``traces``               printed numbers traced to the partitions they belong to
``reasons``              differences from the paper, grouped by what the runs on record prove
``findings``             what must be true of our numbers, and in how many cells it is
``claims``               what the paper claims, judged by its own numbers and by ours
``flaws_of_the_paper``   what is wrong in the paper by its text and numbers alone
``flaws_measured``       what runs show against it
``flaws_of_the_theory``  what its theorems are worth
``summary``              three sentences for who reads no more
``settings``             how the numbers were made, in words
``page_contents``        what is on a page, in which order
``html_page``            the page in colours, one file that needs nothing else
``markdown_page``        the page of the documentation, with its tables and figures beside it
=======================  ==================================================================

How the two pages look is in ``templates`` and in ``leastcut.page_design``.
"""
