"""
Segmentation with superpixels
=============================

With ``superpixels=`` the nodes of the graph are regions of similar pixels, about a thousand instead
of more than a hundred thousand. Their affinities are sums over pixels, so a cut of the regions has
the same value as the corresponding cut of the pixels, which can be refined.
"""

import time

import matplotlib.pyplot as plt
from skimage import data
from skimage.segmentation import mark_boundaries

import leastcut

image = data.chelsea()
regions = leastcut.image_graph(image, superpixels=1000)
result = leastcut.partition(regions, 7, random_state=0)
coarse = regions.to_image(result.labels)

# %%
# The segments have the same cut value on the graph of all pixels. With ``init`` they are the start
# of a search on this graph, whose result is never worse.

pixels = leastcut.image_graph(image)
print(f"{regions.shape[0]} regions: {result.cut_value:.5f}")
print(f"{pixels.shape[0]} pixels: {leastcut.cut_value(pixels, coarse.ravel()):.5f}")
start = time.perf_counter()
refined = leastcut.partition(pixels, 7, effort="fast", init=coarse.ravel(), random_state=0)
print(f"after refinement: {refined.cut_value:.5f}, in {time.perf_counter() - start:.1f} s")

# %%

figure, panels = plt.subplots(1, 3, figsize=(11, 2.8), layout="constrained")
segmentations = {
    f"{regions.shape[0]} superpixels": regions.regions,
    f"7 segments: {result.cut_value:.2g}": coarse,
    f"refined: {refined.cut_value:.2g}": pixels.to_image(refined.labels),
}
for panel, (title, segments) in zip(panels, segmentations.items(), strict=True):
    panel.imshow(mark_boundaries(image, segments, color=(1, 1, 0)))
    panel.set_title(title)
    panel.set_axis_off()
plt.show()
