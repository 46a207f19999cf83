"""A fuzz programme: random structured cases, every law of leastcut held on each of them.

``make fuzz MINUTES=10`` runs it. A case is a pure function of two integers (``cases``), the laws
stand in one dict (``laws``), what they are compared with is exact arithmetic (``exact``), and what
a run has counted is added to ``benchmarks/results/fuzz.json`` and shown in ``docs/invariants.md``
(``counts``).
"""
