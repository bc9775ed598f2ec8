"""Functions that operations call: the texts of numbers, times and JSON's strings, as Python writes them.

Each writes at ``target`` and returns the position behind, or 0 where only Python knows the text.
"""

from __future__ import annotations

from stateextract.columnar.compiled.compile import (
    as_float,
    compile_kernel,
    load_i32_le,
    load_u8,
    put,
    store_8,
    store_16,
    store_32,
)
from stateextract.columnar.kernel.characters import put_code_point
from stateextract.columnar.kernel.machine import NEED_INPUT, NEEDED, SLOW


def _put_decimal(target: int, number: int) -> int:
    """A whole number in digits."""
    rest = number
    if number < 0:
        store_8(target, 0x2D)
        target += 1
    else:
        rest = -number  # of which there is one more
    digits = 1
    limit = -10
    while digits < 19 and rest <= limit:
        digits += 1
        limit *= 10 if digits < 19 else 1
    k = digits - 1
    while k >= 0:
        tenth = -(rest + 10) // 10 + 1
        store_8(target + k, 0x30 - tenth * 10 - rest)
        rest = -tenth
        k -= 1
    return target + digits


put_decimal = compile_kernel(_put_decimal)


def _put_digits(target: int, number: int, digits: int) -> int:
    """A number that is not negative, with zeros in front."""
    k = digits - 1
    while k >= 0:
        store_8(target + k, 0x30 + number % 10)
        number //= 10
        k -= 1
    return target + digits


put_digits = compile_kernel(_put_digits)


