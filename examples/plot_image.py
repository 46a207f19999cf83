"""
Image segmentation
==================

:func:`leastcut.image_graph` connects nearby pixels, with a low affinity if there is a contour
between them. Small cuts of this graph follow the contours.
"""

import matplotlib.pyplot as plt
from skimage import data
from skimage.segmentation import mark_boundaries

import leastcut

image = data.coffee()[::2, ::2]
graph = leastcut.image_graph(image)
print(f"{graph.shape[0]:,} pixels, {graph.nnz:,} entries")

# %%
# The number of segments should be about the number of objects. Further segments divide large
# uniform areas, such as the table in the last image.

figure, panels = plt.subplots(1, 3, figsize=(11, 2.9), layout="constrained")
for n_clusters, panel in zip((3, 6, 16), panels, strict=True):
    result = leastcut.partition(graph, n_clusters, effort="fast", random_state=0)
    segments = graph.to_image(result.labels)
    panel.imshow(mark_boundaries(image, segments, color=(1, 1, 0)))
    panel.set_title(f"{n_clusters} segments, cut {result.cut_value:.2g}")
    panel.set_axis_off()
plt.show()
