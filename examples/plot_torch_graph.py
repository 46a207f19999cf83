"""
A graph that a network has learned
==================================

Deep graph learners end with an embedding, a graph, or both. This small network of PyTorch draws
every digit as a mixture of the others: its attention is a graph, and what it attends by an
embedding. Both go in as they are, the graph by ``affinity="precomputed"`` and the embedding as
samples.
"""

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits

import leastcut

digits = load_digits()
X, y = digits.data[:500] / 16.0, digits.target[:500]

# %%
# An encoder of two layers, whose attention mixes the other digits. Nothing is told about classes.

torch.manual_seed(0)
samples = torch.tensor(X, dtype=torch.float32)
encoder = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 16))
optimizer = torch.optim.Adam(encoder.parameters(), lr=0.01)
itself = torch.eye(len(X), dtype=torch.bool)


def attention() -> torch.Tensor:
    """Return how much of every other digit goes into each: rows that add up to 1."""
    places = encoder(samples)
    return torch.softmax(-(torch.cdist(places, places) ** 2).masked_fill(itself, torch.inf), dim=1)


for step in range(50):
    optimizer.zero_grad()
    loss = ((attention() @ samples - samples) ** 2).mean()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(f"step {step + 1}: mean squared error {loss.item():.4f}")

with torch.no_grad():
    learned, embedding = attention(), encoder(samples)

# %%
# Attention has a direction, and a graph has none: the mean of both directions is taken. Tensors are
# passed as they are, on whatever device they lie.

graph = (learned + learned.T) / 2
options = {"n_clusters": 10, "random_state": 0}
by_graph = leastcut.SpectralClustering(**options, affinity="precomputed").fit(graph)
by_embedding = leastcut.SpectralClustering(**options).fit(embedding)
by_pixels = leastcut.SpectralClustering(**options).fit(X)
for name, model in (("graph", by_graph), ("embedding", by_embedding), ("pixels", by_pixels)):
    agreement = leastcut.normalized_mutual_info(y, model.labels_)
    print(f"{name}: cut {model.cut_value_:.3f}, NMI {agreement:.3f}")

# %%

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
leastcut.plot.affinity(by_graph, ax=left)
leastcut.plot.embedding(by_embedding, ax=right)
plt.show()
