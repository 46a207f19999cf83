"""Where neighbors are searched: on the CPU, or on a GPU through PyTorch.

PyTorch is the extra ``leastcut[gpu]`` and is imported only where a GPU is asked for, where samples
lie on one, or where the search would take the CPU long.
"""

from __future__ import annotations

import ctypes
from importlib.util import find_spec
from typing import Any

import numpy as np

from leastcut.memory import in_units
from leastcut.validation import is_on_gpu

# Coordinates that are 0 or from 2⁻²⁵⁰ to 2²⁵⁰ are squared as they are; others are scaled first.
SAFE_EXPONENT = 250
# A search that is estimated to take longer on the CPU is left to a GPU, if there is one: importing
# PyTorch and copying the samples take two or three.
LONG_SECONDS = 4.0


def as_tensor(X: Any) -> Any:
    """Return samples as a tensor on the GPU, sharing their memory if they are there already."""
    import torch

    if is_on_gpu(X):
        return torch.as_tensor(X)
    # NumPy's read-only arrays are copied on the way anyway, and PyTorch warns of them.
    return torch.as_tensor(np.require(X, requirements="W"), device="cuda")


def on_host(X: Any) -> Any:
    """Return samples as they are, but those on a GPU as an ndarray."""
    if not is_on_gpu(X):
        return X
    return X.get() if hasattr(X, "get") else X.detach().cpu().numpy()


def use_gpu(device: str, X: Any, seconds: float) -> bool:
    """Whether neighbors of X, estimated to take so long on the CPU, are to be searched on a GPU."""
    if device == "cpu":
        return False
    if device == "cuda":
        missing = missing_gpu()
        if missing is not None:
            raise RuntimeError(f"device='cuda': {missing} Or pass device='cpu'.")
        return True
    return is_on_gpu(X) or (seconds > LONG_SECONDS and _has_driver() and missing_gpu() is None)


def _has_driver() -> bool:
    """Whether there is a driver of CUDA: where there is none, PyTorch need not be imported."""
    for name in ("libcuda.so.1", "nvcuda.dll"):
        try:
            ctypes.CDLL(name)
            return True
        except OSError:
            continue
    return False


def missing_gpu() -> str | None:
    """Return what a search on a GPU lacks, with the remedy, or None."""
    if find_spec("torch") is None:
        return "PyTorch is not installed; install it with: pip install 'leastcut[gpu]'."
    import torch

    if not torch.cuda.is_available():
        return (
            f"PyTorch {torch.__version__} sees no CUDA device; look at nvidia-smi and at whether "
            "this PyTorch was built for CUDA."
        )
    return None


def check_gpu_memory(needed: int) -> None:
    """Raise MemoryError if a search needs more than the GPU has."""
    import torch

    # What PyTorch keeps for itself is free for this search.
    free, _ = torch.cuda.mem_get_info()
    free += torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    if needed > free:
        raise MemoryError(
            f"The search for neighbors needs about {in_units(needed)} on the GPU, but "
            f"{in_units(free)} are free there. Pass X as float32, or device='cpu', which needs "
            "none of it."
        )


def has_safe_squares(X: Any) -> bool:
    """Whether squared differences of samples on a GPU neither overflow nor vanish in float64."""
    import torch

    points = torch.as_tensor(X)
    if points.dtype != torch.float64:
        return True
    sizes = points.abs()
    smallest = torch.where(sizes > 0, sizes, torch.inf).min()
    return bool((sizes.max() <= 2.0**SAFE_EXPONENT) & (smallest >= 2.0**-SAFE_EXPONENT))


def check_gpu_samples(X: Any) -> Any:
    """Return samples that lie on a GPU as a tensor of floats, if they are finite and in rows."""
    import torch

    points = as_tensor(X)
    if points.ndim != 2 or 0 in points.shape:
        raise ValueError(
            f"X must be two-dimensional, one row per sample, and not empty, but its shape is "
            f"{tuple(points.shape)}."
        )
    if points.is_complex() or points.is_sparse:
        raise ValueError(f"X must be a dense tensor of real numbers, but it is {points.dtype}.")
    if points.dtype not in (torch.float32, torch.float64):
        # Half precision and integers of up to 24 bits are exact in single.
        wide = points.dtype in (torch.int32, torch.int64)
        points = points.to(torch.float64 if wide else torch.float32)
    # Infinity and NaN show in the extremes of rows, which take no memory of the size of X.
    low, high = points.aminmax(dim=1)
    bad = ~(torch.isfinite(low) & torch.isfinite(high))
    if bool(bad.any()):
        row = int(bad.nonzero()[0, 0])
        raise ValueError(
            f"X has {int(bad.sum())} rows with NaN or infinite values; the first is row {row}. "
            "Drop those samples or fill the values in."
        )
    return points
