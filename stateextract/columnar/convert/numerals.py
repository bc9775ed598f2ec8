"""The text of Java's ``BigInteger`` and ``BigDecimal``, of any size.

May import nothing of the project.
"""

from __future__ import annotations

from typing import Final

# Longer numbers are not turned into digits: that takes time that grows with the square of the length.
MAX_DIGIT_BYTES: Final = 1 << 16

# Python refuses to print more digits than 4300 at once, and few of them is quickest anyway.
_CHUNK_DIGITS: Final = 1000
_FEW_DIGITS: Final = 1 << 63


def big_integer_text(number: int) -> str:
    """``BigInteger.toString()``."""
    return "-" + _digits(-number) if number < 0 else _digits(number)


def big_decimal_text(unscaled: int, scale: int) -> str:
    """``BigDecimal.toString()``: the number ``unscaled × 10^-scale``, with an exponent where Java writes one."""
    sign, number = ("-", -unscaled) if unscaled < 0 else ("", unscaled)
    digits = str(number) if number < _FEW_DIGITS else _digits(number)
    if scale == 0:
        return sign + digits
    exponent = len(digits) - 1 - scale
    if scale > 0 and exponent >= -6:
        if exponent < 0:
            digits = digits.rjust(scale + 1, "0")
        return f"{sign}{digits[:-scale]}.{digits[-scale:]}"
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}E{exponent:+}"


def _digits(number: int) -> str:
    """Decimal digits, halving what is too long to print at once."""
    if number.bit_length() <= 3 * _CHUNK_DIGITS:
        return str(number)
    half = number.bit_length() * 1233 // 4096 // 2
    high, low = divmod(number, 10**half)
    return _digits(high) + _digits(low).rjust(half, "0")
