"""
A proof that nothing is smaller
===============================

:func:`leastcut.certify` raises the proven lower bound until it meets the cut, or until time is up.
The eigenvalues, which is all that a relaxed solution tells, leave most of the gap open.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

import leastcut

graph = leastcut.adaptive_neighbors_graph(scale(load_wine().data))
found = leastcut.partition(graph, 3, lower_bound=True, random_state=0)
print(
    f"cut value {found.cut_value:.5f}, and by the eigenvalues none is below {found.lower_bound:.5f}"
)

# %%
# What the proof tells on its way is gathered in a list.

told = []
proven = leastcut.certify(graph, found.labels, time_limit=60, random_state=0, callback=told.append)
print(f"proven: none is below {proven.lower_bound:.5f}; the gap is {proven.gap:.1%}")

# %%

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
leastcut.plot.closing_in(told, ax=axes)
plt.show()
