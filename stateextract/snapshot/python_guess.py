"""Guesses of the types of PyFlink's state, from the bytes of its first rows.

The bytes of some types are the same: eight bytes are a whole number, a floating one or a time. A guess
takes the one in whose terms the values are plausible, and names the others. Types of several fields are not guessed.

May import the elements; opens nothing.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stateextract.columnar.convert.elements import Conversion, parse_element, split

_NUMERIC = re.compile(r"-?\d{1,38}(\.\d{1,38})?")
_FIXED = {1: ("bool", "int8"), 2: ("int16",), 4: ("int32", "float32", "date"), 8: ("int64", "float64", "timestamp[ms]"),
          12: ("instant", "timestamp[us]"), 16: ("window",)}  # fmt: skip
_INNER = ("string", "int64", "float64", "int32", "bool", "float32", "binary")
_KEYS = ("string", "int64", "int32")


@dataclass(frozen=True)
class Guess:
    """A type for bytes.

    :param type: ``element(…)`` or ``elements(…)``; ``None`` where none fits.
    :param others: types that fit as well, inside of the same parentheses.
    :param sizes: the least and the greatest number of bytes.
    """

    type: str | None
    others: tuple[str, ...]
    sizes: tuple[int, int]


def guess(found: Sequence[bytes], counts: Sequence[int], is_list: bool) -> Guess:
    """The type of bytes that PyFlink's coders wrote.

    :param found: the bytes of some rows, at least one; :param counts: how many each row has.
    :param is_list: the column is a list, else each is a single element.
    """
    sizes = min(map(len, found)), max(map(len, found))
    one = not is_list or all(count == 1 for count in counts)
    for alone in (True, False) if one and is_list else (one,):
        fitting = [text for text in _candidates(found, alone) if _fits(text, found, alone)]
        if one and not alone:
            fitting = [text for text in fitting if text == "string"]  # of fixed sizes nearly everything is a multiple
        if fitting:
            best = _best(fitting, found)
            others = tuple(text for text in fitting if text != best)
            if best == "string" and (number := _decimal_of(found)) is not None:
                others = (number, *others)
            return Guess(f"{'element' if alone else 'elements'}({best})", others[:4], sizes)
    return Guess(None, (), sizes)


def _candidates(found: Sequence[bytes], alone: bool) -> Iterator[str]:
    """Types in the order in which they are likely: of several elements the widest, which the fewest sizes are multiples of."""
    widths = {len(data) for data in found}
    if all(len(data) >= 4 for data in found):
        yield "string"
    fixed = _FIXED.items() if alone else sorted(_FIXED.items(), key=lambda item: (item[0] > 8, -item[0]))
    for width, types in fixed:
        if all(w % width == 0 for w in widths) and (width > 2 or widths == {width}):
            yield from types
    if all(len(data) >= 4 for data in found):
        if all(byte < 2 for data in found for byte in data[4:]):
            yield "array<bool>"
        yield "binary"
        for inner in _INNER:
            yield f"list<{inner}>"
            if inner != "bool":
                yield f"array<{inner}>"
        for key in _KEYS:
            for inner in _INNER:
                yield f"map<{key}, {inner}>"


def _fits(text: str, found: Sequence[bytes], one: bool) -> bool:
    """Whether the bytes are such elements, and plausible ones."""
    element = parse_element(text)
    assert element is not None
    filled = 0
    for data in found:
        try:
            values = split(data, element, Conversion())
        except (ValueError, ArithmeticError):
            return False
        if (one and len(values) != 1) or not all(map(_plausible_text, values)):
            return False
        filled += sum(bool(value) for value in values)
    # Four zero bytes are a list or map of nothing, whatever their type.
    return filled > 0 or text in ("string", *(t for types in _FIXED.values() for t in types))


def _plausible_text(value: object) -> bool:
    if isinstance(value, str):
        return all(letter >= " " or letter in "\t\r\n" for letter in value)
    if isinstance(value, list | tuple):
        return all(map(_plausible_text, value))
    if isinstance(value, float):
        return value == 0 or not math.isfinite(value) or 1e-30 < abs(value) < 1e30
    return True


def _best(fitting: Sequence[str], found: Sequence[bytes]) -> str:
    joined = b"".join(found)
    if fitting[0] != "string":
        for text in fitting:
            other = text.replace("int64>", "float64>")
            if other != text and other in fitting:
                return other if any(abs(n) > 1 << 53 for data in found for n in _wholes(text, data)) else text
    if {"int64", "float64"} <= set(fitting):
        return _float_or_int(joined, ">q", ">d", 1 << 53, ("int64", "float64"))
    if {"int32", "float32"} <= set(fitting):
        return _float_or_int(joined, ">i", ">f", 1 << 24, ("int32", "float32"))
    if {"instant", "timestamp[us]"} <= set(fitting):
        seconds = [s for s, _ in struct.iter_unpack(">qi", joined)]
        return "instant" if all(abs(s) < 10**11 for s in seconds) else "timestamp[us]"
    return fitting[0]


def _wholes(text: str, data: bytes) -> list[int]:
    """The whole numbers inside of elements."""
    element = parse_element(text)
    assert element is not None
    lists = [value for value in split(data, element, Conversion()) if value]
    numbers = [entry[1] if isinstance(entry, tuple) else entry for value in lists for entry in value]
    return [number for number in numbers if isinstance(number, int)]


def _float_or_int(data: bytes, whole: str, floating: str, most: int, names: tuple[str, str]) -> str:
    """Which of two types the bytes are: whole numbers are seldom as large as floating ones look."""
    numbers = [n for (n,) in struct.iter_unpack(whole, data)]
    large = sum(abs(n) > most for n in numbers)
    values = [v for (v,) in struct.iter_unpack(floating, data) if v != 0]
    usual = all(not math.isfinite(v) or 1e-9 < abs(v) < 1e15 for v in values)
    return names[1] if large and usual else names[0]


def _decimal_of(found: Sequence[bytes]) -> str | None:
    """``decimal(38,s)`` where all bytes are texts of numbers."""
    texts = [data[4:].decode("ascii", "replace") for data in found]
    if not all(map(_NUMERIC.fullmatch, texts)):
        return None
    return f"decimal(38,{max(len(text.partition('.')[2]) for text in texts)})"
