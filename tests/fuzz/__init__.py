"""Fuzz testing: check the invariants of leastcut on random structured cases.

``make fuzz MINUTES=10`` runs it. A case is a pure function of two integers (``cases``). The
invariants (``invariants``) compare results with exact arithmetic (``exact``). The counts of a run
are added to ``benchmarks/results/fuzz.json`` and to the table of ``docs/invariants.md``
(``counts``).
"""
