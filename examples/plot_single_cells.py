"""
Single cells
============

700 blood cells, as scanpy ships them. :func:`leastcut.scanpy.cut` takes the place of
``scanpy.tl.leiden``: the clusters are a column of ``adata.obs``, and everything that scanpy does
with clusters goes on from there.
"""

import warnings

import matplotlib.pyplot as plt
import scanpy as sc

import leastcut

warnings.simplefilter("ignore", FutureWarning)  # scanpy's own
cells = sc.datasets.pbmc68k_reduced()
leastcut.scanpy.cut(cells, 9)
known = cells.uns["leastcut"]
print(f"cut value {known['cut_value']:.4f}, none is below {known['lower_bound']:.4f}")

# %%
# The gene that tells each cluster from the others best, and the type of cell that most of it were
# sorted as.

sc.tl.rank_genes_groups(cells, "leastcut", method="t-test")
for cluster, members in cells.obs.groupby("leastcut", observed=True):
    gene = cells.uns["rank_genes_groups"]["names"][cluster][0]
    counts = members["bulk_labels"].value_counts()
    share = counts.iloc[0] / len(members)
    print(f"{cluster}  {len(members):>3} cells  {gene:<8}  {share:.0%} {counts.index[0]}")

# %%

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
sc.pl.umap(cells, color="leastcut", ax=left, show=False, legend_loc="on data", title="leastcut")
sc.pl.umap(cells, color="bulk_labels", ax=right, show=False, title="sorted as")
plt.show()
