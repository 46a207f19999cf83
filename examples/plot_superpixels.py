"""
Superpixels first, then pixels
==============================

With ``superpixels=`` the nodes are regions of alike pixels, some hundred instead of some hundred
thousand. Affinities of pixels are added up, so a cut of regions has the value of the same cut of
pixels, and the search can go on there.
"""

import time

import matplotlib.pyplot as plt
from skimage import data
from skimage.segmentation import mark_boundaries

import leastcut

image = data.chelsea()
regions = leastcut.image_graph(image, superpixels=1000)
found = leastcut.partition(regions, 7, random_state=0)
rough = regions.to_image(found.labels)

# %%
# The same segments on the graph of all pixels: the value is the same. ``init`` lets them take part
# in a search there, which returns nothing worse.

pixels = leastcut.image_graph(image)
print(f"{regions.shape[0]} regions: {found.cut_value:.5f}")
print(f"{pixels.shape[0]} pixels: {leastcut.cut_value(pixels, rough.ravel()):.5f}")
began = time.perf_counter()
better = leastcut.partition(pixels, 7, effort="fast", init=rough.ravel(), random_state=0)
print(f"searched by pixels: {better.cut_value:.5f}, in {time.perf_counter() - began:.1f} s")

# %%

figure, panels = plt.subplots(1, 3, figsize=(11, 2.8), layout="constrained")
pictures = {
    f"{regions.shape[0]} superpixels": regions.regions,
    f"cut into 7: {found.cut_value:.2g}": rough,
    f"by pixels: {better.cut_value:.2g}": pixels.to_image(better.labels),
}
for panel, (title, segments) in zip(panels, pictures.items(), strict=True):
    panel.imshow(mark_boundaries(image, segments, color=(1, 1, 0)))
    panel.set_title(title)
    panel.set_axis_off()
plt.show()
