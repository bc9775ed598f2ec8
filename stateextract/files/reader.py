"""A cursor over bytes in Java's ``DataInput`` encodings.

Reads: big-endian numbers, ``writeUTF`` text, raw bytes. Stops: at :attr:`Reader.end`; a read beyond it raises
:class:`TruncatedError` with the position and moves nothing. Knows no Flink structure; does no I/O.
"""

from __future__ import annotations

import struct

from stateextract.errors import FormatError, TruncatedError

_I16 = struct.Struct(">h")
_U16 = struct.Struct(">H")
_I32 = struct.Struct(">i")
_I64 = struct.Struct(">q")


class Reader:
    """Bounds-checked reads from ``data[pos:end]``.

    :param data: the bytes; never copied.
    :param pos: first byte to read.
    :param end: first byte that must not be read; the end of ``data`` if not given.
    :param base: added to positions in errors: the offset of ``data[0]`` in its file.
    """

    __slots__ = ("base", "data", "end", "pos")

    def __init__(self, data: bytes | bytearray | memoryview, pos: int = 0, end: int | None = None, base: int = 0) -> None:
        self.data = memoryview(data)
        self.pos = pos
        self.end = len(self.data) if end is None else end
        self.base = base
        if not 0 <= self.pos <= self.end <= len(self.data):
            raise ValueError("the bounds of the reader are outside of the data")

    @property
    def remaining(self) -> int:
        """Bytes left."""
        return self.end - self.pos

    @property
    def offset(self) -> int:
        """Position in the file, for errors."""
        return self.base + self.pos

    def _take(self, n: int, what: str) -> int:
        pos = self.pos
        if n < 0:
            raise FormatError(f"negative length {n} of {what}", offset=self.offset)
        if n > self.end - pos:
            raise TruncatedError(
                f"the data ends inside {what}", expected=f"{n} bytes, {self.end - pos} are left", offset=self.offset
            )
        self.pos = pos + n
        return pos

    def u8(self, what: str = "a byte") -> int:
        return self.data[self._take(1, what)]

    def i8(self, what: str = "a byte") -> int:
        value = self.u8(what)
        return value - 256 if value > 127 else value

    def bool(self, what: str = "a boolean") -> bool:
        """``DataInput.readBoolean``: any byte but 0 is true."""
        return self.u8(what) != 0

    def i16(self, what: str = "a short") -> int:
        value: int = _I16.unpack_from(self.data, self._take(2, what))[0]
        return value

    def u16(self, what: str = "an unsigned short") -> int:
        value: int = _U16.unpack_from(self.data, self._take(2, what))[0]
        return value

    def i32(self, what: str = "an int") -> int:
        value: int = _I32.unpack_from(self.data, self._take(4, what))[0]
        return value

    def i64(self, what: str = "a long") -> int:
        value: int = _I64.unpack_from(self.data, self._take(8, what))[0]
        return value

    def varint(self, bits: int, what: str = "a variable-length number") -> int:
        """A number of ``bits`` bits, seven in a byte, the lowest first; a negative one is its two's complement.

        :raises FormatError: for one of more bits.
        """
        start = self.offset
        number = 0
        for shift in range(0, 70, 7):
            byte = self.u8(what)
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
        else:
            raise FormatError(f"{what} has more than ten bytes", offset=start)
        if number >> bits:
            raise FormatError(f"{what} is {number}, which does not fit {bits} bits", offset=start)
        return number - (1 << bits) if number >> (bits - 1) else number

    def zigzag(self, bits: int) -> int:
        """A number of ``bits`` bits as Avro writes it: doubled, and negative ones inverted, at most 64 bits.

        :raises FormatError: for one of more bits.
        """
        start = self.offset
        number = self.varint(64) & ((1 << 64) - 1)
        value = (number >> 1) ^ -(number & 1)
        if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
            raise FormatError(f"a variable-length number is {value}, which does not fit {bits} bits", offset=start)
        return value

    def bytes(self, n: int, what: str = "bytes") -> memoryview:
        pos = self._take(n, what)
        return self.data[pos : pos + n]

    def count(self, what: str, least: int = 1) -> int:
        """An ``i32`` that counts items of at least ``least`` bytes each; refused where they cannot be there."""
        start = self.offset
        n = self.i32(what)
        if n < 0 or n * least > self.remaining:
            # Where the bytes are a window of a longer stream, more of them may help.
            raise (FormatError if n < 0 else TruncatedError)(
                f"invalid number {n} of {what}", expected=f"at most {self.remaining // max(least, 1)}", offset=start
            )
        return n

    def utf(self, what: str = "a string") -> str:
        """``DataInput.readUTF``: ``u16`` length in bytes, then modified UTF-8 (lone surrogates are kept)."""
        start = self.offset
        n = self.u16(what)
        raw = bytes(self.bytes(n, what))
        try:
            return decode_modified_utf8(raw)
        except UnicodeDecodeError as error:
            raise FormatError(f"{what} is not modified UTF-8", offset=start + 2 + error.start) from None


def decode_modified_utf8(raw: bytes) -> str:
    """Java's modified UTF-8: NUL is ``C0 80`` and a code point above U+FFFF is two surrogates of three bytes each.

    :raises UnicodeDecodeError: where the bytes are not that.
    """
    if raw.isascii() and b"\x00" not in raw:
        return raw.decode("ascii")
    text = raw.replace(b"\xc0\x80", b"\x00").decode("utf-8", "surrogatepass")
    # Joins the surrogate pairs; a lone one stays.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def encode_modified_utf8(text: str) -> bytes:
    """The inverse of :func:`decode_modified_utf8`."""
    units = text.encode("utf-16-le", "surrogatepass")
    single = [units[i : i + 2].decode("utf-16-le", "surrogatepass") for i in range(0, len(units), 2)]
    return b"".join(unit.encode("utf-8", "surrogatepass") for unit in single).replace(b"\x00", b"\xc0\x80")
