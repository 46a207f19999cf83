"""
Partitioning a networkx graph
=============================

This example partitions the graph of characters of *Les Misérables*. networkx graphs can be passed
directly, and the clusters are available by node.
"""

import matplotlib.pyplot as plt
import networkx as nx

import leastcut

novel = nx.les_miserables_graph()  # edge weights: number of common chapters
result = leastcut.partition(novel, 6, lower_bound="tight", random_state=0)
print(f"cut value {result.cut_value:.4f}, lower bound {result.lower_bound:.4f}")

# %%
# ``by_node`` returns the cluster of every character. The characters with the largest degrees are
# printed first.

cluster = result.by_node()
degree = dict(novel.degree(weight="weight"))
first = []
for number in range(6):
    members = sorted((name for name in novel if cluster[name] == number), key=degree.get)[::-1]
    print(f"{len(members):>3}  {', '.join(members[:6])}{' ...' if len(members) > 6 else ''}")
    first.append(members[0])

# %%
# Dashed edges are cut. Each cluster is labeled with its first character.

figure, axes = plt.subplots(figsize=(9, 6), layout="constrained")
positions = nx.spring_layout(novel, k=0.35, iterations=200, seed=3)
leastcut.plot.graph(result, novel, [positions[name] for name in novel], ax=axes)
for name in first:
    box = {"boxstyle": "round", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
    axes.annotate(name, positions[name], (6, 6), textcoords="offset points", bbox=box)
plt.show()
