"""Samples that lie on a GPU: they stay there where anchors are looked for there, too."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastcut.affinity.neighbors.devices import as_tensor
from leastcut.anchors.source_rows import Source, checked_rows, float_type
from leastcut.validation import check_sample_table


class TensorSource:
    """A tensor of PyTorch or an array of CuPy, on a GPU; see ``Source``."""

    is_stream = False

    def __init__(self, X: Any) -> None:
        tensor = as_tensor(X)
        if tensor.is_complex() or tensor.is_sparse:
            raise ValueError(f"X must be a dense tensor of real numbers, but it is {tensor.dtype}.")
        dtype = np.dtype(str(tensor.dtype).removeprefix("torch.").replace("bfloat16", "float16"))
        check_sample_table(tuple(tensor.shape), dtype)
        self.shape = int(tensor.shape[0]), int(tensor.shape[1])
        self.dtype = float_type(dtype)
        self._tensor = tensor

    def read(self, start: int, stop: int) -> np.ndarray:
        """Return rows, on the host."""
        return self._on_host(self._tensor[start:stop], start)

    def take(self, start: int, rows: np.ndarray) -> np.ndarray:
        """Return single rows, on the host."""
        some = self._tensor[(rows + start).tolist()]
        found = (some.float() if some.dtype.itemsize < 4 else some).cpu().numpy()
        found = np.ascontiguousarray(found, dtype=self.dtype)
        if not np.isfinite(found).all():
            row = int(np.argmax(~np.isfinite(found).all(axis=1)))
            checked_rows(found[row : row + 1], start + int(rows[row]))
        return found

    def unchecked(self, start: int, stop: int) -> Any:
        """Return rows where they are, as a tensor."""
        return self._tensor[start:stop]

    def reading_bytes(self, rows: int) -> int:
        """Return the memory of the host that a read takes."""
        return int(2 * rows * self.shape[1] * self.dtype.itemsize)

    def done(self) -> None:
        """Do nothing: nothing is kept."""

    def _on_host(self, part: Any, start: int) -> np.ndarray:
        rows = part.detach().float() if part.dtype.itemsize < 4 else part.detach()
        return checked_rows(np.ascontiguousarray(rows.cpu().numpy(), dtype=self.dtype), start)


def rows_on_gpu(source: Source, start: int, stop: int) -> Any:
    """Return rows of a source as a tensor on the GPU, where it takes least to see them finite."""
    unchecked = getattr(source, "unchecked", None)
    if unchecked is None:
        return as_tensor(source.read(start, stop))
    part = as_tensor(unchecked(start, stop))
    if not bool(part.isfinite().all()):
        source.read(start, stop)  # which names the row
    return part
