"""``--balance``: how far from the average clusters may weigh, as it is written on a line."""

from __future__ import annotations


def read_balance(text: str | None) -> float | tuple[float, float] | None:
    """Return what ``--balance`` means: a number, a pair of them, or None where it is not given."""
    from leastcut.validation import check_number

    if text is None:
        return None
    try:
        parts = [float(part) for part in text.split(",")]
    except ValueError:
        parts = []
    if len(parts) not in (1, 2):
        raise ValueError(
            f"--balance {text} must be a number, as 0.1, or two with a comma, as 0.5,0.1: how far "
            "below and how far above the average."
        )
    for part in parts:
        check_number("--balance", part)
    if len(parts) == 1:
        return parts[0]
    if parts[0] > 1.0:
        raise ValueError(f"--balance {text}: no cluster weighs less than 0; begin with at most 1.")
    return parts[0], parts[1]
