"""Numbers of variable length: every size, and bytes that are no number."""

from __future__ import annotations

import pytest

from stateextract.errors import FormatError, TruncatedError
from stateextract.files.reader import Reader


def written(number: int) -> bytes:
    """Seven bits a byte, the lowest first."""
    rest = number >> 7
    return bytes([number & 0x7F | (0x80 if rest else 0)]) + (written(rest) if rest else b"")


EDGES = [0, 1, 63, 64, 127, 128, 16_383, 16_384, (1 << 31) - 1, 1 << 31, (1 << 63) - 1]


@pytest.mark.parametrize("number", sorted({*EDGES, *(-n - 1 for n in EDGES)}))
def test_numbers_of_variable_length(number: int) -> None:
    twos = Reader(written(number & ((1 << 64) - 1)) + b"x")
    zigzag = Reader(written((number << 1) ^ (number >> 63) if number >= 0 else ((-number - 1) << 1) + 1) + b"x")
    assert (twos.varint(64), zigzag.zigzag(64)) == (number, number)
    assert (twos.remaining, zigzag.remaining) == (1, 1)
    if -(1 << 31) <= number < 1 << 31:
        assert Reader(written(number & 0xFFFFFFFF)).varint(32) == number


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff" * 9])
def test_numbers_that_end_early(data: bytes) -> None:
    with pytest.raises(TruncatedError, match="inside a variable-length number"):
        Reader(data).varint(64)


def test_numbers_that_are_too_large() -> None:
    for bits, data in ((32, written(1 << 32)), (64, written(1 << 64)), (64, b"\x80" * 10 + b"\0")):
        with pytest.raises(FormatError, match=r"does not fit \d+ bits|more than ten bytes"):
            Reader(data).varint(bits)
    with pytest.raises(FormatError, match="number is 2147483648, which does not fit 32 bits"):
        Reader(written(1 << 32)).zigzag(32)
