"""Sizes and numbers as people read them."""

from __future__ import annotations


def text_size(size: int | None) -> str:
    """``1.2 MB``; units are powers of 1000."""
    if size is None:
        return "-"
    amount = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 999.95 or (unit == "B" and size < 1000):
            return f"{size} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"
