"""Pages of mapped files: what was read of them does not stay in memory.

Pages of a file that a process has looked at count as its memory until the system wants them back.
Who reads a file larger than the memory that it may use lets them go itself.
"""

from __future__ import annotations

import mmap

import numpy as np


class MappedPages:
    """The pages of the file behind an array.

    Examples
    --------
    >>> import numpy as np
    >>> from leastcut.anchors.mapped_pages import MappedPages
    >>> MappedPages.of(np.zeros(3)) is None
    True
    """

    def __init__(self, file: mmap.mmap) -> None:
        self._file = file
        self._address = int(np.frombuffer(file, dtype=np.uint8).__array_interface__["data"][0])

    @classmethod
    def of(cls, array: np.ndarray) -> MappedPages | None:
        """Return the pages behind an array or a view, None if they are memory of its own.

        So they are also where changes are not written to the file (``mode="c"``), which would be
        lost, and where the system has no call for it.
        """
        owner, is_shared = array, False
        while isinstance(owner, np.ndarray):
            if isinstance(owner, np.memmap):
                is_shared = owner.mode != "c"
            owner = owner.base  # type: ignore[assignment]
        can_let_go = hasattr(mmap, "MADV_DONTNEED")
        return cls(owner) if is_shared and can_let_go and isinstance(owner, mmap.mmap) else None

    def let_go(self, part: np.ndarray) -> None:
        """Let go of the pages under a part of the array; who looks there again finds them again."""
        if part.size == 0:
            return
        steps = [(n - 1) * stride for n, stride in zip(part.shape, part.strides, strict=True)]
        at = int(part.__array_interface__["data"][0]) - self._address
        low = at + sum(step for step in steps if step < 0)
        high = at + sum(step for step in steps if step > 0) + part.itemsize
        first = low // mmap.PAGESIZE * mmap.PAGESIZE
        self._file.madvise(mmap.MADV_DONTNEED, first, high - first)
