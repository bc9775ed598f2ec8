"""Kryo's wire primitives: variable-length numbers, strings, fixed-width numbers of both flavours.

A :class:`Input` is the cursor of one value with what Kryo remembers while it reads one: the objects met so far and the
class names. Everything is bounded by ``end``; a read beyond it raises :class:`TruncatedError`.

Kryo's classes: ``io.Input``, ``util.DefaultClassResolver``, ``util.MapReferenceResolver``. Knows no class of a value.
"""

from __future__ import annotations

import re
import struct
from typing import Any, Final

from stateextract.errors import FormatError, TruncatedError

MAX_DEPTH: Final = 150
"""Objects inside of each other. Kryo recurses for each, and so does the reader."""

MAX_FREE: Final = 1 << 22
"""Elements of one value that have no bytes of their own: nulls of a list of nulls, copies of what is elsewhere."""


_NOTHING: Final = memoryview(b"")
_ASCII: Final = re.compile(rb"[\x00-\x7f]*[\x80-\xff]").match
"""A string in ASCII, whose last byte has the highest bit."""
_SEVEN_BITS: Final = bytes(i & 0x7F for i in range(256))
_NINE: Final = struct.Struct("<4HB").unpack_from
_PAIRS: Final = 2 * [n for high in range(128) for n in 2 * [*range(high << 7, (high + 1) << 7)]]
"""The numbers of two bytes of which seven bits count."""


class Pending:
    """In the place of an object that is being read."""

    def __repr__(self) -> str:
        return "<pending>"


PENDING: Final = Pending()


class Input:
    """The cursor of one value.

    :ivar refs: objects by number; :data:`PENDING` where one is not complete and cannot be referred to.
    :ivar names: class names by the numbers that this value gave them.
    :ivar depth: how many objects are being read.
    :ivar scope: what type parameters represent in the object that is read.
    :ivar free: elements without bytes that were made.
    :ivar written: characters of texts that were made.
    """

    __slots__ = ("data", "depth", "end", "free", "names", "pos", "refs", "scope", "written")

    def __init__(self, data: memoryview, pos: int, end: int) -> None:
        self.data = data
        self.pos = pos
        self.end = end
        self.refs: list[Any] = []
        self.names: list[str] = []
        self.depth = self.free = self.written = 0
        self.scope: tuple[tuple[Any, str], ...] = ()

    def clear(self) -> None:
        """Make ready for the next value."""
        self.data, self.free, self.written = _NOTHING, 0, 0
        if self.refs:
            self.refs.clear()
        if self.names:
            self.names.clear()


def truncated(what: str, at: int) -> TruncatedError:
    """The bytes end inside of ``what``."""
    return TruncatedError(f"the data ends inside {what}", offset=at)


def spend(s: Input, n: int) -> None:
    """Count elements that have no bytes of their own, before they are made.

    :raises FormatError: where one value has more than :data:`MAX_FREE` of them.
    """
    s.free += n
    if s.free > MAX_FREE:
        raise FormatError(f"one value has more than {MAX_FREE} elements without bytes of their own", offset=s.pos)


def u8(s: Input) -> int:
    pos = s.pos
    if pos >= s.end:
        raise truncated("a byte", pos)
    s.pos = pos + 1
    return s.data[pos]


def vint(s: Input) -> int:
    """An unsigned ``int`` of one to five bytes, seven bits in each, the lowest first."""
    pos = s.pos
    if pos >= s.end:
        raise truncated("a number", pos)
    byte = s.data[pos]
    if byte < 0x80:
        s.pos = pos + 1
        return byte
    return _long_vint(s, byte & 0x7F, 7, 28)


def _long_vint(s: Input, value: int, shift: int, last: int) -> int:
    start, pos, end, data = s.pos, s.pos + 1, s.end, s.data
    while True:
        if pos >= end:
            raise truncated("a number", start)
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        if shift >= last:
            raise FormatError("a number has more than five bytes", offset=start)
        shift += 7
    s.pos = pos
    return value & 0xFFFF_FFFF


def vint_signed(s: Input) -> int:
    """An ``int`` that was written as if it were positive: negative ones have five bytes."""
    value = vint(s)
    return value - (1 << 32) if value >= 1 << 31 else value


def zigzag_int(s: Input) -> int:
    pos = s.pos
    if pos < s.end and (value := s.data[pos]) < 0x80:
        s.pos = pos + 1
    else:
        value = vint(s)
    return (value >> 1) ^ -(value & 1)


def vlong(s: Input) -> int:
    """An unsigned ``long`` of one to nine bytes; the ninth has eight bits."""
    start, pos, end, data = s.pos, s.pos, s.end, s.data
    if pos < end and (byte := data[pos]) < 0x80:
        s.pos = pos + 1
        return byte
    if end - pos > 8:
        a, b, c, d, last = _NINE(data, pos)
        if a & b & c & d & 0x8080 == 0x8080:
            s.pos = pos + 9
            return _PAIRS[a] + (_PAIRS[b] << 14) + (_PAIRS[c] << 28) + (_PAIRS[d] << 42) + (last << 56)  # type: ignore[no-any-return]
    value = shift = 0
    while pos < end:
        byte = data[pos]
        pos += 1
        if byte < 0x80 or shift == 56:
            s.pos = pos
            return value | byte << shift
        value |= (byte & 0x7F) << shift
        shift += 7
    raise truncated("a number", start)


def vlong_signed(s: Input) -> int:
    """A ``long`` that was written as if it were positive: negative ones have nine bytes."""
    value = vlong(s)
    return value - (1 << 64) if value >= 1 << 63 else value


