"""
Clustering single cells with scanpy
===================================

:func:`leastcut.scanpy.cut` replaces ``scanpy.tl.leiden``: it writes the clusters to a column of
``adata.obs``, where other functions of scanpy find them. The data are 700 blood cells that scanpy
includes.
"""

import warnings

import matplotlib.pyplot as plt
import scanpy as sc

import leastcut

warnings.simplefilter("ignore", FutureWarning)  # warnings of scanpy
cells = sc.datasets.pbmc68k_reduced()
leastcut.scanpy.cut(cells, 9)
info = cells.uns["leastcut"]
print(f"cut value {info['cut_value']:.4f}, lower bound {info['lower_bound']:.4f}")

# %%
# The top marker gene of each cluster and its most frequent cell type.

sc.tl.rank_genes_groups(cells, "leastcut", method="t-test")
for cluster, members in cells.obs.groupby("leastcut", observed=True):
    gene = cells.uns["rank_genes_groups"]["names"][cluster][0]
    counts = members["bulk_labels"].value_counts()
    fraction = counts.iloc[0] / len(members)
    print(f"{cluster}  {len(members):>3} cells  {gene:<8}  {fraction:.0%} {counts.index[0]}")

# %%

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
sc.pl.umap(cells, color="leastcut", ax=left, show=False, legend_loc="on data", title="leastcut")
sc.pl.umap(cells, color="bulk_labels", ax=right, show=False, title="cell type")
plt.show()
