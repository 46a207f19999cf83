"""
Clustering a graph learned with PyTorch
=======================================

Neural networks can learn an embedding, a graph, or both. The small network of this example
reconstructs every digit as a mixture of the others: its attention weights are a graph, and the
output of its encoder is an embedding. leastcut accepts both as tensors, the graph with
``affinity="precomputed"`` and the embedding as samples.
"""

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits

import leastcut

digits = load_digits()
X, y = digits.data[:500] / 16.0, digits.target[:500]

# %%
# An encoder with two layers and attention to the other digits, trained without class labels.

torch.manual_seed(0)
samples = torch.tensor(X, dtype=torch.float32)
encoder = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 16))
optimizer = torch.optim.Adam(encoder.parameters(), lr=0.01)
diagonal = torch.eye(len(X), dtype=torch.bool)


def attention() -> torch.Tensor:
    """Return the weights of the other digits for each digit; rows sum to 1."""
    encoded = encoder(samples)
    distances = torch.cdist(encoded, encoded) ** 2
    return torch.softmax(-distances.masked_fill(diagonal, torch.inf), dim=1)


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
# The attention weights are symmetrized, as the graph must be undirected. Tensors can be on any
# device.

graph = (learned + learned.T) / 2
options = {"n_clusters": 10, "random_state": 0}
by_graph = leastcut.SpectralClustering(**options, affinity="precomputed").fit(graph)
by_embedding = leastcut.SpectralClustering(**options).fit(embedding)
by_pixels = leastcut.SpectralClustering(**options).fit(X)
for name, model in (("graph", by_graph), ("embedding", by_embedding), ("pixels", by_pixels)):
    nmi = leastcut.normalized_mutual_info(y, model.labels_)
    print(f"{name}: cut value {model.cut_value_:.3f}, NMI {nmi:.3f}")

# %%

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
leastcut.plot.affinity(by_graph, ax=left)
leastcut.plot.embedding(by_embedding, ax=right)
plt.show()
