"""Choice of the device of a neighbor search: the CPU, or a GPU through PyTorch.

PyTorch is installed with ``leastcut[gpu]``. It is imported only if a GPU is requested, if the
samples are on a GPU, or if the search would take the CPU long.
"""

from __future__ import annotations

import ctypes
from importlib.util import find_spec
from typing import Any

import numpy as np

from leastcut.memory import in_units
from leastcut.validation import is_on_gpu

# Coordinates that are 0 or between 2⁻²⁵⁰ and 2²⁵⁰ have safe squares; others are scaled first.
SAFE_EXPONENT = 250
# Estimated CPU time above which an available GPU is used: importing PyTorch and copying the samples
# take two to three seconds.
LONG_SECONDS = 4.0


def as_tensor(X: Any) -> Any:
    """Return samples as a tensor on the GPU, without a copy if they are there already."""
    import torch

    if is_on_gpu(X):
        return torch.as_tensor(X)
    # PyTorch warns about read-only arrays, which are copied anyway.
    return torch.as_tensor(np.require(X, requirements="W"), device="cuda")


def on_host(X: Any) -> Any:
    """Return samples on a GPU as an ndarray, and others unchanged."""
    if not is_on_gpu(X):
        return X
    return X.get() if hasattr(X, "get") else X.detach().cpu().numpy()


def use_gpu(device: str, X: Any, seconds: float) -> bool:
    """Return whether to search on a GPU, given the estimated time on the CPU."""
    if device == "cpu":
        return False
    if device == "cuda":
        missing = missing_gpu()
        if missing is not None:
            raise RuntimeError(f"device='cuda' is not available: {missing} Or pass device='cpu'.")
        return True
    return is_on_gpu(X) or (seconds > LONG_SECONDS and _has_driver() and missing_gpu() is None)


def _has_driver() -> bool:
    """Return whether a CUDA driver is installed, without importing PyTorch."""
    for name in ("libcuda.so.1", "nvcuda.dll"):
        try:
            ctypes.CDLL(name)
            return True
        except OSError:
            continue
    return False


def missing_gpu() -> str | None:
    """Return why a GPU is not available, and the remedy; None if it is available."""
    if find_spec("torch") is None:
        return "PyTorch is not installed; install it with: pip install 'leastcut[gpu]'."
    import torch

    if not torch.cuda.is_available():
        return (
            f"PyTorch {torch.__version__} does not find a CUDA device; check nvidia-smi, and "
            "whether this PyTorch was built with CUDA."
        )
    return None


def check_gpu_memory(needed: int) -> None:
    """Raise MemoryError if a search needs more memory than the GPU has."""
    import torch

    # Memory that PyTorch has reserved but not allocated is available.
    free, _ = torch.cuda.mem_get_info()
    free += torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    if needed > free:
        raise MemoryError(
            f"The neighbor search needs about {in_units(needed)} of GPU memory, but only "
            f"{in_units(free)} are free. Pass X as float32, or pass device='cpu'."
        )


def has_safe_squares(X: Any) -> bool:
    """Return whether squared differences of GPU samples neither overflow nor underflow."""
    import torch

    points = torch.as_tensor(X)
    if points.dtype != torch.float64:
        return True
    sizes = points.abs()
    smallest = torch.where(sizes > 0, sizes, torch.inf).min()
    return bool((sizes.max() <= 2.0**SAFE_EXPONENT) & (smallest >= 2.0**-SAFE_EXPONENT))


def check_gpu_samples(X: Any) -> Any:
    """Return samples on a GPU as a two-dimensional tensor of finite floats, or raise."""
    import torch

    points = as_tensor(X)
    if points.ndim != 2 or 0 in points.shape:
        raise ValueError(
            f"X must be two-dimensional and not empty, with one row per sample, but its shape is "
            f"{tuple(points.shape)}."
        )
    if points.is_complex() or points.is_sparse:
        raise ValueError(f"X must be a dense tensor of real numbers, but it is {points.dtype}.")
    if points.dtype not in (torch.float32, torch.float64):
        # Half precision and integers of up to 24 bits are exact in single precision.
        wide = points.dtype in (torch.int32, torch.int64)
        points = points.to(torch.float64 if wide else torch.float32)
    # Infinity and NaN propagate to the extremes of rows, which needs no copy of X.
    low, high = points.aminmax(dim=1)
    bad = ~(torch.isfinite(low) & torch.isfinite(high))
    if bool(bad.any()):
        row = int(bad.nonzero()[0, 0])
        raise ValueError(
            f"X has {int(bad.sum())} rows with NaN or infinite values; the first is row {row}. "
            "Drop those samples or fill in the values."
        )
    return points
