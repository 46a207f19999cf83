"""
A learned embedding
===================

Vectors of words, learned from the docstrings of SciPy: words that stand in the same texts have
vectors that point the same way. Their entries have both signs and are compared by their cosine, as
is usual for embeddings. A graph of your own goes in as ``affinity="precomputed"``.
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

reader = TfidfVectorizer(stop_words="english", max_features=600, token_pattern=r"\b[a-z]{4,}\b")
uses = reader.fit_transform(texts)
vectors = TruncatedSVD(40, random_state=0).fit_transform(uses.T)
print(f"{len(texts)} texts, {vectors.shape[0]} words, vectors of {vectors.shape[1]} numbers")

# %%
# ``metric="cosine"`` in the estimator, or in the function that makes the graph: the same clusters.

model = leastcut.SpectralClustering(9, metric="cosine", random_state=0).fit(vectors)
graph = leastcut.adaptive_neighbors_graph(vectors, metric="cosine")
ready_made = leastcut.SpectralClustering(9, affinity="precomputed", random_state=0).fit(graph)
print(f"cut {model.cut_value_:.4f}, and {ready_made.cut_value_:.4f} of the graph made before")

words, often = reader.get_feature_names_out(), np.asarray(uses.sum(axis=0)).ravel()
for cluster in range(9):
    members = np.flatnonzero(model.labels_ == cluster)
    print(cluster, *words[members[np.argsort(-often[members])][:8]])

# %%

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
leastcut.plot.embedding(model, ax=left)
leastcut.plot.affinity(model, ax=right)
plt.show()
