"""
The characters of a novel
=========================

Who appears with whom in *Les Misérables*, as networkx has it. Any networkx graph is taken as it is,
and the clusters come back by name.
"""

import matplotlib.pyplot as plt
import networkx as nx

import leastcut

novel = nx.les_miserables_graph()  # an edge weighs as many chapters as two share
found = leastcut.partition(novel, 6, lower_bound="tight", random_state=0)
print(f"cut value {found.cut_value:.4f}, and no cut into six is below {found.lower_bound:.4f}")

# %%
# ``by_node`` has the cluster of every character. Those who appear most often stand first.

cluster = found.by_node()
often = dict(novel.degree(weight="weight"))
first = []
for number in range(6):
    members = sorted((name for name in novel if cluster[name] == number), key=often.get)[::-1]
    print(f"{len(members):>3}  {', '.join(members[:6])}{' ...' if len(members) > 6 else ''}")
    first.append(members[0])

# %%
# The edges that are cut are dashed. One of each cluster is named.

figure, axes = plt.subplots(figsize=(9, 6), layout="constrained")
positions = nx.spring_layout(novel, k=0.35, iterations=200, seed=3)
leastcut.plot.graph(found, novel, [positions[name] for name in novel], ax=axes)
for name in first:
    box = {"boxstyle": "round", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
    axes.annotate(name, positions[name], (6, 6), textcoords="offset points", bbox=box)
plt.show()
