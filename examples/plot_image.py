"""
Segments of a photograph
========================

:func:`leastcut.image_graph` joins pixels unless a contour lies between them. Its smallest cuts then
run along contours, and not through plain areas.
"""

import matplotlib.pyplot as plt
from skimage import data
from skimage.segmentation import mark_boundaries

import leastcut

image = data.coffee()[::2, ::2]
graph = leastcut.image_graph(image)
print(f"{graph.shape[0]:,} pixels, {graph.nnz:,} entries")

# %%
# Ask for about as many segments as there are things to see. What is asked for beyond that is taken
# from the largest plain areas, such as the table in the last picture.

figure, panels = plt.subplots(1, 3, figsize=(11, 2.9), layout="constrained")
for n_clusters, panel in zip((3, 6, 16), panels, strict=True):
    found = leastcut.partition(graph, n_clusters, effort="fast", random_state=0)
    segments = graph.to_image(found.labels)
    panel.imshow(mark_boundaries(image, segments, color=(1, 1, 0)))
    panel.set_title(f"{n_clusters} segments, cut {found.cut_value:.2g}")
    panel.set_axis_off()
plt.show()