def zigzag_long(s: Input) -> int:
    pos = s.pos
    if pos < s.end and (value := s.data[pos]) < 0x80:
        s.pos = pos + 1
    else:
        value = vlong(s)
    return (value >> 1) ^ -(value & 1)


def i8(s: Input) -> int:
    value = u8(s)
    return value - 256 if value > 127 else value


def boolean(s: Input) -> bool:
    pos = s.pos
    if pos >= s.end:
        raise truncated("a byte", pos)
    s.pos = pos + 1
    return s.data[pos] != 0


def take(s: Input, n: int, what: str) -> bytes:
    """``n`` bytes."""
    pos = s.pos
    if n > s.end - pos:
        raise truncated(what, pos)
    s.pos = pos + n
    return s.data[pos : pos + n].tobytes()


def count(s: Input, what: str) -> int:
    """A number of things that take at least a byte each."""
    start = s.pos
    n = vint(s)
    if n > s.end - s.pos:
        raise truncated(f"{n} {what}", start)
    return n


def count_or_null(s: Input, what: str, width: int = 1) -> int:
    """A number of things written plus one; -1 for null."""
    start = s.pos
    if start < s.end and (n := s.data[start] - 1) < 0x7F:
        s.pos = start + 1
    else:
        n = vint(s) - 1
    if n > 0 and n * width > s.end - s.pos:
        raise truncated(f"{n} {what}", start)
    return n


def flagged_count_or_null(s: Input) -> tuple[bool, int]:
    """Kryo 5's ``readVarIntFlag``: a flag in the first byte's highest bit, then a number plus one in the other bits.

    Whether so many things can follow is for the caller to check.
    """
    start = s.pos
    if start < s.end and (byte := s.data[start]) < 0x40:
        s.pos = start + 1
        return False, byte - 1
    byte = u8(s)
    flag, value = byte >= 0x80, byte & 0x3F
    if byte & 0x40:
        shift = 6
        while True:
            byte = u8(s)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 27:
                raise FormatError("a number has more than five bytes", offset=start)
    return flag, value - 1


def string(s: Input) -> str | None:
    """A string: ASCII up to a byte with the highest bit, or a length and UTF-16 units of one to three bytes."""
    pos, data, end = s.pos, s.data, s.end
    if pos >= end:
        raise truncated("a string", pos)
    first = data[pos]
    if first < 0x80:
        found = _ASCII(data, pos, end)
        if found is None:
            raise truncated("a string", pos)
        raw: bytes = found.group()
        s.pos = pos + len(raw)
        return raw.translate(_SEVEN_BITS).decode()
    if first < 0x82:
        s.pos = pos + 1
        return "" if first & 1 else None
    n = first & 0x3F
    last = pos + n
    if first < 0xC0 and last <= end:
        head = data[pos + 1 : last].tobytes()
        if head.isascii():
            s.pos = last
            return head.decode()
    s.pos = pos + 1
    if first & 0x40:
        shift = 6
        while True:
            byte = u8(s)
            n |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 27:
                raise FormatError("a string's length has more than five bytes", offset=pos)
    if n < 1:
        raise FormatError("an invalid length of a string", offset=pos)
    begin = s.pos
    head = data[begin : begin + n - 1].tobytes()
    if begin + n - 1 <= end and head.isascii():
        s.pos = begin + n - 1
        return head.decode()
    return _units(s, n - 1, pos)


def _units(s: Input, n: int, start: int) -> str:
    pos, end, data = s.pos, s.end, s.data
    if n > end - pos:
        raise truncated(f"a string of {n} characters", start)
    units = bytearray()
    for _ in range(n):
        if pos >= end:
            raise truncated("a string", start)
        byte = data[pos]
        size = 1 if byte < 0x80 else 2 if byte >> 5 == 6 else 3 if byte >> 4 == 14 else 0
        if not size:
            raise FormatError("a character that Kryo does not write", offset=pos)
        if pos + size > end:
            raise truncated("a string", start)
        if size == 1:
            unit = byte
        elif size == 2:
            unit = (byte & 0x1F) << 6 | data[pos + 1] & 0x3F
        else:
            unit = (byte & 0x0F) << 12 | (data[pos + 1] & 0x3F) << 6 | data[pos + 2] & 0x3F
        units += unit.to_bytes(2, "little")
        pos += size
    s.pos = pos
    return units.decode("utf-16-le", "surrogatepass")


class Fixed:
    """Numbers of fixed width: big-endian in Kryo 2, little-endian in Kryo 5."""

    def __init__(self, little: bool) -> None:
        self.order = "<" if little else ">"
        self.i16 = self._reader("h", "a short")
        self.u16 = u16 = self._reader("H", "a char")
        self.char = lambda s: chr(u16(s))
        self.i32 = self._reader("i", "an int")
        self.i64 = self._reader("q", "a long")
        self.u64 = self._reader("Q", "a long")
        self.f32 = self._reader("f", "a float")
        self.f64 = self._reader("d", "a double")

    def _reader(self, code: str, what: str) -> Any:
        packed = struct.Struct(self.order + code)
        size, unpack = packed.size, packed.unpack_from

        def read(s: Input) -> Any:
            pos = s.pos
            if size > s.end - pos:
                raise truncated(what, pos)
            s.pos = pos + size
            return unpack(s.data, pos)[0]

        return read

    def array(self, s: Input, code: str, n: int) -> list[Any]:
        """``n`` numbers."""
        packed = struct.Struct(f"{self.order}{n}{code}")
        return list(packed.unpack(take(s, packed.size, "an array")))
