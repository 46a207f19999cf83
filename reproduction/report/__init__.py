"""Tables, figures and findings made from the records, and the pages that show them.

====================  ==================================================================
``table``             entries, sections and tables
``selection``         the records of a table or a figure
``certified``         certificates, of the cuts of leastcut and of the printed cuts
``evidence``          all recorded runs, and printed values traced to partitions
``formats``           numbers and tables as text: terminal, Markdown, CSV, LaTeX
``tables_of_theory``  tables of certificates and of the paper's theorems
``tables_of_runs``    tables of many runs: seeds, starts, signs
``tables``            the tables of the paper, and the list of all tables
``drawing``           the style and the files of figures
``figures``           the figures
``flaws``             flaws of the paper that follow from its text, numbers and proofs
``findings``          checks of our numbers, and claims of the paper
``flaws_measured``    flaws of the paper that runs show
``reasons``           the reasons for differences from the paper
``summary``           the text at the head and the foot of a page
``contents``          the contents of a page and their order
``brief``             short forms of the tables
``pages``             the two pages: HTML and Markdown
====================  ==================================================================

Modules import only from modules above them.
"""
