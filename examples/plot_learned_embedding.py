"""
Clustering an embedding
=======================

This example clusters word vectors learned from the docstrings of SciPy: words that occur in the
same texts have similar vectors. Embeddings are usually compared by their cosine. A graph can be
passed directly with ``affinity="precomputed"``.
"""

import importlib
import inspect

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

import leastcut

texts = []
for name in ("cluster", "fft", "integrate", "linalg", "ndimage", "optimize", "signal", "stats"):
    module = importlib.import_module(f"scipy.{name}")
    texts += [inspect.getdoc(getattr(module, member)) or "" for member in module.__all__]

vectorizer = TfidfVectorizer(stop_words="english", max_features=600, token_pattern=r"\b[a-z]{4,}\b")
counts = vectorizer.fit_transform(texts)
vectors = TruncatedSVD(40, random_state=0).fit_transform(counts.T)
print(f"{len(texts)} texts, {vectors.shape[0]} words, {vectors.shape[1]} dimensions")

# %%
# ``metric="cosine"`` can be passed to the estimator or to the function that builds the graph. Both
# give the same clusters.

model = leastcut.SpectralClustering(9, metric="cosine", random_state=0).fit(vectors)
graph = leastcut.adaptive_neighbors_graph(vectors, metric="cosine")
precomputed = leastcut.SpectralClustering(9, affinity="precomputed", random_state=0).fit(graph)
print(f"cut value {model.cut_value_:.4f}, precomputed graph {precomputed.cut_value_:.4f}")

words, frequency = vectorizer.get_feature_names_out(), np.asarray(counts.sum(axis=0)).ravel()
for cluster in range(9):
    members = np.flatnonzero(model.labels_ == cluster)
    print(cluster, *words[members[np.argsort(-frequency[members])][:8]])

# %%

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
leastcut.plot.embedding(model, ax=left)
leastcut.plot.affinity(model, ax=right)
plt.show()
