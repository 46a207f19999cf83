"""Graphs of other libraries: which there are, and what each is read as."""

from leastcut.integrations.graphs.libraries import as_matrix as as_matrix
from leastcut.integrations.graphs.libraries import is_foreign as is_foreign
