"""Codecs of state files, by name: ``snappy`` and ``lz4``.

Reads: compressed bytes in windows of any size, because state is larger than memory. Stops: before a chunk that is not
there completely or whose data does not fit into the output, never in the middle of one; says how far it came on both
sides. Knows no state file, no key group, and does no I/O; may import the errors and ``second_thread``.

``snappy`` is the framing that Flink writes (xerial's ``SnappyFramedOutputStream`` behind
``SnappyStreamCompressionDecorator``)::

    chunk = u8 type · u24 length (little-endian) · bytes[length]
      0xFF       stream identifier, "sNaPpY"; streams follow one another, in heap bodies one per state
      0x00       u32 masked CRC-32C of the plain data (little-endian) · Snappy block (varint of the plain length first)
      0x01       u32 masked CRC-32C (little-endian) · plain data
      0x02–0x7F  refused
      0x80–0xFE  skipped

Flink opens its reader with verification off. Here the checksum is verified by default: it is the only one in all of a
checkpoint. ``lz4`` reads LZ4 frames, for Flink builds whose decorator was changed to write them.

A caller that slides a window over a file::

    decoder = stream_decoder("snappy")
    while more input:
        pos, out_pos = decoder.decode(window, pos, end, out, out_pos, base=offset_of_window)
    decoder.finish(pos, end, base=offset_of_window)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import cramjam
import google_crc32c
import lz4.frame
import numpy as np

from stateextract.errors import ChecksumError, FormatError, TruncatedError, UnsupportedError
from stateextract.files.second_thread import SecondThread

BLOCK = 65536
"""Most plain bytes in one Snappy chunk."""

_HEADER = 4
_CRC = 4
_IDENTIFIER = b"sNaPpY"
_COMPRESSED, _PLAIN, _FIRST_SKIPPABLE, _STREAM = 0x00, 0x01, 0x80, 0xFF
# Snappy's own bound for a block (MaxCompressedLength): no compressor makes a longer one out of 65536 bytes.
_LONGEST_BLOCK = 32 + BLOCK + BLOCK // 6
_FEW = 8  # chunks that a second thread is not worth it for
_LZ4_STEP = 1 << 20
_LZ4_CHECKSUMS = ("headerChecksum_invalid", "blockChecksum_invalid", "contentChecksum_invalid")


class StreamDecoder(Protocol):
    """Decodes one run of compressed bytes, window by window. After an error it must not be used again."""

    largest_output: int
    """Room that one step may need: with less of it left in ``out``, ``decode`` may make no progress."""
    stream_starts: list[int]
    """Positions in ``out`` where the last call of ``decode`` began a new stream (a heap body has one per state)."""

    def decode(
        self, data: memoryview, pos: int, end: int, out: memoryview, out_pos: int, base: int = 0
    ) -> tuple[int, int]:
        """Decode as much of ``data[pos:end]`` as is there in whole steps and fits after ``out_pos``.

        :param data: window of compressed bytes.
        :param out: writable, contiguous bytes; filled up to its end at most.
        :param base: offset of ``data[0]`` in its file, for errors.
        :returns: how far it read in ``data`` and how far it wrote in ``out``. Nothing moved: give it more of either.
        :raises FormatError: (or its kinds ``ChecksumError``) where the bytes cannot be right.
        """

    def finish(self, pos: int, end: int, base: int = 0) -> None:
        """Say that ``data[pos:end]`` is all that is left.

        :raises TruncatedError: if a chunk or frame is incomplete.
        """


class _Chunk(NamedTuple):
    """A chunk of data: its header begins at ``pos`` and its body, the checksum and what follows it, ends at ``stop``."""

    kind: int
    pos: int
    stop: int
    out_pos: int
    out_stop: int


class _SnappyDecoder:
    largest_output = BLOCK

    def __init__(self, verify: bool, two_threads: bool) -> None:
        self.stream_starts: list[int] = []
        self._verify = verify
        self._in_stream = False
        # Bytes of a skippable chunk still to skip: it may be 16 MiB long, so it is not waited for.
        self._skip = 0
        self._second_thread = SecondThread() if two_threads else None

    def decode(
        self, data: memoryview, pos: int, end: int, out: memoryview, out_pos: int, base: int = 0
    ) -> tuple[int, int]:
        chunks: list[_Chunk] = []
        try:
            return self._read_headers(data, pos, end, len(out), out_pos, base, chunks)
        finally:
            # A problem in a chunk is reported before one in a header after it.
            self._decode_chunks(data, out, base, chunks)

    def _read_headers(
        self, data: memoryview, pos: int, end: int, room: int, out_pos: int, base: int, chunks: list[_Chunk]
    ) -> tuple[int, int]:
        """Find the chunks of data that are there completely and whose data fits into the room."""
        self.stream_starts = []
        while True:
            if self._skip:
                step = min(self._skip, end - pos)
                pos += step
                self._skip -= step
            if end - pos < _HEADER:
                return pos, out_pos
            kind = data[pos]
            length = data[pos + 1] | data[pos + 2] << 8 | data[pos + 3] << 16
            body = pos + _HEADER
            if kind == _STREAM:
                if length != len(_IDENTIFIER):
                    raise FormatError(
                        f"a Snappy stream identifier has {length} bytes", expected="6 bytes", offset=base + pos
                    )
                if end - body < length:
                    return pos, out_pos
                if data[body : body + length] != _IDENTIFIER:
                    raise FormatError("a Snappy stream identifier is wrong", expected="sNaPpY", offset=base + body)
                self._in_stream = True
                if not self.stream_starts or self.stream_starts[-1] != out_pos:
                    self.stream_starts.append(out_pos)
                pos = body + length
                continue
            if not self._in_stream:
                raise FormatError(
                    f"a Snappy stream begins with a chunk of type 0x{kind:02X}",
                    expected="the stream identifier FF 06 00 00 sNaPpY",
                    advice="the file may not be compressed, although its header marks it as compressed",
                    offset=base + pos,
                )
            if kind >= _FIRST_SKIPPABLE:
                self._skip = length
                pos = body
                continue
            if kind not in (_COMPRESSED, _PLAIN):
                raise FormatError(f"unknown Snappy chunk type 0x{kind:02X}", offset=base + pos)
            most = _CRC + (_LONGEST_BLOCK if kind == _COMPRESSED else BLOCK)
            if not _CRC <= length <= most:
                raise FormatError(
                    f"a Snappy chunk has {length} bytes", expected=f"{_CRC} to {most} bytes", offset=base + pos
                )
            stop = body + length
            if stop > end:
                return pos, out_pos
            block = body + _CRC
            size = stop - block if kind == _PLAIN else _plain_size(data, block, stop, base)
            if size > room - out_pos:
                return pos, out_pos
            chunks.append(_Chunk(kind, pos, stop, out_pos, out_pos + size))
            pos, out_pos = stop, out_pos + size

    def _decode_chunks(self, data: memoryview, out: memoryview, base: int, chunks: Sequence[_Chunk]) -> None:
        if self._second_thread is None or len(chunks) < _FEW:
            self._decode_run(data, out, base, chunks)
            return
        half = len(chunks) // 2
        _, second = self._second_thread.run(
            lambda: self._decode_run(data, out, base, chunks[:half]),
            lambda: self._decode_run(data, out, base, chunks[half:]),
        )
        second.result()

    def _decode_run(self, data: memoryview, out: memoryview, base: int, chunks: Sequence[_Chunk]) -> None:
        plain = np.frombuffer(out, dtype=np.uint8)
        for kind, pos, stop, out_pos, out_stop in chunks:
            body = pos + _HEADER
            block = body + _CRC
            if kind == _PLAIN:
                out[out_pos:out_stop] = data[block:stop]
            elif out_pos < out_stop:
                _decompress_block(data[block:stop], out[out_pos:out_stop], base + block)
            elif stop - block != 1:
                raise FormatError("bytes follow an empty Snappy block", offset=base + block)
            if self._verify:
                stored = int.from_bytes(data[body:block], "little")
                found = masked_crc(plain[out_pos:out_stop])
                if stored != found:
                    raise ChecksumError(
                        f"the CRC-32C of a Snappy chunk is 0x{found:08X}",
                        expected=f"0x{stored:08X}",
                        advice="the file is corrupt: copy it again; to read it all the same, switch the verification off",
                        offset=base + pos,
                    )

    def finish(self, pos: int, end: int, base: int = 0) -> None:
        if pos < end or self._skip:
            raise TruncatedError("the data ends inside a Snappy chunk", offset=base + pos)


def _plain_size(data: memoryview, pos: int, end: int, base: int) -> int:
    """The varint at the head of a Snappy block: checked before anything is done by it."""
    size = 0
    for i in range(3):
        if pos + i == end:
            break
        byte = data[pos + i]
        size |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            if size > BLOCK:
                break
            return size
    raise FormatError(
        "a Snappy block has an invalid plain length", expected=f"at most {BLOCK} bytes", offset=base + pos
    )


def _decompress_block(block: memoryview, out: memoryview, offset: int) -> None:
    try:
        written = cramjam.snappy.decompress_raw_into(block, out)
    except cramjam.DecompressionError as error:
        raise FormatError(f"a Snappy block cannot be decompressed ({error})", offset=offset) from None
    if written != len(out):
        raise FormatError(f"a Snappy block gave {written} bytes", expected=f"{len(out)} bytes", offset=offset)


def masked_crc(data: Any) -> int:
    """CRC-32C of bytes, or of what gives its bytes as a buffer, disturbed as Snappy's framing and RocksDB store it."""
    # An array and not a memoryview: google_crc32c takes only buffers that need no release, and bytes() would copy.
    crc: int = google_crc32c.value(data if isinstance(data, bytes) else np.frombuffer(data, np.uint8))
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


