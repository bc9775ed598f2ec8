"""Numbers behind values, as Java computes with them: shared by the hashes of keys. Imports the standard library only."""

from __future__ import annotations

from decimal import Decimal

REPLACEMENT = "\ufffd"
"""What is in a column for a lone surrogate."""


def signed(value: int) -> int:
    """The lowest 32 bits as Java's ``int``."""
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def unscaled(value: Decimal, scale: int) -> int:
    """``BigDecimal.unscaledValue()`` at a scale that loses no digits."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    number = int("".join(map(str, digits))) * int(10 ** (exponent + scale))
    return -number if sign else number


def time_nanos(text: str) -> int | None:
    """Nanoseconds since midnight of ``HH:MM[:SS[.fffffffff]]``; ``None`` where it is none."""
    clock, _, fraction = text.partition(".")
    parts = clock.split(":")
    if not 2 <= len(parts) <= 3 or not all(p.isascii() and p.isdigit() for p in [*parts, fraction or "0"]):
        return None
    hour, minute, second = (*map(int, parts), 0)[:3]
    if hour > 23 or minute > 59 or second > 59 or len(fraction) > 9:
        return None
    return ((hour * 60 + minute) * 60 + second) * 10**9 + int(fraction.ljust(9, "0"))