def _put_real(target: int, bits: int) -> int:
    """``repr`` of a double that is a decimal of at most 15 digits without an exponent."""
    if bits < 0:
        store_8(target, 0x2D)
        target += 1
    value = as_float(bits & 0x7FFFFFFFFFFFFFFF)
    if value == 0.0:
        store_8(target, 0x30)
        store_8(target + 1, 0x2E)
        store_8(target + 2, 0x30)
        return target + 3
    if not (1e-4 <= value < 1e15):
        return 0
    # A decimal m / 10^k with m < 10^15 that gives the number is the only one of so many digits, and the first one that is met
    # has the fewest. Both parts are exact, so dividing them rounds as reading the decimal does.
    scale = 1.0
    power = 1
    digits = 0
    whole = 0
    while True:
        if value * scale >= 1e15 or digits > 18:
            return 0
        whole = int(value * scale + 0.5)
        if whole / scale == value:
            break
        scale *= 10.0
        power *= 10
        digits += 1
    target = put_decimal(target, whole // power)
    store_8(target, 0x2E)
    target = put_digits(target + 1, whole % power, digits if digits > 0 else 1)
    return target


put_real = compile_kernel(_put_real)


def _put_scaled(target: int, unscaled: int, scale: int) -> int:
    """``BigDecimal.toString()`` without an exponent; at most 27 bytes."""
    if scale == 0:
        target = put_decimal(target, unscaled)
        return target
    if scale < 0 or scale > 24 or unscaled < -9223372036854775807:
        return 0
    if unscaled < 0:
        store_8(target, 0x2D)
        target += 1
        unscaled = -unscaled
    digits = 1
    rest = unscaled // 10
    while rest > 0:
        digits += 1
        rest //= 10
    if digits - 1 - scale < -6:
        return 0
    if digits <= scale:
        store_8(target, 0x30)
        store_8(target + 1, 0x2E)
        target = put_digits(target + 2, unscaled, scale)
        return target
    power = 1
    for _ in range(scale):
        power *= 10
    target = put_digits(target, unscaled // power, digits - scale)
    store_8(target, 0x2E)
    target = put_digits(target + 1, unscaled % power, scale)
    return target


put_scaled = compile_kernel(_put_scaled)


def _put_date(target: int, year: int, month: int, day: int) -> int:
    """A date of the years 0 to 9999."""
    target = put_digits(target, year, 4)
    store_8(target, 0x2D)
    target = put_digits(target + 1, month, 2)
    store_8(target, 0x2D)
    target = put_digits(target + 1, day, 2)
    return target


put_date = compile_kernel(_put_date)


def _put_time(target: int, second: int, nanos: int) -> int:
    """A time of day, from seconds since midnight; the fraction has three, six or nine digits, or is left out."""
    target = put_digits(target, second // 3600, 2)
    store_8(target, 0x3A)
    target = put_digits(target + 1, second // 60 % 60, 2)
    store_8(target, 0x3A)
    target = put_digits(target + 1, second % 60, 2)
    if nanos > 0:
        store_8(target, 0x2E)
        if nanos % 1000000 == 0:
            target = put_digits(target + 1, nanos // 1000000, 3)
        elif nanos % 1000 == 0:
            target = put_digits(target + 1, nanos // 1000, 6)
        else:
            target = put_digits(target + 1, nanos, 9)
    return target


put_time = compile_kernel(_put_time)


def _put_instant(target: int, seconds: int, nanos: int) -> int:
    """A moment of the years 0 to 9999, from seconds since 1970."""
    if seconds < -62167219200 or seconds > 253402300799 or nanos < 0 or nanos > 999999999:
        return 0
    days = seconds // 86400 + 719468
    of_day = seconds % 86400
    era = days // 146097
    of_era = days - era * 146097
    year = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    year += 400 * era
    if month <= 2:
        year += 1
    target = put_date(target, year, month, day)
    store_8(target, 0x54)
    target = put_time(target + 1, of_day, nanos)
    store_8(target, 0x5A)
    return target + 1


put_instant = compile_kernel(_put_instant)


def _put_hexadecimal(target: int, unit: int) -> int:
    """The escape of a UTF-16 unit by its number."""
    store_16(target, 0x755C)
    for k in range(4):
        digit = (unit >> (12 - 4 * k)) & 15
        store_8(target + 2 + k, digit + 0x30 if digit < 10 else digit + 0x57)
    return target + 6


put_hexadecimal = compile_kernel(_put_hexadecimal)


def _put_escaped(target: int, byte: int) -> int:
    """A character of ASCII as JSON has it between quotes."""
    if byte >= 0x20 and byte != 0x22 and byte != 0x5C:
        store_8(target, byte)
        return target + 1
    letter = 0
    if byte == 0x22 or byte == 0x5C:
        letter = byte
    elif byte == 10:
        letter = 0x6E
    elif byte == 13:
        letter = 0x72
    elif byte == 9:
        letter = 0x74
    elif byte == 8:
        letter = 0x62
    elif byte == 12:
        letter = 0x66
    if letter == 0:
        target = put_hexadecimal(target, byte)
        return target
    store_8(target, 0x5C)
    store_8(target + 1, letter)
    return target + 2


put_escaped = compile_kernel(_put_escaped)


def _json_ascii(source: int, n: int, target: int) -> int:
    """``n`` characters of ASCII between quotes; highest bits mean nothing. Up to three bytes beyond are read and written."""
    k = 0
    while k < n:
        four = load_i32_le(source + k) & 0x7F7F7F7F
        # A byte's highest bit is set where nothing has to be escaped.
        plain = (four + 0x60606060) & ((four ^ 0x22222222) + 0x7F7F7F7F) & ((four ^ 0x5C5C5C5C) + 0x7F7F7F7F) & 0x80808080
        if plain == 0x80808080 and n - k >= 4:
            store_32(target, four)
            target += 4
            k += 4
        else:
            target = put_escaped(target, four & 0x7F)
            k += 1
    return target


json_ascii = compile_kernel(_json_ascii)


def _json_units(src: int, pos: int, end: int, n: int, target: int, out: int) -> tuple[int, int]:
    """``n`` UTF-16 units as Kryo writes them, between quotes, lone surrogates as escapes; as ``kryo_units``."""
    high = -1
    keep = target != 0
    for _ in range(n):
        if pos >= end:
            put(out, NEEDED, pos + 1)
            return -1 - NEED_INPUT, 0
        unit = load_u8(src + pos)
        size = 1
        if unit >= 0x80:
            size = 2 if unit >> 5 == 6 else 3
            if size == 3 and unit >> 4 != 14:
                return -1 - SLOW, 0
            if pos + size > end:
                put(out, NEEDED, pos + size)
                return -1 - NEED_INPUT, 0
            if size == 2:
                unit = ((unit & 0x1F) << 6) | (load_u8(src + pos + 1) & 0x3F)
            else:
                unit = ((unit & 0x0F) << 12) | ((load_u8(src + pos + 1) & 0x3F) << 6) | (load_u8(src + pos + 2) & 0x3F)
        pos += size
        if not keep:
            continue
        if high >= 0:
            if 0xDC00 <= unit < 0xE000:
                target = put_code_point(target, 0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00))
                high = -1
                continue
            target = put_hexadecimal(target, high)
            high = -1
        if 0xD800 <= unit < 0xDC00:
            high = unit
        elif 0xDC00 <= unit < 0xE000:
            target = put_hexadecimal(target, unit)
        elif unit < 0x80:
            target = put_escaped(target, unit)
        else:
            target = put_code_point(target, unit)
    if high >= 0:
        target = put_hexadecimal(target, high)
    return pos, target


json_units = compile_kernel(_json_units)