class _Lz4Decoder:
    """Frames one after the other. The library takes a frame in pieces and keeps at most one block (4 MiB) of it."""

    largest_output = 1

    def __init__(self) -> None:
        self.stream_starts: list[int] = []
        self._context = lz4.frame.create_decompression_context()
        self._in_frame = False

    def decode(
        self, data: memoryview, pos: int, end: int, out: memoryview, out_pos: int, base: int = 0
    ) -> tuple[int, int]:
        self.stream_starts = []
        while out_pos < len(out):
            if not self._in_frame:
                if pos == end:
                    break
                self._in_frame = True
                self.stream_starts.append(out_pos)
            try:
                # With no input left the call still hands out what the library holds.
                plain, read, at_end = lz4.frame.decompress_chunk(
                    self._context, data[pos:end], max_length=min(len(out) - out_pos, _LZ4_STEP)
                )
            except RuntimeError as error:
                kind = ChecksumError if str(error).endswith(_LZ4_CHECKSUMS) else FormatError
                raise kind(f"an LZ4 frame cannot be decompressed ({error})", offset=base + pos) from None
            out[out_pos : out_pos + len(plain)] = plain
            pos += read
            out_pos += len(plain)
            if at_end:
                lz4.frame.reset_decompression_context(self._context)
                self._in_frame = False
            elif not plain and not read:
                break
        return pos, out_pos

    def finish(self, pos: int, end: int, base: int = 0) -> None:
        if pos < end or self._in_frame:
            raise TruncatedError("the data ends inside an LZ4 frame", offset=base + pos)


_DECODERS: dict[str, Callable[[bool, bool], StreamDecoder]] = {
    "snappy": _SnappyDecoder,
    "lz4": lambda *_: _Lz4Decoder(),
}


def stream_decoder(codec: str, verify: bool = True, two_threads: bool = False) -> StreamDecoder:
    """A decoder for one run of bytes.

    :param verify: check the checksums, where the library leaves a choice.
    :param two_threads: may decode at once, where the format has independent parts.
    :raises UnsupportedError: if there is no codec of that name.
    """
    if codec not in _DECODERS:
        raise UnsupportedError(f"unknown codec {codec!r}", expected=f"one of {', '.join(sorted(_DECODERS))}")
    return _DECODERS[codec](verify, two_threads)
