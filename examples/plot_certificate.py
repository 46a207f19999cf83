"""
Proving that a cut is optimal
=============================

:func:`leastcut.certify` raises a lower bound on all cut values until it equals the value of the
given cut or the time limit is reached. The bound by the eigenvalues of the relaxation is much
weaker.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

import leastcut

graph = leastcut.adaptive_neighbors_graph(scale(load_wine().data))
result = leastcut.partition(graph, 3, lower_bound=True, random_state=0)
print(f"cut value {result.cut_value:.5f}, lower bound by eigenvalues {result.lower_bound:.5f}")

# %%
# The callback records the progress of the proof.

events = []
proof = leastcut.certify(
    graph, result.labels, time_limit=60, random_state=0, callback=events.append
)
print(f"certified lower bound {proof.lower_bound:.5f}, gap {proof.gap:.1%}")

# %%

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
leastcut.plot.closing_in(events, ax=axes)
plt.show()
