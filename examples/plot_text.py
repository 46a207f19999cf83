"""
Clustering text documents
=========================

This example clusters the docstrings of NumPy, SciPy and scikit-learn by their words. The documents
are sparse tf-idf vectors, compared by their cosine. The clusters are compared with the subpackages
of the functions.
"""

import importlib
import inspect

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

import leastcut

SUBPACKAGES = [
    "numpy.linalg", "numpy.ma", "numpy.polynomial", "scipy.fft", "scipy.integrate",
    "scipy.ndimage", "scipy.signal", "scipy.special", "scipy.stats", "sklearn.cluster",
    "sklearn.datasets", "sklearn.linear_model", "sklearn.metrics",
]  # fmt: skip
texts, sources = [], []
for name in SUBPACKAGES:
    module = importlib.import_module(name)
    for member in module.__all__:
        text = inspect.getdoc(getattr(module, member)) or ""
        if len(text) > 300:
            texts.append(text)
            sources.append(name)

# %%

words = TfidfVectorizer(stop_words="english", token_pattern=r"\b[a-z_]{3,}\b",
                        min_df=3, max_df=0.3, sublinear_tf=True)  # fmt: skip
X = words.fit_transform(texts)
print(f"{X.shape[0]} docstrings, {X.shape[1]} words, {X.nnz / X.shape[0]:.0f} words per docstring")
graph = leastcut.adaptive_neighbors_graph(X, n_neighbors=10, metric="cosine")
result = leastcut.partition(graph, len(SUBPACKAGES), random_state=0)
nmi = leastcut.normalized_mutual_info(sources, result.labels)
print(f"normalized mutual information with the subpackages: {nmi:.2f}")

# %%
# The most frequent words of each cluster, and the number of its functions in each subpackage.

sources, names = np.array(sources), words.get_feature_names_out()
table = np.array([[np.sum(sources[result.labels == k] == s) for s in SUBPACKAGES]
                  for k in range(len(SUBPACKAGES))])  # fmt: skip
order = np.argsort(table.argmax(axis=1), kind="stable")
typical = [
    " ".join(names[np.argsort(np.asarray(X[result.labels == k].mean(axis=0)).ravel())[:-5:-1]])
    for k in order
]
figure, axes = plt.subplots(figsize=(9, 5), layout="constrained")
axes.imshow(np.sqrt(table[order]), cmap="Blues", aspect="auto")
for (row, column), count in np.ndenumerate(table[order]):
    if count:
        dark = count > table.max() / 2
        axes.text(column, row, count, ha="center", va="center", color="white" if dark else "black")
axes.set_xticks(range(len(SUBPACKAGES)), SUBPACKAGES, rotation=35, ha="right")
axes.set_yticks(range(len(SUBPACKAGES)), typical)
axes.set_title("Functions of each subpackage in each cluster")
plt.show()
